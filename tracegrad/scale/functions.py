"""What workers compute for one shard: the user's function, and what is derived of it.

All have one form, `f(shared, own, shard) -> (summed, gathered)`: `shared` are arrays that every
shard gets, `own` those that belong to this one; of the results the summed ones are added up over
the shards, the gathered ones laid behind each other along axis 0. The form is closed: the cotangent
of what is shared is summed, that of what is summed is shared, and so with own and gathered. Hence a
derivative of any order is a form again, described by a few words that travel (`Form`) and are made
a compiled function by whoever computes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..bridges.standing import run
from ..derivatives.forward import jvp
from ..derivatives.reverse import vjp
from ..derivatives.vmap import vmap
from ..errors import ShapeError
from ..ops import expand_dims
from ..tree import flatten, unflatten

Function = Callable[..., Any]


@dataclass(frozen=True)
class PerShard:
    """The user's function itself. `structure` is that of its arguments but the shard; `gather` is
    "" where results are summed, "stack" or "concatenate" where they are laid behind each other.

    (Forms are no tuples, so that those of two kinds are never equal.)
    """

    structure: bytes
    kinds: tuple[str, ...]
    gather: str = ""


@dataclass(frozen=True)
class PulledForm:
    """Cotangents of the operands `wanted` of a form with `shared` and `own` operands; those of its
    results `given` are further operands."""

    form: Form
    shared: int
    own: int
    wanted: tuple[int, ...]
    given: tuple[int, ...]


@dataclass(frozen=True)
class SweptForm:
    """Of a form whose one result is a real number: that, and its gradient."""

    form: Form
    shared: int
    own: int
    wanted: tuple[int, ...]


@dataclass(frozen=True)
class PushedForm:
    """Tangents of the results `kept`, of which `summed` are; those of the operands `moved` are
    further operands."""

    form: Form
    shared: int
    own: int
    summed: int
    moved: tuple[int, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True)
class BatchedForm:
    """A form over one more axis, which its operands have at `axes`."""

    form: Form
    shared: int
    own: int
    axes: tuple[int | None, ...]


Form: TypeAlias = PerShard | PulledForm | SweptForm | PushedForm | BatchedForm


def kinds_of(form: Form) -> tuple[str, ...]:
    """How the user gave the operands of the function."""
    while not isinstance(form, PerShard):
        form = form.form
    return form.kinds


def structure_of(spec: Any) -> bytes:
    """The structure of a tree, to be sent."""
    return pickle.dumps(unflatten(spec, range(spec.num_leaves)))


def spec_of(structure: bytes) -> Any:
    """What `flatten` gives for such a tree."""
    return flatten(pickle.loads(structure))[1]


def made(form: Form, function: Function) -> Function:
    """The form as a function to be traced, of the user's `function`."""
    if isinstance(form, PerShard):
        return _value(form, function)
    inner = made(form.form, function)
    n = form.shared

    def outs(operands: Sequence[Any], shard: Any) -> list[Any]:
        return list(flatten(inner(tuple(operands[:n]), tuple(operands[n:]), shard))[0])

    if isinstance(form, BatchedForm):
        return _mapped(form, inner)
    if isinstance(form, PulledForm):
        return _pulled(form, outs)
    return _swept(form, outs) if isinstance(form, SweptForm) else _pushed(form, outs)


def _value(form: PerShard, function: Function) -> Function:
    spec = spec_of(form.structure)

    def value(shared: Any, own: Any, shard: Any) -> Any:
        found = run(function, *unflatten(spec, list(shared)), shard)
        if not form.gather:
            return found, ()
        leaves, out_spec = flatten(found)
        if form.gather == "stack":
            leaves = [expand_dims(x, 0) for x in leaves]
        elif any(not np.ndim(x) for x in leaves):
            raise ShapeError(
                "reduce='concatenate' lays the results behind each other along axis 0, but the "
                "function of a shard returned a number; return arrays, or take reduce='stack'"
            )
        return (), unflatten(out_spec, leaves)

    return value


def _replaced(operands: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    full = list(operands)
    for k, x in zip(places, values, strict=True):
        full[k] = x
    return full


def _split(form: Any, shared: Any, own: Any) -> tuple[list[Any], list[Any]]:
    """The operands of the inner form, and what stands behind them."""
    n, m = form.shared, form.own
    return [*shared[:n], *own[:m]], [*shared[n:], *own[m:]]


def _pulled(form: PulledForm, outs: Function) -> Function:
    def pulled(shared: Any, own: Any, shard: Any) -> Any:
        operands, cotangents = _split(form, shared, own)

        def chosen(*xs: Any) -> Any:
            found = outs(_replaced(operands, form.wanted, xs), shard)
            return tuple(found[k] for k in form.given)

        found = vjp(chosen, *[operands[k] for k in form.wanted])[1](tuple(cotangents))
        return _sorted(form, found)

    return pulled


def _sorted(
    form: PulledForm | SweptForm, found: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Cotangents of what is shared, which are summed, and of what is a shard's own."""
    pairs = list(zip(form.wanted, found, strict=True))
    first = tuple(g for k, g in pairs if k < form.shared)
    return first, tuple(g for k, g in pairs if k >= form.shared)


def _swept(form: SweptForm, outs: Function) -> Function:
    def swept(shared: Any, own: Any, shard: Any) -> Any:
        operands = [*shared, *own]

        def value(*xs: Any) -> Any:
            return outs(_replaced(operands, form.wanted, xs), shard)[0]

        total, pull = vjp(value, *[operands[k] for k in form.wanted])
        summed, gathered = _sorted(form, pull(getattr(total, "dtype", np.dtype(float)).type(1)))
        return (total, *summed), gathered

    return swept


def _pushed(form: PushedForm, outs: Function) -> Function:
    def pushed(shared: Any, own: Any, shard: Any) -> Any:
        operands, tangents = _split(form, shared, own)

        def moved(*xs: Any) -> Any:
            found = outs(_replaced(operands, form.moved, xs), shard)
            return tuple(found[k] for k in form.kept)

        found = jvp(moved, [operands[k] for k in form.moved], list(tangents))[1]
        return tuple(found[: form.summed]), tuple(found[form.summed :])

    return pushed


def _mapped(form: BatchedForm, inner: Function) -> Function:
    n = form.shared

    def mapped(shared: Any, own: Any, shard: Any) -> Any:
        def item(*xs: Any) -> Any:
            return inner(tuple(xs[:n]), tuple(xs[n:]), shard)

        # A gathered result has its rows in front.
        return vmap(item, in_axes=form.axes, out_axes=(0, 1))(*shared, *own)

    return mapped


__all__ = [
    "BatchedForm",
    "Form",
    "PerShard",
    "PulledForm",
    "PushedForm",
    "SweptForm",
    "kinds_of",
    "made",
    "spec_of",
    "structure_of",
]
