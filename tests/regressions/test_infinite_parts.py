"""Complex numbers put together of parts: an infinite or NaN part leaves the other one as it is,
which `x + 1j * y` does not (1j * inf has a NaN as its real part)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.native.parts import of_parts as of_parts_in_python

import tracegrad as tg
import tracegrad.torch as torch
from tracegrad.scipy.unknowns import Unknowns
from tracegrad.solvers.vectors import Layout
from tracegrad.tree import flatten

X = np.array([1.5, -0.0, np.inf, np.nan, 2.25, -np.inf])
Y = np.array([np.inf, 1.0, -np.inf, 2.5, np.nan, -0.0])
Z = tg.ops.complex_(X, Y)


def real_part_set(x: Any, y: Any) -> Any:
    z = np.array(np.zeros_like(x) + 1j * np.ones_like(x))
    z.real = x
    z.imag = y
    return z


REPLACED: dict[str, Any] = {"nan": np.inf, "posinf": -np.inf, "neginf": np.nan}


def pairs(x: Any, y: Any) -> Any:
    return torch.view_as_complex(torch.tensor(np.stack([x, y], -1)))


WAYS: dict[str, tuple[Callable[..., Any], Any]] = {
    "complex_": (tg.ops.complex_, Z),
    "real and imag set": (real_part_set, Z),
    "round": (lambda x, y: np.round(tg.ops.complex_(x, y)), np.round(Z)),
    "nan_to_num of NaN": (
        lambda x, y: np.nan_to_num(tg.ops.complex_(x, y), nan=3.0, posinf=np.inf, neginf=-np.inf),
        np.nan_to_num(Z, nan=3.0, posinf=np.inf, neginf=-np.inf),
    ),
    "nan_to_num by another": (
        lambda x, y: np.nan_to_num(tg.ops.complex_(x, y), **REPLACED),
        np.nan_to_num(Z, **REPLACED),
    ),
    "nan_to_num of a real": (
        lambda x, y: tg.ops.complex_(np.nan_to_num(x, **REPLACED), np.nan_to_num(y, nan=np.inf)),
        tg.ops.complex_(np.nan_to_num(X, **REPLACED), np.nan_to_num(Y, nan=np.inf)),
    ),
}


def same(found: Any, expected: Any) -> None:
    found = np.asarray(found)
    assert found.dtype == expected.dtype
    for part in ("real", "imag"):
        a, b = getattr(found, part), getattr(expected, part)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])


@pytest.mark.parametrize("name", WAYS)
def test_values(name: str) -> None:
    function, expected = WAYS[name]
    same(tg.vjp(function, X, Y)[0], expected)
    same(tg.jit(function)(X, Y), expected)
    same(tg.vmap(function)(X, Y), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tensors(dtype: Any) -> None:
    x, y = X.astype(dtype), Y.astype(dtype)
    expected = Z.astype(np.result_type(dtype, np.complex64))
    same(torch.complex(torch.tensor(x), torch.tensor(y)).numpy(), expected)
    same(pairs(x, y).numpy(), expected)


def test_infinite_cotangents_and_tangents() -> None:
    """Each part of a derivative goes to its own part, also where the other one is infinite."""
    pull = tg.vjp(tg.ops.complex_, X, Y)[1]
    same(pull(Z)[0], X)
    same(pull(Z)[1], Y)
    tangent = tg.jvp(tg.ops.complex_, (np.ones(6), np.ones(6)), (np.zeros(6), Y))[1]
    np.testing.assert_array_equal(tangent.real, np.zeros(6))
    np.testing.assert_array_equal(tangent.imag, Y)


@pytest.mark.filterwarnings("ignore:complex:DeprecationWarning")  # of Python 3.14
def test_pythons_complex() -> None:
    def of_parts(x: Any) -> Any:
        return complex(x, np.inf).real + complex(1j * x, x).imag

    for function in (of_parts, tg.jit(of_parts)):
        assert float(function(2.0)) == 6.0
    for gradient in (tg.grad(of_parts), tg.jit(tg.grad(of_parts))):
        assert float(gradient(2.0)) == 3.0


@pytest.mark.parametrize("lay", [Layout, Unknowns])
def test_vectors_of_solvers(lay: Any) -> None:
    """Unknowns of SciPy's and our solvers, which see the parts one behind the other."""
    tree = {"a": Z.reshape(2, 3), "b": np.array([1.0])}
    layout = lay(tree, "x")
    vector = layout.pack(flatten(tree)[0] if lay is Layout else tree)
    found = layout.unpack(vector)
    same(found[0] if lay is Layout else found["a"], Z.reshape(2, 3))


def test_parts_without_compiling_keep_their_precision() -> None:
    assert of_parts_in_python(1e308, -0.1) == complex(1e308, -0.1)
    assert type(of_parts_in_python(np.float32(1.5), np.float32(2.0))) is np.complex64
