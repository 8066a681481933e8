"""Sums, quotients, comparisons, complex parts and conversions: the operations on which all others
are built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case
from tracegrad import ops
from tracegrad.errors import DTypeError, ShapeError
from tracegrad.ops.elementwise.arithmetic import number


def pair(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=(2, 1, 3)), rng.uniform(0.5, 2, size=(4, 1))


def mixed(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=3) + 1j * rng.normal(size=3), rng.uniform(0.5, 2, size=(2, 3))


def complexes(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)),)


def reals(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(2, 3)),)


def of_parts(x: Any, y: Any) -> Any:
    dtype = np.result_type(np.result_type(x, y), np.complex64)
    made = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), dtype)
    made.real, made.imag = x, y
    return made


SPECIAL: tuple[tuple[Any, ...], ...] = (
    (np.array([1, -3, 100], np.int8), np.array([2, 7, 100], np.int8)),
    (np.array([1, 2]), np.array([0.5, 2], np.float32)),
    (np.float32(1.5), np.ones(2, np.float32)),
    (np.zeros((0, 3)), np.ones(3)),
    (np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]), np.array([1.0, 0.0, np.inf, 0.0, np.nan])),
    (np.asarray(2.0), np.asarray(3.0)),
    (np.array([3, 200], np.uint8), np.array([-1, 5], np.int16)),
)


def binary(
    name: str,
    function: Callable[..., Any],
    numpy: Callable[..., Any],
    order: int = 2,
    special: Any = SPECIAL,
) -> tuple[Case, ...]:
    found = (
        Case(
            f"{name} broadcast",
            function,
            pair,
            numpy,
            (name,),
            order,
            special=special,
            errors=(((np.ones(2), np.ones(3)), ShapeError, "cannot be broadcast"),),
        ),
        Case(
            f"{name} by a number",
            lambda x: function(x, 2),
            reals,
            lambda x: numpy(x, 2),
            (name,),
            order,
            special=((np.arange(3, dtype=np.float32),),),
        ),
    )
    return (*found, Case(f"{name} complex", function, mixed, numpy, (name,))) if order else found


BOOLS: tuple[tuple[Any, ...], ...] = ((np.array([True, False]), np.array([True, True])),)

CASES: tuple[Case, ...] = (
    *binary("add", ops.add, np.add, special=(*SPECIAL, *BOOLS)),
    *binary("sub", ops.sub, np.subtract),
    *binary("div", ops.div, np.true_divide, special=(*SPECIAL, *BOOLS)),
    *(
        c
        for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
        for c in binary(name, getattr(ops, name), getattr(np, name), 0, (*SPECIAL, *BOOLS))
    ),
    Case(
        "neg",
        ops.neg,
        reals,
        np.negative,
        ("neg",),
        special=((np.array([1, -128], np.int8),), (np.array([0.0, np.nan]),)),
    ),
    Case("conj", ops.conj, complexes, np.conj, ("conj",), special=((np.array([1.0, 2.0]),),)),
    Case("real", ops.real, complexes, np.real, ("real",), special=((np.array([1.0, 2.0]),),)),
    Case("imag", ops.imag, complexes, np.imag, ("imag",), special=((np.array([1.0, 2.0]),),)),
    Case(
        "complex of two parts",
        ops.complex_,
        pair,
        of_parts,
        ("complex",),
        special=(
            (np.array([np.inf, np.nan, -0.0, 1.0]), np.array([1.0, -np.inf, np.inf, -0.0])),
            (np.array([1, 2]), np.array([0.5, 2], np.float32)),
            (np.array([0.5, 2], np.float32), 2.0),
            (np.float32(1.5), np.ones(2, np.float32)),
            (np.array([True, False]), np.array([1, 2], np.int8)),
            (np.zeros((0, 3)), np.ones(3)),
            (np.asarray(2.0), np.asarray(3.0)),
        ),
        errors=(((np.ones(2), np.ones(2) * 1j), DTypeError, "real"),),
    ),
    Case(
        "complex of one part",
        lambda y: ops.complex_(2.0, y),
        reals,
        lambda y: of_parts(2.0, y),
        ("complex",),
    ),
    Case(
        "convert to complex",
        lambda x: ops.convert(x, np.complex128),
        reals,
        lambda x: x.astype(complex),
        ("convert",),
    ),
    Case(
        "convert to int",
        lambda x: ops.convert(x, np.int32),
        reals,
        lambda x: x.astype(np.int32),
        ("convert",),
        0,
        special=((np.array([1.9, -1.9, 0.0]),), (np.array([True, False]),)),
    ),
    Case(
        "convert to bool",
        lambda x: ops.convert(x, bool),
        reals,
        lambda x: x.astype(bool),
        ("convert",),
        0,
        special=((np.array([np.nan, 0.0, -0.0]),),),
    ),
    Case("number", lambda x: x * number(ops.sum(x)), reals, lambda x: x * np.sum(x), ("number",)),
    Case(
        "convert ints",
        lambda x: ops.convert(x, np.float64),
        lambda rng: (np.arange(3),),
        lambda x: x.astype(float),
        ("convert",),
        0,
    ),
)
