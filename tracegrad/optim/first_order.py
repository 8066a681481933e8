"""Optimizers that follow the gradient, each one rule of plain arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import ops
from ..tensor import Tensor
from .moments import Moments
from .optimizer import Group, Optimizer, State, write
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
    root,
)


class SGD(Optimizer):
    """Steps against the gradient, with momentum.

    >>> import tracegrad as tg
    >>> w = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tg.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        not_differentiable(differentiable)
        options = {
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
        }
        super().__init__(params, {"lr": lr, **options, "maximize": maximize})

    def make_state(self, p: Any, group: Group) -> State:
        # torch has None until the first step, whose velocity is the gradient without dampening: a
        # flag instead keeps compiled steps the same.
        return {"momentum_buffer": fresh(p), "started": counter(p)} if group["momentum"] else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As `Optimizer.load_state_dict`; a velocity that torch saved has begun."""
        super().load_state_dict(state_dict)
        places = [p for group in self.param_groups for p in group["params"]]
        for k, entries in state_dict["state"].items():
            state = self.state[places[k]]
            if "momentum_buffer" in entries and "started" not in entries and "started" in state:
                write(state["started"], np.float64(1.0))

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        _, g = decayed(p, g, group)
        momentum = group["momentum"]
        if momentum:
            velocity = state["momentum_buffer"] * momentum
            if group["dampening"]:
                # Before the first step the flag is 0, and nothing is damped.
                velocity = velocity + g * (1 - group["dampening"] * number(state["started"], p))
                state["started"] = state["started"] * 0.0 + 1.0
            else:
                velocity = velocity + g
            state["momentum_buffer"] = velocity
            g = g + velocity * momentum if group["nesterov"] else velocity
        return p - g * number(group.lr(), p)


class Adam(Moments):
    """Steps along the mean gradient over the root of the mean squared one (Kingma and Ba 2014);
    `amsgrad` keeps the largest of those.

    >>> import tracegrad as tg
    >>> w = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tg.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        options = {
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, lr, betas, eps, weight_decay, differentiable, options)

    def make_state(self, p: Any, group: Group) -> State:
        largest = {"max_exp_avg_sq": fresh(p)} if group["amsgrad"] else {}
        return {"step": counter(p), "exp_avg": fresh(p), "exp_avg_sq": fresh(p), **largest}

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        lr, (beta1, beta2), count = group.lr(), group["betas"], advanced(state)
        p, g = decayed(p, g, group)
        mean = averaged(state, "exp_avg", g, beta1)
        square = mean_square(state, "exp_avg_sq", g, beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"] = ops.maximum(state["max_exp_avg_sq"], square)
        length = lr / (1 - beta1**count)
        scale = number(root(1 - beta2**count), p)
        return p - number(length, p) * (mean / (ops.sqrt(square) / scale + group["eps"]))


class AdamW(Adam):
    """Adam whose weight decay acts on the parameters alone (Loshchilov and Hutter 2017)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            differentiable=differentiable,
            decoupled_weight_decay=True,
        )


class Adamax(Moments):
    """Adam with the largest gradient in place of the root mean square."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, differentiable, {"maximize": maximize}
        )

    def make_state(self, p: Any, group: Group) -> State:
        return {"step": counter(p), "exp_avg": fresh(p), "exp_inf": fresh(p)}

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        (beta1, beta2), count = group["betas"], advanced(state)
        _, g = decayed(p, g, group)
        mean = averaged(state, "exp_avg", g, beta1)
        largest = state["exp_inf"] = ops.maximum(
            state["exp_inf"] * beta2, ops.absolute(g) + group["eps"]
        )
        return p - number(group.lr() / (1 - beta1**count), p) * (mean / largest)


class RMSprop(Optimizer):
    """Steps along the gradient over the root of its mean square; `centered` subtracts the mean,
    `momentum` carries on.

    >>> import tracegrad as tg
    >>> w = tg.tensor([1.0], requires_grad=True)
    >>> optimizer = tg.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        not_differentiable(differentiable)
        options = {
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
        }
        super().__init__(params, {"lr": lr, **options, "maximize": maximize})

    def make_state(self, p: Any, group: Group) -> State:
        state: State = {"step": counter(p), "square_avg": fresh(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = fresh(p)
        if group["centered"]:
            state["grad_avg"] = fresh(p)
        return state

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        alpha, lr = group["alpha"], number(group.lr(), p)
        advanced(state)
        _, g = decayed(p, g, group)
        square = mean_square(state, "square_avg", g, alpha)
        if group["centered"]:
            mean = averaged(state, "grad_avg", g, alpha)
            square = square - mean * mean
        direction = g / (ops.sqrt(square) + group["eps"])
        if group["momentum"] > 0:
            direction = state["momentum_buffer"] = (
                state["momentum_buffer"] * group["momentum"] + direction
            )
        return p - direction * lr


class Adagrad(Optimizer):
    """Steps along the gradient over the root of the sum of its squares."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        not_negative(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        not_differentiable(differentiable)
        options = {"lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        super().__init__(
            params,
            {
                "lr": lr,
                **options,
                "initial_accumulator_value": initial_accumulator_value,
                "maximize": maximize,
            },
        )

    def make_state(self, p: Any, group: Group) -> State:
        return {"step": counter(p), "sum": fresh(p, group["initial_accumulator_value"])}

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        count = advanced(state)
        _, g = decayed(p, g, group)
        lr = group.lr() / (1 + (count - 1) * group["lr_decay"])
        total = state["sum"] = state["sum"] + g * g
        return p - number(lr, p) * (g / (ops.sqrt(total) + group["eps"]))


class Adadelta(Optimizer):
    """Steps whose length follows from how far earlier ones went."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        check(rho=(rho, 0.0 <= rho <= 1.0))
        not_differentiable(differentiable)
        super().__init__(
            params,
            {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize},
        )

    def make_state(self, p: Any, group: Group) -> State:
        return {"step": counter(p), "square_avg": fresh(p), "acc_delta": fresh(p)}

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        rho, eps = group["rho"], group["eps"]
        advanced(state)
        _, g = decayed(p, g, group)
        square = mean_square(state, "square_avg", g, rho)
        delta = ops.sqrt(state["acc_delta"] + eps) / ops.sqrt(square + eps) * g
        state["acc_delta"] = state["acc_delta"] * rho + delta * delta * (1 - rho)
        return p - delta * number(group.lr(), p)


__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "RMSprop"]
