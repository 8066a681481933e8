"""A process forked at any moment can compile and call: no lock of ours, of Numba or of LLVM is held
by a thread that it does not have. `--soak N` makes N times as many processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tracegrad.codegen.loading import COMPILING
from tracegrad.codegen.locks import lock

import tracegrad as tg

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

PRELUDE = """
import gc, os, random, signal, sys, threading, time
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
    # The exit code of `work` in a forked process: 0 where it is well, that of the alarm where it
    # hangs.
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
slow, fast = tg.jit(steps(8, 0.9)), tg.jit(steps(2, 0.7))
thread = threading.Thread(target=slow, args=(x,))
thread.start()
time.sleep({wait})

def work():
    assert gc.isenabled()  # a thread that compiles turns it off meanwhile
    np.testing.assert_allclose(fast(x), steps(2, 0.7)(x))
    np.testing.assert_allclose(slow(x), steps(8, 0.9)(x))

assert child(work) == 0
thread.join()
work()
"""
BUSY = """
import multiprocessing, traceback
from tests.soak_programs import drawn, drawn_and_run

rng, alive, wrong = random.Random({seed}), True, []

def busy(k):
    mine = random.Random(k)
    while alive:
        try:
            drawn(mine)[1]()
        except BaseException:
            wrong.append(traceback.format_exc())

threads = [threading.Thread(target=busy, args=(k,)) for k in range(3)]
for t in threads:
    t.start()

def ended():
    global alive
    alive = False
    for t in threads:
        t.join()
    assert not any(codes), codes
    assert not wrong, wrong[0]

codes = []
"""
AT_RANDOM_MOMENTS = (
    BUSY
    + """
def fork(k):
    codes.append(child(lambda: drawn_and_run(1000 + k)))

for k in range({count}):
    time.sleep(rng.random() / 4)
    if k % 2:
        fork(k)
    else:
        forking = threading.Thread(target=fork, args=(k,))
        forking.start()
        forking.join()
ended()
assert len(codes) == {count}
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    pass
else:
    raise AssertionError("a child is left")
"""
)
BY_MULTIPROCESSING = (
    BUSY
    + """
context = multiprocessing.get_context("{way}")
for k in range({count}):
    time.sleep(rng.random() / 4)
    process = context.Process(target=drawn_and_run, args=(2000 + k,))
    process.start()
    process.join(120)
    codes.append(process.exitcode)
ended()
assert codes == [0] * {count}
assert not multiprocessing.active_children()
"""
)
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
        second = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(writing, bytes([first != 0, second != 0]))
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

thread = threading.Thread(target=tg.jit(steps(6, 0.9)), args=(x,))
thread.start()
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map_async(call, range(6)).get(120)
np.testing.assert_allclose(found, [call(k) for k in range(6)])
thread.join()
"""


def run(text: str, cached: bool = False, limit: float = 300) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(tg.__file__).parent.parent)}
    # BLAS has its threads too, as in a user's process.
    environment.pop("OPENBLAS_NUM_THREADS", None)
    if not cached:
        environment["TRACEGRAD_CACHE_DIR"] = ""
    command = [sys.executable, "-c", PRELUDE + text]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=limit, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]


@pytest.mark.parametrize("wait", [0.02, 0.1, 0.2, 0.3, 0.4])
def test_while_another_thread_compiles(wait: float) -> None:
    """The compiler is imported, or at work, in another thread."""
    run(WHILE_ANOTHER_COMPILES.format(wait=wait))


def test_at_random_moments(request: pytest.FixtureRequest) -> None:
    """From the main thread and from others, while three threads trace, compile and differentiate
    all kinds of programs."""
    count = 4 * max(1, request.config.getoption("--soak"))
    run(AT_RANDOM_MOMENTS.format(count=count, seed=count), cached=True, limit=300 + 10 * count)


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing(way: str, request: pytest.FixtureRequest) -> None:
    count = max(1, request.config.getoption("--soak"))
    run(
        BY_MULTIPROCESSING.format(count=count, seed=count, way=way),
        cached=True,
        limit=300 + 10 * count,
    )


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


def test_a_fork_waits_no_longer_than_it_must() -> None:
    assert tg.jit(lambda x: x + 1)(1.0) == 2.0
    assert in_child(lambda: tg.jit(lambda x: x + 2)(1.0) == 3.0) == 0
