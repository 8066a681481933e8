"""Every ufunc that is known, with its methods reduce, accumulate and reduceat and their arguments:
values as NumPy's, derivatives as finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as special

import tracegrad as tg
from tests.checks import directional
from tests.regressions.ufuncs import (
    BINARY,
    FLAT,
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
from tracegrad.errors import ConcretizationError, DTypeError, ShapeError, UnsupportedFunctionError
from tracegrad.faces.numpy.ufuncs import SCIPY, counterpart
from tracegrad.tensor import Array, Tensor

UNKNOWN = {"isnat"}
"""Of times, which arrays here do not hold."""


def test_the_table_is_whole() -> None:
    assert len(KNOWN_NAMES) > 75
    assert {"add", "power", "logaddexp2", "vecdot", "divmod"} <= set(KNOWN_NAMES)
    assert all(counterpart(getattr(special, name)) is not None for name in SCIPY)
    assert {f.__name__ for f in NUMPYS.values()} - set(KNOWN_NAMES) == UNKNOWN


# --- reduce ---------------------------------------------------------------------------------------

WRONG_IN_NUMPY = ("arctan2", "power")
"""NumPy 2.4 reduces these wrongly along contiguous memory on processors with AVX-512: they are
compared with the definition."""
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
SINGLE_AXIS = [name for name in BINARY if name not in (*COMPARISONS, *WRONG_IN_NUMPY)]
ANY_ORDER = [
    "add",
    "multiply",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logaddexp",
    "logaddexp2",
    "hypot",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
]


@pytest.mark.parametrize("name", SINGLE_AXIS)
def test_reduce(name: str) -> None:
    ufunc, x = NUMPYS[name], operand(name, X)
    values(
        lambda v: (
            ufunc.reduce(v),
            ufunc.reduce(v, axis=1),
            ufunc.reduce(v, -1, keepdims=True),
            ufunc.reduce(v[0]),
            ufunc.reduce(v[:1]),
            ufunc.reduce(v[:1, :1], axis=1),
        ),
        x,
    )
    values(
        lambda v: (ufunc.reduce(v, axis=(1,)), ufunc.reduce(v, axis=()), ufunc.reduce(v[0, 0])), x
    )
    initial: Any = True if name in TRUTH else 2
    values(
        lambda v: (
            ufunc.reduce(v, axis=1, initial=initial),
            ufunc.reduce(v, 0, None, None, False, initial, X > 1),
        ),
        x,
    )
    if name not in FLAT:
        derivatives(lambda v: ufunc.reduce(v, axis=1), X)
        derivatives(lambda v: ufunc.reduce(v, axis=0, initial=1.5, where=X > 1), X)


@pytest.mark.parametrize("name", ANY_ORDER)
def test_reduce_over_several_axes(name: str) -> None:
    ufunc, x = NUMPYS[name], operand(name, X)
    values(
        lambda v: (
            ufunc.reduce(v, axis=None),
            ufunc.reduce(v, axis=(0, 1)),
            ufunc.reduce(v, axis=(-1, 0), keepdims=True),
        ),
        x,
    )
    if ufunc.identity is not None:
        values(
            lambda v: (
                ufunc.reduce(v, axis=None, where=X > 1),
                ufunc.reduce(v, axis=1, where=X[0] > 1),
            ),
            x,
        )
        values(lambda v: (ufunc.reduce(v[:0], axis=0), ufunc.reduce(v[:, :0], axis=None)), x)
    if name not in FLAT:
        derivatives(lambda v: ufunc.reduce(v, axis=None), X)


@pytest.mark.parametrize("name", sorted(set(SINGLE_AXIS) - set(ANY_ORDER)))
def test_reduce_in_order_goes_over_one_axis(name: str) -> None:
    with pytest.raises(
        ShapeError, match=r"test_ufuncs.py:\d+: np\.\w+\.reduce depends on the order"
    ):
        tg.jit(lambda v: NUMPYS[name].reduce(v, axis=(0, 1)))(operand(name, X))


@pytest.mark.parametrize("name", WRONG_IN_NUMPY)
def test_methods_by_their_definition(name: str) -> None:
    f = NUMPYS[name]
    first, second, third = X.T
    folded = f(f(first, second), third)
    same(traced(lambda v: f.reduce(v, axis=1), X), folded)
    same(traced(lambda v: f.reduce(v, axis=1, initial=1.5), X), f(f(f(1.5, first), second), third))
    same(traced(lambda v: f.accumulate(v, 1), X), np.stack([first, f(first, second), folded], 1))
    same(traced(lambda v: f.reduceat(v, [0, 1], 1), X), np.stack([first, f(second, third)], 1))
    (expected,) = directional(
        lambda v: np.sum(f(f(v[:, 0], v[:, 1]), v[:, 2])), (X,), (0,), (Y + 0 * X,)
    )
    assert np.isclose(
        np.sum(tg.grad(lambda v: np.sum(f.reduce(v, axis=1)))(X) * (Y + 0 * X)), expected
    )


DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64]


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "multiply",
        "maximum",
        "fmin",
        "logical_and",
        "subtract",
        "power",
        "hypot",
        "logaddexp",
    ],
)
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_dtypes_of_methods(name: str, method: str) -> None:
    """Of every dtype of the array, the `dtype=` and the `out=`: NumPy's result, or both refuse."""
    ufunc = NUMPYS[name]
    for kind in DTYPES:
        x = np.array([[1, 2, 1], [2, 1, 1]]).astype(kind)
        for wanted in (None, np.float32, np.float64, np.int64):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = getattr(ufunc, method)(x, axis=1, dtype=wanted)
                except TypeError:
                    expected = None
                if expected is None or expected.dtype == np.float16:
                    with pytest.raises(TypeError):
                        traced(lambda v, w=wanted: getattr(ufunc, method)(v, axis=1, dtype=w), x)
                else:
                    found = traced(
                        lambda v, w=wanted: getattr(ufunc, method)(v, axis=1, dtype=w), x
                    )
                    same(found, expected)


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_out_of_methods(method: str) -> None:
    def program(v: Any) -> Any:
        single = np.zeros_like(v, dtype=np.float32, shape=(2,) if method == "reduce" else (2, 3))
        again = getattr(np.add, method)(v, axis=1, out=single)
        assert again is single
        return single

    values(program, X)
    with pytest.raises(ConcretizationError, match="out="):
        tg.jit(lambda v: np.add.reduce(v, axis=None, out=np.zeros(())), stage=False)(X)


