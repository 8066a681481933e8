"""A loop of unknown length that keeps something of each step, and what is made of that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._codegen import integers, kernel
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.loops import Loop
from .lower import Storage
from .regions import advance, bounds, going, with_size

if TYPE_CHECKING:
    from .whole import Whole

FIRST = 16
"""The steps that there is room for before a tape grows."""


def taped(whole: Whole, node: Node) -> None:
    """The steps on a tape; then what is made of it, which knows their number."""
    e = whole.emitter
    symbol: str = node.params["symbol"]
    after: Graph = node.params["after"]
    loop = Loop.of(node)
    carries = len(loop.carries)
    where = [whole.given(a) for a in node.inputs[len(loop.constants) + carries :]]
    tape = [_growing(whole, a) for a in loop.body.outputs[carries:]]
    carry, count = going(whole, loop, [t.buffer for t in tape], bounds(whole, loop))
    steps = kernel.Load(count.buffer, whole.nests.place(count, ()), kernel.INT64)

    def written() -> None:
        stacked = []
        for t in tape:
            e.buffers[t.buffer] = replace(
                e.buffers[t.buffer], shape=(integers.symbol(symbol), *t.shape[1:])
            )
            stacked.append(Storage(t.buffer, e.buffers[t.buffer].shape))
        for var, given in zip(after.inputs, [*where, *carry, count, *stacked], strict=True):
            whole.give(var, given)
        whole.body(after, [e.storage[v] for v in node.outputs[carries + 1 :]])

    with_size(whole, symbol, steps, written)
    for var, storage in zip(node.outputs[: carries + 1], [*carry, count], strict=True):
        advance(whole, [e.storage[var]], [storage])


def _growing(whole: Whole, kept: Atom) -> Storage:
    """Memory for a few steps, which grows."""
    e, kind = whole.emitter, kept.type
    name = f"{e.names.of(kept) if isinstance(kept, Var) else 'kept'}_tape"
    made = whole.builder.new_buffer(name, kind.dtype, (FIRST, *kind.shape), "local")
    e.made.add(made.buffer)
    e.emit(kernel.Allocate(made.buffer, kind.dtype, (FIRST, *kind.shape)))
    return made


__all__ = ["taped"]
