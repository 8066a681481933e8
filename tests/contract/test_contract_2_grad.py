"""Contract, section 2: `autograd.grad`, one test or more per line."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import grad
from tracegrad.autograd.graph import GradientEdge
from tracegrad.utils.checkpoint import checkpoint


def leaf(values: Any, **options: Any) -> Any:
    return tg.tensor(values, requires_grad=True, **options)


def lists(found: Any) -> list[Any]:
    return [None if g is None else g.tolist() for g in found]


def test_no_grad_attribute_changes() -> None:
    """The result is a tuple, and `.grad` stays None."""
    x = leaf([1.0, 2.0])
    found = grad((x * x).sum(), x)
    assert isinstance(found, tuple)
    assert lists(found) == [[2, 4]]
    assert x.grad is None


def test_the_same_input_twice() -> None:
    """It gets its gradient twice; on purpose as two tensors, where torch gives one object in both
    places."""
    x = leaf([1.0, 2.0])
    a, b = grad((x * x).sum(), [x, x])
    a.add_(1)
    assert (a.tolist(), b.tolist()) == ([3, 5], [2, 4])


def test_intermediates() -> None:
    """Gradients with respect to what was computed, alone or beside the leaves it came from."""
    x = leaf([1.0, 2.0])
    y = x * 2
    assert lists(grad((y * y).sum(), [x, y], retain_graph=True)) == [[8, 16], [4, 8]]
    assert lists(grad(y, y, tg.ones(2))) == [[1, 1]]
    assert lists(grad(leaf(2.0), [s := leaf(2.0)], allow_unused=True)) == [None]
    assert lists(grad(s, s)) == [1]


def test_a_target_is_not_freed() -> None:
    """A node whose output is only a target is not run, so that what it saved is still there."""
    x = leaf([0.0, 1.0])
    y = x.exp()
    grad((y * y).sum(), y)
    assert np.allclose(grad(y.sum(), x)[0], np.exp([0.0, 1.0]))
    with pytest.raises(RuntimeError, match="second time"):
        grad(y.sum(), x)


def test_unused_inputs() -> None:
    """An input that was not used: an error that names it, None where that is allowed, zeros where
    they are asked for."""
    x, z = leaf([1.0, 2.0]), leaf(1.0)
    with pytest.raises(
        RuntimeError,
        match=(
            r"Tensor at index 1 appears to not have been used in the graph. Set "
            r"allow_unused=True"
        ),
    ):
        grad((x * x).sum(), [x, z])
    assert lists(grad((x * x).sum(), [x, z], allow_unused=True)) == [[2, 4], None]
    _, h = grad((x * x).sum(), [x, z], materialize_grads=True)
    assert (h.tolist(), h.requires_grad) == (0, False)
    _, h = grad((x * x).sum(), [x, z], materialize_grads=True, create_graph=True)
    assert (h.tolist(), h.requires_grad) == (0, True)
    with pytest.raises(
        ValueError,
        match=(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but "
            "got: allow_unused=False"
        ),
    ):
        grad((x * x).sum(), x, materialize_grads=True, allow_unused=False)
    b = leaf([1.0, 2.0, 3.0])
    y = (b * b).sum()
    with pytest.raises(RuntimeError, match="index 0 appears to not have been used"):
        grad(y, b[1:])


def test_inputs_that_are_refused() -> None:
    """Inputs that need no gradient, none at all, other mappings than dicts, and what is no
    tensor."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with pytest.raises(
        RuntimeError, match="One of the differentiated Tensors does not require grad"
    ):
        grad(y, [x, tg.ones(2)])
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `grad\(\)` cannot be empty"):
        grad(y, [])
    with pytest.raises(
        TypeError, match=r"`inputs` argument to `grad\(\)` must be a dict, not mappingproxy"
    ):
        grad(y, types.MappingProxyType({"x": x}))
    with pytest.raises(TypeError, match="Tensors or GradientEdges, but got float"):
        grad(y, [3.0])
    with pytest.raises(TypeError, match="a Tensor, a GradientEdge or a sequence of them is wanted"):
        grad(y, 3.0)
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        grad([y, tg.ones(1)], x)


