"""The verifier of programs: names stand once and before they are used, accesses fit their buffers,
ranges that are known are kept."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from operator import is_
from typing import Any, TypeAlias

import numpy as np

from . import integers, kernel
from .integers import Binary, Int, Integer, Symbol
from .traversal import mentioned_in, within

Ranges: TypeAlias = Mapping[str, tuple[Int, Int] | None]
"""The loop indices that are seen, [lo, hi); None where no more is known."""


@functools.cache
def _places(code: str) -> frozenset[str]:
    """The names of the arguments of a template."""
    return frozenset(re.findall(r"\{(\w+)\}", code))


class ProgramError(AssertionError):
    """A program does not keep the rules of the kernel language; a defect of the library, not of the
    user's code."""


Verified: TypeAlias = dict[int, list[Any]]
"""Of each phase that was found right in an earlier program of one pipeline, by identity, since
passes give back what they do not change: itself, and all of the program that it is right with."""


def verify_program(program: kernel.Program, known: Verified | None = None) -> kernel.Program:
    """The program itself, or a ProgramError that says what is wrong where. Phases that are known to
    be right are not looked at again; those that are found so are added."""
    _Verifier(program, {} if known is None else known).run()
    return program


def _same(parts: list[Any], others: list[Any]) -> bool:
    return len(parts) == len(others) and all(map(is_, parts, others))


