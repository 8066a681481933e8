"""Routines of our own that compiled code calls by name: compiled once, kept on disk like kernels,
never compiled into a kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache as memoised
from typing import Any

from numba import cfunc

from ..disk import cache
from ..disk.entry import DiskEntry
from ..disk.stored import CODE, called_by, introduce, library_of, object_code
from ..translation.direct import DirectCompiler
from . import (
    band_factors,
    bands,
    bidiagonal,
    chosen,
    dense,
    divided,
    elimination,
    gemm,
    levinson,
    orthogonal,
    positive,
    small,
    tridiagonal,
)
from .fourier import transform

FAMILIES: dict[str, tuple[Callable[[str], Callable[..., None]], Callable[[str], Any]]] = {
    "gemm": (gemm.entry, gemm.entry_signature),
    "eliminate": (small.eliminate, small.eliminate_signature),
    "cholesky": (small.cholesky, small.cholesky_signature),
    "triangular": (small.triangular, small.triangular_signature),
    "substitute": (dense.substitute, dense.substitute_signature),
    "lu": (elimination.lu, elimination.lu_signature),
    "factored": (elimination.factored, elimination.factored_signature),
    "inverse": (elimination.inverse, elimination.inverse_signature),
    "factor": (positive.factor, positive.factor_signature),
    "adjoint": (positive.adjoint, positive.adjoint_signature),
    "tangent": (positive.tangent, positive.tangent_signature),
    "qr": (orthogonal.qr, orthogonal.qr_signature),
    "tridiagonal": (tridiagonal.tridiagonal, tridiagonal.tridiagonal_signature),
    "divided": (divided.divided, divided.divided_signature),
    "back": (tridiagonal.back, tridiagonal.back_signature),
    "bidiagonal": (bidiagonal.bidiagonal, bidiagonal.bidiagonal_signature),
    "bands": (bands.eliminate, bands.bands_signature),
    "banded": (band_factors.banded, band_factors.banded_signature),
    "levinson": (levinson.levinson, levinson.levinson_signature),
    "chosen": (chosen.chosen, chosen.chosen_signature),
    "fourier": (transform.entry, transform.entry_signature),
}

ROUTINES = tuple(f"{family}_{dtype}" for family in FAMILIES for dtype in ("float64", "float32"))


@memoised
def address(name: str) -> int:
    """The address of the routine `family_dtype`, which takes all its arguments by address; compiled
    at first use on a machine."""
    family, dtype = name.split("_")
    entry, signature = FAMILIES[family]
    loaded: list[Any] = []

    def build() -> tuple[int, DiskEntry]:
        compiled = cfunc(
            signature(dtype), error_model="numpy", _nrt=False, pipeline_class=DirectCompiler
        )(entry(dtype))
        library = compiled._library
        loaded.append(compiled)
        data = {
            "library": library.name,
            "called": called_by(library),
            "native": compiled.native_name,
        }
        return int(compiled.address), DiskEntry(data, {CODE: object_code(library)})

    def load(kept: DiskEntry) -> int:
        native = kept.text("native")
        introduce(kept.texts("called"))
        library = library_of(kept.text("library"), kept.part(CODE), [native])
        loaded.append(library)
        return int(library.get_pointer_to_function(native))

    folder = cache.FOLDER[0]
    found = (
        build()[0]
        if folder is None
        else int(cache.fetch(folder, cache.key_of("", name), build, load))
    )
    _KEPT.extend(loaded)
    return found


_KEPT: list[Any] = []
"""What owns the machine code."""
