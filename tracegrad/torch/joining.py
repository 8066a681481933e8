"""Functions of several tensors: joined, chosen from, broadcast, combined."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..config import default_dtype
from ..faces.numpy import results
from ..faces.numpy.compositions import column_count
from ..faces.tensor.casts import titled
from ..ir.dispatch import Value
from ..tensor import Tensor
from ..types import broadcast_shapes as _broadcast_shapes
from .methods import tensor_of, written


def _all(name: str, tensors: Any) -> list[Any]:
    """The tensors of a sequence."""
    if isinstance(tensors, Value) or not isinstance(tensors, Sequence):
        raise TypeError(
            f"torch.{name}(): argument 'tensors' must be tuple of Tensors, "
            f"not {type(tensors).__name__}"
        )
    return [tensor_of(name, x) for x in tensors]


def _joined(name: str, tensors: Any, *axis: int) -> Any:
    """The tensors joined by the operation of this name, in memory of their own."""
    parts = _all(name, tensors)
    joined = getattr(ops, name)(parts, *axis)
    return results.own_memory(parts[0], joined) if len(parts) == 1 else joined


def _to(name: str, out: Any, result: Any) -> Any:
    return written(name, out, result)


def cat(tensors: Sequence[Any], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Any:
    """Tensors one after the other along an axis; vectors without elements are left out, as torch
    does.

    >>> import tracegrad.torch as torch
    >>> torch.cat([torch.ones(1, 2), torch.zeros(1, 2)], dim=1)
    tensor([[1., 1., 0., 0.]])
    """
    parts = _all("cat", tensors)
    if not parts:
        raise RuntimeError("cat: expected a non-empty list of Tensors")
    kept = [x for x in parts if tuple(x.shape) != (0,)] or parts[:1]
    return _to(
        "cat",
        out,
        ops.concatenate(kept, dim if axis is None else axis) if len(kept) > 1 else kept[0].clone(),
    )


concat = concatenate = cat


def stack(tensors: Sequence[Any], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Any:
    """Tensors of one shape joined along a new axis.

    >>> import tracegrad.torch as torch
    >>> torch.stack([torch.ones(2), torch.zeros(2)], dim=1).shape
    (2, 2)
    """
    return _to("stack", out, _joined("stack", tensors, dim if axis is None else axis))


def hstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Tensors one after the other along the second axis; vectors along the first."""
    return _to("hstack", out, _joined("hstack", tensors))


def vstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Tensors one below the other, vectors as rows."""
    return _to("vstack", out, _joined("vstack", tensors))


row_stack = vstack


def dstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Tensors one behind the other along the third axis."""
    return _to("dstack", out, _joined("dstack", tensors))


def column_stack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Vectors as the columns of a matrix."""
    return _to("column_stack", out, _joined("column_stack", tensors))


def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """`input` where the condition holds, else `other`; with a condition alone the places where it
    holds.

    Two Python floats give the default dtype.

    >>> import tracegrad.torch as torch
    >>> torch.where(torch.tensor([True, False]), 1.0, 0.0)
    tensor([1., 0.])
    """
    mask = tensor_of("where", condition)
    if input is None and other is None:
        return mask.nonzero(as_tuple=True)
    if mask.dtype.kind != "b":
        raise RuntimeError(
            "where expected condition to be a boolean tensor, "
            f"but got a tensor with dtype {mask.dtype}"
        )
    result = ops.where(mask, input, other)
    if builtins.any(isinstance(v, float) for v in (input, other)) and not builtins.any(
        isinstance(v, Value) for v in (input, other)
    ):
        result = ops.convert(result, default_dtype())
    return _to("where", out, titled(result, "WhereBackward0", input, other))


def einsum(equation: str, *operands: Any) -> Any:
    """Sums of products by Einstein's convention; the operands may come as one list.

    >>> import tracegrad.torch as torch
    >>> torch.einsum("ij->i", torch.ones(2, 3))
    tensor([3., 3.])
    """
    given = (
        operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    )
    return results.einsum(equation, *[tensor_of("einsum", x) for x in given])


def tensordot(a: Any, b: Any, dims: Any = 2, *, out: Any = None) -> Any:
    """Sums of products over several axes: the last `dims` of one with the first of the other, or
    two lists of axes."""
    axes = dims.tolist() if isinstance(dims, Value) else dims
    return _to(
        "tensordot", out, ops.tensordot(tensor_of("tensordot", a), tensor_of("tensordot", b), axes)
    )


def cross(input: Any, other: Any, dim: int | None = None, *, out: Any = None) -> Any:
    """The vector product along an axis of size 3, by default the first such axis.

    >>> import tracegrad.torch as torch
    >>> torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    x, y = tensor_of("cross", input), tensor_of("cross", other)
    if dim is None:
        sizes = list(x.shape)
        if 3 not in sizes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = sizes.index(3)
    return _to("cross", out, x.cross(y, dim))


def chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices, in the order that costs least."""
    return ops.multi_dot([tensor_of("chain_matmul", m) for m in matrices])


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Tensors expanded to the one shape that they broadcast to.

    >>> import tracegrad.torch as torch
    >>> [x.shape for x in torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))]
    [(2, 3), (2, 3)]
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    parts = [tensor_of("broadcast_tensors", x) for x in given]
    shape = _broadcast_shapes(*[tuple(x.shape) for x in parts])
    return tuple(x.expand(shape) for x in parts)


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that these shapes broadcast to."""
    return _broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes])


