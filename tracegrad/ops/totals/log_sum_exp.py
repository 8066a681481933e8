"""The log-sum-exp family: shifted by the largest element, so that nothing overflows.

`softmax` and its logarithm are one node each in running code, with a reverse half that NumPy does
in memory of its own; traces record what they are composed of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.dispatch import bind, data_of
from ...ir.op import Op, Rest, Rule, op
from ...sizes import known_less
from ...types import broadcast_shapes
from ..arrays.shape import broadcast_to, front, reshape
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, equal, sub
from ..elementwise.arithmetic import where as where_
from ..elementwise.derived import add, mul
from ..elementwise.elementary import abs as abs_
from ..elementwise.elementary import exp, log
from ..elementwise.logic import isfinite
from .axes import Axis, normalize_axes, reduced_axes
from .plain_sums import total, total_of_products
from .reductions import max as max_
from .reductions import sum as sum_
from .statistics import as_floats, stop_gradient


def _peak(x: Any, axes: tuple[int, ...]) -> Any:
    """The largest element over axes (kept), as a constant: any shift gives the same result and
    derivatives. 0 where it is infinite."""
    peak = max_(stop_gradient(x), axes, keepdims=True)
    return where_(isfinite(peak), peak, x.dtype.type(0))


def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False, b: Any = None) -> Any:
    """`log(sum(b * exp(x)))` over axes without overflow; of nothing but -inf it is -inf, with
    derivative 0.

    >>> import tracegrad as tg
    >>> round(float(tg.logsumexp([1000.0, 1000.0])) - 1000.0, 6)
    0.693147
    """
    return log_and_sum(x, axis, keepdims, b)[0]


def log_and_sum(x: Any, axis: Axis, keepdims: bool, b: Any, of_size: bool = False) -> Any:
    """`logsumexp`, of the sum's size if asked for, and a number of the sum's sign."""
    x = as_floats(x)
    if b is not None:
        x, b = _both(x, b)
    axes = reduced_axes(axis, ndim_of(x))
    if any(known_less(shape_of(x)[a], 1) for a in axes):
        nothing = sum_(x, axes, keepdims)
        return sub(nothing, np.inf), nothing
    peak = _peak(x, axes)
    terms = exp(sub(x, peak))
    summed = sum_(terms if b is None else mul(b, terms), axes, keepdims=True)
    none = equal(summed, 0)
    result = add(
        where_(
            none,
            x.dtype.type(-np.inf),
            log(where_(none, x.dtype.type(1), abs_(summed) if of_size else summed)),
        ),
        peak,
    )
    if keepdims:
        return result, summed
    left = tuple(n for k, n in enumerate(shape_of(x)) if k not in axes)
    return reshape(result, left), reshape(summed, left)


def _both(x: Any, b: Any) -> tuple[Any, Any]:
    b = as_array(b)
    shape = broadcast_shapes(tuple(shape_of(x)), tuple(shape_of(b)))
    # A weight of zero takes its element out, infinite or not.
    x = where_(equal(b, 0), x.dtype.type(-np.inf), broadcast_to(x, shape))
    return x, b


# --- softmax --------------------------------------------------------------------------------------


def _softmax_evaluate(x: Any, *, axes: tuple[int, ...]) -> Any:
    # Beside an infinite element all are NaN, as SciPy and torch have it.
    terms = np.subtract(x, np.maximum.reduce(x, axes, keepdims=True))
    np.exp(terms, out=terms)
    return np.divide(terms, total(terms, axes), out=terms)


def _softmax_composed(x: Any, *, axes: tuple[int, ...]) -> Any:
    terms = exp(sub(x, max_(stop_gradient(x), axes, keepdims=True)))
    return div(terms, sum_(terms, axes, keepdims=True))


def _softmax_adjoint(ct: Any, out: Any, *, axes: tuple[int, ...]) -> Any:
    return mul(out, sub(ct, sum_(mul(ct, out), axes, keepdims=True)))


def _softmax_reverse(ct: Any, out: Any, axes: tuple[int, ...]) -> Any:
    made = np.subtract(ct, total_of_products(ct, out, axes))
    return np.multiply(made, out, out=made)


def _shifted(x: Any, axes: tuple[int, ...]) -> Any:
    """An array of its own: the elements less the largest over axes, if that one is finite."""
    peak = np.maximum.reduce(x, axes, keepdims=True)
    finite = np.isfinite(peak)
    return np.subtract(x, peak if finite.all() else np.where(finite, peak, x.dtype.type(0)))


def _log_softmax_evaluate(x: Any, *, axes: tuple[int, ...]) -> Any:
    shifted = _shifted(x, axes)
    return np.subtract(shifted, np.log(total(np.exp(shifted), axes)), out=shifted)


def _log_softmax_composed(x: Any, *, axes: tuple[int, ...]) -> Any:
    shifted = sub(x, _peak(x, axes))
    return sub(shifted, log(sum_(exp(shifted), axes, keepdims=True)))


def _log_softmax_adjoint(ct: Any, out: Any, *, axes: tuple[int, ...]) -> Any:
    return sub(ct, mul(exp(out), sum_(ct, axes, keepdims=True)))


def _log_softmax_reverse(ct: Any, out: Any, axes: tuple[int, ...]) -> Any:
    made = np.exp(out)
    np.multiply(made, total(ct, axes), out=made)
    return np.subtract(ct, made, out=made)


def _one_node(
    name: str,
    evaluate: Any,
    composed: Any,
    adjoint: Rule,
    tangent: Any,
    reverse: Any,
    doc: str,
) -> Op:
    """An operation whose derivative reads its result."""

    def staged(arrays: Any, wanted: Any, *, axes: tuple[int, ...]) -> Any:
        def run(cts: Sequence[Any], inputs: Any, outs: Sequence[Any]) -> list[Any]:
            return [reverse(data_of(cts[0]), data_of(outs[0]), axes)]

        return evaluate(*arrays, axes=axes), Rest((), (0,), run)

    def batch(values: Any, at: Any, size: Any, *, axes: tuple[int, ...]) -> Any:
        moved = tuple([a + 1 for a in axes])
        return [bind(this, [front(values[0], at[0])], {"axes": moved})], [0]

    this = op(
        name,
        ("x",),
        evaluate=evaluate,
        infer=lambda x, *, axes: (x.type,),
        vjp=[adjoint],
        jvp=lambda tangents, inputs, outs, *, axes: [tangent(tangents[0], outs[0], axes=axes)],
        batch=batch,
        staged=staged,
        composed=composed,
        doc=doc,
    )
    return this


softmax_op = _one_node(
    "softmax",
    _softmax_evaluate,
    _softmax_composed,
    _softmax_adjoint,
    _softmax_adjoint,  # its Jacobian is symmetric
    _softmax_reverse,
    "Exponentials over their sum.",
)
log_softmax_op = _one_node(
    "log_softmax",
    _log_softmax_evaluate,
    _log_softmax_composed,
    _log_softmax_adjoint,
    lambda t, out, *, axes: sub(t, sum_(mul(exp(out), t), axes, keepdims=True)),
    _log_softmax_reverse,
    "Logarithms of exponentials over their sum.",
)


def softmax(x: Any, axis: Axis = -1) -> Any:
    """`exp(x) / sum(exp(x))` over axes, without overflow.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.softmax(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """
    return _along(softmax_op, _softmax_composed, x, axis)


def log_softmax(x: Any, axis: Axis = -1) -> Any:
    """`log(softmax(x))`, exact where softmax underflows.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.log_softmax(np.array([0.0, 1000.0]))
    array([-1000.,     0.])
    """
    return _along(log_softmax_op, _log_softmax_composed, x, axis)


def _along(which: Op, composed: Any, x: Any, axis: Axis) -> Any:
    x = as_floats(x)
    if ndim_of(x) == 0:
        return reshape(_along(which, composed, reshape(x, (1,)), 0), ())
    axes = normalize_axes(axis, ndim_of(x))
    if any(known_less(shape_of(x)[a], 1) for a in axes):
        return x
    if x.dtype.kind == "c":
        return composed(x, axes=axes)
    return bind(which, (x,), {"axes": axes})


OPS = (log_softmax_op, softmax_op)
__all__ = ["OPS", "log_and_sum", "log_softmax", "logsumexp", "softmax"]
