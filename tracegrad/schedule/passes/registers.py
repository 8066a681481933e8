"""Small temporaries become local variables, which live in registers: carries of loops, flags,
counts.

Through memory a value that each step writes and the next one reads costs some nanoseconds a step,
and several times that where what is read was written in other pieces, or where its address happens
to resemble that of another store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from ..._codegen import kernel, owners, traversal
from ..lower import is_small

Places: TypeAlias = Mapping[str, Mapping[tuple[Any, ...], str]]
"""The local variable for each element of some buffers."""


def promote(
    phases: Sequence[kernel.Phase],
    buffers: Mapping[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases with local variables for the temporaries that can be some: small, in one phase, at
    known places, never handed to a routine."""
    seen = [traversal.mentioned(p.body) for p in phases]
    fitting = small([s for p in phases for s in p.body], buffers)
    result = []
    for number, (phase, names) in enumerate(zip(phases, seen, strict=True)):
        others = set().union(*[other for k, other in enumerate(seen) if k != number])
        chosen = [buffers[name] for name in sorted((names & fitting) - others)]
        if chosen:
            places = {b.name: _places(b, fresh) for b in chosen}
            first = [
                kernel.Declare(name, kernel.Literal(b.dtype.type(0).item(), b.dtype))
                for b in chosen
                for name in places[b.name].values()
            ]
            body = _rewritten(phase.body, places, {b.name: b.dtype for b in chosen})
            if phase.kind == "parallel":
                # What only one parallel phase knows is each pass's own.
                (loop,) = body
                assert isinstance(loop, kernel.Loop)
                phase = replace(phase, body=(replace(loop, body=(*first, *loop.body)),))
            else:
                phase = replace(phase, body=(*first, *body))
        result.append(phase)
    return result


def small(body: Sequence[kernel.Statement], buffers: Mapping[str, kernel.Buffer]) -> set[str]:
    """The temporaries that may be local variables as far as their size and these statements go."""
    owner = owners.Owners(buffers)
    fitting = {
        b.name
        for b in buffers.values()
        if b.role == "temp" and not owner.is_view(b.name) and is_small(b.shape)
    }
    return (
        fitting
        - owner.all(filter(owner.is_view, traversal.mentioned(body)))
        - _elsewhere(tuple(body))
    )


def _places(buffer: kernel.Buffer, fresh: Callable[[str], str]) -> dict[tuple[Any, ...], str]:
    if all(s == 1 for s in buffer.shape):
        return {(0,) * len(buffer.shape): buffer.name}
    indices = list(product(*[range(int(s)) for s in buffer.shape]))
    return {at: fresh("_".join(map(str, (buffer.name, *at)))) for at in indices}


def _elsewhere(body: tuple[kernel.Statement, ...]) -> set[str]:
    """Buffers that are given to routines, or read or written at places that only a run tells."""
    found: set[str] = set()

    def visit(s: kernel.Statement) -> None:
        if isinstance(s, kernel.Call):
            found.update(a for a in s.arguments if isinstance(a, str))
        accesses = [(x.buffer, x.index) for x in traversal.loads(s)]
        if isinstance(s, kernel.Store):
            accesses.append((s.buffer, s.index))
        found.update(name for name, at in accesses if not all(isinstance(i, int) for i in at))

    kernel.walk(body, visit)
    return found


def _rewritten(
    body: Sequence[kernel.Statement], places: Places, dtypes: Mapping[str, np.dtype[Any]]
) -> tuple[kernel.Statement, ...]:
    def load(e: kernel.Load) -> kernel.Expression:
        return kernel.Name(places[e.buffer][e.index], e.dtype) if e.buffer in places else e

    def store(s: kernel.Store) -> kernel.Statement:
        if s.buffer not in places:
            return s
        value, dtype = s.value, dtypes[s.buffer]
        value = value if value.dtype == dtype else kernel.Apply("{x}", (("x", value),), dtype)
        return kernel.Update(places[s.buffer][s.index], value, s.combine, True)

    return traversal.rewritten(body, load, store)


__all__ = ["promote", "small"]
