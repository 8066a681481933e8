"""Section 7 of the torch.autograd contract, line by line: Function and its context. Eager code
first, then the same inside of jit."""

from __future__ import annotations

import gc
import weakref
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tests.contract.functions import WAYS, Exp, Scale, both, close, grad, made
from tracegrad.autograd.function import FunctionCtx

# --- the two styles, and the context as the node --------------------------------------------------


@both
def test_forward_with_ctx_and_backward(way: str) -> None:
    """`forward(ctx, *args)`, `backward(ctx, *grad_outputs)`."""
    x = leaf(0.5, -1.0)
    WAYS[way](Exp.apply)(x).sum().backward()
    close(x.grad, np.exp([0.5, -1.0]))


@both
def test_setup_context(way: str) -> None:
    """`forward(*args)` and `setup_context(ctx, inputs, output)`; keyword arguments and defaults."""
    for call in (
        lambda x: Scale.apply(x, 4),
        lambda x: Scale.apply(x, k=4),
        lambda x: Scale.apply(x=x, k=4),
    ):
        x = leaf(1.0, 2.0)
        y = WAYS[way](call)(x)
        close(y, [4.0, 8.0])
        y.sum().backward()
        close(x.grad, [12.0, 12.0])
    x = leaf(1.0)
    WAYS[way](lambda x: Scale.apply(x))(x).sum().backward()
    close(x.grad, [6.0])


def test_the_node_is_called_after_the_class_and_has_the_attributes_of_the_context() -> None:
    x = leaf(1.0, 2.0)
    y = Exp.apply(x)
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "ExpBackward"
    assert repr(y).endswith("grad_fn=<ExpBackward>)")
    assert y.grad_fn.tag == "hi"
    close(y.grad_fn.saved_tensors[0], np.exp([1.0, 2.0]))
    assert y.grad_fn.next_functions[0][0].name().endswith("AccumulateGrad")
    assert y.grad_fn.needs_input_grad == (True,)
    close(y.grad_fn.apply(tg.ones(2)), np.exp([1.0, 2.0]))
    with pytest.raises(AttributeError):
        y.grad_fn.nothing  # noqa: B018


@both
def test_vjp_is_another_name_for_backward(way: str) -> None:
    x = leaf(1.0)
    WAYS[way](made(lambda ctx, x: x * 1, vjp=lambda ctx, g: g * 5).apply)(x).sum().backward()
    close(x.grad, [5.0])


def taken(queue: SimpleQueue[Any]) -> list[Any]:
    """What was put into a queue."""
    return [queue.get() for _ in range(queue.qsize())]


@both
def test_modes_inside(way: str) -> None:
    """Forward runs unrecorded while inputs still show that they require grad; backward is recorded
    for create_graph only."""
    # A list that rules append to is Python's state, which derivatives of compiled functions must
    # not change.
    seen: SimpleQueue[Any] = SimpleQueue()

    def forward(ctx: Any, x: Any, k: Any, y: Any) -> Any:
        seen.put((x.requires_grad, y.requires_grad, tg.is_grad_enabled()))
        return x * k + y

    def backward(ctx: Any, g: Any) -> Any:
        seen.put((ctx.needs_input_grad, tg.is_grad_enabled()))
        return g, None, g

    X = made(forward, backward)
    X.apply(leaf(1.0), 2, tg.ones(1)).sum().backward()
    x = leaf(1.0)
    grad(X.apply(x, 2, tg.ones(1)).sum(), x, create_graph=True)
    assert taken(seen) == [
        (True, False, False),
        ((True, False, False), False),
        (True, False, False),
        ((True, False, False), True),
    ]
    WAYS[way](lambda a, b: X.apply(a, 2, b))(leaf(1.0), tg.ones(1)).sum().backward()
    found = taken(seen)
    assert {*found} == {(True, False, False), ((True, False, False), False)}
    assert len(found) == 2