def _at_least(count: int) -> Any:
    function: Any = getattr(ops, f"atleast_{count}d")

    def made(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            return tuple(function(tensor_of(f"atleast_{count}d", x)) for x in tensors[0])
        found = tuple(function(tensor_of(f"atleast_{count}d", x)) for x in tensors)
        return found if len(found) > 1 else found[0]

    made.__name__ = made.__qualname__ = f"atleast_{count}d"
    made.__doc__ = f"Tensors with at least {count} axes; a list or several give a tuple."
    return made


atleast_1d, atleast_2d, atleast_3d = map(_at_least, (1, 2, 3))


def block_diag(*tensors: Any) -> Any:
    """Matrices along the diagonal of a larger one, which is 0 elsewhere.

    >>> import tracegrad.torch as torch
    >>> torch.block_diag(torch.ones(1, 2), torch.tensor(3.0))
    tensor([[1., 1., 0.],
            [0., 0., 3.]])
    """
    parts = [ops.atleast_2d(tensor_of("block_diag", x)) for x in tensors] or [
        Tensor(np.zeros((1, 0)))
    ]
    rows, columns = (builtins.sum(int(p.shape[k]) for p in parts) for k in (0, 1))
    dtype = np.result_type(*[p.dtype for p in parts])
    total, row, column = None, 0, 0
    for p in parts:
        placed = ops.embed(ops.convert(p, dtype), (rows, columns), (row, column))
        total = placed if total is None else total + placed
        row, column = row + int(p.shape[0]), column + int(p.shape[1])
    return total


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of elements of vectors, one a row."""
    parts = [tensor_of("cartesian_prod", x) for x in tensors]
    if len(parts) == 1:
        return parts[0]
    return ops.stack([ops.reshape(g, (-1,)) for g in ops.meshgrid(*parts, indexing="ij")], 1)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of `r` elements of a vector, one a row."""
    x = tensor_of("combinations", input)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(np.arange(int(x.shape[0])), r)), np.int64).reshape(-1, r)
    return x[places]


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Any:
    """The p-norm distances between the rows of (..., P, M) and those of (..., R, M): (..., P, R).

    Where two rows are equal the gradient is 0.

    >>> import tracegrad.torch as torch
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[5., 0.]])
    """
    a, b = tensor_of("cdist", x1), tensor_of("cdist", x2)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            "cdist: X1 and X2 must be matrices (or stacks) of equally long rows, "
            f"not {tuple(a.shape)} and {tuple(b.shape)}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    away = ops.expand_dims(a, -2) - ops.expand_dims(b, -3)
    return titled(ops.vector_norm(away, p, -1), "CdistBackward0", a, b)


def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Where elements belong in a sorted vector, or each row of them in the row of a sorted stack of
    rows; as int64 (or int32).

    >>> import tracegrad.torch as torch
    >>> torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.5]), right=True)
    tensor([1, 1])
    """
    if side is not None and (side not in ("left", "right") or (right and side == "left")):
        raise RuntimeError(
            "searchsorted: side is 'left' or 'right' and must agree with "
            f"right={right}, but it is {side!r}"
        )
    a, which = (
        tensor_of("searchsorted", sorted_sequence),
        "right" if right or side == "right" else "left",
    )
    a = a if sorter is None else ops.take_along_axis(a, sorter, -1)
    if a.ndim == 1:
        found = ops.searchsorted(a, input, side=which)
    else:
        values = ops.expand_dims(input, -1)
        rows = ops.expand_dims(a, -2)
        found = ops.sum(rows <= values if which == "right" else rows < values, axis=-1)
    found = found if isinstance(found, Tensor) else Tensor(np.asarray(found))
    return ops.convert(found, np.int32 if out_int32 else np.int64)


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The number of the interval between sorted boundaries that each element lies in."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Whether each element is one of `test_elements`."""
    x: Any = elements if isinstance(elements, Value) else np.asarray(elements)
    y = ops.reshape(
        test_elements if isinstance(test_elements, Value) else np.asarray(test_elements), (-1,)
    )
    found = ops.any(ops.equal(ops.expand_dims(x, len(x.shape)), y), axis=-1)
    found = found if isinstance(found, Value) else Tensor(np.asarray(found))
    return ops.logical_not(found) if invert else found


def diagflat(input: Any, offset: int = 0) -> Any:
    """A matrix with the elements on a diagonal."""
    return ops.diagflat(tensor_of("diagflat", input), offset)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of a vector's elements as the columns of a matrix, by default from the highest on."""
    x = tensor_of("vander", x)
    count = int(x.shape[0]) if N is None else column_count(N)
    powers = [ops.ones_like(x) if k == 0 else x**k for k in builtins.range(count)]
    return ops.stack(powers if increasing else powers[::-1], 1)


__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "bucketize",
    "cartesian_prod",
    "cat",
    "cdist",
    "chain_matmul",
    "column_stack",
    "combinations",
    "concat",
    "concatenate",
    "cross",
    "diagflat",
    "dstack",
    "einsum",
    "hstack",
    "isin",
    "row_stack",
    "searchsorted",
    "stack",
    "tensordot",
    "vander",
    "vstack",
    "where",
]
