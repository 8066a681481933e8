"""Norms of arrays without elements: NumPy's value, or an error where NumPy has one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

SHAPES = [(0,), (0, 3), (3, 0), (2, 0, 3)]


@pytest.mark.parametrize(
    "order", [None, 0, 1, 2, 3, np.inf, -1, -2, -np.inf, "fro", "nuc"], ids=str
)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@np.errstate(divide="ignore", invalid="ignore")
def test_as_numpy(shape: tuple[int, ...], order: Any) -> None:
    x = np.zeros(shape)
    for axis in (None, 0, -1, (0, 1)):

        def f(x: Any, axis: Any = axis) -> Any:
            return np.linalg.norm(x, order, axis)

        try:
            expected = f(x)
        except (ValueError, np.linalg.LinAlgError):
            # The largest of no elements is an error in older versions.
            continue
        found = [f(tg.Tensor(x)), tg.jit(f)(x)]
        for result in found:
            np.testing.assert_array_equal(np.asarray(result), expected)
        if np.shape(expected) == ():
            for g in (tg.grad(f), tg.jit(tg.grad(f))):
                assert g(x).shape == shape
