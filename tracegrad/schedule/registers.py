"""Temporaries of one element become local variables, which live in registers: carries of loops, flags, counts.

Through memory a value that each step writes and the next one reads costs some nanoseconds a step, and twice that where its address happens to
resemble that of another store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._codegen import kernel, traversal
from .memory import mentioned


def promote(phases: Sequence[kernel.Phase], buffers: Mapping[str, kernel.Buffer]) -> list[kernel.Phase]:
    """The phases with local variables for the temporaries that can be one: of one element, in one serial phase, never handed to a routine."""
    shown = {b.of for b in buffers.values() if b.of}
    seen = [mentioned(p.body) for p in phases]
    handed: set[str] = set()
    for p in phases:
        kernel.walk(p.body, lambda s: handed.update(a for a in s.arguments if isinstance(a, str)) if isinstance(s, kernel.Call) else None)
    result = []
    for number, (phase, names) in enumerate(zip(phases, seen, strict=True)):
        elsewhere = set().union(*[other for k, other in enumerate(seen) if k != number])
        chosen = {
            name: buffers[name].dtype
            for name in sorted(names - elsewhere - handed - shown)
            if name in buffers and buffers[name].role == "temp" and not buffers[name].of and all(s == 1 for s in buffers[name].shape)
        }
        if phase.kind == "serial" and chosen:
            first = [kernel.Declare(name, kernel.Literal(dtype.type(0).item(), dtype)) for name, dtype in chosen.items()]
            phase = replace(phase, body=(*first, *_rewritten(phase.body, chosen)))
        result.append(phase)
    return result


def _rewritten(body: Sequence[kernel.Statement], chosen: Mapping[str, Any]) -> tuple[kernel.Statement, ...]:
    def load(e: kernel.Load) -> kernel.Expression:
        return kernel.Name(e.buffer, e.dtype) if e.buffer in chosen else e

    def store(s: kernel.Store) -> kernel.Statement:
        if s.buffer not in chosen:
            return s
        value, dtype = s.value, chosen[s.buffer]
        return kernel.Update(s.buffer, value if value.dtype == dtype else kernel.Apply("{x}", (("x", value),), dtype), s.combine, True)

    return traversal.rewritten(body, load, store)


__all__ = ["promote"]
