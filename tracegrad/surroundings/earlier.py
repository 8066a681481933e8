"""Arrays and Tensors that were there before a function ran, which it binds to other names: each
call stores the very object, or a view of it, as Python does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._codegen import integers
from ..faces.views import shown
from ..ir.op import Op
from ..tensor import Boxed
from ..tree import flatten
from .places import Place


@dataclass(frozen=True, eq=False)
class Earlier:
    """A leaf of what is stored: what a call finds at a place, or in its arguments, and what is
    shown of it."""

    one: Any
    """The object while tracing."""
    place: Place | None
    """Where it is found; None of an argument."""
    number: int = -1
    """Of an argument its number."""
    instead: Any = None
    """What stands for an array while tracing, and its variable."""
    view: Sequence[tuple[Any, dict[str, Any]]] = ()
    detached: bool = False

    def stands(self) -> bool:
        """Whether it was not replaced by a write, as what stands for an array is."""
        return self.instead is None or self.instead[0]._data is self.instead[1]

    def showing(self, x: Any, detached: bool) -> Earlier | None:
        """That `x`, which is this or a view of it, is stored; None where that cannot be said."""
        view = x._view if isinstance(x, Boxed) and x._base is not None else ()
        known = all(
            isinstance(op, Op)
            and not any(isinstance(p, integers.Integer) for p in flatten(params)[0])
            for op, params in view
        )
        return replace(self, view=tuple(view), detached=detached) if known else None

    def read(self, leaves: Sequence[Any]) -> Any:
        """The object of a call, before that changes anything."""
        return leaves[self.number] if self.place is None else self.place()

    def shown(self, x: Any) -> Any:
        """What is stored, of that object."""
        if self.detached and isinstance(x, Boxed):
            x = x.detach()
        for op, params in self.view:
            x = (
                x._viewed(op, x, params, shown(op, params, x))
                if isinstance(x, Boxed)
                else op.evaluate(np.asarray(x), **params)
            )
        return x


__all__ = ["Earlier"]
