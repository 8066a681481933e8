"""Elementwise functions that are flat between steps: signs, rounding, comparison, logic, bits."""

from __future__ import annotations

import numpy as np

from tests.cases import Case
from tests.cases.elementwise import (
    AWKWARD,
    F32,
    INF,
    NAN,
    SPECIAL,
    divisors,
    unary,
)
from tracegrad import ops
from tracegrad.errors import DTypeError
from tracegrad.ops.elementwise.derived import outside_op

CASES: tuple[Case, ...] = (
    unary(
        "sign",
        np.sign,
        -2,
        2,
        special=SPECIAL,
        order=0,
        errors=(((np.array([True]),), DTypeError, "not defined for bool"),),
    ),
    unary(
        "angle of real",
        np.angle,
        -2,
        2,
        special=((AWKWARD,), (F32,)),
        order=0,
        function=ops.angle,
        op="half_turn",
    ),
    unary("floor", np.floor, -3, 3, order=0),
    unary("ceil", np.ceil, -3, 3, order=0),
    unary("trunc", np.trunc, -3, 3, order=0),
    unary("rint", np.rint, -3, 3, order=0),
    *[
        unary(
            f"round {d}",
            lambda x, d=d: np.round(x, d),
            -300,
            300,
            order=0,
            function=lambda x, d=d: ops.round(x, d),
            op="rint",
            special=((np.array([0.5, 1.5, -2.5, NAN, INF]),), (np.array([123, 456]),), (F32,)),
        )
        for d in (0, 2, -2)
    ],
    Case(
        "floor_divide",
        ops.floor_divide,
        divisors,
        np.floor_divide,
        ("floor_divide",),
        0,
        special=((np.array([-7, 7]), np.array([3, -3])), (np.array([5.0, -5.0]), 2.0)),
    ),
    Case(
        "mod of booleans",
        lambda x, y: (ops.mod(x, y), ops.floor_divide(x, y), ops.fmod(x, y), ops.square(x)),
        lambda rng: (np.array([True, False]), np.array([True, True])),
        lambda x, y: (np.mod(x, y), np.floor_divide(x, y), np.fmod(x, y), np.square(x)),
        ("mod", "fmod"),
        0,
    ),
    Case("divmod", ops.divmod, divisors, np.divmod, ("floor_divide", "mod"), 0),
    unary("isnan", np.isnan, -3, 3, order=0),
    unary("isinf", np.isinf, -3, 3, order=0),
    unary("isfinite", np.isfinite, -3, 3, order=0),
    unary("signbit", np.signbit, -3, 3, order=0, op="copysign"),
    unary("logical_not", np.logical_not, -3, 3, order=0),
    Case(
        "isclose",
        ops.isclose,
        lambda rng: (
            np.array([1.0, 2.0, NAN, INF, INF]),
            np.array([1.0 + 1e-9, 2.1, NAN, INF, -INF]),
        ),
        np.isclose,
        ("isfinite", "logical_or"),
        0,
    ),
    *[
        Case(
            n,
            getattr(ops, n),
            lambda rng: (rng.integers(0, 2, (2, 3)) == 1, rng.integers(0, 2, 3) == 1),
            getattr(np, n),
            (n,),
            0,
            special=((AWKWARD, 0.0),),
        )
        for n in ("logical_and", "logical_or", "logical_xor")
    ],
    *[
        Case(
            n,
            getattr(ops, n),
            lambda rng: (rng.integers(-9, 9, (2, 3)), rng.integers(0, 9, 3)),
            getattr(np, n),
            (n,),
            0,
            special=(
                (np.array([True, False]), np.array([True, True])),
                (np.array([1, 2, 3], np.uint8), 3),
            ),
            errors=(((np.array([1.0]), 1), DTypeError, "only for boolean, integer"),),
        )
        for n in ("bitwise_and", "bitwise_or", "bitwise_xor")
    ],
    *[
        Case(
            n,
            getattr(ops, n),
            lambda rng: (rng.integers(-9, 9, (2, 3)), rng.integers(0, 9, 3)),
            getattr(np, n),
            (n,),
            0,
            special=((np.array([1, 200], np.uint8), 3),),
            errors=(((np.array([1.0]), 1), DTypeError, "only for integer"),),
        )
        for n in ("left_shift", "right_shift")
    ],
    *[
        Case(
            n,
            getattr(ops, n),
            lambda rng: (rng.integers(-90, 90, (2, 3)), rng.integers(0, 99, 3)),
            getattr(np, n),
            ("gcd",),
            0,
            special=(
                (np.array([1, 200, 0], np.uint8), 75),
                (np.array([0, -8, 6, -(2**31)], np.int32), np.array([0, 12, 0, 96], np.int32)),
                (np.array([2**63 + 2**40, 3], np.uint64), np.array([2**41, 9], np.uint64)),
                (np.array([-128, 64], np.int8), np.array(12, np.int16)),
                (np.zeros((0, 2), np.int64), 3),
            ),
            errors=(((np.array([1.0]), 1), DTypeError, "only for integer"),),
        )
        for n in ("gcd", "lcm")
    ],
    Case(
        "invert",
        ops.invert,
        lambda rng: (rng.integers(-9, 9, (2, 3)),),
        np.invert,
        ("invert",),
        0,
        special=((np.array([True, False]),), (np.array([1], np.uint8),)),
    ),
    *[
        Case(
            f"outside {low} {high}",
            lambda x, low=low, high=high: outside_op(x, low=low, high=high),
            lambda rng: (rng.integers(-9, 9, (2, 3)),),
            lambda x, low=low, high=high: (
                (x < (-99 if low is None else low)) | (x > (99 if high is None else high))
            ),
            ("outside",),
            0,
        )
        for low, high in ((-3, None), (None, 4), (-3, 4))
    ],
)
