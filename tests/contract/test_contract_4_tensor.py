"""Section 4 of the contract: what a Tensor says of itself, leaves, copies, gradients, hooks, conversions."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def leaf(*data: float) -> Any:
    return tg.tensor(data or (1.0, 2.0, 3.0), requires_grad=True)


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
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        tg.ones(2, dtype=dtype).requires_grad_()
    assert not tg.ones(2, dtype=dtype).requires_grad_(False).requires_grad
    for make in (
        lambda: tg.tensor([1, 0], dtype=dtype, requires_grad=True),
        lambda: tg.zeros(2, dtype=dtype, requires_grad=True),
        lambda: tg.ones_like(tg.ones(2, dtype=dtype), requires_grad=True),
        lambda: tg.ones(2, dtype=dtype).new_zeros(2, requires_grad=True),
    ):
        with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
            make()


def test_only_leaves_stop_requiring_grad() -> None:
    """A computed tensor cannot be told not to require grad; the error names detach."""
    with pytest.raises(RuntimeError, match=r"you can only change requires_grad flags of leaf variables.*var.detach\(\)"):
        (leaf() * 2).requires_grad_(False)


def test_results_without_gradients() -> None:
    """Comparisons, positions and casts to integers do not require grad."""
    x = leaf()
    for y in (x > 1, x.eq(x), x == 2, x.argmax(), x.argsort(), x.sort().indices, x.max(0).indices, x.int(), x.long(), x.bool(), x.isnan()):
        assert not y.requires_grad
        assert y.grad_fn is None


def test_is_leaf_and_grad_fn() -> None:
    """A leaf has no grad_fn; what does not require grad is always a leaf."""
    x = leaf()
    y = x * 2
    assert [t.is_leaf for t in (x, y, y.detach(), tg.ones(2) * 3, tg.arange(3), x > 1)] == [True, False, True, True, True, True]
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
    """Pieces of which only some are used, sizes that do not divide, several dimensions, second derivatives."""
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
        assert np.allclose(g.detach().numpy(), np.where(at.numpy() % 2, 3 * data**2, 0) + (at.numpy() >= 2))
        assert np.allclose(h.numpy(), np.where(at.numpy() % 2, 6 * data, 0))
        assert np.allclose(tg.grad(lambda t, split=split: (split(t)[0] * 2).sum())(x.detach()).numpy(), 2.0 * (at.numpy() >= 2))
        out, tangent = tg.jvp(lambda t, split=split: split(t)[0] * 2, (x.detach(),), (tg.ones(3, 4),))
        assert np.allclose(tangent.numpy(), 2 * np.ones(out.shape))
        assert np.allclose(tg.jit(lambda t, split=split: split(t)[-1] * 2)(x.detach()).numpy(), 2 * parts[-1].detach().numpy())
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
    assert (d.requires_grad, d._base, d._is_view(), d.data_ptr() == y.data_ptr()) == (False, None, False, True)
    d.add_(1)
    assert y._version == d._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_data_shares_memory_with_versions_of_its_own() -> None:
    """`.data` counts from 0. Unlike torch, a write through it counts for the tensor too, so that saved values are safe."""
    a = leaf()
    a.data.mul_(2)
    assert a.tolist() == [2, 4, 6]
    d = a.data
    assert (d._version, d.requires_grad, d.is_leaf, d._base, d.data_ptr() == a.data_ptr()) == (0, False, True, None, True)
    y = a * a
    a.data.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_data_can_be_replaced() -> None:
    """Another tensor's numbers, of another shape and dtype too; what was saved stays what it was."""
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
    with pytest.warns(UserWarning, match=r"\.grad attribute of a Tensor that is not a leaf.*use \.retain_grad\(\)"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None
        assert leaf().grad is None


def test_assigning_grad() -> None:
    """Shape, dtype and type must fit; a tensor is not its own gradient; None, deletion and another tensor are taken."""
    x = leaf()
    with pytest.raises(RuntimeError, match=r"gradient of size '\[2\]' to a tensor of size '\[3\]'"):
        x.grad = tg.ones(2)
    with pytest.raises(RuntimeError, match="gradient with dtype 'float32' to a tensor with grad_dtype 'float64'"):
        x.grad = tg.ones(3).float()
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor or None but got grad of type float"):
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
    """Refused without requires_grad, nothing on leaves; the value is that after all hooks, whenever they were registered."""
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
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
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
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
    """A hook from before an in-place operation sees the gradient of the value before it, and runs after those from later."""
    seen: list[Any] = []
    y = leaf(1.0, 2.0) * 1
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    assert seen == [("after", [1, 1]), ("before", [5, 5])]


def test_post_accumulate_hooks() -> None:
    """On leaves only; called with the leaf, whose grad is complete, in no_grad unless a graph is made."""
    x = leaf()
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * 2).register_post_accumulate_grad_hook(print)
    seen: list[Any] = []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.tolist(), tg.is_grad_enabled())))
    (x * 2 + x).sum().backward()
    with pytest.warns(UserWarning, match="create_graph=True"):
        (x * x).sum().backward(create_graph=True)
    assert seen == [(True, [3, 3, 3], False), (True, [5, 7, 9], True)]
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert len(seen) == 2


