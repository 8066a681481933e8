"""What a user's derivative rule returned, checked against the values it belongs to: errors name the
function and the line of the rule."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import describe
from ..errors import DTypeError
from ..ops import convert, real
from ..tensor import Boxed
from ..tree import flatten


def place(name: str, rule: Callable[..., Any] | None) -> str:
    """The function, and where its rule is written."""
    code = getattr(rule, "__code__", None)
    if code is None:
        return name
    return f"{name} (rule in {os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def fit(g: Any, x: Any, who: str, cotangent: bool = False) -> Any:
    """A derivative that a rule returned, as one of the value x. The cotangent of a real value is
    the real part of what a rule gives; a tangent has none to lose."""
    shape, dtype = getattr(x, "shape", ()), getattr(x, "dtype", np.dtype(np.float64))
    given = g if isinstance(g, Boxed) else np.asarray(g)
    if given.dtype.kind not in "biufc":
        raise TypeError(f"{who}: the rule returned {describe(g)} as a derivative")
    if given.shape != shape:
        raise ValueError(
            f"{who}: the rule returned a derivative of shape {given.shape} "
            f"for a value of shape {shape}"
        )
    if given.dtype.kind == "c" and dtype.kind != "c":
        if cotangent:
            return convert(real(given), dtype)
        raise DTypeError(
            f"{who}: the rule returned a derivative of {given.dtype} for a value of {dtype}; "
            "return its real part, if that is what is meant"
        )
    return convert(given, dtype)


def cotangents_in(found: Any, spec: Any, who: str) -> list[Any]:
    """What a backward rule returned, flat: a cotangent, or None, for each leaf of the arguments
    laid out so."""
    if not isinstance(found, (tuple, list)):
        raise TypeError(
            f"{who}: the backward rule must return a tuple with one cotangent per argument, "
            f"it returned {describe(found)}"
        )
    children = spec.children() if spec.num_leaves else []
    if len(found) != len(children):
        raise TypeError(
            f"{who}: the backward rule returned {len(found)} cotangents for "
            f"{len(children)} arguments"
        )
    flat: list[Any] = []
    for k, (part, child) in enumerate(zip(found, children, strict=True)):
        if part is None:
            flat.extend([None] * child.num_leaves)
            continue
        flat.extend(_leaves(part, child, f"{who}: the cotangent of argument {k}"))
    return flat


def tangents_in(found: Any, spec: Any, who: str) -> list[Any]:
    """The tangents in the pair that a forward rule returned, flat: one, or None, for each leaf of
    the result laid out so."""
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(
            f"{who}: the rule must return a pair (result, tangent of the result), "
            f"it returned {describe(found)}"
        )
    return _leaves(found[1], spec, f"{who}: the tangent")


def _leaves(tree: Any, spec: Any, what: str) -> list[Any]:
    """The leaves of a tree like that of the values; None stands for those of no derivative."""
    if spec.type in (list, tuple) and type(tree) in (list, tuple):
        tree = spec.type(tree)
    try:
        leaves: list[Any] = spec.flatten_up_to(tree)
    except ValueError:
        leaves = [tree]
    if len(leaves) != spec.num_leaves or not all(x is None or _is_leaf(x) for x in leaves):
        raise TypeError(
            f"{what} must be a tree like the value it belongs to, {spec}; the rule returned "
            f"{describe(tree)}, {flatten(tree)[1]}"
        )
    return leaves


def _is_leaf(x: Any) -> bool:
    leaves = flatten(x)[0]
    return len(leaves) == 1 and leaves[0] is x


__all__ = ["cotangents_in", "fit", "place", "tangents_in"]
