"""Lists and tuples in which traced values stand, as NumPy's functions take them: `np.sum([a, b])`,
`np.concatenate([x, [0.0]])`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ConcretizationError

X = np.array([0.7, 1.9])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "concatenate": lambda x: np.concatenate([x[1:], [5.0]]),
    "concatenate in front": lambda x: np.concatenate(([5.0], x, (1, 2))),
    "concatenate traced": lambda x: np.concatenate([x, [x[0] * 2, 3]]),
    "concatenate rows": lambda x: np.concatenate([x[None], [[1.0, 2.0]]]),
    "hstack": lambda x: np.hstack([0.0, x, [3]]),
    "vstack": lambda x: np.vstack([x, [3.0, 4]]),
    "stack": lambda x: np.stack([x, [3.0, x[0]], (1, 2)]),
    "append": lambda x: np.append(x, [x[1], 3.0]),
    "where": lambda x: np.where(x > 1, [1.0, x[0]], x),
    "dot": lambda x: np.dot(x, [x[1], 2.0]),
    "a ufunc": lambda x: np.sin([x[0], x[1]]),
    "a ufunc of two": lambda x: np.maximum([x[0], 1.0], (1.0, x[0])),
    "sum": lambda x: np.sum([x[0], x[1], 2.0]),
    "sum of rows": lambda x: np.sum([[x[0], 2.0], [1.0, x[1]]], axis=1),
    "mean": lambda x: np.mean((x[0], x[1])),
    "max": lambda x: np.max([x[0], 1.0, x[1]]),
    "prod": lambda x: np.prod((x[0], x[1], 3)),
    "norm": lambda x: np.linalg.norm([x[0], x[1]]),
    "cumsum": lambda x: np.cumsum([x[0], x[1], 1.0]),
    "tile": lambda x: np.tile([x[0], 1.0], 2),
    "average": lambda x: np.average([x[0], x[1]], weights=[x[1], 1.0]),
    "solve": lambda x: np.linalg.solve([[x[0], 0.0], [1.0, 3.0]], [x[1], 1.0]),
    "matmul": lambda x: np.matmul([[1.0, x[0]], [3.0, 4.0]], x),
    "polyval": lambda x: np.polyval([1.0, x[0], 2.0], x),
    "interp": lambda x: np.interp(x, [0.0, 1.0, 3.0], [x[0], 2.0, 1.0]),
    "clip": lambda x: np.clip([x[0], x[1]], 0.0, [1.0, x[0]]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name: str) -> None:
    """Values and dtypes are NumPy's, compiled ones evaluated from the graph; derivatives are those
    of differences."""
    f = FUNCTIONS[name]
    for x in (X, X.astype(np.float32)):
        wanted, entry = f(x), tg.jit(f)._entry((x,), {})[0]
        out = entry.graph.outputs[0].type
        assert (out.dtype, tuple(map(int, out.shape))) == (wanted.dtype, np.shape(wanted))
    value, tangent = tg.jvp(f, (X,), (np.array([1.0, -0.5]),))
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    step = 1e-6 * np.array([1.0, -0.5])
    np.testing.assert_allclose(tangent, (f(X + step) - f(X - step)) / 2e-6, rtol=1e-6, atol=1e-7)
    gradient = tg.grad(lambda x: np.sum(f(x)))(X)
    np.testing.assert_allclose(gradient @ step, np.sum(tangent) * 1e-6, rtol=1e-10)


def test_compiled() -> None:
    functions = list(FUNCTIONS.values())
    found = tg.jit(lambda x: [f(x) for f in functions])(X)
    for f, out in zip(functions, found, strict=True):
        np.testing.assert_allclose(out, f(X), rtol=1e-14)


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(TypeError, match="whose parts differ in shape"):
        tg.jit(lambda x: np.concatenate([x, [[1.0, 2.0], [3.0]]]))(X)
    with pytest.raises(ConcretizationError, match=r"np\.fromnumeric\.sum"):
        tg.jit(lambda x: np.sum([x[0], x[1]]), stage=False)(X)
