"""torch's method names, signatures and defaults, for Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...checks import REFUSED, explained_here
from ...ir.graph import Var
from ...ops.arrays.transfer import place_of, transfer
from ...ops.places.indexing import as_element
from ...weak import PYTHON
from ..numpy import results
from ..numpy.laying import laid
from ..operators import operand
from ..printing import tensor_repr
from .casts import TensorCasts, titled
from .indexing import TensorIndexing
from .orders import TensorOrders, _numpys
from .pieces import TensorPieces
from .products import TensorProducts
from .reductions import TensorReductions
from .shapes import TensorShapes
from .updates import TensorUpdates


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(ops, name)
    op = ops.APPLIED_BY.get(function)

    def method(self: Any) -> Any:
        return function(self) if op is None or op.eager is None else op.eager(self)

    method.__name__, method.__doc__ = name, f"As tracegrad.{name}, of this tensor."
    return method


def _binary(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(ops, name)

    def method(self: Any, other: Any) -> Any:
        return function(self, operand(other))

    method.__name__, method.__doc__ = (
        name,
        f"As tracegrad.{name}, with this tensor as the first operand.",
    )
    return method


def _scaled(name: str) -> Callable[..., Any]:
    """add and sub take a factor for the other operand."""

    def method(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        try:
            if isinstance(alpha, int) and alpha == 1:
                factor = operand(other)
            elif type(other) in PYTHON and type(alpha) in PYTHON:
                # The product of Python's numbers is one, too, and decides no dtype.
                factor = alpha * other
            else:
                factor = ops.mul(alpha, operand(other))
            return getattr(ops, name)(self, factor)
        except REFUSED as error:
            raise explained_here(error) from error.__cause__

    method.__name__ = name
    return method


class TensorMethods(
    TensorReductions,
    TensorOrders,
    TensorPieces,
    TensorUpdates,
    TensorProducts,
    TensorShapes,
    TensorIndexing,
    TensorCasts,
):
    """torch's names."""

    __slots__ = ()

    # element by element
    abs, exp, exp2, expm1, log, log1p, log2, log10 = map(
        _unary, ("absolute", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10")
    )
    sqrt, square, reciprocal, sign, floor, ceil, trunc = map(
        _unary, ("sqrt", "square", "reciprocal", "sign", "floor", "ceil", "trunc")
    )
    sin, cos, tan, sinh, cosh, tanh = map(_unary, ("sin", "cos", "tan", "sinh", "cosh", "tanh"))
    asin, acos, atan, asinh, acosh, atanh = map(
        _unary, ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")
    )
    arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
    sigmoid, erf, erfc, erfinv, lgamma, digamma, relu = map(
        _unary, ("sigmoid", "erf", "erfc", "erfinv", "lgamma", "digamma", "relu")
    )
    neg, positive, logical_not, isnan, isinf, isfinite = map(
        _unary, ("neg", "positive", "logical_not", "isnan", "isinf", "isfinite")
    )
    sgn, absolute, negative, bitwise_not, sinc, conj, angle = map(
        _unary, ("sign", "absolute", "neg", "invert", "sinc", "conj", "angle")
    )
    mul, multiply, true_divide = map(_binary, ("mul", "mul", "div"))
    add, sub, subtract = _scaled("add"), _scaled("sub"), _scaled("sub")
    pow, remainder, fmod, floor_divide, atan2 = map(
        _binary, ("power", "remainder", "fmod", "floor_divide", "arctan2")
    )
    maximum, minimum, fmax, fmin, hypot = map(
        _binary, ("maximum", "minimum", "fmax", "fmin", "hypot")
    )
    eq, ne, lt, le, gt, ge = map(
        _binary, ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    )
    logical_and, logical_or, logical_xor = map(
        _binary, ("logical_and", "logical_or", "logical_xor")
    )
    bitwise_and, bitwise_or, bitwise_xor = map(
        _binary, ("bitwise_and", "bitwise_or", "bitwise_xor")
    )
    greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
    logaddexp, logaddexp2, xlogy, copysign, heaviside = map(
        _binary, ("logaddexp", "logaddexp2", "xlogy", "copysign", "heaviside")
    )
    bitwise_left_shift, bitwise_right_shift, float_power = map(
        _binary, ("left_shift", "right_shift", "float_power")
    )
    arctan2 = atan2
    deg2rad, rad2deg, fix, signbit, isposinf, isneginf = map(
        _unary, ("deg2rad", "rad2deg", "fix", "signbit", "isposinf", "isneginf")
    )

    def div(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
        """The quotient; rounded towards 0 ("trunc") or downwards ("floor") where that is asked
        for."""
        if rounding_mode is None:
            return ops.div(self, operand(other))
        if rounding_mode == "floor":
            return ops.floor_divide(self, operand(other))
        if rounding_mode != "trunc":
            raise RuntimeError(
                "div expected rounding_mode to be one of None, 'trunc', "
                f"or 'floor' but found '{rounding_mode}'"
            )
        other = operand(other)
        if np.result_type(self.dtype, getattr(other, "dtype", type(other))).kind in "fc":
            return ops.trunc(ops.div(self, other))
        # The quotient of integers of opposite signs is one more than downwards, where something
        # remains.
        down = ops.floor_divide(self, other)
        rest = ops.not_equal(ops.mul(down, other), self)
        return down + ops.convert(ops.logical_and(down < 0, rest), down.dtype)

    divide = div

    def rsqrt(self: Any) -> Any:
        """1 / sqrt(x)."""
        return titled(ops.reciprocal(ops.sqrt(self)), "RsqrtBackward0", self)

    def frac(self: Any) -> Any:
        """What `trunc` cuts off."""
        return titled(self - ops.trunc(self), "FracBackward0", self)

    def logit(self: Any, eps: float | None = None) -> Any:
        """log(x / (1 - x)), of x limited to [eps, 1 - eps] where eps is given."""
        return titled(
            ops.logit(self if eps is None else ops.clip(self, eps, 1 - eps)), "LogitBackward0", self
        )

    def nan_to_num(
        self: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
    ) -> Any:
        """Numbers in place of NaN and infinities."""
        return titled(
            ops.nan_to_num(self, nan=nan, posinf=posinf, neginf=neginf), "NanToNumBackward0", self
        )

    def polygamma(self: Any, n: int) -> Any:
        """The n-th derivative of digamma."""
        return ops.polygamma(n, self)

    def lerp(self: Any, end: Any, weight: Any) -> Any:
        """From here towards `end` by the fraction `weight`."""
        return titled(self + weight * (end - self), "LerpBackward0", self, end)

    def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        """This tensor plus `value * tensor1 * tensor2`."""
        return titled(self + ops.mul(value, ops.mul(tensor1, tensor2)), "AddcmulBackward0", self)

    def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        """This tensor plus `value * tensor1 / tensor2`."""
        return titled(self + ops.mul(value, ops.div(tensor1, tensor2)), "AddcdivBackward0", self)

    def isclose(
        self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Any:
        """Whether elements differ by at most `atol + rtol * |other|`."""
        return ops.isclose(self, operand(other), rtol, atol, equal_nan)

    def allclose(
        self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> bool:
        """Whether all elements are close."""
        return bool(ops.all(ops.isclose(self, operand(other), rtol, atol, equal_nan)))

    def equal(self: Any, other: Any) -> bool:
        """Whether both have the same shape and the same elements."""
        return self.is_same_size(other) and bool(ops.all(ops.equal(self, other)))

    def clamp_min(self: Any, min: Any) -> Any:
        """The elements, or `min` where they are smaller."""
        return self.clamp(min=min)

    def clamp_max(self: Any, max: Any) -> Any:
        """The elements, or `max` where they are larger."""
        return self.clamp(max=max)

    def clamp(self: Any, min: Any = None, max: Any = None) -> Any:
        """The elements limited to [min, max]."""
        return titled(ops.clip(self, min, max), "ClampBackward1", self)

    clip = clamp

    def round(self: Any, *, decimals: int = 0) -> Any:
        """Rounded to `decimals`, halves to even."""
        return ops.round(self, decimals)

    def where(self: Any, condition: Any, other: Any) -> Any:
        """This tensor where the condition is true, else `other`."""
        return ops.where(condition, self, other)

    def masked_fill(self: Any, mask: Any, value: Any) -> Any:
        """`value` where the mask is true, else this tensor, whose dtype the result has."""
        found = ops.where(mask, as_element(value, self.dtype), self)
        return titled(laid(found, "C", self), "MaskedFillBackward0", self)

    def softmax(self: Any, dim: int, dtype: Any = None) -> Any:
        """Exponentials that sum to 1 along `dim`."""
        x = self if dtype is None else ops.convert(self, dtype)
        return titled(laid(ops.softmax(x, axis=dim), "C", x), "SoftmaxBackward0", x)

    def log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
        """Logarithm of softmax."""
        x = self if dtype is None else ops.convert(self, dtype)
        return titled(laid(ops.log_softmax(x, axis=dim), "C", x), "LogSoftmaxBackward0", x)

    def logsumexp(
        self: Any, dim: Any, keepdim: bool = False, *, axis: Any = None, keepdims: Any = None
    ) -> Any:
        """log(sum(exp(x)))."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return titled(ops.logsumexp(self, axis=dim, keepdims=keepdim), "LogsumexpBackward0", self)

    def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
        """Differences of neighbours along a dimension, with further elements before and behind."""
        return results.own_memory(self, ops.diff(self, n, dim, prepend, append))

    def dist(self: Any, other: Any, p: float = 2) -> Any:
        """The p-norm of the difference."""
        return (self - other).norm(p)

    def unique(
        self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> Any:
        """The different elements in ascending order, where each stands among them, and how often
        each occurs."""
        data = self._concrete("unique()", "Its size depends on the values.")
        found, inverse, counts = np.unique(data, return_inverse=True, return_counts=True)
        chosen = [
            found,
            *([inverse.reshape(data.shape)] if return_inverse else []),
            *([counts] if return_counts else []),
        ]
        boxes = tuple(transfer(self.face(c), place_of(self)) for c in chosen)
        return boxes if len(boxes) > 1 else boxes[0]

    def bincount(self: Any, weights: Any = None, minlength: int = 0) -> Any:
        """How often each number occurs in a vector of integers."""
        data = self._concrete("bincount()", "Its size depends on the values.")
        counts = np.bincount(
            data, None if weights is None else weights.numpy(force=True), minlength
        )
        return transfer(self.face(counts), place_of(self))

    def multinomial(
        self: Any, num_samples: int, replacement: bool = False, *, generator: Any = None
    ) -> Any:
        """Indices drawn with probabilities in proportion to the elements of a vector or of each
        row."""
        source = ops.random.DEFAULT if generator is None else generator
        weights = self._concrete("multinomial()", "Draw outside of the compiled function.").astype(
            np.float64
        )
        if (
            weights.ndim not in (1, 2)
            or not np.all(weights >= 0)
            or not np.all(np.isfinite(weights))
        ):
            raise RuntimeError(
                "multinomial needs a vector or a matrix of weights that are finite and not negative"
            )
        few = int(np.count_nonzero(weights, -1).min(initial=weights.shape[-1]))
        if few < (1 if replacement else num_samples):
            raise RuntimeError(
                f"{num_samples} different indices cannot be drawn from {few} that have a weight"
            )
        if replacement:
            ends = np.cumsum(weights, -1)
            drawn = np.asarray(source.random((*weights.shape[:-1], num_samples))) * ends[..., -1:]
            found = np.sum(drawn[..., None] >= ends[..., None, :], -1)
        else:
            # The first arrivals of processes with these rates.
            with np.errstate(divide="ignore"):
                arrivals = np.asarray(source.exponential(1.0, weights.shape)) / weights
            found = np.argsort(arrivals, -1, kind="stable")[..., :num_samples]
        return transfer(self.face(found.astype(np.int64)), place_of(self))

    def bernoulli(self: Any, *, generator: Any = None) -> Any:
        """1 with the probability that the element is, else 0."""
        source = ops.random.DEFAULT if generator is None else generator
        return ops.convert(source.random(self.shape) < self.detach(), self.dtype)

    def cumsum(self: Any, dim: int, *, dtype: Any = None) -> Any:
        """Running sums along a dimension."""
        x = self if dtype is None else ops.convert(self, dtype)
        return ops.cumsum(x, axis=dim) if x.ndim else x.clone()

    def cumprod(self: Any, dim: int, *, dtype: Any = None) -> Any:
        """Running products along a dimension."""
        x = self if dtype is None else ops.convert(self, dtype)
        return ops.cumprod(x, axis=dim) if x.ndim else x.clone()

    def trace(self: Any) -> Any:
        """Sum of the diagonal."""
        return ops.trace(self)

    def diag(self: Any, diagonal: int = 0) -> Any:
        """A copy of a matrix's diagonal, or the matrix with this diagonal."""
        return titled(
            self.diagonal(diagonal).clone() if self.ndim == 2 else ops.diag(self, diagonal),
            "DiagBackward0",
            self,
        )

    def tril(self: Any, diagonal: int = 0) -> Any:
        """The lower triangle."""
        return laid(ops.tril(self, diagonal), "C", self)

    def triu(self: Any, diagonal: int = 0) -> Any:
        """The upper triangle."""
        return laid(ops.triu(self, diagonal), "C", self)

    def is_nonzero(self: Any) -> bool:
        """Whether the one element is not 0."""
        return bool(self)

    def __repr__(self) -> str:
        return tensor_repr(self)

    def __format__(self: Any, spec: str) -> str:
        if self.ndim == 0 and not isinstance(self._data, Var):
            return format(self.detach().item(), spec)
        if spec:
            raise TypeError(
                f"a tensor of {self.ndim} dimensions has no format {spec!r}; format its elements, "
                "or set_printoptions(precision=...)"
            )
        return tensor_repr(self)
