"""Running a plan on a device: launches, routines, and the loops and branches that the host
follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import kernel
from ..addresses import address_of
from ..integers import Int, evaluate, symbols
from . import driver
from .compile import starters
from .kernels import PARTS, DevicePlan, Launch
from .routines import call_routine
from .steps import Choose, Fetch, Repeat, Reserve, Routine, Until

Layout = np.ndarray[Any, Any]
UNKNOWN = 1 << 20
"""What work counts as where only the device knows how much there is."""
Take = Callable[[int], Layout]
"""Gives so many bytes of the device's memory, as a layout (see driver.py) of uint8."""

NOTHING: Layout = np.empty(0, np.uint8)
"""Memory for arrays without elements."""


class Runner:
    """The kernels of one plan on one device."""

    def __init__(
        self, plan: DevicePlan, index: int, take: Take, folder: Path | None = None
    ) -> None:
        self.plan, self.index, self.take = plan, index, take
        self.kernels = starters(plan.source, plan.launches, index, folder)
        self.checked = any("status" in launch.scratch for launch in plan.launches) or bool(
            plan.program.errors
        )

    def run(self, arrays: Mapping[str, Layout], sizes: Mapping[str, int]) -> Layout | None:
        """One call over the memory of inputs and outputs, by name; what is returned holds (code,
        value) of the first failure."""
        driver.enter(self.index)
        call = _Call(self, dict(arrays), dict(sizes))
        call.steps(self.plan.steps)
        return call.found.get("status")


class _Call:
    """One call: the memory it uses and the numbers it knows."""

    def __init__(self, runner: Runner, arrays: dict[str, Layout], numbers: dict[str, int]) -> None:
        self.runner, self.numbers = runner, numbers
        self.found = arrays
        plan = runner.plan
        nbytes = plan.arena if isinstance(plan.arena, int) else evaluate(plan.arena, numbers)
        self.found["arena"] = runner.take(nbytes) if nbytes else NOTHING
        if runner.checked:
            self.found["status"] = self.cleared(16).view(np.int64)

    def cleared(self, nbytes: int) -> Layout:
        made = self.runner.take(nbytes)
        driver.clear(self.runner.index, made)
        return made

    # --- steps ------------------------------------------------------------------------------------

    def steps(self, steps: Sequence[Any]) -> None:
        for step in steps:
            match step:
                case Launch():
                    self.launch(step)
                case Routine(call):
                    call_routine(self.runner.index, call, [self.operand(a) for a in call.arguments])
                case Fetch(name, cell):
                    self.numbers[name] = driver.download(
                        self.runner.index, self.memory(cell)
                    ).item()
                case Reserve(request):
                    self.reserve(request)
                case Repeat(loop, inner):
                    for k in range(self.value(loop.lo), self.value(loop.hi)):
                        self.numbers[loop.index] = k
                        self.steps(inner)
                case Until(name, test, inner, checks):
                    self.steps(test)
                    while self.numbers[name] and not (checks and self.failed()):
                        self.steps(inner)
                        self.steps(test)
                case Choose(name, test, then, otherwise):
                    self.steps(test)
                    self.steps(then if self.numbers[name] else otherwise)

    def failed(self) -> bool:
        """Whether a check of this call has failed."""
        return bool(driver.download(self.runner.index, self.found["status"])[0])

    def work(self, extent: Int) -> int:
        """How much there is to do, as far as the host knows."""
        if isinstance(extent, int):
            return extent
        return evaluate(extent, self.numbers) if symbols(extent) <= self.numbers.keys() else UNKNOWN

    def value(self, number: Int) -> int:
        return number if isinstance(number, int) else evaluate(number, self.numbers)

    def reserve(self, request: kernel.Allocate) -> None:
        if request.of:
            return
        nbytes = request.dtype.itemsize
        for n in request.shape:
            nbytes *= self.value(n)
        self.found[request.name] = self.runner.take(nbytes)

    def memory(self, name: str) -> Layout:
        """A buffer by name, with its dtype and shape."""
        found = self.found.get(name)
        if found is not None and found.dtype != np.uint8:
            return found
        b = self.runner.plan.buffers[name]
        shape = tuple(map(self.value, b.shape))
        base = (
            self.memory(b.of)
            if b.of
            else self.found["arena"]
            if b.role == "temp"
            else self.found[name]
        )
        offset = 0 if b.of or b.role != "temp" else self.value(b.offset)
        return (
            np.ndarray(shape, b.dtype, base.reshape(-1).view(np.uint8), offset)
            if base.size
            else np.empty(shape, b.dtype)
        )

    def operand(self, value: Any) -> Any:
        """An argument of a routine: memory, or a number."""
        if isinstance(value, str):
            return self.found["status"] if value == "status" else self.memory(value)
        if isinstance(value, (bool, int)):
            return value
        if isinstance(value, kernel.Literal):
            return value.value
        if isinstance(value, kernel.Name):
            return self.numbers[value.name]
        if isinstance(value, kernel.Index):
            return self.value(value.value)
        if isinstance(value, (kernel.Load, kernel.Apply)):
            raise NotImplementedError(
                f"{self.runner.plan.program.name}: a routine's argument that the device computes"
            )
        return self.value(value)

    # --- launches ---------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        arguments: list[int] = []
        for b in launch.buffers:
            x = self.found[b.name]
            arguments.append(address_of(x))
            if b.layout == "A":
                arguments += x.strides
        for word in launch.scratch:
            if word == "parts" and word not in self.found:
                self.found[word] = self.runner.take(16 * PARTS)
            if word == "arrivals":
                self.found[word] = self.cleared(8)
            arguments.append(address_of(self.found[word]))
        arguments += [int(self.numbers[name]) for name in launch.scalars]
        work = self.work(launch.work)
        if work <= 0 and not launch.single and not launch.waits:
            return
        self.runner.kernels[launch.name](max(work, 1), arguments)
