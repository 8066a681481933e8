"""Programs in plain Python beside Numba's compilation and JAX's loops: all results are right, and a
run tells what it measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracegrad.bench import machine, programs
from tracegrad.bench.peers.programs_with_tracegrad import arrays, prepare
from tracegrad.bench.program_texts import texts
from tracegrad.bench.report.programs import FirstCalls, ProgramCost, ProgramTimes
from tracegrad.bench.workload import disagreement


def results(module_prepare: Any, module_arrays: Any, name: str) -> tuple[Any, list[Any]]:
    """The arguments, and what a worker writes."""
    arguments = texts()[name].at(programs.SMALL)
    calls = module_prepare(name, [np.asarray(a) for a in arguments])
    return arguments, [
        array
        for what in ("function", "value and gradient")
        for array in module_arrays(calls[what]())
    ]


@pytest.mark.parametrize("name", ["GARCH", "escape", "bodies"])
def test_results_are_those_of_plain_python(name: str) -> None:
    """All of them: tests/staging/programs."""
    arguments, found = results(prepare, arrays, name)
    assert programs.wrong(texts()[name], arguments, found) == ""


def test_loops_of_jax_give_the_same() -> None:
    pytest.importorskip("jax")
    from tracegrad.bench.peers import programs_with_jax

    assert list(programs_with_jax.PROGRAMS) == list(texts())
    for name in texts():
        _, found = results(prepare, arrays, name)
        _, of_jax = results(programs_with_jax.prepare, programs_with_jax.arrays, name)
        assert disagreement(of_jax, found, programs.OF_JAX) == "", name


def test_wrong_results_are_told() -> None:
    text = texts()["GARCH"]
    arguments = text.at(programs.SMALL)
    value = np.asarray(text.function(*arguments))
    good = [value, (value - 1.0) ** 2]
    assert "result 0" in programs.wrong(text, arguments, [value + 1e-6, *good[1:]])
    assert "slope 0.0" in programs.wrong(text, arguments, [*good, 0 * arguments[0], np.zeros(3)])


@pytest.fixture(scope="module")
def head() -> dict[str, Any]:
    return {
        "tracegrad": "0",
        "machine": machine.summary(sys.executable),
        "settings": {"threads": 1},
    }


def test_a_run(head: dict[str, Any], tmp_path: Path) -> None:
    """JAX is left out where it is not installed, and that is said."""
    done: list[str] = []
    found = programs.measure(head, ["GARCH", "escape"], "small", sys.executable, done.append)
    assert done == ["GARCH", "escape"]
    assert not found.wrong
    assert found.beside_jax or found.remarks == ["JAX is left out: jax is not installed here."]
    for cost in found.costs:
        assert cost.n == programs.SMALL
        assert min(cost.seconds.values()) > 0
        assert list(cost.seconds) == list(cost.first)
        assert cost.check_jax in ("", "ok")
    (compiled,) = found.compiled
    assert compiled.name == "GARCH"
    assert list(compiled.seconds) == list(programs.SIZES)
    # Written out, two thousand steps would take a minute.
    assert compiled.growth < 5
    found.write_json(tmp_path / "a.json")
    told = json.loads((tmp_path / "a.json").read_text())
    assert [c["name"] for c in told["programs"]] == done


def cost(name: str, numba: float, function: float, both: float, **given: Any) -> ProgramCost:
    seconds = {"Numba": numba, "function": function, "value and gradient": both}
    first = {"Numba": 9.0, "function": 0.5, "value and gradient": 0.75}
    of_jax = {"function": 4 * function, "value and gradient": 9 * both}
    filled = {"first": first, "seconds_jax": of_jax, "check_jax": "ok", **given}
    return ProgramCost(name, 20, 12, seconds, **filled)


def test_tables(head: dict[str, Any], tmp_path: Path) -> None:
    costs = [
        cost("a", 1e-3, 1e-3, 3e-3),
        cost("b", 1e-3, 2e-3, 8e-3),
        cost("c", 1e-3, 1e-3, 1e-3, check="slope 1.0, by differences 2.0"),
        cost("d", 1e-3, 1e-3, 2e-3, check_jax="ValueError: no"),
    ]
    compiled = [FirstCalls("a", {20: [0.1, 0.2], 2_000: [0.1, 0.3]})]
    found = ProgramTimes(head, costs, compiled)
    assert found.wrong
    assert found.remarks == ["c: slope 1.0, by differences 2.0.", "JAX, d: ValueError: no."]
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin programs -->\nold\n<!-- end programs -->\nafter\n")
    found.write_markdown(page)
    text = page.read_text()
    assert text.startswith("before\n<!-- begin programs -->\n\n- Threads: 1.")
    assert "| b | 20 | 1.00 | 2.00 | 8.00 | 8.00 | 72.0 | 2.00 | 8.00 | 4.00 | 9.00 |" in text
    assert "| c | 20 |  |  |  | 4.00 | 9.00 |  |  |  |  |" in text
    assert "| d | 20 | 1.00 | 1.00 | 2.00 |  |  | 1.00 | 2.00 |  |  |" in text
    assert "| a, value and gradient | 0.20 | 0.30 |" in text
    _, rows = found.aim_rows()
    assert rows == [
        ["function / Numba, each", "<= 1.3", "2 of 3; b 2.00", "missed"],
        ["value and gradient / Numba, each", "<= 4", "2 of 3; b 8.00", "missed"],
        ["first call of at most 50 lines, s, each", "<= 1", "4 of 4", "met"],
        ["JAX / function, geometric mean", ">= 5", "4.00", "missed"],
        ["JAX / value and gradient, geometric mean", ">= 5", "9.00", "met"],
        ["compile time, largest / smallest n", "<= 1.25", "1.50", "missed"],
    ]
