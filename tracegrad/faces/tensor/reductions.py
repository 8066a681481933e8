"""Methods of Tensors over axes: sums, means, extremes, norms."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...checks import REFUSED, explained_here
from ...ir.dispatch import Value
from ...ops.arrays.shape import sum_op
from ...ops.totals.axes import over
from .casts import titled
from .numbers import dim_of
from .orders import _numpys


class TensorReductions(Value):
    """Sums, means, extremes and norms, with torch's `dim` and `keepdim`."""

    __slots__ = ()

    def sum(
        self: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """Sum over all or some dimensions."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        if type(dim) is not int:
            dim = dim_of(self, dim)
        try:
            if dtype is None and not keepdim:
                if (dim is None or type(dim) is int) and sum_op.eager is not None:
                    return sum_op.eager(self, over(dim, len(self._data.shape)))
                return ops.sum(self, dim)
            x = self if dtype is None else ops.convert(self, dtype)
            return titled(
                ops.sum(x, axis=dim, keepdims=keepdim),
                "SumBackward0" if dim is None else "SumBackward1",
                x,
            )
        except REFUSED as error:
            raise explained_here(error) from error.__cause__

    def mean(
        self: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """Mean over all or some dimensions."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        try:
            x = self if dtype is None else ops.convert(self, dtype)
            return titled(
                ops.mean(x, axis=dim_of(x, dim), keepdims=keepdim),
                "MeanBackward0" if dim is None else "MeanBackward1",
                x,
            )
        except REFUSED as error:
            raise explained_here(error) from error.__cause__

    def var(
        self: Any,
        dim: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: Any = None,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """Variance; with Bessel's correction by default, as torch has it: the sum of squares is
        divided by their number minus `correction`."""
        return self._spread(
            ops.var, "VarBackward0", dim, unbiased, keepdim, correction, axis, keepdims
        )

    def std(
        self: Any,
        dim: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: Any = None,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """Standard deviation; with Bessel's correction by default, as torch has it."""
        return self._spread(
            ops.std, "StdBackward0", dim, unbiased, keepdim, correction, axis, keepdims
        )

    def _spread(
        self: Any,
        function: Any,
        title: str,
        dim: Any,
        unbiased: bool,
        keepdim: bool,
        correction: Any,
        axis: Any,
        keepdims: Any,
    ) -> Any:
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        if isinstance(dim, bool):
            dim, unbiased = None, dim  # `x.std(False)` means `unbiased`
        ddof = int(unbiased) if correction is None else correction
        dim = dim_of(self, dim)
        return titled(function(self, axis=dim, ddof=ddof, keepdims=keepdim), title, self)

    def prod(
        self: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """Product over all dimensions or one."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return ops.prod(
            self if dtype is None else ops.convert(self, dtype), axis=dim, keepdims=keepdim
        )

    def amax(
        self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = None
    ) -> Any:
        """Largest element; ties share the gradient."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return titled(
            ops.max(self, axis=dim_of(self, dim), keepdims=keepdim), "AmaxBackward0", self
        )

    def amin(
        self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = None
    ) -> Any:
        """Smallest element; ties share the gradient."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return titled(
            ops.min(self, axis=dim_of(self, dim), keepdims=keepdim), "AminBackward0", self
        )

    def argmax(
        self: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """Position of the largest element."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return ops.argmax(self, axis=dim, keepdims=keepdim)

    def argmin(
        self: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """Position of the smallest element."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return ops.argmin(self, axis=dim, keepdims=keepdim)

    def all(
        self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = None
    ) -> Any:
        """Whether all elements are true."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return ops.all(self, axis=dim, keepdims=keepdim)

    def any(
        self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = None
    ) -> Any:
        """Whether some element is true."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return ops.any(self, axis=dim, keepdims=keepdim)

    def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Any:
        """The p-norm of all elements taken as a vector (2 by default), or along dimensions."""
        kind = 2 if p in ("fro", None) else p
        dim = dim_of(self, dim)
        x = ops.reshape(self, (-1,)) if dim is None else self
        result = ops.vector_norm(x, kind, dim, keepdims=keepdim and dim is not None)
        if keepdim and dim is None:
            result = ops.reshape(result, (1,) * self.ndim)
        return titled(result, "LinalgVectorNormBackward0", self)

    def nansum(
        self: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """Sum, NaN counting as 0."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        x = self if dtype is None else ops.convert(self, dtype)
        return ops.nansum(x, axis=dim_of(self, dim), keepdims=keepdim)

    def nanmean(
        self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = None
    ) -> Any:
        """Mean of what is not NaN."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return ops.nanmean(self, axis=dim_of(self, dim), keepdims=keepdim)

    def count_nonzero(self: Any, dim: Any = None) -> Any:
        """How many elements are not 0."""
        return ops.count_nonzero(self, axis=dim_of(self, dim))

    def aminmax(self: Any, *, dim: Any = None, keepdim: bool = False) -> tuple[Any, Any]:
        """(smallest, largest)."""
        return self.amin(dim, keepdim), self.amax(dim, keepdim)
