"""`bench --scipy`: what is told of a run, and that expressions give SciPy's values and slopes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracegrad.bench import beside_scipy
from tracegrad.bench.beside_scipy import NameCost, NameTimes
from tracegrad.bench.scipy_expressions import EXPRESSIONS, SIZES, Expression, data
from tracegrad.bench.scipy_worker import WithTracegrad

BY_TEXT = {expression.text: expression for expression in EXPRESSIONS}
SOME = (
    "np.fft.fft(x)", "np.linalg.eig(A)", "np.linalg.cholesky(P)", "np.partition(x, 50)",
    "linalg.cholesky_banded(H)", "special.gammainc(a, p)", "stats.wishart.logpdf(P, 40, C)",
    "interpolate.CubicSpline(g, h)(x)", "ndimage.shift(G, (1.5, 2.5))",
)  # fmt: skip


class Answers:
    """A process that answers each expression in the same way."""

    missing = ""

    def __init__(self, library: str, told: dict[str, Any], seconds: dict[str, float]) -> None:
        self.library, self.told, self.seconds = library, told, seconds

    def ask(self, line: str) -> dict[str, Any]:
        return self.seconds if "seconds" in json.loads(line) else self.told

    def close(self) -> None:
        pass


OURS = Answers(
    "tracegrad",
    {"check": "ok", "slope": 2.0, "difference": 2.0 + 1e-6},
    {"tracegrad": 2e-6, "scipy": 3e-6, "gradient": 4e-6},
)


def costs(ours: Answers, jax: Answers | None, expression: Expression = EXPRESSIONS[0]) -> NameCost:
    return beside_scipy.cost(expression, "small", ours, jax, 0.0)  # type: ignore[arg-type]


def test_lines_are_read() -> None:
    assert Expression.read("A   linalg.polar(A) | -") == Expression("A", "linalg.polar(A)", "")
    assert Expression.read("x  np.sort(x)") == Expression("x", "np.sort(x)", "np.sort(x)")
    assert Expression.read("p   f(i, p) | f(i, p, length=100)").jax == "f(i, p, length=100)"
    assert len(BY_TEXT) == len(EXPRESSIONS)
    assert all(e.argument in data("small") for e in EXPRESSIONS)


@pytest.mark.parametrize("size", SIZES)
def test_data_have_the_sizes(size: str) -> None:
    found = data(size)
    assert found["x"].shape == (SIZES[size].n,)
    assert found["A"].shape == (SIZES[size].rows,) * 2
    assert found["G"].shape == (SIZES[size].image,) * 2


@pytest.mark.parametrize("text", SOME)
def test_values_and_slopes(text: str) -> None:
    calls, told = WithTracegrad().prepare(BY_TEXT[text], "small")
    assert set(calls) == {"tracegrad", "scipy", "gradient"}
    assert told["check"] == "ok"
    assert told["slope"] == pytest.approx(told["difference"], rel=beside_scipy.OF_DIFFERENCES)


def test_a_derivative_that_there_is_none_of() -> None:
    calls, told = WithTracegrad().prepare(Expression("a", "special.hyp1f1(a, q, u)", ""), "small")
    assert set(calls) == {"tracegrad", "scipy"}
    assert "no derivative by a" in told["refused"]


def test_what_is_wrong_is_told() -> None:
    good = costs(OURS, Answers("jax", {"slope": 2.0}, {"jax": 6e-6}))
    assert (good.check, good.speed, good.gradient_speed) == ("ok", 1.5, 1.5)
    other = costs(OURS, Answers("jax", {"slope": 2.1}, {"jax": 6e-6}))
    assert other.check == "the gradient's slope is 2.0, JAX's 2.1"
    without = costs(OURS, Answers("jax", {"failed": "AttributeError: none"}, {}))
    assert (without.check, without.gradient_speed) == ("ok", None)
    assert without.failed == "AttributeError: none"
    wrong = Answers("tracegrad", {**OURS.told, "difference": 3.0}, OURS.seconds)
    assert "differences' 3.0" in costs(wrong, None).check
    failed = costs(Answers("tracegrad", {"failed": "KeyError: a"}, {}), None)
    assert (failed.check, failed.tracegrad) == ("KeyError: a", None)


def test_tables(tmp_path: Path) -> None:
    found = NameTimes(
        {"settings": {}},
        [
            NameCost("np.fft.fft(x)", 1e-6, 2e-6, 3e-6, 9e-6),
            NameCost("np.sort(x)", 1e-6, 0.25e-6, 3e-6, None),
            NameCost("special.jv(1.5, p)", 1e-6, 2e-6, check="wrong"),
        ],
    )
    assert found.wrong
    (_, (headings, rows)), (_, (_, aims)) = found.tables()
    assert [len(row) for row in rows] == [len(headings)] * 3
    assert rows[0] == ["np.fft.fft(x)", "1.00", "2.00", "2.00", "3.00", "9.00", "3.00"]
    assert [row[2:] for row in aims] == [
        ["1.00", "3", "no"],
        ["3.00", "1", "yes"],
        ["2.00", "np.fft.fft(x)", "yes"],
        ["0.25", "np.sort(x)", "no"],
    ]
    found.write_json(tmp_path / "a.json")
    assert len(json.loads((tmp_path / "a.json").read_text())["scipy"]) == 3
