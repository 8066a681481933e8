"""Every ufunc that is known, with each of its methods and their arguments: values as NumPy's,
derivatives as finite differences."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest
import scipy.special as special

import tracegrad as tg
from tests.checks import directional
from tracegrad.errors import ConcretizationError, DTypeError, ShapeError, UnsupportedFunctionError
from tracegrad.faces.numpy.ufuncs import KNOWN, SCIPY, counterpart
from tracegrad.ir.evaluate import evaluate
from tracegrad.tensor import Array, Tensor
from tracegrad.transforms.tracing import leaf_type, trace_function
from tracegrad.tree import flatten, unflatten

NUMPYS = {f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}
KNOWN_NAMES = sorted(name for name, f in NUMPYS.items() if f in KNOWN)
BINARY = [
    name
    for name in KNOWN_NAMES
    if NUMPYS[name].nin == 2 and NUMPYS[name].nout == 1 and NUMPYS[name].signature is None
]
INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert"}
TRUTH = {
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
}
FLAT = {"floor_divide", "heaviside", "remainder", "fmod", "copysign", *TRUTH, *INTEGERS}
"""No derivative, or jumps."""
X = np.array([[0.7, 1.9, 1.3], [2.6, 0.45, 1.1]])
Y = np.array([[1.2, 0.8, 2.3]])


def operand(name: str, x: Any) -> Any:
    if name in INTEGERS:
        return np.rint(x).astype(np.int64)
    return (
        x > 1.2
        if name in TRUTH - {"logical_and", "logical_or", "logical_xor", "logical_not"}
        else x
    )


def same(found: Any, expected: Any, tolerance: float = 1e-13) -> None:
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        for f, e in zip(found, expected, strict=True):
            same(f, e, tolerance)
        return
    found = found._data if isinstance(found, (Array, Tensor)) else np.asarray(found)
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    scale = 1e7 if expected.dtype in (np.float32, np.complex64) else 1.0
    np.testing.assert_allclose(found, expected, rtol=tolerance * scale, atol=tolerance * scale)


def traced(function: Callable[..., Any], *arrays: Any) -> Any:
    """What the traced graph gives, by its operations; `compiled` rows compile it."""
    spec = flatten((arrays, {}))[1]
    found = trace_function(
        function, spec, [leaf_type(a) for a in arrays], [Array] * len(arrays), name="f"
    )
    outs = evaluate(found.graph, [*arrays, *found.captures])
    assert [o.type.dtype for o in found.graph.outputs] == [np.asarray(o).dtype for o in outs]
    return unflatten(found.out_spec, outs)


def values(
    function: Callable[..., Any], *arrays: Any, tolerance: float = 1e-13, compiled: bool = False
) -> None:
    """Traced (and compiled), and where arrays are floats also boxed with either face, the function
    gives what NumPy gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(*arrays)
        same(traced(function, *arrays), expected, tolerance)
        if compiled:
            same(tg.jit(function)(*arrays), expected, tolerance)
        if all(np.asarray(a).dtype.kind in "fc" for a in arrays):
            same(tg.vjp(function, *arrays)[0], expected, tolerance)
            same(function(*[tg.tensor(a, requires_grad=True) for a in arrays]), expected, tolerance)


def derivatives(
    function: Callable[..., Any], *arrays: Any, tolerance: float = 1e-6, compiled: bool = False
) -> None:
    """The gradient of a projection of the results, in reverse and forward mode, running (and
    compiled)."""
    rng = np.random.default_rng(0)
    out = function(*arrays)
    weights = rng.normal(size=np.shape(out))
    directions = [rng.normal(size=np.shape(a)) for a in arrays]

    def projected(*xs: Any) -> Any:
        return np.sum(weights * function(*xs))

    (expected,) = directional(projected, arrays, range(len(arrays)), directions)
    wrt = tuple(range(len(arrays)))
    for gradient in (
        tg.grad(projected, wrt),
        *([tg.jit(tg.grad(projected, wrt))] if compiled else []),
    ):
        found = sum(
            float(np.sum(g * d)) for g, d in zip(gradient(*arrays), directions, strict=True)
        )
        assert np.isclose(found, expected, rtol=tolerance, atol=tolerance), (found, expected)
    _, tangent = tg.jvp(projected, arrays, tuple(directions))
    assert np.isclose(float(tangent), expected, rtol=tolerance, atol=tolerance)


def test_the_table_is_whole() -> None:
    assert len(KNOWN_NAMES) > 75
    assert {"add", "power", "logaddexp2", "vecdot", "divmod"} <= set(KNOWN_NAMES)
    assert all(counterpart(getattr(special, name)) is not None for name in SCIPY)
    assert not any(f in KNOWN for f in (np.frexp, np.modf, np.gcd, np.nextafter))


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
        tg.grad(lambda v: np.add.reduce(v, axis=None, out=np.zeros(())))(X)


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


# --- outer, at, and the call ----------------------------------------------------------------------


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


