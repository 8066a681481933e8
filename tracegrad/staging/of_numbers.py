"""Python's and `math`'s functions of numbers, by operations where traced values are given.

Those of `math` compute in double precision and give a number of Python's, which widens nothing:
`math.sqrt(v) * x` is float32 where x is, whatever v is.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._codegen import loading
from ..ir.dispatch import STATE
from ..ir.forms import as_length, of_python, python_if_none
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..ops.elementwise.derived import convert_op
from ..ops.elementwise.remainders import check_quotient, may_be_python
from ..ops.elementwise.whole import BEYOND, INFINITE, NAN, within
from ..sizes import Size
from ..tensor import Boxed
from .lists import Grown

NUMPY: Any = np
_WHOLE: dict[Any, Callable[[Any], Any]] = {
    builtins.int: np.trunc,
    math.trunc: np.trunc,
    math.floor: np.floor,
    math.ceil: np.ceil,
    builtins.round: np.rint,
}
"""Functions that give an integer, and how they round."""


def weak(x: Any) -> Any:
    """The result as a number of Python's; its own where no derivative goes through it."""
    if isinstance(x, Boxed):
        return number(x)
    return x.item() if isinstance(x, np.generic) else x


def _one(x: Any, name: str) -> Any:
    if x.shape and math.prod(x.shape) != 1:
        raise TypeError(
            f"{user_line()}: {name}() takes one number, not an array of shape {x.shape}; "
            f"take one of its elements, or NumPy's function, which acts on each"
        )
    return ops.reshape(x, ()) if x.shape else x


def _real(x: Any, name: str) -> Any:
    if x.dtype.kind == "c":
        raise TypeError(
            f"{user_line()}: {name}() takes a real number, not {x.dtype}; take its .real part"
        )
    return x


def _double(x: Any, name: str) -> Any:
    """An argument as the double that Python computes with."""
    if not isinstance(x, Boxed):
        of_size: Any = x
        return of_size * 1.0 if type(x) is Size else float(x)
    x = _real(_one(x, name), name)
    return x if x.dtype == np.float64 else ops.convert(x, np.float64)


def _math(name: str, of_doubles: Callable[..., Any]) -> Callable[..., Any]:
    fails = _at_zero(name)

    def computed(*args: Any) -> Any:
        if fails is not None and STATE.traces and args and may_be_python(args[0]):
            check_quotient(1, args[0], fails)
        result = weak(of_doubles(*[_double(x, f"math.{name}") for x in args]))
        return of_python(result, *args)

    return computed


def _at_zero(name: str) -> ValueError | None:
    """What a function of one number raises at 0, as logarithms do. Of what may be nothing (a total,
    a length) that is asked; of other numbers it is infinite, as NumPy's."""
    try:
        getattr(math, name)(0.0)
    except (TypeError, ValueError) as error:
        return error if isinstance(error, ValueError) else None
    return None


def _log(x: Any, base: Any = None) -> Any:
    return NUMPY.log(x) if base is None else NUMPY.log(x) / NUMPY.log(base)


def _hypot(*values: Any) -> Any:
    return functools.reduce(NUMPY.hypot, values) if len(values) > 1 else abs(values[0])


def _dist(p: Any, q: Any) -> Any:
    pairs = [[_double(x, "math.dist") for x in pair] for pair in zip(p, q, strict=True)]
    return weak(NUMPY.sqrt(builtins.sum([(a - b) ** 2 for a, b in pairs])))


def _modf(x: Any) -> Any:
    x = _double(x, "math.modf")
    return tuple(weak(part) for part in NUMPY.modf(x))


def _ldexp(x: Any, i: Any) -> Any:
    if getattr(i, "dtype", np.dtype(int)).kind not in "iu":
        raise TypeError(f"{user_line()}: math.ldexp() takes an integer as its second argument")
    # In two steps, as the power may be none of a double where the result is one.
    x, half = _double(x, "math.ldexp"), i // 2
    return weak(x * NUMPY.exp2(half * 1.0) * NUMPY.exp2((i - half) * 1.0))


def _remainder(x: Any, y: Any) -> Any:
    """As CPython computes it: what remains is exact, and no more than half of `y`."""
    x, y = _double(x, "math.remainder"), _double(y, "math.remainder")
    size, divisor = abs(x), abs(y)
    rest = NUMPY.fmod(size, divisor)
    beyond = divisor - rest
    even = rest - 2.0 * NUMPY.fmod(0.5 * (size - rest), divisor)
    found = ops.where(rest < beyond, rest, ops.where(rest > beyond, -beyond, even))
    return weak(ops.where(NUMPY.isinf(y) & NUMPY.isfinite(x), x, NUMPY.copysign(1.0, x) * found))


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    values = [_double(x, "math.isclose") for x in (a, b, rel_tol, abs_tol)]
    a, b, relative, absolute = values
    allowed = NUMPY.maximum(relative * NUMPY.maximum(abs(a), abs(b)), absolute)
    finite = NUMPY.isfinite(a) & NUMPY.isfinite(b)
    return weak((a == b) | (finite & (abs(a - b) <= allowed)))


