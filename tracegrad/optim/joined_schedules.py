"""Schedules that start again, and schedules made of others."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Any

from ..checks import describe
from .optimizer import Optimizer
from .schedule import ByFunctions, LRScheduler


class MultiplicativeLR(ByFunctions):
    """The rate times `lr_lambda(epoch)` each epoch; one function, or one for each group.

    >>> import tracegrad as tg
    >>> optimizer = tg.optim.SGD([tg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = tg.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    from_the_first = False

    def rates(self) -> list[Any]:
        if "_last_lr" not in vars(self):  # it is just made
            return self._now()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._now(), strict=True)]


class PolynomialLR(LRScheduler):
    """The rate down to 0 in `total_iters` epochs, as a power of what is left of them.

    >>> import tracegrad as tg
    >>> optimizer = tg.optim.SGD([tg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = tg.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        n, total = self.last_epoch, self.total_iters
        if n == 0 or n > total:
            return self._now()
        factor = ((1.0 - n / total) / (1.0 - (n - 1) / total)) ** self.power
        return [lr * factor for lr in self._now()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate down half a period of a cosine to `eta_min` in `T_0` epochs, then from the first
    rate again in `T_mult` times as many, and so on (Loshchilov and Hutter 2017). `step(epoch)`
    takes parts of epochs.

    >>> import tracegrad as tg
    >>> optimizer = tg.optim.SGD([tg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = tg.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += [round(rate, 6) for rate in scheduler.get_last_lr()]
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        for word, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{word} is {describe(value)}; it must be an integer from 1 on")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_i, self.T_cur = T_0, last_epoch
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        part = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """Go to the next epoch, or to a given one or part of one."""
        if epoch is None:
            # Counted on from where the period is, of whatever length.
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        elif epoch < 0:
            raise ValueError(f"epoch is {epoch}; it must be from 0 on")
        elif self.T_mult == 1:
            self.T_cur, self.T_i = epoch % self.T_0, self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        super().step(math.floor(epoch))


def _checked(who: str, optimizer: Any, schedulers: Any) -> list[LRScheduler]:
    """The schedules, all of one optimizer."""
    found = list(schedulers)
    if not found:
        raise ValueError(f"{who}: there is no schedule among schedulers")
    for k, schedule in enumerate(found):
        if not isinstance(schedule, LRScheduler):
            raise TypeError(
                f"{who}: schedulers[{k}] is {describe(schedule)}; it must be a schedule that steps "
                "without a measure"
            )
        if schedule.optimizer is not optimizer:
            raise ValueError(f"{who}: schedulers[{k}] is of another optimizer")
    return found


class _OfOthers(LRScheduler):
    """A schedule made of others, whose states are part of its own."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler]) -> None:
        self.optimizer, self._schedulers = optimizer, schedulers

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer, with the states of the schedules that it is made of."""
        own = {k: v for k, v in super().state_dict().items() if k != "_schedulers"}
        return {**own, "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        given = dict(state_dict)
        states = given.pop("_schedulers", None)
        if not isinstance(states, list) or len(states) != len(self._schedulers):
            raise ValueError(
                f"{type(self).__name__}.load_state_dict: state_dict has no states of "
                f"{len(self._schedulers)} schedules"
            )
        for schedule, state in zip(self._schedulers, states, strict=True):
            schedule.load_state_dict(state)
        super().load_state_dict(given)


class SequentialLR(_OfOthers):
    """One schedule after another: from epoch `milestones[k]` on the one with number k + 1, from its
    own start.

    >>> import tracegrad as tg
    >>> optimizer = tg.optim.SGD([tg.zeros(1, requires_grad=True)], lr=1.0)
    >>> warm = tg.optim.lr_scheduler.LinearLR(optimizer, 0.5, 1.0, 2)
    >>> then = tg.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    >>> scheduler = tg.optim.lr_scheduler.SequentialLR(optimizer, [warm, then], milestones=[2])
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        found = _checked("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(found) - 1:
            raise ValueError(
                f"SequentialLR: {len(found)} schedules have {len(found) - 1} changes, and "
                f"milestones has {len(milestones)}"
            )
        super().__init__(optimizer, found)
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        # Making the schedules took the first step of each; that of the first one is taken anew.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        del found[0]._last_lr
        found[0].step(0)
        self._last_lr = found[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch."""
        if epoch is not None:
            raise TypeError("SequentialLR.step: an epoch is not taken; its schedules count on")
        self.last_epoch += 1
        k = bisect.bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[k]
        if k and self._milestones[k - 1] == self.last_epoch:
            schedule.step(0)
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()


class ChainedScheduler(_OfOthers):
    """Several schedules at once: each changes the rate that the one before it has left.

    >>> import tracegrad as tg
    >>> optimizer = tg.optim.SGD([tg.zeros(1, requires_grad=True)], lr=1.0)
    >>> halved = tg.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    >>> stepped = tg.optim.lr_scheduler.StepLR(optimizer, 1, 0.1)
    >>> scheduler = tg.optim.lr_scheduler.ChainedScheduler([halved, stepped])
    >>> scheduler.step()
    >>> [round(rate, 6) for rate in scheduler.get_last_lr()]
    [0.05]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        found = list(schedulers)
        owner: Any = optimizer or getattr(found[0] if found else None, "optimizer", None)
        super().__init__(owner, _checked("ChainedScheduler", owner, found))
        self._last_lr = self._now()

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch."""
        if epoch is not None:
            raise TypeError("ChainedScheduler.step: an epoch is not taken; its schedules count on")
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._now()


__all__ = [
    "ChainedScheduler",
    "CosineAnnealingWarmRestarts",
    "MultiplicativeLR",
    "PolynomialLR",
    "SequentialLR",
]
