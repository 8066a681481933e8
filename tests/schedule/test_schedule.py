"""Generated kernels against the operations they were made from, un-jitted and compiled, and the
shape of the generated loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad._codegen import kernel, traversal
from tracegrad.ir.evaluate import evaluate
from tracegrad.schedule import schedule
from tracegrad.schedule.bounds import at_most, nonnegative, reshape_index
from tracegrad.transforms.rewrite import optimize

RNG = np.random.default_rng(0)
X, A, B = RNG.normal(size=7), RNG.normal(size=(4, 5)), RNG.normal(size=(5, 4))
POINTS = RNG.uniform(0, 10, size=(6, 3))


def rosenbrock(x: Any) -> Any:
    return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)


def softmax(a: Any) -> Any:
    e = np.exp(a - np.max(a, 1, keepdims=True))
    return e / np.sum(e, 1, keepdims=True)


def lennard_jones(p: Any) -> Any:
    d = p[:, None, :] - p[None, :, :]
    r2 = np.sum(d * d, -1) + 1.5
    inverse = 1 / r2**3
    return np.sum(inverse * inverse - inverse)


def logsumexp(x: Any) -> Any:
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def running(x: Any) -> Any:
    return tg.scan(lambda c, v: (c * 0.5 + np.sin(v), c * v), np.float64(0.1), x)


def recurrent(w: Any, x: Any) -> Any:
    return tg.scan(lambda c, _: (np.tanh(w @ c), c), x, None, length=5)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum": (lambda x: np.sum(np.sin(x) ** 2), (X,)),
    "rosenbrock": (tg.value_and_grad(rosenbrock), (X,)),
    "rosenbrock in blocks": (tg.value_and_grad(rosenbrock), (RNG.normal(size=20000),)),
    "rosenbrock Hessian": (tg.hessian(rosenbrock), (X,)),
    "softmax": (softmax, (A,)),
    "softmax gradient": (tg.grad(lambda a: np.sum(softmax(a)[:, 0] ** 2)), (A,)),
    "pairs": (tg.value_and_grad(lennard_jones), (POINTS,)),
    "log sum exp": (tg.value_and_grad(logsumexp), (RNG.normal(size=9000),)),
    "concatenate": (
        lambda x, a: (
            np.concatenate([x, a[0], x * 2]),
            np.concatenate([a, a * 2], 0),
            np.concatenate([a, a * 3], 1),
        ),
        (X, A),
    ),
    "steps": (lambda x: (x[::2], x[::-1], x[1:6:3]), (X,)),
    "adjoint of steps": (
        tg.grad(lambda x: np.sum(x[::2] ** 2) + np.sum(x[::-1] ** 3) + np.sum(x[5:0:-2] ** 2)),
        (X,),
    ),
    "sums": (lambda a: (np.sum(a, 0), np.sum(a, 1), np.sum(a), np.sum(a, 1, keepdims=True)), (A,)),
    "sums in blocks": (
        lambda a: (np.sum(a, 0), np.sum(a * a, 1), np.sum(a), np.max(a, 0)),
        (RNG.normal(size=(300, 50)),),
    ),
    "reshape": (
        lambda a: (
            np.reshape(a, -1),
            np.reshape(a * 2, (2, 10)),
            np.reshape(a.T, -1),
            np.sum(np.reshape(a, (2, 2, 5)), 1),
        ),
        (A,),
    ),
    "running sums": (lambda a: (np.cumsum(a, 0), np.cumsum(a, 1), np.cumsum(a)), (A,)),
    "positions": (lambda a: (np.argmax(a, 0), np.argmin(a, 1), np.argmax(a)), (A,)),
    "gather": (lambda a, i: (a[i], a[:, i % 3], a[i, i]), (A, np.array([1, -1, 2]))),
    "scatter": (
        lambda a, i: tg.grad(lambda a: np.sum(a[i] ** 2) + np.sum(a[i, i] ** 3))(a),
        (A, np.array([1, -1, 2, 1])),
    ),
    "the same output twice": (lambda x: (x, x, 1.0, x[0]), (X,)),
    "narrow integers": (
        lambda a: (a + a, a * 2, np.sum(a), np.max(a), a / 2, a // 3, a % 3),
        (np.array([1, 100, -7], np.int8),),
    ),
    "single precision": (
        lambda a: (a * 0.5, np.sin(a), np.sum(a), a + 1),
        (np.array([1, 100, -7], np.float32),),
    ),
    "booleans": (
        lambda a: (np.any(a > 0), np.all(a > 0, 0), np.sum(a > 0), np.where(a > 0, a, 0)),
        (A,),
    ),
    "empty": (
        lambda a: (a * 2, np.sum(a), np.sum(a, 0), np.concatenate([a, a])),
        (np.zeros((0, 3)),),
    ),
    "0-d": (lambda a, b: (a * b, np.exp(a) + b), (np.float64(2.0), np.ones(()))),
    "another layout": (lambda a: (a * 2, np.sum(a, 0), np.reshape(a, -1)), (np.asfortranarray(A),)),
    "complex": (lambda a: (a * a, np.abs(a), np.sum(a), a.real), (np.array([1 + 2j, 3 - 1j]),)),
    "products": (lambda a, b: (a @ b, a.T @ a, (a * 2) @ b.T.T, a @ a.T), (A, B)),
    "products of another layout": (
        lambda a, b: (a @ b, a.T @ a),
        (np.asfortranarray(A), B[:, ::-1]),
    ),
    "gradient of products": (
        lambda a, b: tg.grad(lambda a, b: np.sum(np.tanh(a @ b) ** 2), (0, 1))(a, b),
        (A, B),
    ),
    "scan": (running, (X,)),
    "adjoint of scan": (tg.grad(lambda x: running(x)[0] + np.sum(running(x)[1])), (X,)),
    "adjoint of a scan of products": (
        tg.grad(lambda w, x: np.sum(recurrent(w, x)[1] ** 2), (0, 1)),
        (A @ B, A[:, 0]),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_generated_source_runs_unjitted(name: str) -> None:
    function, args = PROGRAMS[name]
    graph = optimize(tg.jit(function).graphs(*args)[0])
    with np.errstate(all="ignore"):
        expected = evaluate(graph, [np.asarray(a) for a in args])
        for want, got in zip(expected, run_unjitted(graph, args), strict=True):
            assert np.asarray(want).dtype == got.dtype
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_generated_source_compiled(name: str) -> None:
    function, args = PROGRAMS[name]
    jitted = tg.jit(function)
    graph = optimize(jitted.graphs(*args)[0])
    expected = evaluate(graph, [np.asarray(a) for a in args])
    found = jitted(*args)
    for want, got in zip(expected, found if isinstance(found, tuple) else (found,), strict=True):
        np.testing.assert_allclose(
            got, want, rtol=1e-6 if np.asarray(want).dtype == np.float32 else 1e-10, atol=1e-12
        )


def test_sizes_that_changed_keep_one_program() -> None:
    jitted = tg.jit(tg.value_and_grad(rosenbrock))
    for n in (5, 9, 30000, 8192, 8193, 3):
        x = RNG.normal(size=n)
        value, gradient = jitted(x)
        want, slope = tg.value_and_grad(rosenbrock)(x)
        np.testing.assert_allclose(value, want, rtol=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-10)


def program_of(function: Callable[..., Any], *args: Any) -> kernel.Program:
    return schedule(optimize(tg.jit(function).graphs(*args)[0]), ("C",) * len(args))


def depth(body: tuple[kernel.Statement, ...]) -> int:
    return max((1 + depth(s.body) for s in body if isinstance(s, kernel.Loop)), default=0)


def test_value_and_gradient_read_the_input_once() -> None:
    program = program_of(tg.value_and_grad(rosenbrock), np.zeros(100_000))
    assert [p.kind for p in program.phases] == ["parallel", "serial"]
    assert [b.shape for b in program.buffers if b.role == "temp"] == [(13,)]


def test_pairs_are_never_stored() -> None:
    program = program_of(tg.value_and_grad(lennard_jones), np.zeros((1000, 3)))
    assert all(np.prod(b.shape) <= 3000 for b in program.buffers if b.role == "temp")
    assert max(depth(p.body) for p in program.phases) == 3


def nearest(centres: Any, points: Any) -> Any:
    return np.sum(np.min(np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2), axis=1))


def test_what_is_symmetric_in_a_pair_is_computed_once() -> None:
    """The sums over the first and over the second particle meet in one loop; |x - y| and |y - x|
    are one number there."""

    def energy(x: Any) -> Any:
        return np.sum(np.exp(-((x[:, None] - x[None, :]) ** 2)))

    x = np.random.default_rng(0).normal(size=300)
    f = tg.jit(tg.grad(energy))
    assert f.source(x).rpartition('"""')[2].count(" = exp(") == 1
    d = x[:, None] - x
    np.testing.assert_allclose(f(x), -4 * np.sum(d * np.exp(-(d**2)), axis=1), rtol=1e-12)


