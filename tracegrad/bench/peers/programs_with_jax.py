"""The programs of `program_texts.py` with JAX: loops that carry rows, columns or whole fields where
a program allows it, choices by `where`, and loops of unknown length as many steps of which the last
change nothing. Of several ways to write one, the fastest stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

jax: Any = import_module("jax")
jax.config.update("jax_enable_x64", True)
jnp: Any = import_module("jax.numpy")
lax: Any = jax.lax
solve_triangular: Any = import_module("jax.scipy.linalg").solve_triangular
Array = Any


def lu(a: Array) -> Array:
    places = jnp.arange(a.shape[0])

    def step(k: Array, u: Array) -> Array:
        factors = jnp.where(places > k, u[:, k] / u[k, k], 0.0)
        u = u - jnp.outer(factors, jnp.where(places >= k, u[k], 0.0))
        return u.at[:, k].add(factors)

    return lax.fori_loop(0, a.shape[0], step, a)


def cholesky(a: Array) -> Array:
    places = jnp.arange(a.shape[0])

    def step(low: Array, j: Array) -> tuple[Array, None]:
        column = a[:, j] - low @ low[j]
        return low.at[:, j].set(jnp.where(places >= j, column / jnp.sqrt(column[j]), 0.0)), None

    return lax.scan(step, jnp.zeros_like(a), places)[0]


def gram_schmidt(a: Array) -> Array:
    # What is left of the columns before is taken away from them too, and is zero.
    def step(rest: Array, k: Array) -> tuple[Array, Array]:
        q = rest[:, k] / jnp.sqrt(rest[:, k] @ rest[:, k])
        return rest - jnp.outer(q, q @ rest), q

    return lax.scan(step, a, jnp.arange(a.shape[1]))[1].T


def gauss_seidel(a: Array, b: Array) -> Array:
    low = jnp.tril(a)
    above = a - low

    def sweep(_: Array, x: Array) -> Array:
        return solve_triangular(low, b - above @ x, lower=True)

    return lax.fori_loop(0, 20, sweep, jnp.zeros_like(b))


def relaxation(u: Array) -> Array:
    places = jnp.arange(u.shape[1] - 2)
    behind = places[:, None] - places
    # Each place of a row takes a quarter of the one on its left.
    quarters = jnp.where(behind >= 0, 0.25**behind, 0.0)

    def row(above: Array, given: Array) -> tuple[Array, Array]:
        old, below = given
        others = 0.25 * (above[1:-1] + below[1:-1] + old[2:])
        middle = quarters @ others.at[0].add(0.25 * old[0])
        new = jnp.concatenate([old[:1], middle, old[-1:]])
        return new, new

    def sweep(_: Array, u: Array) -> Array:
        return u.at[1:-1].set(lax.scan(row, u[0], (u[1:-1], u[2:]))[1])

    return lax.fori_loop(0, 20, sweep, u)


def red_black(u: Array, f: Array, w: Array) -> Array:
    n, m = u.shape
    i, j = jnp.meshgrid(jnp.arange(1, n - 1), jnp.arange(1, m - 1), indexing="ij")
    black = (i + j) % 2 == 0  # the second half: the first place is one of it

    def half(u: Array, chosen: Array) -> Array:
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        change = w * (0.25 * (around + f[1:-1, 1:-1]) - u[1:-1, 1:-1])
        return u.at[1:-1, 1:-1].add(jnp.where(chosen, change, 0.0))

    return lax.fori_loop(0, 20, lambda _, u: half(half(u, ~black), black), u)


def filter_rows(x: Array, a: Array) -> Array:
    def step(y: Array, column: Array) -> tuple[Array, Array]:
        y = (1 - a) * column + a * y
        return y, y

    def passed(columns: Array, reverse: bool) -> Array:
        first, rest = (columns[-1], columns[:-1]) if reverse else (columns[0], columns[1:])
        found = lax.scan(step, first, rest, reverse=reverse)[1]
        return jnp.concatenate([found, first[None]] if reverse else [first[None], found])

    return passed(passed(x.T, reverse=False), reverse=True).T


def columns(u: Array, w: Array) -> Array:
    u, w = jnp.moveaxis(u, 2, 0), jnp.moveaxis(w, 2, 0)

    def down(above: Array, given: Array) -> tuple[Array, Array]:
        den = 1.0 + given[1] - 0.3 * above[0]
        found = 0.3 / den, (given[0] - 0.3 * above[1]) / den
        return found, found

    def up(below: Array, given: Array) -> tuple[Array, Array]:
        x = given[1] - given[0] * below
        return x, x

    zero = jnp.zeros_like(u[0])
    factors = lax.scan(down, (zero, zero), (u, w))[1]
    return jnp.moveaxis(lax.scan(up, zero, factors, reverse=True)[1], 0, 2)


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


def shortest_paths(d: Array) -> Array:
    def step(d: Array, k: Array) -> tuple[Array, None]:
        through = d[:, k, None] + d[k]
        return jnp.where(through < d, through, d), None

    return lax.scan(step, d, jnp.arange(d.shape[0]))[0]


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


def escape(c: Array) -> Array:
    def step(_: Array, z: Array) -> Array:
        x, y = z
        inside = x * x + y * y < 4.0
        moved = x * x - y * y + c[:, 0], 2 * x * y + c[:, 1]
        return jnp.where(inside, moved[0], x), jnp.where(inside, moved[1], y)

    zero = jnp.zeros(c.shape[0])
    x, y = lax.fori_loop(0, 12, step, (zero, zero))
    return x * x + y * y


def sorting_network(x: Array) -> Array:
    n = x.shape[0]
    pairs = n - n % 2, (n - 1) - (n - 1) % 2

    def neighbours(a: Array, start: int) -> Array:
        count = pairs[start]
        left, right = a[start : start + count].reshape(-1, 2).T
        low, high = jnp.minimum(left, right), jnp.maximum(left, right)
        return a.at[start : start + count].set(jnp.stack([low, high], 1).reshape(-1))

    def both(_: Array, a: Array) -> Array:
        return neighbours(neighbours(a, 0), 1)

    a = lax.fori_loop(0, n // 2, both, x)
    return (neighbours(a, 0) if n % 2 else a) * jnp.arange(1, n + 1)


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


def viterbi(emit: Array, move: Array) -> Array:
    def step(score: Array, given: Array) -> tuple[Array, None]:
        return jnp.max(score[:, None] + move, 0) + given, None

    return jnp.max(lax.scan(step, emit[0], emit[1:])[0])


def bodies(x: Array, v: Array) -> Array:
    alone = jnp.eye(x.shape[0], dtype=bool)

    def step(_: Array, state: Array) -> Array:
        x, v = state
        d = x[None] - x[:, None]
        r2 = jnp.sum(d * d, 2)
        near = (r2 < 0.01) & ~alone
        apart = ~(near | alone)
        r2 = jnp.where(apart, r2, 1.0)
        pull = jnp.sum(jnp.where(apart, 1.0 / (r2 * jnp.sqrt(r2)), 0.0)[:, :, None] * d, 1)
        v = jnp.where(jnp.any(near, 1)[:, None], -0.9 * v, v + 0.001 * pull)
        return x + 0.01 * v, v

    return lax.fori_loop(0, 20, step, (x, v))[0]


def newton(c: Array) -> Array:
    a, b = c[:, 0], c[:, 1]

    def residual(x: Array, a: Array, b: Array) -> Array:
        return jnp.arctan(x - a) + 0.1 * x - b

    def step(_: Array, x: Array) -> Array:
        f = residual(x, a, b)
        active = jnp.abs(f) >= 1e-12
        change = f / (1.0 / (1.0 + (x - a) ** 2) + 0.1)

        # The lengths of steps are constants for the derivative.
        fixed = lax.stop_gradient((x, change, f, a, b))

        def too_far(t: Array) -> Array:
            x, change, f, a, b = fixed
            return active & (jnp.abs(residual(x - t * change, a, b)) > jnp.abs(f))

        def half(t: Array) -> Array:
            return jnp.where(too_far(t), 0.5 * t, t)

        t = lax.while_loop(lambda t: jnp.any(too_far(t)), half, jnp.ones_like(x))
        return jnp.where(active, x - t * change, x)

    return lax.fori_loop(0, 30, step, jnp.zeros_like(a))


def spline(x: Array, y: Array, at: Array) -> Array:
    h = x[1:] - x[:-1]
    slopes = (y[1:] - y[:-1]) / h
    jumps = 6.0 * (slopes[1:] - slopes[:-1])

    def down(before: Array, given: Array) -> tuple[Array, Array]:
        left, right, jump = given
        w = 2.0 * (left + right) - left * before[0]
        found = right / w, (jump - left * before[1]) / w
        return found, found

    def up(after: Array, given: Array) -> tuple[Array, Array]:
        m = given[1] - given[0] * after
        return m, m

    zero = jnp.zeros(())
    factors = lax.scan(down, (zero, zero), (h[:-1], h[1:], jumps))[1]
    m = jnp.pad(lax.scan(up, zero, factors, reverse=True)[1], 1)
    low = jnp.clip(jnp.searchsorted(x, at, side="right") - 1, 0, x.shape[0] - 2)
    width = h[low]
    a, b = (x[low + 1] - at) / width, (at - x[low]) / width
    bend = (a**3 - a) * m[low] + (b**3 - b) * m[low + 1]
    return a * y[low] + b * y[low + 1] + bend * width * width / 6.0


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


PROGRAMS: dict[str, Callable[..., Any]] = {
    "LU": lu,
    "Cholesky": cholesky,
    "Gram-Schmidt": gram_schmidt,
    "Gauss-Seidel": gauss_seidel,
    "relaxation": relaxation,
    "red-black": red_black,
    "filter": filter_rows,
    "columns": columns,
    "spline": spline,
    "recurrence": recurrence,
    "GARCH": garch,
    "Kalman": kalman,
    "Metropolis": metropolis,
    "Viterbi": viterbi,
    "shortest paths": shortest_paths,
    "sorting network": sorting_network,
    "bodies": bodies,
    "option lattice": lattice,
    "escape": escape,
    "Newton": newton,
}


def prepare(name: str, arguments: list[Any]) -> dict[str, Callable[[], Any]]:
    """The program, and value and gradient of the squared distance of its
    result from ones, on arrays of JAX. The number
    of threads follows from the affinity mask, which stands before JAX is imported."""
    program = PROGRAMS[name]
    inputs = [jnp.asarray(a) for a in arguments]
    function = jax.jit(program)
    both = jax.jit(
        jax.value_and_grad(lambda *a: jnp.sum((program(*a) - 1.0) ** 2), tuple(range(len(inputs))))
    )
    # Calls return before their work is done.
    wait = jax.block_until_ready
    return {
        "function": lambda: wait(function(*inputs)),
        "value and gradient": lambda: wait(both(*inputs)),
    }


def arrays(result: Any) -> list[Any]:
    """What a call gave, for NumPy."""
    return [np.asarray(a) for a in jax.tree_util.tree_leaves(result)]
