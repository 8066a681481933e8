"""A complex number that goes where a real one belongs leaves its real part there: compiled as
eagerly, in every derivative."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Z = np.array([0.3 + 0.4j, -0.2 + 0.1j, 0.5 - 0.6j])
W = np.array([[1.0 - 2.0j, 0.5j, 2.0], [0.3, 1.0j, -1.0 + 1.0j]])


@tg.custom_vjp
def squared(x: Any) -> Any:
    return x * x


squared.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g * (1 + 1j),))


def joined(z: Any) -> Any:
    return np.concatenate([np.real(z), z, z.imag])


def stacked(z: Any) -> Any:
    return np.stack([np.real(z * np.conj(z)), z])


def blocks(z: Any) -> Any:
    return np.block([[np.abs(z + 2.0)], [z]])


def chosen(z: Any) -> Any:
    return np.where(np.real(z) > 0, np.imag(z), z)


def written(z: Any) -> Any:
    y = z * 1.0
    y[1:] = np.real(z[:2])
    return y


def multiplied(z: Any) -> Any:
    return np.real(z) * z + np.outer(np.imag(z), z)[0]


def solved(z: Any) -> Any:
    return np.linalg.solve(np.diag(np.abs(z) + 1.0), z)


def cast(z: Any) -> Any:
    return np.real(z).astype(np.complex128) * z


def looped(z: Any) -> Any:
    return tg.scan(lambda c, v: (c + v * np.real(v), c), 0j, z)[1]


FUNCTIONS = [joined, stacked, blocks, chosen, written, multiplied, solved, cast, looped]


def loss_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def loss(z: Any) -> Any:
        y = function(z)
        weights = np.resize(W, np.shape(y))
        return np.sum(np.real(weights * y)) + np.sum(np.abs(y + 3.0))

    return loss


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_real_and_complex_together(function: Callable[[Any], Any], dtype: Any) -> None:
    z, loss = Z.astype(dtype), loss_of(function)
    close = (
        {"rtol": 1e-4, "atol": 1e-5} if dtype == np.complex64 else {"rtol": 1e-11, "atol": 1e-12}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient = tg.grad(loss)(z)
        assert gradient.dtype == dtype
        np.testing.assert_allclose(tg.jit(tg.grad(loss))(z), gradient, **close)
        np.testing.assert_allclose(tg.grad(tg.jit(loss))(z), gradient, **close)
        second = tg.hvp(loss, (z,), (1j * z,))
        np.testing.assert_allclose(
            tg.jit(lambda z: tg.hvp(loss, (z,), (1j * z,)))(z), second, **close
        )
        batch = tg.jit(tg.vmap(tg.grad(loss)))(np.stack([z, 2 * z]))
        np.testing.assert_allclose(batch[0], gradient, **close)
    if dtype == np.complex128:
        step = 1e-6
        for k in range(3):
            for direction in (1.0, 1j):
                e = step * direction * np.eye(3)[k]
                slope = (loss(z + e) - loss(z - e)) / (2 * step)
                np.testing.assert_allclose(
                    np.real(np.conj(gradient[k]) * direction), slope, rtol=1e-6, atol=1e-8
                )


@pytest.mark.parametrize(
    "real", [np.array([0.5, -1.0]), np.array([0.5, -1.0], np.float32)], ids=lambda x: str(x.dtype)
)
def test_a_real_input_gets_a_real_gradient(real: Any) -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.abs(np.stack([x, 1j * x, x * (2 - 1j)])) ** 2)

    for way in (tg.grad(loss), tg.jit(tg.grad(loss)), tg.grad(tg.jit(loss))):
        found = way(real)
        assert found.dtype == real.dtype
        np.testing.assert_allclose(found, 14 * real, rtol=1e-5)


def test_a_complex_cotangent_of_the_users_rule_for_a_real_value() -> None:
    x = np.array([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for way in (
            tg.grad,
            lambda f: tg.jit(tg.grad(f)),
            lambda f: tg.grad(tg.jit(f)),
            lambda f: tg.vmap(tg.grad(f)),
        ):
            found = way(lambda x: np.sum(squared(x)))(x)
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, 2 * x)


@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_a_cast_takes_the_real_part_and_warns_as_numpy(dtype: Any) -> None:
    for way in (lambda f: f, tg.jit):
        with pytest.warns(np.exceptions.ComplexWarning):
            found = way(lambda z: (z * 3).astype(dtype))(Z)
        np.testing.assert_array_equal(found, np.real(Z * 3).astype(dtype))
    with pytest.warns(np.exceptions.ComplexWarning):
        found = tg.jit(tg.grad(lambda z: np.sum(z.astype(float) ** 2)))(Z)
    np.testing.assert_allclose(found, 2 * np.real(Z))
