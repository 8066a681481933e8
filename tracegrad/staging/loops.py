"""Loops: Python's where all is known, else `fori_loop` and `while_loop`."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.repeat import fori_loop, while_loop
from ..errors import ConcretizationError, ShapeError, TracegradError
from ..ir.dispatch import STATE
from ..ir.graph import Graph
from ..sizes import SYMBOLIC
from ..tensor import Boxed
from .aliases import arrays_of, root_of
from .branches import choose, flag_of
from .carried import Carried, ChangedShape, Retry
from .failing import is_failing
from .iterables import Counted, by_number, weak_number
from .looks import Looks
from .places import (
    MISSING,
    BoxPlace,
    StagedPlace,
    VariablePlace,
    any_in,
    fields,
    traced,
    unknown,
    variables,
)
from .regions import ENDED, Refused, Want, parts, run
from .session import Restart, Session, current

LOG = logging.getLogger("tracegrad")


class Budget:
    """How much is written out step by step."""

    nodes = 64
    """A loop whose steps are fewer operations than this in all is written out."""


class _Unroll(Exception):
    """The loop is short enough to be written out."""


def _size(graph: Graph) -> int:
    return sum(1 + sum(map(_size, n.subgraphs())) for n in graph.nodes)


def _nodes() -> int:
    return sum(1 + sum(map(_size, n.subgraphs())) for n in STATE.traces[-1].nodes)


class _Changing(Exception):
    """The condition of a loop changes something, as a body does."""


def _changed(c: Carried, before: Any, after: Any) -> bool:
    if isinstance(c.place, BoxPlace):
        return getattr(before, "_data", before) is not getattr(after, "_data", after)
    return before is not after


class _Loop:
    """One loop of the user's, on its way to become one of the graph."""

    def __init__(
        self,
        session: Session,
        line: str,
        functions: Sequence[Callable[..., Any]],
        places: Sequence[StagedPlace],
        known: Sequence[str],
        others: Sequence[VariablePlace],
        flag: str,
    ) -> None:
        self.session, self.line, self.functions = session, line, functions
        self.known, self.others = known, others
        self.looks = Looks(session, line, functions)
        self.given = {p.key for p in places}
        every = [*places, *self.looks.places(places)]
        self.carried = [Carried(p, line, session.held) for p in every]
        for name, began, learnt in self.looks.plan or ():
            for c in self.carried:
                if c.place.name == name:
                    c.recall(began, learnt)
        self.flag = next((p for p in places if flag and p.name == flag), None)
        self.fresh: list[Any] = []

    def until_known(self, attempt: Callable[[], Any]) -> Any:
        """The result of an attempt, once nothing more is learnt of what is carried."""
        for _ in range(64):
            try:
                found = attempt()
                self.looks.learn(
                    [c.place for c in self.carried if c.place.key not in self.given],
                    [(c.place.name, c.began, c.learnt) for c in self.carried if c.learnt],
                )
                return found
            except Retry:
                for c in self.carried:
                    c.settle()
            except Want as want:
                if want.depth != len(self.session.regions):
                    raise
                have = {c.place.key for c in self.carried}
                self.carried += [
                    Carried(p, self.line, self.session.held)
                    for p in want.places
                    if p.key not in have
                ]
        raise Refused(f"{self.line}: what this loop changes differs from one look to the next")

    def initial(self) -> list[Any]:
        """All leaves carried."""
        return [x for c in self.carried for x in c.initial()]

    def inside(self, leaves: Sequence[Any], call: Callable[[], Any], leave: bool) -> Any:
        """`call()` with the carry in its places; the leaves after it, or what it returned."""
        given, mark = list(leaves), len(self.session.merged)
        values = [c.enter(given) for c in self.carried]
        entered = [
            [(x, x._data) for x in parts(v)[0] if isinstance(x, Boxed)]
            if not isinstance(c.place, BoxPlace) and v is not MISSING
            else []
            for c, v in zip(self.carried, values, strict=True)
        ]
        with self.session.held.more([x for boxes in entered for x, _ in boxes]):
            result, found, contents = run(
                self.session,
                self.line,
                self.functions,
                [c.place for c in self.carried],
                values,
                self.others,
                call,
            )
        if not leave:
            if any(map(_changed, self.carried, values, found)) or any(
                x._data is not data for boxes in entered for x, data in boxes
            ):
                raise _Changing
            return result
        if result is ENDED:
            found = [
                x if c.place.lasts else v
                for c, v, x in zip(self.carried, values, found, strict=True)
            ]
        written = {
            id(root_of(x)) for boxes in entered for x, data in boxes if x._data is not data
        } | {id(c.place.box) for c in self.carried if isinstance(c.place, BoxPlace)}
        for c, v, now, boxes in zip(list(self.carried), values, found, entered, strict=True):
            if any(x._data is not data for x, data in boxes):
                self._written(c, now is v)
        self._named(values, found, written)
        del self.session.merged[mark:]
        return [x for c, v in zip(self.carried, found, strict=True) for x in c.leave(v, contents)]

    def _named(self, values: Sequence[Any], found: Sequence[Any], written: set[int]) -> None:
        """After a pass: a variable may now be another name of an array that was there before it.
        Such an array must not be written, since the next pass would have to see that through both
        names."""
        before = [[root_of(x) for x in arrays_of(v)] for v in values]
        names = {id(r): r for own in before for r in own}
        leading: dict[int, list[int]] = {}
        for k, (c, now) in enumerate(zip(self.carried, found, strict=True)):
            if isinstance(c.place, BoxPlace) or c.undefined:
                continue
            roots = [root_of(x) for x in arrays_of(now)]
            for r in [s for root in roots for s in (root, *self.session.sources(root))]:
                if id(r) in names:
                    leading.setdefault(id(r), []).append(k)
                elif self._was_there(r):
                    c.others.append(weakref.ref(r))
                    leading.setdefault(id(r), [-1]).append(k)
        for root, ways in leading.items():
            others = {id(r) for k in ways if k >= 0 for r in before[k]}
            if len(ways) > 1 and not written.isdisjoint({root, *others}):
                name = self.carried[ways[-1]].place.name
                raise Refused(
                    f"{self.line}: {name} is after a pass of this loop another name of an array "
                    "that the loop writes into, so that the next pass would see the write through "
                    f"both. Bind it to a copy: {name} = a.copy()"
                )

    def _was_there(self, root: Any) -> bool:
        """Whether an array was there before this pass."""
        if isinstance(root, np.ndarray):
            site = self.session.site_of(root)
            return site is None or site[1] in (None, *self.session.regions)
        return getattr(root._data, "trace", None) is not STATE.traces[-1]

    def _written(self, c: Carried, stays: bool) -> None:
        """A pass writes into an array that a variable brings along. Other names of it have to see
        that: so the array itself is what the loop changes, if the variable stays bound to it."""
        start = c.start
        if isinstance(start, np.ndarray):
            site = self.session.site_of(start)
            if site is not None and site[0] not in self.session.sites:
                self.session.sites.add(site[0])
                raise Restart
        if isinstance(start, Boxed) and not c.shared:
            return
        if isinstance(start, Boxed) and stays:
            root = start if start._base is None else start._base
            self.carried.remove(c)
            raise Want([BoxPlace(root)], len(self.session.regions))
        raise Refused(
            f"{self.line}: {c.place.name} is written to and bound anew in the same loop, and is "
            "known by another name as well (an argument, a view, a list). Begin with a copy: "
            f"{c.place.name} = {c.place.name}.copy()"
        )

    def finish(self, found: Sequence[Any], sure: bool) -> None:
        """Hand over what the loop ended with."""
        given = list(found)
        for c in self.carried:
            c.finish(given, self.session, sure or c.place.name in self.known)
        for o in self.others:
            o.put(MISSING)


