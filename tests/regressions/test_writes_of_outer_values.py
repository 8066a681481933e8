"""An array of the function that a branch, a loop or an inner function writes whole, with a value
from outside of that: what is read of it there is that value.

Once the graph inside was given what the array held before the write, as the array is put back when
that graph is finished: `if x[0] > 0: z[...] = w; r = z.sum()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.texts import executed

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X, W = np.array([1.0, -2.0, 3.0]), np.array([[0.3, 0.5], [0.7, -0.2]])
TOTAL = np.sum(np.sin(W))


def _branch(x: Any, w: Any) -> Any:
    z = w + 1.0
    if x[0] > 0:
        z[...] = w
        found = np.sum(np.sin(z))
    else:
        found = x[0]
    return found + np.sum(z)


def _behind_a_mask(x: Any, w: Any) -> Any:
    z, y = w + 1.0, x[x > 0]
    z[...] = w
    return np.sum(np.sin(z)) + np.sum(y)


def _loop(x: Any, w: Any) -> Any:
    z, found = w + 1.0, 0.0
    for v in x:
        z[...] = w
        found = found + np.sum(np.sin(z)) * v
        z += 1
    return found + np.sum(z)


def _swapped(x: Any, w: Any) -> Any:
    z, u, found = w + 1.0, w * 2.0, 0.0
    if x[0] > 0:
        z[...], u[...] = u * 1, z * 1
        z[...] = u
        found = np.sum(z * w)
    return found + np.sum(z - u)


def _own_of_a_branch(x: Any, w: Any) -> Any:
    """Written whole from outside, and again, which once looked like a box from outside."""
    found = 0.0
    if x[0] > 0:
        y = w * 2.0
        y[...] = w
        y[0] += 1.0
        z = y.T
        y[...] = x[1:]
        found = np.sum(y * w) + np.sum(z)
    return found


def _own_of_a_pass(x: Any, w: Any) -> Any:
    z, found = w - 0.5, 0.0
    for v in x:
        y = w * 2.0
        y[...] = z
        if v > 0:
            u = y * v
            u[...] = y
            u[1] *= v
            z[0] = u[1]
        y += v
        found = found + np.sum(y)
        z[...] = y
        z[1] -= 1.0
    return found + np.sum(z)


def _parts(x: Any, w: Any) -> Any:
    z, y = w + 1.0, x[x > 0]
    z[0] = w[0]
    row = z[0]
    z[...] = w
    return np.sum(np.sin(z)) + np.sum(row) + np.sum(y)


def _inside(transform: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def f(x: Any, w: Any) -> Any:
        z = w + 1.0

        def g(v: Any) -> Any:
            z[...] = w
            return np.sum(np.sin(z)) * v

        return transform(g)(x[0]) + np.sum(z)

    return f


PLAIN = {
    "branch": _branch,
    "behind a mask": _behind_a_mask,
    "loop": _loop,
    "own of a branch": _own_of_a_branch,
    "own of a pass": _own_of_a_pass,
    "swapped": _swapped,
    "parts": _parts,
}
PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    **{name: (f, f(X, W)) for name, f in PLAIN.items()},
    "jit": (_inside(tg.jit), TOTAL + np.sum(W)),
    "checkpoint": (_inside(tg.checkpoint), TOTAL + np.sum(W)),
    "grad": (_inside(tg.grad), TOTAL + np.sum(W)),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: lambda x, w: tg.jvp(f, (x, w), (x, w))[0],
    "jit": tg.jit,
    "staged": lambda f: tg.jit(f, stage=True),
    "jit of grad": lambda f: lambda x, w: tg.jit(tg.value_and_grad(f, (0, 1)))(x, w)[0],
    "vmap": lambda f: lambda x, w: tg.vmap(f)(x[None], w[None])[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_read_is_what_was_written(name: str, way: str) -> None:
    f, wanted = PROGRAMS[name]
    assert np.allclose(WAYS[way](f)(X, W), wanted)


def _block(rng: np.random.Generator, depth: int, indent: str) -> list[str]:
    """Statements that write arrays whole or by rows, with what others hold then, in branches and
    loops inside of one another."""
    lines = []
    for _ in range(rng.integers(2, 5)):
        a, b = rng.choice(["z", "y", "u"], 2, replace=False)
        i, j = rng.integers(0, 2, 2)
        kind = rng.integers(0, 8 if depth else 6)
        if kind < 2:
            lines.append(f"{a}[...] = {rng.choice([b, 'w', f'{b} * 1.5'])}")
        elif kind == 2:
            lines.append(f"{a}[{i}] = {b}[{j}]")
        elif kind == 3:
            lines.append(f"{a} += {b}")
        elif kind == 4:
            lines.append(f"s = s + np.sum({a} * {b})")
        elif kind == 5:
            lines.append(f"{a}.T[{i}] = {b}[{j}] * 2.0")
        elif kind == 6:
            lines.append(f"if x[{rng.integers(0, 3)}] > {rng.normal():.2f}:")
            lines += _block(rng, depth - 1, "    ")
            if rng.random() < 0.5:
                lines += ["else:", *_block(rng, depth - 1, "    ")]
        else:
            lines.append("for v in x[:2]:")
            lines += [*_block(rng, depth - 1, "    "), f"    {a} *= v"]
    return [indent + line for line in lines]


@pytest.mark.parametrize("seed", range(16))
def test_random_writes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body = "\n".join(_block(rng, 3, "    "))
    text = f"""def f(x, w):
    z, y, u, s = w + 1.0, w * 3.0, w - 0.5, 0.0
{body}
    return s + np.sum(z * 2 + y - u)
"""
    f = executed(text, f"<random writes {seed}>")["f"]
    wanted = f(X, W.copy())
    for jitted in (tg.jit(f), tg.jit(f, stage=True)):
        np.testing.assert_allclose(jitted(X, W.copy()), wanted, rtol=1e-10, err_msg=text)
    slope = tg.jvp(lambda w: f(X, w), (W,), (np.ones_like(W),))[1]
    found = tg.jit(tg.grad(f, 1), stage=True)(X, W.copy())
    np.testing.assert_allclose(np.sum(found), slope, rtol=1e-9, err_msg=text)


def test_a_view_that_an_inner_function_reads_after_the_write_of_another() -> None:
    """What jit asks of such a view is asked where its base is known: after the outer trace was
    closed it was an EscapedValueError."""

    def f(x: Any, w: Any) -> Any:
        u = w * 1.0

        def outer(v: Any) -> None:
            row = u[1]

            def inner(v: Any) -> None:
                u[...] = w * v
                u[0] = row

            tg.jit(inner)(v)

        tg.jit(outer)(x[2])
        return np.sum(np.sin(u) * w)

    wanted = np.sum(np.sin(3 * W[[1, 1]]) * W)
    for transform in (tg.jit, tg.grad, lambda f: tg.jit(tg.grad(f))):
        transform(f)(X, W)
    assert np.isclose(tg.jit(f)(X, W), wanted)
