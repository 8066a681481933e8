"""Arguments that a program writes to: plain calls, jitted ones and `vmap` write to the caller's
arrays, as the program itself does; derivatives leave them as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def whole(x: Any) -> Any:
    x[0] = x[0] * 2
    x[1:] += 1
    return (x**2).sum()


def in_a_loop(x: Any) -> Any:
    for k in range(len(x)):
        x[k] = x[k] + k
        if x[k] > 2.5:
            x[k] = 2 * x[k]
    return (x**2).sum()


def through_views(x: Any) -> Any:
    a = x[::2]
    a *= 3
    b = x[:2]
    b[:] = b[::-1] + x[0]
    return (x**2).sum()


PROGRAMS = (whole, in_a_loop, through_views)
X = np.array([1.0, 2.0, 3.0, 0.5])
T = np.array([1.0, -1.0, 0.5, 2.0])


def seen(f: Callable[..., Any], x: Any) -> Any:
    """The result, and what the caller's array holds behind the call."""
    x = x.copy()
    found = f(x)
    return found, x


@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_write_to_the_arrays_of_the_caller(program: Any) -> None:
    value, after = seen(program, X)
    assert not np.array_equal(after, X)
    for f in (tg.jit(program), tg.jit(tg.jit(program)), tg.jit(program, stage=True)):
        for _ in range(2):
            found, written = seen(f, X)
            np.testing.assert_allclose(found, value, rtol=1e-14)
            np.testing.assert_array_equal(written, after)


@pytest.mark.parametrize("program", PROGRAMS)
def test_lanes_write_to_the_rows_of_the_caller(program: Any) -> None:
    rows = np.stack([X, T, X[::-1]])
    expected = [seen(program, row) for row in rows]
    lanes = (tg.vmap(program), tg.vmap(tg.jit(program)), tg.jit(tg.vmap(program)))
    for f in lanes:
        found, written = seen(f, rows)
        np.testing.assert_allclose(found, [value for value, _ in expected], rtol=1e-14)
        np.testing.assert_array_equal(written, [after for _, after in expected])
    found, written = seen(tg.vmap(program, in_axes=1), rows.T)
    np.testing.assert_array_equal(written.T, [after for _, after in expected])


DERIVATIVES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": tg.grad,
    "value_and_grad": lambda f: lambda x: tg.value_and_grad(f)(x)[1],
    "jacrev": tg.jacrev,
    "jacfwd": tg.jacfwd,
    "vjp": lambda f: lambda x: tg.vjp(f, x)[1](1.0)[0],
    "hessian": lambda f: lambda x: tg.grad(f)(x) + 0 * tg.hessian(f)(x)[0],
}
ALONG: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (T,))[1],
    "linearize": lambda f: lambda x: tg.linearize(f, x)[1](T),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives_leave_them_as_they_were(program: Any) -> None:
    h = 1e-6
    expected = np.array([
        (program(X + h * e) - program(X - h * e)) / (2 * h) for e in np.eye(len(X))
    ])  # fmt: skip
    for table, wanted in ((DERIVATIVES, expected), (ALONG, expected @ T)):
        for name, derivative in table.items():
            inner = tg.jit(program)
            for f in (derivative(program), derivative(inner), tg.jit(derivative(program))):
                found, after = seen(f, X)
                np.testing.assert_allclose(found, wanted, rtol=1e-7, err_msg=name)
                np.testing.assert_array_equal(after, X, err_msg=name)
    rows = np.stack([X, X])
    found, after = seen(tg.vmap(tg.grad(program)), rows)
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-7)
    np.testing.assert_array_equal(after, rows)


def test_a_buffer_that_is_an_argument() -> None:
    """Values on the way to a derivative are written to it where the call is jitted; eagerly that is
    refused, with the way out."""

    def f(w: Any, buffer: Any) -> Any:
        buffer[:] = w * 2
        return (buffer * w).sum()

    w = np.arange(3.0)
    for g, expected in (
        (tg.jit(f), 10.0),
        (tg.jit(tg.grad(f)), 4 * w),
        (tg.grad(tg.jit(f)), 4 * w),
    ):
        buffer = np.zeros(3)
        np.testing.assert_array_equal(g(w, buffer), expected)
        np.testing.assert_array_equal(buffer, 2 * w)
    with pytest.raises(tg.errors.ConcretizationError, match="Write into a new one"):
        tg.grad(f)(w, np.zeros(3))


def pulled(f: Any, x: Any) -> Any:
    _, pull = tg.vjp(f, x)
    x[0] = 100.0
    return pull(1.0)[0] @ T


def pushed(f: Any, x: Any) -> Any:
    _, push = tg.linearize(f, x)
    x[0] = 100.0
    return push(T)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("later", [pulled, pushed])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_point_stays_where_it_was(program: Any, later: Any) -> None:
    """What is written between a function and its linear map reaches only what is computed then; in
    derivatives of that, too."""
    expected, after = seen(lambda x: later(program, x), X)
    np.testing.assert_allclose(expected, tg.grad(program)(X) @ T, rtol=1e-14)
    wanted = tg.hessian(program)(X) @ T
    for inner in (program, tg.jit(program)):
        found, written = seen(tg.jit(lambda x, f=inner: later(f, x)), X)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_array_equal(written, after)
        for f in (lambda x, f=inner: later(f, x), tg.jit(lambda x, f=inner: later(f, x))):
            np.testing.assert_allclose(tg.grad(f)(X), wanted, rtol=1e-13)
            np.testing.assert_allclose(tg.jvp(f, (X,), (T,))[1], wanted @ T, rtol=1e-13)
