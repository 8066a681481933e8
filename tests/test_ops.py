"""Every row of the op table: values, types, derivatives to second order, jit, the un-jitted source, vmap, errors."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from typing import Any

import numpy as np
import pytest

import tests.cases as case_package
import tracegrad as tg
from tests.cases import Case
from tests.checks import as_tuple, assert_same, check_first_order, check_second_order, floating
from tracegrad.ir.dispatch import NO_PARAMS

CASES: list[Case] = [
    case
    for module in sorted(m.name for m in pkgutil.iter_modules(case_package.__path__))
    for case in importlib.import_module(f"tests.cases.{module}").CASES
]
assert NO_PARAMS == {}


def ids(case: Case) -> str:
    return case.name


def rng_for(case: Case) -> np.random.Generator:
    return np.random.default_rng(sum(map(ord, case.name)))


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def test_names_are_unique() -> None:
    names = [c.name for c in CASES]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)


def test_every_primitive_has_a_row() -> None:
    from tracegrad.ops import OPS

    covered = {name for c in CASES for name in c.ops}
    assert {op.name for op in OPS} - covered == set()


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_values_equal_numpy(case: Case) -> None:
    for arrays in (case.inputs(rng_for(case)), *case.special):
        assert_same(case.function(*arrays), case.numpy(*arrays), 1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c.order >= 1], ids=ids)
def test_first_derivatives(case: Case) -> None:
    rng = rng_for(case)
    arrays = case.inputs(rng)
    wrt = floating(arrays, case.wrt)
    assert wrt
    check_first_order(case.function, arrays, wrt, case.tolerance, rng)


@pytest.mark.parametrize("case", [c for c in CASES if c.order >= 2], ids=ids)
def test_second_derivatives(case: Case) -> None:
    rng = rng_for(case)
    arrays = case.inputs(rng)
    check_second_order(case.function, arrays, floating(arrays, case.wrt), case.tolerance * 10, rng)


@pytest.mark.parametrize("case", [c for c in CASES if c.jit], ids=ids)
def test_jit_equals_eager(case: Case) -> None:
    compiled = tg.jit(case.function)
    for arrays in (case.inputs(rng_for(case)), *case.special):
        assert_same(compiled(*arrays), case.function(*arrays), 1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c.jit and c.order >= 1], ids=ids)
def test_jitted_gradient_equals_eager(case: Case) -> None:
    arrays = case.inputs(rng_for(case))
    wrt = tuple(floating(arrays, case.wrt))

    def projected(*xs: Any) -> Any:
        return sum(np.sum(np.real(o * np.conj(o))) for o in as_tuple(case.function(*xs)) if o.dtype.kind in "fc")

    eager = tg.grad(projected, wrt)(*arrays)
    assert_same(tg.jit(tg.grad(projected, wrt))(*arrays), eager, 1e-10)


@pytest.mark.parametrize("case", [c for c in CASES if c.vmap], ids=ids)
def test_vmap_equals_a_loop(case: Case) -> None:
    batches = [case.inputs(np.random.default_rng(seed)) for seed in (1, 2, 3)]
    moving = [k for k, column in enumerate(zip(*batches, strict=True)) if isinstance(column[0], (np.ndarray, np.generic))
              and len({np.shape(c) for c in column}) == 1 and not all(np.array_equal(c, column[0]) for c in column)]
    if not moving:
        moving = [k for k, a in enumerate(batches[0]) if isinstance(a, np.ndarray)]
    arrays = [np.stack([b[k] for b in batches]) if k in moving else a for k, a in enumerate(batches[0])]
    singles = [[np.asarray(b[k]) if k in moving else batches[0][k] for k in range(len(arrays))] for b in batches]
    expected = [as_tuple(case.function(*s)) for s in singles]
    found = tg.vmap(case.function, in_axes=tuple(0 if k in moving else None for k in range(len(arrays))))(*arrays)
    assert_same(found, tuple(np.stack(column) for column in zip(*expected, strict=True)), 1e-12)


@pytest.mark.parametrize(("case", "k"), [(c, k) for c in CASES for k in range(len(c.errors))], ids=lambda x: getattr(x, "name", str(x)))
def test_errors(case: Case, k: int) -> None:
    arguments, exception, pattern = case.errors[k]
    with pytest.raises(exception, match=pattern):
        case.function(*arguments)
