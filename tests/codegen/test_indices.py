"""Constants in places, shapes and ranges stand in a kernel's text as numbers, and are unsigned
where it is translated."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen import printer
from tracegrad.codegen.fallbacks import FALLBACKS
from tracegrad.codegen.indices import typed
from tracegrad.codegen.translation import operands, unit

import tracegrad as tg
from tests.golden.functions import GOLDEN
from tests.golden.texts import layouts_of
from tracegrad.schedule import schedule
from tracegrad.sizes import SIZES


def written(body: str) -> str:
    """The lines of a kernel with typed constants."""
    lines = "\n".join("    " + line for line in body.splitlines())
    (tree,) = ast.parse(f"def kernel():\n{lines}").body
    assert isinstance(tree, ast.FunctionDef)
    typed(tree)
    return "\n".join(ast.unparse(s) for s in tree.body)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("y = x[0]", "y = x[index(0)]"),
        ("x[i - 1, 2 * j] = 3", "x[i - index(1), index(2) * j] = 3"),
        ("y = x[i + -1]", "y = x[i + -index(1)]"),
        ("y = x[()]", "y = x[()]"),
        ("y = x[p[i + 1]]", "y = x[p[i + index(1)]]"),
        ("y = x[min(n // 2, 5)]", "y = x[min(n // index(2), index(5))]"),
        ("y = x[index(max(min(a, 3), 0))]", "y = x[index(max(min(a, 3), 0))]"),
        ("y = 2 * x[1] + 1", "y = 2 * x[index(1)] + 1"),
        ("y = f(2, x[1])", "y = f(2, x[index(1)])"),
        ("y = x[1] if 0 < x[2] else 3", "y = x[index(1)] if 0 < x[index(2)] else 3"),
        ("y = np.int64(2)", "y = np.int64(2)"),
        ("y = signed(n - 1) - 1", "y = signed(n - index(1)) - 1"),
        ("y = words(a, 1)[0]", "y = words(a, 1)[0]"),
        ("n = index(x.shape[0])", "n = index(x.shape[0])"),
        ("x = view(arena, 64 * n, (2, n), np.float64)",
         "x = view(arena, index(64) * n, (index(2), n), np.float64)"),
        ("x = np.empty((3, n + 1), np.int64)", "x = np.empty((index(3), n + index(1)), np.int64)"),
        ("f(x, signed(3), True, 4)", "f(x, signed(index(3)), True, 4)"),
        ("first = 2 if phase < 0 else index(lo)", "first = index(2) if phase < 0 else index(lo)"),
        ("k = 0 if phase < 0 else index(hi)", "k = index(0) if phase < 0 else index(hi)"),
        ("k = 0 if phase < 0 else hi", "k = 0 if phase < 0 else hi"),
        ("k = index(0)\nif k >= 6 and j >= 6:\n    status[0] = 1\n    status[1] = 6",
         "k = index(0)\nif k >= index(6) and j >= 6:\n"
         "    status[index(0)] = 1\n    status[index(1)] = 6"),
        ("if n > 1:\n    y = x[1]\nelse:\n    y = x[2]",
         "if n > 1:\n    y = x[index(1)]\nelse:\n    y = x[index(2)]"),
        ("for i in range(0, n - 1):\n    x[i + 1] += 1",
         "for i in range(index(0), n - index(1)):\n    x[i + index(1)] += 1"),
        ("while a[0] > 1:\n    a[0] = a[1]",
         "while a[index(0)] > 1:\n    a[index(0)] = a[index(1)]"),
    ],
)  # fmt: skip
def test_what_is_typed(text: str, found: str) -> None:
    assert written(text) == found


SOME = [
    "rosenbrock_in_blocks",
    "noisy_grad",
    "gathered_grad",
    "waves_grad",
    "branches_in_a_loop_grad",
    "pieces",
    "logistic_of_all_sizes",
]


@pytest.mark.parametrize("name", SOME)
def test_kernels_are_what_they_are_with_all_constants_typed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each constant that the printer takes for an index, and no other one."""
    golden = GOLDEN[name]
    jitted = tg.jit(golden.function)
    for args in golden.again:
        jitted.graphs(*args)
    traced, optimized = jitted.graphs(*golden.args)
    with SIZES.opened(optimized.sizes):
        program = schedule(optimized, layouts_of(golden.args, traced))
        plain = printer.print_program(program).source
        monkeypatch.setattr(printer.Printer, "word", "index({})")
        explicit = printer.print_program(program).source

    def tree(text: str) -> ast.FunctionDef:
        return next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))

    bare = tree(plain)
    typed(bare)
    assert ast.dump(bare) == ast.dump(tree(explicit))
    assert plain.count("index(") < explicit.count("index(")


def stencil(u: Any, k: Any) -> Any:
    smooth = u[2:] - 2.0 * u[1:-1] + u[:-2]
    edges = np.concatenate([u[:3], smooth[::-1], np.roll(u, 2)])
    return np.sum(edges[k] * np.arange(k.size)), edges


U, K = np.linspace(0.0, 1.0, 9) ** 3, np.array([3, 0, 5, -1])


@pytest.mark.parametrize("way", ["direct", pytest.param("numba", marks=pytest.mark.falls_back)])
def test_compiled(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the translator, and by Numba's own pipeline where that refuses."""
    if way == "numba":

        def refuse(*_: Any) -> None:
            raise operands.UntranslatableError("not today")

        monkeypatch.setattr(unit.Unit, "entry", refuse)

    def function(u: Any, k: Any) -> Any:
        return stencil(u, k)

    # Kernels are kept by name, among others.
    function.__name__ = f"stencil_{way}"
    before = len(FALLBACKS)
    total, edges = tg.jit(function)(U, K)
    np.testing.assert_allclose(total, stencil(U, K)[0], rtol=1e-14)
    np.testing.assert_array_equal(edges, stencil(U, K)[1])
    assert (len(FALLBACKS) > before) == (way == "numba")


def test_in_functions_of_numba() -> None:
    jitted = tg.jit(lambda u, k: stencil(u, k)[1])
    np.testing.assert_array_equal(jitted.njit(U, K)(U, K), stencil(U, K)[1])
