"""`x.detach()` and `x.data` share the memory of x in every mode: what is written to either shows in
both, and each keeps its own history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.5, 1.5, -2.0])


def read_after_write(x: Any) -> Any:
    y = x * 2
    d = y.detach()
    y.mul_(3)
    return (d * x).sum(), 6 * X**2, 6 * X


def written_through(x: Any) -> Any:
    y = x * 2
    y.detach().mul_(3)
    return (y * x.detach()).sum(), 6 * X**2, 2 * X


def written_through_data(x: Any) -> Any:
    y = x.clone()
    d = y.data
    for k in range(3):
        d[k] = d[k] * k
    return (y * x).sum(), np.arange(3) * X**2, X + np.arange(3) * X


def element(x: Any) -> Any:
    y = x * 2
    d = y.detach()
    y[0] = 7.0
    return (d * x).sum(), np.array([7.0, 3.0, -4.0]) * X, np.array([7.0, 3.0, -4.0])


def view_of_detached(x: Any) -> Any:
    y = x * 2
    d = y.detach()[1]
    y.mul_(3)
    return (d * x).sum(), 9 * X, np.full(3, 9.0)


def view_of_a_view(x: Any) -> Any:
    y = x * 2
    d = y.detach().view(-1)
    d[0] = 5.0
    return (y * x.detach()).sum(), np.array([5.0, 3.0, -4.0]) * X, 2 * X


def detached_of_a_view(x: Any) -> Any:
    y = x * 2
    v = y[1:]
    d = v.detach()
    d.add_(1)
    y.mul_(2)
    value = np.array([0.0, *((2 * X[1:] + 1) * 2 * X[1:])])
    return (v * x[1:]).sum(), value, np.array([0.0, *(4 * X[1:] + 2 * (2 * X[1:] + 1))])


def history_of_its_own(x: Any) -> Any:
    y = x * 2
    d = y.detach()
    d.mul_(x)
    return d.sum() + 0 * y.sum(), 2 * X**2, 2 * X


def both_histories(x: Any) -> Any:
    y = x * 2
    d = y.detach()
    d.mul_(x)
    return (d * y).sum(), 4 * X**4, 4 * X**3 + 4 * X**2


def copied(x: Any) -> Any:
    y = x.clone()
    d = y.detach()
    y.copy_(x * x)
    z = d + 1
    d.zero_()
    return (z * x).sum() + y.sum(), (X**2 + 1) * X, X**2 + 1 + 2 * X


def twice(x: Any) -> Any:
    y = x * 2
    first, second = y.detach(), y.detach()
    first.add_(1)
    second.mul_(2)
    return ((first + second + y) * x).sum(), 6 * (2 * X + 1) * X, 6 * (2 * X + 1) + 2 * X


def of_the_argument(x: Any) -> Any:
    y = x.clone()
    y.data.sub_(y.detach())
    return (y + x).sum(), X, np.full(3, 2.0)


def other_memory(x: Any) -> Any:
    y = x.detach().clone()
    d = y.detach()
    y.data = y * 5
    y.add_(1)
    return (d * x).sum() + y.sum(), X**2 + 5 * X + 1, X


PROGRAMS = [
    read_after_write, written_through, written_through_data, element, view_of_detached,
    view_of_a_view, detached_of_a_view, history_of_its_own, both_histories, copied, twice,
    of_the_argument, other_memory,
]  # fmt: skip


def value_of(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: program(x)[0]


def on_the_tape(f: Callable[[Any], Any]) -> tuple[Any, Any]:
    x = tg.tensor(X, requires_grad=True)
    y = f(x)
    y.backward()
    return y.detach(), x.grad


def pushed(f: Callable[[Any], Any]) -> tuple[Any, Any]:
    found = [tg.jvp(f, (tg.tensor(X),), (tg.tensor(e),)) for e in np.eye(3)]
    return found[0][0], [t for _, t in found]


WAYS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "tape": on_the_tape,
    "grad": lambda f: tg.value_and_grad(f)(tg.tensor(X)),
    "jvp": pushed,
    "jit on the tape": lambda f: on_the_tape(tg.jit(f)),
    "jit of grad": lambda f: tg.jit(tg.value_and_grad(f))(tg.tensor(X)),
    "grad of jit": lambda f: tg.value_and_grad(tg.jit(f))(tg.tensor(X)),
    "jvp of jit": lambda f: pushed(tg.jit(f)),
    "vmap": lambda f: (
        tg.vmap(f)(tg.tensor(np.stack([X, X])))[0],
        tg.vmap(tg.grad(f))(tg.tensor(np.stack([X, X])))[1],
    ),
    "jacfwd": lambda f: (f(tg.tensor(X)), tg.jacfwd(f)(tg.tensor(X))),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_memory(program: Callable[[Any], Any], way: str) -> None:
    _, values, gradient = program(tg.tensor(X))
    value, found = WAYS[way](value_of(program))
    np.testing.assert_allclose(float(value), np.sum(values), rtol=1e-12)
    np.testing.assert_allclose(np.array([float(g) for g in found]), gradient, rtol=1e-12)


@pytest.mark.usefixtures("kernels_in_python")
def test_integers() -> None:
    def counted(n: Any) -> Any:
        d = n.detach()
        n = n + 0
        e = n.detach()
        n += 2
        return d.sum() + 10 * e.sum()

    n = tg.tensor([1, 2])
    assert int(counted(n)) == int(tg.jit(counted)(n)) == 73


@pytest.mark.parametrize("batch", [2, 3])
def test_what_nothing_recorded_in_a_batch(batch: int) -> None:
    def cleared(x: Any) -> Any:
        y = x * 2
        with tg.no_grad():
            y.zero_()
            y += tg.tensor([1.0, 2.0, 3.0])
        return (y * x).sum()

    x = tg.tensor(np.stack([X] * batch))
    np.testing.assert_allclose(tg.vmap(cleared)(x), np.full(batch, X @ [1.0, 2.0, 3.0]))
    wanted = np.tile(2 * X + [1.0, 2.0, 3.0], (batch, 1))
    np.testing.assert_allclose(tg.vmap(tg.grad(cleared))(x), wanted)


OTHERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "view": lambda x: x[0],
    "transposed": lambda x: x.t(),
    "detached view": lambda x: x[1].detach(),
    "view of detached": lambda x: x.detach()[1],
    "from_numpy": lambda x: tg.from_numpy(x.numpy()),
    "integers": lambda x: x.to(tg.int64),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("given", ["neither", "both", "the tensor", "the other"])
@pytest.mark.parametrize("written", ["tensor", "other", "both"])
@pytest.mark.parametrize("other", OTHERS)
def test_memory_from_outside(other: str, written: str, given: str) -> None:
    """Of two Tensors on one memory, both from outside, one or both are written: as in running code,
    or refused."""

    def body(x: Any, d: Any) -> Any:
        if written != "other":
            x.mul_(2)
        if written != "tensor":
            d.add_(1)
        return d.sum() * 1, x.sum() * 1

    def run(jit: Callable[[Any], Any]) -> list[Any]:
        x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        d = OTHERS[other](x)
        ways: dict[str, Callable[[], Any]] = {
            "neither": lambda: jit(lambda: body(x, d))(),
            "both": lambda: jit(body)(x, d),
            "the tensor": lambda: jit(lambda x: body(x, d))(x),
            "the other": lambda: jit(lambda d: body(x, d))(d),
        }
        return [float(v) for v in ways[given]()] + [x.tolist(), d.tolist()]

    refused, found = "", []
    try:
        found = run(tg.jit)
    except (ValueError, tg.TracegradError) as error:
        refused = str(error)
    if refused:
        assert "memory" in refused or "neither an argument nor found" in refused
        assert other != "integers"
    else:
        assert found == run(lambda f: f)


@pytest.mark.usefixtures("kernels_in_python")
def test_integers_from_outside() -> None:
    n = tg.tensor([1, 2])

    @tg.jit
    def counted() -> Any:
        d = n.detach()
        n.add_(2)
        return d.sum() * 1

    assert int(counted()) == 7
    assert int(counted()) == 11
    assert n.tolist() == [5, 6]


@pytest.mark.usefixtures("kernels_in_python")
def test_training_reads_detached_weights() -> None:
    def trained(jit: Callable[[Any], Any]) -> Any:
        w = tg.tensor([1.0, 2.0], requires_grad=True)

        @jit
        def step() -> Any:
            before = w.detach().clone()
            now = w.detach()
            ((w * now) ** 2).sum().backward()
            with tg.no_grad():
                w.sub_(0.01 * w.grad)
            w.grad = None
            return (now - before).sum()

        return [float(step()) for _ in range(3)], w.tolist()

    assert trained(tg.jit) == trained(lambda f: f)
