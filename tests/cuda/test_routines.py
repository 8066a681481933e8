"""Routines that CuPy computes on a GPU, on the simulator with NumPy in CuPy's place: operands,
results and failures arrive where they belong."""

from __future__ import annotations

import importlib
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from tracegrad.codegen.cuda import driver

import tracegrad as tg
from tests.cases import Case
from tests.checks import as_tuple, assert_same
from tests.cuda.common import host
from tests.ops.test_ops import CASES, ids, rng_for

NAMES = (
    "argsort",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "pinv",
    "qr",
    "searchsorted",
    "slogdet",
    "solve",
    "sort",
    "svd",
    "svdvals",
    "triangular_solve",
)
ROWS = [c for c in CASES if any(c.name.startswith(n) for n in NAMES)]


def solve_triangular(a: Any, b: Any, **options: Any) -> Any:
    """SciPy's, of stacks too, as CuPy's is."""
    if a.ndim == 2:
        return scipy.linalg.solve_triangular(a, b, **options)
    return np.stack([solve_triangular(m, rhs, **options) for m, rhs in zip(a, b, strict=True)])


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the routines that the library computed."""
    module = importlib.import_module("tracegrad.codegen.cuda.arrays")
    if driver.simulated():
        stand_in = module.Arrays(
            np,
            solve_triangular,
            nullcontext,
            lambda index, layout: driver.native(index, layout)._ary,
        )
        monkeypatch.setattr(module, "arrays", lambda: stand_in)
    elif module.arrays() is None:
        pytest.skip("CuPy is not installed")
    names: list[str] = []

    def noted(name: str, routine: Any) -> Any:
        return lambda *operands: (names.append(name), routine(*operands))

    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(
        module,
        "ROUTINES",
        {name: noted(name, routine) for name, routine in module.ROUTINES.items()},
    )
    return names


@pytest.mark.parametrize("case", ROWS, ids=ids)
def test_values(case: Case, used: list[str]) -> None:
    arrays = case.inputs(rng_for(case))
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for device in ("cpu", "cuda"):
            given = [
                tg.tensor(a, device=device) if isinstance(a, (np.ndarray, np.generic)) else a
                for a in arrays
            ]
            found.append(tuple(map(host, as_tuple(case.function(*given)))))
    assert_same(found[1], found[0], 1e-11)


def test_every_routine_is_reached(used: list[str]) -> None:
    rng = np.random.default_rng(1)
    a, b = (tg.tensor(rng.normal(size=(12, 12)) + 12 * np.eye(12), device="cuda") for _ in range(2))
    stack = tg.stack([a, b])
    for f in (
        tg.linalg.inv,
        tg.linalg.det,
        tg.linalg.slogdet,
        tg.linalg.qr,
        tg.linalg.svd,
        tg.linalg.svdvals,
        tg.linalg.pinv,
    ):
        f(stack)
    (
        tg.linalg.solve(a, b),
        tg.linalg.eigh(a @ a.T),
        tg.linalg.eigvalsh(a @ a.T),
        tg.linalg.cholesky(stack @ stack.swapaxes(-1, -2)),
    )
    (
        tg.linalg.triangular_solve(a, b, True),
        tg.sort(a),
        tg.argsort(a),
        tg.searchsorted(tg.sort(a[0]), b),
        tg.quantile(a, 0.3),
        np.partition(a.reshape(-1), 3),
        np.partition(a.reshape(-1), (3, 50)),
        np.argpartition(a.reshape(-1), 3),
    )
    tg.jit(lambda x, y, w: (x * w) @ y)(a, b, a[0])
    missed = {"argsort_last", "sort", "sort_last", "matmul_batched_scaled", "matmul_scaled"}
    known = importlib.import_module("tracegrad.codegen.cuda.arrays").ROUTINES
    # Matrices of many rows, or of a number that is not known, have names of their own for the same.
    reached, there = ({n.removeprefix("blocked_") for n in names} for names in (used, known))
    assert there - reached <= missed


@pytest.mark.parametrize("name", ["solve", "inv", "cholesky"])
def test_failures(name: str, used: list[str]) -> None:
    singular = tg.tensor(-np.ones((12, 12)), device="cuda")
    call = (
        (lambda: tg.linalg.solve(singular, singular))
        if name == "solve"
        else lambda: getattr(tg.linalg, name)(singular)
    )
    with pytest.raises(np.linalg.LinAlgError):
        call().cpu()
    assert used
