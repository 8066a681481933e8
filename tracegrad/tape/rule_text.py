"""Rules written out: for each plan a small Python function that does in a straight line what
`apply_rules` does in general, where cotangents are plain arrays and nothing is recorded.

Products with partial derivatives are taken here, by NumPy; what comes out in another shape or dtype
than the input's goes to the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import FLOAT64
from ..ir.op import Op
from ..ops.elementwise.derived import strong_mul_op
from ..weak import WeakFloat
from .pieces import AS_SAVED
from .saved import FREED, unpack, unpack_result
from .tape import Plan

Pull = Callable[..., Any]
"""`pull(node, cotangent, needed)`: the cotangents of the inputs, None of those that are not
needed."""


def pull_of(op: Op, plan: Plan) -> Pull:
    """The rules of a plan of an operation with one result."""
    space: dict[str, Any] = {
        "FREED": FREED,
        "unpack": unpack,
        "unpack_result": unpack_result,
        "mul": np.multiply,
        "strong_mul": strong_mul_op.evaluate,
        "minus": np.negative,
        "WeakFloat": WeakFloat,
        "float64": np.float64,
        "F64": FLOAT64,
    }
    name = f"pull_{op.name}"
    lines = [
        f"def {name}(node, ct, needed):",
        "    saved = node.saved",
        "    if saved is None: raise RuntimeError(FREED)",
    ]

    def put(*text: str) -> None:
        lines.extend("    " + line for line in text)

    # What was saved, if it is still what it was.
    values = ["ct", *[f"s{k}" for k in range(len(plan.inputs) + len(plan.outputs))]]
    if values[1:]:
        put("".join(f"(b{s}, {s}, n{s}), " for s in values[1:]) + "= saved")
    for k, s in enumerate(values[1:]):
        if k < len(plan.inputs):
            put(f"if b{s} is not None:")
            put(*["    " + line for line in AS_SAVED.lines("v", f"b{s}", s, f"n{s}")])
            put(f"    if not v: {s} = unpack(saved[{k}], False)")
        else:
            put(
                "c = node.counters",
                f"if b{s} is not None or c is not None and c[n{s}][0]: "
                f"{s} = unpack_result(node, saved[{k}], False)",
            )
    if plan.numbers:
        # Beside float64 a Python number is such a scalar, with which NumPy computes faster.
        for s in values[1:]:
            put(f"if type({s}) is WeakFloat and ct.dtype is F64: {s} = float64({s})")
    put(f"{''.join(f'e{k}, ' for k in range(len(op.inputs)))}= node.edges")
    if any(keywords for _, _, _, keywords, _ in plan.rules):
        put("params = node.params")
    # The rules.
    for (k, rule, places, keywords, like), step in zip(plan.rules, plan.products, strict=True):
        space[f"rule{k}"] = rule
        arguments = (
            [values[p] for p in places]
            + [f"{n}=params[{n!r}]" for n in keywords]
            + (["like=like"] if like else [])
        )
        whole = f"g{k} = rule{k}({', '.join(arguments)})"
        text = []
        if like:
            text += [f"like, n = e{k}", "if like._types is not None: like = like._types[n]"]
        if step is not None and like:
            kind, space[f"partial{k}"] = step
            factor = f"partial{k}({', '.join(values[p] for p in places[1:])})"
            text.append(
                f"g{k} = " + {"same": "ct", "minus": "minus(ct)"}.get(kind, f"{kind}(ct, {factor})")
            )
            text += [f"d = g{k}.dtype", "other = like.dtype"]
            text.append(
                f"if d is not other and d != other or g{k}.shape != like.shape "
                f"or d.kind == 'c': {whole}"
            )
        else:
            text.append(whole)
        if len(plan.rules) > 1:
            put(
                f"if needed is None or e{k}[0]._order in needed:",
                *["    " + line for line in text],
                f"else: g{k} = None",
            )
        else:
            put(*text)
    given = {k for k, *_ in plan.rules}
    put(f"return ({''.join(f'g{k}, ' if k in given else 'None, ' for k in range(len(op.inputs)))})")
    exec(compile("\n".join(lines), f"{__file__}: {op.name}", "exec"), space)
    function: Pull = space[name]
    return function
