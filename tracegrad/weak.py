"""Python's numbers as NumPy's scalars: they divide, overflow and have methods as those, and raise
no dtype as these (NEP 50).

The eager loops carry them, so that a step sees the same in running and in compiled code.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

_OPERATORS = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
)
_QUICK = ("add", "sub", "mul")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class WeakInt(np.int64):
    """An integer that promotes as Python's."""

    __slots__ = ()
    python = int


class WeakFloat(np.float64):
    """A number that promotes as Python's."""

    __slots__ = ()
    python = float


class WeakComplex(np.complex128):
    """A complex number that promotes as Python's."""

    __slots__ = ()
    python = complex


WEAK = (WeakInt, WeakFloat, WeakComplex)
KINDS = frozenset(WEAK)
_CLASSES: dict[str, type[Any]] = {
    "b": np.bool_,
    "i": WeakInt,
    "u": WeakInt,
    "f": WeakFloat,
    "c": WeakComplex,
}
FLOATS = frozenset((float, int, WeakFloat))
_MADE: dict[type, type[Any]] = {
    bool: np.bool_,
    int: WeakInt,
    float: WeakFloat,
    complex: WeakComplex,
}
PYTHON: frozenset[type] = frozenset((bool, int, float, complex))


def weak(x: Any, kind: str) -> Any:
    """The number as one of this kind ("i", "f", "c"); a bool, which raises no dtype anyway, as
    NumPy's."""
    return _CLASSES[kind](x)


def as_weak(x: Any) -> Any:
    """Python's number as one that has an array's attributes."""
    return _MADE[type(x)](x) if type(x) in _MADE else x


_NUMBERS = {int: np.int64, float: np.float64, complex: np.complex128}
_PYTHONS = frozenset((bool, *_NUMBERS))


def as_python(x: Any) -> Any:
    """A weak scalar as the Python number; one of a class of the user's (an IntEnum) as a number of
    NumPy's, for which NumPy takes it; all else as it is."""
    kind = type(x)
    if kind in KINDS:
        return x.python(x)
    if kind in _PYTHONS or not isinstance(x, (int, float, complex)) or isinstance(x, np.generic):
        return x
    return next(made for base, made in _NUMBERS.items() if isinstance(x, base))(x)


def _within(x: Any) -> Any:
    """The same in lists and tuples, as they stand among the arguments of functions."""
    return type(x)(map(_within, x)) if type(x) in (list, tuple) else as_python(x)


_OF: dict[type, type[Any]] = {np.int64: WeakInt, np.float64: WeakFloat, np.complex128: WeakComplex}
_BASE: dict[type, type[Any]] = {made: base for base, made in _OF.items()}


def _again(x: Any) -> Any:
    """A result of weak scalars alone, which is one itself if it is a number."""
    made = _OF.get(type(x))
    return x if made is None else made(x)


def _power(x: Any, y: Any) -> Any:
    """`x ** y`; of integers a negative power is a float, where NumPy raises."""
    whole = isinstance(x, (int, np.integer)) and isinstance(y, (int, np.integer))
    return np.float64(x) ** y if whole and y < 0 else x**y


def _quotient(x: Any, y: Any) -> Any:
    """`x / y`; by an integer that is zero a ZeroDivisionError, where NumPy gives an infinity."""
    if isinstance(y, (int, np.integer)) and not y:
        raise ZeroDivisionError("division by zero")
    return x / y


def floordiv(x: Any, y: Any) -> Any:
    """`x // y`; of integers by zero a ZeroDivisionError, where NumPy gives 0."""
    return x // _divisor(x, y)


def mod(x: Any, y: Any) -> Any:
    """`x % y`, likewise."""
    return x % _divisor(x, y)


def _divisor(x: Any, y: Any) -> Any:
    if isinstance(y, (int, np.integer)) and not y and isinstance(x, (int, np.integer)):
        raise by_zero()
    return y


def by_zero() -> ZeroDivisionError:
    """What Python raises for a quotient or remainder of integers by 0."""
    return ZeroDivisionError("integer division or modulo by zero")


_ALONE: dict[str, Callable[[Any, Any], Any]] = {
    "pow": _power,
    "truediv": _quotient,
    "floordiv": floordiv,
    "mod": mod,
}


def _binary(cls: type, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    apply = getattr(operator, name if name not in ("and", "or") else f"{name}_")
    base, python = _BASE[cls], cls.python  # type: ignore[attr-defined]
    alone = _ALONE.get(name, apply)

    # Beside Python's number NumPy's own scalar computes without regard to who is weak.
    def forwards(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind in PYTHON:
            return _again(alone(base(self), other))
        return (
            _again(alone(base(self), _BASE[kind](other)))
            if kind in _BASE
            else apply(python(self), other)
        )

    def backwards(self: Any, other: Any) -> Any:
        return (
            _again(alone(other, base(self)))
            if type(other) in PYTHON
            else apply(other, python(self))
        )

    if cls is not WeakFloat or name not in (*_QUICK, *_COMPARISONS):
        return forwards, backwards
    # Of floats Python computes the same numbers in a fraction of the time.
    quick: Callable[[Any, Any], Any] = getattr(float, f"__{name}__")
    if name in _COMPARISONS:
        return (
            lambda self, other: (
                np.bool_(quick(self, other)) if type(other) in FLOATS else forwards(self, other)
            ),
            backwards,
        )
    reflected: Callable[[Any, Any], Any] = getattr(float, f"__r{name}__")
    return (
        lambda self, other: (
            WeakFloat(quick(self, other)) if type(other) in FLOATS else forwards(self, other)
        ),
        lambda self, other: (
            WeakFloat(reflected(self, other)) if type(other) in FLOATS else backwards(self, other)
        ),
    )


def _unary(cls: type, name: str) -> Callable[[Any], Any]:
    apply, base = getattr(operator, name), _BASE[cls]
    if cls is WeakFloat and name != "invert":
        quick = getattr(float, f"__{name}__")
        return lambda self: WeakFloat(quick(self))
    return lambda self: _again(apply(base(self)))


def _by_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    if method == "__call__" and not options:
        return ufunc(*map(as_python, inputs))
    return getattr(ufunc, method)(
        *map(as_python, inputs), **{k: as_python(v) for k, v in options.items()}
    )


def _by_function(
    self: Any, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    return function(*map(_within, args), **{k: _within(v) for k, v in kwargs.items()})


def _methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield from (("__array_ufunc__", _by_ufunc), ("__array_function__", _by_function))
    for name in (*_OPERATORS, *_COMPARISONS):
        forwards, backwards = _binary(cls, name)
        yield f"__{name}__", forwards
        if name in _OPERATORS:
            yield f"__r{name}__", backwards
    for name in ("neg", "pos", "abs", "invert"):
        yield f"__{name}__", _unary(cls, name)


for _class in WEAK:
    for _name, _method in _methods(_class):
        setattr(_class, _name, _method)
    # Whoever defines __eq__ has to say so.
    setattr(_class, "__hash__", _BASE[_class].__hash__)  # noqa: B010

__all__ = [
    "FLOATS",
    "KINDS",
    "PYTHON",
    "WEAK",
    "WeakComplex",
    "WeakFloat",
    "WeakInt",
    "as_python",
    "as_weak",
    "weak",
]
