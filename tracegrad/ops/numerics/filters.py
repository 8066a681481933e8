"""Convolutions and linear filters under the names of scipy.signal."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..._codegen import loading
from ...dtypes import FLOAT64, promote
from ...errors import ShapeError, UnsupportedFunctionError
from ...ir.dispatch import bind
from ...ir.lines import user_line
from ...ir.op import Op, Types, op
from ...sizes import known_less, numel, same
from ...types import normalize_axis, show
from ..arrays.concatenation import concatenate, stack
from ..arrays.creation import zeros
from ..arrays.shape import broadcast_to, moveaxis, reshape
from ..arrays.slices import cut, embed, flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, neg, sub
from ..elementwise.derived import add, conj, convert, mul
from ..matrices.linalg import solve
from ..matrices.stacks import batch_stacks, routine
from ..places.along import take
from ..totals.reductions import sum as sum_

# --- the recursion --------------------------------------------------------------------------------


def _recursive_infer(c: Any, x: Any, *, reverse: bool) -> Types:
    if (
        c.type.ndim != 2
        or x.type.ndim != 3
        or not same(c.type.shape[0], x.type.shape[0])
        or c.type.dtype != x.type.dtype
        or x.type.dtype.kind not in "fc"
    ):
        raise ShapeError(
            f"recursive_filter: needs coefficients (b, p) and signals (b, m, n) of floating point "
            f"numbers, got {c.type} and {x.type}"
        )
    return (x.type,)


def _recursive_evaluate(c: Any, x: Any, *, reverse: bool) -> Any:
    lfilter = loading.imported("scipy.signal").lfilter
    out = np.empty(x.shape, x.dtype)
    one = np.ones(1, x.dtype)
    for k in range(len(x)):
        rows = x[k][:, ::-1] if reverse else x[k]
        if rows.size:
            filtered = lfilter(one, np.concatenate([one, c[k]]), rows, axis=-1)
            out[k] = filtered[:, ::-1] if reverse else filtered
    return out


def _late(x: Any, by: int, reverse: bool) -> Any:
    """The signals `by` steps later (earlier where `reverse`), zeros coming in."""
    b, m, n = shape_of(x)
    if by == 0:
        return x
    if known_less(n, by + 1):
        return zeros((b, m, n), x.dtype)
    kept = cut(x, 2, by if reverse else 0, n - by)
    return embed(kept, (b, m, n), (0, 0, 0 if reverse else by))


def _recursive_vjp(cts: Any, inputs: Any, outs: Any, wanted: Any, *, reverse: bool) -> list[Any]:
    back = recursive_filter(conj(inputs[0]), cts[0], not reverse)
    of_c = None
    if wanted[0]:
        terms = [
            neg(sum_(mul(back, conj(_late(outs[0], k + 1, reverse))), (1, 2)))
            for k in range(int(shape_of(inputs[0])[1]))
        ]
        of_c = stack(terms, 1) if terms else mul(inputs[0], inputs[0].dtype.type(0))
    return [of_c, back if wanted[1] else None]


def _recursive_jvp(tangents: Any, inputs: Any, outs: Any, *, reverse: bool) -> list[Any]:
    change = tangents[1]
    if tangents[0] is not None:
        for k in range(int(shape_of(inputs[0])[1])):
            weight = cut(tangents[0], 1, k, 1)
            term = mul(reshape(weight, (-1, 1, 1)), _late(outs[0], k + 1, reverse))
            change = neg(term) if change is None else sub(change, term)
    return [None if change is None else recursive_filter(inputs[0], change, reverse)]


recursive_op: Op = op(
    "recursive_filter",
    ("c", "x"),
    evaluate=_recursive_evaluate,
    infer=_recursive_infer,
    vjp=_recursive_vjp,
    jvp=_recursive_jvp,
    batch=batch_stacks(lambda: recursive_op),
    lowering=routine("recursive_filter", "reverse"),
    doc=(
        "y[i] = x[i] - sum(c[k] * y[i - 1 - k]) along the last axis (from the end, where "
        "`reverse`), for stacks of coefficients and signals."
    ),
)


def recursive_filter(c: Any, x: Any, reverse: bool = False) -> Any:
    """The recursion of coefficients (b, p) applied to signals (b, m, n)."""
    return bind(recursive_op, [c, x], {"reverse": reverse})


# --- filters --------------------------------------------------------------------------------------


def _coefficients(name: str, word: str, x: Any) -> Any:
    x = as_array(x)
    if ndim_of(x) > 1:
        raise ShapeError(f"{name}: {word} must be a vector, not of shape {show(shape_of(x))}")
    return reshape(x, (-1,))


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The signals x filtered by the rational transfer function of numerator b and denominator a
    along an axis, from rest, or from the state `zi` (as x, with max(len(a), len(b)) - 1 elements
    along the axis; `lfilter_zi`): then the filtered signals and the state after them.
    Differentiable by all of them.

    >>> import tracegrad as tg
    >>> tg.signal.lfilter([1.0], [1.0, -0.5], [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    >>> tg.signal.lfilter([1.0], [1.0, -0.5], [1.0], zi=[2.0])
    (array([3.]), array([1.5]))
    """
    b, a = _coefficients("lfilter", "b", b), _coefficients("lfilter", "a", a)
    x = as_array(x)
    if ndim_of(x) == 0:
        raise ShapeError("lfilter: x is one number; a filter needs an axis")
    state = None if zi is None else as_array(zi)
    values = (b, a, x) if state is None else (b, a, x, state)
    dtype = promote(*[v.dtype if v.dtype.kind in "fc" else FLOAT64 for v in values])
    b, a, x = (convert(v, dtype) for v in (b, a, x))
    first = cut(a, 0, 0, 1)
    b, c = div(b, first), div(cut(a, 0, 1, shape_of(a)[0] - 1), first)
    axis = normalize_axis(axis, ndim_of(x))
    moved = moveaxis(x, axis, -1)
    shape = shape_of(moved)
    rows = reshape(moved, (1, numel(shape[:-1]), shape[-1]))
    total: Any = None
    for k in range(int(shape_of(b)[0])):
        # What is late comes behind the product: zeros before it are no part of that.
        term = _late(mul(cut(b, 0, k, 1), rows), k, False)
        total = term if total is None else add(total, term)
    count = max(int(shape_of(b)[0]), int(shape_of(c)[0]) + 1) - 1
    if state is not None:
        state = _state("lfilter", convert(state, dtype), axis, shape, count)
        # The state is what the next inputs are added to.
        later = concatenate([state, zeros((1, *shape_of(rows)[1:]), dtype)], 2)
        total = add(total, cut(later, 2, 0, shape[-1]))
    if int(shape_of(c)[0]):
        total = recursive_filter(reshape(c, (1, -1)), total)
    out = moveaxis(reshape(total, shape), -1, axis)
    if state is None:
        return out
    # Past inputs and outputs, and what is left of the first state.
    back = [concatenate([zeros((1, shape_of(rows)[1], count), dtype), v], 2) for v in (rows, total)]
    xs, ys = (cut(v, 2, shape[-1], count) for v in back)
    left = [cut(later, 2, shape[-1], count)]
    for k, v, sign_ in ((b, xs, add), (concatenate([zeros((1,), dtype), c]), ys, sub)):
        for j in range(1, int(shape_of(k)[0])):
            # Element i of the state has, times the coefficient j > i, the value j - i steps ago.
            term = mul(cut(k, 0, j, 1), cut(v, 2, count - j, j))
            left[0] = sign_(left[0], embed(term, shape_of(left[0]), (0, 0, 0)))
    final = reshape(left[0], (*shape[:-1], count))
    return out, moveaxis(final, -1, axis)


