"""Objects of Python that hold a state which no graph carries: iterators and generators, random
numbers, deques and buffers, the attributes of classes. A branch or a body that changes one would do
that once, while it is traced."""

from __future__ import annotations

import collections
import functools
import io
import itertools
import operator
import random
import sys
import types
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import module_of
from ..ir.lines import INSTALLED

HELD = (list, set, collections.deque)
"""Containers, of which the subclasses too have such a state."""
_STATES: dict[type, Callable[[Any], Any]] = {
    random.Random: lambda x: x.getstate(),
    np.random.Generator: lambda x: repr(x.bit_generator.state),
    np.random.RandomState: lambda x: repr(x.get_state(legacy=False)),
    **{kind: lambda x: repr(x.state) for kind in np.random.BitGenerator.__subclasses__()},
    io.StringIO: lambda x: (x.tell(), x.getvalue()),
    io.BytesIO: lambda x: (x.tell(), x.getvalue()),
    bytearray: bytes,
    array: lambda x: x.tobytes(),
}


def standing(value: Any) -> Callable[[], Any]:
    """Where an iterator stands, as far as it tells."""
    if isinstance(value, types.GeneratorType):

        def frame() -> Any:
            now = value.gi_frame
            return (
                None
                if now is None
                else (now.f_lasti, {name: id(x) for name, x in dict(now.f_locals).items()})
            )

        return frame
    if isinstance(value, (itertools.count, itertools.repeat)):
        return lambda: repr(value)
    return lambda: operator.length_hint(value, -1)


class Opaque:
    """One such object, and the state in which it was found."""

    def __init__(self, value: Any, state: Callable[[], Any]) -> None:
        self.value, self.state, self.before = value, state, state()

    @property
    def name(self) -> str:
        """What it is, in words."""
        if isinstance(self.value, type):
            return f"the class {self.value.__name__}"
        return f"a value of type {type(self.value).__name__}"

    def changed(self) -> bool:
        """Whether the state is another one now."""
        now, before = self.state(), self.before
        if isinstance(now, list):
            return len(now) != len(before) or any(
                a is not b for a, b in zip(now, before, strict=True)
            )
        return bool(now != before)


def opaque(value: Any) -> Opaque | None:
    """An object with such a state; None for all others."""
    kind = type(value)
    read = _STATES.get(kind)
    if read is not None:
        return Opaque(value, functools.partial(read, value))
    if isinstance(value, type):
        if is_users_module(module_of(value)):
            return Opaque(value, lambda: [x for item in _attributes(value) for x in item])
        return None
    if isinstance(value, HELD):
        return Opaque(value, lambda: list(value))
    if hasattr(kind, "__next__") and not hasattr(value, "__dict__"):
        return Opaque(value, standing(value))
    return None


def _attributes(cls: type) -> list[tuple[str, Any]]:
    # Python itself notes what kind of class it is.
    return [item for item in vars(cls).items() if not item[0].startswith(("__", "_abc"))]


@functools.lru_cache(4096)
def is_users_module(name: str) -> bool:
    """Whether a module is the user's, and neither Python's nor installed."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:
        return name not in ("builtins", *sys.builtin_module_names)
    return not file.startswith(INSTALLED)


__all__ = ["Opaque", "is_users_module", "opaque", "standing"]
