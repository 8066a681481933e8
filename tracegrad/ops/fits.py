"""Sizes that have to be large enough, asked when they are known: of ints and of the sizes of
arguments while a function is traced, of lengths that only a run knows when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.lines import program_place
from ..sizes import form, known_less, traced_number
from ..sizes.owners import SIZES, is_late
from .check import check, error_text
from .elementwise.arithmetic import less, where


def refuse_less(
    size: Any, least: Any, kind: Callable[[str], Exception], text: str | Callable[[], str]
) -> None:
    """Raise an exception where a size is less than it has to be, which stands at `{size}` in the
    text (made by a function where that shows sizes). Where only a run knows it, the program fails
    with that, and goes on until its end: what it reads there has to exist at any length."""
    if not is_late(difference := form(size - least)):
        if known_less(size, least):
            raise _error(kind, text, str(size))
        return
    if SIZES.open[-1].proven("<=", -difference):
        return
    # Words are unsigned: the difference itself may have no number.
    small = less(traced_number(size), traced_number(least))
    error = _error(kind, text, f"less than {least}")
    check(where(small, np.int64(1), np.int64(0)), (error_text(error, *program_place()),))


def _error(kind: Callable[[str], Exception], text: str | Callable[[], str], size: str) -> Exception:
    return kind((text if isinstance(text, str) else text()).replace("{size}", size))


__all__ = ["refuse_less"]
