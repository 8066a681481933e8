"""Writes behind a condition as writes of what the condition chooses.

    if through < d[j, k]:          d[j, k] = through if through < d[j, k] else d[j, k]
        d[j, k] = through     ->

A branch that is guessed wrong takes as long as some twenty additions. Where what is written, and
what it would replace, are there already, the write costs less, and the loop may vectorise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ..._codegen import integers, kernel, owners, traversal, work

INSIDE = (kernel.Let, kernel.Declare, kernel.Update, kernel.Store, kernel.Check, kernel.If)
"""What the bodies of such loops consist of."""
MOST = 8
"""The most statements behind a condition."""
Held: TypeAlias = dict[tuple[str, Any], kernel.Expression]


def choose_stores(
    phases: Sequence[kernel.Phase], buffers: Mapping[str, kernel.Buffer]
) -> list[kernel.Phase]:
    """The phases with such branches of innermost loops replaced."""
    owner = owners.Owners(buffers)

    def loop_chosen(s: kernel.Statement) -> kernel.Statement:
        if not isinstance(s, kernel.Loop) or not all(isinstance(t, INSIDE) for t in s.body):
            return s
        body = _ChosenBody(s, owner).chosen()
        return s if body is None else traversal.with_parts(s, body=body)

    return [
        traversal.with_parts(p, body=traversal.mapped(p.body, lambda e: e, loop_chosen))
        for p in phases
    ]


class _ChosenBody:
    """The body of an innermost loop."""

    def __init__(self, loop: kernel.Loop, owner: owners.Owners) -> None:
        self.loop, self.owner = loop, owner
        self.held: Held = {}
        """The elements that were read, as they are in memory."""

    def chosen(self) -> tuple[kernel.Statement, ...] | None:
        """The body with choices; None where there are none to make."""
        if not any(isinstance(s, kernel.If) for s in self.loop.body):
            return None
        result: list[kernel.Statement] = []
        for s in self.loop.body:
            made = self._choice(s) if isinstance(s, kernel.If) else None
            result += made or [s]
            match s:
                case kernel.Let(name, kernel.Load(buffer, at, dtype)):
                    self.held[buffer, at] = kernel.Name(name, dtype)
                case kernel.Store() | kernel.If():
                    changed = self.owner.all(
                        {t.buffer for t in traversal.within([s]) if isinstance(t, kernel.Store)}
                    )
                    self.held = {
                        p: v for p, v in self.held.items() if self.owner.of(p[0]) not in changed
                    }
        return tuple(result)

    def _choice(self, s: kernel.If) -> list[kernel.Statement] | None:
        """The statements for a branch; None where it stays one."""
        condition = s.condition
        if s.otherwise or not isinstance(condition, kernel.Name) or len(s.then) > MOST:
            return None
        result: list[kernel.Statement] = []
        stored: set[str] = set()
        for t in s.then:
            if not isinstance(t, (kernel.Let, kernel.Store)) or not _is_cheap(t.value):
                return None
            for e in traversal.loads(t):
                if (e.buffer, e.index) not in self.held or self.owner.of(e.buffer) in stored:
                    return None
            if isinstance(t, kernel.Let):
                result.append(t)
                continue
            old = self.held.get((t.buffer, t.index))
            if old is None or t.combine is not None or t.value.dtype != old.dtype:
                return None
            if not self._is_apart(t):
                return None
            stored.add(self.owner.of(t.buffer))
            parts = ("condition", condition), ("x", t.value), ("y", old)
            value = kernel.Apply("select({condition}, {x}, {y})", parts, old.dtype)
            result.append(replace(t, value=value))
        return result if stored else None

    def _is_apart(self, store: kernel.Store) -> bool:
        """Whether each step writes an element of its own, which no other step is known to read: it
        would wait for the choice."""
        steps = [self._step(i) for i in store.index]
        if None in steps or not any(steps):
            return False
        mine = self.owner.of(store.buffer)
        for t in traversal.within(self.loop.body):
            places = [(e.buffer, e.index) for e in traversal.loads(t)]
            places += [(t.buffer, t.index)] if isinstance(t, kernel.Store) else []
            for buffer, at in places:
                if self.owner.of(buffer) != mine or at == store.index:
                    continue
                if buffer != store.buffer:
                    return False
                far = [_distance(a, b) for a, b in zip(at, store.index, strict=True)]
                if None not in far and _is_multiple(far, steps):
                    return False
        return True

    def _step(self, i: Any) -> int | None:
        """How far an index moves in a step."""
        if not isinstance(i, (int, integers.Integer)):
            return None
        step = integers.coefficient(i, self.loop.index)
        return step if isinstance(step, int) else None


def _distance(a: Any, b: Any) -> int | None:
    """How far two indices are apart, where that is a number."""
    if not all(isinstance(i, (int, integers.Integer)) for i in (a, b)):
        return None
    found = a - b
    return found if isinstance(found, int) else None


def _is_multiple(far: Sequence[Any], steps: Sequence[Any]) -> bool:
    """Whether some steps lead so far."""
    if any(d and not s for d, s in zip(far, steps, strict=True)):
        return False
    passes = {d / s for d, s in zip(far, steps, strict=True) if s}
    return len(passes) == 1 and passes.pop().is_integer()


def _is_cheap(e: kernel.Expression) -> bool:
    if isinstance(e, kernel.Apply):
        return work.of_call(e.code) <= 1 and all(_is_cheap(x) for _, x in e.arguments)
    return True


__all__ = ["choose_stores"]
