"""Factorizations and systems of equations, element by element."""

from __future__ import annotations

from . import Array, jnp, lax, solve_triangular


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


def shortest_paths(d: Array) -> Array:
    def step(d: Array, k: Array) -> tuple[Array, None]:
        through = d[:, k, None] + d[k]
        return jnp.where(through < d, through, d), None

    return lax.scan(step, d, jnp.arange(d.shape[0]))[0]


def tridiagonal(low: Array, main: Array, up: Array, b: Array) -> Array:
    # LAPACK's; as two scans the function takes 0.85 times as long, value and gradient 1.3 times.
    low, up = low.at[0].set(0.0), up.at[-1].set(0.0)
    return lax.linalg.tridiagonal_solve(low, main, up, b[:, None])[:, 0]


def durbin(r: Array) -> Array:
    n = r.shape[0]

    # What was found so far stands first, zeros behind it.
    def step(state: Array, given: Array) -> tuple[Array, None]:
        y, alpha, beta = state
        k, at_k = given
        backwards = jnp.roll(y[::-1], k)
        beta = (1 - alpha * alpha) * beta
        alpha = -(at_k + r @ backwards) / beta
        return ((y + alpha * backwards).at[k].set(alpha), alpha, beta), None

    start = jnp.zeros(n).at[0].set(-r[0]), -r[0], jnp.ones(())
    return lax.scan(step, start, (jnp.arange(1, n), r[1:]))[0][0]


def fourier(x: Array) -> Array:
    # Of what is left of a transform the even and the odd half; places in the order of frequencies.
    n = x.shape[0]
    re, im = x[None], jnp.zeros((1, n))
    while re.shape[1] > 1:
        half, left = re.shape
        angles = -jnp.pi * jnp.arange(half)[:, None] / half
        c, s = jnp.cos(angles), jnp.sin(angles)
        ar, br = re[:, : left // 2], re[:, left // 2 :]
        ai, bi = im[:, : left // 2], im[:, left // 2 :]
        br, bi = c * br - s * bi, c * bi + s * br
        re, im = jnp.concatenate([ar + br, ar - br]), jnp.concatenate([ai + bi, ai - bi])
    return (re * re + im * im)[:, 0]
