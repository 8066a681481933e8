"""Values of graphs, and variables of generated code, have the names of the user's variables that
they are assigned to; adjoints theirs with `d_` before it."""

# ruff: noqa: RET504 - assignments are what is tested

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.disk.cache import COUNTERS, key_of

import tracegrad as tg
from tracegrad.ir.assigned import RETURNED, assigned
from tracegrad.ir.graph import Graph

X = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def names(graph: Graph) -> list[str]:
    """The names of what a graph's nodes make, in their order."""
    return [v.name for node in graph.nodes for v in node.outputs if v.name]


def traced(f: Callable[..., Any], *args: Any) -> list[str]:
    return names(tg.jit(f).graphs(*args)[0])


# --- what an instruction's result is assigned to --------------------------------------------------

OUTER = 0


def twice(x: Any) -> Any:
    return x * 2


def plain(x: Any) -> Any:
    z = x * 2
    return z


def annotated(x: Any) -> Any:
    z: Any = x * 2
    return z


def augmented(x: Any) -> Any:
    x *= 2
    z = x
    z += 1
    return z


def walrus(x: Any) -> Any:
    return (z := x * 2) - np.sin(z)


def two_names(x: Any) -> Any:
    z = y = x * 2
    return z + y


def a_cell(x: Any) -> Any:
    z = x * 2
    return (lambda: z)()


def a_global(x: Any) -> Any:
    global OUTER
    z = x * 2
    OUTER = 1
    return z


def last_of_a_line(x: Any) -> Any:
    z = np.sin(x) * 2 + 1
    return z


def by_a_helper(x: Any) -> Any:
    z = twice(twice(x) + 1)
    return z


def by_a_lambda(x: Any) -> Any:
    z = (lambda a: a * 2)(x)
    return z


def of_many_operations(x: Any) -> Any:
    z = tg.softmax(x, axis=1)
    return z


def a_method(x: Any) -> Any:
    z = x.sum()
    return z


def an_attribute(x: Any) -> Any:
    z = x.T
    return z


def an_item(x: Any) -> Any:
    z = x[0]
    return z


def rows(x: Any) -> Any:
    for z in x[:1]:
        return z * 2
    return None


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (plain, ["z"]),
        (annotated, ["z"]),
        (augmented, ["x", "z"]),
        (walrus, ["z"]),
        (two_names, ["z"]),
        (a_cell, ["z"]),
        (a_global, ["z"]),
        (last_of_a_line, ["z"]),
        (by_a_helper, ["z"]),
        (by_a_lambda, ["z"]),
        (of_many_operations, ["z"]),
        (a_method, ["z"]),
        (an_attribute, ["z"]),
        (an_item, ["z"]),
        (rows, ["z"]),
        (lambda x: x * 2, []),
    ],
)
def test_assigned_once(function: Callable[..., Any], found: list[str]) -> None:
    assert traced(function, X) == found


def test_the_last_operation_of_a_statement_has_the_name() -> None:
    graph = tg.jit(last_of_a_line).graphs(X)[0]
    assert [(n.op.name, n.outputs[0].name) for n in graph.nodes] == [
        ("sin", ""),
        ("mul", ""),
        ("add", "z"),
    ]
    graph = tg.jit(of_many_operations).graphs(X)[0]
    assert [bool(n.outputs[0].name) for n in graph.nodes] == [
        *[False] * (len(graph.nodes) - 1),
        True,
    ]


def test_unpacked() -> None:
    def f(x: Any) -> Any:
        last, steps = tg.scan(lambda c, v: (c + v, c), x[0], x)
        return last, steps

    assert traced(f, X) == ["last", "steps"]


def test_in_turn() -> None:
    def f(x: Any) -> Any:
        total = x * 0
        for _ in range(2):
            y = np.sin(x)
            total = total + y
        return total

    assert traced(f, X) == ["total", "y", "total", "y", "total"]


