"""Sweeps over the places of a field."""

from __future__ import annotations

from . import Array, jnp, lax


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


def alternating(u: Array) -> Array:
    n = u.shape[0]
    a, d = -0.4, 0.3
    one = jnp.ones(n - 2)

    def line(rows: Array, c: float, centre: float) -> Array:
        """Tridiagonal systems with ones at both ends, one per column of the right-hand sides."""

        def down(before: Array, given: Array) -> tuple[Array, Array]:
            w = c * before[0] + centre
            found = -c / w, (given - c * before[1]) / w
            return found, found

        def back(after: Array, given: Array) -> tuple[Array, Array]:
            x = given[0] * after + given[1]
            return x, x

        factors = lax.scan(down, (jnp.zeros(()), one), rows)[1]
        return lax.scan(back, one, factors, reverse=True)[1]

    def step(_: Array, u: Array) -> Array:
        across = d * u[1:-1, :-2] + (1 - 2 * d) * u[1:-1, 1:-1] + d * u[1:-1, 2:]
        inside = line(across, a, 1 - 2 * a)
        v = jnp.concatenate([one[None], inside, one[None]])
        across = a * v[:-2] - (1 + 2 * a) * v[1:-1] + a * v[2:]
        inside = line(across.T, d, -1 - 2 * d)
        return u.at[1:-1].set(jnp.concatenate([one[None], inside, one[None]]).T)

    return lax.fori_loop(0, 5, step, u)


def sandpile(u: Array) -> Array:
    def step(_: Array, u: Array) -> Array:
        inside = u[1:-1, 1:-1]
        given = jnp.pad(jnp.where(inside > 1.0, 0.2 * (inside - 0.5), 0.0), 2)
        taken = given[:-2, 1:-1] + given[2:, 1:-1] + given[1:-1, :-2] + given[1:-1, 2:]
        return u + taken - 4.0 * given[1:-1, 1:-1]

    return lax.fori_loop(0, 20, step, u)
