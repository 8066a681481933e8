"""`constraint`: bounds on functions, with their Jacobian and the Hessians that go with it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.optimize

from .. import ops
from ..bridges.standing import compiled, plain, run
from ..checks import flag
from ..derivatives.jacobians import hessian, jacobian
from ..sparse.derivatives import sparse_hessian, sparse_jacobian
from ..tree import flatten
from .unknowns import Function, Unknowns, as_vector, as_x, matrix_of


class Constraint(scipy.optimize.NonlinearConstraint):
    """A constraint as SciPy's minimizers take it; see `constraint`."""

    def __init__(
        self,
        g: Function,
        lb: Any,
        ub: Any,
        like: Any = None,
        keep_feasible: Any = False,
        sparse: bool = False,
    ) -> None:
        self.g, self.like, self.sparse = g, like, flag("sparse", sparse)
        unknowns = None if like is None else Unknowns(like, "constraint: like")
        g = plain(g)
        of_vector = partial(run, g) if unknowns is None else unknowns.of_vector(g)

        def flat(x: Any) -> Any:
            return as_vector(of_vector(x), "constraint: g")

        values = compiled(flat, g)
        weighted = compiled(lambda x, v: ops.sum(v * flat(x)), g, "_weighted", False)
        matrix = matrix_of((sparse_jacobian if self.sparse else jacobian)(values))
        curvature = matrix_of((sparse_hessian if self.sparse else hessian)(weighted))

        def fun(x: Any) -> Any:
            return np.asarray(values(as_x(x, unknowns, "constraint: fun")))

        def jac(x: Any) -> Any:
            return matrix(as_x(x, unknowns, "constraint: jac"))

        # SciPy's types know of x alone.
        def hess(x: Any, v: Any = None) -> Any:
            x = as_x(x, unknowns, "constraint: hess")
            return curvature(x, np.asarray(v, np.float64))

        super().__init__(
            fun, _bound(lb), _bound(ub), jac=jac, hess=hess, keep_feasible=keep_feasible
        )

    def __reduce__(self) -> Any:
        return Constraint, (
            self.g, self.lb, self.ub, self.like, self.keep_feasible, self.sparse
        )  # fmt: skip

    def of(self, like: Any) -> Constraint:
        """The same for unknowns in this structure, if none was given."""
        if self.like is not None:
            return self
        return Constraint(self.g, self.lb, self.ub, like, self.keep_feasible, self.sparse)

    def without_hessian(self) -> list[scipy.optimize.NonlinearConstraint]:
        """For methods that warn where they are given more than they use, or equations and
        inequalities together."""
        made: Any = scipy.optimize.NonlinearConstraint
        fun: Any = self.fun
        jac: Any = self.jac
        lower, upper = np.broadcast_arrays(np.asarray(self.lb), np.asarray(self.ub))
        kinds = [rows for rows in (lower == upper, lower != upper) if rows.any()]
        if len(kinds) == 1:
            return [made(fun, lower, upper, jac=jac)]
        return [
            made(
                lambda x, rows=rows: fun(x)[rows],
                lower[rows],
                upper[rows],
                jac=lambda x, rows=rows: jac(x)[rows],
            )
            for rows in kinds
        ]


def _bound(tree: Any) -> Any:
    leaves = flatten(tree)[0]
    if len(leaves) == 1 and np.ndim(leaves[0]) == 0:
        return leaves[0]  # for all of them
    return np.concatenate([np.ravel(x) for x in leaves])


def constraint(
    g: Function,
    lb: Any,
    ub: Any,
    like: Any = None,
    keep_feasible: bool = False,
    sparse: bool = False,
) -> Constraint:
    """The constraint `lb <= g(x) <= ub` as `scipy.optimize.minimize` takes it: a
    `NonlinearConstraint` with `jac`, an array of shape (m, n), and `hess(x, v)`, the Hessian of
    `sum(v * g(x))`, both compiled.

    g        returns the m constrained numbers: a number, an array or a tree of them; it is traced
    lb, ub   a number, or m of them in the structure of g's result; infinite where there is no
             bound, equal for an equation
    like     None: g takes SciPy's vector (or, in `tg.scipy.minimize`, what the objective takes);
             otherwise an example of the tree that g takes, see `tg.scipy.objective`
    sparse   whether `jac` and `hess` give sparse arrays, with patterns as `tg.sparse_jacobian` and
             `tg.sparse_hessian` find them: for "trust-constr" with many unknowns

    `keep_feasible` is SciPy's. SLSQP, COBYLA and COBYQA use no Hessian, and SciPy warns where they
    are given one; `tg.scipy.minimize` gives them none. Raises a ShapeError where x has not the size
    of `like`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> disk = tg.scipy.constraint(lambda x: x @ x, -np.inf, 1.0)
    >>> disk.jac(np.array([3.0, 4.0])), disk.hess(np.array([3.0, 4.0]), np.array([0.5]))
    (array([[6., 8.]]), array([[1., 0.],
           [0., 1.]]))
    """
    return Constraint(g, lb, ub, like, keep_feasible, sparse)


__all__ = ["Constraint", "constraint"]
