"""Arguments that a compiled function writes to, and those that its caller gives up, so that results may take their memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .runtime.memory import POOL
from .tensor import Boxed
from .tree import flatten, unflatten


def given_up(spec: Any, count: int, positions: Sequence[str | None], donated: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the leaves below the donated arguments; `positions` names the positional ones."""
    args, kwargs = unflatten(spec, range(count))
    trees = [part for name, part in [*zip(positions, args, strict=False), *kwargs.items()] if name in donated]
    return tuple(flatten(trees)[0])


def owned(x: np.ndarray[Any, Any]) -> bool:
    """Whether an array is the only one over its memory, which may be written."""
    return bool(x.flags.writeable) and (bool(x.flags.owndata) or POOL.owns(x.base))


def check_donated(values: Sequence[Any], numbers: Sequence[int], names: Sequence[str]) -> None:
    """A ValueError that says what to do where a value cannot be given up."""
    for k in numbers:
        x, name = values[k], names[k] or f"number {k}"
        if isinstance(x, Boxed) and x.requires_grad:
            raise ValueError(f"jit: the donated argument {name} requires grad, so that its value is needed later. Donate x.detach().")
        if not isinstance(x, np.ndarray):
            continue
        if not x.flags.writeable:
            raise ValueError(f"jit: the donated argument {name} is read-only. Donate a copy.")
        if not owned(x):
            raise ValueError(f"jit: the donated argument {name} is a view of memory that others may use. Donate a copy.")
        for j, other in enumerate(values):
            data = _memory(other)
            if j != k and data is not None and np.may_share_memory(x, data):
                raise ValueError(
                    f"jit: the donated argument {name} shares memory with another argument or captured array. Donate a copy of it."
                )


def write_back(x: Any, new: Any) -> None:
    if isinstance(x, Boxed):
        x._write(new)
    elif isinstance(x, np.ndarray):
        np.copyto(x, new, casting="unsafe")


def check_overlap(values: Sequence[Any], k: int, name: str) -> None:
    """A ValueError where the written argument `k` shares memory with another: compiled code reads all arguments before it writes."""
    written = _memory(values[k])
    for j, other in enumerate(map(_memory, values)):
        if j == k or written is None or other is None or not np.may_share_memory(written, other):
            continue
        try:
            shared = np.shares_memory(written, other, max_work=10_000)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            shared = True
        if shared:
            raise ValueError(
                f"jit: the argument {name} is written to and shares memory with another argument or captured array. "
                "Pass a copy of one of them."
            )


def _memory(x: Any) -> np.ndarray[Any, Any] | None:
    data = x._data if isinstance(x, Boxed) else x
    return data if isinstance(data, np.ndarray) else None
