"""Functions of SciPy that are made of others: SciPy's values, dtypes and derivatives by
differences, eagerly, and one of each family compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import tracegrad as tg

RNG = np.random.default_rng(11)
A, C = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
V, X = RNG.normal(size=(2, 5)), RNG.normal(size=(6, 3))

CALLS: dict[str, tuple[Callable[..., Any], ...]] = {
    **{
        f"{name} {kind}": (lambda m, a, name=name: getattr(m.linalg, name)(a), lambda a=a: a)
        for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")
        for kind, a in (("real", A), ("complex", C), ("float32", A.astype(np.float32)))
    },
    "lyapunov": (lambda m, a: m.linalg.solve_discrete_lyapunov(a, C), lambda: A),
    "lyapunov by its q": (lambda m, q: m.linalg.solve_discrete_lyapunov(C, q), lambda: A),
    "lyapunov bilinear": (
        lambda m, a: m.linalg.solve_discrete_lyapunov(a, A, method="bilinear"), lambda: A,
    ),
    "companion": (lambda m, a: m.linalg.companion(a), lambda: V),
    "companion of two": (lambda m, a: m.linalg.companion(a), lambda: V[:, :2]),
    "fiedler": (lambda m, a: m.linalg.fiedler(a), lambda: V),
    "khatri_rao": (lambda m, a: m.linalg.khatri_rao(a, C[:2]), lambda: A),
    "expm_frechet": (
        lambda m, a: m.linalg.expm_frechet(a, C.real, compute_expm=False), lambda: A,
    ),
    "hilbert": (lambda m, x: m.signal.hilbert(x, axis=0), lambda: X),
    "hilbert odd": (lambda m, x: m.signal.hilbert(x, 5, 0), lambda: X),
    "hilbert of one": (lambda m, x: m.signal.hilbert(x), lambda: X[:, :1]),
    "detrend": (lambda m, x: m.signal.detrend(x, 0), lambda: X),
    "detrend constant": (lambda m, x: m.signal.detrend(x, type="constant"), lambda: X),
    "detrend integers": (lambda m, x: m.signal.detrend(x), lambda: np.array([1, 5, 2, 2])),
    "detrend of one": (lambda m, x: m.signal.detrend(x), lambda: X[:, :1]),
    **{
        f"{name} {mode} {shape}": (
            lambda m, x, name=name, mode=mode, other=other:
                getattr(m.signal, name)(x, other, mode),
            lambda x=x: x,
        )
        for name in ("convolve2d", "correlate2d")
        for mode in ("full", "same", "valid")
        for shape, x, other in (("larger", X, C[:2]), ("smaller", V[:, :2], X + 0j))
        if not (name == "convolve2d" and shape == "smaller" and mode == "same")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_and_slopes(name: str) -> None:
    call, make = CALLS[name]
    x = make()
    expected, found = call(scipy, x), call(tg, x)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    single = found.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(found, expected, rtol=1e-4 if single else 1e-9, atol=1e-6)
    if single or x.dtype.kind == "i":
        return
    v = RNG.normal(size=x.shape)
    h = 1e-6
    slope = (call(scipy, x + h * v) - call(scipy, x - h * v)) / (2 * h)
    _, tangent = tg.jvp(lambda x: call(tg, x), (x,), (v.astype(x.dtype),))
    np.testing.assert_allclose(tangent, slope, rtol=1e-5, atol=1e-6)
    w = RNG.normal(size=found.shape)
    g = tg.grad(lambda x: np.sum(np.real(call(tg, x)) * w))(x)
    np.testing.assert_allclose(
        np.real(np.sum(g * v)), np.sum(np.real(slope) * w), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("name", ["tanm real", "companion", "detrend", "correlate2d same larger"])
def test_compiled(name: str) -> None:
    call, make = CALLS[name]
    x = make()
    one = lambda x: np.sum(np.real(call(tg, x)) ** 2)  # noqa: E731
    np.testing.assert_allclose(tg.jit(tg.grad(one))(x), tg.grad(one)(x), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: tg.linalg.companion([1.0]), tg.ShapeError, "at least 2"),
        (lambda: tg.linalg.khatri_rao(A, V), tg.ShapeError, "as many columns"),
        (lambda: tg.linalg.expm_frechet(A, V), tg.ShapeError, "square|one shape"),
        (lambda: tg.linalg.solve_discrete_lyapunov(A, A, "fast"), ValueError, "method"),
        (lambda: tg.signal.hilbert(C), tg.DTypeError, "must be real"),
        (lambda: tg.signal.hilbert(1.0), tg.ShapeError, "signal"),
        (lambda: tg.signal.detrend(X, bp=[2]), tg.UnsupportedFunctionError, "bp"),
        (lambda: tg.signal.convolve2d(X, V[0]), tg.ShapeError, "in2 must be a matrix"),
        (lambda: tg.signal.correlate2d(X, A, boundary="wrap"), tg.UnsupportedFunctionError, "pad"),
    ],
)
def test_refused(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_memory_of_traced_arrays_names_the_call() -> None:
    with pytest.raises(AttributeError, match=r"Write tg\.linalg\.circulant in its place"):
        tg.grad(lambda x: np.sum(scipy.linalg.circulant(x)))(np.ones(3))
    seen = []
    tg.jit(lambda x: seen.append((hasattr(x, "strides"), hasattr(x, "flags"))) or x)(np.ones(3))
    assert seen == [(False, False)]
