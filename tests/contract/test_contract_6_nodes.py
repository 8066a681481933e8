"""Section 6 of the torch.autograd contract, line by line: nodes, what they are called, what they
have saved, their hooks."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import graph
from tracegrad.tape.tape import AccumulateGrad

SECOND_TIME = "Trying to backward through the graph a second time"


def leaf(*values: float) -> Any:
    return tg.tensor(list(values), dtype=np.float64, requires_grad=True)


def test_name() -> None:
    """`name()` of a node, and how it prints."""
    y = leaf(1, 2) * 2
    assert y.grad_fn.name() == "MulBackward0"
    assert re.fullmatch(r"<MulBackward0 object at 0x[0-9a-f]+>", repr(y.grad_fn))
    assert isinstance(y.grad_fn, graph.Node)
    assert y.grad_fn is y.grad_fn


def test_next_functions() -> None:
    """`next_functions`: (node, input_nr), and (None, 0) for inputs without gradient."""
    x, c = leaf(1, 2), tg.ones(2)
    parts = x * c
    assert [(n and n.name(), nr) for n, nr in parts.grad_fn.next_functions] == [
        ("tracegrad::autograd::AccumulateGrad", 0),
        (None, 0),
    ]
    y = parts.exp()
    assert y.grad_fn.next_functions == ((parts.grad_fn, 0),)
    values, vectors = tg.linalg.eigh(tg.eye(2, requires_grad=True) * 2)
    # A single matrix goes through as a stack of one, whose node has both results.
    assert values.grad_fn.next_functions == ((vectors.grad_fn.next_functions[0][0], 0),)
    assert vectors.grad_fn.next_functions == ((values.grad_fn.next_functions[0][0], 1),)


def test_metadata() -> None:
    """`metadata` is a dict that stays with its node."""
    y = leaf(1) * 2
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["note"] = 3
    assert y.grad_fn.metadata == {"note": 3}
    assert y.grad_fn.next_functions[0][0].metadata == {}


def test_register_hook() -> None:
    """`register_hook(fn(grad_inputs, grad_outputs))`: sees both tuples, may return other
    grad_inputs."""
    x, y = leaf(1, 2), leaf(3, 4)
    seen: list[Any] = []
    z = x * y
    z.grad_fn.register_hook(
        lambda inputs, outputs: seen.append(
            ([g.tolist() for g in inputs], [g.tolist() for g in outputs])
        )
    )
    handle = z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, None))
    z.sum().backward(retain_graph=True)
    assert seen == [([[3, 4], [1, 2]], [[1, 1]])]
    assert x.grad.tolist() == [30, 40]
    assert y.grad is None
    handle.remove()
    z.sum().backward()
    assert y.grad.tolist() == [1, 2]


def test_register_hook_of_what_is_not_wanted() -> None:
    """grad_inputs has None where no gradient is computed; it cannot become one."""
    x, c = leaf(1, 2), tg.ones(2)
    z = x * c
    z.grad_fn.register_hook(
        lambda inputs, outputs: (inputs[0], tg.ones(2)) if inputs[1] is None else None
    )
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        z.sum().backward()


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (lambda g: [g, g], TypeError, "expected tuple, but hook returned 'list'"),
        (lambda g: g, TypeError, "expected tuple, but hook returned 'Tensor'"),
        (lambda g: (g, g, g), RuntimeError, r"incorrect number of values \(got 3, but expected"),
        (lambda g: (3, 3), TypeError, "expected Variable, but hook returned 'int'"),
        (lambda g: (g[:1], g), RuntimeError, "has changed the size of value"),
        (lambda g: (g.float(), g), RuntimeError, "has changed the type of value"),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_hooks_of_nodes_are_checked(
    returned: Any, error: type[Exception], message: str, before: bool
) -> None:
    """What hooks of nodes return must be a tuple of tensors like those they were given."""
    x, y = leaf(1, 2), leaf(3, 4)
    z = x * y
    if before:
        z.grad_fn.register_prehook(
            lambda outputs: (
                r[:1] if isinstance(r := returned(outputs[0]), tuple) and len(r) == 2 else r
            )
        )
    else:
        z.grad_fn.register_hook(lambda inputs, outputs: returned(inputs[0]))
    with pytest.raises(error, match=message):
        z.sum().backward()


def test_register_prehook() -> None:
    """`register_prehook(fn(grad_outputs))` may return other grad_outputs; (None,) stops the
    gradient."""
    x = leaf(1, 2)
    z = x * x
    handle = z.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    z.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20, 40]
    handle.remove()
    z.grad_fn.register_prehook(lambda outputs: (None,))
    z.sum().backward()
    assert x.grad.tolist() == [20, 40]
    with pytest.raises(TypeError, match="callable"):
        z.grad_fn.register_prehook(3)


def test_hooks_of_several_results() -> None:
    """A node with several results gets None for those without gradient."""
    seen: list[Any] = []
    values, _ = tg.linalg.eigh(tg.tensor([[2.0, 0.0], [0.0, 1.0]], requires_grad=True))
    ((node, _),) = values.grad_fn.next_functions
    node.register_prehook(lambda outputs: seen.append([g is None for g in outputs]))
    values.sum().backward()
    assert seen == [[False, True]]
    assert len(node._input_metadata) == 2


def test_prehook_does_not_run_where_the_rule_does_not() -> None:
    """grad() with respect to an intermediate runs its tensor hooks, not the hooks of its node, and
    frees nothing there."""
    x = leaf(1, 2)
    y = x * x
    s = y.sum()
    seen: list[str] = []
    y.register_hook(lambda g: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda outputs: seen.append("node"))
    tg.autograd.grad(s, y)
    assert seen == ["tensor"]
    assert tg.autograd.grad(y.sum(), x)[0].tolist() == [2, 4]
    assert seen == ["tensor", "tensor", "node"]
    # The node of y is freed now, but the gradient of y does not need it.
    assert tg.autograd.grad(s, y)[0].tolist() == [1, 1]


def test_saved_names() -> None:
    """`_saved_self`, `_saved_other`, `_saved_result`, `_saved_exponent`, `_saved_dim`,
    `_saved_keepdim`, `_saved_self_sym_sizes`."""
    x, y = leaf(1, 2), leaf(3, 4)
    node = (x * y).grad_fn
    assert node._saved_self is x
    assert node._saved_other is y
    node = (x * 2).grad_fn
    assert node._saved_self is None
    assert node._saved_other.item() == 2
    result = x.exp()
    saved = result.grad_fn._saved_result
    assert saved.tolist() == result.tolist()
    assert saved.grad_fn is result.grad_fn
    assert (x**2).grad_fn._saved_exponent == 2
    assert (x**3).grad_fn._saved_exponent == 3
    assert (x**y).grad_fn._saved_exponent is y
    total = tg.ones(2, 3, requires_grad=True)
    node = total.sum(0).grad_fn
    assert (node._saved_dim, node._saved_keepdim, node._saved_self_sym_sizes) == (
        (0,),
        False,
        (2, 3),
    )
    assert total.sum().grad_fn._saved_self_sym_sizes == (2, 3)
    assert total.sum().grad_fn._saved_self_sym_sizes == (2, 3)
    assert not hasattr(total.sum().grad_fn, "_saved_dim")
    node = total.mean(1).grad_fn
    assert (node._saved_dim, node._saved_self_sym_sizes) == ((1,), (2, 3))
    node = total[:, 1:].grad_fn
    assert (node._saved_dim, node._saved_start, node._saved_end, node._saved_step) == (1, 1, 3, 1)
    node = total[:, 2].grad_fn
    assert (node._saved_dim, node._saved_index) == (1, 2)
    assert total.permute(1, 0).grad_fn._saved_dims == (1, 0)
    node = (total @ tg.ones(3)).grad_fn
    assert (node._saved_self, node._saved_vec.tolist()) == (None, [1, 1, 1])
    assert tg.where(x > 1, x, y).grad_fn._saved_condition.tolist() == [False, True]
    assert (total @ tg.ones(3, 2, requires_grad=True)).grad_fn._saved_self is total


def test_saved_attributes_that_are_not_there() -> None:
    """A node has the attributes of its operation only; hasattr and dir tell."""
    node = leaf(1).exp().grad_fn
    assert not hasattr(node, "_saved_other")
    assert hasattr(node, "_saved_result")
    assert "_saved_result" in dir(node)
    assert "_raw_saved_result" in dir(node)
    assert "_saved_other" not in dir(node)
    assert "name" in dir(node)
    with pytest.raises(AttributeError, match="'ExpBackward0' object has no attribute '_saved_dim'"):
        _ = node._saved_dim


def test_saved_values_after_the_free() -> None:
    """Reading a saved tensor after it was freed is the error about the second time; sizes stay."""
    x = leaf(1, 2)
    y = x * x
    s = y.sum()
    s.backward()
    for name in ("_saved_self", "_saved_other"):
        with pytest.raises(RuntimeError, match=SECOND_TIME):
            getattr(y.grad_fn, name)
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    assert s.grad_fn._saved_self_sym_sizes == (2,)


def test_saved_values_are_checked_when_read() -> None:
    """Reading a saved tensor that was overwritten is the error of the backward pass."""
    y = leaf(1, 2) * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        _ = z.grad_fn._saved_self


def test_raw_saved() -> None:
    """`_raw_saved_*.register_hooks(pack, unpack)`, once."""
    x = leaf(1, 2)
    y = x.exp()
    seen: list[str] = []
    raw = y.grad_fn._raw_saved_result
    raw.register_hooks(
        lambda t: (seen.append("pack"), t * 1)[1], lambda t: (seen.append("unpack"), t)[1]
    )
    assert seen == ["pack"]
    y.sum().backward()
    assert seen == ["pack", "unpack"]
    assert np.array_equal(x.grad.numpy(), np.exp([1, 2]))
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="only one pair of hooks is allowed at a time"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        (x * 2).grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="two functions"):
        x.exp().grad_fn._raw_saved_result.register_hooks(1, 2)
    with pytest.raises(AttributeError, match="_raw_saved_other"):
        _ = y.grad_fn._raw_saved_other


def test_sequence_numbers() -> None:
    """`_sequence_nr()` grows with each operation; leaves come last."""
    x = leaf(1)
    y = x * 2
    z = y * 2
    assert y.grad_fn._sequence_nr() < z.grad_fn._sequence_nr()
    assert y.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


def test_input_metadata() -> None:
    """`_input_metadata`: shape, dtype and device of what the node's gradients belong to."""
    (found,) = (tg.ones(2, 3, dtype=np.float32, requires_grad=True) * 2).grad_fn._input_metadata
    assert (found.shape, found.dtype, found.device) == ((2, 3), np.float32, "cpu")


