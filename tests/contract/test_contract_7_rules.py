"""Section 7 of the torch.autograd contract, line by line: results that are inputs, what rules
return, higher orders."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tests.contract.functions import WAYS, Exp, both, close, grad, made
from tracegrad.autograd import Function
from tracegrad.autograd.function import once_differentiable

# --- inputs as results, and inputs that are written to --------------------------------------------


def test_an_input_returned_as_it_is() -> None:
    """A view of the input, with the Function's node, that must not be written to."""
    X = made(lambda ctx, x: x, lambda ctx, g: g * 3)
    x = leaf(1.0, 2.0)
    y = X.apply(x)
    assert y is not x
    assert y._base is x
    assert y._is_view()
    assert y.grad_fn.name() == "XBackward"
    y.sum().backward()
    close(x.grad, [3.0, 3.0])
    with pytest.raises(RuntimeError, match=r"Output 0 of X is a view.*custom Function"):
        X.apply(x * 1).add_(1)
    plain = X.apply(tg.ones(2))
    assert not plain.requires_grad


@both
def test_an_input_returned_as_it_is_has_the_rule_of_the_function(way: str) -> None:
    X = made(lambda ctx, x: x, lambda ctx, g: g * 3)
    x = leaf(1.0, 2.0)
    WAYS[way](X.apply)(x).sum().backward()
    close(x.grad, [3.0, 3.0])


def test_a_view_of_an_input() -> None:
    X = made(lambda ctx, x: x[:1], lambda ctx, g: g.expand(2) * 1)
    x = leaf(1.0, 2.0) * 1
    y = X.apply(x)
    assert y._base is x
    assert y.grad_fn.name() == "XBackward"
    with pytest.raises(RuntimeError, match="custom Function"):
        y.add_(1)


def add_one(ctx: Any, x: Any) -> Any:
    x.add_(1)
    ctx.mark_dirty(x)
    return x


@both
def test_mark_dirty(way: str) -> None:
    """The input itself comes back, with the Function's node."""
    X = made(add_one, lambda ctx, g: g * 3)
    a = leaf(1.0, 2.0)

    def f(a: Any) -> Any:
        x = a * 1
        y = X.apply(x)
        assert y is x
        return y, x * 1

    y, z = WAYS[way](f)(a)
    close(y, [2.0, 3.0])
    close(z, [2.0, 3.0])
    (y.sum() + z.sum()).backward()
    close(a.grad, [6.0, 6.0])


def test_mark_dirty_in_running_code() -> None:
    X = made(add_one, lambda ctx, g: g * 3)
    a = leaf(1.0, 2.0)
    x = a * 1
    y = X.apply(x)
    assert y is x
    assert x.grad_fn.name() == "XBackward"
    assert x._version > 0
    base = leaf(1.0, 2.0) * 1
    part = X.apply(base[:1])
    assert base.grad_fn.name().endswith("CopySlices")
    assert part._base is base
    z = tg.ones(2)
    assert X.apply(z) is z
    close(z, [2.0, 2.0])
    b = leaf(1.0, 2.0)
    v = b * 1
    X.apply(v[:1])
    v.sum().backward()
    close(b.grad, [3.0, 1.0])


def test_mark_dirty_misused() -> None:
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad has been used in an in-place operation",
    ):
        made(lambda ctx, x: (ctx.mark_dirty(x), x)[1], lambda ctx, g: g).apply(leaf(1.0))
    with pytest.raises(
        RuntimeError, match="marked as dirty during the forward method were not returned as output"
    ):
        made(lambda ctx, x: (ctx.mark_dirty(x), x * 1)[1], lambda ctx, g: g).apply(leaf(1.0) * 1)
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables"):
        made(lambda ctx, x: (ctx.mark_dirty(3), x * 1)[1]).apply(leaf(1.0))
    with pytest.warns(UserWarning, match="was not an input"):
        made(lambda ctx, x: (y := x * 1, ctx.mark_dirty(y))[0], lambda ctx, g: g).apply(leaf(1.0))


@both
def test_a_written_leaf_is_refused_in_both_ways(way: str) -> None:
    X = made(add_one, lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        WAYS[way](X.apply)(leaf(1.0))


# --- higher orders --------------------------------------------------------------------------------


@both
def test_double_backward_through_the_users_rule(way: str) -> None:
    X = made(
        lambda ctx, x: (ctx.save_for_backward(x), x**3)[1],
        lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
    )
    e = np.exp([1.0, 2.0])
    for function, second, third in ((X, [6.0, 12.0], [6.0, 6.0]), (Exp, e, e)):
        x = leaf(1.0, 2.0)
        (g,) = grad(WAYS[way](function.apply)(x).sum(), x, create_graph=True)
        (h,) = grad(g.sum(), x, create_graph=True)
        close(h, second)
        close(grad(h.sum(), x)[0], third)


@both
def test_what_forward_computed_is_a_constant_to_the_second_derivative(way: str) -> None:
    """An intermediate that was saved has no history, as in torch."""
    X = made(
        lambda ctx, x: (m := x * 2, ctx.save_for_backward(m, x), m * m)[2],
        lambda ctx, g: g * 4 * ctx.saved_tensors[0],
    )
    x = leaf(1.0, 2.0)
    (g,) = grad((WAYS[way](X.apply)(x) + x * x).sum(), x, create_graph=True)
    close(g, [10.0, 20.0])
    close(grad(g.sum(), x)[0], [2.0, 2.0])


@both
def test_once_differentiable(way: str) -> None:
    def backward(ctx: Any, g: Any) -> Any:
        assert not tg.is_grad_enabled()
        return g * 2 * ctx.saved_tensors[0]

    X = made(lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], once_differentiable(backward))
    x = leaf(1.0, 2.0)
    WAYS[way](X.apply)(x).sum().backward()
    close(x.grad, [2.0, 4.0])

    def twice() -> None:
        (g,) = grad(WAYS[way](X.apply)(x), x, leaf(1.0, 1.0), create_graph=True)
        g.sum().backward()

    with pytest.raises(
        RuntimeError,
        match="trying to differentiate twice a function that was marked with @once_differentiable",
    ):
        twice()


