"""Boxes that share memory but no history, where a write replaces values: what `x.detach()` and
`x.data` give of a traced value, or of the argument of a transformed function.

In running code both lie on one storage, which a write changes. Here whoever is written tells the
others, which take the value and keep the history that they have.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import ref

from .._codegen import locks
from ..dtypes import is_differentiable
from ..ir.dispatch import STATE, bind
from ..ops.totals.statistics import overwritten_op, stop_gradient_op
from ..tape.boxes import fresh
from ..tape.mode import MODE
from .views import shown

TWINS: dict[int, list[ref[Any]]] = {}
"""By the identity of a box, those with which it shares memory, itself among them. Nearly always
empty."""
_JOINING = locks.lock()
"""Threads may detach values of one box, as of shared weights."""


def detached(x: Any, versions: Any) -> Any:
    """The value of `x` without its history, on its memory; `versions` counts the writes into it.
    What is detached of a view is the same view of what is detached of its base."""
    root = x._root
    twin = _twin(root, versions)
    value = twin
    before, MODE.enabled = MODE.enabled, True
    try:
        for op, params in x._view if x is not root else ():
            value = twin._viewed(op, value, params, shown(op, params, value))
    finally:
        MODE.enabled = before
    return value


def _twin(root: Any, versions: Any) -> Any:
    data = root._data
    if STATE.traces and is_differentiable(root.dtype):
        # A variable of its own, so that the graph knows that nothing flows through it.
        data = bind(stop_gradient_op, [root])._data
    elif STATE.traces:
        data = STATE.traces[-1].lift(root)
    value = fresh(root.face, data)
    value._versions, value._borrowed = versions, root._borrowed
    _join(root, value)
    return value


def _join(root: Any, box: Any) -> None:
    """A box shares memory with a base, and with all that do so already."""
    with _JOINING:
        group = TWINS.get(id(root))
        if group is None:
            group = TWINS[id(root)] = [ref(root, partial(_forget, id(root)))]
        TWINS[id(box)] = group
        group.append(ref(box, partial(_forget, id(box))))


def _forget(number: int, gone: Any) -> None:
    with _JOINING:
        _without(TWINS.pop(number, None), gone)


def leave(box: Any) -> None:
    """A box gets other memory (`x.data = y`)."""
    with _JOINING:
        group = TWINS.pop(id(box), None)
        _without(group, next((r for r in group or () if r() is box), None))


def _without(group: list[ref[Any]] | None, one: Any) -> None:
    if group is None:
        return
    group[:] = [r for r in group if r is not one]
    if len(group) == 1 and (last := group[0]()) is not None:
        TWINS.pop(id(last), None)


def share_data(box: Any, new: Any) -> None:
    """`box.data = new` in a trace: the value, which follows the writes into `new`."""
    new._refresh()
    twin = detached(new, new._version_counter)
    box._data = twin._data
    if twin._base is None:
        _join(new._root, box)


def twins(box: Any) -> list[Any]:
    """The other boxes on the memory of a box, without its history."""
    return [y for r in TWINS.get(id(box), ()) if (y := r()) is not None and y is not box]


def spread(root: Any) -> None:
    """A base was written: its twins take the value, and keep their history."""
    for other in twins(root):
        other._touch()
        if other._past is not None:
            other._keep_past()
        if STATE.traces and is_differentiable(root.dtype):
            trace = STATE.traces[-1]
            (other._data,) = trace.emit(overwritten_op, [other, root], {})
            if other._requires_grad:
                trace.live.add(other._data)
        else:
            other._data = root._data
        if other._versions is not root._versions:
            other._version_counter[1] += 1


__all__ = ["TWINS", "detached", "leave", "share_data", "spread", "twins"]
