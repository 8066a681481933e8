"""Exceptions of the library. Each message says what was wrong, where in the user's code, and what
to do; the page "errors" of the documentation says why, class by class."""

from __future__ import annotations

from typing import Any, ClassVar


class TracegradError(Exception):
    """Base class of the library's own exceptions. `help_page` names the section of the
    documentation on a class, which `python -m tracegrad docs NAME` opens.

    >>> import tracegrad as tg
    >>> tg.ShapeError.help_page
    'errors.html#shapeerror'
    """

    help_page: ClassVar[str] = "errors.html#tracegraderror"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == __name__:  # others are of the nearest class here
            cls.help_page = f"errors.html#{cls.__name__.lower()}"


class _OfTracing(TracegradError):
    """What comes of the way a function is traced, which a message alone cannot explain: tracebacks
    end with the page that does."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        name = self.help_page.partition("#")[2]
        known = next(c.__name__ for c in type(self).__mro__ if c.__name__.lower() == name)
        self.add_note(f"`python -m tracegrad docs {known}` says more.")


class ConcretizationError(_OfTracing, TypeError):
    """A traced value was asked for its Python value (`if x > 0`, `float(x)`, `range(x)`), which no
    graph can record.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> try:
    ...     tg.jit(lambda x: x[x > 0], stage=False)(np.ones(3))
    ... except tg.ConcretizationError as error:
    ...     print("tg.where" in str(error))
    True
    """


class EscapedValueError(_OfTracing, RuntimeError):
    """A traced value was used outside of the function (a loop's body, a branch, what is given to
    jit or vmap) that made it.

    >>> import tracegrad as tg
    >>> kept = []
    >>> try:
    ...     tg.jit(lambda x: tg.fori_loop(0, 2, lambda i, s: kept.append(s) or s, x) + kept[0])(1.0)
    ... except tg.EscapedValueError as error:
    ...     print("Return it" in str(error))
    True
    """


class ShapeError(TracegradError, ValueError, RuntimeError):
    """Shapes do not fit the operation. (A ValueError as in NumPy, a RuntimeError as in torch.)

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> try:
    ...     tg.grad(lambda x: x**2)(np.ones(3))
    ... except tg.ShapeError as error:
    ...     print("tg.jacobian" in str(error))
    True
    """


class AxisError(ShapeError, IndexError):
    """An axis that an array does not have. (An IndexError too, as in NumPy, torch and the standard
    of arrays.)

    >>> import tracegrad as tg
    >>> try:
    ...     tg.ones(3).sum(5)
    ... except IndexError as error:
    ...     print(isinstance(error, tg.ShapeError))
    True
    """


class DTypeError(TracegradError, TypeError, RuntimeError):
    """A dtype does not fit the operation. (A TypeError as in NumPy, a RuntimeError as in torch.)

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> try:
    ...     tg.grad(np.sum)(np.array([1, 2]))
    ... except tg.DTypeError as error:
    ...     print("floating-point" in str(error))
    True
    """


class UnsupportedFunctionError(_OfTracing, TypeError):
    """A NumPy function was called on a traced or differentiated value for which no counterpart
    exists.

    >>> import scipy.special
    >>> import tracegrad as tg
    >>> try:
    ...     tg.grad(lambda x: scipy.special.tklmbda(x, 0.3))(0.5)
    ... except tg.UnsupportedFunctionError as error:
    ...     print("tklmbda" in str(error))
    True
    """

    of_python = False
    """Whether it may be made of a function of Python's, which staged code calls in its place."""


class VerificationError(TracegradError, AssertionError):
    """A graph does not keep the rules of the IR; a defect of the library, not of the user's
    code."""


class ParseError(TracegradError, ValueError):
    """The text is not a printed graph."""
