"""Many sizes, few compilations; and arithmetic with sizes gives what plain integers give."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces
from tracegrad.bench import WORKLOADS, disagreement
from tracegrad.bench.peers.with_tracegrad import flat, own, transformed
from tracegrad.bench.workload import direction
from tracegrad.runtime.execute import Compiled

FORMS: dict[str, Any] = {
    "0.5 * n": lambda x: np.sum(x) * (0.5 * x.shape[0]),
    "n * 0.5": lambda x: np.sum(x) * (x.shape[0] * 0.5),
    "n / 2": lambda x: x * (x.shape[0] / 2),
    "1 / n": lambda x: x * (1 / x.shape[0]),
    "n ** 2": lambda x: x / x.shape[0] ** 2,
    "n ** -0.5": lambda x: x * x.shape[0] ** -0.5,
    "sqrt n": lambda x: x / np.sqrt(x.shape[0]),
    "array * n": lambda x: np.sum(x) * (np.ones(3) * x.shape[0]),
    "n * array": lambda x: np.sum(x) * (x.shape[0] * np.ones(3)),
    "n + 0.5": lambda x: x + (x.shape[0] + 0.5),
    "0.5 - n": lambda x: x + (0.5 - x.shape[0]),
    "n // 2": lambda x: x[: x.shape[0] // 2],
    "n % 3": lambda x: x * (x.shape[0] % 3),
    "divmod": lambda x: x * divmod(x.shape[0], 3)[0],
    "n * x": lambda x: x.shape[0] * x,
    "x / n": lambda x: x / x.shape[0],
    "float32 * n": lambda x: np.float32(2) * x.shape[0] * x,
    "int64 * n": lambda x: x * (np.int64(3) * x.shape[0]),
    "log n": lambda x: x * np.log(x.shape[0]),
    "-n": lambda x: x * -x.shape[0],
    "max": lambda x: x * max(x.shape[0], 6),
    "n * 1j": lambda x: x * (x.shape[0] * 1j),
    "tg.arange": lambda x: tg.arange(x.shape[0]) * x,
    "tg.arange by steps": lambda x: np.sum(
        x[: (x.shape[0] + 1) // 2] * tg.arange(0, x.shape[0], 2)
    ),
    "tg.arange downwards": lambda x: tg.arange(x.shape[0], 0, -1) * x,
    "tg.arange of nothing": lambda x: x + tg.sum(tg.arange(x.shape[0], 3)),
    "full_like": lambda x: x * np.full_like(x, x.shape[0]),
    "abs": lambda x: x * abs(x.shape[0]),
    "invert": lambda x: x * ~x.shape[0],
    "gradient": tg.grad(lambda x: np.sum(x**2) / x.shape[0] / 2 + 1 / (x.shape[0] - 1) * np.sum(x)),
    "range": lambda x: sum((x[k] for k in range(x.shape[0])), 0.0),
    "a size returned": lambda x: x.shape[0] / 2,
}
STAGED: dict[str, Any] = {
    "np.arange": lambda x: np.arange(x.shape[0]) / x.shape[0] * x,
    "len": lambda x: x / len(x),
}
PINNING: dict[str, Any] = {
    "math.sqrt": lambda x: x / math.sqrt(x.shape[0]),
    "math.sqrt of a quotient": lambda x: x / math.sqrt(x.shape[0] / 2),
    "list": lambda x: x + np.array([1.0] * x.shape[0]),
    "condition on a quotient": lambda x: x * (2.0 if x.shape[0] / 2 > 3.2 else 3.0),
}
BRANCHING: dict[str, Any] = {
    "n > 6.5": lambda x: x * (2.0 if x.shape[0] > 6.5 else 3.0),
    "n >= 6.5": lambda x: x * (2.0 if x.shape[0] >= 6.5 else 3.0),
    "n < 7.0": lambda x: x * (2.0 if x.shape[0] < 7.0 else 3.0),
    "n <= 6.5": lambda x: x * (2.0 if x.shape[0] <= 6.5 else 3.0),
    "n == 7.0": lambda x: x * (2.0 if x.shape[0] == 7.0 else 3.0),
    "n < inf": lambda x: x * (2.0 if x.shape[0] < math.inf else 3.0),
    "n == 6": lambda x: x * (x.shape[0] == 6),
}


def agree(function: Any) -> int:
    """Compare compiled and plain calls over several sizes; the number of traces."""
    compiled = tg.jit(function)
    for n in (5, 6, 7, 8, 9):
        x = np.arange(1.0, n + 1)
        found, want = np.asarray(compiled(x)), np.asarray(function(x))
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-13)
    return len(set(compiled._signatures.entries.values()))


@pytest.mark.parametrize("name", FORMS)
def test_arithmetic_with_sizes(name: str) -> None:
    assert agree(FORMS[name]) == 2


@pytest.mark.parametrize("name", BRANCHING)
def test_branches_on_sizes(name: str) -> None:
    assert agree(BRANCHING[name]) <= 3


@pytest.mark.parametrize("name", STAGED)
def test_what_is_rewritten(name: str) -> None:
    assert agree(STAGED[name]) == 2


@pytest.mark.parametrize("name", PINNING)
def test_what_needs_a_plain_number(name: str) -> None:
    assert agree(PINNING[name]) == 5


def test_why_sizes_are_compiled_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    def needs_int(x: Any) -> Any:
        return x * (2 if type(x.shape[0]) is int else int("a size is no int"))

    f = tg.jit(needs_int)
    with caplog.at_level(logging.INFO, "tracegrad"), counted_traces() as traces:
        for n in (5, 6, 7, 8):
            np.testing.assert_array_equal(f(np.ones(n)), np.full(n, 2.0))
    assert [r.getMessage() for r in caplog.records if "by itself" in r.getMessage()] == [
        (
            "needs_int is compiled for each size by itself: ValueError: invalid literal for "
            "int() with base 10: 'a size is no int'"
        )
    ]
    # The generic trace is tried once, not once per size.
    assert len(traces) == 5


def test_an_error_of_the_function_is_raised_at_a_second_size() -> None:
    f = tg.jit(lambda x: x + np.ones(5))
    f(np.ones(5))
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones(6))


SWEPT = {
    w.key: w
    for w in WORKLOADS
    if "small" in w.sizes
    and w.step is None
    and w.key not in ("gmm-wide-grad", "logistic-random-hessian", "logistic-random-value_and_grad")
}


@pytest.mark.parametrize("key", SWEPT)
def test_fifty_sizes_compile_twice(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Along the axis of the data every derivative of the benchmark is compiled for its first size
    and once for all others."""
    compiled: list[int] = []
    original = Compiled.__init__

    def counted(self: Any, *args: Any) -> None:
        compiled.append(1)
        original(self, *args)

    workload = own(SWEPT[key])
    base = dict(workload.sizes["small"])
    axis = next(iter(p for p in ("n", "batch", "steps", "length", "times") if p in base))
    f = tg.jit(transformed(workload))
    monkeypatch.setattr(Compiled, "__init__", counted)
    # Through sizes that the other axes have, too.
    start = max(5, base.get("k", 0))
    for n in range(start, start + 50):
        arguments = workload.data(**{**base, axis: n})
        given = (
            [*arguments, direction(arguments)] if workload.derivative == "hvp" else list(arguments)
        )
        found = flat(f(*given))
        if n in (start, start + 1, start + 49):
            assert disagreement(found, workload.expected(arguments), workload.tolerance) == ""
    assert len(compiled) == 2
