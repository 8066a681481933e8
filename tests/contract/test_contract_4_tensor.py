"""Section 4 of the torch.autograd contract, line by line: Tensors in the graph, their data,
versions, gradients and hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf


def test_requires_grad_returns_the_tensor() -> None:
    """requires_grad_(flag) returns self."""
    x = tg.ones(2)
    assert x.requires_grad_() is x
    assert x.requires_grad
    assert x.requires_grad_(False) is x
    assert not x.requires_grad
    y = leaf() * 2
    assert y.requires_grad_() is y


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
def test_integers_cannot_require_grad(dtype: Any) -> None:
    """By the method and by every constructor, each with its own message."""
    with pytest.raises(
        RuntimeError, match="only Tensors of floating point dtype can require gradients"
    ):
        tg.ones(2, dtype=dtype).requires_grad_()
    assert not tg.ones(2, dtype=dtype).requires_grad_(False).requires_grad
    for make in (
        lambda: tg.tensor([1, 0], dtype=dtype, requires_grad=True),
        lambda: tg.zeros(2, dtype=dtype, requires_grad=True),
        lambda: tg.ones_like(tg.ones(2, dtype=dtype), requires_grad=True),
        lambda: tg.ones(2, dtype=dtype).new_zeros(2, requires_grad=True),
    ):
        with pytest.raises(
            RuntimeError,
            match="Only Tensors of floating point and complex dtype can require gradients",
        ):
            make()


def test_only_leaves_stop_requiring_grad() -> None:
    """A computed tensor cannot be told not to require grad; the error names detach."""
    with pytest.raises(
        RuntimeError,
        match=r"you can only change requires_grad flags of leaf variables.*var.detach\(\)",
    ):
        (leaf() * 2).requires_grad_(False)


def test_results_without_gradients() -> None:
    """Comparisons, positions and casts to integers do not require grad."""
    x = leaf()
    for y in (
        x > 1,
        x.eq(x),
        x == 2,
        x.argmax(),
        x.argsort(),
        x.sort().indices,
        x.max(0).indices,
        x.int(),
        x.long(),
        x.bool(),
        x.isnan(),
    ):
        assert not y.requires_grad
        assert y.grad_fn is None


def test_is_leaf_and_grad_fn() -> None:
    """A leaf has no grad_fn; what does not require grad is always a leaf."""
    x = leaf()
    y = x * 2
    assert [t.is_leaf for t in (x, y, y.detach(), tg.ones(2) * 3, tg.arange(3), x > 1)] == [
        True,
        False,
        True,
        True,
        True,
        True,
    ]
    assert x.grad_fn is None
    assert y.grad_fn.name() == "MulBackward0"


def test_output_nr() -> None:
    """The place among the results of the node."""
    x = leaf()
    assert [part.output_nr for part in (x * 1).unbind()] == [0, 1, 2]
    assert len({id(part.grad_fn) for part in (x * 1).unbind()}) == 1
    assert [part.output_nr for part in (x * 1).split(2)] == [0, 1]
    assert x.output_nr == (x * 2).output_nr == 0


def test_pieces_have_one_gradient() -> None:
    """Pieces of which only some are used, sizes that do not divide, several dimensions, second
    derivatives."""
    x = tg.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    for split in (
        lambda t: t.unbind(1),
        lambda t: t.split(3, dim=1),
        lambda t: t.split([1, 0, 3], -1),
        lambda t: t.chunk(3),
        lambda t: tuple(t),
        lambda t: t.tensor_split(3, dim=1),
    ):
        parts = split(x)
        assert [p.tolist() for p in parts] == [p.tolist() for p in split(x.detach())]
        (g,) = tg.autograd.grad((parts[-1] ** 3).sum() + parts[0].sum(), x, create_graph=True)
        (h,) = tg.autograd.grad(g.sum(), x)
        at = tg.zeros(3, 4)
        split(at)[-1].fill_(1)
        split(at)[0].add_(2)
        data = x.detach().numpy()
        assert np.allclose(
            g.detach().numpy(), np.where(at.numpy() % 2, 3 * data**2, 0) + (at.numpy() >= 2)
        )
        assert np.allclose(h.numpy(), np.where(at.numpy() % 2, 6 * data, 0))
        assert np.allclose(
            tg.grad(lambda t, split=split: (split(t)[0] * 2).sum())(x.detach()).numpy(),
            2.0 * (at.numpy() >= 2),
        )
        out, tangent = tg.jvp(
            lambda t, split=split: split(t)[0] * 2, (x.detach(),), (tg.ones(3, 4),)
        )
        assert np.allclose(tangent.numpy(), 2 * np.ones(out.shape))
        assert np.allclose(
            tg.jit(lambda t, split=split: split(t)[-1] * 2)(x.detach()).numpy(),
            2 * parts[-1].detach().numpy(),
        )
    with pytest.raises(RuntimeError, match="sum exactly to 3"):
        x.split([1, 1])
    with pytest.raises(RuntimeError, match="positive"):
        x.split(0)
    with pytest.raises(RuntimeError, match="greater than 0"):
        x.chunk(0)
    assert tg.zeros(0, 2).unbind() == ()
    assert [p.shape for p in tg.zeros(0, 2).split(3)] == [(0, 2)]
    with pytest.raises(TypeError, match="0-d tensor"):
        iter(tg.tensor(1.0))


def test_detach_shares_memory_and_versions() -> None:
    """A write through what was detached is noticed."""
    y = leaf() * 2
    z = y * y
    d = y.detach()
    assert (d.requires_grad, d._base, d._is_view(), d.data_ptr() == y.data_ptr()) == (
        False,
        None,
        False,
        True,
    )
    d.add_(1)
    assert y._version == d._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_data_shares_memory_with_versions_of_its_own() -> None:
    """`.data` counts from 0. Unlike torch, a write through it counts for the tensor too, so that
    saved values are safe."""
    a = leaf()
    a.data.mul_(2)
    assert a.tolist() == [2, 4, 6]
    d = a.data
    assert (d._version, d.requires_grad, d.is_leaf, d._base, d.data_ptr() == a.data_ptr()) == (
        0,
        False,
        True,
        None,
        True,
    )
    y = a * a
    a.data.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_data_can_be_replaced() -> None:
    """Another tensor's numbers, of another shape and dtype too; what was saved stays what it
    was."""
    a = leaf()
    y = (a * a).sum()
    a.data = tg.tensor([5.0, 6.0])
    assert a.tolist() == [5, 6]
    assert a.requires_grad
    b = leaf()
    y = (b * b).sum()
    b.data = tg.zeros(3)
    y.backward()
    assert b.grad.tolist() == [2, 4, 6]
    with pytest.raises(TypeError, match="has to be a tensor, but got int"):
        a.data = 3
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        a.data = tg.arange(2)


def test_detach_in_place() -> None:
    """A leaf or a computed tensor is cut off; a view cannot be."""
    x = leaf()
    y = x * 2
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    assert not leaf().detach_().requires_grad
    with pytest.raises(RuntimeError, match=r"Can't detach views in-place. Use detach\(\) instead"):
        (x * 2)[1:].detach_()
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        tg.ones(3).view(3, 1).detach_()


def test_versions() -> None:
    """From 0, shared by base and views, one more for each write, under no_grad too."""
    a = tg.ones(4)
    v = a[:2]
    w = v.view(2, 1)
    assert a._version == 0
    v.add_(1)
    assert a._version == v._version == w._version == 1
    a.mul_(2)
    w[0] = 3
    with tg.no_grad():
        a.zero_()
    assert a._version == w._version == a.view(-1)._version == 4
    assert (a * 1)._version == a.clone()._version == 0


def test_bases() -> None:
    """A view's base is the root; a root and what was detached have none."""
    a = tg.ones(4)
    v = a[1:]
    assert v._base is a
    assert v.view(3, 1)[1]._base is a
    assert a._base is None
    assert v.detach()._base is None
    assert v._is_view()
    assert not a._is_view()
    assert not v.detach()._is_view()
    m = tg.ones(2, 3)
    for view in (
        m.t(),
        m.view(6),
        m.reshape(3, 2),
        m[0],
        m[:, 1:],
        m.diagonal(),
        m.unsqueeze(0),
        m.expand(2, 2, 3),
        m.permute(1, 0),
        m.unbind()[1],
    ):
        assert view._base is m
    for other in (m * 1, m.clone(), m.t().reshape(6), m[[0, 1]], m.flip(0), m.contiguous() + 0):
        assert other._base is None


