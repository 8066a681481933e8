"""Gradients through long loops: Lorenz's three equations, and his forty (`lorenz96`), by the
classical Runge-Kutta method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload
from . import control

STEP = 0.01
Slope = Callable[[Any], Any]


def runge_kutta(f: Slope, u: Any) -> Any:
    a = f(u)
    b = f(u + STEP / 2 * a)
    c = f(u + STEP / 2 * b)
    d = f(u + STEP * c)
    return u + STEP / 6 * (a + 2 * b + 2 * c + d)


def three(u: Floats, p: Floats, n: Any) -> Any:
    def f(v: Any) -> Any:
        x, y, z = v[0], v[1], v[2]
        return np.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])

    return np.sum(control.scan(lambda v, _: (runge_kutta(f, v), 0.0), u, n)[0] ** 2)


def forty(u: Floats, force: Any, n: Any) -> Any:
    def f(v: Any) -> Any:
        return (np.roll(v, -1) - np.roll(v, 2)) * np.roll(v, 1) - v + force

    return np.sum(control.scan(lambda v, _: (runge_kutta(f, v), 0.0), u, n)[0] ** 2)


def many(u: Floats, force: Any, n: Any) -> Any:
    return np.sum(control.vmap(lambda v: forty(v, force, n))(u))


def three_data(steps: int) -> tuple[Any, ...]:
    return np.array([1.0, 1.0, 1.0]), np.array([10.0, 28.0, 8 / 3]), np.zeros(steps)


def forty_data(n: int, steps: int) -> tuple[Any, ...]:
    return 8 + np.random.default_rng(0).standard_normal(n), np.array(8.0), np.zeros(steps)


def many_data(systems: int, n: int, steps: int) -> tuple[Any, ...]:
    return (
        8 + np.random.default_rng(0).standard_normal((systems, n)),
        np.array(8.0),
        np.zeros(steps),
    )


# --- by hand: the states of all steps are kept, and each is taken back by the transposed method ---


def taken_back(
    f: Slope,
    pulled: Callable[[Any, Any], tuple[Any, Any]],
    u: Any,
    steps: int,
    parameters: Any,
    start: Any = None,
) -> tuple[Any, Any]:
    """The gradient of |u|^2 after so many steps, or of another function with the gradient `start`
    there; `pulled(state, cotangent)` gives J' v with respect to the state and to the parameters."""
    path = [u]
    for _ in range(steps):
        path.append(runge_kutta(f, path[-1]))
    bar, total = 2 * path[-1] if start is None else start, np.zeros_like(parameters)
    for v in reversed(path[:-1]):
        a = f(v)
        b = f(v + STEP / 2 * a)
        c = f(v + STEP / 2 * b)
        at = (v, v + STEP / 2 * a, v + STEP / 2 * b, v + STEP * c)
        back = np.zeros_like(v)
        result = bar
        for state, weight, before in zip(
            reversed(at), (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.0, 1.0, 0.5, 0.5), strict=True
        ):
            back, more = pulled(state, STEP * (weight * bar + before * back))
            result, total = result + back, total + more
        bar = result
    return bar, total


def three_reference(u: Floats, p: Floats, n: Floats) -> list[Any]:
    def f(v: Any) -> Any:
        return np.array(
            [p[0] * (v[1] - v[0]), v[0] * (p[1] - v[2]) - v[1], v[0] * v[1] - p[2] * v[2]]
        )

    def pulled(v: Any, ct: Any) -> tuple[Any, Any]:
        x, y, z = v
        jacobian = np.array([[-p[0], p[0], 0.0], [p[1] - z, -1.0, -x], [y, x, -p[2]]])
        return ct @ jacobian, ct * np.array([y - x, x, -z])

    return list(taken_back(f, pulled, u, len(n), p))


def forty_reference(u: Floats, force: Floats, n: Floats) -> list[Any]:
    """Of one system, or of one in each row."""

    def moved(v: Any, by: int) -> Any:
        return np.roll(v, by, axis=-1)

    def f(v: Any) -> Any:
        return (moved(v, -1) - moved(v, 2)) * moved(v, 1) - v + force

    def pulled(v: Any, ct: Any) -> tuple[Any, Any]:
        product = ct * moved(v, 1)
        return moved(product, 1) - moved(product, -2) + moved(
            ct * (moved(v, -1) - moved(v, 2)), -1
        ) - ct, np.sum(ct)

    return list(taken_back(f, pulled, u, len(n), force))


