"""Random programs of many kinds of statements: values as plain Python gives them, derivatives as
the tape does, where loops are kept."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.random_kinds import SIZE, program_of, text_of
from tests.staging.ways import inputs
from tests.unjitted import run_unjitted
from tracegrad.errors import TracegradError
from tracegrad.ir.evaluate import evaluate
from tracegrad.staging import loops


def check(seed: int, source: bool = False) -> str:
    """What became of a program: "alike", or why it is left out."""
    f, x = program_of(seed), np.random.default_rng(seed).normal(size=SIZE)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = f(x.copy())
        except Exception as error:
            return f"raises {type(error).__name__}"
        if not np.isfinite(expected) or abs(expected) > 1e6:
            return "large"
        both: Any = tg.jit(tg.value_and_grad(f), stage=True)
        try:
            graphs = both.graphs(x)
        except TracegradError as error:
            return f"refused: {error}"
        given = inputs(both, x)
        gradient = tg.grad(f)(x.copy())
        try:
            results = [evaluate(graphs[0], given)]
        except ValueError as error:
            if "negative power" not in str(error):
                raise
            return "an integer of Python's or NumPy's to a negative power"
        results += [run_unjitted(graphs[-1], given)] if source else []
        for found in results:
            np.testing.assert_allclose(found[0], expected, rtol=2e-5, atol=1e-5)
            np.testing.assert_allclose(found[1], gradient, rtol=1e-4, atol=1e-4)
    return "alike"


def every(seeds: range, source: bool = False) -> list[str]:
    found = []
    for seed in seeds:
        try:
            found.append(check(seed, source))
        except Exception as error:
            raise AssertionError(f"program {seed}:\n{text_of(seed)}") from error
    return found


def test_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    assert every(range(4), True).count("alike") > 1


def test_soak(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    soak = request.config.getoption("--soak")
    if soak < 1:
        pytest.skip("give --soak N for 10 N further random programs")
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    found = every(range(100, 100 + 10 * soak))
    assert found.count("alike") > len(found) // 2, sorted(found)
