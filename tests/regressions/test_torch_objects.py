"""What torch's programs do with classes and dtypes: `tg.Tensor(2, 3)`, dtypes as keys, memory lent
by DLPack."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

DTYPES = ["bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_is_one_object(name: str) -> None:
    dtype = getattr(tg, name)
    x = tg.ones(2, dtype=dtype)
    assert isinstance(dtype, tg.dtype)
    assert x.dtype is dtype
    assert {dtype: 1}[x.dtype] == 1
    assert x.dtype == dtype == getattr(np, name)
    assert np.zeros(2, dtype=dtype).dtype is dtype
    assert np.dtype(dtype) is dtype
    assert np.issubdtype(dtype, np.generic)


def test_results_have_that_object_too() -> None:
    x = tg.ones(2, 2)
    assert (x + 1).dtype is x.mean().dtype is tg.jit(lambda v: v * 2)(x).dtype is tg.float64
    assert x.argmax().dtype is tg.arange(3).dtype is x.max(0).indices.dtype is tg.int64
    assert (x > 0).dtype is tg.bool_
    assert pickle.loads(pickle.dumps(x)).dtype is tg.float64


@pytest.mark.parametrize("code", [">f8", ">i4", "q", "longlong"])
def test_other_spellings_become_that_object(code: str) -> None:
    array = np.arange(3).astype(code)
    for x in (tg.tensor(array), tg.from_numpy(array), tg.as_tensor(array)):
        assert x.dtype is np.dtype(x.dtype.name)
        np.testing.assert_array_equal(x, array)
    same = np.zeros(2, np.longlong)
    tg.from_numpy(same)[0] = 3
    assert same[0] == 3


def test_the_class_takes_sizes() -> None:
    assert tg.Tensor(2, 3).shape == (2, 3)
    assert tg.Tensor(3).shape == tg.Tensor(tg.ones(3).size()).shape == (3,)
    assert tg.Tensor().shape == tg.Tensor(0).shape == (0,)
    assert tg.Tensor(2, 0, 1).dtype is tg.float64


@pytest.mark.parametrize(
    "data", [[1, 2], (1.0, 2.0), [[True], [False]], [tg.tensor(1.0), tg.tensor(2.0)]], ids=repr
)
def test_the_class_takes_lists(data: Any) -> None:
    made = tg.Tensor(data)
    assert made.dtype is tg.float64
    assert not made.requires_grad
    np.testing.assert_array_equal(made, np.array(np.asarray(data), float))
    tg.set_default_dtype(tg.float32)
    try:
        assert tg.Tensor(data).dtype is tg.Tensor(2).dtype is tg.float32
    finally:
        tg.set_default_dtype(tg.float64)


def test_the_class_of_a_tensor_shares_its_memory() -> None:
    x = tg.ones(2, requires_grad=True)
    y = tg.Tensor(x)
    assert not y.requires_grad
    saved = (x * x).sum()
    y[0] = 3.0
    assert x[0] == 3.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.backward()


def test_the_class_is_traced() -> None:
    assert tg.jit(lambda v: v + tg.Tensor([1.0, 2.0]))(tg.ones(2)).tolist() == [2.0, 3.0]
    assert tg.jit(lambda v: tg.Tensor([v[0], v[1]]) * 2)(tg.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "given", [(3.0,), (True,), ("ab",), (2, "a"), (2, 3.5), ([1], [2]), (["a"],)], ids=repr
)
def test_the_class_refuses(given: Any) -> None:
    with pytest.raises(TypeError, match=r"tracegrad\.Tensor"):
        tg.Tensor(*given)
    with pytest.raises(tg.ShapeError, match="negative"):
        tg.Tensor(2, -1)


# --- DLPack ---------------------------------------------------------------------------------------


def by_detach(p: Any) -> Any:
    return np.from_dlpack(p.detach())


def by_data(p: Any) -> Any:
    return np.from_dlpack(p.data)


def by_a_view(p: Any) -> Any:
    return np.from_dlpack(p.detach()[:1])


@pytest.mark.parametrize("lend", [by_detach, by_data, by_a_view])
@pytest.mark.parametrize("first", [True, False], ids=["lent before", "lent after"])
def test_writes_by_dlpack_are_noticed(lend: Any, first: bool) -> None:
    p = tg.tensor([1.0, 3.0], requires_grad=True)
    if first:
        shared = lend(p)
        y = (p * p).sum()
    else:
        y = (p * p).sum()
        shared = lend(p)
    shared *= 10
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_reading_by_dlpack_does_no_harm() -> None:
    p = tg.tensor([1.0, 3.0], requires_grad=True)
    y = (p * p).sum()
    assert np.from_dlpack(p.detach()).sum() == 4.0
    y.backward()
    assert p.grad is not None
    assert p.grad.tolist() == [2.0, 6.0]


def test_unsupported_dtypes_are_refused_from_dlpack() -> None:
    with pytest.raises(tg.DTypeError, match="float16"):
        tg.from_dlpack(np.zeros(2, np.float16))


# --- x.type() -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_the_type_of_a_tensor(name: str) -> None:
    x = tg.ones(2, dtype=getattr(tg, name))
    assert tg.zeros(2).type(x.type()).dtype is x.dtype
    assert tg.zeros(2).type(x.dtype).dtype is x.dtype
    assert tg.zeros(2).type(getattr(np, name)).dtype is x.dtype


def test_type_converts_and_keeps_the_gradient() -> None:
    x = tg.tensor([1.5, 2.5], requires_grad=True)
    y = x.type(tg.float32)
    assert y.type() == "tracegrad.FloatTensor"
    (y * y).sum().backward()
    assert x.grad is not None
    assert (x.grad.tolist(), x.grad.dtype) == ([3.0, 5.0], tg.float64)
    assert x.type("torch.LongTensor").tolist() == [1, 2]
    assert x.type(tg.torch.FloatTensor).dtype is tg.float32
    assert tg.jit(lambda v: v.type(tg.int64))(tg.ones(2)).dtype is tg.int64
    for wrong in ("nonsense", 3, object):
        with pytest.raises((TypeError, tg.DTypeError)):
            x.type(wrong)


def test_printed_types_of_traced_values_are_still_there() -> None:
    seen = []
    tg.jit(lambda v: (seen.append(str(v.type)), v)[1])(np.ones(3))
    assert seen == ["f64[3]"]
    with pytest.raises(tg.ConcretizationError, match=r"f64\[3\]"):
        tg.jit(lambda v: v.numpy())(tg.ones(3))


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles_keep_the_dtype(name: str, dtype: str) -> None:
    """Those of flags became int64, so that `~mask` was a number."""
    x = np.ones((3, 3), getattr(np, dtype))
    for found in (
        getattr(tg, name)(x),
        getattr(tg.tensor(x), name)(),
        tg.jit(getattr(np, name))(x),
    ):
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, getattr(np, name)(x))


@pytest.mark.parametrize(
    "function", [np.median, lambda x: np.quantile(x, 0.3), lambda x: np.percentile(x, 30)]
)
def test_complex_numbers_have_no_median(function: Any) -> None:
    """Their imaginary parts were dropped, with NumPy's warning alone."""
    with pytest.raises(tg.DTypeError, match="no order"):
        function(tg.tensor([1j, 2 + 1j, 0j]))
