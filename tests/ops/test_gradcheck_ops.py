"""gradcheck and gradgradcheck of every differentiable operation: eager, as a traced graph, as
generated source and compiled; reverse and forward mode.

The rows of the op table (tests/cases) are the functions. Their derivatives are compared with
differences in `fast_mode`: products with random vectors, and where these differ the whole
Jacobians.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cases import Case, half, mostly
from tests.checks import as_tuple, floating, sampled
from tests.ops.test_ops import CASES, rng_for
from tracegrad.autograd import gradcheck, gradgradcheck
from tracegrad.autograd.function import once_differentiable
from tracegrad.ir import upward
from tracegrad.ir.evaluate import evaluate
from tracegrad.registry import ALL_OPS
from tracegrad.tape.hooks import boxed

ROWS = [case for case in CASES if case.order >= 2]
PIECEWISE_CONSTANT = {"ceil", "floor", "floor_divide", "rint", "sign", "trunc", "half_turn"}
"""Their rules say that the derivative is zero: see test_zero_derivatives, and test_angle for
half_turn (the angle of a real number)."""
WITH_A_GRAPH = {"call", "custom_function", "custom_jvp", "custom_vjp", "implicit"}
"""They stand above the op table, since their parameter is a function of the user's: see
test_operations_with_a_graph."""
NOT_BY_THE_NUMBERS = {"once_differentiable", "overwritten", "check", "show", "host"}
"""The first refuses second derivatives (test_once_differentiable); the second stands for a write
that was not recorded: its rule follows the history of the value before, whatever the new numbers
depend on; then two have no result, and steps of Python are tested in tests/scale."""
DIFFERENTIABLE = {op.name for op in ALL_OPS if op.vjp is not None}


def one_row_per_operation() -> list[Case]:
    """The first row of each operation."""
    found: dict[str, Case] = {}
    for case in ROWS:
        for name in case.ops:
            found.setdefault(name, case)
    return list({case.name: case for case in found.values()}.values())


FIRST = one_row_per_operation()
GROUPS = [FIRST[k : k + 12] for k in range(0, len(FIRST), 12)]
"""Several rows to a compiled function: compiling twelve takes little longer than compiling one."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are run operation by operation: what a compiled function derives, without the time to
    compile it."""
    monkeypatch.setattr(
        upward.COMPILER,
        "run",
        lambda graph, arrays: [np.asarray(x) for x in evaluate(graph, arrays)],
    )


def on_tensors(cases: Sequence[Case]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The functions of the rows as one function of Tensors (inside it they are values with NumPy's
    methods), and its arguments."""
    inputs = [case.inputs(rng_for(case)) for case in cases]
    wanted = [floating(arrays, case.wrt) for case, arrays in zip(cases, inputs, strict=True)]

    def function(*tensors: Any) -> Any:
        rest, results = iter(tensors), []
        for case, arrays, places in zip(cases, inputs, wanted, strict=True):
            full = [boxed(tg.Array, next(rest)) if k in places else a for k, a in enumerate(arrays)]
            results += [boxed(tg.Tensor, o) for o in as_tuple(case.function(*full))]
        return tuple(results)

    arguments = [
        np.asarray(arrays[k]) for arrays, places in zip(inputs, wanted, strict=True) for k in places
    ]
    return function, tuple([tg.Tensor(a, requires_grad=True) for a in arguments])


def check(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    forward_over_reverse: bool = True,
    batched: bool = False,
) -> None:
    """First derivatives in both modes, second ones by reverse over reverse and forward over
    reverse, gradients of the inputs' dtypes."""
    batches = {"check_batched_grad": batched, "check_batched_forward_grad": batched}
    assert gradcheck(
        function,
        arguments,
        fast_mode=True,
        check_forward_ad=True,
        check_grad_dtypes=True,
        **batches,
    )
    assert gradgradcheck(
        function,
        arguments,
        fast_mode=True,
        check_fwd_over_rev=forward_over_reverse,
        check_grad_dtypes=True,
    )


def test_every_differentiable_operation_is_covered() -> None:
    """By a row of the table, or by name in one of the sets above."""
    covered = {name for case in ROWS for name in case.ops}
    assert DIFFERENTIABLE - covered == PIECEWISE_CONSTANT | WITH_A_GRAPH | NOT_BY_THE_NUMBERS
    assert len(DIFFERENTIABLE) > 115


@pytest.mark.parametrize("case", mostly(ROWS, 8), ids=lambda case: case.name)
def test_eager(case: Case) -> None:
    """Of a row for each operation, and one in eight of the others: test_ops has the first
    derivatives of all against differences."""
    check(*on_tensors([case]), batched=case in FIRST)


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("case", half(ROWS, 20), ids=lambda case: case.name)
def test_as_a_graph(case: Case) -> None:
    """Of every other row that is the first of an operation, and one in forty of the others."""
    function, arguments = on_tensors([case])
    check(tg.jit(function), arguments, forward_over_reverse=case in FIRST)


