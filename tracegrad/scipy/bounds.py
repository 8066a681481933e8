"""Bounds of unknowns, given as SciPy takes them or in the structure of the unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from ..errors import ShapeError
from ..ir.trace import user_line
from .unknowns import Unknowns


def limits(given: Any, unknowns: Unknowns, who: str) -> Any:
    """One side of the bounds as a vector: a number for all, a vector, or a tree as the unknowns
    are, of which each part is a number or an array."""
    if isinstance(given, np.ndarray) and given.shape == (unknowns.size,):
        return np.asarray(given, np.float64)
    if np.isscalar(given) or (isinstance(given, np.ndarray) and given.ndim == 0):
        return np.full(unknowns.size, given, np.float64)
    parts = _parts(given, unknowns, who)
    return np.concatenate(
        [_spread(p, kind, who) for p, kind in zip(parts, unknowns.layout.kinds, strict=True)]
    )


def pairs(given: Any, unknowns: Unknowns) -> Any:
    """`scipy.optimize.Bounds` of what `minimize` was given: Bounds, SciPy's sequence of pairs where
    the unknowns are one array, otherwise their structure with a pair (or None) for each array."""
    who = "minimize: bounds"
    if given is None:
        return None
    if isinstance(given, scipy.optimize.Bounds):
        lower, upper = (limits(np.asarray(b)[()], unknowns, who) for b in (given.lb, given.ub))
        return scipy.optimize.Bounds(lower, upper, given.keep_feasible)
    if unknowns.is_vector:
        found = list(given)
        if unknowns.layout.kinds[0].shape == () and len(found) == 2 and not np.shape(found[0]):
            found = [found]  # the pair of the one number
        if len(found) != unknowns.size:
            raise ShapeError(
                f"{user_line()}: {who} holds {len(found)} pairs for {unknowns.size} unknowns"
            )
        sides = [[_side(p, k) for p in found] for k in (0, 1)]
        return scipy.optimize.Bounds(*map(np.array, sides))
    parts = _parts(given, unknowns, who)
    kinds = unknowns.layout.kinds
    return scipy.optimize.Bounds(
        *(
            np.concatenate(
                [_spread(_side(p, k), kind, who) for p, kind in zip(parts, kinds, strict=True)]
            )
            for k in (0, 1)
        )
    )


def _parts(given: Any, unknowns: Unknowns, who: str) -> list[Any]:
    """What stands in `given` where the unknowns have their arrays."""
    try:
        return list(unknowns.layout.spec.flatten_up_to(given))
    except ValueError as error:
        raise ValueError(
            f"{user_line()}: {who} must have the structure of the unknowns, "
            f"{unknowns.layout.spec}: {error}"
        ) from None


def _side(pair: Any, k: int) -> Any:
    """The lower or the upper bound of a pair, either of which may be None."""
    if pair is None or pair[k] is None:
        return (-np.inf, np.inf)[k]
    return pair[k]


def _spread(bound: Any, kind: Any, who: str) -> Any:
    if kind.dtype.kind == "c":
        raise ValueError(f"{user_line()}: {who}: complex unknowns have no order")
    try:
        return np.broadcast_to(np.asarray(bound, np.float64), kind.shape).ravel()
    except ValueError:
        raise ShapeError(
            f"{user_line()}: {who} has the shape {np.shape(bound)} for unknowns of shape "
            f"{kind.shape}"
        ) from None


__all__ = ["limits", "pairs"]
