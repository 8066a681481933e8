"""`bench --sparse`: values of sparse Jacobians and Hessians beside loops written by hand, and
beside CasADi and asdex where these are installed.

For each problem what finding the pattern and compiling took, and the median processor time of the
values alone, in one thread. The loops written by hand know the pattern, the order of the entries
within a row, and which of them are constants. Others run in processes of their own
(`sparse_peers`), which end after `LIMIT` seconds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import process_time
from typing import Any

import numba
import numpy as np

from ..sparse.derivatives import hessian_of_lagrangian, sparse_jacobian
from .colours import colour_rows
from .report.sparse import BY_HAND, OWN, SparseRow, SparseTimes
from .sparse_solvers import solved_rows
from .worker import MARK

ALPHA = 0.01
GRIDS = (32, 100, 224)
LENGTHS = (1_000, 10_000, 100_000)
SIGMA = 0.7
"""The factor of the objective."""
PEERS = {
    "brusselator": ("CasADi (SX)", "CasADi (MX)", "asdex"),
    "chained": ("CasADi (MX)", "asdex"),
}
LIMIT = 300
"""How many seconds each of them may take. (A limit of processor time would make its clock tick in
steps of 4 ms.)"""


def brusselator(grid: int, np: Any = np) -> Callable[[Any], Any]:
    """Right-hand side of the Brusselator on a periodic square grid, both species one behind the
    other; `np` may be another library's."""

    def slope(y: Any) -> Any:
        u, v = y.reshape((2, grid, grid))

        def diffused(w: Any) -> Any:
            around = np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1)
            return ALPHA * grid * grid * (around - 4 * w)

        du = 1.0 + u * u * v - 4.4 * u + diffused(u)
        dv = 3.4 * u - u * u * v + diffused(v)
        return np.stack([du, dv]).reshape(-1)

    return slope


@numba.njit  # type: ignore[untyped-decorator]
def brusselator_by_hand(y: Any, grid: Any, out: Any) -> None:  # pragma: no cover - compiled
    n = grid * grid
    a = ALPHA * grid * grid
    for i in range(n):
        u, v = y[i], y[n + i]
        k, m = 6 * i, 6 * (n + i)
        out[k] = out[k + 1] = out[k + 2] = out[k + 3] = a
        out[k + 4] = 2 * u * v - 4.4 - 4 * a
        out[k + 5] = u * u
        out[m] = out[m + 1] = out[m + 2] = out[m + 3] = a
        out[m + 4] = -u * u - 4 * a
        out[m + 5] = 3.4 - 2 * u * v


def chained(x: Any, np: Any = np) -> Any:
    """The objective of problem 5.1 of Luksan and Vlcek (1999)."""
    return np.sum(100 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1) ** 2)


def trigonometric(x: Any, np: Any = np) -> Any:
    """Its constraints."""
    a, b, c = x[:-2], x[1:-1], x[2:]
    waves = np.sin(b - c) * np.sin(b + c)
    return 3 * b**3 + 2 * c - 5 + waves + 4 * b - a * np.exp(a - b) - 3


@numba.njit  # type: ignore[untyped-decorator]
def chained_by_hand(x: Any, lam: Any, sigma: Any, d: Any, e: Any) -> None:  # pragma: no cover
    """The diagonal and the one below it of the Hessian of the Lagrangian."""
    n = x.size
    d[:] = 0.0
    for i in range(n - 1):
        d[i] += sigma * (1200 * x[i] ** 2 - 400 * x[i + 1] + 2)
        d[i + 1] += 200 * sigma
        e[i] = -400 * sigma * x[i]
    for i in range(n - 2):
        a, b, c = x[i], x[i + 1], x[i + 2]
        grown = np.exp(a - b)
        d[i] -= lam[i] * grown * (2 + a)
        d[i + 1] += lam[i] * (18 * b - a * grown + 2 * np.cos(2 * b))
        d[i + 2] -= 2 * lam[i] * np.cos(2 * c)
        e[i] += lam[i] * grown * (1 + a)


