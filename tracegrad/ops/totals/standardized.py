"""Numbers less their mean, over the root of their variance, times a weight plus a bias: one node in
running code, with a reverse half that NumPy does in memory of its own; traces record what it is
composed of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.dispatch import bind, data_of
from ...ir.op import Op, Rest, Types, op
from ...sizes import known_less
from ...types import ArrayType
from ..arrays.shape import broadcast_to, front, reshape, sum_to
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import div, sub
from ..elementwise.derived import add, mul
from ..elementwise.elementary import sqrt, square
from .axes import count, kept
from .plain_sums import total, total_of_products
from .reductions import sum as sum_
from .statistics import as_floats, mean

NO_WEIGHT, NO_BIAS = 1.0, 0.0
"""Numbers of Python's in the place of operands that are not there."""


def _composed(x: Any, weight: Any, bias: Any, *, axes: tuple[int, ...], eps: float) -> Any:
    centre = mean(x, axes, keepdims=True)
    away = sub(x, centre)
    variance = mean(square(away), axes, keepdims=True)
    result = div(away, sqrt(add(variance, eps)))
    result = result if type(weight) is float else mul(result, weight)
    return result if type(bias) is float else add(result, bias), centre, variance


def _evaluate(x: Any, weight: Any, bias: Any, *, axes: tuple[int, ...], eps: float) -> Any:
    n = count(x.shape, axes)
    centre = total(x, axes)
    centre /= n
    made = np.subtract(x, centre)
    variance = total_of_products(made, made, axes)
    variance /= n
    scale = 1 / np.sqrt(variance + eps)
    if _is_even(weight, x.ndim, axes):
        made *= scale * weight
    else:
        made *= scale
        made *= weight
    if type(bias) is not float:
        made += bias
    return made, centre, variance


def _is_even(weight: Any, ndim: int, axes: tuple[int, ...]) -> bool:
    """Whether what is standardised together has one weight."""
    if type(weight) is float:
        return True
    ahead = ndim - weight.ndim
    return all(a < ahead or weight.shape[a - ahead] == 1 for a in axes)


def _infer(x: Any, weight: Any, bias: Any, *, axes: tuple[int, ...], eps: float) -> Types:
    one = ArrayType(x.type.dtype, kept(x.type.shape, axes))
    return x.type, one, one


# --- derivatives ----------------------------------------------------------------------------------


def _parts(x: Any, centre: Any, variance: Any, eps: float) -> tuple[Any, Any]:
    return sub(x, centre), div(1.0, sqrt(add(variance, eps)))


def _of_elements(
    ct0: Any,
    ct1: Any,
    ct2: Any,
    x: Any,
    weight: Any,
    out1: Any,
    out2: Any,
    *,
    axes: tuple[int, ...],
    eps: float,
) -> Any:
    """Through the result, the mean and the variance, each a function of the elements alone."""
    away, scale = _parts(x, out1, out2, eps)
    ct = mul(ct0, weight)
    of_variance = sub(
        mul(2.0, ct2),
        mul(sum_(mul(ct, away), axes, keepdims=True), mul(scale, square(scale))),
    )
    n = count(shape_of(x), axes)
    direct = add(mul(ct, scale), mul(away, div(of_variance, n)))
    return add(sub(direct, mean(direct, axes, keepdims=True)), div(ct1, n))


def _of_weight(ct0: Any, x: Any, out1: Any, out2: Any, *, eps: float, like: Any) -> Any:
    away, scale = _parts(x, out1, out2, eps)
    return sum_to(mul(ct0, mul(away, scale)), like.shape)


def _of_bias(ct0: Any, *, like: Any) -> Any:
    return sum_to(ct0, like.shape)


def _tangents(
    tangents: Sequence[Any],
    inputs: Sequence[Any],
    outs: Sequence[Any],
    *,
    axes: tuple[int, ...],
    eps: float,
) -> list[Any]:
    t, of_weight, of_bias = tangents
    away, scale = _parts(inputs[0], outs[1], outs[2], eps)
    terms = []
    centre = variance = None
    if t is not None:
        centre = mean(t, axes, keepdims=True)
        moved = sub(t, centre)
        variance = mul(2.0, mean(mul(away, moved), axes, keepdims=True))
        slope = mul(mul(scale, square(scale)), mul(0.5, variance))
        terms.append(mul(sub(mul(moved, scale), mul(away, slope)), inputs[1]))
    if of_weight is not None:
        terms.append(mul(mul(away, scale), of_weight))
    if of_bias is not None:
        terms.append(broadcast_to(of_bias, shape_of(away)))
    made = terms[0]
    for term in terms[1:]:
        made = add(made, term)
    return [made, centre, variance]


