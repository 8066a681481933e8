"""Nests of loops over whole arrays as one loop over their elements: no place is taken apart, and
neighbours are known to be neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .. import kernel, traversal
from ..integers import product, symbol
from .dependence import accesses, nest, statements, used


def linear(program: kernel.Program) -> kernel.Program:
    """The program with such nests as single loops."""
    work = _Linear(program)
    phases = tuple([replace(p, body=work.body(p.body)) for p in program.phases])
    return (
        replace(program, phases=phases, buffers=tuple(work.buffers.values()))
        if work.changed
        else program
    )


class _Linear:
    def __init__(self, program: kernel.Program) -> None:
        self.buffers = {b.name: b for b in program.buffers}
        self.changed = False

    def body(self, body: Iterable[kernel.Statement]) -> tuple[kernel.Statement, ...]:
        return tuple([self.loop(s) if isinstance(s, kernel.Loop) else s for s in body])

    def loop(self, s: kernel.Loop) -> kernel.Statement:
        # In steps that follow each other the axes are needed: along one of them each element may go
        # its own way.
        if s.sequential:
            return s
        chain = nest(s)
        for count in range(len(chain), 1, -1):
            found = self.single(chain[:count])
            if found is not None:
                return replace(found, body=self.body(found.body))
        return traversal.with_bodies(s, self.body)

    def single(self, chain: list[kernel.Loop]) -> kernel.Loop | None:
        """The loops as one, or None where something goes another way through memory."""
        inner = chain[-1].body
        places = tuple(symbol(loop.index) for loop in chain)
        extents = tuple(loop.hi for loop in chain)
        if any(loop.lo != 0 or loop.sequential or loop.own for loop in chain) or any(
            isinstance(x, (kernel.Call, kernel.Allocate, kernel.Grow)) for x in statements(inner)
        ):
            return None
        whole = {a.buffer for a in accesses(inner) if a.index == places}
        if not whole or any(not self.fits(name, extents) for name in whole):
            return None
        index = chain[0].index

        def load(e: kernel.Load) -> Any:
            return (
                replace(e, buffer=self.flat(e.buffer), index=(symbol(index),))
                if e.index == places
                else e
            )

        def store(x: kernel.Store) -> kernel.Statement:
            return (
                replace(x, buffer=self.flat(x.buffer), index=(symbol(index),))
                if x.index == places
                else x
            )

        elsewhere = traversal.rewritten(
            inner,
            lambda e: replace(e, index=()) if e.index == places else e,
            lambda x: replace(x, index=()) if x.index == places else x,
        )
        if used(elsewhere) & {loop.index for loop in chain}:
            return None
        self.changed = True
        return replace(chain[0], hi=product(extents), body=traversal.rewritten(inner, load, store))

    def fits(self, name: str, extents: tuple[Any, ...]) -> bool:
        b = self.buffers.get(name)
        return b is not None and b.layout == "C" and b.role != "local" and b.shape == extents

    def flat(self, name: str) -> str:
        """The buffer in one dimension."""
        b = self.buffers[name]
        found = f"{name}_flat"
        while found in self.buffers and self.buffers[found].of != (b.of or name):
            found += "_"
        self.buffers.setdefault(
            found, replace(b, name=found, role="temp", shape=(product(b.shape),), of=b.of or name)
        )
        return found


__all__ = ["linear"]
