"""The text of a workload for torch: NumPy's names stand for torch's functions of the same
meaning."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..workload import Function, with_modules
from ..workloads import control


class TorchNames:
    """`np` in a workload's text: torch's functions, a few of which have another name there."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.linalg = torch.linalg
        self.max = lambda x, axis: torch.amax(x, dim=axis)
        self.min = lambda x, axis: torch.amin(x, dim=axis)
        self.stack = lambda parts, axis=0: torch.stack(parts, dim=axis)
        self.concatenate = lambda parts, axis=0: torch.cat(parts, dim=axis)
        self.cumsum = lambda x, axis=0: torch.cumsum(x, dim=axis)
        self.cross = torch.linalg.cross

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)


def same_text(function: Function) -> Any:
    """`torch` of a `Workload` whose function needs no text of its own there; its loops are
    Python's."""

    def in_torch(torch: Any) -> Function:
        def scan(f: Function, init: Any, xs: Any = None, length: int | None = None) -> Any:
            carry, ys = control.scan(f, init, xs, length)
            return carry, torch.stack(ys) if torch.is_tensor(ys[0]) else ys

        loops = SimpleNamespace(scan=scan)
        return with_modules(function, TorchNames(torch), torch.special, loops)

    return in_torch
