"""Section 4 of the torch.autograd contract, line by line: what Tensors convert to, compare, print
and compute."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf


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
            RuntimeError,
            match=(
                r"Can't call numpy\(\) on Tensor that requires grad. Use "
                r"tensor.detach\(\).numpy\(\) instead"
            ),
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
    with pytest.raises(
        RuntimeError,
        match=(
            r"Only Tensors created explicitly by the user \(graph leaves\) support the "
            r"deepcopy protocol"
        ),
    ):
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
    """copy.copy shares the memory; a pickled tensor comes back as a leaf without `.grad`; strides,
    dtypes and flags stay."""
    x = leaf()
    x.grad = tg.ones(3)
    shallow = copy.copy(x)
    assert shallow is not x
    assert shallow.data_ptr() == x.data_ptr()
    assert shallow.requires_grad
    assert shallow.is_leaf
    assert shallow.grad is None
    for t in (
        x,
        x * 2,
        tg.arange(6).view(2, 3).t(),
        tg.tensor(True),
        tg.zeros(0, 2),
        tg.tensor([1j])[0],
        tg.ones(4)[1:3].view(2, 1),
    ):
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
    with pytest.raises(
        RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"
    ):
        bool(tg.ones(2))
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values is ambiguous"):
        bool(tg.ones(0))


def test_numbers() -> None:
    """item, tolist, float, int, complex and index of one element of any shape; of several an
    error."""
    one = tg.tensor([[2.5]])
    assert (one.item(), one.tolist(), float(one), int(one), complex(one)) == (
        2.5,
        [[2.5]],
        2.5,
        2,
        2.5 + 0j,
    )
    assert type(tg.tensor(3).item()) is int
    assert type(tg.tensor(True).item()) is bool
    assert type(tg.tensor([1j]).item()) is complex
    assert tg.zeros(2, 0).tolist() == [[], []]
    assert [10, 11, 12][tg.tensor([1])] == 11
    assert [10, 11][tg.tensor(True)] == 11
    assert list(range(tg.tensor(3))) == [0, 1, 2]
    for t, n in ((tg.ones(3), 3), (tg.ones(0), 0)):
        for convert in (lambda t: t.item(), float, int, complex):
            with pytest.raises(
                RuntimeError, match=f"a Tensor with {n} elements cannot be converted to Scalar"
            ):
                convert(t)
    for t in (tg.ones(3), tg.tensor(1.0), tg.arange(2)):
        with pytest.raises(
            TypeError, match="only integer tensors of a single element can be converted to an index"
        ):
            operator.index(t)


def test_float_of_what_requires_grad() -> None:
    """A warning: the gradient is lost; item() says nothing."""
    x = tg.tensor(2.5, requires_grad=True)
    with pytest.warns(
        UserWarning,
        match=(
            r"Converting a tensor with requires_grad=True to a scalar.*\n?.*tensor.detach\(\) "
            r"first"
        ),
    ):
        assert float(x) == 2.5
    assert x.item() == 2.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("there", [np.float32, np.float64, np.complex128])
def test_casts(dtype: Any, there: Any) -> None:
    """Through a cast a gradient comes back in the leaf's dtype; a real leaf of a complex
    computation gets the real part."""
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
    """float, double, int, ...; to() by dtype, tensor, device or both; a cast to the same dtype is
    the tensor itself."""
    x = leaf()
    names = ["float", "double", "short", "int", "long", "char", "byte", "bool", "cfloat", "cdouble"]
    dtypes = [
        "float32",
        "float64",
        "int16",
        "int32",
        "int64",
        "int8",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    ]
    assert [getattr(x, name)().dtype.name for name in names] == dtypes
    assert (
        x.double()
        is x.to(np.float64)
        is x.cpu()
        is x.to("cpu")
        is x.type_as(x)
        is x.contiguous()
        is x
    )
    assert x.to(tg.arange(2)).dtype == np.int64
    assert x.to("cpu", np.float32).dtype == np.float32
    assert x.to(np.float64, copy=True) is not x
    assert x.float().grad_fn.name() == "ToCopyBackward0"
    for refused in (x.half, x.bfloat16):
        with pytest.raises(TypeError, match="half precision"):
            refused()
    with pytest.raises(RuntimeError, match="not available"):
        x.to("cuda")
    assert (repr(x.device), x.device.type, x.device == "cpu", x.is_cuda) == (
        "device(type='cpu')",
        "cpu",
        True,
        False,
    )


def test_made_after_another() -> None:
    """new_*: the dtype of the tensor, unless another is named."""
    x = tg.ones(2, dtype=np.float32)
    assert x.new_zeros(2, 3).shape == x.new_empty((2, 3)).shape == (2, 3)
    assert (
        x.new_ones(2).dtype == x.new_tensor([1, 2]).dtype == x.new_full((2,), 3).dtype == np.float32
    )
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
    assert (x.element_size(), x.itemsize, x.nbytes, x.stride(), x.stride(0)) == (
        8,
        8,
        48,
        (3, 1),
        3,
    )
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x.t().contiguous().is_contiguous()
    assert (x[1].storage_offset(), x[1:, 2].storage_offset(), x.storage_offset()) == (3, 5, 0)
    assert (
        x.is_floating_point(),
        x.is_complex(),
        x.is_signed(),
        tg.ones(1).byte().is_signed(),
    ) == (True, False, True, False)
    with pytest.raises(
        IndexError if issubclass(tg.ShapeError, IndexError) else tg.ShapeError, match="out of range"
    ):
        x.size(2)


# Functions with torch's names: the value of each is checked against NumPy, the gradient against
# differences.
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
    (
        "put",
        (np.array([3]), np.array([5.0])),
        lambda a: np.array([[a[0, 0], a[0, 1]], [a[1, 0], 5]]),
    ),
    ("inner", (np.array([1.0, 2.0]),), lambda a: a @ [1.0, 2.0]),
    ("kron", (np.eye(2),), lambda a: np.kron(a, np.eye(2))),
    ("det", (), np.linalg.det),
    ("logdet", (), lambda a: np.log(np.linalg.det(a)) if np.linalg.det(a) > 0 else np.nan),
    ("inverse", (), np.linalg.inv),
    ("matrix_power", (3,), lambda a: a @ a @ a),
    (
        "addmm",
        (np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]])),
        lambda a: a + [[1.0, 2.0], [3.0, 4.0]],
    ),
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


@pytest.mark.parametrize(
    ("name", "arguments", "numpy"), METHODS, ids=[name for name, _, _ in METHODS]
)
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
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == (
        [0, 1, 3],
        [[2, 1], [1, 0]],
        [1, 2, 1],
    )
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
    np.testing.assert_allclose(
        tg.std(x, dim=0, keepdim=True).tolist(), np.std(x.tolist(), axis=0, ddof=1, keepdims=True)
    )
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
        assert repr(getattr(tg, name)(x.detach(), dim=1)) == repr(
            getattr(x.detach(), name)(dim=1)
        ), name
    with pytest.raises(TypeError, match=r"dim and keepdim are for Tensors.*ndarray.*say axis"):
        tg.sum(np.ones(2), dim=0)
