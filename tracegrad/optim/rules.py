"""What the rules of optimizers are made of: weight decay, running averages, counted steps, state,
and the checks of options.

Values are raw arrays in eager code and traced Tensors inside `jit`; what a rule changes of its
state it puts into the dict `state`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..devices import CPU, from_host
from ..ir.dispatch import STATE
from ..ops.arrays.transfer import place_of
from ..tape.hooks import boxed
from ..tensor import Tensor


def number(x: Any, like: Any) -> Any:
    """A 0-d value as an operand that does not raise the dtype of `like`; Python numbers do not
    anyway."""
    return ops.convert(x, like.dtype) if isinstance(x, Tensor) else float(x)


def fresh(p: Any, value: float = 0.0) -> Tensor:
    """State of p's shape and dtype. Inside a trace as well it is an array that is there, which the
    compiled step writes."""
    each = complex(value, value) if p.dtype.kind == "c" else value
    made: Tensor = boxed(Tensor, _on(np.full(p.shape, each, p.dtype), p))
    return made


def as_reals(x: Any) -> Any:
    """Complex numbers as pairs of real ones, a new last axis, for rules that take each part as a
    number of its own, as torch's do; other values as they are."""
    if getattr(x, "dtype", None) is None or x.dtype.kind != "c":
        return x
    return (ops.stack if isinstance(x, Tensor) else np.stack)([x.real, x.imag], -1)


def of_reals(x: Any) -> Any:
    """The complex numbers of such pairs."""
    if isinstance(x, Tensor):
        return ops.complex_(x[..., 0], x[..., 1])
    return np.ascontiguousarray(x).view(np.result_type(x.dtype, np.complex64))[..., 0]


def counter(p: Any, value: float = 0.0) -> Tensor:
    """A count of steps, on the device of the parameter: nothing has to wait for it there."""
    made: Tensor = boxed(Tensor, _on(np.array(value), p))
    return made


def _on(array: Any, p: Any) -> Any:
    device = place_of(p)
    return array if device == CPU else from_host(device, array)


# --- steps of rules -------------------------------------------------------------------------------


def advanced(state: dict[str, Any]) -> Any:
    """The number of this step: a Python number, or inside a trace a 0-d Tensor."""
    state["step"] = state["step"] + 1.0
    return state["step"] if STATE.traces else float(state["step"])


def decayed(p: Any, g: Any, group: Any) -> tuple[Any, Any]:
    """A parameter and its gradient with weight decay: in the gradient, or of the parameter alone
    where the group says so."""
    decay = group["weight_decay"]
    if not decay:
        return p, g
    if group.get("decoupled_weight_decay"):
        return p * number(1 - group.lr() * decay, p), g
    return p, g + p * decay


def averaged(state: dict[str, Any], key: str, x: Any, beta: float) -> Any:
    """The running average `state[key]`, moved towards `x` by 1 - beta."""
    moved = state[key] = state[key] + (x - state[key]) * (1 - beta)
    return moved


def mean_square(state: dict[str, Any], key: str, x: Any, beta: float) -> Any:
    """The running average `state[key]` of squares, with that of `x`."""
    moved = state[key] = state[key] * beta + x * x * (1 - beta)
    return moved


def root(x: Any) -> Any:
    """The square root of a number, or of a 0-d Tensor inside a trace."""
    return ops.sqrt(x) if STATE.traces else x**0.5


# --- options --------------------------------------------------------------------------------------


def check(**ranges: tuple[Any, bool]) -> None:
    """A ValueError for the first option that is out of its range."""
    for name, (value, fits) in ranges.items():
        if not fits:
            raise ValueError(f"Invalid {name} value: {value}")


def not_negative(**options: Any) -> None:
    """A ValueError for the first of these options that is negative or NaN."""
    check(
        **{
            name: (x, isinstance(x, Tensor) or (x >= 0.0 and not math.isnan(x)))
            for name, x in options.items()
        }
    )


def check_betas(betas: Any) -> None:
    """A ValueError for the first factor of a running average that does not lie in [0, 1)."""
    check(**{f"beta parameter at index {k}": (b, 0.0 <= b < 1.0) for k, b in enumerate(betas)})


def not_differentiable(differentiable: bool) -> None:
    """An error for steps that shall themselves be differentiated."""
    if differentiable:
        raise NotImplementedError(
            "differentiable=True is not supported: write the update as a function of values "
            "and differentiate that"
        )


__all__ = [
    "advanced",
    "averaged",
    "check",
    "check_betas",
    "counter",
    "decayed",
    "fresh",
    "mean_square",
    "not_differentiable",
    "not_negative",
    "number",
    "root",
]
