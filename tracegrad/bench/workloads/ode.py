"""The fit of an ordinary differential equation: two preys and two predators, integrated with
adaptive steps."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload
from . import control

RTOL, ATOL = 1e-8, 1e-10


def slope(y: Any, time: Any, rates: Any, meetings: Any) -> Any:
    return y * (rates + meetings @ y)


def fit(y0: Any, rates: Any, meetings: Any, times: Any, seen: Any) -> Any:
    return np.sum(
        (control.odeint(slope, y0, times, rates, meetings, rtol=RTOL, atol=ATOL) - seen) ** 2
    )


def data(times: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    rates = np.array([1.0, -0.5, 1.2, -0.6])
    meetings = np.array(
        [
            [-0.05, -0.8, 0.0, -0.3],
            [0.6, 0.0, 0.3, 0.0],
            [0.0, -0.4, -0.05, -0.9],
            [0.3, 0.0, 0.7, 0.0],
        ]
    )
    return (
        np.array([0.8, 0.6, 0.5, 0.7]),
        rates,
        meetings,
        np.linspace(0.0, 20.0, times),
        rng.uniform(0.3, 1.5, (times, 4)),
    )


def reference(
    y0: Floats, rates: Floats, meetings: Floats, times: Floats, seen: Floats
) -> list[Any]:
    """By the equations for the sensitivities, integrated with the solution by a method of order
    8."""
    n = len(y0)

    def both(time: float, state: Floats) -> Floats:
        y, s = state[:n], state[n:].reshape(n, -1)
        jacobian = np.diag(rates + meetings @ y) + y[:, None] * meetings
        direct = np.concatenate(
            [np.zeros((n, n)), np.diag(y), np.einsum("pi,q->piq", np.diag(y), y).reshape(n, n * n)],
            1,
        )
        return np.concatenate([slope(y, time, rates, meetings), (jacobian @ s + direct).ravel()])

    start = np.concatenate([y0, np.concatenate([np.eye(n), np.zeros((n, n + n * n))], 1).ravel()])
    found = control.odeint(
        lambda state, time: both(time, state), start, times, rtol=1e-12, atol=1e-14
    )
    y, s = found[:, :n], found[:, n:].reshape(len(times), n, -1)
    gradient = np.einsum("tp,tpk->k", 2 * (y - seen), s)
    return [gradient[:n], gradient[n : 2 * n], gradient[2 * n :].reshape(n, n)]


# --- by hand: the method of Dormand and Prince, and each of its steps taken back ------------------

STAGES = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
INSIDE = np.array(
    [
        [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
        [0, 0, 0, 0],
        [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
        [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
        [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
        [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
        [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ]
)


def stages_of(
    y: Floats, h: float, rates: Floats, meetings: Floats, first: int, states: Floats, slopes: Floats
) -> None:
    """The states at which slopes are taken, and the slopes, from stage `first` on; the last state
    is that after the step."""
    n = len(y)
    for k in range(first, 7):
        for p in range(n):
            total = 0.0
            for m in range(k):
                total += STAGES[k, m] * slopes[m, p]
            states[k, p] = y[p] + h * total
        for p in range(n):
            growth = rates[p]
            for q in range(n):
                growth += meetings[p, q] * states[k, q]
            slopes[k, p] = states[k, p] * growth


def loops(
    y0: Floats, rates: Floats, meetings: Floats, times: Floats, seen: Floats
) -> tuple[Floats, Floats, Floats]:
    n, count = len(y0), len(times)
    path, sizes, starts = np.empty((1024, n)), np.empty(1024), np.empty(1024)
    states, slopes = np.empty((7, n)), np.empty((7, n))
    within, bars = np.empty(count, np.int64), np.empty((count, n))
    y, start, steps = y0.copy(), times[0], 0
    stages_of(y, 0.0, rates, meetings, 0, states, slopes)
    d0 = d1 = 0.0
    for p in range(n):
        scale = ATOL + RTOL * abs(y[p])
        d0 += (y[p] / scale) ** 2 / n
        d1 += (slopes[0, p] / scale) ** 2 / n
    h = 0.01 * np.sqrt(d0 / d1) if d0 > 1e-10 and d1 > 1e-10 else 1e-6
    moved = False
    for p in range(n):
        bars[0, p] = 2 * (y0[p] - seen[0, p])
    for j in range(1, count):
        while start < times[j]:
            if moved:
                slopes[0] = slopes[6]
            stages_of(y, h, rates, meetings, 1, states, slopes)
            error = 0.0
            for p in range(n):
                e = 0.0
                for k in range(7):
                    e += ERROR[k] * slopes[k, p]
                error += (h * e / (ATOL + RTOL * max(abs(y[p]), abs(states[6, p])))) ** 2 / n
            error = np.sqrt(error)
            moved = error <= 1.0
            if moved:
                if steps == len(sizes):
                    path, sizes = (
                        np.concatenate((path, np.empty_like(path))),
                        np.concatenate((sizes, np.empty_like(sizes))),
                    )
                    starts = np.concatenate((starts, np.empty_like(starts)))
                sizes[steps], starts[steps] = h, start
                for p in range(n):
                    path[steps, p], y[p] = y[p], states[6, p]
                steps += 1
                start += h
            h *= min(10.0, max(0.2, 0.9 * max(error, 1e-10) ** -0.2))
        last = steps - 1
        within[j] = last
        fraction = (times[j] - starts[last]) / sizes[last]
        for p in range(n):
            inside = 0.0
            for k in range(7):
                inside += weight(k, fraction) * slopes[k, p]
            bars[j, p] = 2 * (path[last, p] + sizes[last] * inside - seen[j, p])
    bar, d_rates, d_meetings = np.zeros(n), np.zeros(n), np.zeros((n, n))
    back, pulled = np.empty((7, n)), np.empty(n)
    j = count - 1
    for i in range(steps - 1, -1, -1):
        h = sizes[i]
        stages_of(path[i], h, rates, meetings, 0, states, slopes)
        for k in range(6):
            for p in range(n):
                back[k, p] = h * STAGES[6, k] * bar[p]
        for p in range(n):
            back[6, p] = 0.0
        while j > 0 and within[j] == i:
            fraction = (times[j] - starts[i]) / h
            for k in range(7):
                for p in range(n):
                    back[k, p] += h * weight(k, fraction) * bars[j, p]
            for p in range(n):
                bar[p] += bars[j, p]
            j -= 1
        for k in range(6, -1, -1):
            for q in range(n):
                growth = rates[q]
                for p in range(n):
                    growth += meetings[q, p] * states[k, p]
                pulled[q] = back[k, q] * growth
                d_rates[q] += states[k, q] * back[k, q]
            for p in range(n):
                product = back[k, p] * states[k, p]
                for q in range(n):
                    pulled[q] += product * meetings[p, q]
                    d_meetings[p, q] += product * states[k, q]
            for q in range(n):
                bar[q] += pulled[q]
            for m in range(k):
                for q in range(n):
                    back[m, q] += h * STAGES[k, m] * pulled[q]
    for p in range(n):
        bar[p] += bars[0, p]
    return bar, d_rates, d_meetings


def weight(stage: int, fraction: float) -> float:
    """Of a slope in the solution inside of a step."""
    total = 0.0
    for power in range(3, -1, -1):
        total = fraction * (INSIDE[stage, power] + total)
    return total


def in_torch(torch: Any) -> Function:
    odeint: Callable[..., Any] = import_module("torchdiffeq").odeint

    def loss(y0: Any, rates: Any, meetings: Any, times: Any, seen: Any) -> Any:
        found = odeint(
            lambda time, y: slope(y, time, rates, meetings),
            y0,
            times,
            rtol=RTOL,
            atol=ATOL,
            method="dopri5",
        )
        return torch.sum((found - seen) ** 2)

    return loss


WORKLOADS = (
    Workload(
        name="ode",
        derivative="grad",
        doc=(
            "a differential equation of four species by adaptive steps of order 5, "
            "fitted to what was seen at given times"
        ),
        function=fit,
        data=data,
        sizes={"small": {"times": 6}, "default": {"times": 41}, "large": {"times": 401}},
        reference=reference,
        argnums=(0, 1, 2),
        numba=loops,
        torch=in_torch,
        loops=True,
        tolerance=1e-5,
    ),
)