def test_order_of_hooks() -> None:
    """Tensor hooks, the retained gradient, hooks of the node, hooks of the leaf, accumulation, hooks behind that."""
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
    assert seen == ["first", "second", "node before", "node after", "leaf, grad is None", "accumulated"]


def p_grad(x: Any) -> Any:
    return None if x.grad is None else x.grad.tolist()


def test_repr() -> None:
    """Numbers, the dtype where it is not the default, requires_grad, the node."""
    x = tg.tensor([1.0, 2.0, 3.0], dtype=np.float32, requires_grad=True)
    assert repr(x) == "tensor([1., 2., 3.], dtype=tracegrad.float32, requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4., 6.], dtype=tracegrad.float32, grad_fn=<MulBackward0>)"


def test_numpy() -> None:
    """Refused for what requires grad, unless forced; else on the same memory."""
    x = leaf()
    for convert in (x.numpy, lambda: np.asarray(x), lambda: np.array(x), (x * 2).numpy):
        with pytest.raises(
            RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) instead"
        ):
            convert()
    assert x.numpy(force=True).tolist() == [1, 2, 3]
    array = x.detach().numpy()
    assert type(array) is np.ndarray
    array[0] = 9
    assert x.tolist() == [9, 2, 3]
    assert np.asarray(x.detach(), dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(x.detach(), copy=True), array)


def test_deepcopy() -> None:
    """Of leaves, with `.grad`; the same tensor twice stays one."""
    with pytest.raises(RuntimeError, match=r"Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy protocol"):
        copy.deepcopy(leaf() * 2)
    x = leaf()
    x.grad = tg.ones(3)
    first, again, number = copy.deepcopy([x, x, tg.tensor(3)])
    assert first is again
    assert first.requires_grad
    assert first.grad.tolist() == [1, 1, 1]
    first.detach().zero_()
    first.grad.zero_()
    assert x.tolist() == [1, 2, 3]
    assert x.grad.tolist() == [1, 1, 1]
    assert number.item() == 3


def test_copy_and_pickle() -> None:
    """copy.copy shares the memory; a pickled tensor comes back as a leaf without `.grad`; strides, dtypes and flags stay."""
    x = leaf()
    x.grad = tg.ones(3)
    shallow = copy.copy(x)
    assert shallow is not x
    assert shallow.data_ptr() == x.data_ptr()
    assert shallow.requires_grad
    assert shallow.is_leaf
    assert shallow.grad is None
    for t in (x, x * 2, tg.arange(6).view(2, 3).t(), tg.tensor(True), tg.zeros(0, 2), tg.tensor([1j])[0], tg.ones(4)[1:3].view(2, 1)):
        back = pickle.loads(pickle.dumps(t))
        assert type(back) is tg.Tensor
        assert back.is_leaf
        assert (back.tolist(), back.dtype, back.shape) == (t.tolist(), t.dtype, t.shape)
        assert back.requires_grad == t.requires_grad
        assert back.grad is None


def test_truth() -> None:
    """Of one element; several and none are ambiguous."""
    assert tg.tensor([[1.0]])
    assert not tg.tensor(0.0)
    assert tg.tensor(1).is_nonzero()
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(tg.ones(2))
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values is ambiguous"):
        bool(tg.ones(0))


