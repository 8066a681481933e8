"""What torch refuses in place, duals that are written, and extremes of NaN."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import forward_ad

pytestmark = pytest.mark.usefixtures("kernels_in_python")

# --- changes in place that could not be recorded --------------------------------------------------


def made_in_inference() -> Any:
    with tg.inference_mode():
        return tg.ones(2, 2)


def view_in(mode: Callable[[], Any], leaf: bool = False) -> Any:
    base = tg.ones(2, 2, requires_grad=True)
    base = base if leaf else base * 1
    with mode():
        return base.view(2, 2)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "inference tensor": (
        made_in_inference,
        "Inplace update to inference tensor outside InferenceMode",
    ),
    "its view": (
        lambda: made_in_inference()[:],
        "Inplace update to inference tensor outside InferenceMode",
    ),
    "view made in inference mode": (
        lambda: view_in(tg.inference_mode),
        "created in inference mode",
    ),
    "view made under no_grad": (lambda: view_in(tg.no_grad), "created in no_grad mode"),
    "of a leaf": (lambda: view_in(tg.no_grad, True), "created in no_grad mode"),
    "one of many": (
        lambda: (tg.ones(2, 2, 2, requires_grad=True) * 1).unbind()[0],
        "Output 0 of Unbind",
    ),
    "one of a split": (
        lambda: (tg.ones(2, 2, requires_grad=True) * 1).split(2)[0],
        "Output 0 of Split",
    ),
}
IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda v: v.mul_(2),
    "add_ of a leaf": lambda v: v.add_(tg.ones(2, 2, requires_grad=True)),
    "zero_": lambda v: v.zero_(),
    "copy_": lambda v: v.copy_(tg.zeros(2, 2)),
    "normal_": lambda v: v.normal_(),
    "item": lambda v: v.__setitem__(0, 1.0),
    "operator": lambda v: v.__iadd__(1.0),
    "t_": lambda v: v.t_(),
    "transpose_": lambda v: v.transpose_(0, 1),
    "swapaxes_": lambda v: v.swapaxes_(0, 1),
    "squeeze_": lambda v: v.squeeze_(),
    "unsqueeze_": lambda v: v.unsqueeze_(0),
}


@pytest.mark.parametrize("write", IN_PLACE)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_could_not_be_recorded_is_refused(kind: str, write: str) -> None:
    make, message = REFUSED[kind]
    value = make()
    with pytest.raises(RuntimeError, match=message):
        IN_PLACE[write](value)
    assert value.shape == (2, 2)
    assert value.tolist() == [[1, 1], [1, 1]]
    value = make()
    if "tensor" in kind or kind == "its view":
        with pytest.raises(RuntimeError, match=message), tg.no_grad():
            IN_PLACE[write](value)
    else:
        with tg.no_grad():
            IN_PLACE[write](value)
    with tg.inference_mode():
        IN_PLACE[write](make())


# --- duals ----------------------------------------------------------------------------------------


def dual(history: bool = False) -> Any:
    primal = tg.ones(3, requires_grad=True) * 1 if history else tg.ones(3)
    return forward_ad.make_dual(primal, tg.full((3,), 3.0)).clone()


@pytest.mark.parametrize("history", [False, True])
def test_what_is_detached_in_place_has_no_tangent(history: bool) -> None:
    with forward_ad.dual_level():
        d = dual(history)
        assert d.detach_() is d
        assert forward_ad.unpack_dual(d).tangent is None
        assert forward_ad.unpack_dual(d * 2).tangent is None
        assert not d.requires_grad

    def function(x: Any) -> Any:
        y = x * x
        y.detach_()
        return y * x

    x = tg.tensor([1.0, 2.0])
    for f in (function, tg.jit(function)):
        assert tg.jvp(f, (x,), (tg.ones(2),))[1].tolist() == [1, 4]
        assert tg.jacfwd(f)(x).tolist() == tg.jacrev(f)(x).tolist() == [[1, 0], [0, 4]]


class Doubled(tg.autograd.Function):
    """Doubles its input in place."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        x.mul_(2)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t.mul_(2)