def occurrences(f: Callable[..., Any], x: Any, text: str) -> int:
    return tg.jit(f).source(x).split('"""')[-1].count(text)


@pytest.mark.parametrize("n", [14, 5000])
def test_pieces_of_an_array_share_what_they_are_made_of(n: int) -> None:
    """Each piece is written by a loop of its own, as is a gradient of several slices."""

    def layers(x: Any) -> Any:
        y = np.exp(np.sin(x) + x)
        return np.stack([y, y * x, y + 1.0])

    x = np.linspace(0.1, 1.0, n)
    assert [occurrences(layers, x, f"= {name}(") for name in ("sin", "exp")] == [1, 1]
    np.testing.assert_allclose(tg.jit(layers)(x), layers(x), rtol=1e-14)
    # The adjoint of a slice takes elements elsewhere, however it is reshaped on the way: the sine
    # of u is computed once.
    w = np.linspace(0.1, 1.0, 2 * n).reshape(2, n)
    gradient = tg.grad(lambda w: np.sum(np.cos(w[0] * w[1] + np.sqrt(w[0]))))
    assert occurrences(gradient, w, "= sin(") == 1
    np.testing.assert_allclose(tg.jit(gradient)(w), gradient(w), rtol=1e-13)


@pytest.mark.parametrize(("n", "times"), [(100, 1), (100_000, 1), (3_000_000, 2)])
def test_what_a_later_loop_reads_is_stored_where_memory_is_near(n: int, times: int) -> None:
    x = np.linspace(0.1, 1.0, n)
    assert occurrences(lambda x: np.exp(x) / np.sum(np.exp(x)), x, "= exp(") == times


