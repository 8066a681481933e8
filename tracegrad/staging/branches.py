"""Branches: Python's where the condition is known, else `cond`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..ir.dispatch import STATE
from ..sizes import Size, number_of
from ..tensor import Boxed
from .both_branches import choose, flag_of
from .letters import Letter, is_in
from .lists import Grown
from .places import is_leaf, traced, unknown, variables
from .queues import Queue
from .reached import method_of
from .regions import Refused
from .session import current
from .tables import Tabled, Unlike
from .taking import holds, is_open


class Branches:
    """The helpers of branches and of conditions."""

    line_of: Callable[[int], str]
    once: Callable[..., None]

    def if_(
        self,
        line: int,
        test: Any,
        then: Callable[[], Any],
        other: Callable[[], Any] | None,
        names: Sequence[str],
        known: Sequence[str],
        others: Sequence[str],
    ) -> None:
        """`if test: then() else: other()`."""
        session, test = current(), truth_of(test)
        if session is None or not STATE.traces or not unknown(test):
            if test:
                then()
            elif other is not None:
                other()
            return
        functions = (then, other or _nothing)
        place = self.line_of(line)

        def both() -> None:
            places, gone = variables(functions, names), variables(functions, others)
            choose(session, place, test, functions, places, known, gone)

        if place in session.roomy:
            self.once(session, place, both, functions, names, known, others)
        else:
            both()

    def decided(self, line: int, test: Any) -> Any:
        """A condition that only Python can decide, since its statement stays as it is."""
        if current() is not None and STATE.traces and unknown(test):
            raise Refused(
                f"{self.line_of(line)}: this condition depends on a traced value, and stands in a "
                "'try', a 'match' or a 'with' (or in a loop with a jump out of one), which stay as "
                "they are. Compute the value outside of that statement, or in a function that the "
                "statement calls."
            )
        return test

    def either(
        self, line: int, test: Any, then: Callable[[], Any], other: Callable[[], Any]
    ) -> Any:
        """`then() if test else other()`."""
        session, test = current(), truth_of(test)
        if session is None or not STATE.traces or not unknown(test):
            return then() if test else other()
        return choose(session, self.line_of(line), test, (then, other), [], (), [])[0]

    def given(self, line: int, value: Any) -> Callable[[], Any]:
        """A part of a condition that is computed where it stands, since it binds a name."""
        return lambda: value

    def all_of(self, line: int, free: bool, *values: Callable[[], Any]) -> Any:
        """`a and b and ...`, each computed where those before it hold (`free`: or anyhow)."""
        return self._joined(line, values, True, free)

    def any_of(self, line: int, free: bool, *values: Callable[[], Any]) -> Any:
        """`a or b or ...`, each computed where none before it holds (`free`: or anyhow)."""
        return self._joined(line, values, False, free)

    def all_hold(self, line: int, free: bool, *values: Callable[[], Any]) -> Any:
        """`a and b and ...`, of which only the truth is asked for."""
        return self._joined(line, [_asked(v) for v in values], True, free)

    def any_hold(self, line: int, free: bool, *values: Callable[[], Any]) -> Any:
        """`a or b or ...`, of which only the truth is asked for."""
        return self._joined(line, [_asked(v) for v in values], False, free)

    def _joined(
        self, line: int, values: Sequence[Callable[[], Any]], all_: bool, free: bool
    ) -> Any:
        first = values[0]()
        if len(values) == 1:
            return first
        session = current()
        whole, first = first, truth_of(first)
        if session is None or not STATE.traces or not unknown(first):
            return self._joined(line, values[1:], all_, free) if bool(first) is all_ else whole

        def rest() -> Any:
            return self._joined(line, values[1:], all_, free)

        if free and first.dtype.kind == "b" and not first.shape:
            second = rest()
            if isinstance(second, bool):
                return first if second is all_ else second
            if getattr(second, "dtype", None) == np.bool_ and not second.shape:
                return (ops.logical_and if all_ else ops.logical_or)(first, second)

        def here() -> Any:
            return first

        both = (rest, here) if all_ else (here, rest)
        return choose(session, self.line_of(line), first, both, [], (), [])[0]

    def not_(self, line: int, value: Any) -> Any:
        """`not value`."""
        value = truth_of(value)
        if current() is None or not STATE.traces or not unknown(value):
            return not value
        return ops.logical_not(flag_of(value, self.line_of(line)))

    def compared(
        self, line: int, names: Sequence[str], first: Any, *others: Callable[[], Any]
    ) -> Any:
        """`a < b < c`."""
        right = others[0]()
        truth = compare(names[0], first, right)
        if len(others) == 1:
            return truth
        return self.all_of(
            line, False, lambda: truth, lambda: self.compared(line, names[1:], right, *others[1:])
        )


def compare(name: str, a: Any, b: Any) -> Any:
    """One comparison by name."""
    if name in ("is_", "is_not") and type(b) is bool and traced(a) and a.dtype == np.bool_:
        # One of Python's truth values is one of these, and one of NumPy's never.
        if not a._data.type.weak:
            return name == "is_not"
        return (ops.equal if name == "is_" else ops.not_equal)(a, b)
    if name in ("is_", "is_not") and type(a) is type(b) is Tabled and a is not b:
        # Rows are made anew each time that they are read.
        raise Unlike(a.site)
    if name in ("in_", "not_in"):
        if type(b) is Tabled and b.nested:
            raise Unlike(b.site)
        b = b.box if type(b) is Tabled else b.listed() if type(b) is Queue else b
        if type(b) is Grown and (b.late or is_open(b)):
            held = holds(b, a)
            return (
                held if name == "in_" else not held if type(held) is bool else ops.logical_not(held)
            )
        if type(a) is Letter and isinstance(b, (str, tuple, list, set, frozenset, dict)):
            there = is_in(a, b)
            return (
                there if name == "in_" else not there if there is False else ops.logical_not(there)
            )
        if isinstance(b, Boxed) and (traced(a) or (traced(b) and is_leaf(a))):
            found: Any = ops.any(ops.equal(b, a))
            return ops.logical_not(found) if name == "not_in" else found
        if traced(a) and isinstance(b, (list, tuple, range, set, frozenset, dict, np.ndarray)):
            found = False
            for x in b:
                found = ops.logical_or(found, ops.equal(a, x))
            return ops.logical_not(found) if name == "not_in" else found
        session = current()
        method = None if session is None else method_of(session, b, "__contains__")
        if method is None:
            return (a in b) if name == "in_" else (a not in b)
        held = truth_of(method(b, a))
        return held if name == "in_" else ops.logical_not(held) if unknown(held) else not held
    return getattr(operator, name)(a, b)


def truth_of(x: Any) -> Any:
    """What a condition asks of a value: of a list of which only a run knows the length whether it
    has items."""
    if type(x) is Grown and x.stacked is not None and x.stacked.counted:
        return ops.greater(x.length(), 0)
    if type(x) is Queue:
        return x.length() > 0
    return number_of(x) if type(x) is Size else x


def _asked(value: Callable[[], Any]) -> Callable[[], Any]:
    """The truth of a value in its place, where Python knows it: of a list, a text or None."""

    def truth() -> Any:
        found = truth_of(value())
        return found if unknown(found) else bool(found)

    return truth


def _nothing() -> None:
    return None


__all__ = ["Branches", "compare", "truth_of"]
