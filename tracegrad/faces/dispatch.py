"""NumPy functions called on boxed values: `np.f(v)` becomes the operation of the same name.

NumPy asks `__array_ufunc__` (element by element functions, their reductions, SciPy's special functions too) and
`__array_function__` (all others). Arguments are read with NumPy's own signature and handed over by name, so every spelling that NumPy
takes works: positional `axis`, `out=`, defaults that our functions do not have. Whatever has no counterpart is refused by name.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import ops
from ..dtypes import promote
from ..errors import ConcretizationError, UnsupportedFunctionError
from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..ir.trace import user_line
from ..ops.define import shape_of
from .operators import array_of, operand

NAMES: dict[str, str] = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg", "conjugate": "conj",
    "amax": "max", "amin": "min", "permute_dims": "transpose", "concat": "concatenate", "cumulative_sum": "cumsum",
    "cumulative_prod": "cumprod",
}
"""NumPy's and SciPy's names of operations that are called differently here."""

REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
    "logaddexp": "logsumexp",
}
RUNNING = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
IGNORED = {"order", "kind", "subok", "casting", "like", "sorter", "check_finite", "signature", "extobj", "device"}
"""Parameters that change nothing about values."""


def find(name: str, module: str = "numpy") -> Callable[..., Any] | None:
    """The counterpart of a NumPy or SciPy function, or None."""
    if name not in ops.__all__:
        name = NAMES.get(name, name)
    place: Any = ops
    for part in module.split(".")[1:]:
        if part in ("linalg", "fft"):
            place = getattr(ops, part, None)
            found = getattr(place, name, None)
            if found is None and part == "fft":
                return None
            if found is not None and callable(found):
                return found  # type: ignore[no-any-return]
    found = getattr(ops, name, None)
    return found if callable(found) and name in ops.__all__ else None


def tracked(x: Any) -> bool:
    """Whether converting a boxed value to an ndarray would lose a trace, a gradient or a tangent."""
    return isinstance(x, Value) and (isinstance(x._data, Var) or bool(x._tangents) or x.requires_grad)  # type: ignore[attr-defined]


def unsupported(name: str, detail: str = "") -> UnsupportedFunctionError:
    if detail:
        return UnsupportedFunctionError(
            f"{user_line()}: {name}{detail} is not supported for traced or differentiated values. Leave that argument out, or write it "
            "with other functions.")
    known = [n for n in [*NAMES, *ops.__all__] if hasattr(np, n)]
    near = difflib.get_close_matches(name.rpartition(".")[2], known, 1)
    hint = f" The nearest supported call is np.{near[0]}." if near else ""
    return UnsupportedFunctionError(
        f"{user_line()}: {name} has no counterpart for traced or differentiated values.{hint} Write it with supported functions, or "
        "apply it "
        "to plain arrays outside of the traced or differentiated function."
    )


def _plain(x: Any) -> Any:
    """`x` with untracked boxed values replaced by their arrays."""
    if isinstance(x, Value):
        return x._data
    if isinstance(x, (list, tuple)):
        items = [_plain(item) for item in x]
        return type(x)(items) if type(x) in (list, tuple) else items
    return {k: _plain(v) for k, v in x.items()} if isinstance(x, dict) else x


def _boxes(x: Any) -> list[Value]:
    if isinstance(x, Value):
        return [x]
    if isinstance(x, (list, tuple)):
        return [b for item in x for b in _boxes(item)]
    return [b for item in x.values() for b in _boxes(item)] if isinstance(x, dict) else []


def _by_numpy(function: Callable[..., Any], name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """NumPy itself for a function without counterpart, where nothing is lost by it: no trace, no gradient."""
    boxes = _boxes(args) + _boxes(kwargs)
    if STATE.traces or any(tracked(b) for b in boxes):
        raise unsupported(name)
    face: Any = type(boxes[0])
    result = function(*_plain(args), **_plain(kwargs))

    def boxed(r: Any) -> Any:
        if isinstance(r, (np.ndarray, np.generic)):
            return face._make(r, None, 0)
        return type(r)(map(boxed, r)) if type(r) in (list, tuple) else r

    return boxed(result)


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
    np.copyto(out, _plain(value), casting="same_kind", where=_plain(where))
    return out


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
        same_place = mine[k] if k < len(mine) and mine[k].kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) else None
        if p.name in names and (same_place is None or same_place.name != p.name):
            result[p.name] = p.name
        elif same_place is not None and (same_place.name == p.name or same_place.name not in theirs.parameters):
            result[p.name] = k
    variadic = next((p.name for p in theirs.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    return result, variadic, any(p.kind is p.VAR_KEYWORD for p in mine)


def apply_function(function: Callable[..., Any], target: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call the counterpart with arguments spelled as NumPy spells them."""
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
            raise unsupported(name, f" with {key}={value!r}" if not _boxes(value) else f" with {key}=")
    mine = list(_signature(target).parameters)  # type: ignore[union-attr]
    ahead = 0
    while ahead in positional:
        ahead += 1
    named.update({mine[k]: v for k, v in positional.items() if k >= ahead})
    result = target(*[positional[k] for k in range(ahead)], **named)
    return result if out is None else store(out, result)


