"""Traced values that a function keeps where no call could put them."""

from __future__ import annotations

import gc
import types
from typing import Any

from ..errors import EscapedValueError
from ..ir.graph import Var
from ..ir.trace import is_left_over
from ..tensor import Boxed


def traced_in(x: Any) -> Var | None:
    """A traced value that an object holds."""
    seen: set[int] = set()
    todo = [x]
    while todo and len(seen) < 100_000:
        x = todo.pop()
        if id(x) in seen or isinstance(x, (type, types.ModuleType, types.CodeType)):
            continue
        seen.add(id(x))
        if isinstance(x, Boxed):
            if isinstance(x._data, Var):
                return x._data
        elif isinstance(x, types.FunctionType):
            todo += [*(x.__closure__ or ()), x.__defaults__, x.__kwdefaults__]
        else:
            todo += gc.get_referents(x)
    return None


def escaped(var: Var, where: str, path: str, name: str) -> EscapedValueError:
    """The error of keeping a traced value where no call can put it."""
    made = "an argument of"
    if var.origin is not None and is_left_over(var):
        name, op, at = var.origin
        made = f"made by {op} at {at} in" if op else made
    elif var.trace is not None:
        name = var.trace.name
        node = next((n for n in reversed(var.trace.nodes) if var in n.outputs), None)
        made = f"made by {node.op.name} at {node.where} in" if node is not None else made
    return EscapedValueError(
        f"{where}: a traced value ({var.type}), {made} {name!r}, is kept in {path}, "
        "where it would stand for the values of all calls. Return it from that function, "
        "as its result or as part of a loop's carry, and keep it outside."
    )


__all__ = ["escaped", "traced_in"]
