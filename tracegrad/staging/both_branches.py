"""A branch whose condition is traced: both functions run, as one `cond`, and again until what they
leave in each place fits together; then the places get what the condition chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .. import ops
from ..control.branch import cond
from ..errors import ShapeError
from ..ir.forms import bounded, form_of
from ..sizes import form
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
from .lists import Stacked
from .looks import Looks, in_arrays
from .objects import remember
from .places import (
    MISSING,
    AttributePlace,
    BoxPlace,
    ItemPlace,
    StagedPlace,
    VariablePlace,
)
from .regions import ENDED, Raised, Refused, Want, run
from .replaced import Slots, is_replaced, replace
from .session import Session

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
    both = BothBranches(session, line, functions, places, others)
    with both.slots.in_place():
        found = both.run(flag_of(test, line))
    chosen = both.put(found, known)
    both.slots.after(True)
    for o in others:
        o.put(MISSING)
    result = both.result
    if result is None:
        # Both branches end with an exception.
        raise Raised
    whole = result.fixed_value if result.same else result.built(found)
    if not result.same:
        chosen.append((result, whole))
    _remember(session, chosen, line)
    return [whole]


class BothBranches:
    """The two branches of a condition, and what they are known to leave."""

    def __init__(
        self,
        session: Session,
        line: str,
        functions: tuple[Callable[[], Any], Callable[[], Any]],
        places: Sequence[StagedPlace],
        others: Sequence[VariablePlace],
    ) -> None:
        self.session, self.line, self.functions, self.others = session, line, functions, others
        self._looks = Looks(session, line, functions)
        self._given = len(places)
        self.choices: list[StagedPlace] = [*places, *self._looks.places(places)]
        """What they may change."""
        self.slots = Slots(session, line, functions, self._looks, inherits=True)
        """The lists that they replace."""
        for place in self.choices:
            self.slots.known(place)
        self.agreed: list[Agreed | None] | None = None
        """What is left in each of these, as far as it is known."""
        self.result: Agreed | None = None
        self._mark = len(session.merged)
        self._sides: list[list[Side]] = []
        """What each branch that has run left, and gave."""
        self._numbers: dict[Any, Any] = {}
        """The places in which sizes are numbers that the graph computes, and what evens lists in
        them; None: the result."""
        self._recalled: set[Any] = set()
        """The places for whose lists that is what an earlier look found."""
        self._uneven: dict[Any, list[Any]] = {}
        """What those that have run left in these, as it was."""
        plan = self._looks.plan
        if plan is not None and plan[0] == self._looks.names(self.choices):
            _, self.agreed, self.result, numbers = plan
            for p, evened in zip([*self.choices, None], numbers, strict=True):
                self._recall(p, evened)

    def _recall(self, p: Any, evened: Any) -> None:
        key = None if p is None else p.key
        if isinstance(evened, Evened) and isinstance(evened.most, int):
            self._numbers[key] = evened.again(p.owner, self.line)
            self._recalled.add(key)
        elif evened is None:
            self._numbers[key] = None

    def run(self, flag: Any) -> list[Any]:
        """What `cond` gives once both agree."""
        for _ in range(MOST):
            # `cond` looks at the branch where the condition does not hold first.
            self._sides, self._uneven = [], {}
            try:
                found = cond(flag, *map(self._branch, self.functions))
            except _Replan:
                continue
            except Want as want:
                if want.depth != len(self.session.regions):
                    self._looks.learn([*self.choices[self._given :], *want.places], None)
                    raise
                wanted = {p.key for p in self.choices}
                new = [p for p in want.places if p.key not in wanted]
                if any(isinstance(p, GrownPlace) and p.get() is not None for p in new):
                    self.choices = in_arrays([*self.choices, *new])
                else:
                    self.choices.extend(new)
                self.agreed = self.result = None
                continue
            assert self.agreed is not None
            bare = [None if a is None else a.bare() for a in self.agreed]
            last = None if self.result is None else self.result.bare()
            names = self._looks.names(self.choices)
            keys = [*[p.key for p in self.choices], None]
            numbers = [self._numbers.get(key, MISSING) for key in keys]
            self._looks.learn(self.choices[self._given :], (names, bare, last, numbers))
            return list(found)
        raise Refused(f"{self.line}: what this branch changes differs from one look to the next")

    def _branch(self, call: Callable[[], Any]) -> Callable[[], Any]:
        def body() -> list[Any]:
            value, found, contents = run(
                self.session,
                self.line,
                (*self._looks.key, len(self._sides)),
                self.functions,
                self.choices,
                [_start(p, p.key in self._numbers) for p in self.choices],
                self.others,
                reached(self.session, self.slots.settled(call, self.choices)),
                True,
            )
            forms, own = self._agree(value, found)
            if not forms:
                return []
            return _returned(forms, [s.value for s in own], contents)

        return body

    def _agree(self, value: Any, found: Sequence[Any]) -> tuple[Forms, list[Side]]:
        """The forms in which a branch leaves and gives what it does, none where the first one ends
        with an exception and nothing is known yet; _Replan where they do not fit."""
        own = self._left(value, found)
        self._sides.append(own)
        forms = None if self.agreed is None else [*self.agreed, self.result]
        if len(self._sides) == 1:
            if forms is None or not all_fit(forms, own):
                # As long as nothing is known of the other branch: as if it did the same.
                forms = [] if own[-1].ended else forms_of(self.choices, [own, own], self.line)
            return forms, own
        for p, *pair in zip(self.choices, *self._sides, strict=False):
            if not any(s.missing for s in pair) and is_replaced(p, *[s.value for s in pair]):
                replace(self.session, self.line, p.name)
        self._check_recalled()
        different = self._different()
        if different.keys() - self._numbers:
            self._numbers.update(different)
            raise _Replan
        now = forms_of(self.choices, self._sides, self.line)
        *self.agreed, self.result = now
        if forms is None or not all_fit(forms, self._sides[0]) or not all_like(now, forms):
            raise _Replan
        return now, own

    def _left(self, value: Any, found: Sequence[Any]) -> list[Side]:
        """What a branch has left in the places, and given."""
        found = [
            self._evened(p, x) if p.key in self._numbers else x
            for p, x in zip(self.choices, found, strict=True)
        ]
        value = with_numbers(value) if None in self._numbers else value
        ended, session = value is ENDED, self.session
        own = [
            Side(session, MISSING if ended and not p.lasts else x, ended and not p.lasts)
            for p, x in zip(self.choices, found, strict=True)
        ]
        own.append(Side(session, MISSING if ended else value, ended))
        session.merged[self._mark :] = [m for m in session.merged[self._mark :] if not m.others]
        return own

    def _evened(self, p: StagedPlace, x: Any) -> Any:
        evened = self._numbers[p.key]
        if evened is None or x is MISSING:
            return with_numbers(x)
        if p.key in self._recalled:
            self._uneven.setdefault(p.key, []).append(x)
            if not evened.takes(x):
                self._forget(p.key)
        return evened.of(x)

    def _forget(self, key: Any) -> NoReturn:
        self._recalled.discard(key)
        del self._numbers[key]
        raise _Replan

    def _check_recalled(self) -> None:
        """_Replan where lists are to be evened in another way than in an earlier look."""
        for p in self.choices:
            if p.key in self._recalled and isinstance(p, GrownPlace):
                pair = self._uneven.get(p.key, ())
                if len(pair) < 2 or not uneven(*pair):
                    self._forget(p.key)
                if not Evened(p.owner, pair, self.line).same_as(self._numbers[p.key]):
                    self._forget(p.key)

    def _different(self) -> dict[Any, Any]:
        """Where the sizes of what both leave differ, and what evens the lists there."""
        keys = [*[p.key for p in self.choices], None]
        different: dict[Any, Any] = {
            key: None for key, *pair in zip(keys, *self._sides, strict=True) if sizes_differ(*pair)
        }
        for p, *pair in zip(self.choices, *self._sides, strict=False):
            values = [s.value for s in pair]
            if isinstance(p, GrownPlace) and MISSING not in values and uneven(*values):
                different[p.key] = Evened(p.owner, values, self.line)
        return different

    def put(self, found: list[Any], known: Sequence[str]) -> list[tuple[Agreed, Any]]:
        """Give the places what the condition chooses; what was computed for that."""
        chosen: list[tuple[Agreed, Any]] = []
        lengths: dict[Any, Any] = {}
        session, line = self.session, self.line
        for k, (p, a) in enumerate(zip(self.choices, self.agreed or (), strict=True)):
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
                same = tuple([s[k].length for s in self._sides])
                value.added = lengths.setdefault(same, value.added)
            if a.reason and isinstance(p, (AttributePlace, ItemPlace)):
                raise Refused(
                    f"{line}: {p.name} is set in one branch of a condition on traced values, and "
                    "is not there before it. Set it before the condition."
                )
            if a.reason and p.name not in known:
                _unbound(session, p, line, a.reason)
            else:
                p.put(value)
                if not (isinstance(p, BoxPlace) or p.lasts):
                    chosen.append((a, value))
        return chosen


def _remember(session: Session, given: Sequence[tuple[Agreed, Any]], line: str) -> None:
    """What the values may be: arrays that were there before, or on one side both the same, in one
    value or in two."""
    remember(session, given, line)
    for a, value in given:
        roots = [r() for side in a.outer for r in side]
        partners = [
            other
            for b, other in given
            for mine, others in zip(a.roots, b.roots, strict=False)
            if (len(set(mine)) < len(mine) if b is a else not set(mine).isdisjoint(others))
        ]
        session.merge(value, [*[r for r in roots if r is not None], *partners], line)


def _start(p: StagedPlace, numbers: bool) -> Any:
    if isinstance(p, BoxPlace):
        return MISSING
    return with_numbers(p.get()) if numbers else p.get()


def _returned(forms: Forms, found: Sequence[Any], contents: dict[int, Any]) -> list[Any]:
    leaves: list[Any] = []
    for a, v in zip(forms, found, strict=True):
        leaves += [] if a is None else a.leaves(v, contents)
    return leaves


def _unbound(session: Session, p: StagedPlace, line: str, reason: str) -> None:
    p.put(MISSING)
    session.unbound[p.name] = reason


__all__ = ["choose", "flag_of"]
