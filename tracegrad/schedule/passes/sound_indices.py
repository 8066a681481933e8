"""Loops that read or write at places given by index arrays, twice: as fast as they can be where all
indices are sound, and with each index counted from the end, checked and clamped elsewhere.

Counting from the end, a comparison with the size and a clamp take longer than the access that they
are for: processors without comparisons of numbers without a sign need a dozen instructions for a
vector of four. Whether any index of a loop is below 0 or beyond the end is asked before it, in two
instructions: the sign of `i | (last - i)` tells, and so does that of all of these joined by `|`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..._codegen import integers, kernel, owners, traversal, work
from ...dtypes import BOOL, INT64

FEWEST = 32
"""Shorter loops stay as they are."""
MOST = 60
"""Loops of more statements, and those that call functions, compute so much that their indices
hardly count."""
STRAIGHT = (kernel.Let, kernel.Store, kernel.Update, kernel.Check)
WRAPPED = "{i} + {n} if {i} < {f} else {i}"
SIGN = "{i} | ({n} - 1 - {i})"
"""Negative where `i` is below 0 or beyond the end."""
SAFE = "index(max(min({w}, {hi}), {lo}))"


def sound_indices(
    phases: Sequence[kernel.Phase], buffers: dict[str, kernel.Buffer], fresh: Callable[[str], str]
) -> list[kernel.Phase]:
    """The phases with such loops in two versions."""
    owner = owners.Owners(buffers)

    def within(body: tuple[kernel.Statement, ...]) -> tuple[kernel.Statement, ...]:
        result: list[kernel.Statement] = []
        for s in body:
            s = traversal.with_bodies(s, within)
            versions = _versions(s, owner, fresh) if isinstance(s, kernel.Loop) else None
            result.extend(versions or (s,))
        return tuple(result)

    return [
        traversal.with_parts(p, body=within(p.body))
        if p.kind == "serial"
        else traversal.with_parts(p, body=tuple([traversal.with_bodies(s, within) for s in p.body]))
        for p in phases
    ]


def _versions(
    loop: kernel.Loop, owner: owners.Owners, fresh: Callable[[str], str]
) -> tuple[kernel.Statement, ...] | None:
    """What finds out whether all indices are sound, and both loops; None where a loop is short,
    long, or has indices that are more than elements of arrays that it leaves alone."""
    trips = loop.trips
    if (
        loop.own is not None
        or (isinstance(trips, int) and trips < FEWEST)
        or len(loop.body) > MOST
        or not all(isinstance(s, STRAIGHT) for s in loop.body)
        or any(map(calls_function, loop.body))
    ):
        return None
    written = owner.all({s.buffer for s in loop.body if isinstance(s, kernel.Store)})
    made = {s.name for s in loop.body if isinstance(s, (kernel.Let, kernel.Update))}
    elements: dict[str, kernel.Load] = {}
    """What is read of arrays that the loop does not write, at places that it does not compute."""
    wrapped: dict[str, tuple[str, kernel.Expression]] = {}
    """What is counted from the end where it is negative: an element, and the size."""
    safe: dict[str, str] = {}
    """The clamped ones of these."""
    checked: set[str] = set()
    for s in loop.body:
        match s:
            case kernel.Let(name, kernel.Load() as load) if (
                load.dtype == INT64
                and owner.of(load.buffer) not in written
                and not traversal.names_in(load) & made
            ):
                elements[name] = load
            case kernel.Let(name, kernel.Apply(code, arguments)) if code == WRAPPED:
                given = dict(arguments)
                raw = given["i"]
                if _is(given["f"], 0) and isinstance(raw, kernel.Name) and raw.name in elements:
                    wrapped[name] = raw.name, given["n"]
            case kernel.Let(name, kernel.Apply(code, arguments)) if code == SAFE:
                at = dict(arguments)["w"]
                if isinstance(at, kernel.Name) and _is(dict(arguments)["lo"], 0):
                    safe[name] = at.name
            case kernel.Check(kernel.Apply(kernel.IN_AXIS, arguments)):
                at = dict(arguments)["w"]
                if isinstance(at, kernel.Name):
                    checked.add(at.name)
    # Each check is one of these, and nothing else reads what is counted from the end.
    readers = [
        name
        for s in loop.body
        for name in wrapped.keys() & set().union(*map(traversal.names_in, traversal.expressions(s)))
    ]
    checks = sum(isinstance(s, kernel.Check) for s in loop.body)
    if not checked or not (
        checked == wrapped.keys() == set(safe.values())
        and len(readers) == len(safe) + checks
        and checks == len(checked)
    ):
        return None
    signs, ask = fresh("signs"), fresh("ask")
    asking = integers.symbol(ask)
    asked: list[kernel.Statement] = []

    def there(e: Any) -> Any:
        return (
            integers.substitute(e, {loop.index: asking}) if isinstance(e, integers.Integer) else e
        )

    for name, size in wrapped.values():
        i = kernel.Name(fresh(name), INT64)
        element = traversal.changed(elements[name], there)
        asked += [
            kernel.Let(i.name, element),
            kernel.Update(signs, kernel.Apply(SIGN, (("i", i), ("n", size)), INT64), "or"),
        ]
    sound = kernel.Apply("{x} >= 0", (("x", kernel.Name(signs, INT64)),), BOOL)
    return (
        kernel.Declare(signs, kernel.Literal(0, INT64)),
        kernel.Loop(ask, loop.lo, loop.hi, tuple(asked)),
        kernel.If(sound, (_unchecked(loop, wrapped, safe, fresh),), (loop,)),
    )


def calls_function(s: kernel.Statement) -> bool:
    """Whether a statement computes a function, beside which indices hardly count."""
    value = s.value if isinstance(s, kernel.Let) else None
    return isinstance(value, kernel.Apply) and work.of_call(value.code) >= work.FUNCTION


def _is(e: kernel.Expression, number: int) -> bool:
    return isinstance(e, (kernel.Index, kernel.Literal)) and e.value == number


def _unchecked(
    loop: kernel.Loop,
    wrapped: dict[str, tuple[str, kernel.Expression]],
    safe: dict[str, str],
    fresh: Callable[[str], str],
) -> kernel.Loop:
    """The loop with elements as they are in place of checked indices, under names of its own."""
    body: list[kernel.Statement] = []
    for s in loop.body:
        if isinstance(s, kernel.Check) or (isinstance(s, kernel.Let) and s.name in wrapped):
            continue
        if isinstance(s, kernel.Let) and s.name in safe:
            raw, _ = wrapped[safe[s.name]]
            i = kernel.Name(raw, INT64)
            s = replace(s, value=kernel.Apply("index({i})", (("i", i),), s.value.dtype))
        body.append(s)
    for s in tuple(body):
        if isinstance(s, kernel.Let):
            body = list(traversal.renamed(body, s.name, fresh(s.name)))
    return replace(loop, body=tuple(body))


__all__ = ["MOST", "SAFE", "SIGN", "WRAPPED", "calls_function", "sound_indices"]