def three_product(u: Floats, p: Floats, n: Floats, v: Floats) -> list[Any]:
    """The tangents of the states beside them, and each step of both taken back."""

    def f(w: Any) -> Any:
        x, y, z, dx, dy, dz = w
        return np.array(
            [
                *(p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z),
                *(p[0] * (dy - dx), dx * (p[1] - z) - x * dz - dy, dx * y + x * dy - p[2] * dz),
            ]
        )

    def pulled(w: Any, ct: Any) -> tuple[Any, Any]:
        x, y, z, dx, dy, dz = w
        jacobian = np.array([[-p[0], p[0], 0.0], [p[1] - z, -1.0, -x], [y, x, -p[2]]])
        moved = np.array([[0.0, 0.0, 0.0], [-dz, 0.0, -dx], [dy, dx, 0.0]])
        return ct @ np.block([[jacobian, np.zeros((3, 3))], [moved, jacobian]]), np.zeros(3)

    # The gradient is 2 last . d(last), so its derivative along v has both halves of the last state,
    # crosswise.
    path = np.concatenate([u, v])
    for _ in range(len(n)):
        path = runge_kutta(f, path)
    return [
        taken_back(
            f,
            pulled,
            np.concatenate([u, v]),
            len(n),
            np.zeros(3),
            np.concatenate([path[3:], path[:3]]) * 2,
        )[0][:3]
    ]


def three_loops(u: Floats, p: Floats, n: Floats) -> tuple[Floats, Floats]:
    steps = len(n)
    s, r, q, h = p[0], p[1], p[2], STEP
    path = np.empty((steps + 1, 3))
    x, y, z = u[0], u[1], u[2]
    for i in range(steps):
        path[i, 0], path[i, 1], path[i, 2] = x, y, z
        ax, ay, az = s * (y - x), x * (r - z) - y, x * y - q * z
        bx, by, bz = x + h / 2 * ax, y + h / 2 * ay, z + h / 2 * az
        cx, cy, cz = s * (by - bx), bx * (r - bz) - by, bx * by - q * bz
        dx, dy, dz = x + h / 2 * cx, y + h / 2 * cy, z + h / 2 * cz
        ex, ey, ez = s * (dy - dx), dx * (r - dz) - dy, dx * dy - q * dz
        fx, fy, fz = x + h * ex, y + h * ey, z + h * ez
        x += h / 6 * (ax + 2 * cx + 2 * ex + s * (fy - fx))
        y += h / 6 * (ay + 2 * cy + 2 * ey + fx * (r - fz) - fy)
        z += h / 6 * (az + 2 * cz + 2 * ez + fx * fy - q * fz)
    bx0, by0, bz0 = 2 * x, 2 * y, 2 * z
    ds = dr = dq = 0.0
    for k in range(steps):
        i = steps - 1 - k
        x, y, z = path[i, 0], path[i, 1], path[i, 2]
        x1, y1, z1 = (
            x + h / 2 * (s * (y - x)),
            y + h / 2 * (x * (r - z) - y),
            z + h / 2 * (x * y - q * z),
        )
        x2, y2, z2 = (
            x + h / 2 * (s * (y1 - x1)),
            y + h / 2 * (x1 * (r - z1) - y1),
            z + h / 2 * (x1 * y1 - q * z1),
        )
        x3, y3, z3 = (
            x + h * (s * (y2 - x2)),
            y + h * (x2 * (r - z2) - y2),
            z + h * (x2 * y2 - q * z2),
        )
        vx, vy, vz = h / 6 * bx0, h / 6 * by0, h / 6 * bz0
        ux, uy, uz = -s * vx + (r - z3) * vy + y3 * vz, s * vx - vy + x3 * vz, -x3 * vy - q * vz
        ds, dr, dq = ds + (y3 - x3) * vx, dr + x3 * vy, dq - z3 * vz
        rx, ry, rz = bx0 + ux, by0 + uy, bz0 + uz
        vx, vy, vz = h * (bx0 / 3 + ux), h * (by0 / 3 + uy), h * (bz0 / 3 + uz)
        ux, uy, uz = -s * vx + (r - z2) * vy + y2 * vz, s * vx - vy + x2 * vz, -x2 * vy - q * vz
        ds, dr, dq = ds + (y2 - x2) * vx, dr + x2 * vy, dq - z2 * vz
        rx, ry, rz = rx + ux, ry + uy, rz + uz
        vx, vy, vz = h * (bx0 / 3 + ux / 2), h * (by0 / 3 + uy / 2), h * (bz0 / 3 + uz / 2)
        ux, uy, uz = -s * vx + (r - z1) * vy + y1 * vz, s * vx - vy + x1 * vz, -x1 * vy - q * vz
        ds, dr, dq = ds + (y1 - x1) * vx, dr + x1 * vy, dq - z1 * vz
        rx, ry, rz = rx + ux, ry + uy, rz + uz
        vx, vy, vz = h * (bx0 / 6 + ux / 2), h * (by0 / 6 + uy / 2), h * (bz0 / 6 + uz / 2)
        ux, uy, uz = -s * vx + (r - z) * vy + y * vz, s * vx - vy + x * vz, -x * vy - q * vz
        ds, dr, dq = ds + (y - x) * vx, dr + x * vy, dq - z * vz
        bx0, by0, bz0 = rx + ux, ry + uy, rz + uz
    return np.array([bx0, by0, bz0]), np.array([ds, dr, dq])


