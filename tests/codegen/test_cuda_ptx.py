"""Kernels of the op table, each operation at least once, compile for devices of compute capability
8.0 and 9.0, which needs the wheels and no device."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen import scalars

import tracegrad as tg
from tests.cases import Case, half
from tests.checks import as_tuple
from tests.cuda_plans import NEEDS_COMPILER, plan_of

# `quiet` is a fixture.
from tests.ops.test_ops import CASES, ids, projected_gradient, quiet, rng_for  # noqa: F401

pytestmark = NEEDS_COMPILER
CAPABILITIES = ((8, 0), (9, 0))


def ptx(kernel: Any, launch: Any) -> list[str]:
    """The kernel in PTX for each capability. What Numba makes of it is the same for all of them and
    takes nine tenths of the time, so the parts of `compile_ptx` are called here."""
    from numba.core import types
    from numba.cuda import compiler

    compiling = importlib.import_module("tracegrad.codegen.cuda.compile")
    compiling.prepare()
    with compiling.compiling_for(CAPABILITIES[0]):
        words = (types.uint64,) * launch.words
        library, _ = compiler._compile_pyfunc_with_fixup(
            kernel,
            words,
            device=False,
            abi="numba",
            cc=CAPABILITIES[0],
            launch_bounds=launch.threads,
        )
    return [library.get_asm_str(cc=capability) for capability in CAPABILITIES]


def compiled(function: Any, arrays: tuple[Any, ...]) -> Any:
    """The plan of a function, whose kernels all compile."""
    compiling = importlib.import_module("tracegrad.codegen.cuda.compile")
    plan = plan_of(function, arrays)
    kernels = compiling.functions(plan.source, plan.launches)
    for launch in plan.launches:
        for (major, minor), text in zip(
            CAPABILITIES, ptx(kernels[launch.name], launch), strict=True
        ):
            assert f".target sm_{major}{minor}" in text
            assert text.count(".entry") == 1
    return plan


@pytest.mark.parametrize("case", half([c for c in CASES if c.jit and c.device], 12), ids=ids)
def test_op_table(case: Case) -> None:
    """Results, and gradients where there are any, as one program: of every other row that is the
    first of an operation, and one in 24 of the others."""
    arrays = case.inputs(rng_for(case))
    if any(scalars.host_only(f"{name}(") for name in case.ops):
        with pytest.raises(NotImplementedError, match="processors only"):
            plan_of(case.function, arrays)
        return
    if case.order == 0:
        compiled(case.function, arrays)
    else:
        compiled(
            lambda *xs: (as_tuple(case.function(*xs)), projected_gradient(case, arrays)(*xs)),
            arrays,
        )


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint16",
        "int32",
        "int64",
        "uint64",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
def test_sums_of_every_dtype(dtype: str, deterministic: bool) -> None:
    """Totals of rows, columns and chosen places: by atomic additions where these are as good as
    ordered ones, or asked for."""
    x, at = np.ones((3, 3), dtype), np.array([0, 2, 2])

    def totals(x: Any) -> Any:
        one, two = np.zeros_like(x[0]), np.zeros_like(x)
        np.add.at(one, at, x[0])
        np.add.at(two, (at, at), x[0])
        return np.sum(x, axis=0), np.sum(x, axis=1), np.sum(x), one, two

    tg.use_deterministic_algorithms(deterministic)
    try:
        compiled(totals, (x,))
        for function in (lambda x: np.sum(x, axis=0), lambda x: np.sum(x, axis=1)):
            compiled(function, (x,))
    finally:
        tg.use_deterministic_algorithms(True)


FUNCTIONS = {
    "elementwise": (lambda x: np.sum(np.exp(x) * np.sin(x)), (np.linspace(0, 1, 100_000),)),
    "rows": (lambda x: np.sum(np.log(np.sum(np.exp(x), axis=1))), (np.zeros((300, 70)),)),
    "columns": (lambda x: np.sum(np.sum(x * x, axis=0) ** 2), (np.zeros((3000, 70)),)),
    "steps of a wide state": (
        lambda x: np.sum(tg.fori_loop(0, 10, lambda i, c: c + 0.1 * (np.roll(c, 1) - c), x)),
        (np.zeros(5000),),
    ),
    "steps that reduce": (
        lambda x: np.sum(tg.fori_loop(0, 10, lambda i, c: c / np.sum(c * c), x)),
        (np.ones(5000),),
    ),
    "steps of a small state": (
        lambda x: np.sum(tg.fori_loop(0, 100, lambda i, c: np.sin(c) * 0.9, x)),
        (np.ones(3),),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_machine_code_has_no_spills(name: str) -> None:
    """Gradients as machine code: every register that a kernel wants is there."""
    function, arrays = FUNCTIONS[name]
    plan = plan_of(tg.value_and_grad(function), arrays)
    linking = importlib.import_module("tracegrad.codegen.cuda.machine")
    for kernel, machine in linking.machine_code(
        plan.source, plan.launches, CAPABILITIES[-1], None
    ).items():
        assert machine.code[:4] == b"\x7fELF", kernel
        assert 0 < machine.registers <= 255
        assert machine.spilled == 0


def test_machine_code_is_kept_on_disk(tmp_path: Path) -> None:
    function, arrays = FUNCTIONS["elementwise"]
    plan = plan_of(tg.value_and_grad(function), arrays)
    linking = importlib.import_module("tracegrad.codegen.cuda.machine")
    cache = importlib.import_module("tracegrad.codegen.disk.cache")

    def made() -> Any:
        before = cache.COUNTERS.loaded
        found = linking.machine_code(plan.source, plan.launches, CAPABILITIES[-1], tmp_path)
        return found, cache.COUNTERS.loaded - before

    first, loaded = made()
    assert loaded == 0
    assert made() == (first, 1)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert made()[1] == 0
    assert made()[1] == 1


def test_positions_that_several_kernels_know_keep_their_sign() -> None:
    """Between the kernels a library solves; what counts from the end is counted after it, too."""

    def picked(x: Any, i: Any) -> Any:
        factor = x[i] * 2.0
        found = np.linalg.solve(np.outer(x, x) + np.eye(9) * factor, x)
        return found[i] * factor + np.sum(found) * (i * 2 - 7)

    for function in (picked, tg.grad(picked)):
        plan = compiled(function, (np.ones(9), np.array(-2)))
        assert len(plan.launches) > 1
        assert "_cell[" in plan.source, "nothing is handed on"
