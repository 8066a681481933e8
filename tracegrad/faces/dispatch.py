"""NumPy functions called on boxed values: `np.f(v)` becomes the operation of the same name.

NumPy asks `__array_ufunc__` (element by element functions, their reductions, SciPy's special
functions too) and `__array_function__` (all others). Arguments are read with NumPy's own signature
and handed over by name, so every spelling that NumPy takes works: positional `axis`, `out=`,
defaults that our functions do not have. Whatever has no counterpart is refused by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import ops
from ..checks import REFUSED, explained
from ..errors import ConcretizationError
from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..ir.operands import PLAIN, computes_itself
from ..ir.trace import is_left_over, left_over, user_line
from ..labels import has_labels
from ..tape.mode import MODE
from .handed_out import handed_out
from .lists import with_arrays
from .numpy.in_turn import READ_LATE, refuse_out
from .numpy.lookup import CASTING, boxes_in, counterpart_of, shown, store_exactly, unsupported
from .numpy.numpy_functions import ARRAYS, FUNCTIONS
from .numpy.refusals import asked_by_sparse, inside_library
from .numpy.results import in_memory
from .numpy.ufunc_methods import SPELLED, apply_method
from .numpy.ufuncs import KNOWN, NO_VALUE, by_numpy, call, name_of
from .operators import as_scalar, operand

IGNORED = {
    "order",
    "kind",
    "subok",
    "casting",
    "like",
    "sorter",
    "check_finite",
    "signature",
    "extobj",
    "device",
}
"""Parameters that change nothing about values."""


# --- functions ------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


@lru_cache(maxsize=1024)
def _mapping(
    function: Callable[..., Any], target: Callable[..., Any]
) -> tuple[dict[str, str | int], str | None, bool] | None:
    """For each of NumPy's parameters: the name or (for those ahead) the position it has in the
    counterpart."""
    theirs, ours = _signature(function), _signature(target)
    if theirs is None or ours is None:
        return None
    mine = list(ours.parameters.values())
    names = {p.name for p in mine}
    result: dict[str, str | int] = {}
    for k, p in enumerate(theirs.parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        # Only what must be given is matched by its place (`a` and `x`); options are the same where
        # they have the same name.
        same_place = (
            mine[k]
            if k < len(mine) and mine[k].kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            else None
        )
        if p.name in names and (same_place is None or same_place.name != p.name):
            result[p.name] = p.name
        elif same_place is not None:
            required = same_place.default is p.empty and same_place.name not in theirs.parameters
            if same_place.name == p.name or required:
                result[p.name] = k
    variadic = next(
        (p.name for p in theirs.parameters.values() if p.kind is p.VAR_POSITIONAL), None
    )
    return result, variadic, any(p.kind is p.VAR_KEYWORD for p in mine)


@lru_cache(maxsize=4096)
def _spelling(
    function: Callable[..., Any], target: Callable[..., Any], count: int, keywords: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...]] | None:
    """Which of the values given (by position, then by keyword) the counterpart takes by position
    and which by name; None where a parameter needs thought. Binding a signature takes 7 us, and
    programs spell few calls in few ways."""
    mapping, theirs, ours = _mapping(function, target), _signature(function), _signature(target)
    if mapping is None or theirs is None or ours is None:
        return None
    parameters, mine = list(theirs.parameters.values()), list(ours.parameters)
    if count > len(parameters) or any(
        p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters[:count]
    ):
        return None
    given = [*[p.name for p in parameters[:count]], *keywords]
    required = {
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    if (
        len(set(given)) != len(given)
        or not required <= set(given)
        or any(key not in mapping[0] for key in given)
    ):
        return None
    if any(theirs.parameters[key].kind is inspect.Parameter.POSITIONAL_ONLY for key in keywords):
        return None
    places = [mapping[0][key] for key in given]
    order = sorted((p, k) for k, p in enumerate(places) if isinstance(p, int))
    ahead = [k for at, (p, k) in enumerate(order) if p == at]
    return tuple(ahead), tuple(
        (p if isinstance(p, str) else mine[p], k) for k, p in enumerate(places) if k not in ahead
    )


def apply_function(
    function: Callable[..., Any],
    target: Callable[..., Any],
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
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
    if function in READ_LATE:
        refuse_out(function, args, kwargs)
    out, casting = kwargs.get("out"), "unsafe" if function in CASTING else "same_kind"
    casting = kwargs.get("casting", casting)
    if mapping is None or theirs is None:
        given = {
            k: v
            for k, v in kwargs.items()
            if not (k == "out" or k in IGNORED or v is None or v is np._NoValue)
        }
        result = target(*args, **given)
        return result if out is None else store_exactly(out, result, casting)
    places = mapping[0]
    bound = theirs.bind(*args, **kwargs)
    positional: dict[int, Any] = {}
    named: dict[str, Any] = {}
    more: tuple[Any, ...] = ()
    out = None
    for key, value in bound.arguments.items():
        parameter = theirs.parameters[key]
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            more = tuple(value)
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
        elif not (
            key in IGNORED or value is np._NoValue or value is None or _is_default(parameter, value)
        ):
            raise unsupported(
                name, f" with {key}={value!r}" if not boxes_in(value) else f" with {key}="
            )
    mine = list(_signature(target).parameters)  # type: ignore[union-attr]
    ahead = 0
    while ahead in positional:
        ahead += 1
    named.update({mine[k]: v for k, v in positional.items() if k >= ahead})
    result = target(*[positional[k] for k in range(ahead)], *more, **named)
    return result if out is None else store_exactly(out, result, casting)


def _is_default(parameter: inspect.Parameter, value: Any) -> bool:
    return (
        parameter.default is not parameter.empty
        and not isinstance(value, (Value, np.ndarray))
        and bool(value == parameter.default)
    )


# --- protocols ------------------------------------------------------------------------------------


def call_numpy(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a NumPy function (no ufunc) gives for arguments of which one is boxed."""
    about = FUNCTIONS.get(function)
    if about is not None:
        made = about(*args, **kwargs)
    else:
        target, name = counterpart_of(function)
        if target is None:
            return by_numpy(function, lambda: unsupported(name), args, kwargs)
        made = apply_function(function, target, name, args, kwargs)
    return in_memory(made) if function in ARRAYS else made


