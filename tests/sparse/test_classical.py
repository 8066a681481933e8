"""A hundred classical test functions: Jacobians of the systems, gradients and Hessians of the
objectives. No entry is missed, and values are the dense ones. Nothing is compiled; without `--soak`
the second half goes by one method alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.sparse.classical import FUNCTIONS, N
from tests.sparse.test_sparse_every_operation import check


def test_there_are_a_hundred() -> None:
    assert len(FUNCTIONS) >= 100


@pytest.mark.parametrize("part", range(4))
def test_classical_functions(part: int, request: Any) -> None:
    every = bool(int(request.config.getoption("--soak")))
    rng = np.random.default_rng(part)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k, (name, function) in enumerate(list(FUNCTIONS.items())[part::4]):
            x = rng.uniform(0.2, 1.2, N)
            scalar = np.ndim(function(x)) == 0
            methods = ("auto", "columns") if every or k % 4 == 0 else ("auto",)
            f = tg.grad(function) if scalar else function
            check(name, f, (x,), [0], 1e-7, methods)
