"""Smaller points of torch's contract: what saves nothing, results of hooks, saved results; and what
the page on torch says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tracegrad as tg
from tracegrad.autograd import forward_ad


def leaf() -> Any:
    return tg.tensor([1.0, 2.0], requires_grad=True)


SAVES_NOTHING: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "clone": (lambda x: x.clone(), [1, 1]),
    "cat": (lambda x: tg.cat([x, x]), [2, 2]),
    "stack": (lambda x: tg.stack([x, x]), [2, 2]),
    "hstack": (lambda x: tg.hstack([x, x]), [2, 2]),
    "roll": (lambda x: x.roll(1), [1, 1]),
    "add": (lambda x: x + 1, [1, 1]),
    "slice": (lambda x: x[:1], [1, 0]),
    "copy_": (lambda x: tg.zeros(2).copy_(x), [1, 1]),
    "zero_": (lambda x: x.clone().zero_(), [0, 0]),
    "pad": (lambda x: tg.nn.functional.pad(x, (1, 1)), [1, 1]),
    "diff": (lambda x: x.diff(), [-1, 1]),
}


@pytest.mark.parametrize("name", SAVES_NOTHING)
def test_what_saves_nothing_is_gone_through_again(name: str) -> None:
    function, once = SAVES_NOTHING[name]
    x = leaf()
    y = function(x)
    for count in (1, 2, 3):
        y.backward(tg.ones(y.shape))
        assert x.grad.tolist() == [count * g for g in once]


SAVES: dict[str, Callable[[Any], Any]] = {
    "mul": lambda x: x * x,
    "by a number": lambda x: x * 2,
    "exp": lambda x: x.exp(),
    "index": lambda x: x[[0, 1]],
    "where": lambda x: tg.where(tg.ones(2) > 0, x, x),
    "jit": lambda x: tg.jit(lambda x: x * x)(x),
    "behind cat": lambda x: tg.cat([x * x, x]),
}


@pytest.mark.parametrize("name", SAVES)
def test_what_saves_something_is_not(name: str) -> None:
    y = SAVES[name](leaf())
    y.sum().backward(retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


@pytest.mark.parametrize("result", [3, tg.ones(2), False], ids=["number", "tensor", "False"])
def test_a_post_accumulate_hook_returns_nothing(result: Any) -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda p: result)
    with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
        (x * x).sum().backward()


@pytest.mark.parametrize(
    "function", [tg.exp, tg.tanh, tg.sqrt, tg.sigmoid], ids=lambda f: f.__name__
)
def test_a_saved_result_shares_memory_and_version(function: Callable[[Any], Any]) -> None:
    x = leaf()
    y = function(x)
    saved = y.grad_fn._saved_result
    assert saved._version == 0
    y.detach().mul_(2)
    assert saved._version == y._version == 1
    assert saved.tolist() == y.tolist()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    z = function(x)
    kept = z.grad_fn._saved_result
    w = (kept * kept).sum()
    z.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        w.backward()


# --- docs/torch_compatibility.md ------------------------------------------------------------------


def test_hooks_are_not_called_without_a_gradient() -> None:
    a, b = leaf().unbind()
    seen: list[Any] = []
    b.register_hook(seen.append)
    a.backward()
    assert seen == []


def test_leaves_are_reached_after_what_came_before_their_first_use() -> None:
    x, w = leaf(), leaf()
    seen: list[str] = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append("x"))
    w.register_post_accumulate_grad_hook(lambda p: seen.append("w"))
    h = w * 2
    h.register_hook(lambda g: seen.append("h"))
    (h * x).sum().backward()
    assert sorted(seen) == ["h", "w", "x"]
    assert seen.index("h") < seen.index("w")


def test_edges_as_inputs_are_those_of_leaves() -> None:
    x = leaf()
    b = x * 2
    edge = tg.autograd.graph.get_gradient_edge
    (b * b).sum().backward(inputs=(edge(x),))
    assert x.grad.tolist() == [8, 16]
    b = x * 2
    with pytest.raises(RuntimeError, match="take the edge's gradient with grad"):
        (b * b).sum().backward(inputs=(edge(b),))
    assert tg.autograd.grad((b * b).sum(), edge(b))[0].tolist() == [4, 8]


def test_a_list_of_slices_is_no_index() -> None:
    with pytest.raises(IndexError, match="Several indices are a tuple, not a list"):
        leaf()[[slice(None), 0]]


def test_views_of_inference_tensors_do_not_require_grad() -> None:
    with tg.inference_mode():
        made = tg.ones(2, requires_grad=True)
        inside = leaf()[:1]
    for view in (made[:1], made[:], made.view(1, 2), made.t(), made.unbind()[0], made.split(1)[1]):
        assert not view.requires_grad
        assert view.is_leaf
        assert view.is_inference()
    assert not inside.requires_grad


def test_a_tangent_that_was_given_stays_as_it_is() -> None:
    given = tg.full((2,), 3.0)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(tg.ones(2), given)
        dual *= 2
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [6, 6]
    assert given.tolist() == [3, 3]


def test_a_view_of_a_temporary_of_a_function_may_be_written() -> None:
    class Part(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return (x * 2)[:1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return tg.cat([g * 2, tg.zeros(1)])

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return None

    x = leaf()
    y = Part.apply(x)
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [6, 0]
    with forward_ad.dual_level():
        out = Part.apply(forward_ad.make_dual(tg.ones(2), tg.ones(2)))
        assert forward_ad.unpack_dual(out).tangent is None


@pytest.mark.parametrize(
    "function", [tg.linalg.cholesky, lambda a: tg.linalg.eigh(a)[0]], ids=["cholesky", "eigh"]
)
def test_gradients_of_one_triangle_are_symmetric(function: Callable[[Any], Any]) -> None:
    a = tg.tensor([[2.0, 0.5], [0.5, 3.0]], requires_grad=True)
    function(a)[..., 0].sum().backward()
    assert a.grad.allclose(a.grad.T)
