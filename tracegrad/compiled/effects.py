"""What a compiled function changes: arguments that it writes to, gradients that it sets, arguments
that its caller gives up."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .._codegen import locks
from ..autograd.functions import backward
from ..autograd.grad_mode import set_grad_enabled
from ..errors import TracegradError
from ..ir.dispatch import STATE
from ..ops.arrays.transfer import fill
from ..tape.hooks import boxed
from ..tape.mode import MODE
from ..tape.saved import before_write
from ..tensor import Boxed
from ..transforms.tracing import Change
from ..tree import flatten, unflatten
from .entry import Entry

T = TypeVar("T")
CHANGING = locks.lock()
"""Held by calls that read and change Tensors around their functions: several threads may train the
same weights."""


class Waited(Exception):
    """Raised where a trace finds that the function changes Python's state, and other threads may
    look at that: it is traced again alone."""


def undisturbed() -> None:
    """Go on only where no other call changes anything meanwhile."""
    if not STATE.traces and not CHANGING._is_owned():
        raise Waited


def waiting_where_needed(look: Callable[[], T]) -> T:
    """What a look for an entry finds: it is looked for again alone where the function changes
    something."""
    with contextlib.suppress(Waited):
        return look()
    with CHANGING:
        return look()


def one_at_a_time(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that waits for those which change Tensors."""

    def waiting(args: Any, kwargs: Any) -> Any:
        with CHANGING:
            return call(args, kwargs)

    return waiting


def given_up(
    spec: Any, count: int, positions: Sequence[str | None], donated: Sequence[str]
) -> tuple[int, ...]:
    """The numbers of the leaves below the donated arguments; `positions` names the positional
    ones."""
    args, kwargs = unflatten(spec, range(count))
    trees = [
        part
        for name, part in [*zip(positions, args, strict=False), *kwargs.items()]
        if name in donated
    ]
    return tuple(flatten(trees)[0])


def store(box: Any, new: Any) -> None:
    """Write plain numbers into a box that has memory of its own, without history."""
    data = box._data
    if STATE.special:
        before_write(data)
    fill(data, new)
    box._version_counter.written()


def write_back(x: Any, new: Any) -> None:
    """Write a new value of an argument into it. One without history is written as in `no_grad`,
    which leaves the argument's own."""
    if isinstance(x, Boxed):
        with set_grad_enabled(
            MODE.enabled
            and (not x.boxes_everything or (isinstance(new, Boxed) and new._requires_grad))
        ):
            x._write(new)
    elif isinstance(x, np.ndarray):
        np.copyto(x, new, casting="unsafe")


def as_they_are(
    values: Sequence[Any], entry: Entry, changes: Sequence[tuple[Change, Any]]
) -> Sequence[Any]:
    """The values for a call that is recorded: of what it will overwrite, copies for the backward
    pass, which may read them."""
    traced = entry.traced
    if "live" not in traced.history or STATE.traces:
        return values
    written = {_memory(values[k]) for k in traced.writes} | {
        _memory(box) for change, box in changes if change.what in ("data", "grad data")
    }
    written |= {_memory(generator.counter) for generator in traced.generators}
    if not written:
        return values
    copied = []
    for x in values:
        if _memory(x) not in written:
            copied.append(x)
        elif isinstance(x, Boxed):
            copied.append(x._kept() if isinstance(x._data, np.ndarray) else x)
        else:
            copied.append(x.copy())
    return copied


def _memory(x: Any) -> int:
    """What boxes over one memory have in common: the counter of its writes."""
    counter = x._versions if isinstance(x, Boxed) else None
    return id(x if counter is None else counter)


def set_flags(changes: Sequence[tuple[Change, Any]]) -> None:
    """Let boxes require grad, or no more, before the call, whose results depend on it."""
    for change, box in changes:
        if change.what == "flag":
            box.requires_grad_(change.value)


def carry_out(changes: Sequence[tuple[Change, Any]], new: Sequence[Any]) -> None:
    """Do to boxes what a traced function did to them; `new` are the values of those changes that
    have one."""
    values = iter(new)
    done: set[tuple[int, str]] = set()
    for change, box in changes:
        if (id(box), change.what) in done:
            raise ValueError(
                "jit: the same Tensor was given in two places, and the function sets its gradient "
                "through both. Pass it once, or call the function without jit."
            )
        done.add((id(box), change.what))
        if change.what == "flag":
            continue
        if change.what == "grad":
            box._touch()
            found = next(values) if change.value else None
            if found is not None and box._grad_fn is not None and not box.retains_grad:
                # A sweep inside reached what is a leaf to the function only: it goes on outside.
                backward(box, found)
            else:
                box._grad = (
                    found
                    if found is None or isinstance(found, box.face)
                    else boxed(box.face, found)
                )
        else:
            write_back(box, next(values))


def check_found(name: str, changes: Sequence[tuple[Change, Any]]) -> None:
    """A TracegradError where a changed box has no place at which a call would find it."""
    for change, place in changes:
        if place is None and not isinstance(change.target, int):
            raise TracegradError(
                f"jit: {name} changes a Tensor ({change.what} of {change.target.array_type}) "
                "that is neither an argument nor found through the variables around the function, "
                "so the compiled function could not find it again. Pass it as an argument, "
                "or keep it in an attribute or a variable that the function names."
            )
