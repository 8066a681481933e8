"""Arithmetic, comparison, selection and dtype conversion, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._codegen import integers
from ..._codegen import lowering as lower
from ...checks import REFUSED, array, explained_here
from ...dtypes import DType, check
from ...ir.dispatch import bind
from ...ir.op import Op, elementwise, odd
from ...types import ArrayType
from ...weak import weak
from ..arrays.shape import front
from ..define import linear


def _inverse(y: Any) -> Any:
    try:
        return 1 / y
    except ZeroDivisionError:
        # Python's own numbers raise where NumPy's quotient was infinite.
        return bind(div_op, [1.0, y])


def _one_each(inputs: Any, outs: Any) -> int:
    return math.prod(outs[0])


add_op = elementwise(
    "add",
    ("x", "y"),
    numpy=np.add,
    code="{x} + {y}",
    partials=(1, 1),
    result="promote",
    parity=lambda x, y: x if x == y else None,
    commutes=True,
    neutral=(-0.0, -0.0),
    symbolic=integers.add,
    flops=_one_each,
    weak=True,
    doc="Sum.",
)
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
    flops=_one_each,
    weak=True,
    doc="Difference.",
)
mul_op = elementwise(
    "mul",
    ("x", "y"),
    numpy=np.multiply,
    code="{x} * {y}",
    partials=(lambda y: y, lambda x: x),
    result="promote",
    parity=odd,
    commutes=True,
    neutral=(1, 1),
    symbolic=integers.mul,
    flops=_one_each,
    weak=True,
    doc="Product.",
)
div_op = elementwise(
    "div",
    ("x", "y"),
    numpy=np.true_divide,
    code="{x} / {y}",
    partials=(lambda y: _inverse(y), lambda x, y: -(x / y * (1 / y))),
    result="quotient",
    cost=4,
    parity=lambda x, y: x if y == 1 else None,
    neutral=(None, 1),
    flops=_one_each,
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


def _strong_mul(x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(np.equal(x, 0), np.zeros((), np.result_type(x, y)), np.multiply(x, y))


strong_mul_op = elementwise(
    "strong_mul",
    ("x", "y"),
    numpy=_strong_mul,
    code="strong_mul({x}, {y})",
    result="promote",
    partials=(
        lambda d, y, *, adjoint: strong_mul(d, conj(y) if adjoint else y),
        lambda d, x, *, adjoint: strong_mul(conj(x) if adjoint else x, d),
    ),
    parity=odd,
    neutral=(1, 1),
    doc=(
        "Product that is 0 where x is 0, whatever y is: a cotangent of zero stays zero beside "
        "an infinite partial."
    ),
)


convert_op = linear(
    "convert",
    evaluate=lambda x, *, dtype: np.asarray(x).astype(dtype),
    infer=lambda x, *, dtype: (ArrayType(dtype, x.type.shape),),
    adjoint=lambda ct, *, like: convert(ct, like.dtype),
    batch=lambda values, axes, size, *, dtype: ([convert(front(values[0], axes[0]), dtype)], [0]),
    lowering=lower.Pointwise("{x}"),
    parity=odd,
    passes=0,
    symbolic=lambda x: x,
    doc="The same numbers in another dtype.",
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
    doc="A scalar as a Python number, which raises no dtype.",
)


def number(x: Any) -> Any:
    """A traced scalar as a Python number."""
    return bind(number_op, [x])


def convert(x: Any, dtype: Any) -> Any:
    """`x` in another dtype; gradients come back in x's own. A complex x leaves its real part to a
    real dtype.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ops.convert(np.arange(3), np.float32).dtype
    dtype('float32')
    """
    try:
        target: DType = check(np.dtype(dtype))
    except REFUSED as error:
        raise explained_here(error) from error.__cause__
    # A Python number has no dtype; NumPy takes None for float64 in a comparison.
    if hasattr(x, "dtype"):
        if x.dtype == target:
            return x
        if x.dtype.kind == "c" and target.kind not in "cb":
            x = real(x)
            return x if x.dtype == target else bind(convert_op, [x], {"dtype": target})
    return bind(convert_op, [x], {"dtype": target})


def compose_real(ct: Any, like: ArrayType) -> Any:
    """The real part where a complex cotangent belongs to a real value."""
    return real(ct) if ct.dtype.kind == "c" and like.dtype.kind != "c" else ct


conj_op = elementwise(
    "conj",
    ("x",),
    numpy=np.conjugate,
    code="conj({x})",
    partials=(lambda d: conj(d),),
    result="promote",
    parity=odd,
    doc="Complex conjugate.",
)
real_op = elementwise(
    "real",
    ("x",),
    numpy=lambda x: np.real(x) + 0,
    code="real({x})",
    partials=(lambda d: real(d),),
    result="real",
    parity=odd,
    doc="Real part.",
)
imag_op = elementwise(
    "imag",
    ("x",),
    numpy=lambda x: np.imag(x) + 0,
    code="imag({x})",
    partials=(lambda: -1j,),
    result="real",
    parity=odd,
    doc="Imaginary part.",
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

less_op = elementwise(
    "less", ("x", "y"), numpy=np.less, code="{x} < {y}", partials=None, result="bool", doc="x < y."
)
less_equal_op = elementwise(
    "less_equal",
    ("x", "y"),
    numpy=np.less_equal,
    code="{x} <= {y}",
    partials=None,
    result="bool",
    doc="x <= y.",
)
greater_op = elementwise(
    "greater",
    ("x", "y"),
    numpy=np.greater,
    code="{x} > {y}",
    partials=None,
    result="bool",
    doc="x > y.",
)
greater_equal_op = elementwise(
    "greater_equal",
    ("x", "y"),
    numpy=np.greater_equal,
    code="{x} >= {y}",
    partials=None,
    result="bool",
    doc="x >= y.",
)
equal_op = elementwise(
    "equal",
    ("x", "y"),
    numpy=np.equal,
    code="{x} == {y}",
    partials=None,
    result="bool",
    commutes=True,
    doc="x == y.",
)
not_equal_op = elementwise(
    "not_equal",
    ("x", "y"),
    numpy=np.not_equal,
    code="{x} != {y}",
    partials=None,
    result="bool",
    commutes=True,
    doc="x != y.",
)


def add(x: Any, y: Any) -> Any:
    """Sum, with broadcasting and NumPy's promotion."""
    return bind(add_op, (x, y))


