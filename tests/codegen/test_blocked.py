"""Own factorisations of large matrices: residuals on matrices of all kinds, the pivots of LAPACK,
what fails, sizes around the ends of blocks."""

from __future__ import annotations

import ctypes
import warnings
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from tracegrad.codegen import fallbacks
from tracegrad.codegen.native import elimination, library, orthogonal, positive, prebuilt

import tracegrad as tg

SIZES = (1, 7, 63, 64, 65, 130)
RNG = np.random.default_rng(5)
SUBNORMAL, LARGEST = attrgetter("smallest_subnormal"), attrgetter("max")


class Own:
    """The routines for one dtype, called by address with single matrices."""

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.eps = np.dtype(dtype), float(np.finfo(dtype).eps)

    def call(self, name: str, *args: Any) -> int:
        """The error number; integers and arrays are given by address."""
        held = [np.array(a) if isinstance(a, int) else a for a in (*args, np.zeros(1, np.int32))]
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(held))
        kind(prebuilt.address(f"{name}_{self.dtype}"))(*[a.ctypes.data for a in held])
        return int(held[-1][0])

    def room(self, *shape: Any) -> tuple[Any, Any]:
        """Space of some shape without numbers, and the memory it lies in: what is in front of it
        and behind it nobody may write."""
        size = int(np.prod(shape))
        held = np.full(size + 16, 7, self.dtype)
        held[8:-8] = np.nan
        return held[8:-8].reshape(*map(int, shape)), held

    def lu(self, a: Any) -> tuple[Any, Any, int]:
        n = len(a)
        (made, held), (space, behind) = self.room(n, n), self.room(elimination.lu_space(n))
        made[...], exchanges = a, np.zeros(n, np.int64)
        failed = self.call("lu", n, made, exchanges, space)
        untouched(held, behind)
        return made, exchanges, failed

    def solve(self, factors: Any, exchanges: Any, b: Any, turned: bool) -> Any:
        n, k = b.shape
        (x, held), (space, behind) = self.room(n, k), self.room(n)
        x[...] = b
        self.call("factored", n, k, factors, exchanges, x, int(turned), space)
        untouched(held, behind)
        return x.astype(float)

    def inverse(self, factors: Any, exchanges: Any) -> Any:
        n = len(factors)
        (out, held), (space, behind) = self.room(n, n), self.room(n)
        self.call("inverse", n, factors, exchanges, out, space)
        untouched(held, behind)
        return out

    def cholesky(self, a: Any) -> tuple[Any, int]:
        n = len(a)
        (out, held), (space, behind) = self.room(n, n), self.room(positive.factor_space(n))
        failed = self.call("factor", n, a.astype(self.dtype), out, space)
        untouched(held, behind)
        return out, failed

    def adjoint(self, factor: Any, ct: Any) -> Any:
        n = len(factor)
        (out, held), (space, behind) = self.room(n, n), self.room(positive.adjoint_space(n))
        self.call("adjoint", n, factor, ct.astype(self.dtype), out, space)
        untouched(held, behind)
        return out

    def tangent(self, factor: Any, t_a: Any) -> Any:
        n = len(factor)
        (out, held), (space, behind) = self.room(n, n), self.room(positive.tangent_space(n))
        self.call("tangent", n, factor, t_a.astype(self.dtype), out, space)
        untouched(held, behind)
        return out

    def qr(self, a: Any) -> tuple[Any, Any, int]:
        m, n = a.shape
        (q, of_q), (r, of_r) = self.room(m, n), self.room(n, n)
        space, behind = self.room(orthogonal.qr_space(m, n))
        failed = self.call("qr", m, n, np.ascontiguousarray(a, self.dtype), q, r, space)
        untouched(of_q, of_r, behind)
        return q, r, failed

    def substitute(self, a: Any, b: Any, lower: bool, turned: bool, unit: bool) -> Any:
        # What is right of the columns belongs to others.
        n, k = b.shape
        x, held = self.room(n, k + 3)
        x[:, :k], x[:, k:] = b, 7
        apart = (1, n) if turned else (n, 1)
        flags = int(lower != turned), int(unit)
        self.call("substitute", n, k, a.astype(self.dtype), *apart, *flags, x, k + 3, 0)
        untouched(held)
        assert (x[:, k:] == 7).all()
        return x[:, :k].astype(float)


def untouched(*memory: Any) -> None:
    """Nothing was written beside what was given."""
    for held in memory:
        assert (held[:8] == 7).all()
        assert (held[-8:] == 7).all()


@pytest.fixture(params=[np.float64, np.float32])
def own(request: pytest.FixtureRequest) -> Own:
    return Own(request.param)