def _is_default(parameter: inspect.Parameter, value: Any) -> bool:
    return parameter.default is not parameter.empty and not isinstance(value, (Value, np.ndarray)) and bool(value == parameter.default)


def _shape(a: Any) -> Any:
    return shape_of(a) if isinstance(a, Value) else np.shape(a)


def _size(a: Any, axis: Any = None) -> Any:
    shape = _shape(array_of(a))
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    total: Any = 1
    for k in axes:
        total = total * shape[k]
    return total


def _dtype_of(x: Any) -> np.dtype[Any] | None:
    return x.dtype if isinstance(x, (Value, np.ndarray, np.generic)) else None  # type: ignore[union-attr]


def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    kinds: list[Any] = []
    for x in arrays_and_dtypes:
        if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
            kinds.append(type(x))
        else:
            kinds.append(_dtype_of(x) or np.dtype(x))
    return promote(*kinds)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    store(dst, operand(src), where)


def _array_repr(a: Any, *_: Any, **__: Any) -> str:
    return repr(a)


def _array_str(a: Any, *_: Any, **__: Any) -> str:
    return str(a)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = operand(a1), operand(a2)
    if _shape(x) != _shape(y):
        return False
    same = x == y
    return ops.all(ops.logical_or(same, ops.logical_and(x != x, y != y)) if equal_nan else same)


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    flat = a.reshape(-1)
    flat[np.asarray(ind)] = v


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    index = np.arange(min(int(s) for s in a.shape))
    a[(index,) * a.ndim] = val


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    arr._update(ops.put_along_axis, indices, operand(values), axis)


ABOUT: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: _shape,
    np.ndim: lambda a: len(_shape(array_of(a))),
    np.size: _size,
    np.iscomplexobj: lambda x: _result_type(x).kind == "c",
    np.isrealobj: lambda x: _result_type(x).kind != "c",
    np.result_type: _result_type,
    np.can_cast: lambda from_, to, casting="safe": np.can_cast(_dtype_of(from_) or from_, _dtype_of(to) or to, casting),
    np.copyto: _copyto,
    np.array_repr: _array_repr,
    np.array_str: _array_str,
    np.array2string: _array_str,
    np.array_equal: _array_equal,
    np.put: _put,
    np.fill_diagonal: _fill_diagonal,
    np.put_along_axis: _put_along_axis,
    np.may_share_memory: lambda a, b, max_work=None: a is b,
    np.shares_memory: lambda a, b, max_work=None: a is b,
}
"""Functions that ask about a value, or write into it."""


# --- ufuncs --------------------------------------------------------------------------------------------------------------------


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
        target = find(ufunc.__name__)
        if target is None:
            return _by_numpy(ufunc, name, inputs, {**given, **({} if out is None else {"out": _plain(out)})})
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
    about = ABOUT.get(function)
    if about is not None:
        return about(*args, **kwargs)
    module = getattr(function, "__module__", None) or "numpy"
    name = f"{module.replace('numpy', 'np', 1)}.{function.__name__}"
    target = find(function.__name__, module)
    if target is None:
        return _by_numpy(function, name, args, kwargs)
    return apply_function(function, target, name, args, kwargs)


class NumpyDispatch(Value):
    """NumPy's protocols."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Sequence[type], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if not all(issubclass(t, (Value, np.ndarray)) for t in types):
            return NotImplemented
        return call_numpy(function, args, kwargs)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if isinstance(self._data, Var) or self._tangents:
            raise ConcretizationError(
                f"{user_line()}: a traced or differentiated array ({self.type}) cannot become a plain ndarray. If it was written into an "
                "array made by "
                "np.zeros(n) or np.empty(n), make that array with np.zeros_like(x) of a traced x, or with tg.zeros(n). If it was passed "
                "to np.array or "
                "np.asarray, leave that call out, or join several values with np.stack."
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
        return np.array(self._data, dtype=dtype, copy=copy)
