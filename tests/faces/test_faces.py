"""NumPy's operators, methods and functions on boxed values: the same results as on ndarrays, or an
error that says what to do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as special

from tracegrad import ops
from tracegrad import tensors as tg
from tracegrad.errors import ConcretizationError, DTypeError, UnsupportedFunctionError
from tracegrad.ir.trace import Trace
from tracegrad.tape.engine import gradient
from tracegrad.tensor import Array, Tensor, fresh_leaf
from tracegrad.types import type_of

A = np.array([[0.5, -1.5, 2.25], [3.0, 0.25, -4.0]])
V = np.array([0.75, 1.25, -2.0])
N = np.array([[5, 3, 2], [1, 7, 4]])

OPERATORS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + V,
    "radd": lambda x: V + x,
    "scalar": lambda x: 2 - x * 3,
    "numpy scalar": lambda x: np.float64(2) * x,
    "list": lambda x: [1.0, 2.0, 3.0] + x,
    "div": lambda x: 1 / x / V,
    "floordiv": lambda x: x // 2,
    "mod": lambda x: x % 0.75,
    "rmod": lambda x: 5 % x,
    "pow": lambda x: x**2,
    "rpow": lambda x: 2**x,
    "matmul": lambda x: x @ V,
    "rmatmul": lambda x: V[:2] @ x,
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "pos": lambda x: +x,
    "divmod": lambda x: divmod(x, 2),
    "less": lambda x: x < V,
    "ge": lambda x: x <= V,
    "eq": lambda x: x == 0.5,
    "invert": lambda x: ~(x > 0),
    "and": lambda x: (x > 0) & (x < 2),
    "or": lambda x: (x > 0) | True,
    "item": lambda x: x[1],
    "slice": lambda x: x[:, ::-1],
    "newaxis": lambda x: x[..., None, 0],
    "mask": lambda x: x[np.abs(A) > 1],
    "fancy": lambda x: x[[0, 1], [2, 0]],
    "iterate": lambda x: [row * 2 for row in x],
    "unpack": lambda x: tuple(x),
    "len": lambda x: len(x),
    "contains": lambda x: 0.25 in x,
    "round": lambda x: round(x[0, 2], 1) if isinstance(x, np.ndarray) else x[0, 2].__round__(1),
}

METHODS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum axis": lambda x: x.sum(axis=-1, keepdims=True),
    "sum positional": lambda x: x.sum(0, None, None, True),
    "prod": lambda x: x.prod(1),
    "max": lambda x: x.max(0),
    "min": lambda x: x.min(),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(),
    "cumsum": lambda x: x.cumsum(),
    "cumprod": lambda x: x.cumprod(axis=1),
    "all": lambda x: (x > 0).all(),
    "any": lambda x: (x > 0).any(axis=0),
    "reshape": lambda x: x.reshape(3, -1),
    "reshape tuple": lambda x: x.reshape((3, 2)),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: x.transpose(1, 0),
    "transpose tuple": lambda x: x.transpose((1, 0)),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "squeeze": lambda x: x[None].squeeze(),
    "astype": lambda x: x.astype(np.float32),
    "copy": lambda x: x.copy(),
    "clip": lambda x: x.clip(-1, 1),
    "clip one": lambda x: x.clip(max=1),
    "round": lambda x: x.round(1),
    "conj": lambda x: x.conj(),
    "real": lambda x: (x * (1 + 2j)).real,
    "imag": lambda x: (x * (1 + 2j)).imag,
    "take": lambda x: x.take([1, 0], axis=1),
    "size": lambda x: x.size,
    "nbytes": lambda x: x.nbytes,
    "ndim": lambda x: x.ndim,
    "shape": lambda x: x.shape,
    "flat": lambda x: list(x.flat),
    "dot": lambda x: x.dot(V),
    "view": lambda x: x.view(),
    "mean": lambda x: x.mean(axis=0),
    "std": lambda x: x.std(ddof=1),
    "var": lambda x: x.var(0),
    "diagonal": lambda x: x.diagonal(1),
    "trace": lambda x: x.trace(),
    "repeat": lambda x: x.repeat(2, axis=1),
    "argsort": lambda x: x.argsort(axis=0),
}

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: np.sum(x, 1, keepdims=True),
    "sum dtype": lambda x: np.sum(x > 0, axis=0, dtype=np.float64),
    "where": lambda x: np.where(x > 0, x, 0.0),
    "sum where": lambda x: np.sum(x, where=A > 0),
    "max initial": lambda x: np.max(x, axis=0, initial=1.0),
    "amax": lambda x: np.amax(x),
    "concatenate": lambda x: np.concatenate([x, A, x], axis=1),
    "stack": lambda x: np.stack((x, A), -1),
    "concat": lambda x: np.concat([A, x]),
    "exp": np.exp,
    "arctan2": lambda x: np.arctan2(x, V),
    "maximum": lambda x: np.maximum(V, x),
    "negative": np.negative,
    "subtract": lambda x: np.subtract(x, 1),
    "hypot": lambda x: np.hypot(x, 1),
    "logaddexp": lambda x: np.logaddexp(x, V),
    "acosh": lambda x: np.acosh(np.abs(x) + 2),
    "abs": np.abs,
    "dtype": lambda x: np.add(x, x, dtype=np.float32),
    "reduce": lambda x: np.add.reduce(x),
    "reduce axis": lambda x: np.maximum.reduce(x, axis=None),
    "accumulate": lambda x: np.add.accumulate(x, 1),
    "outer": lambda x: np.multiply.outer(x, V),
    "transpose": np.transpose,
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "clip": lambda x: np.clip(x, None, 1),
    "flip": lambda x: np.flip(x, 0),
    "zeros_like": lambda x: np.zeros_like(x),
    "ones_like": lambda x: np.ones_like(x, dtype=int),
    "full_like": lambda x: np.full_like(x, 3),
    "shape": np.shape,
    "size": np.size,
    "ndim": np.ndim,
    "result_type": lambda x: np.result_type(x, np.float32),
    "iscomplexobj": np.iscomplexobj,
    "tril": lambda x: np.tril(x, -1),
    "array_equal": lambda x: bool(np.array_equal(x, A)),
    "round": lambda x: np.round(x, 1),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "matmul": lambda x: np.matmul(x, x.T),
    "expit": special.expit,
    "gammaln": special.gammaln,
    "erf": special.erf,
    "xlogy": lambda x: special.xlogy(x, 2.0),
    "reshape F": lambda x: np.reshape(x, (3, 2), order="F"),
    "ravel F": lambda x: np.ravel(x, order="F"),
    "cov": np.cov,
    "cov ddof": lambda x: np.cov(x.T, ddof=0),
    "corrcoef": np.corrcoef,
    "convolve": lambda x: np.convolve(x[0], [1.0, 2.0]),
    "convolve same": lambda x: np.convolve(x[0], V[:2], "same"),
    "correlate": lambda x: np.correlate(x.ravel(), V),
    "polyval": lambda x: np.polyval([1.0, 2.0, 3.0], x),
    "append": lambda x: np.append(x, V),
    "select": lambda x: np.select([x > 1, x > 0], [x, x * 2], -1.0),
    "block": lambda x: np.block([[x, x], [A, A]]),
    "gradient": lambda x: np.gradient(x, 0.5),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [lambda v: v * 2, -1.0]),
    "vander": lambda x: np.vander(x[0]),
    "rollaxis": lambda x: np.rollaxis(x, 1),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, V),
    "compress": lambda x: np.compress([True, False, True], x, axis=1),
    "copy": lambda x: np.copy(x),
    "ediff1d": lambda x: np.ediff1d(x, to_begin=0.0),
    "allclose": lambda x: np.allclose(x, A),
    "linalg trace": lambda x: np.linalg.trace(np.stack([x, x])),
    "linalg diagonal": lambda x: np.linalg.diagonal(np.stack([x, x])),
    "sort kind": lambda x: np.sort(x, kind="stable"),
    "norm": np.linalg.norm,
    "argsort kind": lambda x: np.argsort(x, axis=0, kind="mergesort"),
    "sort axis": lambda x: np.sort(x, 0),
    "unstack": lambda x: np.unstack(x),
    "mean keyword": lambda x: np.mean(a=x, axis=1),
    "std ddof": lambda x: np.std(x, ddof=1),
    "einsum": lambda x: np.einsum("ij,j->i", x, V),
    "median": lambda x: np.median(x, axis=1),
    "percentile": lambda x: np.percentile(x, 30),
    "tile": lambda x: np.tile(x, (2, 1)),
    "diff": lambda x: np.diff(x),
    "pad": lambda x: np.pad(x, 1),
    "digamma": special.digamma,
    "isnan": np.isnan,
    "angle": lambda x: np.angle(x),
    "meshgrid": lambda x: np.meshgrid(x[0], V)[0],
}


def as_plain(x: Any) -> Any:
    if isinstance(x, (Array, Tensor)):
        return x._data
    return [as_plain(i) for i in x] if isinstance(x, (list, tuple)) else x


def assert_equal(found: Any, expected: Any) -> None:
    found = as_plain(found)
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            assert_equal(f, e)
        return
    if isinstance(expected, np.dtype):
        assert found == expected
        return
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    assert_equal(OPERATORS[name](fresh_leaf(A)), OPERATORS[name](A))


@pytest.mark.parametrize("name", METHODS)
def test_ndarray_methods(name: str) -> None:
    assert_equal(METHODS[name](fresh_leaf(A)), METHODS[name](A))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("face", [Array, Tensor])
def test_numpy_functions(name: str, face: type[Any]) -> None:
    assert_equal(FUNCTIONS[name](fresh_leaf(A, face)), FUNCTIONS[name](A))


def test_integer_operators() -> None:
    t = tg.as_tensor(N)
    for f in (
        lambda x: x & 6,
        lambda x: x | 8,
        lambda x: x ^ 1,
        lambda x: x << 2,
        lambda x: 64 >> x,
        lambda x: ~x,
        lambda x: x // 2,
        lambda x: x**2,
    ):
        assert_equal(f(t), f(N))  # type: ignore[no-untyped-call]


def test_results_have_the_face_of_their_operands() -> None:
    t, a = tg.ones(2), fresh_leaf(np.ones(2))
    assert type(np.add(t, np.ones(2))) is Tensor
    assert type(np.ones(2) * t) is Tensor
    assert type(a * t) is Tensor
    assert type(np.concatenate([np.ones(2), a])) is Array
    assert isinstance(a > 0, np.ndarray)


def test_writes() -> None:
    def program(x: Any) -> Any:
        y = x * 1.0
        y[0] += x[1] * 2
        y[:, 1:] *= x[:, :-1]
        v = y[1]
        v -= 3
        y[[0, 1], [2, 0]] = 7 * x[0, :2]
        z = y.T
        z[0] = z[1]
        w = y.T.reshape(-1)  # a copy: writing to it does not reach y
        w[0] = 100
        y += w.sum()
        y[y > 60] = 1.5
        return (y**2).sum()

    x = fresh_leaf(A)
    out = program(x)
    assert np.isclose(float(as_plain(out)), program(A))
    (found,) = gradient([out], [x], [np.ones(())])
    numeric = np.zeros_like(A)
    for i in np.ndindex(A.shape):
        d = np.zeros_like(A)
        d[i] = 1e-6
        numeric[i] = (program(A + d) - program(A - d)) / 2e-6
    np.testing.assert_allclose(found, numeric, rtol=1e-6)


def test_the_callers_array_never_changes() -> None:
    data = A.copy()
    x = fresh_leaf(data)
    x[0] = 5
    x += 1
    assert np.array_equal(data, A)
    t = tg.as_tensor(data)
    y = fresh_leaf(t)
    y.mul_(2)
    assert np.array_equal(data, A)


def test_unsupported_functions_name_what_helps() -> None:
    x = fresh_leaf(A)
    with pytest.raises(
        UnsupportedFunctionError, match=r"test_faces.py:\d+: np.common_type has no counterpart"
    ):
        np.common_type(x)
    with pytest.raises(
        UnsupportedFunctionError, match=r"np.emath.sqrt has no counterpart.*Write np\.sqrt"
    ):
        np.emath.sqrt(x)
    with pytest.raises(UnsupportedFunctionError, match=r"scipy\.special\.itstruve0 has no"):
        special.itstruve0(x)
    with pytest.raises(UnsupportedFunctionError, match="with where="):
        np.exp(x, where=A > 0)
    assert isinstance(np.frexp(tg.ones(2))[0], Tensor)  # nothing is lost: NumPy itself answers


def test_out_and_at() -> None:
    x = fresh_leaf(A)
    y = x * 1
    assert np.add(x, 1, out=y) is y
    assert_equal(y, A + 1)
    np.add.at(y, [0, 0], x[1])
    expected = A + 1
    np.add.at(expected, [0, 0], A[1])
    assert_equal(y, expected)
    buffer = np.zeros_like(A)
    with pytest.raises(ConcretizationError, match=r"a = a \+ x"):
        buffer += x
    with pytest.raises(ConcretizationError, match=r"np\.zeros_like"):
        np.add.at(buffer, 0, x[0])
    np.add(tg.as_tensor(A), 1, out=buffer)
    assert_equal(buffer, A + 1)
    np.copyto(y, 0.0)
    assert_equal(y, np.zeros_like(A))


@pytest.mark.parametrize("traced", [False, True])
def test_silent_conversion_is_refused(traced: bool) -> None:
    with Trace("t") as trace:
        x = Array(trace.input(type_of(A))) if traced else None
        if x is None:
            trace.__exit__()
            x = fresh_leaf(A)
        try:
            with pytest.raises(ConcretizationError, match=r"np\.zeros_like.*tg\.zeros"):
                np.asarray(x)
            with pytest.raises(ConcretizationError, match=r"np\.stack"):
                np.array([x, x])
            out = np.zeros(3)
            with pytest.raises((ConcretizationError, ValueError)) as caught:
                out[0] = x[0, 0]
            chain = (
                caught.value
                if isinstance(caught.value, ConcretizationError)
                else caught.value.__cause__
            )
            assert "tg.zeros" in str(chain)
            with pytest.raises(ConcretizationError, match=r"np\.sin, not math\.sin"):
                float(x[0, 0])
        finally:
            if not traced:
                trace.__enter__()


def test_methods_without_counterpart() -> None:
    x = fresh_leaf(A)
    with pytest.raises(TypeError, match="use astype"):
        x.view(np.int64)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]
    with pytest.raises(TypeError, match="0-d"):
        iter(x.sum())
    n = Array(N)
    with pytest.raises(DTypeError, match="cannot be cast"):
        n += 0.5


def test_methods_that_write() -> None:
    x = fresh_leaf(A) * 1
    x.fill(2)
    assert_equal(x, np.full_like(A, 2))
    x.put([0, 3], [5, 6])
    expected = np.full_like(A, 2)
    expected.put([0, 3], [5, 6])
    assert_equal(x, expected)
    y = fresh_leaf(A) * 1
    y.sort()
    assert_equal(y, np.sort(A))


def test_buffers_take_up_differentiated_values() -> None:
    def program(x: Any) -> Any:
        out = np.zeros_like(x)
        for k in range(3):
            out[:, k] = x[:, k - 1] * k
        row = np.full_like(x[0], 2.0) * 1.5
        row[1] += x[0, 0]
        flat = np.empty_like(x, shape=(6,))
        flat.fill(3)
        flat.reshape(2, 3)[1] += x[1] ** 2
        return out.sum() + (row**2).sum() + (flat * flat).sum()

    x = fresh_leaf(A)
    out = program(x)
    assert np.isclose(float(as_plain(out)), program(A))
    (found,) = gradient([out], [x], [np.ones(())])
    numeric = np.zeros_like(A)
    for i in np.ndindex(A.shape):
        d = np.zeros_like(A)
        d[i] = 1e-6
        numeric[i] = (program(A + d) - program(A - d)) / 2e-6
    np.testing.assert_allclose(found, numeric, rtol=1e-6)


CREATED = {"empty_like", "full_like", "ones_like", "zeros_like", "pad"}
"""These give 0-d arrays in NumPy too."""


@pytest.mark.parametrize(
    "name",
    sorted(
        set(ops.__all__) - CREATED - {"OPS", "linalg", "Generator", "manual_seed", "default_rng"}
    ),
)
def test_0d_results_are_numpy_scalars(name: str) -> None:
    function = getattr(tg.ops, name)
    s, v, m = np.float64(0.5), np.array([0.2, 0.5, 0.7]), np.array([[2.0, 1.0], [1.0, 3.0]])
    for args in ((s,), (s, s), (v,), (v, v), (m,), (m, m), (s, s, s), (v, 0), ([v],), (v, s)):
        for options in ({}, {"axis": None}, {"axis": 0}):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    result = function(*args, **options)
                except (TypeError, ValueError, IndexError, RuntimeError, ArithmeticError):
                    continue
            for x in result if isinstance(result, (tuple, list)) else (result,):
                assert not (isinstance(x, np.ndarray) and x.ndim == 0), (args, options)
