"""Where Tensors lie: making them on a device, moving and sharing them, memory, errors."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cuda.common import X, same_on_both
from tracegrad.devices import DeviceArray, from_host, resolve
from tracegrad.devices.pool import pool_of, size_class

D = "cuda"


def on_device(x: Any = X, **options: Any) -> tg.Tensor:
    return tg.tensor(x, device=D, **options)


# --- arrays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int8", "uint64", "bool", "complex64", "complex128"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
def test_there_and_back(dtype: str, shape: tuple[int, ...]) -> None:
    there = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    x = from_host(resolve(D), there)
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes) == (
        shape,
        there.dtype,
        there.ndim,
        there.size,
        there.nbytes,
    )
    for back in (
        x.copy_to_host(),
        x.copy().copy_to_host(),
        pickle.loads(pickle.dumps(x)).copy_to_host(),
        copy.deepcopy(x).copy_to_host(),
    ):
        assert back.dtype == there.dtype
        np.testing.assert_array_equal(back, there)


VIEWS = {
    "whole": lambda v: v[...],
    "turned": lambda v: v.transpose((2, 0, 1)),
    "backwards": lambda v: v[:, ::-1],
    "backwards in all": lambda v: v[::-1, ::-1, ::-1],
    "row": lambda v: v[1],
    "column": lambda v: v[:, :, 2],
    "element": lambda v: v[1, 2, 3, ...],
    "new axes": lambda v: v[None, :, 1:, None, ::2],
    "nothing": lambda v: v[:, 3:],
    "all of it": lambda v: v[()],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    """Views share memory, are copied rightly in any order of memory, and can be written through."""
    there = np.arange(24.0).reshape(2, 3, 4)
    x = from_host(resolve(D), there)
    shown, expected = VIEWS[name](x), VIEWS[name](there)
    assert (shown.shape, shown.strides) == (expected.shape, expected.strides)
    assert shown.size == 0 or shown.shares_memory(x)
    np.testing.assert_array_equal(shown.copy_to_host(), expected)
    np.testing.assert_array_equal(shown.copy().copy_to_host(), expected)
    shown.fill_from(from_host(resolve(D), -expected))
    expected *= -1
    np.testing.assert_array_equal(x.copy_to_host(), there)


def test_views_that_overlap_are_copied_in_order() -> None:
    there = np.arange(10.0)
    x = from_host(resolve(D), there)
    x[::-1].fill_from(x)
    np.testing.assert_array_equal(x.copy_to_host(), there[::-1])
    x = from_host(resolve(D), there)
    x[2:].fill_from(x[:-2])
    np.testing.assert_array_equal(x.copy_to_host(), [0, 1, 0, 1, 2, 3, 4, 5, 6, 7])
    assert x.reshape((2, 5)) is not None
    assert x[::2].reshape((5, 1)) is not None
    assert from_host(resolve(D), X).transpose().reshape((6,)) is None
    with pytest.raises(ValueError, match="cannot reshape"):
        x.reshape((3, 3))
    with pytest.raises(TypeError, match="takes integers, slices, None and Ellipsis"):
        x[np.array([1])]


def test_numpy_cannot_read_it() -> None:
    x = on_device()
    for read in (lambda: np.asarray(x), lambda: np.array(x), x.numpy, lambda: np.asarray(x._data)):
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
            read()
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.sin(x._data)
    np.testing.assert_array_equal(x.numpy(force=True), X)
    np.testing.assert_array_equal(x.cpu().numpy(), X)


# --- making and moving ----------------------------------------------------------------------------


def test_constructors() -> None:
    makers = [
        lambda d: tg.zeros(2, 3, device=d),
        lambda d: tg.ones((2,), device=d),
        lambda d: tg.full((2,), 3, device=d),
        lambda d: tg.eye(2, 3, device=d),
        lambda d: tg.arange(1, 7, 2, device=d),
        lambda d: tg.linspace(0, 1, 3, device=d, dtype=np.float32),
        lambda d: tg.tensor([[1, 2], [3, 4]], device=d),
        lambda d: tg.as_tensor(np.ones(2, np.float32), device=d),
        lambda d: tg.rand(3, device=d),
        lambda d: tg.randn(2, 2, device=d),
        lambda d: tg.randint(5, size=(4,), device=d),
        lambda d: tg.zeros_like(tg.ones(2, dtype=np.int16), device=d),
    ]
    for make in makers:
        tg.manual_seed(1)
        a = make("cpu")
        tg.manual_seed(1)
        b = make(D)
        assert (b.is_cuda, b.is_cpu, str(b.device), b.get_device()) == (True, False, "cuda:0", 0)
        assert (a.dtype, a.tolist()) == (b.dtype, b.tolist())
    x = on_device()
    assert tg.empty(2, 3, device=D).shape == (2, 3)
    for made in (
        tg.zeros_like(x),
        tg.rand_like(x),
        tg.full_like(x, 2),
        x.new_zeros(2),
        x.new_tensor([1.0]),
        x.new_full((2,), 1.0),
        tg.tensor(x),
    ):
        assert made.is_cuda
    assert tg.ones_like(x, device="cpu").is_cpu
    leaf = tg.zeros(2, device=D, requires_grad=True)
    assert leaf.is_leaf
    assert leaf.requires_grad


def test_to() -> None:
    x = on_device()
    assert (
        x
        is x.to("cuda")
        is x.to("cuda:0")
        is x.cuda()
        is x.cuda(0)
        is x.to(tg.device(0))
        is x.to(x)
        is x.to(np.float64)
    )
    assert x.to(D, copy=True).data_ptr() != x.data_ptr()
    for moved in (x.cpu(), x.to("cpu"), x.to(device="cpu"), x.to(tg.ones(1))):
        assert moved.is_cpu
        np.testing.assert_array_equal(moved.numpy(), X)
    both = tg.ones(2).to("cuda", np.float32)
    assert (both.is_cuda, both.dtype) == (True, np.dtype(np.float32))
    with pytest.raises(RuntimeError, match=r"there is no device cuda:7; this machine has 1 GPU"):
        x.to("cuda:7")


def test_moving_is_differentiable() -> None:
    """A gradient goes back the way that its value came, and lies where its leaf does."""
    x = tg.tensor(X, requires_grad=True)
    y = (x * 2).cuda()
    assert y.grad_fn.name() == "ToCopyBackward0"
    z = (y.sin() * y).cpu().sum()
    z.backward()
    twin = tg.tensor(X, requires_grad=True)
    ((twin * 2).sin() * (twin * 2)).sum().backward()
    assert x.grad.is_cpu
    np.testing.assert_allclose(x.grad.numpy(), twin.grad.numpy(), rtol=1e-12)
    w = on_device(requires_grad=True)
    (g,) = tg.autograd.grad((w.cpu() ** 3).sum(), w, create_graph=True)
    assert g.is_cuda
    (h,) = tg.autograd.grad(g.sum(), w)
    np.testing.assert_allclose(h.cpu().numpy(), 6 * X, rtol=1e-12)
    out, tangent = tg.jvp(lambda v: v.cuda() * 3, (tg.tensor(X),), (tg.tensor(X),))
    assert out.is_cuda
    assert tangent.is_cuda
    np.testing.assert_allclose(tangent.cpu().numpy(), 3 * X)


def test_numbers_and_text() -> None:
    x = on_device([3.0])
    assert (float(x), int(x), bool(x), x.item(), x.tolist(), complex(x)) == (
        3.0,
        3,
        True,
        3.0,
        [3.0],
        3 + 0j,
    )
    assert list(range(on_device(2))) == [0, 1]
    assert f"{on_device(2.0):.2f}" == "2.00"
    assert repr(x) == "tensor([3.], device='cuda:0')"
    assert (
        repr(on_device([1, 2]).to(np.int8))
        == "tensor([1, 2], device='cuda:0', dtype=tracegrad.int8)"
    )
    assert "device='cuda:0', requires_grad=True" in repr(on_device(requires_grad=True))


def test_copies_and_pickles() -> None:
    x = on_device(requires_grad=True)
    (x * 2).sum().backward()
    twin = copy.deepcopy(x)
    assert twin.is_cuda
    assert twin.grad.is_cuda
    with tg.no_grad():
        twin.add_(1)
    again = pickle.loads(pickle.dumps(x))
    assert (again.is_cuda, again.requires_grad, again.tolist()) == (True, True, X.tolist())
    assert x.detach().data_ptr() == x.data_ptr()
    assert (x.stride(), x.T.stride(), x[1].storage_offset()) == ((3, 1), (1, 3), 3)
    assert not x.T.is_contiguous()
    assert x.T.contiguous().is_contiguous()
    assert x.view(6).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.detach().T.view(6)


# --- mixing ---------------------------------------------------------------------------------------


def test_tensors_of_two_devices_do_not_mix() -> None:
    x, there = on_device(), tg.tensor(X)
    f = tg.jit(lambda a, b: a * b)
    message = "Expected all tensors to be on the same device, but found at least two devices"
    for mix in (
        lambda: x + there,
        lambda: there * x,
        lambda: np.maximum(x, there),
        lambda: tg.concatenate([x, there]),
        lambda: x @ there.T,
        lambda: f(x, there),
        lambda: f(x, X),
        lambda: tg.jit(lambda a: a * there)(x),
    ):
        with pytest.raises(RuntimeError, match=message):
            mix()
    with pytest.raises(
        RuntimeError, match=r"\(operand 1 \(y\) of add is on cpu; move it with \.to\('cuda:0'\)\)"
    ):
        x + there
    with pytest.raises(
        RuntimeError, match=r"test_devices.py:\d+: .*operand 1 \(b\) of <lambda> is on cpu"
    ):
        f(x, there)


def test_gradients_lie_where_their_tensors_do() -> None:
    x, there = on_device(requires_grad=True), tg.tensor(X)
    with pytest.raises(
        RuntimeError,
        match=r"grad_output\[0\] is on cpu and output\[0\] on cuda:0: expected all tensors",
    ):
        (x * 2).backward(there)
    with pytest.raises(
        RuntimeError,
        match=(
            "assigned grad has data located on a different device: it is on cpu, "
            "the tensor on cuda:0"
        ),
    ):
        x.grad = there
    (x * 2).backward(X)  # an array of NumPy is a constant
    assert x.grad.is_cuda
    with pytest.raises(
        RuntimeError, match="Expected one of cpu, cuda device type at start of device string: tpu"
    ):
        x.to("tpu")


def test_what_was_compiled() -> None:
    """`source`, `graphs` and `memory` for arguments on a device, with steps of the host."""
    f = tg.jit(
        tg.value_and_grad(
            lambda a: (
                np.linalg.solve(a, a[0]).sum()
                + tg.while_loop(lambda c: c.sum() < 50, lambda c: c * c, a).sum()
            )
        )
    )
    a = on_device(np.eye(5) * 2 + 1)
    source = f.source(a)
    stages = [stage.name for stage in f.programs(a)]
    assert "registers" in stages
    # Those are for few threads with caches of their own.
    assert not {"fuse copies", "batch blocks", "tile"} & set(stages)
    for part in (
        "# The host:",
        "small_solve(",
        "is fetched from the device",
        "= memory for float64[",
        "from numba import cuda",
        "cuda.threadIdx",
    ):
        assert part in source
    assert "threadIdx" not in f.source(a.cpu())
    assert "return" in str(f.graphs(a)[1])
    memory = f.memory(a)
    assert (memory.arguments, memory.results) == (200, 208)
    assert memory.temporaries > 0
    assert memory.counted


def test_several_threads() -> None:
    """Threads that trace, compile and run at once, eagerly and compiled."""
    f = tg.jit(tg.grad(lambda v: (v.sin() * v).sum()))

    def work(k: int) -> None:
        for n in (3, 5, 4):
            y = on_device(np.arange(1.0, n) + k)
            here = y.cpu()
            np.testing.assert_allclose(
                (f(y) + y * 2).cpu().numpy(),
                (here.sin() + here * here.cos() + here * 2).numpy(),
                rtol=1e-12,
            )

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(6)))


def test_numbers_and_arrays_of_numpy_mix() -> None:
    """Python's and NumPy's numbers, 0-d Tensors of the CPU; ndarrays are constants."""

    def mixed(device: str, x: Any) -> Any:
        return [
            x + 1,
            2.5 * x,
            x * tg.tensor(3.0),
            x - np.float64(1),
            np.float32(2) * x,
            x * X,
            X - x,
            tg.where(x > 2, x, 0.0),
        ]

    same_on_both(mixed, X)
    same_on_both(mixed, X.astype(np.float32))


# --- memory ---------------------------------------------------------------------------------------


def test_memory_is_taken_again() -> None:
    gc.collect()
    tg.cuda.empty_cache()
    tg.cuda.reset_peak_memory_stats()
    before, reserved = tg.cuda.memory_allocated(), tg.cuda.memory_reserved()
    x = tg.zeros(1000, device=D)
    address = x.data_ptr()
    assert tg.cuda.memory_allocated() == before + size_class(8000) == tg.cuda.max_memory_allocated()
    view = x[10:]
    del x
    assert tg.cuda.memory_allocated() == before + size_class(8000)
    del view
    assert tg.cuda.memory_allocated() == before
    assert tg.cuda.memory_reserved() == reserved + size_class(8000) == tg.cuda.max_memory_reserved()
    assert tg.zeros(999, device=D).data_ptr() == address
    tg.cuda.empty_cache()
    assert tg.cuda.memory_reserved() == reserved
    for nbytes in (0, 1, 512, 513, 4097, 10**6, 10**9 + 1):
        assert nbytes <= size_class(nbytes) <= max(512, nbytes * 1.125 + 512)


def test_no_memory_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracegrad.devices import driver

    def refuse(index: int, nbytes: int) -> Any:
        raise MemoryError

    pool = pool_of(0)
    monkeypatch.setattr(driver(), "allocate", refuse)
    with pytest.raises(
        MemoryError, match=r"cuda:0 has no memory for 123456789 bytes: arrays take \d+ bytes"
    ):
        pool.take(123456789)


def test_the_device_answers() -> None:
    assert tg.cuda.is_available()
    assert tg.cuda.device_count() >= 1
    assert tg.cuda.current_device() == 0
    assert tg.cuda.get_device_name()
    assert len(tg.cuda.get_device_capability("cuda:0")) == 2
    assert len(tg.cuda.mem_get_info(0)) == 2
    tg.cuda.synchronize()
    with pytest.raises(ValueError, match="Expected a cuda device"):
        tg.cuda.memory_allocated("cpu")


# --- other libraries ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "bool", "complex64"])
def test_dlpack_shares_memory(dtype: str) -> None:
    x = on_device(X.astype(dtype))
    y = tg.from_dlpack(x.T)
    assert (y.data_ptr(), y.shape, y.stride(), y.dtype, y.device) == (
        x.data_ptr(),
        (3, 2),
        (1, 3),
        x.dtype,
        x.device,
    )
    y[0, 1] = 0
    assert x.tolist()[1][0] == 0
    assert x.__dlpack_device__() == (2, 0)


def test_dlpack_keeps_memory_alive() -> None:
    gc.collect()
    before = tg.cuda.memory_allocated()
    x = on_device()
    y = tg.from_dlpack(x)
    del x
    gc.collect()
    assert y.tolist() == X.tolist()
    del y
    capsule = on_device().__dlpack__()
    del capsule
    gc.collect()
    assert tg.cuda.memory_allocated() == before
    assert tg.from_dlpack(on_device(1.0).expand(3)).tolist() == [1, 1, 1]
    with pytest.raises(BufferError, match="require gradient"):
        on_device(requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match=r"lies on cuda:0; copy it with \.cpu\(\)"):
        on_device().__dlpack__(dl_device=(1, 0))


def test_dlpack_on_the_cpu() -> None:
    x = tg.ones(2)
    tg.from_dlpack(x)[0] = 3
    assert np.from_dlpack(x)[0] == 3
    with pytest.raises(TypeError, match="from_dlpack expects an array"):
        tg.from_dlpack([1.0])


def test_cuda_array_interface() -> None:
    class Other:
        def __init__(self, of: tg.Tensor) -> None:
            self.of = of
            self.__cuda_array_interface__ = of.__cuda_array_interface__

    x = on_device()
    described = x.T.__cuda_array_interface__
    assert (described["shape"], described["strides"], described["typestr"], described["data"]) == (
        (3, 2),
        (8, 24),
        "<f8",
        (x.data_ptr(), False),
    )
    shared = tg.as_tensor(Other(x.T))
    assert (shared.data_ptr(), shared.tolist()) == (x.data_ptr(), X.T.tolist())
    assert tg.tensor(Other(x)).data_ptr() != x.data_ptr()
    assert not hasattr(tg.ones(2), "__cuda_array_interface__")
    assert isinstance(x._data, DeviceArray)
    with pytest.raises(RuntimeError, match="requires grad"):
        on_device(requires_grad=True).__cuda_array_interface__  # noqa: B018


def test_failures_are_told_where_something_waits() -> None:
    """A wrong index is found by the kernel: the call returns, and asking for a value raises. Then
    all is well again."""
    x = on_device([1.0, 2.0, 3.0])
    y = x[on_device([5])]
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size"):
        y.cpu()
    y = x[on_device([-4])]
    with pytest.raises(IndexError, match="out of bounds"):
        tg.cuda.synchronize()
    assert x[on_device([-1])].item() == 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tg.cuda.synchronize()
