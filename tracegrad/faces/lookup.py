"""What the dispatch of NumPy's functions stands on: finding counterparts, refusing by name, and `out=`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from .. import ops
from ..errors import ConcretizationError, UnsupportedFunctionError
from ..ir.dispatch import Value
from ..ir.graph import Var
from ..ir.trace import user_line

NAMES: dict[str, str] = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "negative": "neg",
    "conjugate": "conj",
    "amax": "max",
    "amin": "min",
    "permute_dims": "transpose",
    "concat": "concatenate",
    "cumulative_sum": "cumsum",
    "cumulative_prod": "cumprod",
}
"""NumPy's and SciPy's names of operations that are called differently here."""


def find(name: str, module: str = "numpy") -> Callable[..., Any] | None:
    """The counterpart of a NumPy or SciPy function, or None."""
    for part in ("linalg", "fft"):
        place = getattr(ops, part, None)
        if part in module and isinstance(place, ModuleType):
            found = getattr(place, name, None)
            if callable(found):
                return found  # type: ignore[no-any-return]
    if name not in ops.__all__:
        name = NAMES.get(name, name)
    found = getattr(ops, name, None)
    return found if callable(found) and name in ops.__all__ else None


def tracked(x: Any) -> bool:
    """Whether converting a boxed value to an ndarray would lose a trace, a gradient or a tangent."""
    return isinstance(x, Value) and (isinstance(x._data, Var) or bool(x._tangents) or x.requires_grad)  # type: ignore[attr-defined]


def unsupported(name: str, detail: str = "") -> UnsupportedFunctionError:
    if detail:
        return UnsupportedFunctionError(
            f"{user_line()}: {name}{detail} is not supported for traced or differentiated values. Leave that argument out, or write it "
            "with other functions."
        )
    known = [n for n in [*NAMES, *ops.__all__] if hasattr(np, n)]
    near = difflib.get_close_matches(name.rpartition(".")[2], known, 1)
    hint = f" The nearest supported call is np.{near[0]}." if near else ""
    return UnsupportedFunctionError(
        f"{user_line()}: {name} has no counterpart for traced or differentiated values.{hint} Write it with supported functions, or "
        "apply it "
        "to plain arrays outside of the traced or differentiated function."
    )


def plain(x: Any) -> Any:
    """`x` with untracked boxed values replaced by their arrays."""
    if isinstance(x, Value):
        return x._data
    if isinstance(x, (list, tuple)):
        items = [plain(item) for item in x]
        return type(x)(items) if type(x) in (list, tuple) else items
    return {k: plain(v) for k, v in x.items()} if isinstance(x, dict) else x


def boxes_in(x: Any) -> list[Value]:
    if isinstance(x, Value):
        return [x]
    if isinstance(x, (list, tuple)):
        return [b for item in x for b in boxes_in(item)]
    return [b for item in x.values() for b in boxes_in(item)] if isinstance(x, dict) else []


def store(out: Any, value: Any, where: Any = True) -> Any:
    """Write a result into what the caller gave as `out=`."""
    if isinstance(out, tuple):
        if len(out) == 1:
            return store(out[0], value, where)
        return tuple(value_k if o is None else store(o, value_k, where) for o, value_k in zip(out, value, strict=True))
    if isinstance(out, Value):
        chosen = value if where is True else ops.where(where, value, out)
        out._update(lambda old: ops.broadcast_to(ops.convert(chosen, old.dtype), old.shape))  # type: ignore[attr-defined]
        return out
    if tracked(value) or tracked(where):
        raise ConcretizationError(
            f"{user_line()}: out= (or an in-place operator such as `a += x`) would write a traced or differentiated value into a plain "
            "ndarray. "
            "Use the returned value instead: a = a + x."
        )
    np.copyto(out, plain(value), casting="same_kind", where=plain(where))
    return out
