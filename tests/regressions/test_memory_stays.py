"""What a program does again and again takes no more memory: calls, functions that are gone, further
signatures.

`--soak N` makes N times as many calls and functions, and prints what grew.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.native.compile import KERNELS

import tracegrad as tg
from tracegrad.compiled import kept, signatures

X = np.linspace(0.1, 1.0, 6)


def resident() -> float:
    """MB of this process in memory; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except FileNotFoundError:
        return 0.0
    return int(pages) * 4096 / 1e6


def grown(
    run: Callable[[int], Any], times: int, show: Callable[[str], None], first: int = 0
) -> tuple[float, int]:
    """MB and objects that so many runs add, after a tenth as many to begin with.

    What grows does so in each third of the runs; memory that the system had taken away and gives
    back comes once, and so does what another test left to be made at its next use.
    """
    for k in range(max(50, times // 10)):
        run(first + k)
    gc.collect()
    seen, held = [resident()], [len(gc.get_objects())]
    for third in range(3):
        for k in range(times * third // 3, times * (third + 1) // 3):
            run(first + times + k)
        gc.collect()
        seen.append(resident())
        held.append(len(gc.get_objects()))
    mb, objects = (3 * min(b - a for a, b in pairwise(of)) for of in (seen, held))
    show(f"{times:,} runs: {mb:+.2f} MB ({seen[-1] - seen[0]:+.2f} in all), {objects:+,} objects")
    return mb, objects


@pytest.fixture
def soak(request: pytest.FixtureRequest) -> int:
    return max(1, int(request.config.getoption("--soak")))


@pytest.fixture
def show(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], soak: int
) -> Callable[[str], None]:
    def printed(text: str) -> None:
        if soak > 1:
            with capsys.disabled():
                print(f"\n{request.node.name}: {text}", end="")

    return printed


def calls() -> dict[str, Callable[[int], Any]]:
    t, w = tg.tensor(X, requires_grad=True), tg.tensor(X, requires_grad=True)
    f = tg.jit(lambda x: np.sum(np.sin(x) * x))
    g = tg.grad(f)

    def live(k: int) -> None:
        t.grad = None
        f(t).backward()

    def eager(k: int) -> None:
        t.grad = None
        (t * t).sum().backward()

    @tg.jit
    def step(x: Any) -> Any:
        loss = (w * x).sum()
        w.grad = None
        loss.backward()
        with tg.no_grad():
            w.sub_(0.0 * w.grad)
        return loss

    return {
        "call": lambda k: f(X),
        "gradient": lambda k: g(X),
        "live": live,
        "backward": eager,
        "eager gradient": lambda k: tg.grad(lambda x: np.sum(x * x))(X),
        "training": lambda k: step(X),
        "checkpoint": lambda k: tg.checkpoint(lambda x: np.sin(x) * x)(t).sum().backward(),
        "vmap": lambda k: tg.vmap(lambda x: np.sin(x) * k)(X),
        "jvp": lambda k: tg.jvp(np.sin, (X,), (X,)),
        "hessian": lambda k: tg.hessian(lambda x: np.sum(x * x))(X),
    }


COSTS = {"call": 1, "gradient": 1, "live": 1, "backward": 1, "eager gradient": 1, "training": 20}


@pytest.mark.parametrize("kind", calls())
def test_calls(kind: str, soak: int, show: Callable[[str], None]) -> None:
    mb, objects = grown(calls()[kind], 20_000 // COSTS.get(kind, 200) * soak, show)
    assert mb < 2.0
    assert objects < 100


# --- functions ------------------------------------------------------------------------------------


def closure(k: int) -> Callable[[Any], Any]:
    return lambda x: np.sin(x) * k + 1


NOT_COMPILED: dict[str, Callable[[int], Any]] = {
    "traced": lambda k: tg.jit(closure(k)).graphs(X),
    "differentiated": lambda k: tg.jit(tg.grad(lambda x: np.sum(closure(k)(x)))).graphs(X),
    "mapped": lambda k: tg.vmap(closure(k))(X),
    "eager": lambda k: tg.grad(lambda x: np.sum(closure(k)(x)))(X),
    "with a Tensor": lambda k: tg.jit(closure(k)).graphs(tg.tensor(X, requires_grad=True)),
}


@pytest.mark.parametrize("kind", NOT_COMPILED)
def test_functions_that_are_gone(kind: str, soak: int, show: Callable[[str], None]) -> None:
    mb, objects = grown(NOT_COMPILED[kind], 100 * soak, show)
    assert mb < 3.0
    assert objects < 100


def test_equal_functions_share_their_code(soak: int, show: Callable[[str], None]) -> None:
    """As `jit` in a loop makes them: LLVM gives no machine code back."""

    def run(k: int) -> None:
        np.testing.assert_allclose(tg.jit(lambda x: np.sin(x) * 2)(X), np.sin(X) * 2)

    run(0)
    kernels = len(KERNELS)
    mb, objects = grown(run, 50 * soak, show)
    assert len(KERNELS) == kernels
    assert mb < 3.0
    assert objects < 100


def test_sizes_that_change(soak: int, show: Callable[[str], None]) -> None:
    """One function for all of them."""
    f = tg.jit(lambda x: np.sum(np.sin(x) * 2))
    kernels = len(KERNELS)

    def run(k: int) -> None:
        x = np.ones(k % 5000 + 1)
        np.testing.assert_allclose(f(x), np.sum(np.sin(x) * 2))

    mb, objects = grown(run, 300 * soak, show)
    assert len(KERNELS) <= kernels + 3
    assert mb < 3.0 or sys.platform != "linux"
    assert objects < 20 * 1024


def test_different_functions(soak: int, show: Callable[[str], None]) -> None:
    """Compiled ones leave their machine code, and nothing else that counts."""
    _, objects = grown(lambda k: tg.jit(lambda x: x * (k + 0.375))(X), 5 * soak, show, 10_000)
    assert objects < 200 * 5 * soak


def test_signatures_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit that is met sooner than that of 1,024 signatures."""
    assert kept.MOST_ENTRIES == signatures.MOST_ENTRIES == kept.Kept().most == 1024
    monkeypatch.setattr(signatures, "MOST_ENTRIES", 100)
    pinned = tg.jit(lambda x, n: x * n, static_argnames="n")
    tables = (
        pinned._signatures.entries,
        pinned._signatures.former,
        pinned._signatures.symbolic,
        pinned._signatures.first,
        pinned._signatures.concrete,
    )
    for table in tables[1:]:
        assert isinstance(table, kept.Kept)
        table.most = 100
    for n in range(130):
        for size in (2, 3):
            assert pinned.graphs(X[:size], n=n)[0]
    assert max(map(len, tables)) == 100
    assert all(len(found) <= 64 for found in pinned._signatures.symbolic.values())
