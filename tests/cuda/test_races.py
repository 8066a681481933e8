"""No two threads of a kernel touch the same element unordered: whole programs and the op table, by
the simulator of races.py. On a GPU the same programs run as they are."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.cuda import driver

import tracegrad as tg
from tests.cases import Case, sample
from tests.checks import as_tuple
from tests.cuda import races
from tests.cuda.common import same_on_both
from tests.cuda.test_op_table import ROWS, check
from tests.cuda.test_programs import PROGRAMS, TRANSFORMS, compiled_there

# `quiet` is a fixture.
from tests.ops.test_ops import batch_of, ids, projected_gradient, quiet, rng_for  # noqa: F401

X = np.linspace(-0.7, 1.1, 20)


SIMULATED = driver.simulated()
of_the_simulator = pytest.mark.skipif(not SIMULATED, reason="about the simulator of races.py")


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    if SIMULATED:
        races.install(monkeypatch)


@pytest.mark.parametrize("size", [5, 20])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, size: int) -> None:
    """Small ones, which one block runs, and larger ones, whose blocks wait for each other."""
    function = PROGRAMS[name]
    races.LAUNCHED.clear()
    for transform in ("value and gradient", "batch of gradients"):
        same_on_both(
            lambda d, v, how=transform: compiled_there(TRANSFORMS[how](function), d)(v),
            X[:size],
            tolerance=1e-9,
        )
    assert races.LAUNCHED or not SIMULATED


JITTED = [c for c in ROWS if c.jit]
SAMPLE = sample(JITTED) if SIMULATED else JITTED


@pytest.mark.parametrize("case", SAMPLE, ids=ids)
def test_op_table(case: Case) -> None:
    arrays = case.inputs(rng_for(case))

    def both(*xs: Any) -> Any:
        return as_tuple(case.function(*xs)) + (
            as_tuple(projected_gradient(case, arrays)(*xs)) if case.order else ()
        )

    # Of factors with orthonormal columns the gradient is 0, and what is there is rounding.
    check(both(*arrays), tg.jit(both), arrays, 1e-9, 1e-14)


@pytest.mark.parametrize("case", [c for c in SAMPLE if c.vmap], ids=ids)
def test_batches(case: Case) -> None:
    arrays, axes = batch_of(case)
    batched = tg.vmap(case.function, in_axes=axes)
    check(batched(*arrays), tg.jit(batched), arrays, 1e-11)


MATRICES: dict[str, Any] = {
    "rows": lambda a: (a.exp().sum(1).log() ** 2).sum(),
    "columns": lambda a: ((a * a).sum(0) ** 2).sum(),
    "shares of rows": lambda a: (a.softmax(1) * a).sum() + (a - a.amax(0)).exp().sum(),
    "running sums": lambda a: (a.cumsum(1).sin() * a.cumsum(0)).sum(),
    "products": lambda a: ((a @ a.T) @ a).sum() + (a.T @ a).diagonal().prod(),
    "rows moved": lambda a: (a.roll(1, 0) * a.flip(1) + a.T.reshape(a.shape)).pow(2).sum(),
    "steps": lambda a: (
        tg.scan(lambda c, r: (c * 0.5 + r, (c * r).sum()), a[0] * 0, a)[1].pow(2).sum()
    ),
    "steps along rows": lambda a: tg.scan(lambda c, r: ((c + r).tanh(), c), a[:, 0], a.T)[1].var(),
    "sorted": lambda a: (a.sort(1)[0] * a[0]).sum() + a.median(),
}


@pytest.mark.parametrize("shape", [(3, 40), (40, 3), (2, 3)])
@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, shape: tuple[int, int]) -> None:
    """Iterations for threads, for blocks, and loops that blocks share."""
    a = np.random.default_rng(0).normal(size=shape)
    same_on_both(
        lambda d, v: compiled_there(tg.value_and_grad(MATRICES[name]), d)(v), a, tolerance=1e-9
    )


def test_atomics() -> None:
    """What adds to the same elements from many threads, in any order."""
    index = np.array([0, 3, 3, 1] * 5)

    def scattered(v: Any) -> Any:
        out = v * 0.0
        np.add.at(out, index, v * v)
        return (out * out).sum() + (v[index] ** 3).sum()

    tg.use_deterministic_algorithms(False)
    try:
        same_on_both(
            lambda d, v: compiled_there(tg.value_and_grad(scattered), d)(v), X, tolerance=1e-9
        )
    finally:
        tg.use_deterministic_algorithms(True)


@of_the_simulator
def test_blocks_wait_for_each_other() -> None:
    races.LAUNCHED.clear()
    x = tg.tensor(X, device="cuda")
    tg.jit(lambda v: tg.fori_loop(0, 3, lambda k, c: c + c.roll(1, 0) * c.sum(), v))(x)
    assert any(k.waits for k in races.LAUNCHED)


@of_the_simulator
def test_a_wait_that_is_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    teams: Any = importlib.import_module("tracegrad.codegen.cuda.teams")
    monkeypatch.setattr(teams.Body, "wait", lambda self, depth: self.memory.clear())
    for size in (5, 20):
        with pytest.raises(races.Race, match="are not ordered"):
            tg.jit(lambda v: (v * v.sum() + v.flip(0).cumsum(0)[:1]).cumsum(0))(
                tg.tensor(X[:size], device="cuda")
            )


@of_the_simulator
def test_threads_that_go_other_ways_are_found() -> None:
    def kernel() -> None:
        if races.CUDA.threadIdx.x:
            races.CUDA.syncthreads()

    with pytest.raises(races.Race, match="wait at several places"):
        races.Grid(1, 2, kernel).run()