@both
def test_no_grad_around(way: str) -> None:
    with tg.no_grad():
        y = WAYS[way](Exp.apply)(leaf(1.0))
    assert not y.requires_grad
    assert not WAYS[way](Exp.apply)(tg.ones(1)).requires_grad


# --- saving ---------------------------------------------------------------------------------------


def test_save_for_backward_takes_tensors_and_none() -> None:
    X = made(
        lambda ctx, x: (ctx.save_for_backward(x, None), x * 1)[1],
        lambda ctx, g: g * ctx.saved_tensors[0],
    )
    y = X.apply(leaf(3.0))
    assert y.grad_fn.saved_tensors[1] is None
    with pytest.raises(TypeError, match="can only save variables, but argument 0 is of type int"):
        made(lambda ctx, x: ctx.save_for_backward(3)).apply(leaf(1.0))


def test_the_second_save_counts() -> None:
    X = made(
        lambda ctx, x: (ctx.save_for_backward(x), ctx.save_for_backward(x * 2), x * 1)[2],
        lambda ctx, g: ctx.saved_tensors[0],
    )
    x = leaf(4.0)
    X.apply(x).sum().backward()
    close(x.grad, [8.0])


def test_saved_tensors_check_the_version() -> None:
    X = made(
        lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, g: g * ctx.saved_tensors[0]
    )
    a = leaf(1.0, 2.0)
    x = a * 1
    y = X.apply(x)
    x.add_(1)
    with pytest.raises(
        RuntimeError, match=r"modified by an inplace operation.*is at version 1; expected version 0"
    ):
        y.sum().backward()
    y = Exp.apply(a)
    z = y.sum()
    with tg.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match=r"output 0 of ExpBackward, is at version 1"):
        z.backward()


def test_a_backward_that_reads_nothing_saved_does_not_care() -> None:
    X = made(lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, g: g * 7)
    a = leaf(1.0)
    x = a * 1
    y = X.apply(x)
    x.add_(1)
    y.sum().backward()
    close(a.grad, [7.0])


def test_saved_tensors_after_they_were_freed() -> None:
    x = leaf(1.0)
    y = Exp.apply(x)
    s = y.sum()
    s.backward(retain_graph=True)
    s.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        y.grad_fn.saved_tensors  # noqa: B018
    close(x.grad, 2 * np.exp([1.0]))


