"""Section 8 of the torch.autograd contract, line by line: hooks on several tensors and on new
nodes, gradient edges, versions, callbacks."""

from __future__ import annotations

from typing import Any

import pytest

import tracegrad as tg
from tests.checks import leaf
from tracegrad import autograd
from tracegrad.autograd import graph


def test_register_multi_grad_hook() -> None:
    """`register_multi_grad_hook(tensors, fn, mode="all")`: once all gradients are known; None for
    those that the pass does not reach."""
    a, b = leaf(1, 2), leaf(3, 4)
    c, d = a * b, a * b
    seen: list[Any] = []
    handle = graph.register_multi_grad_hook(
        (a, b, c, d), lambda grads: seen.append([None if g is None else g.tolist() for g in grads])
    )
    c.sum().backward(retain_graph=True)
    assert seen == [[[3, 4], [1, 2], [1, 1], None]]
    seen.clear()
    c.sum().backward(inputs=(a,), retain_graph=True)
    assert seen == [[[3, 4], None, [1, 1], None]]
    seen.clear()
    autograd.grad((c + d).sum(), [a, b], retain_graph=True)
    assert seen == [[[6, 8], [2, 4], [1, 1], [1, 1]]]
    handle.remove()
    (c + d).sum().backward()
    assert len(seen) == 1


def test_multi_grad_hook_any() -> None:
    """mode="any": the first gradient, once in a pass; tensors without gradient are passed over."""
    a, b = leaf(1, 2), leaf(3, 4)
    c = a * b
    seen: list[Any] = []
    graph.register_multi_grad_hook(
        (a, b, c, tg.ones(1)), lambda g: seen.append(g.tolist()), mode="any"
    )
    c.sum().backward(retain_graph=True)
    c.sum().backward()
    assert seen == [[1, 1], [1, 1]]
    with pytest.raises(ValueError, match="mode to be one of"):
        graph.register_multi_grad_hook((a,), print, mode="some")
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        graph.register_multi_grad_hook((tg.ones(1),), print)


def test_multi_grad_hook_of_a_gradient_that_does_not_come() -> None:
    """Better than torch: where a hook on the way takes a gradient away, the hook is called at the
    end of the pass with what there is."""
    a, b = leaf(1), leaf(2)
    c = a * 3
    c.grad_fn.register_prehook(lambda outputs: (None,))
    seen: list[Any] = []
    graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g is None for g in grads]))
    (c + b).sum().backward()
    assert seen == [[True, False]]


def test_multi_grad_hooks_in_nested_passes() -> None:
    """A backward pass inside a hook of another one counts for itself."""
    a = leaf(1, 2)
    b = a * 2
    seen: list[Any] = []

    def inside(g: Any) -> None:
        with tg.enable_grad():
            (a * 3).sum().backward()

    b.register_hook(inside)
    graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g is None for g in grads]))
    b.sum().backward()
    assert seen == [[False, True], [False, False]]


def test_gradient_edges() -> None:
    """`get_gradient_edge(t)` stands for the tensor in grad and backward; it has node, output_nr and
    ownership_token."""
    a, b = leaf(1, 2), leaf(3, 4)
    c = a * b
    edge, total = graph.get_gradient_edge(c), graph.get_gradient_edge(c.sum())
    assert isinstance(edge, graph.GradientEdge)
    assert (edge.node, edge.output_nr, edge.ownership_token) == (c.grad_fn, 0, None)
    assert graph.get_gradient_edge(a).node.variable is a
    del c
    ga, gc_ = autograd.grad(total, [a, edge], retain_graph=True)
    assert (ga.tolist(), gc_.tolist()) == ([3, 4], [1, 1])
    (ga,) = autograd.grad(edge, a, tg.tensor([2.0, 0.0]), retain_graph=True)
    assert ga.tolist() == [6, 0]
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        autograd.grad(edge, a)
    autograd.backward(total)
    assert b.grad.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(tg.ones(1))
    with pytest.raises(TypeError, match="takes a Tensor"):
        graph.get_gradient_edge(3)


def test_increment_version() -> None:
    """`increment_version` of one tensor or several makes the backward pass notice a write that
    nobody saw."""
    x = leaf(1, 2)
    y = x * 1
    z = y * y
    graph.increment_version(y)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.sum().backward()
    a, b = tg.ones(1), tg.ones(1)
    graph.increment_version([a, b])
    graph.increment_version(t for t in (a, b))
    assert (a._version, b._version, a.view(1, 1)._version) == (2, 2, 2)
    for wrong in (3, [3]):
        with pytest.raises(RuntimeError, match=r"Iterable\[Tensor\]"):
            graph.increment_version(wrong)


def test_queue_callback() -> None:
    """`queue_callback(fn)` from a hook: fn runs when all gradients are in place; outside of a pass
    it is refused."""
    x, y = leaf(1), leaf(2)
    seen: list[Any] = []

    def last() -> None:
        seen.append((x.grad.tolist(), y.grad.tolist()))
        if len(seen) == 1:
            graph.queue_callback(last)

    (x * 2).register_hook(print)
    x.register_hook(lambda g: graph.queue_callback(last))
    y.register_hook(lambda g: seen.clear())
    (x * 2 + y * 3).sum().backward()
    assert seen == [([2], [3]), ([2], [3])]
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        graph.queue_callback(last)


def test_node_creation_hook() -> None:
    """`node_creation_hook(fn)`: told of each node in this thread, those of recorded backward passes
    among them."""
    x = leaf(1, 2)
    seen: list[str] = []
    with graph.node_creation_hook(lambda node: seen.append(node.name())):
        y = (x * 2).exp()
        with tg.no_grad():
            x.exp()
        (g,) = autograd.grad(y.sum(), x, create_graph=True)
    assert seen[:3] == ["MulBackward0", "ExpBackward0", "SumBackward0"]
    count = len(seen)
    assert count > 3
    x.exp()
    assert len(seen) == count
    assert g.requires_grad
    f = tg.jit(lambda t: (t.sin() * t).sum())
    for _ in range(2):  # traced, and then not: one node in either case
        seen.clear()
        with graph.node_creation_hook(lambda node: seen.append(node.name())):
            f(x)
        assert seen == ["CallBackward0"]
    with pytest.raises(ZeroDivisionError):
        with graph.node_creation_hook(lambda node: 1 / 0):
            x.exp()
    x.exp()
