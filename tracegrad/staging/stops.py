"""The errors at which tracing stops, and a function is staged."""

from __future__ import annotations

from types import TracebackType

from ..dtypes import module_of
from ..errors import ConcretizationError
from ..sizes import Size

TOLD_BY_NUMPY = (
    "Error setting single item of array.",  # x.flat[k] = value
    "setting an array element with a sequence.",  # np.fromiter(values, dtype)
)
"""What NumPy makes of the error where it gets a traced value."""
NO_SIZE = "expected a sequence of integers or a single integer, got '<traced"
"""And where a traced number is the shape of a new array."""


def stops(error: BaseException) -> bool:
    """Whether an error says that a traced value, or a size that is not known, was asked for what
    only a number has."""
    if not isinstance(error, Exception):
        return False  # Ctrl-C or an exit, whatever it found being raised
    seen = 0
    e: BaseException | None = error
    while e is not None and seen < 8:
        if isinstance(e, ConcretizationError):
            return True
        if module_of(type(e)).partition(".")[0] == "numba" or _in_numba(e.__traceback__):
            return True
        if getattr(e, "of_python", False) or (type(e) is ValueError and str(e) in TOLD_BY_NUMPY):
            return True
        if type(e) is TypeError and str(e).startswith(NO_SIZE):
            return True
        if _of_size(e.__traceback__):
            return True
        e = e.__cause__ or e.__context__
        seen += 1
    return False


def _in_numba(tb: TracebackType | None) -> bool:
    """Whether Numba raised it."""
    name = ""
    while tb is not None:
        name, tb = tb.tb_frame.f_globals.get("__name__", ""), tb.tb_next
    return name.partition(".")[0] == "numba"


def _of_size(tb: TracebackType | None) -> bool:
    """Whether a function of NumPy's raised it that was given a size and wants an int."""
    if tb is None:
        return False
    while tb.tb_next is not None:
        tb = tb.tb_next
    frame = tb.tb_frame
    if frame.f_globals.get("__name__", "").partition(".")[0] != "numpy":
        return False
    return any(type(x) is Size for x in frame.f_locals.values())


__all__ = ["stops"]
