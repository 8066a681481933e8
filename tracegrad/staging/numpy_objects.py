"""NumPy's functions that call a function of the user's, and its objects that join arrays, where
traced values are given: `np.vectorize(f)(x)`, `np.apply_along_axis(f, 0, x)`, `np.r_[x, 1.0]`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..control import mapping
from ..errors import ConcretizationError, ShapeError
from ..faces.numpy.along import check_lines, from_lines, lines_of
from ..faces.numpy.lookup import result_type
from ..faces.operators import array_of, operand
from ..ir.trace import user_line
from ..ops.define import ndim_of, shape_of
from ..sizes.size import known_empty
from ..tensor import Boxed
from ..types import broadcast_shapes, show
from .numba_objects import (
    Generalized,
    Vectorized,
    by_python,
    is_generalized,
    is_of_numba,
    is_vectorized,
)
from .places import any_in, followed
from .session import Session

JOINING = (type(np.r_), type(np.c_))
Function = Callable[..., Any]


def is_mapping(function: Any) -> bool:
    """Whether a call of it calls a function of the user's for each element or line."""
    return (
        function is np.apply_along_axis
        or type(function) is np.vectorize
        or is_vectorized(function)
        or is_generalized(function)
        or is_of_numba(function)
    )


def mapped(session: Session, function: Any, args: Any, kwargs: Any) -> Any:
    """Such a call with traced values; None where there is none."""
    if is_of_numba(function):
        return by_python(session, function, args, kwargs)
    if not any_in((args, kwargs), followed, 8):
        return None
    if function is np.apply_along_axis:
        return _lines(session, *args, **kwargs)
    if is_vectorized(function):
        if kwargs:
            return None
        made = Vectorized(function, args)
        if made.itypes is not None:
            args = [
                ops.convert(array_of(operand(x)), d) for x, d in zip(args, made.itypes, strict=True)
            ]
        return _elements(session, made, args, kwargs)
    if is_generalized(function):
        return _generalized(session, function, args, kwargs)
    return _elements(session, function, args, kwargs)


def _generalized(session: Session, function: Any, args: Any, kwargs: Any) -> Any:
    """A call of a `numba.guvectorize`; where it is given arrays for its results, they are written
    there."""
    count = len(function.gufunc_builder.sin)
    given, outs = args[:count], args[count:]
    if kwargs or not all(isinstance(x, Boxed) for x in outs):
        raise ConcretizationError(
            f"{user_line()}: {function.__name__} writes traced values into a plain array; use its "
            "result"
        )
    found = _elements(session, Generalized(session, function, given), given, {})
    for out, value in zip(outs, found if isinstance(found, tuple) else (found,), strict=False):
        out[...] = value
    return found


