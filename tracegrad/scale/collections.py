"""What else can be the shards: collections of Dask and xarray, whose blocks are shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._codegen import loading
from ..checks import describe
from ..dtypes import module_of
from ..ir.lines import user_line
from ..tree import flatten, map_leaves, unflatten
from .functions import spec_of
from .sources import Opener, column_of_frame, openers_of


def openers(who: str, shards: Any) -> list[Opener]:
    """How the shards are opened; an error for what has none."""
    leaves = [] if isinstance(shards, list) else flatten(shards)[0]
    blocks = [_blocks(x) for x in leaves]
    if blocks and all(b is not None for b in blocks):
        return _zipped(who, shards, [b for b in blocks if b is not None])
    if module_of(type(shards)).partition(".")[0] == "xarray" and hasattr(shards, "data_vars"):
        return openers(who, {k: v.data for k, v in shards.data_vars.items()})
    if isinstance(shards, (str, bytes)) or not isinstance(shards, Sequence):
        raise TypeError(
            f"{user_line()}: {who}: shards is {describe(shards)}; it must be a list of shards, a "
            "Dask array or a tuple or dict of them, an xarray object with chunks, or a function "
            "that begins a stream of chunks"
        )
    if not shards:
        raise ValueError(f"{user_line()}: {who}: there are no shards; a sum needs at least one")
    held = {"dask.delayed": DaskBlock, "distributed.client": FutureBlock}
    return openers_of([held.get(_home(x), lambda x: x)(x) for x in shards])


def _home(x: Any) -> str:
    """Where delayed objects and futures come from; a delayed one has an attribute of any name."""
    known = "dask.delayed", "distributed.client"
    return next((module_of(c) for c in type(x).__mro__ if module_of(c) in known), "")


def _blocks(x: Any) -> list[Any] | None:
    """The delayed blocks of a collection along axis 0; None of what is none."""
    if hasattr(x, "__dask_graph__") and hasattr(x, "data") and not hasattr(x, "to_delayed"):
        x = x.data  # xarray
    if not hasattr(x, "to_delayed"):
        return None
    found = x.to_delayed()
    if hasattr(found, "ravel"):
        if any(len(c) != 1 for c in x.chunks[1:]):
            raise ValueError(
                f"{user_line()}: sum_over: a Dask array has the chunks {x.chunks}; shards are "
                "chunks of rows, so rechunk it: x.rechunk({1: -1})"
            )
        found = found.ravel().tolist()
    return list(found)


def _zipped(who: str, tree: Any, blocks: list[list[Any]]) -> list[Opener]:
    counts = {len(b) for b in blocks}
    if len(counts) != 1:
        raise ValueError(
            f"{user_line()}: {who}: the collections have {sorted(counts)} chunks of rows; rechunk "
            "them alike"
        )
    spec = flatten(tree)[1]
    return [
        Opener("call", DaskBlock(unflatten(spec, list(parts))), f"block {k}")
        for k, parts in enumerate(zip(*blocks, strict=True))
    ]


class DaskBlock:
    """A block, or a tree of blocks, computed on the worker that needs it."""

    def __init__(self, tree: Any) -> None:
        dask: Any = loading.imported("dask")
        # Each with what it needs, and not with the whole graph.
        self.tree = map_leaves(lambda x: dask.optimize(x)[0], tree)

    def __call__(self) -> Any:
        leaves, spec = flatten(self.tree)
        dask: Any = loading.imported("dask")
        found = dask.compute(*leaves, scheduler="synchronous")
        return unflatten(spec, [_as_arrays(x) for x in found])


class FutureBlock:
    """What a Dask cluster has computed, or will have."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def __call__(self) -> Any:
        raise TypeError(
            "a future of Dask is opened by the cluster that has it: sum_over(..., client=client)"
        )

    def __reduce__(self) -> Any:
        return FutureBlock, (None,)


class HeldBlock:
    """A block that the cluster holds, which hands it to each task."""

    def __init__(self, structure: bytes) -> None:
        self.structure = structure

    def together(self, leaves: Any) -> Any:
        """The shard, of what the cluster gave."""
        return unflatten(spec_of(self.structure), [_as_arrays(x) for x in leaves])


def _as_arrays(x: Any) -> Any:
    if hasattr(x, "columns") and hasattr(x, "to_numpy"):
        return {name: column_of_frame(name, x[name]) for name in x.columns}
    return map_leaves(lambda a: np.asarray(a, order="C"), x)


__all__ = ["DaskBlock", "FutureBlock", "HeldBlock", "openers"]