def kahan(n: int) -> Any:
    s, c = np.sin(1.2), np.cos(1.2)
    return np.diag(s ** np.arange(n)) @ (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


def general(n: int) -> dict[str, Any]:
    """Matrices that are hard to factorise, or whose rows have to be exchanged."""
    a = RNG.normal(size=(n, n))
    u, _, v = np.linalg.svd(a)
    return {
        "random": a,
        "Hilbert": scipy.linalg.hilbert(n),
        "Kahan": kahan(n),
        "graded": a * 10.0 ** -np.linspace(0, 20, n)[:, None],
        "graded columns": a * 10.0 ** np.linspace(0, 9, n),
        "near-singular": (u * 10.0 ** -np.linspace(0, 14, n)) @ v,
        "reversed": np.eye(n)[::-1] + 1e-3 * a,
        "large": a * 1e30,
        "small": a * 1e-30,
    }


def residual(a: Any, x: Any, b: Any) -> float:
    """The largest one, in units of what the numbers in it are."""
    return float(np.max(np.abs(a @ x - b) / (np.abs(a).max() * np.abs(x).max() + np.abs(b).max())))


def test_lu_is_backward_stable_and_pivots_as_lapack(own: Own) -> None:
    for n in SIZES:
        for name, given in general(n).items():
            a = given.astype(own.dtype)
            factors, exchanges, failed = own.lu(a)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs, pivots = scipy.linalg.lu_factor(a, check_finite=False)
            if name in ("random", "reversed", "large", "small", "graded columns"):
                np.testing.assert_array_equal(exchanges, pivots, err_msg=f"{name} {n}")
            assert (failed == 0) == bool(np.diagonal(factors).all()), (name, n)
            wide = a.astype(float)
            lower, upper = np.tril(factors.astype(float), -1) + np.eye(n), np.triu(factors)
            assert np.abs(lower).max() == 1
            moved = wide.copy()
            for i, k in enumerate(exchanges):
                moved[[i, k]] = moved[[k, i]]
            bound = n * own.eps * np.abs(lower) @ np.abs(upper.astype(float))
            assert (np.abs(lower @ upper - moved) <= bound + np.finfo(own.dtype).tiny).all(), name
            if failed or not np.isfinite(theirs).all():
                continue
            for k in (1, 9):
                b = RNG.normal(size=(n, k)).astype(own.dtype)
                for turned in (False, True):
                    x = own.solve(factors, exchanges, b, turned)
                    if np.isfinite(x).all():
                        left = wide.T if turned else wide
                        assert residual(left, x, b) < 20 * n * own.eps, (name, n, k, turned)
                    else:
                        assert name in ("Hilbert", "Kahan", "graded", "near-singular", "small")


def test_inverse(own: Own) -> None:
    for n in SIZES:
        a = (RNG.normal(size=(n, n)) + 2 * np.sqrt(n) * np.eye(n)[::-1]).astype(own.dtype)
        out = own.inverse(*own.lu(a)[:2])
        np.testing.assert_allclose(a @ out, np.eye(n), atol=60 * n * own.eps)


def test_cholesky_and_its_derivative(own: Own) -> None:
    for n in SIZES:
        x = RNG.normal(size=(n, n))
        plain = x @ x.T / n + np.eye(n)
        for grades in (np.ones(n), 10.0 ** -np.linspace(0, 9, n)):
            a = plain * grades * grades[:, None]
            given = np.where(np.triu(np.ones((n, n)), 1) > 0, np.nan, a)
            out, failed = own.cholesky(given)
            assert failed == 0
            assert (np.triu(out, 1) == 0).all()
            wide, scale = out.astype(float), np.sqrt(np.diagonal(a))
            error = np.abs(wide @ wide.T - a) / scale / scale[:, None]
            assert error.max() < 10 * n * own.eps
        out, _ = own.cholesky(plain)
        ct = RNG.normal(size=(n, n)).astype(own.dtype)
        ct[np.triu_indices(n, 1)] = np.nan
        found, expected = own.adjoint(out, ct), np.empty((1, n, n))
        library.cholesky_adjoint(out.astype(float)[None], np.tril(ct)[None].astype(float), expected)
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_allclose(
            found, expected[0], rtol=0, atol=30 * n * own.eps * np.abs(expected).max()
        )


def test_tangents_of_cholesky_factors(own: Own) -> None:
    """Against NumPy's way in float64, which `a' = l' l^T + l l'^T` confirms."""
    for n in SIZES:
        x, change = RNG.normal(size=(n, n)), RNG.normal(size=(n, n)).astype(own.dtype)
        out, _ = own.cholesky(x @ x.T / n + np.eye(n))
        change[np.triu_indices(n, 1)] = np.nan
        factor, along, expected = out.astype(float), np.tril(change).astype(float), np.empty((n, n))
        library.cholesky_tangent(factor[None], along[None], expected[None])
        both = along + np.tril(along, -1).T
        made = expected @ factor.T
        np.testing.assert_allclose(made + made.T, both, rtol=0, atol=1e-11)
        found = own.tangent(out, change)
        assert (np.triu(found, 1) == 0).all()
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=30 * n * own.eps * np.abs(expected).max()
        )
        # One is the other's transpose.
        ct = np.tril(RNG.normal(size=(n, n))).astype(own.dtype)
        turned = np.sum(own.adjoint(out, ct).astype(float) * both)
        assert abs(np.sum(ct * found.astype(float)) - turned) < 100 * n * n * own.eps


