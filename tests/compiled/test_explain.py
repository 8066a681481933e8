"""What `f.explain` says of a call, the log of traces, and the line for long first calls."""

from __future__ import annotations

import io
import logging
import sys
import time
from typing import Any

import numpy as np
import pytest
import scipy.stats

import tracegrad as tg
from tracegrad.compiled import first_calls

X = np.linspace(0.1, 1.0, 4)
WEIGHTS = np.ones((4, 4))
FACTOR = 2.0


@tg.jit(static_argnames="n")
def f(x: Any, y: Any = 1.0, n: int = 3) -> Any:
    return np.sum(np.sin(x) * x * y) * n


@tg.jit
def staged(x: Any) -> Any:
    total = 0.0
    for i in range(40):
        if x[0] > i:
            total = total + np.sum(np.sin(x @ WEIGHTS) * i)
    return total


CALLS: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((X,), {}, "the first call"),
    ((X[:3],), {}, "x is float64[3], was float64[4]; now for all sizes"),
    ((X[:2],), {}, "x is float64[3], was float64[4]; now for all sizes"),
    ((X.astype(np.float32),), {}, "x is float32[4], was float64[4]"),
    ((X, 2.0), {}, "the structure of the arguments is ((*, *), {}), was ((*,), {})"),
    ((X, 2), {}, "y is a Python int, was a Python float"),
    ((X,), {"n": 4}, "the static argument n is 4, was not given"),
    ((X,), {"n": 5}, "the static argument n is 5, was 4"),
    ((tg.tensor(X), 2), {}, "x is a Tensor, was an array"),
    ((tg.tensor(X, requires_grad=True), 2), {}, "x requires grad, did not"),
    ((X.reshape(2, 2),), {}, "x is float64[2, 2], was float64["),
]


