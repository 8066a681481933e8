"""The engine: deep and wide graphs, memory, threads, errors in the middle of a pass, the order of hooks."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import autograd
from tracegrad.autograd import graph
from tracegrad.tape import engine


def leaf(*values: float) -> Any:
    return tg.tensor(list(values), dtype=np.float64, requires_grad=True)


# --- modes of other threads ----------------------------------------------------------------------------------------------------------


def test_modes_hold_for_the_thread_that_opened_them() -> None:
    """While one thread does not record and one looks at what is saved, a third one does neither, and they do not see each other's modes."""
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
    """Recording was turned off for a thread that has ended: a later thread, which may get its identity, records."""
    x = leaf(1.0)

    def off() -> None:
        tg.set_grad_enabled(False)
        assert not (x * x).requires_grad

    for _ in range(3):
        ended = threading.Thread(target=off)
        ended.start()
        ended.join()
        recorded: list[bool] = []
        later = threading.Thread(target=lambda recorded=recorded: recorded.append((x * x).requires_grad))
        later.start()
        later.join()
        assert recorded == [True]
        assert (x * x).requires_grad


def test_threads_that_use_a_leaf_first_agree_on_its_place() -> None:
    """A leaf that several threads use for the first time at once gets one place on the tape: each gradient is whole."""
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


