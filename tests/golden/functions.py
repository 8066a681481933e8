"""Functions whose graphs, programs and source are kept as text: between them they use every
lowering, region and pass.

Sizes are what decides between ways to run, so they are named here and not drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracegrad as tg


class Golden(NamedTuple):
    function: Callable[..., Any]
    args: tuple[Any, ...]
    again: tuple[Any, ...] = ()
    """Arguments of other sizes, called with before, so that what is kept is the code for all
    sizes."""


def zeros(*shape: int, dtype: Any = np.float64) -> Any:
    return np.zeros(shape, dtype)


def likelihood(r: Any, a: Any) -> Any:
    def step(total: Any, s: Any, x: Any) -> Any:
        return total + np.log(s) + x * x / s, a + 0.1 * x * x + 0.8 * s

    return tg.scan(lambda c, x: (step(*c, x), None), (0.0, 1.0), r)[0][0]


def logistic(w: Any, X: Any, y: Any) -> Any:
    return np.mean(np.logaddexp(0.0, -y * (X @ w)))


def softmax(a: Any) -> Any:
    e = np.exp(a - np.max(a, 1, keepdims=True))
    return e / np.sum(e, 1, keepdims=True)


def cross_entropy(a: Any, label: Any) -> Any:
    return -np.mean(np.log(softmax(a)[np.arange(label.shape[0]), label]))


def rosenbrock(x: Any) -> Any:
    return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)


def variation(u: Any) -> Any:
    below, beside = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    return np.sum(u * u) + np.sum(np.sqrt(below**2 + beside**2 + 0.1))


def lennard_jones(p: Any) -> Any:
    d = p[:, None, :] - p[None, :, :]
    r2 = np.sum(d * d, -1) + np.eye(p.shape[0])
    inverse = 1 / r2**3
    return np.sum(np.triu(inverse * inverse - inverse, 1))


def pieces(x: Any, a: Any) -> Any:
    return (
        np.concatenate([x, a[0], x * 2]),
        np.pad(a, ((1, 0), (0, 2))),
        np.roll(x, 2),
        a[::-1, ::2],
    )


def ordered(x: Any, a: Any) -> Any:
    return np.sort(x), np.argmax(a, 0), np.argmin(a), np.cumsum(a, 1), np.cumprod(x), np.median(x)


def gathered(x: Any, k: Any) -> Any:
    return np.sum(np.sin(x[k]) * np.arange(1.0, k.size + 1)) + np.sum(
        np.take_along_axis(x, np.argsort(x), 0)[:3] ** 2
    )


def scattered(x: Any, k: Any, v: Any) -> Any:
    y = x * 1
    np.add.at(y, k, v * v)
    y[1:3] = np.sin(v[:2])
    return np.sum(y * y)


def recurrent(w: Any, x: Any) -> Any:
    return np.sum(tg.scan(lambda c, v: (np.tanh(w @ c + v), c), x[0], x)[0] ** 2)


def newton(a: Any) -> Any:
    return tg.while_loop(lambda c: np.abs(c * c - a) > 1e-12, lambda c: 0.5 * (c + a / c), a)


def escape(c: Any) -> Any:
    return tg.while_loop(
        lambda s: (s[0] * s[0] < 4.0) & (s[1] < 50), lambda s: (s[0] * s[0] + c, s[1] + 1), (c, 0)
    )[0]


def collatz(x: Any, n: Any) -> Any:
    return tg.fori_loop(
        0, n, lambda k, c: tg.cond(c > 1.0, lambda c: np.sqrt(c) * x, lambda c: c * c + x, c), x
    )


def chosen(i: Any, x: Any) -> Any:
    return np.sum(tg.switch(i, [np.sin, lambda v: v * v, lambda v: np.cumsum(v)], x))


def oscillator(p: Any) -> Any:
    def step(k: Any, s: Any) -> Any:
        q, v = s
        v = v - 0.01 * p * np.sin(q)
        return q + 0.01 * v, v

    return tg.fori_loop(0, 100, step, (p, p * 0.5))[0]


def many_oscillators(p: Any) -> Any:
    return np.sum(tg.vmap(oscillator)(p) ** 2)


def mixed_steps(x: Any, n: Any) -> Any:
    return tg.vmap(collatz)(x, n)


def filled(x: Any) -> Any:
    h = np.zeros_like(x)
    h[0] = x[0]
    return np.sum(
        tg.fori_loop(1, x.size, lambda k, h: tg.index_update(h, k, np.sin(h[k - 1]) * x[k]), h)
    )


def eliminated(a: Any, b: Any) -> Any:
    return (
        np.sum(np.linalg.solve(a, b) ** 2)
        + np.linalg.slogdet(a)[1]
        + np.sum(np.linalg.cholesky(a @ a.T + np.eye(a.shape[0])))
    )


def triangular(a: Any) -> Any:
    """LU factors, element by element and in place."""
    n = a.shape[0]

    def column(k: Any, a: Any) -> Any:
        def row(i: Any, a: Any) -> Any:
            a[i, k] = a[i, k] / a[k, k]

            def element(j: Any, a: Any) -> Any:
                a[i, j] = a[i, j] - a[i, k] * a[k, j]
                return a

            return tg.fori_loop(k + 1, n, element, a)

        return tg.fori_loop(k + 1, n, row, a)

    return np.sum(tg.fori_loop(0, n, column, a) ** 2)


def in_rows(x: Any) -> Any:
    """Each row goes step by step, and knows nothing of the others."""
    n, m = x.shape

    def row(i: Any, y: Any) -> Any:
        def step(j: Any, y: Any) -> Any:
            y[i, j] = x[i, j] + 0.5 * y[i, j - 1]
            return y

        y[i, 0] = x[i, 0]
        return tg.fori_loop(1, m, step, y)

    return tg.fori_loop(0, n, row, np.zeros_like(x))


def filtered(y: Any, q: Any) -> Any:
    a = np.array([[1.0, 1.0], [0.0, 1.0]])

    def step(s: Any, y: Any) -> Any:
        m, p = a @ s[0], a @ s[1] @ a.T + q * np.eye(2)
        gain = np.linalg.solve(p + np.eye(2), p)
        return (m + gain @ (y - m), p - gain @ p), None

    m, p = tg.scan(step, (y[0], np.eye(2)), y)[0]
    return np.sum(m * m) + np.trace(p)


def checkpointed(x: Any) -> Any:
    layer = tg.checkpoint(lambda x: np.tanh(np.sin(x) * 2.0))
    return np.sum(layer(layer(x)))


def crosswise(a: Any, b: Any) -> Any:
    return a + np.sin(b.T), np.sum(a * b.T, 0)


def clusters(centres: Any, points: Any) -> Any:
    """Distances of points to their nearest centres."""
    squared = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(squared, axis=1))


def narrow(X: Any, w: Any) -> Any:
    return np.sum(np.exp(X @ w)) + np.sum(X[:, 0] * X[:, 2]) + np.sum(np.max(X, 1))


def convolved(x: Any, w: Any) -> Any:
    return np.sum(np.convolve(x, w, "same") ** 2)


def window(x: Any, i: Any) -> Any:
    return np.sum(x[i - 1 : i + 2] * np.array([1.0, -2.0, 1.0])) * x[i]


def waves(z: Any) -> Any:
    return np.real(np.sum(np.exp(1j * z) * np.conj(z)))


def noisy(x: Any) -> Any:
    return np.sum(x * tg.randn(x.size))


def behind_a_loop(x: Any) -> Any:
    return tg.fori_loop(0, 10, lambda k, c: c + np.sum(np.sin(x * k)), 0.0)


def shared(p: Any, starts: Any) -> Any:
    return np.sum(
        tg.vmap(lambda q: tg.fori_loop(0, 50, lambda k, q: q + 0.1 * p * np.cos(q), q))(starts) ** 2
    )


def in_groups(x: Any) -> Any:
    def group(t: Any, h: Any) -> Any:
        return tg.fori_loop(
            0,
            4,
            lambda k, h: tg.index_update(
                h, 4 * t + k, np.tanh(h[4 * t + k - 1] * x[4 * t + k]) + x[t]
            ),
            h,
        )

    return np.sum(tg.fori_loop(1, x.size // 4, group, x * 1.0))


def shortened(d: Any) -> Any:
    def step(k: Any, d: Any) -> Any:
        through = d[k] + d[k + 1]
        return tg.cond(through < d[k + 2], lambda: tg.index_update(d, k + 2, through), lambda: d)

    return np.sum(tg.fori_loop(0, d.size - 2, step, d) ** 2)


def swapped(x: Any) -> Any:
    def step(j: Any, x: Any, first: Any) -> Any:
        a, b = x[first + 2 * j], x[first + 2 * j + 1]
        y = tg.index_update(x, first + 2 * j, np.minimum(a, b))
        return tg.index_update(y, first + 2 * j + 1, np.maximum(a, b))

    def phase(i: Any, x: Any) -> Any:
        first = i % 2
        return tg.fori_loop(0, (x.size - first) // 2, lambda j, x: step(j, x, first), x)

    return tg.fori_loop(0, 6, phase, x)


def where_flagged(flags: Any, g: Any) -> Any:
    def step(j: Any, k: Any, g: Any) -> Any:
        return tg.cond(flags[k], lambda g: tg.index_update(g, j, g[j] - g[k]), lambda g: g, g)

    def row(j: Any, g: Any) -> Any:
        return tg.fori_loop(0, g.size, lambda k, g: step(j, k, g), g)

    return tg.fori_loop(0, g.size, row, g)


def lowered(d: Any) -> Any:
    def step(k: Any, j: Any, d: Any) -> Any:
        through = d[k] + 1.0
        return tg.cond(through < d[j], lambda d: tg.index_update(d, j, through), lambda d: d, d)

    n = d.shape[0]
    return tg.fori_loop(0, n, lambda k, d: tg.fori_loop(0, n, lambda j, d: step(k, j, d), d), d)


def two_loops(x: Any) -> Any:
    one = tg.scan(lambda c, v: (c * 0.5 + v, c), 0.0, x)[1]
    two = tg.scan(lambda c, v: (c * 0.25 - v, c), 0.0, x)[1]
    return one, two


def products(a: Any, b: Any, v: Any) -> Any:
    return a @ b @ v, np.einsum("ij,jk->", a, b), np.outer(v, v), np.sum(a @ b)


def equations(a: Any) -> Any:
    return np.sum(tg.root(lambda x: np.stack([x[0] ** 2 + x[1] - a, x[1] ** 3 - x[0]]), np.ones(2)))


def nearest(x: Any) -> Any:
    ahead = x > 0.5
    return np.sum(np.min(np.where(ahead, np.sqrt(np.where(ahead, x, 1.0)), 2.0), axis=1))


def pairs(x: Any) -> Any:
    return np.sum(np.exp(-((x[:, None] - x[None, :]) ** 2)))


def row_of_powers(t: Any) -> Any:
    return np.sum(t[:, None] ** np.arange(70), axis=1)


def powers(c: Any, t: Any) -> Any:
    return np.sum(np.sin((t[:, None] ** np.arange(c.size)) @ c))


def rewritten(x: Any) -> Any:
    return np.sum(tg.fori_loop(0, 6, lambda k, y: tg.index_update(y, k, np.sin(y[k])), x) ** 2)


def summed_steps(w: Any, x: Any) -> Any:
    return np.sum(tg.scan(lambda c, v: (np.tanh(w * c + v), c * v), x[0], x)[1])


def looked_up(x: Any, y: Any) -> Any:
    def item(at: Any) -> Any:
        def step(ends: Any) -> Any:
            middle = (ends[0] + ends[1]) // 2
            return tg.cond(x[middle] > at, lambda: (ends[0], middle), lambda: (middle, ends[1]))

        low, high = tg.while_loop(lambda ends: ends[1] - ends[0] > 1, step, (0, x.shape[0] - 1))
        return y[low] + (at - x[low]) * (y[high] - y[low])

    return np.sum(np.sin(tg.vmap(item)(x * 0.7)))


def bent(x: Any, corners: Any, w: Any) -> Any:
    return np.sum(np.sqrt(1 + np.sum(w * x[corners], axis=1) ** 2))


def lattice(x: Any) -> Any:
    def step(k: Any, s: Any) -> Any:
        def node(j: Any, s: Any) -> Any:
            a, v = s
            next_a, next_v = a[j] * 0.9, np.maximum(v[j] + v[j + 1], a[j])
            return tg.index_update(a, j, next_a), tg.index_update(v, j, next_v)

        return tg.fori_loop(0, 8 - k, node, s)

    return tg.fori_loop(0, 8, step, (x, x * 0.5))[1][0]


WHEN = np.array([0, 2, 2, 5])
GOLDEN: dict[str, Golden] = {
    "logistic_value_and_grad": Golden(
        tg.value_and_grad(logistic), (zeros(5), zeros(20, 5), zeros(20))
    ),
    "logistic_of_many_rows": Golden(tg.grad(logistic), (zeros(3), zeros(20_000, 3), zeros(20_000))),
    "logistic_of_few_columns": Golden(
        tg.value_and_grad(logistic), (zeros(3), zeros(500, 3), zeros(500))
    ),
    "logistic_of_all_sizes": Golden(
        tg.grad(logistic),
        (zeros(4), zeros(30, 4), zeros(30)),
        ((zeros(5), zeros(20, 5), zeros(20)), (zeros(6), zeros(25, 6), zeros(25))),
    ),
    "softmax": Golden(softmax, (zeros(4, 5),)),
    "cross_entropy_grad": Golden(
        tg.grad(cross_entropy), (zeros(40, 10), zeros(40, dtype=np.int64))
    ),
    "rosenbrock_hessian": Golden(tg.hessian(rosenbrock), (zeros(40),)),
    "rosenbrock_in_blocks": Golden(tg.value_and_grad(rosenbrock), (zeros(20_000),)),
    "rows_in_turn": Golden(tg.value_and_grad(variation), (zeros(70, 130),)),
    "loops_in_turn": Golden(
        tg.value_and_grad(bent), (zeros(50), zeros(9000, 3, dtype=np.int64), zeros(9000, 3))
    ),
    "lennard_jones_value_and_grad": Golden(tg.value_and_grad(lennard_jones), (zeros(6, 3),)),
    "pieces": Golden(pieces, (zeros(6), zeros(3, 4))),
    "pieces_adjoint": Golden(
        tg.grad(lambda x, a: sum(np.sum(y * y) for y in pieces(x, a)), (0, 1)),
        (zeros(6), zeros(3, 4)),
    ),
    "ordered": Golden(ordered, (zeros(9), zeros(4, 5))),
    "gathered_grad": Golden(tg.grad(gathered), (zeros(8), WHEN)),
    "scattered_grad": Golden(tg.grad(scattered, (0, 2)), (zeros(8), WHEN, zeros(4))),
    "recurrent_grad": Golden(tg.grad(recurrent), (zeros(3, 3), zeros(20, 3))),
    "newton_grad": Golden(tg.grad(newton), (2.0,)),
    "newton_over_items": Golden(tg.vmap(tg.grad(newton)), (zeros(1000),)),
    "escape_over_items": Golden(tg.vmap(escape), (zeros(1000),)),
    "branches_in_a_loop_grad": Golden(tg.grad(collatz), (2.0, 10)),
    "branches_over_items": Golden(mixed_steps, (zeros(500), zeros(500, dtype=np.int64))),
    "chosen_grad": Golden(tg.grad(chosen, 1), (1, zeros(6))),
    "many_oscillators_grad": Golden(tg.grad(many_oscillators), (zeros(5000),)),
    "filled_grad": Golden(tg.grad(filled), (zeros(50),)),
    "eliminated_grad": Golden(tg.grad(eliminated, (0, 1)), (zeros(6, 6), zeros(6))),
    "spectral_grad": Golden(
        tg.value_and_grad(lambda a: np.linalg.norm(a, 2) + np.sum(np.linalg.eigh(a)[0])),
        (zeros(9, 9),),
    ),
    "triangular_grad": Golden(tg.grad(triangular), (zeros(9, 9),)),
    "in_rows": Golden(in_rows, (zeros(9, 30),)),
    "filtered_grad": Golden(tg.grad(filtered), (zeros(30, 2), 0.1)),
    "checkpointed_grad": Golden(tg.grad(checkpointed), (zeros(10),)),
    "crosswise": Golden(crosswise, (zeros(300, 200), zeros(200, 300))),
    "fortran_order": Golden(lambda a: np.sum(np.exp(a), 0) * 2, (np.asfortranarray(zeros(6, 4)),)),
    "narrow_grad": Golden(tg.grad(narrow, (0, 1)), (zeros(10_000, 3), zeros(3))),
    "convolved_grad": Golden(tg.grad(convolved, (0, 1)), (zeros(30), zeros(3))),
    "window_grad": Golden(tg.grad(window), (zeros(9), 4)),
    "waves_grad": Golden(tg.grad(waves), (zeros(5, dtype=np.complex128),)),
    "single_precision": Golden(
        tg.value_and_grad(lambda x: np.sum(np.tanh(x) ** 2)), (zeros(9, dtype=np.float32),)
    ),
    "noisy_grad": Golden(tg.grad(noisy), (zeros(12),)),
    "behind_a_loop_grad": Golden(tg.value_and_grad(behind_a_loop), (zeros(20),)),
    "shared_grad": Golden(tg.grad(shared), (0.5, zeros(4000))),
    "in_groups_grad": Golden(tg.grad(in_groups), (zeros(16),)),
    "shortened_grad": Golden(tg.grad(shortened), (zeros(8),)),
    "lowered": Golden(lowered, (zeros(25),)),
    "two_loops": Golden(two_loops, (zeros(25),)),
    "products": Golden(products, (zeros(8, 8), zeros(8, 8), zeros(8))),
    "equations_over_items": Golden(tg.vmap(equations), (zeros(1000),)),
    "logistic_hessian": Golden(tg.hessian(logistic), (zeros(12), zeros(60, 12), zeros(60))),
    "logistic_of_a_large_matrix": Golden(
        tg.grad(logistic), (zeros(300), zeros(40_000, 300), zeros(40_000))
    ),
    "pairs_grad": Golden(tg.grad(pairs), (zeros(50),)),
    "row_of_powers": Golden(row_of_powers, (zeros(40),)),
    "powers_grad": Golden(tg.grad(powers, (0, 1)), (zeros(5), zeros(40))),
    "reciprocals": Golden(lambda x: (1 / x) / x, (zeros(9),)),
    "summed_product": Golden(lambda a, b: np.sum(a @ b, 0), (zeros(40, 30), zeros(30, 20))),
    "nearest_grad": Golden(tg.grad(nearest), (zeros(900, 20),)),
    "narrow_product": Golden(lambda w, x: w.T @ (x * x - 1.0), (zeros(900, 3), zeros(900, 20))),
    "lattice_value_and_grad": Golden(tg.value_and_grad(lattice), (zeros(9),)),
    "looked_up_grad": Golden(tg.grad(looked_up, (0, 1)), (zeros(90), zeros(90))),
    "swapped": Golden(swapped, (zeros(9),)),
    "where_flagged": Golden(where_flagged, (np.zeros(30, bool), zeros(30))),
    "rewritten_grad": Golden(tg.grad(rewritten), (zeros(6),)),
    "likelihood": Golden(likelihood, (zeros(300), 0.1)),
    "summed_steps_grad": Golden(tg.grad(summed_steps), (0.5, zeros(30))),
    "clusters_grad": Golden(tg.grad(clusters), (zeros(100, 3), zeros(200, 3))),
}
