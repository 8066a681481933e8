"""Contract, section 1: `autograd.backward` and `Tensor.backward`, one test or more per line."""

from __future__ import annotations

import collections
import types
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import backward
from tracegrad.tape.tape import GradientEdge

CYCLE = "ignore:Using backward.. with create_graph=True:UserWarning"


def leaf(values: Any, **options: Any) -> Any:
    return tg.tensor(values, requires_grad=True, **options)


def test_gradients_are_summed_into_leaves() -> None:
    """Gradients of all given tensors, with or without a weight, are added up in the leaves."""
    x = leaf([1.0, 2.0])
    backward([x * 2, x.sum()], [tg.ones(2), None])
    assert x.grad.tolist() == [3, 3]
    y = x * x
    backward([y, y], [tg.ones(2), tg.ones(2)])
    assert x.grad.tolist() == [7, 11]


def test_into_inputs_alone() -> None:
    """With `inputs` only these get a gradient, also if they are no leaves."""
    x = leaf([1.0, 2.0])
    y = x * 2
    (y * y).sum().backward(inputs=[y])
    assert y.grad.tolist() == [4, 8]
    assert x.grad is None
    z = leaf([1.0])
    (x * x).sum().backward(inputs=[z])
    assert z.grad is None
    assert x.grad is None
    (x * x).sum().backward(inputs=x)
    assert x.grad.tolist() == [2, 4]
    y = x * 2
    (y * y).sum().backward(inputs=[y, x, x])
    assert (y.grad.tolist(), x.grad.tolist()) == ([4, 8], [10, 20])


def test_inputs_as_a_dict() -> None:
    """A dict of inputs is taken by its values; other mappings are refused."""
    x = leaf([1.0, 2.0])
    (x * x).sum().backward(inputs={"weight": x})
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(
        TypeError, match=r"`inputs` argument to `backward\(\)` must be a dict, not mappingproxy"
    ):
        backward((x * x).sum(), inputs=types.MappingProxyType({"weight": x}))
    backward((x * x).sum(), inputs=collections.OrderedDict(weight=x))
    assert x.grad.tolist() == [4, 8]


def test_grad_variables_is_deprecated() -> None:
    """The old name of grad_tensors warns; both together are refused."""
    x = leaf([1.0, 2.0])
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        backward([x * x], grad_variables=[tg.ones(2)])
    assert x.grad.tolist() == [2, 4]
    with (
        pytest.warns(FutureWarning),
        pytest.raises(
            RuntimeError, match=r"both passed to `backward\(\)`. Please only use `grad_tensors`"
        ),
    ):
        backward(x * x, tg.ones(2), grad_variables=tg.ones(2))


def test_inputs_that_are_refused() -> None:
    """No inputs, inputs that need no gradient, and what is no tensor."""
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `backward\(\)` cannot be empty"):
        (x * x).sum().backward(inputs=[])
    with pytest.raises(
        RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
    ):
        (x * x).sum().backward(inputs=[tg.ones(2)])
    with pytest.raises(
        TypeError, match="inputs have to be Tensors or GradientEdges, but got float"
    ):
        (x * x).sum().backward(inputs=[3.0])


def test_implicit_gradient() -> None:
    """Without a gradient a result must be one real number, of whatever shape; a complex one is
    refused."""
    x = leaf([[3.0]])
    (x * x).backward()
    assert x.grad.tolist() == [[6]]
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        (leaf([1.0, 2.0]) * 2).backward()
    with pytest.raises(
        RuntimeError, match=r"only for real scalar outputs but got tracegrad.complex128"
    ):
        (leaf([1 + 2j]) * 2).sum().backward()


