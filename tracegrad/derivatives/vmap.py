"""vmap: a function of single items as a function of batches, by the operations' batching rules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from .. import ops
from ..checks import describe
from ..compiled.effects import write_back
from ..compiled.jitted import Jitted
from ..compiled.overlaps import check_overlap
from ..compiled.travelling import of_plain
from ..errors import ShapeError, TracegradError
from ..faces.certainty import see_in_order
from ..ir.dispatch import STATE
from ..ir.evaluate import evaluate_batched
from ..ir.trace import user_line
from ..labels import with_values
from ..sizes import same
from ..staging.session import staged
from ..tape.hooks import boxed
from ..tensor import Boxed, Tensor
from ..transforms.derive import with_axis
from ..transforms.tracing import (
    check_leaf,
    device_of,
    face_of,
    leaf_type,
    plain,
    standing_of,
    trace_function,
)
from ..transforms.weak import explicit
from ..tree import flatten, optree, unflatten
from ..types import ArrayType


@overload
def vmap(
    function: Jitted[..., Any], in_axes: Any = ..., out_axes: Any = ..., *, randomness: str = ...
) -> Jitted[..., Any]: ...


@overload
def vmap(
    function: Callable[..., Any],
    in_axes: Any = ...,
    out_axes: Any = ...,
    *,
    randomness: str = ...,
) -> Callable[..., Any]: ...


def vmap(
    function: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """`function` over an added axis of its arguments: the results of calling it on each slice,
    stacked along `out_axes`.

    in_axes     per positional argument the axis that is mapped (None: the argument is passed
                whole), or one for all; may be a tree prefix. Keyword arguments are mapped along
                their first axis
    out_axes    where the results get the axis, likewise
    randomness  whether the function may draw random numbers: "error" (a TracegradError), or "same"
                ones for all items. Of different ones draw all before, and map over them, or take
                `tg.func.vmap`

    The function is traced once for a single item. What it writes into its arguments is written into
    the given ones, as calls on the slices would; what is written into one that is not mapped has to
    be the same for all items (TracegradError). Nests with itself, jit and all derivatives.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    if randomness not in ("error", "same"):
        raise ValueError(
            f'vmap: randomness is {describe(randomness)}; it must be "error" or "same"'
        )
    return mapping(function, in_axes, out_axes, randomness, keywords=True)


def mapping(
    function: Callable[..., Any], in_axes: Any, out_axes: Any, randomness: str, keywords: bool
) -> Callable[..., Any]:
    """`vmap`; `keywords` says whether keyword arguments are mapped along their first axis, or
    passed whole, whatever they are."""
    again = functools.partial(
        mapping, in_axes=in_axes, out_axes=out_axes, randomness=randomness, keywords=keywords
    )
    if isinstance(function, Jitted):
        key = ("vmap", repr(in_axes), repr(out_axes), randomness, keywords)
        return function.derive(key, again, again)
    if not callable(function):
        raise TypeError(f"vmap: expected a function, got {describe(function)}")

    def mapped(*args: Any, **given: Any) -> Any:
        args, given = with_values(args, given) or (args, given)
        whole, kwargs = ({}, given) if keywords else (given, {})
        leaves, spec = flatten((args, kwargs))
        axes = argument_axes(in_axes, args, kwargs)
        types, size = [], None
        for x, axis in zip(leaves, axes, strict=True):
            check_leaf(x, "vmap: an argument is")
            kind = leaf_type(x)
            if axis is None:
                types.append(kind)
                continue
            if not -kind.ndim <= axis < kind.ndim:
                raise ShapeError(
                    f"vmap: in_axes names axis {axis} of an argument of shape {kind.shape}; "
                    "use None for arguments that are not mapped"
                )
            k = axis % kind.ndim
            if size is None:
                size = kind.shape[k]
            elif not same(size, kind.shape[k]):
                raise ShapeError(
                    f"vmap: the mapped axes differ in size: {size} and {kind.shape[k]} (argument "
                    f"of shape {kind.shape}, axis {axis})"
                )
            types.append(ArrayType(kind.dtype, (*kind.shape[:k], *kind.shape[k + 1 :])))
        if size is None:
            raise ValueError("vmap: no argument is mapped; give in_axes an axis for at least one")
        places = [
            None if a is None else a % leaf_type(x).ndim for x, a in zip(leaves, axes, strict=True)
        ]
        sizes = STATE.traces[-1].sizes if STATE.traces else None
        standing = [standing_of(x)._replace(grad=False) for x in leaves]
        traced = staged(
            lambda f: trace_function(
                (lambda *a: f(*a, **whole)) if whole else f,
                spec,
                types,
                [face_of(x) for x in leaves],
                sizes=sizes,
                standing=standing,
                device=device_of(leaves),
            ),
            function,
        )
        see_in_order(_name(function), traced.rests, leaves, places)
        if traced.generators and randomness == "error":
            raise TracegradError(
                f"{user_line()}: vmap: {_name(function)} draws random numbers, and would get the "
                "same ones for all items. Draw them for all before, and map over them; or say "
                'randomness="same", or tg.func.vmap(f, randomness="different").'
            )
        for k in traced.writes:
            name = traced.graph.inputs[k].name or f"number {k}"
            check_overlap([*leaves, *traced.captures], k, name, "vmap")
        places += [None] * len(traced.captures)
        outs, out_places = evaluate_batched(
            explicit(traced.graph), [*leaves, *traced.captures], places, size
        )
        count = len(traced.out_boxed)
        for generator, counter in zip(
            traced.generators, outs[count + len(traced.writes) :], strict=True
        ):
            generator.store(counter)
        wanted = prefix_axes(out_axes, unflatten(traced.out_spec, [0] * count))
        results = [
            with_axis(o, p, size, w)
            for o, p, w in zip(outs[:count], out_places, wanted, strict=False)
        ]
        faces = [
            boxed(Tensor, plain(r)) if t else plain(r)
            for r, t in zip(results, traced.out_boxed, strict=True)
        ]
        written = [leaves[k] for k in traced.writes]
        own = [ops.positive(r) if _of_others(r, written) else r for r in faces]
        for k, new, place in zip(traced.writes, outs[count:], out_places[count:], strict=False):
            if places[k] is None and place is not None:
                raise TracegradError(
                    f"{user_line()}: vmap: {_name(function)} writes into an argument that is not "
                    "mapped, each item something else. Map the argument (in_axes), or return the "
                    "new value."
                )
            full = new if places[k] is None else with_axis(new, place, size, places[k])
            write_back(leaves[k], plain(full))
        return unflatten(traced.out_spec, own)

    mapped.__name__ = f"vmap_{_name(function)}"
    return of_plain(mapped, function, again)


