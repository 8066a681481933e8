"""Functions and methods that write into an array, given a plain one that was made in the function
and differentiated or traced values: the array is traced from its start, as where `h[i] = v` is
written. Arrays that an operator made belong to the function as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, differences
from tracegrad.faces.numpy.flat import Flat

X = np.array([0.5, 1.5, -2.0])
PROGRAMS = program = Programs()


@program
def fill(x: Any) -> Any:
    h = np.zeros(3)
    h.fill(x[0] * 2)
    return h.sum()


@program
def copyto(x: Any) -> Any:
    h = np.zeros(3)
    np.copyto(h, x * 2)
    return h.sum()


@program
def copyto_where(x: Any) -> Any:
    h = np.zeros(3)
    np.copyto(h, x * 2, where=x > 0)
    return h.sum()


@program
def fill_diag(x: Any) -> Any:
    h = np.zeros((3, 3))
    np.fill_diagonal(h, x * 2)
    return (h**2).sum()


@program
def out_kw(x: Any) -> Any:
    h = np.zeros(3)
    np.multiply(x, 2, out=h)
    return (h**2).sum()


@program
def out_pos(x: Any) -> Any:
    h = np.zeros(3)
    np.multiply(x, 2, h)
    return (h**2).sum()


@program
def put(x: Any) -> Any:
    h = np.zeros(3)
    np.put(h, [2, 0], x[:2])
    return (h**2 * np.arange(1, 4)).sum()


@program
def put_along(x: Any) -> Any:
    h = np.zeros(3)
    np.put_along_axis(h, np.array([2, 0]), x[:2], 0)
    return (h**2 * np.arange(1, 4)).sum()


@program
def add_at(x: Any) -> Any:
    h = np.zeros(3)
    np.add.at(h, [0, 0, 2], x)
    return (h**2 * np.arange(1, 4)).sum()


@program
def sub_at(x: Any) -> Any:
    h = np.zeros(3)
    np.subtract.at(h, [0, 0, 2], x)
    return (h**2 * np.arange(1, 4)).sum()


@program
def place(x: Any) -> Any:
    h = np.zeros(3)
    np.place(h, np.array([True, False, True]), x[:2])
    return (h**2).sum()


@program
def putmask(x: Any) -> Any:
    h = np.zeros(3)
    np.putmask(h, np.array([True, False, True]), x)
    return (h**2).sum()


@program
def slice_out(x: Any) -> Any:
    h = np.zeros((2, 3))
    np.multiply(x, 2, out=h[1])
    return (h**2).sum()


@program
def dot_out(x: Any) -> Any:
    h = np.zeros(3)
    np.dot(np.eye(3) * 2, x, out=h)
    return (h**2).sum()


@program
def cumsum_out(x: Any) -> Any:
    h = np.zeros(3)
    np.cumsum(x, out=h)
    return (h**2).sum()


@program
def itemset(x: Any) -> Any:
    h = np.zeros(3)
    h[1:].fill(x[1])
    return (h**2).sum()


@program
def flat(x: Any) -> Any:
    h = np.zeros((3, 1))
    h.flat[1] = x[0]
    h.flat[:] = x * h.sum()
    return (h**2).sum()


@program
def view_write(x: Any) -> Any:
    h = np.zeros(6).reshape(2, 3)
    v = h[0]
    v += x
    h.T[1] *= 3
    h.ravel()[2] = 7.0
    return (h**2).sum()


@program
def flat_diag(x: Any) -> Any:
    K = np.outer(x, x)
    K.flat[::4] += x
    K.flat[1] = x[2]
    return (K**2).sum()


@program
def flat_loop(x: Any) -> Any:
    s = 0.0
    for v in np.outer(x, x).flat:
        s = s * 0.5 + v * v
    return s


@program
def flat_set(x: Any) -> Any:
    K = np.zeros((2, 3))
    K.flat = x
    return (K * np.arange(6).reshape(2, 3)).sum() * K.flat[1]


@program
def put_wrap(x: Any) -> Any:
    h = np.zeros(4)
    np.put(h, [5, -1, 2], x, mode="wrap")
    h.put([0], x[0])
    return (h**2 * np.arange(1, 5)).sum()


@program
def put_clip(x: Any) -> Any:
    h = x * 0
    np.put(h, [5, -9, 1, 1], x, mode="clip")
    return (h**2 * np.arange(1, 4)).sum()


@program
def place_few(x: Any) -> Any:
    h = x * 1
    np.place(h, h > -5, x[:2] * 3)
    np.place(h, x < 0, [7.0, 8.0])
    return (h**2 * np.arange(1, 4)).sum()


@program
def putmask_few(x: Any) -> Any:
    h = x * 1
    np.putmask(h, h > 0.9, x[:2] * 3)
    return (h**2 * np.arange(1, 4)).sum()


@program
def diag_few(x: Any) -> Any:
    h = np.zeros((4, 4))
    np.fill_diagonal(h, x[:2])
    return (h**2 * np.arange(16).reshape(4, 4)).sum()


@program
def diag_tall(x: Any) -> Any:
    h = np.zeros((5, 3))
    np.fill_diagonal(h, x)
    h[h == 0] = 2.0
    return (h**2 * np.arange(15).reshape(5, 3)).sum()


@program
def loop_at(x: Any) -> Any:
    h = np.zeros(3)
    for k in range(40):
        np.add.at(h, [k % 3, (k + 1) % 3], x[k % 3] * x[:2])
    return (h**2).sum()


@program
def loop_copyto(x: Any) -> Any:
    h = np.zeros((3,))
    s = 0.0
    for k in range(60):
        np.copyto(h, h * 0.5 + x * np.cos(k))
        s = s + h[0] * h[2]
    return s


@program
def real_set(x: Any) -> Any:
    z = np.zeros(3, complex)
    z.real = x
    z.imag = x**2
    return (np.abs(z) ** 2 * np.arange(1, 4)).sum()


@program
def own_put(x: Any) -> Any:
    h = np.zeros(3)
    h.put([1, 2], x[:2])
    h.put(0, 3.0)
    return (h**2 * np.arange(1, 4)).sum()


@program
def sorted_in_a_loop(x: Any) -> Any:
    s = x[0]
    for k in range(50):
        h = np.array([3.0, 1.0, 2.0])
        h.sort()
        s = np.sin(s * h[0]) + x[k % 3] * h[2]
    return s


BASE = np.arange(4.0)


@program
def plate(x: Any) -> Any:
    T = 300.0 * np.ones((4, 4))
    T[0, :] = x[0]
    for _ in range(3):
        T[1:-1, 1:-1] = 0.25 * (T[:-2, 1:-1] + T[2:, 1:-1] + T[1:-1, :-2] + T[1:-1, 2:])
    return np.sum(T * T)


@program
def another_name(x: Any) -> Any:
    u = BASE + 0
    v = u
    u[1] = x[0] * x[1]
    return np.sum(v * BASE)


@program
def view_of_a_product(x: Any) -> Any:
    u = -BASE
    w = u[1:]
    w *= x[2]
    for i in range(3):
        u[i] += x[i]
    return u @ u


@program
def anew_in_each_pass(x: Any) -> Any:
    s = 0.0
    for k in range(3):
        u = BASE - k
        u[k] = x[k]
        s = s + np.sum(u * u)
    return s


@program
def scaled(x: Any) -> Any:
    u = np.cumsum(BASE > 1) @ np.ones((4, 3))
    u *= np.sum(x)
    return np.sum(u**2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_to_plain_python(name: str) -> None:
    f = PROGRAMS[name]
    value, gradient = tg.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-13)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [*PROGRAMS][::4])
def test_compiled(name: str) -> None:
    f = PROGRAMS[name]
    value, gradient = tg.jit(tg.value_and_grad(f))(X)
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-13)
    np.testing.assert_allclose(gradient, tg.grad(f)(X), rtol=1e-12, atol=1e-12)


def test_an_array_from_elsewhere_is_refused() -> None:
    around = np.zeros(3)

    def at(x: Any) -> Any:
        np.add.at(around, [0], x[:1])
        return around.sum()

    def flat(x: Any) -> Any:
        around.flat[0] = x[0]
        return around.sum()

    for f in (at, flat):
        for call in (tg.grad(f), tg.jit(f)):
            with pytest.raises(tg.errors.ConcretizationError, match="made elsewhere"):
                call(X)
    assert not around.any()


def test_eagerly_as_numpy() -> None:
    x = np.arange(6.0).reshape(2, 3)
    t = tg.tensor(x)
    for write in (
        lambda a: np.put(a, [7, -1, 2], [1.0, 2.0], mode="wrap"),
        lambda a: np.place(a, a > 2, [9.0, 8.0]),
        lambda a: np.putmask(a, a < 2, np.array([5.0, 6.0])),
        lambda a: (Flat(a) if a is t else a.flat).__setitem__(slice(1, 6, 2), [3.0, 4.0]),
    ):
        write(x)
        write(t)
        np.testing.assert_array_equal(t.numpy(), x)
    assert len(Flat(t)) == 6
    np.testing.assert_array_equal(np.asarray(Flat(t)), x.ravel())
    for wrong in (
        lambda: np.place(t, t > 100, []),
        lambda: np.put(t, [0], 1j),
        lambda: np.put(t, [0], 1.0, mode="other"),
        lambda: np.fill_diagonal(t[0], 1.0),
        lambda: np.putmask(t, [True], 0.0),
    ):
        with pytest.raises((TypeError, ValueError), match=r"np\."):
            wrong()