def sub(x: Any, y: Any) -> Any:
    """Difference."""
    return bind(sub_op, (x, y))


def mul(x: Any, y: Any) -> Any:
    """Product."""
    return bind(mul_op, (x, y))


def div(x: Any, y: Any) -> Any:
    """True quotient; integers give floats."""
    return bind(div_op, (x, y))


def neg(x: Any) -> Any:
    """Negation."""
    return bind(neg_op, (x,))


def strong_mul(x: Any, y: Any) -> Any:
    """Product that is exactly 0 where x is 0, even where y is infinite or NaN."""
    return bind(strong_mul_op, (x, y))


def conj(x: Any) -> Any:
    """Complex conjugate; a real array as it is."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        if isinstance(x, complex):
            return x.conjugate()
        if hasattr(x, "__index__") or isinstance(x, float):
            return x
        return conj(array(x))
    return bind(conj_op, (x,)) if dtype.kind == "c" else x


def real(x: Any) -> Any:
    """Real part."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        if isinstance(x, complex):
            return x.real
        if hasattr(x, "__index__") or isinstance(x, float):
            return x
        return real(array(x))
    return bind(real_op, (x,)) if dtype.kind == "c" else x


def imag(x: Any) -> Any:
    """Imaginary part (zeros for a real array)."""
    return bind(imag_op, (x,))


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


PLAIN: dict[Callable[..., Any], Op] = {
    add: add_op,
    sub: sub_op,
    mul: mul_op,
    div: div_op,
    neg: neg_op,
    less: less_op,
    less_equal: less_equal_op,
    greater: greater_op,
    greater_equal: greater_equal_op,
    equal: equal_op,
    not_equal: not_equal_op,
}
"""Functions that do nothing but apply their operation."""

OPS = (
    add_op,
    sub_op,
    mul_op,
    div_op,
    neg_op,
    strong_mul_op,
    convert_op,
    number_op,
    conj_op,
    real_op,
    imag_op,
    where_op,
    less_op,
    less_equal_op,
    greater_op,
    greater_equal_op,
    equal_op,
    not_equal_op,
)
