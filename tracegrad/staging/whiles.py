"""`while`: Python's where its condition is known, else `while_loop`, or a loop of known length
where no argument decides how often it goes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.facts import known_integer, known_number
from ..control.repeat import fori_loop, while_loop
from ..errors import TracegradError
from ..ir.dispatch import STATE
from .both_branches import flag_of
from .branches import truth_of
from .carried import Carried
from .failing import is_failing
from .iterables import Numbers
from .looks import Looks
from .loops import Budget, Unroll, all_nodes, counted_loop, of_outer
from .one_loop import Changing, StagedLoop
from .places import VariablePlace, traced, unknown, variables
from .replaced import KnownTwice, Watched
from .rooms import Roomless, Tried, in_room
from .session import Restart, current

LOG = logging.getLogger("tracegrad")

KNOWN = "known"
"""Of a `while`: its condition was known for some passes."""
MUCH = 1 << 40
"""Room for what a loop appends of which only the length is looked for."""


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


def tried_loop(
    loop: StagedLoop, test: Callable[[], Any], body: Callable[[], Any], truth: Any
) -> Tried:
    """Whether a `while` has room for all that it appends, how many passes it makes, and what it
    ends with; passes are not counted where the condition changes something, since these are more
    than its passes. It ends where there is no room for what a further pass appends."""

    def goes() -> Any:
        return ops.logical_and(_goes(test(), loop.line), loop.fits())

    def going(carry: Sequence[Any]) -> Any:
        return loop.inside(carry[1:], goes, False)

    def step(carry: Sequence[Any]) -> list[Any]:
        return [carry[0] + 1, *loop.inside(carry[1:], body, True)]

    try:
        passes, *found = loop.until_known(
            lambda: while_loop(going, step, [np.int64(0), *loop.initial()])
        )
    except Changing:
        passes, found = None, conditional_loop(loop, goes, body, truth)
    ends = [found[k] for k in loop.places_of_start()]
    return Tried(loop.inside(found, loop.fits, False), passes, ends)


def conditional_loop(
    loop: StagedLoop, test: Callable[[], Any], body: Callable[[], Any], truth: Any
) -> Any:
    """What a `while` ends with, as one loop; `truth` is that of its condition before the first
    pass."""

    def goes() -> Any:
        return _goes(test(), loop.line)

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


def repeated(loop: StagedLoop, body: Callable[[], Any], passes: Any) -> Any:
    """What a `while` ends with whose number of passes is known: the condition, which changes
    nothing, need not be asked again, and a derivative need not count."""

    def step(_: Any, leaves: Sequence[Any]) -> list[Any]:
        return list(loop.inside(leaves, body, True))

    return loop.until_known(lambda: fori_loop(0, passes, step, loop.initial()))


def _goes(truth: Any, line: str) -> Any:
    """Whether a loop goes on: a program that is failing would not be here any more."""
    failing = is_failing()
    truth = truth_of(truth)
    goes_on = flag_of(truth, line) if traced(truth) else np.bool_(bool(truth))
    return goes_on if failing is False else ops.logical_and(goes_on, ops.logical_not(failing))


class Whiles:
    """The helper of `while`."""

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

        looks: Looks | None = None

        def loop_of(flag: str, count: Any, ends: bool, room: Any) -> StagedLoop:
            nonlocal looks
            assert session is not None
            if looks is not None:
                looks.recall()
            loop = StagedLoop(
                session, place, functions, variables(functions, names), known,
                variables(functions, others), flag, count, ends, room, looks=looks,
            )  # fmt: skip
            looks = loop.looks
            return loop

        def loop_in(room: Any) -> StagedLoop:
            return loop_of(flag, None, True, room)

        def counted() -> bool:
            """Make it a loop of known length, where that is a fact."""
            if session is None or (*site, KNOWN) not in session.loops:
                return False
            count = passes_of(loop_in(MUCH), test, body)
            if count is None:
                return False
            loop = loop_of("", count, False, None)
            found = counted_loop(loop, Numbers(range(count)), lambda _: body(), count)
            loop.finish(found, count > 0)
            _put_numbers(loop)
            return True

        def staged(sure: bool, truth: Any) -> None:
            assert session is not None

            def run(loop: StagedLoop, passes: Any) -> Any:
                if passes is None:
                    return conditional_loop(loop, test, body, truth)
                return repeated(loop, body, passes)

            def tried(loop: StagedLoop) -> Tried:
                return tried_loop(loop, test, body, truth)

            loop, found = in_room(session, loop_in, run, tried)
            loop.finish(found, sure)

        started, passes = all_nodes(), 0
        while True:
            truth = truth_of(test())
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
            if tracing and passes < 2 and session is not None and site in session.loops:
                try:
                    if not counted():
                        staged(True, True)
                    return
                except (Unroll, TracegradError) as error:
                    if of_outer(error, session) or isinstance(error, (Roomless, KnownTwice)):
                        raise
                    LOG.info("%s: the first pass apart: %s", place, error)
            watched = Watched(session, place, variables(functions, names))
            body()
            watched.passed()
            first, passes = False, passes + 1
            if (
                tracing
                and passes >= 4
                and session is not None
                and site not in session.loops
                and all_nodes() - started > 4 * Budget.nodes
            ):
                session.loops |= {site, (*site, KNOWN)}
                raise Restart


def _put_numbers(loop: StagedLoop) -> None:
    """After a loop of which the length is a fact: what it counted with are numbers of Python's, as
    they were before it."""
    for c in loop.carried:
        if isinstance(c, Carried) and isinstance(c.place, VariablePlace) and c.start_is_number:
            found = known_number(c.place.get())
            if found is not None:
                c.place.put(found)


__all__ = ["Whiles"]
