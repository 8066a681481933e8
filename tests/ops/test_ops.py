"""Every row of the op table: values, types, derivatives to second order, jit, the un-jitted source,
vmap, errors."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from typing import Any

import numpy as np
import pytest

import tests.cases as case_package
import tracegrad as tg
from tests.cases import Case, half, mostly
from tests.checks import (
    as_tuple,
    assert_same,
    check_first_order,
    check_second_order,
    differentiable_outputs,
    floating,
    like,
)
from tests.unjitted import run_unjitted
from tracegrad.ir.evaluate import evaluate
from tracegrad.transforms.rewrite import optimize

CASES: list[Case] = [
    case
    for module in sorted(m.name for m in pkgutil.iter_modules(case_package.__path__))
    for case in importlib.import_module(f"tests.cases.{module}").CASES
]


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
    from tracegrad.control import block, branch, repeat, scan_rules, sized
    from tracegrad.ops import OPS

    covered = {name for c in CASES for name in c.ops}
    assert {
        op.name for m in (block, branch, repeat, scan_rules, sized) for op in m.OPS
    } - covered == set()
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


@pytest.mark.parametrize("case", mostly([c for c in CASES if c.order >= 2], 3), ids=ids)
def test_second_derivatives(case: Case) -> None:
    """Of a row for each operation, and one in three of the others (with --soak 1 of all)."""
    rng = rng_for(case)
    arrays = case.inputs(rng)
    check_second_order(case.function, arrays, floating(arrays, case.wrt), case.tolerance * 10, rng)


def projected_gradient(case: Case, arrays: tuple[Any, ...]) -> Any:
    """The gradient of half the squared size of all floating results."""

    def projected(*xs: Any) -> Any:
        return sum(
            np.sum(np.real(o * np.conj(o))) / 2
            for o in as_tuple(case.function(*xs))
            if o.dtype.kind in "fc"
        )

    return tg.grad(projected, tuple(floating(arrays, case.wrt)))


def graph_and_inputs(function: Any, arrays: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    entry = tg.jit(function)._entry(arrays, {})[0]
    return optimize(entry.graph), [*arrays, *entry.traced.captures]


@pytest.mark.parametrize("case", [c for c in CASES if c.jit], ids=ids)
def test_generated_source_equals_eager(case: Case) -> None:
    """The generated source as plain Python, on all inputs, special ones too."""
    for arrays in (case.inputs(rng_for(case)), *case.special):
        assert_same(
            tuple(run_unjitted(*graph_and_inputs(case.function, arrays))),
            case.function(*arrays),
            1e-12,
        )


@pytest.mark.parametrize("case", [c for c in CASES if c.jit and c.order == 0], ids=ids)
def test_jit_equals_eager(case: Case) -> None:
    arrays = case.inputs(rng_for(case))
    assert_same(tg.jit(case.function)(*arrays), case.function(*arrays), 1e-12)


@pytest.mark.parametrize("case", half([c for c in CASES if c.jit and c.order >= 1], 12), ids=ids)
def test_jitted_value_and_gradient_equal_eager(case: Case) -> None:
    """Results and gradient compiled as one kernel: of every other row that is the first of an
    operation, and one in 24 of the others; `test_generated_source_equals_eager` runs all."""
    arrays = case.inputs(rng_for(case))

    def both(*xs: Any) -> Any:
        return as_tuple(case.function(*xs)), projected_gradient(case, arrays)(*xs)

    outs, gradient = tg.jit(both)(*arrays)
    assert_same(outs, case.function(*arrays), 1e-12)
    assert_same(gradient, projected_gradient(case, arrays)(*arrays), 1e-10, floor=1e-15)


@pytest.mark.parametrize("case", half([c for c in CASES if c.jit and c.order >= 2], 3), ids=ids)
def test_second_derivatives_traced(case: Case) -> None:
    """Forward over reverse and reverse over forward mode inside one trace, against eager ones: of
    every other row that is the first of an operation, and one in six of the others."""
    arrays = case.inputs(rng_for(case))
    wrt = floating(arrays, case.wrt)
    directions = [like(np.random.default_rng(3), arrays[k]) for k in wrt]

    def full(xs: Any) -> list[Any]:
        rest = iter(xs)
        return [next(rest) if k in wrt else a for k, a in enumerate(arrays)]

    def forward_over_reverse(*xs: Any) -> Any:
        return tg.jvp(
            lambda *ys: projected_gradient(case, arrays)(*full(ys)), xs, tuple(directions)
        )[1]

    def reverse_over_forward(*xs: Any) -> Any:
        def along(*ys: Any) -> Any:
            outs = differentiable_outputs(case.function)
            tangents = as_tuple(tg.jvp(lambda *zs: outs(*full(zs)), ys, tuple(directions))[1])
            return sum(np.sum(np.real(t * np.conj(t))) for t in tangents)

        return tg.grad(along, tuple(range(len(wrt))))(*xs)

    chosen = tuple(np.asarray(arrays[k]) for k in wrt)
    for function in (forward_over_reverse, reverse_over_forward):
        entry = tg.jit(function)._entry(chosen, {})[0]
        found = evaluate(entry.graph, [*chosen, *entry.traced.captures])
        assert_same(tuple(found), function(*chosen), 1e-9)


def test_special_values_compiled() -> None:
    """NaN, infinities, signed zeros, subnormal and huge numbers through the native elementary
    functions, in one kernel per dtype."""
    names = [
        "exp",
        "expm1",
        "log",
        "log1p",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "arctan",
        "tanh",
        "sinh",
        "cosh",
        "sigmoid",
        "softplus",
        "erf",
        "erfc",
        "abs",
        "sign",
        "floor",
        "ceil",
        "cbrt",
        "square",
        "reciprocal",
        "lgamma",
    ]
    for dtype in (np.float64, np.float32):
        x = np.array(
            [
                np.nan,
                np.inf,
                -np.inf,
                0.0,
                -0.0,
                1e-40,
                -1e-40,
                1e30,
                -1e30,
                0.5,
                -2.5,
                700.0,
                -700.0,
            ],
            dtype,
        )

        def everything(x: Any) -> Any:
            return tuple(getattr(tg.ops, name)(x) for name in names)

        assert_same(tg.jit(everything)(x), everything(x), 1e-12)


def batch_of(case: Case) -> tuple[tuple[Any, ...], tuple[int | None, ...]]:
    """Inputs for a batch of three, and the axes along which they lie."""
    batches = [case.inputs(np.random.default_rng(seed)) for seed in (1, 2, 3)]
    moving = [
        k
        for k, column in enumerate(zip(*batches, strict=True))
        if isinstance(column[0], (np.ndarray, np.generic))
        and len({np.shape(c) for c in column}) == 1
        and not all(np.array_equal(c, column[0]) for c in column)
    ]
    if not moving:
        moving = [k for k, a in enumerate(batches[0]) if isinstance(a, np.ndarray)]
    arrays = tuple(
        np.stack([b[k] for b in batches]) if k in moving else a for k, a in enumerate(batches[0])
    )
    return arrays, tuple(0 if k in moving else None for k in range(len(arrays)))


@pytest.mark.parametrize("case", mostly([c for c in CASES if c.vmap], 3), ids=ids)
def test_vmap_equals_a_loop(case: Case) -> None:
    """Of a row for each operation, and one in three of the others (with --soak 1 of all)."""
    arrays, axes = batch_of(case)
    singles = [
        [a if axis is None else np.asarray(a[k]) for a, axis in zip(arrays, axes, strict=True)]
        for k in range(3)
    ]
    expected = [as_tuple(case.function(*s)) for s in singles]
    found = tg.vmap(case.function, in_axes=axes)(*arrays)
    assert_same(found, tuple(np.stack(column) for column in zip(*expected, strict=True)), 1e-12)


@pytest.mark.parametrize(
    ("case", "k"),
    [(c, k) for c in CASES for k in range(len(c.errors))],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_errors(case: Case, k: int) -> None:
    arguments, exception, pattern = case.errors[k]
    with pytest.raises(exception, match=pattern):
        case.function(*arguments)
