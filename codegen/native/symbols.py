"""Addresses of compiled routines, SciPy's and our own, under names by which compiled code refers to
them.

A raw address in compiled code would make it unfit for the disk; a name is resolved anew in each
process.
"""

from __future__ import annotations

import re

import llvmlite.binding as binding
from numba.core import types
from numba.extending import get_cython_function_address

from .. import sparse_lu
from ..loading import imported

PREFIX = "tracegrad_"
BLAS, LAPACK, SPECIAL = (
    "scipy.linalg.cython_blas",
    "scipy.linalg.cython_lapack",
    "scipy.special.cython_special",
)
OWN = "prebuilt"
PYTHON = "python"
"""C functions that are Python's: what they do, no compiled library offers to others."""
_KEYS = {BLAS: "blas", LAPACK: "lapack", SPECIAL: "special", OWN: "own", PYTHON: "python"}

_registered: set[str] = set()


def external(name: str, signature: object) -> types.ExternalFunction:
    """A native function that compiled code calls by name; `name` is `module key + routine`, as
    `register` takes it."""
    register(name)
    return types.ExternalFunction(name, signature)


def symbol(module: str, routine: str) -> str:
    """The name under which a routine is known to compiled code."""
    return f"{PREFIX}{_KEYS[module]}_{routine}"


def is_ours(name: str) -> bool:
    """Whether `register` takes this name."""
    return re.fullmatch(rf"{PREFIX}(?:{'|'.join(_KEYS.values())})_\w+", name) is not None


def register(name: str) -> None:
    """Make one name known to the linker; it must be called before code that mentions it is
    loaded."""
    if name in _registered:
        return
    key, routine = name.removeprefix(PREFIX).split("_", 1)
    module = next(m for m, k in _KEYS.items() if k == key)
    if module == OWN:
        binding.add_symbol(name, imported(".prebuilt", __package__).address(routine))
    elif module == PYTHON:
        binding.add_symbol(name, sparse_lu.address(routine))
    else:
        binding.add_symbol(
            name,
            get_cython_function_address(
                module, _special_name(routine) if module == SPECIAL else routine
            ),
        )
    _registered.add(name)


def _special_name(routine: str) -> str:
    """SciPy numbers the types of one function in an order of its own: take the one over doubles by
    its signature."""
    capsules = imported(SPECIAL).__pyx_capi__
    for name in (routine, *(f"__pyx_fuse_{k}{routine}" for k in range(4))):
        if name in capsules and re.search(r'"(double|void) \(double', repr(capsules[name])):
            return name
    raise LookupError(f"SciPy has no compiled routine {routine} over doubles")