def slope_of_forty(v: Floats, force: Any, out: Floats) -> None:
    n = np.uint64(len(v))
    two, one = np.uint64(2), np.uint64(1)
    out[0] = (v[1] - v[n - two]) * v[n - one] - v[0] + force
    out[1] = (v[2] - v[n - one]) * v[0] - v[1] + force
    for i in range(two, n - one):
        out[i] = (v[i + one] - v[i - two]) * v[i - one] - v[i] + force
    out[n - one] = (v[0] - v[n - np.uint64(3)]) * v[n - two] - v[n - one] + force


def pulled_of_forty(v: Floats, ct: Floats, out: Floats) -> float:
    """out = J' ct; the sum of ct."""
    n = np.uint64(len(v))
    one, two = np.uint64(1), np.uint64(2)
    total = 0.0
    for i in range(n):
        total += ct[i]
    for i in range(two):
        m1, m2, p1, p2 = (i + n - one) % n, (i + n - two) % n, i + one, i + two
        out[i] = ct[m1] * v[m2] - ct[p2] * v[p1] + ct[p1] * (v[p2] - v[m1]) - ct[i]
    for i in range(two, n - two):
        out[i] = (
            ct[i - one] * v[i - two]
            - ct[i + two] * v[i + one]
            + ct[i + one] * (v[i + two] - v[i - one])
            - ct[i]
        )
    for i in range(n - two, n):
        m1, m2, p1, p2 = i - one, i - two, (i + one) % n, (i + two) % n
        out[i] = ct[m1] * v[m2] - ct[p2] * v[p1] + ct[p1] * (v[p2] - v[m1]) - ct[i]
    return total


