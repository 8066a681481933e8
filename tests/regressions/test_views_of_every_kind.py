"""What NumPy shows without copying shows later writes too, and what it copies does not: in traces
and under every transform as for plain arrays.

Once a repeated array (`broadcast_to`, `expand`, `meshgrid(copy=False)`) showed old values in
compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

Function = Callable[[Any], Any]
sliding = np.lib.stride_tricks.sliding_window_view
X = np.arange(1.0, 13.0).reshape(3, 4)

SHOWN: dict[str, Function] = {
    "basic slice": lambda u: u[1:, ::2],
    "negative step": lambda u: u[::-1, 1:],
    "row": lambda u: u[0],
    "new axis": lambda u: u[None, :, None],
    "ellipsis": lambda u: u[..., 0],
    "list of rows": lambda u: u[[0, 2, 0]],
    "reshape": lambda u: np.reshape(u, (-1, 2)),
    "ravel": np.ravel,
    "flatten": lambda u: u.flatten(),
    "ravel of a transpose": lambda u: np.ravel(u.T),
    "transpose": np.transpose,
    "T": lambda u: u.T,
    "swapaxes": lambda u: np.swapaxes(u, 0, 1),
    "moveaxis": lambda u: np.moveaxis(u, 0, -1),
    "rollaxis": lambda u: np.rollaxis(u, 1),
    "squeeze": lambda u: np.squeeze(u[:1]),
    "expand_dims": lambda u: np.expand_dims(u, 1),
    "atleast_3d": np.atleast_3d,
    "broadcast_to": lambda u: np.broadcast_to(u, (2, *u.shape)),
    "broadcast_to, own shape": lambda u: np.broadcast_to(u, u.shape),
    "broadcast of a row": lambda u: np.broadcast_to(u[0], (2, u.shape[1])),
    "transpose of a broadcast": lambda u: np.broadcast_to(u, (2, *u.shape)).T[1:],
    "reshape of a broadcast": lambda u: np.broadcast_to(u, (2, *u.shape)).reshape(6, -1),
    "broadcast_arrays": lambda u: np.broadcast_arrays(u, np.ones((2, 1, 1)))[0],
    "meshgrid without copies": lambda u: np.meshgrid(u[0], u[:, 0], copy=False)[0],
    "meshgrid ij": lambda u: np.meshgrid(u[0], u[:, 0], indexing="ij", copy=False)[1],
    "sparse meshgrid": lambda u: np.meshgrid(u[0], u[:, 0], sparse=True, copy=False)[0],
    "meshgrid": lambda u: np.meshgrid(u[0], u[:, 0])[0],
    "flip": lambda u: np.flip(u, 1),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "rot90": np.rot90,
    "diagonal": np.diagonal,
    "diag": np.diag,
    "split": lambda u: np.split(u, 2, axis=1)[1],
    "array_split": lambda u: np.array_split(u, 2)[0],
    "hsplit": lambda u: np.hsplit(u, 2)[1],
    "vsplit": lambda u: np.vsplit(u, 3)[0],
    "real": np.real,
    "asarray": np.asarray,
    "array": np.array,
    "array without copy": lambda u: np.array(u, copy=False),
    "ascontiguousarray": np.ascontiguousarray,
    "astype": lambda u: u.astype(np.float64),
    "astype without copy": lambda u: u.astype(np.float64, copy=False),
    "view": lambda u: u.view(),
    "copy": np.copy,
    "tile": lambda u: np.tile(u, (1, 1)),
    "repeat": lambda u: np.repeat(u, 1),
    "roll": lambda u: np.roll(u, 0),
    "take": lambda u: np.take(u, 0, axis=1),
    "diagonal of a part": lambda u: np.diagonal(u[:, 1:]),
    "reshape of a part": lambda u: u[:, 1:].reshape(-1),
    "reshape of rows": lambda u: u[1:].reshape(-1, 2),
    "new axes of a part": lambda u: u[:, 1:].reshape(3, 1, -1, 1),
    "iterated": lambda u: next(iter(u)),
    "unpacked": lambda u: (lambda a, *_: a)(*u),
    "einsum view": lambda u: np.einsum("ij->ji", u),
    "einsum diagonal": lambda u: np.einsum("ii->i", u[:, :3]),
    "windows": lambda u: sliding(u, (2, 3)),
    "windows of windows": lambda u: sliding(u, (2, 2), (0, 0)),
    "windows of a transpose": lambda u: sliding(u.T, 2, -1)[..., ::-1],
    "reshape of windows": lambda u: sliding(u[::2, ::-1], 3, 1).reshape(-1, 3),
    "windows of one": lambda u: sliding(u, (1, 2)).reshape(3, -1, 2),
    "nan_to_num without copy": lambda u: np.nan_to_num(u, copy=False),
    "vstack": lambda u: np.vstack([u]),
}
WAYS: dict[str, Callable[[Function], Function]] = {
    "eager": lambda f: lambda x: f(tg.tensor(x)),
    "jit": tg.jit,
    "vmap": lambda f: lambda x: tg.vmap(f)(x[None])[0],
    "jit of vmap": lambda f: lambda x: tg.jit(tg.vmap(f))(np.stack([x, x]))[1],
    "jit for all sizes": lambda f: at_two_sizes(tg.jit(f)),
    "primal of jvp": lambda f: lambda x: tg.jvp(f, (x,), (x,))[0],
    "primal of vjp": lambda f: lambda x: tg.vjp(f, x)[0],
}


OF_ARRAYS = {"flatten", "astype", "astype without copy", "view"}
"""Methods that a Tensor has with torch's meaning, or not at all."""


