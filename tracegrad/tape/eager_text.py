"""Operations written out: for each operation a small Python function, written as text, that does in
a straight line what `interpret` does in general, for the common case of running code (no trace, no
forward mode, no special mode is open).

The text is derived from the operation: how many operands it has, which of them have a rule, what
those rules read. Whatever is not the common case goes to `interpret`, operands that NumPy refuses
among it, for the errors that it explains.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import compress, product
from typing import Any

import numpy as np

from .._codegen import lowering
from ..checks import REFUSED
from ..ir import upward
from ..ir.contents import SMALL
from ..ir.dispatch import NO_PARAMS, SPECIAL, STATE, Value
from ..ir.op import Op
from ..ir.operands import NUMBERS, STRANGE
from ..ops.elementwise.arithmetic import sub_op
from ..types import type_of
from ..weak import FLOATS, KINDS, WeakFloat
from .boxes import BOX
from .lent import lend
from .mode import OFF, RECORDS
from .pieces import END, SAVE, mark
from .tape import NODE, Node, next_number, plan_for, plan_of_numbers
from .versions import Following, Uncounted, Versions

Written = Callable[..., Any]
REFLECTED = {sub_op: "RsubBackward1"}
"""How torch calls an operation on a number and a tensor, where it is not what it calls it on two
tensors."""


def write_out(op: Op, otherwise: Written, swapped: bool = False) -> Written:
    """A function `(*operands, params={})` of operands of which one at least is boxed; `otherwise`
    is called in the same way.

    `swapped`: of two operands it takes the second one first.
    """
    space: dict[str, Any] = {
        "op": op,
        "WeakFloat": WeakFloat,
        "KINDS": KINDS,
        "float64": np.float64,
        "FLOATS": FLOATS,
        "ARRAYS": frozenset((np.ndarray, np.float64)),
        "apply": OF_NUMBERS.get(op.evaluate),
        "evaluate": op.evaluate,
        "on_reals": op.on_reals,
        "otherwise": otherwise,
        "NO_PARAMS": NO_PARAMS,
        "SPECIAL": SPECIAL,
        "STATE": STATE,
        "OFF": OFF,
        "records": RECORDS,
        "Tensor": upward.FACES.tensor,
        "Value": Value,
        "NUMBERS": NUMBERS,
        "STRANGE": STRANGE,
        "mark": mark,
        "lend": lend,
        "type_of": type_of,
        "Versions": Versions,
        "Following": Following,
        "Uncounted": Uncounted,
        "Node": Node,
        "new": object.__new__,
        "asarray": np.asarray,
        "ndarray": np.ndarray,
        "next_number": next_number,
        "REFUSED": REFUSED,
    }
    wanted = (
        [k for k, rule in enumerate(op.vjp or ()) if rule is not None]
        if not callable(op.vjp)
        else []
    )
    for which in _choices(wanted):
        bits = _bits(which)
        space[f"eager_{bits}"] = plan_for(op, bits)
        space[f"numbers_{bits}"] = plan_of_numbers(op, bits)
    for kind in ("eager", "numbers") if _takes_numbers(op) else ("eager",):
        text = "\n".join(EagerText(op, wanted, swapped, kind).lines)
        exec(compile(text, f"{__file__}: {op.name}", "exec"), space)
    function: Written = space[f"eager_{op.name}"]
    return function


VIEWED = "x0._viewed(op, x0, params, box)"
"""A view, in general."""


def makes_anew(op: Op) -> bool:
    """Whether the results are new arrays that do not lie as the operands do: torch's are in C
    order, as those of libraries are, NumPy's often in the order of what was read."""
    kinds = (lowering.Pointwise, lowering.View, lowering.Library)
    return not op.view and not isinstance(op.lowering, kinds)


def fits(op: Op) -> bool:
    """Whether an operation can be written out: a fixed number of operands, one result, rules by
    input."""
    if op.variadic or op.outputs != 1 or op.staged is not None or op.effects or callable(op.vjp):
        return False
    return bool(op.inputs) and sum(rule is not None for rule in op.vjp or ()) <= 2


def _choices(wanted: Sequence[int]) -> list[tuple[int, ...]]:
    """All sets of inputs whose gradients may be wanted, the whole set first."""
    return [
        which
        for kept in product((True, False), repeat=len(wanted))
        if (which := tuple(compress(wanted, kept)))
    ]


def _bits(which: Sequence[int]) -> int:
    """A set of inputs, as plans are asked for."""
    return sum(1 << k for k in which)


OF_NUMBERS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.negative: operator.neg,
}
"""Python's operators, of which Python's numbers give such numbers in less time."""


def _takes_numbers(op: Op) -> bool:
    """Whether it is written out for boxes of Python's numbers, too."""
    return op.compute is not None and (not op.weak or op.evaluate in OF_NUMBERS)


