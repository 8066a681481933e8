"""Loops and branches that are wrong: each says what, where and what to do, eagerly, compiled,
batched and differentiated, and the next call works."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.3, -1.2, 2.0])
LINE = r"test_loop_errors\.py:\d+: "


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    def scalar(x: Any) -> Any:
        out = f(x)
        return sum(np.sum(o) for o in (out if isinstance(out, (tuple, list)) else (out,)))

    return scalar


WAYS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "eager": lambda f: f,
    "grad": lambda f: tg.grad(total(f)),
    "jit": tg.jit,
    "jit grad": lambda f: tg.jit(tg.grad(total(f))),
    "jit vmap": lambda f: lambda x: tg.jit(tg.vmap(f))(np.stack([x, x])),
    "hessian": lambda f: tg.jit(tg.hessian(total(f))),
}
TRACED = [w for w in WAYS if w.startswith(("jit", "hessian"))]

EVERYWHERE: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "scan dtype": (
        lambda x: tg.scan(lambda c, v: (c + v, None), np.int64(0), x),
        TypeError,
        LINE + r"scan: the carry itself changes from i64\[\] to f64\[\]",
    ),
    "scan shape": (
        lambda x: tg.scan(
            lambda c, v: ({"a": c["a"], "b": np.stack([v, v])}, None), {"a": x, "b": x[0]}, x
        ),
        TypeError,
        LINE + r"scan: the carry \['b'\] changes from f64\[\] to f64\[2\]; "
        "a carry keeps its dtype and shape",
    ),
    "scan tree": (
        lambda x: tg.scan(lambda c, v: ([c[0]], None), (x[0],), x),
        TypeError,
        LINE + "scan: the body returned a carry of structure",
    ),
    "scan None": (
        lambda x: tg.scan(lambda c, v: None, 0.0, x),
        TypeError,
        LINE + "scan: the body must return a pair .* it returned a NoneType",
    ),
    "scan three": (
        lambda x: tg.scan(lambda c, v: (c, v, v), 0.0, x),
        TypeError,
        LINE + "scan: the body must return a pair .* a tuple of 3",
    ),
    "scan no pair": (
        lambda x: tg.scan(lambda c, v: [c, v], 0.0, x),
        TypeError,
        LINE + "scan: the body must return a pair .* a list",
    ),
    "scan sizes": (
        lambda x: tg.scan(lambda c, v: (c, c), 0.0, (x, x[:2])),
        tg.ShapeError,
        LINE + r"scan: the leading sizes of xs differ: \[3, 2\]",
    ),
    "scan length": (
        lambda x: tg.scan(lambda c, v: (c, c), 0.0, x, length=2),
        tg.ShapeError,
        LINE + r"scan: .* differ: \[3\] \(length=2\)",
    ),
    "scan nothing": (
        lambda x: tg.scan(lambda c, v: (c, c), 0.0),
        ValueError,
        LINE + "scan: give xs or length",
    ),
    "scan negative": (
        lambda x: tg.scan(lambda c, _: (c, c), 0.0, length=-1),
        ValueError,
        LINE + "scan: length must be at least 0, it is -1",
    ),
    "scan part": (
        lambda x: tg.scan(lambda c, _: (c, c), 0.0, length=2.5),
        TypeError,
        LINE + r"scan: length must be an integer .* float \(2\.5\)",
    ),
    "scan word": (
        lambda x: tg.scan(lambda c, v: (c, c), "a", x),
        TypeError,
        r"the initial carry holds a str \('a'\)",
    ),
    "scan words": (
        lambda x: tg.scan(lambda c, v: (c, c), 0.0, "abc"),
        TypeError,
        r"scan: xs holds a str",
    ),
    "scan function": (
        lambda x: tg.scan(3, 0.0, x),
        TypeError,
        LINE + "scan: f must be a function, not int",
    ),
    "map function": (
        lambda x: tg.map(None, x),
        TypeError,
        LINE + "map: f must be a function, not NoneType",
    ),
    "map scalar": (
        lambda x: tg.map(np.sin, 3.0),
        tg.ShapeError,
        "needs a leading axis to loop over",
    ),
    "fori float": (
        lambda x: tg.fori_loop(0, x[2], lambda i, c: c, x),
        TypeError,
        LINE + r"fori_loop: a bound must be one integer, not f64\[\]",
    ),
    "fori array": (
        lambda x: tg.fori_loop(0, np.arange(2), lambda i, c: c, x),
        TypeError,
        LINE + r"fori_loop: a bound must be one integer, not i64\[2\]",
    ),
    "fori word": (
        lambda x: tg.fori_loop(0, "2", lambda i, c: c, x),
        TypeError,
        LINE + r"fori_loop: a bound must be one integer, not a str \('2'\)",
    ),
    "fori None": (
        lambda x: tg.fori_loop(0, 2, lambda i, c: None, x),
        TypeError,
        LINE + "fori_loop: the body returned a carry of structure .*None",
    ),
    "fori function": (
        lambda x: tg.fori_loop(0, 2, x, x),
        TypeError,
        LINE + "fori_loop: body must be a function, not",
    ),
    "while None": (
        lambda x: tg.while_loop(lambda c: c[0] < 1, lambda c: None, x),
        TypeError,
        LINE + "while_loop: the body returned a carry of structure",
    ),
    "while flags": (
        lambda x: tg.while_loop(lambda c: c < 1, lambda c: c, x),
        tg.ShapeError,
        LINE + "while_loop: the condition must return one value",
    ),
    "while tuple": (
        lambda x: tg.while_loop(lambda c: (c[0] < 1,), lambda c: c, x),
        TypeError,
        LINE + "while_loop: the condition must return one bool",
    ),
    "while nothing": (
        lambda x: tg.while_loop(lambda c: None, lambda c: c, x),
        TypeError,
        LINE + "while_loop: the condition must return one bool",
    ),
    "while function": (
        lambda x: tg.while_loop(True, lambda c: c, x),
        TypeError,
        LINE + "while_loop: cond must be a function, not bool",
    ),
    "while most": (
        lambda x: tg.while_loop(lambda c: c[0] < 1, lambda c: c, x, max_steps=2.5),
        TypeError,
        LINE + "while_loop: max_steps must be an integer or None",
    ),
    "while on": (
        lambda x: tg.while_loop(lambda c: c[0] < 99, lambda c: c + 1, x, max_steps=3),
        RuntimeError,
        r"still going after max_steps=3 steps \(test_loop_errors\.py:\d+\)",
    ),
    "cond word": (
        lambda x: tg.cond("a", np.sin, np.cos, x),
        TypeError,
        LINE + "cond: the predicate must be a bool or a number",
    ),
    "cond None": (
        lambda x: tg.cond(None, np.sin, np.cos, x),
        TypeError,
        LINE + "cond: the predicate must be a bool or a number",
    ),
    "cond flags": (
        lambda x: tg.cond(x > 0, np.sin, np.cos, x),
        tg.ShapeError,
        LINE + r"cond: .* one value, it has shape \(3,\); use tg\.where",
    ),
    "cond function": (
        lambda x: tg.cond(x[0] > 0, np.sin, x, x),
        TypeError,
        LINE + "cond: false_function must be a function, not",
    ),
    "switch float": (
        lambda x: tg.switch(x[0], [np.sin, np.cos], x),
        TypeError,
        LINE + "switch: .* must be an integer, not of dtype float64",
    ),
    "switch range": (
        lambda x: tg.switch(np.sum(x > -9), [np.sin, np.cos], x),
        IndexError,
        "switch: index 3 is out of range for 2 branches",
    ),
    "switch one": (
        lambda x: tg.switch(0, np.sin, x),
        TypeError,
        LINE + "switch: branches is a sequence of functions",
    ),
    "switch none": (
        lambda x: tg.switch(0, [], x),
        ValueError,
        LINE + "switch: give at least one branch",
    ),
    "switch function": (
        lambda x: tg.switch(0, [np.sin, 3], x),
        TypeError,
        LINE + "switch: branch 1 must be a function, not int",
    ),
}
WHERE_TRACED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "carry made": (
        lambda x: tg.scan(lambda c, v: ((c[0] + v, np.outer(c[1], c[1])), None), (x[0], x), x),
        (
            r"scan: the carry \[1\] changes from f64\[3\] to f64\[3, 3\].* Made by mul at "
            r"test_loop_errors\.py:\d+$"
        ),
    ),
    "branches made": (
        lambda x: tg.cond(x[0] > 0, lambda: np.sin(x), lambda: np.sum(x)),
        (
            r"cond: the result itself is f64\[\] .* and f64\[3\].* Made by sum at "
            r"test_loop_errors\.py:\d+ and sin at test_loop_errors\.py:\d+$"
        ),
    ),
    "scan length": (
        lambda x: tg.scan(lambda c, _: (c, c), 0.0, length=np.sum(x > 0)),
        "scan: length must be an integer .* fori_loop takes computed",
    ),
    "cond shape": (
        lambda x: tg.cond(x[0] > 0, lambda v: v[:2], np.cos, x),
        r"cond: the result itself is f64\[3\] from if_false and f64\[2\] from if_true",
    ),
    "cond dtype": (
        lambda x: tg.cond(x[0] > 0, lambda v: (1.0, v.astype(np.float32)), lambda v: (1.0, v), x),
        r"cond: the result \[1\] is f64\[3\] .* and f32\[3\]",
    ),
    "cond tree": (
        lambda x: tg.cond(x[0] > 0, lambda v: {"a": v}, lambda v: {"b": v}, x),
        "cond: if_false returns .*'b'.*, if_true returns .*'a'",
    ),
    "cond None": (
        lambda x: tg.cond(x[0] > 0, lambda v: None, lambda v: v, x),
        "cond: if_false returns .* if_true returns .*None",
    ),
    "switch shape": (
        lambda x: tg.switch(np.sum(x > 0) - 1, [np.sin, np.cos, np.sum], x),
        r"f64\[3\] from branch_0 and f64\[\] from branch_2",
    ),
}


def writes_around(x: Any) -> Any:
    y = x * 1.0

    def step(i: Any, c: Any) -> Any:
        y[0] = c
        return c

    return tg.fori_loop(0, 3, step, x[0])


ONLY_VALUES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "range in a body": (
        lambda x: tg.fori_loop(0, 3, lambda i, c: c + sum(range(i)), x),
        tg.ConcretizationError,
        LINE + r"an index or range\(\) .* tg\.fori_loop for loops",
    ),
    "random numbers": (
        lambda x: tg.scan(lambda c, v: (c + tg.rand(3), None), x, x)[0],
        tg.TracegradError,
        LINE + "scan: the body draws random numbers; draw them before",
    ),
    "a write around": (
        writes_around,
        tg.TracegradError,
        LINE + "body changes a Tensor that it was not given .* Return the new value instead",
    ),
}


def works() -> None:
    """Nothing is left behind by an error: no open trace, no level, no mode."""
    f = tg.grad(lambda x: tg.scan(lambda c, v: (c * v + 1, None), 1.0, x)[0])
    np.testing.assert_allclose(f(X), [X[1] * X[2], (X[0] + 1) * X[2], (X[0] + 1) * X[1] + 1])
    np.testing.assert_allclose(tg.jit(f)(X), f(X))
    assert tg.grad(lambda x: tg.while_loop(lambda c: c < 9, lambda c: c * c, x))(2.0) == 32.0


@pytest.mark.parametrize("way", ["eager", "grad", "jit", "jit grad", "jit vmap"])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_wrong_everywhere(name: str, way: str) -> None:
    function, kind, message = EVERYWHERE[name]
    with pytest.raises(kind, match=message):
        WAYS[way](function)(X)
    works()


@pytest.mark.parametrize("way", TRACED)
@pytest.mark.parametrize("name", WHERE_TRACED)
def test_wrong_where_traced(name: str, way: str) -> None:
    function, message = WHERE_TRACED[name]
    with pytest.raises(TypeError, match=LINE + ".*" + message):
        WAYS[way](function)(X)
    works()


@pytest.mark.parametrize("way", [w for w in TRACED if w != "jit vmap"])
@pytest.mark.parametrize("name", ONLY_VALUES)
def test_what_needs_values(name: str, way: str) -> None:
    function, kind, message = ONLY_VALUES[name]
    with pytest.raises(kind, match=message):
        WAYS[way](function)(X)
    works()


BODIES: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "scan": lambda g: lambda x: tg.scan(lambda c, v: (g(c), None), x, x)[0],
    "fori_loop": lambda g: lambda x: tg.fori_loop(0, 3, lambda i, c: g(c), x),
    "while_loop": lambda g: lambda x: tg.while_loop(lambda c: np.sum(c) < 9, g, x),
    "condition": lambda g: lambda x: tg.while_loop(lambda c: np.sum(g(c)) < 9, lambda c: c, x),
    "cond": lambda g: lambda x: tg.cond(x[0] > 0, g, g, x),
    "switch": lambda g: lambda x: tg.switch(np.sum(x > 0) - 1, [g, g], x),
    "map": lambda g: lambda x: tg.map(g, x),
    "associative_scan": lambda g: lambda x: tg.associative_scan(lambda a, b: g(a + b), x),
    "checkpoint": lambda g: lambda x: tg.checkpoint(g)(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BODIES)
def test_errors_of_the_user_keep_their_place(name: str, way: str) -> None:
    def body(c: Any) -> Any:
        return c + {}["no such key"]

    with pytest.raises(KeyError, match="no such key") as caught:
        WAYS[way](BODIES[name](body))(X)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "body"
    assert frames[-1].line == 'return c + {}["no such key"]'
    works()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["scan", "fori_loop", "while_loop"])
def test_shapes_that_do_not_fit_inside(name: str, way: str) -> None:
    with pytest.raises(ValueError, match="broadcast"):
        WAYS[way](BODIES[name](lambda c: c + np.ones(4)))(X)
    works()


@pytest.mark.parametrize("way", ["eager", "jit"])
def test_a_batch_of_which_one_item_takes_too_many_steps(way: str) -> None:
    def f(x: Any) -> Any:
        return tg.while_loop(lambda c: c < 1.0, lambda c: c * 2.0, x, max_steps=4)

    for g, count in ((tg.vmap(f), 1.0), (tg.vmap(tg.grad(f)), 8.0)):
        g = g if way == "eager" else tg.jit(g)
        assert g(np.array([0.13, 2.0]))[0] == 8 * (0.13 if count == 1.0 else 1.0)
        with pytest.raises(RuntimeError, match="still going after max_steps=4"):
            g(np.array([0.13, 0.01]))
        assert g(np.array([0.13, 2.0]))[0] == 8 * (0.13 if count == 1.0 else 1.0)
