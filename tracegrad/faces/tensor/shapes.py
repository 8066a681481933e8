"""Views of Tensors and other shapes of them, with torch's names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ... import ops
from ...checks import REFUSED, explained_here
from ...devices import share_memory
from ...errors import ShapeError
from ...ir.dispatch import STATE, Value
from ...ir.graph import Var
from ...ir.op import Op, Rules, op
from ...ops.arrays.shape import backwards, reshape_op, reshaped, transpose_op
from ...sizes import numel, same, same_shape
from ...tape.mode import MODE
from ...tape.tape import record
from ...types import axes_of, normalize_axis, show
from ..numpy import results
from ..numpy.laying import in_one_row
from ..write_checks import ONE_OF_MANY, untracked
from .casts import sizes_of, titled
from .numbers import numbers_too


class Size(tuple[Any, ...]):
    """The shape of a tensor: a tuple that can count its elements."""

    __slots__ = ()

    def numel(self) -> Any:
        """The number of elements."""
        return numel(self)

    def __repr__(self) -> str:
        return f"tracegrad.Size([{', '.join(map(str, self))}])"


@lru_cache
def _in_pieces(count: int) -> Op:
    """All pieces of a tensor at once, as one node of the tape: with a node for each, a loop over
    rows would have a gradient whose work grows with the square of their number. Only running code
    has it; in a trace each piece is a slice."""
    names = tuple(f"ct{k}" for k in range(count))

    def adjoint(*cts: Any, axis: int, stacked: bool) -> Any:
        return ops.stack(cts, axis) if stacked else ops.concatenate(cts, axis)

    return op(
        "pieces",
        ["x"],
        evaluate=lambda x, *, axis, stacked: None,
        infer=lambda x, *, axis, stacked: (),
        vjp=[Rules(adjoint, frozenset(names), names, ("axis", "stacked"))],
        outputs=count,
        doc="The pieces of an array along an axis.",
    )


def _scalar(x: Any, *dims: Any) -> Any:
    """A view of a tensor without dimensions, of which 0 and -1 may be named nevertheless."""
    if any(dim not in (0, -1) for dim in dims):
        raise ShapeError(
            f"dimensions {dims} are out of range for a tensor without "
            "dimensions, which takes 0 and -1"
        )
    return results.own_view(x, x)


class TensorShapes(Value):
    """Shapes and views."""

    __slots__ = ()

    def size(self: Any, dim: int | None = None) -> Any:
        """The sizes, or the size of one dimension."""
        return Size(self.shape) if dim is None else self.shape[normalize_axis(dim, self.ndim)]

    def dim(self: Any) -> int:
        """The number of dimensions."""
        return len(self.shape)

    ndimension = dim

    def numel(self: Any) -> Any:
        """The number of elements."""
        return numel(self.shape)

    nelement = numel

    def view(self: Any, *shape: Any) -> Any:
        """The same memory under another shape."""
        try:
            sizes = sizes_of(shape)
            data = self._data
            result = results.reshape(self, sizes)
            shown = result._data
            if isinstance(shown, Var) and isinstance(data, np.ndarray):
                shown = data.reshape(shown.shape)  # of a value from around the trace
            if not isinstance(data, Var) and data.size and not share_memory(shown, data):
                raise RuntimeError(
                    "view size is not compatible with input tensor's size and stride (at least one "
                    "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
                )
            return result
        except REFUSED as error:
            raise explained_here(error) from error.__cause__

    def view_as(self: Any, other: Any) -> Any:
        """The same memory under the shape of `other`."""
        return self.view(other.shape)

    def reshape(self: Any, *shape: Any) -> Any:
        """The same elements under another shape."""
        try:
            sizes = sizes_of(shape)
            if self._base is not None:
                self._refresh()
            data = self._data
            if type(data) is np.ndarray and reshape_op.eager is not None:
                params = reshaped(data.shape, sizes)
                params = {"shape": data.shape} if params is None else params
                return reshape_op.eager(self, params, data.reshape(params["shape"]))
            return results.reshape(self, sizes)
        except REFUSED as error:
            raise explained_here(error) from error.__cause__

    def reshape_as(self: Any, other: Any) -> Any:
        """The same elements under the shape of `other`."""
        return results.reshape(self, other.shape)

    def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
        """The dimensions from `start_dim` to `end_dim` as one."""
        if self.ndim == 0:
            return ops.reshape(self, (1,))
        a, b = normalize_axis(start_dim, self.ndim), normalize_axis(end_dim, self.ndim)
        return ops.reshape(
            self, (*self.shape[:a], numel(self.shape[a : b + 1]), *self.shape[b + 1 :])
        )

    def ravel(self: Any) -> Any:
        """One dimension."""
        return in_one_row(self, results.reshape(self, (-1,)))

    def t(self: Any) -> Any:
        """The transpose of a matrix; a vector as it is."""
        if self.ndim > 2:
            raise RuntimeError(
                f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D"
            )
        return titled(results.transpose(self), "TBackward0", self)

    @property
    def T(self: Any) -> Any:
        """The dimensions in reverse order."""
        if self._base is not None:
            self._refresh()
        data = self._data
        if type(data) is np.ndarray and data.ndim > 1 and transpose_op.eager is not None:
            return transpose_op.eager(self, backwards(data.ndim), data.T)
        return results.transpose(self)

    @property
    def mT(self: Any) -> Any:
        """The last two dimensions exchanged."""
        return ops.swapaxes(self, -1, -2)

    @property
    def H(self: Any) -> Any:
        """The conjugate transpose of a matrix."""
        return self.conj().t()

    @property
    def mH(self: Any) -> Any:
        """The last two dimensions exchanged, conjugate."""
        return self.conj().mT

    def adjoint(self: Any) -> Any:
        """The last two dimensions exchanged, conjugate."""
        return self.mH

    @property
    def real(self: Any) -> Any:
        """Real part: a view."""
        return results.real(self)

    @real.setter
    def real(self: Any, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self: Any) -> Any:
        """Imaginary part: a view of a complex array's."""
        return results.imag(self)

    @imag.setter
    def imag(self: Any, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError(
                f"an array of {self.dtype} has no imaginary part to set; make it complex first"
            )
        self.imag[...] = value

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
        swapped = results.swapaxes(self, dim0, dim1) if self.ndim else _scalar(self, dim0, dim1)
        return titled(swapped, "TransposeBackward0", self)

    swapaxes = swapdims = transpose

    def permute(self: Any, *dims: Any) -> Any:
        """The dimensions in another order."""
        return results.transpose(self, sizes_of(dims))

    def movedim(self: Any, source: Any, destination: Any) -> Any:
        """Dimensions at other positions."""
        return (
            results.moveaxis(self, source, destination)
            if self.ndim
            else _scalar(self, source, destination)
        )

    moveaxis = movedim

    def unsqueeze(self: Any, dim: int) -> Any:
        """A new dimension of size 1 at `dim`."""
        return titled(ops.expand_dims(self, dim), "UnsqueezeBackward0", self)

    def squeeze(self: Any, dim: Any = None) -> Any:
        """Without dimensions of size 1: all of them, or those of `dim` that have size 1."""
        if dim is not None:
            dims = [normalize_axis(d, self.ndim) for d in axes_of(dim)] if self.ndim else []
            dim = tuple(d for d in dims if same(self.shape[d], 1))
        return titled(results.squeeze(self, dim), "SqueezeBackward0", self)

    def expand(self: Any, *sizes: Any) -> Any:
        """Dimensions of size 1 repeated without copying; -1 keeps a size."""
        target = list(sizes_of(sizes))
        offset = len(target) - self.ndim
        for k, s in enumerate(target):
            if isinstance(s, int) and s == -1:
                if k < offset:
                    raise RuntimeError(
                        f"expand: -1 at dimension {k} stands for no dimension of a tensor "
                        f"of shape {show(self.shape)}"
                    )
                target[k] = self.shape[k - offset]
        if not self.shape and target and not STATE.traces:
            # NumPy's function copies a single number.
            return results.reshape(self, (1,) * len(target)).expand(*target)
        return results.broadcast_to(self, tuple(target))

    def expand_as(self: Any, other: Any) -> Any:
        """Broadcast to the shape of `other`."""
        return self.expand(other.shape)

    broadcast_to = expand

    def repeat(self: Any, *repeats: Any) -> Any:
        """Tiled along each dimension (torch's repeat is NumPy's tile)."""
        return titled(results.tile(self, sizes_of(repeats)), "RepeatBackward0", self)

    tile = repeat

    def repeat_interleave(self: Any, repeats: Any, dim: int | None = None) -> Any:
        """Each element repeated (torch's repeat_interleave is NumPy's repeat)."""
        return results.repeat(self, repeats, dim)

    @numbers_too
    def flip(self: Any, *dims: Any) -> Any:
        """A copy, reversed along dimensions."""
        return titled(ops.flip(self, sizes_of(dims)).clone(), "FlipBackward0", self)

    def fliplr(self: Any) -> Any:
        """A copy, reversed along the second dimension."""
        return self.flip(1)

    def flipud(self: Any) -> Any:
        """A copy, reversed along the first dimension."""
        return self.flip(0)

    def rot90(self: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
        """A copy, turned by `k` right angles in the plane of two dimensions."""
        return titled(ops.rot90(self, k, tuple(dims)).clone(), "Rot90Backward0", self)

    def roll(self: Any, shifts: Any, dims: Any = None) -> Any:
        """Shifted around along dimensions."""
        return results.roll(self, shifts, dims)

    def _pieces(self: Any, name: str, axis: int, keys: Sequence[Any]) -> tuple[Any, ...]:
        """Views of all parts, which one node has made; they may not be written where that would be
        recorded."""
        before = (slice(None),) * axis
        one = (
            self._requires_grad
            and not self.is_inference()
            and MODE.enabled
            and len(keys) > 1
            and not STATE.traces
            and not (self._tangents and STATE.levels)
        )
        recorded, MODE.enabled = MODE.enabled, MODE.enabled and not one
        try:
            parts = tuple([self[(*before, key) if axis else key] for key in keys])
        finally:
            MODE.enabled = recorded
        if one:
            params = {"axis": axis, "stacked": isinstance(keys[0], int)}
            node: Any = record(
                _in_pieces(len(keys)), [self], params, [part._data for part in parts]
            )
            node.title = name + "Backward0"
        for k, part in enumerate(parts):
            if part._base is not None:
                part._view = untracked(part._view, ONE_OF_MANY, k, name)
            if one:
                part._grad_fn, part._output_nr, part._requires_grad = node, k, True
        return parts

    def unbind(self: Any, dim: int = 0) -> tuple[Any, ...]:
        """The slices along a dimension."""
        axis = normalize_axis(dim, self.ndim)
        parts: tuple[Any, ...] = self._pieces("Unbind", axis, list(range(int(self.shape[axis]))))
        return parts

    def split(self: Any, split_size: int | Sequence[int], dim: int = 0) -> tuple[Any, ...]:
        """Pieces of one size (the last may be smaller), or of the given sizes."""
        axis = normalize_axis(dim, self.ndim)
        total = int(self.shape[axis])
        if isinstance(split_size, (int, np.integer)):
            size = int(split_size)
            if size < 0 or (size == 0 and total):
                raise RuntimeError(f"split expects split_size to be positive, but got {size}")
            sizes = [min(size, total - k) for k in range(0, total, size)] if total else [0]
        else:
            sizes = [int(size) for size in split_size]
            if sum(sizes) != total or min(sizes, default=0) < 0:
                raise RuntimeError(
                    f"split_with_sizes expects split_sizes to sum exactly to {total}, "
                    f"the size of dimension {dim}, but got {sizes}"
                )
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        name = "Split" if isinstance(split_size, (int, np.integer)) else "SplitWithSizes"
        parts: tuple[Any, ...] = self._pieces(
            name, axis, [slice(a, a + n) for a, n in zip(starts, sizes, strict=True)]
        )
        return parts

    def split_with_sizes(self: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple[Any, ...]:
        """Pieces of these sizes."""
        parts: tuple[Any, ...] = self.split(list(split_sizes), dim)
        return parts

    def chunk(self: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
        """At most `chunks` pieces of equal size (the last may be smaller)."""
        if chunks < 1:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        parts: tuple[Any, ...] = self.split(max(1, -(-int(self.shape[dim]) // chunks)), dim)
        return parts

    def tensor_split(self: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
        """As many pieces as asked for, the first ones larger by one; or pieces cut at these
        positions."""
        return tuple(results.array_split(self, indices_or_sections, dim))

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self: Any) -> Any:
        return self.flip(0) if self.shape else self

    def unflatten(self: Any, dim: int, sizes: Sequence[Any]) -> Any:
        """One dimension as several."""
        axis = normalize_axis(dim, self.ndim)
        sizes = list(sizes)
        if -1 in sizes:
            known = numel([s for s in sizes if not (isinstance(s, int) and s == -1)])
            sizes[sizes.index(-1)] = self.shape[axis] // known
        return results.reshape(self, (*self.shape[:axis], *sizes, *self.shape[axis + 1 :]))

    def diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
        """A view of the diagonal of two dimensions, as the last dimension."""
        axes = normalize_axis(dim1, self.ndim), normalize_axis(dim2, self.ndim)
        if axes[0] == axes[1]:
            raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
        return ops.diagonal(self, offset, *axes)

    def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
        """Matrices with the last dimension as their diagonals."""
        return ops.moveaxis(ops.diag_embed(self, offset), (-2, -1), (dim1, dim2))

    def is_same_size(self: Any, other: Any) -> bool:
        """Whether both have the same shape."""
        return same_shape(self.shape, other.shape)

    def sum_to_size(self: Any, *size: Any) -> Any:
        """Summed over the dimensions that broadcasting `size` to this shape would repeat."""
        return ops.sum_to(self, sizes_of(size))
