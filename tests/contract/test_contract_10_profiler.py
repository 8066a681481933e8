"""Section 10 of the torch.autograd contract, the profiler: what is recorded, how it is summed up,
and what it looks like."""

from __future__ import annotations

import json
import pathlib
import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import profiler
from tracegrad.ir.dispatch import PROFILES, STATE

TORCH_COLUMNS = [
    "Name",
    "Self CPU %",
    "Self CPU",
    "CPU total %",
    "CPU total",
    "CPU time avg",
    "# of Calls",
]


def names(prof: Any) -> list[str]:
    return [event.name for event in prof.function_events]


def spent(seconds: float) -> None:
    """Be busy, so that times can be told apart whatever else the machine does."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_profile_takes_the_arguments_of_torch() -> None:
    """profile(enabled=True, *, use_device=None, record_shapes=False, with_flops=False,
    profile_memory=False, ...)"""
    with profiler.profile(
        True,
        use_device=None,
        record_shapes=True,
        with_flops=True,
        profile_memory=True,
        with_stack=True,
        with_modules=True,
        use_kineto=True,
        use_cpu=True,
        experimental_config=None,
        acc_events=True,
        custom_trace_id_callback=None,
    ) as prof:
        tg.ones(2) * 2
    assert "mul" in names(prof)
    with pytest.raises(TypeError):
        profiler.profile(True, True)  # type: ignore[misc]
    with pytest.warns(UserWarning, match="there is no device cuda"):
        profiler.profile(use_device="cuda")


def test_eager_operations_and_backward_nodes() -> None:
    """Operations by name with shapes, then the nodes of the tape in the order in which they run."""
    x = tg.ones(3, 2, requires_grad=True)
    with profiler.profile(record_shapes=True) as prof:
        y = (x * x).exp().sum()
        y.backward()
    top = [event for event in prof.function_events if event.cpu_parent is None]
    assert [e.name for e in top] == [
        "mul",
        "exp",
        "sum",
        "SumBackward0",
        "ExpBackward0",
        "MulBackward0",
        "add",
        "AccumulateGrad",
    ]
    assert top[0].input_shapes == [[3, 2], [3, 2]]
    node = next(e for e in top if e.name == "MulBackward0")
    assert [e.name for e in node.cpu_children] == ["mul", "mul"]
    assert node.sequence_nr == top[0].sequence_nr >= 0


def test_custom_functions() -> None:
    """A Function is one event with its operations inside, forward and backward."""

    class Cube(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * grad

    x = tg.ones(3, requires_grad=True)
    with profiler.profile() as prof:
        Cube.apply(x).sum().backward()
    inside = {e.name: len(e.cpu_children) for e in prof.function_events if e.top_level}
    assert inside["Cube"] == 1
    assert inside["CubeBackward"] == 3


def test_own_time_against_total_time() -> None:
    """Self CPU is the time without that of what runs inside, and the own times add up to the
    whole."""
    with profiler.profile() as prof:
        with profiler.record_function("outer"):
            spent(0.004)
            with profiler.record_function("inner"):
                spent(0.002)
    outer, inner = prof.function_events
    assert outer.cpu_children == [inner]
    assert inner.cpu_parent is outer
    assert outer.cpu_time_total >= 6000
    assert 2000 <= inner.cpu_time_total == inner.self_cpu_time_total
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total)
    assert prof.self_cpu_time_total == pytest.approx(outer.cpu_time_total)
    assert outer.time_range.elapsed_us() == outer.cpu_time_total


def test_recursion_counts_once() -> None:
    """Time inside an event of the same name is not counted twice (torch does)."""

    @profiler.record_function("down")
    def down(n: int) -> None:
        spent(0.001)
        if n:
            down(n - 1)

    with profiler.profile() as prof:
        down(3)
    (row,) = prof.key_averages()
    assert row.count == 4
    assert row.cpu_time_total == prof.function_events[0].cpu_time_total
    assert row.self_cpu_time_total == pytest.approx(row.cpu_time_total)


def test_record_function_manager_and_decorator() -> None:
    """record_function(name, args=None): a block or every call of a function; outside of a profile
    it does nothing."""
    twice = profiler.record_function("twice", "x")(lambda x: x * 2)
    assert np.array_equal(twice(tg.ones(2)).numpy(), [2, 2])
    with profiler.profile() as prof:
        twice(twice(tg.ones(2)))
        with profiler.record_function("part"):
            pass
    assert names(prof) == ["twice(x)", "mul", "twice(x)", "mul", "part"]
    with pytest.raises(TypeError, match="record_function: the name is a function"):
        profiler.record_function(lambda: 0)  # type: ignore[arg-type]


def test_compiled_functions() -> None:
    """The stages of compiling, once, and every call; forward and backward of a jitted function on
    the tape."""

    @tg.jit
    def loss(x: Any) -> Any:
        return np.sum(np.sin(x) * 0.735160)

    with profiler.profile() as prof:
        for _ in range(3):
            loss(np.ones(3))
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["loss (compiled)"].count == 3
    assert {key.removeprefix("loss: ") for key in rows if key.startswith("loss: ")} in (
        {"trace", "optimize", "schedule", "print", stage} for stage in ("compile", "load")
    )
    assert all(row.count == 1 for key, row in rows.items() if key.startswith("loss: "))
    # Tracing runs no operation, so none is listed.
    assert "sin" not in rows

    x = tg.ones(3, requires_grad=True)
    with profiler.profile() as prof:
        loss(x).backward()
    rows = {row.key: row for row in prof.key_averages()}
    assert {
        "loss (compiled)",
        "call",
        "CallBackward0",
        "loss: partition",
        "loss_adjoint: derive",
    } <= set(rows)
    with profiler.profile() as prof:
        loss(x).backward()
    assert names(prof) == ["loss (compiled)", "call", "CallBackward0", "AccumulateGrad"]


def test_load_from_disk_is_told_from_compiling(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the disk cache has is loaded, and the row says so."""
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path))

    def made() -> list[str]:
        def cubed(x: Any) -> Any:
            return x * x * x + 0.91823

        with profiler.profile() as prof:
            tg.jit(cubed)(np.ones(2))
        return names(prof)

    assert "cubed: compile" in made()
    again = made()
    assert "cubed: load" in again
    assert "cubed: compile" not in again


