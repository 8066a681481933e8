"""`least_squares`: SciPy's, with the compiled Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from ..bridges.standing import compiled
from ..derivatives.jacobians import jacobian
from ..sparse.derivatives import sparse_jacobian
from .bounds import limits
from .unknowns import Adapter, Function, as_vector, matrix_of


class LeastSquaresProblem(Adapter):
    """Residuals as SciPy takes them; see `least_squares_problem`."""

    def __init__(
        self,
        residuals: Function,
        like: Any = None,
        who: str = "least_squares_problem: like",
        sparse: bool = False,
    ) -> None:
        super().__init__(residuals, like, who, sparse)
        name, of_vector = who.partition(":")[0], self._of_vector()

        def flat(x: Any, *args: Any, **kwargs: Any) -> Any:
            return as_vector(of_vector(x, *args, **kwargs), f"{name}: the function")

        self._values = compiled(flat, self._f)
        made = sparse_jacobian if self._sparse else jacobian
        self._jacobian = matrix_of(made(self._values))

    def fun(self, x: Any, *args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
        """The m residuals at x."""
        return np.asarray(self._values(self._x(x, "fun"), *args, **kwargs))

    def jac(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Their Jacobian at x, an array of shape (m, n) or such a `csr_array`."""
        return self._jacobian(self._x(x, "jac"), *args, **kwargs)


def least_squares_problem(
    residuals: Function, like: Any = None, sparse: bool = False
) -> LeastSquaresProblem:
    """The residuals `residuals(x, *args)` as `scipy.optimize.least_squares`, `leastsq` and `root`
    take them: an object with `fun` and `jac`, compiled.

    residuals   returns m numbers, as an array of any shape or a tree of arrays (of complex ones the
                real and the imaginary part); it is traced
    like        None: x is SciPy's vector; otherwise an example of the tree that the function takes,
                with `pack` and `unpack`: see `tg.scipy.objective`
    sparse      whether `jac` gives a sparse array, with the pattern that `tg.sparse_jacobian` finds

    `fun(x)` is a vector of m, `jac(x)` an array of shape (m, n). They are two compiled functions,
    since solvers evaluate residuals where they do not want a Jacobian. Raises a ShapeError where x
    has not the size of `like`.

    >>> import numpy as np
    >>> import scipy.optimize
    >>> import tracegrad as tg
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> problem = tg.scipy.least_squares_problem(lambda p, y: p[0] * np.exp(-p[1] * t) - y)
    >>> found = scipy.optimize.least_squares(
    ...     problem.fun, [1.0, 1.0], problem.jac, args=(2 * np.exp(-3 * t),)
    ... )
    >>> found.x.round(6)
    array([2., 3.])
    """
    return LeastSquaresProblem(residuals, like, sparse=sparse)


def least_squares(
    residuals: Function,
    x0: Any,
    bounds: Any = (-np.inf, np.inf),
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    sparse: bool = False,
    **options: Any,
) -> Any:
    """`scipy.optimize.least_squares` with the compiled Jacobian: x where the sum of the squared
    residuals is least.

    residuals   `residuals(x, *args, **kwargs)`, with x as x0 is; see `least_squares_problem`
    x0          where to start: a number, an array of any shape or a tree of them
    bounds      SciPy's pair (lower, upper); each is a number, or a tree as x0
    sparse      whether SciPy gets the Jacobian as a sparse array (methods "trf" and "dogbox")
    options     SciPy's other arguments (`method`, `loss`, `ftol`, ...), but for `jac`

    Returns SciPy's result, of which `x` has the structure of x0 and the rest is SciPy's.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> model = lambda p: p["height"] * np.exp(-p["rate"] * t)
    >>> y = model({"height": 2.0, "rate": 3.0})
    >>> found = tg.scipy.least_squares(lambda p: model(p) - y, {"height": 1.0, "rate": 1.0})
    >>> {name: round(float(value), 6) for name, value in found.x.items()}
    {'height': 2.0, 'rate': 3.0}
    """
    problem = LeastSquaresProblem(residuals, x0, "least_squares: x0", sparse)
    unknowns = problem.unknowns
    found = scipy.optimize.least_squares(
        problem.fun,
        unknowns.pack(x0),
        jac=problem.jac,
        bounds=tuple(limits(b, unknowns, "least_squares: bounds") for b in bounds),
        args=args,
        kwargs=kwargs or {},
        **options,
    )
    found.x = unknowns.unpack(found.x)
    return found


__all__ = ["LeastSquaresProblem", "least_squares", "least_squares_problem"]
