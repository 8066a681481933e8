"""What an array held at one time: whether it was written to since.

A plain NumPy array is the user's, who may write to it while a trace is open, or before a backward
pass reads it. What it held is remembered as a digest of all its bytes. Of a large array it is sums
of its words, each multiplied by a random number of its place ("multilinear hashing", Carter and
Wegman, Universal classes of hash functions, 1979), behind a step that carries the upper bits of a
word, the sign among them, down: a product keeps them at the top, where two of them cancel. (Sums
alone do not see what changes all signs, or the order of all of it.)
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from ..devices import DeviceArray

SMALL = 1 << 16
"""Bytes of an array that is copied, or hashed, without a thought."""
_ROW, _CHUNK = 1 << 14, 1 << 16
"""Words of 8 bytes that are mixed, and compared, at a time, so that they stay in the cache."""

Array = np.ndarray[Any, Any]


def digest(x: Array) -> int:
    """A number that another content has not; the same within this process for the same array with
    the same content."""
    if x.nbytes <= SMALL:
        return hash(x.tobytes())
    octets = _octets(x)
    whole = octets.size // (8 * _ROW) * _ROW
    factors, mixed, sums = _factors(), np.empty(_ROW, np.uint64), []
    for row in octets[: 8 * whole].view(np.uint64).reshape(-1, _ROW):
        np.right_shift(row, 31, out=mixed)
        np.bitwise_xor(mixed, row, out=mixed)
        np.multiply(mixed, factors, out=mixed)
        sums.append(int(np.add.reduce(mixed)))
    return hash((*sums, octets[8 * whole :].tobytes()))


@functools.cache
def _factors() -> Array:
    """Odd numbers, so that none takes a bit away."""
    return np.frombuffer(os.urandom(8 * _ROW), np.uint64) | np.uint64(1)


def owner(x: Any) -> Any:
    """What holds the memory that an array shows: the last of what it is a view of."""
    while isinstance(x, (np.ndarray, DeviceArray)) and x.base is not None:
        x = x.base
    return x


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
