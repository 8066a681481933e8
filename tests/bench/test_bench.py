"""The benchmark's workloads are right by three ways that share nothing, and its machinery survives
what contestants do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracegrad.bench import SIZES, SUITES, Workload, disagreement, find, run, startup
from tracegrad.bench.contestant import CONTESTANTS, OURS, NotFittingError, Setting
from tracegrad.bench.measure import PeakMemory, seconds_per_call
from tracegrad.bench.peers.with_tracegrad import prepare_eager, prepare_jit
from tracegrad.bench.worker import MARK, Turns, answered
from tracegrad.bench.workload import direction, with_helpers, with_modules
from tracegrad.bench.workloads import training

PUBLIC, WIDE = ([pytest.param(w, id=w.key) for w in SUITES[s]] for s in ("public", "wide"))
ALL = [*PUBLIC, *WIDE]


def small(workload: Workload) -> list[Any]:
    if "breast" in workload.variant:
        pytest.importorskip("sklearn")
    return list(workload.data(**workload.sizes["small"]))


def test_keys_are_unique() -> None:
    workloads = [w for suite in SUITES.values() for w in suite]
    assert len({w.key for w in workloads}) == len(workloads)
    assert all(find(w.key) is w and tuple(w.sizes) == SIZES for w in workloads)


@pytest.mark.parametrize("workload", ALL)
def test_data_is_seeded(workload: Workload) -> None:
    for a, b in zip(small(workload), small(workload), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("workload", ALL)
def test_reference_against_finite_differences(workload: Workload) -> None:
    """Along one direction: first differences of the function, or second ones."""
    arguments = small(workload)
    rng = np.random.default_rng(2)
    v = [rng.standard_normal(arguments[k].shape) * 0.1 for k in workload.argnums]

    def along(step: float) -> float:
        moved = list(arguments)
        for k, d in zip(workload.argnums, v, strict=True):
            moved[k] = arguments[k] + step * d
        return float(workload.function(*moved))

    if workload.derivative in ("value_and_grad", "grad", "step"):
        expected = workload.expected(arguments)
        if workload.derivative == "step":
            value, *moved = expected
            slopes = training.gradients(*arguments)
            rate = {
                "SGD": training.RATE,
                "Adam": [training.RATE / (np.abs(g) + training.EPS) for g in slopes[1:]],
            }[workload.variant]
            rates = rate if isinstance(rate, list) else [rate] * len(moved)
            for p, after, g, r in zip(arguments, moved, slopes[1:], rates, strict=False):
                np.testing.assert_allclose(after, p - r * g, rtol=1e-14)
            np.testing.assert_allclose(value, along(0.0), rtol=1e-12)
            expected = slopes[1:]
        if workload.derivative == "value_and_grad":
            np.testing.assert_allclose(expected.pop(0), along(0.0), rtol=1e-12)
        step, slope = 1e-5, sum(float(np.sum(g * d)) for g, d in zip(expected, v, strict=True))
        scale = sum(
            float(np.linalg.norm(g) * np.linalg.norm(d)) for g, d in zip(expected, v, strict=True)
        )
        # Third derivatives of a Lennard-Jones pair are as large as they get here; the extrapolation
        # removes them.
        once, half = ((along(s) - along(-s)) / (2 * s) for s in (step, step / 2))
        assert abs((4 * half - once) / 3 - slope) <= 1e-6 * scale
    else:
        v[0] = direction(arguments) * 0.1
        result = workload.expected(arguments)[0]
        curvature = (
            float(np.sum(v[0] * (result @ v[0])))
            if workload.derivative == "hessian"
            else float(np.sum(v[0] * result * 0.1))
        )
        # A cell of the k-means cost is quadratic, and small steps stay inside it.
        step = 1e-4
        found = (along(step) - 2 * along(0.0) + along(-step)) / step**2
        assert abs(found - curvature) <= 1e-4 * abs(curvature) + 1e-7 * abs(along(0.0))


@pytest.mark.parametrize("workload", [p for p in PUBLIC if p.values[0].numba is not None])
def test_hand_written_loops(workload: Workload) -> None:
    arguments = small(workload)
    extra = (direction(arguments),) if workload.derivative == "hvp" else ()
    assert workload.numba is not None
    assert (
        disagreement(
            [np.asarray(a) for a in workload.numba(*arguments, *extra)],
            workload.expected(arguments),
            workload.tolerance,
        )
        == ""
    )


@pytest.mark.parametrize("workload", [p for p in ALL if p.values[0].floor is not None])
def test_floors(workload: Workload) -> None:
    """What the floor computes is what it says; products are those of NumPy."""
    arguments = small(workload)
    floor = workload.floor
    assert floor is not None
    found = [np.asarray(a) for a in floor.function(*arguments)]
    assert disagreement(found, [np.asarray(a) for a in floor.expected(*arguments)]) == ""
    if workload.name == "gmm":
        x = arguments[-1]
        np.testing.assert_allclose(found[1], x[: x.shape[1]] @ x.T @ x, rtol=1e-12)


def helper_of_loops(x: float) -> float:
    return 2.0 * x


def loops_with_helper(x: float) -> float:
    return helper_of_loops(x) + len(ALL)


def test_helpers_are_changed_with_the_function() -> None:
    changed = with_helpers(loops_with_helper, lambda f: lambda x: f(x) + 100.0)
    assert changed(1.0) == loops_with_helper(1.0) + 100.0


@pytest.mark.parametrize("workload", WIDE)
def test_wide_eagerly(workload: Workload) -> None:
    """Compiled they are checked whenever they are measured."""
    arguments = small(workload)
    prepared = prepare_eager(workload, arguments, Setting())
    found = prepared.to_numpy(prepared.derivative())
    assert disagreement(found, workload.expected(arguments), workload.tolerance) == ""


@pytest.mark.parametrize("workload", PUBLIC)
def test_eager_and_jit(workload: Workload) -> None:
    arguments = small(workload)
    expected = workload.expected(arguments)
    for prepare in (prepare_eager, prepare_jit):
        prepared = prepare(workload, arguments, Setting())
        assert (
            disagreement(prepared.to_numpy(prepared.derivative()), expected, workload.tolerance)
            == ""
        )
        if workload.step is not None:
            assert prepared.primal is None
            before = prepared.to_numpy(prepared.derivative())[0]
            assert prepared.to_numpy(prepared.derivative())[0] < before
            continue
        assert prepared.primal is not None
        assert prepared.nodes is None or prepared.nodes() > 0
        np.testing.assert_allclose(
            prepared.primal(), workload.function(*arguments), rtol=max(1e-12, workload.tolerance)
        )


def test_disagreement_says_what_is_wrong() -> None:
    right = [np.array([1.0, 2.0])]
    assert disagreement([np.array([1.0, 2.0 + 1e-11])], right) == ""
    assert "relative error 5.0e-02" in disagreement([np.array([1.1, 2.0])], right)
    assert "all zero" in disagreement([np.zeros(2)], right)
    assert "not finite" in disagreement([np.array([1.0, np.nan])], right)
    assert "shape" in disagreement([np.array([1.0])], right)
    assert "dtype" in disagreement([np.array([1.0, 2.0], np.float32)], right)
    assert "2 results" in disagreement(right * 2, right)
    assert disagreement([np.zeros(2)], [np.zeros(2)]) == ""
    assert disagreement([np.zeros((0, 2))], [np.zeros((0, 2))]) == ""


def test_functions_run_on_another_numpy() -> None:
    """Helpers in the module of the function are carried along."""
    calls = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(np, name)

    workload = find("gmm-grad")
    arguments = small(workload)
    assert with_modules(workload.function, Counting(), None)(*arguments) == workload.function(
        *arguments
    )
    assert "exp" in calls


def test_time_of_a_call() -> None:
    count = [0]

    def call() -> None:
        count[0] += 1

    assert 0 < seconds_per_call(call, repeat=3, budget=0.01) < 1e-3
    assert count[0] > 100


def test_peak_memory() -> None:
    held = np.ones(5_000_000)
    del held  # what was free before counts when it is used again
    memory = PeakMemory()
    block = np.ones(5_000_000)
    peak = memory.megabytes()
    if peak is None:
        pytest.skip("this system does not tell")
    assert peak >= 0.9 * block.nbytes / 1e6


def test_worker_tells_of_failures(tmp_path: Path) -> None:
    workload = find("dispatch-value_and_grad")
    np.savez(tmp_path / "a.npz", small(workload)[0])
    case = {
        "key": workload.key,
        "arguments": str(tmp_path / "a.npz"),
        "result": str(tmp_path / "r.npz"),
    }

    def failing(*_: Any) -> Any:
        raise ValueError("\n  no such thing  \nmore")

    def unfitting(*_: Any) -> Any:
        raise NotFittingError("no version of this")

    def begun(prepare: Any) -> tuple[Turns, dict[str, Any]]:
        held = Turns(prepare, Setting())
        return held, answered(held.begin, case)

    assert begun(failing)[1] == {"status": "failed", "detail": "ValueError: no such thing"}
    assert begun(unfitting)[1] == {"status": "left out", "detail": "no version of this"}
    held, first = begun(prepare_eager)
    assert first["status"] == "ok"
    assert first["first_call_s"] > 0
    turns = [answered(held.turn, {"count": 3, "seconds": 10.0}) for _ in range(2)]
    for turn in turns:
        assert [len(turn[what]) for what in ("derivative", "primal")] == [3, 3]
        assert min(turn["derivative"] + turn["primal"]) > 0
    assert turns[0]["call_mb"] is None or turns[0]["call_mb"] < 50
    assert "call_mb" not in turns[1]
    assert answered(held.end, {}) == {"status": "ok", "nodes": None}


SETTINGS = run.Settings(repeat=3, budget=0.02, case_timeout=60.0)
DISPATCH = find("dispatch-value_and_grad")
TWO = [(DISPATCH, "small"), (find("lse-grad"), "small")]


def test_run_in_processes() -> None:
    done: list[str] = []
    outcomes = run.run(
        TWO, OURS, SETTINGS, lambda contestant, title: done.append(f"{contestant} {title}")
    )
    assert [(o.contestant, o.workload, o.check) for o in outcomes] == [
        ("eager", "dispatch", "ok"),
        ("jit", "dispatch", "ok"),
        ("eager", "lse", "ok"),
        ("jit", "lse", "ok"),
    ]
    assert done == ["eager dispatch", "jit dispatch", "eager lse", "jit lse"]
    assert all(o.derivative_s and o.primal_s and o.first_call_s for o in outcomes)
    assert run.failures(outcomes) == []


@pytest.mark.parametrize(
    "name", ["hand-written Numba", "JAX", "JAX on NumPy", "torch eager", "HIPS autograd", "CasADi"]
)
def test_peers(name: str) -> None:
    """Those that are installed are right; the others are left out, and it is said why."""
    (outcome,) = run.run([(DISPATCH, "small")], [name], SETTINGS, lambda *_: None)
    if outcome.status == "left out":
        assert outcome.detail == f"{CONTESTANTS[name].needs} is not installed here"
    else:
        assert outcome.good, outcome


def test_floor_is_judged_by_its_own_work() -> None:
    cases = [(find("mlp-value_and_grad"), "small"), (find("lse-grad"), "small")]
    products, none = run.run(cases, ["floor"], SETTINGS, lambda *_: None)
    assert products.good
    assert products.primal_s is None
    assert (none.status, none.detail) == ("left out", "no floor for this workload")


def test_kmeans_loops_with_their_helper_compiled() -> None:
    (outcome,) = run.run(
        [(find("kmeans-hvp"), "small")], ["hand-written Numba"], SETTINGS, lambda *_: None
    )
    assert outcome.good, outcome


def test_start_up() -> None:
    said: list[str] = []
    found = startup.measure(run.surroundings(SETTINGS), 1, said.append)
    assert said == ["first processes", "loops of several lengths", "second processes, 1 of 1"]
    assert min(found.numpy, found.tracegrad, found.numba_first, found.jit_first) > 0
    assert found.above_numba == found.jit_second - found.numba_second
    assert found.rows()[1][1] == ["import tracegrad", f"{found.tracegrad:.3f}"]
    headings, rows = found.loop_rows()
    assert headings == ["what", "10 steps", "1,000 steps", "1,000,000 steps"]
    assert [len(row) for row in rows] == [4, 4]
    # Written out a million steps would take hours.
    assert max(seconds for pair in found.loops for seconds in pair) < 60


@pytest.mark.parametrize(
    ("text", "message"),
    [("raise ValueError('no')", "code 1: ValueError: no"), ("print(1)", "tracegrad prints")],
)
def test_start_up_of_a_wrong_program(
    monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setattr(startup, "OURS", text)
    monkeypatch.setattr(startup, "NUMBA", "print(2)")
    with pytest.raises(RuntimeError, match=message):
        startup.measure(run.surroundings(SETTINGS), 1, lambda _: None)


def pretending(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let contestants' processes be this script."""
    monkeypatch.setattr(run, "command", lambda *_: [sys.executable, "-c", script])


