"""Section 7 of the torch.autograd contract, line by line: forward mode, batches, traces."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tests.contract.functions import WAYS, Exp, Scale, both, close, grad, made

slope = 2.0
"""Read by a rule."""

# --- forward mode and vmap ------------------------------------------------------------------------


@both
def test_jvp(way: str) -> None:
    """`jvp(ctx, *tangents)`, `save_for_forward`; forward over reverse and reverse over forward."""
    x = np.array([0.5, -1.0])
    f = WAYS[way](lambda v: np.sum(Exp.apply(v) * v))
    _, t = tg.jvp(f, (x,), (np.ones(2),))
    close(t, np.sum(np.exp(x) * (1 + x)))
    close(tg.hessian(f)(x), np.diag(np.exp(x) * (2 + x)))
    close(tg.grad(lambda v: tg.jvp(f, (v,), (np.ones(2),))[1])(x), np.exp(x) * (2 + x))
    with pytest.raises(AssertionError, match="expects all arguments to be tensors"):
        made(lambda ctx, x: ctx.save_for_forward(3)).apply(leaf(1.0))


@both
def test_jvp_reads_what_was_saved_for_backward_where_nothing_else_was(way: str) -> None:
    X = made(
        lambda ctx, x: (ctx.save_for_backward(x), x * x)[1],
        lambda ctx, g: 2 * g * ctx.saved_tensors[0],
        jvp=lambda ctx, t: 2 * t * ctx.saved_tensors[0],
    )
    f = WAYS[way](lambda c: tg.scan(lambda c, _: (X.apply(c) * 0.5, c), c, np.zeros(3))[0])
    slope = tg.grad(f)(1.1)
    close(tg.jvp(f, (1.1,), (1.0,))[1], slope)
    h = 1e-6
    assert (
        abs(tg.grad(tg.grad(f))(1.1) - (tg.grad(f)(1.1 + h) - tg.grad(f)(1.1 - h)) / (2 * h)) < 1e-6
    )


def test_dual_tensors() -> None:
    fa = tg.autograd.forward_ad

    def jvp(ctx: Any, t: Any, s: Any, _: Any) -> Any:
        return t * 2 + s * 5, None

    X = made(lambda ctx, x, y, k: (x * k, 3), jvp=jvp)
    with fa.dual_level():
        d = fa.make_dual(tg.ones(2), tg.tensor([1.0, 2.0]))
        out, three = X.apply(d, tg.ones(2), 4)
        close(fa.unpack_dual(out).tangent, [2.0, 4.0])
        assert three == 3


def test_wrong_tangents() -> None:
    with pytest.raises(
        RuntimeError, match=r"invalid number of forward gradients \(expected 2 but got 1\)"
    ):
        tg.jvp(
            made(lambda ctx, x: (x * 1, x * 2), jvp=lambda ctx, t: t).apply,
            (np.ones(2),),
            (np.ones(2),),
        )
    with pytest.raises(RuntimeError, match="different size than that of the original"):
        tg.jvp(
            made(lambda ctx, x: x * 1, jvp=lambda ctx, t: t[:1]).apply, (np.ones(2),), (np.ones(2),)
        )


@both
def test_vmap(way: str) -> None:
    """`generate_vmap_rule=True`: the methods are batched, derivatives included."""
    x = np.linspace(-1, 1, 6).reshape(2, 3)
    close(tg.vmap(WAYS[way](Exp.apply))(x), np.exp(x))
    f = WAYS[way](lambda v: np.sum(Exp.apply(v) * v))
    close(tg.vmap(tg.grad(f))(x), np.exp(x) * (1 + x))
    close(tg.grad(lambda v: np.sum(tg.vmap(f)(v)))(x), np.exp(x) * (1 + x))
    close(tg.jvp(tg.vmap(f), (x,), (np.ones((2, 3)),))[1], np.sum(np.exp(x) * (1 + x), 1))
    close(tg.vmap(tg.vmap(Exp.apply))(x), np.exp(x))


@both
def test_a_vmap_method(way: str) -> None:
    def vmap(info: Any, in_dims: Any, x: Any, k: Any) -> Any:
        assert in_dims == (0, None)
        return x * k + info.batch_size * 100, 0

    X = made(lambda ctx, x, k: x * k, lambda ctx, g: (g, None), vmap=vmap)
    close(tg.vmap(WAYS[way](lambda v: X.apply(v, 2)))(np.ones(3)), [302.0, 302.0, 302.0])
    Y = made(lambda ctx, x: x, vmap=vmap, generate_vmap_rule=True)
    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden vmap"):
        tg.vmap(Y.apply)(np.ones(3))


# --- traced ---------------------------------------------------------------------------------------


def test_arrays_go_through_functions() -> None:
    x = np.array([0.5, -1.0])
    found = Exp.apply(x)
    assert type(found) is np.ndarray
    close(found, np.exp(x))
    for way in WAYS.values():
        close(tg.grad(way(lambda v: np.sum(Exp.apply(v))))(x), np.exp(x))
        close(way(tg.grad(lambda v: np.sum(Scale.apply(v, 2))))(x), [6.0, 6.0])
    close(tg.grad(lambda v: Exp.apply(v))(0.5), np.exp(0.5))


def test_the_forward_runs_once_and_the_graph_names_the_function() -> None:
    f = tg.jit(tg.grad(lambda v: np.sum(Exp.apply(v))))
    first, optimised = f.graphs(np.ones(3)).stages
    assert "custom_function" in str(first)
    assert str(optimised).count("exp(") == 1


def test_a_number_around_the_rules_that_changes() -> None:
    global slope
    X = made(lambda ctx, x: x * slope, lambda ctx, g: g * slope * 10)
    f = tg.jit(lambda x: X.apply(x))
    try:
        for slope in (2.0, 3.0):
            x = leaf(1.0)
            y = f(x)
            close(y, [slope])
            y.sum().backward()
            close(x.grad, [slope * 10])
    finally:
        slope = 2.0


def test_a_rule_that_reads_an_array_around_it() -> None:
    weights = np.array([2.0, 3.0])
    X = made(lambda ctx, x: x * 1, lambda ctx, g: g * weights)
    f = tg.jit(X.apply)
    for _ in range(2):
        x = leaf(1.0, 1.0)
        y = f(x)
        (g,) = grad(y.sum(), x, create_graph=True)
        close(g, weights)
        x = leaf(1.0, 1.0)
        f(x).sum().backward()
        close(x.grad, weights)
        weights[0] += 1


@both
def test_attributes_that_are_tensors_or_trees_of_them(way: str) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.parts = {"double": x * 2, "n": 3, "x": [x]}
        return x * 1

    X = made(forward, lambda ctx, g: g * ctx.parts["double"] * ctx.parts["n"] + ctx.parts["x"][0])
    x = leaf(1.0, 2.0)
    WAYS[way](X.apply)(x).sum().backward()
    close(x.grad, [7.0, 14.0])


@both
def test_a_function_within_a_function(way: str) -> None:
    X = made(
        lambda ctx, x: (ctx.save_for_backward(x), Exp.apply(x) * 2)[1],
        lambda ctx, g: g * 2 * Exp.apply(ctx.saved_tensors[0]),
    )
    x = leaf(0.5)
    (g,) = grad(WAYS[way](X.apply)(x).sum(), x, create_graph=True)
    close(g, 2 * np.exp([0.5]))
    close(grad(g.sum(), x)[0], 2 * np.exp([0.5]))


@both
def test_legendre_polynomial(way: str) -> None:
    """The example of torch's tutorial: a cubic fitted through a custom Function."""
    P3 = made(
        lambda ctx, v: (ctx.save_for_backward(v), 0.5 * (5 * v**3 - 3 * v))[1],
        lambda ctx, g: g * 1.5 * (5 * ctx.saved_tensors[0] ** 2 - 1),
        "LegendrePolynomial3",
    )
    x = tg.tensor(np.linspace(-np.pi, np.pi, 200))
    y = tg.sin(x)
    a, b, c, d = (tg.tensor(v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
    parameters = (a, b, c, d)

    @WAYS[way]
    def step() -> Any:
        loss = ((a + b * P3.apply(c + d * x) - y) ** 2).sum()
        loss.backward()
        with tg.no_grad():
            for p in parameters:
                p -= 5e-6 * p.grad
                p.grad = None
        return loss.detach()

    losses = [step().item() for _ in range(30)]
    assert losses == sorted(losses, reverse=True)
    # What torch 2.13 computes.
    close([b.item(), d.item()], [-1.0067479123884973, 0.25757444656956163])


@both
@pytest.mark.parametrize("kind", ["empty", "no axes", "float32", "complex", "strided"])
def test_kinds_of_arrays(way: str, kind: str) -> None:
    data = {
        "empty": np.zeros((0, 3)),
        "no axes": np.array(0.5),
        "float32": np.array([0.5, 1.0], np.float32),
        "complex": np.array([0.5 + 1j, 1.0]),
        "strided": np.arange(12.0).reshape(3, 4).T[::2] / 12,
    }[kind]
    x = tg.tensor(data, requires_grad=True)
    y = WAYS[way](Exp.apply)(x)
    assert y.dtype == data.dtype
    y.abs().sum().backward()
    y = np.exp(data)
    assert x.grad.dtype == data.dtype
    assert x.grad.shape == data.shape
    np.testing.assert_allclose(
        x.grad.numpy(), y * y / np.abs(y) if kind == "complex" else y, rtol=1e-6
    )


@both
def test_gradcheck(way: str) -> None:
    x = tg.tensor(np.linspace(-1, 1, 4), requires_grad=True)
    assert tg.autograd.gradcheck(WAYS[way](Exp.apply), (x,))
    assert tg.autograd.gradgradcheck(WAYS[way](Exp.apply), (x,))


def test_parameters_and_modules() -> None:
    linear = tg.nn.Linear(3, 2)
    y = Exp.apply(linear.weight)
    assert type(y) is tg.Tensor
    y.sum().backward()
    close(linear.weight.grad, np.exp(linear.weight.detach().numpy()))


def test_no_warnings_where_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf(1.0)
        Exp.apply(x).sum().backward()
        tg.jit(Exp.apply)(x).sum().backward()