def test_reasons_and_the_log_of_them(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tracegrad.recompiles"):
        for args, kwargs, reason in CALLS:
            f(*args, **kwargs)
            found = f.explain(*args, **kwargs)
            assert found.reason.startswith(reason)
            assert found.reason in found.reasons
        with tg.no_grad():
            f(tg.tensor(X, requires_grad=True), 2)
    said = [r.getMessage() for r in caplog.records if r.name == "tracegrad.recompiles"]
    wanted = ["f is traced again: " + reason for _, _, reason in CALLS[1:2] + CALLS[3:]]
    wanted.append("f is traced again: gradients are recorded no more")
    assert len(said) == len(wanted)
    assert all(s.startswith(w) for s, w in zip(said, wanted, strict=True))


PARTS = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg"]
ALIKE = "; of those, for all that answer alike what it asks of them"
REACHES: list[tuple[Any, str]] = [
    (lambda x, y: np.sum(x) * np.sum(y), "; now for all sizes"),
    (
        lambda x, y: np.sum(x) * len(PARTS[len(x)]),
        "; now for all sizes but n, which it takes as the plain number 4",
    ),
    (
        lambda x, y: np.sum(x) * len(PARTS[len(x)]) * len(PARTS[len(y)]),
        "; for these sizes alone, which it takes as plain numbers",
    ),
    (lambda x, y: np.sum(x) if len(x) == 4 else np.sum(y), "; now for all sizes but n, which it "),
    (lambda x, y: np.sum(x) if len(x) % 2 else np.sum(y), "; now for all sizes" + ALIKE),
    (lambda x, y: np.sum(x) if len(x) < 9 else np.sum(y), "; now for all sizes" + ALIKE),
]


@pytest.mark.parametrize(("function", "reach"), REACHES)
def test_for_which_sizes(function: Any, reach: str, kernels_in_python: None) -> None:
    g = tg.jit(function)
    for n in (3, 4):
        g(np.ones(n), np.ones(n + 2 if n == 3 else 3))
    reason = g.explain(np.ones(4), np.ones(3)).reason
    assert reason.partition("; y is float64[3], was float64[5]")[2].startswith(reach)


def test_what_changed_around_it(caplog: pytest.LogCaptureFixture) -> None:
    global FACTOR
    g = tg.jit(lambda x: x * FACTOR)
    g(1.0)
    FACTOR = 3.0
    try:
        g(1.0)
        assert g.explain(1.0).reasons == (
            "the first call",
            "FACTOR was 2.0 and is 3.0",
        )
    finally:
        FACTOR = 2.0


def test_fields() -> None:
    found = staged.explain(X)
    assert found.function.startswith("staged (test_explain.py:")
    assert found.arguments == ("x: float64[4]",)
    assert found.captures == ("WEIGHTS",)
    assert [s.partition(" ")[0] for s in found.staged] == ["staged"]
    assert found.fallbacks == ()
    assert found.traced >= found.optimized > 0
    assert found.phases >= 1
    assert found.loops >= found.nests >= 1
    assert {"trace", "optimize", "schedule", "print"} <= set(found.times)
    assert 0 < sum(found.times.values()) <= found.total
    assert found.loaded == ("load" in found.times)
    assert found.memory == staged.memory(X)
    assert found.residuals is None
    assert staged.explain(X).times == found.times


def test_residuals_of_a_call_on_the_tape() -> None:
    g = tg.jit(lambda x: np.cumsum(np.sin(x)) * x)
    x = tg.ones(100, requires_grad=True)
    g(x)
    found = g.explain(x).residuals
    assert found is not None
    assert 0 < found <= 1600
    g(tg.ones(7, requires_grad=True))
    assert g.explain(tg.ones(50, requires_grad=True)).residuals == found // 2
    assert g.explain(tg.ones(100)).residuals is None


def test_it_prints_as_a_table() -> None:
    found = staged.explain(X)
    text = str(found)
    assert repr(found) == text
    assert all(len(line) <= 100 for line in text.splitlines())
    for title, _ in found.rows():
        assert f"\n{title} " in f"\n{text}"
    assert "<th style='text-align:left'>arguments</th>" in found._repr_html_()
    assert tg.jit(lambda x: x).explain(1.0)._repr_html_().count("&lt;lambda&gt;") == 1


def test_rich_shows_a_table() -> None:
    console = pytest.importorskip("rich.console")
    out = io.StringIO()
    console.Console(file=out, width=100).print(staged.explain(X))
    assert "x: float64[4]" in out.getvalue()


def test_graphs_are_drawn_in_notebooks() -> None:
    html = staged.graphs(X)._repr_html_()
    assert html.count("<svg") == 2
    assert "as traced" in html
    assert "after the passes" in html


# --- the line for long first calls ----------------------------------------------------------------


def slow(x: Any) -> Any:
    time.sleep(0.3)
    return x + FACTOR


@pytest.mark.parametrize("wanted", [True, False])
def test_a_long_first_call_is_announced(wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(first_calls.VARIABLE, "1" if wanted else "0")
    monkeypatch.setattr(first_calls, "PATIENCE", 0.05)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    g = tg.jit(slow)
    g(1.0)
    text = out.getvalue()
    if wanted:
        assert "tracegrad: first call of slow: trace" in text
        assert text.endswith(")\n")
        assert g(2.0) == 4.0
        assert out.getvalue() == text
    else:
        assert text == ""


def test_nothing_is_announced_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(first_calls.VARIABLE, raising=False)
    monkeypatch.setattr(first_calls, "PATIENCE", 0.0)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    tg.jit(slow)(1.0)
    assert out.getvalue() == ""


def test_an_error_in_a_first_call_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(first_calls.VARIABLE, "1")

    def fails(x: Any) -> Any:
        raise KeyError("no")

    with pytest.raises(KeyError):
        tg.jit(fails)(1.0)
    assert first_calls.CLOCK.times is None
    assert first_calls.CLOCK.open == []


def looped(x: Any) -> Any:
    s = x[0]
    for i in range(2):
        s = s + i
    for _ in range(50):
        s = s + np.sin(s)
    while s < 10:
        s = s * 2
    return s


def test_what_became_of_each_loop() -> None:
    f, x = tg.jit(looped), np.ones(4)
    line = looped.__code__.co_firstlineno
    fates = ((line + 2, "written out"), (line + 4, "kept"), (line + 6, "kept"))
    expected = tuple((f"test_explain.py:{n}", what) for n, what in fates)
    assert f.explain(x).python_loops == expected
    assert "".join(f"\n# {place}: {what}" for place, what in expected) in f.staged(x)
    assert "# loops" not in f.staged()
    assert tg.jit(np.sin).explain(x).python_loops == ()


def test_captures_of_arguments() -> None:
    scale = np.full(2, 3.0)
    f = tg.jit(lambda x: scale * x)
    assert f.captures() == {}
    assert f.captures(np.ones(2)) == f.captures() == {"scale": scale}


def nothing(x: Any) -> None:
    x * 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tg.grad(nothing)(1.0), "returned None. Is a `return` missing"),
        (lambda: tg.jit(tg.grad(nothing))(1.0), "returned None. Is a `return` missing"),
        (lambda: tg.grad(lambda x, y: x * y)(x=1.0, y=2.0), "by keyword, x, y: give by position"),
        (lambda: tg.jacobian(lambda x, y: x * y, (0, 1))(1.0, y=2.0), "by keyword, y: give"),
        (
            lambda: tg.grad(lambda x, y: x * y, (0, 1))(1.0, 2),
            r"argument 1 holds int64",
        ),
        (
            lambda: tg.grad(lambda p: p["a"] * p["b"][1])({"a": 1.0, "b": [2.0, 3]}),
            r"argument 0\['b'\]\[1\] holds int64",
        ),
        (lambda: tg.minimize(np.sum, np.ones(2), bounds=[(0, 1)] * 2), r"tg\.scipy\.minimize"),
        (lambda: tg.jit(lambda x, k: x * k).njit(), r"write f\.njit\(x, k\)"),
        (lambda: tg.jit(lambda x: x).export("there", "f"), r"f\.export\(folder, name, x\)"),
        (
            lambda: tg.grad(lambda m: scipy.stats.multivariate_normal.logpdf([1.0], m))(X[:1]),
            r"Write tg\.stats\.multivariate_normal\.logpdf",
        ),
        (lambda: tg.jit(powers)(1.1, 6), r'static_argnames="n"'),
    ],
)
def test_what_newcomers_are_told(call: Any, said: str) -> None:
    with pytest.raises((TypeError, tg.errors.TracegradError), match=said):
        call()


def powers(x: Any, n: int) -> Any:
    """Ends by its second argument."""
    return x if n < 2 else x * powers(x, n - 1)
