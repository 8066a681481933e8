"""The source of a program's CUDA kernels, and how each is launched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import kernel, scalars, traversal
from ..integers import Int
from ..owners import Owners
from ..printer import dtype_name, integer
from .dependence import statements, touched, used
from .linear import linear
from .private import private
from .steps import (
    Choose,
    Fetch,
    HostSplit,
    KernelGroup,
    Repeat,
    Reserve,
    Routine,
    Step,
    Until,
    int_names,
)
from .team import MOST_THREADS, PARTS, WARP, ThreadTeam
from .teams import Body

OWN = (
    *(
        "thread",
        "threads",
        "block",
        "blocks",
        "member",
        "members",
        "round",
        "flat",
        "own",
        "shared",
    ),
    *("tile", "first", "last", "size", "before", "found", "all", "lane", "total"),
)
"""What kernels call the things of their own."""
FEW = 4
CELL = 16
"""Bytes of a cell."""


@dataclass(kw_only=True)
class DeviceKernel:
    """A kernel as something to launch. All its arguments are words of 8 bytes: addresses, strides,
    sizes."""

    name: str
    words: int
    threads: int
    """Threads of a block."""
    per_block: bool = False
    """Whether an item of work is for a whole block."""
    waits: bool = False
    """Whether blocks wait for each other, so that all must run at the same time."""
    single: bool = False
    """One block only."""


@dataclass(kw_only=True)
class Launch(DeviceKernel):
    """A kernel of a program: its arguments in order, and how much there is to do."""

    buffers: tuple[kernel.Buffer, ...]
    scratch: tuple[str, ...]
    """Of "arena", "status", "parts", "arrivals" those that it takes."""
    scalars: tuple[str, ...]
    work: Int
    """How many items there are to deal out at most at once."""
    source: str


@dataclass
class DevicePlan:
    """What the host does for one call, and the module that holds the kernels."""

    program: kernel.Program
    steps: list[Any]
    """Steps, with a `Launch` in place of each group."""
    source: str
    launches: tuple[Launch, ...]
    buffers: dict[str, kernel.Buffer]
    arena: Int

    def text(self) -> str:
        """The kernels, and before them in comments what the host does."""
        return "\n".join(
            ["# The host:", *[f"#     {line}" for line in _told(self.steps)], "", self.source]
        )


def _told(steps: Sequence[Any]) -> Iterator[str]:
    """What the host does, a line each."""

    def inside(steps: Sequence[Any]) -> Iterator[str]:
        return (f"    {line}" for line in _told(steps))

    for step in steps:
        match step:
            case Launch():
                how = (
                    "one block"
                    if step.single
                    else f"blocks for {step.work} items"
                    if step.per_block
                    else f"threads for {step.work} items"
                )
                yield f"{step.name}: {how}, {step.threads} threads a block" + (
                    ", waiting for each other" if step.waits else ""
                )
            case Routine(call):
                given = [getattr(a, "value", getattr(a, "name", a)) for a in call.arguments]
                yield f"{call.routine}({', '.join(map(str, given))})"
            case Fetch(name, _):
                yield f"{name} is fetched from the device"
            case Reserve(request):
                yield (
                    f"{request.name} = memory for "
                    f"{request.dtype.name}[{', '.join(map(str, request.shape))}]"
                )
            case Repeat(loop, inner):
                yield f"for {loop.index} in range({loop.lo}, {loop.hi}):"
                yield from inside(inner)
            case Until(name, test, inner):
                yield "while True:"
                yield from inside(test)
                yield f"    if not {name}: break"
                yield from inside(inner)
            case Choose(name, test, then, otherwise):
                yield from _told(test)
                yield f"if {name}:"
                yield from inside(then)
                if otherwise:
                    yield "else:"
                    yield from inside(otherwise)


def plan(program: kernel.Program, deterministic: bool = True) -> DevicePlan:
    """The kernels and host steps of a program."""
    program = linear(private(program))
    owners = Owners.of_program(program)
    split = HostSplit(program, deterministic, owners)
    tree = split.steps()
    cells = {
        name: replace(b, offset=program.arena + CELL * k)
        for k, (name, b) in enumerate(split.cells.items())
    }
    writer = _Writer(program, owners, cells, deterministic)
    steps = writer.steps(tree)
    lacking = scalars.host_only(writer.module())
    if lacking:
        raise NotImplementedError(
            f"{lacking[0]} is computed on processors only, and this program runs on a device: "
            "move its operands to the processor first, with x.cpu()"
        )
    return DevicePlan(
        program,
        steps,
        writer.module(),
        tuple(writer.launches),
        writer.buffers,
        program.arena + CELL * len(cells),
    )


class _Writer:
    def __init__(
        self,
        program: kernel.Program,
        owners: Owners,
        cells: dict[str, kernel.Buffer],
        deterministic: bool,
    ) -> None:
        self.program = program
        self.owners = owners
        self.deterministic = deterministic
        self.buffers = {**{b.name: b for b in program.buffers}, **cells}
        for phase in program.phases:
            for s in statements(phase.body):
                if isinstance(s, kernel.Allocate):
                    self.buffers[s.name] = kernel.Buffer(s.name, s.dtype, s.shape, "local", of=s.of)
        taken = set(self.buffers) | {name for name, _ in program.sizes}
        for phase in program.phases:
            for s in statements(phase.body):
                taken |= used([s]) | {
                    s.name for _ in [0] if isinstance(s, (kernel.Let, kernel.Declare))
                }
                taken |= {s.index} if isinstance(s, kernel.Loop) else set()
        self.names = {}
        for word in OWN:
            name = word
            while any(
                t == name or t.startswith(f"{name}_") or re.fullmatch(rf"{name}\d+", t)
                for t in taken
            ):
                name = f"my_{name}"
            self.names[word] = name
        self.launches: list[Launch] = []
        self.imports: dict[str, set[str]] = {}

    def steps(self, tree: Sequence[Step]) -> list[Any]:
        found: list[Any] = []
        for step in tree:
            match step:
                case KernelGroup():
                    found.append(self.launch(step))
                case Repeat(loop, steps):
                    found.append(Repeat(loop, self.steps(steps)))
                case Until(name, test, steps, checks):
                    found.append(Until(name, self.steps(test), self.steps(steps), checks))
                case Choose(name, test, then, otherwise):
                    found.append(
                        Choose(name, self.steps(test), self.steps(then), self.steps(otherwise))
                    )
                case _:
                    found.append(step)
        return found

    def launch(self, group: KernelGroup) -> Launch:
        body = self.written(group, ThreadTeam.GRID)
        single = False
        if body.waits and body.widest <= 4 * MOST_THREADS:
            body, single = self.written(group, ThreadTeam.BLOCK), True
        number = len(self.launches)
        name = f"{self.program.name}_{number}"
        mentioned = {n for s in group.body for n in _buffers([s])}
        mentioned |= self.owners.all(mentioned)
        buffers = [b for b in self.buffers.values() if b.name in mentioned]
        given = tuple(b for b in buffers if not b.of and b.role != "temp")
        scratch = []
        if any(b.role == "temp" and not b.of for b in buffers):
            scratch.append("arena")
        text = "\n".join(body.lines)
        scratch += [
            word for word in ("status", "parts", "arrivals") if re.search(rf"\b{word}\b", text)
        ]
        scalars = sorted(
            int_names(group.body)
            | {n for b in buffers for s in b.shape for n in traversal.names_in(s)}
            | {n for b in buffers for n in traversal.names_in(b.offset)}
        )
        start = self.start_of(name, group, given, scratch, scalars, buffers, body)
        for module, names in body.used.items():
            self.imports.setdefault(module, set()).update(names)
        threads = MOST_THREADS
        if body.per_block or body.team is ThreadTeam.BLOCK:
            # A few things at a time are done sooner by one thread than by threads that wait for
            # each other.
            threads = (
                max(WARP, min(MOST_THREADS, 1 << (max(body.widest, 1) - 1).bit_length()))
                if body.widest > FEW
                else 1
            )
        made = Launch(
            name=name,
            words=sum(1 + (len(b.shape) if b.layout == "A" else 0) for b in given)
            + len(scratch)
            + len(scalars),
            threads=threads,
            per_block=body.per_block,
            waits=body.waits and not single,
            single=single,
            buffers=given,
            scratch=tuple(scratch),
            scalars=tuple(scalars),
            work=1 if single else body.work,
            source=start + text,
        )
        self.launches.append(made)
        return made

    def written(self, group: KernelGroup, team: ThreadTeam) -> Body:
        body = Body(self.program, self.names, self.owners, team, self.deterministic)
        if group.trusted:
            (loop,) = group.body
            assert isinstance(loop, kernel.Loop)
            body.shared_loop(1, loop)
        else:
            body.body(1, group.body)
        return body

    def start_of(
        self,
        name: str,
        group: KernelGroup,
        given: Any,
        scratch: Any,
        scalars: Any,
        buffers: Any,
        body: Body,
    ) -> str:
        parameters: list[str] = []
        for b in given:
            parameters.append(b.name)
            if b.layout == "A":
                parameters += [f"{b.name}_stride_{axis}" for axis in range(len(b.shape))]
        lines = [f"def {name}({', '.join([*parameters, *scratch, *scalars])}):"]
        own = self.names
        lines += [
            f"    {own['thread']} = index(cuda.threadIdx.x)",
            f"    {own['threads']} = index(cuda.blockDim.x)",
        ]
        lines += [
            f"    {own['block']} = index(cuda.blockIdx.x)",
            f"    {own['blocks']} = index(cuda.gridDim.x)",
        ]
        lines += [
            f"    {own['member']} = {own['block']} * {own['threads']} + {own['thread']}",
            f"    {own['members']} = {own['blocks']} * {own['threads']}",
        ]
        lines += [f"    {own['round']} = index(0)"] if "arrivals" in scratch else []
        for b in sorted(buffers, key=lambda b: bool(b.of)):
            shape = "(" + ", ".join(map(integer, b.shape)) + (",)" if len(b.shape) == 1 else ")")
            dtype = f"np.{dtype_name(b.dtype)}"
            if b.of:
                lines.append(f"    {b.name} = view({b.of}, index(0), {shape}, {dtype})")
            elif b.role == "temp":
                lines.append(f"    {b.name} = view(arena, {integer(b.offset)}, {shape}, {dtype})")
            elif b.layout == "A":
                strides = (
                    "(" + "".join(f"{b.name}_stride_{axis}, " for axis in range(len(b.shape))) + ")"
                )
                lines.append(f"    {b.name} = strided({b.name}, {shape}, {strides}, {dtype})")
            else:
                lines.append(f"    {b.name} = view({b.name}, index(0), {shape}, {dtype})")
        for word in scratch:
            if word == "status":
                lines.append("    status = view(status, index(0), (index(2),), np.int64)")
            if word == "arrivals":
                lines.append("    arrivals = view(arrivals, index(0), (index(1),), np.uint64)")
        for dtype, array in body.shared.items():
            lines.append(
                f"    {array} = cuda.shared.array({MOST_THREADS}, "
                f"np.{dtype if dtype != 'bool' else 'bool_'})"
            )
        return "\n".join(lines) + "\n"

    def module(self) -> str:
        text = "\n\n\n".join(x.source for x in self.launches)
        return header(self.imports, text) + text + "\n"


def header(used: Mapping[str, set[str]], text: str) -> str:
    """The imports of a module whose code is `text`, in which these functions are used."""
    lines = ["import numpy as np", "from numba import cuda", ""]
    support = sorted({w for w in ("acc", "index", "signed") if re.search(rf"\b{w}\(", text)})
    if support:
        lines.append(f"from tracegrad.codegen.native.support import {', '.join(support)}")
    for module, names in sorted(used.items()):
        if names and module not in ("cuda", "support"):
            lines.append(
                f"from tracegrad.codegen.native.{module} import {', '.join(sorted(names))}"
            )
    own = sorted(
        used.get("cuda", set())
        | {w for w in ("matmul", "strided", "view") if re.search(rf"\b{w}\(", text)}
    )
    if own:
        lines.append(f"from tracegrad.codegen.cuda.support import {', '.join(own)}")
    return "\n".join(lines) + "\n\n\n"


def _buffers(body: Sequence[kernel.Statement]) -> set[str]:
    read, written = touched(body, Owners({}))
    return read | written


__all__ = ["PARTS", "DeviceKernel", "DevicePlan", "Launch", "header", "plan"]
