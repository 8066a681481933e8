"""A jitted call on the tape: forward with residuals, backward that reads them, and what decides
between storing and computing again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracegrad as tg
from tests.checks import assert_same
from tests.compiled.test_random_programs import COMMON, objective, programs, tolerance
from tracegrad.ir.evaluate import evaluate
from tracegrad.ir.graph import Graph, Node, Var
from tracegrad.ir.verify import verify
from tracegrad.transforms.derive import adjoint
from tracegrad.transforms.minimum_cut import bytes_of, minimum_cut
from tracegrad.transforms.partition import Partition, partition

RNG = np.random.default_rng(0)


def network(w1: Any, b: Any, w2: Any, x: Any) -> Any:
    return np.mean(np.exp(np.tanh(x @ w1 + b) @ w2))


def network_data() -> list[np.ndarray[Any, Any]]:
    return [
        RNG.normal(size=(20, 30)) / 5,
        RNG.normal(size=30),
        RNG.normal(size=(30, 10)) / 5,
        RNG.normal(size=(40, 20)),
    ]


def split(function: Any, *args: Any) -> tuple[Graph, Partition]:
    graph = tg.jit(function).graphs(*args)[0]
    parts = partition(graph, [True] * len(args), [True] * len(graph.outputs))
    verify(parts.forward)
    verify(parts.backward)
    return graph, parts


def count(graph: Graph, name: str) -> int:
    return sum(node.op.name == name for node in graph.nodes)


def run(graph: Graph, parts: Partition, args: Any, ct: Any) -> list[Any]:
    outs = evaluate(parts.forward, args)
    n = len(graph.outputs)
    return evaluate(
        parts.backward,
        [*[args[k] for k in parts.inputs], *[outs[k] for k in parts.outputs], *outs[n:], ct],
    )


def test_products_are_not_done_again() -> None:
    args = network_data()
    graph, parts = split(network, *args)
    assert (count(parts.forward, "matmul"), count(parts.forward, "tanh")) == (2, 1)
    assert (count(parts.backward, "matmul"), count(parts.backward, "tanh")) == (4, 0)
    whole = evaluate(adjoint(graph, [True] * 4, [True]), [*args, 1.0])
    for a, b in zip(run(graph, parts, args, 1.0), whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_only_what_must_be_is_stored() -> None:
    x = RNG.normal(size=100_000)
    _, cheap = split(lambda x: np.sum((x * x + 1.0) / (x - 7.0)), x)
    assert len(cheap.forward.outputs) == 1
    assert count(cheap.backward, "sum") == 0
    _, small = split(lambda x: np.sum(np.exp(x) ** 2), x[:10])
    assert len(small.forward.outputs) == 1
    _, dear = split(lambda x: np.sum(np.exp(x) ** 2), x)
    assert len(dear.forward.outputs) == 2
    assert count(dear.backward, "exp") == 0
    _, output = split(lambda x: np.exp(x), x)
    assert len(output.forward.outputs) == 1
    assert (output.inputs, output.outputs) == ((), (0,))
    _, product = split(lambda a, b: a @ b, np.ones((50, 50)), np.ones((50, 50)))
    assert len(product.forward.outputs) == 1
    assert product.inputs == (0, 1)


def test_the_narrowest_place_is_cut() -> None:
    # Both the product (1,000 numbers) and the sum (10 numbers) lie on the way; the backward graph
    # reads sin of the sum.
    x = RNG.normal(size=(10, 100))
    _, parts = split(lambda x: np.sum(np.cos(np.sum(x @ np.ones((100, 100)), axis=1))), x)
    stored = sorted(v.type.shape for v in parts.forward.outputs[1:] if isinstance(v, Var))
    assert stored == [(10,)]


def test_cut_is_minimal() -> None:
    # Of two values that a dear one leads to, storing the dear one itself takes one array in place
    # of two.
    graph = tg.jit(lambda x: (lambda e: (e + 1.0, e * e))(np.exp(x))).graphs(np.ones(1000))[1]
    made: dict[Var, Node] = {v: n for n in graph.nodes for v in n.outputs}
    first = graph.nodes[0].outputs[0]
    reads = [a for a in graph.outputs if isinstance(a, Var)]
    assert graph.nodes[0].op.name == "exp"

    def cut(there: set[Var], read: list[Var]) -> set[Var]:
        return minimum_cut(made, there, read, {}, lambda v: bytes_of(v.type, {}))

    assert cut(set(), reads) == {first}
    assert cut(set(), reads[:1]) == {reads[0]}
    assert cut({first}, reads) == set()


def tensors(args: Any) -> list[Any]:
    return [tg.tensor(a, requires_grad=True) for a in args]


def test_on_the_tape() -> None:
    args = network_data()
    f = tg.jit(network)
    expected = tg.grad(network, argnums=(0, 1, 2, 3))(*args)
    xs = tensors(args)
    loss = f(*xs)
    loss.backward(retain_graph=True)
    loss.backward()
    for x, g in zip(xs, expected, strict=True):
        np.testing.assert_allclose(x.grad.numpy(), 2 * g, rtol=1e-10, atol=1e-14)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    assert loss.grad_fn.rest is None
    (alone,) = tg.autograd.grad(f(*xs), xs[1])
    np.testing.assert_allclose(alone.numpy(), expected[1], rtol=1e-10)


def test_no_residuals_without_gradients() -> None:
    args = network_data()
    f = tg.jit(network)
    xs = tensors(args)
    with tg.no_grad():
        f(*xs)
    f(*[x.detach() for x in xs])
    graphs = {id(e.graph): e.graph for e in f._signatures.entries.values()}
    assert graphs
    assert not any(
        key[0] == "partition"
        for g in graphs.values()
        for key in g.derived
        if isinstance(key, tuple)
    )


def test_higher_orders_do_not_see_the_partition() -> None:
    f = tg.jit(lambda x, y: np.sum(np.exp(x) * np.sin(y)) ** 2)
    x, y = tensors([RNG.normal(size=500), RNG.normal(size=500)])
    gx, gy = tg.autograd.grad(f(x, y), [x, y], create_graph=True)
    found = tg.autograd.grad((gx * gy).sum(), [x, y])
    u, v = tensors([x.detach().numpy(), y.detach().numpy()])
    plain = np.sum(np.exp(u) * np.sin(v)) ** 2
    gu, gv = tg.autograd.grad(plain, [u, v], create_graph=True)
    for a, b in zip(found, tg.autograd.grad((gu * gv).sum(), [u, v]), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10)


def test_one_of_several_results() -> None:
    f = tg.jit(lambda x: (np.sum(np.exp(x)), np.tanh(x), np.argmax(x)))
    (x,) = tensors([RNG.normal(size=3000)])
    loss, other, place = f(x)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.detach().numpy()), rtol=1e-12)
    assert not place.requires_grad
    x.grad = None
    loss, other, _ = f(x)
    (loss + other.sum()).backward()
    value = x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(value) + 1 - np.tanh(value) ** 2, rtol=1e-12)


def test_overwritten_values_are_noticed_where_they_are_read() -> None:
    f = tg.jit(lambda x, y: np.exp(x) + 3.0 * y)
    x, y = (t * 1.0 for t in tensors([np.ones(3000), np.ones(3000)]))
    out = f(x, y)
    y.add_(1)  # the derivative does not read y
    out.sum().backward()
    g = tg.jit(lambda x: x * x)
    out = g(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    h = tg.jit(lambda x: np.exp(x))
    (leaf,) = tensors([np.ones(3000)])
    out = h(leaf)
    out.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_many_sizes() -> None:
    f = tg.jit(lambda x, w: np.sum(np.tanh(x @ w) ** 2))
    for n in (40, 50, 60, 70):
        x, w = tensors([RNG.normal(size=(n, 30)), RNG.normal(size=(30, n))])
        f(x, w).backward()
        h = np.tanh(x.detach().numpy() @ w.detach().numpy())
        np.testing.assert_allclose(
            w.grad.numpy(), x.detach().numpy().T @ (2 * h * (1 - h**2)), rtol=1e-9, atol=1e-12
        )
    assert len({id(e.graph) for e in f._signatures.entries.values()}) == 2


@pytest.mark.usefixtures("kernels_in_python")
@settings(max_examples=300, **COMMON)  # type: ignore[arg-type]
@given(programs(), st.sampled_from([(8, 2000), (1000, 2000), (0, 0)]))
def test_random_programs(case: Any, costs: tuple[int, int]) -> None:
    """Cut anywhere (where everything is dear, every path is cut), the two halves give the
    gradient."""
    program, args = case
    total = objective(program)
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr("tracegrad.transforms.minimum_cut.CHEAP", costs[0])
        patch.setattr("tracegrad.transforms.minimum_cut.WORK", costs[1])
        value, gradients = tg.value_and_grad(total, argnums=tuple(range(len(args))))(*args)
        entry = tg.jit(total)._entry(args, {})[0]
        operands = [*args, *entry.traced.captures]
        parts = partition(entry.graph, [k < len(args) for k in range(len(operands))], [True])
        verify(parts.forward)
        verify(parts.backward)
        out, *residuals = evaluate(parts.forward, operands)
        outs = [[out][k] for k in parts.outputs]
        found = evaluate(
            parts.backward,
            [*[operands[k] for k in parts.inputs], *outs, *residuals, args[0].dtype.type(1)],
        )
    # What cancels exactly the one way may leave a rounding error the other.
    near = [
        np.where(np.abs(f) < 1e-14, e, f) if np.all(e == 0) else f
        for f, e in zip(found, gradients, strict=True)
    ]
    assert_same((out, *near), (value, *gradients), tolerance(args))
