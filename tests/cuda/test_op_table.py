"""Every row of the op table on a device equals the CPU: operation by operation with the tape,
compiled forward mode. (Compiled values, gradients and batches are in test_races.py.)"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen import scalars
from tracegrad.codegen.cuda import driver

import tracegrad as tg
from tests.cases import Case, half
from tests.checks import as_tuple, assert_same, floating, like
from tests.cuda.common import host
from tests.ops.test_ops import CASES, ids, quiet, rng_for  # noqa: F401  (a fixture)

PART = os.environ.get("TRACEGRAD_TEST_PART") or ""
# What only processors compute is refused on devices (test_cuda_ptx.py holds that); compositions,
# and methods that only ndarrays have, are left to the rows of what they are made of.
ON_DEVICES = [
    c for c in CASES if c.device and not any(scalars.host_only(f"{name}(") for name in c.ops)
]
ROWS = ON_DEVICES[int(PART) :: 2] if PART else ON_DEVICES


def derived(rows: list[Case]) -> list[Any]:
    """Each operation and some more rows: the rules are the CPU's, and the simulator takes long."""
    return half(rows, 12) if driver.simulated() else rows


def is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


def on(device: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tg.tensor(a, device=device) if is_array(a) else a for a in arrays)


def check(
    expected: Any,
    function: Callable[..., Any],
    arrays: tuple[Any, ...],
    tolerance: float,
    floor: float = 0.0,
) -> None:
    """`function` gives on the device what is expected, and its results lie where its arguments
    do; `floor` as in `assert_same`."""
    outs = as_tuple(function(*on("cuda", arrays)))
    if any(map(is_array, arrays)):
        assert all(o.is_cuda for o in outs if isinstance(o, tg.Tensor))
    expected = as_tuple(expected)
    assert [x is None for x in outs] == [x is None for x in expected]
    assert_same(
        tuple(host(x) for x in outs if x is not None),
        tuple(host(x) for x in expected if x is not None),
        tolerance,
        floor=floor,
    )


@pytest.mark.parametrize("case", half(ROWS, 4) if driver.simulated() else ROWS, ids=ids)
def test_values(case: Case) -> None:
    for arrays in (case.inputs(rng_for(case)), *case.special):
        check(case.function(*on("cpu", arrays)), case.function, arrays, 1e-11)


@pytest.mark.parametrize("case", derived([c for c in ROWS if c.order]), ids=ids)
def test_gradients_by_the_tape(case: Case) -> None:
    arrays = case.inputs(rng_for(case))
    wrt = floating(arrays, case.wrt)

    def gradients(*xs: Any) -> Any:
        for k in wrt:
            xs[k].requires_grad_()
        outs = as_tuple(case.function(*xs))
        try:
            sum((o * o.conj()).real.sum() for o in outs if o.dtype.kind in "fc").backward()
        except RuntimeError as error:
            # Tensors are written in place where arrays are replaced; then it is so on both.
            if "modified by an inplace operation" not in str(error):
                raise
            return ()
        return tuple(xs[k].grad for k in wrt)

    # Of factors with orthonormal columns the gradient is 0, and what is there is rounding.
    check(gradients(*on("cpu", arrays)), gradients, arrays, 1e-9, 1e-14)


@pytest.mark.parametrize("case", derived([c for c in ROWS if c.jit and c.order]), ids=ids)
def test_forward(case: Case) -> None:
    arrays = case.inputs(rng_for(case))
    wrt = floating(arrays, case.wrt)
    directions = tuple(like(np.random.default_rng(3), arrays[k]) for k in wrt)

    def forward(*xs: Any) -> Any:
        def chosen(*ys: Any) -> Any:
            rest = iter(ys)
            return as_tuple(
                case.function(*[next(rest) if k in wrt else x for k, x in enumerate(xs)])
            )

        return as_tuple(tg.jvp(chosen, tuple(xs[k] for k in wrt), directions)[1])

    check(forward(*arrays), tg.jit(forward), arrays, 1e-9)
