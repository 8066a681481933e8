"""Random programs: the same values and gradients eagerly, compiled, un-jitted, and after printing
and parsing.

`pytest tests/compiled/test_random_programs.py --soak 100000` runs as many as one likes, with a
second size and Hessian products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracegrad as tg
from tests.checks import assert_same
from tests.unjitted import run_unjitted
from tracegrad.ir.evaluate import evaluate
from tracegrad.ir.graph import Graph
from tracegrad.ir.parser import parse_graph
from tracegrad.ir.verify import verify
from tracegrad.registry import OPS_BY_NAME
from tracegrad.transforms.rewrite import optimize

SHAPES = [(), (1,), (3,), (4,), (2, 3), (3, 1), (1, 4), (2, 1, 3), (0,), (3, 4)]
UNARY: list[Callable[[Any], Any]] = [
    np.sin,
    np.cos,
    np.tanh,
    np.exp,
    lambda x: np.log1p(x * x),
    lambda x: np.sqrt(x * x + 1),
    lambda x: -x,
    np.square,
    lambda x: 1 / (x * x + 1),
    np.arctan,
    lambda x: np.where(x > 0.1, x, x * 2),
    lambda x: np.clip(x, -0.5, 0.5),
    np.abs,
    lambda x: x**3,
    np.expm1,
]
BINARY: list[Callable[[Any, Any], Any]] = [
    np.add,
    np.subtract,
    np.multiply,
    lambda x, y: x / (y * y + 1),
    np.maximum,
    np.minimum,
    np.hypot,
    np.logaddexp,
    np.arctan2,
    lambda x, y: np.where(x > y, x, y * 2),
]
SHAPING: list[Callable[[Any], Any]] = [
    lambda x: x.T,
    lambda x: x.reshape(-1),
    lambda x: x[..., ::-1] if x.ndim else x,
    lambda x: x[1:] if x.ndim else x,
    lambda x: x[None],
    lambda x: np.concatenate([x, x * 2], axis=0) if x.ndim else x,
    lambda x: np.sum(x, axis=0) if x.ndim else x,
    lambda x: np.sum(x, axis=-1, keepdims=True) if x.ndim else x,
    lambda x: np.mean(x, axis=-1) if x.ndim and x.shape[-1] else x,
    lambda x: np.max(x, axis=0) if x.ndim and x.shape[0] else x,
    lambda x: np.cumsum(x, axis=-1) if x.ndim else x,
    lambda x: np.pad(x, [(1, 0)] * x.ndim) if x.ndim else x,
    lambda x: np.broadcast_to(x, (2, *x.shape)),
    lambda x: x[..., ::2] if x.ndim else x,
    lambda x: x @ x.T if x.ndim == 2 else x,
    lambda x: np.take(x, np.array([0, -1, 0]), axis=0) if x.ndim and x.shape[0] else x,
    lambda x: np.roll(x, 1, axis=0) if x.ndim and x.shape[0] else x,
    lambda x: np.prod(x, axis=-1) if x.ndim else x,
]


@st.composite
def programs(
    draw: Any, more: tuple[Callable[[Any], Any], ...] = ()
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of one or two arrays built from a list of steps, and its arguments; `more` are
    steps of one array beside those of all programs."""
    shaping = [*SHAPING, *more]
    count = draw(st.integers(1, 2))
    shapes = [draw(st.sampled_from(SHAPES)) for _ in range(count)]
    dtype = draw(st.sampled_from([np.float64, np.float64, np.float64, np.float32]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    args = tuple(np.asarray(rng.uniform(-1.5, 1.5, size=s), dtype) for s in shapes)
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from("ubs"),
                st.integers(0, 1000),
                st.integers(0, 1000),
                st.integers(0, 1000),
            ),
            min_size=1,
            max_size=8,
        )
    )
    many = draw(st.booleans())

    def program(*xs: Any) -> Any:
        values = list(xs)
        for kind, op, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            if kind == "u":
                new = UNARY[op % len(UNARY)](a)
            elif kind == "b":
                try:
                    np.broadcast_shapes(a.shape, b.shape)
                except ValueError:
                    b = a
                new = BINARY[op % len(BINARY)](a, b)
            else:
                new = shaping[op % len(shaping)](a)
            if new.ndim <= 4 and np.prod(new.shape) <= 400:
                values.append(new)
        return tuple(values[-2:]) if many else values[-1]

    return program, args


