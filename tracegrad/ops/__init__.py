"""The operations: primitives with their rules in family files, and compositions that need no rule.

`OPS` lists every primitive; a printed graph is parsed by looking names up in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.op import Op
from . import random
from .arrays import concatenation, creation, shape, slices, windows
from .elementwise import (
    arithmetic, comparison, derived, divisors, elementary, logic, powers, remainders, special,
    trigonometric,
)
from .fourier import functions as fft
from .fourier import transforms
from .matrices import (
    band_factors, bands, cholesky, eigenvalues, functions_of_matrices, linalg, pivoting, products,
    riccati, spectral, systems, toeplitz_systems, triangular, tridiagonal,
)
from .numerics import filters
from .places import combining, gathering, indexing
from .scipy_special import functions as special_functions
from .sparse import nodes as nodes
from .sparse import products as sparse_products
from .totals import log_sum_exp, reductions, scans, selection, sorting, standardized, statistics
from .places.along import (
    gather, index_add, index_copy, index_select, put_along_axis, scatter, scatter_add, take,
    take_along_axis,
)
from .elementwise.derived import add, conj, convert, mul, real, strong_mul
from .elementwise.arithmetic import (
    complex_, div, equal, greater, greater_equal, imag, less, less_equal, neg, not_equal, sub,
    where,
)
from .elementwise.comparison import (
    around, ceil, clip, copysign, fix, floor, fmax, fmin, heaviside, maximum, minimum, relu, rint,
    round, signbit, trunc,
)
from .elementwise.divisors import gcd, lcm
from .elementwise.remainders import divmod, floor_divide, fmod, mod, remainder
from .arrays.creation import (
    arange, empty, empty_like, eye, full, full_like, identity, indices, iota, linspace, logspace,
    meshgrid, ones, ones_like, tri, tril, triu, zeros, zeros_like,
)
from .arrays.diagonals import (
    diagonal, trace,
)
from .matrices.einsum import (
    einsum,
)
from .elementwise.elementary import (
    abs, absolute, cbrt, exp, exp2, expm1, fabs, log, log10, log1p, log2, positive, reciprocal,
    sign, sqrt, square,
)
from .places.indexing import (
    getitem, index_add_at, index_update, nonzero, slice_put,
)
from .elementwise.logic import (
    bitwise_and, bitwise_invert, bitwise_not, bitwise_or, bitwise_xor, invert, isclose, isfinite,
    isinf, isnan, isneginf, isposinf, left_shift, logical_and, logical_not, logical_or, logical_xor,
    nan_to_num, right_shift,
)
from .matrices.outer_products import (
    cross, kron, outer,
)
from .arrays.padding import (
    pad,
)
from .elementwise.powers import float_power
from .exponents import pow, power
from .matrices.products import matmul, matrix_transpose
from .matrices.contractions import bmm, dot, inner, mm, multi_dot, mv, tensordot, vdot, vecdot
from .random import (
    Generator, default_rng, manual_seed,
)
from .arrays.rearrange import (
    array_split, atleast_1d, atleast_2d, atleast_3d, column_stack, diag, diag_embed, diagflat,
    dstack, expand, flatten, hsplit, hstack, one_hot, permute, ravel, repeat, split, tile,
    unbind, vsplit, vstack,
)
from .arrays.rolling import fliplr, flipud, roll, rot90
from .totals.reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, max, min, prod, ptp, sum,
)
from .totals.scans import (
    cummax, cummin, cumprod, cumsum, diff, linear_recurrence, trapezoid,
)
from .arrays.concatenation import concatenate, stack
from .arrays.shape import (
    broadcast_to, expand_dims, moveaxis, reshape, squeeze, sum_axes, sum_to, swapaxes, transpose,
)
from .arrays.slices import embed, flip, slice_array
from .totals.quantiles import (
    median, nanmedian, nanpercentile, nanquantile, percentile, quantile,
)
from .totals.selection import (
    topk,
)
from .totals.sorting import (
    argsort, interp, searchsorted, sort,
)
from .places.spans import (
    dynamic_slice, dynamic_update_slice,
)
from .elementwise.beta_functions import beta, betaln
from .elementwise.special import (
    digamma, entr, erf, erfc, erfinv, expit, factorial, gamma, gammaln, lgamma, log_sigmoid,
    logaddexp, logaddexp2, logit, ndtr, ndtri, polygamma, psi, sigmoid, softplus, xlog1py, xlogy,
)
from .totals.statistics import (
    average, mean, norm, std, var, vector_norm,
)
from .totals.log_sum_exp import (
    log_softmax, logsumexp, softmax,
)
from .totals.ignoring_nan import (
    nanmax, nanmean, nanmin, nansum,
)
from .elementwise.trigonometric import (
    acos, acosh, angle, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh,
    atan, atan2, atanh, cos, cosh, deg2rad, degrees, hypot, rad2deg, radians, sin, sinc, sinh, tan,
    tanh,
)

APPLIED_BY: dict[Callable[..., Any], Op] = {
    **derived.APPLIED_BY, **arithmetic.APPLIED_BY, **elementary.APPLIED_BY,
    **trigonometric.APPLIED_BY, **special.APPLIED_BY,
}
"""The operations of functions that do nothing but apply them: methods and operators of boxed values
skip such functions."""

OPS: tuple[Op, ...] = (
    *derived.OPS, *arithmetic.OPS, *shape.OPS, *slices.OPS, *concatenation.OPS, *elementary.OPS,
    *powers.OPS, *remainders.OPS, *divisors.OPS,
    *trigonometric.OPS, *comparison.OPS, *special.OPS, *creation.OPS, *random.OPS, *gathering.OPS,
    *combining.OPS, *reductions.OPS, *scans.OPS, *indexing.OPS, *products.OPS, *logic.OPS,
    *statistics.OPS, *log_sum_exp.OPS, *standardized.OPS,
    *sorting.OPS, *selection.OPS, *triangular.OPS, *cholesky.OPS, *spectral.OPS, *eigenvalues.OPS,
    *systems.OPS, *bands.OPS, *band_factors.OPS, *windows.OPS, *filters.OPS,
    *functions_of_matrices.OPS, *toeplitz_systems.OPS, *tridiagonal.OPS, *pivoting.OPS,
    *riccati.OPS, *transforms.OPS, *special_functions.OPS, *sparse_products.OPS,
)

__all__ = [
    "Generator", "OPS", "abs", "absolute", "acos", "acosh", "add", "all", "amax", "amin", "angle",
    "any", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "argmax", "argmin", "argsort", "around", "array_split", "asin", "asinh", "atan", "atan2",
    "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "average", "beta", "betaln", "bitwise_and",
    "bitwise_invert", "bitwise_not", "bitwise_or", "bitwise_xor", "bmm", "broadcast_to", "cbrt",
    "ceil", "clip", "column_stack", "complex_", "concatenate", "conj", "convert", "copysign", "cos",
    "cosh", "count_nonzero", "cross", "cummax", "cummin", "cumprod", "cumsum", "default_rng",
    "deg2rad", "degrees", "diag", "diag_embed", "diagflat", "diagonal", "diff", "digamma", "div",
    "divmod", "dot", "dstack", "dynamic_slice", "dynamic_update_slice", "einsum", "embed", "empty",
    "empty_like", "entr", "equal", "erf", "erfc", "erfinv", "exp", "exp2", "expand", "expand_dims",
    "expit", "expm1", "eye", "fabs", "factorial", "fft", "fix", "flatten", "flip", "fliplr",
    "flipud", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "full", "full_like",
    "gamma", "gammaln", "gather", "gcd", "getitem", "greater", "greater_equal", "heaviside",
    "hsplit", "hstack", "hypot", "identity", "imag", "index_add", "index_add_at", "index_copy",
    "index_select", "index_update", "indices", "inner", "interp", "invert", "iota", "isclose",
    "isfinite", "isinf", "isnan", "isneginf", "isposinf", "kron", "lcm", "left_shift", "less",
    "less_equal", "lgamma", "linalg", "linear_recurrence", "linspace", "log", "log10", "log1p",
    "log2", "log_sigmoid", "log_softmax", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logit", "logspace", "logsumexp", "manual_seed", "matmul",
    "matrix_transpose", "max", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mm",
    "mod", "moveaxis", "mul", "multi_dot", "mv", "nan_to_num", "nanmax", "nanmean", "nanmedian",
    "nanmin", "nanpercentile", "nanquantile", "nansum", "ndtr", "ndtri", "neg", "nonzero", "norm",
    "not_equal", "one_hot", "ones", "ones_like", "outer", "pad", "percentile", "permute",
    "polygamma", "positive", "pow", "power", "prod", "psi", "ptp", "put_along_axis", "quantile",
    "rad2deg", "radians", "ravel", "real", "reciprocal", "relu", "remainder", "repeat", "reshape",
    "right_shift", "rint", "roll", "rot90", "round", "scatter", "scatter_add", "searchsorted",
    "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "slice_array", "slice_put", "softmax",
    "softplus", "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "strong_mul", "sub",
    "sum", "sum_axes", "sum_to", "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot",
    "tile", "topk", "trace", "transpose", "trapezoid", "tri", "tril", "triu", "trunc", "unbind",
    "var", "vdot", "vecdot", "vector_norm", "vsplit", "vstack", "where", "xlog1py", "xlogy",
    "zeros", "zeros_like",
]
