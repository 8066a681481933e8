"""Schedules of the learning rate, in torch's chainable forms: each step changes the rate that is
there.

A jitted training step reads the rate at each call, so a schedule between the calls compiles nothing
anew.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from .cyclic import CyclicLR
from .joined_schedules import *  # noqa: F403
from .joined_schedules import __all__ as _joined
from .optimizer import Optimizer
from .schedule import ByFunctions, LRScheduler, for_each, set_momentum, uses_betas


class LambdaLR(ByFunctions):
    """The first rate times `lr_lambda(epoch)`; one function, or one for each group."""

    def rates(self) -> list[Any]:
        return [
            base * f(self.last_epoch)
            for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` epochs.

    >>> import tracegrad as tg
    >>> optimizer = tg.optim.SGD([tg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = tg.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._now()
        return [lr * self.gamma for lr in self._now()]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter([operator.index(m) for m in milestones]), gamma
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self._now()]


class ConstantLR(LRScheduler):
    """The rate times `factor` for the first `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._now()]
        return (
            [lr / self.factor for lr in self._now()]
            if self.last_epoch == self.total_iters
            else self._now()
        )


class LinearLR(LRScheduler):
    """The rate times a factor that goes from one number to another within `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0 or not 0 <= end_factor <= 1.0:
            raise ValueError(
                "the factors of LinearLR lie between 0 and 1, and the first one is not 0"
            )
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._now()]
        if self.last_epoch > self.total_iters:
            return self._now()
        rise = self.end_factor - self.start_factor
        return [
            lr
            * (1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))
            for lr in self._now()
        ]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` in every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        return self._now() if self.last_epoch == 0 else [lr * self.gamma for lr in self._now()]


class CosineAnnealingLR(LRScheduler):
    """The rate down half a period of a cosine, from the first one to `eta_min` in `T_max` epochs,
    and up again."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        n, half, low = self.last_epoch, self.T_max, self.eta_min
        if n == 0:
            return self._now()
        if (n - 1 - half) % (2 * half) == 0:
            # From the lowest point, where the ratio of two rates is not defined.
            return [
                lr + (base - low) * (1 - math.cos(math.pi / half)) / 2
                for base, lr in zip(self.base_lrs, self._now(), strict=True)
            ]
        ratio = (1 + math.cos(math.pi * n / half)) / (1 + math.cos(math.pi * (n - 1) / half))
        return [ratio * (lr - low) + low for lr in self._now()]


class OneCycleLR(LRScheduler):
    """The rate up from `max_lr / div_factor` to `max_lr`, and down to far below where it started,
    within `total_steps` steps; call `step()` after each batch. With `cycle_momentum` momentum (or
    the first beta) goes the other way; that is an option of the optimizer, so a jitted training
    step is traced anew where it changes: switch it off there.

    >>> import tracegrad as tg
    >>> optimizer = tg.optim.SGD([tg.ones(1, requires_grad=True)], lr=0.1)
    >>> OneCycleLR = tg.optim.lr_scheduler.OneCycleLR
    >>> schedule = OneCycleLR(optimizer, 1.0, total_steps=10, cycle_momentum=False)
    >>> [round(rate, 3) for rate in schedule.get_last_lr()]
    [0.04]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        total = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        if not isinstance(total, int) or total <= 0:
            raise ValueError(f"Expected a positive number of steps, but got {total}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self.total_steps = total
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        top = pct_start * total - 1
        # (end of the phase, rate and momentum before and at it)
        self._phases: list[tuple[float, str, str, str, str]] = [
            (top, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        ]
        if three_phase:
            self._phases.append((2 * top, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            self._phases.append((total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            self._phases.append((total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        groups = optimizer.param_groups
        rates = for_each(groups, "max_lr", max_lr)
        if last_epoch == -1:
            for group, rate in zip(groups, rates, strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self.use_beta1 = uses_betas(groups)
            lows = for_each(groups, "base_momentum", base_momentum)
            highs = for_each(groups, "max_momentum", max_momentum)
            if last_epoch == -1:
                for group, low, high in zip(groups, lows, highs, strict=True):
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def rates(self) -> list[Any]:
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps "
                f"is {self.total_steps}"
            )
        at = next(
            (k for k, phase in enumerate(self._phases) if self.last_epoch <= phase[0]),
            len(self._phases) - 1,
        )
        end, *names = self._phases[at]
        begin = self._phases[at - 1][0] if at else 0.0
        part = (self.last_epoch - begin) / (end - begin)
        found = []
        for group in self.optimizer.param_groups:
            found.append(self._between(group[names[0]], group[names[1]], part))
            if self.cycle_momentum:
                momentum = self._between(group[names[2]], group[names[3]], part)
                set_momentum(group, momentum, self.use_beta1)
        return found


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` where a number has not become better for more than `patience` epochs;
    call `step(number)`."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = len(optimizer.param_groups)
        self.min_lrs = [min_lr] * groups if isinstance(min_lr, (int, float)) else list(min_lr)
        if len(self.min_lrs) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(self.min_lrs)}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._now()

    def _better(self, now: float) -> bool:
        sign = -1.0 if self.mode == "min" else 1.0
        # "rel" is relative to the best itself, whatever its sign; to infinity everything is better.
        relative = self.threshold_mode == "rel" and math.isfinite(self.best)
        limit = (
            self.best * (1.0 + sign * self.threshold)
            if relative
            else self.best + sign * self.threshold
        )
        return now < limit if self.mode == "min" else now > limit

    def rates(self) -> list[Any]:
        """The rate of each group, as the last number left it."""
        return self._now()

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Note the number of an epoch."""
        now = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._better(now):
            self.best, self.num_bad_epochs = now, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                new = max(group["lr"] * self.factor, least)
                if group["lr"] - new > self.eps:
                    group["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._now()


__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "ReduceLROnPlateau",
    "StepLR",
    *_joined,
]
