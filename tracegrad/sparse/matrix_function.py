"""The function that gives the matrix: what is kept of each signature, and what a user asks of
it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import describe
from ..compiled.effects import waiting_where_needed
from ..compiled.entry import Entry
from ..compiled.jitted import Jitted
from ..derivatives.reverse import Inputs
from ..dtypes import is_differentiable
from ..errors import DTypeError, TracegradError
from ..ir.graph import Graph
from ..tensor import Boxed
from ..tree import flatten, unflatten
from .inside import blocks_inside, is_inside, matrix_inside, traced
from .methods import make_plan
from .patterns import Sparsity
from .plan import SparsePlan, Wish
from .rules import size
from .structure import SparseStructure, order_of

Function = Callable[..., Any]


class _Kept:
    """What is kept of one signature."""

    def __init__(self, entry: Any, plan: SparsePlan, wanted: list[int], given: Inputs) -> None:
        self.entry, self.plan, self.wanted = entry, plan, wanted
        self.tree = given.tree
        self.handed = False
        """Whether the user has the structure."""
        self.alone = not (entry.places or plan.fixed)
        """Whether no arrays but the arguments decide the values."""

    def inputs(self, leaves: list[Any]) -> list[Any] | None:
        """What the graph takes; None where it holds no more."""
        entry = self.entry
        if entry.facts and not entry.holds():
            return None
        inputs = leaves
        if entry.places:
            captured = entry.captured()
            if captured is None or (entry.contents and entry.outdated(captured)):
                return None
            inputs = [*leaves, *captured]
        for k, old in self.plan.fixed.items():
            if not np.array_equal(np.asarray(inputs[k]), old):
                return None
        return inputs


class SparseDerivative:
    """What `sparse_jacobian` and `sparse_hessian` return: call it for the matrix."""

    def __init__(
        self,
        function: Jitted[..., Any],
        argnums: int | tuple[int, ...],
        format: str,
        wish: Wish,
        who: str,
        like: Any = None,
    ) -> None:
        self.function, self.argnums, self.format, self.wish = function, argnums, format, wish
        self.who = who
        self._kept: dict[Any, _Kept] = {}
        self._quick: Callable[[tuple[Any, ...], Any], bool] | None = None
        """The values for arguments like those of the last call."""
        self._handed: SparseStructure | None = None
        """The structure that the user took last."""
        self.__name__ = f"{who}_{getattr(like or function, '__name__', 'function')}"
        self.__wrapped__ = like or function
        self.__doc__ = getattr(like or function, "__doc__", None)

    def __repr__(self) -> str:
        return f"<{self.who} of {getattr(self.__wrapped__, '__name__', self.__wrapped__)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The matrix at these arguments, a sparse array of SciPy's in the chosen format; inside of
        traced or differentiated functions one of `tg.sparse`, whose values are traced. Trees of
        results and arguments give trees of blocks, results outside."""
        if is_inside(flatten((args, kwargs))[0]):
            return self._inside(args, kwargs, True)
        kept, inputs = self._find(args, kwargs)
        if is_inside(inputs):
            return self._inside(args, kwargs, True)
        values = kept.plan.values(inputs)
        return self._blocks(kept, kept.plan.structure.matrix(values, self.format))

    def structure(self, *args: Any, **kwargs: Any) -> SparseStructure:
        """The `rows` and `columns` of the entries, in the order of `values`: those of all results
        and all arguments one behind the other, in C order."""
        kept, _ = self._find(args, kwargs)
        return self._hand(kept)

    def _hand(self, kept: _Kept) -> SparseStructure:
        kept.handed, self._handed = True, kept.plan.structure
        return kept.plan.structure

    def values(self, *args: Any, out: np.ndarray | None = None, **kwargs: Any) -> np.ndarray:
        """The values in the order of `structure`, into `out` where that is given.

        Raises TracegradError where the entries are no more those that `structure` gave for such
        arguments, or where it was taken for arguments with other entries alone, and ValueError
        where `out` is no vector for them.
        """
        if out is not None and not kwargs and self._quick is not None and self._quick(args, out):
            return out
        inside = is_inside(flatten((args, kwargs))[0])
        if not inside:
            kept, inputs = self._find(args, kwargs, asked=True)
            inside = is_inside(inputs)
        if inside:
            if out is not None:
                raise TracegradError(
                    f"{self.who}: values(out=) is for memory of your own; in a traced or "
                    "differentiated function values(x) gives a new vector"
                )
            traced_values: np.ndarray = self._inside(args, kwargs, False)
            return traced_values
        plan = kept.plan
        if out is None:
            return plan.values(inputs)
        if not isinstance(out, np.ndarray) or out.shape != (len(plan.structure),):
            raise ValueError(
                f"values: out is {describe(out)}; it must be a vector of "
                f"{len(plan.structure)} numbers, one for each entry"
            )
        if out.dtype != plan.dtype:
            raise DTypeError(f"values: out has dtype {out.dtype}, the derivative has {plan.dtype}")
        if any(np.may_share_memory(x, out) for x in inputs if isinstance(x, np.ndarray)):
            out[...] = self.values(*args, **kwargs)
            return out
        found = plan.values(inputs, out)
        if kept.alone and not kwargs:
            self._quick = plan.quick(args, out, kept.entry.holds)
        return found

    def pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Which entries there are, as `tg.sparsity` gives them."""
        kept, _ = self._find(args, kwargs)
        plan = kept.plan
        # Two for what was assumed.
        matrix = plan.structure.matrix(1 + plan.assumed.astype(np.int8), self.format)

        def shown(block: Any) -> Sparsity:
            made = Sparsity(block.astype(np.bool_))
            made.assumed = int(np.count_nonzero(block.data == 2))
            made.method, made.colours, made.dense_at = plan.method, plan.colours, plan.dense_at
            return made

        return self._blocks(kept, matrix, shown)

    def method(self, *args: Any, **kwargs: Any) -> str:
        """How values are computed: "direct", or by which colouring."""
        return self._find(args, kwargs)[0].plan.method

    def colours(self, *args: Any, **kwargs: Any) -> int:
        """How many products with vectors it takes; 0 for direct values."""
        return self._find(args, kwargs)[0].plan.colours

    def njit(self, *args: Any, **kwargs: Any) -> Any:
        """`values` for arguments of these dtypes and sizes as a Numba dispatcher, to be called in
        your own `@njit` code with the leaves of the arguments. What the function reads around it
        is copied now.

        Raises TracegradError where an argument decides by its values where entries are.
        """
        kept, inputs = self._find(args, kwargs)
        return kept.plan.njit(inputs, self._undecided(kept, args, kwargs))

    def traceable(self, *args: Any) -> tuple[SparseStructure, Function]:
        """The structure for arguments of these dtypes and sizes, and `values` as a function of the
        leaves of such arguments that can be traced; what the function reads around it stays as it
        is now."""
        kept, inputs = self._find(args, {})
        found = kept.plan.traceable(inputs, self._undecided(kept, args, {}))
        return self._hand(kept), found

    def _undecided(self, kept: _Kept, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        """The number of leaves, none of which decides where entries are: code that is no more
        asked could not see that."""
        leaves = flatten((args, kwargs))[0]
        for k in kept.plan.fixed:
            if k < len(leaves):
                raise TracegradError(
                    f"{self!r}: an argument ({describe(leaves[k])}) decides by its values where "
                    "entries are, and compiled code would write values of other entries; let the "
                    "function read it around it (a closure, functools.partial) in place of taking "
                    "it as an argument"
                )
        return len(leaves)

    def _inside(self, args: tuple[Any, ...], kwargs: dict[str, Any], blocks: bool) -> Any:
        """The matrix as values of the open trace, or of the tape."""
        given = Inputs(args, self.argnums, self.who)
        wanted = _numbers_of_leaves(args, given)
        body, operands = traced(self.function, args, kwargs, self.who)
        graph = body.graph
        _check_results(graph, self.who)
        captured = len(operands) - len(body.captures)
        matrix = matrix_inside(graph, wanted, operands, captured, self.wish)
        data, structure = matrix.data(operands), matrix.plan.structure
        if not blocks:
            return data
        return blocks_inside(structure, data, self.format, graph, wanted, body.out_spec, given.tree)

    # --- signatures -------------------------------------------------------------------------------

    def _find(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], asked: bool = False
    ) -> tuple[_Kept, list[Any]]:
        """What is kept of a signature, and the inputs of its graph."""
        leaves, spec = flatten((args, kwargs))
        for k, x in enumerate(leaves):
            if isinstance(x, Boxed):
                leaves[k] = self._plain(x)
        key = (spec, *[(x.shape, x.dtype) if hasattr(x, "dtype") else type(x) for x in leaves])
        kept = self._kept.get(key)
        inputs = None if kept is None else kept.inputs(leaves)
        made = kept
        if made is None or inputs is None:
            made, inputs = self._make(args, kwargs, leaves, spec, kept)
        if not made.handed:
            was = kept.plan.structure if kept is not None and kept.handed else None
            same = (was or self._handed or made.plan.structure).same(made.plan.structure)
            if not same and asked:
                raise self._changed(was, made.plan.structure)
            made.handed = same and (was is not None or self._handed is not None)
        self._kept[key] = made
        return made, inputs

    def _changed(self, was: SparseStructure | None, now: SparseStructure) -> TracegradError:
        """Values are asked for that are not those of the entries that the user knows."""
        if was is not None:
            return TracegradError(
                f"values: the entries of {self!r} changed since its structure was taken "
                f"({len(was)} then, {len(now)} now): something that the function reads around "
                "it changed. Call structure again."
            )
        assert self._handed is not None
        return TracegradError(
            f"values: the structure of {self!r} was taken for a matrix of shape "
            f"{self._handed.shape} with {len(self._handed)} entries; for these arguments its shape "
            f"is {now.shape}, with {len(now)} entries. Call structure with these arguments first."
        )

    def _plain(self, x: Boxed) -> Any:
        data = x.detach()._data if hasattr(x, "detach") else x._data
        if not isinstance(data, (np.ndarray, np.generic)):
            raise TracegradError(
                f"{self.who}: an argument is a traced value, or lies on a device. In compiled "
                "functions there are J(x) and J.values(x); structure, pattern and njit are asked "
                "for with plain arrays of these sizes."
            )
        return data

    def _make(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: list[Any],
        spec: Any,
        old: _Kept | None,
    ) -> tuple[_Kept, list[Any]]:
        given = Inputs(args, self.argnums, self.who)
        if not given.originals:
            raise ValueError(f"{self.who}: the arguments to differentiate hold no arrays")
        args, kwargs = unflatten(spec, leaves)
        wanted = _numbers_of_leaves(args, given)

        def look() -> tuple[Entry, list[Any], Any]:
            entry, found = self.function._alone_for(args, kwargs, False)
            captured = entry.captured()
            if captured is None or entry.outdated(captured):
                entry = entry.again()
                captured = entry.captured()
            return entry, found, captured

        entry, found, captured = waiting_where_needed(look)
        traced = entry.traced
        if traced.writes or entry.changes or entry.stored or traced.generators:
            raise TracegradError(
                f"{self.who}: {self.function.__name__} writes to its arguments, draws random "
                "numbers or changes what is around it; return new values instead"
            )
        inputs = [*found, *(captured or traced.captures)]
        _check_results(entry.graph, self.who)
        plan = make_plan(entry.graph, wanted, inputs, len(leaves), self.wish)
        return _Kept(entry, plan, wanted, given), inputs

    # --- matrices ---------------------------------------------------------------------------------

    def _blocks(self, kept: _Kept, matrix: Any, shown: Any = lambda block: block) -> Any:
        """The matrix, or the tree of its blocks."""
        graph, traced = kept.entry.graph, kept.entry.traced
        heights = [size(a.type.shape) for a in graph.outputs]
        widths = [size(graph.inputs[k].type.shape) for k in kept.wanted]
        if len(heights) == len(widths) == 1:
            return unflatten(traced.out_spec, [kept.tree([shown(matrix)])])
        by_rows = sp.csr_array(matrix)
        bottoms, rights = np.cumsum([0, *heights]), np.cumsum([0, *widths])
        rows = []
        for a, b in itertools.pairwise(bottoms):
            part = by_rows[a:b]
            blocks = [_as(part[:, c:d], self.format) for c, d in itertools.pairwise(rights)]
            rows.append(kept.tree([shown(block) for block in blocks]))
        return unflatten(traced.out_spec, rows)


def _numbers_of_leaves(args: tuple[Any, ...], given: Inputs) -> list[int]:
    """Which leaves of the arguments are those to differentiate by."""
    starts = np.cumsum([0, *[len(flatten(a)[0]) for a in args]])
    return [k for n in given.numbers for k in range(starts[n], starts[n + 1])]


def _check_results(graph: Graph, who: str) -> None:
    if graph.outputs and not any(is_differentiable(a.type.dtype) for a in graph.outputs):
        raise DTypeError(f"{who}: the function returns no floating-point or complex numbers")


def _as(matrix: Any, format: str) -> Any:
    if format == "bsr":
        rows, columns = matrix.tocoo().coords
        return matrix.tobsr(order_of("bsr", matrix.shape, rows, columns).block)
    return matrix.asformat(format)


__all__ = ["Function", "SparseDerivative"]
