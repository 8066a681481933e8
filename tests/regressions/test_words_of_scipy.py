"""Functions under SciPy's names have SciPy's arguments: in its order, with its defaults."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal
import scipy.special

import tracegrad as tg
from tracegrad.faces.numpy import refusals

ROOMS = ("fft", "linalg", "special", "integrate", "interpolate", "ndimage", "signal")
OURS = {
    ("linalg", "cholesky", "lower"): "NumPy's function has that name, and another default",
    ("linalg", "qr", "mode"): "NumPy's function has that name, too",
    ("linalg", "qr", "pivoting"): "NumPy's function has that name, too",
    ("ndimage", "spline_filter", "output"): "no output= is taken",
    ("ndimage", "spline_filter1d", "output"): "no output= is taken",
    **{
        ("signal", name, "window"): "windows of segments are periodic by either name"
        for name in ("coherence", "csd", "istft", "spectrogram", "stft", "welch")
    },
}


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:  # a ufunc, whose parameters have no names
        return []


@pytest.mark.parametrize("room", ROOMS)
def test_arguments_are_scipys(room: str) -> None:
    theirs, ours = importlib.import_module(f"scipy.{room}"), getattr(tg, room)
    other = []
    for name in ours.__all__:
        if not hasattr(theirs, name):
            continue
        known = {p.name: (k, p) for k, p in enumerate(parameters(getattr(ours, name)))}
        for k, p in enumerate(parameters(getattr(theirs, name))):
            if p.name not in known or (room, name, p.name) in OURS:
                continue
            at, own = known[p.name]
            moved = at != k and own.kind is own.POSITIONAL_OR_KEYWORD is p.kind
            same = own.default == p.default or (own.default is p.default is np.nan)
            if moved or not (p.default is p.empty or same):
                other.append((name, p.name))
    assert other == []


X = np.random.default_rng(3).normal(size=(2, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.softmax(X),
        lambda m: m.log_softmax(X),
        lambda m: m.logsumexp(X, None, [1.0, 0.5, 2.0], True),
        lambda m: m.logsumexp(X, 0, [[1.0], [-3.0]], return_sign=True),
        lambda m: m.logsumexp(X, 1, -1.0),
    ],
)
def test_sums_of_exponentials(call: Callable[[Any], Any]) -> None:
    with np.errstate(invalid="ignore"):
        found, expected = call(tg.special), call(scipy.special)
    for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


S, T = 0.7, 1.3
IMAGE = np.random.default_rng(4).normal(size=(4, 5))
LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "expm": lambda s, t: tg.linalg.expm([[0, -s], [t, 0.1]]),
    "toeplitz": lambda s, t: tg.linalg.toeplitz([s, t, 0.0]),
    "solve": lambda s, t: tg.linalg.solve([[s, 1], [0, t]], (s, 2.0)),
    "normal": lambda s, t: tg.stats.multivariate_normal.logpdf(
        [1.0, 2.0], [s, t], [[s, 0.1], [0.1, t]]
    ),
    "lfilter": lambda s, t: tg.signal.lfilter([s, t], [1.0, 0.3 * s], np.arange(5.0)),
    "shift": lambda s, t: tg.ndimage.shift(IMAGE, (s, t)),
    "affine": lambda s, t: tg.ndimage.affine_transform(IMAGE, [[s, 0.2], [0.1, t]], (t, -s)),
    "sigmas": lambda s, t: tg.ndimage.gaussian_filter(IMAGE, (s, t), radius=2) ** 2,
    "spline": lambda s, t: tg.interpolate.CubicSpline([0.0, 1.0, 2.0], [s, t, s * t])([s, 0.5]),
    "logsumexp": lambda s, t: tg.special.logsumexp([s, t], b=[1.0, t]),
    "trapezoid": lambda s, t: tg.integrate.trapezoid([s, t], [0, t]),
    "polyint": lambda s, t: np.polyint(np.array([1.0, 2.0]) * s, 2, [s, t]),
    "fft": lambda s, t: abs(tg.fft.fft([s, t, 1.0])),
    "sum": lambda s, t: tg.sum([s * t, t]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_may_hold_differentiated_numbers(name: str) -> None:
    def total(s: Any, t: Any) -> Any:
        return tg.sum(LISTS[name](s, t) * 1.3)

    h = 1e-5
    slopes = [(total(S + h, T) - total(S - h, T)) / (2 * h),
              (total(S, T + h) - total(S, T - h)) / (2 * h)]  # fmt: skip
    np.testing.assert_allclose(tg.grad(total, (0, 1))(S, T), slopes, rtol=1e-6, atol=1e-8)
    _, tangent = tg.jvp(total, (S, T), (1.0, -2.0))
    np.testing.assert_allclose(tangent, slopes[0] - 2 * slopes[1], rtol=1e-6, atol=1e-8)


def test_lists_in_compiled_functions() -> None:
    names = ("toeplitz", "polyint")
    every = lambda s, t: [LISTS[n](s, t) for n in names]  # noqa: E731
    for found, expected in zip(tg.jit(every)(S, T), every(S, T), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_parts_of_other_shapes_are_refused() -> None:
    for call in (
        lambda s: tg.linalg.expm([[s, 1.0], [s]]),
        lambda s: tg.special.logsumexp([s, [s]]),
    ):
        with pytest.raises(tg.ShapeError, match="one shape"):
            tg.grad(call)(1.0)


V, K = np.array([1e20, 1.0, np.nan, 2.0, 3.0, 1e-9, 4.0]), np.array([1.0, -2.0])


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    ("a", "b"),
    [(V, K), (K, V), (np.outer(V, V[3:]), np.outer(K, K)), (np.outer(K, K), np.outer(V, V[3:])),
     (V, K * 1j), (np.arange(4), np.array([2, 5]))],
)  # fmt: skip
def test_elements_of_convolutions_have_their_own_rounding(mode: str, a: Any, b: Any) -> None:
    for name in ("convolve", "correlate"):
        found = getattr(tg.signal, name)(a, b, mode)
        expected = getattr(scipy.signal, name)(a, b, mode, method="direct")
        assert found.shape == expected.shape
        if mode == "same" and len(a) < len(b):  # SciPy multiplies the zeros around by NaN, too
            found = np.where(np.isnan(expected), expected, found)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("room", refusals.ROOMS)
def test_what_a_module_lacks_of_scipys_says_what_to_write(room: str) -> None:
    here, scipys = getattr(tg, room), importlib.import_module(f"scipy.{room}")
    lacking = [
        name
        for name in scipys.__all__
        if not hasattr(here, name) and callable(getattr(scipys, name))
    ]
    assert lacking
    for name in lacking:
        with pytest.raises(AttributeError, match=rf"scipy\.{room}\.{name}.*[wW]rite "):
            getattr(here, name)
    for name in ("no_such_name", "_private", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
            getattr(here, name)
