"""Loops in order whose steps call functions that the steps after them do not wait for, as three
(loop distribution): what those functions need, the functions, what needs them.

`total += np.log(s); s = f(s)` has to go through `f` step by step, and to add step by step; a
logarithm by itself depends on nothing but its `s`. Side by side logarithms take a quarter of the
time (codegen/native/math). A block of steps goes through the three loops before the next one, so
that what one hands to another stays near. Nothing is computed in another order than before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._codegen import integers, kernel, owners, traversal, work
from ...types import Int

BLOCK = 256
"""The steps of a block: numbers that they hand over lie in the nearest cache."""
FEWEST = 16
"""Loops of fewer steps stay as they are."""
MOST_HANDED = 8
"""So many numbers are handed over for each step, at most: writing and reading one costs about as
much as an addition."""
STRAIGHT = (kernel.Let, kernel.Store, kernel.Update)


def distribute(
    phases: Sequence[kernel.Phase],
    buffers: dict[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases with such loops in three, where one thread goes through them; adds to
    `buffers`."""
    owner = owners.Owners(buffers)

    def within(s: kernel.Statement) -> kernel.Statement:
        if isinstance(s, kernel.Loop):
            found = _distributed(s, owner, buffers, fresh)
            if found is not None:
                return found
        return traversal.with_bodies(s, lambda body: tuple(map(within, body)))

    return [
        traversal.with_parts(p, body=tuple(map(within, p.body))) if p.kind == "serial" else p
        for p in phases
    ]


class _Flow:
    """What one statement of a body reads and makes: names, and memory, by its owner."""

    def __init__(self, s: kernel.Statement, owner: owners.Owners) -> None:
        names: set[str] = set()
        memory: set[str] = set()
        traversal.add_read(s, names, memory)
        self.reads = names | {f"{name}[]" for name in owner.all(memory)}
        if isinstance(s, kernel.Store):
            self.makes = f"{owner.of(s.buffer)}[]"
        else:
            assert isinstance(s, (kernel.Let, kernel.Update))
            self.makes = s.name
        self.changes = not isinstance(s, kernel.Let)
        """Whether other steps may see what it makes."""


class _Body:
    """Where each statement of a loop's body belongs: 0 (before), 1 (the functions), 2 (behind)."""

    def __init__(self, loop: kernel.Loop, owner: owners.Owners) -> None:
        self.statements = loop.body
        self.flows = [_Flow(s, owner) for s in loop.body]
        self.changed = {f.makes for f in self.flows if f.changes}
        self.owner = owner
        makers: dict[str, set[int]] = {}
        for k, f in enumerate(self.flows):
            makers.setdefault(f.makes, set()).add(k)
        self.waits = [set().union(*[makers.get(name, ()) for name in f.reads]) for f in self.flows]
        """What each statement waits for; all that changes one thing stays together."""
        for k, f in enumerate(self.flows):
            if f.changes:
                self.waits[k] |= makers[f.makes]

    def numbers(self) -> list[int] | None:
        """None where nothing is gained."""
        everything = range(len(self.statements))
        ahead = [self.closure(w) for w in self.waits]
        turns = {k for k in everything if k in ahead[k]}
        if any(_work(self.statements[k]) > 1 for k in turns):
            # While a step waits for a division, the processor finds time for a function besides.
            return None
        free = {k for k, s in enumerate(self.statements) if _calls_function(s)}
        before = self.closure(turns & set().union(*[ahead[k] for k in free]))
        while True:
            # Who reads what changes reads it between two changes.
            moving = {self.flows[k].makes for k in before if self.flows[k].changes}
            readers = {k for k in everything if self.flows[k].reads & moving}
            more = self.closure(before | readers)
            if more == before:
                break
            before = more
        numbers = [0 if k in before else 2 for k in everything]
        for k, f in enumerate(self.flows):
            if (
                numbers[k] == 2
                and not f.changes
                and not f.reads & self.changed
                and all(numbers[w] < 2 for w in self.waits[k])
            ):
                numbers[k] = 1
        return numbers if any(numbers[k] == 1 for k in free) else None

    def closure(self, first: set[int]) -> set[int]:
        """Some statements and all that they wait for, directly or not."""
        found: set[int] = set()
        pending = list(first)
        while pending:
            k = pending.pop()
            if k not in found:
                found.add(k)
                pending.extend(self.waits[k] - found)
        return found

    def is_element(self, value: kernel.Expression, made: Mapping[str, Any]) -> bool:
        """Whether this can be read again wherever it is needed."""
        return (
            isinstance(value, kernel.Load)
            and f"{self.owner.of(value.buffer)}[]" not in self.changed
            and traversal.names_in(value).isdisjoint(made.keys() | self.changed)
        )


