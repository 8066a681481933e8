"""The op table: one row per operation (and per awkward use of it). tests/ops/test_ops.py runs every
check on every row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.checks import sampled


@dataclass(frozen=True)
class Case:
    """One use of one public function.

    name        unique, starts with the op's name: "sum axis=0 keepdims"
    function    f(*arrays) -> array or tuple of arrays, calling the function under test (a lambda
                may fix parameters)
    inputs      builds the arrays from a seeded generator (inside the domain, away from kinks and
                ties)
    numpy       the same with NumPy or SciPy alone
    ops         names of the primitives that this row covers
    order       to which order derivatives are checked against finite differences (0: none; the
                result is not differentiable)
    wrt         positions of the inputs that are differentiated (None: all of floating or complex
                dtype)
    special     extra inputs (NaN, inf, empty, zero-dim, float32, ints) for which only values are
                compared
    errors      (arguments, exception, regular expression of the message)
    device      whether its kernels are compiled for devices: a composition of operations that other
                rows compile says nothing new there
    """

    name: str
    function: Callable[..., Any]
    inputs: Callable[[np.random.Generator], tuple[Any, ...]]
    numpy: Callable[..., Any]
    ops: tuple[str, ...] = ()
    order: int = 2
    wrt: tuple[int, ...] | None = None
    tolerance: float = 1e-6
    special: tuple[tuple[Any, ...], ...] = ()
    errors: tuple[tuple[tuple[Any, ...], type[Exception], str], ...] = field(default=())
    vmap: bool = True
    jit: bool = True
    device: bool = True


def off_device(*cases: Case) -> tuple[Case, ...]:
    """The rows without kernels for devices."""
    return tuple(replace(c, device=False) for c in cases)


def mostly(cases: Sequence[Case], one_of: int) -> list[Any]:
    """The rows as parameters of a test, of which those of `sample` always run."""
    chosen = {case.name for case in sample(cases, one_of)}
    return sampled(cases, lambda case: case.name in chosen)


def half(cases: Sequence[Case], one_of: int) -> list[Any]:
    """The rows as parameters of a test, of which every other one of `sample` always runs: for what
    compiles each row, whose source other tests run as plain Python."""
    chosen = {case.name for case in sample(cases, one_of)[::2]}
    return sampled(cases, lambda case: case.name in chosen)


def sample(cases: Sequence[Case], one_of: int = 4) -> list[Case]:
    """The rows that cover an operation which no row before them does, and one of so many others:
    for what takes long with each row."""
    covered: set[str] = set()
    chosen, others = [], 0
    for case in cases:
        if not covered.issuperset(case.ops):
            covered.update(case.ops)
            chosen.append(case)
            continue
        others += 1
        if others % one_of == 0:
            chosen.append(case)
    return chosen
