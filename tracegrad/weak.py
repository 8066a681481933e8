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
_CLASSES: dict[str, type[Any]] = {
    "b": np.bool_,
    "i": WeakInt,
    "u": WeakInt,
    "f": WeakFloat,
    "c": WeakComplex,
}
_PYTHON: frozenset[type] = frozenset((bool, int, float, complex))


def weak(x: Any, kind: str) -> Any:
    """The number as one of this kind ("i", "f", "c"); a bool, which raises no dtype anyway, as
    NumPy's."""
    return _CLASSES[kind](x)


def as_python(x: Any) -> Any:
    """A weak scalar as the Python number; all else as it is."""
    return x.item() if isinstance(x, WEAK) else x


def _within(x: Any) -> Any:
    """The same in lists and tuples, as they stand among the arguments of functions."""
    return type(x)(map(_within, x)) if type(x) in (list, tuple) else as_python(x)


_OF: dict[type, type[Any]] = {np.int64: WeakInt, np.float64: WeakFloat, np.complex128: WeakComplex}
_BASE: dict[type, type[Any]] = {made: base for base, made in _OF.items()}


def _again(x: Any) -> Any:
    """A result of weak scalars alone, which is one itself if it is a number."""
    made = _OF.get(type(x))
    return x if made is None else made(x)


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    apply = getattr(operator, name if name not in ("and", "or") else f"{name}_")

    # Beside Python's number NumPy's own scalar computes without regard to who is weak.
    def forwards(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind in _PYTHON:
            return _again(apply(_BASE[type(self)](self), other))
        return (
            _again(apply(_BASE[type(self)](self), _BASE[kind](other)))
            if kind in _BASE
            else apply(self.item(), other)
        )

    def backwards(self: Any, other: Any) -> Any:
        return (
            _again(apply(other, _BASE[type(self)](self)))
            if type(other) in _PYTHON
            else apply(other, self.item())
        )

    return forwards, backwards


def _unary(name: str) -> Callable[[Any], Any]:
    apply = getattr(operator, name)
    return lambda self: _again(apply(_BASE[type(self)](self)))


def _by_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    return getattr(ufunc, method)(
        *map(as_python, inputs), **{k: as_python(v) for k, v in options.items()}
    )


def _by_function(
    self: Any, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    return function(*map(_within, args), **{k: _within(v) for k, v in kwargs.items()})


def _methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    yield from (("__array_ufunc__", _by_ufunc), ("__array_function__", _by_function))
    for name in (*_OPERATORS, *_COMPARISONS):
        forwards, backwards = _binary(name)
        yield f"__{name}__", forwards
        if name in _OPERATORS:
            yield f"__r{name}__", backwards
    for name in ("neg", "pos", "abs", "invert"):
        yield f"__{name}__", _unary(name)


for _class in WEAK:
    for _name, _method in _methods():
        setattr(_class, _name, _method)
    # Whoever defines __eq__ has to say so.
    setattr(_class, "__hash__", _BASE[_class].__hash__)  # noqa: B010

__all__ = ["WEAK", "WeakComplex", "WeakFloat", "WeakInt", "as_python", "weak"]
