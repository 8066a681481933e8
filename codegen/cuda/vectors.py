"""Several neighbouring elements a thread: 16 bytes are read and written by one instruction each,
where memory is aligned to that.

aligned elements    for i in range(first + WIDTH * rank, ...): load, the body for each lane, store
all others          the body as it is: what lies before and behind, or everything where an array is
                    not aligned
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import kernel, traversal
from ..integers import Int, add, mul, symbol
from ..owners import Owners
from .dependence import accesses, defined
from .team import Members, atom

BYTES = 16
LONGEST = 32
"""Statements of a body; a longer one computes more than it moves, and wants its registers."""
FEWEST = 1024
"""Iterations; fewer have no use for it."""
KINDS = frozenset({"float32", "float64", "int32", "uint32", "int64", "uint64"})


@dataclass(frozen=True)
class Vectors:
    """What a loop reads and writes in vectors of `width` elements."""

    width: int
    loaded: tuple[str, ...]
    stored: tuple[str, ...]


def vectors(
    s: kernel.Loop, buffers: Mapping[str, kernel.Buffer], owners: Owners, taken: frozenset[str]
) -> Vectors | None:
    """How a loop whose iterations are independent could move several elements at once; `taken` are
    the buffers that need atomics."""
    simple = (kernel.Let, kernel.Declare, kernel.Update, kernel.Store)
    extent = add(s.hi, mul(-1, s.lo))
    if (
        (isinstance(extent, int) and extent < FEWEST)
        or len(s.body) > LONGEST
        or not all(isinstance(x, simple) for x in s.body)
    ):
        return None
    written: dict[str, int] = {}
    read: dict[str, set[tuple[object, ...]]] = {}
    places: dict[str, set[tuple[object, ...]]] = {}
    for a in accesses(s.body):
        if a.store is not None:
            written[owners.of(a.buffer)] = written.get(owners.of(a.buffer), 0) + (
                2 if a.store.combine else 1
            )
        else:
            read.setdefault(owners.of(a.buffer), set()).add(a.index)
        places.setdefault(a.buffer, set()).add(a.index)
    here = (symbol(s.index),)

    def fits(name: str) -> bool:
        b = buffers.get(name)
        return (
            b is not None
            and b.layout == "C"
            and b.role != "local"
            and len(b.shape) == 1
            and b.dtype.name in KINDS
            and name not in taken
        )

    loaded = [
        n
        for n, found in places.items()
        if here in found and owners.of(n) not in written and fits(n)
    ]
    stored = [
        n
        for n, found in places.items()
        if found == {here}
        and written.get(owners.of(n)) == 1
        and owners.of(n) not in read
        and fits(n)
    ]
    if not loaded and not stored:
        return None
    width = BYTES // max(buffers[n].dtype.itemsize for n in (*loaded, *stored))
    return Vectors(width, tuple(loaded), tuple(stored))


def write(
    body: Members,
    depth: int,
    s: kernel.Loop,
    how: Vectors,
    rank: str,
    size: str,
    inside: Sequence[kernel.Statement],
) -> None:
    """The loop over vectors, and the one over what is left; `inside` is what an iteration does."""
    width = how.width
    lo, hi = atom(s.lo), atom(s.hi)
    first, last, rest = body.fresh("first"), body.fresh("last"), body.fresh("size")
    used = body.used["cuda"]
    used.add("aligned")
    test = " and ".join(f"aligned({name}, {width})" for name in (*how.loaded, *how.stored))
    whole = multiple(s.lo, width)
    body.line(depth, f"{first} = {last} = {lo}")
    body.line(depth, f"if {test}:")
    if not whole:
        body.line(
            depth + 1,
            f"{first} = min(({lo} + index({width - 1})) // index({width}) * "
            f"index({width}), max({lo}, {hi}))",
        )
    body.line(depth + 1, f"{last} = max({first}, {hi} // index({width}) * index({width}))")
    body.line(
        depth,
        f"for {s.index} in range({first} + {rank} * index({width}), {last}, "
        f"{size} * index({width})):",
    )
    values = {
        name: [body.fresh("lane") for _ in range(width)] for name in (*how.loaded, *how.stored)
    }
    for name in how.loaded:
        used.add(f"load_{width}")
        body.line(depth + 1, f"{', '.join(values[name])} = load_{width}({name}, {s.index})")
    for lane in range(width):
        found = _lane(body, s, how, inside, {name: made[lane] for name, made in values.items()})
        if lane:
            place = f"{s.index}_{body.fresh('lane')}"
            body.line(depth + 1, f"{place} = {s.index} + index({lane})")
            found = traversal.renamed(found, s.index, place)
        body.body(depth + 1, found)
    for name in how.stored:
        used.add(f"store_{width}")
        body.line(depth + 1, f"store_{width}({name}, {s.index}, {', '.join(values[name])})")
    turn, head = body.fresh("flat"), "" if whole else f"({first} - {lo}) + "
    body.line(depth, f"{rest} = {head}(max({first}, {hi}) - {last})")
    body.line(depth, f"for {turn} in range({rank}, {rest}, {size}):")
    behind = (
        f"{last} + {turn}"
        if whole
        else f"{lo} + {turn} if {lo} + {turn} < {first} else {last} + ({lo} + {turn} - {first})"
    )
    body.line(depth + 1, f"{s.index} = {behind}")
    body.body(depth + 1, inside)


def multiple(value: Int, of: int) -> bool:
    """Whether a number is certainly a multiple."""
    return (
        value % of == 0
        if isinstance(value, int)
        else all(factor % of == 0 for _, factor in value.terms)
    )


def _lane(
    body: Members,
    s: kernel.Loop,
    how: Vectors,
    inside: Sequence[kernel.Statement],
    values: Mapping[str, str],
) -> tuple[kernel.Statement, ...]:
    """What an iteration does, on elements that are loaded, and with results that are kept to be
    stored."""
    here = (symbol(s.index),)

    def load(e: kernel.Load) -> kernel.Expression:
        return (
            kernel.Name(values[e.buffer], e.dtype)
            if e.buffer in how.loaded and e.index == here
            else e
        )

    def store(x: kernel.Store) -> kernel.Statement:
        return kernel.Let(values[x.buffer], x.value) if x.buffer in how.stored else x

    found = traversal.rewritten(tuple(inside), load, store)
    for name in sorted(defined(found) - set(values.values())):
        found = traversal.renamed(found, name, f"{name}_{body.fresh('lane')}")
    return found


__all__ = ["Vectors", "vectors", "write"]