def test_numbers() -> None:
    """item, tolist, float, int, complex and index of one element of any shape; of several an error."""
    one = tg.tensor([[2.5]])
    assert (one.item(), one.tolist(), float(one), int(one), complex(one)) == (2.5, [[2.5]], 2.5, 2, 2.5 + 0j)
    assert type(tg.tensor(3).item()) is int
    assert type(tg.tensor(True).item()) is bool
    assert type(tg.tensor([1j]).item()) is complex
    assert tg.zeros(2, 0).tolist() == [[], []]
    assert [10, 11, 12][tg.tensor([1])] == 11
    assert [10, 11][tg.tensor(True)] == 11
    assert list(range(tg.tensor(3))) == [0, 1, 2]
    for t, n in ((tg.ones(3), 3), (tg.ones(0), 0)):
        for convert in (lambda t: t.item(), float, int, complex):
            with pytest.raises(RuntimeError, match=f"a Tensor with {n} elements cannot be converted to Scalar"):
                convert(t)
    for t in (tg.ones(3), tg.tensor(1.0), tg.arange(2)):
        with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
            operator.index(t)


def test_float_of_what_requires_grad() -> None:
    """A warning: the gradient is lost; item() says nothing."""
    x = tg.tensor(2.5, requires_grad=True)
    with pytest.warns(UserWarning, match=r"Converting a tensor with requires_grad=True to a scalar.*\n?.*tensor.detach\(\) first"):
        assert float(x) == 2.5
    assert x.item() == 2.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("there", [np.float32, np.float64, np.complex128])
def test_casts(dtype: Any, there: Any) -> None:
    """Through a cast a gradient comes back in the leaf's dtype; a real leaf of a complex computation gets the real part."""
    if dtype in (np.complex64, np.complex128) and there in (np.float32, np.float64):
        return
    x = tg.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    y = x.to(there)
    assert y.dtype == there
    assert (y is x) == (there is dtype)
    (y * 3).real.sum().backward() if there is np.complex128 else (y * 3).sum().backward()
    assert x.grad.dtype == dtype
    assert x.grad.tolist() == [3, 3]


def test_names_of_casts() -> None:
    """float, double, int, ...; to() by dtype, tensor, device or both; a cast to the same dtype is the tensor itself."""
    x = leaf()
    names = ["float", "double", "short", "int", "long", "char", "byte", "bool", "cfloat", "cdouble"]
    dtypes = ["float32", "float64", "int16", "int32", "int64", "int8", "uint8", "bool", "complex64", "complex128"]
    assert [getattr(x, name)().dtype.name for name in names] == dtypes
    assert x.double() is x.to(np.float64) is x.cpu() is x.to("cpu") is x.type_as(x) is x.contiguous() is x
    assert x.to(tg.arange(2)).dtype == np.int64
    assert x.to("cpu", np.float32).dtype == np.float32
    assert x.to(np.float64, copy=True) is not x
    assert x.float().grad_fn.name() == "ToCopyBackward0"
    for refused in (x.half, x.bfloat16):
        with pytest.raises(TypeError, match="half precision"):
            refused()
    with pytest.raises(RuntimeError, match="not available"):
        x.to("cuda")
    assert (repr(x.device), x.device.type, x.device == "cpu", x.is_cuda) == ("device(type='cpu')", "cpu", True, False)


def test_made_after_another() -> None:
    """new_*: the dtype of the tensor, unless another is named."""
    x = tg.ones(2, dtype=np.float32)
    assert x.new_zeros(2, 3).shape == x.new_empty((2, 3)).shape == (2, 3)
    assert x.new_ones(2).dtype == x.new_tensor([1, 2]).dtype == x.new_full((2,), 3).dtype == np.float32
    assert x.new_zeros(2, dtype=np.int64).dtype == np.int64
    assert tg.arange(2).new_tensor([1.5]).tolist() == [1]
    assert x.new_zeros(2, requires_grad=True).requires_grad


