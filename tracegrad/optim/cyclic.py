"""A learning rate that goes up and down between two bounds (Smith 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .optimizer import Optimizer
from .schedule import LRScheduler, for_each, set_momentum, uses_betas


class CyclicLR(LRScheduler):
    """The rate from `base_lr` up to `max_lr` in `step_size_up` steps and down again in
    `step_size_down` (as many by default), again and again; call `step()` after each batch.

    mode      "triangular": all cycles alike; "triangular2": each half as high as the one before;
              "exp_range": the height times `gamma` to the power of the step
    scale_fn  in place of a mode, what the height is multiplied by: a function of the number of the
              cycle, from 1 on, or with `scale_mode="iterations"` of that of the step

    With `cycle_momentum` momentum (or the first beta) goes the other way between `max_momentum` and
    `base_momentum`; that is an option of the optimizer, so a jitted training step is traced anew
    where it changes: switch it off there. ValueError for an unknown mode, and for lists of another
    length than there are groups.

    >>> import tracegrad as tg
    >>> optimizer = tg.optim.SGD([tg.ones(1, requires_grad=True)], lr=0.1)
    >>> schedule = tg.optim.lr_scheduler.CyclicLR(
    ...     optimizer, 0.1, 0.5, step_size_up=2, cycle_momentum=False)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> [round(rate, 3) for rate in rates]
    [0.1, 0.3, 0.5, 0.3, 0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"scale_mode is 'cycle' or 'iterations', not {scale_mode!r}")
        down = step_size_up if step_size_down is None else step_size_down
        if step_size_up <= 0 or down < 0:
            raise ValueError(
                "step_size_up must be positive and step_size_down not negative, "
                f"but they are {step_size_up} and {down}"
            )
        groups = optimizer.param_groups
        rates = for_each(groups, "base_lr", base_lr)
        self.max_lrs = for_each(groups, "max_lr", max_lr)
        if last_epoch == -1:
            for group, rate in zip(groups, rates, strict=True):
                group["lr"] = group["initial_lr"] = rate
        self.total_size = float(step_size_up) + float(down)
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self.scale_fn = mode, gamma, scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_betas(groups)
            self.base_momentums = for_each(groups, "base_momentum", base_momentum)
            self.max_momentums = for_each(groups, "max_momentum", max_momentum)
        super().__init__(optimizer, last_epoch)

    def _scale(self, cycle: int) -> float:
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self.scale_fn is not None:
            return self.scale_fn(at)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (cycle - 1)
        return float(self.gamma**at) if self.mode == "exp_range" else 1.0

    def rates(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        part = 1.0 + self.last_epoch / self.total_size - cycle
        up = part <= self.step_ratio
        height = part / self.step_ratio if up else (part - 1) / (self.step_ratio - 1)
        height *= self._scale(cycle)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                set_momentum(group, high - (high - low) * height, self.use_beta1)
        return [
            low + (high - low) * height
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer and the function."""
        return {key: value for key, value in super().state_dict().items() if key != "scale_fn"}


__all__ = ["CyclicLR"]
