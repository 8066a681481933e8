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
    def expression(e: Any) -> Any:
        match e:
            case kernel.Load(buffer, _, dtype) if buffer in chosen:
                return kernel.Name(buffer, dtype)
            case kernel.Load(buffer, at, dtype):
                return kernel.Load(buffer, tuple(map(expression, at)), dtype)
            case kernel.Apply(code, arguments, dtype):
                return kernel.Apply(code, tuple([(name, expression(a)) for name, a in arguments]), dtype)
        return e

    def statement(s: kernel.Statement) -> kernel.Statement:
        match s:
            case kernel.Let() | kernel.Declare() | kernel.Update():
                return replace(s, value=expression(s.value))
            case kernel.Store(buffer, _, value, combine) if buffer in chosen:
                value, dtype = expression(value), chosen[buffer]
                return kernel.Update(buffer, value if value.dtype == dtype else kernel.Apply("{x}", (("x", value),), dtype), combine, True)
            case kernel.Store():
                return replace(s, index=tuple(map(expression, s.index)), value=expression(s.value))
            case kernel.Loop():
                return replace(s, body=_rewritten(s.body, chosen))
            case kernel.While():
                return replace(s, condition=expression(s.condition), body=_rewritten(s.body, chosen))
            case kernel.If():
                then, otherwise = (_rewritten(part, chosen) for part in traversal.bodies(s))
                return replace(s, condition=expression(s.condition), then=then, otherwise=otherwise)
            case kernel.Check():
                return replace(s, condition=expression(s.condition), value=expression(s.value))
            case kernel.Call():
                return replace(s, arguments=tuple(map(expression, s.arguments)))
        return s

    return tuple(map(statement, body))


__all__ = ["promote"]
