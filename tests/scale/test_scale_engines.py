"""Engines of `tg.scale` for real: failures, killed workers, what is compiled, where shards come
from."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.shard_functions import killed_at_random, logistic, rows
from tracegrad.scale import sums
from tracegrad.scale.engines.local import Serial, Threads
from tracegrad.scale.engines.processes import Processes
from tracegrad.scale.session import ShardedFunction
from tracegrad.scale.sources import openers_of
from tracegrad.scale.wire import task_of
from tracegrad.scale.worker import (
    Setup,
    ShardTask,
    VersionsDifferError,
    versions,
    work,
)

SHARDS = rows()
THETA = np.array([0.3, -0.2, 0.5])


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    engine = Processes(2)
    yield engine
    engine.close()


def total_on(engine: Any, function: Any, shards: Any = SHARDS, limit: Any = 60.0) -> Any:
    openers = openers_of(shards)
    return sums.Total(ShardedFunction(function, openers, engine, 1 << 30, limit, "sum_over"), "sum")


def bits(total: Any) -> bytes:
    value, gradient = tg.value_and_grad(total)(THETA)
    return value.tobytes() + gradient.tobytes()


# --- failures -------------------------------------------------------------------------------------


def unreadable() -> Any:
    raise OSError("the disk is gone")


class Cursed(ValueError):
    """One that does not travel."""

    def __init__(self, a: Any, b: Any) -> None:
        super().__init__("a curse")


def cursed() -> Any:
    raise Cursed(1, 2)


def test_a_shard_that_fails_is_named(processes: Any) -> None:
    """With its number, label, host and the user's line; the engine goes on."""
    good = bits(total_on(Serial(), logistic))
    x = SHARDS[0]
    for engine in (Serial(), Threads(2), processes):
        for opener, kind in ((unreadable, "OSError"), (cursed, "Cursed")):
            with pytest.raises(tg.scale.ShardError) as found:
                total_on(engine, logistic, [lambda: x, lambda: x, opener])(THETA)
            text = str(found.value)
            assert found.value.shard == 2
            assert f"{opener.__name__}()" in text
            assert kind in text
            assert f"{Path(__file__).name}:" in text
            assert f"process {'' if engine is processes else os.getpid()}" in text
        bad = total_on(engine, lambda t, s: tg.linalg.inv(s["x"][:3] * t[0])[0, 0], [x, x])
        with pytest.raises(tg.scale.ShardError, match="shard 0"):
            bad(np.zeros(3))
        assert bits(total_on(engine, logistic)) == good


def test_versions_must_agree() -> None:
    other = tuple((n, "0.0" if n == "numpy" else v) for n, v in versions())
    setup = Setup(other, logistic, openers_of(SHARDS), "logistic", 0)
    answer = work(ShardTask(uuid.uuid4().hex, None, 0, (), [()], setup=setup))
    assert answer.kind == VersionsDifferError.__name__  # type: ignore[union-attr]
    assert "the driver has 0.0" in answer.text  # type: ignore[union-attr]
    # Where even the task has another form.
    with pytest.raises(VersionsDifferError, match=r"the driver has 0\.0"):
        task_of(b"of another form", other)
    with pytest.raises(pickle.UnpicklingError):
        task_of(b"of another form", versions())


def test_results_of_several_types_are_refused() -> None:
    total = tg.scale.sum_over(lambda t, s: t * s["x"], SHARDS)
    with pytest.raises(tg.ShapeError, match="other types for shard 1"):
        total(2.0)


def test_a_limit_ends_what_hangs(processes: Any) -> None:
    def sleeping() -> Any:
        time.sleep(60.0)

    slow = total_on(processes, logistic, [SHARDS[0], sleeping], limit=0.5)
    started = time.monotonic()
    with pytest.raises(tg.scale.EvaluationTimeoutError, match="limit="):
        slow(THETA)
    assert time.monotonic() - started < 20.0
    assert bits(total_on(processes, logistic)) == bits(total_on(Serial(), logistic))


def test_a_function_that_ends_its_worker_is_an_error(processes: Any) -> None:
    def deadly() -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(tg.scale.WorkerLostError, match="ended 3 times"):
        total_on(processes, logistic, [SHARDS[0], deadly])(THETA)
    assert bits(total_on(processes, logistic)) == bits(total_on(Serial(), logistic))


def test_workers_that_are_killed(processes: Any, request: Any) -> None:
    """At random moments: the right result, or a WorkerLostError, and never a hang."""
    killed_at_random(processes, 100 if request.config.getoption("--soak") else 5)


def test_an_interrupt_leaves_the_engine_usable(processes: Any) -> None:
    def waiting() -> Any:
        time.sleep(30.0)

    total = total_on(processes, logistic, [SHARDS[0], waiting])
    # A shell's background jobs ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            total(THETA)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert bits(total_on(processes, logistic)) == bits(total_on(Serial(), logistic))


