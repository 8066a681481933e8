"""Size-generic signatures: which sizes become symbols, and whether sizes fit what was traced with
symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .._codegen import integers
from ..ir.graph import Graph
from ..sizes import Sizes
from ..types import ArrayType, Int


class Fitting(Protocol):
    """What was traced with symbols: the sizes of its inputs, and its graph with the facts that it
    relies on."""

    @property
    def pattern(self) -> Sequence[tuple[Any, ...]]: ...
    @property
    def graph(self) -> Graph: ...


def fits(entry: Fitting, types: Sequence[ArrayType]) -> bool:
    """Whether sizes fit a size-generic entry: its symbols bind consistently and its recorded facts
    hold."""
    bindings: dict[str, int] = {}
    for pattern, kind in zip(entry.pattern, types, strict=True):
        for p, s in zip(pattern, kind.shape, strict=True):
            if isinstance(p, integers.Integer):
                name = str(p)
                if not isinstance(s, int) or s < 2 or bindings.setdefault(name, s) != s:
                    return False
            elif p != s:
                return False
    return entry.graph.sizes.hold(bindings)


class ReasonAndReach:
    """Why a function was traced with symbols, and for which sizes that holds: as text, which takes
    time to tell, where somebody reads it."""

    def __init__(self, why: str, sizes: Sizes) -> None:
        self.why, self.sizes = why, sizes

    def __str__(self) -> str:
        return f"{self.why}; {reach_of(self.sizes)}"


def reach_of(sizes: Sizes) -> str:
    """For which sizes a trace with symbols holds, in words: a fact `n == 4` takes one from them,
    other facts leave those that answer alike."""
    pins = [n for n in sizes.hints if _pinned(n, sizes)]
    if len(pins) == len(sizes.hints):
        return "for these sizes alone, which it takes as plain numbers"
    taken = ", ".join([f"{n}, which it takes as the plain number {sizes.hints[n]}" for n in pins])
    others = [n for n in sizes.hints if n not in pins]
    alike = all(_holds(sizes, n, s) for n in others for s in _nearby(sizes.hints[n]))
    reach = "now for all sizes" + (f" but {taken}" if pins else "")
    return reach if alike else f"{reach}; of those, for all that answer alike what it asks of them"


def _pinned(name: str, sizes: Sizes) -> bool:
    """Whether an equation of this symbol alone holds for no other size: `n == 4` does not,
    `n % 2 == 0` does."""
    return any(
        relation == "=="
        and fact
        and integers.symbols(difference) == {name}
        and all(_differs(difference, name, s) for s in _nearby(sizes.hints[name]))
        for (relation, difference), fact in sizes.guards.items()
    )


def _holds(sizes: Sizes, name: str, size: int) -> bool:
    """Whether the facts hold with another number for one size; those of quotients may have no
    value."""
    try:
        return sizes.hold({**sizes.hints, name: size})
    except ZeroDivisionError:
        return False


def _differs(difference: Int, name: str, size: int) -> bool:
    """Whether a difference is not 0 at a size; at some it has no value."""
    try:
        return integers.evaluate(difference, {name: size}) != 0
    except ZeroDivisionError:
        return True


def _nearby(size: int) -> list[int]:
    """Other sizes, of which one answers a question of remainders alike."""
    found = (2, 3, 5, size - 1, size + 1, size + 2, size + 60, size + 64, 2 * size, 10**6 + 3)
    return [s for s in found if s != size and s >= 2]


def generalize(
    types: Sequence[ArrayType], first: Sequence[tuple[Any, ...]]
) -> tuple[tuple[ArrayType, ...], Sizes]:
    """Symbols for the sizes that changed; equal sizes that changed alike share one."""
    hints: dict[str, Any] = {}
    known: dict[tuple[Any, Any], integers.Integer] = {}
    made = []
    for kind, old in zip(types, first, strict=True):
        shape: list[Any] = []
        for s, o in zip(kind.shape, old, strict=True):
            if s == o or not isinstance(s, int) or s < 2:
                shape.append(s)
                continue
            if (s, o) not in known:
                name = "nmkpqrs"[len(known)] if len(known) < 7 else f"n{len(known)}"
                known[s, o] = integers.symbol(name)
                hints[name] = s
            shape.append(known[s, o])
        made.append(ArrayType(kind.dtype, tuple(shape), kind.weak))
    return tuple(made), Sizes(hints)
