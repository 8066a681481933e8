"""Loops over items: Python's where all is known, else `fori_loop`, and `while_loop` where they may
end early."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.repeat import fori_loop, while_loop
from ..errors import ConcretizationError, ShapeError, TracegradError
from ..ir.dispatch import STATE
from ..ir.forms import bounded, form_of
from ..ir.graph import Graph
from ..ops.places.spans import ComputedLength
from ..sizes import SYMBOLIC, form
from ..tensor import Boxed
from .algorithms import some
from .both_branches import choose
from .carried import ChangedShape
from .iterables import Counted, Items, Numbers, by_number, weak_number
from .late_lists import is_late_list
from .listed import begun, is_ragged, owners_in
from .lists import Grown
from .looks import Looks
from .one_loop import StagedLoop
from .places import (
    VariablePlace,
    any_in,
    fields,
    traced,
    unknown,
    variables,
)
from .replaced import KnownTwice, Watched, as_one_loop
from .rooms import Tried, in_room
from .session import Session, current

LOG = logging.getLogger("tracegrad")


class Budget:
    """How much is written out step by step."""

    nodes = 64
    """A loop whose steps are fewer operations than this in all is written out."""


class Unroll(Exception):
    """The loop is short enough to be written out."""


def _size(graph: Graph) -> int:
    return sum(1 + sum(map(_size, n.subgraphs())) for n in graph.nodes)


def all_nodes() -> int:
    """The operations of the trace, with those of its loops and branches."""
    nodes = STATE.traces[-1].nodes if STATE.traces else ()
    return sum(1 + sum(map(_size, n.subgraphs())) for n in nodes)


def counted_loop(loop: StagedLoop, items: Any, body: Callable[[Any], Any], count: Any) -> Any:
    """What a `for` over numbered items ends with, as one loop."""
    known = type(count) is int
    owners = owners_in(items)

    def step(k: Any, leaves: Sequence[Any]) -> list[Any]:
        found = loop.step(k, leaves, lambda: body(weak_number(k)))
        loop.leaves_alone(owners)
        if known and not loop.counts and all_nodes() * count <= Budget.nodes:
            raise Unroll
        return found

    def once_or_twice(attempt: Callable[[], Any]) -> Any:
        found = loop.until_known(attempt)
        return loop.until_known(attempt) if known and loop.settled(found) else found

    if loop.flag is None:
        return once_or_twice(lambda: fori_loop(0, count, step, loop.initial()))

    def going(carry: Sequence[Any]) -> Any:
        k, *leaves = carry
        assert loop.flag is not None
        stop = loop.inside(leaves, loop.flag.get, False)
        return ops.logical_and(ops.less(k, count), ops.logical_not(stop))

    def next_(carry: Sequence[Any]) -> list[Any]:
        k, *leaves = carry
        bounded(k, 0, form_of(form(count)))  # or it would have ended
        return [k + 1, *step(k, leaves)]

    return once_or_twice(lambda: while_loop(going, next_, [np.int64(0), *loop.initial()])[1:])


class Loops:
    """The helpers of loops."""

    line_of: Callable[[int], str]
    rest_of: Callable[..., None]
    code: Any

    def for_(
        self,
        line: int,
        iterable: Any,
        body: Callable[[Any], Any],
        names: Sequence[str],
        known: Sequence[str],
        others: Sequence[str],
        flag: str,
        within: Sequence[Any] = (),
    ) -> None:
        """`for item in iterable: body(item)`; `within` are other functions that the body calls."""
        session = current()
        place = self.line_of(line)
        items = by_number(iterable)
        if items is None:
            items = as_one_loop(session, place, iterable, names)
        functions = (body, *[f for f in within if f is not None])
        alone = False
        if (
            session is not None
            and STATE.traces
            and items is not None
            and any(_involved(f, items) for f in functions)
        ):
            count = items.count
            if isinstance(count, (*SYMBOLIC, Boxed)) or (count > 1 and place not in session.apart):
                try:
                    self._staged(
                        session, place, items, count, functions, names, known, others, flag
                    )
                    return
                except Unroll:
                    pass
                except (TracegradError, NameError) as error:
                    if type(count) is not int or of_outer(error, session):
                        raise
                    if session.can_cut(error, (self.code, line)) or type(error) is KnownTwice:
                        raise
                    LOG.info("%s: not one loop: %s", place, error)
                    alone = isinstance(error, (ChangedShape, NameError)) and count > 2
        flags = variables([body], [flag]) if flag else []
        rest = iter(iterable)
        if alone:
            assert session is not None
            body(next(rest))

            def later() -> None:
                assert session is not None
                part = _Later(items)
                self._staged(
                    session, place, part, part.count, functions, names, known, others, flag
                )

            if self._after_one(session, place, later, body, names, known, others, flags):
                return
            if flags and unknown(flags[0].get()):
                self._rest(session, place, rest, body, names, known, others, flags[0])
                return
        watched = Watched(session, place, variables([body], names))
        for item in rest:
            body(item)
            watched.passed()
            if not flags:
                continue
            stop = flags[0].get()
            if session is not None and STATE.traces and unknown(stop):
                self._rest(session, place, rest, body, names, known, others, flags[0])
                return
            if stop:
                return

    def _staged(
        self, session: Session, place: str, items: Any, count: Any, functions: Any, names: Any,
        known: Any, others: Any, flag: str,
    ) -> None:  # fmt: skip
        looks: Looks | None = None

        def loop_in(room: Any) -> StagedLoop:
            nonlocal looks
            if looks is not None:
                looks.recall()
            loop = StagedLoop(
                session, place, functions, variables(functions, names), known,
                variables(functions, others), flag, count, bool(flag), room, looks=looks,
            )  # fmt: skip
            looks = loop.looks
            return loop

        def run(loop: StagedLoop, _: Any) -> Any:
            return counted_loop(loop, items, one, count)

        def tried(loop: StagedLoop) -> Tried:
            found = run(loop, None)
            ends = [found[k] for k in loop.places_of_start()]
            return Tried(loop.inside(found, loop.fits, False), np.int64(0), ends)

        body = functions[0]

        def one(k: Any) -> None:
            if is_ragged(items):
                item = begun(items, k)
                self.rest_of(place, body, names, known, others, lambda: body(item()))
            else:
                body(items.item(k))

        loop, found = in_room(session, loop_in, run, tried)
        loop.finish(found, type(count) is int and count > 0)

    def once(
        self, session: Session, place: str, call: Callable[[], None], functions: Any, names: Any,
        known: Any, others: Any,
    ) -> None:  # fmt: skip
        """`call()`, a statement, as the one pass of a loop: lists that grow in it have room."""
        items = Numbers(range(1))

        def body(_: Any) -> None:
            call()

        try:
            self._staged(session, place, items, 1, (body, *functions), names, known, others, "")
        except Unroll:
            call()

    def _after_one(
        self, session: Session, place: str, later: Callable[[], None], body: Any, names: Any,
        known: Any, others: Any, flags: Sequence[VariablePlace],
    ) -> bool:  # fmt: skip
        """After the first pass by itself, which may read and shape what the others do not: the
        others as one loop. False where they are none."""
        stop = flags[0].get() if flags else False
        if not unknown(stop) and stop:
            return True
        try:
            if unknown(stop):
                choose(
                    session, place, ops.logical_not(stop), (later, lambda: None),
                    variables([body], names), known, variables([body], others),
                )  # fmt: skip
            else:
                later()
        except (Unroll, TracegradError, NameError) as error:
            if of_outer(error, session):
                raise
            LOG.info("%s: this loop is written out: %s", place, error)
            return False
        return True

    made: Callable[[int, Any], Any]

    def collected(
        self, line: int, iterable: Any, function: Callable[[Any], Any], test: Any = None
    ) -> Any:
        """`[function(item) for item in iterable if test(item)]`."""
        tracing = current() is not None and bool(STATE.traces)
        written_out = by_number(iterable) is None
        if not tracing or (written_out and test is None):
            items = iterable if test is None else self._chosen(line, iterable, test)
            return self.made(line, [function(item) for item in items])
        found = self.made(line, Grown())

        def body(item: Any) -> None:
            def append() -> None:
                found.append(function(item))

            if test is None:
                append()
            else:
                self.if_(line, test(item), append, None, (), (), ())  # type: ignore[attr-defined]

        if written_out:
            for item in iterable:
                body(item)
            return found if found.stacked else self.made(line, list(found))
        self.for_(line, iterable, body, (), (), (), "", (function, test))
        return found

    def tested(
        self, line: int, number: int, function: Any, iterable: Any, holds: Callable[[Any], Any],
        test: Callable[[Any], Any] | None = None,
    ) -> Any:  # fmt: skip
        """`function(holds(item) for item in iterable if test(item))`, which is `any` or `all`."""
        session = current()
        if (
            session is not None
            and is_late_list(iterable)
            and function in (builtins.any, builtins.all)
        ):
            every = function is builtins.all
            found = session.version(some)(iterable, holds, test, not every)
            return _not(found) if every else found
        values = (holds(item) for item in iterable if test is None or test(item))
        return self.call(line, number, function, values)  # type: ignore[attr-defined]

    def _chosen(self, line: int, iterable: Any, test: Callable[[Any], Any]) -> Iterator[Any]:
        for item in iterable:
            if self.decided(line, test(item)):  # type: ignore[attr-defined]
                yield item

    def _rest(
        self, session: Session, place: str, rest: Any, body: Any, names: Any, known: Any,
        others: Any, flag: VariablePlace,
    ) -> None:  # fmt: skip
        """The passes after one of which it is not known whether it was the last: each where the
        loop has not ended."""
        for item in rest:
            stop = flag.get()
            if not unknown(stop):
                if stop:
                    return
                body(item)
                continue

            def one(item: Any = item) -> None:
                body(item)

            choose(
                session, place, ops.logical_not(stop), (one, lambda: None),
                variables([body], names), known, variables([body], others),
            )  # fmt: skip


def _not(x: Any) -> Any:
    return ops.logical_not(x) if isinstance(x, Boxed) else not x


def of_outer(error: Exception, session: Session) -> bool:
    """Whether a loop around can make a length known in its passes."""
    return isinstance(error, ComputedLength) and not error.names.isdisjoint(session.numbers)


class _Later:
    """The items after the first."""

    def __init__(self, items: Any) -> None:
        self.items, self.count = items, items.count - 1

    def item(self, k: Any) -> Any:
        return self.items.item(k + 1)


def _involved(body: Any, items: Any) -> bool:
    """Whether a body may meet a traced value."""
    if isinstance(items, (Counted, Items)) or any_in(getattr(items, "array", None), traced):
        return True
    if any(_involved(body, p) for p in getattr(items, "parts", ())):
        return True
    for cell in body.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if any_in(value, traced) or any_in(fields(value), traced):
            return True
    return False


__all__ = [
    "Budget",
    "ConcretizationError",
    "Loops",
    "ShapeError",
    "Unroll",
    "all_nodes",
    "counted_loop",
    "of_outer",
]  # fmt: skip
