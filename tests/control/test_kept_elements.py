"""What an adjoint of loops that write in place keeps: elements that it reads, not arrays for each
step. Memory is what the scheduled program plans, at two sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.bench.peers.programs_with_tracegrad import texts
from tracegrad.schedule import schedule


def square(n: int) -> Any:
    return np.random.default_rng(n).uniform(1, 2, (n, n)) + 3 * n * np.eye(n)


ARGUMENTS: dict[str, tuple[Any, int]] = {
    # Arguments by size, and by which power of it the steps of the program grow.
    "LU": (lambda n: (square(n),), 3),
    "Cholesky": (lambda n: (square(n) + square(n).T,), 3),
    "Gram-Schmidt": (lambda n: (square(n),), 3),
    "Gauss-Seidel": (lambda n: (square(n), np.ones(n)), 2),
    "relaxation": (lambda n: (square(n),), 2),
    "filter": (lambda n: (square(n), 0.3), 2),
    "columns": (lambda n: (np.ones((n, n, n)), np.ones((n, n, n))), 3),
    "recurrence": (lambda n: (np.ones(n), 0.9), 1),
    "shortest paths": (lambda n: (square(n),), 3),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_memory_grows_as_the_steps(name: str) -> None:
    made, power = ARGUMENTS[name]
    planned = []
    for n in (16, 32):
        graph = tg.jit(tg.grad(texts()[name].total), stage=True).graphs(*made(n))[-1]
        planned.append(schedule(graph, ("C",) * len(graph.inputs)).arena)
    assert planned[1] <= 1.5 * 2**power * planned[0] + 4096
