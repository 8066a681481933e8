"""Recursions along time."""

from __future__ import annotations

from . import Array, jnp, lax


def recurrence(x: Array, a: Array) -> Array:
    def step(h: Array, given: Array) -> tuple[Array, Array]:
        h = jnp.tanh(a * h + given)
        return h, h

    return jnp.concatenate([x[:1], lax.scan(step, x[0], x[1:], unroll=4)[1]])


def garch(r: Array, p: Array) -> Array:
    squares = r * r

    def step(s: Array, square: Array) -> tuple[Array, Array]:
        return p[0] + p[1] * square + p[2] * s, s

    s = lax.scan(step, jnp.ones(()), squares, unroll=4)[1]
    return jnp.sum(jnp.log(s) + squares / s)


def kalman(y: Array, p: Array) -> Array:
    def step(state: Array, measured: Array) -> tuple[Array, Array]:
        x, v, a, b, c = state
        x = x + v
        a, b, c = a + 2 * b + c + p[0] / 3, b + c + p[0] / 2, c + p[0]
        error, s = measured - x, a + p[1]
        k, g = a / s, b / s
        return (x + k * error, v + g * error, a - k * a, b - k * b, c - g * b), (error, s)

    one, zero = jnp.ones(()), jnp.zeros(())
    error, s = lax.scan(step, (y[0], zero, one, zero, one), y[1:])[1]
    return jnp.sum(jnp.log(s) + error * error / s)


def metropolis(z: Array, u: Array, p: Array) -> Array:
    def step(state: Array, given: Array) -> tuple[Array, Array]:
        x, energy = state
        new = x + p[0] * given[0]
        proposed = p[1] * new * new + p[2] * new**4
        taken = given[1] < jnp.exp(energy - proposed)
        x, energy = jnp.where(taken, new, x), jnp.where(taken, proposed, energy)
        return (x, energy), x

    zero = jnp.zeros(())
    return lax.scan(step, (zero, zero), (z, u))[1]


def viterbi(emit: Array, move: Array) -> Array:
    def step(score: Array, given: Array) -> tuple[Array, None]:
        return jnp.max(score[:, None] + move, 0) + given, None

    return jnp.max(lax.scan(step, emit[0], emit[1:])[0])


def lattice(p: Array) -> Array:
    steps = 200
    up = jnp.exp(p[1] * jnp.sqrt(1 / steps))
    q = (jnp.exp(p[2] / steps) - 1 / up) / (up - 1 / up)
    factor = jnp.exp(-p[2] / steps)
    s = p[0] * up ** (2 * jnp.arange(steps + 1) - steps)

    # What lies above the tree's edge is computed too, and read by nobody.
    def step(_: Array, state: Array) -> Array:
        s, v = state
        s = s * up
        held = factor * (q * jnp.roll(v, -1) + (1 - q) * v)
        return s, jnp.maximum(held, 1.0 - s)

    return lax.fori_loop(0, steps, step, (s, jnp.maximum(1.0 - s, 0.0)))[1][0]


def network(x: Array, w: Array, u: Array, b: Array) -> Array:
    def step(h: Array, given: Array) -> tuple[Array, Array]:
        h = jnp.tanh(given + w @ h)
        return h, h

    return lax.scan(step, jnp.zeros(b.shape), x @ u.T + b)[1]


def waits(gaps: Array, services: Array) -> Array:
    arrivals = jnp.cumsum(gaps)

    def step(free: Array, given: Array) -> tuple[Array, Array]:
        now, service = given
        first = jnp.argmin(free)
        start = jnp.maximum(now, free[first])
        return free.at[first].set(start + service), start - now

    return lax.scan(step, jnp.zeros(3), (arrivals, services))[1]


def warping(x: Array, y: Array) -> Array:
    # Along diagonals: element i of one is at row i, and all depend on the two before alone.
    n, m = x.shape[0], y.shape[0]
    rows = jnp.arange(n)

    def step(state: Array, k: Array) -> tuple[Array, Array]:
        last, older = state
        columns = k - rows
        inside = (columns >= 0) & (columns < m)
        cost = (x - y[jnp.clip(columns, 0, m - 1)]) ** 2
        corner = jnp.where(k == 0, 0.0, jnp.inf)
        above = jnp.concatenate([jnp.full(1, jnp.inf), last[:-1]])
        before = jnp.concatenate([corner[None], older[:-1]])
        least = jnp.minimum(jnp.minimum(before, above), last)
        new = jnp.where(inside, cost + least, jnp.inf)
        return (new, last), None

    start = jnp.full(n, jnp.inf), jnp.full(n, jnp.inf)
    return lax.scan(step, start, jnp.arange(n + m - 1))[0][0][-1]
