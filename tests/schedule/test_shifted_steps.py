"""Steps that read the one before at shifted places keep each state once."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracegrad as tg
from tracegrad.ops.arrays.concatenation import concatenate_op
from tracegrad.schedule.analysis import Analysis


def mean_field(x: Any, steps: int) -> Any:
    state = np.tanh(x)
    for _ in range(steps):
        near = np.roll(state, 1, 0) + np.roll(state, -1, 0)
        near = near + np.roll(state, 1, 1) + np.roll(state, -1, 1)
        state = 0.5 * state + 0.5 * np.tanh(x + 0.2 * near)
    return np.sum(state**2)


def test_each_state_is_kept_once() -> None:
    f = tg.jit(tg.value_and_grad(lambda x: mean_field(x, 5)))
    graph = f.graphs(np.ones((60, 50)))[-1]
    analysis = Analysis(graph, set(graph.inputs))
    rolled = {v for n in graph.nodes if n.op is concatenate_op for v in n.outputs}
    assert len(rolled) > 16
    assert not rolled & analysis.stored
