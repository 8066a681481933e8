"""Steps for stiff equations: the Rosenbrock method RODAS, which solves six linear systems with one
matrix for a step and iterates nowhere, so that its derivatives are those of plain formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..control.region import closed, region, strong
from ..control.scan import scan
from ..derivatives.forward import jvp
from ..ir.evaluate import evaluate
from ..ops.matrices.scipy_names import lu_factor, lu_solve
from ..ops.sparse import products
from ..ops.sparse.pattern import Pattern, union
from ..sizes import seen
from ..transforms.tracing import leaf_type
from .implicit import matrix_of
from .matrices import SparseMatrix
from .vectors import Closed, Layout

# Hairer and Wanner, "Solving Ordinary Differential Equations II", section VI.4: order 4, with an
# estimate of order 3, L-stable; both solutions are stages. The form without products with the
# matrix: (1 / (GAMMA h) - J) u_i = f(t + NODES[i] h, y + sum(STAGES[i] u)) + sum(MIXED[i] u) / h
# + SLOPES[i] h df/dt.
GAMMA = 0.25
NODES = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
SLOPES = (0.25, -0.1043, 0.1035, -0.03620000000000023, 0.0, 0.0)
_FIFTH = (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950)
STAGES = (
    (0.0,) * 6,
    (1.544, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0, 0.0),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0, 0.0),
    (*_FIFTH, 0.0, 0.0),
    (*_FIFTH, 1.0, 0.0),
)
AFTER = (*_FIFTH, 1.0, 1.0)
MIXED = (
    (0.0,) * 6,
    (-5.6688, 0.0, 0.0, 0.0, 0.0, 0.0),
    (-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0, 0.0),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0, 0.0),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160, 0.0, 0.0),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
     -6.058818238834054, 0.0),
)  # fmt: skip
# The solution inside of a step, of order 3: y (1 - s) + s (after + (1 - s) (c + s d)).
INSIDE = (
    (10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823,
     1.025137723295662, 0.0),
    (-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386,
     -6.594389125716872, 0.0),
)  # fmt: skip
SMALL = 8
"""Up to so many unknowns each system is solved by itself, which takes no longer."""
DENSE, FULL = 100, 0.2
"""Up to how many unknowns "auto" makes the whole matrix; beyond, where it has more than this share
of its entries."""


class Rates(NamedTuple):
    """dy/dt of vectors, and what systems with its matrix need."""

    of: Closed
    """Over (vector, time, captures...)."""
    sparse: tuple[SparseMatrix, Pattern, Any, Any] | None
    """The matrix by the vector where it is sparse, the pattern with the diagonal, and where both
    are in it."""

    def at(self, y: Any, time: Any) -> Any:
        """dy/dt."""
        return evaluate(self.of.graph, [y, time, *self.of.captures])[0]

    def solver(self, y: Any, at: Any, scale: Any) -> Callable[[Any], Any]:
        """From b to v with `(scale - J) v = b`."""
        if self.sparse is not None:
            matrix, pattern, entries, diagonal = self.sparse
            data = ops.neg(ops.convert(matrix.data([y, at, *self.of.captures]), y.dtype))
            full = ops.index_add_at(ops.zeros(pattern.nnz, y.dtype), entries, data)
            full = ops.index_add_at(full, diagonal, scale)
            return lambda b: products.solve(full, b, pattern)
        n = seen(leaf_type(y).shape[0])
        slopes = matrix_of(lambda v: jvp(lambda z: self.at(z, at), (y,), (v,))[1], y)
        shifted = scale * ops.eye(n, dtype=y.dtype) - slopes
        if isinstance(n, int) and n <= SMALL:
            return lambda b: ops.linalg.solve(shifted, b)
        factors = lu_factor(shifted)
        return lambda b: lu_solve(factors, b)


def rates(
    slope: Callable[[list[Any], Any], list[Any]], layout: Layout, t: Any, linear_solver: str
) -> Rates:
    """The equations traced once."""
    if linear_solver not in ("auto", "dense", "sparse"):
        raise ValueError(
            f'odeint: there is no linear solver {linear_solver!r}; choose "auto", "dense" or '
            '"sparse"'
        )
    kind = strong(t[0])

    def tree(y: Any, at: Any) -> Any:
        return slope(list(y), at)

    traced = region(tree, (layout.leaves, t[0]), [*layout.kinds, kind], "odeint: f", "rates")
    types = [layout.type, kind, *map(strong, traced.captures)]

    def over_vector(z: Any, at: Any, *captures: Any) -> list[Any]:
        return [layout.pack(evaluate(traced.graph, [*layout.unpack(z), at, *captures]))]

    graph = closed("rates", over_vector, types, traced.graph)

    sparse = None
    if linear_solver == "sparse" or (linear_solver == "auto" and layout.size > DENSE):
        sparse = _with_diagonal(SparseMatrix.of(graph, traced.captures, 2), linear_solver)
    return Rates(Closed(graph, traced.captures), sparse)


def _with_diagonal(matrix: SparseMatrix, linear_solver: str) -> Any:
    pattern = matrix.pattern
    n = pattern.shape[0]
    if linear_solver == "auto" and pattern.nnz > FULL * n * n:
        return None
    numbers = np.arange(n, dtype=pattern.indices.dtype)
    places = [(pattern.rows, pattern.indices), (numbers, numbers)]
    whole, (entries, diagonal) = union((n, n), places)
    return matrix, whole, entries, diagonal


def attempt(given: Rates, y: Any, start: Any, h: Any) -> tuple[Any, Any, list[Any]]:
    """One step: the vector after it, the estimate of its error, and the powers of the fraction of
    the step from the first on of the solution inside."""
    size = ops.convert(h, y.dtype)
    solve = given.solver(y, start, 1 / (GAMMA * size))
    drift = jvp(lambda s: given.at(y, s), (start,), (ops.ones_like(start),))[1]

    # A loop over the stages: written out, f and its derivatives would be compiled six times.
    def stage(found: Any, row: Any) -> Any:
        k, weights, mixed, node, share = row
        right = given.at(y + weights @ found, start + node * h) + (mixed @ found) / size
        return ops.index_update(found, k, solve(right + share * size * drift)), ()

    n = seen(leaf_type(y).shape[0])
    tables = [np.asarray(table, y.dtype) for table in (STAGES, MIXED, NODES, SLOPES)]
    found = scan(stage, ops.zeros((6, n), y.dtype), (np.arange(6), *tables))[0]
    c, d = (np.asarray(weights, y.dtype) @ found for weights in INSIDE)
    after = y + np.asarray(AFTER, y.dtype) @ found
    return after, found[5], [after - y + c, d - c, -d, ops.zeros_like(y)]


__all__ = ["Rates", "attempt", "rates"]
