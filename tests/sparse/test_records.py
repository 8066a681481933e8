"""Entries that lie side by side are written as records: stencils in one to three dimensions with
all kinds of edges, several equations in either layout, parts one behind the other. Nothing is
compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.sparse.test_sparse_every_operation import check, dense
from tests.unjitted import run_unjitted
from tracegrad.sparse import records
from tracegrad.sparse.methods import make_plan
from tracegrad.sparse.plan import SparsePlan, Wish
from tracegrad.sparse.records import layout
from tracegrad.transforms.rewrite import optimize


def tridiagonal(x: Any) -> Any:
    u = np.pad(x, 1)
    return u[2:] * u[1:-1] - 2 * x * x + u[:-2] * x


def pentadiagonal(x: Any) -> Any:
    u = np.pad(x, 2, mode="wrap")
    return u[4:] * x - 4 * u[3:-1] * x + 6 * x**2 - 4 * u[1:-3] + u[:-4] * x


def periodic(x: Any) -> Any:
    u, v = x.reshape(2, 9, 9)
    d = np.roll(u, 1, 0) + np.roll(u, -1, 0) * u + np.roll(u, 1, 1) + np.roll(u, -1, 1)
    return np.stack([d + u * u * v, v * v - u * v + np.roll(v, 1, 1)]).ravel()


def five_points(x: Any) -> Any:
    u = np.pad(x.reshape(9, 10), 1)
    c = u[1:-1, 1:-1]
    return (u[2:, 1:-1] * c - 4 * c * c + u[:-2, 1:-1] + u[1:-1, 2:] * c + u[1:-1, :-2]).ravel()


def inner_points(x: Any) -> Any:
    """The edges have equations of their own."""
    u = x.reshape(11, 12)
    c = u[1:-1, 1:-1]
    r = u[2:, 1:-1] * c + u[:-2, 1:-1] * c + u[1:-1, 2:] * c - 3 * u[1:-1, :-2] * c
    return np.concatenate([r.ravel(), u[0] ** 2, u[-1] - 1, u[1:-1, 0] * u[1:-1, 1], u[1:-1, -1]])


def seven_points(x: Any) -> Any:
    u = np.pad(x.reshape(9, 9, 9), 1)
    c = u[1:-1, 1:-1, 1:-1]
    s = u[2:, 1:-1, 1:-1] * c + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1] * c
    return s + u[1:-1, 1:-1, 2:] * u[1:-1, 1:-1, :-2] - 6 * c


def collocated(x: Any) -> Any:
    """Trapezoids, four equations side by side, and the ends."""
    y = x.reshape(40, 4)
    p, q, v, w = y[:, 0], y[:, 1], y[:, 2], y[:, 3]
    f = np.stack([v, w, -p * q, v * w - q], -1)
    defects = y[1:] - y[:-1] - 0.1 * (f[1:] + f[:-1])
    return np.concatenate([defects.ravel(), y[0] - 1, y[-1, :2] ** 2])


def two_by_six(x: Any) -> Any:
    """Residuals of observations that share parameters."""
    camera, point = x[:30].reshape(5, 6), x[30:].reshape(20, 3)
    i, j = np.arange(60) % 5, np.arange(60) // 3
    c, p = camera[i], point[j]
    s = p[:, 0] * c[:, 0] + p[:, 1] * c[:, 1] - p[:, 2] * c[:, 2]
    return np.stack([s * c[:, 3] - c[:, 4], s * p[:, 1] - c[:, 5] ** 2], -1)


FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "tridiagonal": (tridiagonal, 50),
    "pentadiagonal": (pentadiagonal, 50),
    "periodic": (periodic, 162),
    "five_points": (five_points, 90),
    "inner_points": (inner_points, 132),
    "seven_points": (seven_points, 729),
    "collocated": (collocated, 160),
    "two_by_six": (two_by_six, 90),
}


def plan_of(
    function: Callable[..., Any], x: np.ndarray, **options: Any
) -> tuple[SparsePlan, list[Any]]:
    entry, leaves = tg.jit(function)._alone_for((x,), {}, False)
    captured = entry.captured()
    assert captured is not None
    inputs = [*leaves, *captured]
    return make_plan(entry.graph, [0], inputs, len(leaves), Wish(**options)), inputs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_records(name: str, monkeypatch: Any) -> None:
    """Values in records, by what the schedule makes of them, are those of the dense Jacobian."""
    monkeypatch.setattr(records, "REST", 0.7)  # small grids are mostly edges
    function, n = FUNCTIONS[name]
    x = np.random.default_rng(1).normal(size=n)
    wanted = dense(function, (x,), [0])
    for order in ("csr", "csc"):
        plan, inputs = plan_of(function, x, order=order)
        s = plan.structure
        assert plan.method == "direct"
        if order == "csr":
            assert not plan.begins, "no records"
        covered = np.zeros(s.shape, bool)
        covered[s.rows, s.columns] = True
        assert not wanted[~covered].any()
        given = [*inputs, *plan.constants]
        (found,) = run_unjitted(optimize(plan.graph), given)
        np.testing.assert_allclose(found[: len(s)], wanted[s.rows, s.columns], rtol=1e-12)
    check(name, function, (x.astype(np.float32),), [0], 1e-4)


def test_hessians_and_complex_numbers() -> None:
    """The lower triangle, and coefficients that are complex constants."""
    x = np.random.default_rng(2).normal(size=60)

    def energy(x: Any) -> Any:
        return np.sum(x[1:] ** 2 * x[:-1]) + np.sum(x[2:] * x[:-2])

    plan, inputs = plan_of(tg.grad(energy), x, symmetric=True, lower=True)
    s = plan.structure
    wanted = tg.hessian(energy)(x)
    (found,) = run_unjitted(optimize(plan.graph), [*inputs, *plan.constants])
    np.testing.assert_allclose(found[: len(s)], wanted[s.rows, s.columns], rtol=1e-12)
    z = x[:40] + 1j
    check("complex", lambda z: (2 - 1j) * z[1:] * z[:-1] - 3j * z[:-1], (z,), [0])


def test_layout_of_random_places(monkeypatch: Any) -> None:
    """Whatever places are asked for: records and the rest together write each of them, and nothing
    but them."""
    monkeypatch.setattr(records, "REST", 0.7)
    monkeypatch.setattr(records, "LONG", 8)
    monkeypatch.setattr(records, "SHORT", 4)
    rng = np.random.default_rng(3)
    used = 0
    for _ in range(200):
        shape = tuple(rng.integers(1, 13, rng.integers(1, 4)).tolist())
        width = int(rng.integers(1, 5))
        rank = np.argsort(rng.random(width))
        kept = rng.random((*shape, width)) > rng.choice([0, 0.02, 0.2])
        if rng.random() < 0.5 and len(shape) > 1:
            kept[:, 0] &= rng.random(width) > 0.5
        order = np.cumsum(kept.ravel()).reshape(kept.shape) - 1
        places = [np.where(kept[..., t], order[..., t], -1) for t in rank]
        if rng.random() < 0.3:  # two entries change places
            every = np.concatenate([p.ravel() for p in places])
            there = np.flatnonzero(every >= 0)
            if len(there) > 2:
                a, b = rng.choice(there, 2, replace=False)
                every[[a, b]] = every[[b, a]]
            places = list(every.reshape(width, *shape))
        nnz = int(kept.sum())
        lies = layout(places, nnz)
        if lies is None:
            continue
        used += 1
        values = [rng.normal(size=shape) for _ in places]
        wanted, found = np.full(nnz, np.nan), np.full(nnz, np.nan)
        for v, p in zip(values, places, strict=True):
            wanted[p[p >= 0]] = v[p >= 0]
        end = 0
        for record in lies.records:
            assert record.start >= end
            end = record.stop
            box = tuple(slice(a, b) for a, b in zip(record.lo, record.hi, strict=True))
            starts = record.places(record.lo, record.hi)
            for t, s in enumerate(record.streams):
                found[starts + t] = values[s.number][s.at][box]
        assert end <= nnz
        for k, elements, at in lies.rest:
            found[at] = values[k].ravel()[elements]
        np.testing.assert_array_equal(found, wanted)
    assert used > 30