class _Verifier:
    def __init__(self, program: kernel.Program, known: Verified) -> None:
        self.program, self.known = program, known
        self.sizes = {name for name, _ in program.sizes}
        self.buffers: dict[str, kernel.Buffer] = {}
        self.taken: set[str] = set()
        """Names of sizes and buffers, which no local may have."""
        self.where = ""
        self.resolved = "resolve views" in program.made_by
        """Whether what views show at known places is read of their owners."""

    def wrong(self, what: str) -> ProgramError:
        return ProgramError(
            f"{self.program.name}, after {self.program.made_by}: {self.where}{what}"
        )

    def run(self) -> None:
        program = self.program
        for name, (source, axis) in program.sizes:
            self.take(name)
            given = next((b for b in program.buffers if b.name == source and b.role == "in"), None)
            # An input in Fortran order has the shape of its transpose here, and its own axes for
            # its caller.
            shape = (
                () if given is None else given.shape[::-1] if given.layout == "F" else given.shape
            )
            if not axis < len(shape) or shape[axis] != integers.symbol(name):
                raise self.wrong(f"size {name} is not axis {axis} of an input {source}")
        for b in program.buffers:
            self.take(b.name)
            self.buffers[b.name] = b
        for b in program.buffers:
            self.shown(b, self.buffers)
            for size in b.shape:
                for name in set() if isinstance(size, int) else integers.symbols(size):
                    if name not in self.taken:
                        raise self.wrong(f"buffer {b.name} has the size {name}, which nobody knows")
        for number, phase in enumerate(program.phases):
            self.where = f"phase {number}: "
            if phase.kind == "parallel" and not (
                len(phase.body) == 1 and isinstance(phase.body[0], kernel.Loop)
            ):
                raise self.wrong("a parallel phase is one loop")
            parts = self.parts(phase)
            if not _same(parts, self.known.get(id(phase), [])):
                self.body((*phase.local, *phase.body), {}, {}, dict(self.buffers))
                self.known[id(phase)] = parts

    def parts(self, phase: kernel.Phase) -> list[Any]:
        """The phase and what is asked of the rest of the program where it is verified. That no
        local has the name of a buffer that came later is seen where it is verified as a whole."""
        names = sorted(mentioned_in(phase))
        buffers = [self.buffers.get(name) for name in names]
        owners = [self.buffers.get(b.of) for b in buffers if b is not None and b.of]
        return [phase, self.resolved, len(self.program.errors), *buffers, *owners]

    def take(self, name: str) -> None:
        if name in self.taken:
            raise self.wrong(f"the name {name} stands twice")
        self.taken.add(name)

    def shown(self, view: kernel.Buffer, buffers: Mapping[str, kernel.Buffer]) -> None:
        """A view shows all elements of an owner, which lie side by side."""
        if not view.of:
            return
        base = buffers.get(view.of)
        if base is None:
            raise self.wrong(f"{view.name} shows {view.of}, which is not there")
        if base.of:
            raise self.wrong(f"{view.name} shows {view.of}, which is a view of {base.of}")
        difference = integers.product(view.shape) - integers.product(base.shape)
        if (
            base.dtype != view.dtype
            or base.layout == "A"
            or (isinstance(difference, int) and difference)
        ):
            mine, there = f"{view.dtype}{view.shape}", f"{base.dtype}{base.shape}"
            raise self.wrong(
                f"{view.name}, {mine}, shows other memory than that of {view.of}, {there}"
            )
        if (view.role == "local") != (base.role == "local"):
            raise self.wrong(
                f"{view.name}, {view.role}, is made at another time than {view.of}, {base.role}"
            )

    # --- statements -------------------------------------------------------------------------------

    def body(
        self,
        body: Iterable[kernel.Statement],
        names: dict[str, tuple[np.dtype[Any], bool]],
        ranges: Ranges,
        buffers: dict[str, kernel.Buffer],
    ) -> None:
        """Statements that see these locals (dtype, whether it may be updated), loop indices [lo,
        hi) and buffers."""
        names = dict(names)
        for s in body:
            self.statement(s, names, ranges, buffers)

    def define(self, name: str, names: Mapping[str, Any], ranges: Ranges) -> None:
        if name in self.taken or name in names or name in ranges:
            raise self.wrong(f"the name {name} is given again where it is still seen")

    def statement(
        self,
        s: kernel.Statement,
        names: dict[str, tuple[np.dtype[Any], bool]],
        ranges: Ranges,
        buffers: dict[str, kernel.Buffer],
    ) -> None:
        def read(e: Any) -> None:
            self.expression(e, names, ranges, buffers)

        match s:
            case kernel.Let(name, value) | kernel.Declare(name, value):
                read(value)
                self.define(name, names, ranges)
                names[name] = value.dtype, isinstance(s, kernel.Declare)
            case kernel.Update(name, value):
                read(value)
                if name not in names or not names[name][1]:
                    raise self.wrong(f"{name} is updated and was not declared")
                if names[name][0] != value.dtype:
                    raise self.wrong(f"{name} is {names[name][0]} and gets a {value.dtype}")
            case kernel.Store(buffer, index, value):
                read(value)
                self.access(buffer, index, value.dtype, ranges, names, buffers)
                if buffers[buffer].role == "in":
                    raise self.wrong(f"the input {buffer} is written to")
                if buffers[buffer].of:
                    raise self.wrong(
                        f"the view {buffer} is written to, in place of {buffers[buffer].of}"
                    )
            case kernel.Loop(index, lo, hi, inner):
                for end in (lo, hi):
                    self.integer(end, names, ranges)
                    # Compiled code's integers have no sign: it would be a far one.
                    if (ends := _ends(end, ranges)) is not None and ends[0] < 0:
                        raise self.wrong(f"{index} runs from or to {end}, which is in {list(ends)}")
                self.define(index, names, ranges)
                self.body(inner, names, {**ranges, index: (lo, hi)}, dict(buffers))
            case kernel.While(condition, inner, checked):
                read(condition)
                if not checked and any(isinstance(t, kernel.Check) for t in within(inner)):
                    raise self.wrong("a loop goes on where something in it has failed")
                self.body(inner, names, ranges, dict(buffers))
            case kernel.If(condition, then, otherwise):
                read(condition)
                # The condition may say more of an index than its loop does.
                unknown = dict.fromkeys(ranges)
                self.body(then, names, unknown, dict(buffers))
                self.body(otherwise, names, unknown, dict(buffers))
            case kernel.Allocate(name, dtype, shape, of):
                for size in shape:
                    self.integer(size, names, ranges)
                if name in self.taken:
                    raise self.wrong(f"the name {name} stands twice")
                buffers[name] = kernel.Buffer(name, dtype, shape, "local", of=of)
                self.shown(buffers[name], buffers)
            case kernel.Grow(name, length):
                read(length)
                if name not in buffers or buffers[name].role != "local":
                    raise self.wrong(f"{name} grows and was not allocated")
                if buffers[name].of or any(b.of == name for b in buffers.values()):
                    raise self.wrong(
                        f"{name} grows, and moves away from what shows the same memory"
                    )
            case kernel.Call():
                for a in s.given:
                    if isinstance(a, str):
                        if a not in buffers and a != "status":
                            raise self.wrong(f"a routine gets {a}, which is not there")
                    elif isinstance(a, (int, Integer)):
                        self.integer(a, names, ranges)
                    else:
                        read(a)
            case kernel.Check(condition, code, value):
                read(condition)
                read(value)
                if not 1 <= code <= len(self.program.errors):
                    raise self.wrong(f"error {code} has no text")

    # --- what they read ---------------------------------------------------------------------------

    def expression(
        self, e: Any, names: Mapping[str, Any], ranges: Ranges, buffers: Mapping[str, kernel.Buffer]
    ) -> None:
        # No patterns: this sees every expression behind each pass.
        if isinstance(e, kernel.Name):
            if e.name not in names:
                raise self.wrong(f"{e.name} is read where nobody has given it")
            if names[e.name][0] != e.dtype:
                raise self.wrong(f"{e.name} is {names[e.name][0]} and is read as {e.dtype}")
        elif isinstance(e, kernel.Load):
            self.access(e.buffer, e.index, e.dtype, ranges, names, buffers)
        elif isinstance(e, kernel.Index):
            self.integer(e.value, names, ranges)
        elif isinstance(e, kernel.Apply):
            if not _places(e.code) <= {"dtype", *[name for name, _ in e.arguments]}:
                raise self.wrong(f"{e.code!r} is applied to {[name for name, _ in e.arguments]}")
            for _, a in e.arguments:
                self.expression(a, names, ranges, buffers)

    def integer(self, value: Int, names: Mapping[str, Any], ranges: Ranges) -> None:
        for name in () if isinstance(value, int) else integers.symbols(value):
            if name not in ranges and name not in names and name not in self.sizes:
                raise self.wrong(f"the integer {value} holds {name}, which nobody knows here")

    def access(
        self,
        buffer: str,
        index: tuple[Any, ...],
        dtype: np.dtype[Any],
        ranges: Ranges,
        names: Mapping[str, Any],
        buffers: Mapping[str, kernel.Buffer],
    ) -> None:
        known = buffers.get(buffer)
        if known is None:
            raise self.wrong(f"{buffer} is not there")
        if known.dtype != dtype:
            raise self.wrong(f"{buffer} holds {known.dtype} and is taken for {dtype}")
        if len(index) != len(known.shape):
            raise self.wrong(f"{buffer} of shape {known.shape} has the index {index}")
        if (
            known.of
            and self.resolved
            and all(isinstance(i, int) for i in (*index, *known.shape, *buffers[known.of].shape))
        ):
            raise self.wrong(f"{buffer} is read at {index}, a known place of {known.of}")
        for i, size in zip(index, known.shape, strict=True):
            if not isinstance(i, (int, Integer)):
                self.expression(i, names, ranges, buffers)
                continue
            self.integer(i, names, ranges)
            ends = _ends(i, ranges)
            if (
                ends is not None
                and isinstance(size, int)
                and known.role != "local"
                and not (ends[0] >= 0 and ends[1] < size)
            ):
                raise self.wrong(
                    f"{buffer} of shape {known.shape} is read or written at {index}, "
                    f"where {i} is in {list(ends)}"
                )


