"""NumPy functions called on boxed values: `np.f(v)` becomes the operation of the same name.

NumPy asks `__array_ufunc__` (element by element functions, their reductions, SciPy's special functions too) and
`__array_function__` (all others). Arguments are read with NumPy's own signature and handed over by name, so every spelling that NumPy
takes works: positional `axis`, `out=`, defaults that our functions do not have. Whatever has no counterpart is refused by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import ops
from ..errors import ConcretizationError
from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..ir.trace import is_left_over, left_over, user_line
from ..ops.define import shape_of
from .lookup import boxes_in, find, plain, store, tracked, unsupported
from .numpy_functions import FUNCTIONS
from .operators import operand

NO_VALUE = np._NoValue
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logaddexp": "logsumexp",
}
RUNNING = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
IGNORED = {"order", "kind", "subok", "casting", "like", "sorter", "check_finite", "signature", "extobj", "device"}
"""Parameters that change nothing about values."""


def _by_numpy(function: Callable[..., Any], name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """NumPy itself for a function without counterpart, where nothing is lost by it: no trace, no gradient."""
    boxes = boxes_in(args) + boxes_in(kwargs)
    if STATE.traces or any(tracked(b) for b in boxes):
        raise unsupported(name)
    face: Any = type(boxes[0])
    result = function(*plain(args), **plain(kwargs))

    def boxed(r: Any) -> Any:
        if isinstance(r, (np.ndarray, np.generic)):
            return face._make(r)
        return type(r)(map(boxed, r)) if type(r) in (list, tuple) else r

    return boxed(result)


# --- functions -----------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


@lru_cache(maxsize=1024)
def _mapping(function: Callable[..., Any], target: Callable[..., Any]) -> tuple[dict[str, str | int], str | None, bool] | None:
    """For each of NumPy's parameters: the name or (for those ahead) the position it has in the counterpart."""
    theirs, ours = _signature(function), _signature(target)
    if theirs is None or ours is None:
        return None
    mine = list(ours.parameters.values())
    names = {p.name for p in mine}
    result: dict[str, str | int] = {}
    for k, p in enumerate(theirs.parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        # Only what must be given is matched by its place (`a` and `x`); options are the same where they have the same name.
        same_place = mine[k] if k < len(mine) and mine[k].kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) else None
        if p.name in names and (same_place is None or same_place.name != p.name):
            result[p.name] = p.name
        elif same_place is not None:
            required = same_place.default is p.empty and same_place.name not in theirs.parameters
            if same_place.name == p.name or required:
                result[p.name] = k
    variadic = next((p.name for p in theirs.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    return result, variadic, any(p.kind is p.VAR_KEYWORD for p in mine)


@lru_cache(maxsize=4096)
def _spelling(
    function: Callable[..., Any], target: Callable[..., Any], count: int, keywords: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...]] | None:
    """Which of the values given (by position, then by keyword) the counterpart takes by position and which by name; None where a
    parameter needs thought. Binding a signature takes 7 us, and programs spell few calls in few ways."""
    mapping, theirs, ours = _mapping(function, target), _signature(function), _signature(target)
    if mapping is None or theirs is None or ours is None:
        return None
    parameters, mine = list(theirs.parameters.values()), list(ours.parameters)
    if count > len(parameters) or any(p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters[:count]):
        return None
    given = [*[p.name for p in parameters[:count]], *keywords]
    required = {p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    if len(set(given)) != len(given) or not required <= set(given) or any(key not in mapping[0] for key in given):
        return None
    if any(theirs.parameters[key].kind is inspect.Parameter.POSITIONAL_ONLY for key in keywords):
        return None
    places = [mapping[0][key] for key in given]
    order = sorted((p, k) for k, p in enumerate(places) if isinstance(p, int))
    ahead = [k for at, (p, k) in enumerate(order) if p == at]
    return tuple(ahead), tuple((p if isinstance(p, str) else mine[p], k) for k, p in enumerate(places) if k not in ahead)


def apply_function(function: Callable[..., Any], target: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call the counterpart with arguments spelled as NumPy spells them."""
    simple = _spelling(function, target, len(args), tuple(kwargs))
    if simple is not None:
        values = (*args, *kwargs.values())
        for v in values:
            if v is NO_VALUE:
                break
        else:
            first, others = simple
            return target(*[values[k] for k in first], **{key: values[k] for key, k in others})
    mapping = _mapping(function, target)
    theirs = _signature(function)
    out = kwargs.get("out")
    if mapping is None or theirs is None:
        given = {k: v for k, v in kwargs.items() if not (k == "out" or k in IGNORED or v is None or v is np._NoValue)}
        result = target(*args, **given)
        return result if out is None else store(out, result)
    places = mapping[0]
    bound = theirs.bind(*args, **kwargs)
    positional: dict[int, Any] = {}
    named: dict[str, Any] = {}
    out = None
    for key, value in bound.arguments.items():
        parameter = theirs.parameters[key]
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            return target(*value, **named) if not positional else target(*[positional[k] for k in sorted(positional)], *value, **named)
        elif key == "out" and key not in places:
            out = value
        elif key in places:
            if value is np._NoValue:
                continue
            place = places[key]
            if isinstance(place, int):
                positional[place] = value
            else:
                named[place] = value
        elif not (key in IGNORED or value is np._NoValue or value is None or _is_default(parameter, value)):
            raise unsupported(name, f" with {key}={value!r}" if not boxes_in(value) else f" with {key}=")
    mine = list(_signature(target).parameters)  # type: ignore[union-attr]
    ahead = 0
    while ahead in positional:
        ahead += 1
    named.update({mine[k]: v for k, v in positional.items() if k >= ahead})
    result = target(*[positional[k] for k in range(ahead)], **named)
    return result if out is None else store(out, result)


def _is_default(parameter: inspect.Parameter, value: Any) -> bool:
    return parameter.default is not parameter.empty and not isinstance(value, (Value, np.ndarray)) and bool(value == parameter.default)


# --- ufuncs --------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _counterpart(ufunc: np.ufunc) -> Callable[..., Any] | None:
    return find(ufunc.__name__)


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A ufunc or one of its methods on operands of which one is boxed."""
    module = getattr(ufunc, "__module__", None) or ("numpy" if hasattr(np, ufunc.__name__) else "scipy.special")
    name = f"{'scipy.special' if module.startswith('scipy') else 'np'}.{ufunc.__name__}"
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    if isinstance(out, tuple) and all(o is None for o in out):
        out = None
    given = {k: v for k, v in kwargs.items() if (v is not None or k == "axis") and v is not np._NoValue and k not in IGNORED}
    if method == "at":
        return _at(ufunc, name, inputs)
    if method == "__call__":
        target = _counterpart(ufunc)
        if target is None:
            return _by_numpy(ufunc, name, inputs, {**given, **({} if out is None else {"out": plain(out)})})
        operands = [operand(x) for x in inputs]
        dtype = given.pop("dtype", None)
        if dtype is not None:
            operands = [ops.convert(x, dtype) for x in operands]
        if where is not True and out is None:
            raise unsupported(name, " with where= and without out= (its other elements would be undefined)")
        return _stored(out, target(*operands, **given), where)
    if method in ("reduce", "accumulate"):
        table = REDUCTIONS if method == "reduce" else RUNNING
        target = find(table.get(ufunc.__name__, ""))
        if target is None:
            return _by_numpy(getattr(ufunc, method), f"{name}.{method}", inputs, given)
        names = ("axis", "dtype", "out", "keepdims", "initial", "where")
        for key, value in zip(names, inputs[1:], strict=False):
            given.setdefault(key, value)
        axis = given.pop("axis", 0)
        out = given.pop("out", out)
        given = {k: v for k, v in given.items() if not (v is None or v is np._NoValue or (k == "keepdims" and v is False))}
        if where is not True:
            given["where"] = where
        known = _signature(target)
        for key in given:
            if known is not None and key not in known.parameters:
                raise unsupported(f"{name}.{method}", f" with {key}=")
        return _stored(out, target(operand(inputs[0]), axis=axis, **given), True)
    if method == "outer":
        x, y = operand(inputs[0]), operand(inputs[1])
        shape = (*shape_of(x), *[1] * len(shape_of(y)))
        return _stored(out, apply_ufunc(ufunc, "__call__", (ops.reshape(x, shape), y), given), where)
    raise unsupported(f"{name}.{method}")


def _stored(out: Any, result: Any, where: Any) -> Any:
    return result if out is None else store(out, result, where)


def _at(ufunc: np.ufunc, name: str, inputs: Sequence[Any]) -> None:
    target, index, *rest = inputs
    if ufunc.__name__ not in ("add", "subtract"):
        raise unsupported(f"{name}.at")
    if not isinstance(target, Value):
        raise ConcretizationError(
            f"{user_line()}: {name}.at would write traced or differentiated values into a plain ndarray. Make the array with "
            "np.zeros_like(x) of a "
            "traced x, or with tg.zeros."
        )
    value = operand(rest[0])
    target._update(ops.index_add_at, index, -value if ufunc.__name__ == "subtract" else value)  # type: ignore[attr-defined]


def call_numpy(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a NumPy function (no ufunc) gives for arguments of which one is boxed."""
    about = FUNCTIONS.get(function)
    if about is not None:
        return about(*args, **kwargs)
    target, name = _counterpart_of(function)
    if target is None:
        return _by_numpy(function, name, args, kwargs)
    return apply_function(function, target, name, args, kwargs)


@lru_cache(maxsize=1024)
def _counterpart_of(function: Callable[..., Any]) -> tuple[Callable[..., Any] | None, str]:
    module = getattr(function, "__module__", None) or "numpy"
    return find(function.__name__, module), f"{module.replace('numpy', 'np', 1)}.{function.__name__}"


class NumpyDispatch(Value):
    """NumPy's protocols."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            target = _counterpart(ufunc)
            if target is not None:
                op = ops.PLAIN.get(target) if inputs[0] is self else None
                if op is not None and op.eager is not None and len(inputs) == 1:
                    return op.eager(self)
                return target(*[operand(x) for x in inputs])
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Sequence[type], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if not all(issubclass(t, (Value, np.ndarray)) for t in types):
            return NotImplemented
        return call_numpy(function, args, kwargs)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if isinstance(self._data, Var) or self._tangents:
            if isinstance(self._data, Var) and is_left_over(self._data):
                raise left_over(self._data)
            raise ConcretizationError(
                f"{user_line()}: a traced or differentiated array ({self.type}) cannot become a plain ndarray. If it was written into an "
                "array made by "
                "np.zeros(n) or np.empty(n), make that array with np.zeros_like(x) of a traced x, or with tg.zeros(n). If it was passed "
                "to np.array or "
                "np.asarray, leave that call out, or join several values with np.stack. If it indexes a NumPy array, write tg.take(array, index)."
            )
        if self.requires_grad:
            if self.boxes_everything:
                raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
            raise ConcretizationError(
                f"{user_line()}: a differentiated array ({self.type}) cannot become a plain ndarray, which would lose its gradient. If "
                "it was written "
                "into an array made by np.zeros(n) or np.empty(n), make that array with np.zeros_like(x) of the differentiated x, or "
                "with tg.zeros(n). "
                "If it was passed to np.array or np.asarray, leave that call out, or join several values with np.stack."
            )
        self._refresh()
        shared = self.numpy() if self.boxes_everything and not copy else self._data
        return np.array(shared, dtype=dtype, copy=copy)