@pytest.mark.parametrize("face", [Array, Tensor])
def test_initial_may_be_differentiated(face: type[Any]) -> None:
    for ufunc in (np.add, np.multiply, np.maximum, np.subtract, np.hypot):
        derivatives(lambda v, w, ufunc=ufunc: ufunc.reduce(v, axis=1, initial=w), X, np.array(2.2))


def test_reductions_of_nothing_and_bad_arguments() -> None:
    jit = tg.jit
    for bad in (
        lambda v: np.maximum.reduce(v[:0], axis=0),
        lambda v: np.add.reduce(v[:0], axis=0, initial=None),
        lambda v: np.subtract.reduce(v[:0], axis=0),
        lambda v: np.maximum.reduce(v, axis=1, where=X > 1),
        lambda v: np.add.accumulate(v[0, 0]),
        lambda v: np.add.accumulate(v, axis=None),
        lambda v: np.add.reduce(v, axis=(0, 0)),
        lambda v: np.add.reduce(v, axis=2),
        lambda v: np.exp.reduce(v),
        lambda v: np.divmod.reduce(v),
        lambda v: np.matmul.outer(v, v),
    ):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            bad(X)
        with pytest.raises((ValueError, TypeError)):
            jit(bad)(X)
        with pytest.raises((ValueError, TypeError)):
            tg.grad(lambda v, bad=bad: np.sum(bad(v)))(X)
    for bad in (
        np.less.reduce,
        np.less_equal.reduce,
        lambda v: np.logical_and.reduce(v, dtype=float),
    ):
        with pytest.raises(TypeError):
            bad(X)
        with pytest.raises(DTypeError, match=r"test_ufuncs.py:\d+: np\.\w+\.reduce: "):
            jit(bad)(X)
    with pytest.raises(DTypeError, match="complex"):
        jit(np.maximum.accumulate)(X * 1j)
    with pytest.raises(UnsupportedFunctionError, match=r"over 2000 elements.*tg\.scan"):
        jit(np.subtract.reduce)(np.ones(2000))


