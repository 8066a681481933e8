"""Lengths that only a run knows: of `np.array(out)` where some passes appended to `out`, of
`np.zeros(n)` where a `while` counted n. What follows in that block is a graph over the number as a
size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..control.lengths import Outlived, over_size
from ..ir.dispatch import STATE
from ..ops.places.spans import ComputedLength
from ..tensor import Boxed
from .agreement import readable
from .carried import Retry
from .in_blocks import Gone, InBlock
from .one_loop import StagedLoop
from .places import variables
from .rooms import FoundRoom, OpenRest, Roomless, value_of
from .session import current

MOST = 12
"""Numbers of rows that follow one another in a block."""


@contextmanager
def undone_where_it_fails(loop: StagedLoop) -> Iterator[None]:
    """What is written into arrays is taken back where this ends with an exception: the next attempt
    begins with what the first one found, as it does in a graph of its own. The places of the block
    are put back by `run`."""
    own = {c.place.key for c in loop.carried}
    trace = STATE.traces[-1]
    around, trace.journal = trace.journal, {}
    written = trace.journal
    try:
        yield
    except BaseException:
        for key, (box, was) in written.items():
            if key not in own:
                box._restore(was)
        written = {}
        raise
    finally:
        trace.journal = around if around is None else {**written, **around}


class Rests:
    """The helper of blocks with lengths that only a run knows."""

    line_of: Callable[[int], str]
    code: Any

    def rest(
        self,
        line: int,
        body: Callable[[], Any],
        names: Sequence[str],
        known: Sequence[str],
        others: Sequence[str],
    ) -> None:
        """`body()`, the rest of a block."""
        cut = self.code, line
        self.rest_of(self.line_of(line), body, names, known, others, body, cut)

    def rest_of(
        self,
        where: str,
        body: Callable[..., Any],
        names: Sequence[str],
        known: Sequence[str],
        others: Sequence[str],
        call: Callable[[], Any],
        cut: Any = None,
    ) -> None:
        """`call()`, which calls `body`, as a block of its own, which is cut there."""
        session = current()
        if session is None or not STATE.traces:
            call()
            return
        loop = StagedLoop(
            session, where, (body,), variables((body,), names), known,
            variables((body,), others), "", block=True,
        )  # fmt: skip
        lengths: list[str] = []
        rooms: list[FoundRoom] = []
        first_rooms: list[FoundRoom] = []

        def once(leaves: Sequence[Any]) -> Sequence[Any]:
            number, depth = session.every_pass[-1] if session.every_pass else ("", 0)
            whole = depth == len(session.regions)
            session.every_pass.append((number if whole else "", depth + 1))
            session.open_rests.append(OpenRest(rooms))
            try:
                # In boxes of their own, as in a graph, so that a write into them is noticed.
                own = [x._alias() if isinstance(x, Boxed) else x for x in leaves]
                with undone_where_it_fails(loop):
                    return list(loop.inside(own, call, True))
            finally:
                session.open_rests.pop()
                session.every_pass.pop()

        def over(names: Sequence[str], had: Sequence[str], leaves: Sequence[Any]) -> Sequence[Any]:
            if names:
                (first, *more), opened = names, [*had, names[0]]
                return over_size(value_of(first), lambda given: over(more, opened, given), leaves)
            try:
                return once(leaves)
            except Roomless as error:
                if not had or len(had) > MOST:
                    raise
                # The rows of a list that are found in the graph over those of another one.
                return over(found_by(error, had), had, leaves)

        def found_by(error: ComputedLength, had: Sequence[str]) -> list[str]:
            new = [n for n in error.names if n not in had and value_of(n) is not None]
            if not new:
                raise error
            if isinstance(error, Roomless):
                rooms.extend(FoundRoom(name, error.passes, error.ends) for name in new)
            return new

        def attempt() -> Sequence[Any]:
            del rooms[len(first_rooms) :]
            try:
                return over(lengths, (), loop.initial())
            except ComputedLength as error:
                lengths.extend(found_by(error, lengths))
                first_rooms[:] = rooms
                raise Retry from error

        found = loop.until_known(attempt)
        gone: set[int] = set()
        for c in loop.carried:
            if isinstance(c, InBlock) and isinstance(c.end, Gone):
                c.end.cut = cut
                gone.add(id(c.place.owner))
        for c in loop.carried:
            if not isinstance(c, InBlock) and any(id(x) in gone for x in c.leaves):
                raise Outlived(
                    f"{loop.line}: {readable(c.place.name)} is a list with a length that only a "
                    "run knows, and is read behind the block in which it got it. Keep its items "
                    "in an array."
                )
        loop.finish(found, True)


__all__ = ["Rests"]
