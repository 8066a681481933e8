"""Uses of SciPy's names that no other row has: values, both modes to second order, vmap, as
`tests.sweep_names` checks all uses; and that there is a use of every name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.name_uses import uses
from tests.sweep_names import Use, check, without_a_use

ONCE = (
    "signal.welch(M, 2.0", "signal.csd(x", "signal.coherence(", "signal.periodogram(M, 3.0",
    "signal.spectrogram(M, 2.0", "signal.stft(M", "signal.resample(M, 4", "signal.savgol_filter(e",
    "signal.sosfiltfilt([[", "signal.medfilt(M", "signal.deconvolve(e, w", "signal.freqz(w",
    "signal.sawtooth(x * 3, u", 'signal.chirp(x, s, t, 0.3, "quadratic", 30',
    "linalg.solveh_banded(np", "linalg.eigh_tridiagonal(v", "linalg.pinvh(",
    "linalg.fractional_matrix_power(spd", "linalg.matmul_toeplitz((", "linalg.solve_circulant(z",
    'linalg.convolution_matrix(v, 3, "same"', "interpolate.Akima1DInterpolator(g",
    "interpolate.CubicHermiteSpline(q", "interpolate.RegularGridInterpolator((q",
    "interpolate.interpn((g", "signal.istft(T", "integrate.cumulative_simpson(x, x",
)  # fmt: skip


@pytest.mark.parametrize("start", ONCE)
def test_use(start: str) -> None:
    text = next(u for u in uses() if u.startswith(f"sp.{start}"))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = check(Use(text), False)
    # What SciPy answers for arrays without elements and for NaN differs here and there.
    assert [w for w in found if not w.startswith(("empty", "nan", "single: dtypes"))] == []


def test_every_name_has_a_use() -> None:
    assert without_a_use(uses()) == []
