"""Calls that rearrange and pick: shapes, diagonals, triangles, indices."""

from __future__ import annotations

from tests.torch_calls.draws import (
    Case,
    M,
    exactly,
    flags,
    real,
    whole,
)

CASES: dict[str, Case] = {
    # --- shapes
    "split": (lambda t, x: t.split(x, 2), (real(5, 2),)),
    "split sizes dim": (lambda t, x: t.split(x, [1, 3], dim=1), (M,)),
    "split keyword": (lambda t, x: t.split(x, split_size_or_sections=2, dim=1), (M,)),
    "chunk": (lambda t, x: t.chunk(x, 3), (real(7),)),
    "unsafe_split": (lambda t, x: t.unsafe_split(x, 2), (real(5),)),
    "unsafe_chunk": (lambda t, x: t.unsafe_chunk(x, 2, 1), (M,)),
    "tensor_split": (lambda t, x: t.tensor_split(x, 3), (real(7),)),
    "hsplit": (lambda t, x: x.hsplit(2), (M,)),
    "unbind": (lambda t, x: t.unbind(x, dim=1), (M,)),
    "cat": (lambda t, x, y: t.cat([x, y], dim=1), (M, real(3, 2))),
    "cat axis": (lambda t, x, y: t.cat((x, y), axis=0), (M, real(1, 4))),
    "stack": (lambda t, x, y: t.stack((x, y), dim=-1), (M, M)),
    "hstack": (lambda t, x, y: t.hstack([x, y]), (real(2), real(3))),
    "vstack": (lambda t, x, y: t.vstack((x, y)), (real(2), real(2))),
    "dstack": (lambda t, x, y: t.dstack((x, y)), (real(2), real(2))),
    "column_stack": (lambda t, x, y: t.column_stack((x, y)), (real(2), real(2))),
    "block_diag": (lambda t, x, y: t.block_diag(x, y), (real(2, 1), real(1, 3))),
    "transpose": (lambda t, x: t.transpose(x, 0, 1), (M,)),
    "permute": (lambda t, x: t.permute(x, (2, 0, 1)), (real(2, 3, 4),)),
    "permute dims": (lambda t, x: t.permute(x, dims=(2, 0, 1)), (real(2, 3, 4),)),
    "movedim": (lambda t, x: t.movedim(x, 0, -1), (real(2, 3, 4),)),
    "squeeze": (lambda t, x: t.squeeze(x, 1), (real(2, 1, 3, 1),)),
    "unsqueeze": (lambda t, x: t.unsqueeze(x, -1), (M,)),
    "flatten": (lambda t, x: t.flatten(x, 1), (real(2, 3, 4),)),
    "unflatten": (lambda t, x: t.unflatten(x, 1, (2, 2)), (M,)),
    "reshape": (lambda t, x: t.reshape(x, (2, 6)), (M,)),
    "flip": (lambda t, x: t.flip(x, [0, 1]), (M,)),
    "flip dims": (lambda t, x: t.flip(x, dims=(1,)), (M,)),
    "roll": (lambda t, x: t.roll(x, shifts=1, dims=1), (M,)),
    "roll flat": (lambda t, x: t.roll(x, 3), (M,)),
    "rot90": (lambda t, x: t.rot90(x, 1, [0, 1]), (M,)),
    "tile": (lambda t, x: t.tile(x, (2, 1)), (M,)),
    "repeat_interleave": (lambda t, x: t.repeat_interleave(x, 2, dim=1), (M,)),
    "repeat_interleave counts": (
        lambda t, x: t.repeat_interleave(x, t.tensor([1, 0, 2]), dim=0),
        (M,),
    ),
    "repeat": (lambda t, x: x.repeat(2, 2), (M,)),
    "broadcast_tensors": (lambda t, x, y: t.broadcast_tensors(x, y), (real(3, 1), real(4))),
    "meshgrid": (lambda t, x, y: t.meshgrid(x, y, indexing="ij"), (real(2), real(3))),
    "meshgrid list": (lambda t, x, y: t.meshgrid([x, y], indexing="xy"), (real(2), real(3))),
    "cartesian_prod": (lambda t, x, y: t.cartesian_prod(x, y), (real(2), real(3))),
    "combinations": (lambda t, x: t.combinations(x, 2), (real(4),)),
    "narrow": (lambda t, x: t.narrow(x, 1, 1, 2), (M,)),
    "unfold": (lambda t, x: x.unfold(1, 3, 2), (real(2, 7),)),
    "diff": (lambda t, x: t.diff(x, dim=0), (M,)),
    "diff prepend": (lambda t, x, y: t.diff(x, prepend=y), (real(4), real(2))),
    # --- diagonals and triangles
    "tril": (lambda t, x: t.tril(x, diagonal=-1), (M,)),
    "triu": (lambda t, x: t.triu(x, diagonal=1), (M,)),
    "diag": (lambda t, x: t.diag(x, diagonal=1), (M,)),
    "diag vector": (lambda t, x: t.diag(x), (real(3),)),
    "diagonal": (lambda t, x: t.diagonal(x, offset=1, dim1=0, dim2=1), (M,)),
    "diag_embed": (lambda t, x: t.diag_embed(x), (M,)),
    "diagflat": (lambda t, x: t.diagflat(x, 1), (real(2, 2),)),
    "trace": (lambda t, x: t.trace(x), (M,)),
    "tril_indices": (lambda t: t.tril_indices(3, 4, -1), ()),
    "triu_indices": (lambda t: t.triu_indices(3, 4, 1), ()),
    # --- picking
    "where": (lambda t, c, x, y: t.where(c, x, y), (flags(3, 4), M, M)),
    "where numbers": (lambda t, c: t.where(c, 1.0, 0.0), (flags(3),)),
    "where integers": (lambda t, c: t.where(c, 1, 0), (flags(3),)),
    "where condition": (lambda t, c: t.where(c), (flags(3, 4),)),
    "gather": (lambda t, x, i: t.gather(x, 1, i), (M, whole(0, 4, 3, 2))),
    "scatter": (lambda t, x, i, y: t.scatter(x, 1, i, y), (M, exactly([0, 2], [1, 3]), real(2, 2))),
    "scatter number": (lambda t, x, i: x.scatter(1, i, 1.0), (M, whole(0, 4, 3, 1))),
    "scatter_add": (
        lambda t, x, i, y: t.scatter_add(x, 0, i, y),
        (M, whole(0, 3, 2, 4), real(2, 4)),
    ),
    "scatter_reduce": (
        lambda t, x, i, y: x.scatter_reduce(0, i, y, "mean"),
        (real(3), whole(0, 3, 5), real(5)),
    ),
    "scatter_reduce alone": (
        lambda t, x, i, y: x.scatter_reduce(0, i, y, "mean", include_self=False),
        (real(3), whole(0, 2, 5), real(5)),
    ),
    **{
        f"scatter_reduce {reduce}{'' if own else ' alone'}": (
            lambda t, x, i, y, r=reduce, own=own: t.scatter_reduce(
                x, 1, i, y, reduce=r, include_self=own
            ),
            (real(3, 4), whole(0, 3, 3, 6), real(3, 6)),
        )
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    },
    **{
        f"index_reduce {reduce}{'' if own else ' alone'}": (
            lambda t, x, i, y, r=reduce, own=own: t.index_reduce(
                x, 0, i, y, reduce=r, include_self=own
            ),
            (real(4, 3), whole(0, 3, 6), real(6, 3)),
        )
        for reduce in ("prod", "mean", "amax", "amin")
        for own in (True, False)
    },
    "scatter_reduce ties": (
        lambda t, x, i, y: x.scatter_reduce(0, i, y, "amax"),
        (exactly(1.0, 2.0, 0.0), exactly(0, 0, 1, 1, 2), exactly(1.0, 1.0, 3.0, 3.0, -1.0)),
    ),
    "scatter_reduce integers": (
        lambda t, x, i, y: x.scatter_reduce(0, i, y, "amin", include_self=False),
        (whole(0, 9, 4), whole(0, 3, 6), whole(-5, 9, 6)),
    ),
    "scatter_reduce zeros": (
        lambda t, x, i, y: x.scatter_reduce(0, i, y, "prod"),
        (real(3), exactly(0, 0, 1, 1, 1), exactly(0.0, 2.0, 0.0, 3.0, 0.0)),
    ),
    "index_select": (lambda t, x, i: t.index_select(x, 1, i), (M, whole(0, 4, 3))),
    "index_add": (
        lambda t, x, i, y: t.index_add(x, 0, i, y, alpha=2),
        (M, whole(0, 3, 2), real(2, 4)),
    ),
    "masked_fill": (lambda t, x, c: t.masked_fill(x, c, 2.5), (M, flags(3, 4))),
    "masked_select": (
        lambda t, x, c: t.masked_select(x, c),
        (M, exactly([True, False, True, True])),
    ),
    "take": (lambda t, x, i: t.take(x, i), (M, whole(0, 12, 5))),
    "take_along_dim": (lambda t, x, i: t.take_along_dim(x, i, dim=1), (M, whole(0, 4, 3, 2))),
    "nonzero": (lambda t, x: t.nonzero(x), (flags(3, 4),)),
    "nonzero tuple": (lambda t, x: t.nonzero(x, as_tuple=True), (flags(3, 4),)),
    "argwhere": (lambda t, x: t.argwhere(x), (flags(3, 4),)),
    "searchsorted": (lambda t, x: t.searchsorted(t.tensor([-1.0, 0.0, 1.0]), x), (M,)),
    "searchsorted rows": (
        lambda t, x: t.searchsorted(t.tensor([[-1.0, 0.0], [0.5, 1.0]]), x, right=True),
        (real(2, 5),),
    ),
    "bucketize": (lambda t, x: t.bucketize(x, t.tensor([-1.0, 0.0, 1.0]), right=True), (M,)),
    "isin": (lambda t, x: t.isin(x, t.tensor([1, 3])), (whole(0, 5, 8),)),
    "select_scatter": (lambda t, x, y: x.select_scatter(y, 1, 2), (M, real(3))),
    "slice_scatter": (lambda t, x, y: x.slice_scatter(y, 1, 1, 3), (M, real(3, 2))),
}
