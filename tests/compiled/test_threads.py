"""Threads inside one compiled call: the same bits for any number, failures as in order, and no harm
from forks, nesting or company."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.runtime import threads
from tracegrad.runtime.choice import Choice


@pytest.fixture(autouse=True)
def eager_to_share(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Share every parallel phase, however small, and restore the number of threads."""
    monkeypatch.setattr(threads, "CALL", 1)
    monkeypatch.setattr(threads, "PHASE", 1)
    monkeypatch.setattr(threads, "PIECE", 1)
    monkeypatch.setattr(threads, "HELPER", 1)
    before = tg.get_num_threads()
    yield
    tg.set_num_threads(before)


@pytest.fixture
def shared_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of pieces of each call that was shared."""
    seen: list[int] = []
    run = threads.Workers.run

    def counted(
        self: Any, kernel: int, trampoline: int, operands: Any, table: threads.Table, statuses: Any
    ) -> bool:
        done = run(self, kernel, trampoline, operands, table, statuses)
        if done:
            seen.append(table.pieces)
        return done

    monkeypatch.setattr(threads.Workers, "run", counted)
    return seen


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def rosenbrock(x: Any) -> Any:
    return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)


def logsumexp(x: Any) -> Any:
    a = np.max(x)
    return a + np.log(np.sum(np.exp(x - a)))


def pairs(x: Any) -> Any:
    difference = x[:, None, :] - x[None, :, :]
    return np.sum(1 / (1 + np.sum(difference**2, axis=-1)))


RNG = np.random.default_rng(7)
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "elementwise": (lambda x: (np.sin(x) * x + 0.5, np.exp(-x * x)), (RNG.normal(size=20_011),)),
    "float32": (lambda x: np.tanh(x) / (1 + x * x), (RNG.normal(size=30_007).astype(np.float32),)),
    "integers": (lambda x: (x * x + 3) % 17, (np.arange(25_003) % 91,)),
    "sum": (np.sum, (RNG.normal(size=100_003) * 10.0 ** RNG.integers(-8, 8, 100_003),)),
    "sum of float32": (np.sum, (RNG.normal(size=50_001).astype(np.float32),)),
    "logsumexp": (tg.grad(logsumexp), (RNG.normal(size=40_013),)),
    "rosenbrock": (tg.value_and_grad(rosenbrock), (RNG.normal(size=33_333),)),
    "rows": (softmax, (RNG.normal(size=(501, 67)),)),
    "columns": (lambda x: np.sum(x * x, axis=0), (RNG.normal(size=(2003, 31)),)),
    "strided": (lambda x: np.sum(np.cos(x), axis=1), (RNG.normal(size=(700, 90))[::-2, ::3],)),
    "pairs": (tg.value_and_grad(pairs), (RNG.normal(size=(211, 3)),)),
    "product": (
        lambda a, b: np.tanh(a @ b),
        (RNG.normal(size=(301, 120)), RNG.normal(size=(120, 77))),
    ),
    "complex": (
        lambda x: x * np.conj(x) + 2j,
        (RNG.normal(size=9001) + 1j * RNG.normal(size=9001),),
    ),
}


def leaves(result: Any) -> list[Any]:
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_bits(name: str, shared_calls: list[int]) -> None:
    function, arguments = PROGRAMS[name]
    compiled = tg.jit(function)
    tg.set_num_threads(1)
    expected = leaves(compiled(*arguments))
    assert not shared_calls
    for count in (2, 3, 7):
        tg.set_num_threads(count)
        shared_calls.clear()
        for _ in range(3):
            for want, found in zip(expected, leaves(compiled(*arguments)), strict=True):
                assert want.dtype == found.dtype
                assert want.tobytes() == found.tobytes()
        assert len(shared_calls) == 3
        assert all(pieces > 1 for pieces in shared_calls)


def test_sizes_that_vary(shared_calls: list[int]) -> None:
    compiled = tg.jit(tg.value_and_grad(rosenbrock))
    for n in (9_000, 10_000, 17_001, 40_000):
        x = RNG.normal(size=n)
        tg.set_num_threads(1)
        value, gradient = compiled(x)
        tg.set_num_threads(3)
        assert compiled(x)[0] == value
        assert np.array_equal(compiled(x)[1], gradient)
    assert shared_calls


def test_the_first_failure_is_told() -> None:
    """Which index is out of range does not depend on who comes first."""
    table = np.arange(50.0)
    compiled = tg.jit(lambda t, i: np.sum(tg.take(t, i) ** 2))
    index = np.zeros(60_000, np.int64)
    compiled(table, index)
    index[[20_001, 35_000, 59_999]] = 111, 222, 333
    for count in (1, 2, 5):
        tg.set_num_threads(count)
        for _ in range(5):
            with pytest.raises(IndexError, match="111"):
                compiled(table, index)
    index[:] = 3
    assert compiled(table, index) == 60_000 * 9.0


def test_wrong_arguments_are_seen_before_threads_run() -> None:
    """The fast path looks at shapes only; another dtype or class must not reach native code."""
    tg.set_num_threads(3)
    compiled = tg.jit(lambda x: x * 2 + 1)
    x = np.arange(20_000.0)
    for y in (
        x,
        x,
        x.astype(np.int64),
        x.astype(">f8"),
        x.astype(np.float32),
        x[::-1],
        np.broadcast_to(np.float64(1), 20_000),
    ):
        found = compiled(y)
        np.testing.assert_array_equal(found, y * 2 + 1)
        assert found.dtype == (y * 2 + 1).dtype


def test_calls_from_several_threads() -> None:
    tg.set_num_threads(3)
    compiled = tg.jit(tg.grad(logsumexp))
    inputs = [RNG.normal(size=30_000) for _ in range(4)]
    expected = [compiled(x) for x in inputs]
    wrong: list[int] = []

    def work(k: int) -> None:
        wrong.extend(k for _ in range(20) if not np.array_equal(compiled(inputs[k]), expected[k]))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in workers:
        t.start()
    for t in workers:
        t.join(60)
    assert not any(t.is_alive() for t in workers)
    assert not wrong


def test_a_taken_pool_is_not_waited_for(shared_calls: list[int]) -> None:
    tg.set_num_threads(2)
    compiled = tg.jit(lambda x: np.exp(x) + 1)
    x = RNG.normal(size=20_000)
    expected = compiled(x)
    shared_calls.clear()
    assert threads.POOL._taken.acquire(timeout=1)
    try:
        np.testing.assert_array_equal(compiled(x), expected)
    finally:
        threads.POOL._taken.release()
    assert not shared_calls
    np.testing.assert_array_equal(compiled(x), expected)
    assert shared_calls


def test_a_system_without_threads_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    tg.set_num_threads(1)
    compiled = tg.jit(lambda x: np.exp(x) + 1)
    x = RNG.normal(size=20_000)
    expected = compiled(x)

    def start(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    tg.set_num_threads(3)
    with monkeypatch.context() as patch:
        patch.setattr(threads._Helper, "start", start)
        np.testing.assert_array_equal(compiled(x), expected)
    assert tg.get_num_threads() == 1
    assert threads.POOL._helpers == []


def test_the_number_of_threads() -> None:
    tg.set_num_threads(5)
    assert tg.get_num_threads() == 5
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            tg.set_num_threads(wrong)
    for wrong in (2.0, True, "2"):
        with pytest.raises(TypeError, match="integer"):
            tg.set_num_threads(wrong)  # type: ignore[arg-type]
    assert tg.get_num_threads() == 5


def test_no_thread_before_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    tg.set_num_threads(1)
    tg.set_num_threads(4)
    compiled = tg.jit(lambda x: np.sum(x * 2))
    compiled(np.ones(20_000))
    compiled(np.ones(20_000))
    assert not threads.POOL._helpers
    tg.set_num_threads(1)


@pytest.mark.parametrize(
    ("variables", "most"),
    [
        ({"NUMBA_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "1,2"}, 1),
        ({"OMP_NUM_THREADS": "nonsense"}, 10**6),
        ({}, 10**6),
    ],
)
def test_environment(variables: dict[str, str], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert threads.usable() == min(most, cores or 1, threads.quota())


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("max 100000", 1 << 20),
        ("", 1 << 20),
    ],
)
def test_containers(text: str, most: int, tmp_path: Path) -> None:
    file = tmp_path / "cpu.max"
    assert threads.quota(file) == 1 << 20
    file.write_text(text)
    assert threads.quota(file) == most


def test_the_clock_decides() -> None:
    """The faster way is taken nearly always, whichever it is, and a change is noticed within some
    hundred calls."""
    choice = Choice()

    def calls(first: float, second: float, count: int) -> float:
        taken = 0
        for k in range(count):
            way = choice.next()
            taken += way
            # Every tenth call is disturbed.
            choice.note(way, (first, second)[way] * (3.0 if k % 10 == 7 else 1.0))
        return taken / count

    assert calls(1.0, 2.0, 1000) < 0.1
    assert calls(9.0, 2.0, 1000) > 0.8
    assert calls(1.0, 2.0, 1000) < 0.3
    assert calls(1.0, 2.0, 1000) < 0.05


def test_the_clock_decides_by_helpers_that_are_awake() -> None:
    """The first of some shared calls finds the helpers asleep, and takes longer than alone: that
    says nothing of those behind it."""
    choice, before = Choice(), 0
    taken = []
    for _ in range(1000):
        way = choice.next()
        seconds = 2.0 if way else 1.0 if before == 0 else 3.0
        choice.note(way, seconds)
        before = way
        taken.append(way)
    assert np.mean(taken) < 0.1
    # While each call is slower than alone, whether or not helpers are awake, it is not shared.
    for _ in range(1000):
        way = choice.next()
        choice.note(way, 2.0 if way else 4.0)
        taken.append(way)
    assert np.mean(taken[-500:]) > 0.9
    for k in range(1000):
        way = choice.next()
        choice.note(way, 2.0 if way else 1.0 if k and taken[-1] == 0 else 3.0)
        taken.append(way)
    assert np.mean(taken[-500:]) < 0.1


def test_no_more_threads_than_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread woken has work for longer than waking it takes."""
    monkeypatch.undo()
    phase = (0, 0, 1000, 1)
    assert threads.divide([(*phase, threads.CALL - 1)], 64) is None
    few, many = (
        threads.divide([(*phase, threads.CALL)], 64),
        threads.divide([(*phase, 1000 * threads.CALL)], 64),
    )
    assert few is not None
    assert few.threads == 1 + threads.CALL // threads.HELPER
    assert many is not None
    assert many.threads == 64


