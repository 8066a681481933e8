"""A view that shows all of an array is an array of its own on the same memory; what makes new
arrays shares none.

Once `b[:]` was `b`: a gradient with respect to it was that of `b`, and to reshape it in place
reshaped `b`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

N = 2
Function = Callable[[Any], Any]

OF_BOTH: dict[str, Function] = {
    "x[:]": lambda x: x[:],
    "x[...]": lambda x: x[...],
    "x[()]": lambda x: x[()],
    "x[0:n]": lambda x: x[0:N],
    "x[::1]": lambda x: x[::1],
    "x[-n:]": lambda x: x[-N:],
    "x[0:n + 9]": lambda x: x[0 : N + 9],
    "x[:, ...]": lambda x: x[:, ...],
    "reshape": lambda x: x.reshape(N),
    "reshape -1": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "squeeze": lambda x: x.squeeze(),
    "T": lambda x: x.T,
    "swapaxes": lambda x: x.swapaxes(0, 0),
    "np.reshape": lambda x: np.reshape(x, (N,)),
    "np.ravel": lambda x: np.ravel(x),
    "np.squeeze": lambda x: np.squeeze(x),
    "np.transpose": lambda x: np.transpose(x),
    "np.permute_dims": lambda x: np.permute_dims(x, (0,)),
    "np.moveaxis": lambda x: np.moveaxis(x, 0, 0),
    "np.rollaxis": lambda x: np.rollaxis(x, 0),
    "np.swapaxes": lambda x: np.swapaxes(x, 0, 0),
    "np.broadcast_to": lambda x: np.broadcast_to(x, (N,)),
    "np.expand_dims": lambda x: np.expand_dims(x, ()),
    "np.flip": lambda x: np.flip(x, ()),
    "np.split": lambda x: np.split(x, 1)[0],
    "np.array_split": lambda x: np.array_split(x, [])[0],
    "np.hsplit": lambda x: np.hsplit(x, 1)[0],
    "np.meshgrid": lambda x: np.meshgrid(x, copy=False)[0],
    "np.einsum": lambda x: np.einsum("i->i", x),
    "tg.reshape": lambda x: tg.reshape(x, (N,)),
    "tg.ravel": lambda x: tg.ravel(x),
    "tg.squeeze": lambda x: tg.squeeze(x),
    "tg.permute": lambda x: tg.permute(x, (0,)),
    "tg.expand": lambda x: tg.expand(x, (-1,)),
    "tg.getitem": lambda x: tg.getitem(x, ...),
    "tg.slice_array": lambda x: tg.slice_array(x, (0,), (N,), (1,)),
    "tg.einsum": lambda x: tg.einsum("i->i", x),
}
OF_ARRAYS: dict[str, Function] = {"transpose": lambda x: x.transpose(), "view": lambda x: x.view()}
OF_TENSORS: dict[str, Function] = {
    "narrow": lambda x: x.narrow(0, 0, N),
    "tg.narrow": lambda x: tg.narrow(x, 0, 0, N),
    "view": lambda x: x.view(N),
    "view -1": lambda x: x.view(-1),
    "view_as": lambda x: x.view_as(x),
    "reshape_as": lambda x: x.reshape_as(x),
    "t": lambda x: x.t(),
    "transpose": lambda x: x.transpose(0, -1),
    "permute": lambda x: x.permute(0),
    "movedim": lambda x: x.movedim(0, 0),
    "squeeze 0": lambda x: x.squeeze(0),
    "expand": lambda x: x.expand(-1),
    "expand_as": lambda x: x.expand_as(x),
    "unflatten": lambda x: x.unflatten(0, (N,)),
    "split": lambda x: x.split(N)[0],
    "chunk": lambda x: x.chunk(1)[0],
    "tensor_split": lambda x: x.tensor_split(1)[0],
}
OF_MANY = {"split", "chunk"}
"""torch does not let these be written where the write would be recorded."""
COPIES: dict[str, Function] = {
    "np.tile": lambda x: np.tile(x, 1),
    "np.tile ()": lambda x: np.tile(x, ()),
    "np.repeat": lambda x: np.repeat(x, 1),
    "np.roll": lambda x: np.roll(x, N),
    "np.roll axis": lambda x: np.roll(x, 0, 0),
    "np.pad": lambda x: np.pad(x, 0),
    "np.clip": lambda x: np.clip(x, None, None),
    "np.conj": lambda x: np.conj(x),
    "np.meshgrid": lambda x: np.meshgrid(x)[0],
    "np.astype": lambda x: np.astype(x, x.dtype),
    "np.copy": lambda x: np.copy(x),
    "np.positive": lambda x: np.positive(x),
    "tg.tile": lambda x: tg.tile(x, (1,)),
    "tg.repeat": lambda x: tg.repeat(x, 1),
    "tg.roll": lambda x: tg.roll(x, 0),
    "tg.pad": lambda x: tg.pad(x, 0),
    "tg.clip": lambda x: tg.clip(x),
    "tg.conjugate": lambda x: tg.conjugate(x),
    "index_update of nothing": lambda x: tg.index_update(x, slice(0, 0), x[:0]),
    "index_update of all": lambda x: tg.index_update(x * 0, slice(None), x),
    "index_add_at of nothing": lambda x: tg.index_add_at(x, slice(0, 0), x[:0]),
    "slice_put of nothing": lambda x: tg.slice_put(x, x[:0], (0,), (1,)),
    "F.pad": lambda x: tg.nn.functional.pad(x, (0, 0)),
    "[:] of it": lambda x: _filled(x),
}
COPIES_OF_TENSORS: dict[str, Function] = {
    "repeat": lambda x: x.repeat(1),
    "tile": lambda x: x.tile(1),
    "repeat_interleave": lambda x: x.repeat_interleave(1),
    "roll": lambda x: x.roll(0),
    "flip": lambda x: x.flip(()),
    "diff": lambda x: x.diff(n=0),
    "clone": lambda x: x.clone(),
    "to": lambda x: x.to(x.dtype, copy=True),
}
THEMSELVES: dict[str, Function] = {
    "to": lambda x: x.to(x.dtype),
    "to device": lambda x: x.to("cpu"),
    "type_as": lambda x: x.type_as(x),
    "contiguous": lambda x: x.contiguous(),
    "cpu": lambda x: x.cpu(),
    "double": lambda x: x.double(),
    "real": lambda x: x.real,
    "conj": lambda x: x.conj(),
    "flatten": lambda x: x.flatten(),
    "requires_grad_": lambda x: x.requires_grad_(),
    "atleast_1d": tg.atleast_1d,
    "dropout": lambda x: tg.nn.functional.dropout(x, training=False),
}


def _filled(x: Any) -> Any:
    result = x * 0
    result[:] = x
    return result


def of(*tables: dict[str, Function]) -> Any:
    return [pytest.param(f, id=name) for table in tables for name, f in table.items()]


def tensor(dtype: Any = float) -> Any:
    return tg.tensor([1.0, 5.0], dtype=dtype, requires_grad=True).clone()


views = pytest.mark.parametrize("shown", of(OF_BOTH, OF_TENSORS))
anything = pytest.mark.parametrize("shown", of(OF_BOTH, OF_ARRAYS))


@views
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_a_view_of_a_tensor_has_its_own_place_on_the_tape(shown: Function, dtype: str) -> None:
    x = tensor(dtype)
    v = shown(x)
    assert v is not x
    assert v._base is x
    assert v.grad_fn is not x.grad_fn
    assert v.grad_fn.next_functions[0][0] is x.grad_fn
    (gradient,) = tg.autograd.grad((3 * x + v).real.sum(), v, retain_graph=True)
    assert gradient.tolist() == [1, 1]
    (gradient,) = tg.autograd.grad((3 * x + v).real.sum(), x)
    assert gradient.tolist() == [4, 4]


@views
def test_a_view_of_a_leaf_is_no_leaf(shown: Function) -> None:
    x = tg.tensor([1.0, 5.0], requires_grad=True)
    v = shown(x)
    assert not v.is_leaf
    v.sum().backward()
    assert x.grad.tolist() == [1, 1]
    seen = []
    v = shown(x)
    v.register_hook(lambda g: seen.append(g.tolist()))
    v.retain_grad()
    (v * x).sum().backward()
    assert seen == [[1, 5]]
    assert v.grad.tolist() == [1, 5]
    assert x.grad.tolist() == [3, 11]


@views
def test_memory_and_versions_are_shared_shapes_and_flags_are_not(shown: Function) -> None:
    x = tg.tensor([1.0, 5.0])
    v = shown(x)
    v.mul_(2)
    assert x.tolist() == [2, 10]
    assert x._version == v._version == 1
    x[0] = 7.0
    assert v.tolist() == [7, 10]
    v.unsqueeze_(0)
    assert v.shape == (1, 2)
    assert x.shape == (2,)
    w = shown(x)
    w.requires_grad_()
    assert not x.requires_grad
    assert shown(tg.ones(2)).grad_fn is None


@pytest.mark.parametrize(
    "shown", of(OF_BOTH, {k: f for k, f in OF_TENSORS.items() if k not in OF_MANY})
)
def test_writes_through_a_recorded_view_reach_the_base(shown: Function) -> None:
    leaf = tg.tensor([1.0, 5.0], requires_grad=True)
    x = leaf * 1
    v = shown(x)
    v.mul_(leaf)
    assert x.tolist() == [1, 25]
    x.sum().backward()
    assert leaf.grad.tolist() == [2, 10]
    x = leaf * 1
    y = x * x  # saves x
    shown(x).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("shown", of(THEMSELVES))
def test_what_torch_gives_as_it_is(shown: Function) -> None:
    x = tensor()
    assert shown(x) is x


@pytest.mark.parametrize("copied", of(COPIES, COPIES_OF_TENSORS))
def test_a_new_tensor_shares_no_memory(copied: Function) -> None:
    x = tg.tensor([1.0, 5.0])
    y = copied(x)
    assert y is not x
    y.mul_(2)
    assert x.tolist() == [1, 5]
    assert x._version == 0
    x = tensor()
    y = copied(x)
    (gradient,) = tg.autograd.grad((3 * x + y).sum(), x)
    assert gradient.tolist() == [4, 4]


@pytest.mark.parametrize("copied", of(COPIES))
def test_a_new_array_shares_no_memory(copied: Function) -> None:
    a = np.array([1.0, 5.0])
    assert not np.shares_memory(copied(a), a)


def written(shown: Function) -> Function:
    """What is left of x after a write into what shows it."""

    def function(x: Any) -> Any:
        x = x * 1.0
        v = shown(x)
        assert v is not x
        v[0] = x[1] * 3
        v *= x
        return x

    return function


def expected(views: bool) -> tuple[Any, Any]:
    """The value of `written` at (1, 5), and the Jacobian."""
    return (
        ([225.0, 25.0], [[0.0, 90.0], [0.0, 10.0]])
        if views
        else ([1.0, 5.0], [[1.0, 0.0], [0.0, 1.0]])
    )


TRANSFORMS: dict[str, Callable[[Function, Any], Any]] = {
    "jit": lambda f, x: tg.jit(f)(x),
    "vmap": lambda f, x: tg.vmap(f)(np.stack([x, x]))[1],
    "jit of vmap": lambda f, x: tg.jit(tg.vmap(f))(np.stack([x, x]))[1],
    "jvp": lambda f, x: np.stack([tg.jvp(f, (x,), (t,))[1] for t in np.eye(2)], 1),
    "jacrev": lambda f, x: tg.jacrev(f)(x),
    "jacfwd": lambda f, x: tg.jacfwd(f)(x),
    "jacrev of jit": lambda f, x: tg.jacrev(tg.jit(f))(x),
    "jit of jacfwd": lambda f, x: tg.jit(tg.jacfwd(f))(x),
    "grad": lambda f, x: np.stack([tg.grad(lambda x: f(x)[k])(x) for k in range(2)]),  # noqa: B023
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("kind", ["views", "copies"])
def test_writes_into_them_under_transforms(transform: str, kind: str) -> None:
    """All of a kind in one function, whose results are compared one by one."""
    table = {**OF_BOTH, **OF_ARRAYS} if kind == "views" else COPIES
    table = {name: f for name, f in table.items() if f(np.ones(2)).flags.writeable}
    functions = {name: written(f) for name, f in table.items()}
    value, jacobian = expected(kind == "views")
    x = np.array([1.0, 5.0])
    wanted = np.array(value if transform in ("jit", "vmap", "jit of vmap") else jacobian)
    if "jit" in transform:
        # One compilation for all of them.
        def all_of_them(x: Any) -> Any:
            return np.concatenate([f(x) for f in functions.values()])

        found = np.asarray(TRANSFORMS[transform](all_of_them, x))
        results = {name: found[2 * k : 2 * k + 2] for k, name in enumerate(functions)}
    else:
        results = {name: np.asarray(TRANSFORMS[transform](f, x)) for name, f in functions.items()}
    assert [name for name, r in results.items() if not np.array_equal(r, wanted)] == []


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_numpy_shows_for_reading_is_not_written(transform: str) -> None:
    table = {**OF_BOTH, **OF_ARRAYS}
    shown = [f for f in table.values() if not f(np.ones(2)).flags.writeable]
    assert shown
    for f in shown:
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            TRANSFORMS[transform](written(f), np.array([1.0, 5.0]))


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@views
def test_gradients_of_views_of_tensors_inside_functions(shown: Function, jitted: bool) -> None:
    def function(x: Any) -> Any:
        b = x * 1
        v = shown(b)
        return tg.autograd.grad((3 * b + v).sum(), v)[0]

    x = tg.tensor([1.0, 5.0], requires_grad=True)
    assert (tg.jit(function) if jitted else function)(x).tolist() == [1, 1]


def test_a_batch_that_covers_the_rest_is_like_any_other() -> None:
    for n in (4, 5):
        x = tg.arange(n).double()
        for k in range(0, n, 4):
            batch = x[k : k + 4]
            batch.unsqueeze_(1)
            batch += 1
        assert x.shape == (n,)
        assert x.tolist() == [k + 1 for k in range(n)]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2, 3), (0,), (2, 0)])
def test_every_rank_and_no_elements(shape: tuple[int, ...]) -> None:
    x = tg.ones(shape, requires_grad=True).clone()
    everything = [x[...], x[(slice(None),) * len(shape)], x.reshape(shape), x.view(shape)]
    everything += [x.permute(*range(len(shape))), x.expand(shape), np.broadcast_to(x, shape)]
    for v in everything:
        assert v is not x
        assert v._base is x
        assert v.shape == shape
        v += 1
    assert (x == 1 + len(everything)).all()


def test_a_single_number_expanded_may_be_written_where_it_is_one() -> None:
    x = tg.tensor(3.0)
    v = x.expand(1, 1)
    v.fill_(7.0)
    assert x.item() == 7
    assert x._version == 1
    with pytest.raises(RuntimeError, match="more than one element"):
        x.expand(2).fill_(1.0)
    y = tg.tensor(3.0, requires_grad=True)
    y.expand(2, 3).sum().backward()
    assert y.grad.item() == 6


def test_a_copy_keeps_every_bit() -> None:
    x = tg.tensor([complex(np.inf, 1), complex(1, -np.inf), complex(-0.0, np.nan)])
    assert x.clone().detach().numpy().tobytes() == x.numpy().tobytes()
    assert tg.tensor([True, False]).clone().tolist() == [True, False]


def test_options_behind_any_number_of_arguments_are_read() -> None:
    """`np.meshgrid(v, w, indexing="ij")` once was that of "xy", and einsum's `out=` stayed as it
    was."""
    v, w = np.array([1.0, 2.0]), np.arange(3.0)

    def into(v: Any) -> Any:
        out = v[:, None] * np.zeros((2, 3))
        np.einsum("i,j->ij", v, w, out=out, optimize=True)
        return out

    functions: list[Function] = [
        lambda v: np.meshgrid(v, w, indexing="ij")[0],
        lambda v: np.meshgrid(v, w, indexing="ij", sparse=True)[0],
        lambda v: np.meshgrid(w, v, v, indexing="xy")[2],
        lambda v: np.einsum("i,j->ij", v, w, optimize=True),
        into,
    ]
    for f in functions:
        assert np.array_equal(tg.jit(f)(v), f(v))
        tangent = tg.jvp(f, (v,), (np.ones(2),))[1]
        assert np.allclose(tangent, f(v + 1) - f(v))