# --- deep and wide -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end", ["del y", "node = y.grad_fn; node.metadata['me'] = node; del y, node; import gc; gc.collect()", "raise SystemExit"]
)
def test_chain_of_a_hundred_thousand_nodes(end: str) -> None:
    """Forward, backward and destruction (at once, by the collector, at exit) of a deep graph, on a thread with a small stack too."""
    program = f"""
import threading
import tracegrad as tg
def run():
    x = tg.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1.0
    {end}
threading.stack_size(256 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
print("done")
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()})
    assert (found.returncode, found.stdout, found.stderr) == (0, "done\n", "")


def test_a_deep_gradient_of_a_gradient() -> None:
    """The recorded backward pass of a deep graph is twice as deep."""
    x = leaf(0.5)
    y = x
    for _ in range(10_000):
        y = y * 1.0001
    (g,) = autograd.grad(y.sum(), x, create_graph=True)
    assert np.isclose(g.item(), 1.0001**10_000)
    assert autograd.grad((g * x).sum(), x)[0].item() == g.item()


def test_diamonds() -> None:
    """2**200 paths are walked in 200 steps."""
    x = leaf(1)
    y = x
    for _ in range(200):
        y = y + y
    y.sum().backward()
    assert x.grad.item() == 2.0**200


def test_a_wide_node() -> None:
    """Many inputs, the same one among them."""
    x = leaf(1, 2)
    tg.concatenate([x, x * 2] * 500).sum().backward()
    assert x.grad.tolist() == [1500, 1500]


# --- memory --------------------------------------------------------------------------------------------------------------------------

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
    with autograd.set_detect_anomaly(True), graph.node_creation_hook(lambda node: node.metadata.update(seen=True)):
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
    """A backward pass frees what nodes have saved as it goes, even while the result lives; retain_graph keeps it."""
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
    """The rule of a join reads sizes only: neither its inputs nor its result are kept, and all may be overwritten."""
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


# --- modes change no number ----------------------------------------------------------------------------------------------------------


def random_program(rng: np.random.Generator, leaves: list[Any]) -> Any:
    """A scalar of some 3 x 3 tensors: arithmetic, products, views, writes into views, joins, choices, linear algebra."""
    pool = list(leaves)
    for _ in range(rng.integers(3, 14)):
        a, b = (pool[rng.integers(len(pool))] for _ in range(2))
        kind = rng.integers(16)
        if kind == 0:
            r = a + b * a
        elif kind == 1:
            r = (1 - a) / (b * b + 1.5)
        elif kind == 2:
            r = a.tanh() - (b * 0.1).exp()
        elif kind == 3:
            r = a @ b
        elif kind == 4:
            r = a.t() + b.sum(0)
        elif kind == 5:
            r = tg.cat([a, b])[1:4]
        elif kind == 6:
            r = tg.stack([a, b]).mean(0)
        elif kind == 7:
            r = tg.where(a > b, a, b)
        elif kind == 8:
            r = a[[2, 0, 1]].softmax(1)
        elif kind == 9:
            r = (a @ b.sum(1))[:, None] * b
        elif kind == 10:
            r = a * 1
            r[1] = b[0] * 2
            r.add_(a)
        elif kind == 11:
            r = a * 1
            r[:2].mul_(0.5)
            r.t()[0].sin_()
        elif kind == 12:
            r = a.max(0)[0] + b.amax(1, keepdim=True)
        elif kind == 13:
            r = tg.linalg.solve(a @ a.t() + tg.eye(3) * 5, b)
        elif kind == 14:
            r = a.cumsum(0) - b.prod(1, keepdim=True)
        else:
            r = a.relu() * 2 - b**3
        pool.append(r / (1 + r.detach().abs().max().item()))
    return ((pool[-1] + pool[-2] * 0.3) ** 2).sum()


def read_node(node: Any) -> None:
    """Ask a node for all that it has."""
    assert node.name()
    assert repr(node)
    for word in dir(node):
        getattr(node, word)


MODES = {
    "packing": lambda: graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), tg.tensor),
    "save_on_cpu": graph.save_on_cpu,
    "mutation": graph.allow_mutation_on_saved_tensors,
    "anomaly": lambda: autograd.set_detect_anomaly(True),
    "reading": lambda: graph.node_creation_hook(read_node),
}


@pytest.mark.parametrize("mode", MODES)
def test_modes_change_no_number(mode: str) -> None:
    """First and second derivatives of random programs are those without the mode, to the bit."""

    def run(seed: int, order: int, context: Any) -> list[Any]:
        rng = np.random.default_rng(seed)
        leaves = [tg.tensor(rng.normal(size=(3, 3)), requires_grad=True) for _ in range(3)]
        with context():
            found = autograd.grad(random_program(rng, leaves), leaves, materialize_grads=True, create_graph=order == 2)
            if order == 2:
                found = autograd.grad(sum((g * g).sum() for g in found), leaves, materialize_grads=True)
        return [g.tolist() for g in found]

    for seed in range(20):
        for order in (1, 2):
            assert run(seed, order, MODES[mode]) == run(seed, order, contextlib.nullcontext), (seed, order)


# --- threads -------------------------------------------------------------------------------------------------------------------------


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


def test_a_gradient_becomes_grad_where_nobody_else_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first gradient of a leaf is taken over as it is; what somebody else holds, or lies otherwise than the leaf, is copied."""
    given: list[Any] = []
    receive = engine.receive
    monkeypatch.setattr(engine, "receive", lambda leaf, ct, *rest: (receive(leaf, ct, *rest), given.append((ct, leaf.grad._data)))[0])

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
    """While one thread adds to a `.grad`, another one waits: seen by stopping the first in the middle."""
    x = tg.zeros(1, requires_grad=True)
    inside, go_on, order = threading.Event(), threading.Event(), []

    class Slow(type(x)):  # type: ignore[misc]
        __slots__ = ()

        def _accumulate_grad(self, ct: Any, create_graph: bool = False, alone: bool = False) -> None:
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
    """Threads that use a leaf for the first time at the same time find the same node: seen by stopping one while it makes it."""
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


# --- errors in the middle ------------------------------------------------------------------------------------------------------------


class Interrupt(KeyboardInterrupt):
    pass


@pytest.mark.parametrize("error", [ValueError, Interrupt])
@pytest.mark.parametrize("create_graph", [False, True])
def test_errors_in_the_middle(error: type[BaseException], create_graph: bool) -> None:
    """An error (or Ctrl-C) in a hook comes through with its own type; the engine and its modes are as before."""
    x = leaf(1, 2)
    y = x * x

    def fail(g: Any) -> None:
        raise error("from the hook")

    handle = y.register_hook(fail)
    s = y.sum()
    for record in (False, True):
        with tg.set_grad_enabled(record):
            with pytest.raises(error, match="from the hook"):
                autograd.grad(s, x, retain_graph=True, create_graph=create_graph)
            assert tg.is_grad_enabled() == record
    assert x.grad is None
    handle.remove()
    s.backward()
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        graph.queue_callback(print)


def test_a_pass_inside_a_hook() -> None:
    """A backward pass in a hook of another one, over a graph of its own and over a common leaf."""
    x = leaf(1, 2)
    y = x * 3

    def inside(g: Any) -> None:
        with tg.enable_grad():
            (x * 10).sum().backward()
        assert not tg.is_grad_enabled()

    y.register_hook(inside)
    y.sum().backward()
    assert x.grad.tolist() == [13, 13]


