"""Sums over pairs: what is the same, or the negative, with two axes exchanged is summed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import assert_same
from tracegrad.transforms.rewrite import optimize

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
    return np.sum(np.tanh(a[:, None] - a) ** 2 + np.where(abs(a - a[:, None]) > 1, 0.5, 0.25) * abs(a[:, None] - a) ** 3)


def nearest(x: Any) -> Any:
    """Each pair weighed by one of its particles alone: not symmetric."""
    return np.sum(np.exp(-distances(x)) * W)


def two_sets(x: Any) -> Any:
    difference = x[:, None, :] - (x * np.array([1.0, 2.0, 1.0]))[None, :, :]
    return np.sum(np.exp(-np.sum(difference**2, axis=2)))


def directed(a: Any) -> Any:
    return np.sum(np.exp(a[:, None] - a) * np.maximum(a[:, None], 0.5 * a))


SYMMETRIC = [(lennard_jones, X), (gravity, X), (gaussians, X), (oscillators, A), (one_formula_for_both, A)]
OTHERS = [(nearest, X), (two_sets, X), (directed, A)]


def sums_over_both(f: Any, x: Any) -> bool:
    """Whether arrays of pairs are summed over each of their axes."""
    nodes = optimize(tg.jit(f).graphs(x)[0]).nodes
    return {(0,), (1,)} <= {node.params["axes"] for node in nodes if node.op.name == "sum" and node.inputs[0].type.shape[:2] == (N, N)}


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
    """An antisymmetric array: the sums over its axes are each other's negatives; a matrix and its transposition."""

    def both(a: Any) -> Any:
        p = np.sin(a[:, None] - a) * np.cos(a[:, None] + a)
        return np.sum(p, axis=0), np.sum(p, axis=1)

    first, second = tg.jit(both)(A)
    np.testing.assert_array_equal(first, -second)
    assert_same((first, second), both(A), 1e-13)
    assert not sums_over_both(both, A)

    def matrix(m: Any) -> Any:
        s = m + m.T
        return np.sum(s, axis=0), np.sum(s, axis=1), np.sum(m - m.T, axis=0), np.sum(m - m.T, axis=1)

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
    assert_same(loops(y), np.stack([tg.grad(lambda v: np.sum(np.exp(-distances(v))))(v) for v in y]), 1e-12)
