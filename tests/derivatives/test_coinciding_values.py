"""Second derivatives of functions of eigenvalues and singular values, where some coincide or are 0:
the right number or NaN, never another number.

Matrices are permuted ones of diagonal form: of rotated ones, values that coincide differ by
rounding, and what is divided by their difference is rounding, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Function = Callable[[Any], Any]
RNG = np.random.default_rng(3)
V = RNG.normal(size=(4, 3))
Q, R = np.eye(4)[[2, 0, 3, 1]], np.eye(3)[[1, 2, 0]]
S = V[:3] + V[:3].T

# Each is half the sum of squares of all elements, up to a constant: the Hessian is the identity.
OF_EIGENVALUES: dict[str, Function] = {
    "eigvalsh": lambda a: np.sum(np.linalg.eigvalsh(a) ** 2) / 2,
    "eigvalsh, a cotangent of zero": lambda a: (
        np.sum((np.linalg.eigvalsh(a) - 1.2) ** 2) / 2 + 1.2 * np.trace(a)
    ),
    "eigh, a cotangent of zero": lambda a: (
        np.sum((np.linalg.eigh(a)[0] - 1.2) ** 2) / 2 + 1.2 * np.trace(a)
    ),
}
OF_SINGULAR_VALUES: dict[str, Function] = {
    "svdvals": lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 2) / 2,
    "svd": lambda a: np.sum(np.linalg.svd(a, full_matrices=False)[1] ** 2) / 2,
    "Frobenius": lambda a: np.linalg.norm(a) ** 2 / 2,
}


def forward_over_reverse(f: Function, a: Any, v: Any) -> Any:
    return tg.jvp(tg.grad(f), (a,), (v,))[1]


def reverse_over_reverse(f: Function, a: Any, v: Any) -> Any:
    return tg.grad(lambda x: np.sum(tg.grad(f)(x) * v))(a)


def reverse_over_forward(f: Function, a: Any, v: Any) -> Any:
    return tg.grad(lambda x: tg.jvp(f, (x,), (v,))[1])(a)


WAYS = [forward_over_reverse, reverse_over_reverse, reverse_over_forward]


def check(way: Callable[..., Any], f: Function, a: Any, v: Any, certain: bool) -> None:
    with np.errstate(all="ignore"):
        found = np.asarray(way(f, a, v))
    if certain:
        assert np.isfinite(found).all()
    elif np.isnan(found).any():
        return
    np.testing.assert_allclose(found, v, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OF_EIGENVALUES)
@pytest.mark.parametrize("values", [(1.0, 2.0, 3.5), (1.2, 1.2, 2.0), (1.2, 1.2, 1.2), (0.0, 0, 3)])
def test_eigenvalues(way: Callable[..., Any], kind: str, values: Any) -> None:
    certain = len(set(values)) == 3
    for a in (np.diag(values), R @ np.diag(values) @ R.T):
        check(way, OF_EIGENVALUES[kind], a, S, certain)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OF_SINGULAR_VALUES)
@pytest.mark.parametrize("values", [(3.5, 2.0, 1.0), (2.0, 1.2, 1.2), (2.0, 0, 0), (3.0, 2.0, 0)])
def test_singular_values(way: Callable[..., Any], kind: str, values: Any) -> None:
    certain = kind == "Frobenius" or (len(set(values)) == 3 and 0 not in values)
    for u in (np.eye(4)[:, :3], Q[:, :3]):
        a = u @ np.diag(values) @ R
        check(way, OF_SINGULAR_VALUES[kind], a, V, certain)
        check(way, lambda x: OF_SINGULAR_VALUES[kind](x.T), a, V, certain)


@pytest.mark.parametrize("way", WAYS)
def test_compiled(way: Callable[..., Any]) -> None:
    f = tg.jit(OF_EIGENVALUES["eigvalsh, a cotangent of zero"])
    check(way, f, np.diag((1.2, 1.2, 2.0)), S, certain=False)
    check(way, f, np.diag((1.0, 3.0, 2.0)), S, certain=True)
