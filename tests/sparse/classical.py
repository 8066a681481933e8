"""A hundred test functions of optimization, written for NumPy from the formulas in Moré, Garbow and
Hillstrom (ACM TOMS 7, 1981), Hock and Schittkowski (1981), Luksan and Vlcek (1999), CUTE (Bongartz,
Conn, Gould and Toint, ACM TOMS 21, 1995) and Andrei (2008): how they couple their unknowns is what
counts here. Vectors are systems of equations, numbers are objectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

N = 24
FUNCTIONS: dict[str, Callable[[Any], Any]] = {}
K = np.arange(1, N + 1)
H = 1 / (N + 1)


def put(name: str, function: Callable[[Any], Any]) -> None:
    assert name not in FUNCTIONS
    FUNCTIONS[name] = function


def named(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    put(function.__name__, function)
    return function


def shifted(x: Any, k: int) -> Any:
    """x[i + k], zero outside."""
    ahead, behind = np.zeros(max(k, 0)), np.zeros(max(-k, 0))
    return np.concatenate([behind, x[max(k, 0) : N + min(k, 0)], ahead])


# --- systems of Moré, Garbow and Hillstrom -------------------------------------------------------

put("rosenbrock_pairs", lambda x: np.stack([10 * (x[1::2] - x[::2] ** 2), 1 - x[::2]], -1).ravel())


@named
def powell_singular(x: Any) -> Any:
    a, b, c, d = x.reshape(-1, 4).T
    parts = [a + 10 * b, 5**0.5 * (c - d), (b - 2 * c) ** 2, 10**0.5 * (a - d) ** 2]
    return np.stack(parts, 1).ravel()


put("penalty_1", lambda x: np.append(1e-5**0.5 * (x - 1), np.sum(x**2) - 0.25))


@named
def penalty_2(x: Any) -> Any:
    y = np.exp(K[1:] / 10) + np.exp(K[:-1] / 10)
    rows = [x[:1] - 0.2, np.exp(x[1:] / 10) + np.exp(x[:-1] / 10) - y, np.exp(x[1:] / 10)]
    return np.concatenate([*rows, np.sum((N - K + 1) * x**2)[None] - 1])


@named
def variably_dimensioned(x: Any) -> Any:
    s = np.sum(K * (x - 1))
    return np.concatenate([x - 1, np.stack([s, s**2])])


put("trigonometric", lambda x: N - np.sum(np.cos(x)) + K * (1 - np.cos(x)) - np.sin(x))


@named
def brown_almost_linear(x: Any) -> Any:
    return np.append((x + np.sum(x) - (N + 1))[:-1], np.prod(x) - 1)


@named
def discrete_boundary_value(x: Any) -> Any:
    return 2 * x - shifted(x, -1) - shifted(x, 1) + H**2 * (x + K * H + 1) ** 3 / 2


@named
def discrete_integral_equation(x: Any) -> Any:
    t = K * H
    cubes = (x + t + 1) ** 3
    before, behind = np.cumsum(t * cubes), np.cumsum(((1 - t) * cubes)[::-1])[::-1]
    return x + H * ((1 - t) * before + t * (behind - (1 - t) * cubes)) / 2


put("broyden_tridiagonal", lambda x: (3 - 2 * x) * x - shifted(x, -1) - 2 * shifted(x, 1) + 1)


@named
def broyden_banded(x: Any) -> Any:
    y = x * (1 + x)
    around = sum(shifted(y, -k) for k in range(1, 6)) + shifted(y, 1)
    return x * (2 + 5 * x**2) + 1 - around


put("linear_full_rank", lambda x: np.concatenate([x, np.zeros(4)]) - 2 * np.sum(x) / 28 - 1)
put("linear_rank_1", lambda x: K * np.sum(K * x) - 1)
put("linear_rank_1_zeros", lambda x: np.concatenate([[0.0], (K - 1)[1:-1], [0.0]]) * (K @ x) - 1)


@named
def chebyquad(x: Any) -> Any:
    t, rows = [np.ones(N), 2 * x - 1], []
    for k in range(1, 9):
        rows.append(np.mean(t[-1]) + (1 / (k**2 - 1) if k % 2 == 0 else 0))
        t.append(2 * (2 * x - 1) * t[-1] - t[-2])
    return np.stack(rows)


@named
def watson(x: Any) -> Any:
    t = np.arange(1, 30)[:, None] / 29
    k = np.arange(N)
    power = t**k
    slope = np.sum(k[1:] * power[:, :-1] * x[1:], 1)
    return np.concatenate([slope - np.sum(power * x, 1) ** 2 - 1, x[:1], x[1:2] - x[0] ** 2 - 1])


@named
def biggs_exp6(x: Any) -> Any:
    t = np.arange(1, 14) / 10
    y = np.exp(-t) - 5 * np.exp(-10 * t) + 3 * np.exp(-4 * t)
    return x[2] * np.exp(-t * x[0]) - x[3] * np.exp(-t * x[1]) + x[5] * np.exp(-t * x[4]) - y


@named
def gaussian(x: Any) -> Any:
    t = (8 - np.arange(1, 16)) / 2
    return x[0] * np.exp(-x[1] * (t - x[2]) ** 2 / 2) - 0.1


@named
def osborne_1(x: Any) -> Any:
    t = 10 * np.arange(33)
    return x[0] + x[1] * np.exp(-t * x[3] / 99) + x[2] * np.exp(-t * x[4] / 99)


@named
def brown_dennis(x: Any) -> Any:
    t = np.arange(1, 21) / 5
    return (x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2


@named
def helical_valley(x: Any) -> Any:
    angle = np.arctan2(x[1], x[0]) / (2 * np.pi)
    return np.stack([10 * (x[2] - 10 * angle), 10 * (np.hypot(x[0], x[1]) - 1), x[2]])


@named
def wood(x: Any) -> Any:
    a, b, c, d = x.reshape(-1, 4).T
    e, f = 90**0.5 * (d - c**2), 10**0.5 * (b + d - 2)
    return np.concatenate([10 * (b - a**2), 1 - a, e, 1 - c, f, 10**-0.5 * (b - d)])


put("jennrich_sampson", lambda x: 2 + 2 * K - (np.exp(K * x[0] / 9) + np.exp(K * x[1] / 9)))
put("freudenstein_roth", lambda x: x[::2] - 13 + ((5 - x[1::2]) * x[1::2] - 2) * x[1::2])
put("powell_badly_scaled", lambda x: np.append(1e4 * x[::2] * x[1::2] - 1, np.exp(-x)))
put(
    "beale",
    lambda x: np.concatenate([c - x[::2] * (1 - x[1::2] ** k) for k, c in ((1, 1.5), (3, 2))]),
)
put("kowalik_osborne", lambda x: x[0] * (K**2 + K * x[1]) / (K**2 + 9 + K * x[2] ** 2 + x[3] ** 2))
put("meyer", lambda x: x[0] * np.exp(x[1] / (45 + 5 * K + x[2] ** 2)))
put("box_3d", lambda x: np.exp(-K / 10 * x[0]) - np.exp(-K / 10 * x[1]) - x[2] * np.exp(-K / 10))
put("bard", lambda x: x[0] + K / (x[1] ** 2 * (25 - K) + x[2] ** 2 * np.minimum(K, 25 - K) + 1))
put("gulf", lambda x: np.exp(-(np.abs(K / 10 - x[1]) ** 1.5) / (1 + x[0] ** 2)) - K / 100)

# --- Luksan and Vlcek, and chains of CUTE --------------------------------------------------------


@named
def chained_rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1) ** 2)


@named
def chained_wood(x: Any) -> Any:
    a, b, c, d = x[:-3:2], x[1:-2:2], x[2:-1:2], x[3::2]
    s = 100 * (a**2 - b) ** 2 + (a - 1) ** 2 + 90 * (c**2 - d) ** 2 + (c - 1) ** 2
    return np.sum(s + 10 * (b + d - 2) ** 2 + (b - d) ** 2 / 10)


@named
def chained_powell(x: Any) -> Any:
    a, b, c, d = x[:-3:2], x[1:-2:2], x[2:-1:2], x[3::2]
    s = (a + 10 * b) ** 2 + 5 * (c - d) ** 2
    return np.sum(s + (b - 2 * c) ** 4 + 10 * (a - d) ** 4)


@named
def chained_cragg_levy(x: Any) -> Any:
    a, b, c, d = x[:-3:2], x[1:-2:2], x[2:-1:2], x[3::2]
    s = (np.exp(a) - b) ** 4 + 100 * (b - c) ** 6 + np.tan((c - d) / 9) ** 4
    return np.sum(s + a**8 + (d - 1) ** 2)


@named
def generalized_broyden_tridiagonal(x: Any) -> Any:
    p = np.pad(x, 1)
    return np.sum(np.abs((3 - 2 * x) * x - p[:-2] - p[2:] + 1) ** (7 / 3))


@named
def generalized_broyden_banded(x: Any) -> Any:
    y = x * (1 + x)
    around = sum(shifted(y, k) for k in (-5, -4, -3, -2, -1, 1))
    return np.sum(np.abs((2 + 5 * x**2) * x + 1 + around) ** (7 / 3))


@named
def toint_7_diagonal(x: Any) -> Any:
    p, half = np.pad(x, 1), N // 2
    s = np.sum(np.abs((3 - 2 * x) * x - p[:-2] - p[2:] + 1) ** (7 / 3))
    return s + np.sum(np.abs(x[:half] + x[half:]) ** (7 / 3))


@named
def nazareth_trigonometric(x: Any) -> Any:
    s = 0.0
    for k in range(-2, 3):
        s = s + (5 + k) * np.sin(shifted(x, k)) + (1 + k) * np.cos(shifted(x, k))
    return np.sum((N - s + K * (1 - np.cos(x))) ** 2) / N


put("toint_trigonometric", lambda x: np.sum(K * (1 - np.cos(x))) + np.sum(np.sin(x[1:] - x[:-1])))
put(
    "augmented_lagrangian",
    lambda x: np.sum(np.exp(np.prod(x.reshape(-1, 3), 1)) + (x[::3] - 1) ** 2),
)


@named
def brown_chained(x: Any) -> Any:
    a, b = x[:-1], x[1:]
    return np.sum((a**2 + 0.1) ** (b**2 + 1) + (b**2 + 0.1) ** (a**2 + 1))


@named
def extended_freudenstein_roth(x: Any) -> Any:
    a, b = x[::2], x[1::2]
    return np.sum((a - 13 + ((5 - b) * b - 2) * b) ** 2 + (a - 29 + ((b + 1) * b - 14) * b) ** 2)


put("arwhead", lambda x: np.sum((x[:-1] ** 2 + x[-1] ** 2) ** 2 - 4 * x[:-1] + 3))
put("bdqrtic", lambda x: np.sum((3 - 4 * x[:-4]) ** 2 + _squares(x)))


def _squares(x: Any) -> Any:
    return (
        x[:-4] ** 2 + 2 * x[1:-3] ** 2 + 3 * x[2:-2] ** 2 + 4 * x[3:-1] ** 2 + 5 * x[-1] ** 2
    ) ** 2


put("bdexp", lambda x: np.sum((x[:-2] + x[1:-1]) * np.exp((x[:-2] + x[1:-1]) * -x[2:])))
put("cosine", lambda x: np.sum(np.cos(x[:-1] ** 2 - 0.5 * x[1:])))
put("cragglvy_tail", lambda x: np.sum((x[::2] - x[-1]) ** 4 + x[1::2] * x[0]))
put("curly_10", lambda x: np.sum(_window(x, 10) ** 4 - 20 * _window(x, 10) ** 2))
put("curly_4", lambda x: np.sum(_window(x, 4) ** 4 - 20 * _window(x, 4) ** 2 - 0.1 * _window(x, 4)))


def _window(x: Any, k: int) -> Any:
    return sum(shifted(x, j) for j in range(k + 1))


put("dixon_price", lambda x: (x[0] - 1) ** 2 + np.sum(K[1:] * (2 * x[1:] ** 2 - x[:-1]) ** 2))
put("dqdrtic", lambda x: np.sum(x[:-2] ** 2 + 100 * x[1:-1] ** 2 + 100 * x[2:] ** 2))
put("dqrtic", lambda x: np.sum((x - K) ** 4))
put("edensch", lambda x: 16 + np.sum((x[:-1] - 2) ** 4 + (x[:-1] * x[1:] - 2 * x[1:]) ** 2))
put("eg2", lambda x: np.sum(np.sin(x[0] + x[:-1] ** 2 - 1)) + 0.5 * np.sin(x[-1] ** 2))
put("engval1", lambda x: np.sum((x[:-1] ** 2 + x[1:] ** 2) ** 2 - 4 * x[:-1] + 3))
put("errinros", lambda x: np.sum((x[:-1] - 16 * 0.7**2 * x[1:] ** 2) ** 2 + (1 - x[1:]) ** 2))
put("fletchcr", lambda x: np.sum(100 * (x[1:] - x[:-1] + 1 - x[:-1] ** 2) ** 2))
put("fletcbv2", lambda x: np.sum((x[:-1] - x[1:]) ** 2) / 2 - H**2 * np.sum(2 * x + np.cos(x)))
put("freuroth", lambda x: np.sum(((5 - x[1:]) * x[1:] ** 2 + x[:-1] - 2 * x[1:] - 13) ** 2))
put("genhumps", lambda x: np.sum((np.sin(2 * x[:-1]) * np.sin(2 * x[1:])) ** 2 + 0.05 * x[1:] ** 2))
put("genrose", lambda x: 1 + np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (x[1:] - 1) ** 2))
put("hilbert", lambda x: x @ ((1 / (K[:, None] + K - 1)) @ x) / 2)
put("indef", lambda x: np.sum(x) + 0.5 * np.sum(np.cos(2 * x[1:-1] - x[-1] - x[0])))
put("liarwhd", lambda x: np.sum(4 * (x**2 - x[0]) ** 2 + (x - 1) ** 2))
put("mancino", lambda x: np.sum((1400 * x + (K - 50) ** 3 + _spread(x)) ** 2) / 1e6)


def _spread(x: Any) -> Any:
    v = np.sqrt(x[:, None] ** 2 + K[:, None] / K)
    return np.sum(v * (np.sin(np.log(v)) + np.cos(np.log(v))), axis=1)


put("morebv", lambda x: np.sum(discrete_boundary_value(x) ** 2))
put("ncb20", lambda x: 2 + np.sum((_window(x / (1 + x**2), 8)) ** 2 - 0.2 * _window(x, 8)))
put("noncvxu2", lambda x: np.sum((x + x[(3 * K - 2) % N] + x[(7 * K - 3) % N]) ** 2) + _wave(x))


def _wave(x: Any) -> Any:
    return 4 * np.sum(np.cos(x + x[(3 * K - 2) % N] + x[(7 * K - 3) % N]))


put("nondia", lambda x: (x[0] - 1) ** 2 + 100 * np.sum((x[0] - x[1:] ** 2) ** 2))
put("nondquar", lambda x: (x[0] - x[1]) ** 2 + np.sum((x[:-2] + x[1:-1] + x[-1]) ** 4))
put("penalty_objective", lambda x: 1e-5 * np.sum((x - 1) ** 2) + (np.sum(x**2) - 0.25) ** 2)
put("powellsg", lambda x: np.sum(powell_singular(x) ** 2))
put("power", lambda x: np.sum(K * x) ** 2 + np.sum(K * x**2))
put("quartc", lambda x: np.sum((x - 1) ** 4))
put("scosine", lambda x: np.sum(np.cos((6.0 ** (K[:-1] / N)) * x[:-1] ** 2 - x[1:] / 2)))
put(
    "schmvett",
    lambda x: -np.sum(1 / (1 + (x[:-2] - x[1:-1]) ** 2) + np.sin((3 * x[1:-1] + x[2:]) / 2)),
)
put("sinquad", lambda x: (x[0] - 1) ** 4 + np.sum((np.sin(x[1:-1] - x[-1]) - x[0] ** 2) ** 2))
put("sparsine", lambda x: np.sum(K * np.sin(sum(x[(k * K - 1) % N] for k in (1, 2, 3, 5, 7))) ** 2))
put(
    "sparsqur", lambda x: np.sum(K * sum(x[(k * K - 1) % N] ** 2 for k in (1, 2, 3, 5, 7, 11)) ** 2)
)
put("spmsrtls", lambda x: np.sum((shifted(x, -1) * shifted(x, 1) - np.sin(K)) ** 2 + x**4))
put("srosenbr", lambda x: np.sum(100 * (x[1::2] - x[::2] ** 2) ** 2 + (x[::2] - 1) ** 2))
put("tquartic", lambda x: (x[0] - 1) ** 2 + np.sum((x[0] ** 2 - x[1:] ** 2) ** 2))
put("tridia", lambda x: (x[0] - 1) ** 2 + np.sum(K[1:] * (2 * x[1:] - x[:-1]) ** 2))
put("vardim", lambda x: np.sum((x - 1) ** 2) + (K @ (x - 1)) ** 2 + (K @ (x - 1)) ** 4)
put("vareigvl", lambda x: np.sum((x[1:] + x[:-1] - np.sum(x**2) * x[1:]) ** 2))
put("woods", lambda x: np.sum(wood(x) ** 2))
put("ackley", lambda x: -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2))) - np.exp(np.mean(np.cos(x))))
put("griewank", lambda x: 1 + np.sum(x**2) / 4000 - np.prod(np.cos(x / np.sqrt(K))))
put("rastrigin", lambda x: np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))
put("levy", lambda x: np.sum((x[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * x[1:]) ** 2)))
put("zakharov", lambda x: np.sum(x**2) + (K @ x / 2) ** 2 + (K @ x / 2) ** 4)

# --- equations on grids, constraints, and other couplings ----------------------------------------

GRID = (4, 6)


def laplace(u: Any, mode: str = "constant") -> Any:
    p = np.pad(u, 1, mode=mode)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u


put("bratu", lambda x: (laplace(x.reshape(GRID)) + 0.1 * np.exp(x.reshape(GRID))).ravel())
put("bratu_periodic", lambda x: laplace(x.reshape(GRID), "wrap") * np.exp(x.reshape(GRID)))
put("ginzburg_landau", lambda x: np.sum(-(x**2) + x**4 / 2) + np.sum((x[1:] - x[:-1]) ** 2))


@named
def minimal_surface(x: Any) -> Any:
    u = np.pad(x.reshape(GRID), 1)
    a, b = u[1:, 1:] - u[:-1, :-1], u[1:, :-1] - u[:-1, 1:]
    return np.sum(np.sqrt(1 + (a**2 + b**2) / 2))


@named
def lennard_jones(x: Any) -> Any:
    p = x.reshape(-1, 3)
    i, j = np.triu_indices(len(p), 1)
    s = 1 / (0.5 + np.sum((p[i] - p[j]) ** 2, 1)) ** 3
    return np.sum(s**2 - 2 * s)


@named
def catenary(x: Any) -> Any:
    p = x.reshape(-1, 2)
    return np.append(np.sum((p[1:] - p[:-1]) ** 2, 1) - 0.1, p[0])


@named
def van_der_pol_collocated(x: Any) -> Any:
    y, v, u = x.reshape(3, -1)
    f = (1 - y**2) * v - y + u
    rows = [y[1:] - y[:-1] - (v[1:] + v[:-1]) / 8, v[1:] - v[:-1] - (f[1:] + f[:-1]) / 8]
    return np.concatenate([*rows, y[:1] - 1, v[:1]])


put("hs_products", lambda x: np.stack([np.prod(x[:4]) - 25, np.sum(x[:4] ** 2) - 40, x[4] * x[7]]))
put("hs_exponentials", lambda x: np.exp(x[::4]) * x[1::4] - x[2::4] / (1 + x[3::4] ** 2))
put("rows_where", lambda x: np.where(x[1:] > x[:-1], x[1:] ** 2, x[:-1] * np.roll(x, 3)[1:]))
put("largest", lambda x: np.maximum(x[::2], x[1::2]) * np.max(x.reshape(6, 4), 1).repeat(2))
put("sorted_pairs", lambda x: np.sort(x.reshape(-1, 2), axis=1)[:, 1] - x[::2])
put("by_argmax", lambda x: x[:5] * x[np.argmax(x)])
put("running_products", lambda x: np.cumprod(x.reshape(4, 6), axis=1).ravel() * x)
put("determinants", lambda x: np.linalg.det(np.eye(2) * 3 + x.reshape(-1, 2, 2)))