# --- accumulate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE_AXIS)
def test_accumulate(name: str) -> None:
    ufunc, x = NUMPYS[name], operand(name, X)
    values(
        lambda v: (
            ufunc.accumulate(v),
            ufunc.accumulate(v, 1),
            ufunc.accumulate(v, axis=-2),
            ufunc.accumulate(v[0], axis=None),
        ),
        x,
    )
    values(lambda v: ufunc.accumulate(v[:, :0], 1), x)
    if name not in FLAT:
        derivatives(lambda v: ufunc.accumulate(v, axis=1), X)


def test_drawdown() -> None:
    prices = np.array([1.0, 1.4, 1.3, 2.0, 1.85, 1.95])
    drawdown: Callable[..., Any] = lambda v: np.max(np.maximum.accumulate(v) - v)  # noqa: E731
    values(drawdown, prices, compiled=True)
    derivatives(drawdown, prices, compiled=True)
    rise: Callable[..., Any] = lambda v: np.max(v - np.minimum.accumulate(v))  # noqa: E731
    values(rise, prices)
    derivatives(rise, prices)


COMPILED = ["add", "multiply", "maximum", "fmin", "logaddexp2", "hypot", "subtract"]


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat", "outer"])
def test_compiled(method: str) -> None:
    given = {"reduce": (1,), "accumulate": (1,), "reduceat": ([0, 2], 1), "outer": (Y,)}[method]

    def program(v: Any) -> Any:
        return tuple(getattr(NUMPYS[name], method)(v, *given) for name in COMPILED)

    values(program, X, compiled=True)
    derivatives(lambda v: sum(np.sum(r * k) for k, r in enumerate(program(v), 1)), X, compiled=True)


def test_accumulate_with_nan() -> None:
    x = np.array([1.0, np.nan, 3.0, 0.0])
    for ufunc in (np.maximum, np.minimum, np.fmax, np.fmin):
        values(
            lambda v, ufunc=ufunc: (
                ufunc.accumulate(v),
                ufunc.reduce(v),
                ufunc.reduceat(v, [0, 2]),
            ),
            x,
        )


# --- reduceat -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE_AXIS)
def test_reduceat(name: str) -> None:
    ufunc, x = NUMPYS[name], operand(name, np.concatenate([X, X + 0.3], 1))
    for indices in ([0, 2, 4], [4, 0, 0, 3], [5], np.array([1, 3])):
        values(lambda v, i=indices: ufunc.reduceat(v, i, axis=1), x)
    values(lambda v: ufunc.reduceat(v, [1, 0]), x)
    values(lambda v: ufunc.reduceat(v, np.zeros(0, int), 1), x)
    if name not in FLAT:
        derivatives(lambda v: ufunc.reduceat(v, [0, 2, 1, 4], axis=1), x)


def test_bad_reduceat() -> None:
    for indices in ([0, 6], [-1], [[0]], [0.5]):
        with pytest.raises((IndexError, ValueError, TypeError)):
            tg.jit(lambda v, i=indices: np.add.reduceat(v, i, axis=0))(X)
    values(lambda v: np.add.reduceat(v, [0, 1], dtype=np.float32), X)
