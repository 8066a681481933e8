"""An Array where Python or a library wants a number, or text.

What is asked for a value that a derivative or a trace goes through gets that value itself where it
can do (`item()`, `tolist()`), and is refused where it cannot (`float()`). Text, truth and whole
numbers have no derivative: of running code they are those of the value.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ... import ops
from ...errors import ConcretizationError
from ...ir.dispatch import STATE, Value
from ...ir.graph import Var
from ...ir.lines import formats_text, is_of_library, user_line
from ...ir.of_sizes import of_sizes
from ...ops.define import shape_of
from ...ops.elementwise.arithmetic import number
from ...ops.elementwise.whole import whole
from ...tape.attempts import ATTEMPTS
from ..operators import as_number
from .refusals import inside_library
from .results import element

NUMBER = (
    "Leave the value an array: arithmetic and NumPy's functions work on it as on a number (np.sin, "
    "not math.sin). If it was written into an array made by np.zeros(n) "
    "or np.empty(n), make that array with np.zeros_like(x) of such a value x, or with tg.zeros(n)."
)
STATIC = "or mark the argument static with static_argnames."


class HashError(TypeError):
    """What has values that are not known yet is no key of a dict and no element of a set. A class
    of its own: Python 3.14 puts words of its own before the text of any plain TypeError there."""

    of_python = True
    """A rewritten function may look for the value."""


class ArrayNumbers(Value):
    """Conversions to Python's numbers and text."""

    __slots__ = ()

    def _followed(self: Any) -> bool:
        """Whether a trace or a derivative goes through this value."""
        self._refresh()
        if isinstance(self._data, Var):
            return of_sizes(self._data) is None
        return self.requires_grad or bool(self._tangents and STATE.levels)

    def _number(self: Any, asked: str) -> np.ndarray[Any, Any]:
        advice = (inside_library() or NUMBER) if self._followed() else NUMBER
        data: np.ndarray[Any, Any] = self._concrete(asked, advice)
        if self._followed():
            raise ConcretizationError(
                f"{user_line()}: {asked} of a differentiated array ({self.array_type}) "
                f"would lose its derivative. {advice}"
            )
        return data

    # --- numbers that have a derivative ---

    def __float__(self: Any) -> float:
        if not isinstance(self._data, Var) and formats_text(sys._getframe(1)):
            return float(self._concrete("float()", NUMBER))
        try:
            return float(self._number("float()"))
        except ConcretizationError as error:
            caller = sys._getframe(1).f_code
            if is_of_library(caller):
                ATTEMPTS.refused = str(error), caller
            raise

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def item(self: Any, *args: Any) -> Any:
        """One element as a Python number; as an array without axes where a trace or a derivative
        goes through it."""
        if not self._followed():
            return self._concrete("item()", NUMBER).item(*args)
        if not args:
            if self.size != 1:
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            return element(self, ops.reshape(self, ()))
        index = args[0] if len(args) == 1 else args
        parts = index if isinstance(index, tuple) else (index,)
        if any(shape_of(i) for i in parts):
            raise TypeError("item(): an index is an integer, not an array")
        if isinstance(index, tuple):
            if len(index) != self.ndim:
                raise ValueError("incorrect number of indices for array")
            return self[index]
        return ops.reshape(self, (-1,))[index]

    def tolist(self: Any) -> Any:
        """The elements as nested lists of Python numbers; of arrays without axes where a trace or a
        derivative goes through them."""
        if not self._followed():
            return self._concrete("tolist()", NUMBER).tolist()
        return [row.tolist() for row in self] if self.ndim else element(self, self)

    def as_integer_ratio(self: Any) -> tuple[int, int]:
        """A number as the fraction that it is exactly."""
        found: tuple[int, int] = self._number("as_integer_ratio()").item().as_integer_ratio()
        return found

    def is_integer(self: Any) -> Any:
        """Which elements are whole numbers."""
        if self.dtype.kind == "c":
            raise AttributeError(f"{user_line()}: complex numbers have no is_integer()")
        return ops.logical_and(ops.equal(ops.floor(self), self), ops.isfinite(self))

    def tobytes(self: Any, order: Any = "C") -> bytes:
        """The memory as bytes."""
        found: bytes = self._number("tobytes()").tobytes(order)
        return found

    def __reduce__(self: Any) -> Any:
        """Pickled as the ndarray that it holds."""
        return np.array, (self._number("pickling"),)

    # --- what has none ---

    def __bool__(self: Any) -> bool:
        return bool(self._condition())

    def __int__(self: Any) -> int:
        return int(self._concrete("int()", f"Use x.astype(int) for a conversion, {STATIC}"))

    def __index__(self: Any) -> int:
        return int(
            self._concrete(
                "an index or range()",
                "Use tg.fori_loop for loops, x[i] with the array itself for indexing "
                f"(tg.getitem(x, i) where x is a NumPy array), {STATIC}",
            ).__index__()
        )

    def _whole(self: Any, name: str, rounded: Any) -> Any:
        """A number rounded by Python's functions is an integer of Python's."""
        if self.ndim:
            return rounded
        if STATE.traces or self.dtype.kind == "c":
            real = self.dtype.kind == "f"
            return number(whole(rounded) if real else ops.convert(rounded, np.int64))
        try:
            return int(rounded)
        except (ValueError, OverflowError) as error:  # NaN, infinity
            raise type(error)(f"{user_line()}: {name}: {error}") from None

    def __round__(self, ndigits: int | None = None) -> Any:
        if ndigits is None:
            return self._whole("round", ops.round(self, 0))
        return as_number(ops.round(self, ndigits), self)

    def __trunc__(self) -> Any:
        return self._whole("math.trunc", ops.trunc(self))

    def __floor__(self) -> Any:
        return self._whole("math.floor", ops.floor(self))

    def __ceil__(self) -> Any:
        return self._whole("math.ceil", ops.ceil(self))

    # --- text ---

    def __str__(self: Any) -> str:
        self._refresh()
        return repr(self) if isinstance(self._data, Var) else str(self._data)

    def __format__(self: Any, spec: str) -> str:
        if not spec:
            return str(self)
        data = self._concrete(
            f"the format {spec!r}", "Print the value itself, or return it and format it outside."
        )
        if data.ndim:
            raise TypeError(
                f"{user_line()}: an array of shape {data.shape} has no format {spec!r}; "
                "format its elements, or use np.array2string(x, precision=...)"
            )
        return format(data.item(), spec)

    # --- as an object ---

    def __hash__(self) -> int:
        raise HashError(
            f"{user_line()}: a traced or differentiated array cannot be hashed: "
            "a set, a dict or functools.cache would look for this object, where NumPy's numbers "
            "are found by their value. Compare with ==, or use another key."
        )

    def __copy__(self: Any) -> Any:
        return self.copy()

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        return self.copy()
