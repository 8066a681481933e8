"""One run of items in lockstep, written for one item: the body of a loop over the items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..._codegen import integers, kernel, traversal
from ...types import Int
from ..values import BOOL, COMBINING, INTP, converted
from .predication import FALSE, StraightRun

if TYPE_CHECKING:
    from .lockstep import Writer


def may_meet(p: tuple[str, Any], q: tuple[str, Any]) -> bool:
    """Whether two places may be one."""
    return p[0] == q[0] and not traversal.apart(p[1], q[1])


class Lane:
    """One run for one item, as the body of a loop over the items."""

    def __init__(self, writer: Writer, run: StraightRun) -> None:
        self.w, self.run = writer, run
        self.body: list[kernel.Statement] = []
        self.known: dict[tuple[str, Any], kernel.Expression] = {}
        """What places of temporaries hold."""
        self.places: dict[Int, Int] = {}
        """What stands for indices that are inside of an axis only for items that take part."""
        self.told: list[kernel.Check] = []
        self.on: kernel.Name | None = None

    def statements(self) -> list[kernel.Statement]:
        on = self.on = None if self.run.mask is None else self.let("on", self.value(self.run.mask))
        failed = kernel.Name(self.w.fresh("failed"), BOOL)
        for s in self.run.body:
            self.statement(s, on, True, failed)
        some = replace(self.w.loop, body=tuple(self.body), own=None)
        loop = some if on is None or self.reaches_out() else self.w.all_places(self.body)
        if not self.told:
            return [loop]
        # Whether checks hold is asked behind the loop, which vectorises then.
        return [
            kernel.Declare(failed.name, FALSE),
            loop,
            kernel.If(failed, (replace(some, body=tuple(self.told)),)),
        ]

    def reaches_out(self) -> bool:
        """Whether this reads or writes what only items have, and not all places of a block."""
        for s in self.body:
            accesses: list[kernel.Load | kernel.Store] = [
                *traversal.loads(s),
                *([s] if isinstance(s, kernel.Store) else []),
            ]
            for a in accesses:
                local = a.buffer in self.w.local and a.index[-1] == self.w.lane
                rows = a.index[:-1] if local else a.index
                if any(self.w.loop.index in traversal.names_in(i) for i in rows):
                    return True
        return False

    def let(self, hint: str, value: kernel.Expression) -> kernel.Name:
        if isinstance(value, kernel.Name) and value.name not in self.w.variables:
            return value
        name = self.w.fresh(hint)
        self.body.append(kernel.Let(name, value))
        return kernel.Name(name, value.dtype)

    def statement(
        self, s: kernel.Statement, on: kernel.Name | None, certain: bool, failed: kernel.Name
    ) -> None:
        """A statement for those of which `on` says that they take part; not `certain`: that this
        branch is theirs."""
        match s:
            case kernel.Let(name, kernel.Apply("index({x})", ((_, value),)), comment) if (
                on is not None
            ):
                self.body.append(kernel.Let(name, self.index_or_0(value), comment))
            case kernel.Let() | kernel.Declare():
                self.body.append(replace(s, value=self.value(s.value)))
            case kernel.Update(name, value, combine, exact) if certain:
                self.body.append(kernel.Update(name, self.value(value), combine, exact))
            case kernel.Update(name, value, combine, _):
                old = kernel.Name(name, value.dtype)
                self.body.append(
                    kernel.Update(
                        name, self.chosen(on, combined(old, self.value(value), combine), old), None
                    )
                )
            case kernel.Store():
                self.store(s, on, certain)
            case kernel.If(condition, then, otherwise):
                holds = self.let("holds", self.value(condition))
                for part, text in ((then, "{x}"), (otherwise, "not {x}")):
                    mine = holds if text == "{x}" else kernel.Apply(text, (("x", holds),), BOOL)
                    both = (
                        mine
                        if on is None
                        else kernel.Apply("{x} & {y}", (("x", mine), ("y", on)), BOOL)
                    )
                    branch = self.let("holds", both) if part else holds
                    for inner in part:
                        self.statement(inner, branch, False, failed)
            case kernel.Check(condition, _, value):
                self.check(s, self.value(condition), self.value(value), on, failed)
            case _:
                raise AssertionError(f"{type(s).__name__} in a run")

    def check(
        self,
        s: kernel.Check,
        holds: kernel.Expression,
        value: kernel.Expression,
        on: kernel.Name | None,
        failed: kernel.Name,
    ) -> None:
        fails: kernel.Expression = kernel.Apply("not {x}", (("x", self.let("holds", holds)),), BOOL)
        if on is not None:
            fails = kernel.Apply("{x} & {y}", (("x", fails), ("y", on)), BOOL)
        told = self.let("fails", fails)
        wrong, what = self.w.array("wrong", BOOL), self.w.array("what", value.dtype)
        self.w.checked += [wrong, what]
        self.body += [
            kernel.Store(wrong, (self.w.lane,), told),
            kernel.Store(what, (self.w.lane,), value),
            kernel.Update(failed.name, told, "or"),
        ]
        right = kernel.Apply("not {x}", (("x", kernel.Load(wrong, (self.w.lane,), BOOL)),), BOOL)
        self.told.append(
            replace(s, condition=right, value=kernel.Load(what, (self.w.lane,), value.dtype))
        )

    def store(self, s: kernel.Store, on: kernel.Name | None, certain: bool) -> None:
        w, at = self.w, s.index
        value = self.value(s.value)
        if s.buffer not in w.own:
            at = self.inside(at)
            if on is not None:
                old = self.let(s.buffer, kernel.Load(s.buffer, at, w.buffers[s.buffer].dtype))
                s = replace(
                    s, value=self.chosen(on, combined(old, value, s.combine), old), combine=None
                )
            else:
                s = replace(s, value=value)
            self.body.append(replace(s, index=at))
            return
        place, dtype = (s.buffer, at), w.buffers[s.buffer].dtype
        value = self.let(s.buffer, converted(value, dtype))
        if s.combine is not None:
            value = self.let(s.buffer, combined(self.element(place, dtype), value, s.combine))
        alone = (
            s.buffer in w.free
            or s.buffer not in w.kept
            or any(w.split.origin(i) & w.split.tapes.get(s.buffer, set()) for i in at)
        )
        if on is not None and not (certain and alone):
            value = self.let(s.buffer, self.chosen(on, value, self.element(place, dtype)))
        self.known = {p: e for p, e in self.known.items() if not may_meet(p, place)}
        self.known[place] = value
        if s.buffer in w.kept:
            self.body.append(kernel.Store(s.buffer, (*self.inside(at), w.lane), value))

    def chosen(
        self, on: kernel.Name | None, new: kernel.Expression, old: kernel.Expression
    ) -> kernel.Expression:
        assert on is not None
        return kernel.Apply(
            "{x} if {on} else {y}", (("x", self.let("new", new)), ("on", on), ("y", old)), new.dtype
        )

    def element(self, place: tuple[str, Any], dtype: Any) -> kernel.Expression:
        """What a place of a temporary holds now."""
        if place not in self.known:
            self.known[place] = self.let(
                place[0], kernel.Load(place[0], (*self.inside(place[1]), self.w.lane), dtype)
            )
        return self.known[place]

    def inside(self, at: tuple[Any, ...]) -> tuple[Any, ...]:
        """An index of which items that take no part have some place as well."""
        return tuple(map(self.one_inside, at))

    def one_inside(self, i: Any) -> Any:
        if (
            self.on is None
            or isinstance(i, int)
            or not integers.symbols(i) & (self.w.split.varying - {self.w.loop.index})
        ):
            return i
        if i not in self.places:
            self.places[i] = integers.symbol(
                self.let("place", self.index_or_0(kernel.Index(i))).name
            )
        return self.places[i]

    def index_or_0(self, value: kernel.Expression) -> kernel.Expression:
        """An integer as an index, 0 for items that take no part, whose integers may be anything."""
        assert self.on is not None
        there = self.let("there", self.value(value))
        return kernel.Apply("index({x} if {on} else 0)", (("x", there), ("on", self.on)), INTP)

    def value(self, e: kernel.Expression) -> kernel.Expression:
        """An expression of the item, read where its values are."""

        def change(e: Any) -> Any:
            if not isinstance(e, kernel.Load):
                return e
            if e.buffer in self.w.own:
                return self.element((e.buffer, e.index), e.dtype)
            return self.near(e)

        result: kernel.Expression = traversal.changed(e, change)
        return result

    def near(self, e: kernel.Load) -> kernel.Load:
        """An element that every pass reads, from where those of all items are side by side."""
        w, item = self.w, self.w.loop.index
        at = self.inside(e.index)
        names = traversal.names_in(e)
        along = bool(at) and integers.coefficient(at[-1], item) == 1
        if (
            not self.run.again
            or w.owners.of(e.buffer) in w.written
            or along
            or item not in names
            or names & w.inner
        ):
            return replace(e, index=at)
        key = e.buffer, e.index
        if key not in w.copies:
            w.copies[key] = w.array(f"{e.buffer}_items", e.dtype), e
        return kernel.Load(w.copies[key][0], (w.lane,), e.dtype)


def combined(
    old: kernel.Expression, value: kernel.Expression, combine: kernel.Combine | None
) -> kernel.Expression:
    if combine is None:
        return value
    return kernel.Apply(COMBINING[combine], (("x", old), ("y", value)), value.dtype)
