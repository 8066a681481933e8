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
