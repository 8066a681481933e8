"""RAdam: Adam whose first steps do not divide by a root mean square of few gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..ir.dispatch import STATE
from ..tensor import Tensor
from .moments import Moments
from .optimizer import Group, State
from .rules import advanced, averaged, counter, decayed, fresh, mean_square, number, root


class RAdam(Moments):
    """Adam with the variance of its scaling rectified (Liu et al. 2019): while that is not known
    yet, steps along the mean gradient.

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
        options = {"maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, lr, betas, eps, weight_decay, differentiable, options)

    def make_state(self, p: Any, group: Group) -> State:
        return {"step": counter(p), "exp_avg": fresh(p), "exp_avg_sq": fresh(p)}

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        lr, (beta1, beta2), count = group.lr(), group["betas"], advanced(state)
        p, g = decayed(p, g, group)
        mean = averaged(state, "exp_avg", g, beta1)
        square = mean_square(state, "exp_avg_sq", g, beta2)
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
        adaptive = number(root(scale), p) / (ops.sqrt(square) + group["eps"])
        factor = ops.where(known, adaptive, 1.0) if STATE.traces else adaptive if known else 1.0
        return p - rate * mean * factor


__all__ = ["RAdam"]
