"""Values and dtypes of NumPy's functions for every dtype of the argument and every kind of number
beside it: NumPy's own, in running and in traced code, or a refusal where NumPy has no answer
either, or one that is said to be unsupported."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ConcretizationError, DTypeError, UnsupportedFunctionError
from tracegrad.faces.numpy.numpy_functions import FUNCTIONS
from tracegrad.ir.evaluate import evaluate
from tracegrad.tensor import Array
from tracegrad.transforms.tracing import leaf_type, trace_function
from tracegrad.tree import flatten, unflatten

KINDS = ("?", "i1", "u1", "i2", "i4", "i8", "u8", "f4", "f8", "c8", "c16")
ARGUMENTS = {k: np.array([[1, 2, 0], [2, 1, 1]]).astype(k) for k in KINDS}
NUMBERS = (2, 2.5, 1j, True, np.float32(2.5), np.int8(2), np.float64(0.5))
MASK = np.array([[True], [False]])


def named(name: str, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda x: getattr(np, name)(x, *args, **kwargs)


ALONE = (
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "max",
    "min",
    "ptp",
    "any",
    "all",
    "cumsum",
    "cumprod",
    "median",
    "argmax",
    "count_nonzero",
    "nansum",
    "nanmean",
    "nanmax",
    "nanmin",
    "average",
    "sort",
    "argsort",
    "trace",
    "diff",
    "real",
    "abs",
    "fabs",
    "degrees",
    "radians",
    "sign",
    "square",
    "sqrt",
    "exp",
    "negative",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "isnan",
    "isfinite",
    "nan_to_num",
    "sinc",
    "cbrt",
    "log1p",
    "angle",
    "cov",
    "corrcoef",
    "ediff1d",
    "tril",
    "triu",
    "trapezoid",
    "atleast_3d",
    "flip",
    "ravel",
    "iscomplex",
    "isreal",
    "ones_like",
    "zeros_like",
    "gradient",
)
CASES: dict[str, Callable[[Any], Any]] = {name: named(name) for name in ALONE}
for _name in ("std", "var"):
    for _ddof in (0, 1, 0.5, 1.0, np.float32(0.5), np.float64(0.5), True):
        CASES[f"{_name} ddof={_ddof!r}"] = named(_name, ddof=_ddof)
        CASES[f"{_name} axis ddof={_ddof!r}"] = named(_name, axis=1, ddof=_ddof, keepdims=True)
    CASES[f"{_name} correction"] = named(_name, correction=0.5)
for _name in ("sum", "prod", "mean", "cumsum", "cumprod"):
    for _kind in ("f4", "f8", "i4", "c8"):
        CASES[f"{_name} dtype={_kind}"] = named(_name, dtype=_kind)
for _name in ("sum", "prod", "max", "min"):
    for _initial in (2, 2.5):
        CASES[f"{_name} initial={_initial}"] = named(_name, axis=0, initial=_initial)
        CASES[f"{_name} where initial={_initial}"] = named(
            _name, axis=0, initial=_initial, where=MASK
        )
for _name in ("std", "var", "nanstd", "nanvar", "nanmean", "nansum", "nanprod"):
    for _given in ({"dtype": "f4"}, {"where": MASK}, {"where": MASK, "axis": 0, "keepdims": True}):
        CASES[f"{_name} {_given}"] = named(_name, **_given)
for _name in ("std", "nanstd"):
    for _mean in (1.5, np.float32(1.5), np.array([[1.5], [0]])):
        CASES[f"{_name} mean={_mean!r}"] = named(_name, axis=1, mean=_mean, keepdims=True)
    CASES[f"{_name} where ddof"] = named(_name, axis=0, where=MASK, correction=1)
for _name in ("arctan2", "copysign", "hypot", "logaddexp", "logaddexp2", "heaviside"):
    for _kind in ("?", "i1", "u1", "i2", "u2", "u4", "f4"):
        CASES[f"{_name} beside {_kind}"] = named(_name, np.array([2, 1, 3]).astype(_kind))
for _name in ("nanmax", "nanmin"):
    CASES[f"{_name} where initial"] = named(_name, axis=1, initial=1, where=MASK)
for _q in (0.3, [0.2, 0.7]):
    CASES[f"quantile {_q}"] = named("quantile", _q)
    CASES[f"percentile {_q}"] = named("percentile", _q)
WITH_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, s: x + s,
    "r-": lambda x, s: s - x,
    "*": lambda x, s: x * s,
    "/": lambda x, s: x / s,
    "r/": lambda x, s: s / x,
    "**": lambda x, s: x**s,
    "r**": lambda x, s: s**x,
    "//": lambda x, s: x // s,
    "%": lambda x, s: x % s,
    "<": lambda x, s: x < s,
    "maximum": np.maximum,
    "where": lambda x, s: np.where(x != 1, x, s),
    "clip": lambda x, s: np.clip(x, None, s),
    "full_like": np.full_like,
    "pad": lambda x, s: np.pad(x, 1, constant_values=s),
    "dot": np.dot,
    "append": np.append,
    "float_power": np.float_power,
    "linspace": lambda x, s: np.linspace(x, s, 3),
    "select": lambda x, s: np.select([x != 1], [x], s),
    "trapezoid": lambda x, s: np.trapezoid(x, dx=s),
    "gradient": np.gradient,
    "average": lambda x, s: np.average(x, weights=np.full(x.shape, s)),
    "interp": lambda x, s: np.interp(s, np.arange(3), x[0]),
    "polyval": lambda x, s: np.polyval([s, 1], x),
    "vander": lambda x, s: np.vander(x[0], 2) * s,
    "outer": np.outer,
    "kron": np.kron,
    "norm": lambda x, s: np.linalg.norm(x, axis=1, ord=3) * s,
    "einsum": lambda x, s: np.einsum("ij,->ij", x, s),
    "convolve": lambda x, s: np.convolve(x[0], [1, s]),
    "piecewise": lambda x, s: np.piecewise(x, [x != 1], [s, 0]),
    "cumsum": lambda x, s: np.cumsum(x * s),
    "written": lambda x, s: _written(x, s),
}
for _word, _function in WITH_NUMBERS.items():
    for _number in NUMBERS:
        CASES[f"{_word} {_number!r}"] = lambda x, f=_function, s=_number: f(x, s)
CASES |= {
    "** 3": lambda x: x**3,
    "choose": lambda x: np.choose([1, 0, 1], [x, 1.5]),
    "polyval of its numbers": lambda x: np.polyval(x[0], np.array([True, False])),
    "clip between": lambda x: np.clip(x, 0, np.array(2, np.float32)),
    "copyto": lambda x: _by(np.copyto, x, 2),
    "putmask": lambda x: _by(np.putmask, x, x > 1, 2),
    "place": lambda x: _by(np.place, x, x > 1, [2, 1]),
}


def _by(function: Callable[..., None], x: Any, *args: Any) -> Any:
    y = np.copy(x)
    function(y, *args)
    return y


def _written(x: Any, value: Any) -> Any:
    y = np.copy(x)
    y[0] = value
    return y


def first(x: Any) -> Any:
    return x[0] if isinstance(x, (tuple, list)) else x


def traced(function: Callable[[Any], Any], x: Any) -> Any:
    found = trace_function(function, flatten(((x,), {}))[1], [leaf_type(x)], [Array], name="f")
    outs = evaluate(found.graph, [x, *found.captures])
    assert all(
        o.type.dtype == np.asarray(v).dtype for o, v in zip(found.graph.outputs, outs, strict=True)
    )
    return unflatten(found.out_spec, outs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    def function(x: Any) -> Any:
        return first(CASES[name](x))

    for kind, x in ARGUMENTS.items():
        try:
            expected = np.asarray(function(x))
        except (TypeError, ValueError):
            continue  # what is no call in NumPy
        runs = [traced] if x.dtype.kind in "biu" else [traced, lambda f, v: tg.vjp(f, v)[0]]
        for run in runs:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = np.asarray(run(function, x))
            except (DTypeError, UnsupportedFunctionError, ConcretizationError):
                assert x.dtype.kind == "c" or "1j" in name or kind == "?", f"refused for {kind}"
                continue
            except TypeError as error:
                assert "boolean" in str(error), f"refused for {kind}"  # noqa: PT017
                continue
            assert found.shape == expected.shape, kind
            if expected.dtype != np.float16:  # in float32 here, as said in the documentation
                assert found.dtype == expected.dtype, f"{kind}: {found.dtype}, not {expected.dtype}"
            np.testing.assert_allclose(
                found,
                expected,
                rtol=1e-3 if expected.dtype == np.float16 else 2e-6,
                atol=1e-6,
                err_msg=kind,
            )


@pytest.mark.parametrize(
    "name",
    [
        "median",
        "quantile 0.3",
        "percentile 0.3",
        "max",
        "sort",
        "written 1j",
        "piecewise 1j",
        "interp 1j",
    ],
)
def test_what_would_drop_an_imaginary_part_is_refused(name: str) -> None:
    x = ARGUMENTS["f8" if "1j" in name else "c16"]
    for run in (traced, lambda f, v: tg.vjp(f, v)[0], lambda f, v: tg.jit(f)(v)):
        with pytest.raises((DTypeError, UnsupportedFunctionError)):
            run(lambda v: first(CASES[name](v)), x)


def test_compiled_dtypes() -> None:
    names = [
        "std ddof=0.5",
        "var correction",
        "mean dtype=i4",
        "sum initial=2.5",
        "linspace 2",
        "average True",
        "vander 2",
        "cov",
        "sinc",
        "** 2",
    ]
    for kind in ("i1", "f4"):
        found = tg.jit(lambda x: tuple(first(CASES[n](x)) for n in names))(ARGUMENTS[kind])
        for name, value in zip(names, found, strict=True):
            expected = first(CASES[name](ARGUMENTS[kind]))
            assert value.dtype == expected.dtype, (name, kind)
            np.testing.assert_allclose(value, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["f4", "c8"])
def test_single_precision_stays(kind: str) -> None:
    """Every function that NumPy hands over, alone, with a number, with itself, of a list: where
    both sides have an answer they agree on the dtype. (Eigenvalues and roots are complex here.)"""
    rng = np.random.default_rng(0)
    checked = 0
    for shape in ((3, 3), (4,)):
        x = (rng.uniform(0.5, 2, shape) + (1j if kind == "c8" else 0)).astype(kind)
        for function in FUNCTIONS:
            if function.__name__ in ("eig", "eigvals", "poly", "roots"):
                continue
            for more in ((x,), (x, 1.5), (x, 2), (x, x), ([x, x],)):

                def call(y: Any, f: Any = function, more: Any = more, x: Any = x) -> Any:
                    return f(*[[y, y] if type(m) is list else y if m is x else m for m in more])

                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        expected, found = call(x), tg.vjp(call, x)[0]
                    except Exception:  # Refused here or there: other tests say what.
                        continue
                for e, f in zip(*(o if type(o) in (tuple, list) else (o,)
                                  for o in (expected, found)), strict=False):  # fmt: skip
                    if hasattr(e, "dtype") and hasattr(f, "dtype"):
                        checked += 1
                        assert f.dtype == e.dtype, (function.__name__, more[1:])
    assert checked > 60
