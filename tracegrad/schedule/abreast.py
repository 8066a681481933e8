"""Items side by side: loops that each item of a batch ends for itself, a register full of items at a time.

A batch of iterative solutions is a loop over items around loops whose number of passes only the item knows. One item after the other leaves the
processor waiting, since each step needs the result of the one before. Here those loops go outside: a pass is one for all items of a block that
still go on, in vector instructions, and what it would change of the others stays as it was. Each item does what it would have done by itself,
in the same order, so its bits are the same; what is computed besides is thrown away.

Two steps: `_Split` takes the statements of an item apart into runs without loops, and loops around runs; `_Writer` writes a run as a loop over
the items, and what lives longer than one run as arrays with an element for each item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from .._codegen import integers, kernel, traversal
from ..types import Int
from .lower import BOOL, COMBINING, INTP, converted

WIDTH = 32
"""The items of a block: some registers full, so that there is work while a step waits for the one before."""
ALONE = 16
"""Loops of so many passes, which may run in any order, fill the registers by themselves."""
MOST = 1024
"""The most bytes that an item may need for itself, besides what it keeps of each step."""

TRUE, FALSE = kernel.Literal(True, BOOL), kernel.Literal(False, BOOL)
ZERO, ONE = kernel.Literal(0, kernel.INT64), kernel.Literal(1, kernel.INT64)


@dataclass
class Run:
    """Statements without loops."""

    mask: kernel.Expression | None
    """Which items take part."""
    again: bool
    """Whether it is gone through more than once."""
    body: list[kernel.Statement] = field(default_factory=list)


@dataclass
class Rounds:
    """A loop around runs, as often as the item goes on that goes on longest."""

    statement: kernel.Loop | kernel.While
    parts: list[Part]


Part: TypeAlias = Run | Rounds | kernel.Statement
"""A statement by itself is one for all items at once."""


class UnfitError(Exception):
    """Items that cannot go side by side, or would gain nothing by it."""


def abreast(
    loop: kernel.Loop, buffers: dict[str, kernel.Buffer], fresh: Callable[[str], str], width: int = WIDTH
) -> tuple[tuple[kernel.Statement, ...], tuple[kernel.Allocate, ...]] | None:
    """A loop over at most `width` items as loops whose passes are for all of them, and the memory that it needs; None where that does not fit.

    Changes and adds to `buffers`.
    """
    try:
        _check(loop, buffers)
        split = _Split(loop, fresh)
        return _Writer(loop, split, buffers, fresh, width).statements()
    except UnfitError:
        return None


def fits(loop: kernel.Loop, buffers: Mapping[str, kernel.Buffer]) -> bool:
    """Whether the items of a loop can go side by side, and gain by it."""
    return abreast(loop, dict(buffers), lambda name: name) is not None


def _check(loop: kernel.Loop, buffers: Mapping[str, kernel.Buffer]) -> None:
    own = loop.own or frozenset()
    if loop.own is None or loop.sequential or own & {b.of for b in buffers.values()}:
        raise UnfitError
    growing = set()
    for s in _inside(loop.body):
        match s:
            case kernel.Call():
                raise UnfitError
            case kernel.Allocate(name, _, _, of):
                growing.add(name)
                if of:
                    raise UnfitError
            case kernel.If(_, then, otherwise) if any(not _straight(t) for t in (*then, *otherwise)):
                raise UnfitError
            case kernel.Loop(_, lo, hi, _, sequential, own_) if own_ is not None or not (sequential or _short(lo, hi)):
                raise UnfitError
            case kernel.Let() | kernel.Declare() | kernel.Update() | kernel.Store() if s.value.dtype.kind not in "biuf":
                raise UnfitError
    sizes = [integers.product(buffers[name].shape) * buffers[name].dtype.itemsize for name in own - growing]
    if not all(isinstance(s, int) for s in sizes) or sum(sizes) > MOST:  # type: ignore[arg-type]
        raise UnfitError


def _inside(body: Sequence[kernel.Statement]) -> Iterator[kernel.Statement]:
    for s in body:
        yield s
        for part in traversal.bodies(s):
            yield from _inside(part)


def _straight(s: kernel.Statement) -> bool:
    """Whether a statement holds no loop and asks for no memory."""
    return isinstance(s, (kernel.Let, kernel.Declare, kernel.Update, kernel.Store)) or (
        isinstance(s, kernel.If) and all(map(_straight, (*s.then, *s.otherwise)))
    )


def _short(lo: Int, hi: Int) -> bool:
    trips = hi - lo
    return isinstance(trips, int) and trips < ALONE


def _with(e: Any, change: Callable[[Any], Any]) -> Any:
    """An expression or integer with others inside."""
    if isinstance(e, (int, integers.Integer)):
        return change(e)
    ((let),) = traversal.mapped((kernel.Let("", e),), change)
    assert isinstance(let, kernel.Let)
    return let.value


def _names(e: Any) -> set[str]:
    found: set[str] = set()

    def look(e: Any) -> Any:
        if isinstance(e, kernel.Name):
            found.add(e.name)
        elif isinstance(e, integers.Integer):
            found.update(integers.symbols(e))
        return e

    _with(e, look)
    return found


def _load(name: str, dtype: Any) -> kernel.Load:
    return kernel.Load(name, (0,), dtype)


class _Split:
    """The statements of an item as runs and rounds."""

    def __init__(self, loop: kernel.Loop, fresh: Callable[[str], str]) -> None:
        self.fresh, self.item = fresh, loop.index
        self.varying = {loop.index}
        """The names that have a value for each item."""
        self.flags: dict[str, Any] = {}
        """Temporaries made here, and their dtypes; what is stored there tells by itself which items take part."""
        self.totals: set[str] = set()
        """Numbers made here that all items contribute to."""
        self.indices: set[str] = set()
        """The names inside that all items share."""
        self.numbers: dict[str, set[str]] = {}
        """The names that follow from the number of a pass, and from which."""
        self.tapes: dict[str, set[str]] = {}
        """What grows, and by the numbers of which passes: there a pass may write for all items."""
        self.parts = self.split(loop.body, None, False)
        if not any(isinstance(p, Rounds) for p in self.parts):
            raise UnfitError

    def split(self, body: Sequence[kernel.Statement], mask: kernel.Expression | None, again: bool) -> list[Part]:
        parts: list[Part] = []
        zeros: set[str] = set()
        """The counters that are 0 here."""
        for s in body:
            match s:
                case kernel.While():
                    self.going(parts, s, mask, again, zeros)
                case kernel.Loop():
                    self.counted(parts, s, mask, again)
                case kernel.Allocate(name, dtype, shape):
                    longest = tuple(self.longest(parts, n, mask, again) if self.varies(n) else n for n in shape)
                    _before(parts, kernel.Allocate(name, dtype, longest))
                case kernel.Grow(name, length):
                    if self.varies(length):
                        raise UnfitError
                    self.tapes[name] = self.bases(length)
                    _before(parts, s)
                case kernel.Let(name, value) if not self.varies(value):
                    self.indices.add(name)
                    self.numbers[name] = self.bases(value)
                    _before(parts, s)
                case _:
                    if isinstance(s, (kernel.Let, kernel.Declare)):
                        self.varying.add(s.name)
                    if isinstance(s, kernel.Store):
                        zeros = zeros | {s.buffer} if s.value == ZERO and s.combine is None else zeros - {s.buffer}
                    _run(parts, mask, again).body.append(s)
        return parts

    def bases(self, e: Any) -> set[str]:
        return set().union(*[self.numbers.get(name, {name}) for name in _names(e)])

    def varies(self, e: Any) -> bool:
        """Whether an expression may have another value for each item."""
        found = bool(_names(e) & self.varying)

        def look(e: Any) -> Any:
            nonlocal found
            found = found or isinstance(e, kernel.Load)
            return e

        _with(e, look)
        return found

    def total(self, parts: list[Part], hint: str, value: kernel.Literal) -> kernel.Name:
        name = self.fresh(hint)
        self.totals.add(name)
        _before(parts, kernel.Declare(name, value))
        return kernel.Name(name, value.dtype)

    def flag(self, hint: str, dtype: Any) -> kernel.Load:
        name = self.fresh(hint)
        self.flags[name] = dtype
        return _load(name, dtype)

    def going(self, parts: list[Part], loop: kernel.While, mask: kernel.Expression | None, again: bool, zeros: set[str]) -> None:
        """Passes as long as one item goes on."""
        alive = self.flag("alive", BOOL)
        some, passed = self.total(parts, "some", FALSE), self.total(parts, "passed", ZERO)

        def asked(mask: kernel.Expression | None) -> list[kernel.Statement]:
            goes = loop.condition if mask is None else kernel.Apply("{x} & {y}", (("x", loop.condition), ("y", mask)), BOOL)
            return [kernel.Store(alive.buffer, alive.index, goes), kernel.Update(some.name, alive, "or")]

        _run(parts, mask, again).body.extend(asked(mask))
        inner = self.split(_with_passes(loop.body, passed, zeros), alive, True)
        _run(inner, alive, True).body.extend(asked(alive))
        start, end = kernel.Update(some.name, FALSE, None), kernel.Update(passed.name, ONE, "add")
        parts.append(Rounds(kernel.While(some, ()), [start, *inner, end]))

    def counted(self, parts: list[Part], loop: kernel.Loop, mask: kernel.Expression | None, again: bool) -> None:
        """Passes for the item that has most of them."""
        if not self.varies(loop.hi) and not self.varies(loop.lo):
            self.indices.add(loop.index)
            parts.append(Rounds(replace(loop, body=(), sequential=True), self.split(loop.body, mask, True)))
            return
        if loop.lo != 0:
            raise UnfitError
        trips = self.flag("trips", kernel.INT64)
        most = self.longest(parts, loop.hi, mask, again, trips)
        index = self.fresh(loop.index)
        self.indices.add(index)
        upwards = integers.symbol(index)
        downwards = most - 1 - upwards
        # A loop backwards begins where the longest does, so that all items are at the same place of what they have kept.
        choices = [(upwards, {loop.index: upwards}), (downwards, {loop.index: loop.hi - 1 - downwards})]
        place, given = min(choices, key=lambda c: self.apart(loop.body, c[1]))
        takes_part = kernel.Apply("{x} < {y}", (("x", kernel.Index(place)), ("y", trips)), BOOL)
        body = traversal.mapped(loop.body, lambda e: integers.substitute(e, given) if isinstance(e, integers.Integer) else e)
        parts.append(Rounds(kernel.Loop(index, 0, most, (), True), self.split(body, takes_part, True)))

    def apart(self, body: Sequence[kernel.Statement], given: Mapping[str, Int]) -> int:
        """How many accesses to memory depend on more than the item and the pass."""
        count = 0
        for s in _inside(body):
            places = [e.index for e in traversal.loads(s)] + ([s.index] if isinstance(s, kernel.Store) else [])
            found = [integers.symbols(integers.substitute(i, given)) for at in places for i in at if isinstance(i, integers.Integer)]
            count += sum(bool(names & (self.varying - {self.item})) for names in found)
        return count

    def longest(self, parts: list[Part], n: Int, mask: kernel.Expression | None, again: bool, flag: kernel.Load | None = None) -> Int:
        """The largest value of an integer among the items that take part."""
        trips = flag or self.flag("length", kernel.INT64)
        most = self.total(parts, "most", ZERO)
        value: kernel.Expression = kernel.Index(n)
        if mask is not None:
            value = kernel.Apply("{x} if {on} else 0", (("x", value), ("on", mask)), kernel.INT64)
        found = [kernel.Store(trips.buffer, trips.index, value), kernel.Update(most.name, trips, "max")]
        _run(parts, mask, again).body.extend(found)
        name = self.fresh("longest")
        self.indices.add(name)
        parts.append(kernel.Let(name, kernel.Apply("index({x})", (("x", most),), INTP)))
        return integers.symbol(name)


def _run(parts: list[Part], mask: kernel.Expression | None, again: bool) -> Run:
    """The run that is being written."""
    if not parts or not isinstance(parts[-1], Run):
        parts.append(Run(mask, again))
    assert isinstance(parts[-1], Run)
    return parts[-1]


def _before(parts: list[Part], s: kernel.Statement) -> None:
    """A statement for all items, which does not depend on the run that is being written."""
    parts.insert(len(parts) - (1 if parts and isinstance(parts[-1], Run) else 0), s)


def _with_passes(body: Sequence[kernel.Statement], passed: kernel.Name, zeros: set[str]) -> list[kernel.Statement]:
    """The body of a loop with the number of the pass for what counts them: each item that still goes on has made as many."""
    result = list(body)
    for k, s in enumerate(body):
        if isinstance(s, kernel.Store) and s.buffer in zeros and _counts(s):
            others = [t for t in _inside(body) if isinstance(t, kernel.Store) and t.buffer == s.buffer and t is not s]
            if not others:

                def change(e: Any, name: str = s.buffer) -> Any:
                    return passed if isinstance(e, kernel.Load) and e.buffer == name else e

                result[:k] = traversal.mapped(result[:k], change)
    return result


def _counts(s: kernel.Store) -> bool:
    """Whether this is `n = n + 1`."""
    value = s.value
    return (
        s.combine is None
        and isinstance(value, kernel.Apply)
        and value.code == "{x} + 1"
        and value.dtype == kernel.INT64
        and value.arguments == (("x", kernel.Load(s.buffer, s.index, kernel.INT64)),)
    )


class _Writer:
    """Runs as loops over items."""

    def __init__(self, loop: kernel.Loop, split: _Split, buffers: dict[str, kernel.Buffer], fresh: Callable[[str], str], width: int) -> None:
        self.loop, self.split, self.buffers, self.fresh, self.width = loop, split, buffers, fresh, width
        self.lane: Int = integers.symbol(loop.index) - loop.lo
        self.written = {s.buffer for s in _inside(loop.body) if isinstance(s, kernel.Store)}
        self.own = {*(loop.own or ()), *split.flags}
        self.free = set(split.flags)
        """The temporaries of which items that take no part need nothing."""
        for name, dtype in split.flags.items():
            buffers[name] = kernel.Buffer(name, dtype, (1,), "local")
        self.runs = list(_runs(split.parts))
        self.inner = {*split.varying, *split.totals, *split.indices} - {loop.index}
        self.hand_over()
        self.kept = self.read_before()
        """The temporaries that outlive a run."""
        self.copies: dict[tuple[Any, ...], tuple[str, kernel.Load]] = {}
        """What many passes read, far apart in memory, and where it is side by side."""
        self.checked: list[str] = []
        """What is told of checks."""

    def hand_over(self) -> None:
        """Temporaries for the names that are made in one run and read in another."""
        made: dict[str, tuple[int, kernel.Let | kernel.Declare]] = {}
        users: dict[str, set[int]] = {}
        for k, run in enumerate(self.runs):
            for s in _inside(run.body):
                if isinstance(s, (kernel.Let, kernel.Declare)):
                    made[s.name] = k, s
                for name in _used(s):
                    users.setdefault(name, set()).add(k)
        for name, (k, s) in made.items():
            others = users.get(name, set()) - {k}
            if not others:
                continue
            place = self.fresh(f"{name}_items")
            self.buffers[place] = kernel.Buffer(place, s.value.dtype, (1,), "local")
            self.own.add(place)
            if isinstance(s, kernel.Let):
                self.free.add(place)
                at = next(n for n, t in enumerate(self.runs[k].body) if t is s) + 1
                self.runs[k].body.insert(at, kernel.Store(place, (0,), kernel.Name(name, s.value.dtype)))
                for other in others:
                    again = self.fresh(name)
                    first = kernel.Let(again, _load(place, s.value.dtype))
                    self.runs[other].body[:] = [first, *traversal.renamed(self.runs[other].body, name, again)]
            else:
                for other in (k, *others):
                    self.runs[other].body[:] = _in_memory(self.runs[other].body, name, place)

    def read_before(self) -> set[str]:
        """The temporaries that some run reads before it has written them."""
        found: set[str] = set()

        def visit(s: kernel.Statement, there: set[tuple[str, Any]], certain: bool) -> None:
            found.update(e.buffer for e in traversal.loads(s) if e.buffer in self.own and (e.buffer, e.index) not in there)
            if isinstance(s, kernel.Store) and s.buffer in self.own:
                place = s.buffer, s.index
                if (s.combine is not None or not certain) and place not in there:
                    found.add(s.buffer)
                there -= {p for p in there if _may_meet(p, place)}
                there.add(place)
            for part in traversal.bodies(s):
                for inner in part:
                    visit(inner, there, False)

        for run in self.runs:
            there: set[tuple[str, Any]] = set()
            for s in (*([kernel.Let("", run.mask)] if run.mask is not None else ()), *run.body):
                visit(s, there, True)
        return found

    def statements(self) -> tuple[tuple[kernel.Statement, ...], tuple[kernel.Allocate, ...]]:
        provided = {s.name for s in _uniform(self.split.parts) if isinstance(s, kernel.Allocate)}
        for name in self.kept:
            b = self.buffers[name]
            self.buffers[name] = replace(b, shape=(*b.shape, self.width), role="local")
        body = self.all(self.split.parts)
        if self.copies:
            copy = [kernel.Store(name, (self.lane,), e) for name, e in self.copies.values()]
            body = [replace(self.loop, body=tuple(copy), own=None), *body]
        names = [*sorted(self.kept - provided), *[name for name, _ in self.copies.values()], *self.checked]
        return tuple(body), tuple([kernel.Allocate(name, self.buffers[name].dtype, self.buffers[name].shape) for name in names])

    def array(self, hint: str, dtype: Any) -> str:
        name = self.fresh(hint)
        self.buffers[name] = kernel.Buffer(name, dtype, (self.width,), "local")
        return name

    def all(self, parts: Sequence[Part]) -> list[kernel.Statement]:
        result: list[kernel.Statement] = []
        for p in parts:
            match p:
                case Run():
                    result.extend(_Lane(self, p).statements())
                case Rounds(statement, inner):
                    result.append(replace(statement, body=tuple(self.all(inner))))
                case kernel.Allocate(name, _, shape):
                    if name in self.kept:
                        result.append(replace(p, shape=(*shape, self.width)))
                case _:
                    result.append(p)
        return result


def _runs(parts: Sequence[Part]) -> Iterator[Run]:
    for p in parts:
        if isinstance(p, Run):
            yield p
        elif isinstance(p, Rounds):
            yield from _runs(p.parts)


def _uniform(parts: Sequence[Part]) -> Iterator[kernel.Statement]:
    for p in parts:
        if isinstance(p, Rounds):
            yield from _uniform(p.parts)
        elif not isinstance(p, Run):
            yield p


def _used(s: kernel.Statement) -> set[str]:
    """The names that a statement itself reads or changes."""
    return ({s.name} if isinstance(s, kernel.Update) else set()).union(*[_names(e) for e in traversal.expressions(s) if not isinstance(e, str)])


def _may_meet(p: tuple[str, Any], q: tuple[str, Any]) -> bool:
    """Whether two places may be one."""
    apart = any(isinstance(i, int) and isinstance(j, int) and i != j for i, j in zip(p[1], q[1], strict=True)) if p[0] == q[0] else True
    return not apart


def _in_memory(body: Sequence[kernel.Statement], name: str, place: str) -> tuple[kernel.Statement, ...]:
    """The statements with a temporary in the place of a variable."""

    def change(e: Any) -> Any:
        if isinstance(e, integers.Integer) and name in integers.symbols(e):
            raise UnfitError
        return _load(place, e.dtype) if isinstance(e, kernel.Name) and e.name == name else e

    def settle(s: kernel.Statement) -> kernel.Statement:
        match s:
            case kernel.Declare(n, value) if n == name:
                return kernel.Store(place, (0,), value)
            case kernel.Update(n, value, combine, _) if n == name:
                return kernel.Store(place, (0,), value, combine)
        return s

    return traversal.mapped(body, change, settle)


class _Lane:
    """One run for one item, as the body of a loop over the items."""

    def __init__(self, writer: _Writer, run: Run) -> None:
        self.w, self.run = writer, run
        self.body: list[kernel.Statement] = []
        self.known: dict[tuple[str, Any], kernel.Expression] = {}
        """What places of temporaries hold."""
        self.told: list[kernel.Check] = []

    def statements(self) -> list[kernel.Statement]:
        on = None if self.run.mask is None else self.let("on", self.value(self.run.mask))
        failed = kernel.Name(self.w.fresh("failed"), BOOL)
        for s in self.run.body:
            self.statement(s, on, True, failed)
        loop = replace(self.w.loop, body=tuple(self.body), own=None)
        if not self.told:
            return [loop]
        # Whether checks hold is asked behind the loop, which vectorises then.
        return [kernel.Declare(failed.name, FALSE), loop, kernel.If(failed, (replace(loop, body=tuple(self.told)),))]

    def let(self, hint: str, value: kernel.Expression) -> kernel.Name:
        if isinstance(value, kernel.Name):
            return value
        name = self.w.fresh(hint)
        self.body.append(kernel.Let(name, value))
        return kernel.Name(name, value.dtype)

    def statement(self, s: kernel.Statement, on: kernel.Name | None, certain: bool, failed: kernel.Name) -> None:
        """A statement for those of which `on` says that they take part; not `certain`: that this branch is theirs."""
        match s:
            case kernel.Let() | kernel.Declare():
                self.body.append(replace(s, value=self.value(s.value)))
            case kernel.Update(name, value, combine, exact) if certain:
                self.body.append(kernel.Update(name, self.value(value), combine, exact))
            case kernel.Update(name, value, combine, _):
                old = kernel.Name(name, value.dtype)
                self.body.append(kernel.Update(name, self.chosen(on, combined(old, self.value(value), combine), old), None))
            case kernel.Store():
                self.store(s, on, certain)
            case kernel.If(condition, then, otherwise):
                holds = self.let("holds", self.value(condition))
                for part, text in ((then, "{x}"), (otherwise, "not {x}")):
                    mine = holds if text == "{x}" else kernel.Apply(text, (("x", holds),), BOOL)
                    both = mine if on is None else kernel.Apply("{x} & {y}", (("x", mine), ("y", on)), BOOL)
                    name = self.let("holds", both) if part else holds
                    for inner in part:
                        self.statement(inner, name, False, failed)
            case kernel.Check(condition, _, value):
                self.check(s, self.value(condition), self.value(value), on, failed)
            case _:
                raise UnfitError

    def check(self, s: kernel.Check, holds: kernel.Expression, value: kernel.Expression, on: kernel.Name | None, failed: kernel.Name) -> None:
        fails: kernel.Expression = kernel.Apply("not {x}", (("x", self.let("holds", holds)),), BOOL)
        if on is not None:
            fails = kernel.Apply("{x} & {y}", (("x", fails), ("y", on)), BOOL)
        told = self.let("fails", fails)
        wrong, what = self.w.array("wrong", BOOL), self.w.array("what", value.dtype)
        self.w.checked += [wrong, what]
        self.body += [kernel.Store(wrong, (self.w.lane,), told), kernel.Store(what, (self.w.lane,), value), kernel.Update(failed.name, told, "or")]
        right = kernel.Apply("not {x}", (("x", kernel.Load(wrong, (self.w.lane,), BOOL)),), BOOL)
        self.told.append(replace(s, condition=right, value=kernel.Load(what, (self.w.lane,), value.dtype)))

    def store(self, s: kernel.Store, on: kernel.Name | None, certain: bool) -> None:
        w, at = self.w, tuple(self.index(i) for i in s.index)
        value = self.value(s.value)
        if s.buffer not in w.own:
            if on is not None:
                old = self.let(s.buffer, kernel.Load(s.buffer, at, w.buffers[s.buffer].dtype))
                s = replace(s, value=self.chosen(on, combined(old, value, s.combine), old), combine=None)
            else:
                s = replace(s, value=value)
            self.body.append(replace(s, index=at))
            return
        place, dtype = (s.buffer, at), w.buffers[s.buffer].dtype
        value = self.let(s.buffer, converted(value, dtype))
        if s.combine is not None:
            value = self.let(s.buffer, combined(self.element(place, dtype), value, s.combine))
        alone = s.buffer in w.free or s.buffer not in w.kept or any(w.split.bases(i) & w.split.tapes.get(s.buffer, set()) for i in at)
        if on is not None and not (certain and alone):
            value = self.let(s.buffer, self.chosen(on, value, self.element(place, dtype)))
        self.known = {p: e for p, e in self.known.items() if not _may_meet(p, place)}
        self.known[place] = value
        if s.buffer in w.kept:
            self.body.append(kernel.Store(s.buffer, (*at, w.lane), value))

    def chosen(self, on: kernel.Name | None, new: kernel.Expression, old: kernel.Expression) -> kernel.Expression:
        assert on is not None
        return kernel.Apply("{x} if {on} else {y}", (("x", self.let("new", new)), ("on", on), ("y", old)), new.dtype)

    def element(self, place: tuple[str, Any], dtype: Any) -> kernel.Expression:
        """What a place of a temporary holds now."""
        if place not in self.known:
            self.known[place] = self.let(place[0], kernel.Load(place[0], (*place[1], self.w.lane), dtype))
        return self.known[place]

    def index(self, i: Any) -> Any:
        return i if isinstance(i, (int, integers.Integer)) else self.value(i)

    def value(self, e: kernel.Expression) -> kernel.Expression:
        """An expression of the item, read where its values are."""

        def change(e: Any) -> Any:
            if not isinstance(e, kernel.Load):
                return e
            if e.buffer in self.w.own:
                return self.element((e.buffer, e.index), e.dtype)
            return self.near(e)

        return _with(e, change)

    def near(self, e: kernel.Load) -> kernel.Load:
        """An element that every pass reads, from where those of all items are side by side."""
        w = self.w
        if not self.run.again or e.buffer in w.written or not all(isinstance(i, (int, integers.Integer)) for i in e.index):
            return e
        last, names = e.index[-1] if e.index else 0, set().union(*[_names(i) for i in e.index])
        if w.loop.index not in names or names & w.inner or (not isinstance(last, int) and integers.coefficient(last, w.loop.index) == 1):
            return e
        key = e.buffer, e.index
        if key not in w.copies:
            w.copies[key] = w.array(f"{e.buffer}_items", e.dtype), e
        return kernel.Load(w.copies[key][0], (w.lane,), e.dtype)


def combined(old: kernel.Expression, value: kernel.Expression, combine: kernel.Combine | None) -> kernel.Expression:
    if combine is None:
        return value
    return kernel.Apply(COMBINING[combine], (("x", old), ("y", value)), value.dtype)


__all__ = ["WIDTH", "abreast", "fits"]
