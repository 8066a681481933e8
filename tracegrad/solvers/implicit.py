"""Solutions of equations as functions of what the equations read: the implicit function theorem as
a derivative rule.

Where F(z, p) = 0 holds, a change of p by dp moves z by dz = -(dF/dz)^-1 (dF/dp) dp. The rule is
linear in dp, its transpose solves with the transposed matrix, and z itself stands in it as the same
function of p: so second and higher orders come from differentiating the rule. How z was found does
not matter, and is not differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import ops
from ..control.region import closed, strong
from ..custom.rules import implicit_op, stop_gradient
from ..derivatives.forward import jvp
from ..derivatives.reverse import vjp
from ..derivatives.vmap import vmap
from ..dtypes import is_differentiable
from ..errors import ShapeError
from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.op import Op
from ..ir.trace import user_line
from ..sizes import same, same_shape, seen
from ..tape.engine import zeros
from ..tape.mode import MODE
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..tree import flatten, unflatten
from .krylov import METHODS, Product
from .matrices import SparseMatrix
from .vectors import Closed, Layout, over_vectors, traced

DENSE = 500
"""Up to how many unknowns "auto" makes the matrix of a linear system."""


def chosen(method: str, n: Any, symmetric: bool = False) -> str:
    """The method of linear systems with n unknowns that a user's choice stands for."""
    if method not in ("auto", "dense", "sparse", "iterative", *METHODS):
        raise ValueError(
            f'{user_line()}: there is no linear solver {method!r}; choose "auto", "dense", '
            f'"sparse", "iterative", {", ".join(map(repr, sorted(METHODS)))}'
        )
    if method == "auto":
        method = "dense" if n <= DENSE else "iterative"
    return ("cg" if symmetric else "bicgstab") if method == "iterative" else method


def tolerance(dtype: np.dtype[Any]) -> float:
    """As far as iterations go by default: eps ** 0.75, 2e-12 in float64 and 6e-6 in float32."""
    return math.pow(np.finfo(dtype).eps, 0.75)


def matrix_of(product: Product, like: Any) -> Any:
    """The matrix of a linear function of vectors."""
    kind = leaf_type(like)
    return ops.transpose(vmap(product)(ops.eye(seen(kind.shape[0]), dtype=kind.dtype)))


def solved(
    product: Product, b: Any, method: str, tol: float | None = None, max_steps: int | None = None
) -> Any:
    """v with product(v) = b, no derivative intended."""
    kind = leaf_type(b)
    n = seen(kind.shape[0])
    if n == 1:
        return b / product(ops.ones_like(b))
    if method == "dense":
        return ops.linalg.solve(matrix_of(product, b), b)
    steps = max_steps if max_steps is not None else 10 * n + 100 if isinstance(n, int) else 100_000
    failure = (
        f"the linear solver {method!r} has not reached its tolerance after {steps} steps; "
        "the matrix may be singular, or too badly "
        'conditioned for this method: try another, or "dense"'
    )
    with np.errstate(all="ignore"):
        return METHODS[method](
            product, b, tolerance(kind.dtype) if tol is None else tol, steps, failure
        )


def along(function: Callable[[Any], Any], method: str) -> Callable[[Any, Any], Any]:
    """From z and b to v with dF/dz v = b, no derivative intended. The matrix is a graph made once,
    not at every z."""
    if method == "sparse" and isinstance(function, Closed) and function.matrix is not None:
        known, captures = function.matrix, function.captures
        return lambda z, b: known.solve([z, *captures], b)
    if (
        method == "dense"
        and isinstance(function, Closed)
        and not same(function.graph.inputs[0].type.shape[0], 1)
    ):
        given = function.graph

        def matrix(z: Any, *captures: Any) -> list[Any]:
            return [
                matrix_of(
                    lambda v: jvp(lambda y: evaluate(given, [y, *captures])[0], (z,), (v,))[1], z
                )
            ]

        slopes = Closed(closed("matrix", matrix, list(given.input_types), given), function.captures)
        return lambda z, b: ops.linalg.solve(slopes(z), b)
    return lambda z, b: solved(lambda v: jvp(function, (z,), (v,))[1], b, method)


def linear(
    product: Product, b: Any, method: str, tol: float | None = None, max_steps: int | None = None
) -> Any:
    """v with product(v) = b, with derivatives with respect to b and what `product` reads around
    it."""
    if method == "dense" or leaf_type(b).shape[0] == 1:
        return solved(product, b, method)
    layout = Layout(b, "linear_solve: b", method == "sparse")
    given = over_vectors(
        traced(product, layout, "linear_solve: the product"), layout, list, "product"
    ).with_matrix(method)
    if given.matrix is not None:
        return given.matrix.solve([b, *given.captures], b)
    v = solved(given.constant(), stop_gradient(b), method, tol, max_steps)
    graph = closed(
        "equations",
        lambda v, b, *c: [ops.sub(evaluate(given.graph, [v, *c])[0], b)],
        [layout.type, layout.type, *map(strong, given.captures)],
        given.graph,
    )
    return implicit(v, Closed(graph, [b, *given.captures]), method)


def implicit(z: Any, equations: Closed, method: str) -> Any:
    """The vector z as the function of the captures of `equations` that they make it."""
    if not STATE.traces and not any(hasattr(c, "_tangents") for c in equations.captures):
        return z
    inputs = [stop_gradient(z), *equations.captures]
    same = closed("solution", lambda *v: [v[0]], list(map(strong, inputs)), equations.graph)
    rule = Rule(equations.graph, method, equations.with_matrix(method).matrix)
    return bind(implicit_op, inputs, {"graph": same, "rule": rule})[0]


