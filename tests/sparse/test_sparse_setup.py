"""What is written for the values does not grow with the size: neither what is computed again, nor
a pass over the memory of the result. Little is compiled."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.printer import print_program

import tracegrad as tg
from tracegrad._codegen import inplace
from tracegrad.bench.sparse import chained, trigonometric
from tracegrad.runtime.execute import SIZES
from tracegrad.schedule import schedule
from tracegrad.sparse.structure import sorted_once
from tracegrad.transforms.rewrite import optimize


def source(n: int) -> str:
    """Of the Hessian of Luksan and Vlcek's 5.1, which is written to places."""
    hessian = tg.hessian_of_lagrangian(chained, trigonometric, lower=True)
    kept, _ = hessian._find((np.ones(n), np.ones(n - 2), 1.0), {})
    plan = kept.plan
    graph = optimize(plan.graph)
    with SIZES.opened(graph.sizes):
        program = schedule(graph, ("C",) * len(graph.inputs))
        given_up = len(graph.inputs) - len(plan.constants)
        program, reused = inplace.reuse(program, (given_up,))
        assert reused == {0: given_up}
        text: str = print_program(program).source
    return text


def test_functions_are_called_as_often_at_all_sizes() -> None:
    texts = [source(n) for n in (500, 100_000)]
    for name in ("exp", "sin", "cos"):
        calls = [len(re.findall(rf"= {name}\(", t)) for t in texts]
        assert len(set(calls)) == 1, name


def test_no_pass_copies_memory_to_itself() -> None:
    for n in (500, 20_000):
        assert not re.search(r"(\w+)\[(\w+)\] = \1_\2\n", source(n))


def test_a_result_that_is_its_argument() -> None:
    """A program keeps a phase, though all that it does is to copy an array to itself."""

    def changed(x: Any) -> Any:
        out = x.copy()
        out[3] = out[4] * 2
        return out

    for f, n in ((lambda x: x, 8), (changed, 20_000)):
        x = np.arange(float(n))
        wanted = f(x.copy())
        np.testing.assert_array_equal(tg.jit(f, donate_argnums=0)(x), wanted)


@pytest.mark.parametrize("keys", [[], [3], [1, 4, 6, 0, 4, 9, 1, 1], list(range(9)) * 3])
def test_sorted_once(keys: list[int]) -> None:
    given = np.array(keys, np.int64)
    first, which = sorted_once(given)
    wanted, at, inverse = np.unique(given, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(first, at)
    np.testing.assert_array_equal(which, inverse)
    np.testing.assert_array_equal(given[first], wanted)