PRELUDE = """
import os, sys, numpy as np, tracegrad as tg
from tracegrad.runtime import threads
threads.CALL = threads.PHASE = threads.PIECE = threads.HELPER = 1
tg.set_num_threads(3)
f = tg.jit(lambda x: np.exp(x) + 1)
x = np.arange(20_000.0) / 1e4
expected = f(x)
assert threads.POOL._helpers
"""
FORK = """
pid = os.fork()
if pid == 0:
    assert not threads.POOL._helpers
    good = np.array_equal(f(x), expected) and len(threads.POOL._helpers) == 2
    os._exit(0 if good else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert np.array_equal(f(x), expected)
print("done")
"""
INTERRUPT = """
import _thread, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
threading.Timer(0.05, _thread.interrupt_main).start()
try:
    while True:
        f(x)
except KeyboardInterrupt:
    pass
for _ in range(5):
    assert np.array_equal(f(x), expected)
print("done")
"""


def run(script: str, cache: Path) -> str:
    environment = {
        **os.environ,
        "TRACEGRAD_CACHE_DIR": str(cache),
        "PYTHONPATH": str(Path(tg.__file__).parent.parent),
    }
    found = subprocess.run(
        [sys.executable, "-c", PRELUDE + script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork(tmp_path: Path) -> None:
    assert run(FORK, tmp_path) == "done"


def test_after_an_interrupt(tmp_path: Path) -> None:
    assert run(INTERRUPT, tmp_path) == "done"
