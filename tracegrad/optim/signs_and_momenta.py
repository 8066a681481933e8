"""Adam with Nesterov's momentum, and steps by the signs of gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..ir.dispatch import STATE
from ..tensor import Tensor
from .moments import Moments
from .optimizer import Group, Optimizer, State
from .rules import (
    advanced,
    averaged,
    check,
    counter,
    decayed,
    fresh,
    mean_square,
    not_differentiable,
    not_negative,
    number,
)


class NAdam(Moments):
    """Adam that steps along the momentum of the next step (Dozat 2016), which grows by
    `momentum_decay`.

    >>> import tracegrad as tg
    >>> w = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tg.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < tg.tensor([1.0, 2.0])).all())
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(momentum_decay=momentum_decay)
        options = {
            "momentum_decay": momentum_decay,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, lr, betas, eps, weight_decay, differentiable, options)

    def make_state(self, p: Any, group: Group) -> State:
        return {
            "step": counter(p),
            "mu_product": counter(p, 1.0),
            "exp_avg": fresh(p),
            "exp_avg_sq": fresh(p),
        }

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        lr, (beta1, beta2), decay = group.lr(), group["betas"], group["momentum_decay"]
        count = advanced(state)
        p, g = decayed(p, g, group)
        now = beta1 * (1.0 - 0.5 * 0.96 ** (count * decay))
        following = beta1 * (1.0 - 0.5 * 0.96 ** ((count + 1) * decay))
        state["mu_product"] = state["mu_product"] * now
        product = state["mu_product"] if STATE.traces else float(state["mu_product"])
        mean = averaged(state, "exp_avg", g, beta1)
        square = mean_square(state, "exp_avg_sq", g, beta2)
        left = number(1 - beta2**count, p)
        scale = ops.sqrt(square / left) + group["eps"]
        along = number(lr * (1.0 - now) / (1.0 - product), p) * g
        ahead = number(lr * following / (1.0 - product * following), p) * mean
        return p - (along + ahead) / scale


class Rprop(Optimizer):
    """Steps along the signs of gradients (Riedmiller and Braun 1993): longer by `etas[1]` where a
    sign stays, shorter by `etas[0]` where it turns, which makes no step; within `step_sizes`.

    >>> import tracegrad as tg
    >>> w = tg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = tg.optim.Rprop([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr)
        check(etas=(etas, 0.0 < etas[0] < 1.0 < etas[1]))
        not_differentiable(differentiable)
        super().__init__(
            params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        )

    def make_state(self, p: Any, group: Group) -> State:
        return {"step": counter(p), "prev": fresh(p), "step_size": fresh(p, float(group["lr"]))}

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        (shorter, longer), (least, most) = group["etas"], group["step_sizes"]
        advanced(state)
        turned = ops.sign(g * state["prev"])
        factor = ops.where(turned > 0, longer, ops.where(turned < 0, shorter, 1.0))
        length = state["step_size"] = ops.clip(state["step_size"] * factor, least, most)
        g = state["prev"] = ops.where(turned < 0, 0.0, g)
        return p - ops.sign(g) * length


__all__ = ["NAdam", "Rprop"]
