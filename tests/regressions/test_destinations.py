"""What is written into: `out=` of another dtype, numbers, and values that have no such element.

Once `np.subtract(v, z, out=v)` of complex numbers `z` left their imaginary parts out in compiled
and differentiated code, where NumPy refuses; and what was written into a number (`v = x[0]`,
`v.fill(3.0)`), which NumPy does to a copy or refuses, changed it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

Into = Callable[[Any, Any], Any]
WITH_OUT: dict[str, Into] = {
    "add": lambda x, o: np.add(x, 1, out=o),
    "add where": lambda x, o: np.add(x, 1, out=o, where=x != 0),
    "add unsafe": lambda x, o: np.add(x, 1, out=o, casting="unsafe"),
    "add safe": lambda x, o: np.add(x, 1, out=o, casting="safe"),
    "subtract part": lambda x, o: np.subtract(x[:1], o[:1], out=o[:1]),
    "negative": lambda x, o: np.negative(x, out=o),
    "conjugate": lambda x, o: np.conjugate(x, out=o),
    "absolute": lambda x, o: np.abs(x, out=o),
    "divide": lambda x, o: np.divide(x, 2, out=o),
    "less": lambda x, o: np.less(x, 1, out=o),
    "outer": lambda x, o: np.add.outer(x[0], x[0], out=o),
    "matmul": lambda x, o: np.matmul(x, x, out=o),
    "concatenate": lambda x, o: np.concatenate([x[:1], x[1:]], out=o),
    "unsafe concatenate": lambda x, o: np.concatenate([x[:1], x[1:]], out=o, casting="unsafe"),
    "stack": lambda x, o: np.stack([x[0], x[1]], out=o),
    "sum": lambda x, o: np.sum(x, axis=0, out=o[0]),
    "mean": lambda x, o: np.mean(x, axis=0, out=o[0]),
    "cumsum": lambda x, o: np.cumsum(x, axis=0, out=o),
    "reduce": lambda x, o: np.multiply.reduce(x, axis=0, out=o[0]),
    "trace": lambda x, o: np.trace(x, out=o[0, 0, ...]),
    "copyto": lambda x, o: np.copyto(o, x),
    "unsafe copyto": lambda x, o: np.copyto(o, x, casting="unsafe"),
    "in place": lambda x, o: o.__iadd__(x),
}
KINDS = ["float64", "float32", "int64", "int8", "uint8", "bool", "complex128", "complex64"]


def result_of(f: Callable[..., Any], *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except (TypeError, ValueError) as error:
            return error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WITH_OUT)
def test_out_of_another_dtype_is_as_numpy_has_it(name: str, kind: str) -> None:
    for other in KINDS:
        x = (np.array([[1, 0], [2, 3]]) * (0.75 if kind[0] in "fc" else 1)).astype(kind)
        x = x + np.array([[1j, 2j], [0, 1j]]).astype(kind) if kind[0] == "c" else x

        def f(x: Any, w: Any) -> Any:
            o = w * w
            WITH_OUT[name](x, o)
            return o

        w = np.zeros((2, 2), other)
        wanted = result_of(f, x, w)
        ways = {"jit": lambda x, w, f=f: tg.jit(f)(x, w)}
        if other[0] in "fc":
            ways["jvp"] = lambda x, w, f=f: tg.jvp(lambda w: f(x, w), (w,), (w,))[0]
        for way, run in ways.items():
            got = result_of(run, x, w)
            where = (way, kind, other, got, wanted)
            assert isinstance(got, Exception) == isinstance(wanted, Exception), where
            if not isinstance(got, Exception):
                assert got.dtype == wanted.dtype, where
                assert np.allclose(got, wanted), where


def test_what_nothing_may_be_cast_to() -> None:
    # NumPy 2.4 crashes on being asked what such a call would take.
    for casting in ("no", "equiv"):
        with pytest.raises(TypeError, match="cannot be cast to float64"):
            tg.jit(lambda x, w, c=casting: np.add(x, w, casting=c))(np.ones(2), np.ones(2, int))
        exact = tg.jit(lambda x, w, c=casting: np.add(x, w, casting=c))
        assert np.array_equal(exact(np.ones(2), np.ones(2)), [2.0, 2.0])


INTO_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "np.put": lambda v: np.put(v, 0, 3.0),
    "ellipsis": lambda v: v.__setitem__(..., 3.0),
    "empty key": lambda v: v.__setitem__((), 3.0),
    "flat": lambda v: v.flat.__setitem__(0, 3.0),
    "copyto": lambda v: np.copyto(v, 3.0),
    "putmask": lambda v: np.putmask(v, True, 3.0),
    "place": lambda v: np.place(v, True, [3.0]),
    "out": lambda v: np.add(v, 1.0, out=v),
    "out of a sum": lambda v: np.sum(v, axis=(), out=v),
    "at": lambda v: np.add.at(v, (), 1.0),
    "nan_to_num": lambda v: np.nan_to_num(v, copy=False),
    "clip": lambda v: v.clip(0, 1, out=v),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "jit": tg.jit,
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (x,))[0],
    "vmap": lambda f: lambda x: tg.vmap(f)(x[None])[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", INTO_NUMBERS)
def test_numbers_are_not_written(name: str, way: str) -> None:
    def f(x: Any, of: Callable[[Any], Any]) -> Any:
        v = of(x)
        INTO_NUMBERS[name](v)
        return v

    x = np.array([2.0, 0.5])
    for number in (lambda x: x[0], np.sum, lambda x: x[1] * 2.0):
        with pytest.raises(TypeError, match="writes into a number"):
            WAYS[way](lambda x, of=number: f(x, of))(x)
    for array in (
        lambda x: np.array(x[0]),
        lambda x: x[0, ...],
        lambda x: np.sum(x, keepdims=True),
    ):
        got = WAYS[way](lambda x, of=array: f(x, of))(x.copy())
        assert np.array_equal(got, f(x.copy(), array))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda x, i: x.fill(1j), TypeError),
        (lambda x, i: x.fill([2.0]), ValueError),
        (lambda x, i: x.fill(x), ValueError),
        (lambda x, i: i.fill(300), OverflowError),
        (lambda x, i: i.fill(np.nan), ValueError),
        (lambda x, i: i.__setitem__(0, np.nan), ValueError),
        (lambda x, i: i.__setitem__(0, np.float64("nan")), ValueError),
    ],
)
def test_values_that_no_element_has(way: str, write: Into, error: type[Exception]) -> None:
    def f(x: Any) -> Any:
        i = (x * 0).astype(np.int8)
        write(x, i)
        return x * 1.0

    with pytest.raises(error):
        WAYS[way](f)(np.array([2.0, 0.5]))
