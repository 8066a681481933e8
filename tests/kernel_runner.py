"""Running kernel programs statement by statement, as their grammar says and no more: what the
passes over programs are checked against.

Passes of a loop that is not in order, and of a parallel phase, run in any order; memory that
nobody has written holds NaN; a view is a view.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracegrad._codegen import integers, kernel

COMBINE: dict[str | None, Any] = {
    None: lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": max,
    "min": min,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
}

FUNCTIONS = {
    "index": int,
    "signed": int,
    "sin": np.sin,
    "cos": np.cos,
    "square": np.square,
    "abs_": np.abs,
    "floor": np.floor,
    "maximum": np.maximum,
    "select": lambda test, yes, no: yes if test else no,
}
"""What templates call."""


@functools.cache
def compiled(code: str) -> Any:
    return compile(re.sub(r"[{}]", "", code), "<template>", "eval")


def unwritten(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Memory in which nothing stands that anybody may want."""
    return np.full(shape, np.nan if dtype.kind == "f" else 77, dtype)


class Runner:
    """One run of a program; `order` is the seed of the order in which passes go that may go in
    any."""

    def __init__(self, program: kernel.Program, inputs: Sequence[np.ndarray], order: int) -> None:
        self.program, self.random = program, random.Random(order)
        self.sizes: dict[str, Any] = {}
        self.failed: tuple[int, Any] | None = None
        """The code and the value of what failed first."""
        given = iter(inputs)
        self.memory: dict[str, np.ndarray] = {}
        for b in program.buffers:
            if b.role == "in":
                self.memory[b.name] = np.array(next(given), b.dtype)
        for name, (source, axis) in program.sizes:
            self.sizes[name] = self.memory[source].shape[axis]
        arena = unwritten((self.value(program.arena, self.sizes) // 8 + 8,), np.dtype(float)).view(
            np.uint8
        )
        placed = "places in the arena" in program.made_by
        for b in program.buffers:
            shape = tuple(self.value(s, self.sizes) for s in b.shape)
            if b.of:
                continue
            if placed and b.role == "temp":
                start = self.value(b.offset, self.sizes)
                self.memory[b.name] = np.ndarray(shape, b.dtype, arena, start)
            elif b.role != "in":
                self.memory[b.name] = unwritten(shape, b.dtype)
        for b in program.buffers:
            if b.of:
                self.memory[b.name] = self.memory[b.of].reshape(
                    tuple(self.value(s, self.sizes) for s in b.shape)
                )

    def run(self) -> list[np.ndarray]:
        for phase in self.program.phases:
            if phase.kind == "parallel":
                (loop,) = phase.body
                assert isinstance(loop, kernel.Loop)
                for i in self.shuffled(loop, self.sizes):
                    # Each pass in memory of its own, whoever's thread it runs in.
                    names: dict[str, Any] = {**self.sizes, loop.index: i}
                    self.body(phase.local, names)
                    self.body(loop.body, names)
            else:
                self.body(phase.body, dict(self.sizes))
        return [self.memory[b.name] for b in self.program.buffers if b.role == "out"]

    def value(self, i: Any, names: dict[str, Any]) -> int:
        if isinstance(i, int):
            return i
        if isinstance(i, integers.Integer):
            return int(integers.evaluate(i, names))
        return int(self.expression(i, names))

    def passes(self, loop: kernel.Loop, names: dict[str, Any]) -> list[int]:
        """In order. Compiled code's integers have no sign: a negative end would be a far one."""
        lo, hi = self.value(loop.lo, names), self.value(loop.hi, names)
        assert min(lo, hi) >= 0, f"for {loop.index} in range({loop.lo}, {loop.hi}): {lo}, {hi}"
        return list(range(lo, hi))

    def shuffled(self, loop: kernel.Loop, names: dict[str, Any]) -> list[int]:
        passes = self.passes(loop, names)
        if not loop.sequential:
            self.random.shuffle(passes)
        return passes

    def body(self, body: Sequence[kernel.Statement], names: dict[str, Any]) -> None:
        for s in body:
            self.statement(s, names)

    def statement(self, s: kernel.Statement, names: dict[str, Any]) -> None:
        match s:
            case kernel.Let(name, value) | kernel.Declare(name, value):
                names[name] = self.expression(value, names)
            case kernel.Update(name, value, combine):
                names[name] = COMBINE[combine](names[name], self.expression(value, names))
            case kernel.Store(buffer, at, value, combine):
                new, place = self.expression(value, names), tuple(self.value(i, names) for i in at)
                self.touch(buffer, place, "added" if combine == "add" else "written")
                self.memory[buffer][place] = (
                    new if combine is None else COMBINE[combine](self.memory[buffer][place], new)
                )
            case kernel.Loop(index, _, _, inner):
                for i in self.shuffled(s, names):
                    names[index] = i
                    self.passed(s, i)
                    self.body(inner, names)
                self.left(s)
            case kernel.While(condition, inner, checked):
                while self.expression(condition, names) and not (checked and self.failed):
                    self.body(inner, names)
            case kernel.If(condition, then, otherwise):
                self.body(then if self.expression(condition, names) else otherwise, names)
            case kernel.Grow(name, length):
                there = self.memory[name]
                more = max(0, self.expression(length, names) - len(there))
                room = unwritten((int(more), *there.shape[1:]), there.dtype)
                self.memory[name] = np.concatenate([there, room])
            case kernel.Allocate(name, dtype, shape, of):
                sizes = tuple(self.value(n, names) for n in shape)
                self.memory[name] = (
                    self.memory[of].reshape(sizes) if of else unwritten(sizes, dtype)
                )
            case kernel.Check(condition, code, value):
                if not self.failed and not self.expression(condition, names):
                    self.failed = code, self.expression(value, names)
            case kernel.Call("routines.reversed", (source, out)):
                assert isinstance(source, str)
                assert isinstance(out, str)
                for k in range(self.memory[source].size):
                    self.touch(source, np.unravel_index(k, self.memory[source].shape), "read")
                    self.touch(out, np.unravel_index(k, self.memory[out].shape), "written")
                self.memory[out].reshape(-1)[:] = self.memory[source].reshape(-1)[::-1].copy()
            case _:
                raise AssertionError(f"no such statement here: {s}")

    def expression(self, e: Any, names: dict[str, Any]) -> Any:
        match e:
            case kernel.Name(name, _):
                return names[name]
            case kernel.Literal(value, dtype):
                return dtype.type(value)
            case kernel.Load(buffer, at, _):
                place = tuple(self.value(i, names) for i in at)
                self.touch(buffer, place, "read")
                return self.memory[buffer][place]
            case kernel.Index(value, _):
                return np.int64(self.value(value, names))
            case kernel.Apply(code, arguments, dtype):
                known = {name: self.expression(a, names) for name, a in arguments}
                return dtype.type(eval(compiled(code), FUNCTIONS, known))
        raise AssertionError(f"no such expression here: {e}")

    # What runs may ask besides.

    def touch(self, buffer: str, place: Any, how: str) -> None:
        """An element is "read", "written" or "added" to."""

    def passed(self, loop: kernel.Loop, i: int) -> None:
        """A pass of a loop begins."""

    def left(self, loop: kernel.Loop) -> None:
        """A loop has ended."""


class Watching(Runner):
    """A run in order that finds the loops of which two passes meet in memory, other than by reading
    it both or by adding to it both."""

    def __init__(self, program: kernel.Program, inputs: Sequence[np.ndarray]) -> None:
        super().__init__(program, inputs, 0)
        self.open: list[tuple[str, dict[int, dict[str, set[int]]]]] = []
        self.now: dict[str, int] = {}
        self.meeting: set[str] = set()

    def shuffled(self, loop: kernel.Loop, names: dict[str, Any]) -> list[int]:
        self.open.append((loop.index, {}))
        return self.passes(loop, names)

    def passed(self, loop: kernel.Loop, i: int) -> None:
        self.now[loop.index] = i

    def left(self, loop: kernel.Loop) -> None:
        self.open.pop()

    def touch(self, buffer: str, place: Any, how: str) -> None:
        array = self.memory[buffer]
        at = (
            array.__array_interface__["data"][0]
            + int(np.ravel_multi_index(place, array.shape)) * array.itemsize
        )
        for index, cells in self.open:
            passes = cells.setdefault(at, {"read": set(), "written": set(), "added": set()})
            passes[how].add(self.now[index])
            if len(set().union(*passes.values())) > 1 and (
                passes["written"] or (passes["added"] and passes["read"])
            ):
                self.meeting.add(index)
