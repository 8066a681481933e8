"""Random programs of views and writes into them, against the same programs with values that never
change.

The reference keeps the base as a vector that every write replaces by a new one; a view is an array
of positions in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracegrad as tg

SIZE = 12


def shaped(v: Any, *shape: int) -> Any:
    """Another shape where that is a view; else v."""
    result = v.reshape(*shape)
    return (
        result
        if (result._is_view() if isinstance(v, tg.Tensor) else np.shares_memory(result, v))
        else v
    )


VIEWS: dict[str, Callable[[Any], Any]] = {
    "t": lambda v: v.permute(*reversed(range(v.ndim))) if isinstance(v, tg.Tensor) else v.T,
    "flat": lambda v: shaped(v, -1),
    "first": lambda v: v[0] if v.ndim else v,
    "last": lambda v: v[-1] if v.ndim else v,
    "rest": lambda v: v[1:] if v.ndim and v.shape[0] > 1 else v,
    "second": lambda v: v[::2] if v.ndim else v,
    "column": lambda v: v[..., 1] if v.ndim and v.shape[-1] > 1 else v,
    "ends": lambda v: v[..., :: max(1, v.shape[-1] - 1)] if v.ndim else v,
    "matrix": lambda v: shaped(v, 2, -1) if np.prod(v.shape, dtype=int) % 2 == 0 else v,
    "new": lambda v: v[None],
    "diagonal": lambda v: v.diagonal() if v.ndim >= 2 else v,
}


UPDATES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "mul": (lambda v, w: v.mul_(1.5), lambda v, w: v * 1.5),
    "sin": (lambda v, w: v.sin_(), lambda v, w: tg.sin(v)),
    "add": (lambda v, w: v.add_(w.sum()), lambda v, w: v + w.sum()),
    "add self": (lambda v, w: v.add_(v), lambda v, w: v + v),
    "square": (lambda v, w: v.mul_(v), lambda v, w: v * v),
    "fill": (lambda v, w: v.fill_(0.7), lambda v, w: v * 0 + 0.7),
    "copy": (lambda v, w: v.copy_(w.mean().cos()), lambda v, w: v * 0 + w.mean().cos()),
    "first": (
        lambda v, w: v.__setitem__(0, w.sum()) if v.ndim else None,
        lambda v, w: tg.index_update(v, 0, w.sum()) if v.ndim else None,
    ),
    "mask": (
        lambda v, w: v.masked_fill_(v > 0.5, 0.2) if v.ndim else None,
        lambda v, w: tg.where(v.detach() > 0.5, 0.2, v) if v.ndim else None,
    ),
    "plus": (lambda v, w: v.__iadd__(1.0), lambda v, w: v + 1.0),
}

step = st.one_of(
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), st.integers(0, 20), st.just(0)),
    st.tuples(
        st.just("write"), st.sampled_from(sorted(UPDATES)), st.integers(0, 20), st.integers(0, 20)
    ),
    st.tuples(st.just("read"), st.just(""), st.integers(0, 20), st.just(0)),
)


def in_place(x: Any, steps: Any) -> Any:
    base = x * 1
    views = [base.view(3, 4)]
    total = x.sum() * 0
    for kind, name, first, second in steps:
        v, w = views[first % len(views)], views[second % len(views)]
        if kind == "view":
            views.append(VIEWS[name](v))
        elif kind == "write":
            UPDATES[name][0](v, w.clone())
        else:
            total = total + (v.clone() * tg.cos(v.clone())).sum()
    for v in views:
        total = total + (v.clone() * tg.arange(1.0, v.numel() + 1).view(*v.shape)).sum() * 0.1
    return total


def functional(x: Any, steps: Any) -> Any:
    state = x * 1
    views: list[Any] = [np.arange(SIZE).reshape(3, 4)]
    total = x.sum() * 0
    for kind, name, first, second in steps:
        at, other = views[first % len(views)], views[second % len(views)]
        if kind == "view":
            views.append(VIEWS[name](at))
        elif kind == "write":
            new = UPDATES[name][1](state[at], state[other])
            state = state if new is None else tg.index_update(state, at, new)
        else:
            total = total + (state[at] * tg.cos(state[at])).sum()
    for at in views:
        total = total + (state[at] * tg.arange(1.0, at.size + 1).view(*at.shape)).sum() * 0.1
    return total


def check(steps: Any, start: int) -> None:
    data = np.random.default_rng(start).normal(size=SIZE)
    found = []
    for run in (in_place, functional):
        x = tg.tensor(data, requires_grad=True)
        result = run(x, steps)
        (gradient,) = tg.autograd.grad(result, x, create_graph=True)
        (second,) = tg.autograd.grad((gradient * gradient * tg.sin(x)).sum(), x)
        found.append((result.detach().numpy(), gradient.detach().numpy(), second.detach().numpy()))
    for here, there in zip(*found, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(step, min_size=1, max_size=10), st.integers(0, 3))
def test_writes_through_views(steps: Any, start: int) -> None:
    """Values, gradients and second derivatives agree, whatever is written through which of several
    overlapping views."""
    check(steps, start)


@pytest.mark.parametrize(
    "steps",
    [
        [
            ("view", "t", 0, 0),
            ("write", "sin", 1, 0),
            ("read", "", 0, 0),
            ("write", "mul", 0, 0),
            ("read", "", 1, 0),
        ],
        [
            ("view", "rest", 0, 0),
            ("view", "column", 1, 0),
            ("write", "square", 2, 0),
            ("write", "add", 1, 2),
            ("read", "", 2, 0),
        ],
        [
            ("view", "flat", 0, 0),
            ("view", "second", 1, 0),
            ("view", "ends", 0, 0),
            ("write", "copy", 2, 3),
            ("write", "fill", 3, 0),
        ],
        [
            ("view", "diagonal", 0, 0),
            ("write", "first", 1, 0),
            ("write", "plus", 0, 0),
            ("view", "new", 1, 0),
            ("write", "mask", 2, 0),
        ],
    ],
)
def test_chosen_programs(steps: Any) -> None:
    """Some programs that are run every time."""
    check(steps, 0)


def _elements_written(x: Any) -> Any:
    y = x.copy()
    v, w = y[..., 0], y[-1, ...]
    v[...] = 3 * x[1]
    w += v
    np.multiply(x[1], 2.0, out=y[1, ...])
    return np.sum(y**2)


def _elements_seen(x: Any) -> Any:
    y = x.copy()
    v, number = y[..., 0], y[0]
    y[0] = 3 * x[1]
    number += 1.0
    v.fill(v * x[2])
    return y[0] * v + number


@pytest.mark.parametrize("f", [_elements_written, _elements_seen])
@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_an_element_with_an_ellipsis_is_a_view(f: Any, shape: Any) -> None:
    """An array without axes, which writes and sees writes; without the ellipsis it is a number."""
    x = np.array([1.2, 2.1, 3.3])
    g = (lambda x: f(x.reshape(3, 1)[:, 0])) if len(shape) == 2 else f
    steps = [(g(x + d) - g(x - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
    for found in (tg.value_and_grad(g), tg.jit(tg.value_and_grad(g))):
        value, slope = found(x)
        np.testing.assert_allclose(value, g(x), rtol=1e-13)
        np.testing.assert_allclose(slope, steps, rtol=1e-6)
    tangents = tg.jacobian(tg.vmap(g))(np.stack([x, 2 * x]))
    np.testing.assert_allclose(tangents[0, 0], steps, rtol=1e-6)
