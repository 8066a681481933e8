"""NumPy's functions as functions of the namespace: on Tensors they are differentiated, and what
they give of numbers alone becomes a Tensor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..tensor import Boxed, Tensor
from ..tensors import as_tensor

Function = Callable[..., Any]


def given(result: Any) -> Any:
    """A result as a Tensor; the parts of a tuple as Tensors."""
    if isinstance(result, Boxed):
        return result
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(given, result))
    if isinstance(result, (tuple, list)):
        return tuple(map(given, result))
    return as_tensor(np.asarray(result))


def operand(x: Any) -> Any:
    """An argument: a Tensor, or the number that it is."""
    if not isinstance(x, (Tensor, Boxed, bool, int, float, complex)):
        raise TypeError(
            f"functions of the array API take Tensors, not {type(x).__name__}: "
            "make one with xp.asarray(x)"
        )
    return x


def of(function: Function, name: str = "", count: int = 1) -> Function:
    """A function of `count` arrays, then of options, that NumPy or tracegrad has, under a name of
    the standard."""

    @functools.wraps(function, updated=())
    def called(*args: Any, **kwargs: Any) -> Any:
        for x in args[:count]:
            operand(x)
        return given(function(*args, **kwargs))

    called.__name__ = called.__qualname__ = name or function.__name__
    called.__doc__ = (
        f"The standard's `{called.__name__}`, on Tensors.\n\n"
        "    TypeError for what is no Tensor or number.\n    "
    )
    return called


def all_of(space: Any, names: Iterable[str], count: int = 1) -> dict[str, Function]:
    """`of` for functions that have the standard's names already."""
    return {name: of(getattr(space, name), name, count) for name in names}


__all__ = ["Function", "all_of", "given", "of", "operand"]
