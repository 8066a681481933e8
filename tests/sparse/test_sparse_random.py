"""Patterns and values of random programs against dense Jacobians, and of their gradients: slices,
shifts, repeated and reversed axes, gathers, sums, products, running sums. Nothing is compiled.

`pytest tests/sparse/test_sparse_random.py --soak 1000` tries as many more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tracegrad as tg
from tests.compiled.test_random_programs import COMMON, objective, programs
from tests.sparse.test_sparse_every_operation import check


def checked(case: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
    program, args = case
    wrt = range(len(args))
    tolerance = 1e-9 if args[0].dtype == np.float64 else 1e-3
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        check("Jacobian", program, args, wrt, tolerance)
        check("Hessian", tg.grad(objective(program), tuple(wrt)), args, wrt, tolerance)


@settings(max_examples=40, **COMMON)  # type: ignore[arg-type]
@given(programs())
def test_random_programs(case: Any) -> None:
    checked(case)


def test_soak(request: Any) -> None:
    count = int(request.config.getoption("--soak"))
    if not count:
        pytest.skip("give --soak N for N further random programs")
    settings(max_examples=count, **{**COMMON, "derandomize": False})(given(programs())(checked))()
