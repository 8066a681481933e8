"""Functions that write into memory after they used it, while their tangents are recorded beside
them: what was used counts. (`linearize` and the forward Jacobians of `autograd.functional` read
what was written last.)"""

import re
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import functional
from tracegrad.errors import TracegradError

POINT = np.array([0.5, 0.7])
WEIGHTS = tg.tensor([1.0, 2.0])
ARRAY = np.array([1.0, 2.0])
SHARED = np.array([1.0, 2.0])
OF_ARRAY = tg.from_numpy(SHARED)


def fresh() -> Any:
    return tg.tensor([1.0, 2.0])


@tg.jit
def tripled(v: Any) -> Any:
    v.mul_(3)
    return v.sum()


def in_place(x: Any) -> Any:
    w = fresh()
    y = (x * x * w).sum()
    w.mul_(3)
    return y


def used_again(x: Any) -> Any:
    w = fresh()
    y = (x * w).sum()
    w.mul_(3)
    y = y + (x * x * w).sum()
    w.zero_()
    return y


def element(x: Any) -> Any:
    out = tg.zeros(3)
    out[0] = x[0]
    z = out * out
    out[0] = 5.0
    return z.sum() + out.sum()


def from_outside(x: Any) -> Any:
    WEIGHTS.copy_(fresh())
    y = (x * x * WEIGHTS).sum()
    WEIGHTS.mul_(3)
    return y


def array_from_outside(x: Any) -> Any:
    ARRAY[:] = [1.0, 2.0]
    y = (x * x * ARRAY).sum()
    ARRAY[:] = 7
    return y


def array_used_twice(x: Any) -> Any:
    c = np.array([1.0, 2.0])
    y = (x * c).sum()
    c *= 3
    y = y + (x * x * c).sum()
    c[:] = 0
    return y


def intermediate(x: Any) -> Any:
    w = fresh() * 1.0
    y = (x * x * w).sum()
    w += 1
    return y


def memory_of_an_array(x: Any) -> Any:
    SHARED[:] = [1.0, 2.0]
    y = (x * x * OF_ARRAY).sum()
    SHARED[:] = 7
    return y


def numpy_of_a_tensor(x: Any) -> Any:
    w = fresh()
    n = w.numpy()
    y = (x * x * w).sum()
    n[:] = 7
    return y


def data(x: Any) -> Any:
    w = fresh()
    y = (x * x * w).sum()
    w.data.mul_(7)
    return y


def detached(x: Any) -> Any:
    w = fresh()
    d = w.detach()
    y = (x * x * w).sum()
    d[0] = 100
    return y


def view(x: Any) -> Any:
    w = fresh()
    part = w[1:]
    y = (x[1] * x[1] * part).sum()
    w.zero_()
    return y


def jitted(x: Any) -> Any:
    w = fresh()
    y = (x * x * w).sum()
    tripled(w)
    return y


def copied_to(x: Any) -> Any:
    w = fresh()
    y = (x * x * w).sum()
    np.copyto(w, np.array([9.0, 9.0]))
    return y


def drawn(x: Any) -> Any:
    w = fresh()
    y = (x * x * w).sum()
    tg.nn.init.normal_(w)
    return y


def gradient_added(x: Any) -> Any:
    w = fresh().requires_grad_()
    (w * w).sum().backward()
    y = (x * x * w.grad).sum()
    (w * w).sum().backward()
    return y


def large(x: Any) -> Any:
    w = tg.ones(20_000)
    y = (x[0] * x[0] * w).sum() / 1000.0
    w.mul_(3)
    return y


PROGRAMS = [
    in_place,
    used_again,
    element,
    from_outside,
    array_from_outside,
    array_used_twice,
    intermediate,
    memory_of_an_array,
    numpy_of_a_tensor,
    data,
    detached,
    view,
    jitted,
    copied_to,
    drawn,
    gradient_added,
    large,
]