def median(run: Callable[[], Any], repeat: int) -> float:
    """The median processor time of a call in s, after one that is not counted: a call that the
    system interrupts takes no longer. Of short calls many are timed together."""
    run()
    start = process_time()
    run()
    together = max(1, round(2e-3 / max(process_time() - start, 1e-6)))
    times = []
    for _ in range(repeat):
        start = process_time()
        for _ in range(together):
            run()
        times.append((process_time() - start) / together)
    return statistics.median(times)


def brusselator_input(grid: int) -> np.ndarray:
    """Where the Jacobian is asked for."""
    return np.random.default_rng(0).normal(size=2 * grid * grid)


def chained_inputs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the Hessian is asked for: unknowns and multipliers."""
    rng = np.random.default_rng(0)
    return rng.normal(size=n), rng.normal(size=n - 2)


def peers(
    problem: str, name: str, values: np.ndarray, n: int, repeat: int, remarks: list[str]
) -> Iterator[SparseRow]:
    """Those that are installed here; `values` is what they have to find."""
    single = {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    for who in PEERS[problem]:
        if not find_spec(who.split()[0].lower()):
            continue
        command = [sys.executable, "-m", "tracegrad.bench.sparse_peers", who, problem]
        try:
            done = subprocess.run(
                [*command, str(n), str(min(repeat, 9))],
                env={**os.environ, **single},
                stdout=subprocess.PIPE,
                text=True,
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            remarks.append(f"{name}, n = {n:,}: {who} took more than {LIMIT} s.")
            continue
        said = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
        if not said:
            remarks.append(f"{name}, n = {n:,}: {who} ended with code {done.returncode}.")
            continue
        found = json.loads(said[0].removeprefix(MARK))
        np.testing.assert_allclose(found["squares"], np.sum(values**2), rtol=1e-8)
        yield SparseRow(name, n, len(values), who, found["setup"], found["values"])


def brusselator_rows(grid: int, repeat: int, remarks: list[str]) -> Iterator[SparseRow]:
    """All contestants on one grid."""
    y = brusselator_input(grid)
    start = process_time()
    jacobian = sparse_jacobian(brusselator(grid))
    out = np.empty(len(jacobian.structure(y)))
    jacobian.values(y, out=out)
    setup = process_time() - start
    name, entries = "Brusselator, J", len(out)
    brusselator_by_hand(y, grid, by_hand := np.empty(6 * y.size))
    np.testing.assert_allclose(np.sort(by_hand), np.sort(out))
    hand = median(lambda: brusselator_by_hand(y, grid, by_hand), repeat)
    yield SparseRow(name, y.size, entries, BY_HAND, 0.0, hand)
    own = median(lambda: jacobian.values(y, out=out), repeat)
    yield SparseRow(name, y.size, entries, OWN, setup, own)
    yield from peers("brusselator", name, out, y.size, repeat, remarks)


def chained_rows(n: int, repeat: int, remarks: list[str]) -> Iterator[SparseRow]:
    """All contestants on one length."""
    (x, lam), sigma = chained_inputs(n), SIGMA
    start = process_time()
    hessian = hessian_of_lagrangian(chained, trigonometric, lower=True)
    out = np.empty(len(hessian.structure(x, lam, sigma)))
    hessian.values(x, lam, sigma, out=out)
    setup = process_time() - start
    name, d, e = "Luksan-Vlcek 5.1, H", np.empty(n), np.empty(n - 1)
    chained_by_hand(x, lam, sigma, d, e)
    found = hessian(x, lam, sigma)
    np.testing.assert_allclose(found.diagonal(), d, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.diagonal(-1), e, rtol=1e-9, atol=1e-9)
    hand = median(lambda: chained_by_hand(x, lam, sigma, d, e), repeat)
    yield SparseRow(name, n, len(out), BY_HAND, 0.0, hand)
    own = median(lambda: hessian.values(x, lam, sigma, out=out), repeat)
    yield SparseRow(name, n, len(out), OWN, setup, own)
    yield from peers("chained", name, out, n, repeat, remarks)


OBSERVATIONS = 100_000
CAMERAS, POINTS = 50, 20_000


def seen_by(camera: Any, point: Any) -> Callable[[Any], Any]:
    """Residuals of points seen by cameras (six numbers each), two for each observation, with a
    rotation of small angles and one term of distortion."""

    def residuals(x: Any) -> Any:
        c = x[: 6 * CAMERAS].reshape(CAMERAS, 6)[camera]
        p = x[6 * CAMERAS :].reshape(-1, 3)[point]
        u = p[:, 0] - c[:, 2] * p[:, 1] + c[:, 1] * p[:, 2] + c[:, 3]
        v = p[:, 1] + c[:, 2] * p[:, 0] - c[:, 0] * p[:, 2] + c[:, 4]
        w = 1 + c[:, 5] * (u * u + v * v)
        return np.stack([u * w, v * w], -1)

    return residuals


@numba.njit  # type: ignore[untyped-decorator]
def seen_by_hand(
    x: Any, camera: Any, point: Any, cameras: Any, out: Any
) -> None:  # pragma: no cover
    k = 0
    for i in range(len(camera)):
        c, p = 6 * camera[i], 6 * cameras + 3 * point[i]
        a, b, g, f = x[c], x[c + 1], x[c + 2], x[c + 5]
        px, py, pz = x[p], x[p + 1], x[p + 2]
        u, v = px - g * py + b * pz + x[c + 3], py + g * px - a * pz + x[c + 4]
        s = u * u + v * v
        w, uu, uv, vv = 1 + f * s, 2 * f * u * u, 2 * f * u * v, 2 * f * v * v
        for d, e, t in ((w + uu, uv, u), (uv, w + vv, v)):
            out[k], out[k + 1], out[k + 2] = -e * pz, d * pz, e * px - d * py
            out[k + 3], out[k + 4], out[k + 5] = d, e, t * s
            out[k + 6], out[k + 7], out[k + 8] = d + g * e, e - g * d, b * d - a * e
            k += 9


def bundle_rows(count: int, repeat: int) -> Iterator[SparseRow]:
    """The Jacobian of a bundle adjustment."""
    rng = np.random.default_rng(0)
    camera, point = rng.integers(0, CAMERAS, count), np.sort(rng.integers(0, POINTS, count))
    x = rng.normal(size=6 * CAMERAS + 3 * POINTS)
    start = process_time()
    jacobian = sparse_jacobian(seen_by(camera, point))
    out = np.empty(len(jacobian.structure(x)))
    jacobian.values(x, out=out)
    setup = process_time() - start
    name = "bundle adjustment, J"
    seen_by_hand(x, camera, point, CAMERAS, by_hand := np.empty(18 * count))
    np.testing.assert_allclose(by_hand, out, rtol=1e-9, atol=1e-12)
    hand = median(lambda: seen_by_hand(x, camera, point, CAMERAS, by_hand), repeat)
    yield SparseRow(name, 2 * count, len(out), BY_HAND, 0.0, hand)
    own = median(lambda: jacobian.values(x, out=out), repeat)
    yield SparseRow(name, 2 * count, len(out), OWN, setup, own)


def measure(
    head: dict[str, Any], size: str, repeat: int, progress: Callable[[str], None]
) -> SparseTimes:
    """Time all problems; of small ones the smallest size only."""
    count = 1 if size == "small" else None
    rows: list[SparseRow] = []
    remarks: list[str] = []
    for grid in GRIDS[:count]:
        rows.extend(brusselator_rows(grid, repeat, remarks))
        progress(f"Brusselator, {grid} x {grid}")
    for n in LENGTHS[:count]:
        rows.extend(chained_rows(n, repeat, remarks))
        progress(f"Luksan-Vlcek, {n:,}")
    rows.extend(bundle_rows(OBSERVATIONS if count is None else 1_000, repeat))
    progress("bundle adjustment")
    solved = list(solved_rows(size, progress))
    colours = list(colour_rows(8 if size == "small" else 32))
    progress("colours")
    return SparseTimes(head, rows, solved, colours, remarks)


def problems(size: str) -> int:
    """How many of them there are."""
    return 7 if size == "small" else len(GRIDS) + len(LENGTHS) + 5
