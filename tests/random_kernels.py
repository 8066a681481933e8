"""Random kernel programs in which buffers show each other's memory: loops over lanes in loops
over time, carries that are copied, pieces, items."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np

from tests.kernel_runner import Watching
from tracegrad._codegen import integers, kernel, traversal
from tracegrad.types import Int

F64, FLAG = np.dtype(np.float64), np.dtype(np.bool_)
LANES = 12
SHAPES: tuple[tuple[int, ...], ...] = (
    *((LANES,), (LANES, 2), (2, LANES), (LANES, LANES), (24,), (4, 6), (2, 3, 4), (3, 4), (2, 3)),
    *((6,), (1,), (LANES, 1), (LANES, 2, 3), (6, LANES), (3, 2), (1, 6), (8, 9)),
)
CODES = (
    "{x} + {y}",
    "{x} - {y}",
    "0.5 * {x} + {y}",
    "{x} + 0.25 * {y}",
    "{y} - 0.5 * {x}",
    "{x} + {y} + 1.0",
)


class Making:
    """One program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.buffers: dict[str, kernel.Buffer] = {}
        self.count = 0
        for k in range(2):
            self.buffer(f"x{k}", "in")
        for k in range(self.random.choice((1, 2))):
            self.buffer(f"o{k}", "out")
        for k in range(self.random.choice((1, 2, 3))):
            self.buffer(f"t{k}", "temp")
        for b in list(self.buffers.values()):
            if b.role != "in" and self.random.random() < 0.6:
                # What follows on it.
                self.buffers[f"{b.name}_next"] = kernel.Buffer(
                    f"{b.name}_next", F64, b.shape, "temp"
                )
        for b in list(self.buffers.values()):
            self.views(b)

    def buffer(self, name: str, role: Any) -> kernel.Buffer:
        known = [b.shape for b in self.buffers.values() if role == "out" and b.role == "in"]
        self.buffers[name] = kernel.Buffer(
            name,
            F64,
            self.random.choice(known if known and self.random.random() < 0.5 else SHAPES),
            role,
        )
        return self.buffers[name]

    def views(self, b: kernel.Buffer) -> None:
        size = int(np.prod(b.shape))
        for shape in self.random.sample(
            [s for s in (*SHAPES, (size,)) if np.prod(s) == size and s != b.shape] or [b.shape], 1
        ):
            if shape != b.shape and self.random.random() < 0.7:
                self.buffers[f"{b.name}_shown"] = kernel.Buffer(
                    f"{b.name}_shown", F64, shape, "temp", of=b.name
                )

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    # --- pieces -----------------------------------------------------------------------------
    # ----------------------------

    def place(self, size: int, loops: dict[str, int]) -> Int:
        """An index inside of an axis."""
        choices: list[Int] = [self.random.randrange(size)]
        for name, extent in loops.items():
            i = integers.symbol(name)
            if extent <= size:
                choices += [
                    i,
                    i,
                    i,
                    i + (size - extent),
                    size - 1 - i,
                    integers.mod(i + self.random.randrange(1, size + 1), size),
                ]
            elif self.random.random() < 0.3:
                choices += [integers.mod(i, size), integers.floordiv(i * size, extent)]
        return self.random.choice(choices)

    def load(self, loops: dict[str, int], among: list[str] | None = None) -> kernel.Load:
        b = self.buffers[
            self.random.choice(among or [n for n in self.buffers if not n.startswith("u")])
        ]
        at = tuple(self.place(s, loops) for s in b.shape)
        if self.random.random() < 0.5:
            at = tuple(
                next((integers.symbol(n) for n, e in loops.items() if e == s), i)
                for s, i in zip(b.shape, at, strict=True)
            )
        return kernel.Load(b.name, at, F64)

    def value(
        self, loops: dict[str, int], among: list[str] | None = None
    ) -> tuple[list[kernel.Statement], kernel.Expression]:
        x, y = self.fresh("v"), self.fresh("v")
        made: list[kernel.Statement] = [
            kernel.Let(x, self.load(loops, among)),
            kernel.Let(y, self.load(loops)),
        ]
        z = kernel.Apply(
            self.random.choice(CODES), (("x", kernel.Name(x, F64)), ("y", kernel.Name(y, F64))), F64
        )
        if self.random.random() < 0.7:
            name = self.fresh("v")
            return [*made, kernel.Let(name, z)], kernel.Name(name, F64)
        return made, z

    def over(
        self, b: kernel.Buffer, loops: dict[str, int], write: Any, order: bool = True
    ) -> kernel.Statement:
        """Loops over all of a buffer, short axes written out or not; `write(at, loops)` gives the
        statements."""
        axes = list(range(len(b.shape)))
        if order and self.random.random() < 0.2:
            self.random.shuffle(axes)
        unrolled = (
            {axes[-1]}
            if len(axes) > 1 and b.shape[axes[-1]] <= 3 and self.random.random() < 0.4
            else set()
        )
        names = {a: self.fresh("i") for a in axes if a not in unrolled}
        inner = {**loops, **{name: int(b.shape[a]) for a, name in names.items()}}
        body: list[kernel.Statement] = []
        for k in range(int(b.shape[axes[-1]]) if unrolled else 1):
            at = tuple(integers.symbol(names[a]) if a in names else k for a in range(len(b.shape)))
            body += write(at, inner)
        for a in reversed([a for a in axes if a in names]):
            body = [kernel.Loop(names[a], 0, b.shape[a], tuple(body), True)]
        return body[0]

    def target(self) -> kernel.Buffer:
        return self.random.choice(
            [
                b
                for b in self.buffers.values()
                if b.role in ("out", "temp") and not b.of and b.name[0] != "u"
            ]
        )

    def written(
        self, b: kernel.Buffer, loops: dict[str, int], among: list[str] | None = None
    ) -> kernel.Statement:
        def write(at: Any, inner: dict[str, int]) -> list[kernel.Statement]:
            made, value = self.value(inner, among)
            found: list[kernel.Statement] = [*made, kernel.Store(b.name, at, value)]
            if self.random.random() < 0.15:
                # It changes again, which whoever forwards the value must see.
                more, other = self.value(inner)
                k = self.fresh("i")
                again = kernel.Store(b.name, at, other, self.random.choice((None, "add")))
                found += [kernel.Loop(k, 0, 2, (*more, again), True)]
            elif self.random.random() < 0.15:
                more, other = self.value(inner)
                flag = kernel.Apply(
                    "{i} > 1", (("i", kernel.Index(integers.symbol(list(inner)[-1]))),), FLAG
                )
                found += [kernel.If(flag, (*more, kernel.Store(b.name, at, other)))]
            elif self.random.random() < 0.15:
                total, k = self.fresh("s"), self.fresh("i")
                added = kernel.Update(total, self.load({**inner, k: 4}), "add")
                found = [
                    kernel.Declare(total, kernel.Literal(1.0, F64)),
                    kernel.Loop(k, 0, 4, (added,), True),
                    kernel.Store(b.name, at, kernel.Name(total, F64)),
                    kernel.Update(total, kernel.Literal(2.0, F64), "add"),
                ]
            return found

        return self.over(b, loops, write)

    def copied(self, b: kernel.Buffer, source: str, loops: dict[str, int]) -> kernel.Statement:
        def write(at: Any, inner: dict[str, int]) -> list[kernel.Statement]:
            if self.random.random() < 0.5:
                return [kernel.Store(b.name, at, kernel.Load(source, at, F64))]
            name = self.fresh("v")
            return [
                kernel.Let(name, kernel.Load(source, at, F64)),
                kernel.Store(b.name, at, kernel.Name(name, F64)),
            ]

        return self.over(b, loops, write, False)

    def stepped(self, loops: dict[str, int]) -> list[kernel.Statement]:
        """What follows on a carry, and then the copy."""
        carries = [
            n
            for n in self.buffers
            if n.endswith("_next") and not self.buffers[n].of and n[0] != "u"
        ]
        if not carries:
            return [self.written(self.target(), loops)]
        found: list[kernel.Statement] = []
        for name in self.random.sample(carries, self.random.choice((1, 1, min(2, len(carries))))):
            b = self.buffers[name.removesuffix("_next")]
            among = [
                n
                for n in (b.name, f"{b.name}_shown", b.name, "x0_shown", f"{name}_shown")
                if n in self.buffers
            ]
            found += [self.written(self.buffers[name], loops, among), self.copied(b, name, loops)]
        return found

    def small(self, loops: dict[str, int]) -> kernel.Statement:
        """A write to a part."""
        b, i = self.target(), self.fresh("i")
        n = self.random.choice((2, 3, LANES))
        inner = {**loops, i: n}
        made, value = self.value(inner)
        at = tuple(self.place(s, inner) for s in b.shape)
        return kernel.Loop(
            i,
            0,
            n,
            (*made, kernel.Store(b.name, at, value, self.random.choice((None, None, "add")))),
            True,
        )

    def chain(self, loops: dict[str, int]) -> kernel.Statement:
        """Steps that call a function of what the step before has left."""
        (state, total), i = (self.target(), self.target()), self.fresh("i")
        inner = {**loops, i: LANES}
        here = tuple(self.place(s, loops) for s in state.shape)
        there = tuple(self.place(s, self.random.choice((loops, inner))) for s in total.shape)
        old, given, made, before = (kernel.Name(self.fresh("v"), F64) for _ in range(4))
        xy = (("x", old), ("y", given))
        steps = [
            kernel.Store(
                total.name,
                there,
                kernel.Apply(self.random.choice(CODES), (("x", before), ("y", made)), F64),
            ),
            kernel.Store(state.name, here, kernel.Apply("0.5 * {x} + {y}", xy, F64)),
        ]
        first = [
            kernel.Let(old.name, kernel.Load(state.name, here, F64)),
            kernel.Let(given.name, self.load(inner, ["x0", "x1"])),
            kernel.Let(made.name, kernel.Apply("sin({x}) + {y}", xy, F64)),
            kernel.Let(before.name, kernel.Load(total.name, there, F64)),
        ]
        return kernel.Loop(i, 0, LANES, (*first, *self.random.sample(steps, 2)), True)

    def call(self) -> kernel.Statement | None:
        b = self.target()
        sources = [
            n
            for n, x in self.buffers.items()
            if np.prod(x.shape) == np.prod(b.shape) and b.name not in (n, x.of) and n[0] != "u"
        ]
        return (
            kernel.Call("routines.reversed", (self.random.choice(sources), b.name), work=1)
            if sources
            else None
        )

    def items(self) -> list[kernel.Statement]:
        """Items with temporaries of their own, which go through loops by themselves."""
        i, t, shape = (
            self.fresh("item"),
            self.fresh("t"),
            self.random.choice(((2, 3), (3,), (2,), (1,))),
        )
        own = self.fresh("u")
        self.buffers[own] = kernel.Buffer(own, F64, shape, "temp")
        self.buffers[f"{own}_next"] = kernel.Buffer(f"{own}_next", F64, shape, "temp")
        among = [own]
        if self.random.random() < 0.5 and len(shape) == 2:
            self.buffers[f"{own}_shown"] = kernel.Buffer(f"{own}_shown", F64, (6,), "temp", of=own)
            among.append(f"{own}_shown")
        outs = [
            b
            for b in self.buffers.values()
            if b.role != "in" and not b.of and b.name[0] != "u" and b.shape[0] == LANES
        ]
        loops = {i: LANES}
        first = self.over(
            self.buffers[own],
            loops,
            lambda at, inner: [kernel.Store(own, at, self.load(inner, ["x0", "x1"]))],
        )
        step = [
            self.written(self.buffers[f"{own}_next"], {**loops, t: 3}, among),
            self.copied(self.buffers[own], f"{own}_next", loops),
        ]
        body: list[kernel.Statement] = [first]
        if self.random.random() < 0.6:
            n = f"{own}_n"
            self.buffers[n] = kernel.Buffer(n, np.dtype(np.int64), (1,), "temp")
            count = kernel.Load(n, (0,), kernel.INT64)
            limit = kernel.Index(integers.mod(integers.symbol(i), 3) + 1)
            step = [
                traversal.mapped((s,), lambda e: 1 if e == integers.symbol(t) else _without(e, t))[
                    0
                ]
                for s in step
            ]
            body += [
                kernel.Store(n, (0,), kernel.Literal(0, kernel.INT64)),
                kernel.While(
                    kernel.Apply("{n} < {m}", (("n", count), ("m", limit)), FLAG),
                    (
                        *step,
                        kernel.Store(
                            n, (0,), kernel.Apply("{x} + 1", (("x", count),), kernel.INT64)
                        ),
                    ),
                ),
            ]
        else:
            body.append(kernel.Loop(t, 0, 3, tuple(step), True))
        for b in outs[:2]:
            at = (integers.symbol(i), *[self.place(s, {}) for s in b.shape[1:]])
            body.append(kernel.Store(b.name, at, self.load({}, [own])))
        if not outs:
            return []
        names = frozenset(n for n in self.buffers if n.startswith(own) and not self.buffers[n].of)
        return [kernel.Loop(i, 0, LANES, tuple(body), True, names)]

    def turns(self) -> list[list[kernel.Statement]]:
        """A temporary made block by block, perhaps something else, and a loop in order that adds
        what it holds to a result."""
        rows = [
            b
            for b in self.buffers.values()
            if b.role == "temp" and not b.of and b.shape[0] == LANES and b.name[0] != "u"
        ]
        outs = [b for b in self.buffers.values() if b.role == "out"]
        if not rows:
            return []
        b, out = self.random.choice(rows), self.random.choice(outs)
        block, i, k = self.fresh("block"), self.fresh("i"), self.fresh("i")
        lo = integers.symbol(block) * 5
        made = [
            kernel.Store(b.name, at, self.load({i: LANES}))
            for at in np.ndindex(*map(int, b.shape[1:]))
            for at in [(integers.symbol(i), *at)]
        ]
        row = kernel.Loop(i, lo, integers.minimum(LANES, lo + 5), tuple(made))
        there = (integers.symbol(k), *[self.place(s, {}) for s in b.shape[1:]])
        place = tuple([self.place(s, {k: LANES}) for s in out.shape])
        added = kernel.Store(out.name, place, kernel.Load(b.name, there, F64), "add")
        between = [self.written(self.target(), {})] if self.random.random() < 0.5 else []
        later = [kernel.Loop(k, 0, LANES, (added,), True)]
        if self.random.random() < 0.3:
            later.insert(self.random.randrange(2), self.written(self.target(), {}))
        return [[kernel.Loop(block, 0, 3, (row,), True)], between, later]

    # --- the whole --------------------------------------------------------------------------
    # ----------------------------

    def statements(self, loops: dict[str, int], depth: int) -> list[kernel.Statement]:
        found: list[kernel.Statement] = []
        for _ in range(self.random.choice((1, 1, 2))):
            what = self.random.choice(
                ("write", "step", "step", "step", "small", "time", "time", "call", "items", "chain")
            )
            if what == "time" and depth < 2:
                t = self.fresh("t")
                found.append(
                    kernel.Loop(t, 0, 2, tuple(self.statements({**loops, t: 2}, depth + 1)), True)
                )
            elif what == "step":
                found += self.stepped(loops)
            elif what == "small":
                found.append(self.small(loops))
            elif what == "chain":
                found.append(self.chain(loops))
            elif what == "call" and (made := self.call()) is not None:
                found.append(made)
            elif what == "items" and depth == 0:
                found += self.items()
            else:
                found.append(self.written(self.target(), loops))
        return found

    def program(self) -> kernel.Program:
        first = [
            self.over(
                b,
                {},
                lambda at, inner, b=b: [kernel.Store(b.name, at, self.load(inner, ["x0", "x1"]))],
            )
            for b in list(self.buffers.values())
            if b.role != "in" and not b.of
        ]
        body = [*first, *self.statements({}, 0), *self.statements({}, 0)]
        last = [self.written(b, {}) for b in self.buffers.values() if b.role == "out"]
        body += self.random.choice(([], last))
        phases: list[kernel.Phase] = []
        while body:
            n = self.random.randrange(1, len(body) + 1)
            phases.append(kernel.Phase("serial", tuple(body[:n])))
            body = body[n:]
        if self.random.random() < 0.4:
            phases += [kernel.Phase("serial", tuple(part)) for part in self.turns() if part]
        order = {"in": 0, "out": 1, "temp": 2}
        buffers = tuple(sorted(self.buffers.values(), key=lambda b: order[b.role]))
        return kernel.Program("f", "", (), buffers, tuple(phases), made_by="nobody")


