"""Branches: Python's where the condition is known, else `cond`."""

from __future__ import annotations

import copy
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import ops
from ..control.branch import cond
from ..dtypes import promote
from ..errors import ShapeError
from ..ir.dispatch import STATE
from ..sizes import same_shape
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..transforms.weak import kind_of
from ..tree import unflatten
from ..types import ArrayType
from .aliases import root_of
from .lists import Stacked
from .looks import Looks
from .places import MISSING, BoxPlace, StagedPlace, VariablePlace, traced, unknown, variables
from .regions import ENDED, Raised, Refused, Want, contents_of, is_static, parts, run
from .session import Session, current

MOST = 64
SIDES = ("where the condition does not hold", "where the condition holds")


class _Replan(Exception):
    """The branches differ in what they leave; now it is known how."""


class _Side:
    """What a branch leaves in a place: the structure, and of each leaf its type, or itself where it
    is no array."""

    def __init__(self, session: Session, value: Any, ended: bool = False) -> None:
        self.missing = value is MISSING
        self.ended = ended
        """Whether the branch ends with an exception, so that it does not matter what it leaves."""
        self.value = value
        leaves, self.spec = parts(() if self.missing else value)
        self.leaves = leaves
        self.kinds = [None if is_static(x) else leaf_type(x) for x in leaves]
        trace = STATE.traces[-1] if STATE.traces else None
        roots = [root_of(x) for x in leaves if getattr(x, "shape", ())]
        self.outer = [
            weakref.ref(r)
            for root in roots
            for r in (root, *session.sources(root))
            if isinstance(r, np.ndarray)
            or (isinstance(r, Boxed) and getattr(r._data, "trace", None) is not trace)
        ]
        """The arrays that were there before the branch."""


class _Agreed:
    """What both branches leave in a place."""

    def __init__(self, name: str, sides: Sequence[_Side], line: str) -> None:
        self.name, self.reason = name, ""
        first = next(s for s in sides if not s.missing)
        self.spec, self.same = first.spec, False
        self.fixed_value: Any = MISSING
        self.outer = [s.outer for s in sides]
        """The arrays that were there before, which it may be on each side."""
        self.fixed = [
            x if k is None else None for x, k in zip(first.leaves, first.kinds, strict=True)
        ]
        self.kinds: list[ArrayType | None] = list(first.kinds)
        for s in sides:
            if s.missing or s is first:
                continue
            if s.value is first.value:
                self.same, self.fixed_value = True, s.value
                return
            if s.spec != self.spec:
                raise Refused(
                    f"{line}: {name} is {_shown(sides[1])} {SIDES[1]} and {_shown(sides[0])} "
                    f"{SIDES[0]}; a condition on traced values chooses between values of one form."
                )
            for k, (a, b) in enumerate(zip(self.kinds, s.kinds, strict=True)):
                if a is None or b is None:
                    if a is not b or not same_object(self.fixed[k], s.leaves[k]):
                        raise Refused(
                            f"{line}: {name} is {_shown(sides[1])} {SIDES[1]} and "
                            f"{_shown(sides[0])} {SIDES[0]}, which a graph cannot choose."
                        )
                    continue
                if not same_shape(a.shape, b.shape):
                    raise Refused(
                        f"{line}: {name} has the shape {_shape(sides[1].kinds[k])} {SIDES[1]} and "
                        f"{_shape(sides[0].kinds[k])} {SIDES[0]}; make the shapes agree "
                        "(np.broadcast_to)."
                    )
                self.kinds[k] = ArrayType(
                    promote(kind_of(a), kind_of(b)), a.shape, a.weak and b.weak
                )

    def fits(self, side: _Side) -> bool:
        """Whether a branch can return what it leaves in this form."""
        if self.same or side.missing:
            return True
        return side.spec == self.spec and all(
            (a is None) == (b is None) and (a is None or b is None or same_shape(a.shape, b.shape))
            for a, b in zip(self.kinds, side.kinds, strict=True)
        )

    def like(self, other: _Agreed | None) -> bool:
        """Whether it is the same form."""
        return (
            other is not None
            and (self.same, self.spec) == (other.same, other.spec)
            and (
                self.same
                or (self.kinds == other.kinds and all(map(same_object, self.fixed, other.fixed)))
            )
        )

    def bare(self) -> _Agreed:
        """The form alone, without what it was found at."""
        found = copy.copy(self)
        found.fixed_value, found.outer = MISSING, []
        return found

    def leaves(self, value: Any, contents: dict[int, Any]) -> list[Any]:
        """The leaves of a branch's value as the branch returns them."""
        if self.same:
            return []
        if value is MISSING:
            return [nothing(k) for k in self.kinds if k is not None]
        return [
            x if k.weak or leaf_type(x).weak or x.dtype == k.dtype else ops.convert(x, k.dtype)
            for x, k in zip(contents_of(parts(value)[0], contents), self.kinds, strict=True)
            if k is not None
        ]

    def built(self, found: list[Any]) -> Any:
        """The value from the results, of which it takes its own."""
        leaves = [
            f if k is None else found.pop(0) for k, f in zip(self.kinds, self.fixed, strict=True)
        ]
        return unflatten(self.spec, leaves)


def nothing(kind: ArrayType) -> Any:
    """A zero of a type, for what nobody reads."""
    if kind.weak:
        return {"f": 0.0, "c": 0j, "b": False}.get(kind.dtype.kind, 0)
    return ops.zeros(kind.shape, kind.dtype)


def same_object(a: Any, b: Any) -> bool:
    """Whether two objects that are no arrays are as good as one."""
    return a is b or (type(a) is type(b) and isinstance(a, (str, bytes)) and bool(a == b))


