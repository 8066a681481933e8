"""Short trailing axes across memory: where a loop runs along the axis before a short unrolled one,
its buffers are kept transposed.

`centres[j, 0], centres[j, 1], ...` inside a loop over j are reads at a stride, which vectorise
badly. A temporary that is read or written so changes its layout for good; an input that an outer
loop reads again and again is copied once, before the phase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..._codegen import integers, kernel, owners, traversal
from ...types import Shape

WIDEST = 16
"""Axes up to this size count as short."""
REUSED = 16
"""An input is copied where it is read at least this many times."""


def transpose_short_axes(
    phases: list[kernel.Phase], buffers: dict[str, kernel.Buffer], fresh: Callable[[str], str]
) -> list[kernel.Phase]:
    """The phases with such buffers transposed; changes and adds to `buffers`."""
    fixed = _fixed(phases, buffers)
    across = [_across(p, buffers) - fixed for p in phases]
    temps = {name for found in across for name in found if buffers[name].role == "temp"}
    for name in temps:
        old = buffers[name]
        buffers[name] = replace(old, shape=_swapped(old.shape))
    phases = [_with(p, dict.fromkeys(temps, "")) for p in phases]
    result: list[kernel.Phase] = []
    copies: dict[str, str] = {}
    for phase, found in zip(phases, across, strict=True):
        inputs = {name for name in found - temps if buffers[name].role == "in"}
        for name in sorted(inputs - set(copies)):
            copies[name] = fresh(f"{name}_packed")
            buffers[copies[name]] = kernel.Buffer(
                copies[name], buffers[name].dtype, _swapped(buffers[name].shape), "temp"
            )
            result.append(
                _copy(buffers[name], copies[name], [fresh("p") for _ in buffers[name].shape])
            )
        result.append(_with(phase, {name: copies[name] for name in inputs}))
    return result


def _swapped(index: Sequence[Any]) -> tuple[Any, ...]:
    return (*index[:-2], index[-1], index[-2])


def is_narrow(shape: Shape) -> bool:
    """Whether the last axis is short."""
    return len(shape) > 1 and isinstance(shape[-1], int) and 1 < shape[-1] <= WIDEST


def _fixed(phases: list[kernel.Phase], buffers: dict[str, kernel.Buffer]) -> set[str]:
    """Buffers whose layout others rely on: arguments of routines, views, and those shown in another
    shape."""
    owner = owners.Owners(buffers)
    views = {name for name in buffers if owner.is_view(name)}
    found = views | owner.all(views) | {b.name for b in buffers.values() if not is_narrow(b.shape)}

    def visit(s: kernel.Statement) -> None:
        if isinstance(s, kernel.Call):
            found.update(a for a in s.arguments if isinstance(a, str))

    for phase in phases:
        kernel.walk(phase.body, visit)
    return found


def _across(phase: kernel.Phase, buffers: dict[str, kernel.Buffer]) -> set[str]:
    """What is accessed at constant places of its short last axis while the innermost loop runs
    along the axis before; inputs if often."""
    found: set[str] = set()

    def access(buffer: str, at: Sequence[Any], loops: Sequence[kernel.Loop]) -> None:
        if buffer not in buffers or len(at) < 2 or not isinstance(at[-1], int) or not loops:
            return
        if (
            not isinstance(at[-2], integers.Integer)
            or integers.coefficient(at[-2], loops[-1].index) != 1
        ):
            return
        if any(isinstance(s, (kernel.Loop, kernel.While)) for s in loops[-1].body):
            return
        if buffers[buffer].role != "in" or any(is_long(loop) for loop in idle(at, loops)):
            found.add(buffer)

    def visit(body: Sequence[kernel.Statement], loops: tuple[kernel.Loop, ...]) -> None:
        for s in body:
            for load in traversal.loads(s):
                access(load.buffer, load.index, loops)
            if isinstance(s, kernel.Store):
                access(s.buffer, s.index, loops)
            for inner in traversal.bodies(s):
                visit(inner, (*loops, s) if isinstance(s, kernel.Loop) else loops)

    visit(phase.body, ())
    return found


def idle(at: Sequence[Any], loops: Sequence[kernel.Loop]) -> list[kernel.Loop]:
    """The loops on which a place does not depend, neither by its index nor by the ranges of the
    loops that it depends on."""
    used = set().union(*[integers.symbols(i) for i in at if isinstance(i, integers.Integer)])
    idle = []
    for loop in reversed(loops):
        if loop.index in used:
            used |= set().union(
                *[
                    integers.symbols(i)
                    for i in (loop.lo, loop.hi)
                    if isinstance(i, integers.Integer)
                ]
            )
        else:
            idle.append(loop)
    return idle


def is_long(loop: kernel.Loop) -> bool:
    """Whether what a loop does not change is read often enough in it."""
    trips = loop.trips
    return not isinstance(trips, int) or trips >= REUSED


def _with(phase: kernel.Phase, renamed: dict[str, str]) -> kernel.Phase:
    """The phase with accesses to these buffers transposed, under another name where there is
    one."""
    if not renamed or not renamed.keys() & traversal.mentioned(phase.body):
        return phase

    def move(buffer: str, at: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        return (renamed[buffer] or buffer, _swapped(at)) if buffer in renamed else (buffer, at)

    return traversal.with_parts(phase, body=traversal.moved(phase.body, move))


def _copy(source: kernel.Buffer, name: str, indices: Sequence[str]) -> kernel.Phase:
    """`name[..., c, j] = source[..., j, c]`"""
    at = tuple(integers.symbol(i) for i in indices)
    body: kernel.Statement = kernel.Store(
        name, _swapped(at), kernel.Load(source.name, at, source.dtype)
    )
    for index, size in reversed(list(zip(indices, source.shape, strict=True))):
        body = kernel.Loop(index, 0, size, (body,))
    return kernel.Phase("serial", (body,), f"{source.name} with its short axis before the long one")