def test_names_that_say_nothing() -> None:
    def f(x: Any) -> Any:
        _ = np.sin(x)
        t3 = _ * 2
        c0 = t3 + 1
        return c0

    assert traced(f, X) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("z = x * 2", ("z",)),
        ("def f():\n global z\n z = x * 2\nf()", ("z",)),
        ("a, b = x * 2", ("a", "b")),
        ("a, (b, c) = x * 2", ()),
        ("a, *b = x * 2", ()),
        ("a.b = x * 2", ()),
        ("a[0] = x * 2", ()),
        ("[x * 2]", ()),
        ("(lambda: x * 2)()", RETURNED),
        (
            f"{', '.join(f'name{k}' for k in range(300))}, = x * 2",
            tuple(f"name{k}" for k in range(300)),
        ),
        ("\n".join(f"v{k} = {k}.5" for k in range(300)) + "\nz = x * 2", ("z",)),
    ],
)
def test_instructions(text: str, found: tuple[str, ...]) -> None:
    """Asked by what is multiplied, in code of every kind."""
    seen: list[tuple[str, ...]] = []

    class Asks:
        q = 0

        def __mul__(self, other: object) -> Any:
            frame = sys._getframe(1)
            seen.append(assigned(frame.f_code, frame.f_lasti))
            return [0] * max(1, len(seen[-1]))

    scope = {"x": Asks(), "a": Asks()}
    try:
        exec(compile(text, "program.py", "exec"), scope)
    except (TypeError, ValueError):
        assert found == ()
    assert seen == [found]


def test_around_the_function_variables_are_another_programs() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x))

    g = tg.jit(tg.grad(f))
    mine = g(X)
    theirs = g.graphs(X)[0]
    assert "mine" not in names(theirs)
    assert names(theirs) == ["d_x"]
    assert mine.shape == X.shape


# --- adjoints, tangents, batches, loops -----------------------------------------------------------