def test_comparisons() -> None:
    """eq().all() is a tensor; equal, allclose and is_same_size are Python's bool."""
    x = leaf()
    assert bool(x.eq(x).all())
    assert type(x.eq(x).all()) is tg.Tensor
    assert x.equal(x.detach())
    assert not x.equal(tg.ones(2))
    assert not x.equal(x + 1e-12)
    assert x.allclose(x + 1e-9)
    assert x.isclose(x + 1e-9).tolist() == [True] * 3
    assert not tg.tensor([np.nan]).allclose(tg.tensor([np.nan]))
    assert tg.tensor([np.nan]).allclose(tg.tensor([np.nan]), equal_nan=True)
    assert 2.0 in x
    assert 5 not in x


def test_sizes_and_memory() -> None:
    """What a tensor says of its shape and its memory."""
    x = tg.ones(2, 3)
    assert (x.numel(), x.nelement(), x.dim(), x.ndim, x.ndimension(), len(x)) == (6, 6, 2, 2, 2, 2)
    assert (x.size(), x.size(-1), x.size().numel(), x.shape) == ((2, 3), 3, 6, (2, 3))
    assert (x.element_size(), x.itemsize, x.nbytes, x.stride(), x.stride(0)) == (8, 8, 48, (3, 1), 3)
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x.t().contiguous().is_contiguous()
    assert (x[1].storage_offset(), x[1:, 2].storage_offset(), x.storage_offset()) == (3, 5, 0)
    assert (x.is_floating_point(), x.is_complex(), x.is_signed(), tg.ones(1).byte().is_signed()) == (True, False, True, False)
    with pytest.raises(IndexError if issubclass(tg.ShapeError, IndexError) else tg.ShapeError, match="out of range"):
        x.size(2)


# Functions with torch's names: the value of each is checked against NumPy, the gradient against differences.
METHODS: list[tuple[str, tuple[Any, ...], Callable[[Any], Any]]] = [
    ("rsqrt", (), lambda a: 1 / np.sqrt(a)),
    ("frac", (), lambda a: a - np.trunc(a)),
    ("logit", (0.1,), lambda a: np.log(np.clip(a, 0.1, 0.9) / (1 - np.clip(a, 0.1, 0.9)))),
    ("lerp", (2.0, 0.3), lambda a: a + 0.3 * (2 - a)),
    ("clamp_min", (0.4,), lambda a: np.maximum(a, 0.4)),
    ("clamp_max", (0.4,), lambda a: np.minimum(a, 0.4)),
    ("nansum", (), np.nansum),
    ("nanmean", (1,), lambda a: np.nanmean(a, 1)),
    ("quantile", (0.3, 1), lambda a: np.quantile(a, 0.3, 1)),
    ("diff", (), np.diff),
    ("fliplr", (), np.fliplr),
    ("flipud", (), np.flipud),
    ("rot90", (), np.rot90),
    ("unflatten", (1, (1, -1)), lambda a: a.reshape(2, 1, 2)),
    ("moveaxis", (0, 1), lambda a: np.moveaxis(a, 0, 1)),
    ("tile", (2, 1), lambda a: np.tile(a, (2, 1))),
    ("diag_embed", (), lambda a: np.stack([np.diag(r) for r in a])),
    ("take", (np.array([3, 0]),), lambda a: a.ravel()[[3, 0]]),
    ("index_fill", (0, np.array([1]), 2.0), lambda a: np.stack([a[0], [2.0, 2.0]])),
    ("put", (np.array([3]), np.array([5.0])), lambda a: np.array([[a[0, 0], a[0, 1]], [a[1, 0], 5]])),
    ("inner", (np.array([1.0, 2.0]),), lambda a: a @ [1.0, 2.0]),
    ("kron", (np.eye(2),), lambda a: np.kron(a, np.eye(2))),
    ("det", (), np.linalg.det),
    ("logdet", (), lambda a: np.log(np.linalg.det(a)) if np.linalg.det(a) > 0 else np.nan),
    ("inverse", (), np.linalg.inv),
    ("matrix_power", (3,), lambda a: a @ a @ a),
    ("addmm", (np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]])), lambda a: a + [[1.0, 2.0], [3.0, 4.0]]),
    ("dist", (np.ones((2, 2)),), lambda a: np.sqrt(((a - 1) ** 2).sum())),
    ("msort", (), lambda a: np.sort(a, 0)),
    ("sum_to_size", (2, 1), lambda a: a.sum(1, keepdims=True)),
    ("mH", (), lambda a: a.T),
    ("cummax", (1,), lambda a: np.maximum.accumulate(a, 1)),
    ("topk", (1,), lambda a: a.max(1, keepdims=True)),
    (
        "masked_scatter",
        (np.array([[True, False], [False, True]]), np.array([5.0, 6.0])),
        lambda a: np.array([[5.0, a[0, 1]], [a[1, 0], 6.0]]),
    ),
]


