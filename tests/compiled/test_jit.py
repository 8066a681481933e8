"""jit: signatures, sizes, captures, writes, static arguments, nesting, errors and what is left
behind by them."""

from __future__ import annotations

import subprocess
import sys
import threading
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import assert_same, counted_traces
from tracegrad.ir.dispatch import STATE


@pytest.fixture(autouse=True)
def tracer_is_clean() -> Any:
    yield
    assert STATE.traces == []
    assert STATE.levels == ()


def test_many_sizes_trace_twice() -> None:
    g = tg.jit(lambda x: np.sum(np.sin(x[1:]) * x[:-1]) / x.shape[0])
    with counted_traces() as traces:
        for n in range(5, 55):
            x = np.linspace(0, 1, n)
            np.testing.assert_allclose(g(x), np.sum(np.sin(x[1:]) * x[:-1]) / n, rtol=1e-13)
    assert len(traces) == 2


def test_sizes_in_python_conditions_are_guards() -> None:
    g = tg.jit(lambda x: x * 2.0 if x.shape[0] > 10 else x * 3.0)
    with counted_traces() as traces:
        for n in (4, 5, 6, 12, 13, 7):
            np.testing.assert_allclose(g(np.ones(n)), np.full(n, 2.0 if n > 10 else 3.0))
    assert len(traces) <= 4


def test_range_over_a_size() -> None:
    def g(x: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            total = total + x[i] * i
        return total

    compiled = tg.jit(g)
    for n in (2, 3, 5):
        assert compiled(np.ones(n)) == g(np.ones(n))


def test_gradient_with_symbolic_sizes() -> None:
    g = tg.jit(tg.grad(lambda x: np.mean((x[1:] - x[:-1]) ** 2) + np.max(x)))
    for n in (3, 4, 9, 17):
        x = np.random.default_rng(n).normal(size=n)
        np.testing.assert_allclose(
            g(x), tg.grad(lambda x: np.mean((x[1:] - x[:-1]) ** 2) + np.max(x))(x), rtol=1e-12
        )


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shapes_and_dtypes(shape: tuple[int, ...], dtype: Any) -> None:
    def g(x: Any) -> Any:
        return np.sum(np.exp(x) * 0.5), x * 2 + 1

    x = np.ones(shape, dtype)
    assert_same(tg.jit(g)(x), g(x), 1e-12)


def test_layouts() -> None:
    a = np.arange(24.0).reshape(4, 6)
    g = tg.jit(lambda x: np.sum(x * np.arange(3.0), axis=1))
    for x in (
        a[:, ::2],
        a[::-1, :3],
        np.asfortranarray(a[:, :3]),
        a.T[:3].T,
        np.broadcast_to(a[0, :3], (4, 3)),
    ):
        np.testing.assert_allclose(g(x), np.sum(x * np.arange(3.0), axis=1))
    frozen = a[:, :3].copy()
    frozen.flags.writeable = False
    np.testing.assert_allclose(g(frozen), np.sum(frozen * np.arange(3.0), axis=1))


def test_scalar_arguments_are_weak() -> None:
    x = np.ones(3, np.float32)
    g = tg.jit(lambda x, s: x * s)
    assert g(x, 2.5).dtype == np.float32
    assert g(x, np.float64(2.5)).dtype == np.float64
    assert g(x, 3).dtype == np.float32


def test_nan_and_inf_pass_through() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0])
    with np.errstate(all="ignore"):
        assert_same(
            tg.jit(lambda x: (x + 1, np.exp(x), np.maximum(x, 0), np.sum(x)))(x),
            (x + 1, np.exp(x), np.maximum(x, 0), np.sum(x)),
        )


def test_kwargs_defaults_and_trees() -> None:
    @tg.jit
    def g(x: Any, *, scale: Any = 2.0, extra: Any = None) -> Any:
        return {"y": x * scale, "n": None, "z": (x, extra)} if extra is not None else x * scale

    assert_same(g(np.ones(2)), np.full(2, 2.0))
    found = g(np.ones(2), scale=3.0, extra=[np.zeros(1)])
    assert_same(found["y"], np.full(2, 3.0))
    assert found["n"] is None


def test_static_arguments() -> None:
    g = tg.jit(lambda x, n, mode: x * n if mode == "a" else x + n, static_argnames=("n", "mode"))
    assert_same(g(np.ones(2), 3, "a"), np.full(2, 3.0))
    assert_same(g(np.ones(2), 3, mode="b"), np.full(2, 4.0))
    assert_same(g(np.ones(2), 4, "a"), np.full(2, 4.0))
    with pytest.raises(TypeError, match=r"static argument 'n'.*list.*tuple"):
        g(np.ones(2), [1], "a")
    with pytest.raises(TypeError, match="static_argnames names"):
        tg.jit(lambda x: x, static_argnames="y")


