"""Loops that end when something is found, and choices between elements."""

from __future__ import annotations

from . import Array, jnp, lax


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


def escape(c: Array) -> Array:
    def step(_: Array, z: Array) -> Array:
        x, y = z
        inside = x * x + y * y < 4.0
        moved = x * x - y * y + c[:, 0], 2 * x * y + c[:, 1]
        return jnp.where(inside, moved[0], x), jnp.where(inside, moved[1], y)

    zero = jnp.zeros(c.shape[0])
    x, y = lax.fori_loop(0, 12, step, (zero, zero))
    return x * x + y * y


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


def marching(rays: Array) -> Array:
    a, b = rays[:, 0], rays[:, 1]
    norm = jnp.sqrt(a * a + b * b + 1.0)

    def step(_: Array, t: Array) -> Array:
        x, y, z = t * a / norm, t * b / norm, t / norm
        ball = jnp.sqrt(x * x + y * y + (z - 3.0) ** 2) - 1.0
        floor = y + 1.0 + 0.1 * jnp.sin(3.0 * x)
        d = jnp.minimum(ball, floor)
        return jnp.where((d < 1e-5) | (t > 20.0), t, t + 0.8 * d)

    return lax.fori_loop(0, 60, step, jnp.zeros_like(a))


def quadrature(p: Array) -> Array:
    room = 512

    def simpson(p: Array, a: Array, b: Array) -> tuple[Array, Array]:
        x = a + (b - a) * jnp.arange(5).reshape(5, *[1] * a.ndim) / 4.0
        f = jnp.exp(-p[0] * x) * jnp.sin(p[1] * x * x)
        rough = (b - a) * (f[0] + 4.0 * f[2] + f[4]) / 6.0
        return rough, (b - a) * (f[0] + 2.0 * f[2] + 4.0 * (f[1] + f[3]) + f[4]) / 12.0

    # The intervals are constants for the derivative. They are found on a stack, and taken together.
    fixed = lax.stop_gradient(p)

    def halve(state: Array) -> Array:
        stack, height, taken, count = state
        a, b = stack[height - 1]
        rough, fine = simpson(fixed, a, b)
        good = jnp.abs(fine - rough) < 1e-8
        m = 0.5 * (a + b)
        taken = taken.at[count].set(jnp.stack([a, b]))
        halves = jnp.stack([jnp.stack([a, m]), jnp.stack([m, b])])
        stack = lax.dynamic_update_slice(stack, halves, (height - 1, 0))
        return stack, jnp.where(good, height - 1, height + 1), taken, count + good

    stack = jnp.zeros((64, 2)).at[0].set(jnp.array([0.0, 4.0]))
    start = stack, 1, jnp.zeros((room, 2)), 0
    _, _, taken, count = lax.while_loop(lambda s: s[1] > 0, halve, start)
    fine = simpson(p, taken[:, 0], taken[:, 1])[1]
    return jnp.sum(jnp.where(jnp.arange(room) < count, fine, 0.0))


def bisection(c: Array) -> Array:
    e, m = c[:, 0], c[:, 1]

    # Where the ends move with `m` is all that the derivative sees of the halves, as many for all.
    def halve(_: Array, ends: Array) -> Array:
        low, high = ends
        middle = 0.5 * (low + high)
        above = middle - e * jnp.sin(middle) > m
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    low = m + lax.stop_gradient(lax.fori_loop(0, 25, halve, (m - 1.0, m + 1.0))[0] - m)
    return low - (low - e * jnp.sin(low) - m) / (1.0 - e * jnp.cos(low))
