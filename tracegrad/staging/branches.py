"""Branches: Python's where the condition is known, else `cond`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.branch import cond
from ..errors import ShapeError
from ..ir.dispatch import STATE
from ..ir.forms import bounded, form_of
from ..sizes import form
from ..tensor import Boxed
from .agreement import (
    Agreed,
    Forms,
    Side,
    all_fit,
    all_like,
    forms_of,
    sizes_differ,
    with_numbers,
)
from .failing import reached
from .growing import GrownPlace
from .items import Evened, uneven
from .lists import Grown, Stacked
from .looks import Looks
from .places import (
    MISSING,
    AttributePlace,
    BoxPlace,
    ItemPlace,
    StagedPlace,
    VariablePlace,
    traced,
    unknown,
    variables,
)
from .regions import ENDED, Raised, Refused, Want, run
from .session import Session, current

MOST = 64


class _Replan(Exception):
    """The branches differ in what they leave; now it is known how."""


def flag_of(test: Any, line: str) -> Any:
    """A traced condition as one bool."""
    if test.shape:
        if any(s != 1 for s in test.shape):
            raise ShapeError(
                f"{line}: the truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()"
            )
        test = ops.reshape(test, ())
    return test if test.dtype.kind == "b" else ops.not_equal(test, 0)


def choose(
    session: Session,
    line: str,
    test: Any,
    functions: tuple[Callable[[], Any], Callable[[], Any]],
    places: Sequence[StagedPlace],
    known: Sequence[str],
    others: Sequence[VariablePlace],
) -> list[Any]:
    """Run the first function where the test holds, else the second, as one `cond`: their result."""
    looks = Looks(session, line, functions)
    choices: list[StagedPlace] = [*places, *looks.places(places)]
    flag = flag_of(test, line)
    agreed: list[Agreed | None] | None = None
    result: Agreed | None = None
    if looks.plan is not None and looks.plan[0] == [p.name for p in choices]:
        _, agreed, result = looks.plan
    mark = len(session.merged)
    sides: list[list[Side]] = []
    numbers: dict[Any, Any] = {}
    """The places in which sizes are numbers that the graph computes, and what evens lists in them;
    None: the result."""
    for _ in range(MOST):
        # `cond` looks at the branch where the condition does not hold first.
        sides = []

        def branch(
            call: Callable[[], Any],
            sides: list[list[Side]] = sides,
            plan: list[Agreed | None] | None = agreed,
            whole: Agreed | None = result,
        ) -> Callable[[], Any]:
            def body() -> list[Any]:
                nonlocal agreed, result
                value, found, contents = run(
                    session,
                    line,
                    functions,
                    choices,
                    [_start(p, p.key in numbers) for p in choices],
                    others,
                    reached(session, call),
                )
                found = [
                    _evened(x, numbers[p.key]) if p.key in numbers else x
                    for p, x in zip(choices, found, strict=True)
                ]
                value = with_numbers(value) if None in numbers else value
                ended = value is ENDED
                own = [
                    Side(session, MISSING if ended and not p.lasts else x, ended and not p.lasts)
                    for p, x in zip(choices, found, strict=True)
                ]
                own.append(Side(session, MISSING if ended else value, ended))
                session.merged[mark:] = [m for m in session.merged[mark:] if not m.others]
                found = [s.value for s in own[:-1]]
                value = own[-1].value
                sides.append(own)
                forms = None if plan is None else [*plan, whole]
                if len(sides) == 1:
                    if forms is None or not all_fit(forms, own):
                        if ended:
                            return []
                        # As long as nothing is known of the other branch: as if it did the same.
                        forms = forms_of(choices, [own, own], line)
                    return _returned(forms, found, value, contents)
                different: dict[Any, Any] = {
                    key: None
                    for key, *pair in zip([*[p.key for p in choices], None], *sides, strict=True)
                    if sizes_differ(*pair)
                }
                for p, *pair in zip(choices, *sides, strict=False):
                    values = [s.value for s in pair]
                    if isinstance(p, GrownPlace) and MISSING not in values and uneven(*values):
                        different[p.key] = Evened(p.owner, values, line)
                if different.keys() - numbers:
                    numbers.update(different)
                    raise _Replan
                now = forms_of(choices, sides, line)
                *agreed, result = now
                if forms is None or not all_fit(forms, sides[0]) or not all_like(now, forms):
                    raise _Replan
                return _returned(now, found, value, contents)

            return body

        try:
            given = cond(flag, branch(functions[0]), branch(functions[1]))
        except _Replan:
            continue
        except Want as want:
            if want.depth != len(session.regions):
                raise
            wanted = {p.key for p in choices}
            choices.extend([p for p in want.places if p.key not in wanted])
            agreed, result = None, None
            continue
        break
    else:
        raise Refused(f"{line}: what this branch changes differs from one look to the next")
    assert agreed is not None
    *bare, last = [None if a is None else a.bare() for a in (*agreed, result)]
    looks.learn(choices[len(places) :], ([p.name for p in choices], bare, last))
    found, given = list(given), []
    lengths: dict[Any, Any] = {}
    for k, (p, a) in enumerate(zip(choices, agreed, strict=True)):
        if a is None:
            _unbound(session, p, line, "no branch of the condition binds it for certain")
            continue
        if a.same:
            p.put(a.fixed_value)
            continue
        value = a.built(found)
        if isinstance(value, Stacked) and value.counted:
            if not value.open:
                bounded(value.added, 0, form_of(form(value.most)) + 1)
            # Lists that both branches make longer by as many stay as long as each other.
            value.added = lengths.setdefault(tuple([s[k].length for s in sides]), value.added)
        if a.reason and isinstance(p, (AttributePlace, ItemPlace)):
            raise Refused(
                f"{line}: {p.name} is set in one branch of a condition on traced values, and is "
                "not there before it. Set it before the condition."
            )
        if a.reason and p.name not in known:
            _unbound(session, p, line, a.reason)
        else:
            p.put(value)
            if not (isinstance(p, BoxPlace) or p.lasts):
                given.append((a, value))
    for o in others:
        o.put(MISSING)
    if result is None:
        # Both branches end with an exception.
        raise Raised
    whole = result.fixed_value if result.same else result.built(found)
    if not result.same:
        given.append((result, whole))
    _remember(session, given, line)
    return [whole]


def _remember(session: Session, given: Sequence[tuple[Agreed, Any]], line: str) -> None:
    """What the values may be: arrays that were there before, or on one side both the same, in one
    value or in two."""
    for a, value in given:
        roots = [r() for side in a.outer for r in side]
        partners = [
            other
            for b, other in given
            for mine, others in zip(a.roots, b.roots, strict=False)
            if (len(set(mine)) < len(mine) if b is a else not set(mine).isdisjoint(others))
        ]
        session.merge(value, [*[r for r in roots if r is not None], *partners], line)


def _evened(x: Any, evened: Any) -> Any:
    return with_numbers(x) if evened is None or x is MISSING else evened.of(x)


def _start(p: StagedPlace, numbers: bool) -> Any:
    if isinstance(p, BoxPlace):
        return MISSING
    return with_numbers(p.get()) if numbers else p.get()


def _returned(
    forms: Forms, found: Sequence[Any], value: Any, contents: dict[int, Any]
) -> list[Any]:
    leaves: list[Any] = []
    for a, v in zip(forms, [*found, value], strict=True):
        leaves += [] if a is None else a.leaves(v, contents)
    return leaves


def _unbound(session: Session, p: StagedPlace, line: str, reason: str) -> None:
    p.put(MISSING)
    session.unbound[p.name] = reason


class Branches:
    """The helpers of branches and of conditions."""

    line_of: Callable[[int], str]

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
        choose(
            session,
            place,
            test,
            functions,
            variables(functions, names),
            known,
            variables(functions, others),
        )

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

    def all_of(self, line: int, free: bool, *values: Callable[[], Any]) -> Any:
        """`a and b and ...`, each computed where those before it hold (`free`: or anyhow)."""
        return self._joined(line, values, True, free)

    def any_of(self, line: int, free: bool, *values: Callable[[], Any]) -> Any:
        """`a or b or ...`, each computed where none before it holds (`free`: or anyhow)."""
        return self._joined(line, values, False, free)

    def _joined(
        self, line: int, values: Sequence[Callable[[], Any]], all_: bool, free: bool
    ) -> Any:
        first = values[0]()
        if len(values) == 1:
            return first
        session = current()
        if session is None or not STATE.traces or not unknown(first):
            return self._joined(line, values[1:], all_, free) if bool(first) is all_ else first

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
    if name in ("in_", "not_in"):
        if traced(a) and isinstance(b, Boxed):
            found: Any = ops.any(ops.equal(b, a))
            return ops.logical_not(found) if name == "not_in" else found
        if traced(a) and isinstance(b, (list, tuple, range, set, frozenset, dict, np.ndarray)):
            found = False
            for x in b:
                found = ops.logical_or(found, ops.equal(a, x))
            return ops.logical_not(found) if name == "not_in" else found
        return (a in b) if name == "in_" else (a not in b)
    return getattr(operator, name)(a, b)


def truth_of(x: Any) -> Any:
    """What a condition asks of a value: of a list of which only a run knows the length whether it
    has items."""
    if type(x) is Grown and x.stacked is not None and x.stacked.counted:
        return ops.greater(x.length(), 0)
    return x


def _nothing() -> None:
    return None


__all__ = [
    "Branches", "choose", "compare", "flag_of",
]  # fmt: skip