SCALE = 2.0
WEIGHTS = np.array([1.0, 2.0])


def test_captures_are_read_again() -> None:
    global SCALE, WEIGHTS
    bias = np.zeros(2)

    def h(x: Any) -> Any:
        return x * WEIGHTS * SCALE + bias

    g = tg.jit(h)
    x = np.ones(2)
    np.testing.assert_allclose(g(x), h(x))
    WEIGHTS = np.array([5.0, 7.0])
    np.testing.assert_allclose(g(x), h(x))
    WEIGHTS[0] = 11.0
    np.testing.assert_allclose(g(x), h(x))
    SCALE = 3.0
    np.testing.assert_allclose(g(x), h(x))
    bias = np.ones(2)
    np.testing.assert_allclose(g(x), h(x))
    WEIGHTS = np.array([1.0, 2.0], np.float32)
    assert_same(g(x), h(x), 1e-12)
    assert set(g.captures()) >= {"WEIGHTS", "bias"}


def test_gradients_reach_captured_tensors() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    g = tg.jit(lambda x: (w * x).sum())
    for x in (np.array([3.0, 4.0]), np.array([5.0, 6.0])):
        w.grad = None
        g(x).backward()
        np.testing.assert_allclose(w.grad.numpy(), x)
    w = tg.tensor([10.0, 20.0], requires_grad=True)
    g(np.ones(2)).backward()
    np.testing.assert_allclose(w.grad.numpy(), [1.0, 1.0])


def test_writes_reach_the_caller() -> None:
    def h(x: Any) -> Any:
        x[1:] = x[:-1] * 2
        y = x[::2]
        y += 100.0
        return x.sum()

    a, b = np.arange(5.0), np.arange(5.0)
    assert tg.jit(h)(a) == h(b)
    np.testing.assert_allclose(a, b)


def test_derivatives_leave_arguments_alone() -> None:
    def h(x: Any) -> Any:
        x[0] = x[1] ** 2
        return np.sum(x * x)

    x = np.array([1.0, 3.0])
    for g in (tg.grad(h), tg.jit(tg.grad(h))):
        np.testing.assert_allclose(g(x), [0.0, 4 * 27 + 6])
        np.testing.assert_allclose(x, [1.0, 3.0])


def test_results_never_alias() -> None:
    x = np.ones(3)
    y, z = tg.jit(lambda x: (x, x))(x)
    y[0] = 5.0
    assert x[0] == 1.0
    assert z[0] == 1.0


def test_nested_jit_and_recursion() -> None:
    inner = tg.jit(lambda x: np.sin(x) * 2)
    outer = tg.jit(lambda x: inner(x) + inner(x + 1))
    np.testing.assert_allclose(outer(np.ones(2)), 2 * np.sin(1.0) + 2 * np.sin(2.0) + np.zeros(2))

    @tg.jit
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    power = tg.jit(power.function, static_argnames="n")
    assert power(3.0, 4) == 81.0


def test_user_exception_keeps_its_traceback() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        tg.jit(broken)(np.ones(2))
    assert any(frame.name == "broken" for frame in traceback.extract_tb(caught.value.__traceback__))
    assert tg.jit(lambda x: x + 1)(1.0) == 2.0


class TestConcretization:
    def test_if(self) -> None:
        with pytest.raises(tg.ConcretizationError, match=r"test_jit\.py:\d+.*where"):
            tg.jit(lambda x: x if x > 0 else -x, stage=False)(1.0)
        assert tg.jit(lambda x: x if x > 0 else -x)(-1.0) == 1.0

    @pytest.mark.parametrize("ask", [float, int, range, lambda x: np.asarray(x)])
    def test_conversions(self, ask: Any) -> None:
        with pytest.raises(TypeError):
            tg.jit(lambda x: ask(x), stage=False)(1)
        if ask is not range:
            assert tg.jit(lambda x: ask(x))(1) == 1

    def test_storing_into_a_plain_array(self) -> None:
        made = np.zeros(3)

        def g(x: Any) -> Any:
            made[0] = x[0]
            return made

        for run in (
            lambda: tg.jit(g)(np.ones(3)),
            lambda: tg.grad(lambda x: np.sum(g(x)))(np.ones(3)),
        ):
            with pytest.raises((TypeError, ValueError)) as caught:
                run()
            # NumPy replaces the error by its own and keeps ours as the cause.
            text = f"{caught.value} {caught.value.__cause__}"
            assert "zeros_like" in text
            assert "made elsewhere" in text


