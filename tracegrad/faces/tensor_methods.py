"""torch's method names, signatures and defaults, for Tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .._codegen import integers
from ..ir.dispatch import Value
from ..types import normalize_axis, same, show
from .operators import operand
from .printing import tensor_repr
from .tensor_casts import TensorCasts, sizes_of, titled
from .tensor_updates import TensorUpdates


class Extremes(NamedTuple):
    """What `x.max(dim)` returns."""

    values: Any
    indices: Any


class Size(tuple[Any, ...]):
    """The shape of a tensor: a tuple that can count its elements."""

    __slots__ = ()

    def numel(self) -> Any:
        """The number of elements."""
        return integers.product(self)

    def __repr__(self) -> str:
        return f"tracegrad.Size([{', '.join(map(str, self))}])"


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(ops, name)

    def method(self: Any) -> Any:
        return function(self)

    method.__name__, method.__doc__ = name, f"As tracegrad.{name}, of this tensor."
    return method


def _binary(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(ops, name)

    def method(self: Any, other: Any) -> Any:
        return function(self, operand(other))

    method.__name__, method.__doc__ = name, f"As tracegrad.{name}, with this tensor as the first operand."
    return method


def _scaled(name: str) -> Callable[..., Any]:
    """add and sub take a factor for the other operand."""

    def method(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        return getattr(ops, name)(self, operand(other) if alpha == 1 else ops.mul(alpha, operand(other)))

    method.__name__ = name
    return method


class TensorMethods(TensorUpdates, TensorCasts):
    """torch's names."""

    __slots__ = ()

    # element by element
    abs, exp, exp2, expm1, log, log1p, log2, log10 = map(_unary, ("absolute", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10"))
    sqrt, square, reciprocal, sign, floor, ceil, trunc = map(_unary, ("sqrt", "square", "reciprocal", "sign", "floor", "ceil", "trunc"))
    sin, cos, tan, sinh, cosh, tanh = map(_unary, ("sin", "cos", "tan", "sinh", "cosh", "tanh"))
    asin, acos, atan, asinh, acosh, atanh = map(_unary, ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"))
    arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
    sigmoid, erf, erfc, erfinv, lgamma, digamma, relu = map(_unary, ("sigmoid", "erf", "erfc", "erfinv", "lgamma", "digamma", "relu"))
    neg, positive, logical_not, isnan, isinf, isfinite = map(_unary, ("neg", "positive", "logical_not", "isnan", "isinf", "isfinite"))
    sgn, absolute, negative, bitwise_not, sinc, conj, angle = map(_unary, ("sign", "absolute", "neg", "invert", "sinc", "conj", "angle"))
    mul, multiply, div, divide, true_divide = map(_binary, ("mul", "mul", "div", "div", "div"))
    add, sub, subtract = _scaled("add"), _scaled("sub"), _scaled("sub")
    pow, remainder, fmod, floor_divide, atan2 = map(_binary, ("power", "remainder", "fmod", "floor_divide", "arctan2"))
    maximum, minimum, fmax, fmin, hypot = map(_binary, ("maximum", "minimum", "fmax", "fmin", "hypot"))
    eq, ne, lt, le, gt, ge = map(_binary, ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
    logical_and, logical_or, logical_xor = map(_binary, ("logical_and", "logical_or", "logical_xor"))
    bitwise_and, bitwise_or, bitwise_xor = map(_binary, ("bitwise_and", "bitwise_or", "bitwise_xor"))
    matmul, mm, bmm, outer, logaddexp, xlogy = map(_binary, ("matmul", "matmul", "matmul", "outer", "logaddexp", "xlogy"))

    def mv(self: Any, vec: Any) -> Any:
        """Matrix times vector."""
        return titled(ops.matmul(self, vec), "MvBackward0", self, vec)

    def dot(self: Any, other: Any) -> Any:
        """Inner product of two vectors."""
        return titled(ops.matmul(self, other), "DotBackward0", self, other)

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
        """`value` where the mask is true, else this tensor."""
        return titled(ops.where(mask, value, self), "MaskedFillBackward0", self)

    def softmax(self: Any, dim: int) -> Any:
        """Exponentials that sum to 1 along `dim`."""
        return titled(ops.softmax(self, axis=dim), "SoftmaxBackward0", self)

    def log_softmax(self: Any, dim: int) -> Any:
        """Logarithm of softmax."""
        return titled(ops.log_softmax(self, axis=dim), "LogSoftmaxBackward0", self)

    def logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
        """log(sum(exp(x)))."""
        return titled(ops.logsumexp(self, axis=dim, keepdims=keepdim), "LogsumexpBackward0", self)

    # reductions
    def sum(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """Sum over all or some dimensions."""
        x = self if dtype is None else ops.convert(self, dtype)
        return titled(ops.sum(x, axis=dim, keepdims=keepdim), "SumBackward0" if dim is None else "SumBackward1", x)

    def mean(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """Mean over all or some dimensions."""
        x = self if dtype is None else ops.convert(self, dtype)
        return titled(ops.mean(x, axis=dim, keepdims=keepdim), "MeanBackward0" if dim is None else "MeanBackward1", x)

    def var(self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None) -> Any:
        """Variance; with Bessel's correction by default, as torch has it."""
        return titled(
            ops.var(self, axis=dim, ddof=int(unbiased) if correction is None else correction, keepdims=keepdim), "VarBackward0", self
        )

    def std(self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None) -> Any:
        """Standard deviation; with Bessel's correction by default, as torch has it."""
        return titled(
            ops.std(self, axis=dim, ddof=int(unbiased) if correction is None else correction, keepdims=keepdim), "StdBackward0", self
        )

    def prod(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Product over all dimensions or one."""
        return ops.prod(self, axis=dim, keepdims=keepdim)

    def amax(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Largest element; ties share the gradient."""
        return titled(ops.max(self, axis=dim, keepdims=keepdim), "AmaxBackward0", self)

    def amin(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Smallest element; ties share the gradient."""
        return titled(ops.min(self, axis=dim, keepdims=keepdim), "AminBackward0", self)

    def max(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """The largest element; with `dim` (values, indices), with another tensor the elementwise maximum."""
        return self._extreme(ops.max, ops.argmax, ops.maximum, dim, keepdim)

    def min(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """The smallest element; with `dim` (values, indices), with another tensor the elementwise minimum."""
        return self._extreme(ops.min, ops.argmin, ops.minimum, dim, keepdim)

    def _extreme(self: Any, reduce: Any, position: Any, between: Any, dim: Any, keepdim: bool) -> Any:
        if dim is None:
            return reduce(self)
        if isinstance(dim, Value):
            return between(self, dim)
        indices = position(self, axis=dim, keepdims=True)
        values = titled(ops.take_along_axis(self, indices, dim), "MaxBackward0" if reduce is ops.max else "MinBackward0", self)
        return Extremes(values, indices) if keepdim else Extremes(values.squeeze(dim), indices.squeeze(dim))

    def argmax(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        """Position of the largest element."""
        return ops.argmax(self, axis=dim, keepdims=keepdim)

    def argmin(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        """Position of the smallest element."""
        return ops.argmin(self, axis=dim, keepdims=keepdim)

    def all(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Whether all elements are true."""
        return ops.all(self, axis=dim, keepdims=keepdim)

    def any(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """Whether some element is true."""
        return ops.any(self, axis=dim, keepdims=keepdim)

    def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Any:
        """The p-norm of all elements taken as a vector (2 by default), or along dimensions."""
        kind = 2 if p in ("fro", None) else p
        x = ops.reshape(self, (-1,)) if dim is None else self
        result = ops.vector_norm(x, kind, dim, keepdims=keepdim and dim is not None)
        if keepdim and dim is None:
            result = ops.reshape(result, (1,) * self.ndim)
        return titled(result, "LinalgVectorNormBackward0", self)

    def cumsum(self: Any, dim: int) -> Any:
        """Running sums along a dimension."""
        return ops.cumsum(self, axis=dim)

    def cumprod(self: Any, dim: int) -> Any:
        """Running products along a dimension."""
        return ops.cumprod(self, axis=dim)

    def sort(self: Any, dim: int = -1, descending: bool = False) -> Extremes:
        """(values, indices) in ascending or descending order."""
        indices = ops.argsort(self, axis=dim)
        if descending:
            indices = ops.flip(indices, dim)
        return Extremes(ops.take_along_axis(self, indices, dim), indices)

    def argsort(self: Any, dim: int = -1, descending: bool = False) -> Any:
        """The indices that sort along a dimension."""
        return self.sort(dim, descending).indices

    def median(self: Any) -> Any:
        """The middle element (the lower of two, as torch has it)."""
        flat = ops.sort(ops.reshape(self, (-1,)))
        return flat[(flat.shape[0] - 1) // 2]

    def trace(self: Any) -> Any:
        """Sum of the diagonal."""
        return ops.trace(self)

    def diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
        """The diagonal of two dimensions, as the last dimension."""
        return ops.diagonal(self, offset, dim1, dim2)

    def diag(self: Any, diagonal: int = 0) -> Any:
        """The diagonal of a matrix, or the matrix with this diagonal."""
        return ops.diag(self, diagonal)

    def tril(self: Any, diagonal: int = 0) -> Any:
        """The lower triangle."""
        return ops.tril(self, diagonal)

    def triu(self: Any, diagonal: int = 0) -> Any:
        """The upper triangle."""
        return ops.triu(self, diagonal)

    # shape
    def size(self: Any, dim: int | None = None) -> Any:
        """The sizes, or the size of one dimension."""
        return Size(self.shape) if dim is None else self.shape[dim]

    def dim(self: Any) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def numel(self: Any) -> Any:
        """The number of elements."""
        return integers.product(self.shape)

    nelement = numel

    def view(self: Any, *shape: Any) -> Any:
        """The same memory under another shape."""
        sizes = sizes_of(shape)
        data = self._data
        result = ops.reshape(self, sizes)
        if isinstance(data, np.ndarray) and data.size and not np.may_share_memory(result._data, data):
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                "contiguous "
                "subspaces). Use .reshape(...) instead."
            )
        return result

    def view_as(self: Any, other: Any) -> Any:
        """The same memory under the shape of `other`."""
        return self.view(other.shape)

    def reshape(self: Any, *shape: Any) -> Any:
        """The same elements under another shape."""
        return ops.reshape(self, sizes_of(shape))

    def reshape_as(self: Any, other: Any) -> Any:
        """The same elements under the shape of `other`."""
        return ops.reshape(self, other.shape)

    def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
        """The dimensions from `start_dim` to `end_dim` as one."""
        if self.ndim == 0:
            return ops.reshape(self, (1,))
        a, b = normalize_axis(start_dim, self.ndim), normalize_axis(end_dim, self.ndim)
        return ops.reshape(self, (*self.shape[:a], integers.product(self.shape[a : b + 1]), *self.shape[b + 1 :]))

    def ravel(self: Any) -> Any:
        """One dimension."""
        return ops.reshape(self, (-1,))

    def t(self: Any) -> Any:
        """The transpose of a matrix; a vector as it is."""
        if self.ndim > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
        return titled(ops.transpose(self), "TBackward0", self)

    @property
    def T(self: Any) -> Any:
        """The dimensions in reverse order."""
        return ops.transpose(self)

    @property
    def mT(self: Any) -> Any:
        """The last two dimensions exchanged."""
        return ops.swapaxes(self, -1, -2)

    @property
    def real(self: Any) -> Any:
        """Real part."""
        return ops.real(self)

    @property
    def imag(self: Any) -> Any:
        """Imaginary part."""
        return ops.imag(self)

    @property
    def nbytes(self: Any) -> Any:
        """Bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    @property
    def itemsize(self: Any) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize  # type: ignore[no-any-return]

    def transpose(self: Any, dim0: int, dim1: int) -> Any:
        """Two dimensions exchanged."""
        return titled(ops.swapaxes(self, dim0, dim1), "TransposeBackward0", self)

    swapaxes = transpose

    def permute(self: Any, *dims: Any) -> Any:
        """The dimensions in another order."""
        return ops.transpose(self, sizes_of(dims))

    def movedim(self: Any, source: Any, destination: Any) -> Any:
        """Dimensions at other positions."""
        return ops.moveaxis(self, source, destination)

    def unsqueeze(self: Any, dim: int) -> Any:
        """A new dimension of size 1 at `dim`."""
        return titled(ops.expand_dims(self, dim), "UnsqueezeBackward0", self)

    def squeeze(self: Any, dim: Any = None) -> Any:
        """Without dimensions of size 1: all of them, or those of `dim` that have size 1."""
        if dim is not None:
            dims = [normalize_axis(d, self.ndim) for d in ((dim,) if isinstance(dim, int) else dim)] if self.ndim else []
            dim = tuple(d for d in dims if same(self.shape[d], 1))
        return titled(ops.squeeze(self, dim), "SqueezeBackward0", self)

    def expand(self: Any, *sizes: Any) -> Any:
        """Dimensions of size 1 repeated without copying; -1 keeps a size."""
        target = list(sizes_of(sizes))
        offset = len(target) - self.ndim
        for k, s in enumerate(target):
            if isinstance(s, int) and s == -1:
                if k < offset:
                    raise RuntimeError(f"expand: -1 at dimension {k} stands for no dimension of a tensor of shape {show(self.shape)}")
                target[k] = self.shape[k - offset]
        return ops.broadcast_to(self, tuple(target))

    def expand_as(self: Any, other: Any) -> Any:
        """Broadcast to the shape of `other`."""
        return ops.broadcast_to(self, other.shape)

    broadcast_to = expand

    def repeat(self: Any, *repeats: Any) -> Any:
        """Tiled along each dimension (torch's repeat is NumPy's tile)."""
        return titled(ops.tile(self, sizes_of(repeats)), "RepeatBackward0", self)

    def repeat_interleave(self: Any, repeats: Any, dim: int | None = None) -> Any:
        """Each element repeated (torch's repeat_interleave is NumPy's repeat)."""
        return ops.repeat(self, repeats, dim)

    def flip(self: Any, *dims: Any) -> Any:
        """Reversed along dimensions."""
        return titled(ops.flip(self, sizes_of(dims)), "FlipBackward0", self)

    def roll(self: Any, shifts: Any, dims: Any = None) -> Any:
        """Shifted around along dimensions."""
        return ops.roll(self, shifts, dims)

    def select(self: Any, dim: int, index: int) -> Any:
        """One slice along a dimension, which disappears."""
        return self[(slice(None),) * normalize_axis(dim, self.ndim) + (index,)]

    def narrow(self: Any, dim: int, start: Any, length: Any) -> Any:
        """`length` elements from `start` on along a dimension."""
        return self[(slice(None),) * normalize_axis(dim, self.ndim) + (slice(start, start + length),)]

    def index_select(self: Any, dim: int, index: Any) -> Any:
        """The elements at these positions along a dimension."""
        return ops.take(self, index, dim)

    def gather(self: Any, dim: int, index: Any) -> Any:
        """Elements picked along a dimension, one for each position of `index`."""
        return ops.gather(self, dim, index)

    def scatter(self: Any, dim: int, index: Any, src: Any) -> Any:
        """This tensor with the elements of `src` at the positions of `index` along a dimension."""
        return ops.scatter(self, dim, index, src)

    def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
        """This tensor with `src` added at the positions of `index` along a dimension."""
        return ops.scatter_add(self, dim, index, src)

    def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        """This tensor with slices of `source` added at these positions along a dimension."""
        return ops.index_add(self, dim, index, source, alpha)

    def masked_select(self: Any, mask: Any) -> Any:
        """The elements where the mask is true, as a vector."""
        return self[mask]

    def nonzero(self: Any, *, as_tuple: bool = False) -> Any:
        """The positions of elements other than 0: a matrix with one row for each, or a tuple of index vectors."""
        found = np.nonzero(self._concrete("nonzero()", "Its size depends on the values; use a mask with tg.where instead."))
        if as_tuple:
            return tuple(type(self)(i) for i in found)
        return type(self)(np.stack(found, 1) if found else np.zeros((1 if bool(self) else 0, 0), np.int64))

    def unbind(self: Any, dim: int = 0) -> tuple[Any, ...]:
        """The slices along a dimension."""
        axis = normalize_axis(dim, self.ndim)
        return tuple(self.select(axis, k) for k in range(int(self.shape[axis])))

    def split(self: Any, split_size: int | Sequence[int], dim: int = 0) -> tuple[Any, ...]:
        """Pieces of one size (the last may be smaller), or of the given sizes."""
        total = int(self.shape[dim])
        if isinstance(split_size, int):
            sizes = [min(split_size, total - k) for k in range(0, total, split_size)]
        else:
            sizes = list(split_size)
            if sum(sizes) != total:
                raise RuntimeError(f"split expects the sizes {sizes} to sum to {total}, the size of dimension {dim}")
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        return tuple(self.narrow(dim, a, n) for a, n in zip(starts, sizes, strict=True))

    def chunk(self: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
        """At most `chunks` pieces of equal size (the last may be smaller)."""
        pieces: tuple[Any, ...] = self.split(max(1, -(-int(self.shape[dim]) // chunks)), dim)
        return pieces

    def __repr__(self) -> str:
        return tensor_repr(self)