def _sumprod(p: Any, q: Any, /) -> Any:
    return total([a * b for a, b in zip(p, q, strict=True)])


def _fsum(values: Any) -> Any:
    if isinstance(values, Boxed):
        return weak(total(ops.convert(_real(values, "math.fsum"), np.float64), 0.0))
    if type(values) is Grown:
        return _float(total(values, 0.0))
    return weak(builtins.sum([_double(x, "math.fsum") for x in values]))


def whole(function: Any, helpers: Any, line: int, x: Any) -> Any:
    """`int(x)`, `math.floor(x)` and the like, and the exceptions of Python's for a number that has
    no integer."""
    name = f"{function.__module__}.{function.__name__}".removeprefix("builtins.")
    x = _real(_one(x, name), name)
    if x.dtype.kind != "f":
        return of_python(_int(x), x)
    rounded = _WHOLE[function](x)
    if not STATE.traces:
        return _int(rounded)
    held = within(rounded)
    helpers.check(line, ops.logical_not(np.isnan(x)), lambda: ValueError(NAN))
    helpers.check(line, ops.logical_not(np.isinf(x)), lambda: OverflowError(INFINITE))
    helpers.check(line, held, lambda: OverflowError(BEYOND))
    return of_python(_int(ops.where(held, rounded, 0.0)), x)


def rounds(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether this is a function of one number that gives an integer."""
    try:
        return function in _WHOLE and len(args) == 1 and not kwargs and isinstance(args[0], Boxed)
    except TypeError:
        return False


def _int(x: Any) -> Any:
    return weak(ops.convert(x, np.int64)) if STATE.traces else int(x._data)


def _float(x: Any = 0.0) -> Any:
    return of_python(weak(_double(x, "float")), x)


def _complex(real: Any = 0.0, imag: Any = 0.0) -> Any:
    parts = [x if hasattr(x, "dtype") else np.asarray(x) for x in (real, imag)]
    all_real = all(x.dtype.kind != "c" for x in parts)
    made = ops.complex_(real, imag) if all_real else real + 1j * imag
    return weak(ops.convert(_one(made, "complex"), np.complex128))


def _bool(x: Any = False) -> Any:
    return weak(_one(x, "bool") != 0)


def _scalar(dtype: Any) -> Callable[..., Any]:
    # Also what has the dtype and may be Python's becomes NumPy's.
    return lambda x=0: (convert_op if may_be_python(x) else ops.convert)(x, dtype=np.dtype(dtype))


def _prod(values: Any, *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, values, start)


def total(values: Any, start: Any = 0) -> Any:
    """Python's `sum`."""
    if type(values) is Grown and (found := values.total()) is not None:
        return python_if_none(as_length(found + start), values.length(), start)
    if isinstance(values, Boxed) and values.ndim == 1 and len(values) > 8:
        return ops.sum(values) + start
    return builtins.sum(values, start)


_SAME = (
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log2", "log10", "log1p"),
    *("sqrt", "fabs", "copysign", "fmod", "isnan", "isinf", "isfinite", "degrees", "radians"),
    *("cbrt", "exp2"),
)
_OTHER = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "pow": "power",
}  # fmt: skip
_SPECIAL = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}


def _special(name: str) -> Callable[..., Any]:
    return lambda x: getattr(loading.load("scipy.special"), name)(x)


_OF_DOUBLES: dict[str, Callable[..., Any]] = {
    **{n: getattr(NUMPY, n) for n in _SAME if hasattr(math, n)},
    **{n: getattr(NUMPY, o) for n, o in _OTHER.items()},
    **{n: _special(o) for n, o in _SPECIAL.items()},
    "log": _log,
    "hypot": _hypot,
}
OF_TRACED: dict[Any, Callable[..., Any]] = {
    **{getattr(math, n): _math(n, of_doubles) for n, of_doubles in _OF_DOUBLES.items()},
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.complex: _complex,
    builtins.sum: total,
    math.prod: _prod,
    math.fsum: _fsum,
    math.dist: _dist,
    math.modf: _modf,
    math.ldexp: _ldexp,
    math.remainder: _remainder,
    math.isclose: _isclose,
    **({math.sumprod: _sumprod} if hasattr(math, "sumprod") else {}),
    **{kind: _scalar(kind) for kind in (
        np.float64, np.float32, np.int64, np.int32, np.bool_, np.complex128, np.complex64)},
}  # fmt: skip
"""Functions of numbers, and what computes them of traced ones."""

__all__ = ["OF_TRACED", "rounds", "total", "weak", "whole"]
