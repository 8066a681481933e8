"""Where in the user's program something happens, and through which library's code."""

from __future__ import annotations

import dis
import linecache
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType

import numpy as np

from .assigned import RETURNED, assigned, unpacked

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = (_HERE + os.sep, os.path.join(os.path.dirname(_HERE), "codegen") + os.sep)
FOREIGN = (*OURS, os.path.dirname(np.__file__), "<frozen", "<string>", "<njit_")
"""Where code lies that is neither the user's nor a library's built on NumPy; the last one is what
`njit` made."""


def _installed() -> Iterator[str]:
    """The folders of Python's own modules and of installed packages."""
    if getattr(os, "__file__", None):
        yield os.path.dirname(os.__file__) + os.sep
    site = os.path.dirname(os.path.dirname(np.__file__))
    if os.path.basename(site) in ("site-packages", "dist-packages"):
        yield site + os.sep


INSTALLED = (*FOREIGN, *_installed())


class _Files(dict[str, bool]):
    """Whether a file is the library's, NumPy's or another installed package's, as far as its name
    tells: asked for every frame between an operation and the user's line."""

    def __missing__(self, name: str) -> bool:
        found = self[name] = name.startswith(INSTALLED)
        return found


_FILES = _Files()


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's own code; of a library's where all of the program is
    installed."""
    inner: FrameType | None = None
    while frame is not None:
        name = frame.f_code.co_filename
        if not _FILES[name]:
            return frame
        if inner is None and not name.startswith(FOREIGN):
            inner = frame
        frame = frame.f_back
    return inner


TOOLS = frozenset(
    (
        "pdb",
        "bdb",
        "cmd",
        "code",
        "reprlib",
        "traceback",
        "unittest",
        "pytest",
        "_pytest",
        "pluggy",
        "hypothesis",
    )
) | {
    "IPython",
    "ipykernel",
    "debugpy",
    "pydevd",
    "_pydevd_bundle",
    "coverage",
}
"""Modules that show values to whoever looks into a program that is running."""
_TEXT = frozenset(
    ("__repr__", "__str__", "__format__", "array_repr", "tensor_repr", "shown", "<lambda>")
)

_CALLS = os.path.join("staging", "calls.py")
"""Where rewritten code of the user's calls `str`, `format` and their like."""


def text_for_program() -> bool:
    """Whether the text of a value that is being written is for the program, and not for a message
    of the library or for somebody who looks at the program."""
    frame: FrameType | None = sys._getframe(1)
    while (
        frame is not None
        and frame.f_code.co_filename.startswith(OURS)
        and (frame.f_code.co_name in _TEXT or frame.f_code.co_filename.endswith(_CALLS))
    ):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith(OURS):
        return False
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] not in TOOLS


def asked_by_user() -> bool:
    """Whether the method that calls this was called by the user's code, not by the library or
    NumPy."""
    return not sys._getframe(2).f_code.co_filename.startswith(FOREIGN)


def is_installed(code: CodeType) -> bool:
    """Whether it is the library's, NumPy's or another installed package's."""
    return _FILES[code.co_filename]


def program_place() -> tuple[str, int, str]:
    """The innermost line of the user's as its file, its number and the function it stands in, whose
    parts rewritten code has as functions of their own."""
    frame = _user_frame(sys._getframe(1))
    if frame is None:
        return "", 0, ""
    place, line, name = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
    while frame is not None and name.startswith("_tg_"):
        frame = _user_frame(frame.f_back)
        name = name if frame is None else frame.f_code.co_name
    return place, line, name


def user_line() -> str:
    """`model.py:12`, the innermost line outside the library, NumPy and other installed packages."""
    frame = _user_frame(sys._getframe(1))
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def text_is_known() -> bool:
    """Whether there is text of the user's innermost function, so that it can be rewritten."""
    frame = _user_frame(sys._getframe(1))
    return frame is not None and bool(linecache.getlines(frame.f_code.co_filename))


def user_place(opened: FrameType | None) -> tuple[str, object, tuple[str, ...]]:
    """The innermost line outside the library; the instruction there, equal for all that happens in
    one run of it; the variables to which its result is assigned.

    Names are of what the frame `opened` runs, for around it variables are another program's.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not opened:
        if not _FILES[frame.f_code.co_filename]:
            break
        frame = frame.f_back
    if frame is None or frame is opened:
        return user_line(), None, ()
    code, at, caller = frame.f_code, frame.f_lasti, frame.f_back
    line = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
    names = assigned(code, at)
    while names is RETURNED:
        frame = frame.f_back
        if frame is None or _FILES[frame.f_code.co_filename]:
            return line, None, ()
        names = assigned(frame.f_code, frame.f_lasti)
    return line, (id(code), at, caller and caller.f_lasti), names


def unpacked_to(frame: FrameType) -> tuple[str, ...]:
    """The variables to which the user's program, where this is a frame of it, is just unpacking a
    value."""
    return () if _FILES[frame.f_code.co_filename] else unpacked(frame.f_code, frame.f_lasti)


def library_calls() -> list[tuple[str, str]]:
    """The functions of libraries that the user's line is inside of, outermost first: module and
    qualified name."""
    frame: FrameType | None = sys._getframe(1)
    user, found = _user_frame(frame), []
    while frame is not None and frame is not user:
        if not frame.f_code.co_filename.startswith((*OURS, "<frozen", "<string>")):
            found.append(_function_of(frame))
        frame = frame.f_back
    return found[::-1]


WRAPPED = ("f", "fun", "func", "function", "method")


def _function_of(frame: FrameType) -> tuple[str, str]:
    """Module and qualified name of what a frame runs; of a decorator's frame those of the function
    that it wraps."""
    module, name = str(frame.f_globals.get("__name__", "")), frame.f_code.co_qualname
    if module.startswith("scipy.stats."):
        this = frame.f_locals.get("self")
        called = getattr(getattr(this, "dist", this), "name", None)  # dist: of a frozen one
        kind = type(this).__name__  # of many variables: without a name, multivariate_normal_gen
        if not isinstance(called, str) and kind.endswith(("_gen", "_frozen")):
            called = kind.rpartition("_")[0]
        if isinstance(called, str):
            return module, f"{called}.{frame.f_code.co_name}".removesuffix(".__call__")
    if module.startswith("scipy.special.") and name.endswith(".__call__"):  # a table of ufuncs
        called = getattr(frame.f_locals.get("self"), "__name__", None)
        if isinstance(called, str):
            return module, called
    if "<locals>" in name or name.endswith("__ua_function__"):
        for word in WRAPPED:
            wrapped = frame.f_locals.get(word)
            if callable(wrapped) and str(getattr(wrapped, "__module__", "")).startswith("scipy."):
                return wrapped.__module__, str(getattr(wrapped, "__qualname__", name))
    return module, name


def is_of_library(code: CodeType) -> bool:
    """Whether it is of another installed package or a module of Python's."""
    name = code.co_filename
    return name.startswith(INSTALLED) and not name.startswith(FOREIGN)


def formats_text(frame: FrameType) -> bool:
    """Whether what this frame is doing is `text % values`."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.opname == "BINARY_OP" and instruction.argrepr in ("%", "%=")
    return False
