"""A jitted call on the tape is one node: hooks, orders, writes, checks and memory as those of an
operation."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

WAYS: dict[str, Callable[..., Any]] = {"eager": lambda f: f, "jit": tg.jit}
both = pytest.mark.parametrize("way", WAYS)


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.detach().numpy() if isinstance(a, tg.Tensor) else a, b, rtol=1e-12)


@tg.jit
def compiled(x: Any) -> Any:
    return (x * x).exp()


def test_a_call_is_one_node() -> None:
    x = leaf(0.5, 1.0)
    y = compiled(x)
    assert y.grad_fn.name() == "CallBackward0"
    ((node, nr),) = y.grad_fn.next_functions
    assert node.variable is x
    assert nr == 0


def test_hooks_around_a_call() -> None:
    x, log = leaf(0.5, 1.0), []
    y = compiled(x)
    x.register_hook(lambda g: log.append("input"))
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda gs: log.append("before"))
    y.grad_fn.register_hook(lambda found, given: log.append((len(found), len(given))))
    x.register_post_accumulate_grad_hook(lambda t: log.append("after"))
    y.sum().backward()
    assert log == ["before", (1, 1), "input", "after"]
    close(y.grad, [2.0, 2.0])
    v = np.array([0.5, 1.0])
    close(x.grad, 4 * v * np.exp(v * v))


def test_retain_graph_and_a_second_pass() -> None:
    x = leaf(0.5, 1.0)
    y = compiled(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    v = np.array([0.5, 1.0])
    close(x.grad, 4 * v * np.exp(v * v))
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_three_orders() -> None:
    x = leaf(0.5)
    (g,) = tg.autograd.grad(compiled(x).sum(), x, create_graph=True)
    (h,) = tg.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = tg.autograd.grad(h.sum(), x)
    e = np.exp(0.25)
    close(g, [e])
    close(h, [(2 + 4 * 0.25) * e])
    close(k, [(12 * 0.5 + 8 * 0.125) * e])


@both
def test_several_results(way: str) -> None:
    f = WAYS[way](
        lambda d: {"exp": d["x"].exp(), "rest": (d["x"].argmax(), d["x"] * 3, None, d["x"] > 0)}
    )
    x = leaf(1.0, 2.0)
    found = f({"x": x})
    found["rest"][1].sum().backward()
    close(x.grad, [3.0, 3.0])
    assert not found["rest"][0].requires_grad
    assert found["rest"][2] is None


@both
def test_only_some_arguments_require_grad(way: str) -> None:
    x, w = leaf(1.0, 2.0), tg.ones(2)
    WAYS[way](lambda x, w, n: x * w + n)(x, w, 3).sum().backward()
    close(x.grad, [1.0, 1.0])
    assert w.grad is None


@both
def test_flags_that_change_between_calls(way: str) -> None:
    w = tg.ones(2)
    f = WAYS[way](lambda x: x * w)
    x = tg.ones(2)
    found = [f(x).requires_grad]
    for t in (x, w):
        t.requires_grad_()
        found.append(f(x).requires_grad)
        t.requires_grad_(False)
        found.append(f(x).requires_grad)
    assert found == [False, True, False, True, False]


@both
def test_captured_tensors_receive_gradients(way: str) -> None:
    w = leaf(3.0)
    f = WAYS[way](lambda x: x * w)
    f(tg.ones(2)).sum().backward()
    close(w.grad, [2.0])


@both
def test_a_view_as_argument(way: str) -> None:
    x = leaf(0.5, 1.0, 2.0)
    WAYS[way](lambda v: v**2)((x * 1)[1:]).sum().backward()
    close(x.grad, [0.0, 2.0, 4.0])


def in_place_add(x: Any) -> Any:
    x.add_(1)
    return x * x


def in_place_item(x: Any) -> Any:
    x[0] = 5.0
    return x * x


def in_place_operator(x: Any) -> Any:
    x += 2
    return x * x


def in_place_view(x: Any) -> Any:
    x[1:].mul_(3)
    return x * x


def in_place_itself(x: Any) -> Any:
    x.mul_(x)
    return x * 1


def in_place_unrecorded(x: Any) -> Any:
    with tg.no_grad():
        x.mul_(2)
    return x * x


def in_place_zero(x: Any) -> Any:
    x.zero_()
    return x + 1


def in_place_copy(x: Any) -> Any:
    x.copy_(tg.ones(2))
    return x + 1


@pytest.mark.parametrize(
    "function",
    [
        in_place_add,
        in_place_item,
        in_place_operator,
        in_place_view,
        in_place_itself,
        in_place_unrecorded,
        in_place_zero,
        in_place_copy,
    ],
)
@pytest.mark.parametrize("part", [False, True])
def test_arguments_modified_in_place(function: Callable[..., Any], part: bool) -> None:
    """Values, versions and gradients are those of the function itself, also through a view of a
    larger tensor."""

    def run(way: Callable[..., Any]) -> Any:
        a = leaf(1.0, 2.0, 3.0)
        b = a * 2
        x = b[1:] if part else b[:2] * 1
        y = way(function)(x)
        (y.sum() + (x * x).sum() + b.sum()).backward()
        return (
            a.grad,
            b.detach(),
            x.detach(),
            tg.tensor(float(b._version)),
            tg.tensor(float(x._version)),
        )

    for found, expected in zip(run(tg.jit), run(lambda f: f), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy())


@both
def test_a_leaf_modified_in_place(way: str) -> None:
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        WAYS[way](in_place_add)(leaf(1.0, 2.0))
    x = leaf(1.0, 2.0)
    y = WAYS[way](in_place_unrecorded)(x)
    assert x.is_leaf
    assert x.requires_grad
    close(x, [2.0, 4.0])
    y.sum().backward()
    close(x.grad, [4.0, 8.0])


@both
def test_constants_written_to_what_is_around(way: str) -> None:
    buffer = tg.ones(2)

    @WAYS[way]
    def f(x: Any) -> Any:
        buffer.zero_()
        buffer[1] = 3.0
        return x * 1

    for _ in range(2):
        buffer.fill_(7.0)
        f(tg.ones(2))
        close(buffer, [0.0, 3.0])


def test_values_that_the_backward_pass_reads_are_checked() -> None:
    x = leaf(1.0, 2.0) * 1
    y = compiled(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_saved_tensor_hooks_around_a_call() -> None:
    packed: list[Any] = []
    x = leaf(0.5, 1.0)
    with tg.autograd.graph.saved_tensors_hooks(
        lambda t: packed.append(t.shape) or t.detach().numpy().copy(), tg.tensor
    ):
        y = compiled(x)
    assert packed
    y.sum().backward()
    v = np.array([0.5, 1.0])
    close(x.grad, 2 * v * np.exp(v * v))


def test_anomaly_mode_names_the_call() -> None:
    f = tg.jit(lambda v: v.sqrt())
    with (
        pytest.warns(UserWarning, match="Anomaly|CallBackward0"),
        tg.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match=r"Call.*nan"),
    ):
        f(leaf(-1.0)).sum().backward()


def test_memory_goes_with_the_backward_pass() -> None:
    x = tg.ones(100, requires_grad=True)
    f = tg.jit(lambda v: (v.cumsum(0).sin().exp().cumsum(0) ** 2).sum())
    y = f(x)
    assert y.grad_fn.rest is not None
    node = weakref.ref(y.grad_fn)
    y.backward()
    assert y.grad_fn.rest is None
    with tg.no_grad():
        assert f(x).grad_fn is None
    gc.collect()
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()


def test_hooks_inside() -> None:
    """They run where backward is called inside; where the gradient is computed outside, they are
    refused."""

    def f(x: Any, inside: bool) -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 10)
        z = y.sum()
        if inside:
            z.backward()
            return z.detach()
        return z

    x = leaf(1.0)
    tg.jit(f, static_argnames="inside")(x, True)
    close(x.grad, [20.0])
    with pytest.raises(tg.TracegradError, match="registers a hook"):
        tg.jit(f, static_argnames="inside")(x, False)


@both
def test_inference_mode(way: str) -> None:
    with tg.inference_mode():
        y = WAYS[way](lambda v: v * v)(leaf(1.0))
    assert not y.requires_grad


@both
def test_random_numbers_of_the_backward_pass_are_those_of_the_forward_pass(way: str) -> None:
    f = WAYS[way](lambda x: (x * tg.rand(4)).exp())
    for _ in range(2):
        x = leaf(0.0, 0.0, 0.0, 0.0)
        tg.manual_seed(1)
        f(x).sum().backward()
        tg.manual_seed(1)
        close(x.grad, tg.rand(4).numpy())


@both
def test_jitted_functions_that_change_state_within_each_other(way: str) -> None:
    p, buffer = leaf(1.0, 2.0), tg.zeros(2)

    @WAYS[way]
    def inner(x: Any) -> Any:
        buffer.add_(x)
        (p * x).sum().backward()
        return ((p * x) ** 2).sum()

    @WAYS[way]
    def outer(x: Any) -> Any:
        first = inner(x)
        inner(x * 2)
        first.backward()
        with tg.no_grad():
            p.sub_(0.1 * p.grad)
        return first.detach() + buffer.sum()

    close(outer(tg.ones(2)), 5.0 + 6.0)
    close(buffer, [3.0, 3.0])
    close(p.grad, [5.0, 7.0])
    close(p, [0.5, 1.3])


def test_threads_that_train_the_same_weights() -> None:
    w = tg.ones(3, requires_grad=True)
    f = tg.jit(lambda x: (x * w).sum().backward())

    def work() -> None:
        for _ in range(50):
            f(tg.ones(3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    close(w.grad, [200.0] * 3)
