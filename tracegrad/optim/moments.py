"""The base of Adam and its kin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensor import Tensor
from .optimizer import Optimizer
from .rules import check_betas, not_differentiable, not_negative


class Moments(Optimizer):
    """Optimizers that keep running averages of two moments of the gradient, forgotten by
    `betas`."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        differentiable: bool,
        options: dict[str, Any],
    ) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(betas)
        not_differentiable(differentiable)
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, **options}
        )


__all__ = ["Moments"]
