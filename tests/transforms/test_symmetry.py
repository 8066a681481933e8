"""Sums over pairs: what is the same, or the negative, with two axes exchanged is summed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import assert_same
from tracegrad.transforms.rewrite import optimize

pytestmark = pytest.mark.usefixtures("kernels_in_python")

RNG = np.random.default_rng(2)
N = 7
X, W, A = RNG.normal(size=(N, 3)), RNG.uniform(1, 2, N), RNG.normal(size=N)


def distances(x: Any) -> Any:
    difference = x[:, None, :] - x[None, :, :]
    return np.sum(difference**2, axis=2)


def lennard_jones(x: Any) -> Any:
    squared = distances(x)
    inverse = 1 / (squared + (squared == 0)) ** 3
    return np.sum(inverse**2 - inverse)


def gravity(x: Any) -> Any:
    r, w = np.sqrt(distances(x) + 0.01), 1 + x[:, 0] ** 2
    return -np.sum(w[:, None] * w[None, :] / r)


def gaussians(x: Any) -> Any:
    w = np.exp(x[:, 1])
    return np.sum(np.exp(-distances(x)) * w * w[:, None])


def oscillators(a: Any) -> Any:
    """Kuramoto's potential."""
    return np.sum(np.cos(a - a[:, None]))


def one_formula_for_both(a: Any) -> Any:
    return np.sum(
        np.tanh(a[:, None] - a) ** 2
        + np.where(abs(a - a[:, None]) > 1, 0.5, 0.25) * abs(a[:, None] - a) ** 3
    )


def nearest(x: Any) -> Any:
    """Each pair weighed by one of its particles alone: not symmetric."""
    return np.sum(np.exp(-distances(x)) * W)


def two_sets(x: Any) -> Any:
    difference = x[:, None, :] - (x * np.array([1.0, 2.0, 1.0]))[None, :, :]
    return np.sum(np.exp(-np.sum(difference**2, axis=2)))


def directed(a: Any) -> Any:
    return np.sum(np.exp(a[:, None] - a) * np.maximum(a[:, None], 0.5 * a))


SYMMETRIC = [
    (lennard_jones, X),
    (gravity, X),
    (gaussians, X),
    (oscillators, A),
    (one_formula_for_both, A),
]
OTHERS = [(nearest, X), (two_sets, X), (directed, A)]


def sums_over_both(f: Any, x: Any) -> bool:
    """Whether arrays of pairs are summed over each of their axes."""
    nodes = optimize(tg.jit(f).graphs(x)[0]).nodes
    return {(0,), (1,)} <= {
        node.params["axes"]
        for node in nodes
        if node.op.name == "sum" and node.inputs[0].type.shape[:2] == (N, N)
    }


@pytest.mark.parametrize(("f", "x"), SYMMETRIC + OTHERS, ids=lambda v: getattr(v, "__name__", ""))
def test_values(f: Any, x: Any) -> None:
    assert_same(tg.jit(tg.value_and_grad(f))(x), tg.value_and_grad(f)(x), 1e-12)
    assert_same(tg.jit(tg.hessian(f))(x), tg.hessian(f)(x), 1e-11)


@pytest.mark.parametrize(("f", "x"), SYMMETRIC, ids=lambda v: getattr(v, "__name__", ""))
def test_symmetric_pairs_are_summed_once(f: Any, x: Any) -> None:
    assert not sums_over_both(tg.value_and_grad(f), x)


@pytest.mark.parametrize(("f", "x"), OTHERS, ids=lambda v: getattr(v, "__name__", ""))
def test_other_pairs_are_summed_over_both(f: Any, x: Any) -> None:
    assert sums_over_both(tg.value_and_grad(f), x)


def test_signs() -> None:
    """An antisymmetric array: the sums over its axes are each other's negatives; a matrix and its
    transposition."""

    def both(a: Any) -> Any:
        p = np.sin(a[:, None] - a) * np.cos(a[:, None] + a)
        return np.sum(p, axis=0), np.sum(p, axis=1)

    first, second = tg.jit(both)(A)
    np.testing.assert_array_equal(first, -second)
    assert_same((first, second), both(A), 1e-13)
    assert not sums_over_both(both, A)

    def matrix(m: Any) -> Any:
        s = m + m.T
        return (
            np.sum(s, axis=0),
            np.sum(s, axis=1),
            np.sum(m - m.T, axis=0),
            np.sum(m - m.T, axis=1),
        )

    m = RNG.normal(size=(N, N))
    assert_same(tg.jit(matrix)(m), matrix(m), 1e-13)
    assert not sums_over_both(matrix, m)


def test_axes_in_other_places() -> None:
    """Batches of pairs, pairs of pairs, and axes that are not side by side."""
    x = RNG.normal(size=(4, N, 2))

    def batched(x: Any) -> Any:
        d = x[:, :, None, :] - x[:, None, :, :]
        return np.sum(np.exp(-np.sum(d * d, axis=-1)))

    def apart(a: Any) -> Any:
        p = a[:, None, None] * a[None, None, :] * np.ones((1, 2, 1))
        return np.sum(p, axis=0), np.sum(p, axis=2), np.sum(p, axis=(0, 1)), np.sum(p, axis=(1, 2))

    assert_same(tg.jit(tg.grad(batched))(x), tg.grad(batched)(x), 1e-12)
    assert_same(tg.jit(apart)(A), apart(A), 1e-12)
    loops = tg.jit(tg.vmap(tg.grad(lambda v: np.sum(np.exp(-distances(v))))))
    y = RNG.normal(size=(5, N, 3))
    assert_same(
        loops(y), np.stack([tg.grad(lambda v: np.sum(np.exp(-distances(v))))(v) for v in y]), 1e-12
    )