def test_key_averages_by_name_shape_and_stack() -> None:
    """key_averages(group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False)"""
    a, b = tg.ones(2), tg.ones(5)
    with profiler.profile(record_shapes=True, with_stack=True) as prof:
        a * a
        b * b
        b * b
    (row,) = prof.key_averages()
    assert (row.key, row.count) == ("mul", 3)
    assert row.cpu_time == pytest.approx(row.cpu_time_total / 3)
    shaped = prof.key_averages(group_by_input_shape=True)
    assert [(r.input_shapes, r.count) for r in shaped] == [([[2], [2]], 1), ([[5], [5]], 2)]
    stacked = prof.key_averages(group_by_stack_n=1)
    assert [r.count for r in stacked] == [1, 1, 1]
    assert stacked[0].stack[0].startswith("test_contract_10_profiler.py(")
    assert "a * a" in stacked[0].stack[0]
    assert len(prof.key_averages(True, 1, True)) == 3


def test_stack_of_a_backward_node_is_that_of_its_operation() -> None:
    """with_stack: the program's lines, the library's own left out."""
    x = tg.ones(2, requires_grad=True)
    with profiler.profile(with_stack=True) as prof:
        y = x * 3  # the line in question
        y.sum().backward()
    node = next(e for e in prof.function_events if e.name == "MulBackward0")
    assert "the line in question" in node.stack[0]
    assert not any("interpret.py" in frame for e in prof.function_events for frame in e.stack)


def table_of(prof: Any, **options: Any) -> list[str]:
    return str(prof.key_averages().table(**options)).splitlines()