def test_triangular_systems(own: Own) -> None:
    for n in (50, 64, 130):
        for matrix in (np.tril(RNG.normal(size=(n, n))) + 4 * np.eye(n), kahan(n).T):
            for lower, turned, unit in np.ndindex(2, 2, 2):
                read = (matrix if lower else matrix.T).astype(own.dtype)
                a = read.copy()
                a[np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)] = np.nan
                m = read.astype(float)
                if unit:
                    m = np.eye(n) + (m - np.diag(np.diag(m))) / n
                    a = (a / n).astype(own.dtype)
                m = m.T if turned else m
                # Chunks of columns, several vectors, one, and what is left of them.
                for k in (283, 20, 8, 3):
                    b = RNG.normal(size=(n, k)).astype(own.dtype)
                    x = own.substitute(a, b, bool(lower), bool(turned), bool(unit))
                    # The bound for each entry, which inverted blocks on the diagonal would break.
                    size = np.abs(m) @ np.abs(x) + np.abs(b)
                    assert np.max(np.abs(m @ x - b) / size) < 2 * n * own.eps, (n, lower, turned)


def test_qr_is_backward_stable_and_has_the_signs_of_lapack(own: Own) -> None:
    least, most = (float(f(np.finfo(own.dtype))) for f in (SUBNORMAL, LARGEST))
    for m, n in ((1, 1), (8, 7), (33, 33), (130, 65)):
        square = general(m)
        given = {name: a[:, :n] for name, a in square.items()} | {
            "zero": np.zeros((m, n)),
            "identity": np.eye(m, n),
            "triangular": np.triu(square["random"])[:, :n],
            "zero columns": square["random"][:, :n] * (np.arange(n) % 3 != 1),
            "subnormal": np.rint(9 * square["random"][:, :n]) * least,
            "huge": square["random"][:, :n] * (most / m / 9),
        }
        for name, matrix in given.items():
            a = matrix.astype(own.dtype)
            q, r, failed = own.qr(a)
            assert failed == 0
            assert not np.tril(r, -1).any()
            bound, of_q = 10 * np.sqrt(m) * own.eps, q.astype(float)
            assert np.abs(of_q.T @ of_q - np.eye(n)).max() < bound, (name, m, n)
            # Nothing overflows here, and what is next to nothing has few digits.
            unit = max(float(np.abs(a).max()), least / own.eps)
            wide, of_r = a.astype(float) / unit, r.astype(float) / unit
            size = np.linalg.norm(wide, axis=0) + n * least / own.eps / unit
            assert (np.abs(of_q @ of_r - wide) / size).max() < bound, (name, m, n)
            if name not in (
                "Hilbert",
                "Kahan",
                "graded",
                "near-singular",
                "subnormal",
                "zero columns",
            ):
                signs = np.signbit(np.diagonal(np.linalg.qr(a)[1]))
                np.testing.assert_array_equal(np.signbit(np.diagonal(r)), signs, f"{name} {m} {n}")


@pytest.mark.parametrize("shape", [(520, 510), (210, 205), (700, 1)])
def test_qr_in_blocks_of_other_sizes(shape: tuple[int, int]) -> None:
    a = RNG.normal(size=shape)
    q, r, failed = Own(np.float64).qr(a)
    assert failed == 0
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    np.testing.assert_allclose(q.T @ q, np.eye(shape[1]), atol=1e-13)