def test_grad_of_a_computed_tensor() -> None:
    """None, with a warning that names retain_grad; not after retain_grad, and not on leaves."""
    y = leaf() * 2
    with pytest.warns(
        UserWarning, match=r"\.grad attribute of a Tensor that is not a leaf.*use \.retain_grad\(\)"
    ):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None
        assert leaf().grad is None


def test_assigning_grad() -> None:
    """Shape, dtype and type must fit; a tensor is not its own gradient; None, deletion and another
    tensor are taken."""
    x = leaf()
    with pytest.raises(RuntimeError, match=r"gradient of size '\[2\]' to a tensor of size '\[3\]'"):
        x.grad = tg.ones(2)
    with pytest.raises(
        RuntimeError, match="gradient with dtype 'float32' to a tensor with grad_dtype 'float64'"
    ):
        x.grad = tg.ones(3).float()
    with pytest.raises(
        TypeError, match="assigned grad expected to be a Tensor or None but got grad of type float"
    ):
        x.grad = 1.0
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x
    given = tg.ones(3)
    x.grad = given
    assert x.grad is given
    (x * 2).sum().backward()
    assert x.grad is given
    assert given.tolist() == [3, 3, 3]
    del x.grad
    assert x.grad is None
    x.grad = given
    x.grad = None
    assert x.grad is None


