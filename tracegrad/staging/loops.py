"""Loops: Python's where all is known, else `fori_loop` and `while_loop`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.facts import known_integer
from ..control.repeat import fori_loop, while_loop
from ..errors import ConcretizationError, ShapeError, TracegradError
from ..ir.dispatch import STATE
from ..ir.forms import bounded, form_of
from ..ir.graph import Graph
from ..ops.places.spans import ComputedLength
from ..sizes import SYMBOLIC, form
from ..tensor import Boxed
from .both_branches import choose, flag_of
from .carried import ChangedShape
from .failing import is_failing
from .growing import Roomless
from .iterables import Counted, Items, Numbers, by_number, weak_number
from .lists import Grown
from .one_loop import Changing, StagedLoop
from .places import (
    VariablePlace,
    any_in,
    fields,
    traced,
    unknown,
    variables,
)
from .rooms import room_for
from .session import Restart, Session, current

LOG = logging.getLogger("tracegrad")


class Budget:
    """How much is written out step by step."""

    nodes = 64
    """A loop whose steps are fewer operations than this in all is written out."""


KNOWN = "known"
"""Of a `while`: its condition was known for some passes."""
MUCH = 1 << 40
"""Room for what a loop appends of which only the length is looked for."""


class _Unroll(Exception):
    """The loop is short enough to be written out."""


def _size(graph: Graph) -> int:
    return sum(1 + sum(map(_size, n.subgraphs())) for n in graph.nodes)


def _nodes() -> int:
    return sum(1 + sum(map(_size, n.subgraphs())) for n in STATE.traces[-1].nodes)


def counted_loop(loop: StagedLoop, items: Any, body: Callable[[Any], Any], count: Any) -> None:
    """A `for` over numbered items, as one loop."""
    known = type(count) is int

    def step(k: Any, leaves: Sequence[Any]) -> list[Any]:
        found = loop.step(k, leaves, lambda: body(items.item(weak_number(k))))
        if known and not loop.counts and _nodes() * count <= Budget.nodes:
            raise _Unroll
        return found

    def once_or_twice(attempt: Callable[[], Any]) -> None:
        found = loop.until_known(attempt)
        if known and loop.settled(found):
            found = loop.until_known(attempt)
        loop.finish(found, known and count > 0)

    if loop.flag is None:
        once_or_twice(lambda: fori_loop(0, count, step, loop.initial()))
        return

    def going(carry: Sequence[Any]) -> Any:
        k, *leaves = carry
        assert loop.flag is not None
        stop = loop.inside(leaves, loop.flag.get, False)
        return ops.logical_and(ops.less(k, count), ops.logical_not(stop))

    def next_(carry: Sequence[Any]) -> list[Any]:
        k, *leaves = carry
        bounded(k, 0, form_of(form(count)))  # or it would have ended
        return [k + 1, *step(k, leaves)]

    once_or_twice(lambda: while_loop(going, next_, [np.int64(0), *loop.initial()])[1:])


def passes_of(loop: StagedLoop, test: Callable[[], Any], body: Callable[[], Any]) -> int | None:
    """How many passes a `while` makes, where no argument decides that (`while t < 5.0: t += h`)."""
    trace = STATE.traces[-1]
    before = len(trace.nodes)

    def going(carry: Sequence[Any]) -> Any:
        return loop.inside(carry[1:], lambda: _goes(test(), loop.line), False)

    def step(carry: Sequence[Any]) -> list[Any]:
        return [carry[0] + 1, *loop.inside(carry[1:], body, True)]

    def attempt() -> Any:
        return while_loop(going, step, [np.int64(0), *loop.initial()])[0]

    try:
        return known_integer(loop.until_known(attempt))
    except Changing:
        return None
    finally:
        del trace.nodes[before:]


def conditional_loop(
    loop: StagedLoop,
    test: Callable[[], Any],
    body: Callable[[], Any],
    truth: Any,
    tried: bool = False,
) -> Any:
    """What a `while` ends with, as one loop; `truth` is that of its condition before the first
    pass. `tried`: it ends where there is no room for what a further pass appends."""

    def goes() -> Any:
        goes_on = _goes(test(), loop.line)
        return ops.logical_and(goes_on, loop.fits()) if tried else goes_on

    def going(leaves: Sequence[Any]) -> Any:
        return loop.inside(leaves, goes, False)

    def step(leaves: Sequence[Any]) -> list[Any]:
        return list(loop.inside(leaves, body, True))

    try:
        return loop.until_known(lambda: while_loop(going, step, loop.initial()))
    except Changing:
        pass

    # What the condition changes is handed on if it stands at the end of each pass.
    def whole(carry: Sequence[Any]) -> list[Any]:
        goes_on: list[Any] = []

        def both() -> None:
            body()
            goes_on.append(goes())

        leaves = loop.inside(carry[1:], both, True)
        return [goes_on[0] if goes_on else np.bool_(False), *leaves]

    first = _goes(truth, loop.line)
    return loop.until_known(
        lambda: while_loop(lambda carry: carry[0], whole, [first, *loop.initial()])
    )[1:]


def _goes(truth: Any, line: str) -> Any:
    """Whether a loop goes on: a program that is failing would not be here any more."""
    failing = is_failing()
    goes_on = flag_of(truth, line) if traced(truth) else np.bool_(bool(truth))
    return goes_on if failing is False else ops.logical_and(goes_on, _not(failing))


class Loops:
    """The helpers of loops."""

    line_of: Callable[[int], str]
    code: Any

    def while_(
        self,
        line: int,
        test: Callable[[], Any],
        body: Callable[[], Any],
        names: Sequence[str],
        known: Sequence[str],
        others: Sequence[str],
        flag: str,
    ) -> None:
        """`while test(): body()`."""
        session, site, first = current(), (self.code, line), True
        functions = (test, body)
        place = self.line_of(line)

        def loop_in(room: Any) -> StagedLoop:
            assert session is not None
            return StagedLoop(
                session, place, functions, variables(functions, names), known,
                variables(functions, others), flag, None, True, room,
            )  # fmt: skip

        def counted() -> bool:
            """Make it a loop of known length, where that is a fact."""
            if session is None or (*site, KNOWN) not in session.loops:
                return False
            count = passes_of(loop_in(MUCH), test, body)
            if count is None:
                return False
            loop = StagedLoop(
                session, place, functions, variables(functions, names), known,
                variables(functions, others), "", count,
            )  # fmt: skip
            counted_loop(loop, Numbers(range(count)), lambda _: body(), count)
            return True

        def staged(sure: bool, truth: Any) -> None:
            assert session is not None

            def fits(room: Any) -> Any:
                loop = loop_in(room)
                found = conditional_loop(loop, test, body, truth, True)
                return loop.inside(found, loop.fits, False)

            try:
                loop = loop_in(None)
                found = conditional_loop(loop, test, body, truth)
            except Roomless as error:
                loop = loop_in(room_for(session, error, fits))
                found = conditional_loop(loop, test, body, truth)
            loop.finish(found, sure)

        started, passes = _nodes_now(), 0
        while True:
            truth = test()
            tracing = session is not None and bool(STATE.traces)
            if tracing and unknown(truth):
                assert session is not None
                if not first and site not in session.loops:
                    # From its start on, so that the first pass does not stand in the graph twice.
                    session.loops.add(site)
                    raise Restart
                staged(False, truth)
                return
            if not truth:
                return
            if tracing and first and session is not None and site in session.loops:
                try:
                    if not counted():
                        staged(True, True)
                    return
                except (_Unroll, TracegradError) as error:
                    if _of_outer(error, session) or isinstance(error, Roomless):
                        raise
                    LOG.info("%s: the first pass apart: %s", place, error)
            body()
            first, passes = False, passes + 1
            if (
                tracing
                and passes >= 4
                and session is not None
                and site not in session.loops
                and _nodes_now() - started > 4 * Budget.nodes
            ):
                session.loops |= {site, (*site, KNOWN)}
                raise Restart

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
        items = by_number(iterable)
        place = self.line_of(line)
        functions = (body, *[f for f in within if f is not None])
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
                except _Unroll:
                    pass
                except (TracegradError, NameError) as error:
                    if type(count) is not int or _of_outer(error, session):
                        raise
                    if session.can_cut(error):
                        raise
                    LOG.info("%s: not one loop: %s", place, error)
                    if isinstance(error, (ChangedShape, NameError)) and count > 2 and not flag:
                        self._after_one(
                            session, place, iterable, items, count, functions, names, known, others
                        )
                        return
        flags = variables([body], [flag]) if flag else []
        rest = iter(iterable)
        for item in rest:
            body(item)
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
        loop = StagedLoop(
            session, place, functions, variables(functions, names), known,
            variables(functions, others), flag, count, bool(flag),
        )  # fmt: skip
        counted_loop(loop, items, functions[0], count)

    def _after_one(
        self, session: Session, place: str, iterable: Any, items: Any, count: int, functions: Any,
        names: Any, known: Any, others: Any,
    ) -> None:  # fmt: skip
        """The first pass by itself, which may read and shape what the others do not, and the others
        as one loop."""
        rest, body = iter(iterable), functions[0]
        body(next(rest))
        try:
            self._staged(
                session, place, _Later(items), count - 1, functions, names, known, others, ""
            )
        except (_Unroll, TracegradError, NameError) as error:
            if _of_outer(error, session):
                raise
            LOG.info("%s: this loop is written out: %s", place, error)
            for item in rest:
                body(item)

    made: Callable[[int, Any], Any]

    def collected(
        self, line: int, iterable: Any, function: Callable[[Any], Any], test: Any = None
    ) -> Any:
        """`[function(item) for item in iterable if test(item)]`."""
        if current() is None or not STATE.traces or by_number(iterable) is None:
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

        self.for_(line, iterable, body, (), (), (), "", (function, test))
        return found

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


def _of_outer(error: Exception, session: Session) -> bool:
    """Whether a loop around can make a length known in its passes."""
    return isinstance(error, ComputedLength) and not error.names.isdisjoint(session.numbers)


class _Later:
    """The items after the first."""

    def __init__(self, items: Any) -> None:
        self.items = items

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


def _not(x: Any) -> Any:
    return ops.logical_not(x)


def _nodes_now() -> int:
    return len(STATE.traces[-1].nodes) if STATE.traces else 0


__all__ = ["Budget", "ConcretizationError", "Loops", "ShapeError"]
