"""Ctrl-C at any moment: what is open is closed, no lock stays held, and later calls are right.

The interrupt is a signal of a timer, whose handler does what Python's own for Ctrl-C does. `--soak
N` makes N times as many.
"""

from __future__ import annotations

import collections
import operator
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.disk import cache
from tracegrad.codegen.disk.entry import DiskEntry
from tracegrad.codegen.loading import COMPILING, uninterrupted

import tracegrad as tg
from tests.soak_programs import clean, drawn
from tracegrad.compiled import alone
from tracegrad.compiled import effects as arguments
from tracegrad.faces import operators
from tracegrad.tape import engine

pytestmark = [
    pytest.mark.skipif(
        not hasattr(signal, "setitimer"), reason="this system has no timers that send signals"
    ),
    # An interrupt inside of what frees an object is lost: Python says so, and goes on.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

X = np.linspace(0.1, 1.0, 6)
HIT: collections.Counter[str] = collections.Counter()
"""Where interrupts arrived."""


@pytest.fixture(autouse=True)
def handled(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    HIT.clear()
    yield
    signal.signal(signal.SIGALRM, before)
    if request.config.getoption("--soak"):
        with capsys.disabled():
            print(
                f"\n{request.node.name}: {HIT.total()} interrupts in {len(HIT)} places: "
                f"{HIT.most_common(12)}"
            )


def interrupted(run: Callable[[], Any], after: float, again: float = 0.0) -> bool:
    """Whether Ctrl-C, after some time (and then again and again), ended `run`."""
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, after, again)
            run()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        HIT[f"{Path(frame.filename).name}:{frame.name}"] += 1
        return True
    return False


def count(request: pytest.FixtureRequest, short: int) -> int:
    return int(short * max(1, request.config.getoption("--soak")))


def program(k: int, w: Any) -> Callable[[Any], Any]:
    """A function that no earlier call has met, with a loop, a branch, and a Tensor around it that
    it changes."""

    def function(x: Any) -> Any:
        y = np.sin(x) * (1 + k / 64)
        y = y + tg.scan(lambda c, s: (c * 0.5 + s, c), np.sum(y), y)[1]
        loss = (w * y).sum()
        w.grad = None
        loss.backward()
        with tg.no_grad():
            w.sub_(0.0 * w.grad)
        return np.where(y > 1, y, y * y)

    return function


def reference(k: int) -> Any:
    y = np.sin(X) * (1 + k / 64)
    carry, seen = y.sum(), []
    for s in y:
        seen.append(carry)
        carry = carry * 0.5 + s
    y = y + np.array(seen)
    return np.where(y > 1, y, y * y)


def test_a_function_that_changes_a_tensor(request: pytest.FixtureRequest) -> None:
    """Tracing it, compiling it, and its first call."""
    rng = random.Random(5)
    w = tg.ones(6, requires_grad=True)
    for k in range(count(request, 10)):
        f = tg.jit(program(k, w))
        interrupted(lambda f=f: f(X), rng.random() ** 2 * 0.4)  # type: ignore[misc]
        clean()
        assert type(w._data) is np.ndarray, "a weight kept a traced value"
        np.testing.assert_allclose(f(X), reference(k), rtol=1e-12)
        np.testing.assert_allclose(w.detach().numpy(), 1.0)
    assert HIT


def test_all_that_can_be_done(request: pytest.FixtureRequest) -> None:
    """Programs of every kind, at a moment while they are traced, compiled and run for the first
    time."""
    rng = random.Random(6)
    for _ in range(count(request, 20)):
        name, run = drawn(rng)
        interrupted(run, rng.random() ** 2 * 0.3)
        clean()
        try:
            run()
        except Exception as error:
            raise AssertionError(f"{name} after an interrupt") from error
    assert HIT


# --- short operations: each is interrupted so often that every line of it is ----------------------


def in_place(t: Any) -> None:
    y = t * 2
    y[1:] = 0.5
    y.mul_(t)
    y.sum().backward()


def nested(t: Any) -> None:
    z = t * 3
    z.register_hook(lambda g: g + tg.grad(lambda y: (y * y).sum())(g) * 0)
    z.sum().backward()


SHORT: dict[str, Callable[[Any], Any]] = {
    "operation": lambda t: t * t + 1,
    "backward": lambda t: (t * t).sum().backward(),
    "create_graph": lambda t: tg.autograd.grad((t * t).sum(), t, create_graph=True),
    "in place": in_place,
    "nested": nested,
    "grad": lambda t: tg.grad(lambda x: np.sum(x * x))(X),
    "jvp": lambda t: tg.jvp(np.sin, (X,), (X,)),
    "vmap": lambda t: tg.vmap(lambda x: x * x)(X),
    "hessian": lambda t: tg.hessian(lambda x: np.sum(x * x))(X),
    "checkpoint": lambda t: tg.checkpoint(lambda x: np.sin(x) * x)(t).sum().backward(),
}


@pytest.mark.parametrize("kind", SHORT)
def test_short_operations(kind: str, request: pytest.FixtureRequest) -> None:
    rng = random.Random(7)
    t = tg.tensor(X, requires_grad=True)

    def run() -> None:
        SHORT[kind](t)

    run()
    start = time.perf_counter()
    run()
    took = time.perf_counter() - start
    for _ in range(count(request, 150)):
        t.grad = None
        interrupted(run, max(2e-6, rng.random() * 1.2 * took))
        clean()
    run()
    assert HIT


# --- the compiler's cache, and locks --------------------------------------------------------------


def test_writes_to_the_cache(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """An entry is there whole or not at all, and nothing half-written stays."""
    rng, codes = random.Random(8), {format(k, "040x"): bytes([k]) * 50_000 for k in range(20)}

    def fetch(key: str) -> bytes:
        code = codes[key]
        found: bytes = cache.fetch(
            tmp_path,
            key,
            lambda: (code, DiskEntry({}, {"code": code})),
            lambda entry: entry.part("code"),
        )
        return found

    def run() -> None:
        for key in codes:
            (tmp_path / (key + cache.SUFFIX)).unlink(missing_ok=True)
            # As the compiler does: in a thread of its own, for which this one waits.
            assert uninterrupted(lambda key=key: fetch(key)) == codes[key]

    run()
    start = time.perf_counter()
    run()
    took = time.perf_counter() - start
    for _ in range(count(request, 40)):
        interrupted(run, rng.random() * took)
        clean()
        assert all(fetch(key) == code for key, code in codes.items())
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        key + cache.SUFFIX for key in sorted(codes)
    ]
    assert HIT


LOCKS = {
    "tracing": alone.TRACING,
    "compiling": COMPILING,
    "changing": arguments.CHANGING,
    "accumulating": engine._ACCUMULATING,
}


@pytest.mark.parametrize("name", LOCKS)
def test_waits(name: str, request: pytest.FixtureRequest) -> None:
    """Another thread holds a lock, for which a call waits: it is ended at once, and the lock is
    free when the other one is done."""
    rng = random.Random(9)
    t, w = tg.tensor(X, requires_grad=True), tg.ones(6, requires_grad=True)
    for k in range(count(request, 3)):
        f = tg.jit(program(1000 + k, w))
        if name == "changing":
            f(X)
        ready, done = threading.Event(), threading.Event()

        def hold(ready: threading.Event = ready, done: threading.Event = done) -> None:
            with LOCKS[name]:
                ready.set()
                done.wait(60)

        def run(f: Any = f) -> None:
            if name == "accumulating":
                (t * t).sum().backward()
            else:
                f(X)

        thread = threading.Thread(target=hold)
        thread.start()
        ready.wait(60)
        start = time.monotonic()
        # An interrupt that arrives while an object is freed is lost.
        assert interrupted(run, 0.05 + rng.random() / 20, 3.0)
        assert time.monotonic() - start < 20.0
        done.set()
        thread.join()
        clean()
        t.grad = None
        (t * t).sum().backward()
        np.testing.assert_allclose(np.asarray(t.grad), 2 * X)
        np.testing.assert_allclose(f(X), reference(1000 + k), rtol=1e-12)


# --- what is written out at its first use ---------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, RecursionError, MemoryError])
@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal"])
def test_a_comparison_that_ends_at_its_first_use(
    name: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python drops what goes wrong while it looks a comparison up, and compares identities."""
    method = {"less": "__lt__", "less_equal": "__le__", "greater": "__gt__"}
    method |= {"greater_equal": "__ge__", "equal": "__eq__"}
    compare = getattr(operator, method[name])
    fresh = type("Fresh", (tg.Array,), {method[name]: operators._binary(getattr(tg.ops, name))})
    x = fresh(X)

    def ends(*parts: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(operators, "write_out", ends)
        with pytest.raises(error):
            compare(x, 0.5)
    np.testing.assert_array_equal(compare(x, 0.5), compare(X, 0.5))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_one_that_arrives_while_a_trace_is_given_up(
    error: type[BaseException], tmp_path: Path
) -> None:
    """The function is to be staged, and the interrupt is no reason to trace it once more."""
    already = tmp_path / "raised"

    def function(x: Any) -> Any:
        try:
            return x if x[0] > 0 else -x
        except tg.ConcretizationError:
            if not already.exists():
                already.touch()
                raise error from None
            raise

    f = tg.jit(function)
    with pytest.raises(error):
        f(X)
    clean()
    np.testing.assert_array_equal(f(X), X)


# --- modes that open in more than one step --------------------------------------------------------

BLOCKS: dict[str, Callable[[], Any]] = {
    "no_grad": tg.no_grad,
    "inference_mode": tg.inference_mode,
    "saved_tensors_hooks": lambda: tg.autograd.graph.saved_tensors_hooks(abs, abs),
    "dual_level": tg.autograd.forward_ad.dual_level,
    "detect_anomaly": lambda: tg.autograd.detect_anomaly(),
    "node_creation_hook": lambda: tg.autograd.graph.node_creation_hook(abs),
}


@pytest.mark.filterwarnings("ignore:Anomaly")
@pytest.mark.parametrize("kind", BLOCKS)
def test_each_step_of_opening_a_block(kind: str) -> None:
    """Where Python looks for signals (calls, and returns of functions in C), one after another: a
    block that is not entered leaves no mode behind."""

    def opened(at: int) -> bool:
        steps = 0

        def look(frame: Any, event: str, what: Any) -> None:
            nonlocal steps
            if event in ("call", "c_return") and "tracegrad" in frame.f_code.co_filename:
                steps += 1
                if steps == at:
                    raise KeyboardInterrupt

        entered = False
        try:
            sys.setprofile(look)
            with BLOCKS[kind]():
                entered = True
                sys.setprofile(None)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        return entered

    clean()
    at = 1
    while not opened(at):
        clean()
        assert not tg.autograd.is_anomaly_enabled()
        at += 1
    assert at > 2
    clean()
