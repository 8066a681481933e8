"""NumPy's functions that write one element, or one part, and then read the next: where both lie in
the same memory, they read what they have just written. Here all is read before anything is
written, so calls for which that makes a difference are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedFunctionError
from ...ir.contents import share
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ...ops.define import shape_of
from ...sizes import numel, same
from ..operators import array_of, operand
from ..views import in_memory

Write = Callable[[Any, Any], Any]
"""NumPy's way to write: into what, and from what."""


def _numbers(root: Any) -> Any:
    """An array of the shape of a base, each element another number; None of sizes that only a run
    knows."""
    shape = root.shape
    if not all(type(n) is int for n in shape):
        return None
    return np.arange(float(numel(shape))).reshape(shape)


def _part(x: Any, numbers: Any) -> Any:
    return None if numbers is None else in_memory(numbers, x._view)


def overlap(x: Any, y: Any) -> bool:
    """Whether two boxes show, or may show, the same elements of one base."""
    if not (isinstance(x, Value) and isinstance(y, Value)) or x._root is not y._root:
        return False
    numbers = _numbers(x._root)
    one, other = _part(x, numbers), _part(y, numbers)
    return one is None or other is None or share(one, other)


def refuse_overlap(name: str, written: Any, read: Any, write: Write | None = None) -> None:
    """An UnsupportedFunctionError where what is read, boxes or a list of them, lies in the memory
    that is written. With NumPy's way to write, only where that makes a difference."""
    parts = read if isinstance(read, (list, tuple)) else [read]
    if any(overlap(x, written) and not same(numel(x.shape), 1) for x in parts) and (
        write is None or _in_turn(written, read, write)
    ):
        raise UnsupportedFunctionError(
            f"{user_line()}: {name} writes into memory that it also reads, and NumPy would read "
            "there what it has just written. Pass a copy of what is read: x.copy()."
        )


def _in_turn(written: Any, read: Any, write: Write) -> bool:
    """Whether NumPy gives something else than it does with copies of what is read."""
    parts = list(read) if isinstance(read, (list, tuple)) else [read]
    found = []
    for copied in (False, True):
        numbers = _numbers(written._root)
        target, *sources = [
            _part(x, numbers)
            if isinstance(x, Value) and x._root is written._root
            else np.zeros(shape_of(array_of(operand(x))))
            for x in (written, *parts)
        ]
        if target is None or any(x is None for x in sources):
            return True
        if copied:
            sources = [x.copy() for x in sources]
        write(target, sources if isinstance(read, (list, tuple)) else sources[0])
        found.append(numbers)
    return not np.array_equal(*found)


READ_LATE: dict[Callable[..., Any], Sequence[str]] = {
    np.concatenate: ("arrays", "axis", "out"),
    np.stack: ("arrays", "axis", "out"),
    np.ptp: ("a", "axis", "out"),
}
"""Functions with `out=` that read after they have written, and their parameters."""


def refuse_out(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """`refuse_overlap` for a call of one of these functions."""
    names = READ_LATE[function]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    out, read, axis = given.get("out"), given.get(names[0]), given.get("axis", 0)
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if isinstance(out, Value):
        write = None if function is np.ptp else lambda o, r: function(r, axis=axis, out=o)
        refuse_overlap(f"np.{function.__name__}", out, read, write)


def refuse_twice(name: str, outs: Any) -> None:
    """An UnsupportedFunctionError where two results would go to the same memory."""
    if isinstance(outs, tuple) and any(
        overlap(x, y) for k, x in enumerate(outs) for y in outs[k + 1 :]
    ):
        raise UnsupportedFunctionError(
            f"{user_line()}: {name}: two of the arrays in out= share memory; pass arrays of their "
            "own."
        )


__all__ = ["READ_LATE", "overlap", "refuse_out", "refuse_overlap", "refuse_twice"]
