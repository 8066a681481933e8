"""What schedules of the learning rate share: the rates of all groups, set once an epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..checks import describe
from ..holders import ScheduleHolder
from .optimizer import Optimizer, check_like

BY_GROUP = ("base_lrs", "_last_lr", "min_lrs", "max_lrs", "base_momentums", "max_momentums")
"""What of a schedule's state has a number for each group."""


def check_schedule(schedule: Any, state_dict: Any) -> None:
    """A TypeError for a state that is none of this schedule."""
    who = f"{type(schedule).__name__}.load_state_dict"
    if not isinstance(state_dict, Mapping) or not all(isinstance(key, str) for key in state_dict):
        raise TypeError(
            f"{who}: state_dict is {describe(state_dict)}; it must be what state_dict() gave"
        )
    for key, value in state_dict.items():
        present = schedule.__dict__.get(key)
        check_like(f"{who}: {key}", value, present)
        if key in BY_GROUP and len(value) != len(present):
            raise ValueError(
                f"{who}: {key} has {len(value)} numbers, and the optimizer {len(present)} groups"
            )


def for_each(groups: Sequence[Any], name: str, value: float | Sequence[float]) -> list[float]:
    """One number for each group, where one may stand for all."""
    if not isinstance(value, (list, tuple)):
        return [float(value)] * len(groups)  # type: ignore[arg-type]
    if len(value) != len(groups):
        raise ValueError(f"expected {len(groups)} values for {name}, got {len(value)}")
    return [float(v) for v in value]


def uses_betas(groups: Sequence[Any]) -> bool:
    """Whether the momentum is the first of two betas; an error where there is none."""
    if not any(name in groups[0] for name in ("momentum", "betas")):
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    return "betas" in groups[0]


def set_momentum(group: Any, momentum: float, of_betas: bool) -> None:
    """Give a group a momentum."""
    if of_betas:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class LRScheduler(ScheduleHolder):
    """Base: a subclass gives the rates of all groups for `last_epoch`.

    Making one sets the first rate; call `step()` after each epoch.
    """

    from_the_first = True
    """Whether `step(0)` starts from the first rate, whatever rate is there."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{k}] when "
                    "resuming an optimizer"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def rates(self) -> list[Any]:
        """The rate of each group in this epoch."""
        raise NotImplementedError(f"{type(self).__name__} defines no rates")

    def get_lr(self) -> list[Any]:
        """The rate of each group in this epoch, from the one before."""
        return self.rates()

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last."""
        return self._last_lr

    def _now(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to a given one, counting on from where the schedule is."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if epoch == 0 and self.from_the_first:
            for group, rate in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
                group["lr"] = rate
        for group, rate in zip(self.optimizer.param_groups, self.rates(), strict=True):
            group["lr"] = rate
        self._last_lr = self._now()

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        check_schedule(self, state_dict)
        self.__dict__.update(state_dict)


class ByFunctions(LRScheduler):
    """A schedule by functions of the epoch: one, or one for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer and the functions."""
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


__all__ = ["LRScheduler", "check_schedule", "for_each", "set_momentum", "uses_betas"]