class EagerText:
    """The lines of the function `eager` of an operation, or of the one `numbers` to which it goes
    where a box holds a Python number. Of operand k, `x{k}` is what was given, `d{k}` its data,
    `t{k}` whether it requires grad, `e{k}` its edge and `s{k}` what is saved of it."""

    def __init__(self, op: Op, wanted: Sequence[int], swapped: bool, kind: str) -> None:
        self.op, self.wanted, self.swapped, self.kind = op, wanted, swapped, kind
        self.numbers = kind == "numbers"
        self.names = [f"x{k}" for k in range(len(op.inputs))]
        self.given = ", ".join(reversed(self.names) if swapped else self.names)
        self.away = f"return otherwise({self.given}, params)"
        self.lines: list[str] = []
        self._head()
        for k, x in enumerate(self.names):
            self._operand(k, x)
        self._result()
        self._box()
        if wanted:
            self._node()
        if op.view:
            self._view()
        self.put(1, f"return {VIEWED}" if op.view else "return box")

    def put(self, depth: int, *text: str) -> None:
        """Append lines."""
        self.lines.extend("    " * depth + line for line in text)

    def _head(self) -> None:
        # Who has read a view already hands it over.
        more = ", out=None" if self.op.view else ""
        self.put(0, f"def {self.kind}_{self.op.name}({self.given}, params=NO_PARAMS{more}):")
        self.put(1, f"if SPECIAL and STATE.special: {self.away}")

    def _operand(self, k: int, x: str) -> None:
        """Its data, whether it requires grad, and what it says of the face of the result."""
        self.put(
            1,
            f"if type({x}) is Tensor or isinstance({x}, Value):",
            f"    if {x}._base is not None: {x}._refresh()",
        )
        self.put(2, f"d{k} = {x}._data", self._no_array(f"d{k}"), f"t{k} = {x}._requires_grad")
        self.put(2, "face = x0.face" if k == 0 else f"if face is not Tensor: face = {x}.face")
        if len(self.names) > 1:
            self.put(
                1,
                f"elif type({x}) is ndarray and {x}.dtype.char not in STRANGE "
                f"or type({x}) in NUMBERS:",
            )
            self.put(2, f"d{k} = {x}", f"t{k} = False", *(["face = None"] if k == 0 else []))
            self.put(1, f"else: {self.away}")

    def _no_array(self, data: str) -> str:
        """Where a box holds something else than an array."""
        if self.numbers:
            return f"if type({data}) is not ndarray and type({data}) is not WeakFloat: {self.away}"
        if _takes_numbers(self.op):
            go = f"return numbers_{self.op.name}({self.given}, params)"
            return f"if type({data}) is not ndarray: {go}"
        return f"if type({data}) is not ndarray: {self.away}"

    def _result(self) -> None:
        """`out`, an array or what NumPy gives for a number."""
        op, each = self.op, range(len(self.names))
        data = ", ".join(f"d{k}" for k in each)
        if self.numbers:
            # Where nothing stands beside it, NumPy has its own scalar rather.
            plain = "float64" if len(each) == 1 else "float"
            values = ", ".join(f"{plain}(d{k}) if type(d{k}) is WeakFloat else d{k}" for k in each)
            if op.weak:
                alone = " and ".join(f"type(d{k}) in FLOATS" for k in each)
                beside = " or ".join(f"type(d{k}) in ARRAYS" for k in each)
                self.put(1, f"if {alone}: out = apply({data})")
                self.put(1, f"elif not ({beside}): {self.away}", "else:")
            depth, attempt = 1 + op.weak, f"out = evaluate({values}, **params)"
        elif op.on_reals is not None and len(each) == 1:
            on_reals = "out = on_reals(d0, **params) if params else on_reals(d0)"
            self.put(1, f"if d0.dtype.kind == 'f': {on_reals}", "else:")
            depth, attempt = 2, "out = evaluate(d0, **params)"
        else:
            before = "if out is None: " if op.view else ""
            attempt = f"out = evaluate({data}, **params) if params else evaluate({data})"
            depth, attempt = 1, before + attempt
        self.put(depth, "try:", f"    {attempt}", f"except REFUSED: {self.away}")

    def _box(self) -> None:
        """The result as a box. Integers of NumPy's face need none, but where they show memory that
        a node may have saved."""
        bare = self.away if self.op.view else "return out"
        self.put(1, "if type(out) is not ndarray:")
        self.put(2, f"if face is not Tensor and out.dtype.kind not in 'fc': {bare}")
        may_be_weak = self.op.weak and not isinstance(self.op.evaluate, np.ufunc)
        known = "if type(out) not in KINDS: " if self.numbers or may_be_weak else ""
        self.put(2, f"{known}out = asarray(out)")
        self.put(1, f"elif face is not Tensor and out.dtype.kind not in 'fc': {bare}")
        if makes_anew(self.op):
            self.put(1, "if face is Tensor and type(out) is ndarray: out = asarray(out, order='C')")
        self.put(1, "box = new(face)", "box._data = out")
        self.put(1, *[f"box.{name} = {value!r}" for name, value in BOX.items()])

    def _node(self) -> None:
        """Its place on the tape."""
        op, wanted = self.op, self.wanted
        enabled = "(not OFF or records())"
        if op.view:
            self.put(1, "enabled = not OFF or records()")
            enabled = "enabled"
        # Of numbers that a derivative reaches, promotion makes numbers that have one; other
        # operations may give integers.
        floats = "" if op.compute is not None else " and out.dtype.kind in 'fc'"
        self.put(1, f"if ({' or '.join(f't{k}' for k in wanted)}) and {enabled}{floats}:")
        self.put(2, "node = new(Node)", "node.op = op", "node.params = params")
        self.put(2, "node.dtype = out.dtype", "node.shape = out.shape")
        self.put(2, *[f"node.{name} = {value!r}" for name, value in NODE.items()])
        for k in wanted:
            self.put(2, f"if t{k}:")
            self.put(3, *END.lines(f"e{k}", f"x{k}"))
        first, *others = _choices(wanted)
        if not others:
            self._saved(2, first)
        else:
            words = ["if", *["elif"] * len(others)]
            for word, which in zip(words, (first, *others), strict=True):
                needed = " and ".join(f"t{k}" for k in which)
                self.put(2, "else:" if which is others[-1] else f"{word} {needed}:")
                self._saved(3, which)
        # After its edges, which may have numbered leaves: consumers have higher numbers.
        if self.swapped and op in REFLECTED:
            self.put(2, "if type(x0) is int or type(x0) is float:")
            self.put(3, f"node.title = {REFLECTED[op]!r}")
        self.put(2, "node._order = next_number()")
        self.put(2, "box._grad_fn = node", "box._requires_grad = True")

    def _saved(self, depth: int, which: Sequence[int]) -> None:
        """What the node keeps where the gradients of these operands are wanted."""
        bits = _bits(which)
        plan = plan_for(self.op, bits)
        assert plan is not None
        for k in plan.inputs:
            self._saved_operand(depth, k, k in which)
        result = "None" if "out" in self.op.types_only else "out"
        saved = [*[f"s{k}" for k in plan.inputs], *[f"(None, {result}, 0)" for _ in plan.outputs]]
        edges = "".join(f"e{k}, " if k in which else "None, " for k in range(len(self.names)))
        self.put(
            depth,
            f"node.edges = ({edges})",
            f"node.plan = {self.kind}_{bits}",
            f"node.saved = [{', '.join(saved)}]",
        )
        if plan.outputs:
            self.put(depth, "if face is Tensor:")
            self.put(depth + 1, "box._versions = counter = Versions((0, 0, 1))")
            self.put(depth + 1, "node.counters = [counter]")

    def _saved_operand(self, depth: int, k: int, boxed: bool) -> None:
        x = self.names[k]
        if self.op.inputs[k] in self.op.types_only:
            known = f"{x}.array_type if d{k} is not {x} else type_of({x})"
            self.put(depth, f"s{k} = (None, {known}, 0)")
            return
        if not boxed:
            private = f"type({x}) is ndarray and {x}.nbytes <= {SMALL}"
            taken = f"(None, {x}.copy(), 0) if {private} else lend({x})"
            self.put(depth, f"if d{k} is {x}: s{k} = {taken}", "else:")
            depth += 1
        self.put(depth, *SAVE.lines(f"s{k}", x, f"d{k}"))

    def _view(self) -> None:
        """As `_viewed` does it for numbers, which show nothing, and where NumPy has made a view of
        storage that may be written."""
        self.put(
            1,
            "if face is not Tensor and not out.shape: return box",
            "owner = out.base",
            "if owner is not None and (owner is d0 or owner is d0.base) "
            "and type(x0._view) is tuple:",
        )
        self.put(
            2,
            "root = x0._base",
            "if root is None: root = x0",
            "counter = root._versions",
            "if counter is None: counter = root._version_counter",
            "follows = enabled and not root._borrowed if face is Tensor else d0.shape",
            "if follows and type(root._data) is ndarray and type(counter) is not Uncounted:",
        )
        self.put(
            3,
            "box._base = root",
            "box._view = (*x0._view, (op, params))",
            "if face is Tensor or type(counter) is Following: box._versions = counter",
            "box._seen = counter[1]",
            "return box",
        )
