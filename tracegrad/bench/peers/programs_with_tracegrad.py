"""The programs of `program_texts` as they stand, compiled by Numba and by tracegrad."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

import tracegrad as tg

from .. import program_texts
from ..program_texts import Text
from .with_tracegrad import flat, start_up

arrays = flat


def texts() -> dict[str, Text]:
    """The programs as a user's."""
    return {
        name: text._replace(function=of_user(text.function), distance=of_user(text.distance))
        for name, text in program_texts.texts().items()
    }


def of_user(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under a file name of its own: what lies in the package is no user's program,
    and is never staged."""
    found: Callable[..., Any] = namespace(function.__code__.co_filename)[function.__name__]
    return found


@functools.lru_cache(None)
def namespace(file: str) -> dict[str, Any]:
    """What a file of texts defines."""
    path = Path(file)
    source, name = path.read_text(encoding="utf-8"), path.name
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    defined: dict[str, Any] = {"__name__": path.stem}
    exec(compile(source, name, "exec"), defined)
    return defined


def prepare(name: str, arguments: list[Any]) -> dict[str, Callable[[], Any]]:
    """The program by Numba and by tracegrad, and value and gradient of the squared
    distance of its result from ones. One number is a Python float, as a user passes it."""
    text = texts()[name]
    given = [a if a.ndim else a.item() for a in arguments]
    theirs, ours = numba.njit(text.function), tg.jit(text.function)
    both = tg.jit(tg.value_and_grad(text.total, tuple(range(len(given)))))
    return {
        "Numba": lambda: theirs(*given),
        "function": lambda: ours(*given),
        "value and gradient": lambda: both(*given),
    }


__all__ = ["arrays", "prepare", "start_up", "texts"]