def _state(name: str, zi: Any, axis: int, shape: Any, count: int) -> Any:
    """A state as rows (1, m, count), for signals whose axis is the last of `shape`."""
    wanted = (*shape[:-1], count)
    if ndim_of(zi) == len(wanted):
        moved = moveaxis(zi, axis, -1)
        sizes = tuple(shape_of(moved))
        if all(same(m, n) or same(m, 1) for m, n in zip(sizes[:-1], wanted, strict=False)) and (
            same(sizes[-1], count)
        ):
            return reshape(broadcast_to(moved, wanted), (1, numel(shape[:-1]), count))
    raise ShapeError(
        f"{name}: zi has the shape {show(shape_of(zi))}; it must have {count} elements along axis "
        f"{axis}, and the sizes of x (or 1) along others"
    )


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The signals x filtered by sections of second order, the rows (b0, b1, b2, a0, a1, a2) of sos,
    one after the other, from rest, or from the state `zi` (sections, and the sizes of x with 2
    along the axis; `sosfilt_zi`): then the filtered signals and the state after them.

    >>> import tracegrad as tg
    >>> tg.signal.sosfilt([[1.0, 1.0, 0.0, 1.0, 0.0, 0.0]], [1.0, 0.0, 0.0])
    array([1., 1., 0.])
    """
    sections = sections_of("sosfilt", sos)
    if zi is None:
        for b, a in sections:
            x = lfilter(b, a, x, axis)
        return x
    state = as_array(zi)
    if ndim_of(state) < 1 or not same(shape_of(state)[0], len(sections)):
        raise ShapeError(
            f"sosfilt: zi has the shape {show(shape_of(state))}; its first axis must have one "
            f"element for each of the {len(sections)} sections"
        )
    final = []
    for k, (b, a) in enumerate(sections):
        one = reshape(cut(state, 0, k, 1), tuple(shape_of(state))[1:])
        x, after = lfilter(b, a, x, axis, one)
        final.append(after)
    return x, stack(final, 0)


def sections_of(name: str, sos: Any) -> list[tuple[Any, Any]]:
    """Numerator and denominator of each section."""
    sos = as_array(sos)
    if ndim_of(sos) != 2 or not same(shape_of(sos)[1], 6):
        raise ShapeError(f"{name}: sos has shape {show(shape_of(sos))}; it must be (sections, 6)")
    rows = [reshape(cut(sos, 0, k, 1), (6,)) for k in range(int(shape_of(sos)[0]))]
    return [(cut(row, 0, 0, 3), cut(row, 0, 3, 3)) for row in rows]


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of `lfilter` in which a constant signal of ones is answered by a constant one, from
    the start. Leading zeros of `a` are an error (ZeroDivisionError, or infinities).

    >>> import tracegrad as tg
    >>> tg.signal.lfilter_zi([1.0], [1.0, -0.5])
    array([1.])
    """
    b, a = _coefficients("lfilter_zi", "b", b), _coefficients("lfilter_zi", "a", a)
    dtype = promote(*[v.dtype if v.dtype.kind in "fc" else FLOAT64 for v in (b, a)])
    b, a = convert(b, dtype), convert(a, dtype)
    count = max(int(shape_of(b)[0]), int(shape_of(a)[0])) - 1
    first = cut(a, 0, 0, 1)
    b, a = (
        embed(div(v, first), (count + 1,), (0,)) if shape_of(v)[0] != count + 1 else div(v, first)
        for v in (b, a)
    )
    rest = cut(a, 0, 1, count)
    right = sub(cut(b, 0, 1, count), mul(rest, cut(b, 0, 0, 1)))
    # z[i] = b[i + 1] + z[i + 1] - a[i + 1] y, for the constant y = b[0] + z[0].
    shifted = np.eye(count, dtype=dtype) - np.eye(count, k=1, dtype=dtype)
    column = np.zeros((1, count), dtype)
    column[0, :1] = 1
    return solve(add(shifted, mul(reshape(rest, (count, 1)), column)), right)


