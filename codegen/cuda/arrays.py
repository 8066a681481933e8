"""Library routines on a device through CuPy, where that is installed: factorizations by cuSOLVER,
sorting by CUB and Thrust, products with a scale by cuBLAS (blas.py asks it for the others).

Each routine is written against an array module, so that NumPy can stand in for CuPy in tests.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..addresses import address_of
from . import driver

Layout = np.ndarray[Any, Any]
LARGE = 1 << 21
"""Multiplications from which on a product with a scale is computed so. An estimate: the calls cost
more time on the host, the tiles less on the device."""


@dataclass(frozen=True)
class Arrays:
    """An array module, and what it keeps elsewhere."""

    module: Any
    solve_triangular: Callable[..., Any]
    within: Callable[[int], AbstractContextManager[Any]]
    """In which it works on the device of this number, and a failed factorization raises
    LinAlgError."""
    on: Callable[[int, Layout], Any]
    """An array of the module on a layout's memory, on the device of this number."""


@functools.cache
def arrays() -> Arrays | None:
    """CuPy, or None where it is not installed (or Numba's simulator stands in for a GPU)."""
    if driver.simulated() or importlib.util.find_spec("cupy") is None:
        return None
    cupy, beside = importlib.import_module("cupy"), importlib.import_module("cupyx")
    solve_triangular = importlib.import_module("cupyx.scipy.linalg").solve_triangular

    memory, pointer = cupy.cuda.UnownedMemory, cupy.cuda.MemoryPointer

    def on(index: int, layout: Layout) -> Any:
        # A layout is the owner of its memory. (`asarray` takes ten times as long.)
        address = address_of(layout) if layout.size else 0
        place = pointer(memory(address, layout.nbytes, layout, index), 0)
        return cupy.ndarray(layout.shape, layout.dtype, place, strides=layout.strides)

    @contextmanager
    def within(index: int) -> Iterator[None]:
        with cupy.cuda.Device(index), beside.errstate(linalg="raise"):
            yield

    return Arrays(cupy, solve_triangular, within, on)


def by_library(index: int, name: str, operands: list[Any]) -> bool:
    """Run a routine by the library; False where it has none, or none is installed."""
    found, routine = arrays(), ROUTINES.get(name)
    if found is None or routine is None or (name.startswith("matmul") and not _worth(operands)):
        return False
    given = [found.on(index, x) if isinstance(x, np.ndarray) else x for x in operands]
    try:
        with found.within(index):
            routine(found, *given)
    except np.linalg.LinAlgError:
        # The routines that can fail end in (status, code).
        status, code = given[-2:]
        if int(status[0]) == 0:
            status[0], status[1] = code, 1
    return True


def _worth(operands: list[Any]) -> bool:
    a, _, _, out, turned_a, *_ = operands
    inner = a.shape[-2 if turned_a else -1]
    return bool(out.dtype.kind in "fc" and out.size * inner >= LARGE)


def _turned(x: Any, turned: bool) -> Any:
    return x.swapaxes(-1, -2) if turned else x


def _matmul_scaled(
    x: Arrays, a: Any, b: Any, scale: Any, out: Any, turned_a: bool, turned_b: bool
) -> None:
    first = _turned(a, turned_a)
    weights = scale.reshape(-1) if a.ndim == 2 else scale.reshape(-1, 1, first.shape[-1])
    x.module.matmul(first * weights, _turned(b, turned_b), out=out)


def _solve(x: Arrays, a: Any, b: Any, out: Any, status: Any, code: int) -> None:
    out[...] = x.module.linalg.solve(a, b)


def _inv(x: Arrays, a: Any, out: Any, status: Any, code: int) -> None:
    out[...] = x.module.linalg.inv(a)


def _det(x: Arrays, a: Any, out: Any) -> None:
    out[...] = x.module.linalg.det(a)


def _slogdet(x: Arrays, a: Any, sign: Any, size: Any) -> None:
    sign[...], size[...] = x.module.linalg.slogdet(a)


def _cholesky(x: Arrays, a: Any, out: Any, status: Any, code: int) -> None:
    out[...] = x.module.linalg.cholesky(a)


def _qr(x: Arrays, a: Any, q: Any, r: Any) -> None:
    q[...], r[...] = x.module.linalg.qr(a)


def _eigh(x: Arrays, a: Any, values: Any, vectors: Any, status: Any, code: int) -> None:
    values[...], vectors[...] = x.module.linalg.eigh(a)


def _eigvalsh(x: Arrays, a: Any, values: Any, status: Any, code: int) -> None:
    values[...] = x.module.linalg.eigvalsh(a)


def _svdvals(x: Arrays, a: Any, s: Any, status: Any, code: int) -> None:
    s[...] = x.module.linalg.svd(a, compute_uv=False)


def _svd(x: Arrays, a: Any, u: Any, s: Any, vh: Any, status: Any, code: int) -> None:
    u[...], s[...], vh[...] = x.module.linalg.svd(a, full_matrices=False)


def _triangular_solve(
    x: Arrays, a: Any, b: Any, out: Any, lower: bool, trans: int, unit: bool, status: Any, code: int
) -> None:
    if not unit and not bool((x.module.diagonal(a, 0, -2, -1) != 0).all()):
        raise np.linalg.LinAlgError("a zero on the diagonal")
    if out.size:
        out[...] = x.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit)


def _pinv(x: Arrays, a: Any, out: Any, rcond: float, status: Any, code: int) -> None:
    out[...] = x.module.linalg.pinv(a, rcond)


def _sort(x: Arrays, a: Any, out: Any, axis: int = -1) -> None:
    out[...] = x.module.sort(a, axis=axis)


def _argsort(x: Arrays, a: Any, out: Any, axis: int = -1) -> None:
    out[...] = x.module.argsort(a, axis=axis, kind="stable")


def _ranked(x: Arrays, a: Any, ranks: Any, out: Any) -> None:
    order = x.module.argsort(a, axis=-1, kind="stable")
    out[...] = x.module.take_along_axis(order, ranks, -1)


def _partitioned(x: Arrays, a: Any, ranks: Any, out: Any) -> None:
    _argsort(x, a, out)


def _parted(x: Arrays, a: Any, ranks: Any, out: Any) -> None:
    # In the order of `partitioned`, which is what derivatives follow.
    out[...] = x.module.take_along_axis(a, x.module.argsort(a, axis=-1, kind="stable"), -1)


def _searchsorted(x: Arrays, a: Any, v: Any, out: Any, right: bool) -> None:
    out[...] = x.module.searchsorted(a, v, "right" if right else "left")


ROUTINES: dict[str, Callable[..., None]] = {
    "argsort": _argsort,
    "argsort_last": _argsort,
    "cholesky": _cholesky,
    "det": _det,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "inv": _inv,
    "matmul_batched_scaled": _matmul_scaled,
    "matmul_scaled": _matmul_scaled,
    "parted": _parted,
    "partitioned": _partitioned,
    "partitioned_by_one": _partitioned,
    "pinv": _pinv,
    "qr": _qr,
    "ranked": _ranked,
    "searchsorted": _searchsorted,
    "slogdet": _slogdet,
    "solve": _solve,
    "sort": _sort,
    "sort_last": _sort,
    "svd": _svd,
    "svdvals": _svdvals,
    "triangular_solve": _triangular_solve,
}
ROUTINES |= {
    f"blocked_{name}": ROUTINES[name]
    for name in (
        "cholesky", "det", "eigh", "eigvalsh", "inv", "qr", "slogdet", "solve", "svdvals",
        "triangular_solve",
    )
}  # fmt: skip

__all__ = ["Arrays", "arrays", "by_library"]
