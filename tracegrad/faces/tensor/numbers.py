"""Tensors without dimensions, as torch has them where a method works along one: as a vector of one
element, which dimension 0 (or -1) is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import ops
from ...ir.dispatch import Value

Method = Callable[..., Any]


def _as_vector(x: Any) -> Any:
    return ops.reshape(x, (1,)) if isinstance(x, Value) and not x.shape else x


def _as_number(x: Any) -> Any:
    return ops.reshape(x, x.shape[1:]) if isinstance(x, Value) and x.shape else x


def numbers_too(method: Method) -> Method:
    """A method along a dimension, for tensors without any too. What is given besides counts as a
    vector as well."""

    @functools.wraps(method)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        if self.shape:
            return method(self, *given, **named)
        found = method(
            _as_vector(self),
            *map(_as_vector, given),
            **{name: _as_vector(x) for name, x in named.items()},
        )
        if isinstance(found, tuple):
            return type(found)(*map(_as_number, found))
        return _as_number(found)

    return call


def dim_of(x: Any, dim: Any) -> Any:
    """The dimensions of a reduction: where none are named all of them, as torch has it; of a tensor
    without any, dimension 0 is all there is."""
    if type(dim) in (tuple, list) and not dim:
        return None
    return None if dim is not None and not x.shape and dim in (0, -1) else dim


__all__ = ["dim_of", "numbers_too"]