def test_crash_of_a_contestant(monkeypatch: pytest.MonkeyPatch) -> None:
    pretending(
        monkeypatch,
        "import os, sys; print('noise', flush=True); "
        "print('out of luck', file=sys.stderr, flush=True); os._exit(7)",
    )
    outcomes = run.run(TWO, ["jit"], SETTINGS, lambda *_: None)
    assert [o.detail for o in outcomes] == ["the process of jit ended with code 7: out of luck"] * 2
    assert len(run.failures(outcomes)) == 2


def test_contestant_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pretending(monkeypatch, "import time; time.sleep(100)")
    settings = run.Settings(case_timeout=0.2)
    outcomes = run.run([(DISPATCH, "small")], ["eager"], settings, lambda *_: None)
    assert outcomes[0].detail == "no result after 0 s"


ANSWERING = f"""
import json, sys, numpy as np
print({MARK!r} + json.dumps(dict(ready=True)), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["step"] == "begin":
        np.savez(asked["result"], *RESULTS)
    elif DIES:
        sys.exit(7)
    found = dict(status="ok", first_call_s=1.0, derivative=[1.0], nodes=None)
    print({MARK!r} + json.dumps(found), flush=True)
"""


def test_wrong_result_of_a_contestant(monkeypatch: pytest.MonkeyPatch) -> None:
    results = "[np.float64(1.0), np.zeros(4)]"
    pretending(monkeypatch, ANSWERING.replace("RESULTS", results).replace("DIES", "False"))
    outcomes = run.run([(DISPATCH, "small")], ["jit"], SETTINGS, lambda *_: None)
    assert "result 0 is wrong" in outcomes[0].check
    assert outcomes[0].derivative_s == 1.0
    assert run.failures(outcomes) == outcomes