def forty_loops(u: Floats, force: Floats, n: Floats) -> tuple[Floats, Floats]:
    steps, m, f, h = len(n), np.uint64(len(u)), force[()], STEP
    path = np.empty((steps + 1, len(u)))
    path[0] = u
    a, b, c, d = np.empty(len(u)), np.empty(len(u)), np.empty(len(u)), np.empty(len(u))
    x, y, z = np.empty(len(u)), np.empty(len(u)), np.empty(len(u))
    for k in range(steps):
        v = path[k]
        slope_of_forty(v, f, a)
        for i in range(m):
            x[i] = v[i] + h / 2 * a[i]
        slope_of_forty(x, f, b)
        for i in range(m):
            y[i] = v[i] + h / 2 * b[i]
        slope_of_forty(y, f, c)
        for i in range(m):
            z[i] = v[i] + h * c[i]
        slope_of_forty(z, f, d)
        for i in range(m):
            path[k + 1, i] = v[i] + h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i])
    bar, ct, back, total = 2 * path[steps], np.empty(len(u)), np.empty(len(u)), 0.0
    result = np.empty(len(u))
    for k in range(steps):
        v = path[steps - 1 - k]
        slope_of_forty(v, f, a)
        for i in range(m):
            x[i] = v[i] + h / 2 * a[i]
        slope_of_forty(x, f, b)
        for i in range(m):
            y[i] = v[i] + h / 2 * b[i]
        slope_of_forty(y, f, c)
        for i in range(m):
            z[i] = v[i] + h * c[i]
            ct[i] = h / 6 * bar[i]
        total += pulled_of_forty(z, ct, back)
        for i in range(m):
            result[i] = bar[i] + back[i]
            ct[i] = h * (bar[i] / 3 + back[i])
        total += pulled_of_forty(y, ct, back)
        for i in range(m):
            result[i] += back[i]
            ct[i] = h * (bar[i] / 3 + back[i] / 2)
        total += pulled_of_forty(x, ct, back)
        for i in range(m):
            result[i] += back[i]
            ct[i] = h * (bar[i] / 6 + back[i] / 2)
        total += pulled_of_forty(v, ct, back)
        for i in range(m):
            bar[i] = result[i] + back[i]
    return bar, np.array(total)


def many_loops(u: Floats, force: Floats, n: Floats) -> tuple[Floats, Floats]:
    result, totals = np.empty_like(u), np.empty(len(u))
    for k in range(len(u)):
        result[k], part = forty_loops(u[k], force, n)
        totals[k] = part[()]
    return result, np.array(np.sum(totals))


def three_in_torch(torch: Any) -> Function:
    def loss(u: Any, p: Any, n: Any) -> Any:
        def f(v: Any) -> Any:
            x, y, z = v[0], v[1], v[2]
            return torch.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])

        for _ in range(len(n)):
            u = runge_kutta(f, u)
        return torch.sum(u**2)

    return loss


def forty_in_torch(torch: Any) -> Function:
    def loss(u: Any, force: Any, n: Any) -> Any:
        def moved(v: Any, by: int) -> Any:
            return torch.roll(v, by, -1)

        def f(v: Any) -> Any:
            return (moved(v, -1) - moved(v, 2)) * moved(v, 1) - v + force

        for _ in range(len(n)):
            u = runge_kutta(f, u)
        return torch.sum(u**2)

    return loss


WORKLOADS = (
    Workload(
        name="lorenz63",
        derivative="grad",
        doc="a long loop over three numbers",
        function=three,
        data=three_data,
        # The system is chaotic: after a few thousand steps more, derivatives have no right digit
        # whoever computes them.
        sizes={"small": {"steps": 50}, "default": {"steps": 1_000}, "large": {"steps": 2_000}},
        reference=three_reference,
        argnums=(0, 1),
        numba=three_loops,
        torch=three_in_torch,
        loops=True,
    ),
    Workload(
        name="lorenz63",
        derivative="hvp",
        doc="second derivatives through a long loop",
        function=three,
        data=three_data,
        sizes={"small": {"steps": 50}, "default": {"steps": 200}, "large": {"steps": 1_000}},
        reference=three_product,
        torch=three_in_torch,
        loops=True,
    ),
    Workload(
        name="lorenz96",
        derivative="grad",
        doc="a long loop over forty numbers",
        function=forty,
        data=forty_data,
        sizes={
            "small": {"n": 8, "steps": 50},
            "default": {"n": 40, "steps": 500},
            "large": {"n": 1_000, "steps": 400},
        },
        reference=forty_reference,
        argnums=(0, 1),
        numba=forty_loops,
        torch=forty_in_torch,
        loops=True,
    ),
    Workload(
        name="lorenz96",
        variant="batch",
        derivative="grad",
        doc="many systems at once",
        function=many,
        data=many_data,
        sizes={
            "small": {"systems": 4, "n": 8, "steps": 20},
            "default": {"systems": 100, "n": 40, "steps": 100},
            "large": {"systems": 100_000, "n": 40, "steps": 100},
        },
        reference=forty_reference,
        argnums=(0, 1),
        numba=many_loops,
        torch=forty_in_torch,
        loops=True,
    ),
)
