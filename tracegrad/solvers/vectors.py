"""Trees of numbers as one vector, which is what solvers work on, and functions of such trees as
closed graphs over vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import ops
from ..control.region import TracedRegion, closed, region, strong
from ..custom.rules import stop_gradient
from ..dtypes import FLOAT64, real_of
from ..errors import DTypeError, ShapeError
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.trace import user_line
from ..sizes import form, numel, same, seen_shape
from ..sparse.inside import pinned_type
from ..tensor import Boxed, Tensor
from ..transforms.tracing import check_leaf, leaf_type, plain
from ..tree import flatten, unflatten
from ..types import ArrayType
from .matrices import SparseMatrix


class Layout:
    """How a tree lies in a vector of real numbers: leaf after leaf, of complex numbers the real
    parts and then the imaginary ones. With `sizes_known` all sizes are numbers."""

    def __init__(self, tree: Any, who: str, sizes_known: bool = False) -> None:
        self.tree, self.who = tree, who
        self.leaves, self.spec = flatten(tree)
        if not self.leaves:
            raise ValueError(f"{user_line()}: {who} is empty")
        self.kinds: list[ArrayType] = []
        for x in self.leaves:
            check_leaf(x, f"{user_line()}: {who} holds")
            kind = leaf_type(x)
            if sizes_known:
                kind = pinned_type(kind)
            if kind.dtype.kind not in "fc" and not kind.weak:
                raise DTypeError(
                    f"{user_line()}: {who} must hold floating-point numbers, not {kind.dtype}; "
                    "convert it with .astype(float)"
                )
            self.kinds.append(
                ArrayType(kind.dtype if kind.dtype.kind in "fc" else FLOAT64, kind.shape)
            )
        self.dtype: np.dtype[Any] = np.result_type(*[real_of(k.dtype) for k in self.kinds])
        self.counts = [numel(seen_shape(k.shape)) for k in self.kinds]
        self.sizes = [
            n * (2 if k.dtype.kind == "c" else 1)
            for n, k in zip(self.counts, self.kinds, strict=True)
        ]
        self.size: Any = sum(self.sizes[1:], self.sizes[0])
        self.type = ArrayType(self.dtype, (form(self.size),))

    def pack(self, leaves: Sequence[Any]) -> Any:
        """The vector of these leaves, which may have any dtype; complex numbers in the place of
        real ones are an error."""
        parts = []
        for x, kind, count in zip(leaves, self.kinds, self.counts, strict=True):
            if kind.dtype.kind == "c":
                x = ops.convert(x, np.result_type(self.dtype, np.complex64))
                parts += [
                    ops.reshape(ops.real(x), (count,)),
                    ops.reshape(ops.imag(x), (count,)),
                ]
            else:
                given = leaf_type(x).dtype
                if given.kind == "c":
                    raise DTypeError(
                        f"{user_line()}: {self.who} is of {kind.dtype}, and the function returned "
                        f"{given} for it; make it complex, or return real numbers"
                    )
                parts.append(ops.reshape(ops.convert(x, self.dtype), (count,)))
        return parts[0] if len(parts) == 1 else ops.concatenate(parts)

    def unpack(self, vector: Any) -> list[Any]:
        """The leaves that lie in a vector."""
        leaves, start = [], 0
        for kind, count, size in zip(self.kinds, self.counts, self.sizes, strict=True):
            part = vector if len(self.kinds) == 1 else vector[start : start + size]
            if kind.dtype.kind == "c":
                part = ops.complex_(part[:count], part[count:])
            leaves.append(ops.convert(ops.reshape(part, kind.shape), kind.dtype))
            start = start + size
        return leaves

    def result(self, vector: Any) -> Any:
        """The tree that lies in a vector, as the caller wants it: with Tensors where the tree at
        the start had them."""
        leaves = [plain(x) for x in self.unpack(vector)]
        faces = [
            _tensor(x) if isinstance(like, Tensor) else x
            for x, like in zip(leaves, self.leaves, strict=True)
        ]
        return unflatten(self.spec, faces)


def _tensor(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, Boxed):
        return Tensor(np.asarray(x))
    value = Tensor(x._data, x._requires_grad)
    value._grad_fn, value._output_nr, value._tangents = x._grad_fn, x._output_nr, x._tangents
    return value


@dataclass(frozen=True)
class Closed:
    """A function of one vector as a graph over (vector, captures...), and what it captured."""

    graph: Graph
    captures: list[Any]
    matrix: SparseMatrix | None = None
    """Of the first result by the vector, where it is wanted."""

    def with_matrix(self, method: str) -> Closed:
        """The same with its matrix where the method of linear systems needs it."""
        if method != "sparse" or self.matrix is not None:
            return self
        return replace(self, matrix=SparseMatrix.of(self.graph, self.captures))

    def __call__(self, vector: Any) -> Any:
        """The first result."""
        return evaluate(self.graph, [vector, *self.captures])[0]

    def all(self, vector: Any) -> list[Any]:
        return evaluate(self.graph, [vector, *self.captures])

    def constant(self) -> Closed:
        """The function for whose captures no derivative is wanted."""
        return Closed(
            self.graph,
            [plain(stop_gradient(c)) if isinstance(c, Boxed) else c for c in self.captures],
            self.matrix,
        )


def traced(function: Callable[[Any], Any], layout: Layout, who: str) -> TracedRegion:
    """The function of a tree laid out so, traced."""
    return region(function, (layout.tree,), layout.kinds, who, "equations")


def over_vectors(
    r: TracedRegion,
    layout: Layout,
    results: Callable[[list[Any]], list[Any]],
    name: str = "equations",
) -> Closed:
    """The traced function as one of the vector, with results changed by `results`."""

    def function(vector: Any, *captures: Any) -> list[Any]:
        return results(evaluate(r.graph, [*layout.unpack(vector), *captures]))

    return Closed(
        closed(name, function, [layout.type, *map(strong, r.captures)], r.graph), r.captures
    )


def count_equations(leaves: list[Any], layout: Layout, who: str) -> Any:
    """The vector of residuals, which may have another structure than the unknowns; a ShapeError
    where their number differs."""
    if not leaves:
        raise ShapeError(f"{user_line()}: {who} returns nothing; it must return the residuals")
    found = Layout(leaves, f"{who} returns a value that")
    if not same(found.size, layout.size):
        raise ShapeError(
            f"{user_line()}: {who} returns {found.size} numbers for {layout.size} unknowns; "
            "it must return one for each"
        )
    return ops.convert(found.pack(leaves), layout.dtype)


__all__ = ["Closed", "Layout", "count_equations", "over_vectors", "traced"]
