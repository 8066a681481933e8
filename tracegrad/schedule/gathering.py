"""Where a gather or scatter reads or writes: places that are known only while a kernel runs,
counted from the end, checked, and clamped, so that nothing outside of an array is touched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._codegen import integers, kernel, lowering
from ..ir.graph import Atom, Node
from ..types import Int
from .bounds import nonnegative
from .indices import Index
from .names import place_of
from .spans import Bounded, place_between
from .steps import Steps
from .values import BOOL, INT64, INTP, converted

if TYPE_CHECKING:
    from .lower import Emitter


def gathering(e: Emitter, node: Node, entries: Iterable[Any], source: Atom) -> Steps[Index | None]:
    """The index of a gather or scatter; None where no index is in range."""
    result: list[Int] = []
    for axis, (entry, size) in enumerate(zip(entries, source.type.shape, strict=True)):
        start = entry
        if isinstance(entry, lowering.Run):
            start = yield from _start(e, node, entry, axis, size)
        if start is None:
            return None
        result.append(start + entry.offset if isinstance(entry, lowering.Run) else start)
    return tuple(result)


def _start(e: Emitter, node: Node, run: lowering.Run, axis: int, size: Int) -> Steps[Int | None]:
    """Where a run begins."""
    if e.probe is not None:
        e.probe.hide(changed=True)
    key: Any = ("clamped", node, axis, run.position)
    known: Any = e.noted(key)
    # In the outermost loop where the index is known: loops over what a run covers are free of it.
    with e.at(e.depth_of(run.position)):
        if known is None:
            raw = converted((yield node.inputs[run.which], run.position), INT64)
            low, high, from_end = run.low, run.high, run.from_end
            if isinstance(raw, kernel.Index | kernel.Literal):
                start: Int = raw.value  # type: ignore[assignment]
                around = start + low, size - start - high
                if all(nonnegative(n, e.ranges) for n in around):
                    return start
            # What arithmetic on the number of a loop says of it is more than what is known of all.
            place = None if isinstance(raw, kernel.Index) else _certain(e, node, run, size)
            if place is not None:
                return (yield from _between(e, node, run, axis, size, raw, place))
            # Elements of several arrays at one index: what held of it holds still.
            again = ("clamped", raw, low, high, from_end, size)
            if isinstance(raw, kernel.Name):
                known = e.noted(again)
        if known is None:
            message = _message(e, node, run, axis, size)
            if isinstance(size, int) and size == 0:
                e.emit(kernel.Check(kernel.Literal(False, BOOL), e.error(message), raw))
                return None
            at = _checked(e, run, size, raw, message)
            known = _clamped(e, at, -low, size - high)
            if isinstance(raw, kernel.Name):
                e.scopes[-1].memo[again] = known
        e.scopes[-1].memo[key] = known
        assert isinstance(known, kernel.Name)
        e.ranges[known.name] = (-run.low, size - run.high + 1)
        return integers.symbol(known.name)


def _message(e: Emitter, node: Node, run: lowering.Run, axis: int, size: Int) -> str:
    apart = "" if run.high - run.low == 1 else f" of a slice with ends {run.high - run.low} apart"
    what = f"index {{value}}{apart}"
    late = not isinstance(size, int) and integers.symbols(size) & e.sizes
    whose = "of computed size" if late else f"with size {size}"
    return f"{what} is out of bounds for axis {axis} {whose}{place_of(node)}"


def _checked(
    e: Emitter, run: lowering.Run, size: Int, raw: kernel.Expression, message: str
) -> kernel.Name:
    """An index counted from the end, and checked."""
    n = kernel.Index(size)
    text = "{i} + {n} if {i} < {f} else {i}"
    given = (("i", raw), ("n", n), ("f", kernel.Index(-run.from_end)))
    at = e.let("at", kernel.Apply(text, given, INT64))
    ends = (("w", at), ("lo", kernel.Index(-run.low)), ("hi", kernel.Index(size - run.high)))
    plain = run.high - run.low == 1 and run.from_end == 0
    text = kernel.IN_AXIS if plain else "({lo} <= {w}) & ({w} <= {hi})"
    e.check(kernel.Apply(text, (("w", at), ("n", n)) if plain else ends, BOOL), message, raw)
    return at


def _clamped(e: Emitter, at: kernel.Expression, least: Int, most: Int) -> kernel.Name:
    ends = (("w", at), ("lo", kernel.Index(least)), ("hi", kernel.Index(most)))
    return e.let("at_safe", kernel.Apply("index(max(min({w}, {hi}), {lo}))", ends, INTP))


# --- places of which it is known between which numbers they lie -----------------------------------


def _certain(e: Emitter, node: Node, run: lowering.Run, size: Int) -> Bounded | None:
    """What a place is made of, if all numbers that it may be are inside of the axis."""
    if e.contract or not isinstance(size, int):
        # A product that is not rounded may end beyond what its rounded ends say.
        return None
    place = place_between(node.inputs[run.which], e.definitions)
    if place is None or place.span.least < 0:
        return None
    least, most = place.span.least + place.beyond, place.span.most + place.beyond
    ends = least + run.low, size - most - run.high
    return place if all(isinstance(n, int) and n >= 0 for n in ends) else None


def _between(
    e: Emitter,
    node: Node,
    run: lowering.Run,
    axis: int,
    size: Int,
    raw: kernel.Expression,
    place: Bounded,
) -> Steps[Int]:
    """Where a run begins that is inside of the axis, or made of NaN: the first of all places that
    are made of one integer is checked, and that integer is clamped."""
    key: Any = ("between", place.base, run.position)
    known: Any = e.noted(key)
    if known is None:
        base = converted((yield place.base, run.position), INT64)
        if not place.span.always:
            _checked(e, run, size, raw, _message(e, node, run, axis, size))
        known = _clamped(e, base, place.span.least, place.span.most)
        e.scopes[-1].memo[key] = known
        e.ranges[known.name] = place.span.least, place.span.most + 1
    start: Int = integers.symbol(known.name) + place.beyond
    return start


__all__ = ["gathering"]
