"""Options of SciPy's functions that were given other numbers than SciPy's without a word."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats

import tracegrad as tg

LINE = np.array([0.3, -1.2, 2.0, 0.7, -0.4, 1.1, 0.2])
PLANE = np.outer(LINE, [1.0, 0.5, -2.0]) + np.arange(3)
PLACES = [np.array([-40.0, -12.4, -2.5, -0.3, 0.0, 3.3, 6.0, 6.4, 8.9, 18.4, 1e9])]
MODES = ("grid-constant", "wrap")

ROWS = {
    **{
        f"nearest, order {k}, prefilter {p}": (
            "ndimage", "map_coordinates", (LINE, PLACES),
            {"order": k, "mode": "nearest", "prefilter": p},
        )
        for k in (0, 1, 2, 3, 5)
        for p in (False, True)
    },
    "shift": ("ndimage", "shift", (PLANE, (1.3, -0.6)), {"mode": "nearest", "prefilter": False}),
    "gaussian_laplace": ("ndimage", "gaussian_laplace", (PLANE, 1.0), {"mode": MODES}),
    "gaussian_gradient_magnitude": (
        "ndimage", "gaussian_gradient_magnitude", (PLANE, [0.7, 1.0]), {"mode": MODES},
    ),
    **{
        f"savgol_filter, {n}": ("signal", "savgol_filter", (LINE, n, 1), {"deriv": n % 3 % 2})
        for n in (2, 3, 4, 6, 7)
    },
    "comb, negative": ("special", "comb", (LINE * 4, -0.966), {"repetition": True}),
    "comb, whole": (
        "special", "comb", (np.arange(4.0), np.array([0.0, 1, 2, 0])), {"repetition": True},
    ),
    "logsumexp": ("special", "logsumexp", (LINE.astype("f"),), {"b": -2, "return_sign": True}),
    "zscore": ("stats", "zscore", (LINE[:2],), {"ddof": 2}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ROWS)
def test_options_mean_what_scipy_means(name: str) -> None:
    module, function, args, words = ROWS[name]
    expected = getattr(getattr(scipy, module), function)(*args, **words)
    call: Any = getattr(getattr(tg, module), function)
    found = call(tg.tensor(args[0]), *args[1:], **words)
    pairs = (
        [(found, expected)] if isinstance(found, tg.Tensor) else zip(found, expected, strict=True)
    )
    for ours, theirs in pairs:
        tolerance = 1e-8 if theirs.dtype == float else 1e-6
        np.testing.assert_allclose(ours.numpy(), theirs, tolerance, tolerance)
        if module != "ndimage":
            assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, None])
def test_grids_descend(method: str, fill: Any) -> None:
    points = (np.array([3.0, 2.5, 1.0, 0.2]), np.array([0.0, 1.0, 2.5]))
    values, places = np.cos(np.arange(24.0)).reshape(4, 3, 2), np.array([[0.3, 2.6], [2.6, 0.1]])
    words: dict[str, Any] = {"method": method, "bounds_error": False, "fill_value": fill}
    expected = scipy.interpolate.interpn(points, values, places, **words)

    def ours(*p: Any) -> Any:
        return tg.interpolate.interpn(p[:2], p[2], p[3], **words)

    for boxed in (lambda x: x, tg.tensor, lambda x: tg.tensor(x, requires_grad=True)):
        found = ours(*map(boxed, (*points, values, places)))
        found = found.detach() if isinstance(found, tg.Tensor) else found
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    both = np.stack([points[0], points[0][::-1] - 0.1])
    compared = [scipy.interpolate.interpn((p, points[1]), values, places, **words) for p in both]
    found = tg.vmap(lambda p: ours(p, points[1], values, places))(both)
    np.testing.assert_allclose(found, np.stack(compared), rtol=1e-12)


@pytest.mark.parametrize("points", [[1.0, 3.0, 2.0], [1.0, 1.0, 2.0]])
def test_grids_in_no_order_are_refused(points: list[float]) -> None:
    for p in (np.array(points), tg.tensor(points)):
        with pytest.raises(ValueError, match="ascend, or descend"):
            tg.interpolate.interpn((p,), np.arange(3.0), np.array([[1.5]]))


@pytest.mark.parametrize("sigma", [np.complex128(1 + 1j), np.array(1 + 1j), 1j, 0.0])
@pytest.mark.parametrize("dtype", [float, complex])
def test_widths_of_gaussians_are_real_and_not_zero(sigma: Any, dtype: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="sigma is"):
        tg.ndimage.gaussian_filter1d(tg.tensor(LINE.astype(dtype)), sigma)


NUMBERS = ("?", "b", "B", "h", "i", "q", "Q", "f", "d", "F", "D")


@pytest.mark.parametrize("function", ["convolve", "correlate", "fftconvolve", "convolve2d"])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_convolutions_have_scipys_dtypes(function: str, compiled: bool) -> None:
    """Integers wrap around where the products of their dtype do."""
    rows = (2, 3) if function == "convolve2d" else (6,)
    x = np.array([0, 3, 100, 0, 1, 77]).reshape(rows)
    y = np.array([100, 1, 0, 5]).reshape((2, 2) if function == "convolve2d" else (4,))
    ours = getattr(tg.signal, function)
    ours = tg.jit(ours) if compiled else ours
    every = itertools.product(NUMBERS, NUMBERS)
    for kinds in zip(NUMBERS, NUMBERS[3:] + NUMBERS[:3], strict=True) if compiled else every:
        if kinds == ("?", "?"):
            continue
        pair = x.astype(kinds[0]), y.astype(kinds[1])
        expected = getattr(scipy.signal, function)(*pair)
        found = np.asarray(ours(*pair))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-3 if "f" in function else 0)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shapes", [((7,), (3,)), ((4, 5), (3, 2)), ((3, 4, 5), (2, 3, 1))])
def test_convolutions_of_integers_are_exact(
    mode: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-(2**40), 2**40, shape) for shape in shapes)
    for name in ("convolve", "correlate"):
        expected = getattr(scipy.signal, name)(x, y, mode, method="direct")
        for call in (getattr(tg.signal, name), tg.jit(getattr(tg.signal, name), static_argnums=2)):
            np.testing.assert_array_equal(call(x, y, mode), expected)
    assert tg.signal.convolve(x[..., :0], y).shape == (0,)
