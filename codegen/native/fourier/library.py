"""The discrete Fourier transforms that kernels call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np import numpy_support

from ..bridge import compiled, implements
from ..by_address import REGISTER, in_large_pages
from ..foreign import routine
from ..support import index
from ..symbols import OWN
from . import transform

__all__ = ["fft", "irfft", "rfft"]


def fft(x: Any, out: Any, axis: int, inverse: bool) -> None:
    """The sums of x exp(-2 pi i j k / n) along an axis, or of x exp(2 pi i j k / n)."""
    if inverse:
        out[...] = np.fft.ifft(x, axis=axis, norm="forward")
    else:
        out[...] = np.fft.fft(x, axis=axis)


def rfft(x: Any, out: Any, axis: int) -> None:
    """The first n // 2 + 1 results of `fft` of n real elements."""
    out[...] = np.fft.rfft(x, axis=axis)


def irfft(x: Any, out: Any, axis: int) -> None:
    """The n real results of the inverse `fft` of what x is the first half of, n being the size of
    `out`."""
    out[...] = np.fft.irfft(x, out.shape[axis], axis, norm="forward")


def _body(kind: int, real: Any) -> Any:
    dtype = numpy_support.as_dtype(real)
    t = dtype.type
    own = routine(OWN, f"fourier_{dtype.name}", transform.KINDS)
    dtype_size = dtype.itemsize
    lanes = REGISTER // dtype_size
    room, doubles, to_complex = transform.room, transform.doubles, transform.TO_COMPLEX

    def body(x: Any, out: Any, axis: int, inverse: bool) -> None:
        outer, inner = 1, 1
        for k in range(x.ndim):
            if k < axis:
                outer *= x.shape[k]
            elif k > axis:
                inner *= x.shape[k]
        n = x.shape[axis] if kind == to_complex else out.shape[axis]
        count = outer * inner
        if count == 0:
            return
        work = np.empty(room(index(kind), index(n), index(count), index(lanes)) + index(lanes), t)
        in_large_pages(work.ctypes.data, work.nbytes)
        ahead = (-work.ctypes.data % REGISTER) // dtype_size
        space = doubles(index(kind), index(n), index(count), index(lanes))
        tables = np.empty(space + index(REGISTER // 8), np.float64)
        # Vectors that begin where a line of the cache does take half the time of others.
        front = (-tables.ctypes.data % REGISTER) // 8
        own(kind, n, outer, inner, inverse, x, 0, out, 0, work, ahead, tables, front)

    return body


@implements(fft, inline=False)
def _type_fft(x: Any, out: Any, axis: Any, inverse: Any) -> Any:
    return _body(transform.COMPLEX, x.dtype.underlying_float)


@implements(rfft, inline=False)
def _type_rfft(x: Any, out: Any, axis: Any) -> Any:
    body = compiled(_body(transform.TO_COMPLEX, x.dtype))
    return lambda x, out, axis: body(x, out, axis, False)


@implements(irfft, inline=False)
def _type_irfft(x: Any, out: Any, axis: Any) -> Any:
    body = compiled(_body(transform.TO_REAL, out.dtype))
    return lambda x, out, axis: body(x, out, axis, False)
