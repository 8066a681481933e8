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
    device = whole.builder.device
    tape: list[Storage] = (
        [] if device else [_growing(whole, v, k) for v, k in zip(body.outputs[carries:], body.output_types[carries:], strict=True)]
    )
    # The memory of a GPU does not grow while a kernel runs: there the steps are counted first.
    counting = replace(node, params={**node.params, "body": body.replace(outputs=body.outputs[:carries])})
    carry, count = whole.going(counting if device else node, carries, [t.buffer for t in tape])
    steps = kernel.Load(count.buffer, whole.nests.place(count, ()), kernel.INT64)

    def written() -> None:
        size = integers.symbol(symbol)
        for t in tape:
            e.buffers[t.buffer] = replace(e.buffers[t.buffer], shape=(size, *t.shape[1:]))
        stacked = [Storage(t.buffer, e.buffers[t.buffer].shape) for t in tape] or _again(whole, node, size)
        for var, storage in zip(after.inputs, [*where, *carry, count, *stacked], strict=True):
            e.storage[var] = storage
        whole.body(after, [e.storage[v] for v in node.outputs[carries + 1 :]])

    whole.with_size(symbol, steps, written)
    for var, storage in zip(node.outputs[: carries + 1], [*carry, count], strict=True):
        whole.advance([e.storage[var]], [storage])


def _named(whole: Whole, kept: object) -> str:
    return f"{whole.emitter.names.of(kept) if isinstance(kept, Var) else 'kept'}_tape"


def _growing(whole: Whole, kept: object, kind: ArrayType) -> Storage:
    """Memory for a few steps, which grows."""
    e = whole.emitter
    made = whole.builder.new_buffer(_named(whole, kept), kind.dtype, (FIRST, *kind.shape), "local")
    e.made.add(made.buffer)
    e.emit(kernel.Allocate(made.buffer, kind.dtype, (FIRST, *kind.shape)))
    return made


def _again(whole: Whole, node: Node, size: integers.Integer) -> list[Storage]:
    """The steps once more, now that their number is known, on tapes of that length."""
    e = whole.emitter
    fixed, carries = node.params["constants"], node.params["carries"]
    body: Graph = node.params["body"]
    kinds = body.output_types[carries:]
    tape = [
        whole.builder.new_buffer(_named(whole, v), k.dtype, (size, *k.shape), "local")
        for v, k in zip(body.outputs[carries:], kinds, strict=True)
    ]
    carry = [whole.builder.buffer(f"{e.names.of(v)}_again", v, "temp") for v in node.outputs[:carries]]
    for dest, atom in zip(carry, node.inputs[fixed : fixed + carries], strict=True):
        whole.fill(dest, atom)
    following, last = whole.following(node.outputs[:carries], body, body.inputs[fixed : fixed + carries], carry)
    with e.loop(0, size, barrier=True, sequential=True) as i:
        for var, storage in zip(body.inputs, [*[whole.operand(a) for a in node.inputs[:fixed]], *carry], strict=False):
            e.storage[var] = storage
        e.counts[body.inputs[fixed + carries]] = i
        rows = [Storage(t.buffer, k.shape, (i,)) for t, k in zip(tape, kinds, strict=True)]
        whole.body(body, [*following, *rows], last)
        whole.advance(carry, following)
    return tape


__all__ = ["taped"]
