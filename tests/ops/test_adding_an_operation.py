"""An operation added in one file, with one row of the op table, works in every mode and on every
target."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
from tracegrad.codegen import work
from tracegrad.codegen.disk import cache
from tracegrad.codegen.scalars import SCALARS, Scalar, add, cost_of, value

import tracegrad as tg
from tests.cuda_plans import NEEDS_COMPILER
from tests.ops import test_ops
from tests.scratch_operation import CASE, SCALAR, log_expit, log_expit_op
from tracegrad.faces.numpy.ufuncs import KNOWN
from tracegrad.ir.parser import parse_graph
from tracegrad.ir.verify import verify
from tracegrad.ops.elementwise.pointwise import pointwise
from tracegrad.registry import OPS_BY_NAME

X = np.array([[-2.0, 0.0, 0.5], [1.0, -700.0, 30.0]])
SLOPE = scipy.special.expit(-X)


@pytest.fixture(scope="module", autouse=True)
def added() -> Iterator[None]:
    """What stands in the package's own tables for an operation of its own."""
    KNOWN[scipy.special.log_expit] = log_expit
    OPS_BY_NAME[log_expit_op.name] = log_expit_op
    yield
    del KNOWN[scipy.special.log_expit], OPS_BY_NAME[log_expit_op.name]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


CHECKS = (
    test_ops.test_values_equal_numpy,
    test_ops.test_first_derivatives,
    test_ops.test_second_derivatives,
    test_ops.test_generated_source_equals_eager,
    test_ops.test_jitted_value_and_gradient_equal_eager,
    test_ops.test_second_derivatives_traced,
    test_ops.test_vmap_equals_a_loop,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("test_"))
def test_its_row_of_the_op_table(check: Any) -> None:
    check(CASE)


def test_it_refuses_complex_numbers_everywhere() -> None:
    test_ops.test_errors(CASE, 0)
    with pytest.raises(tg.DTypeError, match="not defined for complex128"):
        tg.jit(log_expit)(np.array([1j]))


def test_tape() -> None:
    x = tg.tensor(X, requires_grad=True)
    y = log_expit(x)
    assert y.grad_fn.name() == "LogExpitBackward0"
    (slope,) = tg.autograd.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(slope.detach().numpy(), SLOPE, rtol=1e-14)
    slope.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), -SLOPE * (1 - SLOPE), rtol=1e-13)


def test_by_its_name_in_scipy() -> None:
    """SciPy's function on boxed values is the operation, eagerly and traced."""
    f = lambda x: np.sum(scipy.special.log_expit(x))  # noqa: E731
    for g in (tg.grad(f), tg.jit(tg.grad(f)), tg.grad(tg.jit(f))):
        np.testing.assert_allclose(g(X), SLOPE, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_])
def test_compiled_dtypes(dtype: Any) -> None:
    x = np.array([0, 1, 1, 0]).astype(dtype)
    found, expected = tg.jit(log_expit)(x), log_expit(x)
    assert found.dtype == expected.dtype == (np.float32 if dtype is np.float32 else np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype is np.float32 else 1e-15)


def test_grad_of_grad_jvp_vmap_compiled() -> None:
    second = tg.jit(tg.vmap(tg.vmap(tg.grad(tg.grad(log_expit)))))
    np.testing.assert_allclose(second(X), -SLOPE * (1 - SLOPE), rtol=1e-13)
    value_there, slope = tg.jit(lambda x, t: tg.jvp(log_expit, (x,), (t,)))(X, np.ones_like(X))
    np.testing.assert_allclose(value_there, scipy.special.log_expit(X), rtol=1e-14)
    np.testing.assert_allclose(slope, SLOPE, rtol=1e-14)


def test_text_of_its_graph() -> None:
    graph = tg.jit(tg.grad(lambda x: np.sum(log_expit(x)))).graphs(X)[0]
    text = str(graph)
    assert "log_expit(" in str(tg.jit(log_expit).graphs(X)[0])
    assert str(verify(parse_graph(text, OPS_BY_NAME))) == text


def test_kernels_on_disk_are_known_by_its_body() -> None:
    """Where the body of a function outside of the package changes, so does the key of every kernel
    that calls it."""
    source = tg.jit(log_expit).source(X)
    before = cache.key_of(source)
    other = cache.key_of(source.replace("log_expit(", "exp("))
    value._OUTSIDE[SCALAR.name], kept = "def another(x): ...", value._OUTSIDE[SCALAR.name]
    try:
        assert len({before, other, cache.key_of(source)}) == 3
    finally:
        value._OUTSIDE[SCALAR.name] = kept
    assert cache.key_of(source) == before


def test_from_disk_in_another_process(tmp_path: Path) -> None:
    code = (
        "import numpy as np, tracegrad as tg\n"
        "from tracegrad.codegen.disk import cache\n"
        "from tests.scratch_operation import log_expit\n"
        "print(tg.jit(log_expit)(np.array([0.5]))[0], cache.COUNTERS.compiled, "
        "cache.COUNTERS.loaded)\n"
    )
    root = Path(__file__).parents[2]
    env = {**os.environ, "TRACEGRAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=env,
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    first, second = [run.stdout.split() for run in runs]
    assert first[0] == second[0]
    assert (first[1:], second[1:]) == (["1", "0"], ["0", "1"])


def test_its_cost_is_that_of_the_function_it_calls() -> None:
    assert (
        log_expit_op.lowering.cost
        == SCALAR.cost
        == work.of_call("log_expit({x})")
        == cost_of("1 + log_expit({x})")
    )
    assert cost_of("sin({x}) * exp({x})") == SCALARS["sin"].cost + SCALARS["exp"].cost
    assert (
        work.of_call("{x} + {y}"),
        work.of_call("{x} / {y}"),
        work.of_call("sqrt({x})"),
        work.of_call("exp({x})"),
    ) == (1, 4, 4, 20)


def test_code_that_calls_what_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="'log_exbit'"):
        pointwise("misspelt", ("x",), numpy=np.exp, code="log_exbit({x})", partials=None)


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="'log_expit' already"):
        add(Scalar("log_expit", np.exp))
    with pytest.raises(ValueError, match="'exp' already"):
        add(Scalar("exp", np.exp))


@NEEDS_COMPILER
def test_ptx() -> None:
    from tests.codegen import test_cuda_ptx

    test_cuda_ptx.test_op_table(CASE)