def called(session: Session, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Such a call, by Python where nothing is traced."""
    found = mapped(session, function, args, kwargs)
    return function(*args, **kwargs) if found is None else found


def _lines(
    session: Session, func1d: Function, axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    check_lines(func1d, axis)
    rows, others, place = lines_of(arr, axis)
    if known_empty(*others):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    f = session.version(func1d)
    found = mapping.map(lambda row: array_of(f(row, *args, **kwargs)), rows)
    return from_lines(found, others, place)


def _cores(signature: str | None, count: int) -> list[tuple[str, ...]]:
    """The names of the axes that the function takes of each argument."""
    if signature is None:
        return [()] * count
    left = signature.replace(" ", "").split("->")[0]
    found = [tuple(n for n in part.split(",") if n) for part in re.findall(r"\(([^()]*)\)", left)]
    if len(found) != count:
        raise TypeError(
            f"{user_line()}: wrong number of positional arguments: expected {len(found)}, got "
            f"{count}"
        )
    return found


def _elements(session: Session, vectorized: Any, args: Any, kwargs: Any) -> Any:
    """A call of `np.vectorize`: its function, traced once for one element, in a loop over all of
    them. The dtype of a result is what the function gives, or that of `otypes`."""
    f = session.version(vectorized.pyfunc)
    excluded = vectorized.excluded
    places: list[Any] = [k for k in range(len(args)) if k not in excluded]
    places += [name for name in kwargs if name not in excluded]
    given = [array_of(operand(kwargs[k] if isinstance(k, str) else args[k])) for k in places]

    def one(*values: Any) -> Any:
        positional, named = list(args), dict(kwargs)
        for place, value in zip(places, values, strict=True):
            if isinstance(place, str):
                named[place] = value
            else:
                positional[place] = value
        found = f(*positional, **named)
        return tuple(map(array_of, found)) if isinstance(found, tuple) else array_of(found)

    cores = _cores(vectorized.signature, len(given))
    for x, core in zip(given, cores, strict=True):
        if ndim_of(x) < len(core):
            raise ShapeError(
                f"{user_line()}: an argument of shape {show(shape_of(x))} has not the axes "
                f"({', '.join(core)}) of the signature"
            )
    loops = [tuple(shape_of(x))[: ndim_of(x) - len(c)] for x, c in zip(given, cores, strict=True)]
    loop = broadcast_shapes(*loops)
    if known_empty(*loop):
        raise ValueError("cannot call `vectorize` on size 0 inputs of traced values")
    if not loop:
        return _typed(vectorized, one(*given))
    flat = []
    for x, core in zip(given, cores, strict=True):
        inner = tuple(shape_of(x))[ndim_of(x) - len(core) :]
        flat.append(ops.reshape(ops.broadcast_to(x, (*loop, *inner)), (math.prod(loop), *inner)))
    found = mapping.map(lambda xs: one(*xs), tuple(flat))

    def shaped(y: Any) -> Any:
        return ops.reshape(y, (*loop, *tuple(shape_of(y))[1:]))

    return _typed(
        vectorized, tuple(map(shaped, found)) if isinstance(found, tuple) else shaped(found)
    )


def _typed(vectorized: Any, found: Any) -> Any:
    kinds = vectorized.otypes
    if not kinds:
        return found
    if isinstance(found, tuple):
        return tuple(ops.convert(y, np.dtype(kind)) for y, kind in zip(found, kinds, strict=True))
    return ops.convert(found, np.dtype(kinds[0]))


def joined(owner: Any, key: Any) -> Any:
    """`np.r_[key]` and `np.c_[key]` with traced values among what is joined; None where there are
    none, and for the strings that make matrices."""
    if not any_in(key, followed):
        return None
    items = list(key) if isinstance(key, tuple) else [key]
    axis, ndmin, trans = owner.axis, owner.ndmin, owner.trans1d
    if isinstance(items[0], str):
        words = items.pop(0).split(",")
        try:
            numbers = [int(w) for w in words]
        except ValueError:
            return None
        axis = numbers[0]
        ndmin = numbers[1] if len(numbers) > 1 else ndmin
        trans = numbers[2] if len(numbers) > 2 else trans
    parts = [_part(x, ndmin, trans) for x in items]
    # Python's numbers take the dtype of what they are joined to.
    dtype = result_type(*[
        x if type(x) in (int, float, complex) else p for x, p in zip(items, parts, strict=True)
    ])  # fmt: skip
    return ops.concatenate([ops.convert(p, dtype) for p in parts], axis)


def _part(item: Any, ndmin: int, trans: int) -> Any:
    if isinstance(item, slice):
        start, step = item.start or 0, 1 if item.step is None else item.step
        if isinstance(step, complex):
            x: Any = ops.linspace(start, item.stop, int(abs(step)))
        else:
            x = ops.arange(start, item.stop, step)
        x = ops.reshape(x, (*(1,) * (ndmin - 1), -1))
        return ops.swapaxes(x, -1, trans) if ndmin > 1 and trans != -1 else x
    x = array_of(operand(item))
    count = ndim_of(x)
    least = max(ndmin, 1)
    if count >= least:
        return x
    x = ops.reshape(x, (*(1,) * (least - count), *shape_of(x)))
    more = least - count
    if trans == -1 or (ndmin <= count):
        return x
    at = trans + more + 1 if trans < 0 else trans
    order = list(range(least))
    return ops.transpose(x, (*order[:at], *order[more:], *order[at:more]))


__all__ = ["JOINING", "called", "is_mapping", "joined", "mapped"]
