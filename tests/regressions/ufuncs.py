"""The ufuncs that are known, operands for them, and comparisons of their methods with NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tracegrad as tg
from tests.checks import directional
from tracegrad.faces.numpy.ufuncs import KNOWN
from tracegrad.ir.evaluate import evaluate
from tracegrad.tensor import Array, Tensor
from tracegrad.transforms.tracing import leaf_type, trace_function
from tracegrad.tree import flatten, unflatten

NUMPYS = {f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}
KNOWN_NAMES = sorted(name for name, f in NUMPYS.items() if f in KNOWN)
BINARY = [
    name
    for name in KNOWN_NAMES
    if NUMPYS[name].nin == 2
    and NUMPYS[name].nout == 1
    and NUMPYS[name].signature is None
    and name != "ldexp"  # of a number and an integer
]
INTEGERS = {
    *("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert"),
    *("bitwise_count", "gcd", "lcm"),
}
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
