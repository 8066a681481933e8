"""Operations written out: the text of every operation compiles, and means what `interpret`
means."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cases import sample
from tests.cases.numpy_names import BY_COLUMNS
from tests.checks import assert_same, floating
from tests.ops.test_ops import CASES
from tracegrad.ir.dispatch import STATE, Value
from tracegrad.ir.op import Op
from tracegrad.ops import OPS
from tracegrad.tape.eager_text import BOX, fits, write_out
from tracegrad.tape.engine import apply_rules, like_of
from tracegrad.tape.interpret import interpret
from tracegrad.tape.rule_text import pull_of
from tracegrad.tape.tape import Node

FLOATS = np.array([0.25, 0.5, 0.75]), np.array([0.5, 0.125, 0.625]), np.array(0.75)


@pytest.mark.parametrize("op", [op for op in OPS if fits(op)], ids=lambda op: op.name)
def test_the_text_compiles(op: Op) -> None:
    assert callable(write_out(op, lambda *given: None))


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "mul",
        "div",
        "maximum",
        "exp",
        "sqrt",
        "log",
        "less",
        "where",
        "sin",
        "square",
        "convert",
    ],
)
@pytest.mark.parametrize(
    "wanted",
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
def test_written_out_is_as_interpreted(name: str, wanted: tuple[bool, ...]) -> None:
    op = next(op for op in OPS if op.name == name)
    boxes = [tg.tensor(x, requires_grad=w) for x, w in zip(FLOATS, wanted, strict=True)][
        -len(op.inputs) :
    ]
    if name == "where":
        boxes[0] = tg.tensor([True, False, True])
    params = {"dtype": np.dtype(np.float32)} if name == "convert" else {}
    left = write_out(op, lambda *given: None)(*boxes, params)
    right = interpret(boxes[0], op, boxes, params)
    assert np.array_equal(left.detach().numpy(), right.detach().numpy())
    for slot in BOX.keys() - {"_grad_fn", "_versions"}:
        assert getattr(left, slot) == getattr(right, slot), slot
    assert (left._versions is None) == (right._versions is None)
    a, b = left.grad_fn, right.grad_fn
    if a is None or b is None:
        assert a is b
        return
    assert list(a.edges) == list(b.edges)
    assert a.plan == b.plan
    assert [x[2] for x in a.saved] == [x[2] for x in b.saved]
    assert all(x[0] is y[0] for x, y in zip(a.saved, b.saved, strict=True))
    for slot in set(type(a).__slots__) - {"__weakref__", "edges", "plan", "saved", "_order"}:
        assert getattr(a, slot) == getattr(b, slot), slot
    assert all(edge is None or edge[0]._order < a._order for edge in a.edges)


# --- every operation, as the op table uses it -----------------------------------------------------

NOT_IN_THE_TABLE = {"adjugate", "ellipeinc_by_m", "ellipkinc_by_m", "random_bits"}
"""Applied by rules and by generators only."""


def same_place(a: Any, b: Any) -> None:
    """Two boxes of the same application hold the same, and their nodes remember the same."""
    assert type(a) is type(b)
    if not isinstance(a, Value):
        assert_same(a, b, 0.0)
        return
    left: Any = a
    right: Any = b
    assert left.dtype == right.dtype
    assert_same(left._data, right._data, 0.0)
    for slot in BOX.keys() - {"_grad_fn", "_versions", "_base"}:
        assert getattr(left, slot) == getattr(right, slot), slot
    assert left._base is right._base
    one, other = left._grad_fn, right._grad_fn
    if one is None or other is None:
        assert one is other
        return
    assert list(one.edges) == list(other.edges)
    assert one.plan == other.plan
    for mine, own in zip(one.saved, other.saved, strict=True):
        assert mine[0] is own[0]
        assert mine[2] == own[2]
        assert type(mine[1]) is type(own[1]), "a type is saved where only that is read"
    for slot in set(type(one).__slots__) - {"__weakref__", "edges", "plan", "saved", "_order"}:
        if slot != "params":
            assert getattr(one, slot) == getattr(other, slot), slot


def same_rules(node: Any) -> None:
    """The rules written out give what they give when they are called one by one."""
    random = np.random.default_rng(5)
    ct = np.asarray(random.normal(size=node.shape), node.dtype)
    if node.dtype.kind == "c":
        ct = ct + 1j * random.normal(size=node.shape).astype(ct.real.dtype)
    quick = pull_of(node.op, node.plan)(node, ct, None)
    slow = apply_rules(node, {0: ct}, None, create_graph=True)
    for a, b, edge in zip(quick, slow, node.edges, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            b = b._data if isinstance(b, Value) else b
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert np.shape(a) == np.shape(b) == tuple(like_of(edge).shape)
            assert np.allclose(a, b, rtol=1e-6, equal_nan=True)


def kind_of(x: Any) -> tuple[Any, ...]:
    """What of an operand may decide how an operation on it is recorded."""
    if not isinstance(x, Value):
        return (type(x), str(getattr(x, "dtype", "")), np.shape(x))
    node = x._grad_fn
    return (type(x), x.dtype, x.shape, x.requires_grad, type(node), getattr(node, "op", None))


@contextmanager
def both_ways(seen: set[str]) -> Iterator[None]:
    """Each operation that can be written out is applied in both ways, and they are compared: twice
    where types, parameters and what is tracked are the same, since what is written depends on
    nothing else."""

    inside: list[Op] = []
    met: Counter[Any] = Counter()

    def comparing(op: Op) -> Any:
        short, count = write_out(op, lambda *given: NotImplemented), len(op.inputs)

        def apply(*given: Any) -> Any:
            inputs, params = given[:count], dict(given[count]) if given[count:] else {}
            box = next(x for x in inputs if isinstance(x, Value))
            found = interpret(box, op, inputs, params)
            if inside:
                return found  # a rule, which is made of operations
            kind = op.name, tuple(map(kind_of, inputs)), tuple((k, repr(params[k])) for k in params)
            met[kind] += 1
            if met[kind] > 2:
                return found
            inside.append(op)
            try:
                other = short(*given)
                if other is not NotImplemented:
                    same_place(other, found)
                    seen.add(op.name)
                    node = getattr(other, "_grad_fn", None)
                    if type(node) is Node and node.op is op:
                        same_rules(node)
            finally:
                inside.pop()
            return found

        return apply

    before = [(op, op.eager) for op in OPS if fits(op)]
    try:
        for op, _ in before:
            object.__setattr__(op, "eager", comparing(op))
        yield
    finally:
        for op, eager in before:
            object.__setattr__(op, "eager", eager)


def test_every_operation_is_recorded_alike(request: pytest.FixtureRequest) -> None:
    """The op table on Tensors (all tracked or each alone in turns, of a row for each operation and
    one in eight of the others; with --soak all) and under transforms: what is written out computes,
    records and pulls back what `interpret` and `apply_rules` do."""
    whole = request.config.getoption("--soak") >= 1
    seen: set[str] = set()
    of_ndarrays = {case.name for case in BY_COLUMNS}  # `x.ravel(order="F")`: not a Tensor's
    with both_ways(seen), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rows = [
            *sample(CASES, 8),
            *[c for c in CASES if c.name.startswith(("dot", "mv", "right_shift"))],
        ]
        for number, case in enumerate(CASES if whole else rows):
            arrays = case.inputs(np.random.default_rng(3))
            real = floating(arrays, case.wrt)
            alone = [real, *[[k] for k in real if len(real) > 1]]
            alone = alone if whole else [alone[number % len(alone)]]
            if case.name not in of_ndarrays:
                for tracked in alone:
                    given = [
                        tg.tensor(x, requires_grad=True) if k in tracked else x
                        for k, x in enumerate(arrays)
                    ]
                    case.function(*given)
                with suppress(TypeError):  # positions and sizes, which are no tensors
                    case.function(*map(tg.tensor, arrays))
            if real and case.order:
                tg.vjp(
                    lambda *xs, c=case, a=arrays, r=real: c.function(
                        *[xs[r.index(k)] if k in r else x for k, x in enumerate(a)]
                    ),
                    *[arrays[k] for k in real],
                )
    missing = {op.name for op in OPS if fits(op)} - seen
    assert missing == NOT_IN_THE_TABLE


def test_what_is_not_the_common_case_goes_the_other_way() -> None:
    op = next(op for op in OPS if op.name == "mul")
    written = write_out(op, lambda *given: "otherwise")
    x = tg.ones(3)
    assert isinstance(written(x, x), Value)
    assert written(x, tg.ones(4)) == "otherwise"
    assert written(x, [1.0, 2.0, 3.0]) == "otherwise"
    STATE.special += 1
    try:
        assert written(x, x) == "otherwise"
    finally:
        STATE.special -= 1
