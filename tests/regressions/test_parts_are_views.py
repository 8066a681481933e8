"""The real and imaginary part of a complex array are views: once `z.real[0] = 9` changed
nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Z = np.array([1 + 2j, 3 - 4j, 5j])


def item(z: Any) -> None:
    z.real[0] = 9.0


def item_of_imag(z: Any) -> None:
    z.imag[1] = 7.0


def scaled(z: Any) -> None:
    part = z.imag
    part *= 3


def slice_of_part(z: Any) -> None:
    z[1:].real[:1] = 5.0


def by_function(z: Any) -> None:
    np.real(z)[1:] = 2.0
    np.imag(z)[:2] = 8.0


def whole(z: Any) -> None:
    z.real = 4.0


def whole_imag(z: Any) -> None:
    z.imag = z.real


def of_each_other(z: Any) -> None:
    z.real[:2] = z.imag[1:]


WRITES = [item, item_of_imag, scaled, slice_of_part, by_function, whole, whole_imag, of_each_other]


@pytest.mark.parametrize(
    ("write", "dtype"),
    [*[(w, np.complex128) for w in WRITES], (item, np.complex64), (scaled, np.complex64)],
)
def test_writes_reach_the_array(write: Callable[[Any], None], dtype: Any) -> None:
    wanted = Z.astype(dtype)
    write(wanted)

    def function(z: Any) -> Any:
        z = z * 1
        write(z)
        return z

    z = Z.astype(dtype)
    for f in (function, tg.jit(function), lambda z: tg.vmap(function)(np.stack([z, z]))[1]):
        found = f(z)
        assert found.dtype == dtype
        assert np.array_equal(found, wanted)
    t = tg.tensor(z)
    write(t)
    assert np.array_equal(t, wanted)
    assert t._version > 0

    def real_function(x: Any) -> Any:
        return np.sum(np.abs(function(x * z)) ** 2)

    def by_hand(x: np.ndarray[Any, Any]) -> float:
        product = (x * Z).astype(np.complex128)
        write(product)
        return float(np.sum(np.abs(product) ** 2))

    x = np.array([1.0, 0.5, 2.0])
    steps = np.eye(3) * 1e-5
    slope = np.array([(by_hand(x + h) - by_hand(x - h)) / 2e-5 for h in steps])
    for g in (tg.grad(real_function), tg.jacfwd(real_function)):
        assert np.allclose(g(x), slope, rtol=1e-3 if dtype == np.complex64 else 1e-6)


def test_the_part_of_a_tensor_is_a_view() -> None:
    z = tg.tensor(Z)
    part = z.real
    assert part._base is z
    z[0] = 0
    assert part.tolist() == [0, 3, 0]
    assert part._version == z._version
    leaf = tg.tensor(Z, requires_grad=True)
    y = leaf * 1
    y.imag.mul_(leaf.real)
    (y.imag**2).sum().backward()
    assert np.allclose(leaf.grad.real, 2 * Z.imag**2 * Z.real)
    assert np.allclose(leaf.grad.imag, 2 * Z.imag * Z.real**2)
    y = leaf * 1
    square = y * y
    y.real.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.abs().sum().backward()
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        leaf.imag.zero_()


def test_a_real_array_is_its_real_part() -> None:
    x = tg.tensor([1.0, 2.0])
    assert x.real is x
    x.real = 5.0
    assert x.tolist() == [5, 5]
    with pytest.raises(TypeError, match="no imaginary part"):
        x.imag = 1.0
    assert np.shares_memory(tg.real(Z), Z)