def test_escaped_value() -> None:
    class Kept:
        value: Any = None

    def g(x: Any) -> Any:
        Kept.value = types.SimpleNamespace(x=x)
        return x * 2

    with pytest.raises(tg.EscapedValueError, match=r"a traced value .* is kept in Kept\.value"):
        tg.jit(g)(np.ones(2))
    assert Kept.value is None


def test_threads() -> None:
    g = tg.jit(tg.grad(lambda x: np.sum(np.sin(x) ** 2)))
    results: dict[int, Any] = {}

    def work(k: int) -> None:
        for n in (3, 4, 5, 6):
            x = np.full(n, float(k))
            results[k, n] = np.allclose(g(x), np.sin(2.0 * k))  # type: ignore[index]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 16
    assert all(results.values())


def test_graphs_and_source_print() -> None:
    @tg.jit
    def loss(w: Any, X: Any) -> Any:
        return np.sum((X @ w) ** 2)

    g = tg.jit(tg.grad(loss))
    args = (np.ones(3), np.ones((4, 3)))
    g(*args)
    assert "test_jit.py" in str(g.graphs(*args))
    assert "matmul" in str(g.graphs(*args))
    source = g.source(*args)
    assert "def " in source
    assert "return" not in source.split("def ")[0]
    compile(source, "generated", "exec")


def test_njit_from_user_code() -> None:
    import numba

    g = tg.jit(tg.value_and_grad(lambda x, s: np.sum(np.exp(x * s)))).njit(np.ones(3), 2.0)

    @numba.njit
    def total(rows: Any) -> Any:
        s = 0.0
        for i in range(rows.shape[0]):
            value, gradient = g(rows[i], 0.5)
            s += value + gradient[0]
        return s

    rows = np.random.default_rng(0).normal(size=(6, 3))
    expected = sum(np.sum(np.exp(r * 0.5)) + 0.5 * np.exp(r[0] * 0.5) for r in rows)
    assert np.isclose(total(rows), expected)
    assert np.isclose(total(np.asfortranarray(rows)), expected)
    value, gradient = g(rows[0], 0.5)
    assert isinstance(value, float)
    assert gradient.shape == (3,)


def test_njit_refuses_captures() -> None:
    weights = np.array([2.0, 3.0])
    g = tg.jit(lambda x: np.sum(weights * x))
    with pytest.raises(tg.TracegradError, match=r"weights.*freeze"):
        g.njit(np.ones(2))
    assert g.njit(np.ones(2), captures="freeze")(np.ones(2)) == 5.0


SCRIPT = """
import numpy as np, tracegrad as tg
f = tg.jit(tg.value_and_grad(lambda x: np.sum(np.sin(x) ** 2)))
v, g = f(np.arange(4.0))
assert np.allclose(g, np.sin(2 * np.arange(4.0)))
from tracegrad.codegen.disk import cache
print("compiled", cache.COUNTERS.compiled, "loaded", cache.COUNTERS.loaded)
"""


def run_script(cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment(cache),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()


def environment(cache: Path) -> dict[str, str]:
    import os

    return {
        **os.environ,
        "TRACEGRAD_CACHE_DIR": str(cache),
        "PYTHONPATH": str(Path(tg.__file__).parent.parent),
    }


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    assert run_script(tmp_path) == "compiled 1 loaded 0"
    assert run_script(tmp_path) == "compiled 0 loaded 1"


def test_two_processes_at_once(tmp_path: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [p.communicate(timeout=180)[0] for p in both]
    assert all(p.returncode == 0 for p in both), outputs


def test_damaged_cache_is_rebuilt(tmp_path: Path) -> None:
    run_script(tmp_path)
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert files
    for p in files:
        p.write_bytes(p.read_bytes()[: p.stat().st_size // 2])
    assert run_script(tmp_path) == "compiled 1 loaded 0"
    assert run_script(tmp_path) == "compiled 0 loaded 1"


PAIRS = """
import resource
import numpy as np, tracegrad as tg
from tracegrad.bench.workloads.lennard_jones import energy
f, rng = tg.jit(tg.value_and_grad(energy)), np.random.default_rng(0)
for n in (40, 60):
    f(rng.uniform(0, 10, (n, 3)))
positions = rng.uniform(0, 10, (4000, 3))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
f(positions)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts kilobytes on Linux only")
def test_pairs_are_never_stored(tmp_path: Path) -> None:
    """Energy and forces of 4000 particles: 16 million pairs (128 MB an array), of which the
    compiled gradient keeps none."""
    done = subprocess.run(
        [sys.executable, "-c", PAIRS],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert int(done.stdout) < 20
