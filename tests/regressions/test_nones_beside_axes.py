"""A None among arguments or results of a mapped function has no axis: those in trees of axes belong
to the arrays beside it. The arrays behind a None had the axis of the one before."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(9.0).reshape(3, 3) ** 1.5


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


WAYS: dict[str, Callable[[Any], Any]] = {"eager": lambda f: f, "compiled": tg.jit}
# From two values and what stands beside them: a tree; and that of its axes.
TREES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "list": lambda x, none, y: [x, none, y],
    "dict": lambda x, none, y: {"b": (none, y), "a": x},
    "in a dataclass": lambda x, none, y: Pair(none, [x, y]),
    "two Nones": lambda x, none, y: (none, x, (none,), y),
    "none": lambda x, none, y: (x, y),
}
AXES = [(0, 1), (1, 0), (1, None), (None, 0), (-1, -1)]


def values(tree: Any) -> list[Any]:
    if isinstance(tree, Pair):
        return values(tree.b)
    if isinstance(tree, dict):
        return [*values(tree["a"]), *values(tree["b"])]
    if isinstance(tree, (list, tuple)):
        return [y for x in tree for y in values(x)]
    return [] if tree is None else [tree]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("beside", [None, 0, 1])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("tree", TREES)
def test_axes_of_arguments(tree: str, axes: Any, beside: Any, way: str) -> None:
    make = TREES[tree]

    def f(t: Any, w: Any) -> Any:
        x, y = values(t)
        return x * w[0] - np.sum(y) * w[1]

    def item(x: Any, axis: Any, k: int) -> Any:
        return x if axis is None else np.take(x, k, axis)

    w = X[:, ::-1] + 1.0
    found = WAYS[way](tg.vmap(f, in_axes=(make(axes[0], beside, axes[1]), 1)))(
        make(X, None, 2 * X), w
    )
    want = [f(make(item(X, axes[0], k), None, item(2 * X, axes[1], k)), w[:, k]) for k in range(3)]
    np.testing.assert_allclose(found, want, rtol=1e-14)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("beside", [None, 0, 1])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-1, 0), (1, 1)])
@pytest.mark.parametrize("tree", TREES)
def test_axes_of_results(tree: str, axes: Any, beside: Any, way: str) -> None:
    make = TREES[tree]
    mapped = tg.vmap(lambda x: make(x, None, np.sin(x)), out_axes=make(axes[0], beside, axes[1]))
    found = values(WAYS[way](mapped)(X))
    for x, axis, want in zip(found, axes, (X, np.sin(X)), strict=True):
        np.testing.assert_allclose(x, want if axis == 0 else want.T, rtol=1e-14)
