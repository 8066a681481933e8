"""Kinds of objects that hold Tensors or rules, as the compiler knows them; `nn`, `optim` and
`custom` define what they do.

A compiled function takes such an object as it is, and reads and writes its arrays by reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class ModuleHolder:
    """The base of `nn.Module`."""


class OptimizerHolder:
    """The base of `optim.Optimizer`."""

    def step(self, closure: Any = None) -> Any:
        """Move the parameters."""
        raise NotImplementedError


class ScheduleHolder:
    """The base of `optim.lr_scheduler.LRScheduler`."""


class GroupHolder(dict[str, Any]):
    """The base of the groups of parameters with their options."""

    rate: Any
    """The learning rate as a Tensor, which traces read."""

    def surroundings(self) -> Iterator[tuple[str, Any]]:
        """What a trace relies on besides arrays: all but the learning rate."""
        return ((key, value) for key, value in self.items() if key != "lr")


class RuleHolder:
    """The base of functions with derivatives that the user gives (`custom_vjp`, `custom_jvp`)."""

    __name__: str


__all__ = ["GroupHolder", "ModuleHolder", "OptimizerHolder", "RuleHolder", "ScheduleHolder"]