def columns(f: Any, x: Any) -> Any:
    """The gradient of `f` by jvp, which keeps nothing for later."""
    units = np.eye(2)
    tangents = [tg.tensor(u) if isinstance(x, tg.Tensor) else u for u in units]
    return np.array([float(tg.jvp(f, (x,), (t,))[1]) for t in tangents])


def of_functional(f: Any, x: Any) -> Any:
    return functional.jacobian(f, tg.tensor(np.asarray(x)), strategy="forward-mode", vectorize=True)


def of_linear(f: Any, x: Any) -> Any:
    push = tg.linearize(f, x)[1]
    units = np.eye(2)
    return np.array([float(push(tg.tensor(u) if isinstance(x, tg.Tensor) else u)) for u in units])


WAYS = {
    "linearize": of_linear,
    "jacfwd": lambda f, x: tg.jacfwd(f)(x),
    "jacfwd in chunks": lambda f, x: tg.jacobian(f, mode="forward", chunk_size=1)(x),
    "jacobian": lambda f, x: tg.jacobian(lambda v: tg.stack([f(v), f(v), f(v)]))(x)[1],
    "functional": of_functional,
}


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_was_used_counts(program: Any, way: str, kind: str) -> None:
    x = tg.tensor(POINT) if kind == "tensor" else POINT.copy()
    expected = columns(program, x)
    np.testing.assert_allclose(np.asarray(WAYS[way](program, x)), expected, rtol=1e-12)


def numeric(f: Any) -> Any:
    """The Hessian by differences of the values of `f`."""
    h, e = 1e-3, np.eye(2)

    def value(v: Any) -> float:
        return float(f(v))

    return np.array(
        [
            [
                (
                    value(POINT + h * (e[i] + e[j]))
                    - value(POINT + h * (e[i] - e[j]))
                    - value(POINT - h * (e[i] - e[j]))
                    + value(POINT - h * (e[i] + e[j]))
                )
                / (4 * h * h)
                for j in range(2)
            ]
            for i in range(2)
        ]
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives_are_right_or_refused(program: Any) -> None:
    expected = numeric(program)
    for hessian in (tg.hessian, lambda f: tg.jacfwd(tg.jacfwd(f))):
        try:
            found = hessian(program)(POINT)
        except (RuntimeError, TracegradError) as error:
            # A backward pass inside, which reads what was written to, says so; so do traces.
            assert re.search("modified by an inplace|written to|changes a Tensor", str(error))  # noqa: PT017
            continue
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-6)


def test_the_function_of_a_jacobian_runs_once() -> None:
    """On values, so that it may branch on them, and what it does to its surroundings is done
    once."""
    seen: list[float] = []

    def f(x: Any, y: Any) -> Any:
        seen.append(1.0)
        if float(np.sum(np.asarray(ARRAY))) >= 0 and len(seen) < 5:
            return np.stack([x[0] * y, x[1] * y * y, x[0] * x[1]])
        return x

    found = tg.jacobian(f, argnums=(0, 1), mode="forward")(POINT, 2.0)
    np.testing.assert_allclose(found[0], [[2, 0], [0, 4], [0.7, 0.5]])
    np.testing.assert_allclose(found[1], [0.5, 2.8, 0])
    assert len(seen) == 1


def test_a_hessian_may_branch_on_values() -> None:
    def f(x: Any) -> Any:
        total = np.sum(x**3)
        return total if total > 0 else -total

    np.testing.assert_allclose(tg.hessian(f)(POINT), np.diag(6 * POINT))
    np.testing.assert_allclose(tg.hessian(f)(-POINT), np.diag(6 * POINT))


def test_a_tensor_that_follows_an_array_is_told_apart_each_time() -> None:
    """Two uses of one array with other content in between are two captures."""
    c = np.array([1.0, 2.0])

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(4):
            c[:] = [k, k + 1.0]
            total = total + (x * x * c).sum()
        return total

    np.testing.assert_allclose(tg.jacfwd(f)(POINT), 2 * POINT * [6.0, 10.0])
    np.testing.assert_allclose(tg.linearize(f, POINT)[1](np.ones(2)), (2 * POINT * [6, 10]).sum())
