"""A loop that reads at index arrays and the one that adds at the same places as one loop, which
asks once a row whether all of its indices are sound.

Apart, both ask: the first compares and clamps each index, and before the second a loop of its own
looks for negative ones. Neither pays by vectors where a row computes little, since elements at
places are read one by one. As one, what the first hands to the second stays in registers, each
index is read once, and the sign of all `i | (last - i)` joined by `|` tells of a row what is asked
of it: a branch that is guessed right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..._codegen import integers, kernel, owners, traversal, work
from ...dtypes import BOOL, INT64
from .join_loops import forwarded
from .sound_indices import MOST, SAFE, SIGN, WRAPPED, calls_function

STRAIGHT = (kernel.Let, kernel.Declare, kernel.Update, kernel.Store, kernel.Check)
DEAREST = 160
"""What a row may cost, in additions: one that computes more gains by vectors."""


def as_one(
    first: kernel.Loop,
    later: kernel.Loop,
    handed: Collection[str],
    buffers: Mapping[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> kernel.Loop | None:
    """One loop over the rows of the first; `handed` is memory of theirs alone, of which each pass
    has a row. None where the second asks for other indices than the first, or rows cost much."""
    both = (*first.body, *later.body)
    if (
        max(len(first.body), len(later.body)) > MOST
        or not all(isinstance(s, STRAIGHT) for s in both)
        or any(map(calls_function, both))
        or not _is_cheap(both)
    ):
        return None
    owner = owners.Owners(dict(buffers))
    index = {later.index: integers.symbol(first.index)}
    behind = traversal.mapped(
        later.body,
        lambda e: integers.substitute(e, index) if isinstance(e, integers.Integer) else e,
    )
    before = _places(first.body)
    body = _once(forwarded((*first.body, *behind), buffers, owner))
    found = _places(body)
    stored = owner.all({s.buffer for s in body if isinstance(s, kernel.Store)})
    elements = {
        s.name: s
        for s in body
        if isinstance(s, kernel.Let)
        and isinstance(s.value, kernel.Load)
        and s.value.dtype == INT64
        and owner.of(s.value.buffer) not in stored
        and traversal.names_in(s.value) <= {first.index}
    }
    kept = tuple([s for s in body if not (isinstance(s, kernel.Store) and s.buffer in handed)])
    if (
        not found
        or found.keys() != before.keys()
        or not all(raw in elements for raw, _, _ in found.values())
        or any(e.buffer in handed for s in kept for e in traversal.loads(s))
        or not _are_asked(kept, found)
    ):
        return None
    return replace(first, body=_asking(kept, found, elements, fresh), sequential=True)


def _is_cheap(body: Sequence[kernel.Statement]) -> bool:
    cost = work.of_body(body)
    return isinstance(cost, int) and cost <= DEAREST


def _once(body: Sequence[kernel.Statement]) -> tuple[kernel.Statement, ...]:
    """The statements without those that compute a number, or check one, again."""
    changes = {s.name for s in body if isinstance(s, kernel.Update)}
    same: dict[str, kernel.Name] = {}
    """What stands for a name."""
    symbols: dict[str, Any] = {}
    known: dict[Any, kernel.Name] = {}
    checked: set[Any] = set()

    def is_same(name: str, other: kernel.Name) -> None:
        same[name], symbols[name] = other, integers.symbol(other.name)

    def settled(e: Any) -> Any:
        if isinstance(e, kernel.Name):
            return same.get(e.name, e)
        return integers.substitute(e, symbols) if isinstance(e, integers.Integer) else e

    result: list[kernel.Statement] = []
    for s in body:
        (s,) = traversal.mapped((s,), settled)
        match s:
            case kernel.Let(name, kernel.Name() as other) if other.name not in changes:
                is_same(name, other)
                continue
            case kernel.Let(name, kernel.Apply(code) as value) if code in (WRAPPED, SAFE):
                key = traversal.written(value)
                if key in known:
                    is_same(name, known[key])
                    continue
                known[key] = kernel.Name(name, value.dtype)
            case kernel.Check(condition):
                key = traversal.written(condition)
                if key in checked:
                    continue
                checked.add(key)
        result.append(s)
    return tuple(result)


def _places(
    body: Sequence[kernel.Statement],
) -> dict[str, tuple[str, kernel.Let, kernel.Let]]:
    """By its name, each clamped index that counts from the end where it is negative: the name of
    the element, what counts, what clamps."""
    wrapped: dict[str, tuple[str, kernel.Let]] = {}
    found: dict[str, tuple[str, kernel.Let, kernel.Let]] = {}
    for s in body:
        if not isinstance(s, kernel.Let) or not isinstance(s.value, kernel.Apply):
            continue
        given = dict(s.value.arguments)
        if s.value.code == WRAPPED:
            raw = given["i"]
            if _is_zero(given["f"]) and isinstance(raw, kernel.Name):
                wrapped[s.name] = raw.name, s
        elif s.value.code == SAFE:
            at = given["w"]
            if _is_zero(given["lo"]) and isinstance(at, kernel.Name) and at.name in wrapped:
                found[s.name] = (*wrapped[at.name], s)
    return found


def _is_zero(e: kernel.Expression) -> bool:
    return isinstance(e, (kernel.Index, kernel.Literal)) and e.value == 0


def _are_asked(
    body: Sequence[kernel.Statement], found: Mapping[str, tuple[str, kernel.Let, kernel.Let]]
) -> bool:
    """Whether each check is of one of these indices, and only it and the clamp read what is counted
    from the end."""
    counted = [w.name for _, w, _ in found.values()]
    asked = [
        dict(s.condition.arguments)["w"]
        for s in body
        if isinstance(s, kernel.Check)
        and isinstance(s.condition, kernel.Apply)
        and s.condition.code == kernel.IN_AXIS
    ]
    readers = [
        name
        for s in body
        for name in set(counted) & set().union(*map(traversal.names_in, traversal.expressions(s)))
    ]
    return (
        len(asked) == sum(isinstance(s, kernel.Check) for s in body)
        and sorted(counted) == sorted(e.name for e in asked if isinstance(e, kernel.Name))
        and len(readers) == len(found) + len(asked)
    )


def _asking(
    body: Sequence[kernel.Statement],
    found: Mapping[str, tuple[str, kernel.Let, kernel.Let]],
    elements: Mapping[str, kernel.Let],
    fresh: Callable[[str], str],
) -> tuple[kernel.Statement, ...]:
    """The row with its indices in front: as they are, and where one of them is below 0 or beyond
    the end, counted, checked and clamped."""
    raws = dict.fromkeys([raw for raw, _, _ in found.values()])
    checks = {
        name: s
        for s in body
        if isinstance(s, kernel.Check)
        for name in traversal.names_in(s.condition)
    }
    signs: kernel.Expression | None = None
    declared: list[kernel.Statement] = []
    mended: list[kernel.Statement] = []
    moved: dict[str, kernel.Expression] = {}
    for safe, (raw, counted, clamp) in found.items():
        element, place = kernel.Name(raw, INT64), kernel.Name(fresh(raw), INT64)
        given = dict(counted.value.arguments)  # type: ignore[union-attr]
        sign = kernel.Apply(SIGN, (("i", element), ("n", given["n"])), INT64)
        signs = (
            sign if signs is None else kernel.Apply("{x} | {y}", (("x", signs), ("y", sign)), INT64)
        )
        declared.append(kernel.Declare(place.name, element))
        assert isinstance(clamp.value, kernel.Apply)
        inside = kernel.Apply(CLAMPED, clamp.value.arguments, INT64)
        mended += [counted, checks[counted.name], kernel.Update(place.name, inside, None)]
        moved[safe] = kernel.Apply("index({i})", (("i", place),), clamp.value.dtype)
    assert signs is not None
    wrong = kernel.Apply("{x} < 0", (("x", signs),), BOOL)
    left_out = {w.name for _, w, _ in found.values()} | raws.keys()
    rest = [
        replace(s, value=moved[s.name]) if isinstance(s, kernel.Let) and s.name in moved else s
        for s in body
        if not isinstance(s, kernel.Check)
        and not (isinstance(s, kernel.Let) and s.name in left_out)
    ]
    return (
        *[elements[raw] for raw in raws],
        *declared,
        kernel.If(wrong, tuple(mended)),
        *rest,
    )


CLAMPED = "max(min({w}, {hi}), {lo})"

__all__ = ["as_one"]
