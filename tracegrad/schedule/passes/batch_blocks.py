"""Loops whose passes touch disjoint memory, cut into blocks that threads share: batches of loops,
and loops over items.

A batch of simulations is written as a loop over time around loops over its lanes. Where everything
that is written is indexed by the lane, one block of lanes can go through all of time before the
next one starts: what a block works on stays in the nearest cache, what it keeps for the way back
(its part of what a derivative reads) needs memory for one block only, and the blocks are a parallel
phase. The same holds for a loop without carries, whose temporaries are each pass's own. That lanes
are disjoint is read off the statements, whoever wrote them: vmap or a person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..._codegen import integers, kernel, owners, traversal
from ...sizes import same
from ...types import Int
from .lockstep import WIDTH as LOCKSTEP
from .lockstep import fits, in_lockstep
from .registers import small
from .survey import Survey, extents, is_lanes, lane_loops, survey

BLOCK = 256
"""The most lanes of one block."""
FEWEST = 32
"""Blocks of fewer lanes than this do not fill the vector registers often enough."""
ITEMS = 8
"""The lanes of a block where each one is a loop, or some other long work, by itself."""
CACHE = 1 << 18
"""What the temporaries of one block may take, in bytes, before blocks become smaller."""


def batch_blocks(
    phases: Sequence[kernel.Phase], buffers: dict[str, kernel.Buffer], fresh: Callable[[str], str]
) -> list[kernel.Phase]:
    """The phases with such loops as parallel phases over blocks of lanes; changes and adds to
    `buffers`."""
    if not any(_is_seed(s) for p in phases if p.kind == "serial" for s in p.body):
        return list(phases)
    return _Cut(phases, buffers, fresh).phases()


def lanes_of_block(each: int) -> int:
    """How many lanes a block has of which each keeps so many bytes; of so few there are no
    blocks."""
    lanes = BLOCK
    while lanes > FEWEST and lanes * each > CACHE:
        lanes //= 2
    return lanes


def _is_seed(s: kernel.Statement) -> bool:
    """What is worth it: a loop that is gone through in order, with loops over lanes inside, or a
    loop over items."""
    if isinstance(s, kernel.Loop) and not s.sequential:
        return s.own is not None
    return isinstance(s, (kernel.Loop, kernel.While)) and any(True for _ in extents(s))


class _Cut:
    """The statements of all phases, cut into serial and parallel ones anew."""

    def __init__(
        self,
        phases: Sequence[kernel.Phase],
        buffers: dict[str, kernel.Buffer],
        fresh: Callable[[str], str],
    ) -> None:
        self.buffers, self.fresh = buffers, fresh
        self.body = [s for p in phases for s in p.body]
        self.phase = [p for p in phases for _ in p.body]
        self.surveys: dict[tuple[int, Int], Survey] = {}
        self.side_by_side_fits: dict[tuple[int, Int], bool | None] = {}
        self.owners = owners.Owners(buffers)
        self.mentions = [self.owners.all(traversal.mentioned([s])) for s in self.body]
        self.written = self.owners.all(_written(self.body))
        self.made = {
            s.index if isinstance(s, kernel.Loop) else s.name
            for s in traversal.within(self.body)
            if isinstance(s, (kernel.Let, kernel.Loop))
        }
        """What is known only while the kernel runs: the number of lanes must be known before."""

    def phases(self) -> list[kernel.Phase]:
        result: list[kernel.Phase] = []
        done = 0
        while done < len(self.body):
            seeds = (
                k
                for k in range(done, len(self.body))
                if self.phase[k].kind == "serial" and _is_seed(self.body[k])
            )
            found = next((g for k in seeds if (g := self.group(k, done))), None)
            if found is None:
                break
            first, end, extent = found
            result.extend(self.others(done, first))
            result.append(self.block(first, end, extent))
            done = end
        return [*result, *self.others(done, len(self.body))]

    def others(self, first: int, end: int) -> list[kernel.Phase]:
        """The phases as they were, as far as they are between these statements."""
        result: list[kernel.Phase] = []
        while first < end:
            phase, last = self.phase[first], first
            while last < end and self.phase[last] is phase:
                last += 1
            body = self.body[first:last]
            # Nothing is left to do for names alone.
            if any(not isinstance(s, kernel.Let) for s in body):
                result.append(traversal.with_parts(phase, body=(*self.needed(first, last), *body)))
            first = last
        return result

    # --- which statements -------------------------------------------------------------------------

    def group(self, seed: int, least: int) -> tuple[int, int, Int] | None:
        """The widest run of statements around a seed that lanes go through without each other, and
        how many lanes there are."""
        for extent in sorted(
            set(extents(self.body[seed])), key=lambda n: -n if isinstance(n, int) else -(1 << 62)
        ):
            if integers.symbols(extent) & self.made or (
                isinstance(extent, int) and extent <= self.width(seed, seed + 1, extent)
            ):
                continue
            found = self.least_apart(seed, least, extent)
            if found is None:
                continue
            first, end = found
            while (
                first > least
                and self.joins(first - 1, extent)
                and self.apart(first - 1, end, extent)
            ):
                first -= 1
            while (
                end < len(self.body)
                and self.joins(end, extent)
                and self.apart(first, end + 1, extent)
            ):
                end += 1
            while not self.survey(first, extent).lanes and self.apart(first + 1, end, extent):
                first += 1
            while not self.survey(end - 1, extent).lanes and self.apart(first, end - 1, extent):
                end -= 1
            return first, end, extent
        return None

    def joins(self, k: int, extent: Int) -> bool:
        """Whether a statement can be gone through by lanes at all."""
        s = self.body[k]
        return self.survey(k, extent).possible and (
            self.phase[k].kind == "serial" or (is_lanes(s) and same(s.hi, extent))
        )

    def survey(self, k: int, extent: Int) -> Survey:
        if (k, extent) not in self.surveys:
            self.surveys[k, extent] = survey(self.body[k], extent, self.owners)
        return self.surveys[k, extent]

    def whole(self, first: int, end: int, extent: Int) -> Survey:
        found = Survey()
        for k in range(first, end):
            found = found.merged(self.survey(k, extent))
        return found

    def least_apart(self, seed: int, least: int, extent: Int) -> tuple[int, int] | None:
        """The fewest statements around a seed that lanes go through without each other: those with
        all that its temporaries need."""
        first, end = seed, seed + 1
        while (others := self.shared(first, end, extent)) is not None:
            if not others:
                return first, end
            users = [
                k
                for k in range(len(self.body))
                if not first <= k < end and self.mentions[k] & others
            ]
            first, end = min([first, *users]), max([end, *[k + 1 for k in users]])
            if (
                not users
                or first < least
                or not all(self.joins(k, extent) for k in range(first, end))
            ):
                return None
        return None

    def apart(self, first: int, end: int, extent: Int) -> bool:
        """Whether lanes go through these statements without each other."""
        return self.shared(first, end, extent) == set()

    def shared(self, first: int, end: int, extent: Int) -> set[str] | None:
        """The temporaries that others use as well, which would have to be each block's own; None
        where that would not help."""
        found = self.whole(first, end, extent)
        if (
            not found.possible
            or not found.lanes
            or self.needed(first, end) is None
            or self.needed(end, len(self.body)) is None
        ):
            return None
        outside = self.outside(first, end)
        result = set()
        for name, use in found.uses.items():
            if not use.written or use.places:
                continue
            if (
                self.buffers[name].role == "in"
                and name in found.handed
                and name not in self.written
            ):
                continue
            if self.buffers[name].role not in ("temp", "local") or (use.shared and not use.own):
                return None
            if name in outside:
                result.add(name)
        return result

    def outside(self, first: int, end: int) -> set[str]:
        return set().union(*self.mentions[:first], *self.mentions[end:])

    def needed(self, first: int, end: int) -> Any:
        """The names that these statements read from statements before them, which can be made
        again; None where one cannot."""
        result: list[kernel.Let] = []
        inside = {
            s.name for s in self.body[first:end] if isinstance(s, (kernel.Let, kernel.Declare))
        }
        pending: list[kernel.Statement] = list(self.body[first:end])
        while pending:
            names, _ = traversal.read_by(pending)
            pending = []
            for before in self.body[:first]:
                if isinstance(before, kernel.Declare) and before.name in names:
                    return None
                if (
                    not isinstance(before, kernel.Let)
                    or before.name not in names
                    or before in result
                    or before.name in inside
                ):
                    continue
                if any(self.owners.of(e.buffer) in self.written for e in traversal.loads(before)):
                    return None
                result.append(before)
                pending.append(before)
        return [s for s in self.body[:first] if s in result]

    # --- the block --------------------------------------------------------------------------------

    def width(self, first: int, end: int, extent: Int) -> int:
        """How many lanes a block has."""
        found = [self.lockstep(k, extent) for k in range(first, end)]
        if any(fit is not None for fit in found):
            return ITEMS if False in found else LOCKSTEP
        return lanes_of_block(sum(self.kept(first, end, extent).values()))

    def lockstep(self, k: int, extent: Int) -> bool | None:
        """Whether the items of a statement go side by side; None where it has none that are loops,
        or other long work, by themselves."""
        if (k, extent) not in self.side_by_side_fits:
            items = [
                s
                for s in lane_loops(self.body[k], extent)
                if s.own is not None
                and any(isinstance(t, (kernel.Loop, kernel.While, kernel.Call)) for t in s.body)
            ]
            # Of few items one or two blocks would be mostly empty.
            few = isinstance(extent, int) and extent < 2 * LOCKSTEP
            self.side_by_side_fits[k, extent] = (
                not few and all(fits(s, extent, self.buffers) for s in items) if items else None
            )
        return self.side_by_side_fits[k, extent]

    def kept(self, first: int, end: int, extent: Int) -> dict[str, int]:
        """The temporaries of which a block needs its own lanes only, and their bytes per lane."""
        result = {}
        outside = self.outside(first, end)
        shown = self.owners.all(filter(self.owners.is_view, self.buffers))
        for name, use in self.whole(first, end, extent).uses.items():
            b = self.buffers[name]
            if use.places and b.role in ("temp", "local") and name not in outside | shown:
                (axis, *_) = sorted(use.places)
                each = integers.product([*b.shape[:axis], *b.shape[axis + 1 :]])
                result[name] = each * b.dtype.itemsize if isinstance(each, int) else CACHE // BLOCK
        return result

    def block(self, first: int, end: int, extent: Int) -> kernel.Phase:
        found = self.whole(first, end, extent)
        width = self.width(first, end, extent)
        narrow = {
            name: min(found.uses[name].places or {0}) for name in self.kept(first, end, extent)
        }
        index = self.fresh("block")
        lo = integers.mul(integers.symbol(index), width)
        hi = integers.minimum(lo + width, extent)
        allocated: list[kernel.Allocate] = []
        variables = small(self.body, self.buffers)
        names = traversal.mentioned(self.body[first:end])
        for name, use in found.uses.items():
            b = self.buffers[name]
            if name in narrow:
                self.buffers[name] = b = replace(
                    b, shape=(*b.shape[: narrow[name]], width, *b.shape[narrow[name] + 1 :])
                )
            elif not use.written or use.places or b.role == "in":
                continue
            if b.role == "temp" and name not in variables:
                self.buffers[name] = replace(b, role="local")
                allocated.append(kernel.Allocate(name, b.dtype, b.shape))
                for view in self.owners.views(name):
                    if view in names:
                        self.buffers[view] = replace(self.buffers[view], role="local")
                        allocated.append(
                            kernel.Allocate(view, b.dtype, self.buffers[view].shape, name)
                        )
        body = [*self.needed(first, end), *self.body[first:end]]
        inside = self.side_by_side(
            [_blocked(s, extent, lo, hi, narrow, width) for s in body], lo, extent, width, allocated
        )
        loop = kernel.Loop(index, 0, integers.floordiv(extent + (width - 1), width), inside)
        return kernel.Phase("parallel", (loop,), local=tuple(allocated))

    def side_by_side(
        self,
        body: Sequence[kernel.Statement],
        lo: Int,
        extent: Int,
        width: int,
        allocated: list[kernel.Allocate],
    ) -> tuple[kernel.Statement, ...]:
        """The statements of a block, those over its items for all of them at once where that fits;
        changes and adds to what is allocated."""
        result: list[kernel.Statement] = []
        for s in body:
            if (
                width == LOCKSTEP
                and isinstance(s, kernel.Loop)
                and s.own is not None
                and s.lo == lo
                and (found := in_lockstep(s, extent, self.buffers, self.fresh, width)) is not None
            ):
                statements, memory = found
                result.extend(statements)
                allocated[:] = [*[a for a in allocated if a.name not in s.own], *memory]
            else:
                result.append(
                    traversal.with_bodies(
                        s, lambda inner: self.side_by_side(inner, lo, extent, width, allocated)
                    )
                )
        return tuple(result)


def _written(body: Sequence[kernel.Statement]) -> set[str]:
    found: set[str] = set()

    def visit(s: kernel.Statement) -> None:
        if isinstance(s, kernel.Store):
            found.add(s.buffer)
        elif isinstance(s, kernel.Call):
            found.update(a for a in s.arguments if isinstance(a, str))

    kernel.walk(tuple(body), visit)
    return found


def _blocked(
    s: kernel.Statement, extent: Int, lo: Int, hi: Int, narrow: Mapping[str, int], width: int
) -> kernel.Statement:
    """The statement for the lanes from `lo` to `hi`."""

    def move(buffer: str, at: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        if buffer not in narrow:
            return buffer, at
        axis = narrow[buffer]
        return buffer, (*at[:axis], at[axis] - lo, *at[axis + 1 :])

    def ranged(s: kernel.Statement) -> kernel.Statement:
        match s:
            case kernel.Loop() if is_lanes(s) and same(s.hi, extent):
                return replace(s, lo=lo, hi=hi)
            case kernel.Loop() | kernel.While():
                return replace(s, body=tuple(map(ranged, s.body)))
            case kernel.If():
                return replace(
                    s, then=tuple(map(ranged, s.then)), otherwise=tuple(map(ranged, s.otherwise))
                )
            case kernel.Allocate(name, _, shape, _) if name in narrow:
                return replace(s, shape=(*shape[: narrow[name]], width, *shape[narrow[name] + 1 :]))
        return s

    (moved,) = traversal.moved((ranged(s),), move)
    return moved


__all__ = ["batch_blocks", "lanes_of_block"]
