"""What may stand beside a boxed value, or become one: NumPy's own arrays and numbers.

A subclass of ndarray may mean something else by every operator (a mask, a product of matrices, a
unit), of which nothing would be left in a graph or on the tape. So each is refused where it comes
in, but for arrays in a file.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import SUPPORTED, check, module_of
from .lines import user_line

NUMBERS: frozenset[type] = frozenset(
    (bool, int, float, complex, *[dtype.type for dtype in SUPPORTED])
)
"""The types of plain numbers."""
PLAIN: frozenset[type] = NUMBERS | {np.ndarray}
"""The types of plain operands: looking a type up here costs less than asking what it is an instance
of."""
ADVICE = {
    "MaskedArray": (
        "Its mask would be lost. Pass x.filled(value), or np.asarray(x) and the mask as an array "
        "of its own (np.where(mask, ...), np.sum(..., where=~mask))"
    ),
    "matrix": "Its * is a product of matrices. Pass np.asarray(x), and write @ for such products",
}


def plain_array(x: Any, what: str = "an operand is") -> Any:
    """`x` itself, an array in a file (np.memmap) as an ndarray on the same memory; a TypeError for
    any other subclass of ndarray."""
    if type(x) is np.ndarray or not isinstance(x, np.ndarray):
        return x
    if type(x) is np.memmap:
        return x.view(np.ndarray)
    name = next((c.__name__ for c in type(x).__mro__ if c.__name__ in ADVICE), "")
    advice = ADVICE.get(
        name, "np.asarray(x) is a plain ndarray of its numbers, without what the class adds"
    )
    module = module_of(type(x)).partition(".")[0]
    raise TypeError(
        f"{user_line()}: {what} a {module}.{type(x).__name__}, a subclass of ndarray that is not "
        f"supported. {advice}."
    )


_ARITHMETIC = frozenset(
    f"__{side}{name}__"
    for side in ("", "r")
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "abs", "matmul")
)
_EXEMPT = ("enum", "tracegrad")
"""Whose numbers mean what Python's do."""


def plain_number(x: Any, what: str) -> None:
    """A TypeError for a number of a class that has operators of its own, as one with a unit: a
    traced number in its place would not have them."""
    if type(x) in NUMBERS or NUMBERS.isdisjoint(type(x).__mro__):
        return
    for c in itertools.takewhile(lambda c: c not in NUMBERS, type(x).__mro__):
        if module_of(c).partition(".")[0] not in _EXEMPT and not _ARITHMETIC.isdisjoint(vars(c)):
            raise TypeError(
                f"{user_line()}: {what} a {module_of(c).partition('.')[0]}.{type(x).__name__}, a "
                "number with operators of its own, which a traced number would not have. Pass its "
                "plain number (float(x)), or name the argument in static_argnames."
            )


def computes_itself(x: Any) -> bool:
    """Whether NumPy leaves its functions to an object, which is neither an ndarray nor without such
    a way (a quantity with a unit)."""
    return not isinstance(x, np.ndarray) and getattr(type(x), "__array_ufunc__", None) is not None


def stands_for_array(x: Any) -> bool:
    """Whether NumPy compares an object by its elements, though its class says nothing of arrays."""
    if isinstance(x, Sequence):
        return not isinstance(x, (str, bytes, bytearray))
    own = any(hasattr(type(x), name) for name in ("__array__", "__array_interface__"))
    return own and all("__eq__" not in vars(c) for c in type(x).__mro__[:-1])


STRANGE = "OMmSUVgG"
"""The codes of the dtypes with which nothing can be computed here, or only in more digits than
results can keep."""


def plain_operand(x: Any) -> Any:
    """`x` as an operand: as `plain_array`, of a supported dtype (DTypeError)."""
    x = plain_array(x)
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.char in STRANGE:
        check(dtype)
    return x
