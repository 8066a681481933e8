"""Operations that hold graphs: loops, branches, blocks, and graphs over a size that is known late.
Their graphs are scheduled by the same machinery, in scopes of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .._codegen import integers, kernel, traversal
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.loops import Loop
from ..ir.versions import passed
from ..types import Int
from .bounds import between, nonnegative
from .carries import CarryPlan, in_place
from .intervals import PASS, Between, Bounds, kept_between
from .lower import Storage, is_small
from .names import place_of
from .passes.transpose_short_axes import is_narrow
from .tapes import Tapes
from .values import BOOL, INTP, converted

if TYPE_CHECKING:
    from .whole import Whole

NOWHERE: Mapping[int, Storage] = {}
NEAR = 64
"""The most elements of a carry that is kept in a place of its own where its last value becomes a
part of something large."""


def scan(whole: Whole, node: Node) -> None:
    e = whole.emitter
    loop = Loop.of(node)
    for constant in loop.constants:
        whole.give(constant.inside, whole.given(constant.given))
    kept, tapes = bounds(whole, loop), Tapes(whole, loop)
    carry = started(whole, loop, tapes.first)
    for c, dest in zip(loop.carries, carry, strict=True):
        whole.give(c.inside, dest)
    stacked = [whole.operand(s.stacked) for s in loop.slices]
    following, plan = next_of(whole, loop, carry, tapes.first)
    length = loop.param("length")
    with e.loop(0, length, barrier=True, sequential=bool(carry), hint="" if carry else "item") as i:
        step: Int = length - 1 - i if loop.param("reverse") else i
        assert loop.number is not None
        e.counts[loop.number] = step
        for k, found in kept.items():
            c = loop.carries[k]
            counted(whole, c.inside, c.last, carry[k], ends_at(found.inside, i))
        for s, where in zip(loop.slices, stacked, strict=True):
            e.storage[s.inside] = where.row(step)
        ys = [e.storage[r.stacked].row(step) for r in loop.results]
        for c, dest in zip(loop.carries, tapes.before(carry, step), strict=True):
            e.storage[c.inside] = dest
        carry, following = tapes.after(carry, step), tapes.after(following, step)
        whole.body(loop.body, [*following, *ys], plan, carry)
        advance(whole, carry, following)
    advance(whole, [e.storage[c.last] for c in loop.carries], tapes.ended(carry))
    ended(whole, loop, {k: ends_at(found.always, length) for k, found in kept.items()})


def bounds(whole: Whole, loop: Loop) -> dict[int, Bounds]:
    """The carries that are known to stay between two numbers."""
    e = whole.emitter
    given: dict[Var, Int] = {}
    for c in loop.constants:
        value = whole.number(c.given)
        if value is not None:
            given.update({v: value for v in (c.inside, c.asked) if v is not None})
    return kept_between(loop, given, [whole.number(c.first) for c in loop.carries], e.ranges)


def ends_at(ends: Between, number: Int) -> Between:
    """The ends at the pass of that number."""
    return Between(*[integers.substitute(x, {PASS: number}) for x in ends])


def counted(whole: Whole, var: Var, named: Var, where: Storage, ends: Between) -> None:
    """Let what stays between two numbers be an integer expression, from here on in this scope;
    it is called after that variable."""
    e = whole.emitter
    if ends.least == ends.most:
        e.counts[var] = ends.least
    elif nonnegative(ends.least, e.ranges):
        value = kernel.Load(where.buffer, whole.nests.place(where, ()), kernel.INT64)
        word = e.let(e.names.of(named), kernel.Apply("index({x})", (("x", value),), INTP))
        e.ranges[word.name] = ends.least, ends.most + 1
        e.counts[var] = integers.symbol(word.name)


def ended(whole: Whole, loop: Loop, ends: dict[int, Between]) -> None:
    """What is known of last values, for what follows in the scope of a loop inside of another."""
    if whole.emitter.again:
        for k, found in ends.items():
            last = loop.carries[k].last
            counted(whole, last, last, whole.emitter.storage[last], found)


def started(whole: Whole, loop: Loop, tapes: Mapping[int, Storage] = NOWHERE) -> list[Storage]:
    """Where a loop keeps its carries, which have their first values; those in tapes begin
    there."""
    carry = [
        tapes[k] if k in tapes else near(whole, c.last, c.first) for k, c in enumerate(loop.carries)
    ]
    for dest, c in zip(carry, loop.carries, strict=True):
        whole.fill(dest, c.first)
    return carry


def next_of(
    whole: Whole, loop: Loop, carry: Sequence[Storage], tapes: Mapping[int, Storage] = NOWHERE
) -> tuple[list[Storage], CarryPlan]:
    """Where what follows on each carry is written, and the plan for it."""
    cs = loop.carries
    return where_next(
        whole,
        [c.last for c in cs],
        loop.body,
        [c.inside for c in cs],
        [c.next for c in cs],
        carry,
        tapes,
    )


def near(whole: Whole, var: Var, first: Atom | None = None) -> Storage:
    """Where a loop keeps a carry: where its last value goes; if it is small or narrow, in a
    place of its own, which may change, but where the first value of a narrow one lies there
    already, as a loop outside of this one keeps it."""
    where, size = whole.emitter.storage[var], var.type.size
    there = isinstance(first, Var) and whole.emitter.storage.get(first) == where
    own = (
        is_small(var.type.shape)
        or (is_narrow(var.type.shape) and not there)
        or (where.prefix and isinstance(size, int) and size <= NEAR)
    )
    return whole.builder.buffer(f"{whole.emitter.names.of(var)}_now", var, "temp") if own else where


def where_next(
    whole: Whole,
    outputs: Sequence[Var],
    body: Graph,
    carries: Sequence[Var],
    results: Sequence[Atom],
    places: Sequence[Storage],
    tapes: Mapping[int, Storage] = NOWHERE,
) -> tuple[list[Storage], CarryPlan]:
    """Where what follows on each carry is written: in its place, where the plan says how, or
    beside it, or in the next row of a tape."""
    plan = in_place(body, carries, results, tapes)
    written = {*plan.versions.values(), *tapes}
    following = [
        place
        if k in written
        else whole.builder.buffer(f"{whole.emitter.names.of(v)}_next", v, "temp")
        for k, (v, place) in enumerate(zip(outputs, places, strict=True))
    ]
    return following, plan


def advance(whole: Whole, carry: Sequence[Storage], following: Sequence[Storage]) -> None:
    e = whole.emitter
    for dest, source in zip(carry, following, strict=True):
        if dest == source:
            continue
        dtype = e.buffers[source.buffer].dtype
        for index in e.positions(dest.shape):
            whole.nests.store(
                dest, index, kernel.Load(source.buffer, whole.nests.place(source, index), dtype)
            )


def switch(whole: Whole, node: Node) -> None:
    e = whole.emitter
    index = e.element(node.inputs[0], ())
    where = [whole.given(a) for a in node.inputs[1:]]
    bodies = []
    for branch in node.params["branches"]:
        with e.scope(barrier=True) as inner:
            within(whole, node, branch, where)
        bodies.append(tuple(inner.statements))
    if node.inputs[0].type.dtype == BOOL:
        e.emit(kernel.If(index, bodies[1], bodies[0]))
        return
    number = converted(index, kernel.INT64)
    last = len(bodies) - 1
    fits = kernel.Apply(f"0 <= {{x}} <= {last}", (("x", number),), BOOL)
    message = f"switch: index {{value}} is out of range for {last + 1} branches"
    e.emit(kernel.Check(fits, e.error(message + place_of(node)), number))
    chain = bodies[-1]
    for k in reversed(range(last)):
        chain = (
            kernel.If(kernel.Apply(f"{{x}} == {k}", (("x", number),), BOOL), bodies[k], chain),
        )
    for s in chain:
        e.emit(s)


def within(whole: Whole, node: Node, graph: Graph, where: Sequence[Storage | Int]) -> None:
    """One of a node's graphs, of operands that lie there; results that lie where an operand
    does are written in place."""
    e = whole.emitter
    outputs = [e.storage[v] for v in node.outputs]
    kept = {
        node.outputs.index(v): k - 1
        for v, k in passed(node).items()
        if e.storage[v] == where[k - 1]
    }
    for var, given in zip(graph.inputs, where, strict=True):
        whole.give(var, given)
    changed = {k: n for k, n in kept.items() if graph.outputs[k] is not graph.inputs[n]}
    before = [graph.inputs[n] for n in changed.values()]
    after = [graph.outputs[k] for k in changed]
    places = [outputs[k] for k in changed]
    following, plan = where_next(
        whole, [node.outputs[k] for k in changed], graph, before, after, places
    )
    beside = dict(zip(changed, following, strict=True))
    whole.body(graph, [beside.get(k, place) for k, place in enumerate(outputs)], plan, places)
    advance(whole, places, following)


def while_loop(whole: Whole, node: Node) -> None:
    loop = Loop.of(node)
    kept = bounds(whole, loop)
    carry, count = going(whole, loop, [], kept)
    for var, where in zip(node.outputs, [*carry, count], strict=True):
        advance(whole, [whole.emitter.storage[var]], [where])
    ended(whole, loop, {k: found.always for k, found in kept.items()})


def going(
    whole: Whole, loop: Loop, kept: Sequence[str], between_ends: Mapping[int, Bounds]
) -> tuple[list[Storage], Storage]:
    """The steps of a while loop; where their last carries are, and their number. What is kept
    of each goes into these growing buffers."""
    e = whole.emitter
    assert loop.test is not None
    assert loop.count is not None
    test, body, limit = loop.test, loop.body, loop.param("max_steps")
    where = [whole.given(c.given) for c in loop.constants]
    carry = started(whole, loop)
    following, plan = next_of(whole, loop, carry)
    count, again = near(whole, loop.count), whole.builder.new_buffer("going", BOOL, ())
    whole.nests.store(count, (), kernel.Literal(0, kernel.INT64))
    for graph in (test, body):
        for var, given in zip(graph.inputs, [*where, *carry, count], strict=False):
            whole.give(var, given)
    with e.scope(barrier=True) as before:
        whole.body(test, [again])
    for s in before.statements:
        e.emit(s)
    condition: kernel.Expression = kernel.Load(again.buffer, (0,), BOOL)
    steps = kernel.Load(count.buffer, whole.nests.place(count, ()), kernel.INT64)
    if limit is not None:
        condition = kernel.Apply(
            f"{{going}} and {{steps}} < {limit}", (("going", condition), ("steps", steps)), BOOL
        )
    with e.scope(barrier=True) as inner:
        at = (
            integers.symbol(e.let("step", kernel.Apply("index({x})", (("x", steps),), INTP)).name)
            if kept
            else 0
        )
        for name in kept:
            e.emit(kernel.Grow(name, kernel.Apply("{x} + 1", (("x", steps),), kernel.INT64)))
        rows = [
            Storage(name, t.shape, (at,))
            for name, t in zip(kept, body.output_types[len(carry) :], strict=True)
        ]
        for k, found in between_ends.items():
            c = loop.carries[k]
            counted(whole, c.inside, c.last, carry[k], found.inside)
        whole.body(body, [*following, *rows], plan, carry)
        advance(whole, carry, following)
        whole.nests.store(count, (), kernel.Apply("{x} + 1", (("x", steps),), kernel.INT64))
        whole.body(test, [again])
    checked = any(isinstance(s, kernel.Check) for s in traversal.within(inner.statements))
    e.emit(kernel.While(condition, tuple(inner.statements), checked))
    if limit is not None:
        message = "RuntimeError: " + (
            loop.param("failure") or f"while_loop: still going after max_steps={limit} steps"
        )
        done = kernel.Apply("not {x}", (("x", kernel.Load(again.buffer, (0,), BOOL)),), BOOL)
        e.emit(kernel.Check(done, e.error(message + place_of(loop.origin)), steps))
    return carry, count


def block(whole: Whole, node: Node) -> None:
    """A graph as it is, its temporaries for itself: at the top in phases of its own, which is
    what their memory is shared by."""
    e = whole.emitter
    graph: Graph = node.params["graph"]
    for var, atom in zip(graph.inputs, node.inputs, strict=True):
        whole.give(var, whole.given(atom))
    outputs = [e.storage[v] for v in node.outputs]
    if len(e.scopes) == 1:
        whole.builder.flush()
        whole.builder.run(graph, outputs)
        whole.builder.flush()
        return
    with e.scope(barrier=True) as inner:
        whole.body(graph, outputs)
    for s in inner.statements:
        e.emit(s)


def sized(whole: Whole, node: Node) -> None:
    """A graph over a size that is known only now."""
    e = whole.emitter
    graph: Graph = node.params["graph"]
    count = converted(e.element(node.inputs[0], ()), kernel.INT64)
    where = [whole.given(a) for a in node.inputs[1:]]
    most: Int | None = node.params.get("most")
    with_size(whole, node.params["symbol"], count, lambda: within(whole, node, graph, where), most)


def with_size(
    whole: Whole,
    symbol: str,
    count: kernel.Expression,
    written: Callable[[], None],
    most: Int | None = None,
) -> None:
    """What is written for a size that is known only now, which needs memory of its own."""
    e = whole.emitter
    there = set(e.buffers)
    e.sizes.add(symbol)
    if isinstance(count, kernel.Index):
        e.ranges[symbol] = count.value, count.value + 1
    elif most is not None:
        e.ranges[symbol] = 0, most + 1
    # Where there is at least one step, a loop over all of them is cut behind the first.
    some = isinstance(count, kernel.Index) and nonnegative(count.value - 1, e.ranges)
    with between(symbol, int(some), most), e.scope(barrier=True) as inner:
        e.depths[symbol] = len(e.scopes) - 1
        written()
    e.sizes.remove(symbol)
    e.ranges.pop(symbol, None)
    e.emit(kernel.Let(symbol, kernel.Apply("index({x})", (("x", count),), INTP)))
    for b in e.buffers.values():
        if b.role == "local" and b.name not in there and b.name not in e.made:
            e.made.add(b.name)
            e.emit(kernel.Allocate(b.name, b.dtype, b.shape, b.of))
    for s in inner.statements:
        e.emit(s)
