"""What is told about a benchmark run: tables, aims, files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracegrad.bench import SUITES, find, machine, run
from tracegrad.bench.contestant import CONTESTANTS
from tracegrad.bench.report import plot, tables, targets
from tracegrad.bench.report.files import Findings, replace_section
from tracegrad.bench.startup import StartUp


def outcome(contestant: str, seconds: float, **given: Any) -> run.Outcome:
    filled = {
        "status": "ok",
        "check": "ok",
        "primal_s": seconds / 2,
        "first_call_s": 1.0,
        "call_mb": 12.3,
        "first_call_mb": 8.25,
        **given,
    }
    return run.Outcome("lse", "", "grad", "n=1|2", contestant, derivative_s=seconds, **filled)


FOUND = [
    outcome("eager", 0.25),
    outcome("jit", 0.001),
    outcome("hand-written Numba", 0.0008),
    outcome("floor", 0.0005),
    outcome("JAX", 0.002),
    outcome("torch eager", 0.0005, check="result 0 is all zero"),
    outcome("CasADi", 0.0, status="left out", check="", detail="casadi is not installed here"),
]
PEERS = ("hand-written Numba", "floor", "JAX", "torch eager", "CasADi")


def table(rows: tables.Rows) -> list[dict[str, str]]:
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1]]


def test_table_of_eager_and_jit() -> None:
    assert table(tables.main_rows(FOUND, separate=True)) == [
        {
            "workload": "lse",
            "derivative": "grad",
            "size": "n=1|2",
            "eager ms": "250",
            "function ms": "0.500",
            "jit ms": "1.00",
            "speed-up": "250x",
            "jit / function": "2.00",
            "first call s": "1.00",
            "eager MB": "12",
            "jit MB": "12",
            "jit first call MB": "8.2",
            "check": "ok",
        }
    ]
    _, (row,) = tables.main_rows(
        [outcome("jit", 1.0, status="failed", check="", detail="ValueError: no")], separate=False
    )
    assert row[-1] == "jit failed: ValueError: no"


def test_table_of_peers() -> None:
    (row,) = table(tables.peer_rows(FOUND, PEERS))
    assert row == {
        "workload": "lse",
        "derivative": "grad",
        "size": "n=1|2",
        "jit": "1.00",
        "hand-written Numba": "0.800",
        "floor": "0.500",
        "JAX": "2.00",
        "torch eager": "wrong",
        "jit / floor": "2.00",
        "jit / Numba": "1.25",
        "best peer / jit": "2.00 JAX",
    }
    assert tables.remarks(FOUND, PEERS) == [
        "torch eager, lse grad: result 0 is all zero",
        "CasADi is left out: casadi is not installed here.",
    ]
    assert (
        table(tables.cells(FOUND, ("jit", *PEERS), lambda o: tables.seconds(o.first_call_s)))[0][
            "torch eager"
        ]
        == ""
    )


def run_of(key: str, **seconds: float) -> list[run.Outcome]:
    """Outcomes at the default size; an underscore stands for a space or a dot in names."""
    w = find(key)
    names = {
        name.replace(" ", "_").replace(".", "_").replace("-", "_"): name for name in CONTESTANTS
    }
    given = {
        "status": "ok",
        "check": "ok",
        "primal_s": 1.0,
        "first_call_s": 0.5,
        "call_mb": 2.0,
        "nodes": 120,
    }
    return [
        run.Outcome(
            w.name,
            w.variant,
            w.derivative,
            w.label("default"),
            names[name],
            derivative_s=s,
            **given,
        )  # type: ignore[arg-type]
        for name, s in seconds.items()
    ]


RUN = [
    *run_of("lse-grad", jit=3.0, JAX=6.0, torch_compile=12.0, floor=0.1),
    *run_of("llsq-grad", jit=4.0, JAX=2.0),
    *run_of("rosenbrock-value_and_grad", jit=1.0, JAX=4.0, floor=0.5),
    *run_of("lennard_jones-value_and_grad", jit=1.0),
]


def test_aims() -> None:
    start_up = StartUp(
        3,
        numpy=0.25,
        tracegrad=0.5,
        numba_first=1.0,
        jit_first=2.0,
        numba_second=0.5,
        jit_second=0.625,
    )
    rows = {row["aim"]: row for row in table(targets.rows(targets.Results(RUN, start_up)))}
    shown = {aim: (row["wanted"], row["measured"], row["met"]) for aim, row in rows.items()}
    assert shown == {
        "rosenbrock value_and_grad: jit / copy": ("<= 1.2", "2", "missed"),
        "rosenbrock value_and_grad: best peer / jit": (">= 1.5", "4 (JAX)", "met"),
        "lse grad: best peer / jit": (">= 1", "2 (JAX)", "met"),
        "llsq grad: best peer / jit": (">= 1", "0.5 (JAX)", "missed"),
        "lennard_jones: MB of a call / MB of all pairs": ("<= 0.5", "0.25", "met"),
        "derivative / function, elementwise workloads, worst": (
            "<= 2.5",
            "1 (rosenbrock value_and_grad)",
            "met",
        ),
        "derivative / function, other gradients and products, worst": (
            "<= 4",
            "4 (llsq grad)",
            "met",
        ),
        "first call of a gradient, s, slowest": ("<= 1", "0.5 (rosenbrock value_and_grad)", "met"),
        "second process above Numba's, s": ("<= 0.15", "0.125", "met"),
        "import above NumPy's and scipy.linalg's, s": ("<= 0.1", "0.25", "missed"),
        "geometric mean of best peer / jit": (">= 3", "1.59 (3 cases)", "missed"),
    }


def test_aims_are_for_right_results_of_the_default_size() -> None:
    wrong = run_of("lse-grad", jit=3.0, JAX=6.0)
    wrong[1].check = "result 0 is all zero"
    w = find("lse-grad")
    small = [
        run.Outcome(w.name, "", "grad", w.label("small"), name, "ok", "", "ok", 1.0)
        for name in ("jit", "JAX")
    ]
    for outcomes in (wrong, small):
        assert targets.Results(outcomes).ahead("lse-grad") is None
        assert targets.Results(outcomes).geometric_mean() is None


def test_every_aim_names_workloads_that_exist() -> None:
    """A workload with everyone in it gives a number to every aim that compares."""
    outcomes = [o for w in targets.WORKLOADS for o in run_of(w.key, **dict.fromkeys(NAMES, 1.0))]
    assert len(targets.rows(targets.Results(outcomes))[1]) == len(targets.AIMS) - 3, (
        "start-up, and graphs below 100 operations"
    )


def test_aims_of_the_wide_suite() -> None:
    outcomes = [
        o
        for k, w in enumerate(SUITES["wide"])
        for o in run_of(w.key, jit=2.0, JAX=8.0, hand_written_Numba=1.0 if k == 1 else 2.0)
    ]
    second = SUITES["wide"][1]
    shown = {
        row["aim"]: row["measured"]
        for row in table(targets.rows(targets.Results(outcomes, suite="wide")))
    }
    assert shown["geometric mean of best peer / jit"] == f"4 ({len(SUITES['wide'])} cases)"
    assert shown["best peer / jit, least"].startswith("4 (JAX, ")
    assert shown["jit / hand-written Numba, most"] == f"2 ({second.title})"
    assert targets.rows(targets.Results(outcomes))[1] == [], "another suite's"
    wide = {**HEAD["settings"], "suite": "wide"}
    assert Findings({**HEAD, "settings": wide}, outcomes).section == "wide, 2 threads"
    assert Findings({**HEAD, "settings": {**wide, "threads": 1}}, outcomes).section == "wide"


NAMES = [name.replace(" ", "_").replace(".", "_").replace("-", "_") for name in CONTESTANTS]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (0.000636, "0.000636"),
        (1.2345, "1.23"),
        (56.78, "56.8"),
        (99.99, "100.0"),
        (12345.6, "12,346"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert tables.significant(value) == text


HEAD = {
    "tracegrad": "1",
    "settings": {"threads": 2, "separate": False, "device": "cpu", "size": "default"},
    "machine": {
        "cpu": "A",
        "gpu": "",
        "cores": 2,
        "cores_of_machine": 4,
        "caches": {"L2": "1M"},
        "memory_gb": 8,
        "system": "S",
        "packages": {"python": "3", "numpy": "2"},
        "peer_packages": {"python": "3", "numpy": "1", "jax": "0"},
        "blas": {"numpy": "B 1"},
    },
}


def test_markdown(tmp_path: Path) -> None:
    start_up = StartUp(
        3,
        numpy=0.25,
        tracegrad=0.5,
        numba_first=1.0,
        jit_first=2.0,
        numba_second=0.5,
        jit_second=0.625,
    )
    findings = Findings(HEAD, FOUND, PEERS, start_up)
    findings.write_markdown(tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    for line in (
        "- Machine: A, 2 of 4 cores, L2 1M, 8 GB; S.",
        "- Other libraries: numpy 1, jax 0.",
        "| lse | grad | n=1\\|2 | 250 | 0.500 | 1.00 | 250x |",
        "| tg.jit, second process | 0.625 |",
        "| import above NumPy's and scipy.linalg's, s | <= 0.1 | 0.25 | missed |",
        "- CasADi is left out: casadi is not installed here.",
    ):
        assert line in text


def test_markdown_replaces_its_section(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- begin 2 threads -->\nold\n<!-- end 2 threads -->\nafter\n", encoding="utf-8"
    )
    findings = Findings(HEAD, FOUND)
    for _ in range(2):
        findings.write_markdown(page)
        text = page.read_text(encoding="utf-8")
        assert text.startswith("before\n<!-- begin 2 threads -->\n\n- Threads: 2.")
        assert text.endswith("\n\n<!-- end 2 threads -->\nafter\n")
        assert "old" not in text
    memory = Findings(
        {**HEAD, "settings": {"threads": 2, "separate": True, "device": "cpu", "size": "default"}},
        FOUND,
    )
    assert (findings.section, memory.section) == ("2 threads", "memory")


def test_json(tmp_path: Path) -> None:
    Findings(HEAD, RUN, PEERS).write_json(tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert found["results"][0]["derivative_s"] == 3.0
    assert found["geometric_mean"] == [pytest.approx(4 ** (1 / 3)), "3 cases"]
    assert found["targets"][0] == {
        "aim": "rosenbrock value_and_grad: jit / copy",
        "wanted": "<= 1.2",
        "measured": "2",
        "met": "missed",
    }


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot.write(tmp_path / "a.png", [*FOUND, *RUN], ("eager", "jit", *CONTESTANTS), "title")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert set(plot.LOOKS) == set(CONTESTANTS)
    found = {o.contestant: o for o in FOUND}
    assert plot.relative(found, "jit") == 0.5
    assert plot.relative(found, "torch eager") is None, (
        "a wrong result has no time, and is not the best peer"
    )
    assert (
        plot.relative({"eager": outcome("eager", 4.0), "jit": outcome("jit", 2.0)}, "eager") == 2.0
    )


def test_machine() -> None:
    found = machine.summary(sys.executable)
    assert found["packages"] == found["peer_packages"]
    assert found["packages"]["numpy"] == np.__version__
    assert found["cores"] >= 1
    assert (
        machine.lines({"tracegrad": "1", "settings": {"threads": 1}, "machine": found})[0]
        == "Threads: 1."
    )


def test_a_page_of_other_sections_keeps_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n<!-- begin wide -->\n\nold\n\n<!-- end wide -->\n")
    replace_section(page, "linalg", "new\n")
    replace_section(page, "linalg", "newer\n")
    assert page.read_text() == (
        "# Page\n\n<!-- begin wide -->\n\nold\n\n<!-- end wide -->\n\n"
        "<!-- begin linalg -->\n\nnewer\n\n<!-- end linalg -->\n"
    )
