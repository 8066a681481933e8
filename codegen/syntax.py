"""Syntax trees, made by one thread at a time.

CPython 3.11 counts how deep a tree is in one place for all threads, and raises a SystemError where
two of them meet in the middle (github.com/python/cpython/issues/106905).
"""

from __future__ import annotations

import ast
from typing import Any

from .locks import lock

_ALONE = lock()


def parse(text: str, mode: str = "exec") -> Any:
    """`ast.parse`."""
    with _ALONE:
        return ast.parse(text, mode=mode)


__all__ = ["parse"]