def test_a_dict_of_inputs() -> None:
    """A dict of inputs gives a dict of gradients."""
    x, z = leaf([1.0, 2.0]), leaf(3.0)
    found = grad((x * x).sum() * z, {"x": x, "z": z})
    assert {k: g.tolist() for k, g in found.items()} == {"x": [6, 12], "z": 5}


def test_only_inputs_is_deprecated() -> None:
    """The argument only_inputs does nothing but warn."""
    x = leaf([1.0, 2.0])
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated and is ignored now"):
        (g,) = grad((x * x).sum(), x, only_inputs=False)
    assert g.tolist() == [2, 4]


def test_weights() -> None:
    """grad_outputs are checked as backward checks its gradients, and cast to the outputs'
    dtypes."""
    x = leaf([1.0, 2.0])
    assert lists(grad([x.sum(), x * x], x, [None, tg.ones(2)])) == [[3, 5]]
    assert lists(grad(x * x, x, tg.ones(2, dtype=tg.float32))) == [[2, 4]]
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        grad(x * x, x, tg.ones(3))
    g = tg.ones(2)
    (found,) = grad(x + 1, x, g)
    found.add_(1)
    assert g.tolist() == [1, 1]


def batches(x: Any) -> Any:
    return tg.tensor([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [1, 1, 1]])


def test_batched_grads() -> None:
    """With is_grads_batched the first dimension of a weight is a batch, and the result has it
    too."""
    x = leaf([1.0, 2.0, 3.0])
    (g,) = grad(x * x, x, batches(x), is_grads_batched=True)
    assert g.tolist() == [[2, 0, 0], [0, 8, 0], [0, 0, 18], [2, 4, 6]]
    a, b = grad([x.sin(), (x * x).sum()], [x, x], [batches(x), tg.ones(4)], is_grads_batched=True)
    assert np.allclose(a, batches(x).numpy() * np.cos([1, 2, 3]) + 2 * np.array([1, 2, 3]))
    assert np.array_equal(a, b)
    (g,) = grad(x * x, x, tg.zeros(0, 3), is_grads_batched=True)
    assert g.shape == (0, 3)


def test_batched_grads_are_one_sweep() -> None:
    """A hook sees all rows at once, unless it asks for a number: then it runs for each row."""
    x = leaf([1.0, 2.0, 3.0])
    seen: list[Any] = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g) or g * 10)
    (g,) = grad((y * y), x, tg.eye(3), is_grads_batched=True)
    assert len(seen) == 1
    assert np.allclose(g, np.diag([80, 160, 240]))
    y = x * 2
    y.register_hook(lambda g: g * (10 if float(g.sum()) > 9 else 1))
    (g,) = grad((y * y), x, tg.eye(3), is_grads_batched=True)
    assert np.allclose(g, np.diag([8, 16, 240]))


def test_batched_grads_with_the_other_arguments() -> None:
    """create_graph, unused inputs, and freeing work with batches too."""
    x, z = leaf([1.0, 2.0, 3.0]), leaf(1.0)
    (g,) = grad(x**3, x, tg.eye(3), is_grads_batched=True, create_graph=True)
    assert g.requires_grad
    assert np.allclose(grad(g.sum(), x)[0], [6, 12, 18])
    assert (
        lists(grad(x * x, [x, z], tg.eye(3), is_grads_batched=True, allow_unused=True))[1] is None
    )
    _, zeros = grad(x * x, [x, z], tg.eye(3), is_grads_batched=True, materialize_grads=True)
    assert zeros.tolist() == 0  # as in torch, without the batch
    y = x.exp()
    grad(y, x, tg.eye(3), is_grads_batched=True, retain_graph=True)
    grad(y, x, tg.eye(3), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x, tg.eye(3), is_grads_batched=True)
    f = tg.jit(lambda x: np.sin(x) * x)
    (g,) = grad(f(x), x, tg.eye(3), is_grads_batched=True)
    assert np.allclose(g, np.diag(np.cos([1, 2, 3]) * [1, 2, 3] + np.sin([1, 2, 3])))