WRONG: dict[str, tuple[Any, str]] = {
    "no function": (lambda: tg.scale.sum_over(3, SHARDS), "per_shard is .* must be a function"),
    "no shards": (lambda: tg.scale.sum_over(logistic, []), "there are no shards"),
    "a text of shards": (lambda: tg.scale.sum_over(logistic, "x.npy"), "shards is .* a list"),
    "a number of shards": (lambda: tg.scale.sum_over(logistic, 3), "shards is .* a list"),
    "a shard of objects": (lambda: tg.scale.sum_over(logistic, [{1}]), "shard 0 holds"),
    "reduce": (lambda: tg.scale.sum_over(logistic, SHARDS, reduce="max"), "reduce is 'max'"),
    "backend": (lambda: tg.scale.sum_over(logistic, SHARDS, backend="spark"), "'processes'"),
    "workers": (lambda: tg.scale.sum_over(logistic, SHARDS, workers=0), "workers is"),
    "client": (lambda: tg.scale.sum_over(logistic, SHARDS, client=3), "client is"),
    "keep": (lambda: tg.scale.sum_over(logistic, SHARDS, keep=-1), "keep is -1"),
    "limit": (lambda: tg.scale.sum_over(logistic, SHARDS, limit="a"), "limit is"),
    "no parameters": (lambda: tg.scale.sum_over(logistic, SHARDS)(), "with the parameters"),
    "a text as parameter": (lambda: tg.scale.sum_over(logistic, SHARDS)("a"), "total"),
    "map of no function": (lambda: tg.scale.map_over(3, SHARDS), "function is"),
    "map of a number": (lambda: tg.scale.map_over(logistic, 3), "problems is"),
    "batch": (lambda: tg.scale.map_over(logistic, SHARDS, batch=0), "batch is"),
    "read of a number": (lambda: tg.scale.read(3), "path is"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_say_what_is_wrong(case: str) -> None:
    call, text = WRONG[case]
    with pytest.raises((TypeError, ValueError), match=text):
        call()


# --- what is done once ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_workers_compile_once(order: Any) -> None:
    """Four cold workers compile each kernel once in all, in whatever order the elements of what
    they open lie, and a worker that is started later none."""
    number = float(uuid.uuid4().int % 1_000_003)
    engine = Processes(4)

    def unheard(t: Any, s: Any) -> Any:
        return np.sum(np.cos(s @ t) * number)

    def compiled() -> int:
        return sum(w.compiled for w in tg.scale.report()[-1].workers)

    try:
        total = total_on(engine, unheard, [lambda: np.ones((5, 3), order=order)] * 4)
        total(THETA)
        assert len(engine.pids()) == 4
        assert compiled() == (1 if order == "C" else 2)
        engine._drop(0)
        total(THETA)
        assert compiled() == 0
        assert sum(w.opened for w in tg.scale.report()[-1].workers) == 1
    finally:
        engine.close()


def test_shards_are_opened_once_and_kept(tmp_path: Any, processes: Any) -> None:
    paths = []
    for k, s in enumerate(SHARDS[:4]):
        paths.append(tmp_path / f"part-{k}.npy")
        np.save(paths[-1], s["x"])
    total = total_on(processes, lambda t, x: np.sum(np.sin(x @ t)), paths)
    expected = sum(np.sum(np.sin(s["x"] @ THETA)) for s in SHARDS[:4])
    np.testing.assert_allclose(total(THETA), expected, rtol=1e-13)
    for _ in range(2):
        tg.grad(total)(THETA)
        assert sum(w.opened for w in tg.scale.report()[-1].workers) == 0
    # Without room each evaluation opens them.
    bare = tg.scale.sum_over(lambda t, s: np.sum(t * s), [lambda: np.ones(9)] * 3, keep=0)
    assert bare(2.0) == 54.0
    assert bare(2.0) == 54.0
    assert tg.scale.report()[-1].workers[0].opened == 3


def test_large_arrays_travel_by_shared_memory(processes: Any) -> None:
    """Parameters, results and shards above the threshold, again and again, of changing sizes."""
    rng = np.random.default_rng(1)
    for n in (20_000, 5_000, 60_000):
        shards = [rng.normal(size=n) for _ in range(5)]
        theta = rng.normal(size=n)
        total = total_on(processes, lambda t, x: np.tanh(t * x), shards)
        first = total(theta)
        again = total(2.0 * theta)
        np.testing.assert_allclose(first, sum(np.tanh(theta * x) for x in shards), atol=1e-12)
        np.testing.assert_allclose(again, sum(np.tanh(2 * theta * x) for x in shards), atol=1e-12)
        g = tg.grad(lambda t, f=total: np.sum(f(t) ** 2))(theta)
        h = tg.grad(lambda t, x=shards: np.sum(sum(np.tanh(t * y) for y in x) ** 2))(theta)
        np.testing.assert_allclose(g, h, rtol=1e-9, atol=1e-9)


# --- streams, problems ----------------------------------------------------------------------------


def test_streams_keep_two_chunks() -> None:
    alive = [0, 0]

    class Counted(np.ndarray):
        def __del__(self) -> None:
            alive[0] -= 1

    def chunks() -> Iterator[Any]:
        for k in range(20):
            alive[0] += 1
            alive[1] = max(alive)
            yield np.full(4 + k % 2, float(k)).view(Counted)

    total = tg.scale.sum_over(lambda t, x: np.sum(t * x**2), chunks)
    expected = sum((4 + k % 2) * k**2 for k in range(20))
    value, gradient = tg.value_and_grad(total)(3.0)
    assert (value, gradient) == (3.0 * expected, expected)
    assert alive[1] <= 3  # the third is what the generator's frame still names
    once = tg.scale.sum_over(lambda t, x: np.sum(t * x), iter([np.ones(2), np.ones(3)]))
    assert once(2.0) == 10.0
    with pytest.raises(tg.TracegradError, match="begins the stream anew"):
        once(2.0)
    with pytest.raises(ValueError, match="stream has no chunk"):
        tg.scale.sum_over(lambda t, x: np.sum(t * x), lambda: iter(()))(2.0)
    whole = tg.scale.sum_over(logistic, lambda: iter(SHARDS))
    assert bits(whole) == bits(total_on(Serial(), logistic))

    def broken() -> Iterator[Any]:
        yield np.ones(2)
        raise OSError("tape torn")

    with pytest.raises(tg.scale.ShardError, match=r"shard 1.*tape torn"):
        tg.scale.sum_over(lambda t, x: np.sum(t * x), broken)(2.0)


def test_problems_come_back_in_their_order(processes: Any) -> None:
    rng = np.random.default_rng(0)
    problems = [
        {"a": rng.normal(size=(n, n)) + n * np.eye(n), "b": rng.normal(size=n)}
        for n in rng.integers(1, 4, size=40)
    ]
    expected = [np.linalg.solve(p["a"], p["b"]) for p in problems]

    def solved(p: Any) -> Any:
        return {"x": np.linalg.solve(p["a"], p["b"]), "n": np.sum(p["b"] ** 2)}

    serial = tg.scale.map_over(solved, problems, batch=8)
    for found, p, x in zip(serial, problems, expected, strict=True):
        np.testing.assert_allclose(found["x"], x, rtol=1e-10)
        np.testing.assert_allclose(found["n"], np.sum(p["b"] ** 2), rtol=1e-13)
    threads = tg.scale.map_over(solved, problems, batch=8, backend="threads", workers=3)
    assert all(a["x"].tobytes() == b["x"].tobytes() for a, b in zip(serial, threads, strict=True))
    alone = tg.scale.map_over(lambda p: np.sum(p), [np.ones(2), np.ones((2, 2))], batch=None)
    assert alone == [2.0, 4.0]
    assert tg.scale.map_over(lambda p: p, []) == []


# --- files ----------------------------------------------------------------------------------------


def test_files(tmp_path: Any) -> None:
    np.savez(tmp_path / "part.npz", x=np.arange(3.0), y=np.ones(2))
    found = tg.scale.read(tmp_path / "part.npz", columns=["y"])
    assert list(found) == ["y"]
    with pytest.raises(KeyError, match="has no z"):
        tg.scale.read(tmp_path / "part.npz", columns=["z"])
    with pytest.raises(FileNotFoundError):
        tg.scale.read(tmp_path / "none.npy")
    with pytest.raises(ValueError, match="must be one of"):
        tg.scale.read(tmp_path / "part.csv")
    np.save(tmp_path / "part.npy", np.arange(3.0))
    with pytest.raises(ValueError, match="no columns"):
        tg.scale.read(tmp_path / "part.npy", columns=["y"])


@pytest.mark.engines
def test_parquet(tmp_path: Any) -> None:
    pyarrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"x": [1.0, None, 3.0], "n": [1, None, 3], "s": ["a", "b", "c"]})
    parquet.write_table(table, tmp_path / "part.parquet")
    found = tg.scale.read(tmp_path / "part.parquet", columns=["x"])["x"]
    assert np.isnan(found[1])
    assert found[[0, 2]].tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match=r"'n'.*lacks 1 values"):
        tg.scale.read(tmp_path / "part.parquet", columns=["n"])
    with pytest.raises(ValueError, match="'s' holds string"):
        tg.scale.read(tmp_path / "part.parquet", columns=["s"])


def test_a_picture_of_an_evaluation(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib")
    total_on(Threads(2), logistic)(THETA)
    found = tg.scale.report()
    assert "shards from 0" in repr(found)
    found.save(tmp_path / "evaluation.png")
    assert (tmp_path / "evaluation.png").stat().st_size > 1000