def test_qr_leaves_what_is_not_finite_to_lapack(own: Own) -> None:
    for place in np.ndindex(6, 4):
        for value in (np.nan, np.inf):
            bad = np.zeros((6, 4))
            bad[place] = value
            # A first number alone is left as it is.
            assert own.qr(bad)[2] == (place != (0, 0)), (place, value)
    a = RNG.normal(size=(3, 60, 50))
    a[0, 3, 20], a[1, 5, 0] = np.nan, np.inf
    compiled = tg.jit(lambda a: np.linalg.qr(a))
    with np.errstate(invalid="ignore"):
        expected = np.linalg.qr(a)
    for ours, theirs in zip(compiled(a), expected, strict=True):
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
        np.testing.assert_allclose(ours[2], theirs[2], atol=1e-13)
    assert "blocked_qr" in str(compiled.programs(a))


def test_what_fails_has_the_number_of_lapack(own: Own) -> None:
    n = 130
    x = RNG.normal(size=(n, n))
    a = x @ x.T + n * np.eye(n)
    for at, value in ((100, -1.0), (0, 0.0)):
        bad = a.copy()
        bad[at, at] = value
        assert own.cholesky(bad)[1] == at + 1
    # A NaN is no failure: it spreads.
    bad[0, 0], bad[70, 70] = a[0, 0], np.nan
    factor, failed = own.cholesky(bad)
    assert failed == 0
    assert np.isnan(np.diag(factor)).tolist() == [k >= 70 for k in range(n)]
    singular = a.copy()
    singular[:, 40] = 0
    assert own.lu(singular)[2] == 41
    assert own.lu(np.zeros((n, n)))[2] == 1
    for value in (np.nan, np.inf):
        bad = a.copy()
        bad[3, 5] = value
        factors, exchanges, _ = own.lu(bad)
        assert np.isnan(own.solve(factors, exchanges, a, False)).any()
    # Pivots next to nothing, whose reciprocals overflow.
    diagonal = np.diag(np.full(n, np.finfo(own.dtype).smallest_subnormal))
    found = own.substitute(diagonal, 3 * diagonal, True, False, False)
    np.testing.assert_array_equal(found, 3 * np.eye(n))
    # One of them among others, from either end.
    diagonal = np.eye(n)
    diagonal[44, 44] = np.finfo(own.dtype).smallest_subnormal
    for lower in (True, False):
        found = own.substitute(diagonal, 3 * diagonal, lower, False, False)
        np.testing.assert_array_equal(found, 3 * np.eye(n))


def everything(a: Any, b: Any, s: Any) -> Any:
    """All that is done in blocks, of stacks."""
    factor = np.linalg.cholesky(s)
    sign, size = np.linalg.slogdet(a)
    return (
        np.linalg.solve(a, b),
        np.linalg.inv(a),
        sign,
        size,
        np.linalg.det(a / 20),
        factor,
        tg.linalg.triangular_solve(factor, b, trans=1),
    )


def test_large_blocks() -> None:
    own, n = Own(np.float64), 520
    a = RNG.normal(size=(n, n))
    factors, exchanges, _ = own.lu(a)
    np.testing.assert_array_equal(exchanges, scipy.linalg.lu_factor(a)[1])
    b = RNG.normal(size=(n, 9))
    assert residual(a, own.solve(factors, exchanges, b, False), b) < n * own.eps
    assert residual(a.T, own.solve(factors, exchanges, b, True), b) < n * own.eps
    s = a @ a.T / n + np.eye(n)
    out, failed = own.cholesky(s)
    assert failed == 0
    np.testing.assert_allclose(out @ out.T, s, atol=n * own.eps)
    # The gradient of the log determinant is the inverse.
    found = own.adjoint(out, np.diag(2 / np.diag(out)))
    np.testing.assert_allclose(found @ s, np.eye(n), atol=20 * n * own.eps)


def test_compiled_functions_call_them() -> None:
    n = 96
    a, b = RNG.normal(size=(2, n, n)), RNG.normal(size=(2, n, 9))
    s = a @ a.swapaxes(1, 2) + np.eye(n)
    compiled, slow = tg.jit(everything), len(fallbacks.FALLBACKS)
    found = compiled(a, b, s)
    for ours, eager in zip(found, everything(a, b, s), strict=True):
        scale = np.abs(eager).max()
        np.testing.assert_allclose(ours / scale, eager / scale, atol=1e-9)
    assert str(compiled.programs(a, b, s)).count("blocked_") >= 6
    assert len(fallbacks.FALLBACKS) == slow, "compiled by Numba's own pipeline"
    bad = a.copy()
    bad[1, :, 3] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        compiled(bad, b, s)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        compiled(a, b, -s)


def test_a_singular_matrix_has_no_determinant_however_large_its_other_pivots() -> None:
    for n in (10, 120):
        assert tg.jit(np.linalg.det)(np.diag(np.r_[np.full(n, 1e200), 0.0])) == 0
