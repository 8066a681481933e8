"""Pieces and windows of Tensors, complex numbers as pairs, and reductions into places, with torch's
names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...ir.dispatch import Value
from ...ops.arrays.transfer import place_of
from ...ops.arrays.windows import windows
from ...ops.places.along import indexed, scattered
from ...ops.places.combining import REDUCED, reduced_at
from ...types import normalize_axis, show
from ..construction import elements_for
from ..operators import operand
from .casts import own, titled
from .numbers import numbers_too


class TensorPieces(Value):
    """torch's names."""

    __slots__ = ()

    def unsafe_split(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
        """As `split`; the pieces may be written in place here as well as there."""
        return tuple(
            self.narrow(dim, a, n)
            for a, n in _bounds(self.split(split_size, dim), normalize_axis(dim, self.ndim))
        )

    def unsafe_split_with_sizes(
        self: Any, split_sizes: Sequence[int], dim: int = 0
    ) -> tuple[Any, ...]:
        """As `split_with_sizes`; see `unsafe_split`."""
        return self.unsafe_split(list(split_sizes), dim)  # type: ignore[no-any-return]

    def unsafe_chunk(self: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
        """As `chunk`; see `unsafe_split`."""
        return tuple(
            self.narrow(dim, a, n)
            for a, n in _bounds(self.chunk(chunks, dim), normalize_axis(dim, self.ndim))
        )

    def hsplit(self: Any, sections: Any) -> tuple[Any, ...]:
        """Pieces along the second dimension, of a vector along the first."""
        pieces: tuple[Any, ...] = self.tensor_split(sections, 0 if self.ndim == 1 else 1)
        return pieces

    def vsplit(self: Any, sections: Any) -> tuple[Any, ...]:
        """Pieces along the first dimension."""
        return self.tensor_split(sections, 0)  # type: ignore[no-any-return]

    def dsplit(self: Any, sections: Any) -> tuple[Any, ...]:
        """Pieces along the third dimension."""
        return self.tensor_split(sections, 2)  # type: ignore[no-any-return]

    @numbers_too
    def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
        """All windows of `size` elements along a dimension, every `step`-th; the windows are the
        last dimension. A view where windows lie side by side, else a copy (torch: always a view).

        >>> import tracegrad as tg
        >>> tg.arange(4.0).unfold(0, 2, 1)
        tensor([[0., 1.],
                [1., 2.],
                [2., 3.]])
        """
        axis = normalize_axis(dimension, self.ndim)
        if size > self.shape[axis]:
            raise RuntimeError(
                f"maximum size for tensor at dimension {dimension} "
                f"is {self.shape[axis]} but size is {size}"
            )
        if size < 1 or step < 1:
            raise RuntimeError(
                f"unfold: size and step must be at least 1, but they are {size} and {step}"
            )
        count = (self.shape[axis] - size) // step + 1
        if size == 1:
            found = self[(slice(None),) * axis + (slice(None, None, step),)].unsqueeze(-1)
        elif size <= step and count * step <= self.shape[axis]:
            rows = self.narrow(axis, 0, count * step).unflatten(axis, (count, step))
            found = rows.narrow(axis + 1, 0, size).movedim(axis + 1, -1)
        else:
            found = ops.moveaxis(windows(self, axis, size, step), axis, -1).clone()
        return titled(found, "UnfoldBackward0", self)

    def narrow_copy(self: Any, dim: int, start: Any, length: Any) -> Any:
        """As `narrow`, a copy."""
        return self.narrow(dim, start, length).clone()

    def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
        """This tensor with `src` as one of its slices along a dimension."""
        key = (slice(None),) * normalize_axis(dim, self.ndim) + (index,)
        return titled(ops.index_update(self, key, operand(src)), "SelectScatterBackward0", self)

    def slice_scatter(
        self: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
    ) -> Any:
        """This tensor with `src` in the place of a part along a dimension."""
        key = (slice(None),) * normalize_axis(dim, self.ndim) + (slice(start, end, step),)
        return titled(ops.index_update(self, key, operand(src)), "SliceScatterBackward0", self)

    @numbers_too
    def scatter_reduce(
        self: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
    ) -> Any:
        """This tensor with the elements of `src` that `index` sends to a place combined there with
        the element that was there; without `include_self` that one does not count. `reduce` is
        "sum", "prod", "mean", "amax" or "amin"; ties of the last two share the gradient evenly.

        >>> import tracegrad as tg
        >>> x, index = tg.zeros(3), tg.tensor([0, 0, 2])
        >>> x.scatter_reduce(0, index, tg.tensor([1.0, 5.0, -1.0]), "amax")
        tensor([5., 0., 0.])
        """
        _check_reduction("scatter_reduce", reduce, [*REDUCED])
        found = reduced_at(
            self,
            lambda x, src, combine: scattered(x, dim, index, src, combine),
            operand(src),
            reduce,
            include_self,
        )
        return titled(found, "ScatterReduceBackward0", self)

    @numbers_too
    def index_reduce(
        self: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
    ) -> Any:
        """This tensor with the entries of `source` along a dimension combined with those that a 1-d
        index names; as `scatter_reduce`, but for "sum", which is `index_add`.

        >>> import tracegrad as tg
        >>> x, index = tg.ones(2, 2), tg.tensor([0, 0])
        >>> x.index_reduce(0, index, tg.tensor([[2.0, 3.0], [4.0, 0.0]]), "prod")
        tensor([[8., 0.],
                [1., 1.]])
        """
        _check_reduction("index_reduce", reduce, [r for r in REDUCED if r != "sum"])
        found = reduced_at(
            self,
            lambda x, src, combine: indexed(x, dim, index, src, combine),
            operand(source),
            reduce,
            include_self,
        )
        return titled(found, "IndexReduceBackward0", self)

    def addbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """beta times this matrix plus alpha times the sum of the products of two stacks of
        matrices."""
        product = ops.sum(ops.matmul(batch1, batch2), axis=0)
        kept = (
            product * alpha
            if isinstance(beta, (int, float)) and beta == 0
            else beta * self + alpha * product
        )
        return titled(kept, "AddbmmBackward0", self, product)

    def view_as_real(self: Any) -> Any:
        """Complex numbers as pairs (real part, imaginary part), a new last dimension; a copy, where
        torch has a view.

        >>> import tracegrad as tg
        >>> tg.tensor([1 + 2j]).view_as_real()
        tensor([[1., 2.]])
        """
        if self.dtype.kind != "c":
            raise RuntimeError("view_as_real is only supported for complex tensors")
        return titled(
            ops.stack([ops.real(self), ops.imag(self)], self.ndim), "ViewAsRealBackward0", self
        )

    def view_as_complex(self: Any) -> Any:
        """Pairs, the last dimension of size 2, as complex numbers; a copy, where torch has a
        view."""
        if self.dtype.kind != "f" or not self.ndim or self.shape[-1] != 2:
            raise RuntimeError(
                "view_as_complex needs real numbers whose last dimension has size 2, "
                f"not {self.dtype} of shape {show(self.shape)}"
            )
        found = ops.complex_(self[..., 0], self[..., 1])
        return titled(found, "ViewAsComplexBackward0", self)

    def new(self: Any, *args: Any, device: Any = None) -> Any:
        """A tensor of this one's dtype, of sizes or of data, as the class itself makes one:
        deprecated in torch."""
        first, rest = (args[0], args[1:]) if args else ((), ())
        made = first if hasattr(first, "dtype") else elements_for(first, rest, self.dtype)
        return own(self.face, ops.convert(made, self.dtype), False, device or place_of(self))


def _check_reduction(name: str, reduce: str, known: Sequence[str]) -> None:
    if reduce not in known:
        raise ValueError(f"{name}: reduce is one of {', '.join(known)}, not {reduce!r}")


def _bounds(parts: Sequence[Any], axis: int) -> list[tuple[int, int]]:
    """(start, length) of pieces along an axis."""
    sizes = [int(p.shape[axis]) for p in parts]
    return [(sum(sizes[:k]), n) for k, n in enumerate(sizes)]


__all__ = ["TensorPieces"]
