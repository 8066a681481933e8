"""A loop of unknown length that keeps something of each step, and what is made of that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._codegen import integers, kernel
from ..ir.graph import Graph, Node, Var
from ..types import ArrayType
from .lower import Storage

if TYPE_CHECKING:
    from .whole import Whole

FIRST = 16
"""The steps that there is room for before a tape grows."""


def taped(whole: Whole, node: Node) -> None:
    """The steps on a tape; then what is made of it, which knows their number."""
    e = whole.emitter
    symbol, fixed, carries = (node.params[name] for name in ("symbol", "constants", "carries"))
    body: Graph = node.params["body"]
    after: Graph = node.params["after"]
    where = [whole.operand(a) for a in node.inputs[fixed + carries :]]
    tape = [_growing(whole, v, k) for v, k in zip(body.outputs[carries:], body.output_types[carries:], strict=True)]
    carry, count = whole.going(node, carries, [t.buffer for t in tape])
    steps = kernel.Load(count.buffer, whole.nests.place(count, ()), kernel.INT64)

    def written() -> None:
        stacked = []
        for t in tape:
            e.buffers[t.buffer] = replace(e.buffers[t.buffer], shape=(integers.symbol(symbol), *t.shape[1:]))
            stacked.append(Storage(t.buffer, e.buffers[t.buffer].shape))
        for var, storage in zip(after.inputs, [*where, *carry, count, *stacked], strict=True):
            e.storage[var] = storage
        whole.body(after, [e.storage[v] for v in node.outputs[carries + 1 :]])

    whole.with_size(symbol, steps, written)
    for var, storage in zip(node.outputs[: carries + 1], [*carry, count], strict=True):
        whole.advance([e.storage[var]], [storage])


def _growing(whole: Whole, kept: object, kind: ArrayType) -> Storage:
    """Memory for a few steps, which grows."""
    e = whole.emitter
    name = f"{e.names.of(kept) if isinstance(kept, Var) else 'kept'}_tape"
    made = whole.builder.new_buffer(name, kind.dtype, (FIRST, *kind.shape), "local")
    e.made.add(made.buffer)
    e.emit(kernel.Allocate(made.buffer, kind.dtype, (FIRST, *kind.shape)))
    return made


__all__ = ["taped"]
