"""RAdam: Adam whose first steps do not divide by a root mean square of few gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..ir.dispatch import STATE
from ..tensor import Tensor
from .first_order import _advanced, _sole
from .optimizer import Group, Optimizer, State, check, counter, fresh, not_negative, number


class RAdam(Optimizer):
    """Adam with the variance of its scaling rectified (Liu et al. 2019): while that is not known yet, steps along the mean gradient.

    >>> import tracegrad as tg
    >>> w = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tg.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        check(**{f"beta parameter at index {k}": (b, 0.0 <= b < 1.0) for k, b in enumerate(betas)})
        _sole(differentiable)
        options = {"betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, {"lr": lr, **options, "decoupled_weight_decay": decoupled_weight_decay})

    def make_state(self, p: Any, group: Group) -> State:
        return {"step": counter(p), "exp_avg": fresh(p), "exp_avg_sq": fresh(p)}

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        lr, (beta1, beta2), count = group.lr(), group["betas"], _advanced(state)
        if group["weight_decay"]:
            if group["decoupled_weight_decay"]:
                p = p * number(1 - lr * group["weight_decay"], p)
            else:
                g = g + p * group["weight_decay"]
        mean = state["exp_avg"] = state["exp_avg"] + (g - state["exp_avg"]) * (1 - beta1)
        square = state["exp_avg_sq"] = state["exp_avg_sq"] * beta2 + g * g * (1 - beta2)
        left = 1 - beta2**count
        most = 2 / (1 - beta2) - 1
        # The number of gradients that the mean square counts as; from 5 on its variance is finite.
        length = most - 2 * count * beta2**count / left
        if STATE.traces:
            known = length > 5.0
            enough = ops.where(known, length, 6.0)
        else:
            known, enough = length > 5.0, max(length, 5.0)
        scale = (enough - 4) * (enough - 2) * most / ((most - 4) * (most - 2) * enough) * left
        rate = number(lr / (1 - beta1**count), p)
        adaptive = number(ops.sqrt(scale) if STATE.traces else scale**0.5, p) / (ops.sqrt(square) + group["eps"])
        factor = ops.where(known, adaptive, 1.0) if STATE.traces else adaptive if known else 1.0
        return p - rate * mean * factor


__all__ = ["RAdam"]
