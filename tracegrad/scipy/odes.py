"""`ode`: right-hand sides of differential equations, with their Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bridges.standing import compiled
from ..derivatives.jacobians import jacobian
from ..errors import DTypeError, ShapeError
from ..ir.trace import user_line
from ..ops import concatenate, convert, reshape
from ..sparse.derivatives import sparse_jacobian
from ..tree import flatten
from .unknowns import Adapter, Function, as_vector, matrix_of


class RightHandSide(Adapter):
    """dy/dt as SciPy's integrators take it; see `ode`."""

    def __init__(
        self, f: Function, like: Any = None, who: str = "ode: like", sparse: bool = False
    ) -> None:
        super().__init__(f, like, who, sparse)
        of_vector = self._of_vector(1)

        def flat(t: Any, y: Any, *args: Any) -> Any:
            rates = of_vector(t, y, *args)
            found = _joined(rates, y) if self._unknowns is None else as_vector(rates, "ode: f")
            if found.shape != y.shape:
                raise ShapeError(
                    f"{user_line()}: ode: f returns {found.shape[0]} numbers for the "
                    f"{y.shape[0]} of y; it must return the rate of each"
                )
            return convert(found, y.dtype)

        self._rates = compiled(flat, self._f)
        made = sparse_jacobian if self._sparse else jacobian
        self._jacobian = matrix_of(made(self._rates, 1))

    def fun(self, t: float, y: Any, *args: Any) -> np.ndarray[Any, Any]:
        """dy/dt, a vector."""
        return np.asarray(self._rates(float(t), self._x(y, "fun"), *args))

    def jac(self, t: float, y: Any, *args: Any) -> Any:
        """The derivatives of dy/dt (rows) by y (columns), an array or a `csr_array`."""
        return self._jacobian(float(t), self._x(y, "jac"), *args)


def _joined(rates: Any, y: Any) -> Any:
    """As one vector, which is complex where y is."""
    parts = [reshape(x, (-1,)) for x in flatten(rates)[0]]
    if y.dtype.kind != "c" and any(x.dtype.kind == "c" for x in parts):
        raise DTypeError(
            f"{user_line()}: ode: f returns complex numbers for real y; begin with complex y"
        )
    return concatenate(parts) if parts else np.zeros(0)


def ode(f: Function, like: Any = None, sparse: bool = False) -> RightHandSide:
    """The differential equation `dy/dt = f(t, y, *args)` as SciPy's integrators take it: an object
    with `fun(t, y)` and `jac(t, y)`, compiled. The implicit methods ("BDF", "Radau" and "LSODA" of
    `solve_ivp`; `odeint` with `tfirst=True`) take both.

    f      returns the rates of y, in y's order or, with `like`, its structure; it is traced
    like   None: y is SciPy's vector, real or complex; otherwise an example of the tree that f takes
           (y at the start), with `pack` and `unpack`: see `tg.scipy.objective`. `unpack` takes the
           matrix `solution.y` too, and gives arrays with the axis of time last
    sparse whether `jac` gives a sparse array, with the pattern that `tg.sparse_jacobian` finds:
           for "BDF" and "Radau" of large systems

    Raises a ShapeError where f does not return one number for each of y, or y has not the size of
    `like`.

    >>> import numpy as np
    >>> import scipy.integrate
    >>> import tracegrad as tg
    >>> def van_der_pol(t, y, mu):
    ...     return {"x": y["v"], "v": mu * (1 - y["x"] ** 2) * y["v"] - y["x"]}
    >>> start = {"x": 2.0, "v": 0.0}
    >>> problem = tg.scipy.ode(van_der_pol, like=start)
    >>> found = scipy.integrate.solve_ivp(
    ...     problem.fun, (0.0, 1.0), problem.pack(start), "BDF", jac=problem.jac, args=(1000.0,)
    ... )
    >>> float(problem.unpack(found.y)["x"][-1].round(4))
    1.9993
    """
    return RightHandSide(f, like, sparse=sparse)


__all__ = ["RightHandSide", "ode"]
