"""Types of values in a graph: a dtype and a shape whose entries are ints or integer expressions over symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._codegen import integers
from .dtypes import LONG, SHORT, check
from .errors import ShapeError

Int = integers.Int
Shape = tuple[Int, ...]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of one array: `f64[4, n]` is printed for float64 of shape (4, n)."""

    dtype: np.dtype[Any]
    shape: Shape = ()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Int:
        return integers.product(self.shape)

    def __str__(self) -> str:
        return f"{SHORT[self.dtype.name]}[{', '.join(map(str, self.shape))}]"

    def with_shape(self, shape: Shape) -> ArrayType:
        return ArrayType(self.dtype, shape)

    def with_dtype(self, dtype: np.dtype[Any]) -> ArrayType:
        return ArrayType(dtype, self.shape)


def short_dtype(text: str) -> np.dtype[Any]:
    return np.dtype(LONG[text])


def type_of(value: Any) -> ArrayType:
    """The type of a concrete array, NumPy scalar or Python scalar."""
    array = value if isinstance(value, (np.ndarray, np.generic)) else np.asarray(value)
    return ArrayType(check(array.dtype), array.shape)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcasting rule; sizes are compared with `same`."""
    ndim = max((len(s) for s in shapes), default=0)
    result: list[Int] = []
    for axis in range(-ndim, 0):
        size: Int = 1
        for shape in shapes:
            if len(shape) < -axis or (d := shape[axis]) == 1:
                continue
            if size == 1:
                size = d
            elif not same(size, d):
                raise ShapeError(f"shapes {' and '.join(show(s) for s in shapes)} cannot be broadcast together: axis {axis} has sizes "
                                 f"{size} and {d}, and neither is 1. Reshape one of them, or add an axis with x[:, None].")
        result.append(size)
    return tuple(result)


def show(shape: Shape) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def same(a: Int, b: Int) -> bool:
    """Whether two sizes are equal: known from their form, or decided by the current trace, which records a guard."""
    if a == b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return False
    return decide("==", a, b)


def decide(relation: str, a: Int, b: Int) -> bool:
    """The truth of `a relation b`; for symbolic sizes the innermost `Sizes` answers and records it."""
    difference = a - b
    if isinstance(difference, int):
        return RELATIONS[relation](difference)
    if not SIZES:
        # Sizes 0 and 1 are always specialised, so a symbol is at least 2; nothing else is known outside a trace.
        return False
    return SIZES[-1].decide(relation, difference)


RELATIONS = {"==": lambda d: d == 0, "<": lambda d: d < 0, "<=": lambda d: d <= 0}


class Sizes:
    """The symbols of one trace: the sizes they stood for while tracing (hints), and the facts that the trace relied on."""

    def __init__(self, hints: dict[str, int] | None = None, guards: dict[tuple[str, Int], bool] | None = None) -> None:
        self.hints = dict(hints or {})
        self.guards = dict(guards or {})

    def decide(self, relation: str, difference: Int) -> bool:
        known = self.guards.get((relation, difference))
        if known is None:
            known = RELATIONS[relation](integers.evaluate(difference, self.hints))
            self.guards[relation, difference] = known
        return known

    def hold(self, bindings: dict[str, int]) -> bool:
        """Whether all recorded facts are true for these sizes."""
        return all(RELATIONS[r](integers.evaluate(d, bindings)) is fact for (r, d), fact in self.guards.items())


SIZES: list[Sizes] = []


def normalize_axis(axis: int, ndim: int) -> int:
    """A non-negative axis, or a ShapeError."""
    if not -ndim <= axis < max(ndim, 1) or (ndim == 0):
        raise ShapeError(f"axis {axis} is out of range for an array of {ndim} dimension{'s' * (ndim != 1)}")
    return axis % ndim
