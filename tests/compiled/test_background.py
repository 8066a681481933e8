"""`jit(warm="background")`: calls run operation by operation until a thread has compiled them,
with the results of the compiled code; a thread that fails, a fork and the end of a process do no
harm."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.runtime import background, execute
from tracegrad.runtime.background import BACKGROUND, Background, Job

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 3))
A = X.T @ X + np.eye(3)
STATE = {"calls": 0}
HELD = np.arange(3.0)


class Held:
    """The jobs that were asked for, of which none is done before `finish`."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def takes(self, job: Job) -> bool:
        if job not in self.jobs:
            self.jobs.append(job)
        return not job.done.is_set()

    def finish(self) -> None:
        while self.jobs:
            self.jobs.pop().run()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    made = Held()
    monkeypatch.setattr(execute, "BACKGROUND", made)
    return made


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The real thread, which waits for this event before it compiles."""
    opened, make = threading.Event(), execute.Executable._compile_beside

    def waiting(*args: Any) -> Any:
        opened.wait(60)
        return make(*args)

    monkeypatch.setattr(execute.Executable, "_compile_beside", waiting)
    yield opened
    opened.set()
    ended()


def ended() -> None:
    """Wait until nothing is left to be compiled."""
    thread = BACKGROUND._thread
    if thread is not None:
        thread.join(60)
        assert not thread.is_alive()


def jitted(f: Callable[..., Any], **options: Any) -> Any:
    return tg.jit(f, warm="background", **options)


def same(found: Any, wanted: Any, rtol: float = 1e-12) -> None:
    """Arrays or NumPy's numbers with these values, in the same tree."""
    (leaves, spec), (expected, tree) = tg.tree.flatten(found), tg.tree.flatten(wanted)
    assert str(spec) == str(tree)
    for x, y in zip(leaves, map(np.asarray, expected), strict=True):
        assert type(x) is np.ndarray if y.shape else isinstance(x, np.generic)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-14)


def newton(a: Any) -> Any:
    return tg.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)


def summed(xs: Any) -> Any:
    return tg.scan(lambda c, x: (np.sin(c) + x, c * x), np.zeros(3), xs)


def writes(x: Any) -> Any:
    x[1:] = x[:-1] * 2.0
    return np.sum(x)


def looped(x: Any) -> Any:
    total = 0.0
    for v in x:
        if v > 0.0:
            total = total + v * v
    return total


