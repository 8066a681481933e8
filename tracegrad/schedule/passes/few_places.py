"""Loops along which what is written differs at a few places only: where a loop asks of its index
whether it is this or that number, and does nothing else with it, all elements are one number, but
for those places.

So are rows of the Hessian of a sum over neighbours, and of all that a unit vector runs through: the
row is filled with the number that stands where no answer is yes, computed once, and the loop itself
goes over each of the places. NaN and the signs of zeros are those of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..._codegen import integers, kernel, owners, traversal
from ...dtypes import BOOL, INT64

EQUAL = "{x} == {y}"
FEWEST = 32
"""Shorter loops stay as they are."""
LEAST = 4
"""Loops of fewer statements cost little more than what they write."""
NEAR = 8
"""What lies within so many elements is one stretch, which the loop goes over as it is."""
MOST = 3
"""How many stretches there may be, each of which takes the loop's text once more."""


def few_places(
    phases: Sequence[kernel.Phase],
    buffers: dict[str, kernel.Buffer],
    sizes: Sequence[str],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases with such loops as a fill and a loop for each place."""
    owner = owners.Owners(buffers)

    def inside(
        s: kernel.Statement, known: dict[str, integers.Int], there: frozenset[str]
    ) -> kernel.Statement:
        there = there | {s.index} if isinstance(s, kernel.Loop) else there
        return traversal.with_bodies(s, lambda body: within(body, dict(known), there))

    def within(
        body: tuple[kernel.Statement, ...], known: dict[str, integers.Int], there: frozenset[str]
    ) -> tuple[kernel.Statement, ...]:
        result: list[kernel.Statement] = []
        for s in body:
            value = _integer(s.value, known) if isinstance(s, kernel.Let) else None
            # Of sizes and of indices of loops, which have no sign and stay.
            if (
                isinstance(s, kernel.Let)
                and value is not None
                and traversal.names_in(value) <= there
            ):
                known[s.name] = value
            s = inside(s, known, there)
            if isinstance(s, kernel.Loop) and (found := _places(s, known, there, owner)):
                result.extend(_apart(s, *found, fresh))
            else:
                result.append(s)
        return tuple(result)

    first = frozenset(sizes)
    return [
        traversal.with_parts(p, body=within(p.body, {}, first))
        if p.kind == "serial"
        else traversal.with_parts(p, body=tuple([inside(s, {}, first) for s in p.body]))
        for p in phases
    ]


def _places(
    loop: kernel.Loop,
    known: dict[str, integers.Int],
    there: frozenset[str],
    owner: owners.Owners,
) -> tuple[set[str], list[tuple[integers.Int, integers.Int]]] | None:
    """The names of what asks for places, and the ranges of places; None where a loop does more than
    that with its index."""
    trips = loop.trips
    if (
        (isinstance(trips, int) and trips < FEWEST)
        or len(loop.body) < LEAST
        or loop.own is not None
    ):
        return None
    counts, asks, known = {loop.index}, set(), dict(known)
    places: list[integers.Int] = []
    written = owner.all({s.buffer for s in loop.body if isinstance(s, kernel.Store)})
    for s in loop.body:
        match s:
            case kernel.Let(name, kernel.Apply(code, ((_, x), (_, y)))) if code == EQUAL:
                place = _place(_integer(x, known), _integer(y, known), loop.index)
                if place is not None and traversal.names_in(place) <= there:
                    places += [place] if place not in places else []
                    asks.add(name)
                elif _reads(s.value, counts):
                    return None
            case kernel.Let(name, value) if (number := _integer(value, known)) is not None:
                known[name] = number
                counts |= {name} if _reads(value, counts) else set()
            case kernel.Let(_, value):
                if _reads(value, counts):
                    return None
            case kernel.Store(_, (*before, last), value, None):
                if last != integers.symbol(loop.index) or any(
                    _reads(e, counts) for e in (*before, value)
                ):
                    return None
            case _:
                return None
        if any(owner.of(e.buffer) in written for e in traversal.loads(s)):
            return None
    stretches = _stretches(places)
    return (asks, stretches) if 0 < len(stretches) <= MOST and written else None


def _stretches(places: list[integers.Int]) -> list[tuple[integers.Int, integers.Int]]:
    """The places, those at fixed and small distances together, as ranges."""
    found: list[tuple[integers.Int, integers.Int]] = []
    for place in places:
        for k, (lo, hi) in enumerate(found):
            before, behind = lo - place, place + 1 - hi
            if isinstance(before, int) and isinstance(behind, int):
                first, last = lo - max(before, 0), hi + max(behind, 0)
                if last - first <= NEAR:
                    found[k] = first, last
                    break
        else:
            found.append((place, place + 1))
    return found


def _reads(e: Any, names: set[str]) -> bool:
    return not traversal.names_in(e).isdisjoint(names)


def _integer(e: kernel.Expression, known: dict[str, integers.Int]) -> integers.Int | None:
    """The integer expression that a value is, if it is one: of indices, numbers, sums and
    differences."""
    if e.dtype != INT64:
        return None
    match e:
        case kernel.Index(value):
            return value
        case kernel.Literal(int() as value):
            return value
        case kernel.Name(name):
            return known.get(name)
        case kernel.Apply(code, ((name, x),)) if code == f"{{{name}}}":
            return _integer(x, known)
        case kernel.Apply("{x} + {y}" | "{x} - {y}" as code, ((_, x), (_, y))):
            a, b = _integer(x, known), _integer(y, known)
            if a is not None and b is not None:
                return a + b if "+" in code else a - b
    return None


def _place(a: integers.Int | None, b: integers.Int | None, index: str) -> integers.Int | None:
    """Where a loop's index makes two integers equal, if that is at one place that stays while the
    loop runs."""
    if a is None or b is None:
        return None
    beyond = a - b
    times = integers.coefficient(beyond, index)
    if times not in (1, -1):
        return None
    place = integers.symbol(index) - beyond * times
    return place if index not in integers.symbols(place) else None


def _apart(
    loop: kernel.Loop,
    asks: set[str],
    stretches: list[tuple[integers.Int, integers.Int]],
    fresh: Callable[[str], str],
) -> list[kernel.Statement]:
    """The fill, and the loop over each of the stretches, as far as it comes by them."""
    no = kernel.Literal(False, BOOL)
    fill = tuple(
        [
            replace(s, value=no) if isinstance(s, kernel.Let) and s.name in asks else s
            for s in loop.body
        ]
    )
    result: list[kernel.Statement] = [replace(loop, body=fill)]
    for first, last in stretches:
        if isinstance(last, int) and last <= 0:
            continue
        # Integers have no sign in compiled code: what may be negative is not compared before the
        # last place is known not to be, and a negative last place is beyond the end.
        wide = last - first
        lo = integers.maximum(loop.lo + wide, last) - wide
        hi = integers.minimum(loop.hi, last)
        result += _anew(replace(loop, lo=lo, hi=hi), fresh)
    return result


def _anew(loop: kernel.Loop, fresh: Callable[[str], str]) -> tuple[kernel.Statement, ...]:
    """The loop with an index and names of its own."""
    made = traversal.renamed([loop], loop.index, fresh(loop.index))
    for s in loop.body:
        if isinstance(s, kernel.Let):
            made = traversal.renamed(made, s.name, fresh(s.name))
    return made


__all__ = ["few_places"]
