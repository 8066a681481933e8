"""Live calls: a jitted function of Tensors through which a backward pass will go is one compiled
call and one node of the tape.

As in `callers.py` a signature has a small function, written as text, that compares what must be as
it was while tracing. What follows is what `interpret` does with the operation `call`: the forward
graph is run, and the node keeps what the backward graph reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..control.call import call_op, forward_of, staged_for
from ..ir.dispatch import SPECIAL, STATE
from ..runtime.execute import Compiled, executable_for
from ..tape.interpret import results_of
from ..tape.tape import record
from ..tensor import Boxed, Tensor, unbox
from ..transforms.tracing import standing_of
from ..tree import unflatten
from .callers import Caller, Writer, make_caller
from .entry import Entry
from .guards import Unfit


def _wanted(values: Sequence[Any]) -> list[bool]:
    return [isinstance(x, Boxed) and x._requires_grad for x in values]


def kernel_of(entry: Entry, values: Sequence[Any]) -> Compiled | None:
    """The kernel that served a call with these leaves and captured values; None where a call of the
    kind is not to be had shorter."""
    if "live" not in entry.traced.history:
        if entry.executable is None:
            entry.executable = executable_for(entry.graph)
        executable = entry.executable
    elif (SPECIAL and STATE.special) or not entry.mode or not any(_wanted(values)):
        return None
    else:
        executable = executable_for(forward_of(entry.graph, _wanted(values)))
    return executable.kernel_for([unbox(x) for x in values])


def caller_of(
    entry: Entry,
    compiled: Compiled,
    tree: Any,
    static: Sequence[tuple[Any, type, Any]],
    leaves: Sequence[Any],
    values: Sequence[Any],
) -> Caller:
    """The caller of a signature, as of `make_caller`, for such calls. Where a backward pass goes
    through the results, Unfit is also raised if a call changes anything."""
    if "live" not in entry.traced.history:
        return make_caller(entry, compiled, tree, static, leaves)
    return _Live(entry, compiled, leaves).write_live(tree, static, values)


class _Live(Writer):
    def check_tape(self, leaves: Sequence[Any]) -> None:
        traced = self.entry.traced
        if (
            traced.writes
            or traced.grads
            or traced.reads_grads
            or traced.changes
            or traced.generators
            or self.entry.given_up
            or self.entry.stored
        ):
            raise Unfit("a call that changes something, or reads gradients")
        if not self.entry.mode or "spent" in traced.history or traced.device is not None:
            raise Unfit("a call that is not simply recorded")
        if not all(x.boxes_everything for x in (*leaves, *traced.captures) if isinstance(x, Boxed)):
            raise Unfit("arrays under a transform")
        self.standing = {
            f"x{k}": standing_of(x) for k, x in enumerate(leaves) if isinstance(x, Boxed)
        }
        self.boxed: dict[str, str] = {}

    def open(self, box: str, data: str, kind: type[Boxed], standing: Any) -> None:
        self.boxed[data] = box
        super().open(box, data, kind, self.standing.get(data, standing))

    def write_live(
        self, tree: Any, static: Sequence[tuple[Any, type, Any]], values: Sequence[Any]
    ) -> Caller:
        self.begin(tree, static)
        self.shapes()
        operands = [*[f"x{k}" for k in range(self.count)], *self.surroundings()]
        for k, (x, type_) in enumerate(zip(operands, self.entry.graph.input_types, strict=True)):
            if k not in self.numbers:
                dtype = self.name(type_.dtype)
                self.wrong(
                    f"type({x}) is not {self.name(np.ndarray)} or {x}.dtype is not {dtype} "
                    f"and {x}.dtype != {dtype}"
                )
        self.line(1, "except WRONG: return MISS")
        self.space["recorded"] = recorder(self.entry, _wanted(values))
        raw = "".join(f"{x}, " for x in operands)
        boxed = "".join(f"{self.boxed.get(x, x)}, " for x in operands)
        self.line(1, f"r = recorded(({raw}), ({boxed}))")
        count = len(self.entry.traced.out_boxed)
        tree = unflatten(self.entry.traced.out_spec, range(count))
        self.line(1, f"return {self.together(tree, [f'r[{k}]' for k in range(count)])}")
        return self.finish()


def recorder(
    entry: Entry, wanted: Sequence[bool]
) -> Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]:
    """`recorded(arrays, operands)`: the results of a call on the tape, from its operands without
    and with their boxes."""
    graph, history = entry.graph, entry.traced.history
    call, params = staged_for(graph, wanted), {"graph": graph}
    cut = [k for k, h in enumerate(history) if h != "live"]

    def recorded(arrays: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any]:
        outs, rest = call(arrays)
        results = results_of(record(call_op, operands, params, outs), Tensor, outs, rest)
        if cut:
            # A result that left the tape inside the function.
            results = tuple(
                [
                    Tensor(r._data) if k in cut and r._requires_grad else r
                    for k, r in enumerate(results)
                ]
            )
        return results

    return recorded