def test_saved_outputs_make_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(leaf(1.0))
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_saved_tensors_go_through_hooks() -> None:
    packed: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t.detach().numpy().copy())
        return len(packed) - 1

    x = leaf(1.0, 2.0)
    with tg.autograd.graph.saved_tensors_hooks(pack, lambda k: tg.tensor(packed[k])):
        y = Exp.apply(x)
    assert len(packed) == 1
    y.sum().backward()
    close(x.grad, np.exp([1.0, 2.0]))
    X = made(
        lambda ctx, x: (ctx.save_for_backward(x), x * x)[1],
        lambda ctx, g: 2 * g * ctx.saved_tensors[0],
    )
    with tg.autograd.graph.saved_tensors_hooks(pack, lambda k: tg.tensor(packed[k])):
        y = X.apply(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    close(grad(g.sum(), x)[0], [2.0, 2.0])


def test_attributes_on_the_context_and_saved_tensors_in_forward() -> None:
    def forward(ctx: FunctionCtx, x: Any) -> Any:
        assert ctx.saved_tensors == ()
        ctx.shape, ctx.saved, ctx.op = x.shape, [1], {"a": None}  # type: ignore[attr-defined]
        return x.sum()

    x = leaf(1.0, 2.0)
    made(forward, lambda ctx, g: g.expand(ctx.shape) * len(ctx.saved)).apply(x).backward()
    close(x.grad, [1.0, 1.0])


def test_a_context_keeps_nothing_where_nothing_is_recorded() -> None:
    held: list[Any] = []
    X = made(lambda ctx, x: (ctx.save_for_backward(x), held.append(ctx), x * 1)[2])
    X.apply(tg.ones(2))
    assert held[0].saved_tensors == ()


# --- several arguments and results ----------------------------------------------------------------


@both
def test_arguments_and_results_that_are_no_tensors(way: str) -> None:
    arrived: SimpleQueue[Any] = SimpleQueue()

    def forward(ctx: Any, x: Any, k: Any, names: Any) -> Any:
        return x * k, x.argmax(), 7, None

    def backward(ctx: Any, *gs: Any) -> Any:
        arrived.put([None if g is None else (g.dtype.kind, tuple(g.shape)) for g in gs])
        return gs[0] * 3, None, None

    X = made(forward, backward)
    x = leaf(1.0, 2.0)
    y, i, n, nothing = WAYS[way](lambda x: X.apply(x, 2, ["a"]))(x)
    assert (i.item(), int(n), nothing) == (1, 7, None)
    assert y.requires_grad
    assert not i.requires_grad
    y.sum().backward()
    close(x.grad, [3.0, 3.0])
    assert taken(arrived) == [[("f", (2,)), ("i", ()), None, None]]


@both
def test_tensors_inside_of_lists_are_not_differentiated(way: str) -> None:
    X = made(lambda ctx, x, others: x * others[0], lambda ctx, g: (g, None))
    x, z = leaf(2.0), leaf(3.0)
    WAYS[way](lambda x, z: X.apply(x, [z]))(x, z).sum().backward()
    close(x.grad, [1.0])
    assert z.grad is None or not z.grad.numpy().any()


def test_a_list_is_one_result_that_is_no_tensor() -> None:
    r = made(lambda ctx, x: [x * 1, x * 2]).apply(leaf(1.0))
    assert isinstance(r, list)
    assert not r[0].requires_grad
    assert made(lambda ctx, x: 3).apply(leaf(1.0)) == 3


@both
def test_gradients_that_are_not_there_become_zeros(way: str) -> None:
    """`set_materialize_grads(True)` is the default; with False they are None."""
    for value, expected in ((True, 0.0), (False, None)):
        arrived: list[Any] = []

        def forward(ctx: Any, x: Any, value: bool = value) -> Any:
            ctx.set_materialize_grads(value)
            return x * 1, x.float() * 2

        def backward(ctx: Any, *gs: Any, arrived: list[Any] = arrived) -> Any:
            arrived.extend(gs)
            return gs[0]

        a, _ = made(forward, backward).apply(leaf(1.0, 2.0))
        a.sum().backward()
        if expected is None:
            assert arrived[1] is None
        else:
            close(arrived[1], [0.0, 0.0])
            assert arrived[1].dtype == np.float32

    X = made(lambda ctx, x: (x * 1, x * 2), lambda ctx, g, h: g + 10 * h)
    x = leaf(1.0)
    WAYS[way](lambda x: X.apply(x)[1])(x).sum().backward()
    close(x.grad, [10.0])


@both
def test_mark_non_differentiable(way: str) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        b = x * 2
        ctx.mark_non_differentiable(b)
        return x * 1, b

    X = made(forward, lambda ctx, g, h: g + (h + 1) * 0 + h)
    x = leaf(1.0, 2.0)
    a, b = WAYS[way](X.apply)(x)
    assert a.requires_grad
    assert not b.requires_grad
    a.sum().backward()
    close(x.grad, [1.0, 1.0])
    with pytest.raises(RuntimeError, match="only accepts variable arguments, but got int"):
        made(lambda ctx, x: ctx.mark_non_differentiable(3)).apply(leaf(1.0))


def test_set_output_grad_dtype() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_output_grad_dtype(np.float32)
        return x * 1

    made(forward, lambda ctx, g: (seen.append(g.dtype), g)[1]).apply(leaf(1.0)).sum().backward()
    assert seen == [np.float32]


@both
def test_the_same_tensor_twice(way: str) -> None:
    X = made(lambda ctx, x, y: x * y, lambda ctx, g: (g, g * 2))
    x = leaf(1.0)
    WAYS[way](lambda x: X.apply(x, x))(x).sum().backward()
    close(x.grad, [3.0])
