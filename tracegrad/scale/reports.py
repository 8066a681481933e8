"""What evaluations took: time per shard, bytes, idle workers; as text and as a picture."""

from __future__ import annotations

import os
from collections import deque
from typing import Any, NamedTuple

from .._codegen import loading
from ..ir.lines import user_line


class Evaluation(NamedTuple):
    """One evaluation, as it was.

    name            the user's function
    engine          where it was
    form            what was evaluated: the function itself, or what was derived of it
    start, end      on the driver's clock, in seconds
    shards          the range of each worker
    workers         of each worker: host, process, start, end (on its own clock), the seconds of
                    each shard, how many shards were opened and kernels compiled
    sent, received  bytes to each worker, and from all of them
    """

    name: str
    engine: str
    form: Any
    start: float
    end: float
    shards: list[tuple[int, int]]
    workers: tuple[Any, ...]
    sent: int
    received: int

    @property
    def busy(self) -> float:
        """The share of the workers' time in which they computed or opened shards."""
        whole = (self.end - self.start) * max(1, len(self.workers))
        return sum(sum(w.seconds) for w in self.workers) / whole if whole else 1.0

    @property
    def kind(self) -> str:
        """What was evaluated, in a word."""
        words = {"SweptForm": "value and gradient", "PulledForm": "vjp", "PushedForm": "jvp"}
        if self.form is None:
            return "opening"
        name = type(self.form).__name__
        return words.get(name, "batch" if name == "BatchedForm" else "value")

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.kind} on {self.engine}, {1e3 * (self.end - self.start):.3g} ms, "
            f"workers busy {100 * self.busy:.0f} %, {self.sent:,} bytes to each, "
            f"{self.received:,} back"
        ]
        for (first, _), w in zip(self.shards, self.workers, strict=True):
            slow = max(range(len(w.seconds)), key=w.seconds.__getitem__, default=0)
            lines.append(
                f"  {w.host}, process {w.process}: {len(w.seconds)} shards from {first}, "
                f"{1e3 * sum(w.seconds):.3g} ms"
                + (
                    f", the slowest {first + slow} with {1e3 * w.seconds[slow]:.3g} ms"
                    if w.seconds
                    else ""
                )
                + (f", {w.opened} opened" if w.opened else "")
                + (f", {w.compiled} kernels compiled" if w.compiled else "")
            )
        return "\n".join(lines)


class Evaluations(tuple[Evaluation, ...]):
    """Evaluations, the latest last."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no evaluation yet"

    def save(self, path: Any) -> None:
        """A picture of the latest one: a bar for each worker, with its shards; needs matplotlib.
        Raises ValueError where there is none."""
        if not self:
            raise ValueError(f"{user_line()}: there is no evaluation to show yet")
        pyplot: Any = loading.imported("matplotlib.pyplot")
        figure, axes = pyplot.subplots(figsize=(8.0, 1.2 + 0.35 * len(self[-1].workers)))
        draw(axes, self[-1])
        figure.tight_layout()
        figure.savefig(os.fspath(path))
        pyplot.close(figure)


def draw(axes: Any, evaluation: Evaluation) -> None:
    """The bars. The clocks of other machines may be off: what lies outside is moved inside."""
    length = evaluation.end - evaluation.start
    for k, w in enumerate(evaluation.workers):
        own = sum(w.seconds)
        at = min(max(0.0, w.start - evaluation.start), max(0.0, length - own))
        for j, seconds in enumerate(w.seconds):
            axes.barh(k, 1e3 * seconds, left=1e3 * at, color=f"C{j % 2}", edgecolor="white")
            at += seconds
    axes.set_yticks(range(len(evaluation.workers)))
    axes.set_yticklabels([f"{w.host} {w.process}" for w in evaluation.workers])
    axes.set_xlim(0.0, 1e3 * length)
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_title(f"{evaluation.name}: {evaluation.kind}, {evaluation.engine}")


LOG: deque[Evaluation] = deque(maxlen=256)


def report() -> Evaluations:
    """The latest evaluations of `sum_over` and `map_over` in this process, the last 256: each has
    its time, the time of each shard, bytes, and what of the workers' time they computed. Printed it
    is a few lines each; `.save("evaluation.png")` draws the latest, a bar for each worker.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> total = tg.scale.sum_over(lambda t, x: np.sum(t * x), [np.ones(2), np.ones(3)])
    >>> total(2.0)
    np.float64(10.0)
    >>> tg.scale.report()[-1].shards
    [(0, 2)]
    """
    return Evaluations(LOG)


__all__ = ["LOG", "Evaluation", "Evaluations", "report"]