@pytest.mark.parametrize(("name", "arguments", "numpy"), METHODS, ids=[name for name, _, _ in METHODS])
def test_methods(name: str, arguments: tuple[Any, ...], numpy: Callable[[Any], Any]) -> None:
    """Value and gradient of methods with torch's names."""
    data = np.array([[0.83, 0.5], [0.2, 0.91]])
    given = [tg.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]

    def run(t: Any) -> Any:
        found = getattr(t, name)
        result = found(*given) if callable(found) else found
        return result[0] if isinstance(result, tuple) else result

    x = tg.tensor(data, requires_grad=True)
    result = run(x)
    np.testing.assert_allclose(result.detach().numpy(), numpy(data), rtol=1e-12)
    np.testing.assert_allclose(tg.jit(run)(x.detach()).numpy(), numpy(data), rtol=1e-12)
    weights = np.random.default_rng(0).normal(size=result.shape)
    (g,) = tg.autograd.grad((result * tg.tensor(weights)).sum(), x)
    numeric = np.zeros((2, 2))
    for i in np.ndindex(2, 2):
        d = np.zeros((2, 2))
        d[i] = 1e-6
        numeric[i] = (np.sum(numpy(data + d) * weights) - np.sum(numpy(data - d) * weights)) / 2e-6
    np.testing.assert_allclose(g.numpy(), numeric, rtol=1e-5, atol=1e-7)


def test_counting_methods() -> None:
    """unique, bincount, count_nonzero, aminmax, argwhere, multinomial, bernoulli."""
    x = tg.tensor([[3, 1], [1, 0]])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([0, 1, 3], [[2, 1], [1, 0]], [1, 2, 1])
    assert x.view(-1).bincount().tolist() == [1, 2, 0, 1]
    assert x.count_nonzero().item() == 3
    assert [v.item() for v in x.aminmax()] == [0, 3]
    assert x.argwhere().tolist() == [[0, 0], [0, 1], [1, 0]]
    assert tg.tensor([0.0, 1.0, 0.0]).multinomial(4, replacement=True).tolist() == [1] * 4
    assert tg.tensor([[0.0, 1.0], [1.0, 0.0]]).multinomial(1).tolist() == [[1], [0]]
    assert tg.tensor([0.0, 1.0]).bernoulli().tolist() == [0, 1]


def test_functions_told_dim_are_torchs() -> None:
    """At the top level functions are NumPy's; `dim` or `keepdim` makes them torch's."""
    x = tg.tensor([[1.0, 5.0], [3.0, 2.0]], requires_grad=True)
    assert tg.sum(x, dim=0).tolist() == tg.sum(x, axis=0).tolist() == [4.0, 7.0]
    values, indices = tg.max(x, dim=1)
    assert (values.tolist(), indices.tolist()) == ([5.0, 3.0], [1, 0])
    assert tg.max(x, axis=1).tolist() == [5.0, 3.0]
    np.testing.assert_allclose(tg.std(x, dim=0, keepdim=True).tolist(), np.std(x.tolist(), axis=0, ddof=1, keepdims=True))
    np.testing.assert_allclose(tg.std(x, axis=0).tolist(), np.std(x.tolist(), axis=0))
    assert tg.stack([x, x], dim=2).shape == (2, 2, 2)
    tg.softmax(x, dim=1).square().sum().backward()
    assert x.grad.shape == (2, 2)
    for name in (
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "cumprod",
        "cumsum",
        "log_softmax",
        "logsumexp",
        "mean",
        "min",
        "prod",
        "sort",
        "squeeze",
        "var",
    ):
        assert repr(getattr(tg, name)(x.detach(), dim=1)) == repr(getattr(x.detach(), name)(dim=1)), name
    with pytest.raises(TypeError, match=r"dim and keepdim are for Tensors.*ndarray.*say axis"):
        tg.sum(np.ones(2), dim=0)