def header(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_table_has_the_columns_and_the_footer_of_torch() -> None:
    """Name, Self CPU %, Self CPU, CPU total %, CPU total, CPU time avg, # of Calls; footer "Self
    CPU time total: ...us"."""
    with profiler.profile() as prof:
        with profiler.record_function("whole"):
            tg.ones(2) * 2 + 1
    lines = table_of(prof)
    assert header(lines[1]) == TORCH_COLUMNS
    assert set(lines[0]) == {"-", " "} == set(lines[-2])
    assert lines[0] == lines[2] == lines[-2]
    assert re.fullmatch(r"Self CPU time total: \d+\.\d{3}(us|ms|s)", lines[-1])
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[3:-2]]
    assert [row[0] for row in rows] == ["whole", "mul", "add"]
    assert rows[0][3] == "100.00%"
    assert sum(float(row[1].rstrip("%")) for row in rows) == pytest.approx(100, abs=0.02)
    assert all(len(line) == len(lines[0]) for line in lines[:-1])
    assert str(prof).splitlines()[1] == lines[1]


def test_table_options() -> None:
    """sort_by, row_limit, max widths, header, top_level_events_only, time_unit; a wrong one names
    the right ones."""
    with profiler.profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
        with profiler.record_function("a long name, longer than the column"):
            x = tg.ones(40, 30)
            y = x @ x.t()
        y * 2
        y * 3
    by_count = table_of(prof, sort_by="count")
    assert header(by_count[1]) == [
        *TORCH_COLUMNS[:-1],
        "CPU Mem",
        "Self CPU Mem",
        "# of Calls",
        "Total KFLOPs",
    ]
    assert by_count[3].strip().startswith("mul ")
    assert len(table_of(prof, row_limit=2)) == len(table_of(prof)) - len(prof.key_averages()) + 2
    assert len(table_of(prof, row_limit=-1)) == len(table_of(prof))
    assert any(
        line.strip().startswith("a lon...") for line in table_of(prof, max_name_column_width=8)
    )
    headed = table_of(prof, header="the header", top_level_events_only=True)
    assert set(headed[0]) == {"="}
    assert headed[1] == "the header"
    assert not any(line.strip().startswith("matmul") for line in headed)
    assert any("ms" in line for line in table_of(prof, time_unit="ms")[3:-2])
    assert not any("us" in line for line in table_of(prof, time_unit="ms"))
    (product,) = [row for row in prof.key_averages() if row.key == "matmul"]
    assert product.flops == 2 * 40 * 40 * 30
    shaped = prof.key_averages(group_by_input_shape=True).table(max_shapes_column_width=9)
    assert "[[40, ..." in shaped
    with pytest.raises(ValueError, match="can be sorted by cpu_time,"):
        table_of(prof, sort_by="cuda_time_total")
    with pytest.raises(ValueError, match="it can be s, ms, us"):
        table_of(prof, time_unit="h")
    assert profiler.EventList().table() == ""


def test_memory_counts_what_is_made() -> None:
    """profile_memory: bytes of results that are no views; what encloses them has the sum."""
    x = tg.ones(100, requires_grad=True)
    square = tg.jit(lambda x: x * x)
    square(np.ones(100))
    with profiler.profile(profile_memory=True) as prof:
        with profiler.record_function("both"):
            x.reshape(10, 10)
            x * 2
        square(np.ones(100))
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["mul"].self_cpu_memory_usage == 800
    assert rows["reshape"].cpu_memory_usage == 0
    assert (rows["both"].self_cpu_memory_usage, rows["both"].cpu_memory_usage) == (0, 800)
    assert rows["<lambda> (compiled)"].cpu_memory_usage == 800


def test_total_average_and_self_cpu_time_total() -> None:
    """total_average(): one row of the key Total; self_cpu_time_total in microseconds."""
    with profiler.profile() as prof:
        tg.ones(2) * 2 + 1
    total = prof.total_average()
    assert (total.key, total.count) == ("Total", 2)
    assert total.self_cpu_time_total == pytest.approx(prof.self_cpu_time_total)
    assert "key=Total" in repr(total)
    assert "name=mul" in repr(prof.function_events[0])


