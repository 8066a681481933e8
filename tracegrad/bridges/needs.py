"""What a bridge needs: a function, and the library on its other side."""

from __future__ import annotations

import importlib
from typing import Any

from ..checks import describe
from ..ir.lines import user_line


def needs(who: str, f: Any, library: str, install: str) -> None:
    """A TypeError unless `f` is a function, a ModuleNotFoundError where the library is not there;
    both with the user's line."""
    if not callable(f):
        raise TypeError(f"{user_line()}: {who}: f is {describe(f)}; it must be a function")
    try:
        importlib.import_module(library)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{user_line()}: {who} needs {library}, which is not installed: {install}",
            name=error.name,
        ) from error


__all__ = ["needs"]
