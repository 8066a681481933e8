"""A view tells of what was written into its base, whoever asks: its flags, hooks, transforms of a
function that returns it.

Once a view that a function returned without using it first had the value from after a write and the
derivative from before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Function = Callable[[Any], Any]
X = np.array([1.0, 2.0, 3.0])


def slice_of_slice_write(x: Any) -> Any:
    b = x * 0
    v = b[:2]
    b[:2] = x[:2] * x[:2]
    return v


def all_of_it(x: Any) -> Any:
    b = x * 0
    v = b[:]
    b += x * x
    return v


def of_a_constant(x: Any) -> Any:
    b = tg.zeros(3)
    v = b[:2]
    b += x * x
    return v


def of_a_view(x: Any) -> Any:
    b = x * 0
    v = b.reshape(3, 1).T[0, ::2]
    w = b[1:]
    w *= 5.0
    b += x * x
    return v


def in_a_tree(x: Any) -> Any:
    return slice_of_slice_write(x)


def of_zeros_like(x: Any) -> Any:
    b = np.zeros_like(x)
    v = b[1:]
    b[1] = x[0] * x[1]
    return v


FUNCTIONS = [slice_of_slice_write, all_of_it, of_a_constant, of_a_view, of_zeros_like]
FORMULAS: dict[Function, Function] = {
    slice_of_slice_write: lambda x: x[:2] * x[:2],
    all_of_it: lambda x: x * x,
    of_a_constant: lambda x: x[:2] * x[:2],
    of_a_view: lambda x: x[::2] * x[::2],
    of_zeros_like: lambda x: np.stack([x[0] * x[1], x[1] * 0]),
}
JACOBIANS: dict[str, Callable[[Function], Function]] = {
    "jacrev": tg.jacrev,
    "jacfwd": tg.jacfwd,
    "jacrev of jit": lambda f: tg.jacrev(tg.jit(f)),
    "jit of jacrev": lambda f: tg.jit(tg.jacrev(f)),
    "jacfwd of jit": lambda f: tg.jacfwd(tg.jit(f)),
    "jacrev of vmap": lambda f: lambda x: tg.jacrev(lambda x: tg.vmap(f)(x[None])[0])(x),
    "jacrev of checkpoint": lambda f: tg.jacrev(tg.checkpoint(f)),
    "jacrev of cond": lambda f: tg.jacrev(lambda x: tg.cond(x[0] > 0, f, f, x)),
    "jacrev of loop": lambda f: tg.jacrev(
        lambda x: tg.scan(lambda c, _: (c, f(x)), 0.0, np.arange(1.0))[1][0]
    ),
    "jvp": lambda f: lambda x: np.stack([tg.jvp(f, (x,), (t,))[1] for t in np.eye(3)], 1),
    "linearize": lambda f: lambda x: np.stack([tg.linearize(f, x)[1](t) for t in np.eye(3)], 1),
    "vjp": lambda f: (
        lambda x: (lambda out, pull: np.stack([pull(t)[0] for t in np.eye(len(out))]))(
            *tg.vjp(f, x)
        )
    ),
    "custom_vjp": lambda f: tg.jacrev(with_rule(f)),
}


def with_rule(f: Function) -> Function:
    """`f` with a rule of its own, whose residual and cotangents are views."""
    ruled = tg.custom_vjp(lambda x: f(x))

    def forward(x: Any) -> Any:
        return f(x), x

    def backward(x: Any, ct: Any) -> Any:
        return (tg.vjp(FORMULAS[f], x)[1](ct)[0],)

    ruled.defvjp(forward, backward)
    return ruled


@pytest.mark.parametrize("transform", JACOBIANS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_view_that_is_returned(function: Function, transform: str) -> None:
    wanted = tg.jacrev(FORMULAS[function])(X)
    assert np.array_equal(JACOBIANS[transform](function)(X), wanted)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_view_of_a_tensor_that_is_returned(function: Function) -> None:
    x = tg.tensor(X)
    wanted = tg.jacrev(FORMULAS[function])(X)
    for f in (function, tg.jit(function)):
        assert np.array_equal(tg.autograd.functional.jacobian(f, x), wanted)
        assert np.array_equal(tg.autograd.functional.jacobian(f, x, vectorize=True), wanted)
        leaf = tg.tensor(X, requires_grad=True)
        f(leaf).sum().backward()
        assert np.array_equal(leaf.grad, wanted.sum(0))


@pytest.mark.parametrize("transform", [lambda f: f, tg.jacfwd])
def test_values_of_views_of_arrays(transform: Callable[..., Any]) -> None:
    seen = []

    def function(x: Any) -> Any:
        b = x * 1.0
        v, w = b[:1], b[1:2]
        b[0], b[1] = 0.0, 7.0
        seen.append(bool(v))
        return np.sum(w)

    transform(function)(X)
    assert seen
    assert not any(seen)


@pytest.mark.parametrize(
    "transform", [tg.grad, lambda f: tg.grad(tg.jit(f)), lambda f: tg.jit(tg.grad(f))]
)
def test_a_number_that_is_returned(transform: Callable[..., Any]) -> None:
    def first(x: Any) -> Any:
        b = x * 0
        v = b[0]
        b[0] = x[0] ** 2 * x[1]
        return v

    assert transform(first)(tg.tensor(X)).tolist() == [4, 1, 0]


class Double(tg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct * 2


READERS: dict[str, Function] = {
    "mul": lambda v: v * 2,
    "jit": lambda v: tg.jit(lambda v: v * 2)(v),
    "jit of a tree": lambda v: tg.jit(lambda t: t["v"] * 2)({"v": v}),
    "jit around": lambda v: tg.jit(lambda: v * 2)(),
    "checkpoint": lambda v: tg.checkpoint(lambda v: v * 2)(v),
    "utils.checkpoint": lambda v: tg.utils.checkpoint.checkpoint(lambda v: v * 2, v),
    "Function": lambda v: Double.apply(v),
    "cat": lambda v: tg.cat([v, v]),
    "scan": lambda v: tg.scan(lambda c, x: (c + x, 2 * x), 0.0, v)[1],
    "cond": lambda v: tg.cond(True, lambda v: v * 2, lambda v: v, v),
    "NumPy": lambda v: np.multiply(v, 2),
    "unbind": lambda v: v.unbind()[0],
    "vmap": lambda v: tg.vmap(lambda v: v * 2)(v),
    "clone": lambda v: v.clone(),
    "stack": lambda v: tg.stack([v]),
}


def stale() -> tuple[Any, Any]:
    """A view of a constant, into which something with a history was written; and that."""
    r = tg.tensor(X, requires_grad=True)
    base = tg.ones(3)
    view = base[:2]
    base.mul_(r)
    return view, r


@pytest.mark.parametrize("reader", READERS)
def test_a_view_that_is_read_first_by(reader: str) -> None:
    view, r = stale()
    out = READERS[reader](view)
    assert out.requires_grad
    out.sum().backward()
    assert r.grad[0] != 0


def test_what_a_view_says_of_itself() -> None:
    view, _ = stale()
    assert view.requires_grad
    view, _ = stale()
    assert view.grad_fn.name() == "AsStridedBackward0"
    view, _ = stale()
    assert not view.is_leaf
    view, r = stale()
    seen = []
    view.register_hook(lambda g: seen.append(g.tolist()))
    view.retain_grad()
    view.sum().backward()
    assert seen == [[1, 1]]
    assert view.grad.tolist() == [1, 1]
    assert r.grad.tolist() == [1, 1, 0]
    view, r = stale()
    view.backward(tg.ones(2))
    assert r.grad.tolist() == [1, 1, 0]
    view, r = stale()
    assert tg.autograd.grad(view.sum(), view)[0].tolist() == [1, 1]
    view, r = stale()
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
        view.requires_grad_(False)
    with pytest.raises(RuntimeError, match="numpy"):
        stale()[0].numpy()


# --- the flag -------------------------------------------------------------------------------------


def test_the_flag_is_set_for_leaves_only() -> None:
    y = tg.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    assert y.requires_grad
    y.requires_grad = True
    x = tg.ones(2)
    x.requires_grad = True
    (x * x).sum().backward()
    x.requires_grad = False
    assert not (x * x).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        tg.arange(3).requires_grad = True
    with tg.inference_mode():
        made = tg.ones(2)
    with pytest.raises(RuntimeError, match="inference"):
        made.requires_grad = True


@pytest.mark.parametrize("value", ["yes", 1, None, 0.0, [True]], ids=repr)
def test_the_flag_is_a_bool(value: Any) -> None:
    x = tg.ones(2)
    with pytest.raises(
        TypeError, match=f"requires_grad must be a bool, but got {type(value).__name__}"
    ):
        x.requires_grad = value
    with pytest.raises(TypeError, match="must be a bool"):
        x.requires_grad_(value)
    x.requires_grad = np.True_
    assert x.requires_grad is True


@pytest.mark.parametrize(
    "name",
    ["requires_grad", "grad_fn", "is_leaf", "output_nr", "data", "shape", "dtype", "_version", "T"],
)
def test_nothing_of_a_tensor_is_deleted(name: str) -> None:
    x = tg.ones(2, requires_grad=True)
    with pytest.raises(AttributeError):
        delattr(x, name)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    (x * x).sum().backward()
    del x.grad
    assert x.grad is None


@pytest.mark.parametrize("name", ["grad_fn", "is_leaf", "output_nr"])
def test_the_place_on_the_tape_is_read_only(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(tg.ones(2, requires_grad=True), name, None)


# --- leaves that are views ------------------------------------------------------------------------

WRITES: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda y: y.mul_(2),
    "add_ of a leaf": lambda y: y.add_(tg.ones(2, requires_grad=True)),
    "item": lambda y: y.__setitem__(0, 5.0),
    "all": lambda y: y.__setitem__(slice(None), 5.0),
    "mask": lambda y: y.__setitem__(y > 0, 5.0),
    "operator": lambda y: y.__imul__(2),
    "zero_": lambda y: y.zero_(),
    "copy_": lambda y: y.copy_(tg.zeros(2)),
    "normal_": lambda y: y.normal_(),
    "unsqueeze_": lambda y: y.unsqueeze_(0),
    "t_": lambda y: y.t_(),
    "of a view": lambda y: y[:1].mul_(2),
    "shape of a view": lambda y: y[:1].unsqueeze_(0),
    "np.copyto": lambda y: np.copyto(y, 3.0),
    "out=": lambda y: np.multiply(y, 2, out=y),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("of", ["slice", "all", "view of view"])
def test_a_leaf_that_is_a_view_of_a_constant_is_not_written(write: str, of: str) -> None:
    base = tg.ones(4)
    y = {"slice": base[:2], "all": base[:2][:], "view of view": base.reshape(2, 2)[0]}[of]
    y.requires_grad_()
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ):
        WRITES[write](y)
    assert base.tolist() == [1, 1, 1, 1]
    assert y.is_leaf
    assert y.shape == (2,)
    if "shape" not in write and write not in ("unsqueeze_", "t_"):
        with tg.no_grad():
            WRITES[write](y)
        assert y.is_leaf
        assert y.requires_grad


def test_writes_beside_a_leaf_that_is_a_view() -> None:
    base = tg.ones(4)
    y = base[:2]
    y.requires_grad_()
    base[1:3].mul_(3)  # of another view, as in torch
    assert y.tolist() == [1, 3]
    assert y.is_leaf
    base.mul_(tg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True))
    assert y.tolist() == [1, 6]
    assert not y.is_leaf  # it shows what the write made


def test_numpy_without_recording() -> None:
    x = tg.ones(2, requires_grad=True)
    for value in (x, x * 1):
        with tg.no_grad():
            assert value.numpy().tolist() == np.asarray(value).tolist() == [1, 1]
        for read in (lambda v: v.numpy(), np.asarray, np.array):
            with pytest.raises(RuntimeError, match="numpy"):
                read(value)
    with tg.no_grad():
        x.numpy()[0] = 5.0
    assert x.tolist() == [5, 1]
