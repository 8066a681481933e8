"""Compiled functions of arrays and what is derived of them, as other libraries' autograd calls
them: every derivative is again such a function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import integers
from ..compiled.entry import Entry
from ..derivatives.forward import jvp
from ..derivatives.reverse import vjp
from ..derivatives.vmap import vmap
from ..ops import conj
from ..tree import flatten, unflatten
from ..types import ArrayType
from .standing import compiled, plain, run

Function = Callable[..., Any]


class FlatFunction:
    """A compiled function of arrays that returns a tree of arrays, and its derivatives, which are
    such functions again."""

    def __init__(self, function: Function, f: Function, name: str = "") -> None:
        """`function` stands for the user's `f`: what f reads around it is watched."""
        self.function = function
        self.compiled = compiled(function, f, name, False)
        self._derived: dict[Any, FlatFunction] = {}
        self.gradient_of: FlatFunction | None = None
        """The function whose value and gradients this is."""
        self._entries: list[Entry] = []
        self._results: dict[Any, tuple[Any, Any]] = {}
        self.targets: dict[Any, str | None] = {}
        """By dtypes and shapes: the name by which a compiler knows the C function, where there is
        one."""

    def outs(self, *leaves: Any) -> tuple[Any, ...]:
        return tuple(flatten(self.function(*leaves))[0])

    def derived(self, key: Any, make: Callable[[], Function]) -> FlatFunction:
        if key not in self._derived:
            self._derived[key] = FlatFunction(make(), self.function, f"_{key[0]}")
        return self._derived[key]

    def results(self, leaves: Sequence[Any]) -> tuple[tuple[ArrayType, ...], Any]:
        """The types of the results for such arguments, and their structure, without a call."""
        key = tuple((getattr(x, "shape", ()), getattr(x, "dtype", type(x))) for x in leaves)
        if key not in self._results:
            entry = self.compiled._entry(tuple(leaves), {}).entry
            spec, inputs = entry.traced.out_spec, entry.graph.inputs
            sizes = {
                str(symbol): size
                for v, x in zip(inputs[: len(leaves)], leaves, strict=True)
                for symbol, size in zip(v.type.shape, getattr(x, "shape", ()), strict=True)
            }
            types = tuple(
                ArrayType(v.type.dtype, tuple(integers.evaluate(s, sizes) for s in v.type.shape))
                for v in entry.graph.outputs[: spec.num_leaves]
            )
            self._results[key] = types, spec
            self._entries.append(entry)
        return self._results[key]

    def is_outdated(self) -> bool:
        """Whether something that the function read around it, when its results were asked for, is
        not what it was, so that it may be another function."""
        for entry in self._entries:
            captured = entry.captured()
            if not entry.holds() or captured is None or entry.outdated(captured):
                return True
        return False

    def gives_one_real_number(self, leaves: Sequence[Any]) -> bool:
        """Whether value and gradient are one function."""
        return [(t.shape, t.dtype.kind) for t in self.results(leaves)[0]] == [((), "f")]

    def pullback(self, wanted: tuple[int, ...], seeded: tuple[int, ...]) -> FlatFunction:
        """From the arguments and cotangents of the results `seeded` to gradients of the arguments
        `wanted`."""

        def gradients(*values: Any) -> Any:
            cotangents = list(values[len(values) - len(seeded) :])
            leaves = list(values[: len(values) - len(seeded)])
            return tuple(_swept(self.outs, leaves, wanted, seeded, cotangents)[1])

        return self.derived(("pullback", wanted, seeded), lambda: gradients)

    def with_gradient(self, wanted: tuple[int, ...]) -> FlatFunction:
        """The one result, in its tree, and the gradients of the arguments `wanted`."""

        def both(*leaves: Any) -> Any:
            return _swept(self.function, list(leaves), wanted, (0,), None)

        found = self.derived(("gradient", wanted), lambda: both)
        found.gradient_of = self
        return found

    def push(self, moved: tuple[int, ...], kept: tuple[int, ...]) -> FlatFunction:
        """From the arguments and tangents of those `moved` to tangents of the results `kept`."""

        def tangents(*values: Any) -> Any:
            leaves = list(values[: len(values) - len(moved)])
            directions = values[len(values) - len(moved) :]

            def of_moved(*xs: Any) -> Any:
                outs = self.outs(*replaced(leaves, moved, xs))
                return tuple(outs[k] for k in kept)

            return tuple(jvp(of_moved, [leaves[k] for k in moved], list(directions))[1])

        return self.derived(("push", moved, kept), lambda: tangents)

    def transposed(
        self, places: tuple[int, ...], zeros: tuple[ArrayType, ...], count: int
    ) -> FlatFunction:
        """Of a function that is linear in the arguments at `places`, which have these types: from
        the other arguments and cotangents of the `count` results to cotangents of those. (Linear
        over the complex numbers, as JAX has it: nothing is conjugated.)"""

        def cotangents(*values: Any) -> Any:
            rest, given = values[: len(values) - count], values[len(values) - count :]
            others = iter(rest)
            total = len(rest) + len(places)
            at: dict[int, Any] = dict(zip(places, zeros, strict=True))
            leaves = [
                np.zeros(at[k].shape, at[k].dtype) if k in at else next(others)
                for k in range(total)
            ]
            seeds = [conj(c) for c in given]
            found = _swept(self.outs, leaves, places, range(len(seeds)), seeds)[1]
            return tuple(conj(c) for c in found)

        return self.derived(("transposed", places, zeros, count), lambda: cotangents)

    def batched(self, axes: tuple[int | None, ...]) -> FlatFunction:
        return self.derived(("batched", axes), lambda: vmap(self.function, in_axes=axes))


def replaced(leaves: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    full = list(leaves)
    for place, value in zip(places, values, strict=True):
        full[place] = value
    return full


def _swept(
    function: Function, leaves: list[Any], wanted: Any, seeded: Any, cotangents: Any
) -> tuple[Any, Any]:
    """The result, and the gradients of the arguments `wanted` for these cotangents (of 1)."""

    def of_wanted(*xs: Any) -> Any:
        result = function(*replaced(leaves, wanted, xs))
        outs = flatten(result)[0]
        return tuple(outs[k] for k in seeded), result

    values, pull, result = vjp(of_wanted, *[leaves[k] for k in wanted], has_aux=True)
    return result, pull(tuple(cotangents or [values[0].dtype.type(1)]))


def by_structure(f: Function) -> Any:
    """From the structure of arguments (args, kwargs) to `f` as a function of their leaves; `order`
    is how the keys of their dicts follow each other (`tree.orders`)."""

    f = plain(f)

    @functools.cache
    def made(spec: Any, order: tuple[Any, ...] = ()) -> FlatFunction:
        def of_leaves(*leaves: Any) -> Any:
            args, kwargs = unflatten(spec, leaves)
            return run(f, *args, **kwargs)

        return FlatFunction(of_leaves, f)

    return made


__all__ = ["FlatFunction", "Function", "by_structure", "replaced"]