def test_at_on_plain_and_mixed_operands() -> None:
    with pytest.raises(ConcretizationError, match=r"np\.multiply\.at would write"):
        tg.grad(lambda v: np.multiply.at(np.ones(3), [0], v[:1]))(X[0])
    plain = np.ones(3)
    np.multiply.at(plain, [0, 0], tg.tensor([2.0, 3.0]))
    np.testing.assert_array_equal(plain, [6.0, 1.0, 1.0])
    with pytest.raises(UnsupportedFunctionError, match="traced indices"):
        tg.jit(lambda v, i: np.multiply.at(np.copy(v), i, 2.0))(X[0], np.array([0, 1]))
    with pytest.raises((ValueError, TypeError)):
        tg.jit(lambda v: np.add.at(np.copy(v), [0]))(X[0])


@pytest.mark.parametrize("name", KNOWN_NAMES)
def test_call_with_dtype_out_and_where(name: str) -> None:
    """Of every dtype asked for: NumPy's result, or both refuse. Then `out=`, with and without
    `where=`."""
    ufunc = NUMPYS[name]
    x = operand(name, X / 4 + (1 if name == "arccosh" else 0))
    args = (x, operand(name, Y)) if ufunc.nin == 2 else (x,)
    if name in ("matmul", "vecdot"):
        args = (x, operand(name, Y.T if name == "matmul" else Y))
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


# --- by identity ----------------------------------------------------------------------------------


@numba.vectorize
def gamma(b: Any) -> Any:
    return 1 / np.sqrt(1 - b * b)


@numba.vectorize(["float64(float64)"])
def sigmoid(b: Any) -> Any:
    return b * b


@numba.vectorize(["float64(float64, float64)"])
def mv(a: Any, b: Any) -> Any:
    return a - b


OTHERS: dict[str, tuple[Any, int]] = {
    "numba.vectorize": (gamma, 1),
    "numba.vectorize typed": (sigmoid, 1),
    "numba.vectorize binary": (mv, 2),
    "np.frompyfunc": (np.frompyfunc(lambda b: b * b, 1, 1), 1),
    "np.frompyfunc binary": (np.frompyfunc(operator.add, 2, 1), 2),
}


def modes() -> Iterator[Callable[[Callable[..., Any]], Any]]:
    x = np.array([0.3, 0.8])
    yield lambda f: tg.jit(f)(x)
    yield lambda f: tg.grad(f)(x)
    yield lambda f: tg.jit(tg.grad(f))(x)
    yield lambda f: tg.jvp(f, (x,), (x,))
    yield lambda f: tg.vmap(f)(np.stack([x, x]))
    yield lambda f: f(tg.tensor(x, requires_grad=True))


@pytest.mark.parametrize("name", OTHERS)
def test_ufuncs_of_others_are_refused_by_name(name: str) -> None:
    ufunc, count = OTHERS[name]
    text = (
        r"test_ufuncs.py:\d+: the ufunc "
        rf"'{ufunc.__name__.replace('(', '.').replace(')', '.')}'.*custom_vjp"
    )
    for mode in modes():
        with pytest.raises(UnsupportedFunctionError, match=text):
            mode(lambda v: np.sum(ufunc(*[v] * count)))


def test_ufuncs_of_others_where_nothing_is_lost() -> None:
    np.testing.assert_allclose(np.asarray(gamma(tg.tensor([0.6]))), [1.25])

    @tg.custom_vjp
    def lorentz(b: Any) -> Any:
        return gamma(b)

    lorentz.defvjp(lambda b: (gamma(b), b), lambda b, ct: (ct * b * gamma(b) ** 3,))
    np.testing.assert_allclose(
        tg.grad(lambda v: np.sum(lorentz(v)))(np.array([0.6])), [0.6 * 1.25**3]
    )


@pytest.mark.parametrize("name", ["frexp", "modf", "gcd", "nextafter", "spacing", "ldexp"])
def test_unknown_ufuncs_of_numpy(name: str) -> None:
    ufunc = NUMPYS[name]
    with pytest.raises(
        UnsupportedFunctionError, match=rf"test_ufuncs.py:\d+: np.{name} has no counterpart"
    ):
        tg.jit(lambda v: ufunc(*[v] * ufunc.nin))(X if name != "gcd" else np.array([4, 6]))


def test_every_function_of_scipy_is_known_or_refused() -> None:
    x = np.array([0.3, 0.8])
    for name in dir(special):
        ufunc = getattr(special, name)
        if not isinstance(ufunc, np.ufunc) or name in SCIPY or ufunc in KNOWN:
            continue
        with pytest.raises(
            UnsupportedFunctionError, match=rf"scipy\.special\.{ufunc.__name__} has no counterpart"
        ):
            tg.vjp(lambda v, f=ufunc: f(*[v] * f.nin), x)


@pytest.mark.parametrize(
    "function", [np.emath.sqrt, np.emath.log, np.emath.arccos, lambda v: np.emath.power(v, 2)]
)
def test_functions_of_the_same_name_elsewhere(function: Any) -> None:
    for mode in modes():
        with pytest.raises(
            UnsupportedFunctionError, match=r"np\.emath\.\w+ has no counterpart.*astype\(complex\)"
        ):
            mode(lambda v: np.sum(np.real(function(v))))
