"""The error of an index that no element has."""

from __future__ import annotations


def out_of_range(message: str) -> IndexError:
    """An IndexError of the program's own, wherever it is found out that an index is out of range.
    In a branch it is raised when the program comes to it (`staging/failing.py`); any other
    IndexError of a line of the library's is a defect of it."""
    error = IndexError(message)
    error.of_program = True  # type: ignore[attr-defined]
    return error


def is_out_of_range(error: BaseException) -> bool:
    """Whether it is one of these."""
    return bool(getattr(error, "of_program", False))


__all__ = ["is_out_of_range", "out_of_range"]
