"""What a trace relied on around its function, and has to be as it was for the next call: facts, and
the elements of captured arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..ir.graph import Literal
from ..ops.sparse.pattern import is_fixed
from ..surroundings.captures import Surroundings
from ..surroundings.places import Content, Fact, Place, content, root, unchanged
from ..surroundings.state import Watch
from ..tensor import Boxed
from ..transforms.tracing import Traced
from .effects import check_found
from .operands import asks_identity
from .sharing import beside_written, one_object

SMALL = 8192
"""Up to so many bytes every captured array is compared at each call (0.3 us), until a change shows
that the graph does not depend on it."""


class Relied:
    """What one trace relied on, of what was found around its function."""

    def __init__(
        self,
        name: str,
        traced: Traced,
        around: Surroundings,
        watch: Watch,
        look: Callable[[], Surroundings],
    ) -> None:
        self.name, self.traced, self.around, self.watch = name, traced, around, watch
        arrays = {**around.arrays, **watch.places}
        outer = [c.target for c in traced.changes if not isinstance(c.target, int)]
        if any(id(box) not in arrays for box in outer):
            # What the function made and kept while it was traced, as optimizers do with their
            # state, is found by a second look.
            arrays = {**look().arrays, **watch.places}
        self.arrays = arrays
        """By their ids all arrays that are found again, and where."""
        self.places = [self._place(x) for x in traced.captures]
        """Of each captured value."""
        self.changes = tuple(
            (c, None if isinstance(c.target, int) else arrays.get(id(c.target)))
            for c in traced.changes
        )
        check_found(name, self.changes)
        self.stored = tuple([s.found(arrays) for s in watch.stored])
        self.captured = {id(x): k for k, x in enumerate(traced.captures)}
        looked = {id(x): x for x in traced.deciding if isinstance(x, Boxed)}
        deciding = {id(x) for x in traced.deciding} - looked.keys()
        self.looked = list(looked.values())
        """Boxes of whose elements the graph holds what was computed."""
        self.deciding = frozenset([k for n, k in self.captured.items() if n in deciding])
        self.known = {
            self.captured[id(v)]: v
            for _, v in around.facts
            if isinstance(v, np.ndarray) and id(v) in self.captured and id(v) not in watch.places
        }
        """By their numbers the captured arrays that NumPy may have computed with."""
        self.constants = [
            x
            for x, place in zip(traced.captures, self.places, strict=True)
            if place is None and not is_fixed(x)
        ]
        """Captured values that are found nowhere again."""

    def _place(self, x: Any) -> Place | None:
        place = self.arrays.get(id(x))
        if place is None and (node := self.watch.reach.found.get(id(x))) is not None:
            place = node.place()
        return place

    def facts(self, asked: Sequence[Fact]) -> tuple[list[Fact], tuple[int, ...]]:
        """All facts, those which were asked for while tracing among them; and the numbers of the
        captured values that show nothing of what a call writes outside."""
        around_it = self.watch.unread(self.around.facts)
        held = [
            (x.one, x.place)
            for s in self.stored
            for x in s.held()
            if x.place is not None and x.instead is None
        ]
        outside = [(c.target, place) for c, place in self.changes if not isinstance(c.target, int)]
        facts = list(self._as_they_were(around_it, {id(x) for x, _ in held}))
        if any(map(asks_identity, self.watch.reach.codes)):
            facts += [(p, v) for p, v in around_it if isinstance(v, Boxed) and unchanged(p, v)]
        facts += [*self.watch.facts, *asked]
        facts += [
            (place.then(".grad is None", "{it}._grad is None"), x._grad is None)
            for x, place in self.around.asked(self.traced.asked)
        ]
        facts += self._held_alike()
        captures, places = self.traced.captures, self.places
        facts += one_object(self.around.facts, captures, places, [*held, *outside])
        beside, fixed = beside_written(self.name, self.changes, around_it, captures, places)
        facts += fixed
        facts += [(self.arrays.get(id(x)) or root("", x), Content(x)) for x in self.looked]
        return facts, beside

    def _as_they_were(self, around_it: Sequence[Fact], stored: set[int]) -> Iterator[Fact]:
        """What is read around the function and not captured. What the function itself changed
        while it was traced (a counter, a log) is its result, not something it relied on."""
        # A sweep reads a value that was left over without its history, in a box of its own, which
        # is nowhere found again: as constant as the value is the same.
        apart = {
            id(x._data)
            for x, place in zip(self.traced.captures, self.places, strict=True)
            if place is None and isinstance(x, Boxed)
        }
        changing = {id(c.target) for c, _ in self.changes}
        for p, v in around_it:
            if (
                id(v) not in stored
                and (id(v) not in self.captured or (isinstance(v, Boxed) and id(v._data) in apart))
                and id(v) not in changing
                and unchanged(p, v)
            ):
                yield p, Content(v) if id(v) in self.around.arrays else v

    def _held_alike(self) -> Iterator[Fact]:
        """That what holds the variables which are stored is what the code names, where it is found
        by another way."""
        done: set[int] = set()
        for x, place in self.watch.holders():
            first = self.around.first(x)
            if id(x) not in done and first is not None and not first.reads_as(place):
                yield first.same(place), True
            done.add(id(x))

    def contents(self) -> dict[int, bytes]:
        """The elements of the captured arrays that each call compares: of all, where the graph has
        constants that may be made of them; else of small ones, of integers, and of those that
        decided."""
        literal = any(
            isinstance(a, Literal) and isinstance(a.value, np.generic)
            for node in self.traced.graph.nodes
            for a in node.inputs
        )
        every = literal or bool(self.constants)
        return self.contents_of(
            [
                k
                for k, v in self.known.items()
                if every or v.dtype.kind in "biu" or v.nbytes <= SMALL or k in self.deciding
            ]
        )

    def contents_of(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """The elements of these."""
        return {k: content(self.known[k]) or b"" for k in numbers}

    def constants_show_known(self) -> bool:
        """Whether a constant is a view of one of the arrays."""
        return any(
            isinstance(x, np.ndarray) and np.may_share_memory(x, v)
            for x in self.constants
            for v in self.known.values()
        )


def name_captures(traced: Traced, places: Sequence[Place | None]) -> None:
    """Name the inputs of the graph that stand for captured values after where these are found."""
    first = len(traced.graph.inputs) - len(traced.captures)
    for var, place in zip(traced.graph.inputs[first:], places, strict=True):
        path = place.path if place else ""
        var.name = var.name or path.replace(".", "_").replace("[", "_").translate(_UNNAMED)
        if not var.name.isidentifier():
            var.name = ""


_UNNAMED = str.maketrans("", "", "]'")

__all__ = ["SMALL", "Relied", "name_captures"]
