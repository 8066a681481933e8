"""Memory that a step asks for, of a length that is known there only, is memory of the program where
that length has a largest value: nobody is asked for it again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..._codegen import integers, kernel, owners, traversal
from ...types import Int
from ..bounds import nonnegative
from .sites import Site, largest


def memory_of_steps(
    phases: Sequence[kernel.Phase], buffers: dict[str, kernel.Buffer], sizes: Iterable[str]
) -> list[kernel.Phase]:
    """The phases without such requests where one thread goes through them; changes `buffers`."""
    owner, known = owners.Owners(buffers), frozenset(sizes)
    whole: set[str] = set()
    """What is given to routines in its shape, or grows."""
    for p in phases:
        for s in traversal.within((*p.local, *p.body)):
            if isinstance(s, kernel.Call):
                whole.update([a for a in s.arguments if isinstance(a, str)])
            elif isinstance(s, kernel.Grow):
                whole.add(s.name)

    def room(s: kernel.Allocate, site: Site) -> tuple[Int, ...] | None:
        """The shape that all of these fit in; rows stay as long as they are."""
        if s.of or s.name in whole or owner.views(s.name) or not s.shape:
            return None
        length, *rest = site.plain(s.shape)
        most = largest(length, site.ranges)
        shape = (most, *rest) if most is not None else ()
        fits = shape and all(integers.symbols(n) <= known and nonnegative(n, {}) for n in shape)
        return shape if fits else None

    def within(
        body: Sequence[kernel.Statement], site: Site, again: bool
    ) -> tuple[kernel.Statement, ...]:
        result: list[kernel.Statement] = []
        for s in body:
            shape = room(s, site) if again and isinstance(s, kernel.Allocate) else None
            if shape is not None and isinstance(s, kernel.Allocate):
                buffers[s.name] = replace(buffers[s.name], shape=shape, role="temp")
            else:
                result.append(inside(s, site, again))
            site = site.behind(s)
        return tuple(result)

    def inside(s: kernel.Statement, site: Site, again: bool) -> kernel.Statement:
        loop = isinstance(s, kernel.Loop | kernel.While)
        there = site.inside(s) if isinstance(s, kernel.Loop) else site
        return traversal.with_bodies(s, lambda body: within(body, there, again or loop))

    return [
        traversal.with_parts(p, body=within(p.body, Site(), False)) if p.kind == "serial" else p
        for p in phases
    ]


__all__ = ["memory_of_steps"]
