"""A process forked at any moment can compile and call: no lock of ours, of Numba or of LLVM is held by a thread that it does not have."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from tracegrad.codegen.alone import COMPILING
from tracegrad.codegen.locks import lock

import tracegrad as tg

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

PRELUDE = """
import os, random, signal, sys, threading, time
import numpy as np
import numpy.testing  # which NumPy loads at its first use, whatever forks meanwhile
import tracegrad as tg

x = np.linspace(0.1, 1.0, 7)

def steps(count, factor):
    def function(x):
        for _ in range(count):
            x = np.sin(x) * factor + x[::-1]
        return x
    return function

def child(work, seconds=60):
    # The exit code of `work` in a forked process: 0 where it is well, that of the alarm where it hangs.
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)
        try:
            work()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""
WHILE_ANOTHER_COMPILES = """
slow, fast = tg.jit(steps(12, 0.9)), tg.jit(steps(2, 0.7))
thread = threading.Thread(target=slow, args=(x,))
thread.start()
time.sleep({wait})

def work():
    np.testing.assert_allclose(fast(x), steps(2, 0.7)(x))
    np.testing.assert_allclose(slow(x), steps(12, 0.9)(x))
    np.testing.assert_allclose(tg.jit(tg.grad(lambda x: np.sum(steps(2, 0.7)(x))))(x).shape, (7,))

assert child(work) == 0
thread.join()
work()
"""
AT_RANDOM_MOMENTS = """
rng, alive, wrong = random.Random(7), True, []

def busy(k):
    n = 0
    while alive:
        n += 1
        f = tg.jit(lambda x: steps(2, 0.5 + k / 8 + n / 64)(x))
        try:
            np.testing.assert_allclose(f(x), steps(2, 0.5 + k / 8 + n / 64)(x))
            tg.grad(lambda x: np.sum(np.sin(x) * x))(tg.tensor(x, requires_grad=True))
        except BaseException as error:
            wrong.append(repr(error))

threads = [threading.Thread(target=busy, args=(k,)) for k in range(3)]
for t in threads:
    t.start()

def work():
    np.testing.assert_allclose(tg.jit(steps(1, 0.3))(x), steps(1, 0.3)(x))
    p = tg.tensor(x, requires_grad=True)
    (p * p).sum().backward()
    np.testing.assert_allclose(np.asarray(p.grad), 2 * x)

codes = []
for _ in range({count}):
    time.sleep(rng.random() / 4)
    codes.append(child(work))
alive = False
for t in threads:
    t.join()
assert not any(codes), codes
assert not wrong, wrong
"""
INSIDE_A_TRACE = """
reading, writing = os.pipe()
parent = os.getpid()

def function(x):
    # The second child goes on with the trace that it was forked in, and its locks are its own.
    first = child(lambda: None)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
    else:
        os.write(writing, bytes([first != 0, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0]))
    return np.sin(x) * 2

result = tg.jit(function)(x)
np.testing.assert_allclose(result, 2 * np.sin(x))
if os.getpid() != parent:
    os._exit(0)
assert os.read(reading, 2) == bytes([0, 0])
"""
POOL = """
import multiprocessing
f = tg.jit(steps(2, 0.8))

def call(k):
    return np.sum(f(x + k))

thread = threading.Thread(target=tg.jit(steps(10, 0.9)), args=(x,))
thread.start()
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map_async(call, range(6)).get(120)
np.testing.assert_allclose(found, [call(k) for k in range(6)])
thread.join()
"""


def run(text: str, cached: bool = False) -> None:
    environment = {**os.environ} if cached else {**os.environ, "TRACEGRAD_CACHE_DIR": ""}
    done = subprocess.run([sys.executable, "-c", PRELUDE + text], capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]


@pytest.mark.parametrize("wait", [0.02, 0.3])
def test_while_another_thread_compiles(wait: float) -> None:
    """The compiler is imported, or at work, in another thread."""
    run(WHILE_ANOTHER_COMPILES.format(wait=wait))


def test_at_random_moments() -> None:
    run(AT_RANDOM_MOMENTS.format(count=6))


def test_inside_a_trace() -> None:
    run(INSIDE_A_TRACE)


def test_a_pool_of_forked_processes() -> None:
    run(POOL, cached=True)


def in_child(work: Any) -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_lock_is_free_in_the_child_unless_it_is_held_there() -> None:
    mine, others = lock(), lock()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with others:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)

    def work() -> bool:
        free = others.acquire(timeout=5)
        mine.release()
        return bool(free and COMPILING.acquire(timeout=5))

    with mine:
        code = in_child(work)
    done.set()
    thread.join()
    assert code == 0


def test_collection_stays_on() -> None:
    """A thread that compiles turns it off meanwhile."""
    run("import gc\n" + WHILE_ANOTHER_COMPILES.format(wait=0.3) + "\nassert child(lambda: gc.isenabled() or 1 / 0) == 0\n", cached=True)


def test_a_fork_waits_no_longer_than_it_must() -> None:
    assert tg.jit(lambda x: x + 1)(1.0) == 2.0
    assert in_child(lambda: tg.jit(lambda x: x + 2)(1.0) == 3.0) == 0
