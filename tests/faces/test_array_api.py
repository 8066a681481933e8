"""The array API standard: the functions of `tracegrad.array_api` are compared with those of
array-api-strict, in values, dtypes and shapes, on Tensors and on Tensors that require grad."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import array_api as xp

RNG = np.random.default_rng(3)
REAL = RNG.normal(size=(2, 3))
ARRAYS: dict[str, Any] = {
    "f": REAL,
    "f32": REAL.astype(np.float32),
    "unit": RNG.uniform(-0.9, 0.9, size=(3, 2)),
    "above": RNG.uniform(1.5, 3.0, size=(2, 2)),
    "c": REAL + 1j * REAL[::-1],
    "i": np.array([[3, 1, 2], [-4, 7, 1]]),
    "i8": np.array([5, 2, 2, -1], np.int8),
    "u8": np.array([5, 2, 2, 1], np.uint8),
    "b": np.array([[True, False, True], [False, False, True]]),
    "odd": np.array([np.nan, 1.0, -0.0, np.inf, 1.0]),
    "empty": np.zeros((0, 3)),
    "scalar": np.array(2.5),
    "row": REAL[0],
    "sorted": np.array([0.0, 1.0, 1.0, 4.0]),
    "square": RNG.normal(size=(2, 3, 3)) + 4 * np.eye(3),
    "spd": np.stack([m @ m.T + np.eye(3) for m in RNG.normal(size=(2, 3, 3))]),
    "tall": RNG.normal(size=(4, 2)),
}
FLOATS = ("f", "f32", "empty", "scalar", "odd")
NUMBERS = (*FLOATS, "c", "i", "u8")
Call = tuple[str, str, dict[str, Any]]


def calls() -> Iterator[Call]:
    """Names, the arrays by letters, and options."""
    wide = [
        *("abs", "conj", "isfinite", "isinf", "isnan", "negative", "positive", "sign", "square"),
        *("imag", "real"),
    ]
    smooth = [
        *("cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "round"),
        *("sin", "sinh", "sqrt", "tan", "tanh"),
    ]
    for name in wide:
        for a in ("c",) if name in ("imag",) else NUMBERS:
            if not (name in ("imag", "real", "conj") and a != "c"):
                yield name, a, {}
    for name in smooth:
        for a in (*FLOATS, "c"):
            yield name, a, {}
    for name in ("ceil", "floor", "trunc"):
        for a in (*FLOATS, "i"):
            yield name, a, {}
    for name in ("acos", "asin", "atan", "atanh", "asinh"):
        yield name, "unit", {}
        yield name, "c", {}
    yield "acosh", "above", {}
    yield "signbit", "odd", {}
    yield "logical_not", "b", {}
    yield "bitwise_invert", "i", {}
    yield "bitwise_invert", "b", {}
    for name in ("add", "subtract", "multiply", "equal", "not_equal"):
        for a in ("f f", "f row", "f32 f32", "c c", "i i", "u8 u8", "empty row", "f scalar"):
            yield name, a, {}
    for name in ("divide", "pow", "atan2", "copysign", "hypot", "logaddexp", "nextafter"):
        yield name, "f row" if name != "pow" else "above above", {}
        yield name, "f32 f32" if name != "pow" else "scalar scalar", {}
    for name in ("floor_divide", "remainder"):
        yield name, "f row", {}
        yield name, "i i", {}
    for name in ("greater", "greater_equal", "less", "less_equal", "maximum", "minimum"):
        yield name, "f row", {}
        yield name, "i i", {}
        yield name, "odd odd", {}
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield name, "b b", {}
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield name, "i i", {}
        yield name, "b b", {}
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        yield name, "u8 u8", {}
    yield "clip", "f", {"min": -0.5, "max": 0.5}
    yield "clip", "i", {"max": 2}
    yield "clip", "f32", {}
    for name in ("sum", "prod"):
        for a in ("f", "f32", "c", "i", "i8", "u8", "empty", "scalar"):
            yield name, a, {}
        yield name, "f", {"axis": 1, "keepdims": True}
        yield name, "f", {"axis": (0, 1)}
        yield name, "i8", {"dtype": "float64"}
    for name in ("max", "min", "mean", "std", "var"):
        for a in ("f", "f32", "scalar", *(("i",) if name in ("max", "min") else ())):
            yield name, a, {}
        yield name, "f", {"axis": -1, "keepdims": True}
    for name in ("std", "var"):
        yield name, "f", {"axis": 1, "correction": 1.0}
    for name in ("all", "any"):
        yield name, "b", {}
        yield name, "b", {"axis": 1}
        yield name, "empty", {"axis": 0}
    yield "count_nonzero", "i", {"axis": 0}
    yield "count_nonzero", "b", {"keepdims": True}
    for name in ("cumulative_sum", "cumulative_prod"):
        yield name, "row", {}
        yield name, "f", {"axis": 1, "include_initial": True}
        yield name, "i8", {}
    yield "diff", "f", {}
    yield "diff", "f", {"axis": 0, "n": 1}
    for a in ("f", "i", "sorted", "odd"):
        yield "sort", a, {}
        yield "sort", a, {"descending": True} if a != "odd" else {}
        yield "argsort", a, {}
        yield "argsort", a, {"descending": True} if a != "odd" else {}
    yield "sort", "f", {"axis": 0}
    for name in ("argmax", "argmin"):
        yield name, "f", {}
        yield name, "i", {"axis": 1, "keepdims": True}
    yield "searchsorted", "sorted row", {}
    yield "searchsorted", "sorted sorted", {"side": "right"}
    for a in ("f", "i", "b"):
        yield "nonzero", a, {}
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        yield name, "i", {}
        yield name, "sorted", {}
    yield "where", "b f row", {}
    yield "expand_dims", "f", {"axis": 1}
    yield "flip", "f", {}
    yield "flip", "f", {"axis": 0}
    yield "permute_dims", "square", {"axes": (2, 0, 1)}
    yield "matrix_transpose", "square", {}
    yield "roll", "f", {"shift": 2}
    yield "roll", "f", {"shift": (1, 2), "axis": (0, 1)}
    yield "squeeze", "scalar", {"axis": ()}
    yield "unstack", "f", {"axis": 1}
    yield "reshape", "f", {"shape": (3, -1)}
    yield "repeat", "f", {"repeats": 2}
    yield "tril", "square", {"k": 1}
    yield "triu", "square", {"k": -1}
    for name in ("zeros_like", "ones_like"):
        yield name, "f32", {}
        yield name, "i", {"dtype": "float32"}
    yield "full_like", "f32", {"fill_value": 3}
    yield "matmul", "square square", {}
    yield "matmul", "f row", {}
    yield "vecdot", "c c", {}
    yield "vecdot", "f f", {"axis": -2}
    yield "tensordot", "f tall", {"axes": ((0,), (1,))}
    yield "broadcast_arrays", "f row", {}
    for name in ("det", "inv", "cholesky", "eigvalsh", "matrix_norm", "svdvals", "pinv", "trace"):
        yield f"linalg.{name}", "spd", {}
    yield "linalg.cholesky", "spd", {"upper": True}
    yield "linalg.slogdet", "square", {}
    yield "linalg.matrix_rank", "tall", {}
    yield "linalg.matrix_norm", "tall", {"ord": "nuc", "keepdims": True}
    yield "linalg.vector_norm", "square", {}
    yield "linalg.vector_norm", "square", {"axis": (0, 2), "keepdims": True}
    yield "linalg.vector_norm", "f", {"axis": 1, "ord": 1}
    yield "linalg.solve", "square spd", {}
    yield "linalg.cross", "f f", {}
    yield "linalg.outer", "row row", {}
    yield "linalg.diagonal", "square", {"offset": 1}
    yield "linalg.trace", "square", {"offset": -1}
    for name in ("fft", "ifft", "fftn", "ifftn", "fftshift", "ifftshift", "hfft"):
        yield f"fft.{name}", "c", {}
    for name in ("rfft", "rfftn", "ihfft"):
        yield f"fft.{name}", "f", {}
    yield "fft.irfft", "c", {"n": 4}
    yield "fft.irfftn", "c", {}


CALLS = list(calls())
OTHERS: list[Any] = [
    lambda xp, f, i: xp.arange(5),
    lambda xp, f, i: xp.arange(1.0, 2.0, 0.25),
    lambda xp, f, i: xp.arange(5, 0, -2, dtype=xp.float32),
    lambda xp, f, i: xp.asarray([[1, 2], [3, 4]]),
    lambda xp, f, i: xp.asarray([1.5, 2], dtype=xp.float32),
    lambda xp, f, i: xp.asarray(True),
    lambda xp, f, i: xp.asarray(f, copy=True),
    lambda xp, f, i: xp.eye(2, 3, k=1),
    lambda xp, f, i: xp.full((2, 1), 3),
    lambda xp, f, i: xp.full(2, 1.5),
    lambda xp, f, i: xp.full((), True),
    lambda xp, f, i: xp.full(2, 1j),
    lambda xp, f, i: xp.linspace(0, 1, 4, endpoint=False),
    lambda xp, f, i: xp.linspace(0, 1, 3, dtype=xp.float32),
    lambda xp, f, i: xp.ones((2, 0)),
    lambda xp, f, i: xp.zeros(3, dtype=xp.uint8),
    lambda xp, f, i: xp.empty_like(f) * 0,
    lambda xp, f, i: xp.meshgrid(f[0, :], f[:, 0], indexing="ij"),
    lambda xp, f, i: xp.astype(f, xp.int32),
    lambda xp, f, i: xp.astype(i, xp.bool),
    lambda xp, f, i: xp.broadcast_to(f[0, :], (4, 3)),
    lambda xp, f, i: xp.concat([f, f], axis=1),
    lambda xp, f, i: xp.concat([f, f], axis=None),
    lambda xp, f, i: xp.stack([f, f], axis=-1),
    lambda xp, f, i: xp.tile(f, (2, 1, 2)),
    lambda xp, f, i: xp.moveaxis(f, 0, 1),
    lambda xp, f, i: xp.repeat(f, xp.asarray([1, 0, 2]), axis=1),
    lambda xp, f, i: xp.take(f, xp.asarray([2, 0]), axis=1),
    lambda xp, f, i: xp.take_along_axis(f, xp.argsort(f, axis=1), axis=1),
    lambda xp, f, i: xp.diff(f, prepend=f[:, :1], append=f[:, :1]),
    lambda xp, f, i: xp.linalg.matrix_power(f[:, :2], 3),
    lambda xp, f, i: xp.abs(xp.linalg.qr(f.T)[1]),
    lambda xp, f, i: xp.abs(xp.linalg.svd(f, full_matrices=False)[1]),
    lambda xp, f, i: xp.linalg.eigh(f @ f.mT)[0],
    lambda xp, f, i: xp.fft.fftfreq(5, d=0.5),
    lambda xp, f, i: xp.fft.rfftfreq(4),
]
"""Of a namespace and of two of its arrays, of floats and of integers."""


def strict() -> Any:
    return pytest.importorskip("array_api_strict")


def look(space: Any, name: str) -> Any:
    for part in name.split("."):
        space = getattr(space, part)
    return space


def run(space: Any, name: str, arrays: list[Any], options: dict[str, Any]) -> Any:
    options = dict(options)
    if "dtype" in options:
        options["dtype"] = getattr(space, options["dtype"])
    first = [
        options.pop(key)
        for key in ("axes", "shape", "repeats", "shift", "fill_value")
        if key in options and not (key == "axes" and name == "tensordot")
    ]
    if name == "squeeze":
        first = [options.pop("axis")]
    with np.errstate(all="ignore"):
        found = look(space, name)(*arrays, *first, **options)
    return parts(found)


def parts(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (tuple, list)) else [found]


def unlike(label: str, found: list[Any], want: list[Any]) -> list[str]:
    """What of results is not as it should be."""
    wrong = []
    for f, w in zip(found, want, strict=True):
        expected = np.asarray(w)
        if not isinstance(f, tg.Tensor):
            wrong.append(f"{label}: a {type(f).__name__}")
        elif (f.dtype, f.shape) != (expected.dtype, expected.shape):
            wrong.append(f"{label}: {f.dtype}{f.shape}, {expected.dtype}{expected.shape}")
        elif not np.allclose(f.detach().numpy(), expected, 1e-6, 1e-7, equal_nan=True):
            wrong.append(f"{label}: other numbers")
    return wrong


@pytest.mark.parametrize("tracked", [False, True], ids=["plain", "requires_grad"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_are_those_of_the_standard(tracked: bool) -> None:
    other = strict()
    wrong, count = [], 0
    for name, letters, options in CALLS:
        values = [ARRAYS[a] for a in letters.split()]
        tensors = [tg.tensor(v, requires_grad=tracked and v.dtype.kind in "fc") for v in values]
        label = f"{name}({letters}, {options})"
        try:
            want = run(other, name, [other.asarray(v) for v in values], options)
        except (TypeError, ValueError) as error:  # a call that is none of the standard
            raise AssertionError(label) from error
        count += 1
        try:
            found = run(xp, name, tensors, options)
        except Exception as error:
            wrong.append(f"{label}: {type(error).__name__}: {error}")
            continue
        wrong += unlike(label, found, want)
    for k, other_call in enumerate(OTHERS):
        count += 1
        arrays = tg.tensor(ARRAYS["f"], requires_grad=tracked), tg.tensor(ARRAYS["i"])
        want = other_call(other, *[other.asarray(ARRAYS[a]) for a in "fi"])
        wrong += unlike(f"OTHERS[{k}]", parts(other_call(xp, *arrays)), parts(want))
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong)


def test_every_name_of_the_standard_is_there() -> None:
    other = strict()
    skip = {"Device", "broadcast_shapes", "isin"}  # later versions, or the library's own
    names = [
        n
        for n in other.__all__
        if n not in skip and not n.startswith("_") and "strict_flags" not in n.lower()
    ]
    names = [n for n in names if n != "ArrayAPIStrictFlags"]
    assert [n for n in names if not hasattr(xp, n)] == []
    for extension in ("linalg", "fft"):
        theirs = [
            n
            for n, f in vars(getattr(other, extension)).items()
            if not n.startswith("_")
            and inspect.isfunction(f)
            and f.__module__.endswith(f"_{extension}")
        ]
        missing = [n for n in theirs if not hasattr(getattr(xp, extension), n)]
        assert set(missing) <= {"eig", "eigvals"}, missing  # of version 2025.12


def test_gradients_go_through() -> None:
    """By name and by operators, eagerly and compiled."""
    x = tg.tensor([3.0, 1.0, 2.0], requires_grad=True)
    space = x.__array_namespace__(api_version="2024.12")
    assert space is xp

    def loss(x: Any) -> Any:
        space = x.__array_namespace__()
        top = space.sort(x, descending=True)[:2]
        return space.sum(space.cumulative_sum(top * space.exp(top)) / space.linalg.vector_norm(x))

    (eager,) = tg.autograd.grad(loss(x), x)
    compiled = tg.jit(tg.grad(loss))(x.detach())
    second = tg.grad(loss)(x.detach())
    np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=1e-12)
    np.testing.assert_allclose(second.numpy(), eager.numpy(), rtol=1e-12)
    assert tg.autograd.gradcheck(loss, (x,))


def test_what_is_refused() -> None:
    x = tg.ones(2)
    with pytest.raises(ValueError, match=r"2030\.12"):
        x.__array_namespace__(api_version="2030.12")
    with pytest.raises(ValueError, match="one stream"):
        x.to_device("cpu", stream=1)
    assert x.to_device(x.device) is x
    for wrong in (np.ones(2), [1.0], "a", None):
        with pytest.raises(TypeError, match="take Tensors"):
            xp.sin(wrong)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="axis is needed"):
        xp.cumulative_sum(tg.ones((2, 2)))
    with pytest.raises(TypeError, match="complex"):
        xp.astype(tg.ones(2, dtype=tg.complex128), tg.float64)


def test_information() -> None:
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == tg.float64
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert info.devices() == [info.default_device()] == [tg.ones(1).device]
    assert xp.isdtype(tg.float32, "real floating")
    assert xp.result_type(tg.ones(1), xp.complex64) == tg.complex128
    assert xp.finfo(xp.float32).bits == 32


def test_scipy_and_sklearn_differentiated() -> None:
    """In a process of its own: SciPy reads its switch when it is imported."""
    pytest.importorskip("sklearn")
    root = Path(__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-W", "ignore", str(root / "examples" / "scipy_and_sklearn.py")],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count("as differences say") == 16


# --- special numbers ------------------------------------------------------------------------------

SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -3.0,
        2.5,
        np.inf,
        -np.inf,
        np.nan,
        1e-320,
        -1e300,
        np.pi,
    ]
)
UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp",
    "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "negative",
    "positive", "reciprocal", "round", "sign", "signbit", "sin", "sinh", "square", "sqrt", "tan",
    "tanh", "trunc",
]  # fmt: skip
BINARY = [
    "add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal",
    "hypot", "less", "less_equal", "logaddexp", "maximum", "minimum", "multiply", "nextafter",
    "not_equal", "pow", "remainder", "subtract",
]  # fmt: skip
OF_COMPLEX = [n for n in UNARY if n not in ("ceil", "floor", "signbit", "trunc", "sign")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
def test_special_numbers(dtype: str) -> None:
    """Every function of elements, of each special number and each pair of them, plain and with
    requires_grad: the numbers of array-api-strict with their signs of zero. (`sign` of complex
    numbers that are not finite is NumPy's.)"""
    strict = pytest.importorskip("array_api_strict")
    wide = np.dtype(dtype).itemsize == (16 if dtype[0] == "c" else 8)
    x = SPECIAL.astype(dtype)
    if dtype[0] == "c":
        x = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL]).astype(dtype)
    pairs = [p.ravel().copy() for p in np.meshgrid(x, x)]
    for grad in (False, True):
        for name in UNARY if dtype[0] == "f" else OF_COMPLEX:
            found = getattr(xp, name)(tg.tensor(x, requires_grad=grad))
            _same(name, found, getattr(strict, name)(strict.asarray(x)), wide)
        for name in BINARY if dtype[0] == "f" else ():
            found = getattr(xp, name)(*[tg.tensor(p, requires_grad=grad) for p in pairs])
            _same(name, found, getattr(strict, name)(*[strict.asarray(p) for p in pairs]), wide)


def _same(name: str, found: Any, expected: Any, wide: bool) -> None:
    f, e = found.detach().numpy(), np.asarray(expected)
    assert f.dtype == e.dtype, name
    np.testing.assert_allclose(f, e, 1e-13 if wide else 1e-6, 0, err_msg=name)
    if f.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(f) | (f != f), np.signbit(e) | (e != e), name)
