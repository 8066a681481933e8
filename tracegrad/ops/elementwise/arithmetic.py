"""Arithmetic, comparison, selection and dtype conversion, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._codegen import integers
from ..._codegen import lowering as lower
from ...dtypes import INT64, complex_of
from ...ir.dispatch import STATE, bind
from ...ir.forms import form_of, is_of_length, never_negative
from ...ir.op import Op, odd
from ...types import ArrayType
from ...weak import weak
from ..define import linear
from .derived import beyond, convert, elementwise, is_number, one_each, real
from .pointwise import pointwise


def _inverse(y: Any) -> Any:
    # Python's own numbers, and lengths, raise where NumPy's quotient was infinite.
    if STATE.traces and is_of_length(y):
        return bind(div_op, [1.0, y])
    try:
        return 1 / y
    except ZeroDivisionError:
        return bind(div_op, [1.0, y])


sub_op = elementwise(
    "sub",
    ("x", "y"),
    numpy=np.subtract,
    code="{x} - {y}",
    partials=(1, -1),
    result="promote",
    parity=lambda x, y: x if x == y else None,
    neutral=(None, 0.0),
    symbolic=lambda x, y: x - y,
    flops=one_each,
    weak=True,
    doc="Difference.",
)
div_op = elementwise(
    "div",
    ("x", "y"),
    numpy=np.true_divide,
    code="{x} / {y}",
    of_complex="complex_div({x}, {y})",
    partials=(lambda y: _inverse(y), lambda x, y: -(x / y * (1 / y))),
    result="quotient",
    cost=4,
    parity=lambda x, y: x if y == 1 else None,
    neutral=(None, 1),
    flops=one_each,
    weak=True,
    doc="Quotient.",
)
neg_op = elementwise(
    "neg",
    ("x",),
    numpy=np.negative,
    code="-{x}",
    partials=(-1,),
    result="promote",
    parity=odd,
    symbolic=lambda x: integers.mul(-1, x),
    weak=True,
    doc="Negation.",
)


number_op = linear(
    "number",
    evaluate=lambda x: weak(x, np.asarray(x).dtype.kind),
    infer=lambda x: (ArrayType(x.type.dtype, x.type.shape, weak=True),),
    adjoint=lambda ct: ct,
    batch=lambda values, axes, size: (values, axes),
    lowering=lower.Pointwise("{x}"),
    parity=odd,
    passes=0,
    symbolic=lambda x: x,
    weak=True,
    doc="A scalar as a Python number, which raises no dtype.",
)


def number(x: Any) -> Any:
    """A traced scalar as a Python number."""
    return bind(number_op, [x])


def compose_real(ct: Any, like: ArrayType) -> Any:
    """The real part where a complex cotangent belongs to a real value."""
    return real(ct) if ct.dtype.kind == "c" and like.dtype.kind != "c" else ct


imag_op = elementwise(
    "imag",
    ("x",),
    numpy=lambda x: np.array(np.imag(x))[()],
    code="imag({x})",
    partials=(lambda: -1j,),
    result="real",
    parity=odd,
    doc="Imaginary part.",
)


def _of_parts(x: Any, y: Any) -> Any:
    made = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), complex_of(x.dtype))
    made.real, made.imag = x, y
    return made[()]


complex_op = pointwise(
    "complex",
    ("x", "y"),
    numpy=_of_parts,
    code="of_parts({x}, {y})",
    partials=(1, lambda d, *, adjoint: imag(d) if adjoint else complex_(0.0, d)),
    result="complex",
    kinds="biuf",
    parity=lambda x, y: x if x == y else None,
    doc="The complex number of two parts.",
)

where_op = elementwise(
    "where",
    ("condition", "x", "y"),
    numpy=np.where,
    code="select({condition}, {x}, {y})",
    result="where",
    partials=(
        None,
        lambda d, condition: where(condition, d, 0),
        lambda d, condition: where(condition, 0, d),
    ),
    parity=lambda condition, x, y: x if condition == 1 and x == y else None,
    doc="x where the condition is true, else y.",
)


def _parts(x: Any) -> tuple[Any, Any]:
    if not _is_complex(x):
        return x, 0
    return (x.real, x.imag) if type(x) is complex else (real(x), imag(x))


def _is_complex(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return type(x) is complex if dtype is None else bool(dtype.kind == "c")


def _in_order(x: Any, y: Any, imaginary: Callable[[Any, Any], Any]) -> Any:
    """`x < y` or `x <= y` of complex numbers as NumPy compares them, by their real parts, then by
    the imaginary ones as given, where no part is NaN that is asked for."""
    if not (_is_complex(x) or _is_complex(y)):
        return NotImplemented
    (a, b), (c, d) = _parts(x), _parts(y)
    known = where(equal(b, b), equal(d, d), False)
    return where(equal(a, c), imaginary(b, d), where(less(a, c), known, False))


def _settled(x: Any, y: Any, op: Op, above: bool, below: bool) -> Any:
    """A comparison with a Python integer that the dtype of the other operand may not hold: as
    NumPy's, it is true where that of the numbers is, of which `above` and `below` say it for a y
    that is larger or less than each x."""
    for array, number, first in ((x, y, False), (y, x, True)):
        dtype = getattr(array, "dtype", None)
        if dtype is None or dtype.kind not in "iu" or is_number(array):
            continue
        if type(number) is int and (side := beyond(number, dtype)):
            holds = above if (side < 0 if first else side > 0) else below
            return equal(array, array) if holds else not_equal(array, array)
        if dtype == INT64 or not is_number(number):
            continue
        if dtype.itemsize < 8:
            array = convert(array, INT64)
            return bind(op, (number, array) if first else (array, number))
        if not never_negative(form_of(number)):
            # All numbers of uint64 are above it, or it is one of uint64.
            negative = less(number, 0)
            number = convert(where(negative, 0, number), dtype)
            fits = bind(op, (number, array) if first else (array, number))
            return where(negative, above if first else below, fits)
    return NotImplemented


def _compared(x: Any, y: Any, op: Op, imaginary: Callable[[Any, Any], Any]) -> Any:
    found = _settled(x, y, op, True, False)
    return _in_order(x, y, imaginary) if found is NotImplemented else found


less_op: Op = elementwise(
    "less",
    ("x", "y"),
    numpy=np.less,
    code="{x} < {y}",
    partials=None,
    result="bool",
    margin=lambda x, y: y - x - 1,
    composed=lambda x, y: _compared(x, y, less_op, less),
    weak=True,
    doc="x < y.",
)
less_equal_op: Op = elementwise(
    "less_equal",
    ("x", "y"),
    numpy=np.less_equal,
    code="{x} <= {y}",
    partials=None,
    result="bool",
    margin=lambda x, y: y - x,
    composed=lambda x, y: _compared(x, y, less_equal_op, less_equal),
    weak=True,
    doc="x <= y.",
)
greater_op = elementwise(
    "greater",
    ("x", "y"),
    numpy=np.greater,
    code="{x} > {y}",
    partials=None,
    result="bool",
    margin=lambda x, y: x - y - 1,
    composed=lambda x, y: _compared(y, x, less_op, less),
    weak=True,
    doc="x > y.",
)
greater_equal_op = elementwise(
    "greater_equal",
    ("x", "y"),
    numpy=np.greater_equal,
    code="{x} >= {y}",
    partials=None,
    result="bool",
    margin=lambda x, y: x - y,
    composed=lambda x, y: _compared(y, x, less_equal_op, less_equal),
    weak=True,
    doc="x >= y.",
)
equal_op: Op = elementwise(
    "equal",
    ("x", "y"),
    numpy=np.equal,
    code="{x} == {y}",
    partials=None,
    result="bool",
    commutes=True,
    composed=lambda x, y: _settled(x, y, equal_op, False, False),
    weak=True,
    doc="x == y.",
)
not_equal_op: Op = elementwise(
    "not_equal",
    ("x", "y"),
    numpy=np.not_equal,
    code="{x} != {y}",
    partials=None,
    result="bool",
    commutes=True,
    composed=lambda x, y: _settled(x, y, not_equal_op, True, True),
    weak=True,
    doc="x != y.",
)


def sub(x: Any, y: Any) -> Any:
    """Difference."""
    return bind(sub_op, (x, y))


def div(x: Any, y: Any) -> Any:
    """True quotient; integers give floats."""
    return bind(div_op, (x, y))


def neg(x: Any) -> Any:
    """Negation."""
    return bind(neg_op, (x,))


def imag(x: Any) -> Any:
    """Imaginary part (zeros for a real array)."""
    return bind(imag_op, (x,))


def complex_(x: Any, y: Any) -> Any:
    """The complex number of a real and an imaginary part. Unlike `x + 1j * y` it keeps the other
    part where one is infinite, and signs of zero. DTypeError for complex parts.

    >>> import tracegrad as tg
    >>> complex(tg.complex_(2.0, float("inf")))
    (2+infj)
    """
    return bind(complex_op, (x, y))


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition is true, else y; nothing of the branch not taken reaches the
    gradient."""
    return bind(where_op, [condition, x, y])


