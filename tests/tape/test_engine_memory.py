"""What backward passes keep and free: nothing stays behind, nothing is saved that no rule reads."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tracegrad import autograd
from tracegrad.autograd import graph

# --- memory ---------------------------------------------------------------------------------------

w, b, data = tg.ones(2, 3, requires_grad=True), tg.zeros(2, requires_grad=True), tg.arange(3.0)


def training_step() -> None:
    ((w @ data + b) ** 2).sum().backward()
    with tg.no_grad():
        w.sub_(1e-9 * w.grad)
        b.sub_(1e-9 * b.grad)
    w.grad = None
    b.grad.zero_()


def step_with_hooks() -> None:
    y = w * 2
    y.register_hook(lambda g: g * 1)
    y.retain_grad()
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    several = graph.register_multi_grad_hook((w, y), lambda grads: None)
    handle = w.register_hook(lambda g: g)
    (y * y).sum().backward()
    handle.remove()
    several.remove()


def step_in_place() -> None:
    y = w * 2
    y.add_(1)
    y[0].mul_(3)
    y[1] = 0.0
    y.t().exp_()
    y.sum().backward()


def step_without_backward() -> None:
    (w * 2).exp().sum()


def step_with_packing() -> None:
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (w * w).exp().sum()
    y.backward()
    with graph.save_on_cpu():
        (w * w).exp().sum()


def step_under_anomaly_detection() -> None:
    with (
        autograd.set_detect_anomaly(True),
        graph.node_creation_hook(lambda node: node.metadata.update(seen=True)),
    ):
        (w * w).exp().sum().backward()


def step_that_overwrites() -> None:
    with graph.allow_mutation_on_saved_tensors():
        y = w * 1
        z = (y * y).sum()
        y.mul_(2)
        z.backward()


def step_of_second_order() -> None:
    (g,) = autograd.grad((w**3).sum(), w, create_graph=True)
    g.sum().backward()


def step_that_fails() -> None:
    y = w * 2
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()


STEPS = [
    training_step,
    step_with_hooks,
    step_in_place,
    step_without_backward,
    step_with_packing,
    step_under_anomaly_detection,
    step_that_overwrites,
    step_of_second_order,
]


@pytest.mark.parametrize("step", STEPS, ids=lambda f: f.__name__)
def test_steps_leave_nothing_behind(step: Any) -> None:
    """No step leaves objects or cycles: with the collector off, their number stays the same."""
    for _ in range(5):
        step()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(200):
            step()
        grown = len(gc.get_objects()) - before
        assert grown < 50, f"{grown} objects more"
        assert gc.collect() < 50
    finally:
        gc.enable()
        w.grad = b.grad = None


def test_errors_leave_nothing_behind() -> None:
    """Nor does a pass that fails, once its traceback is gone."""
    step_that_fails()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        step_that_fails()
    gc.collect()
    assert len(gc.get_objects()) - before < 30


def test_what_was_saved_is_freed_by_the_pass() -> None:
    """A backward pass frees what nodes have saved as it goes, even while the result lives;
    retain_graph keeps it."""
    x = leaf(1, 2)
    y = x + 1
    z = y.exp()
    middle = weakref.ref(y)
    s = (z * 3).sum()
    z2 = y * y
    del y, z
    z2.sum().backward(retain_graph=True)
    assert middle() is not None
    z2.sum().backward()
    assert middle() is None
    s.backward()


@pytest.mark.parametrize("join", [tg.concatenate, tg.stack])
def test_joining_saves_nothing(join: Any) -> None:
    """The rule of a join reads sizes only: neither its inputs nor its result are kept, and all may
    be overwritten."""
    x = leaf(1, 2)
    y = x + 1
    z = join([y, x, y])
    kept = weakref.ref(y)
    y.add_(1)
    z.mul_(2)
    del y
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    assert kept() is None
    assert x.grad.tolist() == [12, 12]


def test_solving_saves_no_right_hand_side() -> None:
    """The rule of solve reads the matrix and the solution."""
    a, b = tg.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True), leaf(1, 2)
    right = b * 1
    x = tg.linalg.solve(a, right)
    right.zero_()
    x.sum().backward()
    assert np.allclose(b.grad.numpy(), np.linalg.solve([[2, 1], [1, 3]], [1, 1]))
    left = a * 1
    x = tg.linalg.solve(left, b)
    left.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        x.sum().backward()


def test_products_save_the_other_factor_only() -> None:
    """The gradient of one factor reads the other one."""
    a, v = tg.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True), tg.tensor([1.0, 2.0])
    for product, kept in (
        (lambda m: m @ v, v),
        (lambda m: v @ m, v),
        (lambda m: (m[0] * 1) @ v, v),
        (lambda m: m @ m.detach().clone(), None),
    ):
        m = a * 1
        y = product(m)
        m.zero_()
        y.sum().backward(retain_graph=True)
        if kept is not None:
            kept.add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace"):
                y.sum().backward()
