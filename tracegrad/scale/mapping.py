"""`map_over`: independent problems, batched inside of a worker and spread over workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..bridges.standing import plain
from ..checks import describe
from ..derivatives.vmap import vmap
from ..ir.lines import user_line
from ..tree import flatten, unflatten
from .choosing import engine_for
from .functions import PerShard, structure_of
from .session import ShardedFunction, apart, default_room
from .sources import Opener, as_arrays
from .sums import check_amount
from .worker import described, open_shard


class EachProblem:
    """A function of a batch of problems."""

    def __init__(self, function: Callable[..., Any], batched: bool) -> None:
        self.function, self.batched = plain(function), batched
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, problems: Any) -> Any:
        return vmap(self.function)(problems) if self.batched else self.function(problems)


def map_over(
    function: Callable[..., Any],
    problems: Sequence[Any],
    *,
    batch: int | None = 64,
    backend: str | None = None,
    client: Any = None,
    workers: int | None = None,
    limit: float | None = None,
) -> list[Any]:
    """`[function(p) for p in problems]`, compiled: problems of equal types are computed in batches
    (by `vmap`), and batches are spread over workers.

    function    of one problem; returns an array or a tree of them
    problems    a list of arrays or trees of arrays; of several sizes, each size is compiled for by
                itself
    batch       how many problems are one call of compiled code; None: one at a time, for what vmap
                cannot do
    backend, client, workers, limit     as for `sum_over`

    Returns the results in the order of the problems. Which problems are batched together does not
    depend on the workers, and so neither do the bits. Raises what `sum_over` raises.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.scale.map_over(lambda p: np.sum(p * p), [np.ones(2), np.ones(3), np.arange(2.0)])
    [np.float64(2.0), np.float64(3.0), np.float64(1.0)]
    """
    if not callable(function):
        raise TypeError(
            f"{user_line()}: map_over: function is {describe(function)}; it must be a function of "
            "one problem"
        )
    if isinstance(problems, (str, bytes)) or not isinstance(problems, (Sequence, np.ndarray)):
        raise TypeError(
            f"{user_line()}: map_over: problems is {describe(problems)}; it must be a list"
        )
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise ValueError(
            f"{user_line()}: map_over: batch is {describe(batch)}; it must be a count from 1 on, "
            "or None"
        )
    check_amount("map_over", "limit", limit)
    engine = engine_for("map_over", backend, client, workers)
    groups: dict[Any, list[int]] = {}
    given = [as_arrays(p) for p in problems]
    for k, p in enumerate(given):
        groups.setdefault(described(open_shard(p)), []).append(k)
    results: list[Any] = [None] * len(given)
    for members in groups.values():
        size = batch or 1
        parts = [members[k : k + size] for k in range(0, len(members), size)]
        # The last batch of each size may be smaller: it is a size of its own.
        for chosen in _alike(parts):
            shards = [_stacked([given[k] for k in part], batch) for part in chosen]
            openers = [
                Opener("given", s, f"problems {p[0]} to {p[-1]}")
                for s, p in zip(shards, chosen, strict=True)
            ]
            found = _evaluated(EachProblem(function, batch is not None), openers, engine, limit)
            for part, tree in zip(chosen, found, strict=True):
                leaves, spec = flatten(tree)
                for j, k in enumerate(part):
                    own = [x[j] for x in leaves] if batch is not None else leaves
                    results[k] = unflatten(spec, [x[()] if not np.ndim(x) else x for x in own])
    return results


def _alike(parts: list[list[int]]) -> list[list[list[int]]]:
    if len(parts) > 1 and len(parts[-1]) != len(parts[0]):
        return [parts[:-1], parts[-1:]]
    return [parts]


def _stacked(problems: list[Any], batch: int | None) -> Any:
    if batch is None:
        return problems[0]
    spec = flatten(problems[0])[1]
    columns = zip(*[flatten(p)[0] for p in problems], strict=True)
    return unflatten(spec, [np.stack(c) for c in columns])


def _evaluated(
    function: EachProblem, openers: list[Opener], engine: Any, limit: float | None
) -> list[Any]:
    """The results of each shard, in their order."""
    room = default_room(engine.workers())
    session = ShardedFunction(function, openers, engine, room, limit, "map_over")
    try:
        with apart():
            form = PerShard(structure_of(flatten(())[1]), (), "stack")
            asked = session.asked(form)
            kind = session.kind(asked)
            leaves = session.evaluate(asked, (), kind)
    finally:
        session.end()
    return [unflatten(kind.structure[1], [x[k] for x in leaves]) for k in range(len(openers))]


__all__ = ["map_over"]