def test_equal_expressions_are_named_once_but_accumulators_are_read_anew() -> None:
    """The running maximum is part of two expressions that look the same and are not."""

    def f(x: Any) -> Any:
        return np.exp(x - np.max(x, axis=1, keepdims=True)), x + 0.0 * x, x + (-0.0) * x

    x = np.random.default_rng(0).normal(size=(7, 5))
    x[0, 0] = -0.0
    for found, expected in zip(tg.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_short_trailing_axes_lie_across_memory_where_loops_run_along_the_axis_before() -> None:
    program = program_of(tg.grad(nearest), np.zeros((100, 8)), np.zeros((3000, 8)))
    shapes = {b.name: b.shape for b in program.buffers if b.role == "temp"}
    # Rows are whole lines of memory.
    assert shapes["centres_packed"] == (8, 104)
    assert not any(name.startswith("points") for name in shapes)
    assert [s[-2:] for s in shapes.values() if len(s) == 3] == [(8, 104)]


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 9])
@pytest.mark.parametrize("sizes", [(3, 4), (40, 70)])
def test_short_trailing_axes_give_the_same_values(d: int, sizes: tuple[int, int]) -> None:
    centres, points = RNG.normal(size=(sizes[0], d)), RNG.normal(size=(sizes[1], d))
    strided = np.asfortranarray(centres)
    for f in (
        nearest,
        tg.grad(nearest),
        lambda c, p: tg.hvp(lambda c: nearest(c, p), (c,), (c + 1.0,)),
    ):
        expected = f(centres, points)
        np.testing.assert_allclose(tg.jit(f)(centres, points), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(tg.jit(f)(strided, points), expected, rtol=1e-12, atol=1e-12)


def test_short_axis_of_what_a_routine_reads_stays_in_place() -> None:
    def f(x: Any, a: Any) -> Any:
        d = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=0)
        return np.linalg.solve(a, d.T) + d.sum()

    x, a = RNG.normal(size=(30, 3)), RNG.normal(size=(3, 3)) + 4 * np.eye(3)
    np.testing.assert_allclose(tg.jit(f)(x, a), f(x, a), rtol=1e-12)


def test_rows_of_softmax_share_a_loop() -> None:
    program = program_of(softmax, np.zeros((200, 300)))
    (phase,) = program.phases
    assert phase.kind == "parallel"
    assert len(phase.body) == 1


def test_out_of_range_indices_set_the_status() -> None:
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 7"):
        tg.jit(lambda x, i: x[i])(X, np.array([0, 9]))