def _name(function: Callable[..., Any]) -> str:
    name: str = getattr(function, "__name__", "function")
    return name


def _of_others(result: Any, written: list[Any]) -> bool:
    """Whether an array is no memory that the caller may keep and write to."""
    data, *others = (x._data if isinstance(x, Boxed) else x for x in (result, *written))
    if not isinstance(data, np.ndarray):
        return False
    return (data is result and not data.flags.writeable) or any(
        isinstance(x, np.ndarray) and np.may_share_memory(x, data) for x in others
    )


def argument_axes(in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
    """One entry per leaf of (args, kwargs); keyword arguments are mapped along their first axis."""
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes has {len(in_axes)} entries for {len(args)} positional arguments"
            )
        found = [a for axis, arg in zip(in_axes, args, strict=True) for a in prefix_axes(axis, arg)]
    else:
        found = [a for arg in args for a in prefix_axes(in_axes, arg)]
    return found + [0] * len(flatten(kwargs)[0])


_WHOLE: Any = object()
"""In a tree of axes: the argument is passed whole."""


def prefix_axes(prefix: Any, tree: Any) -> list[int | None]:
    """A tree prefix of axes as one axis per leaf of `tree`."""
    if prefix is None or (isinstance(prefix, int) and not isinstance(prefix, bool)):
        return [prefix] * len(flatten(tree)[0])
    spec = flatten(tree)[1]
    if not all(
        x is None or isinstance(x, int)
        for x in optree.tree_leaves(prefix, is_leaf=lambda x: x is None, namespace="tracegrad")
    ):
        raise TypeError(
            "vmap: in_axes and out_axes are integers, None, or trees of them, "
            f"not {describe(prefix)}"
        )
    if any(
        isinstance(x, bool)
        for x in optree.tree_leaves(prefix, is_leaf=lambda x: x is None, namespace="tracegrad")
    ):
        raise TypeError(
            "vmap: in_axes and out_axes are integers, None, or trees of them, not True or False"
        )
    try:
        # An axis of None is no leaf to optree, and a None in the tree is not to be one.
        whole = optree.tree_broadcast_prefix(
            optree.tree_map(
                lambda x: _WHOLE if x is None else x,
                prefix,
                is_leaf=lambda x: x is None,
                namespace="tracegrad",
            ),
            unflatten(spec, [0] * spec.num_leaves),
            namespace="tracegrad",
        )
    except ValueError as error:
        raise ValueError(
            f"vmap: in_axes or out_axes ({prefix!r:.60}) is no prefix of the tree "
            f"that it is for: {error}"
        ) from None
    leaves = optree.tree_leaves(whole, namespace="tracegrad")
    return [None if axis is _WHOLE else axis for axis in leaves]
