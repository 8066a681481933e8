"""Calling a Python function with symbolic values, and getting its graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import SHORT, SUPPORTED
from ..errors import DTypeError
from ..ir.dispatch import STATE
from ..ir.graph import Graph, Var
from ..ir.trace import Trace
from ..ops.random import draws
from ..tensor import Array, Boxed, Tensor, unbox
from ..tree import flatten, unflatten
from ..types import ArrayType, Sizes
from .constants import fold_constants


@dataclass(frozen=True, eq=False)
class Traced:
    """What tracing a function gave: the graph (captures are its last inputs), and how to rebuild the result."""

    graph: Graph
    captures: list[Any]
    out_spec: Any
    out_boxed: tuple[bool, ...]
    """Which results are Tensors."""
    writes: tuple[int, ...] = ()
    """Which arguments the function wrote to; their new values are the last outputs, in this order."""
    generators: tuple[Any, ...] = ()
    """The random generators that were drawn from; their raised counters are outputs after the writes."""
    folded: bool = False
    """Whether constant arrays became formulas of the graph."""


def trace_function(
    function: Callable[..., Any],
    spec: Any,
    types: Sequence[ArrayType],
    faces: Sequence[type[Boxed]],
    names: Sequence[str] = (),
    name: str = "",
    sizes: Sizes | None = None,
    static: dict[str, Any] | None = None,
) -> Traced:
    """Trace `function(*args, **kwargs)` where `spec` is the structure of (args, kwargs) and `types` its leaves."""
    trace = Trace(name or getattr(function, "__name__", "function").replace("<lambda>", "lambda_"), sizes)
    with trace:
        variables = [trace.input(t, names[k] if names else "") for k, t in enumerate(types)]
        boxes = [face(v) for face, v in zip(faces, variables, strict=True)]
        args, kwargs = unflatten(spec, boxes)
        result = function(*args, **kwargs, **(static or {}))
        leaves, out_spec = flatten(result)
        for leaf in leaves:
            check_leaf(leaf, "the traced function returned")
        written = tuple(k for k, (b, v) in enumerate(zip(boxes, variables, strict=True)) if b._data is not v)
        for b in boxes:
            if b._base is not None:
                b._refresh()
        drawn = draws(trace)
        results = [*leaves, *[boxes[k] for k in written], *[counter for _, counter in drawn]]
        graph, captures = trace.finish([x if not isinstance(x, Boxed) else refreshed(x) for x in results])
    boxed = tuple(isinstance(x, Tensor) for x in leaves)
    # What only the trace itself held is now held by the captures alone.
    del boxes, args, kwargs, result, leaves, results
    trace.captures.clear()
    graph, kept = fold_constants(graph, captures)
    return Traced(graph, kept, out_spec, boxed, written, tuple(g for g, _ in drawn), len(kept) < len(captures))


def refreshed(x: Boxed) -> Boxed:
    """The box, brought up to date where it is a view of something written to."""
    if x._base is not None:
        x._refresh()
    return x


def check_leaf(x: Any, who: str) -> None:
    """A TypeError where `x` is nothing that a graph can hold."""
    if isinstance(x, (Boxed, bool, int, float, complex, np.generic)):
        dtype = getattr(x, "dtype", None)
    elif isinstance(x, np.ndarray):
        dtype = x.dtype
    elif hasattr(x, "__index__") and type(x).__name__ == "Integer":
        return
    else:
        raise TypeError(
            f"{who} a {type(x).__name__} ({x!r:.60}), which is neither an array nor a number. Pass arrays, numbers, and tuples, lists, dicts or "
            "dataclasses of them; name other arguments in static_argnames."
        )
    if dtype is not None and dtype not in SUPPORTED and dtype.name not in SHORT:
        raise DTypeError(f"{who} an array of dtype {dtype}; the supported dtypes are {', '.join(SHORT)}. Convert it with .astype first.")


def leaf_type(x: Any) -> ArrayType:
    """The type as which an argument is traced: Python scalars are weak, boxed values have their own."""
    if isinstance(x, Boxed):
        return refreshed(x).type
    if isinstance(x, (np.ndarray, np.generic)):
        return ArrayType(x.dtype.newbyteorder("="), x.shape)
    dtype = np.asarray(x).dtype
    if dtype.hasobject:
        raise OverflowError(f"the integer {x} fits none of the dtypes of arrays")
    return ArrayType(dtype, (), weak=True)


def face_of(x: Any) -> type[Boxed]:
    """Tensors stay Tensors; all else is traced with NumPy's face."""
    return Tensor if isinstance(x, Tensor) else Array


def plain(x: Any) -> Any:
    """A result as the caller wants it: an ndarray, a NumPy scalar for 0-d, or the box where it is traced, tracked or a Tensor."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Boxed):
        if isinstance(x._data, Var) or x.requires_grad or (x._tangents and any(k in STATE.levels for k in x._tangents)):
            return x
        x = unbox(x)
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
