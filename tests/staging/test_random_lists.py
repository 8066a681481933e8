"""Random programs with lists, stacks, queues and heaps: values as plain Python gives them,
derivatives as the tape does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.random_lists import SIZE, program_of, text_of
from tests.staging.ways import inputs
from tests.unjitted import run_unjitted
from tracegrad.errors import TracegradError
from tracegrad.ir.evaluate import evaluate


def check(seed: int, source: bool, statements: int = 12, stage: Any = "auto") -> str:
    """What became of a program: "alike", or why it is left out."""
    f = program_of(seed, statements)
    x = np.random.default_rng(seed).uniform(-1, 1.5, SIZE)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = f(x.copy())
        if not np.isfinite(expected) or abs(expected) > 1e6:
            return "large"
        both: Any = tg.jit(tg.value_and_grad(f), stage=stage)
        try:
            graphs = both.graphs(x)
        except TracegradError as error:
            return f"refused: {error}"
        gradient = tg.grad(f)(x.copy())
        given = inputs(both, x)
        results = [evaluate(graphs[0], given)]
        results += [run_unjitted(graphs[-1], given)] if source else []
        for found in results:
            np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(found[1], gradient, rtol=1e-7, atol=1e-7)
    return "alike"


def every(seeds: range, source: bool = False) -> list[str]:
    found = []
    for seed in seeds:
        try:
            found.append(check(seed, source))
        except Exception as error:
            raise AssertionError(f"program {seed}:\n{text_of(seed)}") from error
    return found


def test_few() -> None:
    assert every(range(12), True).count("alike") > 9


@pytest.mark.parametrize("seed", [5028, 5033, 5035])
def test_staged_in_any_case(seed: int) -> None:
    """Items that a branch puts in front of others, which a loop moves up: the length that the
    branches left counted from another place than that of the loop around."""
    assert check(seed, False, 22, True) == "alike", text_of(seed, 22)


def test_soak(request: pytest.FixtureRequest) -> None:
    soak = request.config.getoption("--soak")
    if soak < 1:
        pytest.skip("give --soak N for 10 N further random programs")
    found = every(range(100, 100 + 10 * soak))
    assert found.count("alike") > 0.8 * len(found), sorted(found)
