"""NumPy functions of sizes, where a second size makes the function size-generic: what cannot be one
is compiled for each size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

VECTORS: dict[str, Any] = {
    "arange": lambda x: x * np.arange(x.shape[0]),
    "index by arange": lambda x: x[np.arange(x.shape[0])],
    "index backwards": lambda x: x[np.arange(x.shape[0])[::-1]],
    "index by steps": lambda x: x[np.arange(0, x.shape[0], 2)],
    "take by arange of the size": lambda x: np.take(x, np.arange(x.size)[::-1]),
    "index by an argsort": lambda x: x[np.argsort(np.arange(x.shape[0]) * -1)],
    "index by an array of sizes": lambda x: x[np.array([0, x.shape[0] - 1])],
    "index by a list": lambda x: x[list(range(x.shape[0]))],
    "index by a permutation": lambda x: x[np.random.default_rng(0).permutation(x.shape[0])],
    "index by a mask": lambda x: x[np.arange(x.shape[0]) % 2 == 0],
    "linspace": lambda x: x * np.linspace(0.0, 1.0, x.shape[0]),
    "eye": lambda x: x * np.eye(x.shape[0])[0],
    "bincount": lambda x: np.bincount(np.arange(x.shape[0])) * x,
    "array of the size": lambda x: x * np.array(x.shape[0]),
    "float32 of the size": lambda x: x * np.float32(x.shape[0]),
    "prod of the shape": lambda x: x * np.prod(x.shape),
    "sqrt and log of the size": lambda x: x * np.sqrt(x.shape[0]) / np.log(x.size),
    "put_along_axis": lambda x: np.take_along_axis(x, np.arange(x.shape[0])[::-1], 0),
}
MATRICES: dict[str, Any] = {
    "diagonal by two aranges": lambda x: x[np.arange(x.shape[0]), np.arange(x.shape[0])],
    "upper triangle": lambda x: x[np.triu_indices(x.shape[0])],
    "last by unravel_index": lambda x: x[np.unravel_index(x.size - 1, x.shape)],
    "rows by indices": lambda x: x[np.indices(x.shape)[0]],
    "reversed pieces": lambda x: np.take(x.reshape(-1), np.arange(x.size)[::-1]),
}


@pytest.mark.parametrize("name", [*VECTORS, *MATRICES])
def test_three_sizes(name: str) -> None:
    f = VECTORS.get(name) or MATRICES[name]
    compiled, gradient = tg.jit(f), tg.jit(tg.grad(lambda x: np.sum(f(x) ** 2)))
    for n in (3, 5, 7):
        x = (
            np.arange(1.0, n + 1.0)
            if name in VECTORS
            else np.arange(1.0, n * n + 1.0).reshape(n, n)
        )
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)
        assert compiled(x).dtype == np.asarray(f(x)).dtype
        np.testing.assert_allclose(gradient(x), tg.grad(lambda x: np.sum(f(x) ** 2))(x), rtol=1e-12)


def test_an_error_of_the_function_itself_is_told() -> None:
    def f(x: Any) -> Any:
        if x.shape[0] > 4:
            raise LookupError("too long")
        return x * 2.0

    compiled = tg.jit(f)
    for n in (2, 3):
        compiled(np.ones(n))
    for _ in range(2):
        with pytest.raises(LookupError, match="too long"):
            compiled(np.ones(5))
    assert compiled(np.ones(4)).shape == (4,)


def test_a_traced_number_as_the_shape_of_a_new_array() -> None:
    """NumPy tells of another error than the one that says what to do."""

    def f(x: Any, n: Any) -> Any:
        out = np.zeros(n)
        for i in range(n):
            out[i] = x * i
        return out.sum()

    fast = tg.jit(f)
    assert [fast(2.0, 3), fast(2.0, 5)] == [6.0, 20.0]
    for call in (lambda x, n: np.linspace(0.0, 1.0, n), lambda x, n: np.tile(x, n)):
        with pytest.raises(tg.ConcretizationError, match="static_argnames"):
            tg.jit(call)(np.ones(2), 3)
