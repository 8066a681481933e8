"""What takes part in a benchmark: a way to compute a workload's derivative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from .measure import Timed, by_clock
from .workload import Workload


class NotFittingError(Exception):
    """The contestant has no version of this workload."""


class Setting(NamedTuple):
    """What all contestants of a run have in common: how many threads they may use, and where arrays
    lie ("cpu" or "cuda")."""

    threads: int = 1
    device: str = "cpu"


def nothing() -> None:
    """On the CPU calls return when their work is done."""


@dataclass(frozen=True)
class Prepared:
    """A workload on a contestant's own arrays.

    derivative  computes the derivative; on a GPU it may return before that is there
    primal      computes the function alone, or None
    to_numpy    turns the derivative's result into a flat list of NumPy arrays
    nodes       how many operations the derivative's graph has, asked when everything is measured;
                or None
    wait        returns when what was asked for is there
    timed       the seconds that so many calls take
    """

    derivative: Callable[[], Any]
    primal: Callable[[], Any] | None
    to_numpy: Callable[[Any], list[Any]]
    nodes: Callable[[], int] | None = None
    wait: Callable[[], Any] = nothing
    timed: Timed = by_clock


Prepare = Callable[[Workload, list[Any], Setting], Prepared]
"""`prepare(workload, arguments, setting)`; what it costs counts as part of the first call."""


@dataclass(frozen=True)
class Contestant:
    """A name for tables, the module of this package that imports the library, and the function
    there that prepares a workload."""

    name: str
    module: str
    function: str
    needs: str
    ours: bool = False
    here: bool = False
    """Whether it always runs in this environment, wherever the other peers are."""
    devices: tuple[str, ...] = ("cpu",)

    def load(self) -> Prepare:
        """Import the library; ImportError where it is not installed."""
        prepare: Prepare = getattr(import_module(f".{self.module}", __package__), self.function)
        return prepare


BOTH = ("cpu", "cuda")
CONTESTANTS: dict[str, Contestant] = {
    c.name: c
    for c in (
        Contestant(
            "eager",
            "peers.with_tracegrad",
            "prepare_eager",
            "tracegrad",
            ours=True,
            here=True,
            devices=BOTH,
        ),
        Contestant(
            "jit",
            "peers.with_tracegrad",
            "prepare_jit",
            "tracegrad",
            ours=True,
            here=True,
            devices=BOTH,
        ),
        Contestant("hand-written Numba", "peers.with_numba", "prepare", "numba", here=True),
        Contestant("floor", "peers.with_numba", "prepare_floor", "numba", here=True, devices=BOTH),
        Contestant("JAX", "peers.with_jax", "prepare", "jax", devices=BOTH),
        Contestant("JAX on NumPy", "peers.with_jax", "prepare_from_numpy", "jax"),
        Contestant("torch eager", "peers.with_torch", "prepare_eager", "torch", devices=BOTH),
        Contestant("torch.compile", "peers.with_torch", "prepare_compiled", "torch", devices=BOTH),
        Contestant("CuPy", "peers.with_cupy", "prepare", "cupy", devices=("cuda",)),
        Contestant("HIPS autograd", "peers.with_autograd", "prepare", "autograd"),
        Contestant("CasADi", "peers.with_casadi", "prepare", "casadi"),
    )
}
OURS = ("eager", "jit")
PEERS = tuple(name for name, c in CONTESTANTS.items() if not c.ours)
LIBRARIES = tuple(name for name, c in CONTESTANTS.items() if not c.here)
"""What the best peer is looked for among: what a person would use instead, and not what is written
by hand."""
