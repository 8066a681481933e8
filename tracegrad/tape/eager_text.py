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
from .versions import Uncounted, Versions

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
        bits = sum(1 << k for k in which)
        space[f"eager_{bits}"] = plan_for(op, bits)
        space[f"numbers_{bits}"] = plan_of_numbers(op, bits)
    for kind in ("eager", "numbers") if _takes_numbers(op) else ("eager",):
        text = "\n".join(_text(op, wanted, swapped, kind))
        exec(compile(text, f"{__file__}: {op.name}", "exec"), space)
    function: Written = space[f"eager_{op.name}"]
    return function


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


def _text(op: Op, wanted: Sequence[int], swapped: bool, kind: str) -> list[str]:
    """The function `eager`, or the one `numbers` to which it goes where a box holds a Python
    number."""
    numbers = kind == "numbers"
    count = len(op.inputs)
    names = [f"x{k}" for k in range(count)]
    given = ", ".join(reversed(names) if swapped else names)
    away = f"return otherwise({given}, params)"
    # Who has read a view already hands it over.
    more = ", out=None" if op.view else ""
    lines = [
        f"def {kind}_{op.name}({given}, params=NO_PARAMS{more}):",
        f"    if SPECIAL and STATE.special: {away}",
    ]
    other = f"if type({{0}}) is not ndarray: {away}"
    if numbers:
        other = f"if type({{0}}) is not ndarray and type({{0}}) is not WeakFloat: {away}"
    elif _takes_numbers(op):
        other = f"if type({{0}}) is not ndarray: return numbers_{op.name}({given}, params)"

    def put(depth: int, *text: str) -> None:
        lines.extend("    " * depth + line for line in text)

    # The data of the operands, the face of the result, and who requires grad.
    for k, x in enumerate(names):
        put(
            1,
            f"if type({x}) is Tensor or isinstance({x}, Value):",
            f"    if {x}._base is not None: {x}._refresh()",
        )
        put(
            2,
            f"d{k} = {x}._data",
            other.format(f"d{k}"),
            f"t{k} = {x}._requires_grad",
        )
        put(2, "face = x0.face" if k == 0 else f"if face is not Tensor: face = {x}.face")
        if count > 1:
            put(
                1,
                f"elif type({x}) is ndarray and {x}.dtype.char not in STRANGE "
                f"or type({x}) in NUMBERS:",
            )
            put(2, f"d{k} = {x}", f"t{k} = False", *(["face = None"] if k == 0 else []))
            put(1, f"else: {away}")
    # The result.
    data = ", ".join(f"d{k}" for k in range(count))
    if numbers:
        each = range(count)
        # Where nothing stands beside it, NumPy has its own scalar rather.
        plain = "float64" if count == 1 else "float"
        values = ", ".join(f"{plain}(d{k}) if type(d{k}) is WeakFloat else d{k}" for k in each)
        if op.weak:
            alone = " and ".join(f"type(d{k}) in FLOATS" for k in each)
            beside = " or ".join(f"type(d{k}) in ARRAYS" for k in each)
            put(1, f"if {alone}: out = apply({data})", f"elif not ({beside}): {away}", "else:")
        put(1 + op.weak, f"try: out = evaluate({values}, **params)", f"except REFUSED: {away}")
    elif op.on_reals is not None and count == 1:
        put(
            1,
            "if d0.dtype.kind == 'f': out = on_reals(d0, **params) if params else on_reals(d0)",
            "else:",
        )
        put(2, "try: out = evaluate(d0, **params)", f"except REFUSED: {away}")
    else:
        before = "if out is None: " if op.view else ""
        put(
            1,
            "try:",
            f"    {before}out = evaluate({data}, **params) if params else evaluate({data})",
            f"except REFUSED: {away}",
        )
    # Integers of NumPy's face need no box, but where they show memory that a node may have saved.
    bare = away if op.view else "return out"
    put(1, "if type(out) is not ndarray:")
    put(2, f"if face is not Tensor and out.dtype.kind not in 'fc': {bare}")
    if numbers or (op.weak and not isinstance(op.evaluate, np.ufunc)):
        put(2, "if type(out) not in KINDS: out = asarray(out)")
    else:
        put(2, "out = asarray(out)")
    put(1, f"elif face is not Tensor and out.dtype.kind not in 'fc': {bare}")
    put(
        1,
        "box = new(face)",
        "box._data = out",
        *[f"box.{name} = {value!r}" for name, value in BOX.items()],
    )
    # Its place on the tape.
    enabled = "enabled" if op.view else "(not OFF or records())"
    if wanted:
        # Of numbers that a derivative reaches, promotion makes numbers that have one; other
        # operations may give integers.
        floats = "" if op.compute is not None else " and out.dtype.kind in 'fc'"
        put(
            1,
            "enabled = not OFF or records()" if op.view else "",
            f"if ({' or '.join(f't{k}' for k in wanted)}) and {enabled}{floats}:",
        )
        put(
            2,
            "node = new(Node)",
            "node.op = op",
            "node.params = params",
            "node.dtype = out.dtype",
            "node.shape = out.shape",
        )
        put(2, *[f"node.{name} = {value!r}" for name, value in NODE.items()])
        for k in wanted:
            put(2, f"if t{k}:")
            put(3, *END.lines(f"e{k}", f"x{k}"))
        for number, which in enumerate(_choices(wanted)):
            depth = 2
            if len(wanted) > 1:
                word = "if" if number == 0 else "elif"
                last = number == 2 ** len(wanted) - 2
                put(2, "else:" if last else f"{word} {' and '.join(f't{k}' for k in which)}:")
                depth = 3
            bits = sum(1 << k for k in which)
            plan = plan_for(op, bits)
            assert plan is not None
            saved = []
            for k in plan.inputs:
                x = names[k]
                saved.append(f"s{k}")
                if op.inputs[k] in op.types_only:
                    known = f"{x}.array_type if d{k} is not {x} else type_of({x})"
                    put(depth, f"s{k} = (None, {known}, 0)")
                    continue
                if k in which:
                    put(depth, *SAVE.lines(f"s{k}", x, f"d{k}"))
                    continue
                private = f"type({x}) is ndarray and {x}.nbytes <= {SMALL}"
                put(
                    depth,
                    f"if d{k} is {x}: s{k} = (None, {x}.copy(), 0) if {private} else lend({x})",
                    "else:",
                )
                put(depth + 1, *SAVE.lines(f"s{k}", x, f"d{k}"))
            result = "None" if "out" in op.types_only else "out"
            saved.extend(f"(None, {result}, 0)" for _ in plan.outputs)
            edges = "".join(f"e{k}, " if k in which else "None, " for k in range(count))
            put(
                depth,
                f"node.edges = ({edges})",
                f"node.plan = {kind}_{bits}",
                f"node.saved = [{', '.join(saved)}]",
            )
            if plan.outputs:
                put(
                    depth,
                    "if face is Tensor:",
                    "    box._versions = counter = Versions((0, 0, 1))",
                    "    node.counters = [counter]",
                )
        # After its edges, which may have numbered leaves: consumers have higher numbers.
        if swapped and op in REFLECTED:
            put(
                2, "if type(x0) is int or type(x0) is float:", f"    node.title = {REFLECTED[op]!r}"
            )
        put(2, "node._order = next_number()", "box._grad_fn = node", "box._requires_grad = True")
    if op.view:
        # As `_viewed` does it where NumPy has made a view of storage that may be written.
        put(
            1,
            "owner = out.base",
            "if owner is not None and (owner is d0 or owner is d0.base) "
            "and type(x0._view) is tuple and enabled:",
        )
        put(
            2,
            "root = x0._base",
            "if root is None: root = x0",
            "if face is Tensor and not root._borrowed and type(root._data) is ndarray:",
        )
        put(3, "counter = root._versions", "if counter is None: counter = root._version_counter")
        put(
            3,
            "elif type(counter) is Uncounted: return x0._viewed(op, x0, params, box)",
            "box._base = root",
        )
        put(
            3,
            "box._view = (*x0._view, (op, params))",
            "box._versions = counter",
            "box._seen = counter[1]",
            "return box",
        )
    put(1, "return x0._viewed(op, x0, params, box)" if op.view else "return box")
    return lines
