"""What the functions of `nn.functional` share: reductions of losses, names of nodes, and looks at
values that are there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...checks import REFUSED, explained_here
from ...faces.tensor.casts import titled
from ...ir.dispatch import Value
from ...sizes import same_shape
from ...types import show

REDUCTIONS = ("none", "mean", "sum")


def known(x: Any) -> np.ndarray[Any, Any] | None:
    """The elements of an array that is there now; None for a traced one."""
    data = x._data if isinstance(x, Value) else x
    return data if isinstance(data, np.ndarray) else None


def as_integers(name: str, x: Any) -> Any:
    """`x` where it holds integers, else an error."""
    if not hasattr(x, "dtype"):
        x = np.asarray(x)
    if x.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name}: expected integers as indices, got {x.dtype}. Convert them with .long()."
        )
    return x


def reduction_of(
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
    allowed: tuple[str, ...] = REDUCTIONS,
) -> str:
    """The reduction that is meant, where the two older arguments may be given in its place."""
    if size_average is not None or reduce is not None:
        chosen = (
            ("mean" if size_average in (None, True) else "sum")
            if reduce in (None, True)
            else "none"
        )
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction={chosen!r} instead.",
            stacklevel=3,
        )
        return chosen
    if reduction not in allowed:
        raise ValueError(
            f"{reduction!r} is not a valid value for reduction; "
            f"it is one of {', '.join(map(repr, allowed))}"
        )
    return reduction


def reduced(losses: Any, reduction: str) -> Any:
    """Losses by element: as they are, their mean or their sum."""
    if reduction == "none":
        return losses
    if reduction == "mean":
        return ops.mean(losses)
    return ops.sum(losses)


def alike(name: str, input: Any, target: Any) -> None:
    """A warning, as torch's, where two operands broadcast that were probably meant to have one
    shape."""
    a = np.shape(input) if known(input) is None and not isinstance(input, Value) else input.shape
    b = target.shape
    if not same_shape(a, b):
        warnings.warn(
            f"{name}: the target's size {show(b)} differs from the input's size {show(a)}. "
            "They are broadcast, which is probably not meant; give them the same size.",
            UserWarning,
            stacklevel=3,
        )


def in_place(function: Callable[[Any], Any], input: Any, inplace: bool) -> Any:
    """`function(input)`, written into the input where this is asked for."""
    try:
        if not inplace:
            return function(input)
        if not isinstance(input, Value):
            raise TypeError("inplace=True needs a Tensor; leave it out for other arrays")
        return input._update(function)
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


__all__ = [
    "REDUCTIONS",
    "alike",
    "as_integers",
    "in_place",
    "known",
    "reduced",
    "reduction_of",
    "titled",
]
