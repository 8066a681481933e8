"""A simulator of CUDA for one purpose: it finds accesses of two threads that nothing orders, and
threads that do not wait where others do.

All threads of all blocks run, one at a time, each until it waits. What each has read and written in
memory is kept with how often its block and its grid had waited by then: two threads touched the
same element unordered, and one of them wrote, if both are of one block and had waited equally
often, or of two blocks between the same waits of the grid. (Numba's simulator runs one block after
the other, and goes on where a thread of a block has ended.)
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

THREADS, BLOCKS = 4, 3
HERE = threading.local()


class Race(AssertionError):
    """Two threads met."""


class Watched(np.ndarray):
    """An array whose elements are watched."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        if isinstance(found, np.generic) and hasattr(HERE, "member"):
            HERE.member.touched(self, at, "read")
        return found

    def __setitem__(self, at: Any, value: Any) -> None:
        super().__setitem__(at, value)
        if hasattr(HERE, "member"):
            HERE.member.touched(self, at, "write")


class Member(threading.Thread):
    """One thread of the grid."""

    def __init__(self, grid: Grid, block: int, index: int, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.grid, self.block, self.index, self.work = grid, block, index, work
        self.turn, self.done = threading.Event(), threading.Event()
        self.waits_for = ""
        self.in_block = self.in_grid = 0
        """How often it has waited."""
        self.error: BaseException | None = None

    def run(self) -> None:
        self.turn.wait()
        HERE.member = self
        try:
            self.work()
        except BaseException as error:
            self.error = error
        self.waits_for = "end"
        self.done.set()

    def wait(self, what: str) -> None:
        frame = sys._getframe(2)
        self.waits_for = f"{what}, line {frame.f_lineno} of {frame.f_code.co_name}"
        self.turn.clear()
        self.done.set()
        self.turn.wait()

    def touched(self, array: np.ndarray[Any, Any], at: Any, how: str) -> None:
        place: int = array.__array_interface__["data"][0]
        for i, n, step in zip(
            at if isinstance(at, tuple) else (at,), array.shape, array.strides, strict=True
        ):
            place += (int(i) + n if i < 0 else int(i)) * step
        cell = self.grid.memory.setdefault(place, {})
        for (other, kind), (in_block, in_grid) in cell.items():
            if other is self or (how, kind) == ("read", "read") or how == kind == "atomic":
                continue
            if (
                (in_block == self.in_block)
                if other.block == self.block
                else (in_grid == self.in_grid)
            ):
                line = sys._getframe(2).f_lineno
                raise Race(
                    f"line {line}: {how} of element {at} by thread {self.index} of "
                    f"block {self.block} and {kind} by thread {other.index} of block "
                    f"{other.block} are not ordered"
                )
        cell[self, how] = self.in_block, self.in_grid


class Grid:
    """One launch."""

    def __init__(self, blocks: int, threads: int, work: Callable[[], None]) -> None:
        self.blocks, self.threads = blocks, threads
        self.memory: dict[int, dict[tuple[Member, str], tuple[int, int]]] = {}
        self.shared: dict[Any, Any] = {}
        self.members = [Member(self, b, k, work) for b in range(blocks) for k in range(threads)]

    def run(self) -> None:
        for m in self.members:
            m.start()
        ready = list(self.members)
        while ready:
            for m in ready:
                m.done.clear()
                m.turn.set()
                m.done.wait()
                if m.error is not None:
                    raise m.error
            ready = self.released()

    def released(self) -> list[Member]:
        """Who may go on: blocks whose threads all wait for each other, or all of them."""
        found: list[Member] = []
        for b in range(self.blocks):
            members = [m for m in self.members if m.block == b]
            if len({m.waits_for for m in members}) > 1:
                raise Race(
                    "threads of one block wait at several places: "
                    f"{sorted({m.waits_for for m in members})}"
                )
            if members[0].waits_for.startswith("block"):
                found += members
                for m in members:
                    m.in_block += 1
        if found or self.members[0].waits_for == "end":
            return found
        if len({m.waits_for for m in self.members}) > 1:
            raise Race(
                f"blocks wait at several places: {sorted({m.waits_for for m in self.members})}"
            )
        for m in self.members:
            m.in_block, m.in_grid = m.in_block + 1, m.in_grid + 1
        return self.members


class Shared:
    def array(self, shape: int, dtype: Any) -> Any:
        key = HERE.member.block, sys._getframe(1).f_lineno
        known = HERE.member.grid.shared
        if key not in known:
            # What nobody has written yet is not a number.
            known[key] = np.full(shape, np.nan if np.dtype(dtype).kind in "fc" else 77, dtype).view(
                Watched
            )
        return known[key]


class Atomic:
    """Each returns what was there."""

    @staticmethod
    def _change(array: Any, at: Any, new: Callable[[Any], Any]) -> Any:
        old = np.ndarray.__getitem__(array, at)
        np.ndarray.__setitem__(array, at, new(old))
        HERE.member.touched(array, at, "atomic")
        return old

    def add(self, array: Any, at: Any, value: Any) -> Any:
        return self._change(array, at, lambda old: old + value)

    def cas(self, array: Any, at: Any, old: Any, value: Any) -> Any:
        return self._change(array, at, lambda found: value if found == old else found)


class Local:
    @staticmethod
    def array(shape: int, dtype: Any) -> Any:
        return np.empty(shape, dtype)


class Cuda:
    """What kernels know as `cuda`."""

    shared, local, atomic = Shared(), Local(), Atomic()

    def __getattr__(self, name: str) -> SimpleNamespace:
        m = HERE.member
        return SimpleNamespace(
            x={
                "threadIdx": m.index,
                "blockIdx": m.block,
                "blockDim": m.grid.threads,
                "gridDim": m.grid.blocks,
            }[name]
        )

    def syncthreads(self) -> None:
        HERE.member.wait("block")

    def threadfence(self) -> None:
        pass


def starter(function: Callable[..., None], kernel: Any) -> Callable[[int, Sequence[int]], None]:
    """In the place of `compile._on_simulator`."""
    function.__globals__["cuda"] = CUDA
    threads = min(kernel.threads, THREADS)

    def start(work: int, words: Sequence[int]) -> None:
        wanted = work if kernel.per_block else -(-work // threads)
        LAUNCHED.append(kernel)
        Grid(1 if kernel.single else min(wanted, BLOCKS), threads, lambda: function(*words)).run()

    return start


CUDA = Cuda()
LAUNCHED: list[Any] = []


def install(monkeypatch: Any) -> None:
    """Run kernels that are compiled from now on here. Short loops count as long, so that all ways
    to share work are taken."""
    compiling, kernels, steps, support = (
        importlib.import_module(f"tracegrad.codegen.cuda.{name}")
        for name in ("compile", "kernels", "steps", "support")
    )
    view, strided = support.view, support.strided
    monkeypatch.setattr(support, "view", lambda *given: np.asarray(view(*given)).view(Watched))
    monkeypatch.setattr(
        support, "strided", lambda *given: np.asarray(strided(*given)).view(Watched)
    )
    monkeypatch.setattr(support, "wait_for_grid", lambda arrivals, target: HERE.member.wait("grid"))
    monkeypatch.setattr(support, "cuda", CUDA)
    monkeypatch.setattr(compiling, "_on_simulator", starter)
    monkeypatch.setattr(kernels, "MOST_THREADS", THREADS)
    monkeypatch.setattr(steps, "NARROW", 8)