def test_chrome_trace_is_valid(tmp_path: pathlib.Path) -> None:
    """export_chrome_trace(path): JSON of complete events inside one another, with arrows from
    operations to backward nodes."""
    x = tg.ones(3, requires_grad=True)
    with profiler.profile(record_shapes=True, with_stack=True) as prof:
        with profiler.record_function('a "quoted" part'):
            y = (x * x).sum()
        y.backward()
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path), metadata={"run": 7})
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["run"] == 7
    events = written["traceEvents"]
    complete = {e["name"]: e for e in events if e["ph"] == "X"}
    assert set(names(prof)) == set(complete)
    assert all({"ts", "dur", "pid", "tid", "cat"} <= set(e) for e in complete.values())
    part, inside = complete['a "quoted" part'], complete["sum"]
    assert part["ts"] <= inside["ts"] <= inside["ts"] + inside["dur"] <= part["ts"] + part["dur"]
    assert complete["sum"]["args"]["Input Dims"] == [[3]]
    starts, ends = ({e["id"] for e in events if e["ph"] == ph} for ph in "sf")
    assert starts == ends
    assert len(starts) == 2
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {
        threading.current_thread().name
    }


def test_stacks_for_flame_graphs(tmp_path: pathlib.Path) -> None:
    """export_stacks(path, metric): frames from outside to inside, then whole microseconds."""
    with profiler.profile(with_stack=True) as prof:
        with profiler.record_function("part"):
            spent(0.001)
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path))
    (line,) = path.read_text(encoding="utf-8").splitlines()
    frames, value = line.rsplit(" ", 1)
    assert "test_contract_10_profiler.py(" in frames.split(";")[-1]
    assert int(value) >= 1000
    with pytest.raises(ValueError, match="cpu_time_total or self_cpu_time_total"):
        prof.export_stacks(str(path), "count")


def test_unfinished_disabled_and_reentered() -> None:
    """A profile is read after its block, is used once, and with enabled=False records nothing."""
    prof = profiler.profile()
    assert "unfinished" in str(prof)
    with prof:
        with pytest.raises(RuntimeError, match="not finished"):
            prof.key_averages()
    with pytest.raises(RuntimeError, match="not reentrant"), prof:
        pass
    off = profiler.profile(enabled=False)
    with off:
        assert not PROFILES
        tg.ones(2) * 2
    with pytest.raises(RuntimeError, match="enabled=False"):
        off.table()


def test_nested_profiles_and_exceptions() -> None:
    """Each of two nested profiles has what ran inside of it; an exception ends what it left and the
    profile."""
    x = tg.ones(2)
    with profiler.profile() as outer:
        x * 2
        with profiler.profile(record_shapes=True) as inner:
            x + 2
        x - 2
    assert names(outer) == ["mul", "add", "sub"]
    assert names(inner) == ["add"]
    assert [bool(e.input_shapes) for e in outer.function_events] == [False, True, False]
    failed = profiler.profile()

    @profiler.record_function("fails")
    def fails() -> None:
        with pytest.raises(ValueError, match="shape"):
            x + tg.ones(3)
        x * 2
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), failed:
        fails()
    assert [(e.name, e.top_level) for e in failed.function_events] == [
        ("fails", True),
        ("add", False),
        ("mul", False),
    ]
    assert not PROFILES
    assert STATE.recorder is None
    assert STATE.special == 0


def test_a_profile_belongs_to_its_thread() -> None:
    """What another thread does meanwhile is neither recorded nor disturbed."""
    results: list[Any] = []
    with profiler.profile() as prof:
        worker = threading.Thread(target=lambda: results.append((tg.ones(2) * 3).sum().item()))
        worker.start()
        worker.join()
        tg.ones(2) + 1
    assert results == [6.0]
    assert names(prof) == ["add"]


def test_results_are_the_same_with_a_profile() -> None:
    """Values, gradients, second derivatives and forward mode do not change under a profile."""

    def everything() -> list[Any]:
        x = tg.tensor([0.5, 1.5], requires_grad=True)
        y = (x.sin() * x).sum()
        (first,) = tg.autograd.grad(y, x, create_graph=True)
        (second,) = tg.autograd.grad(first.sum(), x)
        value, tangent = tg.jvp(np.sin, (np.arange(3.0),), (np.ones(3),))
        halves = tg.ones(4).split(2)
        return [y.item(), first.detach().numpy(), second.numpy(), value, tangent, halves[1].numpy()]

    plain = everything()
    with profiler.profile(
        record_shapes=True, with_stack=True, profile_memory=True, with_flops=True
    ):
        profiled = everything()
    for a, b in zip(plain, profiled, strict=True):
        np.testing.assert_array_equal(a, b)
