"""Exponentials, logarithms, squares and roots, absolute value and sign."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...checks import explained_here
from ...dtypes import inexact
from ...errors import DTypeError
from ...ir.dispatch import bind
from ...ir.op import Op, even, odd
from ..define import as_array
from .arithmetic import equal, where
from .derived import conj, convert, elementwise, real
from .pointwise import pointwise

LN2, LN10 = math.log(2.0), math.log(10.0)

exp_op = pointwise(
    "exp",
    ("x",),
    numpy=np.exp,
    code="exp({x})",
    partials=(lambda out: out,),
    doc="e to the power x.",
)
expm1_op = pointwise(
    "expm1",
    ("x",),
    numpy=np.expm1,
    code="expm1({x})",
    partials=(lambda x: exp(x),),
    doc="exp(x) - 1, accurate near 0.",
)
exp2_op = pointwise(
    "exp2",
    ("x",),
    numpy=np.exp2,
    code="exp2({x})",
    partials=(lambda out: out * LN2,),
    doc="2 to the power x.",
)
log_op = pointwise(
    "log",
    ("x",),
    numpy=np.log,
    code="log({x})",
    partials=(lambda x: reciprocal_op(x),),
    domain="singular",
    doc="Natural logarithm.",
)
log1p_op = pointwise(
    "log1p",
    ("x",),
    numpy=np.log1p,
    code="log1p({x})",
    partials=(lambda x: reciprocal_op(1 + x),),
    domain="singular",
    doc="log(1 + x), accurate near 0.",
)
log2_op = pointwise(
    "log2",
    ("x",),
    numpy=np.log2,
    code="log2({x})",
    partials=(lambda x: reciprocal_op(x * LN2),),
    domain="singular",
    doc="Logarithm to base 2.",
)
log10_op = pointwise(
    "log10",
    ("x",),
    numpy=np.log10,
    code="log10({x})",
    partials=(lambda x: reciprocal_op(x * LN10),),
    domain="singular",
    doc="Logarithm to base 10.",
)
sqrt_op = pointwise(
    "sqrt",
    ("x",),
    numpy=np.sqrt,
    code="sqrt({x})",
    partials=(lambda out: 0.5 / out,),
    domain="singular",
    doc="Square root.",
)
cbrt_op = pointwise(
    "cbrt",
    ("x",),
    numpy=np.cbrt,
    code="cbrt({x})",
    partials=(lambda out: 1 / (3 * (out * out)),),
    domain="singular",
    kinds="biuf",
    parity=odd,
    doc="Cube root, negative for negative x.",
)
square_op = pointwise(
    "square",
    ("x",),
    numpy=np.square,
    kinds="iufc",
    code="square({x})",
    partials=(lambda x: 2 * x,),
    result="promote",
    parity=even,
    doc="x times x.",
)
reciprocal_op: Op = pointwise(
    "reciprocal",
    ("x",),
    numpy=np.reciprocal,
    code="np.{dtype}(1) / {x}",
    of_complex="reciprocal({x})",
    partials=(lambda out: -(out * out),),
    result="promote",
    domain="singular",
    cost=4,
    kinds="fc",
    doc="1 / x.",
)
abs_op = pointwise(
    "abs",
    ("x",),
    numpy=np.absolute,
    code="abs_({x})",
    partials=(lambda x: conj(sign(x)),),
    result="real",
    parity=even,
    doc="Absolute value; of a complex number its modulus. The derivative at 0 is 0.",
)
sign_op = pointwise(
    "sign",
    ("x",),
    numpy=np.sign,
    code="sign({x})",
    partials=(0,),
    result="promote",
    kinds="iuf",
    parity=odd,
    doc="-1, 0 or 1 by the sign of x.",
)


def _sgn_differential(d: Any, x: Any, out: Any) -> Any:
    # The part of d that turns x, without the part that stretches it. This map is symmetric, so it
    # is its own adjoint.
    zero = equal(x, 0)
    modulus = absolute(where(zero, 1, x))
    return where(zero, 0, (d - out * real(conj(out) * d)) / modulus)


sgn_op = pointwise(
    "sgn",
    ("x",),
    numpy=np.sign,
    code="sign({x})",
    partials=(_sgn_differential,),
    result="promote",
    cost=8,
    parity=odd,
    doc="x / |x| of a complex number; 0 at 0.",
)


def square(x: Any) -> Any:
    """`x * x`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.square(np.array([-2.0, 3.0]))
    array([4., 9.])
    """
    return bind(square_op, [convert(x, np.int8) if getattr(x, "dtype", None) == np.bool_ else x])


def reciprocal(x: Any) -> Any:
    """`1 / x`; of integers rounded towards zero, as in NumPy.

    >>> import tracegrad as tg
    >>> float(tg.reciprocal(4.0))
    0.25
    """
    if isinstance(x, int) or (hasattr(x, "dtype") and x.dtype.kind in "iu"):
        # Not by x * x, which wraps to 1 for other numbers as well (127 of int8).
        return where(equal(absolute(x), 1), x, 0)
    return bind(reciprocal_op, [x])


def sqrt(x: Any) -> Any:
    """Square root; NaN for negative numbers. The derivative at 0 is infinite, but a zero cotangent
    stays zero.

    >>> import tracegrad as tg
    >>> float(tg.sqrt(9.0))
    3.0
    """
    return bind(sqrt_op, [x])


def cbrt(x: Any) -> Any:
    """Real cube root.

    >>> import tracegrad as tg
    >>> round(float(tg.cbrt(-8.0)), 12)
    -2.0
    """
    return bind(cbrt_op, [x])


# --- exponentials and logarithms ------------------------------------------------------------------


def exp(x: Any) -> Any:
    """e to the power `x`.

    >>> import tracegrad as tg
    >>> float(tg.exp(0.0))
    1.0
    """
    return bind(exp_op, [x])


def expm1(x: Any) -> Any:
    """`exp(x) - 1`, accurate for small `x`.

    >>> import tracegrad as tg
    >>> float(tg.expm1(1e-20))
    1e-20
    """
    return bind(expm1_op, [x])


def exp2(x: Any) -> Any:
    """2 to the power `x`.

    >>> import tracegrad as tg
    >>> float(tg.exp2(3.0))
    8.0
    """
    return bind(exp2_op, [x])


def log(x: Any) -> Any:
    """Natural logarithm; -inf at 0, NaN for negative real numbers.

    >>> import tracegrad as tg
    >>> float(tg.log(1.0))
    0.0
    """
    return bind(log_op, [x])


def log1p(x: Any) -> Any:
    """`log(1 + x)`, accurate for small `x`.

    >>> import tracegrad as tg
    >>> float(tg.log1p(1e-20))
    1e-20
    """
    return bind(log1p_op, [x])


def log2(x: Any) -> Any:
    """Logarithm to base 2.

    >>> import tracegrad as tg
    >>> float(tg.log2(8.0))
    3.0
    """
    return bind(log2_op, [x])


def log10(x: Any) -> Any:
    """Logarithm to base 10.

    >>> import tracegrad as tg
    >>> float(tg.log10(1000.0))
    3.0
    """
    return bind(log10_op, [x])


# --- absolute value and sign ----------------------------------------------------------------------


def absolute(x: Any) -> Any:
    """Absolute value (a real array also for complex `x`); its derivative at 0 is 0.

    >>> import tracegrad as tg
    >>> float(tg.absolute(-2.5))
    2.5
    """
    return bind(abs_op, [x])


def sign(x: Any) -> Any:
    """-1, 0 or 1; of complex numbers `x / |x|`. Booleans have none (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.sign(-2.5))
    -1.0
    """
    is_complex = x.dtype.kind == "c" if hasattr(x, "dtype") else isinstance(x, complex)
    return bind(sgn_op if is_complex else sign_op, [x])


def _copied(x: Any) -> Any:
    return np.array(x) if np.asarray(x).dtype.kind == "b" else np.positive(x)


identity_op = elementwise(
    "identity",
    ("x",),
    numpy=_copied,
    code="{x}",
    partials=(1,),
    result="promote",
    parity=odd,
    passes=0,
    symbolic=lambda x: x,
    weak=True,
    doc="The same value.",
)
object.__setattr__(identity_op, "on_reals", np.positive)


def positive(x: Any) -> Any:
    """`+x`: the same values in a new array.

    >>> import tracegrad as tg
    >>> float(tg.positive(2.0))
    2.0
    """
    return bind(identity_op, [x])


abs = absolute


def fabs(x: Any) -> Any:
    """Absolute value of real numbers, as a float: of integers too.

    >>> import tracegrad as tg
    >>> float(tg.fabs(-2))
    2.0
    """
    x = as_array(x)
    if x.dtype.kind == "c":
        raise explained_here(
            DTypeError(f"fabs is not defined for {x.dtype} arrays; abs gives their size")
        )
    return absolute(x if x.dtype.kind == "f" else convert(x, inexact(x.dtype)))


APPLIED_BY = {
    sqrt: sqrt_op,
    cbrt: cbrt_op,
    exp: exp_op,
    expm1: expm1_op,
    exp2: exp2_op,
    log: log_op,
    log1p: log1p_op,
    log2: log2_op,
    log10: log10_op,
    positive: identity_op,
}
"""The operations of functions that do nothing but apply them."""

OPS = (
    exp_op,
    expm1_op,
    exp2_op,
    log_op,
    log1p_op,
    log2_op,
    log10_op,
    sqrt_op,
    cbrt_op,
    square_op,
    reciprocal_op,
    abs_op,
    sign_op,
    sgn_op,
    identity_op,
)
