"""Single operations and short chains on small tensors, in the words that tracegrad and torch share,
and the process that times them.

This module uses no other part of tracegrad, so that it also runs in the interpreter of another
environment.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from .worker import MARK, pin

SIZES = {4: 4, 1000: 32}
"""The sizes of vectors, and of the matrices beside them."""
RECORDING = ("untracked", "recorded", "with backward")
SAMPLE_SECONDS = 2e-3

Operation = Callable[[Any], Any]

OPERATIONS: dict[str, Operation] = {
    "x * y": lambda a: a.x * a.y,
    "x + 1.0": lambda a: a.x + 1.0,
    "x / y": lambda a: a.x / a.y,
    "x ** 2": lambda a: a.x**2,
    "-x": lambda a: -a.x,
    "m + row": lambda a: a.m + a.row,
    "sin(x)": lambda a: a.library.sin(a.x),
    "x.exp()": lambda a: a.x.exp(),
    "x.tanh()": lambda a: a.x.tanh(),
    "x.sum()": lambda a: a.x.sum(),
    "m.sum(0)": lambda a: a.m.sum(0),
    "x.mean()": lambda a: a.x.mean(),
    "x @ y": lambda a: a.x @ a.y,
    "m @ row": lambda a: a.m @ a.row,
    "m @ m": lambda a: a.m @ a.n,
    "x[0]": lambda a: a.x[0],
    "x[1:]": lambda a: a.x[1:],
    "m[places]": lambda a: a.m[a.places],
    "m.T": lambda a: a.m.T,
    "m.reshape(-1)": lambda a: a.m.reshape(-1),
}


def _chain(a: Any) -> Any:
    z = a.library.sin(a.x) * a.y + 1.0
    return (z * z).sum()


def chain(a: Any) -> Any:
    """Five operations."""
    return _chain(a)


def chain_backward(a: Any) -> Any:
    """Five operations, and the gradients into `.grad`."""
    a.x.grad = a.y.grad = None
    _chain(a).backward()
    return a.x.grad, a.y.grad


def chain_grad(a: Any) -> Any:
    """Five operations, and the gradients as results."""
    return a.library.autograd.grad(_chain(a), [a.x, a.y])


def layer(a: Any) -> Any:
    """A layer, a mean square, and the gradients of its parameters."""
    a.m.grad = a.row.grad = None
    h = (a.batch @ a.m + a.row).tanh()
    (h * h).mean().backward()
    return a.m.grad, a.row.grad


def fifty(a: Any) -> Any:
    """Fifty products in a row, and their gradients."""
    a.x.grad = a.y.grad = None
    z = a.x
    for _ in range(50):
        z = z * a.y
    z.sum().backward()
    return a.x.grad, a.y.grad


def step(a: Any) -> Any:
    """What an optimizer does: a parameter changed in place, unrecorded."""
    with a.library.no_grad():
        a.kept.mul_(1.0)
    return a.kept


CHAINS: dict[str, Operation] = {
    "(sin(x) * y + 1)², sum": chain,
    "the same, and backward()": chain_backward,
    "the same, and autograd.grad": chain_grad,
    "mean(tanh(b @ m + row)²), and backward()": layer,
    "50 products, sum, and backward()": fifty,
    "no_grad: x.mul_(1.0)": step,
}


class Operands:
    """The same numbers for every library."""

    def __init__(self, library: Any, size: int, recorded: bool) -> None:
        rng = np.random.default_rng(size)
        side = SIZES[size]

        def made(*shape: int, recorded: bool = recorded) -> Any:
            return library.tensor(rng.uniform(0.5, 1.5, shape), requires_grad=recorded)

        self.library = library
        self.x, self.y, self.kept = made(size), made(size), made(size)
        self.m, self.n, self.row = made(side, side), made(side, side), made(side)
        self.batch = made(side, side, recorded=False)
        self.places = library.tensor(rng.integers(0, side, 64 * side))


@dataclass(frozen=True)
class Item:
    """One thing to time: `name` at a size; `kind` says whether its operation is recorded, and
    whether a backward pass follows."""

    name: str
    size: int
    kind: str

    def prepare(self, library: Any) -> Callable[[], Any]:
        """A function without arguments that does it once and returns tensors."""
        operands = Operands(library, self.size, self.kind != "untracked")
        if self.name in CHAINS:
            run = CHAINS[self.name]
            return lambda: run(operands)
        function = OPERATIONS[self.name]
        if self.kind != "with backward":
            return lambda: function(operands)
        result = function(operands)
        cotangent = library.tensor(
            np.linspace(0.5, 1.5, max(1, int(np.prod(tuple(result.shape))))).reshape(
                tuple(result.shape)
            )
        )
        leaves = [t for t in vars(operands).values() if getattr(t, "requires_grad", False)]

        def with_backward() -> Any:
            for leaf in leaves:
                leaf.grad = None
            function(operands).backward(cotangent)
            return [leaf.grad for leaf in leaves if leaf.grad is not None]

        return with_backward


ITEMS = [
    *[Item(name, size, kind) for size in SIZES for name in OPERATIONS for kind in RECORDING],
    *[Item(name, size, "chain") for size in SIZES for name in CHAINS],
]


def main(library: str) -> None:
    """Answer each line with the number of an item and a number of samples: the seconds of one call,
    sample by sample, and a sum of the results, by which libraries can be compared."""
    pin(1)
    try:
        module = import_module(library)
    except ImportError:
        _tell({"missing": f"{library} is not installed here"})
        return
    if library == "torch":
        module.set_num_threads(1)
    _tell({"version": module.__version__})
    for line in sys.stdin:
        number, count = map(int, line.split())
        call = ITEMS[number].prepare(module)
        _tell({"sum": _sum(call()), "seconds": _samples(call, count)})


def _sum(results: Any) -> float:
    found = results if isinstance(results, (tuple, list)) else [results]
    return float(sum(np.sum(np.asarray(r.detach().numpy()) * (k + 1)) for k, r in enumerate(found)))


def _samples(call: Callable[[], Any], count: int) -> list[float]:
    number = 10
    while (taken := _batch(call, number)) < SAMPLE_SECONDS / 4:
        number *= 4
    number = max(1, int(number * SAMPLE_SECONDS / taken))
    return [_batch(call, number) / number for _ in range(count)]


def _batch(call: Callable[[], Any], number: int) -> float:
    start = perf_counter()
    for _ in range(number):
        call()
    return perf_counter() - start


def _tell(message: dict[str, Any]) -> None:
    sys.stdout.write(f"\n{MARK}{json.dumps(message)}\n")
    sys.stdout.flush()
