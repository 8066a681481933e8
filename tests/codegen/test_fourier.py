"""Compiled discrete Fourier transforms of every kind of length, against NumPy's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.native import library
from tracegrad.codegen.native.fourier.plans import SLOTS

import tracegrad as tg
from tests.codegen.test_native import native

RADICES = (*range(1, 18), 22, 24, 49, 64, 121, 128, 169)
HALVES = (256, 1000, 1001, 1155, 2048, 4096)
OF_PRIMES = (17, 19, 34, 37, 127, 254, 289, 527, 241, 771, 1028)
CONVOLVED = (263, 526, 1009, 2038)
SIDE_BY_SIDE = 19
"""More lines than one vector has lanes, in any precision, and no whole number of vectors."""


def close(found: Any, expected: Any, single: bool) -> None:
    size = np.abs(expected).max()
    assert np.abs(found - expected).max() <= (1e-6 if single else 2e-15) * size


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(
    "lines", [(1, 1), (SIDE_BY_SIDE, 1), (1, SIDE_BY_SIDE), (2, 3), (2, 5), (3, 11)]
)
def test_every_kind_of_length(single: bool, lines: tuple[int, int]) -> None:
    kinds = (np.complex64, np.float32) if single else (np.complex128, np.float64)
    rng = np.random.default_rng(0)
    for n in (*RADICES, *HALVES, *OF_PRIMES, *CONVOLVED):
        z = rng.normal(size=(lines[0], n, lines[1])) + 1j * rng.normal(size=(lines[0], n, lines[1]))
        z = z.astype(kinds[0])
        x = z.real.astype(kinds[1])
        out, half, back = np.empty_like(z), np.fft.rfft(x, axis=1), np.empty_like(x)
        native(library.fft, 4)(z, out, 1, False)
        close(out, np.fft.fft(z, axis=1), single)
        native(library.fft, 4)(z, out, 1, True)
        close(out, np.fft.ifft(z, axis=1, norm="forward"), single)
        spectrum = np.empty_like(half)
        native(library.rfft, 3)(x, spectrum, 1)
        close(spectrum, half, single)
        half[:, 0] += 0.5j  # of which nothing is read
        native(library.irfft, 3)(half, back, 1)
        close(back / n, x, single)


def test_a_length_above_what_lies_side_by_side() -> None:
    rng = np.random.default_rng(0)
    # The last two are convolutions: of lines in lanes, and of one line alone.
    shapes = ((3, 2**15), (3, 3 * 2**12), (17000, 3), (3, 16411), (3, 40009))
    for shape, axis in zip(shapes, (1, 1, 0, 1, 1), strict=True):
        z = rng.normal(size=shape) + 1j
        out = np.empty_like(z)
        native(library.fft, 4)(z, out, axis, False)
        close(out, np.fft.fft(z, axis=axis), False)


def test_one_graph_for_all_lengths() -> None:
    def value_and_spectra(x: Any) -> Any:
        return np.fft.fft(x), np.fft.irfft(np.fft.rfft(x), x.shape[0])

    f = tg.jit(value_and_spectra)
    g = tg.jit(tg.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 4)))
    for n in (4, 5, 6, 9, 17, 64):
        x = np.random.default_rng(n).normal(size=n)
        spectrum, same = f(x)
        np.testing.assert_allclose(spectrum, np.fft.fft(x), atol=1e-13)
        np.testing.assert_allclose(same, x, atol=1e-14)
        np.testing.assert_allclose(
            g(x), tg.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 4))(x), rtol=1e-10
        )


def test_more_chirps_than_are_kept_in_several_threads_at_once() -> None:
    primes = [n for n in range(263, 460) if all(n % p for p in range(2, 22))][: SLOTS + 4]
    rng = np.random.default_rng(0)
    lines = [rng.normal(size=n) + 1j for n in primes]
    expected = [np.fft.fft(z) for z in lines]
    f = tg.jit(np.fft.fft)
    f(lines[0]), f(lines[1])

    def same(_: int) -> None:
        for z, spectrum in zip(lines, expected, strict=True):
            close(f(z), spectrum, False)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(same, range(8)))
