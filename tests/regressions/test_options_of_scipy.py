"""Options of SciPy's functions that were given other numbers than SciPy's without a word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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
    "zscore": ("stats", "zscore", (LINE[:2],), {"ddof": 2}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ROWS)
def test_options_mean_what_scipy_means(name: str) -> None:
    module, function, args, words = ROWS[name]
    expected = getattr(getattr(scipy, module), function)(*args, **words)
    call: Any = getattr(getattr(tg, module), function)
    found = call(tg.tensor(args[0]), *args[1:], **words)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-8, atol=1e-8)
