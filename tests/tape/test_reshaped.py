"""A leaf that got another shape in place: what had read it before has no gradient for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

READERS: dict[str, Callable[[Any], Any]] = {
    "select": lambda x: x[-1],
    "slice": lambda x: x[1:],
    "list": lambda x: x[[0, 2]],
    "sum": lambda x: x.sum(),
    "square": lambda x: x * x,
    "scaled": lambda x: 2 * x,
    "dot": lambda x: x @ x,
    "view": lambda x: x.view(3, 1),
    "expand": lambda x: x.expand(2, 3),
    "cat": lambda x: tg.cat([x, x]),
    "unbind": lambda x: x.unbind()[1],
    "clone": lambda x: x.clone(),
    "further": lambda x: (x.sin()[1:] * 3).cos(),
}


def by_data(x: Any) -> None:
    x.data = tg.ones(1, 3)


def longer(x: Any) -> None:
    x.data = tg.ones(5)


def unsqueezed(x: Any) -> None:
    with tg.no_grad():
        x.unsqueeze_(0)


@pytest.mark.parametrize("change", [by_data, longer, unsqueezed])
@pytest.mark.parametrize("reader", READERS)
def test_older_graphs_are_refused(reader: str, change: Callable[[Any], None]) -> None:
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    before = READERS[reader](x).sum()
    change(x)
    with pytest.raises(RuntimeError, match=r"has read a leaf of shape \(3,\)"):
        before.backward()
    with pytest.raises(RuntimeError, match="Compute the result again"):
        tg.autograd.grad(READERS[reader](tg.ones(3)).sum() + before, x)
    assert x.grad is None
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad, 2 * x.detach())


def test_the_same_shape_again() -> None:
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    before = x[-1]
    with tg.no_grad():
        x.unsqueeze_(0)
    inside = (x * tg.tensor([[1.0, 2.0, 4.0]])).sum()
    with tg.no_grad():
        x.squeeze_(0)
    before.backward()
    np.testing.assert_array_equal(x.grad, [0.0, 0.0, 1.0])
    with pytest.raises(RuntimeError, match=r"leaf of shape \(1, 3\)"):
        inside.backward()


def test_data_of_the_same_shape() -> None:
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    before = x.sin()
    x.data = tg.zeros(3)
    before.sum().backward()
    np.testing.assert_allclose(x.grad, np.cos([1.0, 2.0, 3.0]))


def test_leaves_without_readers() -> None:
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.data = tg.ones(2, 2)
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad, 2 * np.ones((2, 2)))