def at_two_sizes(f: Function) -> Function:
    """The third size of rows finds code for all sizes."""

    def g(x: Any) -> Any:
        for columns in (6, 8):
            f(np.ones((3, columns)))
        return f(x)

    return g


def written_after(view: Function) -> Function:
    """A function that makes a view, writes into what it is of, and gives what the view shows."""

    def f(x: Any) -> Any:
        u = x * 1.0
        v = view(u)
        u[0] = x[1] * x[1]
        u[:, 0] += 100.0
        return v * 1.0

    return f


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SHOWN)
def test_a_view_shows_what_was_written_after_it(name: str, way: str) -> None:
    if way == "eager" and name in OF_ARRAYS:
        way = "primal of vjp"
    f = written_after(SHOWN[name])
    assert np.array_equal(np.asarray(WAYS[way](f)(X.copy())), f(X.copy()))


@pytest.mark.parametrize("way", ["eager", "jit"])
@pytest.mark.parametrize("name", SHOWN)
def test_its_derivative_too(name: str, way: str) -> None:
    f = written_after(SHOWN[name])
    inner = tg.jit(f) if way == "jit" else f
    direction = np.cos(X)
    small = 1e-6 * direction
    wanted = (f(X + small) - f(X - small)) / 2e-6
    _, tangent = tg.jvp(inner, (X,), (direction,))
    _, pull = tg.vjp(inner, X)
    weights = np.sin(np.arange(wanted.size)).reshape(wanted.shape)
    assert np.allclose(tangent, wanted, atol=1e-6)
    assert np.isclose(np.sum(pull(weights)[0] * direction), np.sum(weights * wanted))


@pytest.mark.parametrize("expand", [lambda u: u.expand(2, 3), lambda u: tg.expand(u, (2, 3))])
@pytest.mark.parametrize("way", ["jit", "vmap", "plain"])
def test_torchs_expand(expand: Function, way: str) -> None:
    def f(x: Any) -> Any:
        u = x * 1
        b = expand(u)
        u[0] = 7.0
        return b * 1

    x = tg.tensor([1.0, 2.0, 3.0])
    made = {"jit": tg.jit(f), "vmap": lambda x: tg.vmap(f)(x[None])[0], "plain": f}[way](x)
    assert np.array_equal(made, [[7, 2, 3], [7, 2, 3]])


@pytest.mark.parametrize("way", ["jit", "eager", "vmap"])
@pytest.mark.parametrize(
    "repeat",
    [lambda x: np.broadcast_to(x, (2, 3)), lambda x: sliding(x, 2), lambda x: sliding(x, 1)],
)
def test_what_is_repeated_cannot_be_written(repeat: Function, way: str) -> None:
    def f(x: Any) -> Any:
        b = repeat(x * 1)
        b += 7.0
        return b

    with pytest.raises((RuntimeError, ValueError), match=r"single memory location|read-only"):
        WAYS[way](f)(np.ones(3))
