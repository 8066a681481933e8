"""`sparse_jacobian`, `sparse_hessian`, `hessian_of_lagrangian`, `sparsity`: what a user calls."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import argument_numbers, describe, flag
from ..compiled.jit import jit
from ..compiled.jitted import Jitted
from ..derivatives.reverse import grad
from ..errors import ShapeError, TracegradError
from ..ops import sum as total
from ..tree import flatten
from .index_sets import DEFAULT_LIMIT
from .matrix_function import Function, SparseDerivative
from .methods import METHODS
from .plan import Wish

FORMATS = ("csr", "csc", "coo", "bsr")
SYMMETRIC = ("star", "acyclic")
"""Colourings of symmetric matrices."""


def _checked(function: Any, format: str, method: str, limit: Any, who: str) -> None:
    if isinstance(function, SparseDerivative) or not callable(function):
        raise TypeError(f"{who} expects a function, got {type(function).__name__}")
    if not isinstance(format, str) or format not in FORMATS:
        raise ValueError(f"{who}: format is one of {', '.join(FORMATS)}, not {format!r:.60}")
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"{who}: method is one of {', '.join(METHODS)}, not {method!r:.60}")
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 0:
        raise ValueError(f"{who}: limit is {describe(limit)}; it must be a number of entries")


def _numbers(argnums: Any, who: str) -> Any:
    found = argument_numbers(argnums, who)
    return found if isinstance(found, tuple) else int(found)


def _compiled(function: Function, who: str) -> Jitted[..., Any]:
    made = function if isinstance(function, Jitted) else jit(function)
    if made.static_argnames:
        raise TracegradError(
            f"{who}: {made.__name__} has static arguments ({', '.join(made.static_argnames)}); "
            "give a function that has them already (functools.partial)"
        )
    return made


def sparse_jacobian(
    function: Function,
    argnums: int | Sequence[int] = 0,
    format: str = "csr",
    method: str = "auto",
    limit: int = DEFAULT_LIMIT,
) -> SparseDerivative:
    """The Jacobian as a sparse matrix, whose pattern is found by itself: a row for each element of
    the result and a column for each element of the argument, both in C order.

    argnums     the arguments to differentiate by (floating or complex dtypes)
    format      "csr", "csc", "coo" or "bsr": the class of the matrix, and the order of its values,
                which are sorted by rows ("csc": by columns, "bsr": block by block, of the largest
                size that the entries fill), each place once
    method      "direct": one compiled function writes each entry to its place, where the function
                is made of elementwise operations, slices, shifts, gathers and sums; "columns" or
                "rows": products with sums of unit vectors, one for each colour; "both": with
                columns and rows, where a few are dense (bicolouring); "auto"
    limit       how many entries the pattern may have; a TracegradError says how many there would be

    The result is called for the matrix; `structure(x)` gives the coordinates, `values(x, out=)`
    the values alone, `njit(x)` these for `@njit` code, `pattern(x)` what `tg.sparsity` gives. Trees
    of arguments and results give trees of matrices, results outside. The pattern holds for all
    values of the arguments of one size; it is found, and code compiled, at the first call.

    Colouring: Curtis, Powell and Reid, IMA Journal of Applied Mathematics 13 (1974); by both,
    Coleman and Verma, SIAM Journal on Scientific Computing 19 (1998).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> J = tg.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> print(J(np.array([1.0, 2.0, 3.0])).toarray())
    [[2. 1. 0.]
     [0. 3. 2.]]
    """
    who = "sparse_jacobian"
    _checked(function, format, method, limit, who)
    if method in SYMMETRIC:
        raise ValueError(f"{who}: {method} colouring is for Hessians, which are symmetric")
    wish = Wish(format, method=method, limit=int(limit))
    return SparseDerivative(
        _compiled(function, who), _numbers(argnums, who), format, wish, who, function
    )


def sparse_hessian(
    function: Function,
    argnums: int | Sequence[int] = 0,
    lower: bool = False,
    format: str = "csr",
    method: str = "auto",
    limit: int = DEFAULT_LIMIT,
) -> SparseDerivative:
    """The Hessian of a function with one real scalar result as a sparse matrix; with `lower` its
    lower triangle with the diagonal, as solvers take it.

    What is said of `sparse_jacobian` holds for it. `method` may be "star": star colouring
    (Gebremedhin, Manne and Pothen, SIAM Review 47, 2005), which finds each entry or its mirror; it
    is what "auto" takes where values cannot be written directly. "acyclic": fewer products, and
    entries one after another by substitution, which adds up rounding errors along the way.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> H = tg.sparse_hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2))
    >>> print(H(np.array([1.0, 2.0, 3.0])).toarray())
    [[ 4. -4.  0.]
     [-4. 38. -8.]
     [ 0. -8.  2.]]
    """
    who = "sparse_hessian"
    _checked(function, format, method, limit, who)
    if method in ("rows", "both"):
        raise ValueError(f"{who}: the rows of a Hessian are its columns; take method='columns'")
    numbers = _numbers(argnums, who)
    wish = Wish(format, True, flag("lower", lower), method, int(limit))
    gradient: Any = grad(_compiled(function, who), numbers)
    return SparseDerivative(gradient, numbers, format, wish, who, function)


def hessian_of_lagrangian(
    function: Function,
    constraints: Function,
    lower: bool = False,
    format: str = "csr",
    method: str = "auto",
    limit: int = DEFAULT_LIMIT,
) -> SparseDerivative:
    """The Hessian by x of `sigma * f(x) + sum(lam * g(x))` as a sparse matrix, a function of
    `(x, lam, sigma)`: what interior point methods ask for.

    `lam` has the structure and shapes of what the constraints give, `sigma` is a number. Options
    and result are those of `sparse_hessian`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> H = tg.hessian_of_lagrangian(lambda x: np.sum(x**2), lambda x: x[1:] * x[:-1])
    >>> print(H(np.ones(3), np.array([5.0, 7.0]), 1.0).toarray())
    [[2. 5. 0.]
     [5. 2. 7.]
     [0. 7. 2.]]
    """
    who = "hessian_of_lagrangian"
    for f in (function, constraints):
        _checked(f, format, method, limit, who)

    def lagrangian(x: Any, lam: Any, sigma: Any) -> Any:
        made = sigma * function(x)
        (found, spec), (weights, other) = flatten(constraints(x)), flatten(lam)
        if spec != other:
            raise ValueError(f"{who}: lam has the structure {other}, the constraints give {spec}")
        for g, w in zip(found, weights, strict=True):
            if np.shape(g) != np.shape(w):
                raise ShapeError(
                    f"{who}: lam has the shape {np.shape(w)} where the constraints give "
                    f"{np.shape(g)}"
                )
            made = made + total(w * g)
        return made

    made = sparse_hessian(lagrangian, 0, lower, format, method, limit)
    made.who = who
    return made


def sparsity(
    function: Function,
    argnums: int | Sequence[int] = 0,
    of: str = "jacobian",
    limit: int = DEFAULT_LIMIT,
) -> Function:
    """The pattern alone of the Jacobian, or (`of="hessian"`) of the Hessian: a function that gives
    a boolean sparse array of SciPy's, and trees of these as `sparse_jacobian` does.

    It holds for all values of the arguments of these sizes: an entry that is missing is zero
    everywhere. It may have more entries than are needed, where something is moved to a place that
    is computed, and of operations on whole matrices; `dense_at` of the array names these
    operations, `assumed` counts the entries that there are because of these alone: at most so many
    are too many. `colours` says in how many products with vectors the derivative is found (0: in
    none), `method` how, and `plot()` draws it.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.sparsity(np.diff)(np.ones(4)).toarray().astype(int))
    [[1 1 0 0]
     [0 1 1 0]
     [0 0 1 1]]
    """
    if not isinstance(of, str) or of not in ("jacobian", "hessian"):
        raise ValueError(f"sparsity: of is 'jacobian' or 'hessian', not {of!r:.60}")
    if of == "jacobian":
        made = sparse_jacobian(function, argnums, limit=limit)
    else:
        made = sparse_hessian(function, argnums, limit=limit)
    made.who = "sparsity"

    @functools.wraps(function, updated=())
    def pattern(*args: Any, **kwargs: Any) -> Any:
        return made.pattern(*args, **kwargs)

    return pattern


__all__ = [
    "hessian_of_lagrangian",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
]