_CONVERTED = (
    "If it was written into an array made by np.zeros(n) "
    "or np.empty(n), make that array with np.zeros_like(x) of such a value x, or with tg.zeros(n). "
    "If it was passed to np.array or np.asarray, leave that call out, or join several values with "
    "np.stack. If it indexes a NumPy array, write tg.take(array, index)."
)


def _asked_first(x: Any) -> bool:
    """Whether an operand has an answer of its own to NumPy's functions; of arrays with labels the
    values count."""
    return (
        type(x) not in PLAIN
        and not isinstance(x, Value)
        and computes_itself(x)
        and not has_labels(x)
    )


class NumpyDispatch(Value):
    """NumPy's protocols."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        try:
            if method == "__call__" and not kwargs:
                target = KNOWN.get(ufunc)
                if target is not None:
                    op = ops.APPLIED_BY.get(target)
                    weak = op is None or op.weak
                    if op is not None and op.eager is not None:
                        if len(inputs) == 1:
                            return as_scalar(op.eager(self)) if weak else op.eager(self)
                        x, y = inputs
                        if type(y if x is self else x) in PLAIN:
                            return as_scalar(op.eager(x, y)) if weak else op.eager(x, y)
                    if any(map(_asked_first, inputs)):
                        return NotImplemented
                    made = target(*[operand(x) for x in inputs])
                    return as_scalar(made) if weak else made
            if any(map(_asked_first, inputs)):
                return NotImplemented
            return (
                call(ufunc, inputs, dict(kwargs))
                if method == "__call__"
                else apply_method(ufunc, method, inputs, dict(kwargs))
            )
        except REFUSED as error:
            known = SPELLED.get(method, ufunc)
            raise explained(
                error, name_of(ufunc, method), known, inputs, kwargs
            ) from error.__cause__

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Any:
        # Loops take half the time of any() and all().
        for t in types:
            if not issubclass(t, (Value, np.ndarray)):
                return NotImplemented
        try:
            for x in args:
                if isinstance(x, (list, tuple)):
                    args, kwargs = with_arrays(function, args, kwargs)
                    break
            return call_numpy(function, args, kwargs)
        except REFUSED as error:
            raise explained(
                error, shown(function), function, tuple(args), kwargs
            ) from error.__cause__

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        self._refresh()
        if isinstance(self._data, Var) and is_left_over(self._data):
            raise left_over(self._data)
        tracked = self._requires_grad and (MODE.enabled or not self.boxes_everything)
        if isinstance(self._data, Var) or self._tangents or tracked:
            if asked_by_sparse():
                # What SciPy's operators find to be no array, they leave to its own operators.
                made = np.empty((), object)
                made[()] = self
                return made
            library = inside_library()
            if (
                self.boxes_everything
                and self._requires_grad
                and not library
                and not isinstance(self._data, Var)
            ):
                raise RuntimeError(
                    "Can't call numpy() on Tensor that requires grad. "
                    "Use tensor.detach().numpy() instead."
                )
            raise ConcretizationError(
                f"{user_line()}: a traced or differentiated array ({self.array_type}) cannot "
                f"become a plain ndarray, which would lose its derivative. {library or _CONVERTED}"
            )
        if STATE.traces:
            self._decides()
        shared = self.numpy() if self.boxes_everything and not copy else self._data
        plain: np.ndarray[Any, Any] = np.array(shared, dtype=dtype, copy=copy)
        return handed_out(self, plain) if plain is shared and not self.boxes_everything else plain
