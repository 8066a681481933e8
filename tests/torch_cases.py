"""Calls in torch's namespace as functions of the module, so that torch computed
tests/data/torch.npz from the very same text.

`python tests/torch_cases.py FILE`, in an environment with torch, writes that file again.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, Any]
Make = Callable[[np.random.Generator], Any]


def real(*shape: int, scale: float = 1.5) -> Make:
    return lambda rng: rng.standard_normal(shape) * scale


def positive(*shape: int) -> Make:
    return lambda rng: rng.uniform(0.2, 2.0, shape)


def exactly(*values: Any) -> Make:
    return lambda rng: np.array(values)


def floats(*values: Any) -> Make:
    return lambda rng: np.array(values, float)


def whole(low: int, high: int, *shape: int) -> Make:
    return lambda rng: rng.integers(low, high, shape)


def flags(*shape: int) -> Make:
    return lambda rng: rng.uniform(size=shape) < 0.5


def definite(n: int) -> Make:
    def make(rng: np.random.Generator) -> Any:
        a = rng.standard_normal((n, n))
        return a @ a.T + n * np.eye(n)

    return make


NAN = float("nan")
M = real(3, 4)
Case = tuple[Callable[..., Any], tuple[Make, ...]]

CASES: dict[str, Case] = {
    # --- reductions and order
    "max": (lambda t, x: t.max(x), (M,)),
    "max dim": (lambda t, x: t.max(x, 1), (M,)),
    "max dim keepdim": (lambda t, x: t.max(x, dim=0, keepdim=True), (M,)),
    "max axis keepdims": (lambda t, x: t.max(x, axis=0, keepdims=True)[0], (M,)),
    "max other": (lambda t, x, y: t.max(x, y), (real(3, 1), real(4))),
    "max one element": (lambda t, x, y: t.max(x, y), (real(2, 1), real(1))),
    "min dim": (lambda t, x: t.min(x, -1)[0], (M,)),
    "min other": (lambda t, x, y: t.min(x, other=y), (real(2, 1), real(1))),
    "method max other": (lambda t, x, y: x.max(other=y), (real(2, 1), real(1))),
    "amax": (lambda t, x: t.amax(x, (0, 1)), (M,)),
    "amin keepdim": (lambda t, x: t.amin(x, 1, True), (M,)),
    "aminmax": (lambda t, x: t.aminmax(x, dim=1), (M,)),
    "argmax": (lambda t, x: t.argmax(x, dim=1), (M,)),
    "argmin": (lambda t, x: t.argmin(x), (M,)),
    "sum": (lambda t, x: t.sum(x, dim=(0, 1)), (M,)),
    "sum dtype": (lambda t, x: t.sum(x, 1, dtype=t.float32), (M,)),
    "sum of bools": (lambda t, x: t.sum(x > 0), (M,)),
    "mean dim": (lambda t, x: t.mean(x, 1, keepdim=True), (M,)),
    "prod dim": (lambda t, x: t.prod(x, 1), (M,)),
    "std": (lambda t, x: t.std(x), (M,)),
    "std unbiased": (lambda t, x: t.std(x, unbiased=False), (M,)),
    "std positional bool": (lambda t, x: t.std(x, False), (M,)),
    "std dim": (lambda t, x: t.std(x, 1), (M,)),
    "std correction": (lambda t, x: t.std(x, dim=0, correction=2), (M,)),
    "var": (lambda t, x: t.var(x, 0, keepdim=True), (M,)),
    "method std bool": (lambda t, x: x.std(False), (M,)),
    "std_mean": (lambda t, x: t.std_mean(x, 1), (M,)),
    "var_mean": (lambda t, x: t.var_mean(x, dim=(0, 1), correction=0), (M,)),
    "median": (lambda t, x: t.median(x), (real(8),)),
    "median ties": (lambda t, x: t.median(x), (floats(1.0, 2.0, 2.0, 0.0, 2.0, 5.0),)),
    "median nan": (lambda t, x: t.median(x), (floats(1.0, NAN, 2.0),)),
    "median dim": (lambda t, x: t.median(x, 1), (real(3, 6),)),
    "median dim nan": (
        lambda t, x: t.median(x, dim=1)[0],
        (lambda rng: np.array([[1.0, NAN, 3.0], [4.0, 2.0, 5.0]]),),
    ),
    "median keepdim": (lambda t, x: t.median(x, 0, keepdim=True), (real(5, 2),)),
    "nanmedian": (lambda t, x: t.nanmedian(x), (floats(3.0, NAN, 1.0, 2.0, NAN, 5.0),)),
    "nanmedian dim": (
        lambda t, x: t.nanmedian(x, 1),
        (lambda rng: np.array([[1.0, NAN, 3.0, 7.0], [4.0, 2.0, 5.0, 0.0]]),),
    ),
    "kthvalue": (lambda t, x: t.kthvalue(x, 2, 1), (real(3, 5),)),
    "mode": (lambda t, x: t.mode(x, 1), (whole(0, 3, 3, 7),)),
    "sort": (lambda t, x: t.sort(x), (M,)),
    "sort dim descending": (lambda t, x: t.sort(x, 0, True), (M,)),
    "sort stable": (lambda t, x: t.sort(x, stable=True, descending=True), (whole(0, 3, 9),)),
    "argsort": (lambda t, x: t.argsort(x, dim=0, descending=True), (M,)),
    "msort": (lambda t, x: t.msort(x), (M,)),
    "topk": (lambda t, x: t.topk(x, 2), (M,)),
    "topk smallest": (lambda t, x: t.topk(x, 2, dim=0, largest=False), (M,)),
    "cummax": (lambda t, x: t.cummax(x, 1), (M,)),
    "cummin": (lambda t, x: t.cummin(x, dim=0), (M,)),
    "cumsum": (lambda t, x: t.cumsum(x, 1), (M,)),
    "cumprod": (lambda t, x: t.cumprod(x, dim=0), (M,)),
    "logcumsumexp": (lambda t, x: t.logcumsumexp(x, 1), (real(2, 7),)),
    "quantile": (lambda t, x: t.quantile(x, 0.3, dim=1, keepdim=True), (real(3, 6),)),
    "nanquantile": (
        lambda t, x: t.nanquantile(x, t.tensor([0.25, 0.6])),
        (floats(3.0, NAN, 1.0, 2.0, NAN, 5.0),),
    ),
    "norm": (lambda t, x: t.norm(x), (M,)),
    "norm p dim": (lambda t, x: t.norm(x, p=1, dim=1), (M,)),
    "norm keepdim": (lambda t, x: t.norm(x, 3, 0, True), (M,)),
    "dist": (lambda t, x, y: t.dist(x, y, 3), (M, M)),
    "logsumexp": (lambda t, x: t.logsumexp(x, (0, 1)), (M,)),
    "softmax": (lambda t, x: t.softmax(x, dim=1), (M,)),
    "log_softmax": (lambda t, x: t.log_softmax(x, 0), (M,)),
    "all": (lambda t, x: t.all(x, dim=1), (flags(3, 4),)),
    "any": (lambda t, x: t.any(x, 0, keepdim=True), (flags(3, 4),)),
    "count_nonzero": (lambda t, x: t.count_nonzero(x, dim=0), (whole(0, 2, 3, 4),)),
    "nansum": (lambda t, x: t.nansum(x), (floats(1.0, NAN, 2.0),)),
    "nanmean": (lambda t, x: t.nanmean(x, 0), (floats(1.0, NAN, 2.0),)),
    "unique": (
        lambda t, x: t.unique(x, return_inverse=True, return_counts=True),
        (whole(0, 5, 9),),
    ),
    "unique_consecutive": (lambda t, x: t.unique_consecutive(x, True, True), (whole(0, 2, 9),)),
    "histc": (lambda t, x: t.histc(x, bins=4, min=-1, max=1), (real(20),)),
    "bincount": (lambda t, x: t.bincount(x, minlength=6), (whole(0, 4, 9),)),
    "method sum axis": (lambda t, x: x.sum(axis=0), (M,)),
    "method mean keepdims": (lambda t, x: x.mean(axis=1, keepdims=True), (M,)),
    "method max axis": (lambda t, x: x.max(axis=0), (M,)),
    "method argmax axis": (lambda t, x: x.argmax(axis=1), (M,)),
    "method std axis": (lambda t, x: x.std(axis=1, unbiased=False), (M,)),
    "method all axis": (lambda t, x: x.all(axis=0), (flags(3, 4),)),
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
    # --- arithmetic
    "add alpha": (lambda t, x, y: t.add(x, y, alpha=3), (M, M)),
    "sub alpha": (lambda t, x, y: t.sub(x, y, alpha=0.5), (M, M)),
    "div": (lambda t, x, y: t.div(x, y), (M, positive(3, 4))),
    "div floor": (lambda t, x, y: t.div(x, y, rounding_mode="floor"), (M, positive(3, 4))),
    "div trunc": (lambda t, x, y: t.div(x, y, rounding_mode="trunc"), (M, positive(3, 4))),
    "div integers floor": (
        lambda t, x, y: t.div(x, y, rounding_mode="floor"),
        (whole(-9, 9, 12), exactly(4)),
    ),
    "div integers trunc": (
        lambda t, x, y: t.div(x, y, rounding_mode="trunc"),
        (whole(-9, 9, 12), exactly(4)),
    ),
    "div integers": (lambda t, x: x.div(4), (whole(-9, 9, 12),)),
    "pow number base": (lambda t, x: t.pow(2.0, x), (M,)),
    "pow exponent": (lambda t, x: t.pow(x, exponent=3), (M,)),
    "mul number first": (lambda t, x: t.mul(2, x), (M,)),
    "remainder": (lambda t, x: t.remainder(x, 0.7), (M,)),
    "remainder of a number": (lambda t, x: t.remainder(5.0, x.detach()), (positive(3),)),
    "fmod": (lambda t, x: t.fmod(x, 0.7), (M,)),
    "floor_divide": (lambda t, x: t.floor_divide(x, 3), (whole(-9, 9, 12),)),
    "clamp": (lambda t, x: t.clamp(x, min=-0.5, max=0.5), (M,)),
    "clamp tensors": (lambda t, x, y: t.clamp(x, y, y + 1), (M, M)),
    "lerp": (lambda t, x, y: t.lerp(x, y, 0.3), (M, M)),
    "addcmul": (lambda t, x, y, z: t.addcmul(x, y, z, value=0.5), (M, M, M)),
    "addcdiv": (lambda t, x, y, z: t.addcdiv(x, y, z, value=0.5), (M, M, positive(3, 4))),
    "sgn": (lambda t, x: t.sgn(x), (M,)),
    "round decimals": (lambda t, x: t.round(x, decimals=1), (M,)),
    "rsqrt": (lambda t, x: t.rsqrt(x), (positive(3),)),
    "logit": (lambda t, x: t.logit(x, eps=0.1), (positive(5),)),
    "xlogy": (lambda t, x, y: t.xlogy(x, y), (exactly(0.0, 1.0, 2.0), positive(3))),
    "nan_to_num": (lambda t, x: t.nan_to_num(x, nan=2.0), (floats(1.0, NAN, 3.0),)),
    "hypot": (lambda t, x, y: t.hypot(x, y), (M, M)),
    "atan2": (lambda t, x, y: t.atan2(x, y), (M, M)),
    "heaviside": (
        lambda t, x: t.heaviside(x.detach(), t.tensor(0.5, dtype=t.float64)),
        (exactly(-1.0, 0.0, 2.0),),
    ),
    "logaddexp": (lambda t, x, y: t.logaddexp(x, y), (M, M)),
    "allclose": (lambda t, x: t.tensor(t.allclose(x, x + 1e-9)), (M,)),
    "equal": (lambda t, x: t.tensor(t.equal(x, x)), (M,)),
    "polygamma": (lambda t, x: t.special.polygamma(2, x), (positive(3),)),
    "special.xlog1py": (lambda t, x, y: t.special.xlog1py(x, y), (M, positive(3, 4))),
    "special.expit": (lambda t, x: t.special.expit(x), (M,)),
    # --- products
    "mm": (lambda t, x, y: t.mm(x, mat2=y), (M, real(4, 2))),
    "bmm": (lambda t, x, y: t.bmm(x, y), (real(2, 3, 4), real(2, 4, 2))),
    "mv": (lambda t, x, y: t.mv(x, y), (M, real(4))),
    "dot": (lambda t, x, y: t.dot(x, y), (real(4), real(4))),
    "outer": (lambda t, x, y: t.outer(x, y), (real(2), real(3))),
    "matmul": (lambda t, x, y: t.matmul(x, y), (real(2, 3, 4), real(4, 2))),
    "addmm": (
        lambda t, x, y, z: t.addmm(x, y, z, beta=0.5, alpha=2),
        (real(2), real(2, 3), real(3, 2)),
    ),
    "addmm keywords": (
        lambda t, x, y, z: t.addmm(input=x, mat1=y, mat2=z),
        (real(2, 2), real(2, 3), real(3, 2)),
    ),
    "addmv": (lambda t, x, y, z: t.addmv(x, y, z), (real(2), real(2, 3), real(3))),
    "addbmm": (
        lambda t, x, y, z: t.addbmm(x, y, z, beta=2),
        (real(2, 2), real(3, 2, 3), real(3, 3, 2)),
    ),
    "baddbmm": (
        lambda t, x, y, z: t.baddbmm(x, y, z, alpha=2),
        (real(3, 2, 2), real(3, 2, 3), real(3, 3, 2)),
    ),
    "chain_matmul": (
        lambda t, x, y, z: t.chain_matmul(x, y, z),
        (real(2, 3), real(3, 4), real(4, 2)),
    ),
    "einsum": (lambda t, x, y: t.einsum("ij,kj->ik", x, y), (M, real(2, 4))),
    "einsum list": (lambda t, x, y: t.einsum("ij,kj->ik", [x, y]), (M, real(2, 4))),
    "tensordot": (lambda t, x, y: t.tensordot(x, y, dims=([1], [0])), (M, real(4, 2))),
    "cross": (lambda t, x, y: t.linalg.cross(x, y), (real(2, 3), real(2, 3))),
    "cdist": (lambda t, x, y: t.cdist(x, y), (real(3, 2), real(4, 2))),
    "cdist one": (lambda t, x, y: t.cdist(x, y, p=1.0), (real(2, 3, 2), real(2, 4, 2))),
    "kron": (lambda t, x, y: t.kron(x, y), (real(2, 2), real(1, 2))),
    "matrix_power": (lambda t, x: t.matrix_power(x, 3), (real(3, 3),)),
    "det": (lambda t, x: t.det(x), (real(3, 3),)),
    "inverse": (lambda t, x: t.inverse(x), (definite(3),)),
    "logdet": (lambda t, x: t.logdet(x), (definite(3),)),
    "slogdet": (lambda t, x: t.slogdet(x), (real(3, 3),)),
    "linalg.solve": (lambda t, x, y: t.linalg.solve(x, y), (definite(3), real(3, 2))),
    "linalg.solve right": (
        lambda t, x, y: t.linalg.solve(x, y, left=False),
        (definite(3), real(2, 3)),
    ),
    "linalg.solve_triangular": (
        lambda t, x, y: t.linalg.solve_triangular(x, y, upper=True),
        (definite(3), real(3, 2)),
    ),
    "linalg.solve_triangular right": (
        lambda t, x, y: t.linalg.solve_triangular(x, y, upper=False, left=False),
        (definite(3), real(2, 3)),
    ),
    "linalg.cholesky": (lambda t, x: t.linalg.cholesky(x), (definite(3),)),
    "linalg.svd": (lambda t, x: t.linalg.svd(x, full_matrices=False).S, (M,)),
    "linalg.eigh": (lambda t, x: t.linalg.eigh(x).eigenvalues, (definite(3),)),
    "linalg.qr": (lambda t, x: t.linalg.qr(x), (real(4, 3),)),
    "linalg.pinv": (lambda t, x: t.linalg.pinv(x), (M,)),
    "linalg.norm": (lambda t, x: t.linalg.norm(x, dim=1), (M,)),
    "linalg.norm matrix": (lambda t, x: t.linalg.norm(x, "nuc"), (M,)),
    "linalg.norm inf": (lambda t, x: t.linalg.norm(x, float("inf")), (M,)),
    "linalg.vector_norm": (lambda t, x: t.linalg.vector_norm(x, 3, keepdim=True), (M,)),
    "linalg.matrix_norm": (lambda t, x: t.linalg.matrix_norm(x, 1), (M,)),
    "linalg.lstsq": (lambda t, x, y: t.linalg.lstsq(x, y).solution, (real(4, 2), real(4, 1))),
    "linalg.vecdot": (lambda t, x, y: t.linalg.vecdot(x, y, dim=0), (M, M)),
    "linalg.multi_dot": (lambda t, x, y: t.linalg.multi_dot([x, y]), (M, real(4, 2))),
    # --- attention
    "sdpa": (
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v),
        (real(2, 3, 4), real(2, 5, 4), real(2, 5, 2)),
    ),
    "sdpa causal": (
        lambda t, q, k: t.nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True),
        (real(2, 3, 4), real(2, 5, 4)),
    ),
    "sdpa flags": (
        lambda t, q, m: t.nn.functional.scaled_dot_product_attention(
            q, q, q, attn_mask=m, scale=0.3
        ),
        (real(2, 3, 4), exactly([True, False, True], [False, False, False], [True, True, True])),
    ),
    "sdpa numbers": (
        lambda t, q, m: t.nn.functional.scaled_dot_product_attention(q, q, q, m),
        (real(2, 3, 4), real(3, 3)),
    ),
    "sdpa grouped": (
        lambda t, q, k: t.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        (real(1, 4, 3, 2), real(1, 2, 3, 2)),
    ),
    "tril of flags": (lambda t, c: t.tril(c), (flags(3, 4),)),
    "triu of flags": (lambda t, c: ~c.triu(1), (flags(3, 4),)),
    # --- distributions
    "Normal": (
        lambda t, m, s, x: t.distributions.Normal(m, s).log_prob(x),
        (real(3), positive(3), real(2, 3)),
    ),
    "Normal entropy": (
        lambda t, m, s: t.distributions.Normal(m, s).entropy(),
        (real(3), positive(3)),
    ),
    "Normal cdf": (
        lambda t, m, s, x: t.distributions.Normal(m, s).cdf(x),
        (real(3), positive(3), real(3)),
    ),
    "Normal icdf": (
        lambda t, m, s: t.distributions.Normal(m, s).icdf(t.tensor([0.1, 0.5, 0.8])),
        (real(3), positive(3)),
    ),
    "Normal kl": (
        lambda t, m, s, n, u: t.distributions.kl_divergence(
            t.distributions.Normal(m, s), t.distributions.Normal(n, u)
        ),
        (real(3), positive(3), real(3), positive(3)),
    ),
    "Uniform": (
        lambda t, a, d: t.distributions.Uniform(a, a + d).log_prob(a + d / 2),
        (real(3), positive(3)),
    ),
    "Uniform outside": (
        lambda t, a, d: (
            t.distributions.Uniform(a, a + d, validate_args=False).log_prob(a - 1).detach()
        ),
        (real(3), positive(3)),
    ),
    "Categorical probs": (
        lambda t, p, k: t.distributions.Categorical(p).log_prob(k),
        (positive(2, 4), whole(0, 4, 2)),
    ),
    "Categorical logits": (
        lambda t, x, k: t.distributions.Categorical(logits=x).log_prob(k),
        (real(4), whole(0, 4, 5)),
    ),
    "Categorical broadcast": (
        lambda t, x, k: t.distributions.Categorical(logits=x).log_prob(k),
        (real(3, 4), whole(0, 4, 2, 1)),
    ),
    "Categorical entropy": (
        lambda t, x: t.distributions.Categorical(logits=x).entropy(),
        (real(2, 4),),
    ),
    "Categorical entropy probs": (
        lambda t, p: t.distributions.Categorical(probs=p).entropy(),
        (positive(2, 4),),
    ),
    "Categorical kl": (
        lambda t, x, y: t.distributions.kl_divergence(
            t.distributions.Categorical(logits=x), t.distributions.Categorical(logits=y)
        ),
        (real(2, 4), real(2, 4)),
    ),
    "Categorical probabilities": (
        lambda t, p: t.distributions.Categorical(p).probs,
        (positive(2, 4),),
    ),
    "Bernoulli": (
        lambda t, p: t.distributions.Bernoulli(p).log_prob(t.tensor([0.0, 1.0, 1.0])),
        (lambda rng: rng.uniform(0.1, 0.9, 3),),
    ),
    "Bernoulli logits": (
        lambda t, x: t.distributions.Bernoulli(logits=x).log_prob(t.tensor([0.0, 1.0, 1.0])),
        (real(3),),
    ),
    "Bernoulli entropy": (lambda t, x: t.distributions.Bernoulli(logits=x).entropy(), (real(3),)),
    "Bernoulli kl": (
        lambda t, x, y: t.distributions.kl_divergence(
            t.distributions.Bernoulli(logits=x), t.distributions.Bernoulli(logits=y)
        ),
        (real(3), real(3)),
    ),
    # --- made
    "arange": (lambda t: t.arange(1, 7, 2), ()),
    "arange floats": (lambda t: t.arange(0.0, 1.0, 0.25), ()),
    "linspace": (lambda t: t.linspace(0, 1, steps=5), ()),
    "logspace": (lambda t: t.logspace(0, 2, steps=5), ()),
    "logspace base": (lambda t: t.logspace(0, 2, 3, base=2.0), ()),
    "full": (lambda t: t.full((2, 2), 3), ()),
    "full float": (lambda t: t.full([2], fill_value=3.5), ()),
    "full_like": (lambda t, x: t.full_like(x, 3), (M,)),
    "eye": (lambda t: t.eye(2, 3), ()),
    "vander": (lambda t, x: t.vander(x.detach(), 3), (real(4),)),
    "zeros size": (lambda t: t.zeros(size=(2, 3)), ()),
    # --- statistics, integrals, complex numbers
    "cov": (lambda t, x: t.cov(x), (M,)),
    "cov weights": (
        lambda t, x: t.cov(
            x, fweights=t.tensor([1, 2, 1, 3]), aweights=t.tensor([0.5, 1.0, 1.5, 1.0])
        ),
        (M,),
    ),
    "corrcoef": (lambda t, x: t.corrcoef(x), (M,)),
    "trapezoid": (lambda t, x: t.trapezoid(x, dx=0.5), (M,)),
    "trapezoid x": (
        lambda t, x, y: t.trapezoid(y, x),
        (lambda rng: np.sort(rng.uniform(size=4)), M),
    ),
    "cumulative_trapezoid": (
        lambda t, x, y: t.cumulative_trapezoid(y, x),
        (lambda rng: np.sort(rng.uniform(size=4)), M),
    ),
    "complex": (lambda t, x, y: t.view_as_real(t.complex(x, y) ** 2), (M, M)),
    "polar": (lambda t, x, y: t.view_as_real(t.polar(x, y)), (positive(3), real(3))),
    "view_as_complex": (lambda t, x: t.view_as_complex(x).abs(), (real(3, 2),)),
}


def inputs(name: str) -> list[Any]:
    """The arrays of a case."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [np.asarray(make(rng)) for make in CASES[name][1]]


def results(name: str, torch: Any) -> Arrays:
    """The results of a case, and the gradients of a combination of those that have one."""
    given = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in inputs(name)]
    leaves = [x for x in given if x.requires_grad]
    out = CASES[name][0](torch, *given)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    found, total = {}, None
    for k, o in enumerate(outs):
        found[f"out {k}"] = np.asarray(o.detach())
        if o.requires_grad:
            part = (o * torch.tensor(rng.standard_normal(tuple(o.shape)), dtype=o.dtype)).sum()
            total = part if total is None else total + part.to(total.dtype)
    if total is not None:
        for k, g in enumerate(torch.autograd.grad(total, leaves, allow_unused=True)):
            if g is not None:
                found[f"gradient {k}"] = np.asarray(g.numpy(force=True))
    return {f"{name}/{key}": value for key, value in found.items()}


def main(file: str) -> None:
    """Write torch's numbers."""
    import torch

    torch.set_default_dtype(torch.float64)
    numbers: Arrays = {}
    for name in CASES:
        numbers |= results(name, torch)
    np.savez_compressed(file, **numbers)


if __name__ == "__main__":
    main(sys.argv[1])
