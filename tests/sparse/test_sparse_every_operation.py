"""Over the whole table of operations: no entry of a Jacobian is missed by its pattern, and the
values are those of the dense one, by each method. Nothing is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import as_tuple, floating
from tests.ops.test_ops import CASES, rng_for
from tracegrad.errors import TracegradError
from tracegrad.ir.evaluate import evaluate
from tracegrad.sparse.methods import make_plan
from tracegrad.sparse.plan import Wish

DIFFERENTIABLE = [c for c in CASES if c.order >= 1]
PARTS = 12


def dense(function: Callable[..., Any], arrays: tuple[Any, ...], wrt: Sequence[int]) -> np.ndarray:
    """All results one behind the other, by all arguments."""

    def run(*chosen: Any) -> tuple[Any, ...]:
        full = list(arrays)
        for k, x in zip(wrt, chosen, strict=True):
            full[k] = x
        found: tuple[Any, ...] = as_tuple(function(*full))
        return found

    chosen = [arrays[k] for k in wrt]
    try:
        found = tg.jacobian(run, tuple(range(len(wrt))), mode="forward")(*chosen)
    except TracegradError:
        found = tg.jacobian(run, tuple(range(len(wrt))), mode="reverse")(*chosen)
    rows = []
    for o, blocks in zip(run(*chosen), found, strict=True):
        shapes = [(np.size(o), np.size(x)) for x in chosen]
        rows.append(np.hstack([np.reshape(b, s) for b, s in zip(blocks, shapes, strict=True)]))
    return np.vstack(rows)


def check(
    name: str,
    function: Callable[..., Any],
    arrays: tuple[Any, ...],
    wrt: Sequence[int],
    tolerance: float = 1e-9,
    methods: Sequence[str] = ("auto", "columns"),
) -> None:
    """Nothing is missed, and values are those of the dense Jacobian."""
    entry, leaves = tg.jit(function)._alone_for(arrays, {}, False)
    captured = entry.captured()
    assert captured is not None
    inputs = [*leaves, *captured]
    wanted = dense(function, arrays, wrt)
    for method in methods:
        plan = make_plan(entry.graph, wrt, inputs, len(leaves), Wish(method=method, limit=10**7))
        s = plan.structure
        assert s.shape == wanted.shape, name
        covered = np.zeros(s.shape, bool)
        covered[s.rows, s.columns] = True
        assert not (np.nan_to_num(wanted[~covered]) != 0).any(), f"{name}: entries are missed"
        if method == plan.method == "columns" and len(s) > 400:
            continue
        found = evaluate(plan.graph, [*inputs, *plan.constants])[0][: len(s)]
        np.testing.assert_allclose(
            found,
            wanted[s.rows, s.columns],
            rtol=tolerance,
            atol=tolerance * 1e-3,
            err_msg=name,
        )


@pytest.mark.parametrize("part", range(PARTS))
def test_no_entry_is_missed(part: int) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for case in DIFFERENTIABLE[part::PARTS]:
            arrays = case.inputs(rng_for(case))
            check(case.name, case.function, arrays, floating(arrays, case.wrt))