def less(x: Any, y: Any) -> Any:
    """x < y, element by element."""
    return bind(less_op, (x, y))


def less_equal(x: Any, y: Any) -> Any:
    """x <= y, element by element."""
    return bind(less_equal_op, (x, y))


def greater(x: Any, y: Any) -> Any:
    """x > y, element by element."""
    return bind(greater_op, (x, y))


def greater_equal(x: Any, y: Any) -> Any:
    """x >= y, element by element."""
    return bind(greater_equal_op, (x, y))


def equal(x: Any, y: Any) -> Any:
    """x == y, element by element."""
    return bind(equal_op, (x, y))


def not_equal(x: Any, y: Any) -> Any:
    """x != y, element by element."""
    return bind(not_equal_op, (x, y))


APPLIED_BY: dict[Callable[..., Any], Op] = {
    sub: sub_op,
    div: div_op,
    neg: neg_op,
    less: less_op,
    less_equal: less_equal_op,
    greater: greater_op,
    greater_equal: greater_equal_op,
    equal: equal_op,
    not_equal: not_equal_op,
}
"""The operations of functions that do nothing but apply them."""

OPS = (
    sub_op,
    div_op,
    neg_op,
    number_op,
    imag_op,
    complex_op,
    where_op,
    less_op,
    less_equal_op,
    greater_op,
    greater_equal_op,
    equal_op,
    not_equal_op,
)