def counted_loop(loop: _Loop, items: Any, body: Callable[[Any], Any], count: Any) -> None:
    """A `for` over numbered items, as one loop."""
    known = type(count) is int

    def step(k: Any, leaves: Sequence[Any]) -> list[Any]:
        found = loop.inside(leaves, lambda: body(items.item(weak_number(k))), True)
        if known and _nodes() * count <= Budget.nodes:
            raise _Unroll
        return list(found)

    if loop.flag is None:
        found = loop.until_known(lambda: fori_loop(0, count, step, loop.initial()))
        loop.finish(found, known and count > 0)
        return

    def going(carry: Sequence[Any]) -> Any:
        k, *leaves = carry
        assert loop.flag is not None
        stop = loop.inside(leaves, loop.flag.get, False)
        return ops.logical_and(ops.less(k, count), ops.logical_not(stop))

    def next_(carry: Sequence[Any]) -> list[Any]:
        k, *leaves = carry
        return [k + 1, *step(k, leaves)]

    found = loop.until_known(lambda: while_loop(going, next_, [np.int64(0), *loop.initial()]))
    loop.finish(found[1:], known and count > 0)


def conditional_loop(
    loop: _Loop, test: Callable[[], Any], body: Callable[[], Any], sure: bool, truth: Any
) -> None:
    """A `while`, as one loop; `truth` is that of its condition before the first pass."""

    def goes() -> Any:
        return _goes(test(), loop.line)

    def going(leaves: Sequence[Any]) -> Any:
        return loop.inside(leaves, goes, False)

    def step(leaves: Sequence[Any]) -> list[Any]:
        return list(loop.inside(leaves, body, True))

    try:
        found = loop.until_known(lambda: while_loop(going, step, loop.initial()))
    except _Changing:
        pass
    else:
        loop.finish(found, sure)
        return

    # What the condition changes is handed on if it stands at the end of each pass.
    def whole(carry: Sequence[Any]) -> list[Any]:
        goes_on: list[Any] = []

        def both() -> None:
            body()
            goes_on.append(goes())

        leaves = loop.inside(carry[1:], both, True)
        return [goes_on[0] if goes_on else np.bool_(False), *leaves]

    first = _goes(truth, loop.line)
    found = loop.until_known(
        lambda: while_loop(lambda carry: carry[0], whole, [first, *loop.initial()])
    )
    loop.finish(found[1:], sure)


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

        def staged(sure: bool, truth: Any) -> None:
            assert session is not None
            loop = _Loop(
                session, place, functions, variables(functions, names), known,
                variables(functions, others), flag,
            )  # fmt: skip
            conditional_loop(loop, test, body, sure, truth)

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
                    staged(True, True)
                    return
                except TracegradError as error:
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
                session.loops.add(site)
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
    ) -> None:
        """`for item in iterable: body(item)`."""
        session = current()
        items = by_number(iterable)
        place = self.line_of(line)
        if session is not None and STATE.traces and items is not None and _involved(body, items):
            count = items.count
            if isinstance(count, (*SYMBOLIC, Boxed)) or count > 1:
                try:
                    self._staged(session, place, items, count, body, names, known, others, flag)
                    return
                except _Unroll:
                    pass
                except (TracegradError, NameError) as error:
                    if type(count) is not int:
                        raise
                    LOG.info("%s: not one loop: %s", place, error)
                    if isinstance(error, (ChangedShape, NameError)) and count > 2 and not flag:
                        self._after_one(
                            session, place, iterable, items, count, body, names, known, others
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
        self, session: Session, place: str, items: Any, count: Any, body: Any, names: Any,
        known: Any, others: Any, flag: str,
    ) -> None:  # fmt: skip
        loop = _Loop(
            session, place, (body,), variables([body], names), known,
            variables([body], others), flag,
        )  # fmt: skip
        counted_loop(loop, items, body, count)

    def _after_one(
        self, session: Session, place: str, iterable: Any, items: Any, count: int, body: Any,
        names: Any, known: Any, others: Any,
    ) -> None:  # fmt: skip
        """The first pass by itself, which may read and shape what the others do not, and the others
        as one loop."""
        rest = iter(iterable)
        body(next(rest))
        try:
            self._staged(session, place, _Later(items), count - 1, body, names, known, others, "")
        except (_Unroll, TracegradError, NameError) as error:
            LOG.info("%s: this loop is written out: %s", place, error)
            for item in rest:
                body(item)

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


class _Later:
    """The items after the first."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def item(self, k: Any) -> Any:
        return self.items.item(k + 1)


def _involved(body: Any, items: Any) -> bool:
    """Whether a body may meet a traced value."""
    if isinstance(items, Counted) or any_in(getattr(items, "array", None), traced):
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
