"""Elements by their places in the order, found without sorting: the places and the order of equals
that a stable sort gives, for whatever the elements are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numba import njit
from tracegrad.codegen.native import routines

import tracegrad as tg
from tracegrad.ops.totals import selection

SIZES = (1, 2, 15, 24, 25, 33, 64, 300, 9000)


def of_kind(kind: str, n: int) -> Any:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    return {
        "numbers": lambda: x,
        "equals": lambda: np.round(x),
        "sorted": lambda: np.arange(n) * -1.0,
        "one": lambda: np.zeros(n),
        "zeros": lambda: np.where(x < 0, 0.0, -0.0),
        "NaN": lambda: np.where(x < -1, np.nan, x),
        "only NaN": lambda: np.full(n, np.nan),
        "ends": lambda: rng.choice([np.inf, -np.inf, np.nan, 5e-324, -1.7e308, 0.0], size=n),
        "sizes": lambda: 10.0 ** rng.uniform(-300, 300, n),
        "float32": lambda: np.where(x > 1, np.nan, x).astype(np.float32),
        "int64": lambda: rng.integers(-(2**63), 2**63 - 1, n),
        "uint64": lambda: rng.integers(0, 2**64 - 1, n, np.uint64),
        "int8": lambda: rng.integers(-128, 127, n, np.int8),
        "bool": lambda: x < 0,
    }[kind]()


ranked, partitioned = routines.ranked, routines.partitioned
parted, partitioned_by_one = routines.parted, routines.partitioned_by_one
COMPILED = {
    "ranked": njit(lambda x, ranks, out: ranked(x, ranks, out)),
    "partitioned": njit(lambda x, ranks, out: partitioned(x, ranks, out)),
    "partitioned_by_one": njit(lambda x, ranks, out: partitioned_by_one(x, ranks, out)),
    "parted": njit(lambda x, ranks, out: parted(x, ranks, out)),
}
ALIKE = ("uint64", "int8")
"""Compiled as other kinds of integers are."""


@pytest.mark.parametrize("way", ["eager", "compiled"])
@pytest.mark.parametrize(
    "kind",
    ["numbers", "equals", "sorted", "one", "zeros", "NaN", "only NaN", "ends", "sizes", "float32",
     "int64", "uint64", "int8", "bool"],
)  # fmt: skip
def test_places_are_those_of_a_stable_sort(kind: str, way: str) -> None:
    if way == "compiled" and kind in ALIKE:
        pytest.skip("one kind of integers is enough")

    def applied(name: str, x: Any, ranks: Any) -> Any:
        if way == "eager":
            return getattr(selection, f"{name}_op").evaluate(x, ranks)
        out = np.full(ranks.shape if name == "ranked" else x.shape, -1)
        COMPILED[name](x, ranks, out)
        return out

    for n in SIZES:
        x = np.stack([of_kind(kind, n), of_kind(kind, n)[::-1]])
        order = np.argsort(x, -1, kind="stable")
        for wanted in ([n // 2], [n - 1, n // 3, 0, min(n // 3 + 1, n - 1), n // 2]):
            ranks = np.array([wanted, wanted])
            np.testing.assert_array_equal(applied("ranked", x, ranks), order[:, wanted])
            found = applied("partitioned", x, ranks)
            if x.dtype.kind == "f" and len(wanted) == 1:
                by_one, values = np.zeros_like(found), np.zeros_like(x)
                COMPILED["partitioned_by_one"](x, ranks, by_one)
                np.testing.assert_array_equal(by_one, found)
                COMPILED["parted"](x, ranks, values)
                # To the bits: of zeros too, which count as equal.
                assert values.tobytes() == np.take_along_axis(x, found, -1).tobytes()
            np.testing.assert_array_equal(found[:, wanted], order[:, wanted])
            edges = [0, *sorted(set(wanted)), n]
            for low, high in itertools.pairwise(edges):
                inside = np.sort(order[:, low:high])
                np.testing.assert_array_equal(np.sort(found[:, low:high]), inside)


def test_each_lane_has_its_own_places() -> None:
    x = of_kind("NaN", 9000).reshape(3, 3000)
    x[1, :2000] = np.nan
    expected = np.nanmedian(x, -1)
    for f in (lambda x: tg.nanmedian(x, -1), tg.jit(lambda x: tg.nanmedian(x, -1))):
        np.testing.assert_array_equal(f(x), expected)


@pytest.mark.parametrize("way", [lambda f: f, tg.jit], ids=["eager", "compiled"])
def test_of_equals_the_one_a_stable_sort_chooses_has_the_derivative(way: Any) -> None:
    x, weights = of_kind("equals", 300), np.arange(300.0)
    for k in (10, 150, 299):
        by_sorting = tg.grad(lambda x, k=k: (tg.sort(x) * (weights == k)).sum())(x)
        by_place = way(tg.grad(lambda x, k=k: np.partition(x, k)[k]))(x)
        np.testing.assert_array_equal(by_place, by_sorting)
    many = np.linspace(0, 1, 20)
    few = [way(tg.grad(lambda x, q=q: tg.quantile(x, q)))(x) for q in many[[3, 8]]]
    of_many = way(tg.grad(lambda x: tg.quantile(x, many)[np.array([3, 8])].sum()))(x)
    np.testing.assert_allclose(sum(few), of_many, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [16, 17, 32, 47, 1000])
def test_elements_come_in_three_parts_each_in_the_order_it_had(n: int, dtype: str) -> None:
    # Periods and steps that samples at equal distances do not see.
    i = np.arange(n)
    lanes = [
        np.where(i % max(n // 32, 2) == n // 64, 1e9, np.sin(i)), i // 7 % 3, i % 2 * np.nan,
        np.where(i == n // 2, -1, 5), i, -i,
    ]  # fmt: skip
    x = np.stack(lanes).astype(dtype)
    for k in (0, n // 3, n - 1):
        at = np.argsort(x, -1, kind="stable")[:, k : k + 1]
        bound = np.take_along_axis(x, at, -1)
        known = bound == bound
        part = np.where(known, ~(x < bound), x != x).astype(int) + (known & ~(x <= bound))
        order, ranks = np.argsort(part, -1, kind="stable"), np.full((len(x), 1), k)
        expected = {"parted": np.take_along_axis(x, order, -1), "partitioned_by_one": order}
        for name, wanted in expected.items():
            out = np.zeros_like(wanted)
            COMPILED[name](x, ranks, out)
            np.testing.assert_array_equal(out, wanted)
            op = selection.parted_op if name == "parted" else selection.partitioned_op
            found = op.evaluate(x, ranks)
            np.testing.assert_array_equal(found, wanted)


def test_parted_elements_have_derivatives_of_every_order() -> None:
    x, w = of_kind("numbers", 40).reshape(2, 20), np.arange(20.0)
    order = np.argpartition(tg.as_tensor(x), 7, -1)
    picked = tg.take_along_axis(x, order, -1)

    def f(x: Any) -> Any:
        return (np.partition(x.T, 7, 0).T ** 3 * w).sum()

    def expected(x: Any) -> Any:
        return (tg.take_along_axis(x, order, -1) ** 3 * w).sum()

    for way in (lambda d: d, tg.jit):
        np.testing.assert_allclose(way(tg.grad(f))(x), tg.grad(expected)(x), rtol=1e-14)
        np.testing.assert_allclose(way(tg.hessian(f))(x), tg.hessian(expected)(x), rtol=1e-14)
    found = tg.vmap(tg.jit(lambda r: np.partition(r, 7)))(x)
    np.testing.assert_array_equal(found, picked)