def loss(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    each = np.logaddexp(0.0, -y * z)
    return np.mean(each)


W, Y = np.array([0.5, -0.25, 1.0]), np.array([1.0, -1.0, 1.0, -1.0])


def test_adjoints() -> None:
    graph = tg.jit(tg.grad(loss)).graphs(W, X, Y)[0]
    assert names(graph) == ["z", "each", "d_each", "d_z", "d_w"]


def test_adjoints_of_adjoints() -> None:
    def f(x: Any) -> Any:
        z = np.sin(x)
        return np.sum(z * z * z)

    second = tg.jit(tg.grad(lambda x: np.sum(tg.grad(f)(x))))
    found = names(second.graphs(X)[0])
    assert {"z", "d_z", "d_x", "d_d_z"} <= set(found)


def test_tangents_leave_the_name_to_the_value() -> None:
    graph = tg.jit(lambda x, v: tg.jvp(last_of_a_line, (x,), (v,))).graphs(X, X)[0]
    made = {n.outputs[0].name: n for n in graph.nodes if n.outputs[0].name}
    assert set(made) == {"z"}
    assert made["z"].outputs[0] is graph.outputs[0]


def test_of_a_function_that_is_called() -> None:
    inner = tg.jit(plain)

    def f(x: Any) -> Any:
        y = inner(x)
        return np.sum(y)

    jitted = tg.jit(f)
    assert names(jitted.graphs(X)[0]) == ["y"]
    # Inside, it has a name of its own.
    assert names(jitted.graphs(X)[1]) == ["z"]


def test_batches() -> None:
    assert "z" in traced(tg.vmap(last_of_a_line), X)


def test_bodies_of_loops_and_branches() -> None:
    def f(w: Any, x: Any) -> Any:
        def step(carried: Any, row: Any) -> Any:
            h = np.tanh(carried + row * w)
            return tg.cond(np.sum(h) > 0, lambda kept: kept * 2, lambda kept: kept, h), h

        last, steps = tg.scan(step, x[0], x)
        return np.sum(last) + np.sum(steps)

    traced_graph = tg.jit(f).graphs(W, X)[0]
    (loop,) = [n for n in traced_graph.nodes if n.op.name == "scan"]
    assert [v.name for v in loop.outputs] == ["last", "steps"]
    body = loop.params["body"]
    assert {"w", "carried", "row"} <= {v.name for v in body.inputs}
    assert "h" in names(body)
    (branch,) = [n for n in body.nodes if n.op.name == "switch"]
    assert "kept" in {v.name for b in branch.params["branches"] for v in b.inputs}
    source = tg.jit(tg.grad(f)).source(W, X)
    assert "d_w" in source
    assert re.search(r"\bh(_\w+)? = tanh\(", source)


def test_after_rewriting() -> None:
    """A value that is computed in another way, or was there without a name, has the name still."""

    def f(x: Any) -> Any:
        square = x**2
        same = (x * 3.0).reshape(4, 3)
        twofold = same.T.T
        return square + twofold

    graph = tg.jit(f).graphs(X)[1]
    assert names(graph) == ["square", "same"]


def test_traced_graphs_stay_as_they_are() -> None:
    """The names that passes give are those of their graphs only."""
    jitted = tg.jit(tg.value_and_grad(loss))
    before = str(jitted.graphs(W, X, Y)[0])
    jitted.source(W, X, Y)
    assert str(jitted.graphs(W, X, Y)[0]) == before


def test_of_all_sizes() -> None:
    jitted = tg.jit(tg.grad(loss))
    for n in (4, 5, 6):
        jitted(W, np.ones((n, 3)), np.ones(n))
    assert {"z", "d_z", "d_w"} <= set(names(jitted.graphs(W, np.ones((7, 3)), np.ones(7))[1]))


def test_halves_of_a_graph() -> None:
    """The graph that runs forward, and the one that runs backward from what it keeps."""
    weight = tg.tensor(W, requires_grad=True)
    jitted = tg.jit(loss)
    jitted(weight, X, Y).backward()
    assert weight.grad is not None
    np.testing.assert_allclose(weight.grad, tg.grad(loss)(W, X, Y))


# --- the program ----------------------------------------------------------------------------------


def test_source() -> None:
    source = tg.jit(tg.value_and_grad(loss)).source(W, X, Y)
    assert re.search(r"\bd_z(_\w+)? = ", source)
    assert re.search(r"\beach(_\w+)? = ", source)
    assert "out_d_w" in source
    assert source == tg.jit(tg.value_and_grad(loss)).source(W, X, Y)


WORDS = (
    "np index signed view grown acc maximum minimum greatest least arena status phase lo hi first "
    "last exp tanh select sum print range min max abs i j k l m n i2 block lane thread own shared "
    "tile size before found all total team out out_w w_i w_i_j w_reshaped at at_safe farthest_0 "
    "step step_1 match type case θ Δx naïve d_w x_parts x_packed now next kernel self cuda math "
    f"float int bool complex float64 bool_ len not_a_word {'long' * 60} __dunder__ T CACHE"
).split()


def program(words: list[str]) -> Callable[..., Any]:
    """A function whose variables have these names."""
    lines = ["def hostile(w):", "    before = w"]
    for k, word in enumerate(words):
        lines.append(f"    {word} = tanh_({'before' if k == 0 else words[k - 1]} * {1 + k % 3}.5)")
    lines.append(f"    return sum_({words[-1]} * {words[len(words) // 2]})")
    scope = {"tanh_": np.tanh, "sum_": np.sum}
    exec(compile("\n".join(lines), "program.py", "exec"), scope)
    return scope["hostile"]  # type: ignore[return-value]


@pytest.mark.parametrize("start", range(0, len(WORDS), 12))
def test_words_that_generated_code_uses(start: int) -> None:
    words = WORDS[start : start + 12]
    f = program(words)
    found = set(names(tg.jit(f).graphs(W)[0]))
    assert len(found) == len(words)
    jitted = tg.jit(tg.value_and_grad(f))
    value, gradient = jitted(W)
    step = 1e-6
    np.testing.assert_allclose(value, f(W), rtol=1e-14)
    for k in range(3):
        shift = step * (np.arange(3) == k)
        slope = (f(W + shift) - f(W - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[k], slope, rtol=1e-6, atol=1e-9)
    source = jitted.source(W)
    body = source.split('"""')[-1]
    assert body.isascii()
    assert max(map(len, re.findall(r"\w+", body))) < 80


def test_names_are_no_part_of_a_kernels_key() -> None:
    text = "def kernel(x, arena):\n    {0} = x[0] * 2.0\n    x[1] = {0} + {1}\n"
    one = key_of(text.format("z", "1.0"))
    assert one == key_of(text.format("weight", "1.0"))
    assert one != key_of(text.format("z", "2.0"))
    assert one != key_of(text.format("z", "z"))
    assert one != key_of(text.format("z", "np"))


def test_functions_that_differ_in_names_share_a_kernel() -> None:
    def one(x: Any) -> Any:
        z = np.sin(x) * 2.25
        return np.sum(z * z)

    def other(values: Any) -> Any:
        waves = np.sin(values) * 2.25
        return np.sum(waves * waves)

    other.__name__ = "one"
    tg.jit(one)(X)
    before = COUNTERS.compiled
    np.testing.assert_array_equal(tg.jit(other)(X), tg.jit(one)(X))
    assert COUNTERS.compiled == before
    assert "waves" in tg.jit(other).source(X)


def test_parts_of_what_is_unpacked() -> None:
    def f(p: Any) -> Any:
        a, b, c = p
        d = a * b
        return d + c

    assert traced(f, X[:, 0][:3]) == ["a", "b", "c", "d"]
    assert traced(lambda p: sum(x * 2 for x in p), X[0]) == ["x"] * 3