# --- what is almost its negative ------------------------------------------------------------------
# Each of pairs summed both ways: with the axes exchanged it is not the negative, because of the
# sign of a zero or because integers wrap around.

REPEATED = np.array([1.0, 2.0, 4.0, 2.0])
UNSIGNED, NARROW = np.array([1, 5, 9], np.uint32), np.array([-128, 0, 9], np.int8)
CUT = np.array([3.0, 0.0, -3.0, 0.5]) + 0j
ALMOST = {
    "1 / difference": (lambda a, b: 1 / (a - b), REPEATED),
    "difference ** -1": (lambda a, b: (a - b) ** -1, REPEATED),
    "difference ** -3": (lambda a, b: (a - b) ** -3, REPEATED),
    "product / difference": (lambda a, b: a * b / (a - b), REPEATED),
    "1 / product of differences": (lambda a, b: 1 / ((a - b) * (a * a - b * b + a - b)), REPEATED),
    "atan(1 / difference)": (lambda a, b: np.arctan(1 / (a - b)), REPEATED),
    "1 / minus added": (lambda a, b: 1 / (a + -b), REPEATED),
    "minus added, the other way": (lambda a, b: 1 / (-b + a), REPEATED),
    "1 / sum of products of differences": (
        lambda a, b: 1 / ((a - b) * (a * a - b * b + a - b) + (a - b) * (b - a)),
        REPEATED,
    ),
    "minus added to unsigned": (lambda a, b: (a + -b).astype(np.float64), UNSIGNED),
    "copysign": (lambda a, b: np.copysign(1.0, (a - b) * 2.0), REPEATED),
    "atan2": (lambda a, b: np.arctan2((a - b) * 2.0, -1.0), REPEATED),
    "unsigned": (lambda a, b: (a - b).astype(np.float64), UNSIGNED),
    "sine of unsigned": (lambda a, b: np.sin(a - b), UNSIGNED),
    "unsigned / 2": (lambda a, b: (a - b) / 2, UNSIGNED),
    "overflow": (lambda a, b: (a - b).astype(np.float64), NARROW),
    "sign of unsigned": (lambda a, b: np.sign(a - b) * 1.0, UNSIGNED),
    "whether there is a difference": (lambda a, b: (a - b).astype(bool) * 1.0, REPEATED),
    "asin on its cut": (lambda a, b: np.arcsin(a - b), CUT),
    "atanh on its cut": (lambda a, b: np.arctanh(a - b), CUT),
}


@pytest.mark.parametrize("name", ALMOST)
def test_what_is_almost_its_negative(name: str) -> None:
    pairs, x = ALMOST[name]

    def both(x: Any) -> Any:
        p = pairs(x[:, None], x[None, :])
        return np.sum(p, axis=0), np.sum(p, axis=1)

    with np.errstate(all="ignore"):
        assert_same(tg.jit(both)(x), both(x), 1e-12)


@pytest.mark.parametrize("dtype", ["u2", "u4", "u8", "i8", "f8", "c16"])
@pytest.mark.parametrize("even", [np.abs, np.square, np.cos, np.cosh], ids=lambda f: f.__name__)
def test_even_functions_of_both_differences(even: Any, dtype: str) -> None:
    """One value for |x - y| and |y - x|, unless differences wrap around."""
    x, y = np.array([1, 5, 9, 3], dtype), np.array([7, 2, 9, 4], dtype)

    def both(x: Any, y: Any) -> Any:
        return even(x - y) * 1.0 + 3.0 * even(y - x)

    with np.errstate(over="ignore"):
        assert_same(tg.jit(both)(x, y), both(x, y), 1e-5 if dtype == "u2" else 1e-12)


def test_forces_are_still_summed_once() -> None:
    """Opposite forces by a formula with products of a difference with itself, whose zeros are the
    same in both directions."""

    def both(x: Any) -> Any:
        d = x[:, None] - x
        force = d / (d * d + 0.01) ** 1.5 + np.sin(d)
        return np.sum(force, axis=0), np.sum(force, axis=1)

    def with_minus_added(x: Any) -> Any:
        y = x * x
        d, e = x[:, None] - x, y[:, None] + -y[None]
        force = d * (1.0 + 2.0 * (d * e))
        return np.sum(force, axis=0), np.sum(force, axis=1)

    for f in (both, with_minus_added):
        graph = tg.jit(f).graphs(A)[1]
        assert sum(node.op.name == "sum" for node in graph.nodes) == 1
        assert_same(tg.jit(f)(A), f(A), 1e-12)


def test_symmetric_results() -> None:
    """Cotangents of symmetric matrices make pairs symmetric: a likelihood of a Gaussian process
    sums its forces once, and so do its second derivatives."""
    n = 50
    x, b = RNG.normal(size=(n, 3)), RNG.normal(size=n)

    def process(h: Any) -> Any:
        k = np.exp(2 * h[1] - 0.5 * distances(x / np.exp(h[0]))) + np.exp(2 * h[2]) * np.eye(n)
        factor = np.linalg.cholesky(k)
        w = tg.linalg.triangular_solve(factor, b)
        return 0.5 * np.sum(w * w) + np.sum(np.log(np.diagonal(factor)))

    h = np.array([0.1, 0.2, -1.0])
    for f, pairs in ((tg.grad(process), (n, n, 3)), (tg.hessian(process), (3, n, n, 3))):
        nodes = optimize(tg.jit(f).graphs(h)[0]).nodes
        sums = [k for k in nodes if k.op.name == "sum" and k.inputs[0].type.shape == pairs]
        first = len(pairs) - 3
        assert len({k.params["axes"] for k in sums} & {(first,), (first + 1,)}) == 1, pairs
    assert_same(tg.jit(tg.hessian(process))(h), tg.hessian(process)(h), 1e-9)
