"""What must not overlap: compiled code reads all of its operands before it writes to any, and gives
the memory of donated ones away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from .._codegen import integers
from ..devices import DeviceArray
from ..errors import TracegradError
from ..ir.contents import share
from ..ir.graph import Var
from ..ir.trace import WRITTEN_APART
from ..ops.arrays.shape import broadcast_to_op
from ..runtime.memory import POOL
from ..tensor import Boxed
from ..tree import flatten
from ..types import show

Memory = np.ndarray[Any, Any]


def owned(x: Memory) -> bool:
    """Whether an array is the only one over its memory, which may be written."""
    return bool(x.flags.writeable) and (bool(x.flags.owndata) or POOL.owns(x.base))


def check_donated(values: Sequence[Any], numbers: Sequence[int], names: Sequence[str]) -> None:
    """A ValueError that says what to do where a value cannot be given up."""
    for k in numbers:
        x, name = values[k], names[k] or f"number {k}"
        if isinstance(x, Boxed) and x._requires_grad:
            raise ValueError(
                f"jit: the donated argument {name} requires grad, so that its value is needed "
                "later. Donate x.detach()."
            )
        if not isinstance(x, np.ndarray):
            continue
        if not x.flags.writeable:
            raise ValueError(f"jit: the donated argument {name} is read-only. Donate a copy.")
        if not owned(x):
            raise ValueError(
                f"jit: the donated argument {name} is a view of memory that others "
                "may use. Donate a copy."
            )
        for j, data in enumerate(_memory(values)):
            if j != k and data is not None and np.may_share_memory(x, data):
                raise ValueError(
                    f"jit: the donated argument {name} shares memory with another argument "
                    "or captured array. Donate a copy of it."
                )


def check_overlap(values: Sequence[Any], k: int, name: str) -> None:
    """A ValueError where the written argument `k` shares memory with another: compiled code reads
    all arguments before it writes."""
    memory = _memory(values)
    written = memory[k]
    for j, other in enumerate(memory):
        if j == k or written is None or other is None or not np.may_share_memory(written, other):
            continue
        if share(written, other):
            raise ValueError(
                f"jit: the argument {name} is written to and shares memory with another argument "
                "or captured array. Pass a copy of one of them."
            )


def check_changed(name: str, arguments: Sequence[Any], changed: Sequence[Any]) -> None:
    """A TracegradError where a Tensor from outside that function `name` writes shares memory with
    an argument or with another one, which do not follow it."""
    boxes = list({id(x): x for x in changed}.values())
    spans = []
    for k, x in enumerate((*arguments, *boxes)):
        data = x._data if isinstance(x, Boxed) else x
        if isinstance(data, np.ndarray) and data.size:
            spans.append((*byte_bounds(data), k, data))
    spans.sort(key=lambda span: span[:3])
    for at, (_, end, k, data) in enumerate(spans):
        for start, _, j, other in spans[at + 1 :]:
            if start >= end:
                break
            if max(k, j) >= len(arguments) and share(data, other):
                shape = show(boxes[max(k, j) - len(arguments)].shape)
                raise TracegradError(WRITTEN_APART.format(name=name, shape=shape))


def _memory(values: Sequence[Any]) -> list[Memory | None]:
    """Where values lie, as far as they have memory: of what lies on a device the layout there; of
    traced values a stand-in, which two of them share where they show the same."""
    bases: dict[int, Memory] = {}
    found: list[Memory | None] = []
    for x in values:
        data = x._data if isinstance(x, Boxed) else x
        if type(data) is DeviceArray:
            data = data.layout
        elif isinstance(data, Var) and isinstance(x, Boxed):
            root: Any = x if x._base is None else x._base
            if id(root) not in bases:
                bases[id(root)] = np.empty(
                    root.shape if all(isinstance(s, int) for s in root.shape) else 1, np.bool_
                )
            data = _shown(bases[id(root)], x._view if x._base is not None else ())
        found.append(data if isinstance(data, np.ndarray) else None)
    return found


def _shown(memory: Memory, view: Sequence[tuple[Any, dict[str, Any]]]) -> Memory:
    """What a view shows of this memory; all of it where that is not known."""
    part = memory
    for op, params in view:
        known = getattr(op, "view", False) or op is broadcast_to_op
        if not known or any(isinstance(p, integers.Integer) for p in flatten(params)[0]):
            return memory
        part = op.evaluate(part, **params)
    return part if np.may_share_memory(part, memory) else memory
