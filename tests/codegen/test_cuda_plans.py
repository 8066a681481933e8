"""How work is divided on a device: read off the kernels, without one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen import kernel
from tracegrad.codegen.integers import symbol

import tracegrad as tg
from tests.cuda_plans import INSTALLED, plan_of

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs pip install 'tracegrad[cuda]'")


def kernels(function: Any, *shapes: tuple[int, ...]) -> Any:
    return plan_of(function, tuple(np.ones(s) for s in shapes)).launches


def in_memory(source: str) -> list[str]:
    """Lines that combine into an element of an array inside a loop over something else."""
    return re.findall(r"^ {8,}(\w+\[[^\]]*\]) = \1 \+ .*$", source, flags=re.M)


def test_few_long_rows_take_a_block_each() -> None:
    (launch,) = kernels(lambda x: np.sum(np.exp(x), axis=1), (50, 10_000))
    assert launch.per_block
    assert launch.work == 50


def test_many_short_rows_take_a_thread_each() -> None:
    (launch,) = kernels(lambda x: np.sum(np.exp(x), axis=1), (100_000, 8))
    assert not launch.per_block


def test_rows_are_not_cut_into_blocks() -> None:
    """What is read and what is combined along rows, as in the gradient of a mixture."""

    def rows(x: Any, y: Any) -> Any:
        share = np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True)
        return share, np.sum(share[:, :, None] * y, axis=1)

    for launch in kernels(rows, (50, 10_000), (50, 10_000, 4)):
        assert launch.work >= 50
        assert "min(" not in launch.source, launch.source


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x: np.sum(x * x, axis=0), [(100_000, 100)]),
        (lambda x: np.sum(x * x, axis=0), [(100_000, 3)]),
        (lambda x: np.sum(x * x, axis=(0, 2)), [(300, 40, 50)]),
        (lambda x: np.max(x, axis=0), [(100_000, 3)]),
        (tg.grad(lambda w, x: np.sum(np.logaddexp(0, x @ w))), [(100,), (100_000, 100)]),
    ],
)
def test_totals_are_in_registers(function: Any, shapes: list[tuple[int, ...]]) -> None:
    launches = kernels(function, *shapes)
    assert [found for k in launches for found in in_memory(k.source)] == []
    for k in launches:
        if k.per_block or k.single:
            continue
        assert isinstance(k.work, int)


def test_blocks_combine_what_blocks_have_found() -> None:
    """About a thousand parts, each of a block, and their totals shared by blocks again."""
    first, second = kernels(lambda x: np.sum(x * x, axis=0), (100_000, 100))
    assert first.per_block
    assert 512 <= first.work <= 2048
    # Threads clear the 100 totals and each of 100 blocks combines one: a block is 256 threads.
    assert second.work == 100 * second.threads


@pytest.mark.parametrize("rows", [25, 50])
def test_few_long_rows_are_gone_down_by_a_thread_each(rows: int) -> None:
    """As in a mixture's likelihood, with a reduction of another range between them: no kernel has
    only as many blocks as there are parts of so few rows, nor waits for the grid in every row."""

    def likelihood(a: Any, x: Any) -> Any:
        y = a[:, None] - 0.5 * x
        top = np.max(y, axis=0)
        return np.sum(np.exp(y - top), axis=0), np.max(a)

    launches = kernels(likelihood, (rows,), (rows, 10_000))
    wide = [k for k in launches if "exp(" in k.source]
    assert wide
    for k in wide:
        assert k.work >= 10_000 / 2, k.source
        assert not k.waits
        assert not k.per_block


def test_a_total_with_other_readers_stays_in_memory() -> None:
    """Its register would hide what the others read, or what they add meanwhile."""

    def walk(x: Any) -> Any:
        def step(k: Any, c: Any) -> Any:
            c[0] += x[k] * c[0]
            return c

        return tg.fori_loop(0, 30, step, x * 1.0)

    (launch,) = kernels(walk, (30,))
    assert "total" not in launch.source


def test_places_that_move_stay_in_memory() -> None:
    """A place named by a variable that the loop updates, or read from memory, is not one place."""
    from tracegrad.codegen import kernel, owners
    from tracegrad.codegen.cuda.accumulators import in_registers

    f8, i8 = np.dtype(np.float64), np.dtype(np.int64)
    buffers = {n: kernel.Buffer(n, t, (5,), "out") for n, t in (("out", f8), ("at", i8))}
    count = iter(range(9))

    def made(place: Any, *more: kernel.Statement) -> tuple[kernel.Statement, ...]:
        add = kernel.Store("out", (place,), kernel.Literal(1.0, f8), "add")
        loop = kernel.Loop("k", 0, 5, (add, *more))
        known = owners.Owners(buffers)
        return in_registers([loop], buffers, known, lambda w: f"{w}{next(count)}")

    step = kernel.Update("n", kernel.Literal(1, i8), "add")
    assert len(made(kernel.Name("n", i8))) == 3
    assert len(made(kernel.Name("n", i8), step)) == 1
    assert len(made(kernel.Load("at", (0,), i8))) == 1


def loop(index: str, lo: Any, hi: Any, *body: Any) -> kernel.Loop:
    return kernel.Loop(index, lo, hi, body)


@pytest.mark.parametrize("through", ["the loop itself", "a loop between", "a number made inside"])
def test_loops_are_not_moved_away_from_what_bounds_them(through: str) -> None:
    """A loop that may go outside of a loop in order, were it not for its bounds."""
    from tracegrad.codegen.cuda.dependence import interchanged
    from tracegrad.codegen.owners import Owners

    j, k, i = symbol("j"), symbol("k"), symbol("i")
    write = kernel.Store("a", (j,), kernel.Load("a", (j,), np.dtype(float)))
    bound = {"the loop itself": i, "a loop between": k, "a number made inside": symbol("n")}[
        through
    ]
    inner = loop("j", 32 * bound, 32 * bound + 32, write)
    let = kernel.Let("n", kernel.Index(i, np.dtype(np.int64)))
    step = loop("i", 0, 9, *([let] if "number" in through else []), loop("k", 0, 4, inner))
    free = loop("i", 0, 9, loop("k", 0, 4, loop("j", 0, 128, write)))
    owners = Owners({"a": kernel.Buffer("a", np.dtype(float), (128,), "temp")})
    assert interchanged(free, owners, "j1") is not None
    assert interchanged(step, owners, "j1") is None


def test_transposing_loops_are_not_tiled() -> None:
    """Tiles are for caches; each would be a thread's, in turn."""
    launches = kernels(lambda x, y: x + y.T, (512, 512), (512, 512))
    assert all("rows" not in launch.source for launch in launches)
    assert max(launch.work for launch in launches) == 512 * 512
