"""Shorthands for operations that are linear in their first input, and small helpers that rules
share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import array, describe, explained_here
from ..ir.dispatch import Value, bind
from ..ir.op import Op, Rule, Types, op
from ..sizes import meeting, same_shape


def linear(
    name: str,
    *,
    evaluate: Callable[..., Any],
    infer: Callable[..., Types],
    adjoint: Rule,
    batch: Rule,
    inputs: Sequence[str] = ("x",),
    **more: Any,
) -> Op:
    """An operation linear in its first input; further inputs (indices) have no derivative. Its JVP
    is itself.

    `adjoint` is the VJP rule of the first input; naming the keyword `like` gives it that input's
    type. `more`: what else `op` takes.
    """

    def jvp(
        tangents: Sequence[Any], values: Sequence[Any], outs: Sequence[Any], **params: Any
    ) -> list[Any]:
        return [bind(this, [tangents[0], *values[1:]], params)]

    this = op(
        name,
        inputs,
        evaluate=evaluate,
        infer=infer,
        vjp=[adjoint, *[None] * (len(inputs) - 1)],
        jvp=jvp,
        batch=batch,
        **more,
    )
    return this


def shape_of(x: Any) -> Any:
    """The shape of an array, boxed value or scalar: like np.shape, without its dispatch."""
    return getattr(x, "shape", ())


def broadcasting(of: Callable[[], Op], composed: Callable[..., Any] | None) -> Callable[..., Any]:
    """What an operation is composed of (`Op.composed`) that broadcasts: of lengths that only a run
    knows, itself on operands that were brought to one shape."""

    def instead(*operands: Any, **given: Any) -> Any:
        meet = meeting()
        met = None if meet is None else meet.broadcast(operands)
        if met is not None:
            return bind(of(), met, given)
        return NotImplemented if composed is None else composed(*operands, **given)

    return instead


def of_shape(x: Any, shape: Sequence[Any], text: str) -> Any | None:
    """`x`, if it has this shape, else None. Where only a run knows that, it fails with a ShapeError
    of this text."""
    if same_shape(shape_of(x), shape):
        return x
    meet = meeting()
    return None if meet is None else meet.exactly(x, shape, text)


def as_array(x: Any) -> Any:
    """`x` itself where it has a dtype and a shape, else (numbers, lists) an ndarray."""
    return (
        x
        if isinstance(x, (Value, np.ndarray)) or (hasattr(x, "dtype") and hasattr(x, "shape"))
        else of_list(x)
        if isinstance(x, (list, tuple))
        else array(x)
    )


def of_list(x: Any) -> Any:
    """`x`, and a list or tuple, nested or not, as the array that `np.array` makes of it: for
    functions that look at the axes first, whose arrays are nearly always arrays."""
    if not isinstance(x, (list, tuple)):
        return x
    # NumPy's function finds the operation, which is defined above.
    return np.stack([as_array(item) for item in x]) if holds_boxed(x) else array(x)


def holds_boxed(x: Any) -> bool:
    """Whether a boxed value stands somewhere in nested lists and tuples."""
    return (
        any(holds_boxed(item) for item in x)
        if isinstance(x, (list, tuple))
        else isinstance(x, Value)
    )


def in_order(arrays: Any) -> list[Any]:
    """The arrays of a sequence; a TypeError for sets, dicts and generators, which NumPy refuses
    too."""
    if isinstance(arrays, (set, frozenset, Mapping, Iterator)):
        raise explained_here(
            TypeError(f"arrays are given as a list or a tuple, not as {describe(arrays)}")
        )
    return list(arrays)


def ndim_of(x: Any) -> int:
    """The number of axes of an array, boxed value or scalar."""
    return len(getattr(x, "shape", ()))
