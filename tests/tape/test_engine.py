"""The engine of backward passes: deep and wide graphs, modes that change no number, errors in the
middle, the order of hooks."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tracegrad import autograd
from tracegrad.autograd import graph

# --- deep and wide --------------------------------------------------------------------------------


# Python 3.13 frees up to 10,000 nested objects on the stack, however small it is.
STACK = (4096 if sys.version_info[:2] == (3, 13) else 256) * 1024


@pytest.mark.parametrize(
    "end",
    [
        "del y",
        "node = y.grad_fn; node.metadata['me'] = node; del y, node; import gc; gc.collect()",
        "raise SystemExit",
    ],
)
def test_chain_of_a_hundred_thousand_nodes(end: str) -> None:
    """Forward, backward and destruction (at once, by the collector, at exit) of a deep graph, on a
    thread with a small stack too."""
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
threading.stack_size({STACK})
thread = threading.Thread(target=run)
thread.start()
thread.join()
print("done")
"""
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
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


# --- modes change no number -----------------------------------------------------------------------


def random_program(rng: np.random.Generator, leaves: list[Any]) -> Any:
    """A scalar of some 3 x 3 tensors: arithmetic, products, views, writes into views, joins,
    choices, linear algebra."""
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
    """First and second derivatives of random programs are those without the mode: to the bit, but
    where what is saved goes through hooks. Then softmax takes the rule of operations in place of
    its own reverse half, which sums in another order."""

    def run(seed: int, order: int, context: Any) -> list[Any]:
        rng = np.random.default_rng(seed)
        leaves = [tg.tensor(rng.normal(size=(3, 3)), requires_grad=True) for _ in range(3)]
        with context():
            found = autograd.grad(
                random_program(rng, leaves), leaves, materialize_grads=True, create_graph=order == 2
            )
            if order == 2:
                found = autograd.grad(
                    sum((g * g).sum() for g in found), leaves, materialize_grads=True
                )
        return [g.tolist() for g in found]

    for seed in range(20):
        for order in (1, 2):
            found, plain = run(seed, order, MODES[mode]), run(seed, order, contextlib.nullcontext)
            if mode in ("anomaly", "reading"):
                assert found == plain, (seed, order)
            else:
                scale = np.max(np.abs(plain))
                np.testing.assert_allclose(found, plain, rtol=0, atol=1e-14 * scale)


# --- errors in the middle -------------------------------------------------------------------------


class Interrupt(KeyboardInterrupt):
    pass


@pytest.mark.parametrize("error", [ValueError, Interrupt])
@pytest.mark.parametrize("create_graph", [False, True])
def test_errors_in_the_middle(error: type[BaseException], create_graph: bool) -> None:
    """An error (or Ctrl-C) in a hook comes through with its own type; the engine and its modes are
    as before."""
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


# --- the order of hooks ---------------------------------------------------------------------------


def test_order_of_hooks() -> None:
    """Tensor hooks as registered, then what is retained, prehooks of the node, its rule, posthooks;
    likewise for the leaf."""
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
    """A post-accumulate hook can use and drop a gradient while the pass goes on: an optimizer
    inside the backward pass."""
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
    """A hook may remove itself, or another one that then does not run again, or register one for
    the next pass."""
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
    """Under create_graph hooks get gradients with history, and what they compute is part of the
    result."""
    x = leaf(1, 2)
    y = x * x
    y.register_hook(lambda g: g * x)
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2,))
    y.grad_fn.register_hook(
        lambda inputs, outputs: tuple(None if g is None else g * x for g in inputs)
    )
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
        y.grad_fn.register_hook(
            lambda inputs, outputs: tuple(None if g is None else g + 1 for g in inputs)
        )
        y.sum().backward()
        return x.grad

    # Two inputs of the product, each with one added.
    assert step(tg.tensor([1.0, 2.0])).tolist() == [22, 42]
