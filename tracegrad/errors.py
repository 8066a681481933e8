"""Exceptions of the library. Each message says what was wrong, where in the user's code, and what
to do."""

from __future__ import annotations


class TracegradError(Exception):
    """Base class of the library's own exceptions."""


class ConcretizationError(TracegradError, TypeError):
    """A traced value was asked for its Python value (`if x > 0`, `float(x)`, `range(x)`), which no
    graph can record."""


class EscapedValueError(TracegradError, RuntimeError):
    """A traced value was used outside of the function (a loop's body, a branch, what is given to
    jit or vmap) that made it."""


class ShapeError(TracegradError, ValueError, RuntimeError):
    """Shapes do not fit the operation. (A ValueError as in NumPy, a RuntimeError as in torch.)"""


class DTypeError(TracegradError, TypeError, RuntimeError):
    """A dtype does not fit the operation. (A TypeError as in NumPy, a RuntimeError as in torch.)"""


class UnsupportedFunctionError(TracegradError, TypeError):
    """A NumPy function was called on a traced or differentiated value for which no counterpart
    exists."""


class VerificationError(TracegradError, AssertionError):
    """A graph does not keep the rules of the IR; a defect of the library, not of the user's
    code."""


class ParseError(TracegradError, ValueError):
    """The text is not a printed graph."""