def test_retain_grad() -> None:
    """Refused without requires_grad, nothing on leaves; the value is that after all hooks, whenever
    they were registered."""
    with pytest.raises(
        RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
    ):
        tg.ones(2).retain_grad()
    x = leaf()
    x.retain_grad()
    assert not x.retains_grad
    y = x * 3
    assert not y.retains_grad
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.retain_grad()
    y.register_hook(lambda g: g + 1)
    assert y.retains_grad
    y.sum().backward()
    assert y.grad.tolist() == [3, 3, 3]
    assert x.grad.tolist() == [9, 9, 9]
    y = x * 3
    y.retain_grad()
    y.mul_(2)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1, 1]


def test_register_hook() -> None:
    """A hook may replace the gradient, until its handle is removed; what it returns is checked."""
    x = leaf()
    handle = x.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [20, 20, 20]
    handle.remove()
    handle.remove()
    x.grad = None
    with x.register_hook(lambda g: None):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    with pytest.raises(
        RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"
    ):
        tg.ones(1).register_hook(print)

    def sized(g: Any) -> Any:
        return g[:1]

    checks: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
        (sized, RuntimeError, "hook 'sized' has changed the size of value"),
        (lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda g: g.float(), RuntimeError, "hook '<lambda>' has changed the type of value"),
    ]
    for hook, kind, message in checks:
        y = x * 2
        y.register_hook(hook)
        with pytest.raises(kind, match=message):
            y.sum().backward()


def test_hooks_around_a_write() -> None:
    """A hook from before an in-place operation sees the gradient of the value before it, and runs
    after those from later."""
    seen: list[Any] = []
    y = leaf(1.0, 2.0) * 1
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    assert seen == [("after", [1, 1]), ("before", [5, 5])]


def test_post_accumulate_hooks() -> None:
    """On leaves only; called with the leaf, whose grad is complete, in no_grad unless a graph is
    made."""
    x = leaf()
    with pytest.raises(
        RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        (x * 2).register_post_accumulate_grad_hook(print)
    seen: list[Any] = []
    handle = x.register_post_accumulate_grad_hook(
        lambda p: seen.append((p is x, p.grad.tolist(), tg.is_grad_enabled()))
    )
    (x * 2 + x).sum().backward()
    with pytest.warns(UserWarning, match="create_graph=True"):
        (x * x).sum().backward(create_graph=True)
    assert seen == [(True, [3, 3, 3], False), (True, [5, 7, 9], True)]
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert len(seen) == 2


def test_order_of_hooks() -> None:
    """Tensor hooks, the retained gradient, hooks of the node, hooks of the leaf, accumulation,
    hooks behind that."""
    seen: list[str] = []
    x = leaf()
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append("node before"))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("node after"))
    y.register_hook(lambda g: seen.append("first"))
    y.register_hook(lambda g: seen.append("second"))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    x.register_hook(lambda g: seen.append(f"leaf, grad is {p_grad(x)}"))
    y.sum().backward()
    assert seen == [
        "first",
        "second",
        "node before",
        "node after",
        "leaf, grad is None",
        "accumulated",
    ]


def p_grad(x: Any) -> Any:
    return None if x.grad is None else x.grad.tolist()
