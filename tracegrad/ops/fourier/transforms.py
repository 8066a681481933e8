"""The discrete Fourier transforms along one axis, without factors in front: the primitives.

Each is linear, and the adjoint of each is one of them: that of the complex transform is the one
with the other sign; those between real arrays and half spectra are each other's adjoint, but for
the elements of the spectrum that stand for two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...dtypes import complex_of, real_of
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types
from ...types import ArrayType, Int, show
from ..arrays.creation import iota
from ..arrays.shape import front, reshape
from ..define import linear, ndim_of, shape_of
from ..elementwise.arithmetic import equal, where
from ..elementwise.derived import mul
from ..elementwise.logic import logical_or


def _checked(name: str, kind: ArrayType, axis: int, letter: str) -> ArrayType:
    if kind.dtype.kind != letter:
        what = {"c": "complex", "f": "real floating point"}[letter]
        raise DTypeError(f"{name}: needs {what} numbers, not {kind.dtype}")
    n = kind.shape[axis]
    if isinstance(n, int) and n < 1:
        raise ShapeError(f"{name}: axis {axis} of shape {show(kind.shape)} is empty")
    return kind


def weighted(spectrum: Any, n: Int, axis: int, others: float) -> Any:
    """A half spectrum of n real elements in which what stands for two elements is scaled."""
    shape = shape_of(spectrum)
    kind = real_of(spectrum.dtype).type
    k = reshape(iota(shape[axis]), tuple(s if a == axis else 1 for a, s in enumerate(shape)))
    alone = logical_or(equal(k, 0), equal(mul(k, 2), n))
    return mul(spectrum, where(alone, kind(1), kind(others)))


def _batched(primitive: Any) -> Any:
    def rule(values: Any, at: Any, size: Int, *, axis: int, **params: Any) -> Any:
        if "shape" in params:
            params["shape"] = (size, *params["shape"])
        x = front(values[0], at[0])
        return [bind(primitive(), [x], {"axis": axis + 1, **params})], [0]

    return rule


def _call(name: str, *more: str) -> lower.Library:
    def call(inputs: Any, outputs: Any, params: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
        return name, (params["axis"], *[params[p] for p in more])

    return lower.Library(call)


def _fft_infer(x: Any, *, axis: int, inverse: bool) -> Types:
    return (_checked("fft", x.type, axis, "c"),)


def _fft_evaluate(x: Any, *, axis: int, inverse: bool) -> Any:
    return np.fft.ifft(x, axis=axis, norm="forward") if inverse else np.fft.fft(x, axis=axis)


fft_op: Op = linear(
    "fft",
    evaluate=_fft_evaluate,
    infer=_fft_infer,
    adjoint=lambda ct, *, axis, inverse: bind(fft_op, [ct], {"axis": axis, "inverse": not inverse}),
    batch=_batched(lambda: fft_op),
    lowering=_call("fft", "inverse"),
    doc="The sums of x[j] exp(-2 pi i j k / n) along an axis; the other sign where `inverse`.",
)


def _rfft_infer(x: Any, *, axis: int) -> Types:
    kind = _checked("rfft", x.type, axis, "f")
    n = kind.shape[axis]
    shape = (*kind.shape[:axis], n // 2 + 1, *kind.shape[axis + 1 :])
    return (ArrayType(complex_of(kind.dtype), shape),)


def _rfft_adjoint(ct: Any, *, axis: int, like: ArrayType) -> Any:
    half = weighted(ct, like.shape[axis], axis, 0.5)
    return bind(irfft_op, [half], {"axis": axis, "shape": like.shape})


rfft_op: Op = linear(
    "rfft",
    evaluate=lambda x, *, axis: np.fft.rfft(x, axis=axis),
    infer=_rfft_infer,
    adjoint=_rfft_adjoint,
    batch=_batched(lambda: rfft_op),
    lowering=_call("rfft"),
    doc="The first n // 2 + 1 results of the transform of n real elements along an axis.",
)


def _irfft_infer(x: Any, *, axis: int, shape: tuple[Int, ...]) -> Types:
    return (ArrayType(real_of(_checked("irfft", x.type, axis, "c").dtype), tuple(shape)),)


def _irfft_adjoint(ct: Any, *, axis: int, shape: tuple[Int, ...]) -> Any:
    return weighted(bind(rfft_op, [ct], {"axis": axis}), shape[axis], axis, 2.0)


irfft_op: Op = linear(
    "irfft",
    evaluate=lambda x, *, axis, shape: np.fft.irfft(x, shape[axis], axis, norm="forward"),
    infer=_irfft_infer,
    adjoint=_irfft_adjoint,
    batch=_batched(lambda: irfft_op),
    lowering=_call("irfft"),
    doc="The real array of `shape` of which x is the first half of the spectrum, times its length.",
)


def fft_along(x: Any, axis: int, inverse: bool) -> Any:
    """The complex transform along an axis that counts from the front."""
    return bind(fft_op, [x], {"axis": axis, "inverse": inverse})


def rfft_along(x: Any, axis: int) -> Any:
    """The half spectrum along an axis that counts from the front."""
    return bind(rfft_op, [x], {"axis": axis})


def irfft_along(x: Any, axis: int, n: Int) -> Any:
    """The n real elements of a half spectrum."""
    shape = (*shape_of(x)[:axis], n, *shape_of(x)[axis + 1 : ndim_of(x)])
    return bind(irfft_op, [x], {"axis": axis, "shape": shape})


OPS = (fft_op, rfft_op, irfft_op)
