"""What must not overlap: compiled code reads all of its operands before it writes to any, and gives
the memory of donated ones away."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..devices import DeviceArray
from ..errors import TracegradError
from ..faces.twins import TWINS
from ..faces.views import in_memory
from ..ir.contents import share
from ..ir.graph import Var
from ..ir.trace import WRITTEN_APART
from ..runtime.memory import POOL
from ..tensor import Boxed
from ..types import show

Memory = np.ndarray[Any, Any]


def owned(x: Memory) -> bool:
    """Whether an array is the only one over its memory, which may be written."""
    return bool(x.flags.writeable) and (
        bool(x.flags.owndata) or POOL.owns(x.base) or _unpickled(x) == ALONE
    )


def _unpickled(x: Memory) -> tuple[int, ...]:
    """How many references there are to what an array stands on that protocol 5 of pickle has made,
    which is Python's own choice from 3.14 on; only to be compared with each other."""
    base: Any = x.base
    inner: Any = getattr(base, "base", None)
    if type(base) is not np.ndarray or type(inner) is not memoryview:
        return ()
    if type(inner.obj) is not bytearray:
        return ()
    return sys.getrefcount(base), sys.getrefcount(inner), sys.getrefcount(inner.obj)


ALONE = _unpickled(pickle.loads(pickle.dumps(np.zeros(1), 5)))


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
        for j, data in enumerate(memory_of(values)):
            if j != k and data is not None and np.may_share_memory(x, data):
                raise ValueError(
                    f"jit: the donated argument {name} shares memory with another argument "
                    "or captured array. Donate a copy of it."
                )


def check_order_of_bytes(x: Any, name: str) -> None:
    """A ValueError where a written argument is an array of which compiled code gets a copy."""
    if isinstance(x, np.ndarray) and not x.dtype.isnative:
        raise ValueError(
            f"jit: the argument {name} is written to and has the dtype {x.dtype.str!r}, whose "
            "bytes are in another order than this machine's. Pass a copy: "
            "x.astype(x.dtype.newbyteorder('='))."
        )


def check_overlap(values: Sequence[Any], k: int, name: str, who: str) -> None:
    """A ValueError where the written argument `k` shares memory with another: compiled code reads
    all arguments before it writes."""
    memory = memory_of(values)
    written = memory[k]
    for j, other in enumerate(memory):
        if j == k or written is None or other is None or not np.may_share_memory(written, other):
            continue
        if share(written, other):
            raise ValueError(
                f"{who}: the argument {name} is written to and shares memory with another argument "
                "or captured array. Pass a copy of one of them."
            )


def check_changed(name: str, arguments: Sequence[Any], changed: Sequence[Any]) -> None:
    """A TracegradError where a Tensor from outside that function `name` writes shares memory with
    an argument or with another one, which do not follow it."""
    memory = memory_of([*changed, *arguments])
    written, given = memory[: len(changed)], memory[len(changed) :]
    if not may_meet(written, given):
        return
    for k, x in enumerate(written):
        for other in (*written[:k], *given):
            if share(x, other):
                shape = show(changed[k].shape)
                raise TracegradError(WRITTEN_APART.format(name=name, shape=shape))


def may_meet(written: Sequence[Memory | None], read: Sequence[Memory | None]) -> bool:
    """Whether memory that is written may be shown by another array, or twice. Most arrays own their
    memory, or show what another array owns: then the owners tell (0.1 us for each array)."""
    owners: set[int] = set()
    count = 0
    for arrays in (written, read):
        for x in arrays:
            if x is None:
                continue
            owner = x if type(x) is not np.ndarray or x.base is None else x.base
            if type(owner) is not np.ndarray or not owner.flags.owndata:
                return _meet(written, read)
            if arrays is written:
                owners.add(id(owner))
                count += 1
            elif id(owner) in owners:
                return _meet(written, read)
    return len(owners) < count and _meet(written, read)


def _meet(written: Sequence[Memory | None], read: Sequence[Memory | None]) -> bool:
    """As `may_meet`, array by array."""
    both: list[Any] = [*written, *read]
    arrays = [x.layout if type(x) is DeviceArray else x for x in both]
    return any(
        x is not None and y is not None and np.may_share_memory(x, y)
        for k, x in enumerate(arrays[: len(written)])
        for y in arrays[k + 1 :]
    )


def memory_of(values: Sequence[Any]) -> list[Memory | None]:
    """Where values lie, as far as they have memory: of what lies on a device the layout there; of
    traced values a stand-in, which two of them share where they show the same."""
    bases: dict[int, Memory] = {}
    found: list[Memory | None] = []
    for x in values:
        data = x._data if isinstance(x, Boxed) else x
        if type(data) is DeviceArray:
            data = data.layout
        elif isinstance(data, Var) and isinstance(x, Boxed):
            root: Any = x._root
            one = id(TWINS.get(id(root), root))
            if one not in bases:
                bases[one] = np.empty(
                    root.shape if all(isinstance(s, int) for s in root.shape) else 1, np.bool_
                )
            data = in_memory(bases[one], x._view if x._base is not None else ())
            data = bases[one] if data is None else data
        found.append(data if isinstance(data, np.ndarray) else None)
    return found