def test_accumulate_grad() -> None:
    """AccumulateGrad: `variable` is the leaf; its name; hooks around the accumulation."""
    x = leaf(1, 2)
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    assert type(node) is AccumulateGrad
    assert type(node).__name__ == "AccumulateGrad"
    assert node.variable is x
    assert node.name() == "tracegrad::autograd::AccumulateGrad"
    assert repr(node).startswith("<AccumulateGrad object at")
    assert node.next_functions == ()
    seen: list[Any] = []
    node.register_prehook(lambda outputs: seen.append(("before", x.grad)))
    node.register_hook(
        lambda inputs, outputs: seen.append(("after", inputs, outputs[0].tolist(), x.grad.tolist()))
    )
    y.sum().backward()
    assert seen == [("before", None), ("after", (), [2, 2], [2, 2])]
    (x * 2).sum().backward()
    assert len(seen) == 4
    tg.autograd.grad((x * 2).sum(), x)
    assert len(seen) == 4, "grad() does not accumulate"


def test_a_leafs_node_remembers_while_nobody_holds_it() -> None:
    """The graph ends in leaves; the node of one, made for who asks, is the same for all, and what
    is noted about it stays."""
    x = leaf(1, 2)
    y = x * x
    (first, _), (second, _) = y.grad_fn.next_functions
    assert first is second is (x + 1).grad_fn.next_functions[0][0]
    assert first is tg.autograd.graph.get_gradient_edge(x).node
    first.metadata["seen"] = 1
    del first, second
    assert y.grad_fn.next_functions[1][0].metadata == {"seen": 1}
    assert leaf(1).sum().grad_fn.next_functions[0][0].metadata == {}
    calls: list[Any] = []
    y.grad_fn.next_functions[0][0].register_prehook(
        lambda outputs: calls.append(outputs[0].tolist())
    )
    y.sum().backward()
    assert calls == [[2, 4]]


