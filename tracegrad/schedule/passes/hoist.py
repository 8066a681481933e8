"""Numbers that every pass of a parallel loop reads at one place, once before the loop.

The loop may write to memory of the same kind, so the compiler would read them in each pass, or take
single numbers where it could take vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..._codegen import kernel, owners


def hoist(phases: Sequence[kernel.Phase], buffers: dict[str, kernel.Buffer]) -> list[kernel.Phase]:
    """The phases with such numbers among what each thread has for itself."""
    owner = owners.Owners(buffers)
    return [_outside(p, owner, buffers) if p.kind == "parallel" else p for p in phases]


def _outside(
    phase: kernel.Phase, owner: owners.Owners, buffers: dict[str, kernel.Buffer]
) -> kernel.Phase:
    (loop,) = phase.body
    assert isinstance(loop, kernel.Loop)
    written: set[str] = set()
    inside = {b.name for b in phase.local if isinstance(b, kernel.Allocate)}

    def look(s: kernel.Statement) -> None:
        match s:
            case kernel.Store(buffer):
                written.add(buffer)
            case kernel.Call(_, arguments):
                written.update(a for a in arguments if isinstance(a, str))
            case kernel.Allocate(name):
                inside.add(name)

    kernel.walk(loop.body, look)
    written = owner.all(written)

    def stays(s: kernel.Let) -> bool:
        """Whether it reads a number that is there, even where the loop has no passes."""
        if not isinstance(s.value, kernel.Load):
            return False
        name, at = s.value.buffer, s.value.index
        return (
            name not in inside
            and owner.of(name) not in written
            and all(
                isinstance(i, int) and isinstance(n, int) and 0 <= i < n
                for i, n in zip(at, buffers[name].shape, strict=True)
            )
        )

    found = tuple([s for s in loop.body if isinstance(s, kernel.Let) and stays(s)])
    if not found:
        return phase
    rest = tuple([s for s in loop.body if s not in found])
    return replace(phase, local=(*phase.local, *found), body=(replace(loop, body=rest),))


__all__ = ["hoist"]
