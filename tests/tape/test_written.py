"""Operations written out: the text of every operation compiles, and means what `interpret`
means."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ir.dispatch import STATE, Value
from tracegrad.ir.op import Op
from tracegrad.ops import OPS
from tracegrad.tape.eager_text import BOX, fits, write_out
from tracegrad.tape.interpret import interpret

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