def flat(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Callable[..., Any], Any]:
    """The function as one of a single vector to a single vector, so that there is one graph to
    derive and compile per order and mode."""
    kinds = [(a.shape, a.dtype.kind == "c", int(a.numel())) for a in arguments]

    def of_vector(v: Any) -> Any:
        args, start = [], 0
        for shape, is_complex, size in kinds:
            x = v[start : start + size]
            start += size
            if is_complex:
                x = x + 1j * v[start : start + size]
                start += size
            args.append(x.reshape(shape))
        outs = [o.reshape(-1) for o in function(*args) if o.dtype.kind in "fc"]
        return tg.concatenate(
            [part for o in outs for part in ((o.real, o.imag) if o.dtype.kind == "c" else (o,))]
        )

    numbers = [np.ravel(a.detach().numpy()) for a in arguments]
    whole = np.concatenate(
        [part for x in numbers for part in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    )
    return of_vector, tg.tensor(whole, requires_grad=True)


@pytest.mark.parametrize(
    "cases",
    sampled(GROUPS, lambda cases: GROUPS.index(cases) % 4 == 0),
    ids=lambda cases: cases[0].name,
)
def test_compiled(cases: list[Case]) -> None:
    """Of one group in four: test_as_source has half of all, and compiled code of first derivatives
    is compared with eager ones in test_ops."""
    function, argument = flat(*on_tensors(cases))
    check(tg.jit(function), (argument,), forward_over_reverse=False)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize(
    "cases",
    sampled([g for k, g in enumerate(GROUPS) if k % 4], lambda cases: GROUPS.index(cases) % 4 != 2),
    ids=lambda cases: cases[0].name,
)
def test_as_source(cases: list[Case]) -> None:
    """By the generated source of the derivatives of half of all, which CPython runs."""
    function, argument = flat(*on_tensors(cases))
    check(tg.jit(function), (argument,), forward_over_reverse=False)


@pytest.mark.parametrize("name", sorted(PIECEWISE_CONSTANT - {"half_turn", "floor_divide"}))
def test_zero_derivatives(name: str) -> None:
    """Where a result has no derivative by its rule it does not change with the input, and what is
    multiplied by it counts it as constant."""
    function = getattr(tg.ops, name)
    x = tg.tensor([0.3, -1.6, 2.7], requires_grad=True)
    assert not function(x).requires_grad
    for f in (lambda x: function(x), tg.jit(lambda x: function(x))):
        assert gradcheck(f, x)
    check(lambda x: function(x) * x, (x,))
    y = tg.tensor([0.7, 0.45, -0.8], requires_grad=True)
    check(lambda x, y: tg.ops.floor_divide(x, y) * x * y, (x, y))


def test_angle() -> None:
    """The angle of a real number is a step, that of a complex number is not."""
    x = tg.tensor([0.3, -1.6], requires_grad=True)
    check(lambda x: tg.ops.angle(x) * x, (x,))
    z = tg.tensor([0.3 + 1j, -1.6 - 0.5j], requires_grad=True)
    check(lambda z: tg.ops.angle(z), (z,))


@tg.custom_vjp
def with_vjp(x: Any) -> Any:
    return x**3


with_vjp.defvjp(lambda x: (x**3, x), lambda x, ct: (3 * x * x * ct,))


@tg.custom_jvp
def with_jvp(x: Any) -> Any:
    return x**3


with_jvp.defjvp(lambda primals, tangents: (primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0]))


class Cube(tg.autograd.Function):
    """x^3, with rules for both modes."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x * ct

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x * t


GRAPHS: dict[str, tuple[Callable[..., Any], bool]] = {
    "call": (tg.jit(lambda x: np.sin(x) * x), True),
    "custom_function": (Cube.apply, True),
    "custom_jvp": (lambda x: with_jvp(x) * x, True),
    "custom_vjp": (lambda x: with_vjp(x) * x, False),
    "identity": (lambda x: tg.tensor(2.0) * x.sum(), True),
    "implicit": (lambda x: tg.root(lambda y: y + y**3 - x, np.zeros(3)) * x, True),
}


@pytest.mark.parametrize("name", sorted(WITH_A_GRAPH))
def test_operations_with_a_graph(name: str) -> None:
    """Eager and jitted; a function with a rule for reverse mode alone has no forward mode."""
    function, forward = GRAPHS[name]
    x = tg.tensor([0.3, -1.6, 2.7], requires_grad=True)
    for f in (function, tg.jit(function)):
        assert gradcheck(f, x, check_forward_ad=forward, check_grad_dtypes=True)
        assert gradgradcheck(f, x, check_fwd_over_rev=forward)


def test_once_differentiable() -> None:
    """First derivatives pass, second ones do not: where they are asked for by the graph's own
    inputs, the refusal says why."""

    class Square(Cube):
        @staticmethod
        @once_differentiable
        def backward(ctx: Any, ct: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * ct

    x = tg.tensor([0.3, -1.6], requires_grad=True)
    for f in (Square.apply, tg.jit(Square.apply)):
        assert gradcheck(f, x)
        with pytest.raises(RuntimeError, match=r"differentiate twice|Jacobian mismatch"):
            gradgradcheck(f, x)
