"""`sum_over`: a function of shards, added up over all of them, as a function of the parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..checks import describe
from ..ir.lines import user_line
from ..ops import logsumexp
from ..tensor import Tensor
from ..transforms.tracing import check_leaf, leaf_type, plain
from ..tree import flatten, orders_of, unflatten
from .choosing import engine_for
from .collections import openers
from .functions import PerShard, structure_of
from .session import ShardedFunction, default_room
from .step import OverShards, refuse_devices, step_of
from .streams import StreamedFunction, is_stream

REDUCTIONS = ("sum", "mean", "logsumexp", "stack", "concatenate")


class Total:
    """What `sum_over` returns: call it as a function of the parameters."""

    def __init__(self, session: ShardedFunction, reduce: Any) -> None:
        self._session, self._reduce = session, reduce
        summed = reduce in ("sum", "mean")
        self._gather = "" if summed else "concatenate" if reduce == "concatenate" else "stack"
        self._steps: dict[Any, OverShards] = {}
        self.__name__ = f"total_{session.name}".replace("<lambda>", "lambda")

    def __repr__(self) -> str:
        s = self._session
        return f"<{s.who} of {s.name} over {s.count} shards, {s.engine.name}>"

    def __call__(self, *theta: Any) -> Any:
        session = self._session
        if not theta:
            raise TypeError(
                f"{user_line()}: {session.who}: call it with the parameters: total(theta)"
            )
        leaves, spec = flatten(theta)
        for x in leaves:
            check_leaf(x, f"{session.who}: a parameter of the total is")
        refuse_devices(leaves)
        step = self._step(spec, tuple(map(_kind_of, leaves)))
        outs = step.apply(leaves)
        if not outs:
            raise TypeError(
                f"{user_line()}: {session.who}: {session.name} returned nothing to add up; "
                "it must return a number, an array or a tree of arrays"
            )
        kind = step.latest([leaf_type(x) for x in leaves])
        found = unflatten(kind.structure[1 if self._gather else 0], [plain(x) for x in outs])
        return self._reduced(found)

    def _step(self, spec: Any, kinds: tuple[str, ...]) -> OverShards:
        """The step for parameters of this structure."""
        key = spec, orders_of(spec), kinds
        found = self._steps.get(key)
        if found is None:
            form = PerShard(structure_of(spec), kinds, self._gather)
            found = self._steps[key] = step_of(self._session, form)
        return found

    def _reduced(self, found: Any) -> Any:
        reduce = self._reduce
        if reduce == "mean":
            leaves, spec = flatten(found)
            return unflatten(spec, [x / self._session.count for x in leaves])
        if reduce == "logsumexp":
            leaves, spec = flatten(found)
            return unflatten(spec, [logsumexp(x, axis=0) for x in leaves])
        return reduce(found) if callable(reduce) else found

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} has workers of its own and does not travel to other processes: make it "
            "there, or sum over it here"
        )

    def close(self) -> None:
        """Let the workers forget its shards."""
        self._session.end()


def _kind_of(x: Any) -> str:
    if isinstance(x, Tensor):
        return "tensor"
    return "number" if leaf_type(x).weak else "array"


def sum_over(
    per_shard: Callable[..., Any],
    shards: Any,
    *,
    reduce: Any = "sum",
    backend: str | None = None,
    client: Any = None,
    workers: int | None = None,
    keep: int | None = None,
    limit: float | None = None,
) -> Total:
    """The sum of `per_shard(theta, shard)` over shards, computed where the shards are, as an
    ordinary differentiable function of theta: `grad`, `value_and_grad`, `jvp`, `hvp`, `hessian`,
    `jacobian` and `vmap` take it, to any order, a jitted function may call it, and functions of
    what it returns have exact derivatives.

    per_shard   a function of arrays `per_shard(theta, shard)`, compiled on the workers; theta may
                be several arguments: total(a, b) calls per_shard(a, b, shard). It returns a
                number, an array, or a tree of arrays, of the same shapes for every shard (with
                reduce="concatenate" they may differ along axis 0)
    shards      a list; each is an array, a tree of arrays, a path (`tg.scale.read` says of what
                files), or a function without arguments that opens one of these on the worker.
                Or a Dask array, or a tuple or dict of some, or an xarray object with chunks: their
                blocks of rows; delayed objects of Dask. Or an iterator of chunks, or a function
                that begins one: two chunks are in memory at a time
    reduce      "sum"; "mean" over the shards; "logsumexp"; "stack" along a new axis 0, in the
                order of the shards; "concatenate" along axis 0; or a function of the stacked tree
    backend     "serial" (the default), "threads", "processes", "joblib", "dask", "mpi"
    client      a `distributed.Client` or an MPI communicator, for the last two
    workers     how many threads or processes; one per core
    keep        the bytes of opened shards that a worker keeps; the workers of a machine together
                half of its memory. What does not fit is opened again at each evaluation
    limit       seconds after which an evaluation raises EvaluationTimeoutError

    One evaluation sends theta once to each worker, and one answer comes back from each. Where the
    result is a real number its gradient comes with it; of several numbers the cotangents are sent
    in a second round. Sums are taken in a tree by the shards' numbers: the same bits for any number
    of workers and any order of arrival. A shard is opened once by its worker, and kept.

    The function is sent as it is when an evaluation begins, with what it reads around it; it may
    not change anything. An empty shard is a shard: its function is called with arrays of no rows.
    Missing values are NaN, which the function has to deal with.

    Raises ShardError where a shard cannot be opened or its function raises, which names shard, host
    and line; WorkerLostError where a worker ends and its work cannot be done again; never returns a
    part of a sum.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> def misfit(theta, shard):
    ...     x, y = shard
    ...     return np.sum((x @ theta - y) ** 2)
    >>> shards = [(np.ones((2, 2)), np.ones(2)), (np.eye(2), np.zeros(2))]
    >>> total = tg.scale.sum_over(misfit, shards)
    >>> tg.value_and_grad(total)(np.array([1.0, 2.0]))
    (np.float64(13.0), array([10., 12.]))
    """
    if not callable(per_shard):
        raise TypeError(
            f"{user_line()}: sum_over: per_shard is {describe(per_shard)}; it must be a function "
            "of theta and a shard"
        )
    if not callable(reduce) and reduce not in REDUCTIONS:
        raise ValueError(
            f"{user_line()}: sum_over: reduce is {reduce!r:.60}; it must be one of "
            f"{', '.join(map(repr, REDUCTIONS))}, or a function of the stacked results"
        )
    check_amount("sum_over", "keep", keep)
    check_amount("sum_over", "limit", limit)
    if is_stream(shards):
        if reduce != "sum" or backend not in (None, "serial"):
            raise ValueError(
                f"{user_line()}: sum_over: a stream of chunks is added up by the driver: "
                "reduce='sum', backend='serial'; give a list of shards for the others"
            )
        return Total(StreamedFunction(per_shard, shards, limit, "sum_over"), reduce)
    found = openers("sum_over", shards)
    engine = engine_for("sum_over", backend, client, workers)
    room = default_room(engine.workers()) if keep is None else int(keep)
    return Total(ShardedFunction(per_shard, found, engine, room, limit, "sum_over"), reduce)


def check_amount(who: str, name: str, x: Any) -> None:
    """A TypeError or ValueError unless it is None or a number of at least 0."""
    if x is None:
        return
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        raise TypeError(f"{user_line()}: {who}: {name} is {describe(x)}; it must be a number")
    if math.isnan(x) or x < 0:
        raise ValueError(f"{user_line()}: {who}: {name} is {x}; it must be at least 0")


__all__ = ["Total", "check_amount", "sum_over"]