def test_bounds() -> None:
    from_one, n = tg._codegen.integers.symbol("i"), tg._codegen.integers.symbol("n")
    ranges = {"i": (1, n - 1)}
    assert nonnegative(from_one - 1, ranges)
    assert nonnegative(n - 2 - from_one, ranges)
    assert not nonnegative(n - 3 - from_one, ranges)
    assert at_most(1, n - 1)
    assert not at_most(3, n)


def test_reshape_index_divides_only_where_it_must() -> None:
    i, j = tg._codegen.integers.symbol("i"), tg._codegen.integers.symbol("j")
    assert reshape_index((i, j), (12,), (3, 4), {}) == (4 * i + j,)
    assert reshape_index((4 * i + j,), (3, 4), (12,), {"i": (0, 3), "j": (0, 4)}) == (i, j)
    assert reshape_index((i, 0, j), (3, 4), (3, 1, 4), {}) == (i, j)


# --- memory order ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a.sum(0),
        lambda a: np.max(a, axis=1),
        lambda a: a @ a.T,
        lambda a: np.linalg.solve(a.T @ a, a.T),
        lambda a: a.reshape(-1) * 2,
        lambda a: np.cumsum(a, axis=1)[:, ::-1] + a[::1, :1],
        lambda a: np.sort(a, axis=0),
        tg.grad(lambda a: np.sum(np.exp(a.T @ a / 9) * a[0])),
    ],
)
def test_memory_order_of_an_input_does_not_change_the_result(f: Callable[..., Any]) -> None:
    jitted = tg.jit(f)
    base = RNG.normal(size=(12, 4))
    for a in (
        base,
        np.asfortranarray(base),
        np.repeat(base, 2, axis=0)[::2],
        np.asfortranarray(base)[::-1],
        base.T.copy().T,
    ):
        expected = f(base if a[0, 0] == base[0, 0] else base[::-1])
        np.testing.assert_allclose(jitted(a), expected, rtol=1e-9, atol=1e-12)
    for n in (9, 10, 11):
        taller = np.asfortranarray(RNG.normal(size=(n, 4)))
        np.testing.assert_allclose(jitted(taller), f(taller), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("columns", [3, 5, 6, 7, 8])
def test_totals_of_few_columns_stay_in_registers(columns: int) -> None:
    """A loop over rows, and none within it; nothing is added up in memory."""
    graph = optimize(tg.jit(lambda a: np.sum(a * a, axis=0)).graphs(np.zeros((300, columns)))[0])
    program = schedule(graph, ("C",))
    loops: list[kernel.Loop] = []
    added: list[kernel.Store] = []

    def look(s: kernel.Statement) -> None:
        if isinstance(s, kernel.Loop):
            loops.append(s)
        if isinstance(s, kernel.Store) and s.combine is not None:
            added.append(s)

    for phase in program.phases:
        kernel.walk(phase.body, look)
    assert len(loops) == 1
    assert not added


def test_fortran_order_runs_along_memory() -> None:
    graph = optimize(tg.jit(lambda a: np.sum(a * 2.0, axis=0)).graphs(np.zeros((300, 9)))[0])
    program = schedule(graph, ("F",))
    (source,) = (b for b in program.buffers if b.role == "in")
    assert source.shape == (9, 300)
    loops: list[kernel.Loop] = []
    kernel.walk(
        program.phases[0].body, lambda s: loops.append(s) if isinstance(s, kernel.Loop) else None
    )
    assert [(loop.hi, loop.sequential) for loop in loops] == [(9, False), (300, True)]


@pytest.mark.parametrize(
    "x",
    [
        np.array([[1.0, 5, 2, 5], [3, 3, 1, 0]]),
        np.array([[1, np.nan, 2, np.nan], [np.inf, -np.inf, 1, 0]]),
        np.array([[3, 1, 3]]),
    ],
)
def test_positions_of_extremes(x: Any) -> None:
    for axis in (0, 1, None):
        for f in (np.argmax, np.argmin):
            np.testing.assert_array_equal(
                tg.jit(lambda a, f=f, axis=axis: f(a, axis))(x), f(x, axis)
            )


def test_bodies_of_loops_are_optimized_too() -> None:
    def step(c: Any, x: Any) -> Any:
        return tg.jit(lambda z: np.sin(z) * 1.0)(c) + x + np.sin(c), x

    f = tg.jit(lambda x: tg.scan(step, 0.0, x)[0])
    x = RNG.normal(size=5)
    (node,) = (n for n in f.graphs(x)[1].nodes if n.op.name == "scan")
    assert [n.op.name for n in node.params["body"].nodes].count("sin") == 1
    assert f(x) == pytest.approx(tg.scan(step, 0.0, x)[0], rel=1e-14)


def test_a_function_is_kept_for_a_later_loop_and_ten_additions_are_not() -> None:
    program = program_of(tg.hessian(rosenbrock), np.zeros(100))
    assert not [b for b in program.buffers if b.role == "temp"]
    shifted = lambda x: np.sin(x)[1:] * np.sin(x)[:-1]  # noqa: E731
    program = program_of(shifted, np.zeros(5000))
    assert [b.shape for b in program.buffers if b.role == "temp"] == [(5000,)]


# --- tiles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(128, 128), (129, 200), (200, 131)])
@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a + b.T,
        lambda a, b: np.sum(a * b.T),
        lambda a, b: (a - b.T, a * 2.0, np.sum(b.T * a)),
        lambda a, b: a[1:, ::-1] * b.T[:-1] + a[0],
        tg.grad(lambda a, b: np.sum(np.sin(a * b.T))),
    ],
)
def test_tiled_loops_give_the_same_values(f: Callable[..., Any], shape: tuple[int, int]) -> None:
    a, b = RNG.normal(size=shape), RNG.normal(size=shape[::-1])
    found_all, expected_all = tg.jit(f)(a, b), f(a, b)
    pairs = (
        zip(found_all, expected_all, strict=True)
        if isinstance(expected_all, tuple)
        else [(found_all, expected_all)]
    )
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_loops_across_memory_are_tiled_and_others_are_not() -> None:
    a = np.zeros((200, 200))
    assert depth(program_of(lambda a: a + a.T, a).phases[0].body) == 4
    assert depth(program_of(lambda a: a + 1.0, a).phases[0].body) == 2
    assert depth(program_of(lambda a: a.T + a.T, a).phases[0].body) == 4
    assert depth(program_of(lambda a: np.cumsum(a, axis=1) + a, a).phases[0].body) == 2