def sosfilt_zi(sos: Any) -> Any:
    """The state of `sosfilt` in which a constant signal of ones is answered by a constant one.

    >>> import tracegrad as tg
    >>> tg.signal.sosfilt_zi([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]])
    array([[1., 0.]])
    """
    found, scale = [], None
    for b, a in sections_of("sosfilt_zi", sos):
        one = lfilter_zi(b, a)
        found.append(one if scale is None else mul(one, scale))
        gain = div(sum_(b), sum_(a))
        scale = gain if scale is None else mul(scale, gain)
    return stack(found, 0)


def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    """The signals x filtered forwards and backwards, which moves no phases; at both ends they go on
    for `padlen` elements (three times the length of the filter by default), turned about the last
    element ("odd"), mirrored ("even"), or as it is ("constant"). method="gust" is refused.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.filtfilt([0.5, 0.5], [1.0], np.arange(9.0)).round(12)
    array([0., 1., 2., 3., 4., 5., 6., 7., 8.])
    """
    if method != "pad":
        raise UnsupportedFunctionError(
            f'{user_line()}: signal.filtfilt with method={method!r} is not supported; use "pad"'
        )
    b, a = _coefficients("filtfilt", "b", b), _coefficients("filtfilt", "a", a)
    taps = max(int(shape_of(b)[0]), int(shape_of(a)[0]))
    padlen = 3 * taps if padlen is None else operator.index(padlen)
    longer, n, margin, place = extended("filtfilt", x, axis, padtype, padlen)
    state = lfilter_zi(b, a)
    for _ in range(2):
        longer, _state_after = lfilter(b, a, longer, -1, mul(_row(state, longer), longer[..., :1]))
        longer = flip(longer, -1)
    return moveaxis(cut(longer, ndim_of(longer) - 1, margin, n), -1, place)


def extended(
    name: str, x: Any, axis: int, padtype: str | None, margin: int
) -> tuple[Any, int, int, int]:
    """Signals with their axis last and `margin` elements more at both ends, how many there were,
    the margin, and where the axis was."""
    if padtype not in ("odd", "even", "constant", None):
        raise ValueError(
            f'{name}: padtype is {padtype!r}; it must be "odd", "even", "constant" or None'
        )
    x = as_array(x)
    if ndim_of(x) == 0:
        raise ShapeError(f"{name}: x is one number; a filter needs an axis")
    place = normalize_axis(axis, ndim_of(x))
    x = moveaxis(x, place, -1)
    last = ndim_of(x) - 1
    n, margin = int(shape_of(x)[last]), 0 if padtype is None else margin
    if not 0 <= margin < n:
        raise ValueError(f"{name}: padlen is {margin} for {n} elements; it must be less")
    if not margin:
        return x, n, 0, place
    places = np.pad(np.arange(n), margin, mode="edge" if padtype == "constant" else "reflect")
    longer = take(x, places, -1)
    if padtype == "odd":
        left = sub(mul(cut(x, last, 0, 1), 2), cut(longer, last, 0, margin))
        right = sub(mul(cut(x, last, n - 1, 1), 2), cut(longer, last, n + margin, margin))
        longer = concatenate([left, x, right], last)
    return longer, n, margin, place


def _row(v: Any, like: Any) -> Any:
    return reshape(v, (*(1,) * (ndim_of(like) - 1), -1))


OPS = (recursive_op,)
__all__ = ["filtfilt", "lfilter", "lfilter_zi", "sosfilt", "sosfilt_zi"]
