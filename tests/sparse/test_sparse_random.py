"""Patterns and values of random programs against dense Jacobians, and of their gradients: slices,
shifts, repeated and reversed axes, gathers, sums, products with arrays and with dense and sparse
constants, loops, branches, running sums. Nothing is compiled.

`pytest tests/sparse/test_sparse_random.py --soak 1000` tries as many more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
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


def banded(n: int) -> np.ndarray:
    """A constant matrix with zeros."""
    return np.triu(np.tril(np.arange(1.0, n * n + 1).reshape(n, n), 1), -1)


def over_rows(x: Any) -> Any:
    """A loop that hands a row on, and gives one each time."""
    return tg.scan(lambda c, row: (0.5 * c + row, c * row), np.zeros_like(x[0]), x)[1]


def on_first(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A step of arrays that have elements along a first axis."""
    return lambda x: step(x) if x.ndim and x.shape[0] else x


MORE: tuple[Callable[[Any], Any], ...] = tuple(
    map(
        on_first,
        (
            lambda x: banded(x.shape[-2 if x.ndim > 1 else 0]).astype(x.dtype) @ x,
            lambda x: sp.csr_array(banded(x.shape[0]).astype(x.dtype)) @ x if x.ndim <= 2 else x,
            lambda x: x @ banded(x.shape[-1]).astype(x.dtype) if x.ndim >= 2 else x,
            over_rows,
            lambda x: tg.scan(lambda c, _: (np.sin(c) * x, None), x, length=3)[0],
            lambda x: tg.fori_loop(0, 3, lambda i, s: s + np.roll(s, 1, 0) * x, x),
            lambda x: tg.while_loop(
                lambda s: np.sum(s * s) < 50, lambda s: 2 * s + 1 + x[::-1], np.tanh(x)
            ),
            lambda x: tg.cond(np.sum(x) > 0, lambda v: v[::-1] * v, lambda v: v * 3, x),
            lambda x: np.where(np.arange(x.shape[0]) % 2 == 0, x.T, 2 * x.T),
            lambda x: x[::2],
            lambda x: x[np.argmax(np.sum(x.reshape(x.shape[0], -1), axis=1))] * x,
            lambda x: np.concatenate([x[-1:], x[:-1]]) * x,
        ),
    )
)
"""What decides patterns: constant matrices, dense and sparse, loops, branches, masks, computed
indices, wrap-around."""


@settings(max_examples=40, **COMMON)  # type: ignore[arg-type]
@given(programs(MORE))
def test_random_programs(case: Any) -> None:
    checked(case)


@pytest.mark.parametrize("k", range(len(MORE)))
def test_each_step(k: int) -> None:
    """Of each of these steps alone."""
    rng = np.random.default_rng(k)
    for shape in ((4,), (3, 4)):
        checked((lambda x: np.sin(MORE[k](x * x)), (rng.uniform(-1.5, 1.5, shape),)))


def test_sums_that_go_nowhere() -> None:
    """A sum, spread over no elements, is no term any more."""

    def program(x: Any, y: Any) -> Any:
        total = np.sum(y, axis=0)[None]
        return y * y * total, total - x

    checked((program, (np.linspace(-1, 1, 12).reshape(3, 4), np.zeros(0))))


def test_soak(request: Any) -> None:
    count = int(request.config.getoption("--soak"))
    if not count:
        pytest.skip("give --soak N for N further random programs")
    settings(max_examples=count, **{**COMMON, "derandomize": False})(
        given(programs(MORE))(checked)
    )()