def test_no_graph() -> None:
    """What does not depend on a tensor that requires grad has nothing to differentiate; the element
    is named."""
    with pytest.raises(
        RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        tg.ones(1).backward()
    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        backward([x * x, tg.ones(1)])
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        backward(x.argmax())


def test_mismatch_in_shape() -> None:
    """A gradient has the shape of its tensor, without broadcasting."""
    x = leaf([1.0, 2.0, 3.0])
    for wrong, size in ((tg.ones(2), "[2]"), (tg.ones(1), "[1]"), (tg.tensor(1.0), "[]")):
        with pytest.raises(RuntimeError) as error:
            (x * x).backward(wrong)
        text = (
            "Mismatch in shape: grad_output[0] has a shape of tracegrad.Size({}) and "
            "output[0] has a shape of tracegrad.Size([3])."
        )
        assert str(error.value) == text.format(size)


def test_mismatch_in_kind() -> None:
    """A complex gradient for a real tensor, or the other way round, is refused; other dtypes are
    cast."""
    x, z = leaf([1.0, 2.0]), leaf([1 + 0j, 2])
    with pytest.raises(
        RuntimeError,
        match=(
            r"For complex Tensors.*Mismatch in dtype: grad_output\[0\] has a dtype of "
            r"tracegrad.complex128"
        ),
    ):
        (x * x).backward(tg.ones(2, dtype=tg.complex128))
    with pytest.raises(RuntimeError, match=r"and output\[0\] has a dtype of tracegrad.complex128"):
        (z * z).backward(tg.ones(2))
    (x * x).backward(tg.ones(2, dtype=tg.float32))
    assert x.grad.dtype == np.float64
    (z * z).backward(tg.ones(2, dtype=tg.complex64))
    assert z.grad.dtype == np.complex128
    s = leaf([1.0, 2.0], dtype=tg.float32)
    (s * s).backward(tg.ones(2))
    assert s.grad.dtype == np.float32


def test_gradients_that_are_no_tensors() -> None:
    """Each given gradient is a Tensor or None, and there is one for each tensor."""
    x = leaf([1.0, 2.0])
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got float"):
        backward([x * x], [3.0])
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got str"):
        (x * x).sum().backward("a")
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        backward([x * x, x], [tg.ones(2)])
    with pytest.raises(TypeError, match="a Tensor, a GradientEdge or a sequence of them is wanted"):
        (x * x).sum().backward(3.0)
    with pytest.raises(TypeError, match="must be a Tensor or a GradientEdge, but got float"):
        backward([3.0])
    backward([])
    (x * x).backward([tg.ones(2)])
    assert x.grad.tolist() == [2, 4]


def test_create_graph_warns() -> None:
    """backward with create_graph makes a cycle of a parameter and its gradient, and says so."""
    x = leaf([1.0, 2.0])
    with pytest.warns(UserWarning, match="reference cycle between the parameter and its gradient"):
        (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    x.grad = None


def test_accumulation_in_place() -> None:
    """Without create_graph the tensor in `.grad` stays the same object and its numbers change."""
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    held = x.grad
    (x * x).sum().backward()
    assert x.grad is held
    assert held.tolist() == [4, 8]


@pytest.mark.filterwarnings(CYCLE)
def test_accumulation_replaced() -> None:
    """With create_graph a new tensor with a history takes the place of the old, which keeps its
    numbers."""
    x = leaf([1.0, 2.0])
    x.grad = held = tg.ones(2)
    (x**3).sum().backward(create_graph=True)
    assert x.grad is not held
    assert held.tolist() == [1, 1]
    assert x.grad.tolist() == [4, 13]
    (second,) = tg.autograd.grad(x.grad.sum(), x)
    assert second.tolist() == [6, 12]
    held = x.grad
    (x**3).sum().backward()
    assert x.grad is held
    assert x.grad.tolist() == [7, 25]
    x.grad = None


def test_a_gradient_is_the_leafs_own() -> None:
    """What backward stores is not shared with the given gradient, nor between leaves."""
    x, y, g = leaf([1.0, 2.0]), leaf([3.0, 4.0]), tg.ones(2)
    (x + y).backward(g)
    x.grad.add_(1)
    assert (x.grad.tolist(), y.grad.tolist(), g.tolist()) == ([2, 2], [1, 1], [1, 1])
    z = leaf([1.0, 2.0])
    z.sum().backward()
    z.grad.mul_(5)
    assert z.grad.tolist() == [5, 5]


def test_a_scalar_leaf() -> None:
    """backward of a leaf itself adds 1."""
    x = leaf(2.0)
    x.backward()
    x.backward()
    assert x.grad.tolist() == 2


def test_second_backward() -> None:
    """What was saved is freed by the first backward; a graph that saved nothing can be run
    again."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    with pytest.raises(
        RuntimeError,
        match=r"backward through the graph a second time \(or directly access saved tensors",
    ):
        y.backward()
    middle = x.exp()
    middle.sum().backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        (middle * 2).sum().backward()
    x.grad = None
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.filterwarnings(CYCLE)
def test_retain_graph() -> None:
    """retain_graph keeps the graph; left out, it is what create_graph is."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    y = (x * x).sum()
    y.backward(create_graph=True)
    y.backward()
    y = (x * x).sum()
    y.backward(create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    x.grad = None


def test_layout_of_gradients() -> None:
    """A dense leaf's gradient has the leaf's strides; that of a leaf with gaps or repeated elements
    lies in C order."""

    def strides(x: Any) -> tuple[Any, Any]:
        x = x.detach().requires_grad_()
        (x * x).sum().backward()
        return x.stride(), x.grad.stride()

    assert strides(tg.ones(3, 2).t()) == ((1, 2), (1, 2))
    assert strides(tg.ones(2, 3, 4).permute(2, 0, 1))[1] == (1, 12, 4)
    assert strides(tg.ones(4, 4)[:, ::2]) == ((4, 2), (2, 1))
    assert strides(tg.arange(6.0)[::2]) == ((2,), (1,))
    assert strides(tg.ones(1).expand(3))[1] == (1,)


def test_empty_and_views() -> None:
    """Leaves without elements, leaves that are views of something untracked, gradients of views."""
    x = tg.zeros(0, 3).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.shape == (0, 3)
    b = tg.ones(4)
    x = b[1:3].requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert b.grad is None
    b = leaf([1.0, 2.0, 3.0])
    v = b[1:]
    (v * v).sum().backward(inputs=[v])
    assert v.grad.tolist() == [4, 6]
    assert b.grad is None


def test_dtype_of_gradients() -> None:
    """A leaf's gradient has the leaf's dtype, whatever was computed from it."""
    x = leaf([1.0, 2.0], dtype=tg.float32)
    y = x.double()
    (y * y).sum().backward()
    assert x.grad.dtype == np.float32
    assert x.grad.tolist() == [2, 4]


def test_without_grad_mode() -> None:
    """The mode of the caller does not matter to a backward pass, and a tracked gradient argument
    gets none itself."""
    x, g = leaf([1.0, 2.0]), leaf([1.0, 3.0])
    y = x * 2
    with tg.no_grad():
        y.backward(g)
    assert x.grad.tolist() == [2, 6]
    assert g.grad is None


def test_edges_in_place_of_tensors() -> None:
    """A gradient edge stands for its tensor as output, and for a leaf as input."""
    x = leaf([1.0, 2.0])
    edge = GradientEdge(*(x * 2)._edge())
    backward(edge, tg.ones(2))
    (x * 3).sum().backward(inputs=[GradientEdge(*x._edge())])
    assert x.grad.tolist() == [5, 5]
    with pytest.raises(RuntimeError, match="give the tensor itself"):
        (x * 3).sum().backward(inputs=[edge])
    with pytest.raises(
        RuntimeError, match=r"Mismatch in shape.*output\[0\] has a shape of tracegrad.Size\(\[2\]\)"
    ):
        backward(edge, tg.ones(3))
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        backward(edge)


def test_a_leaf_that_no_longer_asks_for_its_gradient() -> None:
    x, y = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([3.0, 4.0], requires_grad=True)
    product = (x * y).sum()
    y.requires_grad_(False)
    product.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 4.0]
    assert y.grad is None
