"""What an array held at one time: whether it was written to since.

A plain NumPy array is the user's, who may write to it while a trace is open, or before a backward
pass reads it. What it held is remembered as a digest of all its bytes. A large array is read at the
speed of memory for it: its words are summed, as integers, over the rows and over the columns of two
tables that its memory is laid out as. One changed element always shows, and so does an exchange of
elements, except where it leaves all sums of both tables as they were.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SMALL = 1 << 16
"""Bytes of an array that is copied, or hashed, without a thought."""
_ROW, _TABLE, _CHUNK = 1 << 9, 1 << 12, 1 << 16
"""Words of 8 bytes: of a row of the one table, of a row of the other, and of what is read at a
time, so that it stays in the cache."""

Array = np.ndarray[Any, Any]


def digest(x: Array) -> int:
    """A number that another content has not; the same within this process for the same array with
    the same content."""
    if x.nbytes <= SMALL:
        return hash(x.tobytes())
    octets = _octets(x)
    count = octets.size // (8 * _TABLE) * _TABLE
    words = octets[: 8 * count].view(np.uint64)
    rows, columns = np.empty(count // _ROW, np.uint64), np.zeros(_TABLE, np.uint64)
    for at in range(0, count, _CHUNK):
        chunk = words[at : at + _CHUNK]
        np.add.reduce(chunk.reshape(-1, _ROW), 1, out=rows[at // _ROW : (at + chunk.size) // _ROW])
        columns += np.add.reduce(chunk.reshape(-1, _TABLE), 0)
    return hash((rows.tobytes(), columns.tobytes(), octets[8 * count :].tobytes()))


def writable(x: Array) -> bool:
    """Whether NumPy may write into this memory: through the array, or through the one that it is a
    view of."""
    return x.flags.writeable or (isinstance(x.base, np.ndarray) and writable(x.base))


def copied(x: Array) -> Array:
    """A copy that takes no more memory than the array."""
    core = _core(x)
    return x.copy(order="K") if core is x else np.broadcast_to(core.copy(), x.shape)


def share(x: Any, y: Any) -> bool:
    """Whether two arrays of the host show an element both; where that takes long to tell, they
    do."""
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return False
    try:
        return bool(np.shares_memory(x, y, max_work=10_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def same_bits(x: Array, y: Array) -> bool:
    """Whether an earlier copy of an array and the array are alike in type, layout and every bit."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    x, y = _core(x), _core(y)
    if x.shape != y.shape:
        return False
    if not (x.flags.forc and y.flags.forc):
        # The copy has no gaps, and the axes in the same order.
        return _order(x) == _order(y) and all(
            np.array_equal(a, b) for a, b in zip(_numbers(x), _numbers(y), strict=True)
        )
    if x.strides != y.strides:
        return False
    one, other = _octets(x), _octets(y)
    whole = one.size // 8
    for at in range(0, whole, _CHUNK):
        part = slice(8 * at, 8 * min(at + _CHUNK, whole))
        if not np.array_equal(one[part].view(np.uint64), other[part].view(np.uint64)):
            return False
    return np.array_equal(one[8 * whole :], other[8 * whole :])


def _order(x: Array) -> list[int]:
    """The axes with more than one element, from the one with the largest steps on."""
    return sorted([k for k in range(x.ndim) if x.shape[k] > 1], key=lambda k: -abs(x.strides[k]))


def _numbers(x: Array) -> list[Array]:
    """The bits as integers of a size that NumPy compares, in place."""
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
    return [p.view(f"u{p.itemsize}") for p in parts]


def _core(x: Array) -> Array:
    """The elements that take memory: one along axes along which the array was broadcast."""
    return (
        x[tuple([slice(1) if stride == 0 else slice(None) for stride in x.strides])]
        if 0 in x.strides and x.size
        else x
    )


def _octets(x: Array) -> Array:
    """All bytes in the order of memory; without the gaps, where the array has some."""
    core = _core(x)
    if not core.flags.forc:
        core = np.ascontiguousarray(
            core.transpose(np.argsort([-abs(s) for s in core.strides], kind="stable"))
        )
    return core.reshape(-1, order="A").view(np.uint8)
