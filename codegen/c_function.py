"""The grammar of C functions around kernels: what a C function takes, and from where in it each
array of the kernel comes.

A C function checks sizes, provides memory, calls the kernel once for all its phases, and says how
that went. It runs no Python, raises nothing, and may be called by several threads at once.

    parameter = name, kind ("int32" | "int64" | "float32" | "float64" | "pointer")
    place     = At(parameter, offset)   the memory that a pointer shows, from an element on
              | ByValue(parameter)        a number that is passed as such
              | Captured(number)        an array that the kernel's function read around it
              | Returned()              what the C function returns
              | Unwanted()              a result that nobody asked for

What it returns (`returns`):

    "status"   int32: 0, above 0 for what may go well at another point, below 0 for what will not
    "success"  int32: 1, or 0 for any failure
    "value"    the number that the kernel computes, NaN after a failure
    "nothing"  nothing; after a failure all results are NaN
    "xla"      a pointer: NULL, or an error of XLA's with one of the `messages`
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np

from .integers import Int

NOT_A_NUMBER = 1_000_000
"""The status of a call whose results hold a NaN; those of failed checks are smaller, from 1."""
NO_MEMORY, WRONG_SIZE = -1, -2
FAILURES, WORDS = 64, 4
"""The rows of a table of failures, and their words: thread, status, value, number of the
failure."""

THREAD, THREAD_KIND = {"win32": ("GetCurrentThreadId", "i32"), "linux": ("gettid", "i32")}.get(
    sys.platform, ("pthread_self", "i64")
)
"""C's function that gives the number of a thread, and what it gives. The numbers of Linux's kernel
come again after millions of threads, those of `pthread_self` after one."""

Kind: TypeAlias = OneOf["int32", "int64", "float32", "float64", "pointer"]


@dataclass(frozen=True)
class CParameter:
    name: str
    kind: Kind
    text: str = ""
    """How C writes it, and in a comment what it is."""


@dataclass(frozen=True)
class At:
    parameter: str
    offset: Int = 0
    through: tuple[int, ...] = ()
    """The memory is behind pointers: which one of those that the pointer shows, and so on."""
    optional: bool = False
    """Whether NULL stands for zeros, or for a result that nobody asked for."""


@dataclass(frozen=True)
class ByValue:
    parameter: str


@dataclass(frozen=True)
class Captured:
    number: int


@dataclass(frozen=True)
class Returned:
    pass


@dataclass(frozen=True)
class Unwanted:
    pass


Place: TypeAlias = At | ByValue | Captured | Returned | Unwanted


@dataclass(frozen=True)
class KernelArray:
    """An array of a kernel in C order."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[Int, ...]


@dataclass(frozen=True)
class CKernel:
    """What a C function has to know of a kernel."""

    inputs: tuple[KernelArray, ...]
    outputs: tuple[KernelArray, ...]
    arena: Int
    checked: bool
    facts: tuple[tuple[str, Int, bool], ...] = ()
    """What must be true of the sizes: a relation, the number that it compares with 0, the
    answer."""


@dataclass(frozen=True)
class CFunction:
    """One C function around a kernel."""

    name: str
    parameters: tuple[CParameter, ...]
    returns: OneOf["status", "success", "value", "nothing", "xla"]
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    sizes: tuple[tuple[str, Int], ...] = ()
    """Parameters that must have these values; one that stands for a symbol gives it its value."""
    work: str = ""
    """The parameter that shows memory for temporaries, where it is not NULL."""
    user: str = ""
    """The parameter that shows the addresses of captured arrays, where it is not NULL."""
    finite: bool = True
    """Whether a NaN among the results is a failure, where failures are told."""
    skips: str = ""
    """A pointer parameter that may be NULL: the structure is asked for, and stored instead."""
    structure: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """What is stored then: pointers to int32, and the numbers."""

    messages: tuple[str, ...] = ()
    """For "xla": by status, the last for all others."""

    def parameter(self, name: str) -> CParameter:
        return next(p for p in self.parameters if p.name == name)


def checked_places(function: CFunction, kernel: CKernel) -> None:
    """An AssertionError for a function whose places do not fit its kernel."""
    assert len(function.inputs) == len(kernel.inputs)
    assert len(function.outputs) == len(kernel.outputs)
    names = [p.name for p in function.parameters]
    assert len(set(names)) == len(names), names
    for place in (*function.inputs, *function.outputs):
        if isinstance(place, (At, ByValue)):
            kind = function.parameter(place.parameter).kind
            assert (kind == "pointer") == isinstance(place, At), (place, kind)
    assert sum(isinstance(p, Returned) for p in function.outputs) == (function.returns == "value")
    if function.returns == "nothing":
        # What is filled after a failure is known before anything can fail.
        assert not function.sizes
        assert not kernel.facts
        assert all(isinstance(p, At) and p == At(p.parameter) for p in function.outputs)


def size_of(shape: Sequence[Int]) -> Int:
    """The elements of an array."""
    total: Int = 1
    for extent in shape:
        total = total * extent
    return total


__all__ = [
    "FAILURES",
    "NOT_A_NUMBER",
    "NO_MEMORY",
    "THREAD",
    "THREAD_KIND",
    "WORDS",
    "WRONG_SIZE",
    "At",
    "ByValue",
    "CFunction",
    "CKernel",
    "CParameter",
    "Captured",
    "KernelArray",
    "Kind",
    "Place",
    "Returned",
    "Unwanted",
    "checked_places",
    "size_of",
]
