"""Ctrl-C at any moment, and many threads at once: what is open is closed, and later calls are right. `--soak N` makes them N times as long."""

from __future__ import annotations

import ctypes
import gc
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.alone import COMPILING

import tracegrad as tg
from tracegrad import alone
from tracegrad.autograd.mode import MODE, OFF
from tracegrad.ir.dispatch import SPECIAL, STATE
from tracegrad.types import SIZES

X = np.linspace(0.1, 1.0, 6)


def program(k: int, w: Any) -> Callable[[Any], Any]:
    """A function that no earlier call has met, with a loop, a branch, and a Tensor around it that it changes."""

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


def clean() -> None:
    """Nothing is open in this thread, and no lock is held."""
    assert not STATE.traces
    assert not STATE.levels
    assert not SIZES.open
    assert STATE.special == 0
    assert MODE.enabled
    assert not SPECIAL
    assert not OFF
    assert not alone._OPEN.keys
    assert not alone.TRACING._is_owned()
    with COMPILING:  # what was being compiled is compiled to its end, in a thread of its own
        pass
    assert gc.isenabled()


def interrupted(run: Callable[[], Any], after: float) -> bool:
    """Whether KeyboardInterrupt, sent to this thread after some time, ended `run`."""
    me, sent = ctypes.c_ulong(threading.get_ident()), threading.Event()

    def send() -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(me, ctypes.py_object(KeyboardInterrupt))
        sent.set()

    timer = threading.Timer(after, send)
    try:
        timer.start()
        run()
        timer.cancel()
        timer.join()
        while sent.is_set():
            time.sleep(0.001)
    except KeyboardInterrupt:
        timer.join()
        return True
    return False


def test_interrupted_at_random_moments(request: pytest.FixtureRequest) -> None:
    rng, hits = random.Random(5), 0
    w = tg.ones(6, requires_grad=True)
    for k in range(12 * max(1, request.config.getoption("--soak"))):
        f = tg.jit(program(k, w))
        hits += interrupted(lambda f=f: f(X), rng.random() ** 2 * 0.4)  # type: ignore[misc]
        clean()
        assert type(w._data) is np.ndarray, "a weight kept a traced value"
        np.testing.assert_allclose(f(X), reference(k), rtol=1e-12)
        np.testing.assert_allclose(w.detach().numpy(), 1.0)
    assert hits


def test_many_threads_trace_compile_call_and_differentiate(request: pytest.FixtureRequest) -> None:
    soak = max(1, request.config.getoption("--soak"))
    shared = [tg.jit(lambda x, k=k: np.cumsum(np.sin(x) * (k + 1))) for k in range(4)]
    end, failed = time.monotonic() + 3.0 * soak, []

    def work(number: int) -> None:
        rng = random.Random(number)
        try:
            while time.monotonic() < end:
                k, n = rng.randrange(4), rng.randrange(2, 9)
                x = np.linspace(0.0, 1.0, n)
                np.testing.assert_allclose(shared[k](x), np.cumsum(np.sin(x) * (k + 1)), rtol=1e-12)
                slope = tg.grad(lambda y, f=shared[k]: np.sum(f(y)))(x)
                np.testing.assert_allclose(slope, (k + 1) * np.arange(n, 0, -1) * np.cos(x), rtol=1e-12)
                if rng.random() < 0.05:
                    np.testing.assert_allclose(tg.jit(lambda y, k=k: y * (number + k))(x), x * (number + k))
                t = tg.tensor(x, requires_grad=True)
                with tg.no_grad():
                    assert not (t * 2).requires_grad
                shared[k](t).sum().backward()
                np.testing.assert_allclose(np.asarray(t.grad), slope, rtol=1e-12)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(32)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    assert not failed
    clean()


def test_memory_of_many_functions_and_calls() -> None:
    """Functions that are gone leave nothing, and one with many signatures keeps a bounded number."""
    f = tg.jit(lambda x: np.sin(x) * 2)
    for _ in range(2000):
        f(X)
    gc.collect()
    before = len(gc.get_objects())
    for k in range(3):
        for _ in range(100):
            tg.jit(lambda x, k=k: x * k + 1).graphs(X)
    for _ in range(20_000):
        f(X)
    gc.collect()
    assert len(gc.get_objects()) - before < 3000
    pinned = tg.jit(lambda x, n: x * n, static_argnames="n")
    for n in range(1300):
        assert pinned.graphs(X, n=n)[0]
    assert len(pinned._entries) <= 1024
    assert all(len(found) <= 64 for found in pinned._symbolic.values())
    assert len(pinned._first) <= 4096
