"""What the dispatch of NumPy's functions stands on: finding counterparts, refusing by name, and
`out=`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from ... import ops
from ...checks import describe
from ...dtypes import promote
from ...errors import ConcretizationError, DTypeError, ShapeError
from ...ir.dispatch import STATE, Value
from ...ir.graph import Var
from ...ir.lines import user_line
from . import bits, floats, ignoring_nan
from .refusals import unsupported as unsupported
from .results import RESULTS

NAMES: dict[str, str] = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "negative": "neg",
    "amax": "max",
    "amin": "min",
    "permute_dims": "transpose",
    "concat": "concatenate",
}
"""NumPy's and SciPy's names of operations that are called differently here."""


COMPOSED: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (*ignoring_nan.ALL, *floats.ALL, *bits.ALL)
}
"""Compositions that take the arguments of NumPy's function of that name as operations do: `out=`
and what else is none of theirs is seen to on the way."""


def find(name: str) -> Callable[..., Any] | None:
    """The operation that a function of NumPy's with this name is, or None."""
    if name not in ops.__all__:
        name = NAMES.get(name, name)
    if name in RESULTS:
        return RESULTS[name]
    if name in COMPOSED:
        return COMPOSED[name]
    found = getattr(ops, name, None)
    return found if callable(found) and name in ops.__all__ else None


MODULES: tuple[tuple[str, Any, ModuleType | None], ...] = (
    ("np", np, None),
    ("np.linalg", np.linalg, ops.linalg),
    ("np.fft", np.fft, ops.fft),
    ("np.emath", np.emath, None),
)


@lru_cache(maxsize=1024)
def counterpart_of(function: Callable[..., Any]) -> tuple[Callable[..., Any] | None, str]:
    """The operation that a function is, and what messages call it. It is NumPy's own if it is the
    one that NumPy has under its name; any other of that name (`np.emath.sqrt`, `np.char.add`) is
    another function."""
    name = function.__name__
    for prefix, module, own in MODULES:
        if getattr(module, name, None) is function:
            found = getattr(own, name, None) if own is not None else None
            if found is None and prefix in ("np", "np.linalg"):
                found = find(name)
            return found if callable(found) else None, f"{prefix}.{name}"
    module_name = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    return None, f"{module_name}.{name}"


def shown(function: Callable[..., Any]) -> str:
    """What messages call a NumPy function: `np.linalg.norm`."""
    return counterpart_of(function)[1]


def dtype_of(x: Any) -> np.dtype[Any] | None:
    """The dtype of what has one."""
    return x.dtype if isinstance(x, (Value, np.ndarray, np.generic)) else None


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that these are promoted to."""
    kinds: list[Any] = []
    for x in arrays_and_dtypes:
        if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
            kinds.append(type(x))
        else:
            kinds.append(dtype_of(x) or np.dtype(x))
    return promote(*kinds)


def tracked(x: Any) -> bool:
    """Whether converting a boxed value to an ndarray would lose a trace, a gradient or a
    tangent."""
    if isinstance(x, Value):
        x._refresh()
    return isinstance(x, Value) and (
        isinstance(x._data, Var) or bool(x._tangents) or x._requires_grad
    )


def plain(x: Any) -> Any:
    """`x` with untracked boxed values replaced by their arrays."""
    if isinstance(x, Value):
        x._refresh()
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


def has_written(name: str, function: Callable[..., Any], array: Any, *given: Any) -> bool:
    """Whether NumPy's function has written into a plain array: plain values, since it can hold no
    others. `name` is the function's in messages."""
    if isinstance(array, Value):
        return False
    if STATE.traces or any(tracked(b) for b in boxes_in(list(given))):
        raise ConcretizationError(
            f"{user_line()}: {name} would write traced or differentiated values into a plain "
            "ndarray. Make the array with np.zeros_like(x) of a traced x, or with tg.zeros."
        )
    function(array, *plain(given))
    return True


CASTING = frozenset((
    np.sum, np.prod, np.mean, np.var, np.max, np.min, np.amax, np.amin, np.median, np.any, np.all,
    np.cumsum, np.cumprod, np.trace, np.nansum, np.nanprod, np.nanmax, np.nanmin, np.nanmedian,
    np.nanvar, np.nancumsum, np.nancumprod, np.argmax, np.argmin, np.nanargmax, np.nanargmin,
    np.take, np.choose, np.compress,
))  # fmt: skip
"""Functions of which NumPy casts the result to that of `out=`, whatever that is."""


def store_exactly(out: Any, value: Any, casting: Any = "same_kind") -> Any:
    """`store` for functions whose `out=` must have the shape of the result."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if (
        not isinstance(out, tuple)
        and hasattr(out, "shape")
        and tuple(out.shape) != tuple(np.shape(value))
    ):
        raise ShapeError(
            f"{user_line()}: out has the shape {tuple(out.shape)}, "
            f"and the result {tuple(np.shape(value))}"
        )
    return store(out, value, True, casting)


def store(out: Any, value: Any, where: Any = True, casting: Any = "same_kind") -> Any:
    """Write a result into what the caller gave as `out=`, to whose dtype this rule has to let it be
    cast."""
    if isinstance(out, tuple):
        if len(out) == 1:
            return store(out[0], value, where, casting)
        return tuple(
            value_k if o is None else store(o, value_k, where, casting)
            for o, value_k in zip(out, value, strict=True)
        )
    given = dtype_of(value) or result_type(value)
    if hasattr(out, "dtype") and given != out.dtype and not np.can_cast(given, out.dtype, casting):
        raise DTypeError(
            f"{user_line()}: the result has the dtype {given}, which cannot be cast to that of "
            f"out, {out.dtype}, by the rule {casting!r}"
        )
    if isinstance(out, Value):
        chosen = value if where is True else ops.where(where, value, out)
        out._update(lambda old: ops.broadcast_to(ops.convert(chosen, old.dtype), old.shape))
        return out
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is {describe(out)}; it must be an array or a Tensor")
    if tracked(value) or tracked(where):
        raise ConcretizationError(
            f"{user_line()}: out= (or an in-place operator such as `a += x`) "
            "would write a traced or differentiated value into a plain ndarray. "
            "Use the returned value instead: a = a + x."
        )
    if out.dtype.kind not in "biufc":
        raise DTypeError(f"out is {describe(out)}; it must be an array of numbers")
    np.copyto(out, plain(value), casting=casting, where=plain(where))
    return out
