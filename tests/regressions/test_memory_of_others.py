"""Tensors on memory that somebody else writes, by NumPy, between the forward pass and the backward
pass: the derivative is that of what they held, or it is refused. Here are all ways in which a
Tensor comes to lie on such memory, and all ways in which it is used."""

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
import tracegrad.torch as torch
from tracegrad.errors import TracegradError
from tracegrad.ir.contents import SMALL
from tracegrad.tape.versions import OfArray
from tracegrad.torch.utils.data import default_collate
from tracegrad.utils.checkpoint import checkpoint

pytestmark = pytest.mark.usefixtures("kernels_in_python")
POINT = np.array([0.5, 0.7])
REFUSED = re.compile("modified by an inplace|holds something else|written to")


class Exchanged:
    """An array of another library."""

    def __init__(self, array: Any) -> None:
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array.copy() if copy else self.array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def read_only(a: Any) -> Any:
    view = a.view()
    view.flags.writeable = False
    return view


def given_data(a: Any, tensor: Callable[[Any], Any]) -> Any:
    x = tg.zeros(2, dtype=np.float64)
    x.data = tensor(a)
    return x


def in_a_module(a: Any) -> Any:
    module = tg.nn.Linear(2, 1, bias=False, dtype=np.float64)
    module.load_state_dict({"weight": tg.from_numpy(a[None])}, assign=True)
    return module.weight[0]


def of_another(a: Any) -> Any:
    with tg.no_grad():
        return tg.Tensor(a).view(2, 1).t()[0]


BORN: dict[str, Callable[[Any], Any]] = {
    "from_numpy": tg.from_numpy,
    "as_tensor": tg.as_tensor,
    "Tensor": tg.Tensor,
    "Tensor of a part": lambda a: tg.Tensor(a[:]),
    "Tensor of read-only": lambda a: tg.Tensor(read_only(a)),
    "from_numpy of read-only": lambda a: tg.from_numpy(read_only(a)),
    "broadcast": lambda a: tg.from_numpy(np.broadcast_to(a, (3, 2)))[1],
    "Tensor of an object": lambda a: tg.Tensor(Exchanged(a)),
    "from_dlpack": lambda a: tg.from_dlpack(Exchanged(a)),
    "torch.from_dlpack": torch.from_dlpack,
    "torch.asarray": torch.asarray,
    "torch.DoubleTensor": torch.DoubleTensor,
    "array_api.asarray": tg.array_api.asarray,
    "array_api.from_dlpack": tg.array_api.from_dlpack,
    "default_convert": lambda a: torch.utils.data.default_convert([a])[0],
    "Tensor(Tensor)": lambda a: tg.Tensor(tg.Tensor(a)),
    "Parameter(array)": tg.nn.Parameter,
    "Parameter(Tensor)": lambda a: tg.nn.Parameter(tg.from_numpy(a)),
    "view": of_another,
    "element and back": lambda a: tg.Tensor(a)[None][0],
    "detach": lambda a: tg.Tensor(a).detach(),
    "data": lambda a: tg.Tensor(a).data,
    "data of data": lambda a: tg.Tensor(a).data.data,
    "data = from_numpy": lambda a: given_data(a, tg.from_numpy),
    "data = Tensor": lambda a: given_data(a, tg.Tensor),
    "data = data": lambda a: given_data(a, lambda a: tg.Tensor(a).data),
    "copy": lambda a: copy.copy(tg.Tensor(a)),
    "to": lambda a: tg.Tensor(a).to(dtype=np.float64),
    "contiguous": lambda a: tg.from_dlpack(a).contiguous(),
    "assigned": in_a_module,
}
CUBED = tg.jit(lambda x: (x * x * x).sum())
TURNED = tg.jit(lambda x: x[::-1])
WEIGHTED = tg.jit(lambda v, w: (v * v * w).sum())


