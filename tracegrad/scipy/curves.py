"""`curve_fit`: SciPy's, with the compiled Jacobian of the model."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.optimize

from ..bridges.standing import compiled, plain, run
from ..checks import describe
from ..derivatives.jacobians import jacobian
from ..ir.trace import user_line
from .unknowns import Function, as_vector


def curve_fit(f: Function, xdata: Any, ydata: Any, p0: Any = None, **options: Any) -> Any:
    """`scipy.optimize.curve_fit` with the compiled Jacobian of the model `f(xdata, *parameters)`.

    f         returns an array of ydata's shape; it is traced
    xdata     an array, or a tree of them, which f is given as it is
    p0        where to start, as many numbers as f has parameters; 1 for each by default
    options   SciPy's other arguments (`sigma`, `absolute_sigma`, `bounds`, `method`, `full_output`,
              ...), but for `jac`

    Returns what SciPy does: the parameters, an array of n, and their covariance, (n, n).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> t = np.linspace(0.0, 1.0, 8)
    >>> decay = lambda t, height, rate: height * np.exp(-rate * t)
    >>> tg.scipy.curve_fit(decay, t, decay(t, 2.0, 3.0))[0].round(6)
    array([2., 3.])
    """
    if not callable(f):
        raise TypeError(f"curve_fit: f is {describe(f)}; it must be a function")
    f = plain(f)
    if "jac" in options:
        raise TypeError(f"{user_line()}: curve_fit: jac is the model's own; leave it out")
    if p0 is None:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(f).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            raise ValueError(
                f"{user_line()}: curve_fit: the number of parameters is not known; give p0"
            )
        p0 = np.ones(sum(p.kind in kinds for p in parameters) - 1)
    n = np.size(p0)

    def of_vector(p: Any, x: Any) -> Any:
        return as_vector(run(f, x, *[p[k] for k in range(n)]), "curve_fit: f")

    values = compiled(of_vector, f)
    matrix = jacobian(values)

    def model(x: Any, *p: Any) -> Any:
        return np.asarray(values(np.array(p, np.float64), x))

    def jac(x: Any, *p: Any) -> Any:
        return np.asarray(matrix(np.array(p, np.float64), x))

    return scipy.optimize.curve_fit(model, xdata, ydata, p0, jac=jac, **options)


__all__ = ["curve_fit"]
