"""Elementwise functions: elementary, trigonometric, special, comparison, logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from tests.cases import Case
from tracegrad import ops
from tracegrad.errors import DTypeError
from tracegrad.ir.dispatch import bind
from tracegrad.ops.elementwise.powers import pow_below_op, power_log

NAN, INF = float("nan"), float("inf")
F32 = np.array([[0.25, 0.5, 0.75]], np.float32)
AWKWARD = np.array([NAN, INF, -INF, 0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300])
SPECIAL: tuple[tuple[Any, ...], ...] = (
    (AWKWARD,),
    (np.zeros((0, 3)),),
    (F32,),
    (np.array([1, 2, 3]),),
    (np.array([1, 2], np.int16),),
    (0.5,),
)


def spread(
    low: float, high: float, shape: tuple[int, ...] = (2, 3)
) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    """Random arrays inside an interval, some away from 0 by design of the caller."""
    return lambda rng: (rng.uniform(low, high, shape),)


def pair(low: float, high: float) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    """Two arrays that broadcast against each other."""
    return lambda rng: (rng.uniform(low, high, (4, 3)), rng.uniform(low, high, (1, 3)))


def separated(rng: np.random.Generator) -> tuple[Any, ...]:
    """Two arrays without ties, and away from whole numbers and 0."""
    x = rng.uniform(0.2, 0.8, (4, 3)) + rng.integers(-3, 3, (4, 3))
    return x, x + rng.choice([-1.0, 1.0], (4, 3)) * rng.uniform(0.3, 0.45, (4, 3)) + 0.01


def divisors(rng: np.random.Generator) -> tuple[Any, ...]:
    """A dividend and a divisor whose quotient is away from whole numbers."""
    y = rng.uniform(0.5, 2.0, (4, 3)) * rng.choice([-1.0, 1.0], (4, 3))
    return (rng.integers(-4, 4, (4, 3)) + rng.uniform(0.2, 0.8, (4, 3))) * y, y


def complexes(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.uniform(0.2, 0.8, (2, 3)) + 1j * rng.uniform(0.2, 0.8, (2, 3)),)


def unary(
    name: str,
    numpy: Callable[..., Any],
    low: float,
    high: float,
    special: tuple[tuple[Any, ...], ...] = SPECIAL,
    order: int = 2,
    function: Callable[..., Any] | None = None,
    op: str | None = None,
    **more: Any,
) -> Case:
    return Case(
        name,
        function or getattr(ops, name),
        spread(low, high),
        numpy,
        (op or name,),
        order,
        special=special,
        **more,
    )


def holomorphic(
    name: str,
    numpy: Callable[..., Any],
    function: Callable[..., Any] | None = None,
    ops_: tuple[str, ...] = (),
) -> Case:
    return Case(
        f"{name} complex",
        function or getattr(ops, name),
        complexes,
        numpy,
        ops_ or (name,),
        2,
        special=((np.array([0.3 - 0.2j], np.complex64),),),
    )


NO_COMPLEX = ((np.array([1j]),), DTypeError, "not defined for complex128")

UNARY = (
    unary("exp", np.exp, -2, 2),
    unary("expm1", np.expm1, -2, 2),
    unary("exp2", np.exp2, -2, 2),
    unary("log", np.log, 0.3, 3),
    unary("log1p", np.log1p, -0.6, 3),
    unary("log2", np.log2, 0.3, 3),
    unary("log10", np.log10, 0.3, 3),
    unary("sqrt", np.sqrt, 0.3, 3),
    unary("cbrt", np.cbrt, 0.3, 3, errors=(NO_COMPLEX,)),
    unary("positive", np.positive, -2, 2, op="identity"),
    unary("square", np.square, -2, 2),
    unary("reciprocal", np.reciprocal, 0.4, 2),
    unary("absolute", np.absolute, 0.2, 2, op="abs"),
    unary("sin", np.sin, -3, 3),
    unary("cos", np.cos, -3, 3),
    unary("tan", np.tan, -1, 1),
    unary("asin", np.arcsin, -0.8, 0.8),
    unary("acos", np.arccos, -0.8, 0.8),
    unary("atan", np.arctan, -2, 2),
    unary("sinh", np.sinh, -2, 2),
    unary("cosh", np.cosh, -2, 2),
    unary("tanh", np.tanh, -2, 2),
    unary("asinh", np.arcsinh, -2, 2),
    unary("acosh", np.arccosh, 1.3, 3),
    unary("atanh", np.arctanh, -0.8, 0.8),
    unary("sinc", np.sinc, -2, 2, special=(*SPECIAL[1:4], (np.array([0.0, 1e-8, 1.0, -3.0]),))),
    unary("sigmoid", sp.expit, -3, 3, special=SPECIAL[:4]),
    unary(
        "softplus",
        lambda x: np.logaddexp(x, np.asarray(x, np.result_type(x, np.float32)).dtype.type(0)),
        -3,
        3,
        special=SPECIAL[:3],
    ),
    unary("erf", sp.erf, -2, 2, special=SPECIAL[:4]),
    unary("erfc", sp.erfc, -2, 2, special=SPECIAL[:4]),
    unary("erfinv", sp.erfinv, -0.8, 0.8, special=SPECIAL[1:3]),
    unary("lgamma", sp.gammaln, 0.5, 4, special=SPECIAL[:4], tolerance=1e-5),
    unary("digamma", sp.digamma, 0.5, 4, special=SPECIAL[1:4], tolerance=1e-5),
    unary("gamma", sp.gamma, 0.5, 4, special=SPECIAL[1:4], tolerance=1e-5),
    unary(
        "polygamma 2",
        lambda x: sp.polygamma(2, x),
        1,
        4,
        special=(),
        function=lambda x: ops.polygamma(2, x),
        op="polygamma",
        tolerance=1e-5,
    ),
    unary("relu", lambda x: np.maximum(x, 0), 0.2, 2, special=SPECIAL[:4]),
    unary("nan_to_num", np.nan_to_num, -2, 2, op="isnan"),
    unary("deg2rad", np.deg2rad, -200, 200, special=SPECIAL[:3], op="mul"),
    unary("log_sigmoid", sp.log_expit, -3, 3, special=SPECIAL[:3], op="softplus"),
    unary("logit", sp.logit, 0.2, 0.8, special=SPECIAL[1:3], op="log"),
    unary("ndtri", sp.ndtri, 0.1, 0.9, special=SPECIAL[1:3]),
    unary("ndtr", sp.ndtr, -2, 2, special=SPECIAL[:3], op="erfc"),
    unary(
        "entr",
        sp.entr,
        0.2,
        2,
        special=((np.array([0.0, 1.0, -1.0, NAN]),), *SPECIAL[1:3]),
        op="strong_mul",
    ),
)

POWERS = (
    *[
        unary(
            f"power {n}",
            lambda x, n=n: x**n,
            0.5,
            2,
            function=lambda x, n=n: ops.power(x, n),
            op=op,
            special=((AWKWARD,), (F32,), (np.zeros((0, 2)),)),
        )
        for n, op in (
            (2, "square"),
            (3, "integer_pow"),
            (7, "integer_pow"),
            (-1, "reciprocal"),
            (-3, "inverse_pow"),
            (1, "mul"),
            (0.5, "sqrt"),
            (2.5, "pow"),
            (-1.5, "pow"),
            (40, "pow"),
        )
    ],
    Case(
        "power of the exponent",
        ops.power,
        pair(0.5, 2),
        np.power,
        ("pow",),
        2,
        special=(
            (np.array([2, 3]), np.array([3, 2])),
            (np.array([2, 3]), 2),
            (2.0, F32),
            (F32, np.array([1, 2, 3])),
            (np.array([0.0, 0.0]), np.array([0.0, 2.0])),
            (np.array([True, False]), np.array([True, True])),
        ),
        errors=(((np.array([2]), -1), ValueError, "negative integer power"),),
    ),
    Case(
        "power of negative bases",
        lambda x: ops.power(x, np.array([2.0, 3.0, -1.0])),
        spread(-2, -0.5),
        lambda x: x ** np.array([2.0, 3.0, -1.0]),
        ("pow",),
        2,
    ),
    Case(
        "power of a count",
        # As the optimized graph of `x ** np.arange(4)` has it.
        lambda x: bind(pow_below_op, [ops.expand_dims(x, 1), ops.iota(4)], {"limit": 16}),
        spread(-2, -0.5, (3,)),
        lambda x: x[:, None] ** np.arange(4),
        ("pow_below",),
        2,
        special=((np.array([0.0, -0.0, NAN, np.inf, -np.inf]),),),
    ),
    *[
        Case(
            f"derivative {n} of a power by its exponent",
            # As the derivatives of `x ** y` have it: the power itself is known.
            lambda x, y, n=n: power_log(x, y, ops.power(x, y), n),
            pair(0.5, 2),
            lambda x, y, n=n: x**y * np.log(x) ** n,
            ("power_log",),
            2,
        )
        for n in (1, 2, 3)
    ],
    Case(
        "power complex",
        lambda x, y: ops.power(x, y),
        lambda rng: (*complexes(rng), *complexes(rng)),
        np.power,
        ("pow",),
        2,
    ),
    Case(
        "float_power",
        ops.float_power,
        pair(0.5, 2),
        np.float_power,
        ("pow",),
        2,
        special=((np.array([2, 4]), -1),),
    ),
)

COMPLEX = (
    *[
        holomorphic(n, f)
        for n, f in (
            ("exp", np.exp),
            ("expm1", np.expm1),
            ("log", np.log),
            ("log1p", np.log1p),
            ("log2", np.log2),
            ("log10", np.log10),
            ("sqrt", np.sqrt),
            ("square", np.square),
            ("sin", np.sin),
            ("cos", np.cos),
            ("tan", np.tan),
            ("asin", np.arcsin),
            ("acos", np.arccos),
            ("atan", np.arctan),
            ("sinh", np.sinh),
            ("cosh", np.cosh),
            ("tanh", np.tanh),
            ("asinh", np.arcsinh),
            ("acosh", np.arccosh),
            ("atanh", np.arctanh),
            ("reciprocal", np.reciprocal),
            ("angle", np.angle),
            ("exp2", np.exp2),
        )
    ],
    holomorphic("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    holomorphic("power 3", lambda x: x**3, lambda x: ops.power(x, 3), ("integer_pow",)),
    holomorphic("power -2", lambda x: x**-2, lambda x: ops.power(x, -2), ("inverse_pow",)),
    holomorphic("absolute", np.absolute, None, ("abs",)),
    holomorphic("sign", lambda x: np.sign(x) * (1 + x), lambda x: ops.sign(x) * (1 + x), ("sgn",)),
    Case(
        "abs and sign of complex zero",
        lambda x: (ops.absolute(x), ops.sign(x), ops.angle(x)),
        complexes,
        lambda x: (np.absolute(x), np.sign(x), np.angle(x)),
        ("abs", "sgn", "angle"),
        2,
        special=((np.array([0j, 1j, -1 + 0j]),),),
    ),
)

BINARY = (
    Case(
        "atan2",
        ops.atan2,
        pair(0.3, 2),
        np.arctan2,
        ("atan2",),
        2,
        special=((np.array([0.0, -0.0, 1.0]), np.array([-1.0, -1.0, 0.0])), (1, F32)),
        errors=(((np.array([1j]), 1.0), DTypeError, "atan2 is not defined"),),
    ),
    Case(
        "hypot",
        ops.hypot,
        pair(0.3, 2),
        np.hypot,
        ("hypot",),
        2,
        special=((AWKWARD, 1e300), (F32, 2)),
    ),
    Case(
        "logaddexp",
        ops.logaddexp,
        pair(-2, 2),
        np.logaddexp,
        ("logaddexp",),
        2,
        special=((AWKWARD, AWKWARD[::-1]), (F32, 2.0), (-INF, -INF)),
    ),
    Case("logaddexp2", ops.logaddexp2, pair(-2, 2), np.logaddexp2, ("logaddexp",), 2),
    Case(
        "maximum",
        ops.maximum,
        separated,
        np.maximum,
        ("maximum",),
        2,
        special=(
            (AWKWARD, 0.5),
            (F32, 1),
            (np.array([1, 5]), np.array([2.5, 3])),
        ),
    ),
    Case(
        "minimum",
        ops.minimum,
        separated,
        np.minimum,
        ("minimum",),
        2,
        special=(
            (AWKWARD, 0.5),
            (F32, 1),
            (np.array([1, 5], np.uint8), np.array([2, 3], np.uint8)),
        ),
    ),
    Case(
        "fmax",
        ops.fmax,
        separated,
        np.fmax,
        ("fmax",),
        2,
        special=((AWKWARD, AWKWARD[::-1]), (F32, NAN)),
    ),
    Case(
        "fmin",
        ops.fmin,
        separated,
        np.fmin,
        ("fmin",),
        2,
        special=((AWKWARD, AWKWARD[::-1]), (F32, NAN)),
    ),
    Case(
        "mod",
        ops.mod,
        divisors,
        np.mod,
        ("mod",),
        2,
        special=((np.array([-7, 7, 7]), np.array([3, -3, 2])), (np.array([-7.5, 7.5, INF]), 2.0)),
    ),
    Case(
        "fmod",
        ops.fmod,
        divisors,
        np.fmod,
        ("fmod",),
        2,
        special=((np.array([-7, 7, 7]), np.array([3, -3, 2])), (np.array([-7.5, 7.5, INF]), 2.0)),
    ),
    Case(
        "copysign",
        lambda x, y: ops.copysign(x, y),
        separated,
        np.copysign,
        ("copysign",),
        2,
        (0,),
        special=((AWKWARD, AWKWARD[::-1]), (3, -0.0)),
    ),
    Case(
        "heaviside",
        ops.heaviside,
        separated,
        np.heaviside,
        ("heaviside",),
        0,
        special=((np.array([-1.0, 0.0, 2.0, NAN]), 0.5),),
    ),
    Case(
        "heaviside at 0",
        lambda h: ops.heaviside(np.zeros(3), h),
        spread(0, 1, (3,)),
        lambda h: np.heaviside(np.zeros(3), h),
        ("heaviside",),
        2,
    ),
    Case(
        "xlogy",
        ops.xlogy,
        pair(0.3, 2),
        sp.xlogy,
        ("strong_mul", "log"),
        2,
        special=((np.array([0.0, 0.0, 1.0]), np.array([0.0, 2.0, 2.0])),),
    ),
    Case("xlog1py", ops.xlog1py, pair(0.3, 2), sp.xlog1py, ("strong_mul", "log1p"), 2),
    Case("betaln", ops.betaln, pair(0.8, 3), sp.betaln, ("lgamma",), 2, tolerance=1e-5),
    Case(
        "clip",
        lambda x: ops.clip(x, -0.5, 1.1),
        lambda rng: separated(rng)[:1],
        lambda x: np.clip(x, -0.5, 1.1),
        ("clip_min", "clip_max"),
        2,
        special=((AWKWARD,), (np.zeros((0,)),), (F32,)),
    ),
    Case(
        "clip between arrays",
        lambda x, a, b: ops.clip(x, a, b),
        lambda rng: (
            np.array([0.1, 0.5, 2.0]),
            np.array([0.3, 0.2, 0.1]),
            np.array([1.0, 0.9, 1.5]),
        ),
        np.clip,
        ("clip_min", "clip_max"),
        2,
        vmap=False,
    ),
)

CASES: tuple[Case, ...] = (*UNARY, *POWERS, *COMPLEX, *BINARY)
