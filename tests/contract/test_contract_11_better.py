"""Section 11 of the torch.autograd contract: where tracegrad does better, as
docs/torch_compatibility.md says."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import functional, profiler


def through_data(a: Any) -> None:
    a.data.add_(1)


def through_numpy(a: Any) -> None:
    a.detach().numpy()[0] = 7.0


@pytest.mark.parametrize("write", [through_data, through_numpy])
@pytest.mark.parametrize(
    "save", [lambda a: a * a, lambda a: a.sin(), lambda a: a.reshape(2, 1) @ a.reshape(1, 2)]
)
def test_writes_that_torch_does_not_see(
    write: Callable[[Any], None], save: Callable[[Any], Any]
) -> None:
    """A write through .data or a NumPy view of a saved tensor is noticed at backward (torch: a
    wrong gradient)."""
    a = tg.tensor([1.0, 2.0], requires_grad=True)
    y = save(a).sum()
    write(a)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_write_through_an_array_taken_before() -> None:
    """Also where the NumPy view was taken before the value was saved, and where what was saved is a
    result."""
    a = tg.tensor([1.0, 2.0], requires_grad=True)
    view = a.detach().numpy()
    y = (a * a).sum()
    view[0] = 7.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    result = tg.tensor([1.0, 2.0], requires_grad=True).exp()
    y = result.sum()
    result.detach().numpy()[:] = 0.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_harmless_writes_pass() -> None:
    """What no derivative reads may be overwritten: the check is for values, not for all writes."""
    a = tg.tensor([1.0, 2.0], requires_grad=True)
    y = (a + 1).sum()
    a.detach().numpy()[0] = 7.0
    y.backward()
    assert a.grad is not None
    assert np.array_equal(a.grad.numpy(), [1, 1])


def test_compiled_functions_differentiate_to_any_order() -> None:
    """The Hessian, and the third derivative, of a compiled function on the tape (torch.compile:
    zeros, or refused)."""
    f = tg.jit(lambda x: (x**3 * np.sin(x)).sum())
    plain = f.function
    x = tg.tensor([1.0, 2.0])
    np.testing.assert_allclose(
        functional.hessian(f, x).numpy(), functional.hessian(plain, x).numpy(), rtol=1e-12
    )

    def third(g: Any) -> Any:
        z = tg.tensor([1.0, 2.0], requires_grad=True)
        value = g(z)
        for _ in range(3):
            (value,) = tg.autograd.grad(value.sum(), z, create_graph=True)
        return value.detach().numpy()

    compiled = third(f)
    assert np.all(compiled != 0)
    np.testing.assert_allclose(compiled, third(plain), rtol=1e-11)


def test_zero_times_infinity_stays_zero() -> None:
    """A factor 0 in front of an infinite derivative, and the branch not taken, give 0 (torch:
    NaN)."""
    x = tg.tensor([0.0, 4.0], requires_grad=True)
    with np.errstate(divide="ignore"):
        (x.sqrt() * tg.tensor([0.0, 1.0])).sum().backward()
    assert x.grad is not None
    assert np.array_equal(x.grad.numpy(), [0, 0.25])
    x = tg.tensor([-1.0, 4.0], requires_grad=True)
    with np.errstate(invalid="ignore"):
        tg.where(x > 0, x.sqrt(), 0.0).sum().backward()
    assert x.grad is not None
    assert np.array_equal(x.grad.numpy(), [0, 0.25])


def test_default_dtype_is_float64_and_arrays_keep_theirs() -> None:
    """float64 is the default; a tensor of an array has the array's dtype."""
    assert tg.tensor([1.0]).dtype == tg.ones(2).dtype == np.float64
    assert tg.tensor(np.float32([1.5])).dtype == np.float32
    assert tg.from_numpy(np.arange(3, dtype=np.int16)).dtype == np.int16


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        (("int64", "int64"), "float64"),
        (("int64", "float32"), "float64"),
        (("int32", "float32"), "float64"),
        (("int16", "float32"), "float32"),
        (("int64", "complex64"), "complex128"),
    ],
)
def test_promotion_is_that_of_numpy(dtypes: tuple[str, str], expected: str) -> None:
    """int / int is float64, int64 * float32 float64: eager, compiled and plain NumPy agree."""
    a, b = (np.ones(2, dtype) for dtype in dtypes)
    divide = tg.jit(lambda x, y: x / y)
    eager = tg.from_numpy(a) / tg.from_numpy(b)
    assert (a / b).dtype == eager.dtype == divide(a, b).dtype == np.dtype(expected)


def test_every_error_says_what_to_do() -> None:
    """The message ends in advice: what to call, pass or change."""
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Use tensor\.detach\(\)\.numpy\(\) instead"):
        x.numpy()
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()
    with pytest.raises(
        tg.ConcretizationError, match=r"test_contract_11_better\.py:\d+.*Use tg\.where"
    ):
        tg.jit(lambda v: v if v > 0 else -v, stage=False)(1.0)
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        tg.autograd.grad((x * 2).sum(), tg.ones(2, requires_grad=True))


def test_backward_from_several_threads_adds_up() -> None:
    """Passes that end in the same leaf are added without loss (torch: the user's affair)."""
    w = tg.ones(100, requires_grad=True)
    losses = [(w * float(k)).sum() for k in range(40)]
    gate = threading.Barrier(4)

    def run(part: list[Any]) -> None:
        gate.wait()
        for loss in part:
            loss.backward()

    workers = [threading.Thread(target=run, args=(losses[k::4],)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert w.grad is not None
    assert np.array_equal(w.grad.numpy(), np.full(100, float(sum(range(40)))))


def test_no_gradient_shares_memory() -> None:
    """Neither with the given grad_outputs, nor with another gradient (torch hands the same tensor
    on)."""
    x = tg.ones(3, requires_grad=True)
    y = tg.ones(3, requires_grad=True)
    given = tg.ones(3)
    gx, gy = tg.autograd.grad(x + y, (x, y), given)
    assert not np.shares_memory(gx.numpy(), gy.numpy())
    assert not np.shares_memory(gx.numpy(), given.numpy())
    first, second = tg.autograd.grad((x * 2).sum(), (x, x))
    assert first is not second
    (x + 1).backward(given)
    assert x.grad is not None
    x.grad.zero_()
    assert np.array_equal(given.numpy(), [1, 1, 1])


def test_own_times_are_never_negative() -> None:
    """A profile with stacks has operations as rows, and own times that add up to the whole (torch:
    frames, and negative times)."""
    x = tg.ones(3, requires_grad=True)
    with profiler.profile(with_stack=True) as prof:
        (x * x).sum().backward()
    assert all(event.self_cpu_time_total >= 0 for event in prof.function_events)
    top = sum(event.cpu_time_total for event in prof.function_events if event.top_level)
    assert prof.self_cpu_time_total == pytest.approx(top)
    assert not any(".py" in event.name for event in prof.function_events)


def test_no_warning_without_a_reason() -> None:
    """The first steps of a notebook raise no warning at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = tg.ones(2, 2, requires_grad=True)
        ((x + 2) ** 2 * 3).mean().backward()
