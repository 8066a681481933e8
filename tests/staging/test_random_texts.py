"""Random programs: values as plain Python gives them, derivatives as the tape gives them, whether
loops are kept or written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.random_programs import SIZE, program_of, text_of
from tests.staging.ways import inputs
from tests.unjitted import run_unjitted
from tracegrad.errors import ConcretizationError
from tracegrad.ir.evaluate import evaluate
from tracegrad.staging import loops

ALLOWED = ("another name", "'what the function returns' is read", "may end without")


def argument(seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=SIZE)


def refused(error: Exception) -> bool:
    return isinstance(error, ConcretizationError) and any(text in str(error) for text in ALLOWED)


def check_staged(seed: int) -> bool:
    """Compare graphs, which nothing compiles, with Python: as traced, and as generated source."""
    f, x = program_of(seed), argument(seed)
    expected = f(x.copy())
    gradient = tg.grad(f)(x)
    try:
        both: Any = tg.jit(tg.value_and_grad(f), stage=True)
        graphs = both.graphs(x)
    except ConcretizationError as error:
        if refused(error):
            return False
        raise
    given = inputs(both, x)
    for found in (evaluate(graphs[0], given), run_unjitted(graphs[1], given)):
        np.testing.assert_allclose(found[0], expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-8, atol=1e-10)
    return True


def check_compiled(seed: int) -> None:
    f, x = program_of(seed), argument(seed)
    try:
        both = tg.jit(tg.value_and_grad(f))
        for z in (x, -x, 0.5 * x):
            value, gradient = both(z)
            np.testing.assert_allclose(value, f(z.copy()), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(gradient, tg.grad(f)(z), rtol=1e-8, atol=1e-10)
        lanes = np.stack([x, -x])
        found = tg.jit(tg.vmap(f))(lanes)
        np.testing.assert_allclose(found, [f(z.copy()) for z in lanes], rtol=1e-10, atol=1e-12)
    except ConcretizationError as error:
        if not refused(error):
            raise


def every(seeds: range, check: Any) -> list[Any]:
    found = []
    for seed in seeds:
        try:
            found.append(check(seed))
        except Exception as error:
            raise AssertionError(f"program {seed}:\n{text_of(seed)}") from error
    return found


def test_loops_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    assert sum(every(range(5), check_staged)) > 3


def test_compiled() -> None:
    every(range(2, 5), check_compiled)


def test_soak(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    soak = request.config.getoption("--soak")
    if soak < 1:
        pytest.skip("give --soak N for 10 N further random programs, N of them compiled")
    every(range(100, 100 + soak), check_compiled)
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    every(range(100, 100 + 10 * soak), check_staged)
