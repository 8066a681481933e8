"""The one pass from syntax trees to LLVM code: the same results as Python, and nothing left to
Numba's front end by accident."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import types
from tracegrad.codegen.disk import sources
from tracegrad.codegen.native import support
from tracegrad.codegen.native.bridge import implements
from tracegrad.codegen.native.compile import FLAGS, compile_source
from tracegrad.codegen.native.scalar import exp
from tracegrad.codegen.native.support import acc, index
from tracegrad.codegen.translation import direct, unit

import tracegrad as tg

VECTOR, NUMBERS = types.float64[::1], types.int64[::1]


def compiled(function: Callable[..., Any], *kinds: Any) -> Any:
    return numba.njit(types.void(*kinds), pipeline_class=direct.KernelCompiler, **FLAGS)(function)


@pytest.fixture
def fallbacks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the one pass refused, whole kernels and functions called by them."""
    refused: list[str] = []
    original_lower, original_made = direct.Lowering.lower, unit.Unit._made

    def lower(self: Any) -> None:
        try:
            original_lower(self)
        except Exception as error:
            refused.append(str(error))
            raise

    def made(self: Any, function: Any, *args: Any) -> Any:
        try:
            return original_made(self, function, *args)
        except Exception as error:
            refused.append(f"{function.__qualname__}: {error}")
            raise

    monkeypatch.setattr(direct.Lowering, "lower", lower)
    monkeypatch.setattr(unit.Unit, "_made", made)
    return refused


def loops(x: Any, out: Any) -> None:
    for i in range(index(0), index(x.shape[0])):
        if x[i] < 0.0:
            continue
        if x[i] > 90.0:
            break
        out[0] += x[i]
    k = 0
    while k < 5:
        k += 2
    out[1] = k
    for i in range(10, 0, -3):
        out[2] = out[2] * 10.0 + i
    for j in range(3):
        last = j
    out[3] = last


def logic(x: Any, out: Any) -> None:
    n = len(x)
    for i in range(n):
        # The second part may only be evaluated where the first holds.
        if i > 0 and x[i - 1] < x[i] <= 4.0:
            out[0] += 1.0
        if not (i < 1 or x[i] == x[i - 1]):
            out[1] += 1.0
        out[2] += x[i] if x[i] > 1.0 else 0
    out[3] = x[-1]


def numbers(x: Any, out: Any) -> None:
    total = 0
    for i in range(len(x)):
        # The variable starts as an integer and must become a float.
        total = total + x[i]
    out[0] = total
    out[1] = min(3, max(1, len(x)), 9) ** 2
    out[2] = -7 // 2 + -7 % 3
    a, b = divided(7.5, 2.0)
    out[3] = a / b
    out[4] = np.float32(0.1)
    out[5] = 1.0 / 0.0
    out[6] = abs(-2.5)


def scratch(x: Any, out: Any, status: Any) -> None:
    """Arrays that are made anew, of another size, at each pass of a loop."""
    for i in range(2, 5):
        a = np.empty((index(i),), np.float64)
        b = np.empty((index(i),), np.float64)
        for j in range(i):
            a[j] = x[j] * i
            b[j] = 0.0
        for j in range(i):
            s = 0.0
            for k in range(i):
                t = x[k] * x[j]
                s = acc(s, t)
                b[k] = b[k] + t * a[j]
            a[j] = s
        for j in range(i):
            out[j] = out[j] + a[j] + b[j]


def divided(a: Any, b: Any) -> Any:
    return a // b, a - (a // b) * b


implements(divided)(lambda a, b: divided)


@pytest.mark.parametrize("function", [loops, logic, numbers], ids=lambda f: f.__name__)
def test_equals_python(function: Callable[..., Any], fallbacks: list[str]) -> None:
    x = np.array([3.0, -1.0, 2.0, 2.0, 4.0, 100.0, 7.0])
    found, expected = np.zeros(8), np.zeros(8)
    compiled(function, VECTOR, VECTOR)(x, found)
    scope = {**function.__globals__, "range": range}
    with np.errstate(divide="ignore"):
        exec(_text(function), scope)
        scope[function.__name__](x, expected)
    np.testing.assert_array_equal(found, expected)
    assert not fallbacks


def ratios(x: Any, out: Any) -> None:
    for i in range(index(0), index(x.shape[0])):
        out[i] = x[i] / (x[i] - x[1])


