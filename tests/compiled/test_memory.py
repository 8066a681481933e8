"""The pool of memory for large results: what is alive is never given out again, what is dead is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.runtime import memory
from tracegrad.runtime.memory import ALIGNMENT, IDLE, LARGE, Pool, scratch_memory

N = LARGE // 8
F64 = np.dtype(float)


def test_dead_result_lends_its_memory_to_the_next() -> None:
    pool = Pool(1 << 26)
    first = pool.empty((N,), F64)
    place = first.ctypes.data
    assert place % ALIGNMENT == 0
    assert first.flags.writeable
    assert first.flags.c_contiguous
    del first
    again = pool.empty((N,), F64)
    assert again.ctypes.data == place
    assert len(pool.blocks) == 1


def test_view_keeps_the_memory_of_its_result() -> None:
    pool = Pool(1 << 26)
    result = pool.empty((N,), F64)
    result[:] = 7
    view = result.reshape(2, -1)[1, ::3]
    del result
    others = [pool.empty((N,), F64) for _ in range(3)]
    for x in others:
        x[:] = 0
        assert not np.may_share_memory(x, view)
    assert np.all(view == 7)


def test_sizes_are_matched_and_the_limit_is_kept() -> None:
    pool = Pool(4 * LARGE)
    pool.empty((N * 2,), F64)
    assert pool.empty((N,), F64).nbytes == LARGE
    assert len(pool.blocks) == 2, "a block of twice the size is not given for it"
    for k in range(2 * IDLE):
        pool.empty((N + 1000 * k,), F64)
        assert sum(b.nbytes for b, _ in pool.blocks) <= 4 * LARGE + 2 * LARGE
    assert pool.empty((N * 8,), F64).base is None, "more than the limit is not kept"
    pool.clear()
    assert pool.blocks == []


def test_idle_blocks_go_back() -> None:
    pool = Pool(1 << 26)
    pool.empty((N * 4,), F64)
    for _ in range(IDLE + 1):
        pool.empty((N,), F64)
    assert [b.nbytes for b, _ in pool.blocks] == [LARGE + ALIGNMENT]


def test_small_results_are_numpys() -> None:
    assert Pool(1 << 26).empty((3, 4), F64).base is None


def test_results_of_calls_stay_apart() -> None:
    f = tg.jit(lambda x: (x + 1, x * 2))
    x = np.arange(2.0 * N)
    kept: list[tuple[Any, Any]] = [f(x + k) for k in range(4)]
    for k, (a, b) in enumerate(kept):
        np.testing.assert_array_equal(a, x + k + 1)
        np.testing.assert_array_equal(b, (x + k) * 2)


def test_threads_never_get_the_same_memory() -> None:
    pool = Pool(1 << 26)
    wrong: list[str] = []

    def work(mark: int) -> None:
        for _ in range(200):
            x = pool.empty((N,), F64)
            x[::512] = mark
            y = pool.empty((N,), F64)
            y[::512] = -mark
            if np.any(x[::512] != mark):
                wrong.append(f"{mark} overwritten")

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_what_it_owns_is_known_while_another_thread_asks_for_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = Pool(1 << 26)
    held = [pool.empty((N,), F64), pool.empty((N,), F64)]
    told: list[bool] = []

    def is_free(entry: Any) -> bool:
        told.extend(pool.owns(x.base) for x in held)
        return False

    monkeypatch.setattr(memory, "_is_free", is_free)
    pool.empty((N,), F64)
    assert told == [True] * 4


FORK = """
import os, signal
import numpy as np
from tracegrad.runtime.memory import POOL
with POOL._lock:
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        POOL.empty((1 << 20,), np.dtype(float))
        os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_asks_for_memory() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(tg.__file__).parent.parent)}
    found = subprocess.run(
        [sys.executable, "-c", FORK], env=environment, capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("nbytes", [0, 1, 100, 4096, 700_000, 1 << 24, (1 << 24) + 8])
def test_memory_for_temporaries_begins_at_a_cache_line(nbytes: int) -> None:
    found = scratch_memory(nbytes)
    assert found.nbytes == nbytes
    assert found.ctypes.data % ALIGNMENT == 0 or not nbytes