@pytest.mark.parametrize("history", [False, True])
def test_a_dual_that_a_function_writes_is_the_result(history: bool) -> None:
    with forward_ad.dual_level():
        d = dual(history)
        y = Doubled.apply(d)
        assert y is d
        primal, tangent = forward_ad.unpack_dual(d)
        assert primal.tolist() == [2, 2, 2]
        assert tangent.tolist() == [6, 6, 6]
        assert y.requires_grad is history
        z = y * y
        assert forward_ad.unpack_dual(z).tangent.tolist() == [24, 24, 24]


def test_so_are_a_view_of_a_dual_and_its_base() -> None:
    with forward_ad.dual_level():
        base = dual()
        view = base[:2]
        assert Doubled.apply(view) is view
        primal, tangent = forward_ad.unpack_dual(base)
        assert primal.tolist() == [2, 2, 1]
        assert tangent.tolist() == [6, 6, 3]
        assert forward_ad.unpack_dual(view).tangent.tolist() == [6, 6]


def test_gradients_through_a_dual_that_was_written() -> None:
    leaf = tg.ones(3, requires_grad=True)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(leaf * 1, tg.full((3,), 3.0)).clone()
        Doubled.apply(d)
        (d * d).sum().backward()
    assert leaf.grad.tolist() == [8, 8, 8]


# --- extremes of NaN ------------------------------------------------------------------------------

NAN = np.nan


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([NAN, NAN], [0.5, 0.5]),
        ([1.0, NAN, 2.0], [0, 1, 0]),
        ([NAN, 1.0, NAN, 2.0], [0.5, 0, 0.5, 0]),
        ([2.0, 2.0], [0.5, 0.5]),
    ],
)
def test_the_gradient_of_an_extreme_that_is_nan(
    values: list[float], wanted: list[float], name: str, dtype: Any
) -> None:
    x = np.array(values, dtype)
    f = getattr(np, name)
    for g in (
        tg.grad(f),
        tg.jit(tg.grad(f)),
        tg.grad(tg.jit(f)),
        tg.jacfwd(f),
        tg.jit(tg.jacfwd(f)),
    ):
        found = g(x)
        assert found.dtype == dtype
        assert found.tolist() == wanted
    t = tg.tensor(x, requires_grad=True)
    getattr(t, name)().backward()
    assert t.grad.tolist() == wanted
    rows = np.stack([x, np.arange(len(x), dtype=dtype)])
    edge = [0.0] * len(x)
    edge[-1 if "max" in name else 0] = 1.0
    for g in (
        tg.grad(lambda x: np.sum(f(x, axis=1))),
        tg.jit(tg.grad(lambda x: np.sum(f(x, axis=1)))),
    ):
        assert g(rows).tolist() == [wanted, edge]


# --- copies of what is saved ----------------------------------------------------------------------


def test_what_is_saved_is_copied_once_and_let_go() -> None:
    with tg.autograd.graph.allow_mutation_on_saved_tensors() as context:
        leaf = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        x = leaf * 1
        a, b, c = x * x, x * x, x[:2] * x[1:]
        assert len(context.cloned) == 0
        x.add_(1)
        assert sorted(c.tolist() for c in context.cloned.values()) == [[1, 2], [1, 2, 3], [2, 3]]
        x.add_(1)  # nobody has saved this value
        assert len(context.cloned) == 3
        d = x * x
        x.zero_()
        assert len(context.cloned) == 4
        (a.sum() + b.sum() + c.sum() + d.sum()).backward()
        assert leaf.grad.tolist() == [2 * 2 + 2 + 6, 4 * 2 + 4 + 8, 6 * 2 + 2 + 10]


def test_copies_go_with_the_context() -> None:
    with tg.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x = tg.ones(3, requires_grad=True) * 1
        y = x * x
        x.zero_()
        (alive,) = [weakref.ref(kept) for kept in context.cloned.values()]
        assert alive() is not None
        z = x * x
        (saved,) = [weakref.ref(data) for data in context.original.values()]
        del z, x
    gc.collect()
    assert alive() is None
    assert saved() is None
    with pytest.raises(
        RuntimeError, match="outside of the 'allow_mutation_on_saved_tensors' context"
    ):
        y.sum().backward()