F32 = X.astype(np.float32)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "numbers": (lambda x, y: x * y + 0.5, (2.0, 3)),
    "numbers beside float32": (lambda x, a, b: (a * b) * x, (F32, 1.7, 3)),
    "float32": (lambda x: np.tanh(x) / (1 + x * x), (F32,)),
    "integers": (lambda x: (x * x + 3) % 7 // 2, (np.arange(9),)),
    "truths": (lambda x: (x > 0) & (x < 1), (X,)),
    "complex": (lambda z: np.conj(z) * np.exp(z), (X + 1j * X[::-1],)),
    "empty": (lambda x: (x * 2, np.sum(x)), (np.empty((0, 3)),)),
    "0-d": (lambda x: np.exp(x), (np.array(0.3),)),
    "NaN and infinite": (lambda x: (x / 0.0, np.log(-abs(x)), 0.0 * np.exp(x * 1e4)), (X,)),
    "as it came": (lambda x: (x, x, x.T, x[::-1], 3.0), (X,)),
    "broadcast": (lambda x: np.broadcast_to(x[0], (5, 3)), (X,)),
    "Fortran's order": (lambda x: x.T @ x, (np.asfortranarray(X),)),
    "strided": (lambda x: np.cumsum(x, axis=0), (X[::2, ::-1],)),
    "a tree": (lambda t: {"a": t["b"] * 2, "c": [t["b"][0]]}, ({"b": X},)),
    "solved": (np.linalg.solve, (A, X[0])),
    "determinant": (lambda a: np.linalg.slogdet(np.linalg.cholesky(a) @ a), (A,)),
    "sorted": (lambda x: (np.sort(x, axis=0), np.argmax(x)), (X,)),
    "read around": (lambda x: x * HELD, (X,)),
    "a loop": (summed, (X,)),
    "until it holds": (newton, (2.0,)),
    "Python's loop": (looped, (X[:, 0],)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_call_before_there_is_code_gives_what_the_function_does(name: str, held: Held) -> None:
    f, args = CASES[name]
    with np.errstate(all="ignore"):
        wanted = f(*args)
    g = jitted(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [g(*args) for _ in range(2)]
    for result in found:
        same(result, wanted, 1e-6 if "float32" in name else 1e-12)
    assert len(held.jobs) == 1
    # What is given is the caller's own, as from compiled code.
    arrays = [x for x in tg.tree.flatten(found)[0] if isinstance(x, np.ndarray)]
    for k, x in enumerate(arrays):
        assert x.flags.c_contiguous
        assert x.flags.writeable
        assert not any(np.shares_memory(x, y) for y in [*arrays[:k], X, HELD])


DERIVED: dict[str, Callable[..., Any]] = {
    "gradient": tg.grad,
    "value and gradient": tg.value_and_grad,
    "Hessian": tg.hessian,
    "gradient of lanes": lambda f: lambda x: tg.grad(lambda y: np.sum(tg.vmap(f)(y)))(x[None]),
    "tangent": lambda f: lambda x: tg.jvp(f, (x,), (np.ones(3),)),
}


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) * A @ x) / (1 + np.sum(x * x))


@pytest.mark.parametrize("name", DERIVED)
def test_what_is_derived_runs_at_once_too(name: str, held: Held) -> None:
    wanted = DERIVED[name](loss)(X[0])
    same(DERIVED[name](jitted(loss))(X[0]), wanted)
    same(jitted(DERIVED[name](loss))(X[0]), wanted)
    # A jitted function inside a traced one is part of that, whatever it was told itself.
    before = len(held.jobs)
    assert before
    same(jitted(DERIVED[name](tg.jit(loss)))(X[0]), wanted)
    assert len(held.jobs) == before + 1


def test_both_halves_of_a_call_on_the_tape(held: Held) -> None:
    g = jitted(loss)
    for _ in range(2):
        x = tg.tensor(X[0], requires_grad=True)
        value = g(x)
        value.backward()
        np.testing.assert_allclose(value.item(), loss(X[0]), rtol=1e-12)
        np.testing.assert_allclose(np.asarray(x.grad), tg.grad(loss)(X[0]), rtol=1e-12)
        held.finish()


def test_what_a_call_changes_changes_once(held: Held, capfd: pytest.CaptureFixture[str]) -> None:
    """Writes into arguments, Python's state, random draws, prints."""
    x = np.ones(3)
    assert jitted(writes)(x) == 5.0
    assert x.tolist() == [1.0, 2.0, 2.0]

    def counts(x: Any) -> Any:
        STATE["calls"] += 1
        return x * STATE["calls"]

    g = jitted(counts)
    assert [g(2.0) for _ in range(3)] == [2.0, 4.0, 6.0]
    assert STATE["calls"] == 3
    drawn: list[list[float]] = []
    for draw in (jitted(lambda: np.asarray(tg.randn(3)) * 1.0), lambda: np.asarray(tg.randn(3))):
        tg.manual_seed(5)
        drawn.append([float(v) for _ in range(2) for v in draw()])
    np.testing.assert_allclose(*drawn)

    def shows(x: Any) -> Any:
        tg.debug_print("x is {}", x)
        return x + 1

    assert jitted(shows)(1.5) == 2.5
    assert capfd.readouterr().out.count("x is 1.5") == 1


def test_a_run_that_is_no_gain_waits_for_the_code(held: Held) -> None:
    """Long loops, and what raises: it is the compiled code that says it."""

    def f(x):
        return tg.fori_loop(0, 10**6, lambda k, c: c * 0.5 + x, 0.0)

    assert jitted(f)(1.0) == 2.0
    endless = jitted(lambda x: tg.while_loop(lambda c: c < x, lambda c: c + 1.0, 0.0))
    assert endless(1e6) == 1e6

    def nth(x: Any, k: Any) -> Any:
        return x[k]

    for options in ({}, {"checked": False}):
        outcomes = []
        for g in (jitted(nth, **options), tg.jit(nth, **options)):
            try:
                outcomes.append(repr(g(X[0], 7)))
            except IndexError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
    with pytest.raises(np.linalg.LinAlgError):
        jitted(np.linalg.cholesky)(-A)


def test_sizes_and_layouts_are_compiled_one_by_one(held: Held) -> None:
    def f(x):
        return np.sum(x * np.sin(x)) / x.shape[0]

    g = jitted(f)
    for n in (3, 4, 5, 6):
        same(g(X.ravel()[:n]), f(X.ravel()[:n]))
    assert len(held.jobs) == 2  # the first size, and all sizes
    same(g(X.ravel()[:8:2]), f(X.ravel()[:8:2]))
    assert len(held.jobs) == 3
    held.finish()
    for n in (3, 5, 12):
        same(g(X.ravel()[:n]), f(X.ravel()[:n]))
    assert not held.jobs
    assert len(g._callers) == 2


def test_results_in_memory_that_is_given_up(held: Held) -> None:
    g = jitted(lambda w, d: w - 0.1 * d, donate_argnums=0)
    for _ in range(2):
        w = X.copy()
        np.testing.assert_allclose(g(w, X), 0.9 * X)
        held.finish()


def test_the_thread_makes_the_code_and_calls_take_it(gate: threading.Event) -> None:
    def f(x):
        return np.sum(np.exp(x) * 1.25)

    g = jitted(f)
    same(g(X), f(X))
    assert not g._callers
    gate.set()
    ended()
    same(g(X), f(X))
    assert len(g._callers) == 1
    about = g.explain(X)
    assert "schedule" in about.background
    assert "schedule" not in about.times
    assert "in the background" in str(about)
    assert not tg.jit(f).explain(X).background


def test_a_run_goes_over_to_the_code_in_its_middle(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first operation after the code is there, from the beginning."""
    g, seen = jitted(lambda x: np.cos(np.exp(x))), []
    evaluate = background.evaluate

    def slow(graph: Any, arrays: Any, before: Any) -> Any:
        before()
        gate.set()
        ended()
        seen.append(1)
        return evaluate(graph, arrays, before)

    monkeypatch.setattr(background, "evaluate", slow)
    same(g(X), np.cos(np.exp(X)))
    assert seen
    assert len(g._callers) == 1


def test_what_the_thread_fails_at_is_raised_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*args: Any) -> Any:
        raise MemoryError("no room")

    g = jitted(lambda x: x * 3.5)
    with monkeypatch.context() as patched, caplog.at_level(logging.INFO, "tracegrad"):
        patched.setattr(execute, "Compiled", fails)
        with contextlib.suppress(MemoryError):  # where the thread was quick
            g(X)
        ended()
        for _ in range(2):
            with pytest.raises(MemoryError, match="no room"):
                g(X)
    assert "not compiled in the background" in caplog.text
    np.testing.assert_array_equal(g(X), X * 3.5)
    ended()
    np.testing.assert_array_equal(g(X), X * 3.5)
    assert g._callers


def test_without_a_thread_the_call_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(background.threading.Thread, "start", refused)
    g = jitted(lambda x: x - 2.25)
    np.testing.assert_array_equal(g(X), X - 2.25)
    assert g._callers


def test_an_interrupt_ends_the_call_alone(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = jitted(lambda x: np.cosh(x) * 2)

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(background, "evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            g(X)
    same(g(X), np.cosh(X) * 2)
    gate.set()
    ended()
    same(g(X), np.cosh(X) * 2)
    assert g._callers


def test_threads_that_call_at_once_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    make = execute.Compiled

    def counted(*args: Any) -> Any:
        made.append(args)
        return make(*args)

    monkeypatch.setattr(execute, "Compiled", counted)
    g, found, together = jitted(lambda x: np.sum(np.tan(x) * 0.3)), [], threading.Barrier(6)

    def call() -> None:
        together.wait()
        found.extend(g(X) for _ in range(50))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    ended()
    assert len(found) == 300
    assert len(made) == 1
    np.testing.assert_allclose(found, np.sum(np.tan(X) * 0.3), rtol=1e-12)


def test_a_job_is_done_once_whoever_asks() -> None:
    done, many = [], Background()
    jobs = [Job(str(k), lambda k=k: done.append(k)) for k in range(20)]
    for job in jobs * 3:
        many.takes(job)
    for job in jobs:
        assert job.done.wait(60)
    assert done == list(range(20))
    assert not any(map(many.takes, jobs))


def test_the_option_is_kept_and_checked() -> None:
    g = jitted(loss)
    assert tg.jit(g) is g
    assert tg.jit(g, warm="background") is g
    assert tg.grad(g).code.warm == tg.jit(g, contract=True).code.warm == "background"
    assert tg.jit(g, warm="call").code.warm == "call"
    for wrong in (True, "eager", 3):
        with pytest.raises(ValueError, match="warm is 'call' or 'background'"):
            tg.jit(loss, warm=wrong)  # type: ignore[call-overload]


FORKS_AND_ENDS = """
import os, threading, warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
import numpy as np, tracegrad as tg
from tracegrad.runtime.execute import Executable
opened, make = threading.Event(), Executable._compile_beside
def waiting(*args):
    opened.wait(60)
    return make(*args)
Executable._compile_beside = waiting
f = tg.jit(lambda x: np.sum(np.exp(x) * 1.5), warm="background")
assert f(np.zeros(2)) == 3
child = os.fork()
assert f(np.zeros(2)) == 3
if child == 0:
    assert [t.name for t in threading.enumerate()] == ["MainThread", "tracegrad: background"]
opened.set()
for thread in threading.enumerate():
    if thread.name == "tracegrad: background":
        thread.join()
assert f(np.zeros(2)) == 3 and f._callers
if child:
    assert os.waitpid(child, 0)[1] == 0
    for k in range(3):
        g = tg.jit(lambda x: x * 0.25 + k, warm="background")
        assert g(4.0) == 1.0 + k
    print("called")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_process_that_forks_and_ends_meanwhile() -> None:
    """A child makes what was still to be made; with such work left a process ends without a word
    and without waiting for ever."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", FORKS_AND_ENDS],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "called\n", "")
