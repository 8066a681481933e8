"""Items side by side: loops that each item of a batch ends for itself, a register full of items at
a time.

A batch of iterative solutions is a loop over items around loops whose number of passes only the
item knows. One item after the other leaves the processor waiting, since each step needs the result
of the one before. Here those loops go outside (`predication.py`): a pass is one for all items of a
block that still go on, in vector instructions, and what it would change of the others stays as it
was. Each item does what it would have done by itself, in the same order, so its bits are the same;
what is computed besides is thrown away.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..._codegen import integers, kernel, owners, traversal
from ...types import Int
from .lane import Lane, may_meet
from .predication import Part, Rounds, Split, StraightRun, UnfitError, flag_at

WIDTH = 32
"""The items of a block: some registers full, so that there is work while a step waits for the one
before."""
ALONE = 16
"""Loops of so many passes, which may run in any order, fill the registers by themselves."""
MOST = 1024
"""The most bytes that an item may need for itself, besides what it keeps of each step."""


def in_lockstep(
    loop: kernel.Loop,
    extent: Int,
    buffers: dict[str, kernel.Buffer],
    fresh: Callable[[str], str],
    width: int = WIDTH,
) -> tuple[tuple[kernel.Statement, ...], tuple[kernel.Allocate, ...]] | None:
    """A loop over at most `width` of `extent` items as loops whose passes are for all of them, and
    the memory that it needs; None where that does not fit.

    Changes and adds to `buffers`.
    """
    changed = dict(buffers)
    try:
        writer = _writer(loop, extent, changed, fresh, width)
    except UnfitError:
        return None
    found = writer.statements()
    buffers.update(changed)
    return found


def fits(loop: kernel.Loop, extent: Int, buffers: Mapping[str, kernel.Buffer]) -> bool:
    """Whether the items of a loop can go side by side, and gain by it: asked of its runs, of which
    nothing is written."""
    number = itertools.count()
    try:
        _writer(loop, extent, dict(buffers), lambda name: f"{name}'{next(number)}", WIDTH)
    except UnfitError:
        return False
    return True


def _writer(
    loop: kernel.Loop,
    extent: Int,
    buffers: dict[str, kernel.Buffer],
    fresh: Callable[[str], str],
    width: int,
) -> Writer:
    """What writes the runs of a loop; UnfitError where they do not fit."""
    _check(loop, extent, buffers, width)
    return Writer(loop, Split(loop, fresh), buffers, fresh, width)


def _check(
    loop: kernel.Loop, extent: Int, buffers: Mapping[str, kernel.Buffer], width: int
) -> None:
    own, owner = loop.own or frozenset(), owners.Owners(buffers)
    if (
        loop.own is None
        or loop.sequential
        or any(owner.is_view(b) and owner.of(b) in own for b in traversal.mentioned(loop.body))
    ):
        raise UnfitError
    asked = {s.name for s in traversal.within(loop.body) if isinstance(s, kernel.Allocate)}
    sizes = [
        integers.product(buffers[name].shape) * buffers[name].dtype.itemsize for name in own - asked
    ]
    if sum(s if isinstance(s, int) else MOST + 1 for s in sizes) > MOST:
        raise UnfitError
    made = {s.name for s in traversal.within(loop.body) if isinstance(s, kernel.Let)}
    item = integers.symbol(loop.index)

    def visit(
        body: Sequence[kernel.Statement], places: list[tuple[Int, Int]], guarded: bool
    ) -> None:
        """`places`: indices that are inside of any axis of that size."""
        for s in body:
            inside, behind = places, guarded
            match s:
                case kernel.Call():
                    raise UnfitError
                case kernel.Allocate() if s.of:
                    raise UnfitError
                case kernel.Let() | kernel.Declare() | kernel.Update() | kernel.Store() if (
                    s.value.dtype.kind not in "biuf"
                ):
                    raise UnfitError
                case kernel.Loop(index, lo, hi, _, sequential):
                    if (
                        not sequential
                        and not _short(lo, hi)
                        and not (isinstance(hi, integers.Integer) and integers.symbols(hi) & made)
                    ):
                        raise UnfitError
                    if lo == 0:
                        inside = [
                            *places,
                            (integers.symbol(index), hi),
                            (hi - 1 - integers.symbol(index), hi),
                        ]
                case kernel.If():
                    behind = True
            if guarded and not isinstance(s, STRAIGHT):
                raise UnfitError
            if behind and not all(certain(e, places) for e in traversal.loads(s)):
                # Both ways are gone, and one result is taken: what is read there must be there.
                raise UnfitError
            for part in traversal.bodies(s):
                visit(part, inside, behind)

    def certain(e: kernel.Load, places: list[tuple[Int, Int]]) -> bool:
        return all(
            isinstance(i, int) or (i, n) in places
            for i, n in zip(e.index, buffers[e.buffer].shape, strict=False)
        )

    visit(loop.body, [(item, extent), (item - loop.lo, width)], False)


STRAIGHT = (kernel.Let, kernel.Declare, kernel.Update, kernel.Store, kernel.If)
"""What a run consists of; checks besides, where no branch guards them."""


def _short(lo: Int, hi: Int) -> bool:
    trips = hi - lo
    return isinstance(trips, int) and trips < ALONE


class Writer:
    """Runs as loops over items."""

    def __init__(
        self,
        loop: kernel.Loop,
        split: Split,
        buffers: dict[str, kernel.Buffer],
        fresh: Callable[[str], str],
        width: int,
    ) -> None:
        self.loop = loop
        self.split = split
        self.buffers = buffers
        self.fresh = fresh
        self.width = width
        self.lane: Int = integers.symbol(loop.index) - loop.lo
        self.owners = owners.Owners(buffers)
        self.written = self.owners.all(
            s.buffer for s in traversal.within(loop.body) if isinstance(s, kernel.Store)
        )
        self.own = {*(loop.own or ()), *split.flags}
        self.variables = {
            s.name for s in traversal.within(loop.body) if isinstance(s, kernel.Declare)
        }
        self.free = set(split.flags)
        """The temporaries of which items that take no part need nothing."""
        for name, dtype in split.flags.items():
            buffers[name] = kernel.Buffer(name, dtype, (1,), "local")
        self.runs = list(_runs(split.parts))
        self.inner = {*split.varying, *split.totals, *split.common} - {loop.index}
        self.hand_over()
        for run in self.runs:
            self.check_places(run)
        self.kept = self.read_before()
        """The temporaries that outlive a run."""
        self.copies: dict[tuple[Any, ...], tuple[str, kernel.Load]] = {}
        """What many passes read, far apart in memory, and where it is side by side."""
        self.checked: list[str] = []
        """What is told of checks."""
        self.local = set(self.kept)
        """What has an element for each place of a block."""

    def hand_over(self) -> None:
        """Temporaries for the names that are made in one run and read in another."""
        made: dict[str, tuple[int, kernel.Let | kernel.Declare]] = {}
        users: dict[str, set[int]] = {}
        for k, run in enumerate(self.runs):
            for s in traversal.within(run.body):
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
                body = self.runs[k].body
                # Its value may have been given other names meanwhile.
                where = next(
                    (n for n, t in enumerate(body) if isinstance(t, kernel.Let) and t.name == name),
                    None,
                )
                if where is None:
                    raise UnfitError
                body.insert(where + 1, kernel.Store(place, (0,), kernel.Name(name, s.value.dtype)))
                for other in others:
                    again = self.fresh(name)
                    self.split.varying.add(again)
                    first = kernel.Let(again, flag_at(place, s.value.dtype))
                    self.runs[other].body[:] = [
                        first,
                        *traversal.renamed(self.runs[other].body, name, again),
                    ]
            else:
                for other in (k, *others):
                    self.runs[other].body[:] = _in_memory(self.runs[other].body, name, place)

    def check_places(self, run: StraightRun) -> None:
        """Places are known as integers; where passes change memory at another place for each item,
        LLVM takes the items one by one, and nothing would be gained."""
        varying = self.split.varying - {self.loop.index} if run.again else set()
        for s in traversal.within(run.body):
            places = [(e.buffer, e.index) for e in traversal.loads(s)]
            if isinstance(s, kernel.Store):
                places.append((s.buffer, s.index))
            for buffer, at in places:
                for i in at:
                    if not isinstance(i, (int, integers.Integer)):
                        raise UnfitError
                    if buffer in self.own and integers.symbols(i) & varying:
                        raise UnfitError

    def read_before(self) -> set[str]:
        """The temporaries that some run reads before it has written them."""
        found: set[str] = set()

        def visit(s: kernel.Statement, there: set[tuple[str, Any]], certain: bool) -> None:
            found.update(
                e.buffer
                for e in traversal.loads(s)
                if e.buffer in self.own and (e.buffer, e.index) not in there
            )
            if isinstance(s, kernel.Store) and s.buffer in self.own:
                place = s.buffer, s.index
                if (s.combine is not None or not certain) and place not in there:
                    found.add(s.buffer)
                there -= {p for p in there if may_meet(p, place)}
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
        # A place without an item takes no part in anything.
        none = [
            kernel.Store(f, (0, self.lane), kernel.Literal(0, d))
            for f, d in self.split.flags.items()
            if f in self.kept
        ]
        body = [self.all_places(none), *body]
        names = [
            *sorted(self.kept - provided),
            *[name for name, _ in self.copies.values()],
            *self.checked,
        ]
        memory = [kernel.Allocate(n, self.buffers[n].dtype, self.buffers[n].shape) for n in names]
        return tuple(body), tuple(memory)

    def all_places(self, body: Sequence[kernel.Statement]) -> kernel.Loop:
        """A loop over all places of a block, the last of which may be without items: so many passes
        are whole registers."""
        name = self.fresh("lane")
        given = {self.loop.index: self.loop.lo + integers.symbol(name)}
        changed = traversal.mapped(
            body, lambda e: integers.substitute(e, given) if isinstance(e, integers.Integer) else e
        )
        return kernel.Loop(name, 0, self.width, changed)

    def array(self, hint: str, dtype: Any) -> str:
        name = self.fresh(hint)
        self.buffers[name] = kernel.Buffer(name, dtype, (self.width,), "local")
        self.local.add(name)
        return name

    def all(self, parts: Sequence[Part]) -> list[kernel.Statement]:
        result: list[kernel.Statement] = []
        for p in parts:
            match p:
                case StraightRun():
                    result.extend(Lane(self, p).statements())
                case Rounds(statement, inner):
                    result.append(replace(statement, body=tuple(self.all(inner))))
                case kernel.Allocate(name, _, shape):
                    if name in self.kept:
                        result.append(replace(p, shape=(*shape, self.width)))
                case _:
                    result.append(p)
        return result


def _runs(parts: Sequence[Part]) -> Iterator[StraightRun]:
    for p in parts:
        if isinstance(p, StraightRun):
            yield p
        elif isinstance(p, Rounds):
            yield from _runs(p.parts)


def _uniform(parts: Sequence[Part]) -> Iterator[kernel.Statement]:
    for p in parts:
        if isinstance(p, Rounds):
            yield from _uniform(p.parts)
        elif not isinstance(p, StraightRun):
            yield p


def _used(s: kernel.Statement) -> set[str]:
    """The names that a statement itself reads or changes."""
    return ({s.name} if isinstance(s, kernel.Update) else set()).union(
        *[traversal.names_in(e) for e in traversal.expressions(s) if not isinstance(e, str)]
    )


def _in_memory(
    body: Sequence[kernel.Statement], name: str, place: str
) -> tuple[kernel.Statement, ...]:
    """The statements with a temporary in the place of a variable."""

    def change(e: Any) -> Any:
        if isinstance(e, integers.Integer) and name in integers.symbols(e):
            raise UnfitError
        return flag_at(place, e.dtype) if isinstance(e, kernel.Name) and e.name == name else e

    def settle(s: kernel.Statement) -> kernel.Statement:
        match s:
            case kernel.Declare(n, value) if n == name:
                return kernel.Store(place, (0,), value)
            case kernel.Update(n, value, combine, _) if n == name:
                return kernel.Store(place, (0,), value, combine)
        return s

    return traversal.mapped(body, change, settle)


__all__ = ["WIDTH", "fits", "in_lockstep"]
