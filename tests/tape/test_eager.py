"""The eager contract: what a user of torch.autograd expects of Tensors, backward, in-place
operations and hooks."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest

from tracegrad import tensors as tg
from tracegrad.autograd import (
    backward,
    enable_grad,
    grad,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from tracegrad.dtypes import check
from tracegrad.errors import DTypeError, ShapeError


def test_first_steps() -> None:
    x = tg.ones(2, 2, requires_grad=True)
    assert repr(x) == "tensor([[1., 1.],\n        [1., 1.]], requires_grad=True)"
    y = x + 2
    assert repr(y) == "tensor([[3., 3.],\n        [3., 3.]], grad_fn=<AddBackward0>)"
    assert re.fullmatch(r"<AddBackward0 object at 0x[0-9a-f]+>", repr(y.grad_fn))
    z = y * y * 3
    out = z.mean()
    assert repr(out) == "tensor(27., grad_fn=<MeanBackward0>)"
    out.backward()
    assert np.array_equal(x.grad.numpy(), np.full((2, 2), 4.5))


def test_requires_grad() -> None:
    a = tg.randn(2, 2)
    assert not a.requires_grad
    a = (a * 3) / (a - 1)
    assert a.grad_fn is None
    a.requires_grad_(True)
    b = (a * a).sum()
    assert b.grad_fn.name() == "SumBackward0"
    y = a.detach()
    assert not y.requires_grad
    assert bool(a.eq(y).all())
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype"):
        tg.arange(3).requires_grad_()
    with pytest.raises(RuntimeError, match="floating point and complex"):
        tg.tensor([1, 2], requires_grad=True)
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
        b.requires_grad_(False)
    assert not a.detach_().requires_grad


def test_backward_accumulates() -> None:
    inp = tg.eye(4, 5, requires_grad=True)
    out = (inp + 1).pow(2).t()
    assert out.grad_fn.name() == "TBackward0"
    first = 2 * (np.eye(4, 5) + 1)
    out.backward(tg.ones_like(out), retain_graph=True)
    assert np.array_equal(inp.grad.numpy(), first)
    held = inp.grad
    out.backward(tg.ones_like(out), retain_graph=True)
    assert np.array_equal(inp.grad.numpy(), 2 * first)
    assert inp.grad is held
    inp.grad.zero_()
    out.backward(tg.ones_like(out))
    assert np.array_equal(inp.grad.numpy(), first)
    with pytest.raises(
        RuntimeError,
        match=r"Trying to backward through the graph a second time .* Specify retain_graph=True",
    ):
        out.backward(tg.ones_like(out))
    y = (inp + 1).sum()
    y.backward()
    y.backward()  # nothing was saved, nothing is freed


def test_control_flow() -> None:
    x = tg.tensor([0.5, -1.0, 2.0], requires_grad=True)
    y, factor = x * 2, 2
    while (y.data * y.data).sum() < 1000**2:
        y, factor = y * 2, factor * 2
    v = tg.tensor([0.1, 1.0, 0.0001])
    y.backward(v)
    assert np.allclose(x.grad.numpy(), factor * v.numpy())


def test_modes() -> None:
    x = tg.ones(2, requires_grad=True)
    with no_grad():
        assert not (x * 2).requires_grad
        assert tg.ones(1, requires_grad=True).requires_grad
        with enable_grad():
            assert (x * 2).requires_grad

    @no_grad
    def plain(t: Any) -> Any:
        return t * 2

    @no_grad()
    def called(t: Any) -> Any:
        return t * 2

    assert not plain(x).requires_grad
    assert not called(x).requires_grad
    with set_grad_enabled(False):
        assert not is_grad_enabled()
    set_grad_enabled(False)
    assert not (x * 2).requires_grad
    set_grad_enabled(True)
    assert (x * 2).requires_grad


def test_backward_errors() -> None:
    x = tg.ones(3, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        y.backward()
    with pytest.raises(
        RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of .*\[2\]"
    ):
        y.backward(tg.ones(2))
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        tg.ones(1).backward()
    with pytest.raises(TypeError, match=r"a sequence of them is wanted, not the number 3\.0"):
        y.backward(3.0)
    with pytest.raises(TypeError, match="either Tensors or None, but got float"):
        backward([y], [3.0])
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        backward([y, y], [tg.ones(3)])
    with pytest.raises(RuntimeError, match="cannot be empty"):
        backward(y.sum(), inputs=[])
    with pytest.raises(RuntimeError, match="can't retain_grad"):
        backward(y.sum(), inputs=[tg.ones(1)])
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        (x.sum() * 1j).backward()
    with pytest.warns(UserWarning, match="reference cycle"):
        (x * x).sum().backward(create_graph=True)
    assert x.grad.requires_grad


def test_backward_into_inputs() -> None:
    x = tg.ones(3, requires_grad=True)
    y = x * 2
    (y * y).sum().backward(inputs=[y])
    assert np.array_equal(y.grad.numpy(), [4, 4, 4])
    assert x.grad is None
    s = tg.tensor(2.0, requires_grad=True)
    s.backward()
    assert s.grad.item() == 1


def test_grad() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = (x**3).sum()
    (g,) = grad(y, x, create_graph=True)
    (h,) = grad(g.sum(), x)
    assert np.allclose(g.detach().numpy(), [3, 12])
    assert np.allclose(h.numpy(), [6, 12])
    assert x.grad is None
    unused = tg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="at index 1 appears to not have been used"):
        grad((x * x).sum(), [x, unused])
    assert grad((x * x).sum(), [x, unused], allow_unused=True)[1] is None
    assert np.array_equal(
        grad((x * x).sum(), [x, unused], materialize_grads=True)[1].numpy(), [0, 0]
    )
    with pytest.raises(ValueError, match="allow_unused=False"):
        grad(y, x, allow_unused=False, materialize_grads=True)
    with pytest.raises(
        RuntimeError, match="One of the differentiated Tensors does not require grad"
    ):
        grad(y, tg.ones(2))
    assert set(grad((x * x).sum(), {"x": x})) == {"x"}
    (jacobian,) = grad(x * x, x, tg.eye(2), is_grads_batched=True)
    assert np.array_equal(jacobian.numpy(), np.diag([2.0, 4.0]))
    with pytest.raises(
        RuntimeError, match="first dimension of each grad_output as the batch dimension"
    ):
        grad(x * x, x, tg.tensor(1.0), is_grads_batched=True)


def test_results_of_grad_are_the_callers_own() -> None:
    a, b, seed = tg.ones(2, requires_grad=True), tg.ones(2, requires_grad=True), tg.ones(2)
    ga, gb = grad(a + b, [a, b], seed)
    ga.zero_()
    assert np.array_equal(gb.numpy(), [1, 1])
    assert np.array_equal(seed.numpy(), [1, 1])


def test_saved_values_are_checked() -> None:
    a = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = a * 1
    z = y * y
    y.add_(1)
    with pytest.raises(
        RuntimeError,
        match=(
            r"modified by an inplace operation: \[.*DoubleTensor \[3\]\].* is at version 1; "
            r"expected version 0"
        ),
    ):
        z.sum().backward()
    e = a.exp()
    e.mul_(2)
    with pytest.raises(RuntimeError, match="output 0 of ExpBackward0"):
        e.sum().backward()
    w = a * 1
    q = w * w
    w.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        q.sum().backward()
    s = a * 1
    s.add_(1).mul_(3)  # neither rule reads what the next one overwrites
    s.sum().backward()
    assert np.array_equal(a.grad.numpy(), [3, 3, 3])


def test_leaf_rule() -> None:
    x = tg.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad is being used"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x.view(3, 1).add_(1)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x[0] = 1
    with no_grad():
        x.add_(1)
    assert x.is_leaf
    assert x.requires_grad
    assert x._version == 1


@pytest.mark.parametrize("how", ["view", "slice", "transpose", "diagonal", "select"])
def test_writes_through_views_keep_gradients(how: str) -> None:
    rng = np.random.default_rng(0)
    data, factor = rng.normal(size=(3, 3)), 1.5

    def run(t: Any) -> Any:
        base = t * 1
        v = {
            "view": lambda: base.view(9),
            "slice": lambda: base[::2, 1:],
            "transpose": lambda: base.t(),
            "diagonal": lambda: base.diagonal(),
            "select": lambda: base[1],
        }[how]()
        assert v._base is base
        v.mul_(factor).add_(t.sum())
        base.mul_(2)
        v.exp_()
        return (base * base * tg.arange(9.0).view(3, 3)).sum()

    x = tg.tensor(data, requires_grad=True)
    run(x).backward()
    numeric = np.zeros((3, 3))
    with no_grad():
        for i in np.ndindex(3, 3):
            d = np.zeros((3, 3))
            d[i] = 1e-5
            numeric[i] = (run(tg.tensor(data + d)).item() - run(tg.tensor(data - d)).item()) / 2e-5
    assert np.allclose(x.grad.numpy(), numeric, rtol=1e-5)


def test_memory_is_shared() -> None:
    a = tg.zeros(4)
    a[1:3] += 2
    v = a.view(2, 2)
    v[0, 0] = 7
    assert a.tolist() == [7, 2, 2, 0]
    a.numpy()[3] = 9
    assert v.tolist() == [[7, 2], [2, 9]]
    assert a._version == v._version == 2
    assert not tg.ones(2, 3).t().reshape(6)._is_view()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        tg.ones(2, 3).t().view(6)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        tg.ones(1).expand(3).add_(1)
    with pytest.raises(DTypeError, match="cannot be cast"):
        tg.arange(3).add_(0.5)
    with pytest.raises(ShapeError, match="does not fit"):
        tg.ones(3).add_(tg.ones(2, 3))


def test_hooks() -> None:
    seen: list[Any] = []
    x = tg.ones(2, requires_grad=True)
    y = x * 1
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    assert seen == [("after", [1, 1]), ("before", [5, 5])]
    handle = x.register_hook(lambda g: g * 10)
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [20, 20]
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    mid = x * 3
    mid.retain_grad()
    mid.register_hook(lambda g: g * 2)
    (mid * 4).sum().backward()
    assert mid.grad.tolist() == [8, 8]
    done: list[Any] = []
    x.register_post_accumulate_grad_hook(done.append)
    (x * 2).sum().backward()
    assert done == [x] or done[0] is x
    x.register_hook(lambda g: g[:1])
    with pytest.raises(RuntimeError, match="changed the size of value"):
        (x * 2).sum().backward()
    with pytest.raises(RuntimeError, match="cannot register a hook"):
        tg.ones(1).register_hook(print)
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_grad_property() -> None:
    x = tg.ones(3, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size"):
        x.grad = tg.ones(2)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype"):
        x.grad = tg.ones(3, dtype=np.float32)
    with pytest.raises(TypeError, match="got grad of type float"):
        x.grad = 1.0
    with pytest.raises(RuntimeError, match="its own grad"):
        x.grad = x
    leaf = tg.as_tensor(np.ones((2, 3)).T).requires_grad_()
    (leaf * 2).sum().backward()
    assert leaf.grad.stride() == leaf.stride()


def test_conversions() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    for convert in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\)"):
            convert()
    assert np.asarray(x.detach()).tolist() == [1, 2]
    with pytest.raises(
        RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"
    ):
        bool(x)
    with pytest.raises(RuntimeError, match="2 elements cannot be converted to Scalar"):
        x.item()
    with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
        assert float(x.sum()) == 3
    assert copy.deepcopy(x).requires_grad
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)
    y = tg.ones(2, dtype=np.float32, requires_grad=True)
    (y.double() * 2).sum().backward()
    assert y.grad.dtype == np.float32


def test_printing() -> None:
    def text(data: Any, **options: Any) -> str:
        return repr(tg.tensor(data, **options))

    assert text([1.0, 2.5]) == "tensor([1.0000, 2.5000])"
    assert text([1e-5, 2000.0]) == "tensor([1.0000e-05, 2.0000e+03])"
    assert text([1, 20]) == "tensor([ 1, 20])"
    assert text([True, False]) == "tensor([ True, False])"
    assert text(1 + 2j) == "tensor(1.+2.j)"
    assert text([1.0], dtype=np.float32) == "tensor([1.], dtype=tracegrad.float32)"
    assert text([np.inf, -1.0, np.nan]) == "tensor([inf, -1., nan])"
    assert repr(tg.zeros(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(tg.zeros(2000)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"
    assert repr(tg.ones(1, 1, 1)) == "tensor([[[1.]]])"


def test_torch_methods() -> None:
    data = np.array([[3.0, 1.0], [2.0, 4.0]])
    x = tg.tensor(data, requires_grad=True)
    values, indices = x.max(1)
    assert values.tolist() == [3, 4]
    assert indices.tolist() == [0, 1]
    values.sum().backward()
    assert x.grad.tolist() == [[1, 0], [0, 1]]
    assert x.size() == (2, 2)
    assert x.size(0) == x.dim() == 2
    assert x.numel() == 4
    assert [t.tolist() for t in x.unbind()] == data.tolist()
    assert [t.tolist() for t in x.split(1, dim=1)] == [[[3], [2]], [[1], [4]]]
    assert [tuple(t.shape) for t in tg.arange(5).chunk(2)] == [(3,), (2,)]
    assert x.unsqueeze(0).squeeze().shape == x.flatten(0, 1).view(2, 2).shape == (2, 2)
    assert x.expand(3, -1, 2).shape == (3, 2, 2)
    assert x.clamp(min=2).tolist() == [[3, 2], [2, 4]]
    assert x.mv(tg.ones(2)).grad_fn.name() == "MvBackward0"
    assert x[0].grad_fn.name() == "SelectBackward0"
    assert x[0:1].grad_fn.name() == "SliceBackward0"
    assert x.to(np.float32).dtype == np.float32
    assert x.new_zeros(2, 3).dtype == np.float64
    assert tg.ones(2).add_(tg.ones(2), alpha=3).tolist() == [4, 4]
    assert (x.permute(1, 0).detach().numpy() == data.T).all()
    assert x.gather(1, tg.tensor([[0], [1]])).tolist() == [[3], [4]]
    assert tg.ones(2).copy_(tg.tensor([5.0, 6.0])).tolist() == [5, 6]
    z = x * 1
    z.zero_()
    (z + x).sum().backward()
    assert z.requires_grad


def test_double_backward_through_a_view_that_was_overwritten() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    first = y[0] * 3
    y[0] = 10.0
    (g,) = grad(first + y.sum(), x, create_graph=True)
    assert g.tolist() == [6, 4]
    (h,) = grad(g.sum(), x)
    assert h.tolist() == [6, 2]


def test_leaves_are_freed_without_the_collector() -> None:
    import gc
    import weakref

    gc.disable()
    try:
        x = tg.ones(3, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        ref = weakref.ref(x)
        del x, y
        assert ref() is None
    finally:
        gc.enable()


def test_no_warnings_in_plain_use() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = tg.randn(3, requires_grad=True)
        (x * x).sum().backward()
        assert np.allclose(x.grad.numpy(), 2 * x.detach().numpy())


def test_dtypes_are_numpys_own_objects() -> None:
    """Shorter ways ask whether two dtypes are one object: whoever makes arrays uses NumPy's own."""
    own = np.dtype(np.float64)
    for x in (
        tg.ones(2),
        tg.zeros(2),
        tg.full((2,), 1.0),
        tg.rand(2),
        tg.tensor([1.0]),
        tg.ones(2, dtype=np.dtype(">f8")),
    ):
        assert x.dtype is own
    assert check(np.dtype(np.longlong)) is np.dtype(np.int64)
    # What was read from a file has an equal one; derivatives are the same.
    x = tg.tensor(pickle.loads(pickle.dumps(np.array([1.0, 2.0]))), requires_grad=True)
    (x * x * 2.0).sum().backward()
    assert x.grad.tolist() == [4, 8]
