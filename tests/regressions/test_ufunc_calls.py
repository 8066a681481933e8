"""Every ufunc that is known, called with each of its arguments, and its methods outer and at:
values as NumPy's, derivatives as finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.regressions.ufuncs import (
    BINARY,
    FLAT,
    INTEGERS,
    KNOWN_NAMES,
    NUMPYS,
    TRUTH,
    X,
    Y,
    derivatives,
    operand,
    same,
    traced,
    values,
)
from tracegrad.errors import ConcretizationError, DTypeError, UnsupportedFunctionError


@pytest.mark.parametrize("name", BINARY)
def test_outer(name: str) -> None:
    ufunc, x, y = NUMPYS[name], operand(name, X), operand(name, Y[0])
    values(
        lambda v: (
            ufunc.outer(v, y),
            ufunc.outer(y, v),
            ufunc.outer(v[0], v[1]),
            ufunc.outer(v[0, 0], v),
        ),
        x,
    )
    if name not in FLAT:
        derivatives(ufunc.outer, X, Y[0])


def test_outer_with_options() -> None:
    values(lambda v: np.multiply.outer(v, [2.0, 3.0], dtype=np.float32), X)

    def into(v: Any) -> Any:
        out = np.zeros_like(v, shape=(2, 3, 2))
        assert np.add.outer(v, [1.0, 2.0], out=out) is out
        return out

    values(into, X)


@pytest.mark.parametrize(
    "name", [n for n in KNOWN_NAMES if NUMPYS[n].nout == 1 and NUMPYS[n].signature is None]
)
def test_at(name: str) -> None:
    ufunc, x = NUMPYS[name], np.array([0.31, 0.72, 0.55, 0.93]) + (1 if name == "arccosh" else 0)
    x = operand(name, x * 2) if name in INTEGERS | TRUTH else x
    kind = x.dtype
    more: tuple[Any, ...] = (operand(name, np.array([1.2, 0.4, 2.1])),) if ufunc.nin == 2 else ()

    def program(v: Any, indices: Any) -> Any:
        y = np.array(v) if type(v) is np.ndarray else np.copy(v)
        ufunc.at(y, indices, *more)
        return y

    try:
        program(x, [0, 2, 3])
    except TypeError:
        return  # NumPy has nothing to store
    for indices in ([0, 2, 3], [1, 1, 1], np.array([3, 0, 3]), slice(1, 4)):
        values(lambda v, i=indices: program(v, i), x)
    assert x.dtype == kind


def test_derivatives_of_at() -> None:
    x, y = X[0], Y[0]
    for ufunc in (
        np.add,
        np.subtract,
        np.multiply,
        np.divide,
        np.power,
        np.maximum,
        np.hypot,
        np.logaddexp,
    ):

        def program(v: Any, w: Any, ufunc: Any = ufunc) -> Any:
            out = np.copy(v)
            ufunc.at(out, [0, 2, 0], w)
            return out

        derivatives(program, x, y)

    def whole(v: Any) -> Any:
        out = np.copy(v)
        np.exp.at(out, [0, 2, 0])
        np.multiply.at(out, (slice(None),), 3.0)
        return out

    derivatives(whole, x)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum])
def test_at_traced_places(ufunc: np.ufunc) -> None:
    """Places that are named several times, known only to the call; of what is no float, too."""

    def program(v: Any, w: Any, i: Any) -> Any:
        out = np.copy(v)
        ufunc.at(out, i, w)
        return out

    places = np.array([0, 2, 0, -1, 1, 0])
    updates = np.array([2.0, 0.0, 0.5, 0.0, -1.5, 7.0])
    for v in (X[0], X[0].astype(np.float32), np.array([3, 1, -2, 0])):
        w = updates.astype(v.dtype)
        for i in (places, places[:0], places[:1]):
            w_i = w[: len(i)]
            want = program(v, w_i, i)
            for got in (program(tg.tensor(v), w_i, i), tg.jit(program)(v, w_i, i)):
                assert np.asarray(got).dtype == want.dtype
                np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)
    derivatives(lambda v, w: program(v, w, np.array([0, 2, 0])), X[0], Y[0])


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum])
def test_at_rounds_as_often_as_numpy(ufunc: np.ufunc) -> None:
    """Floats into an array of integers: each step is rounded."""

    def program(v: Any) -> Any:
        ufunc.at(v, [0, 0, 1], np.array([0.5, 0.7, -1.5]))
        return v

    want = program(np.array([-2, 3]))
    np.testing.assert_array_equal(np.asarray(program(tg.tensor([-2, 3]))), want)
    found = tg.jit(lambda v: program(np.copy(v)))(np.array([-2, 3]))
    np.testing.assert_array_equal(found, want)


def test_at_on_plain_and_mixed_operands() -> None:
    with pytest.raises(ConcretizationError, match=r"np\.multiply\.at would write"):
        tg.jit(lambda v: np.multiply.at(np.ones(3), [0], v[:1]), stage=False)(X[0])
    plain = np.ones(3)
    np.multiply.at(plain, [0, 0], tg.tensor([2.0, 3.0]))
    np.testing.assert_array_equal(plain, [6.0, 1.0, 1.0])
    with pytest.raises(UnsupportedFunctionError, match="traced indices"):
        tg.jit(lambda v, i: np.divide.at(np.copy(v), i, 2.0))(X[0], np.array([0, 1]))
    with pytest.raises((ValueError, TypeError)):
        tg.jit(lambda v: np.add.at(np.copy(v), [0]))(X[0])


@pytest.mark.parametrize("name", KNOWN_NAMES)
def test_call_with_dtype_out_and_where(name: str) -> None:
    """Of every dtype asked for: NumPy's result, or both refuse. Then `out=`, with and without
    `where=`."""
    ufunc = NUMPYS[name]
    x = operand(name, X / 4 + (1 if name == "arccosh" else 0))
    args = (x, operand(name, Y)) if ufunc.nin == 2 else (x,)
    if name == "ldexp":
        args = (x, operand("gcd", Y))
    if name in ("matmul", "vecdot", "vecmat"):
        args = (x, operand(name, Y if name == "vecdot" else Y.T))
    for wanted in (np.float32, np.float64, np.int64, np.bool_):
        try:
            expected = ufunc(*args, dtype=wanted)
        except TypeError:
            with pytest.raises(TypeError):
                traced(lambda *a, w=wanted: ufunc(*a, dtype=w), *args)
        else:
            same(traced(lambda *a, w=wanted: ufunc(*a, dtype=w), *args), expected)
    results = ufunc(*args) if ufunc.nout > 1 else (ufunc(*args),)

    def into(*a: Any) -> Any:
        outs = tuple(np.zeros_like(a[0], dtype=r.dtype, shape=r.shape) for r in results)
        again = ufunc(*a, out=outs)
        assert (again if ufunc.nout > 1 else (again,))[0] is outs[0]
        if ufunc.signature is None:
            ufunc(*a, out=outs, where=X[:, :1] > 1)
        return outs

    values(into, *args)


def test_arguments_of_a_call_that_change_its_meaning() -> None:
    with pytest.raises(DTypeError, match=r"np\.add: Cannot cast"):
        tg.jit(lambda v: np.add(v, 1.5, dtype=int))(X)
    with pytest.raises(DTypeError, match="Cannot cast"):
        tg.jit(lambda v: np.add(v, 1.5, dtype=np.float32, casting="safe"))(X)
    values(lambda v: np.add(v, 1, signature="ff->f", casting="same_kind"), X)
    values(lambda v: np.true_divide(v, 2, casting="no"), X)
    with pytest.raises(UnsupportedFunctionError, match="with axes="):
        tg.jit(lambda v: np.matmul(v, v, axes=[(0, 1), (0, 1), (0, 1)]))(X[:, :2])
    with pytest.raises(UnsupportedFunctionError, match="where="):
        tg.jit(lambda v: np.exp(v, where=X > 1))(X)