def test_contestant_that_dies_behind_its_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not among those that are right; a new process takes up the next case."""
    x = small(DISPATCH)[0]
    results = [repr(a.tolist()) for a in DISPATCH.expected([x])]
    text = f"map(np.array, [{', '.join(results)}])"
    pretending(monkeypatch, ANSWERING.replace("RESULTS", text).replace("DIES", "True"))
    outcomes = run.run([(DISPATCH, "small")] * 2, ["jit"], SETTINGS, lambda *_: None)
    assert [(o.status, o.check) for o in outcomes] == [("failed", "")] * 2
    assert [o.detail for o in outcomes] == ["the process of jit ended with code 7"] * 2
    assert run.failures(outcomes) == outcomes


@pytest.mark.parametrize("separate", [False, True])
def test_contestants_take_turns(monkeypatch: pytest.MonkeyPatch, separate: bool) -> None:
    """At each case, so that what disturbs the machine disturbs all; but where memory is measured
    one is there at a time."""
    asked: list[str] = []
    answers = {"derivative": [2.0], "status": "ok", "nodes": None, "missing": ""}

    class Process:
        missing = ""

        def __init__(self, name: str, *_: Any) -> None:
            self.name = name

        def ask(self, line: str) -> dict[str, Any]:
            asked.append(f"{self.name} {json.loads(line)['step']}")
            return answers

        def close(self) -> None:
            asked.append(f"{self.name} closed")

    monkeypatch.setattr(run, "Process", Process)
    monkeypatch.setattr(run.Case, "judge", lambda *_: None)
    settings = run.Settings(separate=separate)
    outcomes = run.run([(DISPATCH, "small")], OURS, settings, lambda *_: None)
    both = [["eager", "jit"]] if not separate else [["eager"], ["jit"]]
    expected = []
    for names in both:
        expected += [f"{name} begin" for name in names]
        expected += [f"{name} turn" for name in names] * run.ROUNDS
        expected += [f"{name} end" for name in names]
        expected += [f"{name} closed" for name in reversed(names)]
    assert asked == expected
    assert [o.derivative_s for o in outcomes] == [2.0, 2.0]


def test_workload_without_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    outcomes = run.run(
        [(find("logistic-breast-cancer-hessian"), "small")], ["jit"], SETTINGS, lambda *_: None
    )
    assert outcomes[0].status == "left out"
    assert "pip install 'tracegrad[bench]'" in outcomes[0].detail
    assert run.failures(outcomes) == []
