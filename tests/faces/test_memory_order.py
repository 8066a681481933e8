"""Which reshapes are views, and what `order` means, depends on how arrays lie in memory: after a
write an array lies as before, whatever was written, and through whichever view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import differences

X = np.array([[0.7, -0.4, 1.1], [0.35, -0.9, 0.2]])
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "row": lambda b, x: b.__setitem__(0, x[1]),
    "flipped": lambda b, x: b[::-1].__isub__(x[0, 0]),
    "columns backwards": lambda b, x: b[:, ::-1].__imul__(x[1]),
    "transposed": lambda b, x: b.T.__iadd__(x[0, 1]),
    "column of the transpose": lambda b, x: b.T[..., ::2].__setitem__(..., x[1, 0]),
    "values in Fortran's order": lambda b, x: b.__setitem__(..., np.asfortranarray(X) * x[0, 0]),
    "out": lambda b, x: np.multiply(np.asfortranarray(X), x[0, 0], out=b),
    "mask": lambda b, x: b.T.__setitem__(b.T > 0, x[0, 2]),
}
BASES: dict[str, Callable[[Any], Any]] = {
    "new": lambda x: x * 1.5,
    "copy": lambda x: x.copy(),
    "copy of the transpose": lambda x: x.T.copy().reshape(2, 3),
    "zeros": lambda x: np.zeros_like(x),
    "columns first": lambda x: x.copy(order="F"),
    "transposed result": lambda x: x.reshape(3, 2).T * 1.5,
}
ORDERS: dict[str, Callable[[Any], Any]] = {
    "ravel, K": lambda x: np.ravel(x.T, "K"),
    "ravel, A": lambda x: x.T.ravel("A"),
    "flatten, K": lambda x: x.T[::-1].flatten("K"),
    "flatten, A": lambda x: x.T[:, ::-1].flatten("A"),
    "reshape, A": lambda x: x.T.reshape((6,), order="A"),
    "three axes, K": lambda x: np.stack([x, 2 * x]).transpose(1, 0, 2).ravel("K")[3:9],
    "axis of one, K": lambda x: x[None].transpose(2, 0, 1).ravel("K"),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("write", WRITES)
def test_a_written_array_lies_as_before(base: str, write: str) -> None:
    def f(x: Any) -> Any:
        b = BASES[base](x)
        WRITES[write](b, x)
        rows, columns = b.ravel(), b.T.reshape(-1)
        b += 0.25 * x
        rows[1], columns[2] = x[0, 0] ** 2, x[0, 2]
        weights = np.arange(1.0, 7.0)
        return np.sum(np.sin(b).reshape(-1) * weights) + (rows @ weights) * (columns @ weights)

    value, gradient = tg.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("layout", "CF")
def test_orders_of_memory(order: str, layout: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(ORDERS[order](x)) * np.arange(1.0, 7.0))

    x = np.array(X, order=layout)
    value, gradient = tg.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(tg.jvp(f, (x,), (x,))[1], np.sum(gradient * x), rtol=1e-12)
    with pytest.raises(tg.ConcretizationError, match="lie in memory"):
        tg.jit(f)(x)


NEW: dict[str, Callable[[Any], Any]] = {
    "zeros_like": lambda x: np.zeros_like(x.T),
    "ones_like": lambda x: np.ones_like(x[:, ::-1].T),
    "empty_like, three axes": lambda x: np.empty_like(np.stack([x, x]).transpose(1, 2, 0)),
    "full_like, C": lambda x: np.full_like(x.T, 2.0, order="C"),
    "full_like, F": lambda x: np.full_like(x, 2.0, order="F"),
    "zeros_like, another shape": lambda x: np.zeros_like(x.T, shape=(4, 5)),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x.T),
    "ascontiguousarray of rows": lambda x: np.ascontiguousarray(x[:1].T),
    "asarray, C": lambda x: np.asarray(x.T, order="C"),
    "asarray, F": lambda x: np.asarray(x, order="F"),
    "array, C": lambda x: np.array(x.T, order="C"),
    "array, F": lambda x: np.array(x, order="F"),
    "array": lambda x: np.array(x.T),
    "select": lambda x: np.select([x.T > 0], [x.T]),
    "pad": lambda x: np.pad(x.T, 1),
    "insert": lambda x: np.insert(x.T, 1, 0.5, 0),
    "delete": lambda x: np.delete(x.T, 1, 0),
    "compress": lambda x: np.compress([True, False, True], x.T, axis=0),
}


@pytest.mark.parametrize("new", NEW)
def test_new_arrays_lie_as_those_of_numpy(new: str) -> None:
    def f(x: Any) -> Any:
        y = 1.5 * x
        g = NEW[new](y)
        g[...] = 0.5 * x[0, 0]
        rows, columns = g.ravel(), g.T.reshape(-1)
        rows[1], columns[2] = x[0, 0] ** 2, x[0, 2]
        weights = np.arange(1.0, g.size + 1)
        return np.sum(np.sin(g).reshape(-1) * weights) + np.sum(y**2) + rows @ columns

    want = f(X.copy())
    value, gradient = tg.value_and_grad(f)(X)
    np.testing.assert_allclose(value, want, rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-5, atol=1e-5)
    of_order = new.startswith(("as", "array, ", "full", "select", "compress"))
    if of_order:  # others lie in C order in a trace
        np.testing.assert_allclose(tg.vmap(f)(X[None])[0], want, rtol=1e-12)
