"""`checkpoint`: a function of which the backward pass keeps the arguments alone, and computes the
rest again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ..compiled.computing import bound
from ..compiled.entry import Entry
from ..compiled.steps import PlainCall, Step, around
from ..control.block import checkpoint_op
from ..faces.certainty import see_in_order
from ..ir.dispatch import STATE
from ..staging.session import entered
from ..tape.mode import MODE
from ..tape.rerun import repeatable, rerun
from ..tensor import Boxed
from ..transforms.tracing import face_of, leaf_type, standing_of, trace_function
from ..tree import flatten, unflatten

P = ParamSpec("P")
R = TypeVar("R")
_REPEATED = (
    "which the backward pass runs again. Change it outside of the function that is checkpointed."
)


def checkpoint(function: Callable[P, R]) -> Callable[P, R]:
    """The function, of which a derivative in reverse mode keeps no intermediate value: it computes
    them again from the arguments.

    function    any function of trees of arrays, a module, or a method; what it reads around it
                counts as an argument

    Values and derivatives of every order and mode are those of the function, random numbers
    included. Memory is traded for time: where a chain of n such functions is differentiated, what
    is alive is their arguments and the intermediate values of one of them, for one more run of
    each. In a compiled function the adjoint of the call is a part of the program that shares no
    work with what is around it; eagerly the function is called again by `backward`, and must then
    do the same as before (a CheckpointError where it does not). Checkpoints may be nested; for the
    steps of a loop see the argument `checkpoint` of `scan`, `fori_loop` and `while_loop`.

    Use it as a decorator or as a call. `tg.utils.checkpoint.checkpoint(function, *args)` is the
    form that torch has.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> layer = tg.checkpoint(lambda x: np.tanh(np.sin(x) * 2.0))
    >>> f = tg.jit(tg.grad(lambda x: layer(layer(x))))
    >>> df = tg.grad(lambda x: np.tanh(np.sin(np.tanh(np.sin(x) * 2.0)) * 2.0))
    >>> round(float(f(0.5)), 12) == round(float(df(0.5)), 12)
    True
    """
    if not callable(function):
        raise TypeError(f"checkpoint expects a function, got {type(function).__name__}")

    @functools.wraps(function, updated=())
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not MODE.enabled:
            return entered(function)(*args, **kwargs)
        found: R = (
            traced_again(function, args, kwargs)
            if STATE.traces
            else rerun(repeatable(entered(function), args, kwargs))
        )
        return found

    return call


def traced_again(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The call inside of a trace, as one operation. Only traced and boxed values are its operands:
    all else is passed as it is."""
    leaves, spec = flatten((args, kwargs))
    places = [k for k, x in enumerate(leaves) if isinstance(x, Boxed)]
    boxes = [leaves[k] for k in places]
    found: list[Any] = []

    def run(*given: Any) -> list[Any]:
        full = list(leaves)
        for k, x in zip(places, given, strict=True):
            full[k] = x
        a, kw = unflatten(spec, full)
        out_leaves, out_spec = flatten(entered(function)(*a, **kw))
        found[:] = out_leaves, out_spec
        return [x for x in out_leaves if isinstance(x, Boxed)]

    traced = trace_function(
        run,
        flatten((tuple(boxes), {}))[1],
        [leaf_type(x) for x in boxes],
        [face_of(x) for x in boxes],
        name=getattr(function, "__name__", type(function).__name__).replace("<lambda>", "lambda_"),
        sizes=STATE.traces[-1].sizes,
        standing=[standing_of(x)._replace(grad=False) for x in boxes],
        changing=True,
        repeated=_REPEATED,
    )
    see_in_order(traced.graph.name, traced.rests, boxes)
    entry = Entry.alone(traced)
    before, after = around(entry)
    done = PlainCall(entry, boxes, traced.captures, ())
    done.who = "checkpoint"
    for step in (*before, ComputeAgain(entry), *after):
        step.do(done)
    out_leaves, out_spec = found
    values = iter(done.result)
    return unflatten(out_spec, [next(values) if isinstance(x, Boxed) else x for x in out_leaves])


class ComputeAgain(Step):
    """Compute the results now, and for the adjoint again."""

    def do(self, call: PlainCall) -> None:
        call.outs = bound(checkpoint_op, self.entry, call.values)


__all__ = ["checkpoint", "traced_again"]