# --- one pass over large data ---------------------------------------------------------------------


def logistic(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.logaddexp(0, -y * (x @ w)))


def test_large_matrix_is_read_once_for_value_and_gradient() -> None:
    x = np.zeros((1 << 16, 32))
    program = program_of(tg.value_and_grad(logistic), np.zeros(32), x, np.zeros(1 << 16))
    reading = [k for k, p in enumerate(program.phases) if "x" in traversal.mentioned(p.body)]
    assert len(reading) == 1
    small = program_of(tg.value_and_grad(logistic), np.zeros(32), x[:500], np.zeros(500))
    routines: list[str] = []
    for p in small.phases:
        kernel.walk(
            p.body, lambda s: routines.append(s.routine) if isinstance(s, kernel.Call) else None
        )
    assert routines == ["library.matmul"] * 2, "what fits the cache is multiplied by the library"


def test_large_matrix_read_once_gives_the_same_derivatives() -> None:
    n, d = 1 << 16, 33
    x, y, w = RNG.normal(size=(n, d)), RNG.choice([-1.0, 1.0], n), RNG.normal(size=d) / d
    for a in (x, np.asfortranarray(x)):
        value, gradient = tg.jit(tg.value_and_grad(logistic))(w, a, y)
        s = 1 / (1 + np.exp(y * (x @ w)))
        assert value == pytest.approx(logistic(w, x, y), rel=1e-13)
        np.testing.assert_allclose(gradient, -(x.T @ (s * y)) / n, rtol=1e-11, atol=1e-15)


def test_what_a_row_takes_vectorises_between_the_inner_loops() -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum(np.log1p(np.exp(np.sum(x * w, axis=1))))

    program = program_of(tg.value_and_grad(f), np.zeros(40), np.zeros((3000, 40)))
    (block,) = program.phases[0].body
    assert isinstance(block, kernel.Loop)
    assert [depth((s,)) for s in block.body if isinstance(s, kernel.Loop)] == [2, 1, 1, 2]
    w, x = RNG.normal(size=40) / 9, RNG.normal(size=(3000, 40))
    value, gradient = tg.jit(tg.value_and_grad(f))(w, x)
    assert value == pytest.approx(f(w, x), rel=1e-13)
    np.testing.assert_allclose(gradient, x.T @ (1 / (1 + np.exp(-x @ w))), rtol=1e-11)