@dataclass(frozen=True, eq=False)
class Rule:
    """The implicit function theorem for equations over (unknowns, parameters...)."""

    equations: Graph
    method: str
    matrix: SparseMatrix | None = None
    """That of the equations by the unknowns, where it is sparse."""
    op: ClassVar[Op] = implicit_op

    def __repr__(self) -> str:
        return self.method

    def _of(self, unknowns: Any, parameters: Sequence[Any]) -> Any:
        return evaluate(self.equations, [unknowns, *parameters])[0]

    def _along(
        self, z: Any, parameters: Sequence[Any], moving: Sequence[int]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The equations as a function of some of the parameters, and these."""

        def function(*given: Any) -> Any:
            full = list(parameters)
            for k, value in zip(moving, given, strict=True):
                full[k] = value
            return self._of(z, full)

        return function, [parameters[k] for k in moving]

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return (values[0],)

    def jvp(self, tangents: Any, inputs: Any, outs: Any) -> list[Any]:
        z, parameters = outs[0], inputs[1:]
        moving = [
            k
            for k, t in enumerate(tangents[1:])
            if t is not None and is_differentiable(parameters[k].dtype)
        ]
        if not moving:
            return [None]
        function, primals = self._along(z, parameters, moving)
        change = jvp(function, tuple(primals), tuple([tangents[1 + k] for k in moving]))[1]

        def along(v: Any) -> Any:
            return jvp(lambda y: self._of(y, parameters), (z,), (v,))[1]

        if self.matrix is not None:
            return [ops.neg(self.matrix.solve([z, *parameters], change))]
        return [ops.neg(linear(along, change, self.method))]

    def vjp(self, cts: Any, inputs: Any, outs: Any, wanted: Any) -> list[Any]:
        if not MODE.enabled:
            # The derivatives inside of this rule are on, and must not lead to what the sweep around
            # it has left behind.
            cts, inputs, outs = ([_untracked(x) for x in xs] for xs in (cts, inputs, outs))
        z, parameters = outs[0], inputs[1:]
        moving = [
            k for k, w in enumerate(wanted[1:]) if w and is_differentiable(parameters[k].dtype)
        ]
        if cts[0] is None or not moving:
            return [zeros(strong(x)) if w else None for x, w in zip(inputs, wanted, strict=True)]
        if self.matrix is not None:
            multipliers = ops.neg(self.matrix.solve([z, *parameters], cts[0], True))
        else:
            pull = vjp(lambda y: self._of(y, parameters), z)[1]
            multipliers = ops.neg(linear(lambda u: pull(u)[0], cts[0], self.method))
        function, primals = self._along(z, parameters, moving)
        found = dict(zip(moving, vjp(function, *primals)[1](multipliers), strict=True))
        return [
            found[k - 1] if k - 1 in found else zeros(strong(x)) if w else None
            for k, (x, w) in enumerate(zip(inputs, wanted, strict=True))
        ]


def _untracked(x: Any) -> Any:
    """The value without its place on the tape; so are its tangents."""
    return x._untracked() if isinstance(x, Boxed) else x


def linear_solve(
    product: Callable[[Any], Any],
    b: Any,
    method: str = "auto",
    tol: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """x with product(x) = b, for a linear function of which no matrix is needed.

    product     from a tree like b to a tree like b, linear (which is not checked); it is traced
    b           an array of any shape or a tree of them, floating-point or complex
    method      "cg" (conjugate gradients, for symmetric definite functions), "bicgstab" (for any),
                "gmres" (for any; slow where 30 products are not enough), or "dense", which makes
                the matrix from as many products as there are unknowns; "sparse", which finds where
                its entries are (as `tg.sparse_jacobian` does) and factorizes it; "auto" is "dense"
                up to 500 unknowns, "bicgstab" beyond
    tol         how small the residual gets, as a fraction of b (eps ** 0.75 by default: 2e-12 in
                float64, 6e-6 in float32), or as small as rounding lets it become; a method that
                does not come so far ends in a RuntimeError
    max_steps   so many steps are the most (by default 10 a number of b, and 100)

    In a compiled function the method is one loop. Derivatives of every mode and order, with respect
    to b and what `product` reads around it, are linear systems of the same kind, or of its
    transpose, which is made from `product`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> def laplace(x):
    ...     return 2.1 * x - np.roll(x, 1) - np.roll(x, -1)
    >>> x = tg.linear_solve(laplace, np.array([1.0, 0.0, 0.0, 0.0]), method="cg")
    >>> laplace(x).round(9) + 0.0
    array([1., 0., 0., 0.])
    """
    layout = Layout(b, "linear_solve: b", method == "sparse")
    if layout.size == 0:
        return layout.result(layout.pack(layout.leaves))

    def vector_product(v: Any) -> Any:
        found, spec = flatten(product(unflatten(layout.spec, layout.unpack(v))))
        shapes = [leaf_type(y).shape for y in found]
        if spec != layout.spec or any(
            not same_shape(a, k.shape) for a, k in zip(shapes, layout.kinds, strict=True)
        ):
            raise ShapeError(
                f"{user_line()}: linear_solve: the product must be a tree like b, {layout.spec} "
                f"with shapes {[k.shape for k in layout.kinds]}; it is {spec} with shapes {shapes}"
            )
        return layout.pack(found)

    return layout.result(
        linear(
            vector_product, layout.pack(layout.leaves), chosen(method, layout.size), tol, max_steps
        )
    )


__all__ = [
    "Rule",
    "along",
    "chosen",
    "implicit",
    "linear",
    "linear_solve",
    "matrix_of",
    "solved",
    "tolerance",
]