def test_batches_that_do_not_fit() -> None:
    """Weights without a batch, of other shapes, of different batches, or none."""
    x = leaf([1.0, 2.0, 3.0])
    for wrong in (tg.tensor(1.0), tg.ones(3)):
        with pytest.raises(
            RuntimeError,
            match=(
                r"If `is_grads_batched=True`, we interpret the first dimension.*a shape of "
                r"tracegrad.Size\(\[\]\)"
            ),
        ):
            grad(x * x, x, wrong, is_grads_batched=True)
    with pytest.raises(
        ValueError, match=r"first dimensions of the grad_outputs must agree, but they are \[3, 2\]"
    ):
        grad([x * x, x + 1], x, [tg.eye(3), tg.ones(2, 3)], is_grads_batched=True)
    with pytest.raises(ValueError, match=r"grad_output\[0\] is None"):
        grad((x * x).sum(), x, is_grads_batched=True)


def test_hooks() -> None:
    """Hooks of inputs run, also of intermediate ones (where torch leaves them out if it goes on to
    other inputs); those after accumulation do not."""
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: g * 10)
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(seen.append)
    assert lists(grad((x * x).sum(), x)) == [[20, 40]]
    assert not seen
    x = leaf([1.0, 2.0])
    y = x * 2
    y.register_hook(lambda g: g * 10)
    assert lists(grad(y.sum(), [x, y])) == [[20, 20], [10, 10]]


def test_higher_orders() -> None:
    """create_graph, again and again; what is linear has no second derivative."""
    x = leaf(2.0)
    (first,) = grad(x**4, x, create_graph=True)
    (second,) = grad(first, x, create_graph=True)
    assert lists(grad(second, x)) == [48]
    (first,) = grad(2 * x, x, create_graph=True)
    assert not first.requires_grad


def test_edges_in_place_of_tensors() -> None:
    """Gradient edges as outputs and inputs."""
    x = leaf([1.0, 2.0])
    y = x * 2
    edge = GradientEdge(*y._edge())
    assert lists(grad((y * y).sum(), edge, retain_graph=True)) == [[4, 8]]
    assert lists(grad(GradientEdge(*y.sum()._edge()), GradientEdge(*x._edge()))) == [[2, 2]]
    edge = GradientEdge(*(x * 2)._edge())
    (g,) = grad(edge, x, tg.ones(2), create_graph=True)
    assert isinstance(g, tg.Tensor)
    _, zero = grad(
        edge, [x, GradientEdge(*leaf([3.0, 4.0])._edge())], tg.ones(2), materialize_grads=True
    )
    assert zero.tolist() == [0, 0]


def test_batched_grads_through_what_runs_code() -> None:
    """Rules of a Function, hooks of saved tensors, recomputation of a checkpoint, writes through
    views."""

    class Exp(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct * ctx.saved_tensors[0]

    def written(x: Any) -> Any:
        y = x * 1
        y[1:].mul_(y[:1].clone())
        return y

    def hooked(x: Any) -> Any:
        with tg.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), tg.tensor):
            return x.exp() * x

    def recomputed(x: Any) -> Any:
        return checkpoint(lambda x: x.exp() * x, x, use_reentrant=False)

    for function in (Exp.apply, written, hooked, recomputed):
        x = leaf([1.0, 2.0])
        (g,) = grad(function(x), x, tg.eye(2), is_grads_batched=True)
        rows = [grad(function(x), x, row)[0].tolist() for row in tg.eye(2)]
        assert np.allclose(g, rows)


@pytest.mark.filterwarnings("ignore")
def test_batched_grads_with_anomalies() -> None:
    """NaN is looked for row by row."""
    x = leaf([0.0, 2.0])
    with tg.autograd.detect_anomaly():
        y = (x.sqrt() * 0).sqrt()
        with pytest.raises(RuntimeError, match="returned nan values"):
            grad(y, x, tg.eye(2), is_grads_batched=True)


def test_gradients_of_parameters() -> None:
    """The gradient of a Parameter is a plain tensor, however it is asked for."""
    p, unused = tg.nn.Parameter(tg.ones(2)), tg.nn.Parameter(tg.ones(2))
    y = p * p
    for create_graph in (False, True):
        found = grad(
            y.sum(),
            [p, unused],
            materialize_grads=True,
            create_graph=create_graph,
            retain_graph=True,
        )
        assert [type(g) for g in found] == [tg.Tensor, tg.Tensor]
        assert [g.requires_grad for g in found] == [create_graph] * 2
    (g,) = grad(y, p, tg.eye(2), is_grads_batched=True)
    assert type(g) is tg.Tensor