def _ends(value: Int, ranges: Ranges) -> tuple[int, int] | None:
    """The least and the largest that an integer may be where that is known by intervals; None
    otherwise, and in loops without passes."""
    if isinstance(value, int):
        return value, value
    low = high = 0
    for monomial, factor in value.terms:
        one: tuple[int, int] | None = (1, 1)
        for atom in monomial:
            found = _of_atom(atom, ranges)
            if found is None or one is None or found[0] < 0:
                return None
            one = one[0] * found[0], one[1] * found[1]
        assert one is not None
        low += factor * one[0] if factor > 0 else factor * one[1]
        high += factor * one[1] if factor > 0 else factor * one[0]
    # Several terms may depend on each other (`min(n, 4 b + 4) - 4 b`), which intervals do not see.
    return (low, high) if len(value.terms) - any(not m for m, _ in value.terms) <= 1 else None


def _of_atom(atom: Any, ranges: Ranges) -> tuple[int, int] | None:
    known = ranges.get(atom.name) if isinstance(atom, Symbol) else None
    if known is not None:
        lo, hi = known
        first, last = _ends(lo, ranges), _ends(hi, ranges)
        return (
            (first[0], last[1] - 1)
            if first is not None and last is not None and last[1] > first[0]
            else None
        )
    if isinstance(atom, Binary) and atom.op in ("min", "max"):
        left, right = _ends(atom.left, ranges), _ends(atom.right, ranges)
        if left is None or right is None:
            return None
        pick = min if atom.op == "min" else max
        return pick(left[0], right[0]), pick(left[1], right[1])
    return None
