"""Backward passes in threads: modes of their own, common leaves, shared parts."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tracegrad import autograd
from tracegrad.autograd import graph
from tracegrad.tape import engine

# --- modes of other threads -----------------------------------------------------------------------


def test_modes_hold_for_the_thread_that_opened_them() -> None:
    """While one thread does not record and one looks at what is saved, a third one does neither,
    and they do not see each other's modes."""
    x = leaf(1.0, 2.0)
    opened, done = threading.Barrier(3, timeout=60), threading.Barrier(3, timeout=60)
    found: dict[str, Any] = {}

    def unrecorded() -> None:
        with tg.no_grad():
            opened.wait()
            found["unrecorded"] = x * x
            done.wait()
        found["recorded again"] = x * x

    def hooked() -> None:
        seen: list[Any] = []
        with graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
            opened.wait()
            found["hooked"] = x * x
            done.wait()
        found["seen"] = list(seen)
        x.exp()
        found["seen later"] = list(seen)

    threads = [threading.Thread(target=run) for run in (unrecorded, hooked)]
    for thread in threads:
        thread.start()
    opened.wait()
    mine = x * x
    done.wait()
    for thread in threads:
        thread.join()
    assert mine.requires_grad
    assert not found["unrecorded"].requires_grad
    assert found["recorded again"].requires_grad
    assert found["hooked"].requires_grad
    assert found["seen"] == found["seen later"] == [[1, 2], [1, 2]]


def test_a_thread_that_ends_in_a_mode_leaves_nothing_behind() -> None:
    """Recording was turned off for a thread that has ended: a later thread, which may get its
    identity, records."""
    x = leaf(1.0)

    def off() -> None:
        tg.set_grad_enabled(False)
        assert not (x * x).requires_grad

    for _ in range(3):
        ended = threading.Thread(target=off)
        ended.start()
        ended.join()
        recorded: list[bool] = []
        later = threading.Thread(
            target=lambda recorded=recorded: recorded.append((x * x).requires_grad)
        )
        later.start()
        later.join()
        assert recorded == [True]
        assert (x * x).requires_grad


def test_threads_that_use_a_leaf_first_agree_on_its_place() -> None:
    """A leaf that several threads use for the first time at once gets one place on the tape: each
    gradient is whole."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            x = leaf(1.0, 2.0)
            start = threading.Barrier(4, timeout=60)
            found: list[Any] = []

            def run(x: Any = x, start: Any = start, found: list[Any] = found) -> None:
                start.wait()
                y = (x * 2) * (x * 3)
                found.append(autograd.grad(y.sum(), x)[0].tolist())

            threads = [threading.Thread(target=run) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert found == [[12, 24]] * 4
    finally:
        sys.setswitchinterval(before)


# --- threads --------------------------------------------------------------------------------------


def run_in_threads(count: int, job: Any) -> None:
    """Run `job` in several threads that switch as often as can be."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def run() -> None:
        try:
            start.wait()
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert errors == []


def test_threads_with_a_common_leaf() -> None:
    """Better than torch, where this is the user's responsibility: `.grad` is the right sum."""
    x = tg.zeros(3, requires_grad=True)

    def job() -> None:
        for _ in range(100):
            (x * 2).sum().backward()

    run_in_threads(8, job)
    assert x.grad.tolist() == [1600] * 3


