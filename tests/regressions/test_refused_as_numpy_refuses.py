"""What NumPy and Python refuse, or compute in another dtype, in compiled code as well: views that
are for reading, integers of numbers that have none, sums that count in the dtype of `out`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.texts import executed

pytestmark = pytest.mark.usefixtures("kernels_in_python")

WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: lambda x: tg.vjp(f, x)[0],
    "jit": tg.jit,
    "vmap": lambda f: lambda x: tg.vmap(f)(x[None])[0],
}
WRITES = (
    "y.diagonal()[...] = 0.0",
    "np.diag(y)[0] = 1.0",
    "v = np.diagonal(y, 1); v += 1.0",
    "v = np.linalg.diagonal(y)[::-1]; v *= 2.0",
    "np.broadcast_to(y, y.shape)[0] = 0.0",
    "np.broadcast_to(y, (2, 3, 3))[1, 0] = 0.0",
    "np.asarray(np.broadcast_to(y[0], (3, 3)))[0] = 1.0",
    "np.add(x, x, out=np.broadcast_to(y, y.shape))",
    "np.copyto(y.diagonal(), 0.0)",
    "np.lib.stride_tricks.sliding_window_view(y, 2, axis=0)[...] = 0.0",
)
READS = (
    "np.diagonal(y).copy()[...] = 3.0",
    "v = np.diag(y) * 2.0; v[0] = 5.0; y[0] = v",
    "v = y.diagonal(); y[1, 1] = 7.0; y[0] = v",
    "v = np.diag(y[0]); v[0] = 2.0; y[...] = v",
    "np.einsum('ii->i', y)[...] = 4.0",
    "np.fill_diagonal(y, y[0])",
)
X = np.arange(9.0).reshape(3, 3) + 1.0


def _writing(statement: str) -> Callable[[Any], Any]:
    lines = f"    y = x * 1.0\n    {statement}\n    return y\n"
    f: Callable[[Any], Any] = executed("def f(x):\n" + lines, f"<{statement}>")["f"]
    return f


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("statement", WRITES)
def test_views_for_reading(statement: str, way: str) -> None:
    f = _writing(statement)
    with pytest.raises(ValueError, match="read-only"):
        f(X)
    with pytest.raises(ValueError, match="destination is read-only"):
        WAYS[way](f)(X)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("statement", READS)
def test_what_may_be_written(statement: str, way: str) -> None:
    f = _writing(statement)
    assert np.array_equal(WAYS[way](f)(X), f(X))


WHOLE: dict[str, Callable[[Any], Any]] = {
    "floor": lambda x: math.floor(x),
    "ceil": lambda x: math.ceil(x) + 0,
    "trunc": lambda x: math.trunc(x),
    "round": lambda x: round(x),
    "int": lambda x: int(x),
}


@pytest.mark.parametrize("name", WHOLE)
def test_numbers_that_have_no_integer(name: str) -> None:
    f = tg.jit(WHOLE[name])
    for x in (2.5, -2.5, 2.0**62):
        assert f(x) == WHOLE[name](x)
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        f(np.nan)
    with pytest.raises(OverflowError, match="cannot convert float infinity to integer"):
        f(-np.inf)
    for x in (1e30, -1e19):
        with pytest.raises(OverflowError, match="int64"):
            f(x)


def test_functions_without_a_text_of_their_own() -> None:
    with pytest.raises(ValueError, match="NaN"):
        tg.jit(math.floor)(np.nan)
    assert tg.jit(math.floor)(-0.5) == -1


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float32, np.complex128])
@pytest.mark.parametrize("text", ["ij,jk->ik", "ij->i", "ii", "ij,ij->"])
def test_einsum_counts_in_the_dtype_of_out(text: str, kind: Any) -> None:
    def f(x: Any) -> Any:
        given = [x > 3.0] * (1 + text.count(","))
        out = np.zeros(np.einsum(text, *given).shape, kind)
        np.einsum(text, *given, out=out)
        return out + 0

    assert tg.jit(f)(X).dtype == f(X).dtype
    assert np.array_equal(tg.jit(f)(X), f(X))


def test_einsum_of_lists_in_the_dtype_of_out() -> None:
    def f(x: Any) -> Any:
        out = np.zeros(3, int)
        np.einsum(x > 3.0, [0, 1], x > 5.0, [0, 1], [0], out=out)
        return out + 0

    assert np.array_equal(tg.jit(f)(X), f(X))

    def into_narrower(x: Any) -> Any:
        return np.einsum("ij->i", x, out=np.zeros(3, np.float32))

    with pytest.raises(TypeError):
        into_narrower(X)
    with pytest.raises(TypeError):
        tg.jit(into_narrower)(X)


def test_powers_modulo_a_number() -> None:
    with pytest.raises(TypeError, match=r"x \*\* y % n"):
        tg.jit(lambda k: pow(k, 3, 7))(5)
    assert tg.jit(lambda k: pow(k, 3) % 7)(5) == pow(5, 3, 7)


def _aside(x: Any, transform: Callable[[Any], Any]) -> Any:
    y = x * 1.0

    def inner(a: Any) -> Any:
        a[...] += 1.0
        a[...] = y[1] * 2.0 + a
        return np.sum(a * y)

    return transform(inner)(y)


@pytest.mark.parametrize("name", ["jit", "checkpoint", "vmap", "cond"])
def test_an_argument_that_is_written_and_read_from_outside(name: str) -> None:
    """All is read before anything is written, so what is read from outside would not follow."""
    transforms: dict[str, Callable[[Any], Any]] = {
        "jit": tg.jit,
        "checkpoint": tg.checkpoint,
        "vmap": tg.vmap,
        "cond": lambda f: lambda y: tg.cond(y[0, 0] > 0, f, lambda a: np.sum(a), y),
    }
    with pytest.raises((ValueError, tg.TracegradError), match=r"shares memory|reads from outside"):
        tg.jit(lambda x: _aside(x, transforms[name]))(X)


def test_a_function_with_rules_that_writes_its_argument() -> None:
    @tg.custom_vjp
    def f(x: Any) -> Any:
        x[0] = 1.0
        return np.sum(x * x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2 * ct * x,))
    with pytest.raises(tg.TracegradError, match="writes into an argument"):
        tg.jit(lambda x: f(x * 1.0))(X)
