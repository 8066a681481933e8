"""What is an ndarray and yet means something else (masks, matrices, units, records, objects), at
every place where arrays come in: right as NumPy's, or refused by name. And what only looks
different (files, byte orders, strides, read-only memory) works."""

from __future__ import annotations

import array
import collections
import enum
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import tracegrad as tg
from tracegrad.errors import DTypeError

A = np.array([1.0, 2.0, 3.0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5
    LETTERS = np.char.array(["a", "b", "c"])


class Quantity(np.ndarray):
    """Numbers with a unit, which NumPy's functions are told of."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(
            *[np.asarray(x) if isinstance(x, Quantity) else x for x in inputs], **kwargs
        ).view(Quantity)


class Named(np.ndarray):
    """A subclass that changes nothing."""


SUBCLASSES: dict[str, Any] = {
    "MaskedArray": np.ma.array(A, mask=[0, 1, 0]),
    "MaskedArray without a mask": np.ma.array(A),
    "matrix": np.matrix(A),
    "Quantity": A.view(Quantity),
    "Named": A.view(Named),
    "recarray": np.rec.array([(1.0, 2.0)] * 3, dtype=[("a", float), ("b", float)]),
    "chararray": LETTERS,
}


def written(x: Any, value: Any) -> Any:
    x = x * 1.0
    x[:] = value
    return x


PLACES: dict[str, Callable[[Any], Any]] = {
    "argument of grad": lambda m: tg.grad(lambda x: np.sum(x**2))(m),
    "argument of jit": lambda m: tg.jit(lambda x: np.sum(x**2))(m),
    "second argument of jit": lambda m: tg.jit(lambda v, x: np.sum(v) + np.sum(x))(A, m),
    "argument of vmap": lambda m: tg.vmap(lambda x: x * 2)(m),
    "primal": lambda m: tg.jvp(np.sum, (m,), (A,)),
    "tangent": lambda m: tg.jvp(np.sum, (A,), (m,)),
    "argument of vjp": lambda m: tg.vjp(np.sum, m),
    "cotangent": lambda m: tg.vjp(lambda x: x * 2, A)[1](m),
    "argument of linearize": lambda m: tg.linearize(np.sum, m),
    "argument of hessian": lambda m: tg.hessian(lambda x: np.sum(x**2))(m),
    "other argument": lambda m: tg.grad(lambda v, x: np.sum(v * x))(A, m),
    "in a tree": lambda m: tg.grad(lambda t: np.sum(t["x"] ** 2))({"x": m}),
    "operand": lambda m: tg.grad(lambda v: np.sum(v * m))(A),
    "first operand": lambda m: tg.grad(lambda v: np.sum(m * v))(A),
    "traced operand": lambda m: tg.jit(lambda v: np.sum(v * m))(A),
    "first traced operand": lambda m: tg.jit(lambda v: np.sum(m * v))(A),
    "of a dual": lambda m: tg.jvp(lambda v: np.sum(m * v), (A,), (A,)),
    "of an item": lambda m: tg.vmap(lambda v: np.sum(m * v))(A[None]),
    "of a tensor": lambda m: tg.tensor(A, requires_grad=True) * m,
    "before a tensor": lambda m: m * tg.tensor(A, requires_grad=True),
    "subtraction": lambda m: tg.grad(lambda v: np.sum(m - v))(A),
    "comparison": lambda m: tg.grad(lambda v: np.sum(v * (v < m)))(A),
    "first in a comparison": lambda m: tg.grad(lambda v: np.sum(v * (m < v)))(A),
    "ufunc": lambda m: tg.grad(lambda v: np.sum(np.maximum(v, m)))(A),
    "ufunc, first": lambda m: tg.grad(lambda v: np.sum(np.maximum(m, v)))(A),
    "where": lambda m: tg.grad(lambda v: np.sum(np.where(v > 1.5, v, m)))(A),
    "condition": lambda m: tg.grad(lambda v: np.sum(np.where(m, v, 0)))(A),
    "concatenate": lambda m: tg.grad(lambda v: np.sum(np.concatenate([v, m])))(A),
    "matmul": lambda m: tg.grad(lambda v: np.sum(v @ m.T))(A),
    "rmatmul": lambda m: tg.grad(lambda v: np.sum(m @ v))(A),
    "result of jit": lambda m: tg.jit(lambda v: (v, m))(A),
    "result of vmap": lambda m: tg.vmap(lambda v: (v, m))(A),
    "result of jvp": lambda m: tg.jvp(lambda v: (v, m), (A,), (A,)),
    "written": lambda m: tg.grad(lambda v: np.sum(written(v, m) * v))(A),
    "written while traced": lambda m: tg.jit(lambda v: written(v, m))(A),
    "written to a tensor": lambda m: written(tg.tensor(A), m),
    "in place": lambda m: tg.grad(lambda v: np.sum((v * 1).__iadd__(m)))(A),
    "tensor": tg.tensor,
    "as_tensor": tg.as_tensor,
    "from_numpy": tg.from_numpy,
    "Tensor": tg.Tensor,
    "function of plain arrays": lambda m: tg.exp(m),
    "reduction of plain arrays": lambda m: tg.sum(m),
    "function of two": lambda m: tg.maximum(A, m),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", SUBCLASSES)
def test_subclasses_are_refused_by_name(kind: str, place: str) -> None:
    m = SUBCLASSES[kind]
    others_first = kind in ("chararray", "Quantity") and place in (
        "first operand",
        "first traced operand",
        "of a dual",
        "of an item",
        "before a tensor",
    )
    names = (
        ""
        if others_first or place in ("concatenate", "matmul", "rmatmul", "subtraction")
        else kind.split()[0]
    )
    with pytest.raises((TypeError, ValueError), match=rf"{names}|masked array"):
        PLACES[place](m)
    if kind == "Quantity" and place == "operand":
        with pytest.raises(
            TypeError,
            match=r"test_array_kinds.py:\d+: mul: an operand is a \w+\.Quantity.*np\.asarray",
        ):
            PLACES[place](m)


def test_masked_arrays_say_what_to_do() -> None:
    m = SUBCLASSES["MaskedArray"]
    for place in (
        "argument of grad",
        "operand",
        "first operand",
        "first traced operand",
        "before a tensor",
    ):
        with pytest.raises(TypeError, match=r"test_array_kinds.py:\d+: .*(filled\(value\))"):
            PLACES[place](m)
    functions: list[Callable[[Any], Any]] = [
        np.ma.sin,
        np.ma.sum,
        np.ma.array,
        lambda v: np.ma.multiply(m, v),
        lambda v: np.ma.where([True] * 3, v, m),
    ]
    functions += [
        lambda v: np.ma.masked_where(A > 1, v),
        lambda v: np.ma.power(v, 2),
        lambda v: m.__setitem__(0, v[0]),
        lambda v: np.ma.dot(m, v),
    ]
    for function in functions:
        for run in (
            lambda f: tg.vjp(f, A),
            lambda f: tg.jit(f)(A),
            lambda f: f(tg.tensor(A, requires_grad=True)),
        ):
            with pytest.raises((TypeError, ValueError, RuntimeError)):
                run(function)
    assert m[0] == 1.0


MAPPED = [p for p in PLACES if p not in ("from_numpy", "condition")]


@pytest.mark.parametrize(
    "kind", ["memmap", "read-only", "byte-swapped", "strided", "misaligned", "Fortran", "broadcast"]
)
def test_other_memory_works_as_any(kind: str, tmp_path: Path) -> None:
    if kind == "memmap":
        m: Any = np.memmap(tmp_path / "numbers", dtype=float, mode="w+", shape=3)
        m[:] = A
    elif kind == "read-only":
        m = A.copy()
        m.setflags(write=False)
    elif kind == "byte-swapped":
        m = A.astype(">f8")
    elif kind == "strided":
        m = np.repeat(A, 2)[::2]
    elif kind == "misaligned":
        m = np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(float)
    elif kind == "Fortran":
        m = np.asfortranarray(np.stack([A, A]))[0]
    else:
        m = np.broadcast_to(A, (2, 3))[1]
    for place in MAPPED:
        expected, found = PLACES[place](A), PLACES[place](m)
        for f, e in zip(tg.tree.flatten(found)[0], tg.tree.flatten(expected)[0], strict=True):
            if not callable(e):
                np.testing.assert_array_equal(
                    np.asarray(f.detach() if isinstance(f, tg.Tensor) else f),
                    np.asarray(e.detach() if isinstance(e, tg.Tensor) else e),
                )
    np.testing.assert_array_equal(np.asarray(m), A)


STRANGE: dict[str, Any] = {
    "object": np.array([1.0, 2, 3], object),
    "objects that are no numbers": np.array([Fraction(1, 2), None, "a"], object),
    "datetime": np.array(["2020-01-01"] * 3, "M8[D]"),
    "timedelta": np.array([1, 2, 3], "m8[s]"),
    "str": np.array(["a", "b", "c"]),
    "bytes": np.array([b"a", b"b", b"c"]),
    "structured": np.array([(1.0, 2.0)] * 3, dtype=[("a", float), ("b", float)]),
    "longdouble": A.astype(np.longdouble),
    "clongdouble": A.astype(np.clongdouble),
    "a longdouble": np.longdouble(2),
    "a datetime": np.datetime64("2020-01-01"),
    "a void": np.void(b"abc"),
}
OPEN = (
    "function of plain arrays",
    "reduction of plain arrays",
    "function of two",
    "from_numpy",
    "Tensor",
    "tensor",
    "as_tensor",
    "condition",
)
"""Functions of plain arrays are NumPy's; what the constructors take is tested elsewhere."""


@pytest.mark.skipif(np.longdouble(1).dtype == np.float64, reason="no long double here")
@pytest.mark.parametrize("place", [p for p in PLACES if p not in OPEN])
@pytest.mark.parametrize("kind", STRANGE)
def test_strange_dtypes_are_refused(kind: str, place: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        PLACES[place](STRANGE[kind])


@pytest.mark.parametrize("x", [A.astype(np.float16), np.float16(2)], ids=["array", "number"])
def test_half_precision(x: Any) -> None:
    """Beside other floats as in NumPy; by itself refused, and in compiled code."""
    np.testing.assert_array_equal(
        tg.grad(lambda v: np.sum(v * x))(A), np.broadcast_to(x, 3).astype(float)
    )
    np.testing.assert_array_equal(
        tg.grad(lambda v: np.sum(x * v))(A), np.broadcast_to(x, 3).astype(float)
    )
    for place in (
        "argument of grad",
        "argument of jit",
        "traced operand",
        "first traced operand",
        "result of jit",
    ):
        with pytest.raises(DTypeError, match="float16"):
            PLACES[place](x)


OTHERS: dict[str, Any] = {
    "lil_array": scipy.sparse.lil_array(np.diag(A)),
    "dok_matrix": scipy.sparse.dok_matrix(np.diag(A)),
    "Fraction": Fraction(1, 2),
    "set": {1, 2},
    "a string": "abc",
    "None": None,
}


@pytest.mark.parametrize("place", [p for p in PLACES if p not in OPEN and "comparison" not in p])
@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_array(kind: str, place: str) -> None:
    if kind == "None" and any(
        word in place for word in ("result", "in a tree", "vjp", "linearize")
    ):
        return  # as a tree it is empty
    with pytest.raises((TypeError, ValueError, NotImplementedError, AttributeError, RuntimeError)):
        PLACES[place](OTHERS[kind])


def test_second_calls_of_compiled_functions_look_again() -> None:
    f, g = tg.jit(lambda x: np.sum(x**2)), tg.jit(tg.grad(lambda x: np.sum(x**2)))
    f(A), g(A)
    for m in (SUBCLASSES["MaskedArray"], SUBCLASSES["Named"]):
        with pytest.raises(TypeError, match="subclass of ndarray"):
            f(m)
        with pytest.raises(TypeError, match="subclass of ndarray"):
            g(m)


class Holder:
    x: Any = A


def test_captured_values_that_become_subclasses() -> None:
    f = tg.jit(lambda v: np.sum(v * Holder.x))
    assert f(A) == 14.0
    Holder.x = SUBCLASSES["MaskedArray"]
    try:
        with pytest.raises(TypeError, match="MaskedArray"):
            f(A)
    finally:
        Holder.x = A
    assert f(A) == 14.0


def test_what_is_written_has_the_bytes_of_this_machine() -> None:
    """Of the other ones compiled code has a copy, into which a write would go unseen."""

    def writes(x: Any, y: Any) -> Any:
        x[0] = 9.0
        return x * y

    f = tg.jit(writes)
    f(A.copy(), A)
    for dtype in (">f8", ">f4", ">i8"):
        x = A.astype(dtype)
        for y in (A, x, x[::-1]):
            with pytest.raises(ValueError, match=r"x is written to .*another order"):
                f(x, y)
        np.testing.assert_array_equal(tg.jit(lambda x: 2 * x, donate_argnums=0)(x), 2 * x)
        x = A.astype(dtype)
        np.testing.assert_array_equal(f(A.copy(), x), writes(A.copy(), x))


class Metres(float):
    """A number with a unit."""

    def __mul__(self, other: Any) -> Any:
        return 10 * float(self) * other

    __rmul__ = __mul__


class Label(float):
    """A number of another class, which computes as Python's."""

    def __repr__(self) -> str:
        return "a label"


class Samples:
    """An array by NumPy's protocol, which its functions leave everything to."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [x.values if isinstance(x, Samples) else x for x in inputs]
        return 10 * getattr(ufunc, method)(*plain, **kwargs)


class Held:
    """An array by NumPy's protocol alone."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values


def test_numbers_with_operators_are_refused_as_arguments() -> None:
    def f(v: Any, m: Any) -> Any:
        return m * v

    for run in (tg.jit(f), lambda v, m: tg.jit(lambda t: f(*t))((v, m)), tg.vmap(f, (0, None))):
        with pytest.raises(TypeError, match="Metres, a number with operators of its own"):
            run(A, Metres(2.0))
    with pytest.raises(TypeError, match="Metres, a number with operators of its own"):
        tg.grad(lambda m: np.sum(f(A, m)))(Metres(2.0))
    captured = Metres(2.0)
    np.testing.assert_array_equal(tg.jit(lambda v: captured * v)(A), 20 * A)
    for plain in (Label(2.0), Colour.RED, Bits.ONE):
        np.testing.assert_array_equal(tg.jit(f)(A, plain), f(A, plain))


class Colour(enum.IntEnum):
    RED = 2


class Bits(enum.IntFlag):
    ONE = 1


EVERYWHERE: dict[str, Callable[[Any], Any]] = {
    "jit": lambda f: tg.jit(f)(A),
    "jvp": lambda f: tg.jvp(f, (A,), (A,))[0],
    "vjp": lambda f: tg.vjp(f, A)[0],
    "vmap": lambda f: tg.vmap(f)(A[None])[0],
}


@pytest.mark.parametrize("way", EVERYWHERE)
def test_functions_are_left_to_objects_that_answer(way: str) -> None:
    m = Samples(A)
    for f in (
        lambda v: np.multiply(v, m),
        lambda v: np.multiply(m, v),
        lambda v: np.hypot(v, m),
        lambda v: np.where(np.less(v, m) > 5, v, 2 * v),
        lambda v: np.add(v, m, dtype=float),
    ):
        np.testing.assert_allclose(EVERYWHERE[way](f), f(A))


STANDING: dict[str, Any] = {
    "of a protocol": Held(A),
    "memoryview": memoryview(A),
    "array": array.array("d", A),
    "range": range(1, 4),
    "deque": collections.deque(A),
}


@pytest.mark.parametrize("way", EVERYWHERE)
@pytest.mark.parametrize("other", STANDING)
def test_comparisons_with_what_stands_for_an_array(other: str, way: str) -> None:
    m = STANDING[other]
    for f in (lambda v: (v == m) * v, lambda v: (m == v) * v, lambda v: (v != m) * v):
        assert f(A).shape == A.shape
        with pytest.raises(TypeError, match=r"test_array_kinds.*(equal|not_equal): an operand"):
            EVERYWHERE[way](f)


@pytest.mark.parametrize("other", [None, "text", {}, object()])
def test_comparisons_with_what_is_no_array(other: Any) -> None:
    for run in EVERYWHERE.values():
        assert run(lambda v: 2 * v if v == other else v).tolist() == A.tolist()