def _batch(values: Any, at: Any, size: Any, *, axes: tuple[int, ...], eps: float) -> Any:
    x, *others = [v if a is None else front(v, a) for v, a in zip(values, at, strict=True)]
    x = broadcast_to(x, (size, *shape_of(x))) if at[0] is None else x
    for k, y in enumerate(others):
        if at[k + 1] is not None:
            ones = [1] * (ndim_of(x) - ndim_of(y))
            others[k] = reshape(y, (size, *ones, *shape_of(y)[1:]))
    moved = tuple([a + 1 for a in axes])
    return list(bind(standardize_op, [x, *others], {"axes": moved, "eps": eps})), [0, 0, 0]


def _staged(arrays: Any, wanted: Any, *, axes: tuple[int, ...], eps: float) -> Any:
    made = _evaluate(*arrays, axes=axes, eps=eps)
    x, weight, bias = arrays
    even = _is_even(weight, x.ndim, axes) and _is_even(bias, x.ndim, axes)
    shape, shapes = x.shape, (np.shape(weight), np.shape(bias))
    mean_of, variance = made[1].copy(), made[2].copy()

    def run(cts: Sequence[Any], inputs: Sequence[Any], outs: Any) -> list[Any]:
        ct, of_mean, of_variance = [data_of(c) for c in cts]
        if ct is None:
            ct = np.zeros(shape, variance.dtype)
        if not wanted[0] and not wanted[1]:
            return [None, None, sum_to(ct, shapes[1])]
        x = data_of(inputs[0])
        weight = data_of(inputs[1]) if wanted[0] else NO_WEIGHT
        scale = 1 / np.sqrt(variance + eps)
        result = np.subtract(x, mean_of)
        result *= scale
        if even:
            # Sums over what is standardised together are parts of those for weight and bias.
            sums, products = total(ct, axes), total_of_products(ct, result, axes)
            slopes = [products, sums]
        else:
            slopes = [
                _sum_of(ct, result if k == 0 else None, shapes[k]) if wanted[k + 1] else None
                for k in range(2)
            ]
            if wanted[0]:
                ct = ct * weight
                sums, products = total(ct, axes), total_of_products(ct, result, axes)
        made = [sum_to(slopes[k], shapes[k]) if wanted[k + 1] else None for k in range(2)]
        if not wanted[0]:
            return [None, *made]
        n = count(x.shape, axes)
        result *= products / -n
        result += ct
        result -= sums / n
        result *= scale * weight if even else scale
        if of_variance is not None:
            result += (x - mean_of) * (of_variance * (2 / n))
        if of_mean is not None:
            result += of_mean / n
        return [result, *made]

    places = (0, 1) if wanted[0] else (0,) if wanted[1] else ()
    return made, Rest(places, (), run)


def _sum_of(ct: Any, other: Any, shape: tuple[int, ...]) -> Any:
    """The sum of a cotangent, or of its products, over what an operand of this shape was repeated
    along."""
    ahead = ct.ndim - len(shape)
    axes = tuple([k for k in range(ct.ndim) if k < ahead or shape[k - ahead] != ct.shape[k]])
    return total(ct, axes) if other is None else total_of_products(ct, other, axes)


standardize_op: Op = op(
    "standardize",
    ("x", "weight", "bias"),
    evaluate=_evaluate,
    infer=_infer,
    vjp=[_of_elements, _of_weight, _of_bias],
    jvp=_tangents,
    batch=_batch,
    outputs=3,
    staged=_staged,
    composed=_composed,
    doc=(
        "Numbers less their mean, over the root of their variance and eps, times a weight plus a "
        "bias; the mean; the variance."
    ),
)


def standardized(
    x: Any, axes: tuple[int, ...], eps: float, weight: Any = None, bias: Any = None
) -> tuple[Any, Any, Any]:
    """Floating-point numbers at mean 0 and variance 1 over the axes, times a weight plus a bias,
    which broadcast to them; their mean and their variance, in which the axes stay. `eps` is added
    to the variance before its root is taken."""
    x = as_floats(x)
    weight = NO_WEIGHT if weight is None else weight
    bias = NO_BIAS if bias is None else bias
    given = x, weight, bias
    if (
        x.dtype.kind == "c"
        or not isinstance(eps, (int, float))
        or any(type(y) is not float and y.dtype != x.dtype for y in given[1:])
        or any(known_less(shape_of(x)[a], 1) for a in axes)
    ):
        made: tuple[Any, Any, Any] = _composed(*given, axes=axes, eps=eps)
        return made
    return tuple(bind(standardize_op, given, {"axes": axes, "eps": eps}))


OPS = (standardize_op,)
__all__ = ["OPS", "standardized"]