def test_edges_to_a_leaf_and_to_its_node_are_one_place() -> None:
    """What stands for a leaf (here: its place, as it is given to `grad` and `backward`) meets what
    was recorded with the leaf itself."""
    x = leaf(1, 2)
    y = (x * 3).sum()
    node, nr, _ = tg.autograd.graph.get_gradient_edge(x)
    place = tg.autograd.graph.GradientEdge(node, nr)
    assert tg.autograd.grad(y, [place, x], retain_graph=True)[0].tolist() == [3, 3]
    tg.autograd.backward(y, inputs=[place])
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x, b, A: x + b, "AddBackward0"),
        (lambda x, b, A: x - b, "SubBackward0"),
        (lambda x, b, A: 1 - x, "RsubBackward1"),
        (lambda x, b, A: b.detach() - x, "SubBackward0"),
        (lambda x, b, A: x * b, "MulBackward0"),
        (lambda x, b, A: x / 2, "DivBackward0"),
        (lambda x, b, A: -x, "NegBackward0"),
        (lambda x, b, A: x**2, "PowBackward0"),
        (lambda x, b, A: x**3, "PowBackward0"),
        (lambda x, b, A: x**1.5, "PowBackward0"),
        (lambda x, b, A: x**x, "PowBackward1"),
        (lambda x, b, A: 2**x, "PowBackward2"),
        (lambda x, b, A: x.sum(), "SumBackward0"),
        (lambda x, b, A: A.sum(0), "SumBackward1"),
        (lambda x, b, A: A.sum(0, keepdim=True), "SumBackward1"),
        (lambda x, b, A: x.mean(), "MeanBackward0"),
        (lambda x, b, A: A.mean(0), "MeanBackward1"),
        (lambda x, b, A: x.max(), "MaxBackward1"),
        (lambda x, b, A: A.max(0)[0], "MaxBackward0"),
        (lambda x, b, A: x[0], "SelectBackward0"),
        (lambda x, b, A: x[0:2], "SliceBackward0"),
        (lambda x, b, A: x[[0, 1]], "IndexBackward0"),
        (lambda x, b, A: A.view(9), "ViewBackward0"),
        (lambda x, b, A: A.reshape(9), "ViewBackward0"),
        (lambda x, b, A: A.t(), "TBackward0"),
        (lambda x, b, A: A.permute(1, 0), "PermuteBackward0"),
        (lambda x, b, A: x.expand(2, 3), "ExpandBackward0"),
        (lambda x, b, A: A.mv(b), "MvBackward0"),
        (lambda x, b, A: A @ b, "MvBackward0"),
        (lambda x, b, A: x @ b, "DotBackward0"),
        (lambda x, b, A: A @ A, "MmBackward0"),
        (lambda x, b, A: A.mm(A), "MmBackward0"),
        (lambda x, b, A: x.dot(b), "DotBackward0"),
        (lambda x, b, A: tg.cat([x, b]), "CatBackward0"),
        (lambda x, b, A: tg.where(x > 1, x, b), "WhereBackward0"),
        (lambda x, b, A: x.clone(), "CloneBackward0"),
        (lambda x, b, A: x.abs(), "AbsBackward0"),
        (lambda x, b, A: x.sqrt(), "SqrtBackward0"),
        (lambda x, b, A: x.prod(), "ProdBackward0"),
        (lambda x, b, A: x.cumsum(0), "CumsumBackward0"),
        (lambda x, b, A: x.relu(), "ReluBackward0"),
        (lambda x, b, A: x.sigmoid(), "SigmoidBackward0"),
        (lambda x, b, A: x.tanh(), "TanhBackward0"),
        (lambda x, b, A: tg.erf(x), "ErfBackward0"),
        (lambda x, b, A: tg.lgamma(x), "LgammaBackward0"),
        (lambda x, b, A: x.clamp(0, 1), "ClampBackward1"),
        (lambda x, b, A: tg.maximum(x, b), "MaximumBackward0"),
        (lambda x, b, A: x.norm(), "LinalgVectorNormBackward0"),
        (lambda x, b, A: x.float(), "ToCopyBackward0"),
        (lambda x, b, A: tg.linalg.solve(A, b), "LinalgSolveExBackward0"),
        (lambda x, b, A: tg.linalg.solve(A, A), "LinalgSolveExBackward0"),
        (lambda x, b, A: tg.linalg.inv(A), "LinalgInvExBackward0"),
        (lambda x, b, A: tg.linalg.inv(A).view(9), "ViewBackward0"),
        (lambda x, b, A: tg.linalg.cholesky(A), "LinalgCholeskyExBackward0"),
        (lambda x, b, A: tg.linalg.det(A), "LinalgDetBackward0"),
        (lambda x, b, A: tg.linalg.eigh(A)[0], "LinalgEighBackward0"),
        (lambda x, b, A: tg.linalg.eigh(A)[1], "LinalgEighBackward0"),
    ],
)
def test_names_seen(make: Any, name: str) -> None:
    """The names that torch's users know, with the number of the form of the operation."""
    x, b, A = leaf(1, 2, 3), leaf(1, 1, 1), tg.eye(3, requires_grad=True)
    assert make(x, b, A).grad_fn.name() == name


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: x.max(), [0, 0.5, 0.5]),
        (lambda x: x.amax(), [0, 0.5, 0.5]),
        (lambda x: x.max(0)[0], None),
        (lambda x: tg.maximum(x, tg.full((3,), 2.0)).sum(), [0, 0.5, 0.5]),
        (lambda x: (x - 2).abs().sum(), [-1, 0, 0]),
        (lambda x: (x - 2).relu().sum(), [0, 0, 0]),
        (lambda x: x.clamp(1, 2).sum(), [1, 1, 1]),
        (lambda x: (x * 0).norm(), [0, 0, 0]),
        (lambda x: ((x - 2) ** 0).sum(), [0, 0, 0]),
        (lambda x: (x - 2).prod(), [0, 0, 0]),
        (lambda x: (x - 1).prod(), [1, 0, 0]),
    ],
)
def test_subgradients(make: Any, expected: list[float] | None) -> None:
    """Ties of max() are shared, of max(dim) one takes all; abs'(0) = relu'(0) = norm'(0) = 0; a
    bound of clamp passes; prod with zeros."""
    x = leaf(1, 2, 2)
    make(x).backward()
    if expected is None:
        assert sorted(x.grad.tolist()) == [0, 0, 1]
    else:
        assert x.grad.tolist() == expected


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_slope_of_the_root() -> None:
    """sqrt'(0) is infinite."""
    x = leaf(0, 1)
    x.sqrt().sum().backward()
    assert x.grad.tolist() == [np.inf, 0.5]


def test_nodes_are_freed_without_the_collector() -> None:
    """No reference cycles among tensors, nodes, hooks and what was saved."""
    gc.collect()
    gc.disable()
    try:
        x = leaf(1, 2)
        y = x * x
        y.register_hook(lambda g: g * 1)
        y.retain_grad()
        y.grad_fn.register_hook(lambda inputs, outputs: None)
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t.detach(), lambda t: t)
        y.grad_fn.metadata["note"] = [1]
        assert y.grad_fn._saved_self is not None
        z = y.exp()
        assert z.grad_fn._saved_result is not None
        handle = graph.register_multi_grad_hook((x, y, z), lambda grads: None)
        references = [weakref.ref(t) for t in (x, y, z, y.grad_fn, z.grad_fn)]
        z.sum().backward()
        del x, y, z
        assert [r() for r in references] == [None] * 5
        handle.remove()
    finally:
        gc.enable()
