"""Graphs: printing and parsing, the verifier, the passes, integer expressions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import assert_same
from tracegrad._codegen import integers
from tracegrad.errors import ParseError, VerificationError
from tracegrad.ir.evaluate import evaluate
from tracegrad.ir.graph import Graph, Literal, Node, Var
from tracegrad.ir.parser import parse_graph
from tracegrad.ir.verify import verify
from tracegrad.registry import OPS_BY_NAME
from tracegrad.sizes import SIZES, Size, Sizes
from tracegrad.transforms.rewrite import optimize, remove_dead, simplify
from tracegrad.types import ArrayType


def graph_of(function: Any, *args: Any) -> Graph:
    return tg.jit(function).graphs(*args)[0]


def round_trip(graph: Graph) -> Graph:
    text = str(graph)
    parsed = verify(parse_graph(text, OPS_BY_NAME))
    assert str(parsed) == text
    return parsed


EXAMPLES: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda x, w: np.sum((x @ w) ** 2), (np.ones((4, 3)), np.ones(3))),
    (
        lambda x: (x[::-2, None], x.max(0), np.where(x > 0.5, x, -np.inf)),
        (np.linspace(0, 1, 6).reshape(3, 2),),
    ),
    (lambda z: np.real(z * (1 + 2j)), (np.array([1j, 2.0]),)),
    (lambda x, k: (x[k], np.sort(x), np.cumsum(x)), (np.array([3.0, 1.0, 2.0]), np.array([2, 0]))),
    (lambda x: tg.scan(lambda s, y: (s + np.sin(y), s), 0.0, x), (np.linspace(0, 1, 4),)),
    (lambda x: x * np.float32(2) + 1, (np.ones(2, np.float32),)),
]


@pytest.mark.parametrize("k", range(len(EXAMPLES)))
def test_printed_graphs_parse_back(k: int) -> None:
    function, args = EXAMPLES[k]
    graph = graph_of(function, *args)
    for g in (graph, optimize(graph)):
        again = round_trip(g)
        assert_same(tuple(evaluate(again, args)), tuple(evaluate(g, args)))


def test_symbolic_graphs_print_and_parse() -> None:
    g = tg.jit(lambda x: np.sum(x[1:] * x[:-1]) / x.shape[0])
    g(np.ones(4)), g(np.ones(5))
    text = str(g.graphs(np.ones(9))[0])
    assert "x: f64[n]" in text
    assert "f64[n - 1]" in text
    assert str(parse_graph(text, OPS_BY_NAME)) == text


def test_lines_of_the_user() -> None:
    text = str(graph_of(lambda x: np.sin(x) * 2, np.ones(2)))
    assert text.count("test_ir.py:") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "line 1"),
        ("graph f(x: f64[2]):\n    y: f64[2] = nonsense(x)\n    return y", "line 2"),
        ("graph f(x: f64[2]):\n    y: f64[2] = sin(x)", "no return"),
    ],
)
def test_parse_errors(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_graph(text, OPS_BY_NAME)


def test_verifier_finds_defects() -> None:
    x, y = Var(ArrayType(np.dtype(float), (2,)), "x"), Var(ArrayType(np.dtype(float), (3,)), "y")
    sin = OPS_BY_NAME["sin"]
    with pytest.raises(VerificationError, match="its rule says"):
        verify(Graph("f", (x,), (Node(sin, (x,), {}, (y,)),), (y,)))
    with pytest.raises(VerificationError, match="before it is defined"):
        verify(Graph("f", (), (Node(sin, (x,), {}, (y,)),), (y,)))
    with pytest.raises(VerificationError, match="not defined"):
        verify(Graph("f", (x,), (), (y,)))
    assert verify(Graph("f", (x,), (), (x, Literal(1.0))))


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: x * 1.0, 0),
        (lambda x: (x + -0.0) / 1.0 - 0.0, 0),
        (lambda x: x + 0.0, 1),  # 0.0 where x is -0.0
        (lambda x: -(-x), 0),
        (lambda x: x.reshape(2, 2).reshape(4), 0),
        (lambda x: x.reshape(2, 2).T.T, 1),
        (lambda x: np.sin(x) + np.sin(x), 2),
        (lambda x: (np.exp(x), x)[1], 0),
        (lambda x: x**2, 1),
    ],
)
def test_simplification(function: Any, count: int) -> None:
    x = np.linspace(0.1, 1, 4)
    graph = optimize(graph_of(function, x))
    assert len(graph.nodes) == count, str(graph)
    assert_same(tuple(evaluate(graph, [x])), (function(x),))


def test_multiplication_by_zero_is_kept() -> None:
    x = np.array([np.nan, np.inf])
    assert np.all(np.isnan(tg.jit(lambda x: x * 0.0)(x)))


def test_passes_do_not_change_values() -> None:
    x = np.linspace(0.1, 1, 5)
    graph = graph_of(tg.grad(lambda x: np.sum(np.log(x) * np.sqrt(x)[::-1])), x)
    expected = tuple(evaluate(graph, [x]))
    for change in (simplify, remove_dead, optimize):
        assert_same(tuple(evaluate(verify(change(graph)), [x])), expected, 1e-13)


class TestIntegers:
    n, m = integers.symbol("n"), integers.symbol("m")

    def test_canonical_form(self) -> None:
        n, m = self.n, self.m
        assert (n + 1) * (n - 1) == n * n - 1
        assert n + m - m == n
        assert n - n == 0
        assert isinstance(n - n, int)
        assert (2 * n * m) // n == 2 * m
        assert (n * m) % m == 0
        assert str(n - 1) == "n - 1"
        assert str(2 * n * m + 3) == "2*m*n + 3"
        assert hash(n + m) == hash(m + n)

    def test_values(self) -> None:
        e = (
            (self.n + 1) // 2
            + integers.maximum(self.n, 3) * integers.minimum(self.m, 4)
            - self.n % 3
        )
        assert integers.evaluate(e, {"n": 7, "m": 9}) == 4 + 7 * 4 - 1
        assert integers.substitute(e, {"n": 7, "m": 9}) == 31
        assert integers.symbols(e) == {"n", "m"}

    def test_coefficient(self) -> None:
        assert integers.coefficient(3 * self.n * self.m + self.n + 2, "n") == 3 * self.m + 1
        assert integers.coefficient(self.n * self.n, "n") is None
        assert integers.coefficient(self.m + 1, "n") == 0

    def test_expressions_are_compared_by_form(self) -> None:
        """Whatever is known of the symbols, and Python's hashes of -1 and -2 being equal."""
        sizes = Sizes({"n": 4, "m": 4})
        half = self.n // 2
        expressions = [
            self.m - self.n,
            self.m - 2 * self.n,
            self.m - half,
            self.m - 2 * half,
            (self.n - 1) % 2,
            (self.n - 2) % 2,
        ]
        with SIZES.opened(sizes):
            assert {e: k for k, e in enumerate(expressions)}[self.m - 2 * half] == 3
            assert len(set(expressions)) == len(expressions)
            assert self.n != self.m
            assert (self.n, 4) != (4, self.n)
        assert not sizes.guards

    @pytest.mark.parametrize(
        "question",
        [
            bool,
            operator.index,
            lambda n: n < 3,
            lambda n: n >= 3,
            lambda n: max(n, 2),
            lambda n: n + 0.5,
            lambda n: n / 2,
            lambda n: integers.add(Size(n), 1),
        ],
    )
    def test_what_the_form_does_not_say_is_an_error(self, question: Any) -> None:
        with SIZES.opened(Sizes({"n": 4})), pytest.raises(TypeError):
            question(self.n)
