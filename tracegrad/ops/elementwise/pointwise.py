"""What the families of elementwise functions share: evaluation in the compute dtype, and refusing
dtypes without a meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import BOOL, inexact, kind_of
from ...errors import DTypeError
from ...ir.op import Op, Rule, Types
from .derived import elementwise

SCALARS = (bool, int, float, complex)
KINDS = {"b": "boolean", "i": "integer", "u": "integer", "f": "real", "c": "complex"}


def floating(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """`function` evaluated in the dtype that the type rule promises: NumPy alone would give float16
    for 8-bit integers and booleans."""

    def evaluate(*values: Any, **params: Any) -> Any:
        operands = [
            x if isinstance(x, SCALARS) or hasattr(x, "dtype") else np.asarray(x) for x in values
        ]
        dtype = inexact(*[kind_of(x) for x in operands])
        return function(*[np.asarray(x, dtype) for x in operands], **params)

    def evaluate_one(x: Any, **params: Any) -> Any:
        return (
            function(x, **params)
            if getattr(x, "dtype", BOOL).kind in "fc"
            else evaluate(x, **params)
        )

    return evaluate_one if count == 1 else evaluate


def pointwise(
    name: str,
    inputs: Sequence[str],
    *,
    numpy: Callable[..., Any],
    code: str | Callable[[dict[str, Any]], str],
    partials: Sequence[Rule | int | None] | None,
    result: str = "float",
    domain: str = "finite",
    cost: int | None = None,
    kinds: str = "biufc",
    doc: str = "",
    **facts: Any,
) -> Op:
    """`elementwise` for a function of numbers: evaluated in its compute dtype, and refused for
    dtypes outside `kinds`."""
    this = elementwise(
        name,
        inputs,
        numpy=floating(numpy, len(inputs)) if result in ("float", "complex") else numpy,
        code=code,
        partials=partials,
        result=result,
        domain=domain,
        cost=cost,
        doc=doc,
        **facts,
    )
    if "f" in kinds and len(inputs) == 1:
        object.__setattr__(this, "on_reals", numpy)
    if kinds == "biufc":
        return this
    derived, evaluate = this.infer, this.evaluate
    allowed = ", ".join(dict.fromkeys(KINDS[k] for k in kinds))

    def require(dtype: np.dtype[Any] | None) -> None:
        if dtype is not None and dtype.kind not in kinds:
            advice = (
                "Use its real, imag or abs part."
                if dtype.kind == "c"
                else "Convert it with .astype first."
            )
            raise DTypeError(
                f"{name} is not defined for {dtype} arrays, only for {allowed} ones. {advice}"
            )

    def infer(*operands: Any, **params: Any) -> Types:
        for o in operands:
            require(o.type.dtype)
        return derived(*operands, **params)

    def checked(*values: Any, **params: Any) -> Any:
        # NumPy and SciPy accept some of these kinds; eager and traced runs must refuse the same.
        for x in values:
            require(getattr(x, "dtype", None))
        return evaluate(*values, **params)

    object.__setattr__(this, "infer", infer)
    object.__setattr__(this, "evaluate", checked)
    return this
