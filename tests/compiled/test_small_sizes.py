"""What was traced for all sizes is called with small ones, beside which windows, widths and shifts
are large: the same numbers as without `jit`, or the same error. (A fact that a trace did not ask
for holds at the size that it was traced at, and nobody asks at the others.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces

F = tg.nn.functional
WEIGHTS = np.array([1.0, 0.5, 0.3, 0.2, 0.1, 0.7])
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lfilter": lambda x: tg.signal.lfilter(WEIGHTS, [1.0, 0.1, 0.2, 0.3], x),
    "state of lfilter": lambda x: tg.signal.lfilter(WEIGHTS, [1.0], x, zi=np.ones(5))[1],
    "convolve": lambda x: np.convolve(x, WEIGHTS),
    "convolve, same": lambda x: np.convolve(x, WEIGHTS, "same"),
    "convolve, valid": lambda x: np.convolve(x, WEIGHTS, "valid"),
    "signal.convolve, valid": lambda x: tg.signal.convolve(x, WEIGHTS, "valid"),
    "signal.correlate, same": lambda x: tg.signal.correlate(x, WEIGHTS, "same"),
    "correlate, full": lambda x: np.correlate(x, WEIGHTS, "full"),
    "diff": lambda x: np.diff(x, 4),
    "gradient": lambda x: np.gradient(x, edge_order=2),
    "conv1d": lambda x: F.conv1d(x[None, None], WEIGHTS[None, None, :5]),
    "conv1d, padded": lambda x: F.conv1d(x[None, None], WEIGHTS[None, None, :5], padding=1),
    "conv_transpose1d": lambda x: F.conv_transpose1d(
        x[None, None], WEIGHTS[None, None, :2], padding=2
    ),
    "avg_pool1d": lambda x: F.avg_pool1d(x[None, None], 4),
    "max_pool1d": lambda x: F.max_pool1d(x[None, None], 4, 2),
    "unfold": lambda x: F.unfold(x[None, None, :, None], (4, 1)),
    "F.pad, negative": lambda x: F.pad(x, (-2, -2)),
    "F.pad, reflect": lambda x: F.pad(x[None, None], (3, 3), "reflect"),
    "F.pad, circular": lambda x: F.pad(x[None, None], (4, 4), "circular"),
    **{
        f"pad, {mode}": (lambda x, mode=mode: np.pad(x, (4, 2), mode=mode))
        for mode in ("reflect", "symmetric", "wrap", "edge", "linear_ramp", "constant")
    },
    **{
        f"pad, {mode} of some": (lambda x, mode=mode: np.pad(x, 2, mode=mode, stat_length=3))
        for mode in ("mean", "maximum")
    },
    **{
        f"correlate1d, {mode}": (lambda x, mode=mode: tg.ndimage.correlate1d(x, WEIGHTS, mode=mode))
        for mode in ("reflect", "mirror", "wrap", "nearest")
    },
    "gaussian_filter1d": lambda x: tg.ndimage.gaussian_filter1d(x, 1.5),
    "slices": lambda x: (x[3:], x[-3:], x[:-3], x[3::2], x[::-3], x[5:2:-1]),
    "an element": lambda x: x[3],
    "one from the end": lambda x: x[-4],
    "roll": lambda x: np.roll(x, 5) + np.roll(x, -7),
    "take": lambda x: np.take(x, [0, 3]),
    "take, clip": lambda x: np.take(x, [0, 3, 9], mode="clip"),
    "diagonals": lambda x: (np.diag(np.outer(x, x), 4), np.trace(np.outer(x, x), 2)),
    "tril": lambda x: np.tril(np.outer(x, x), -3),
    "var": lambda x: (np.var(x, ddof=2), np.std(x, ddof=3)),
    "partition": lambda x: (np.partition(x, 3), np.partition(x, -2)),
    "halves": lambda x: np.split(x, 2)[0],
    "reshape": lambda x: x.reshape(-1, 2),
    "fft": lambda x: np.fft.fft(x, 5),
    "density": lambda x: tg.stats.gaussian_kde(x)(np.array([0.1, 0.5])),
    "zscore": lambda x: tg.stats.zscore(x, ddof=1),
    "simpson": lambda x: tg.integrate.simpson(x),
    "quantile": lambda x: np.quantile(x, 0.3),
    "polar": lambda x: tg.linalg.polar(np.outer(x, WEIGHTS[:3]) + np.eye(x.shape[0], 3))[1],
    "lstsq": lambda x: np.linalg.lstsq(np.vander(x, 3), x)[0],
}
OF_FEW: dict[str, Callable[..., Any]] = {
    "squeeze": lambda x: np.squeeze(x[None]),
    "squeeze of a matrix": lambda x: np.squeeze(x[:, None, None] * x),
    "third differences": lambda x: np.diff(x, 3),
    "trapezoid": lambda x: np.trapezoid(x * x, np.cumsum(x)),
    "cumulative_trapezoid": lambda x: tg.integrate.cumulative_trapezoid(x, initial=0),
    "interp": lambda x: np.interp([0.5, 2.5, -9.0], np.cumsum(np.abs(x)), x),
    "products": lambda x: (np.prod(x), np.cumprod(x), np.cumsum(x)),
    "softmax": lambda x: (tg.softmax(x), tg.log_softmax(x), tg.special.logsumexp(x)),
    "extremes": lambda x: (np.max(x), np.maximum.reduce(x), np.maximum.accumulate(x)),
    "sample statistics": lambda x: (tg.stats.zscore(x, ddof=2), tg.stats.sem(x), np.var(x, ddof=1)),
    "median": lambda x: np.median(x),
    "pad, edge": lambda x: np.pad(x, 2, mode="edge"),
    "expm": lambda x: tg.linalg.expm(0.1 * np.outer(x, x)),
}
SIZES = (12, 13, 2, 3, 4)
"""The second is traced for all sizes."""


def numbers(n: int) -> Any:
    return 3 * np.cos(1.3 * np.arange(n)) + 0.1


def outcome(function: Callable[..., Any], x: Any) -> Any:
    try:
        found = function(x)
    except Exception as error:
        return type(error)
    return [np.asarray(a) for a in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, kernels_in_python: None) -> None:
    function = FUNCTIONS[name]
    agree(tg.jit(function), lambda x: tg.jvp(function, (x,), (0 * x,))[0])


@pytest.mark.parametrize("name", ["lfilter", "convolve", "pad, reflect", "slices", "polar"])
def test_slopes(name: str, kernels_in_python: None) -> None:
    slope = tg.grad(lambda x: sum(np.sum(np.square(a)) for a in _list(FUNCTIONS[name](x))))
    agree(tg.jit(slope), slope)


@pytest.mark.parametrize("name", [*OF_FEW, "slices", "partition", "quantile", "pad, reflect"])
def test_of_a_part(name: str, kernels_in_python: None) -> None:
    """Of sizes that are expressions, the array's length less 2: there may be one element or none,
    as no axis of an argument that is compiled for all sizes has."""
    function = OF_FEW.get(name) or FUNCTIONS[name]
    agree(
        tg.jit(lambda x: function(x[2:])),
        lambda x: tg.jvp(lambda y: function(y[2:]), (x,), (x,))[0],
    )


@pytest.mark.parametrize("name", OF_FEW)
def test_slopes_of_a_part(name: str, kernels_in_python: None) -> None:
    slope = tg.grad(lambda x: sum(np.sum(np.square(a)) for a in _list(OF_FEW[name](x[2:]))))
    agree(tg.jit(slope), slope)


def agree(compiled: Callable[..., Any], eager: Callable[..., Any]) -> None:
    for n in SIZES:
        found, expected = outcome(compiled, numbers(n)), outcome(eager, numbers(n))
        if found is ZeroDivisionError:
            continue  # Python's, of a kernel in Python: compiled it is NaN
        if isinstance(expected, type) or isinstance(found, type):
            assert found is expected, n
            continue
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10, err_msg=str(n))


def _list(found: Any) -> list[Any]:
    return [np.abs(a) for a in (found if isinstance(found, tuple) else (found,))]


def test_narrow(kernels_in_python: None) -> None:
    compiled = tg.jit(lambda x: x.narrow(0, 1, 3) + x.narrow(0, -3, 3))
    for n in SIZES:
        x = tg.tensor(numbers(n))
        if n < 4:
            with pytest.raises(IndexError, match="exceeds dimension size"):
                compiled(x)
        else:
            np.testing.assert_array_equal(compiled(x), x[1:4] + x[n - 3 :])


@pytest.mark.parametrize("name", ["convolve", "signal.correlate, same", "lfilter", "diff"])
def test_for_all_sizes(name: str, kernels_in_python: None) -> None:
    with counted_traces() as traced:
        compiled = tg.jit(FUNCTIONS[name])
        for n in (20, 21, 35, 50, 9):
            compiled(numbers(n))
    assert len(traced) == 2