def test_once_differentiable_without_a_gradient_that_requires_grad() -> None:
    X = made(lambda ctx, x: x * x, once_differentiable(lambda ctx, g: g * 2))
    x = leaf(1.0)
    (g,) = grad(X.apply(x).sum(), x, create_graph=True)
    assert not g.requires_grad


# --- what backward returns ------------------------------------------------------------------------


def run(
    backward: Callable[..., Any],
    *args: Any,
    forward: Any = lambda ctx, *a: a[0] * 1,
    way: str = "eager",
) -> Any:
    args = args or (leaf(1.0, 2.0, 3.0),)
    X = made(forward, backward)
    WAYS[way](lambda x: X.apply(x, *args[1:]))(args[0]).sum().backward()
    return args[0].grad


@both
def test_the_number_of_gradients(way: str) -> None:
    for backward, expected, got in (
        (lambda ctx, g: (g, g), 1, 2),
        (lambda ctx, g: (g, g, None), 1, 3),
    ):
        with pytest.raises(
            RuntimeError,
            match=(
                rf"XBackward returned an incorrect number of gradients \(expected {expected}, "
                rf"got {got}\)"
            ),
        ):
            run(backward, way=way)
    with pytest.raises(RuntimeError, match=r"\(expected 2, got 1\)"):
        run(lambda ctx, g: g, leaf(1.0), 2, way=way)
    with pytest.raises(RuntimeError, match=r"\(expected 2, got 1\)"):
        run(lambda ctx, g: [g, None], leaf(1.0), 2, way=way)
    close(run(lambda ctx, g: (g, None, None), way=way), [1.0, 1.0, 1.0])


@both
def test_the_shape_of_gradients(way: str) -> None:
    """What was broadcast is summed; other shapes are refused."""
    with pytest.raises(
        RuntimeError,
        match=re.escape(
            "invalid gradient at index 0 - got [2] but expected shape compatible with [3]"
        ),
    ):
        run(lambda ctx, g: g[:2], way=way)
    close(run(lambda ctx, g: tg.stack([g, 2 * g]), way=way), [3.0, 3.0, 3.0])


@both
def test_the_type_of_gradients(way: str) -> None:
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got float\)"):
        run(lambda ctx, g: 3.0, way=way)
    with pytest.raises(RuntimeError, match="different than None at position 2"):
        run(lambda ctx, g: (g, g), leaf(1.0), 2, way=way)
    found = run(lambda ctx, g: g.float(), way=way)
    assert found.dtype == np.float64
    with pytest.raises(RuntimeError, match="complex"):
        run(lambda ctx, g: g * 1j, way=way)


def test_missing_methods() -> None:
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        type("X", (Function,), {}).apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        made(lambda ctx, x: x * 1).apply(leaf(1.0)).sum().backward()
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        tg.jvp(made(lambda ctx, x: x * 1).apply, (np.ones(2),), (np.ones(2),))
    with pytest.raises(
        RuntimeError,
        match="must either override the vmap staticmethod or set generate_vmap_rule=True",
    ):
        tg.vmap(made(lambda ctx, x: x * 1).apply)(np.ones(2))
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        made(lambda ctx, x: x * 1, lambda ctx, g: g, vjp=lambda ctx, g: g).apply(
            leaf(1.0)
        ).sum().backward()


def test_instances() -> None:
    with pytest.warns(
        DeprecationWarning,
        match="should not be instantiated. Methods on autograd functions are all static",
    ):
        made_one = Exp()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        made_one(leaf(1.0))


@both
def test_exceptions_keep_their_type(way: str) -> None:
    def boo(ctx: Any, *_: Any) -> Any:
        raise KeyError("boo")

    with pytest.raises(KeyError, match="boo"):
        run(boo, way=way)
    with pytest.raises(KeyError, match="boo"):
        WAYS[way](made(boo).apply)(leaf(1.0))


def test_hooks_around_a_function() -> None:
    x = leaf(1.0)
    y = Exp.apply(x)
    seen: list[Any] = []
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_hook(lambda grads, given: seen.append((grads[0].item(), given[0].item())))
    y.sum().backward()
    close(y.grad, [2.0])
    close(x.grad, 2 * np.exp([1.0]))
    assert seen == [(pytest.approx(2 * np.e), 2.0)]
