"""Routines of BLAS and LAPACK as plain loops, for C libraries that are linked without either.

A process has SciPy's, which are faster. These take the same arguments, and do what this package
asks of the originals: increments are 1, of two triangles the one that is named here is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import factors, products, singular_values, spectra

REAL, ALL = "sd", "sdcz"
LETTERS = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}

_Entry = Callable[[str], Callable[..., None]]
ROUTINES: dict[str, tuple[str, _Entry, Callable[[str], Any]]] = {
    "gemv": (ALL, products.gemv, products.gemv_signature),
    "gemm": (ALL, products.gemm, products.gemm_signature),
    "trsm": (ALL, products.trsm, products.trsm_signature),
    "getrf": (ALL, factors.getrf, factors.getrf_signature),
    "gesv": (ALL, factors.gesv, factors.gesv_signature),
    "potrf": (ALL, factors.potrf, factors.potrf_signature),
    "geqrf": (ALL, factors.geqrf, factors.geqrf_signature),
    "orgqr": (REAL, factors.orgqr, factors.orgqr_signature),
    "ungqr": ("cz", factors.orgqr, factors.orgqr_signature),
    "syevd": (REAL, spectra.syevd, spectra.syevd_signature),
    "sytrd": (REAL, spectra.sytrd, spectra.sytrd_signature),
    "sterf": (REAL, spectra.sterf, spectra.sterf_signature),
    "bdsqr": (REAL, spectra.bdsqr, spectra.bdsqr_signature),
    "gesdd": (REAL, singular_values.gesdd, singular_values.gesdd_signature),
}
"""Each routine's dtypes, how it is made, and its arguments."""


def entry(name: str) -> tuple[Callable[..., None], Any] | None:
    """The Python function and the signature of a routine under its Fortran name (`dgetrf`)."""
    letter, stem = name[0], name[1:]
    letters, made, signature = ROUTINES.get(stem, ("", None, None))
    if letter not in letters or made is None or signature is None:
        return None
    return made(LETTERS[letter]), signature(LETTERS[letter])


__all__ = ["ROUTINES", "entry"]