@pytest.mark.falls_back
@pytest.mark.parametrize("own", [True, False])
def test_what_may_raise_is_never_called(
    own: bool, fallbacks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba's complex quotient raises where the divisor is 0, and translated functions return no
    status: they take another one, and would leave the kernel to Numba rather than call that."""
    if not own:
        monkeypatch.setattr(direct, "QUOTIENTS", ())
        monkeypatch.setattr(direct.Context, "internal", {})
    x, found = np.array([1j, 2.0, 3.0]), np.zeros(3, complex)
    kernel = compiled(ratios, types.complex128[::1], types.complex128[::1])
    if own:
        with np.errstate(all="ignore"):
            expected = x / (x - x[1])
        kernel(x, found)
        np.testing.assert_array_equal(found, expected)
        assert not fallbacks
    else:
        assert any("may raise" in refused for refused in fallbacks)
        with pytest.raises(ZeroDivisionError):
            kernel(x, found)


def test_memory_made_in_loops_is_told_apart(fallbacks: list[str]) -> None:
    x, found, expected = np.linspace(0.5, 1.5, 6), np.zeros(6), np.zeros(6)
    compiled(scratch, VECTOR, VECTOR, NUMBERS)(x, found, np.zeros(2, np.int64))
    scratch(x, expected, None)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert not fallbacks


def _text(function: Callable[..., Any]) -> str:
    # Python refuses 1.0 / 0.0 of its own floats.
    return inspect.getsource(function).replace("1.0 / 0.0", "np.float64(1.0) / 0.0")


def bits_of(x: Any) -> Any:
    raise NotImplementedError


@implements(bits_of)
def _type_bits_of(x: Any) -> Any:
    def body(x: Any) -> Any:
        total, n = 0.0, np.int64(x)
        for k in range(6):
            for _ in range(2):
                total = total + (n >> k & 1)
        return total

    return body


def counted(x: Any, out: Any) -> None:
    for i in range(index(0), index(x.shape[0])):
        out[i] = bits_of(x[i])


def test_short_loops_of_scalar_functions_are_written_out(fallbacks: list[str]) -> None:
    """So that the loop around a call is vectorised: nothing else unrolls them (a sum of powers took
    20 times as long)."""
    kernel = compiled(counted, VECTOR, VECTOR)
    out = np.zeros(64)
    kernel(np.arange(64.0), out)
    np.testing.assert_array_equal(out, [2 * n.bit_count() for n in range(64)])
    text = kernel.inspect_llvm(kernel.signatures[0])
    assert " x double>" in text
    assert fallbacks == []


def rows_of_eight(x: Any, out: Any) -> None:
    for i in range(index(0), index(x.shape[0])):
        for j in range(index(0), index(8)):
            out[i] = out[i] + x[i] * j


def rows_of_ten(x: Any, out: Any) -> None:
    for i in range(index(0), index(x.shape[0])):
        for j in range(index(0), index(10)):
            out[i] = out[i] + x[i] * j


@pytest.mark.parametrize(("function", "wide"), [(rows_of_eight, True), (rows_of_ten, False)])
def test_short_loops_forbid_the_widest_registers(function: Any, wide: bool) -> None:
    """But not whole vectors of them: k-means copies rows of eight (1.15 times as long in half)."""
    kernel, out = compiled(function, VECTOR, VECTOR), np.zeros(64)
    kernel(np.arange(64.0), out)
    np.testing.assert_array_equal(out, np.arange(64.0) * (28 if wide else 45))
    assert ('"prefer-vector-width"="512"' in kernel.inspect_llvm(kernel.signatures[0])) is wide


def awaited(u: Any, step: Any, out: Any) -> None:
    """Whether a state is left depends on a function of it, which is written out here."""
    state = 0.0
    for i in range(index(0), index(u.shape[0])):
        new = state + step[i]
        if u[i] < exp(state - new * new):
            state = new
        out[i] = state


def not_awaited(u: Any, step: Any, out: Any) -> None:
    """What is chosen does not decide about the next choice."""
    state = 0.0
    for i in range(index(0), index(u.shape[0])):
        new = step[i]
        if u[i] < exp(-new):
            state = new
        out[i] = state


@pytest.mark.parametrize(("function", "branches"), [(awaited, True), (not_awaited, False)])
def test_a_choice_that_waits_for_a_function_stays_a_branch(
    function: Callable[..., None], branches: bool, fallbacks: list[str]
) -> None:
    """A processor guesses branches, not choices between two numbers: Metropolis took four times as
    long."""
    kernel = compiled(function, VECTOR, VECTOR, VECTOR)
    rng = np.random.default_rng(0)
    u, step = rng.uniform(size=300), rng.standard_normal(300)
    out, expected = np.zeros(300), np.zeros(300)
    kernel(u, step, out)
    function(u, step, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-15)
    assert 20 < np.count_nonzero(np.diff(out)) < 280
    text = kernel.inspect_llvm(kernel.signatures[0])
    assert ("i32 1048576" in text) == branches
    assert fallbacks == []


def test_constants_are_computed_without_warnings(fallbacks: list[str]) -> None:
    large = np.uint64(2**63 + 5)

    def folded(x: Any, out: Any) -> None:
        out[0] = np.float64(large * np.uint64(2))
        out[1] = np.float64(1.0) / np.float64(0.0)

    out = np.zeros(2)
    compiled(folded, VECTOR, VECTOR)(np.zeros(1), out)
    np.testing.assert_array_equal(out, [10.0, np.inf])
    assert fallbacks == []


def _clamped(x: Any) -> Any:
    if x < 0.0:
        return 0.0
    elif x > 1.0:
        return 1.0
    else:
        return x


implements(_clamped)(lambda x: _clamped)


def test_nothing_follows_branches_that_all_return(fallbacks: list[str]) -> None:
    def clamping(x: Any, out: Any) -> None:
        for i in range(index(0), index(x.shape[0])):
            out[i] = _clamped(x[i])

    out = np.zeros(3)
    compiled(clamping, VECTOR, VECTOR)(np.array([-2.0, 0.5, 3.0]), out)
    np.testing.assert_array_equal(out, [0.0, 0.5, 1.0])
    assert fallbacks == []


@pytest.mark.falls_back
def test_what_is_not_covered_goes_to_numba(fallbacks: list[str]) -> None:
    def sorting(x: Any, out: Any) -> None:
        out[:] = np.sort(x)

    out = np.zeros(3)
    compiled(sorting, VECTOR, VECTOR)(np.array([2.0, 3.0, 1.0]), out)
    np.testing.assert_array_equal(out, [1.0, 2.0, 3.0])
    assert fallbacks


@pytest.mark.falls_back
def test_a_printed_kernel_that_is_not_covered_gets_its_instructions(fallbacks: list[str]) -> None:
    """The one pass reads the tree of what is printed; for Numba's pipeline the function is made
    after all."""
    text = """import numpy as np
scale = 3.0


def program(x, out, arena, status, phase, lo, hi):
    for i in range(len(x)):
        out[i] = sorted([scale, x[i]])[0]
"""
    real = np.dtype(np.float64)
    made = compile_source(text, "program", [(real, 1, "C")], [(real, 1)], None)
    out = np.zeros(3)
    made.call(
        np.array([2.0, 5.0, -1.0]), out, np.zeros(0, np.uint8), np.zeros(2, np.int64), -1, 0, 0
    )
    np.testing.assert_array_equal(out, [2.0, 3.0, -1.0])
    assert fallbacks


def test_kernels_that_are_declared_together_keep_their_own_instructions() -> None:
    """As where threads compile at once; their signatures and names are the same."""
    text = "def kernel(x, out):\n    out[0] = x[0] {} 3.0\n"
    made = [sources.declared(text.format(sign), "kernel", {}, "<declared>") for sign in "+*"]
    out = np.zeros(1)
    for function, expected in zip(made, (5.0, 6.0), strict=True):
        compiled(function, VECTOR, VECTOR)(np.array([2.0]), out)
        assert out[0] == expected
    first = sources.tree_of(made[0].__code__)
    del made[1:], function
    assert sources.tree_of(made[0].__code__) is first


@pytest.mark.falls_back
def test_a_name_for_two_things_goes_to_numba(fallbacks: list[str]) -> None:
    def changing(x: Any, out: Any) -> None:
        for i in range(2):
            y = x[i]
            if i == 1:
                y = out
                y[0] = x[0]

    out = np.zeros(2)
    compiled(changing, VECTOR, VECTOR)(np.array([2.0, 3.0]), out)
    np.testing.assert_array_equal(out, [2.0, 0.0])
    assert fallbacks


def _inner(x: Any) -> Any:
    return tg.scan(lambda c, s: (c * np.cos(s) + s, c), x[0], x)[0]


PROGRAMS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x: np.sum(np.exp(-x) * np.sin(x) / np.sqrt(x) + np.log1p(x) * np.tanh(x)),
    "integers": lambda x: np.sum(x * (np.arange(6) % 4 // 2) ** 2),
    "complex": lambda x: np.sum(np.abs(np.exp(1j * x) * (x + 2j)) ** 2),
    "reductions": lambda x: (
        np.max(x) * np.prod(x) + np.min(x) + np.argmax(x) + np.sum(np.cumsum(x)[::-1] * x)
    ),
    "pieces": lambda x: (
        np.sum(np.concatenate([x[1:], x[:1] ** 2]) * np.where(x > 2.0, x, -x))
        + x[np.array([0, -1, 2])].sum()
    ),
    "matrices": lambda x: np.sum((x.reshape(2, 3) @ x.reshape(3, 2)) ** 2),
    "batched matrices": lambda x: np.sum(
        (np.stack([x, x + 1.0]).reshape(2, 2, 3) @ x.reshape(3, 2)) ** 2
    ),
    "factorizations": lambda x: (
        np.linalg.slogdet(np.diag(x) + 0.1)[1] + np.sum(np.linalg.solve(np.diag(x) + 0.1, x))
    ),
    "decompositions": lambda x: (
        np.sum(np.linalg.eigh(np.diag(x) + 0.1)[0] ** 2)
        + np.sum(np.linalg.cholesky(np.diag(x) + 0.1))
    ),
    "sorting": lambda x: np.sum(np.sort(x[::-1]) * np.arange(6)) + np.median(x),
    "scan": _inner,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_generated_programs_are_covered(
    name: str, fallbacks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", "")
    f, x = PROGRAMS[name], np.linspace(0.5, 3.0, 6)
    value, gradient = tg.jit(tg.value_and_grad(f))(x)
    expected, by_tape = tg.value_and_grad(f)(x)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, by_tape, rtol=1e-12, atol=1e-13)
    assert not fallbacks


def test_sources_of_functions_and_lambdas_are_found() -> None:
    found = 0
    for file in Path(support.__file__).parent.rglob("*.py"):
        text = file.read_text()
        definitions = [
            n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.Lambda))
        ]
        for code in _codes(compile(text, str(file), "exec")):
            lambdas = code.co_name == "<lambda>"
            candidates = [
                n
                for n in definitions
                if (
                    isinstance(n, ast.Lambda) if lambdas else getattr(n, "name", "") == code.co_name
                )
            ]
            plain = not code.co_kwonlyargcount and not code.co_flags & (
                inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
            )
            tree = sources.tree_of(code)
            if not candidates or not plain or tree is None:
                # Classes and comprehensions; what the package never translates; functions without a
                # single statement.
                continue
            found += 1
            assert _dump(tree) in map(_dump, candidates)
    assert found > 500


def _dump(node: Any) -> str:
    """What a definition does. Its source was dedented, so lines of a docstring begin elsewhere."""
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    return re.sub(r"\\n +", r"\\n", ast.dump(ast.Module(body, [])))


def _codes(code: CodeType) -> list[CodeType]:
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [*inner, *[c for i in inner for c in _codes(i)]]


def test_long_kernels_become_several_functions(
    fallbacks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", "")
    monkeypatch.setattr(unit, "LINES", 10)
    made: list[Any] = []
    original = unit.Unit.entry

    def entry(self: Any, *args: Any) -> None:
        original(self, *args)
        made.append(self)

    monkeypatch.setattr(unit.Unit, "entry", entry)

    def f(x: Any) -> Any:
        centred = x - np.mean(x)
        scaled = centred / np.sqrt(np.sum(centred**2))
        return np.sum(np.exp(scaled - np.max(scaled)) * x[::-1])

    x = np.sin(np.arange(20_000.0))
    value, gradient = tg.jit(tg.value_and_grad(f))(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, tg.grad(f)(x), rtol=1e-10, atol=1e-12)
    assert len(made[-1].parts) > 3
    assert not fallbacks


def test_a_long_unrolled_loop_ends_phases() -> None:
    def f(x: Any) -> Any:
        for _ in range(40):
            x = np.cumsum(np.sort(x)) / 7.0
        return np.sum(x)

    x, jitted = np.linspace(1.0, 2.0, 9), tg.jit(f)
    np.testing.assert_allclose(jitted(x), f(x), rtol=1e-13)
    assert "if phase < 0 or phase == 1:" in jitted.source(x)