# --- the order of hooks --------------------------------------------------------------------------------------------------------------


def test_order_of_hooks() -> None:
    """Tensor hooks as registered, then what is retained, prehooks of the node, its rule, posthooks; likewise for the leaf."""
    x = leaf(1, 2)
    y = x * 2
    seen: list[Any] = []

    def note(name: str) -> Any:
        return lambda *given: seen.append(name)

    leaf_node = y.grad_fn.next_functions[0][0]
    y.grad_fn.register_hook(note("node"))
    y.grad_fn.register_prehook(lambda outputs: seen.append(("retained", y.grad.tolist())))
    y.retain_grad()
    y.register_hook(lambda g: (seen.append("first"), g * 5)[1])
    y.register_hook(note("second"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", t.grad.tolist())))
    leaf_node.register_hook(note("leaf's node"))
    leaf_node.register_prehook(lambda outputs: seen.append(("before the leaf's node", x.grad)))
    x.register_hook(note("leaf"))
    y.sum().backward()
    assert seen == [
        "first",
        "second",
        ("retained", [5, 5]),
        "node",
        "leaf",
        ("before the leaf's node", None),
        ("accumulated", [10, 10]),
        "leaf's node",
    ]


def test_leaves_accumulate_as_the_pass_reaches_them() -> None:
    """A post-accumulate hook can use and drop a gradient while the pass goes on: an optimizer inside the backward pass."""
    first, second = leaf(1), leaf(2)
    hidden = first * 3
    out = (hidden * second).sum()
    seen: list[Any] = []

    def update(p: Any) -> None:
        seen.append((p.item(), p.grad.item()))
        p.sub_(0.1 * p.grad)
        p.grad = None

    for p in (first, second):
        p.register_post_accumulate_grad_hook(update)
    hidden.register_hook(lambda g: seen.append("hidden"))
    out.backward()
    assert seen == [(2, 3), "hidden", (1, 6)] or seen == ["hidden", (2, 3), (1, 6)]
    assert np.isclose(first.item(), 0.4)
    assert first.grad is None


def test_hooks_that_come_and_go() -> None:
    """A hook may remove itself, or another one that then does not run again, or register one for the next pass."""
    x = leaf(1)
    seen: list[str] = []
    handles: dict[str, Any] = {}

    def first(g: Any) -> None:
        seen.append("first")
        handles["first"].remove()
        handles["first"].remove()  # twice is harmless

    def second(g: Any) -> None:
        seen.append("second")
        handles["third"] = x.register_hook(lambda g: seen.append("third"))
        handles["second"].remove()

    handles["first"], handles["second"] = x.register_hook(first), x.register_hook(second)
    (x * 2).sum().backward()
    assert seen == ["first", "second"]
    (x * 2).sum().backward()
    assert seen == ["first", "second", "third"]
    with x.register_hook(lambda g: seen.append("with")):
        (x * 2).sum().backward()
    assert seen[-1] == "with"
    (x * 2).sum().backward()
    assert seen[-1] == "third"


def test_hooks_under_create_graph() -> None:
    """Under create_graph hooks get gradients with history, and what they compute is part of the result."""
    x = leaf(1, 2)
    y = x * x
    y.register_hook(lambda g: g * x)
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2,))
    y.grad_fn.register_hook(lambda inputs, outputs: tuple(None if g is None else g * x for g in inputs))
    (g,) = autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [4, 32]  # 2 x * 2 x * x
    (h,) = autograd.grad(g.sum(), x)
    assert h.tolist() == [12, 48]


def test_hooks_in_a_jitted_step() -> None:
    """Hooks are part of a compiled step."""

    @tg.jit
    def step(v: Any) -> Any:
        x = tg.tensor(v, requires_grad=True)
        y = x * x
        y.register_hook(lambda g: g * 2)
        y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
        y.grad_fn.register_hook(lambda inputs, outputs: tuple(None if g is None else g + 1 for g in inputs))
        y.sum().backward()
        return x.grad

    # Two inputs of the product, each with one added.
    assert step(tg.tensor([1.0, 2.0])).tolist() == [22, 42]
