"""Tensors that count for themselves on the memory of another one - the argument of a transformed
function, `x.data`, a tensor that was given other memory: what is written by any way there, while
what was there is needed for a derivative, is noticed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

POINT = np.array([0.5, 0.7])
WRITES: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda t: t.mul_(3),
    "+=": lambda t: t.__iadd__(1),
    "view": lambda t: t[:1].zero_(),
    "detach": lambda t: t.detach().mul_(3),
    "data": lambda t: t.data.mul_(3),
    "out": lambda t: np.multiply(np.ones(2), 3.0, out=t),
    "numpy": lambda t: t.numpy(force=True).fill(7.0),
    "asarray": lambda t: np.asarray(t).fill(7.0),
    "dlpack": lambda t: np.from_dlpack(t.detach()).fill(7.0),
}


def argument(write: Callable[[Any], Any], body: Callable[[Any], Any]) -> Any:
    t = tg.tensor(POINT)

    def f(x: Any) -> Any:
        y = body(x)
        with tg.no_grad():
            write(t)
        return y

    return tg.grad(f)(t)


def replaced(x: Any) -> Any:
    y = (x * x * x).sum()
    x.mul_(2)
    return y + 0 * x.sum()


def data_beside(write: Callable[[Any], Any]) -> Any:
    w, x = tg.tensor(POINT), tg.tensor([1.0, 2.0], dtype=np.float64, requires_grad=True)
    y = (x * x * w.data).sum()
    write(w)
    return tg.autograd.grad(y, x)[0]


def given(write: Callable[[Any], Any]) -> Any:
    x, n = tg.zeros(2, dtype=np.float64, requires_grad=True), tg.tensor(POINT)
    x.data = n
    y = (x * x * x).sum()
    write(n)
    return tg.autograd.grad(y, x)[0]


def given_after(write: Callable[[Any], Any]) -> Any:
    x = tg.tensor(POINT, requires_grad=True)
    before = x.detach()
    y = (x * x * x).sum()
    x.data = tg.tensor([1.0, 2.0], dtype=np.float64)
    write(before)
    return tg.autograd.grad(y, x)[0]


def given_twice(write: Callable[[Any], Any]) -> Any:
    x, n = tg.tensor([3.0, 4.0], dtype=np.float64, requires_grad=True), tg.tensor(POINT)
    z = (x * x).sum()
    x.data = n
    y = (x * x * x).sum()
    write(n)
    return tg.autograd.grad(y, x)[0] + 0 * z.detach()


def parameter(write: Callable[[Any], Any]) -> Any:
    t = tg.tensor(POINT)
    p = tg.nn.Parameter(t)
    y = (p * p * p).sum()
    write(t)
    return tg.autograd.grad(y, p)[0]


FIRST, NESTED, BESIDE = 3 * POINT**2, 16 * POINT**3, 2 * POINT * [1, 2]
PLACES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "argument": (lambda w: argument(w, lambda x: (x * x * x).sum()), FIRST),
    "elements": (lambda w: argument(w, lambda x: x[0] ** 3 + x[1] ** 3), FIRST),
    "replaced": (lambda w: argument(w, replaced), FIRST),
    "nested": (lambda w: argument(w, nested), NESTED),
    "data beside": (data_beside, BESIDE),
    "given": (given, FIRST),
    "given after": (given_after, FIRST),
    "given twice": (given_twice, FIRST),
    "parameter": (parameter, FIRST),
}


def nested(x: Any) -> Any:
    y = tg.grad(lambda z: (z * z * x).sum())(x)
    return (y * y).sum()


@pytest.mark.parametrize("place", PLACES)
def test_writes_are_noticed(place: str) -> None:
    run, expected = PLACES[place]
    np.testing.assert_allclose(np.asarray(run(lambda t: None)), expected, rtol=1e-12)
    for write in WRITES.values():
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            run(write)


def test_what_is_no_write_is_none() -> None:
    x = tg.tensor(POINT, requires_grad=True)
    y = (x * x * x).sum()
    x.data = tg.tensor([1.0, 2.0], dtype=np.float64)
    x.data.mul_(2)
    y.backward()
    np.testing.assert_allclose(x.grad, FIRST)
    for _ in range(2000):  # and no chain of counters grows
        x.data = x.data
        x.data = x.data * 1.0
    assert x._version == 0
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]

    def f(x: Any) -> Any:
        y = (x * x).sum()
        x.mul_(3)
        return y + (x * x).sum()

    t = tg.tensor(POINT)
    np.testing.assert_allclose(tg.grad(f)(t), 20 * POINT)
    assert t._version == 0


def test_versions_of_data_are_its_own() -> None:
    x = tg.tensor(POINT)
    d = x.data
    x.mul_(2)
    assert (x._version, d._version) == (1, 0)
    d.mul_(2)
    assert (x._version, d._version) == (2, 1)
    y = tg.zeros(2, dtype=np.float64)
    y.data = x
    assert y._version == 0
    y.mul_(2)
    assert (x._version, y._version) == (3, 1)


@pytest.mark.parametrize("first", [lambda x: (x * 1).exp(), lambda x: x * 1])
def test_what_a_checkpoint_saves_in_its_second_run(first: Callable[[Any], Any]) -> None:
    """A result, and an operand, that the function overwrites when it has used them."""

    def f(x: Any, write: bool) -> Any:
        y = first(x)
        z = (y * y).sum()
        if write:
            with tg.no_grad():
                y.mul_(2)
        return z + (x * x).sum()

    for wrap in (lambda f: f, tg.checkpoint):
        x = tg.tensor(POINT, requires_grad=True)
        wrap(lambda x: f(x, False))(x).backward()
        y = wrap(lambda x: f(x, True))(x)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            y.backward()


def test_what_a_checkpoint_was_given() -> None:
    x = tg.tensor(POINT, requires_grad=True)
    y = x * 2
    z = tg.checkpoint(lambda y: (y * y).sum())(y)
    y.detach().mul_(3)
    with pytest.raises(RuntimeError, match="holds something else"):
        z.backward()
