"""Loops whose carry starts as a Python number: it takes the dtype that the steps give it, as in a
Python loop (NEP 50).

Every kind of loop, start and dtype, in running and in compiled code, beside the plain Python loop
on NumPy's arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.transforms.tracing import leaf_type
from tracegrad.weak import WEAK, weak

KINDS = ("f4", "f8", "c8", "c16", "i1", "i4", "i8", "?")
X = {k: np.array([1, 2, 1]).astype(k) for k in KINDS}
STARTS: dict[str, Any] = {"int": 2, "float": 0.25, "complex": 0.25j, "bool": True}


# --- one leaf -------------------------------------------------------------------------------------


def plain(f: Callable[[Any, Any], Any], start: Any, x: Any) -> Any:
    c = start
    for v in x:
        c = f(c, v)
    return c


def by_scan(f: Callable[[Any, Any], Any], start: Any, x: Any, **options: Any) -> Any:
    return tg.scan(lambda c, v: (f(c, v), None), start, x, **options)[0]


def by_fori(f: Callable[[Any, Any], Any], start: Any, x: Any) -> Any:
    return tg.fori_loop(0, len(x), lambda i, c: f(c, x[i]), start)


def by_counted(f: Callable[[Any, Any], Any], start: Any, x: Any) -> Any:
    """The number of steps is computed."""
    return tg.fori_loop(0, np.sum(x == x), lambda i, c: f(c, x[i]), start)


def by_while(f: Callable[[Any, Any], Any], start: Any, x: Any) -> Any:
    return tg.while_loop(lambda s: s[1] < 3, lambda s: (f(s[0], x[s[1]]), s[1] + 1), (start, 0))[0]


def by_segments(f: Callable[[Any, Any], Any], start: Any, x: Any) -> Any:
    return by_scan(f, start, x, checkpoint=2)


LOOPS = {
    "scan": by_scan,
    "fori": by_fori,
    "counted": by_counted,
    "while": by_while,
    "segments": by_segments,
}
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda c, v: c + v,
    "product": lambda c, v: c * v + 1,
    "quotient": lambda c, v: v / (c + 2),
    "named": lambda c, v: np.add(c, v),
    "number": lambda c, v: c * 2 + 1,
    "negative": lambda c, v: -c // 2 + v,
    "half": lambda c, v: (c + 0.5) * v,
}


def wanted(step: str, start: str, x: Any) -> Any:
    """What Python's loop gives; None where the dtype does not stay from the first step on, or
    cannot hold the start."""
    # Bools are NumPy's.
    f, c, kinds = STEPS[step], np.True_ if start == "bool" else STARTS[start], []
    for v in x:
        c = f(c, v)
        kinds.append(leaf_type(c))
    return (
        c
        if kinds[0] == kinds[-1] and np.result_type(kinds[0].dtype, STARTS[start]) == kinds[0].dtype
        else None
    )


@pytest.mark.parametrize("kind", KINDS)
def test_like_a_python_loop(kind: str) -> None:
    x = X[kind]
    cases = {}
    for step in STEPS:
        for start in STARTS:
            if step == "negative" and (np.iscomplexobj(x) or start in ("complex", "bool")):
                continue  # which NumPy has not
            with np.errstate(all="ignore"):
                found = wanted(step, start, x)
            if found is not None:
                cases[step, start] = found
    assert len(cases) >= 12

    def all_of(x: Any, loops: Any = LOOPS) -> dict[Any, Any]:
        return {
            (n, *case): loops[n](STEPS[case[0]], STARTS[case[1]], x)
            for n in loops
            for case in cases
        }

    with np.errstate(all="ignore"):
        everywhere = {
            "eager": all_of(x),
            "tensor": all_of(tg.tensor(x), {"scan": by_scan, "while": by_while}),
        }
        if kind not in ("c16", "i8"):
            some = {"scan": by_scan, "while": by_while} if kind != "f4" else LOOPS
            everywhere["jit"] = tg.jit(lambda x: all_of(x, some))(x)
    for mode, results in everywhere.items():
        for (loop, *case), value in results.items():
            expected, name = np.asarray(cases[tuple(case)]), f"{mode}, {loop}: {case}"
            value = value.numpy() if isinstance(value, tg.Tensor) else np.asarray(value)
            assert value.dtype == expected.dtype, name
            np.testing.assert_allclose(value, expected, rtol=1e-5, err_msg=name)


# --- trees ----------------------------------------------------------------------------------------


def euler(x: Any, loop: Callable[..., Any]) -> Any:
    """Time is a Python number at every step; the total takes the dtype that the state has at the
    second."""
    start = {"t": 0.0, "y": x[0], "total": 0, "done": False}

    def step(s: Any, v: Any) -> Any:
        return {
            "t": s["t"] + 0.1,
            "y": s["y"] + s["t"] * v,
            "total": s["total"] + s["t"] * s["y"],
            "done": s["y"] > 100,
        }

    return loop(step, start, x)


TREES = {k: v for k, v in LOOPS.items() if k != "while"}


@pytest.mark.parametrize("loop", TREES)
def test_trees(loop: str) -> None:
    x = X["f4"]
    expected = euler(x, plain)
    for run in (euler, tg.jit(euler, static_argnames="loop")):
        found = run(x, loop=TREES[loop])
        for name, value in expected.items():
            assert np.asarray(found[name]).dtype == np.asarray(value).dtype, name
            np.testing.assert_allclose(found[name], value, rtol=1e-6)


def test_what_a_scan_stacks() -> None:
    x = X["f4"]

    def f(x: Any) -> Any:
        return tg.scan(lambda c, v: (c + v, (c, c * 2.0, 1)), 0.5, x)[1]

    for run in (f, tg.jit(f)):
        assert [y.dtype for y in run(x)] == [np.float32, np.float32, np.int64]
        np.testing.assert_allclose(run(x)[0], [0.5, 1.5, 3.5])


def test_what_stays_a_number_raises_no_dtype_later() -> None:
    x = X["f4"]
    functions: dict[str, Callable[[Any], Any]] = {
        "fori": lambda x: tg.fori_loop(0, 3, lambda i, c: c * 0.5, 1.0) * x,
        "while": lambda x: tg.while_loop(lambda c: c < 5, lambda c: c * 2, 1) * x,
        "scan": lambda x: tg.scan(lambda c, v: (-c, None), 0.5, x)[0] * x,
        "inner": lambda x: tg.fori_loop(
            0, 2, lambda i, c: c * tg.fori_loop(0, 2, lambda j, d: d * 0.5, 1.0), x
        ),
        "outer": lambda x: tg.fori_loop(
            0, 2, lambda i, c: tg.fori_loop(0, 2, lambda j, d: d + x[j], c), 0
        ),
        "captured": lambda x: tg.fori_loop(
            0, 2, lambda t, c: c * x + tg.fori_loop(0, 2, lambda j, d: d * 2.0, 1.0), x
        ),
        "cond": lambda x: tg.cond(x[0] > 0, lambda c: c * 2, lambda c: c, 0.5) * x,
        "switch": lambda x: tg.switch(np.argmin(x), [lambda c: c * x, lambda c: x], 0.5),
    }
    compiled = tg.jit(lambda x: {k: f(x) for k, f in functions.items()})(x)
    mapped = tg.vmap(lambda x: {k: f(x) for k, f in functions.items()})(np.stack([x, x]))
    for name, f in functions.items():
        assert f(x).dtype == compiled[name].dtype == mapped[name].dtype == np.float32, name
        np.testing.assert_allclose(compiled[name], f(x), rtol=1e-6)
        np.testing.assert_allclose(mapped[name][1], f(x), rtol=1e-6)


def test_arguments_that_are_numbers_are_captured_as_such() -> None:
    f = tg.jit(lambda a, x: tg.scan(lambda c, v: (c * a + v, c * a), 0.0, x))
    last, ys = f(0.5, X["f4"])
    assert last.dtype == ys.dtype == np.float32
    assert f(np.float64(0.5), X["f8"])[0].dtype == np.float64


def test_branches_hold_a_number_and_an_array() -> None:
    """The dtype that holds both: 0.5 was cut to 0 beside integers."""
    f = tg.jit(lambda x: tg.cond(x[0] > 5, lambda: x[0], lambda: 0.5))
    for kind, dtype in {
        "i4": np.float64,
        "f4": np.float32,
        "c8": np.complex64,
        "?": np.float64,
    }.items():
        if kind != "c8":
            assert f(X[kind]) == 0.5
            assert f(X[kind]).dtype == dtype


# --- none -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", ["eager", "jit"])
def test_no_step(wrap: str) -> None:
    """The number itself; where a computed number of steps may be none, the dtype that they would
    give."""
    x = X["f4"]

    def known(x: Any) -> Any:
        return (
            tg.fori_loop(0, 0, lambda i, c: c * x[0], 0.5) * x,
            tg.scan(lambda c, v: (c * v, None), 0.5, x[:0])[0] * x,
        )

    run = known if wrap == "eager" else tg.jit(known)
    for found in run(x):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, 0.5 * x)
    assert tg.jit(lambda n: tg.fori_loop(0, n, lambda i, c: c * x[0], 0.5))(0).dtype == np.float32
    assert tg.fori_loop(0, 0, lambda i, c: c * x[0], 0.5).dtype == np.float64
    assert (
        tg.jit(lambda x: tg.while_loop(lambda c: c > 1, lambda c: c * x[0], 0.5))(x).dtype
        == np.float32
    )


# --- derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("start", [0.25, 1, 0.25j])
def test_derivatives(loop: str, start: Any) -> None:
    def f(x: Any, run: Callable[..., Any] = LOOPS[loop]) -> Any:
        return np.real(run(lambda c, v: c * v + v, start, x) * np.conj(start))

    x = X["f4"] * np.float32(0.5)
    exact = tg.grad(f)(x.astype(np.float64), plain)
    for g in (tg.grad(f), tg.jit(tg.grad(f))):
        assert g(x).dtype == np.float32
        np.testing.assert_allclose(g(x), exact, rtol=1e-5)
    second = tg.jvp(tg.grad(lambda x: f(x, plain)), (x.astype(np.float64),), (np.ones(3),))[1]
    for run in (tg.grad(f), tg.jit(tg.grad(f))):
        found = tg.jvp(run, (x,), (np.ones(3, np.float32),))[1]
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, second, rtol=1e-5)
    batch = tg.vmap(tg.grad(f))(np.stack([x, x]))
    assert batch.dtype == np.float32
    np.testing.assert_allclose(batch[1], exact, rtol=1e-5)


def test_float64_programs_keep_their_bits() -> None:
    x = np.linspace(0.1, 0.9, 7)
    for f in (lambda c, v: np.sin(c) * v + 0.3, lambda c, v: c * v / 3, lambda c, v: (c + v) ** 2):
        for start in (0.3, 1):
            for loop in ("scan", "fori", "while"):
                array = np.float64(start)
                length = slice(3) if loop == "while" else slice(None)
                assert LOOPS[loop](f, start, x[length]) == LOOPS[loop](f, array, x[length])


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", ["eager", "jit"])
def test_what_does_not_go_together(wrap: str) -> None:
    def run(start: Any, step: Callable[[Any, Any], Any], x: Any) -> Any:
        function = lambda x: tg.scan(lambda c, v: (step(c, v), None), start, x)[0]  # noqa: E731
        return (function if wrap == "eager" else tg.jit(function))(x)

    with pytest.raises(TypeError, match=r"the carry itself changes from f64\[\] to i32\[\]"):
        run(0.5, lambda c, v: v, X["i4"])
    with pytest.raises(TypeError, match=r"the carry itself changes from i32\[\] to f64\[\]"):
        run(np.int32(1), lambda c, v: 0.5, X["i4"])
    with pytest.raises(TypeError, match=r"the carry itself changes from f32\[\] to c128\[\]"):
        run(np.float32(1), lambda c, v: 0.5j, X["f4"])
    with pytest.raises(OverflowError, match="300"):
        run(300, lambda c, v: c + v if wrap == "eager" else v, X["i1"])
    # A Python number in the place of an array is one of its dtype.
    assert run(np.float32(1), lambda c, v: 0, X["f4"]).dtype == np.float32


# --- the scalars that the eager loops carry -------------------------------------------------------


def test_weak_scalars_compute_as_numpy_and_promote_as_python() -> None:
    a, i, z = weak(0.25, "f"), weak(2, "i"), weak(0.5j, "c")
    x = X["f4"]
    for made in (
        a * x,
        x * a,
        x - i,
        i / x,
        np.maximum(a, x),
        np.where(x > 1, x, a),
        a * np.float32(1),
        np.clip(x, a, i),
    ):
        assert made.dtype == np.float32
    assert (z * x).dtype == np.complex64
    assert (i * X["i1"]).dtype == np.int8
    for made in (a + 1, 2 - i, i / 2, -a, abs(z), i**2, a * i, z * 2, i // 1):
        assert isinstance(made, WEAK)
    for made in (np.add(a, 1), np.sin(a), a * np.float64(1), a.astype(np.float64)):
        assert type(made) is np.float64
    with np.errstate(divide="ignore"):
        assert 1 / weak(0.0, "f") == np.inf
    assert type(a < 1) is np.bool_
    assert {a: 1}[0.25] == 1
    assert repr(a) == "np.float64(0.25)"
    t = tg.tensor(x, requires_grad=True)
    for made in (
        a * t,
        t * a,
        t / i,
        tg.where(t > 1, t, a),
        np.maximum(t, a),
        tg.jit(lambda t: t * a)(t),
        tg.jit(np.multiply)(t, a),
    ):
        assert made.dtype == np.float32
    y = (t * a).sum()
    y.backward()
    assert t.grad is not None
    assert t.grad.dtype == np.float32
