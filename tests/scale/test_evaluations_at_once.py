"""Evaluations that are under way at once, one inside of the other or in several threads and
processes; what is left of those that are over; what is shown of long ones."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.shard_functions import logistic, rows
from tracegrad.scale import progress, sums
from tracegrad.scale.engines.local import Serial, Threads
from tracegrad.scale.engines.processes import Processes
from tracegrad.scale.session import ShardedFunction
from tracegrad.scale.sources import openers_of

SHARDS = rows()
THETA = np.array([0.3, -0.2, 0.5])


def total_on(engine: Any, function: Any, shards: Any = SHARDS, limit: Any = 60.0) -> Any:
    openers = openers_of(shards)
    return sums.Total(ShardedFunction(function, openers, engine, 1 << 30, limit, "sum_over"), "sum")


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    engine = Processes(2)
    yield engine
    engine.close()


def waves(theta: Any, shard: Any) -> Any:
    return np.sum(np.sin(theta)) * shard[0]


def test_threads_evaluate_at_once(processes: Any) -> None:
    """One total, and two on one engine: parameters and results lie in memory that all write to."""
    threads = Threads(2)
    n = 20_000
    for engine in (processes, threads, Serial()):
        one, other = (total_on(engine, waves, [np.ones(1)] * 3) for _ in range(2))
        wrong: list[str] = []

        def evaluate(name: str, total: Any, value: float, wrong: list[str] = wrong) -> None:
            theta = np.full(n, value)
            expected = 3.0 * np.cos(theta)
            far = [np.abs(tg.grad(total)(theta) - expected).max() > 1e-12 for _ in range(15)]
            wrong.extend([name] * sum(far))

        given = [("a", one, 0.5), ("b", one, 1.0), ("c", other, 1.5), ("d", other, 2.0)]
        workers = [threading.Thread(target=evaluate, args=x) for x in given]
        for w in workers:
            w.start()
        for w in workers:
            w.join(60.0)
        assert not any(w.is_alive() for w in workers)
        assert wrong == []
    threads.close()


def test_a_sum_inside_of_a_sum(processes: Any) -> None:
    """On the threads that all wait for it; and one that cannot travel says so."""
    threads = Threads(2)
    expected = 8.0 * total_on(Serial(), logistic)(THETA)
    for inner_on, outer_on in ((threads, threads), (threads, Serial())):
        inner = total_on(inner_on, logistic)
        outer = total_on(outer_on, lambda t, s, f=inner: f(t) * np.sum(s), [np.ones(2)] * 4)
        np.testing.assert_allclose(outer(THETA), expected, rtol=1e-13)
        slopes = tg.grad(outer)(THETA)
        np.testing.assert_allclose(slopes, 8.0 * tg.grad(inner)(THETA), rtol=1e-13)
    with pytest.raises(TypeError, match="does not travel to other processes"):
        total_on(processes, lambda t, s: inner(t) * np.sum(s), [np.ones(2)])
    threads.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_workers_of_its_own(processes: Any) -> None:
    threads = Threads(2)
    totals = [total_on(e, logistic) for e in (processes, threads)]
    expected = [t(THETA) for t in totals]
    pids = processes.pids()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there are threads, which is what is tested
        child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            if [t(THETA) for t in totals] == expected and not set(processes.pids()) & set(pids):
                processes.close()
                os._exit(0)
        os._exit(1)
    end = time.monotonic() + 60.0
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
        time.sleep(0.02)
    if done[0] == 0:
        os.kill(child, 9)
    assert done == (child, 0)
    assert [t(THETA) for t in totals] == expected
    assert processes.pids() == pids
    threads.close()


def test_sums_that_are_over_leave_nothing(processes: Any) -> None:
    """Neither files in shared memory nor sessions on the workers."""

    def files() -> int:
        return sum(len(os.listdir(folder)) for folder in processes.folder.made.values())

    counts = []
    for k in range(4):
        total = total_on(processes, lambda t, s: t * s, [np.full(9000, 1.0 + k)] * 2)
        np.testing.assert_array_equal(total(2.0), np.full(9000, 4.0 * (1.0 + k)))
        del total
        gc.collect()
        counts.append(files())
    assert counts[-1] == counts[0]
    assert all(len(q) <= 1 for q in processes.ended)


def test_the_history_of_a_worker_does_not_matter(processes: Any) -> None:
    """Parameters of several sizes, and a worker that saw only the last of them."""

    def mixed(t: Any, s: Any) -> Any:
        return np.sum(np.sin(np.sum(t) * s["x"])) * np.sum(np.cos(t))

    here, there = total_on(Serial(), mixed), total_on(processes, mixed)
    for n in (3, 5, 7, 5):
        theta = np.linspace(0.0, 1.0, n)
        if n == 7:
            processes._drop(1)
        assert tg.grad(here)(theta).tobytes() == tg.grad(there)(theta).tobytes(), n


def test_local_engines_keep_the_limit() -> None:
    def slow() -> Any:
        time.sleep(0.15)
        return SHARDS[0]

    for engine in (Serial(), Threads(2)):
        with pytest.raises(tg.scale.EvaluationTimeoutError, match="did not end within"):
            total_on(engine, logistic, [slow] * 8, limit=0.2)(THETA)
        engine.close()


def test_long_evaluations_are_shown(
    monkeypatch: Any, capfd: Any, processes: Any, tmp_path: Path
) -> None:
    """And taken away again; not where the variable says no."""

    def slow() -> Any:
        time.sleep(0.15)
        return np.ones(2)

    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.02)
    time.sleep(0.3)  # the thread may still sleep as long as before
    for wanted in ("1", "0"):
        monkeypatch.setenv("TRACEGRAD_PROGRESS", wanted)
        for engine in (Serial(), processes):
            openers = openers_of([slow] * 3)
            made = ShardedFunction(waves, openers, engine, 0, 60.0, "sum_over")
            assert sums.Total(made, "sum")(0.0) == 0.0
            shown = capfd.readouterr().err
            assert ("waves: " in shown and " of 3 shards" in shown) == (wanted == "1")
            if wanted == "1":
                assert shown.endswith("\r")
    monkeypatch.setenv("TRACEGRAD_PROGRESS", "1")
    total = tg.scale.sum_over(waves, lambda: (slow() for _ in range(4)))
    assert total(0.0) == 0.0
    assert "waves: 1 shards" in capfd.readouterr().err
    assert progress.WATCHER.running == []