def objective(program: Callable[..., Any]) -> Callable[..., Any]:
    def total(*xs: Any) -> Any:
        outs = program(*xs)
        return sum(np.sum(np.tanh(o)) for o in (outs if isinstance(outs, tuple) else (outs,)))

    return total


def tolerance(args: tuple[Any, ...]) -> float:
    return 3e-11 if args[0].dtype == np.float64 else 1e-9


def pytest_generate(config: Any) -> int:
    return int(config.getoption("--soak"))


COMMON = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "derandomize": True,
    "database": None,
}


def optimized(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Graph, list[Any]]:
    """The optimized graph of a call, and its inputs: the arguments, then what the trace captured
    (index arrays)."""
    entry = tg.jit(function)._entry(args, {})[0]
    return optimize(entry.graph), [*args, *entry.traced.captures]


def check_unjitted(program: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        expected = program(*args)
        graph, operands = optimized(
            tg.value_and_grad(objective(program), argnums=tuple(range(len(args)))), args
        )
        value, gradients = tg.value_and_grad(objective(program), argnums=tuple(range(len(args))))(
            *args
        )
        again = verify(parse_graph(str(graph), OPS_BY_NAME))
        for outs in (evaluate(again, operands), run_unjitted(graph, operands)):
            assert_same(tuple(outs), (value, *gradients), tolerance(args), floor=1e-14)
        primal, operands = optimized(program, args)
        assert_same(tuple(run_unjitted(primal, operands)), expected, tolerance(args))


def check_compiled(program: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        both = tg.value_and_grad(objective(program), argnums=tuple(range(len(args))))
        value, gradients = both(*args)
        found, compiled = tg.jit(both)(*args)
        # `1 - tanh(x) ** 2` where that is some 1e-10.
        assert_same((found, *compiled), (value, *gradients), tolerance(args), floor=1e-14)


def larger(x: Any) -> Any:
    """The same array with each axis twice as long, but those of length 1."""
    for axis, size in enumerate(x.shape):
        x = np.concatenate([x, x * 0.75], axis=axis) if size > 1 else x
    return x


def check_further(program: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """A second size of the same functions, whose graphs are for all sizes where that can be, and
    Hessian products of both sizes."""
    total, places = objective(program), tuple(range(len(args)))
    both = tg.value_and_grad(total, argnums=places)

    def product(*xs: Any) -> Any:
        tangents = tuple(np.cos(x) for x in xs)
        return tg.jvp(lambda *ys: tg.grad(total, argnums=places)(*ys), xs, tangents)[1]

    with np.errstate(all="ignore"):
        for function in (both, product):
            jitted = tg.jit(function)
            for given in (args, tuple(map(larger, args))):
                entry = jitted._entry(given, {})[0]
                operands = [*given, *entry.traced.captures]
                found = run_unjitted(optimize(entry.graph), operands)
                value, *gradients = function(*given)
                expected = (value, *gradients[0]) if function is both else (value, *gradients)
                assert_same(tuple(found), expected, 100 * tolerance(args), floor=1e-12)


@settings(max_examples=250, **COMMON)  # type: ignore[arg-type]
@given(programs())
def test_unjitted_programs(case: Any) -> None:
    check_unjitted(*case)


@settings(max_examples=60, **COMMON)  # type: ignore[arg-type]
@given(programs())
def test_compiled_programs(case: Any) -> None:
    check_compiled(*case)


def test_soak(request: Any) -> None:
    count = request.config.getoption("--soak")
    if not count:
        pytest.skip("give --soak N for N further random programs")

    def check(case: Any) -> None:
        check_unjitted(*case)
        check_further(*case)

    settings(max_examples=count, **{**COMMON, "derandomize": False})(given(programs())(check))()