def _calls_function(s: kernel.Statement) -> bool:
    return isinstance(s, kernel.Let) and s.value.dtype.kind == "f" and _work(s) >= work.FUNCTION


def _work(s: kernel.Statement) -> int:
    """What takes longest of what a statement computes."""
    most, pending = 0, traversal.expressions(s)
    while pending:
        e = pending.pop()
        if isinstance(e, kernel.Apply):
            most = max(most, work.of_call(e.code))
            pending.extend([a for _, a in e.arguments])
    return most


def _distributed(
    loop: kernel.Loop,
    owner: owners.Owners,
    buffers: dict[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> kernel.Loop | None:
    """A loop over blocks of steps; None where steps are more than numbers and elements, have no
    order, or nothing is gained."""
    trips = loop.trips
    if (
        not loop.sequential
        or loop.own is not None
        or (isinstance(trips, int) and trips < FEWEST)
        or not all(isinstance(s, STRAIGHT) for s in loop.body)
        or not any(map(_calls_function, loop.body))
    ):
        return None
    body = _Body(loop, owner)
    numbers = body.numbers()
    if numbers is None or not any(f.reads & body.changed for f in body.flows):
        return None
    parts: list[list[kernel.Statement]] = [[], [], []]
    made: dict[str, tuple[int, kernel.Expression]] = {}
    for n, s in zip(numbers, loop.body, strict=True):
        parts[n].append(s)
        if isinstance(s, kernel.Let):
            made[s.name] = n, s.value
    read = [dict.fromkeys(name for s in p for name in _names(s)) for p in parts]
    wanted = [[name for name in read[n] if name in made and made[name][0] < n] for n in (0, 1, 2)]
    handed = [
        name
        for name in dict.fromkeys([*wanted[1], *wanted[2]])
        if not body.is_element(made[name][1], made)
    ]
    if len(handed) > MOST_HANDED:
        return None
    block = fresh("block")
    lo = loop.lo + integers.mul(integers.symbol(block), BLOCK)
    hi = integers.minimum(lo + BLOCK, loop.hi)
    place: tuple[Int] = (integers.symbol(loop.index) - lo,)
    values = {name: value for name, (_, value) in made.items()}
    keeps: list[list[kernel.Statement]] = [[], [], []]
    for name in handed:
        number, value = made[name]
        steps = fresh(f"{name}_steps")
        room = min(BLOCK, trips) if isinstance(trips, int) else BLOCK
        buffers[steps] = kernel.Buffer(steps, value.dtype, (room,), "temp")
        keeps[number].append(kernel.Store(steps, place, kernel.Name(name, value.dtype)))
        values[name] = kernel.Load(steps, place, value.dtype)
    loops: list[kernel.Statement] = []
    for n, part in enumerate(parts):
        statements = (*part, *keeps[n])
        first: list[kernel.Statement] = []
        for name in wanted[n]:
            again = fresh(name)
            first.append(kernel.Let(again, values[name]))
            statements = traversal.renamed(statements, name, again)
        if statements:
            loops.append(kernel.Loop(loop.index, lo, hi, (*first, *statements), n != 1))
    blocks = integers.floordiv(trips + (BLOCK - 1), BLOCK)
    return kernel.Loop(block, 0, blocks, tuple(loops), True)


def _names(s: kernel.Statement) -> set[str]:
    return set().union(*[traversal.names_in(e) for e in traversal.expressions(s)])


__all__ = ["distribute"]
