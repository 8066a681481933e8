"""Many threads that trace, compile, call and differentiate the same and different functions at
once: every number is right.

`--soak N` makes it N times as long.
"""

from __future__ import annotations

import collections
import contextlib
import random
import threading
import time
import traceback
from typing import Any

import pytest

import tracegrad as tg
from tests.interleaved import interleaved
from tests.soak_programs import clean, drawn

SECONDS = 3.0
WAYS = {"as Python switches": (32, 0.0), "between any two instructions": (16, 0.0007)}


@pytest.mark.parametrize("way", WAYS)
def test_all_that_can_be_done(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    """Each thread draws programs, runs them several times, and runs some that it shares with all
    others."""
    threads, rate = WAYS[way]
    with interleaved(rate) if rate else contextlib.nullcontext():
        all_at_once(request, capsys, threads)


def all_at_once(request: Any, capsys: Any, threads: int) -> None:
    soak = max(1, request.config.getoption("--soak"))
    rng = random.Random(11)
    shared = [drawn(rng) for _ in range(40)]
    end, failed = time.monotonic() + SECONDS * soak, []
    done: collections.Counter[str] = collections.Counter()

    def work(number: int) -> None:
        rng = random.Random(number)
        name = ""
        try:
            while time.monotonic() < end:
                if rng.random() < 0.3:
                    name, run = drawn(rng)
                else:
                    name, run = rng.choice(shared)
                for _ in range(rng.choice((1, 1, 3, 10))):
                    run()
                    done[name] += 1
                assert tg.is_grad_enabled()
        except BaseException:
            failed.append(f"{name}\n{traceback.format_exc()}")

    workers = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for t in workers:
        t.start()
    for t in workers:
        t.join(60 + SECONDS * soak)
    assert not any(t.is_alive() for t in workers)
    with capsys.disabled():
        if soak > 1:
            print(
                f"\n{sum(done.values()):,} runs of {len(done)} kinds of programs, "
                f"{len(failed)} threads failed"
            )
    assert not failed, "\n\n".join(failed)
    clean()
