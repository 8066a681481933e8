"""Results in the memory of inputs that the caller gives up.

An output may take the place of an input of the same dtype, shape and C layout where every
element of the input has been read for the last time when the output's element is written: no
write comes before a read of the same element, neither in the order of statements nor in another
pass of a loop around both. The output's name is replaced by the input's, so that the compiler
sees one array and keeps the order of its reads and writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from . import kernel
from .integers import Int, Integer, Symbol, substitute, symbol, symbols
from .kernel import Call, Declare, Let, Load, Loop, Name, Statement, Store, While
from .owners import Owners
from .traversal import bodies, loads, moved

Least: TypeAlias = Mapping[str, Int]
"""Sizes as what they are at least, and the rest."""


def reuse(
    program: kernel.Program, given_up: Sequence[int]
) -> tuple[kernel.Program, dict[int, int]]:
    """The program with outputs put into the inputs whose numbers are `given_up`, and {output:
    input}; each input serves once."""
    inputs = [b for b in program.buffers if b.role == "in"]
    outputs = [b for b in program.buffers if b.role == "out"]
    steps = [s for phase in program.phases for s in phase.body]
    owners = Owners.of_program(program)
    # Sizes 0 and 1 have programs of their own.
    least: Least = {name: symbol(name) + 2 for name, _ in program.sizes}
    taken: dict[int, int] = {}
    for k, out in enumerate(outputs):
        for j in given_up:
            old = inputs[j]
            same = (
                old.dtype == out.dtype
                and old.shape == out.shape
                and old.layout == "C"
                and old.shape != ()
            )
            if (
                same
                and j not in taken.values()
                and not owners.views(out.name)
                and _last_read(steps, old.name, out.name, owners.views(old.name), least)
            ):
                taken[k] = j
                break
    if not taken:
        return program, {}
    names = {outputs[k].name: inputs[j].name for k, j in taken.items()}
    renamed = [
        replace(p, body=moved(p.body, lambda buffer, at: (names.get(buffer, buffer), at)))
        for p in program.phases
    ]
    left = [replace(p, body=tuple([s for s in p.body if not _stays(s)])) for p in renamed]
    phases = tuple([p for p in left if p.body]) or tuple(renamed[:1])
    kept = tuple(b for b in program.buffers if b.name not in names)
    return replace(
        program, phases=phases, buffers=kept, made_by=f"{program.made_by}, results in inputs"
    ), taken


def _stays(s: Statement) -> bool:
    """Whether a loop copies elements to where they are."""
    if not isinstance(s, Loop):
        return False
    if all(isinstance(t, Loop) for t in s.body):
        return all(map(_stays, s.body))
    match s.body:
        case (Let(name, Load(buffer, index)), Store(target, place, Name(stored), None)):
            return (name, buffer, index) == (stored, target, place)
    return False


def _last_read(
    steps: Sequence[Statement], old: str, out: str, views: Sequence[str], least: Least
) -> bool:
    """Whether `out` can be written where `old` lies, which `views` show in other shapes."""
    writing = [
        k
        for k, s in enumerate(steps)
        if any(isinstance(t, Store) and t.buffer == out for t in _inside([s]))
    ]
    if not writing or _passed(steps, out):
        return False
    after = steps[writing[0] :]
    if _passed(after, old) or any(_loads(after, view) or _passed(after, view) for view in views):
        return False
    reads, writes = _accesses(after, old, out)
    return not any(
        _before(w, r, place in writes, least) for place, r in reads.items() for w in writes.values()
    )


@dataclass(frozen=True)
class _Access:
    """An element that is read of the input or written of the output: where, by which statement, in
    which loops, outermost first."""

    index: tuple[Any, ...]
    statement: int
    loops: tuple[Loop | While, ...]
    made: frozenset[str]
    """The locals that its loops make."""


Places: TypeAlias = dict[tuple[Any, ...], _Access]
"""Accesses by their indices and loops."""


def _accesses(steps: Sequence[Statement], old: str, out: str) -> tuple[Places, Places]:
    """Where `old` is read, for the last time in a pass, and where `out` is written, for the first
    time."""
    reads: Places = {}
    writes: Places = {}
    count = itertools.count()

    def visit(
        body: Sequence[Statement], loops: tuple[Loop | While, ...], made: frozenset[str]
    ) -> None:
        made = made | {s.name for s in body if isinstance(s, (Let, Declare))}
        for s in body:
            number, path = next(count), tuple(map(id, loops))
            reads.update(
                {
                    (e.index, path): _Access(e.index, number, loops, made)
                    for e in loads(s)
                    if e.buffer == old
                }
            )
            if isinstance(s, Store) and s.buffer == out:
                writes.setdefault((s.index, path), _Access(s.index, number, loops, made))
            for part in bodies(s):
                visit(part, (*loops, s) if isinstance(s, (Loop, While)) else loops, made)

    visit(steps, (), frozenset())
    return reads, writes


def _before(w: _Access, r: _Access, same: bool, least: Least) -> bool:
    """Whether an element may be written before it is read; `same`: each pass writes the element
    that it reads."""
    shared = [a for a, b in zip(w.loops, r.loops, strict=False) if a is b]
    if w.statement < r.statement and not _apart(w, r, len(shared), least):
        return True
    # The schedule promises of loops without an order that no two passes write the same
    # element, unless at places that are computed.
    promised = same and _known(w) and _known(r)
    return any(
        not (promised and isinstance(loop, Loop) and not loop.sequential)
        and not _told(w, r, loop)
        and not _apart(w, r, k, least)
        for k, loop in enumerate(shared)
    )


def _known(a: _Access) -> bool:
    """Whether a place depends on loops and sizes alone."""
    return all(
        isinstance(i, int) or (isinstance(i, Integer) and not symbols(i) & a.made) for i in a.index
    )


def _told(w: _Access, r: _Access, loop: Loop | While) -> bool:
    """Whether the places in two passes of a loop differ along some axis."""
    if not isinstance(loop, Loop):
        return False
    own = symbol(loop.index)
    # Along it both are at the number of the pass, but for the same constant.
    return any(
        i == j and isinstance(i, Integer) and isinstance(i - own, int)
        for i, j in zip(w.index, r.index, strict=True)
    )


def _apart(w: _Access, r: _Access, fixed: int, least: Least) -> bool:
    """Whether two accesses never meet, whatever the passes of their loops but the first `fixed`,
    which they share."""
    for i, j in zip(w.index, r.index, strict=True):
        one, other = _range(i, w, fixed), _range(j, r, fixed)
        if (
            one is not None
            and other is not None
            and (_certain(other[0] - one[1], least) or _certain(one[0] - other[1], least))
        ):
            return True
    return False


def _range(i: Any, a: _Access, fixed: int) -> tuple[Int, Int] | None:
    """The places from the first to behind the last along an axis; None where that is not known."""
    if isinstance(i, int):
        return i, i + 1
    if not isinstance(i, Integer) or symbols(i) & a.made:
        return None
    first: Int = i
    last: Int = i
    for loop in reversed(a.loops[fixed:]):
        if isinstance(loop, Loop) and loop.index in symbols(first) | symbols(last):
            if not isinstance(i - symbol(loop.index), int):
                return None
            first, last = (
                substitute(e, {loop.index: end})
                for e, end in ((first, loop.lo), (last, loop.hi - 1))
            )
    return first, last + 1


def _certain(difference: Int, least: Least) -> bool:
    """Whether an integer is at least 0."""
    known = substitute(difference, least)
    return (
        known >= 0
        if isinstance(known, int)
        else all(c >= 0 and all(isinstance(a, Symbol) for a in m) for m, c in known.terms)
    )


def _inside(body: Iterable[Statement]) -> list[Statement]:
    """All statements, those inside others included."""
    found: list[Statement] = []
    kernel.walk(tuple(body), found.append)
    return found


def _loads(body: Iterable[Statement], buffer: str) -> list[Load]:
    """The reads of a buffer element by element."""
    return [load for s in _inside(body) for load in loads(s) if load.buffer == buffer]


def _passed(body: Iterable[Statement], buffer: str) -> bool:
    """Whether a routine gets the whole buffer."""
    return any(
        isinstance(s, Call) and buffer in [a for a in s.arguments if isinstance(a, str)]
        for s in _inside(body)
    )
