"""Traces beside running code, which goes on as without them: they record just what depends on their
own variables.

Their graphs are evaluated later. So what they capture is kept as it was: running code may give a
box another value, and may write into its memory.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..devices import DeviceArray
from .contents import SMALL, digest, share
from .dispatch import STATE, Value
from .graph import Atom, Var
from .trace import Trace, is_lent


class AsideTrace(Trace):
    """A trace of what running code does with some variables while it is open."""

    aside = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.copies: dict[Any, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}
        """Small arrays that the user may write to, by what they held: each with its copy."""

    def __enter__(self) -> Self:
        STATE.asides = (*STATE.asides, self)
        STATE.special += 1
        return self

    def __exit__(self, *exception: object) -> None:
        STATE.asides = tuple([t for t in STATE.asides if t is not self])
        STATE.special -= 1
        if exception and exception[0] is not None:
            self.close()

    def lift(self, x: Any) -> Atom:
        box: Any = x if isinstance(x, Value) else None
        data = x if box is None else box._data
        if type(data) is Var:
            return super().lift(x)
        if box is not None:
            x = box = box._alias()
        if is_lent(x) and data.nbytes <= SMALL and data.dtype.kind != "O":
            key = id(data), digest(data)
            if key not in self.copies:
                self.copies[key] = data, data.copy()
                self.copies[key][1].flags.writeable = False
            copy = self.copies[key][1]
            if box is None:
                x = copy
            else:
                box._data, box._versions = copy, None
        return super().lift(x)


def keep_captured(memory: Any) -> None:
    """Let the open traces keep what they captured of memory that is about to be written."""
    for trace in (*STATE.traces, *STATE.asides):
        for key, (var, (x, data)) in list(trace.captures.items()):
            if share(_layout(data), _layout(memory)):
                copy: Any = x._kept() if isinstance(x, Value) else np.array(x)
                kept = getattr(copy, "_data", copy)
                # The order of captures is that of the graph's inputs.
                trace.captures = {
                    (id(copy) if k == key else k): ((var, (copy, kept)) if k == key else v)
                    for k, v in trace.captures.items()
                }
        for key, (array, _, _) in list(trace.contents.items()):
            if share(array, memory):
                del trace.contents[key]


def _layout(memory: Any) -> Any:
    return memory.layout if type(memory) is DeviceArray else memory
