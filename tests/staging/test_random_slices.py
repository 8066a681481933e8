"""Random loops over slices and elements, some of which are maps: values as plain Python gives
them, gradients as the tape does, by source that CPython runs and whose indices NumPy checks."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.random_slices import program_of
from tests.staging.ways import inputs
from tests.unjitted import run_unjitted
from tracegrad.staging import loops


def check(seed: int, sizes: tuple[int, ...]) -> None:
    f = program_of(seed)
    both: Any = tg.jit(tg.value_and_grad(f), stage=True)
    for n in sizes:
        x = np.random.default_rng(seed).normal(size=n)
        found = run_unjitted(both.graphs(x)[-1], inputs(both, x))
        np.testing.assert_allclose(found[0], f(x.copy()), rtol=1e-9, atol=1e-11)
        # Where numbers grow, so do errors of rounding.
        np.testing.assert_allclose(found[1], tg.grad(f)(x), rtol=1e-6, atol=1e-9)


def every(seeds: range, sizes: tuple[int, ...]) -> None:
    for seed in seeds:
        try:
            check(seed, sizes)
        except Exception as error:
            text = "".join(linecache.getlines(f"/random/slices_{seed}.py"))
            raise AssertionError(f"program {seed}:\n{text}") from error


def test_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    every(range(3), (4, 6))


def test_soak(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    soak = request.config.getoption("--soak")
    if soak < 1:
        pytest.skip("give --soak N for N further random programs")
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    every(range(100, 100 + soak), (4, 6))