class Cube(tg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return (x * x * x).sum()

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * ct


def backward_of(value: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """By a tensor that is a leaf."""

    def run(x: Any, write: Callable[[], None]) -> Any:
        x = x.requires_grad_() if x.is_leaf else x
        y = value(x)
        write()
        return tg.autograd.grad(y, x)[0]

    return run


def beside(value: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """By a tensor beside it."""

    def run(w: Any, write: Callable[[], None]) -> Any:
        v = tg.tensor([1.0, 2.0], dtype=np.float64, requires_grad=True)
        y = value(v, w.detach())
        write()
        y.backward()
        return v.grad

    return run


def again(x: Any, write: Callable[[], None]) -> Any:
    x = x.requires_grad_() if x.is_leaf else x
    (first,) = tg.autograd.grad((x * x * x).sum(), x, create_graph=True)
    write()
    return tg.autograd.grad(first.sum(), x)[0]


def transformed(derivative: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A function that writes before it returns."""

    def run(x: Any, write: Callable[[], None]) -> Any:
        def f(x: Any) -> Any:
            y = (x * x * x).sum()
            write()
            return y

        return derivative(f)(x)

    return run


def pulled(x: Any, write: Callable[[], None]) -> Any:
    _, pull = tg.vjp(CUBED, x)
    write()
    return pull(1.0)[0]


FIRST, SECOND, OTHER = 3 * POINT**2, 6 * POINT, 2 * POINT * [1, 2]
USES: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "backward": (backward_of(lambda x: (x * x * x).sum()), FIRST),
    "elements": (backward_of(lambda x: x[0] ** 3 + x[1] ** 3), FIRST),
    "exp": (backward_of(lambda x: x.exp().log().pow(3).sum()), FIRST),
    "jit": (backward_of(CUBED), FIRST),
    "jit of a view": (backward_of(lambda x: (TURNED(x) ** 3).sum()), FIRST),
    "checkpoint": (backward_of(lambda x: checkpoint(lambda x: (x**3).sum(), x)), FIRST),
    "Function": (backward_of(Cube.apply), FIRST),
    "vmap": (backward_of(lambda x: tg.vmap(lambda t: t * t * t)(x).sum()), FIRST),
    "twice": (again, SECOND),
    "beside": (beside(lambda v, w: (v * v * w).sum()), OTHER),
    "product": (beside(lambda v, w: (v * v) @ w), OTHER),
    "beside, jit": (beside(WEIGHTED), OTHER),
    "grad": (transformed(tg.grad), FIRST),
    "grad of grad": (transformed(lambda f: tg.grad(lambda x: tg.grad(f)(x).sum())), SECOND),
    "hessian": (transformed(lambda f: lambda x: tg.hessian(f)(x).sum(0)), SECOND),
    "jacfwd": (transformed(tg.jacfwd), FIRST),
    "vjp": (pulled, FIRST),
}

ON_ARRAYS = [use for use, (run, _) in USES.items() if run is pulled or "transformed" in str(run)]


def right_or_refused(run: Callable[[], Any], expected: Any) -> bool:
    try:
        found = run()
    except (RuntimeError, TracegradError) as error:
        assert REFUSED.search(str(error)), error  # noqa: PT017
        return False
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    return True


@pytest.mark.parametrize("use", USES)
def test_writes_of_others(use: str) -> None:
    run, expected = USES[use]
    for name, born in BORN.items():
        a = POINT.copy()
        assert np.shares_memory(np.asarray(born(a).detach()), a), name
        given = (lambda: born(a).detach()) if use in ON_ARRAYS else lambda: born(a)  # noqa: B023
        assert right_or_refused(lambda: run(given(), lambda: None), expected), name  # noqa: B023
        a = POINT.copy()
        x = given()
        right_or_refused(lambda: run(x, lambda: a.fill(7.0)), expected)  # noqa: B023
        # Filled anew before the next use, it is what it holds now.
        a[:] = POINT
        assert right_or_refused(lambda: run(given(), lambda: None), expected), name  # noqa: B023


@pytest.mark.parametrize("use", ON_ARRAYS)
def test_arrays_that_are_differentiated_by(use: str) -> None:
    run, expected = USES[use]
    for view in (lambda a: a, lambda a: a[:], read_only):
        a = POINT.copy()
        x = view(a)
        assert right_or_refused(lambda: run(x, lambda: a.fill(7.0)), expected)  # noqa: B023


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_a_file_in_memory(mode: Any, tmp_path: Path) -> None:
    whole = np.memmap(tmp_path / "file", np.float64, "w+", shape=(2,))
    whole[:] = POINT
    a = whole if mode == "r+" else read_only(whole)
    x = tg.as_tensor(a).requires_grad_()
    y = (x * x).sum()
    whole[:] = 7
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


def test_large_arrays() -> None:
    a = np.ones(SMALL)
    for born in (tg.Tensor, tg.from_dlpack, lambda a: tg.Tensor(read_only(a))):
        x = born(a).requires_grad_()
        (x * x).sum().backward()
        assert float(x.grad.sum()) == 2 * a.sum()
        y = (x * x).sum()
        a[17] += 1
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            y.backward()
    y = tg.grad(lambda x: (np.sum(x * x), a.fill(3.0))[0])(a)
    np.testing.assert_array_equal(y, np.where(np.arange(SMALL) == 17, 8.0, 2.0))


def test_a_cotangent_that_is_an_array() -> None:
    x, ct = tg.tensor(POINT, requires_grad=True), np.ones(2)
    (first,) = tg.autograd.grad(x**3, x, ct, create_graph=True)
    ct[:] = 7.0
    assert not right_or_refused(lambda: tg.autograd.grad(first.sum(), x)[0], SECOND)


def test_a_buffer_that_is_filled_for_each_step() -> None:
    buffer = np.zeros(2)
    x, w = tg.Tensor(buffer), tg.tensor(POINT, requires_grad=True)
    for k in range(3):
        buffer[:] = k + 1.0
        (w * x * x).sum().backward()
    np.testing.assert_array_equal(w.grad, [14.0, 14.0])


OWN: dict[str, Callable[[], Any]] = {
    "tensor": lambda: tg.tensor(POINT),
    "zeros": lambda: tg.zeros(2),
    "rand": lambda: tg.rand(2),
    "array_api": lambda: tg.array_api.zeros(2),
    "result": lambda: tg.tensor(POINT) * 2,
    "result of Tensor": lambda: tg.Tensor(POINT.copy()) * 2,
    "clone": lambda: tg.Tensor(POINT.copy()).clone(),
    "other dtype": lambda: tg.as_tensor(POINT, dtype=np.float32),
    "deepcopy": lambda: copy.deepcopy(tg.Tensor(POINT.copy())),
    "unpickled": lambda: pickle.loads(pickle.dumps(tg.Tensor(POINT.copy()))),
    "collated": lambda: default_collate([POINT, POINT]),
    "weight": lambda: tg.nn.Linear(2, 2).weight,
    "Parameter": lambda: tg.nn.Parameter(tg.ones(2)),
    "jit": lambda: CUBED(tg.tensor(POINT)),
    "grad": lambda: tg.grad(CUBED)(tg.tensor(POINT)),
    "jacobian": lambda: tg.jacobian(TURNED)(tg.tensor(POINT)),
    "jvp": lambda: tg.jvp(TURNED, (tg.tensor(POINT),), (tg.tensor(POINT),))[1],
    "vjp": lambda: tg.vjp(CUBED, tg.tensor(POINT))[1](1.0)[0],
    "vmap": lambda: tg.vmap(lambda t: t * t)(tg.tensor(POINT)),
}


@pytest.mark.parametrize("name", OWN)
def test_memory_of_ones_own_is_not_looked_at(name: str) -> None:
    assert type(OWN[name]()._versions) is not OfArray


def test_training_state_is_not_looked_at() -> None:
    w = tg.tensor(POINT, requires_grad=True)
    (w * w).sum().backward()
    optimizer = tg.optim.Adam([w], lr=0.1)
    optimizer.step()
    for x in (w, w.grad, *[v for v in optimizer.state[w].values() if isinstance(v, tg.Tensor)]):
        assert type(x._versions) is not OfArray