def _shape(kind: ArrayType | None) -> Any:
    return None if kind is None else tuple(kind.shape)


def _shown(side: _Side) -> str:
    if side.missing:
        return "unbound"
    if side.value is None:
        return "None"
    if isinstance(side.value, Stacked):
        return f"longer by {side.value.added} items"
    kinds = [k for k in side.kinds if k is not None]
    if len(side.kinds) == 1 and kinds and side.spec.is_leaf():
        return f"an array {kinds[0]}" if kinds[0].shape else f"a number {kinds[0]}"
    return f"a {type(side.value).__name__} ({side.spec})"


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
    agreed: list[_Agreed | None] | None = None
    result: _Agreed | None = None
    if looks.plan is not None and looks.plan[0] == [p.name for p in choices]:
        _, agreed, result = looks.plan
    mark = len(session.merged)
    for _ in range(MOST):
        # `cond` looks at the branch where the condition does not hold first.
        sides: list[list[_Side]] = []

        def branch(
            call: Callable[[], Any],
            sides: list[list[_Side]] = sides,
            plan: list[_Agreed | None] | None = agreed,
            whole: _Agreed | None = result,
        ) -> Callable[[], Any]:
            def body() -> list[Any]:
                nonlocal agreed, result
                value, found, contents = run(
                    session,
                    line,
                    functions,
                    choices,
                    [_start(p) for p in choices],
                    others,
                    call,
                )
                ended = value is ENDED
                own = [
                    _Side(session, MISSING if ended and not p.lasts else x, ended and not p.lasts)
                    for p, x in zip(choices, found, strict=True)
                ]
                own.append(_Side(session, MISSING if ended else value, ended))
                session.merged[mark:] = [m for m in session.merged[mark:] if not m.others]
                found = [s.value for s in own[:-1]]
                value = own[-1].value
                sides.append(own)
                form = None if plan is None else [*plan, whole]
                if len(sides) == 1:
                    if form is None or not _all_fit(form, own):
                        if ended:
                            return []
                        # As long as nothing is known of the other branch: as if it did the same.
                        form = _forms(choices, [own, own], line)
                    return _returned(form, found, value, contents)
                now = _forms(choices, sides, line)
                *agreed, result = now
                if form is None or not _all_fit(form, sides[0]) or not _all_like(now, form):
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
    form = [None if a is None else a.bare() for a in (*agreed, result)]
    looks.learn(choices[len(places) :], ([p.name for p in choices], form[:-1], form[-1]))
    found, given = list(given), []
    for p, a in zip(choices, agreed, strict=True):
        if a is None:
            _unbound(session, p, line, "no branch of the condition binds it for certain")
            continue
        if a.same:
            p.put(a.fixed_value)
            continue
        value = a.built(found)
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


Forms: TypeAlias = list[_Agreed | None]


def _forms(choices: Sequence[StagedPlace], sides: Sequence[Sequence[_Side]], line: str) -> Forms:
    """What both branches leave, place by place, and what they give."""
    places: list[StagedPlace | None] = [*choices, None]
    return [_agree(p, pair, line) for p, pair in zip(places, zip(*sides, strict=True), strict=True)]


def _all_fit(forms: Forms, sides: Sequence[_Side]) -> bool:
    return all(s.missing if a is None else a.fits(s) for a, s in zip(forms, sides, strict=True))


def _all_like(now: Forms, before: Forms) -> bool:
    return all(b is None if a is None else a.like(b) for a, b in zip(now, before, strict=True))


def _remember(session: Session, given: Sequence[tuple[_Agreed, Any]], line: str) -> None:
    """What the values may be: arrays that were there before, or on one side both the same."""
    for a, value in given:
        roots = [r() for side in a.outer for r in side]
        partners = [
            other
            for b, other in given
            if b is not a
            for mine, others in zip(a.outer, b.outer, strict=False)
            if {id(r()) for r in mine} & {id(r()) for r in others}
        ]
        session.merge(value, [*[r for r in roots if r is not None], *partners], line)


def _start(p: StagedPlace) -> Any:
    return MISSING if isinstance(p, BoxPlace) else p.get()


def _returned(
    forms: Forms, found: Sequence[Any], value: Any, contents: dict[int, Any]
) -> list[Any]:
    leaves: list[Any] = []
    for a, v in zip(forms, [*found, value], strict=True):
        leaves += [] if a is None else a.leaves(v, contents)
    return leaves


def _agree(p: StagedPlace | None, pair: Sequence[_Side], line: str) -> _Agreed | None:
    if all(s.missing for s in pair):
        return None
    name = "the result" if p is None else p.name
    made = _Agreed(readable(name), pair, line)
    for k, s in enumerate(pair):
        if s.missing and not s.ended:
            made.reason = f"the branch at {line} leaves it unbound {SIDES[k]}"
    return made


def readable(name: str) -> str:
    """A variable as the user knows it."""
    return {"_tg_result": "what the function returns"}.get(name, name)


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
        session = current()
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
        session = current()
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
    if name in ("in_", "not_in"):
        if traced(a) and isinstance(b, (list, tuple, range, np.ndarray)):
            found: Any = False
            for x in b:
                found = ops.logical_or(found, ops.equal(a, x))
            return ops.logical_not(found) if name == "not_in" else found
        return (a in b) if name == "in_" else (a not in b)
    return getattr(operator, name)(a, b)


def _nothing() -> None:
    return None


__all__ = [
    "Branches", "choose", "compare", "flag_of", "readable", "same_object",
]  # fmt: skip
