"""SciPy's optimizers, solvers and integrators with exact derivatives, compiled: `tg.scipy`.

`minimize`, `least_squares`, `root`, `curve_fit` and `quad` are called as SciPy's functions of these
names and return what they return; derivatives are not asked for. `objective`,
`least_squares_problem`, `constraint` and `ode` are for those who call SciPy themselves: they give
the functions that it takes. (`tg.minimize` and `tg.root` are something else: compiled solvers whose
results can be differentiated.)

>>> import numpy as np
>>> import tracegrad as tg
>>> def rosenbrock(x):
...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
>>> tg.scipy.minimize(rosenbrock, np.zeros(3), method="trust-exact").x.round(3)
array([1., 1., 1.])
"""

from __future__ import annotations

from .. import checks as _checks
from .constraints import constraint
from .curves import curve_fit
from .equations import root
from .integrals import quad
from .least_squares import least_squares, least_squares_problem
from .minimization import minimize
from .objectives import objective
from .odes import ode

__all__ = [
    "constraint",
    "curve_fit",
    "least_squares",
    "least_squares_problem",
    "minimize",
    "objective",
    "ode",
    "quad",
    "root",
]

_checks.publish(globals(), __all__, _checks.OFTEN)
