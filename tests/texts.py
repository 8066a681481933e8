"""Functions made of text, whose source Python finds as if it stood in a file."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np


def kept(text: str, name: str) -> str:
    """The text as that of the file of this name, for what reads the source of functions."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name


def executed(text: str, name: str, **given: Any) -> dict[str, Any]:
    """What the text defines, with `np` and what is given as globals."""
    space: dict[str, Any] = {"np": np, **given}
    exec(compile(text, kept(text, name), "exec"), space)
    return space