def _without(e: Any, name: str) -> Any:
    return integers.substitute(e, {name: 1}) if isinstance(e, integers.Integer) else e


def inputs_of(program: kernel.Program, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [
        random.integers(-4, 5, tuple(map(int, b.shape))).astype(float)
        for b in program.buffers
        if b.role == "in"
    ]


def random_program(seed: int) -> kernel.Program:
    """A program whose loops are in order only where two passes meet, and of which some long loops
    by themselves are parallel phases."""
    made = Making(seed)
    program = made.program()
    run = Watching(program, inputs_of(program, seed))
    run.run()

    def settle(s: kernel.Statement) -> kernel.Statement:
        return (
            replace(s, sequential=s.index in run.meeting)
            if isinstance(s, kernel.Loop) and s.own is None
            else (replace(s, sequential=False) if isinstance(s, kernel.Loop) else s)
        )

    phases: list[kernel.Phase] = []
    for phase in program.phases:
        body = traversal.mapped(phase.body, lambda e: e, settle)
        alone = (
            len(body) == 1
            and isinstance(body[0], kernel.Loop)
            and not body[0].sequential
            and body[0].own is None
        )
        phases.append(
            kernel.Phase("parallel" if alone and made.random.random() < 0.5 else "serial", body)
        )
    return replace(program, phases=tuple(phases))
