"""The vector functions over their whole domains, to the bounds that `codegen.scalars` states."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mpmath
import numba
import numpy as np
import pytest
from tracegrad.codegen.native import scalar, support
from tracegrad.codegen.native.math.vector_math import FUNCTIONS
from tracegrad.codegen.scalars import SCALARS

import tracegrad as tg

DTYPES = {"float64": np.float64, "float32": np.float32}
BOUNDS = {s.name: s.ulp for s in SCALARS.values() if s.ulp is not None}
NAMES = sorted(BOUNDS)
OF_TWO = {"pow", "atan2", "hypot", "logaddexp"}
NUMPY = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "pow": np.power,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
}
MPMATH: dict[str, Callable[..., Any]] = {
    "atan2": mpmath.atan2,
    "erfc": lambda x: mpmath.erfc(min(max(x, -40), 40)),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "pow": mpmath.power,
    "trigamma": lambda x: exact_trigamma(x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "log10": mpmath.log10,
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
}
RANGES: dict[str, list[tuple[float, float]]] = {
    "acos": [(-1, 1), (0.99, 1)],
    "acosh": [(1, 1.01), (1, 100)],
    "asin": [(-1, 1), (0.99, 1)],
    "asinh": [(-10, 10), (-0.1, 0.1)],
    "atan": [(-10, 10), (0.9, 1.1)],
    "atanh": [(-1, 1), (-0.1, 0.1)],
    "cbrt": [(-10, 10)],
    "cosh": [(-715, 715), (-3, 3)],
    "erf": [(-1, 1), (0.9, 1.5), (-7, 7)],
    "erfc": [(-1, 2), (-7, 10), (9, 28)],
    "exp": [(-750, 712), (-105, 90), (-1, 1)],
    "exp2": [(-1080, 1026), (-152, 129), (-1, 1)],
    "expm1": [(-50, 712), (-1, 1), (-1e-3, 1e-3)],
    "log": [(0.5, 2), (0.99, 1.01)],
    "log10": [(0.5, 2), (0.99, 1.01)],
    "log1p": [(-1, 1), (-1e-2, 1e-2), (0, 1e5)],
    "log2": [(0.5, 2), (0.99, 1.01)],
    "sigmoid": [(-750, 40), (-5, 5)],
    "sinh": [(-715, 715), (-3, 3), (-0.1, 0.1)],
    "softplus": [(-750, 750), (-5, 5)],
    "sqrt": [(0, 10)],
    "trigamma": [(0, 3), (0, 30), (-10, 0)],
    "tanh": [(-20, 20), (-1, 1), (-1e-2, 1e-2)],
    **{name: [(-10, 10), (-1e5, 1e5), (-2e9, 2e9)] for name in ("cos", "sin", "tan")},
}


def exact_trigamma(x: Any) -> Any:
    if x <= 0:
        return (
            mpmath.inf
            if x == mpmath.floor(x)
            else (mpmath.pi / mpmath.sin(mpmath.pi * x)) ** 2 - exact_trigamma(1 - x)
        )
    return (
        mpmath.psi(1, x)
        if x < 1e4
        else sum(
            b / x**k
            for b, k in ((1, 1), (0.5, 2), (mpmath.mpf(1) / 6, 3), (-mpmath.mpf(1) / 30, 5))
        )
    )


@functools.cache
def native_loop(name: str) -> Any:
    a, b = ("x, y", "x[i], y[i]") if name in OF_TWO else ("x", "x[i]")
    text = (
        f"def loop({a}, out):\n"
        "    for i in range(index(0), index(x.shape[0])):\n"
        f"        out[i] = function({b})\n"
    )
    scope: dict[str, Any] = {"index": support.index, "function": getattr(scalar, name)}
    exec(text, scope)
    return numba.njit(error_model="numpy")(scope["loop"])


def compiled(name: str, *operands: Any) -> Any:
    out = np.empty_like(operands[0])
    native_loop(name)(*operands, out)
    return out


def any_floats(rng: np.random.Generator, count: int, dtype: Any) -> Any:
    """Finite floats with random bits: all exponents, subnormal numbers too."""
    kind = np.uint64 if dtype is np.float64 else np.uint32
    x = rng.integers(0, np.iinfo(kind).max, count, kind, endpoint=True).view(dtype)
    return np.where(np.isfinite(x), x, dtype(1))


def samples(name: str, count: int, dtype: Any) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(7)
    arbitrary = tuple(any_floats(rng, count, dtype) for _ in range(1 + (name in OF_TWO)))
    if name == "pow":
        most = np.log(float(np.finfo(dtype).max))
        base = np.exp(rng.uniform(-most, most, count))
        pairs = [
            (rng.uniform(0, 3, count), rng.uniform(-20, 20, count)),
            (rng.uniform(0.5, 2, count), rng.uniform(-most, most, count) * 1.5),
            (base, rng.uniform(-1.1, 1.1, count)),
            (-rng.uniform(0, 30, count), np.rint(rng.uniform(-30, 30, count))),
            (1 + rng.normal(0, 1e-3, count), rng.uniform(-1e3, 1e3, count) * most),
        ]
    elif name in OF_TWO:
        pairs = [
            (rng.uniform(-10, 10, count), rng.uniform(-10, 10, count)),
            (rng.uniform(0.9, 1.1, count), rng.uniform(0.9, 1.1, count)),
        ]
    else:
        return [
            arbitrary,
            *((rng.uniform(lo, hi, count).astype(dtype),) for lo, hi in RANGES[name]),
        ]
    return [arbitrary, *(tuple(v.astype(dtype) for v in pair) for pair in pairs)]


def check(name: str, dtype: Any, operands: tuple[Any, ...], exact: Any) -> None:
    """`exact` in wider precision, against what is compiled: within the bound, and infinite, NaN or
    0 where it rounds to that."""
    out, wide = compiled(name, *operands), exact.dtype
    rounded = exact.astype(dtype)
    finite = np.isfinite(rounded) & np.isfinite(out)
    same = (np.isnan(rounded) & np.isnan(out)) | (rounded == out)
    # Within the bound of the largest float, one may be infinite and the other not.
    edge = np.abs(np.where(np.isfinite(out), out, rounded)) >= np.finfo(dtype).max * (
        1 - 4 * np.finfo(dtype).eps
    )
    assert (finite | same | edge).all(), (name, [v[~(finite | same | edge)][0] for v in operands])
    scale = np.abs(rounded)
    if name == "logaddexp":
        # Where the result is small by cancellation the error is one of the operands' last places.
        scale = np.maximum(scale, np.maximum(np.abs(operands[0]), np.abs(operands[1])))
    ulp = np.where(
        finite,
        np.abs(out.astype(wide) - exact) / np.spacing(np.where(finite, scale, 1)).astype(wide),
        0,
    )
    bound = BOUNDS[name][dtype is np.float32]
    assert ulp.max() <= bound, (name, float(ulp.max()), [v[ulp.argmax()] for v in operands])


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="needs a wider format to compare with"
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("erf", "erfc", "trigamma")])
def test_bounds_against_a_wider_format(name: str, dtype: str) -> None:
    kind = DTYPES[dtype]
    reference = NUMPY.get(name) or getattr(np, name)
    for operands in samples(name, 20_000, kind):
        check(
            name,
            kind,
            operands,
            reference(
                *[v.astype(np.longdouble if kind is np.float64 else np.float64) for v in operands]
            ),
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bounds_against_mpmath(name: str, dtype: str) -> None:
    kind = DTYPES[dtype]
    function = MPMATH.get(name) or getattr(mpmath, name)
    for operands in samples(name, 300 if name in ("erf", "erfc", "trigamma") else 60, kind):
        with mpmath.workprec(120):
            exact: list[Any] = []
            for row in zip(*operands, strict=True):
                value = function(*[mpmath.mpf(float(v)) for v in row])
                exact.append(np.nan if isinstance(value, mpmath.mpc) and value.imag else value.real)
            high = np.array([float(v) for v in exact])
            low = np.array(
                [
                    float(v - mpmath.mpf(h)) if np.isfinite(h) else 0.0
                    for v, h in zip(exact, high, strict=True)
                ]
            )
        check(name, kind, operands, high.astype(np.longdouble) + low)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values(name: str, dtype: str) -> None:
    kind = DTYPES[dtype]
    info = np.finfo(kind)
    values = [
        0.0,
        0.5,
        1,
        2,
        3,
        4.5,
        30,
        2.0**info.nmant + 1,
        2.0 ** (info.nmant + 1),
        info.max,
        info.smallest_subnormal,
        info.tiny,
    ]
    x = np.array([s * v for v in [*values, np.inf, np.nan] for s in (1, -1)], kind)
    operands = tuple(v.ravel() for v in np.meshgrid(x, x)) if name in OF_TWO else (x,)
    out = compiled(name, *operands)
    expected = np.array([getattr(scalar, name)(*row) for row in zip(*operands, strict=True)])
    if name == "pow":
        # As in C; NumPy takes square roots instead.
        roots = (operands[1] == 0.5) & np.isin(operands[0], [-np.inf, 0.0])
        expected[roots] = np.abs(operands[0][roots])
    np.testing.assert_allclose(
        out, expected, rtol=4 * info.eps, atol=4 * info.smallest_subnormal, err_msg=name
    )
    zero = (expected == 0) & (out == 0)
    assert np.array_equal(np.signbit(out[zero]), np.signbit(expected[zero]))
    assert (zero == (expected == 0)).all()


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_circular_functions_next_to_multiples_of_a_quarter_turn(name: str, dtype: str) -> None:
    kind = DTYPES[dtype]
    near = np.pi / 2 * np.concatenate([np.arange(1, 300), 2.0 ** np.arange(1, 40)])
    # The first is the double nearest to a multiple of pi/2, relative to its size.
    hard = [6381956970095103 * 2.0**797 if kind is np.float64 else 1e38, float(np.finfo(kind).max)]
    x = np.concatenate([near, np.nextafter(near, 0), hard]).astype(kind)
    with mpmath.workprec(1300):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
        high = np.array([float(v) for v in exact])
        low = np.array([float(v - mpmath.mpf(h)) for v, h in zip(exact, high, strict=True)])
    check(name, kind, (x,), high.astype(np.longdouble) + low)


@pytest.mark.parametrize("name", NAMES)
def test_loops_vectorise(name: str) -> None:
    count = 3 if name in OF_TWO else 2
    loop = native_loop(name)
    kind = numba.types.Array(numba.float64, 1, "C")
    loop.compile((kind,) * count)
    assert "vector.body" in loop.inspect_llvm((kind,) * count), name


def test_every_function_states_a_bound() -> None:
    assert all(set(table) == set(BOUNDS) for table in FUNCTIONS.values())
    assert all(0.5 <= bound <= 4 for bounds in BOUNDS.values() for bound in bounds)


def test_numbers_of_mixed_and_integer_types_are_computed_in_double_precision() -> None:
    exp, atan2, log = scalar.exp, scalar.atan2, scalar.log

    @numba.njit(error_model="numpy")
    def mixed(x: Any, n: Any, f: Any) -> Any:
        return exp(n), atan2(x, f), log(True), exp(f)

    first, second, third, fourth = mixed(0.5, np.int8(2), np.float32(0.1))
    assert np.isclose(first, np.exp(2.0), rtol=1e-15)
    assert np.isclose(second, np.arctan2(0.5, float(np.float32(0.1))), rtol=1e-15)
    assert third == 0
    assert numba.typeof(fourth) == numba.float64
    assert fourth == np.float32(fourth)


def test_functions_with_rare_branches_share_a_loop() -> None:
    sin, cos, tan = scalar.sin, scalar.cos, scalar.tan

    @numba.njit(error_model="numpy")
    def all_of_them(x: Any, f: Any, out: Any) -> None:
        for i in range(support.index(0), support.index(x.shape[0])):
            out[i] = sin(x[i]) + cos(x[i]) * tan(x[i]) + sin(f[i])

    x = np.concatenate([np.linspace(-20, 20, 101), [1e300, -1e300, 3e15], np.linspace(0, 1, 10)])
    f, out = (x % 100).astype(np.float32), np.empty_like(x)
    all_of_them(x, f, out)
    np.testing.assert_allclose(
        out, np.sin(x) + np.cos(x) * np.tan(x) + np.sin(f), rtol=1e-6, atol=1e-6
    )
    assert "vector.body" in next(iter(all_of_them.inspect_llvm().values()))


def test_long_bodies_at_every_length() -> None:
    """Two vectors at a time, and what is left over."""

    def function(x: Any) -> Any:
        return (
            np.exp(np.sin(x)) * np.log1p(x * x)
            + np.arctan2(x, np.cosh(x)) * np.tanh(x)
            + np.abs(x) ** 1.5 * np.sqrt(1 + x * x)
        )

    x = np.linspace(-3, 3, 45)
    compiled_function = tg.jit(function)
    for n in range(46):
        np.testing.assert_allclose(compiled_function(x[:n]), function(x[:n]), rtol=1e-13)
