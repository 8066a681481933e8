"""Branches: Python's where the condition is known, else `cond`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

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
from .places import MISSING, BoxPlace, Place, VariablePlace, traced, unknown, variables
from .regions import Refused, Want, is_static, parts, run
from .session import Session, current

MOST = 64
SIDES = ("where the condition does not hold", "where the condition holds")


class _Replan(Exception):
    """The branches differ in what they leave; now it is known how."""


class _Side:
    """What a branch leaves in a place: the structure, and of each leaf its type, or itself where it
    is no array."""

    def __init__(self, value: Any) -> None:
        self.missing = value is MISSING
        self.value = value
        leaves, self.spec = parts(() if self.missing else value)
        self.leaves = leaves
        self.kinds = [None if is_static(x) else leaf_type(x) for x in leaves]
        trace = STATE.traces[-1] if STATE.traces else None
        self.outer = any(
            isinstance(x, np.ndarray)
            or (isinstance(x, Boxed) and getattr(x._data, "trace", None) is not trace)
            for x in leaves
        )


class _Agreed:
    """What both branches leave in a place."""

    def __init__(self, name: str, sides: Sequence[_Side], line: str) -> None:
        self.name, self.reason = name, ""
        first = next(s for s in sides if not s.missing)
        self.spec, self.same = first.spec, False
        self.fixed_value = first.value
        self.outer = any(s.outer for s in sides)
        """Whether it is, on one side, an array that was there before."""
        self.fixed = list(first.leaves)
        self.kinds: list[ArrayType | None] = list(first.kinds)
        for s in sides:
            if s.missing or s is first:
                continue
            if s.value is first.value:
                self.same = True
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

    def leaves(self, value: Any) -> list[Any]:
        """The leaves of a branch's value as the branch returns them."""
        if self.same:
            return []
        if value is MISSING:
            return [ops.zeros(k.shape, k.dtype) for k in self.kinds if k is not None]
        return [
            x if k.weak or leaf_type(x).weak or x.dtype == k.dtype else ops.convert(x, k.dtype)
            for x, k in zip(parts(value)[0], self.kinds, strict=True)
            if k is not None
        ]

    def built(self, found: list[Any]) -> Any:
        """The value from the results, of which it takes its own."""
        leaves = [
            f if k is None else found.pop(0) for k, f in zip(self.kinds, self.fixed, strict=True)
        ]
        return unflatten(self.spec, leaves)


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
    places: Sequence[Place],
    known: Sequence[str],
    others: Sequence[VariablePlace],
) -> list[Any]:
    """Run the first function where the test holds, else the second, as one `cond`: their result."""
    choices: list[Place] = list(places)
    flag = flag_of(test, line)
    agreed: list[_Agreed | None] | None = None
    result: _Agreed | None = None
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
                value, found = run(
                    session,
                    line,
                    functions,
                    choices,
                    [_start(p) for p in choices],
                    others,
                    call,
                )
                own = [*map(_Side, found), _Side(value)]
                sides.append(own)
                now = plan
                last = whole
                if now is None:
                    if len(sides) == 1:
                        # As long as nothing is known of the other branch: as if it did the same.
                        now = [
                            _agree(p, [s, s], line) for p, s in zip(choices, own[:-1], strict=True)
                        ]
                        last = _agree(None, [own[-1], own[-1]], line)
                        return _returned(now, found, last, value)
                    pairs = [list(pair) for pair in zip(*sides, strict=True)]
                    agreed = [
                        _agree(p, pair, line) for p, pair in zip(choices, pairs[:-1], strict=True)
                    ]
                    result = _agree(None, pairs[-1], line)
                    raise _Replan
                return _returned(now, found, last, value)

            return body

        try:
            given = cond(flag, branch(functions[0]), branch(functions[1]))
        except _Replan:
            continue
        except Want as want:
            choices.extend(want.places)
            agreed, result = None, None
            continue
        break
    else:
        raise Refused(f"{line}: what this branch changes differs from one look to the next")
    assert agreed is not None
    found = list(given)
    for p, a in zip(choices, agreed, strict=True):
        if a is None:
            _unbound(session, p, line, "no branch of the condition binds it for certain")
            continue
        if a.same:
            p.put(a.fixed_value)
            continue
        value = a.built(found)
        if a.outer and not isinstance(p, BoxPlace):
            session.merge(value, line)
        if a.reason and p.name not in known:
            _unbound(session, p, line, a.reason)
        else:
            p.put(value)
    for o in others:
        o.put(MISSING)
    return [] if result is None else [result.fixed_value if result.same else result.built(found)]


def _start(p: Place) -> Any:
    return MISSING if isinstance(p, BoxPlace) else p.get()


def _returned(
    now: Sequence[_Agreed | None], found: Sequence[Any], last: _Agreed | None, value: Any
) -> list[Any]:
    leaves: list[Any] = []
    for a, v in zip(now, found, strict=True):
        leaves += [] if a is None else a.leaves(v)
    return leaves + ([] if last is None else last.leaves(value))


def _agree(p: Place | None, pair: Sequence[_Side], line: str) -> _Agreed | None:
    if all(s.missing for s in pair):
        return None
    name = "the result" if p is None else p.name
    made = _Agreed(readable(name), pair, line)
    for k, s in enumerate(pair):
        if s.missing:
            made.reason = f"the branch at {line} leaves it unbound {SIDES[k]}"
    return made


def readable(name: str) -> str:
    """A variable as the user knows it."""
    return {"_tg_result": "what the function returns"}.get(name, name)


def _unbound(session: Session, p: Place, line: str, reason: str) -> None:
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
            variables(functions, checked(others, place)),
        )

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


def checked(others: Sequence[str], line: str) -> list[str]:
    """The names; Refused where one is a variable of the module."""
    for n in others:
        if n.startswith("*"):
            raise Refused(
                f"{line}: the statements below bind the global variable {n[1:]!r}, which a branch "
                "or a loop on traced values cannot carry. Return it instead."
            )
    return list(others)


def _nothing() -> None:
    return None


__all__ = [
    "Branches", "checked", "choose", "compare", "flag_of", "readable", "same_object",
]  # fmt: skip