def test_a_gradient_becomes_grad_where_nobody_else_holds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first gradient of a leaf is taken over as it is; what somebody else holds, or lies
    otherwise than the leaf, is copied."""
    given: list[Any] = []
    receive = engine.receive
    monkeypatch.setattr(
        engine,
        "receive",
        lambda leaf, ct, *rest: (receive(leaf, ct, *rest), given.append((ct, leaf.grad._data)))[0],
    )

    def taken(y: Any, gradient: Any = None) -> list[bool]:
        given.clear()
        y.backward(gradient)
        return [np.shares_memory(ct, grad) for ct, grad in given]

    x, y, m = leaf(1.0, 2.0), leaf(3.0, 4.0), tg.tensor(np.ones((2, 3)), requires_grad=True)
    assert taken((x * y).sum()) == [True, True]
    assert taken((x * y).sum()) == [False, False], "added to what is there"
    x.grad = y.grad = None
    ones = tg.ones(2)
    assert taken(x + y, ones) == [False, False], "the caller's, and the other leaf's"
    assert [x.grad.add_(1).tolist(), y.grad.tolist(), ones.tolist()] == [[2, 2], [1, 1], [1, 1]]
    x.grad = None
    assert taken(x.sum()) == [False], "a broadcast number"
    assert x.grad.mul_(2).tolist() == [2, 2]
    assert taken((m.T * np.arange(6.0).reshape(3, 2)).sum()) == [False], "in another order"
    assert m.grad.is_contiguous()
    kept: list[Any] = []
    x.grad = None
    x.register_hook(kept.append)
    assert taken((x * y).sum()) == [False, False], "a hook may have kept it"
    assert x.grad.zero_().tolist() == [0, 0]
    assert kept[0].tolist() == [3, 4]


def test_the_first_gradient_is_not_what_the_rule_read() -> None:
    """A rule may hand on what the forward pass saved: writing to `.grad` must not change it."""

    class Scale(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, by: Any) -> Any:
            ctx.by = by
            return x * by

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ctx.by, None

    x, by = leaf(1.0, 2.0), tg.tensor([3.0, 4.0])
    Scale.apply(x, by).sum().backward()
    x.grad.zero_()
    assert by.tolist() == [3, 4]


def test_accumulating_waits() -> None:
    """While one thread adds to a `.grad`, another one waits: seen by stopping the first in the
    middle."""
    x = tg.zeros(1, requires_grad=True)
    inside, go_on, order = threading.Event(), threading.Event(), []

    class Slow(type(x)):  # type: ignore[misc]
        __slots__ = ()

        def _accumulate_grad(
            self, ct: Any, create_graph: bool = False, alone: bool = False
        ) -> None:
            order.append("enters")
            inside.set()
            go_on.wait(0.2)
            super()._accumulate_grad(ct, create_graph, alone)
            order.append("leaves")

    slow = Slow(np.zeros(1), True)

    def job() -> None:
        (slow * 1).sum().backward()

    threads = [threading.Thread(target=job) for _ in range(2)]
    for thread in threads:
        thread.start()
        inside.wait()
    for thread in threads:
        thread.join()
    assert order == ["enters", "leaves"] * 2
    assert slow.grad.item() == 2


def test_threads_through_a_shared_part() -> None:
    """Several passes through one part of a graph at a time, with retain_graph."""
    x = leaf(0, 0)
    shared = (x * 2).exp()

    def job() -> None:
        for _ in range(50):
            (shared * shared).sum().backward(retain_graph=True)

    run_in_threads(4, job)
    assert x.grad.tolist() == [4.0 * 200] * 2


def test_a_leaf_has_one_node() -> None:
    """Threads that use a leaf for the first time at the same time find the same node: seen by
    stopping one while it makes it."""
    x = leaf(1)
    inside, made = threading.Event(), []

    class Slow(type(x)):  # type: ignore[misc]
        __slots__ = ()

        @property
        def _hooks(self) -> Any:  # read while the node is made
            inside.set()
            inside.clear()
            inside.wait(0.1)
            return None

        @_hooks.setter
        def _hooks(self, new: Any) -> None:
            pass

    slow = Slow(np.ones(1), True)
    run_in_threads(2, lambda: made.append((slow * 2).grad_fn.next_functions[0][0]))
    assert made[0] is made[1]


def test_modes_of_threads() -> None:
    """A backward pass in one thread does not turn recording off in another."""
    x = leaf(1)

    def job() -> None:
        for _ in range(50):
            assert tg.is_grad_enabled()
            y = x * 2
            assert y.requires_grad
            y.sum().backward()

    run_in_threads(4, job)
