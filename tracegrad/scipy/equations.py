"""`root`: SciPy's, with the compiled Jacobian."""

from __future__ import annotations

from typing import Any

import scipy.optimize

from ..errors import ShapeError
from ..ir.trace import user_line
from .least_squares import LeastSquaresProblem
from .unknowns import Function

_scipys: Any = scipy.optimize.root  # by any name of a method
WITH_JACOBIAN = ("hybr", "lm")


def root(
    f: Function,
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    callback: Any = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """`scipy.optimize.root` with the compiled Jacobian, where the method takes one ("hybr", "lm").

    f    `f(x, *args)` with x as x0 is; returns as many numbers as x has ("lm": or more), as an
         array of any shape or a tree; it is traced
    x0   where to start: a number, an array of any shape or a tree of them, floating-point or
         complex

    `method`, `tol`, `callback` and `options` are SciPy's. Returns SciPy's OptimizeResult, of which
    `x` has the structure of x0. Raises a ShapeError where the number of equations is another one.
    `tg.root` is the solver whose solution can be differentiated.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> crossing = lambda p: (p["x"] ** 2 + p["y"] ** 2 - 1.0, p["x"] - p["y"])
    >>> found = tg.scipy.root(crossing, {"x": 1.0, "y": 0.0})
    >>> float(found.x["x"].round(6)), found.success
    (0.707107, True)
    """
    args = args if isinstance(args, tuple) else (args,)
    problem = LeastSquaresProblem(f, x0, "root: x0")
    unknowns = problem.unknowns
    start = unknowns.pack(x0)
    equations = problem.fun(start, *args).size
    if equations != unknowns.size and not (method == "lm" and equations > unknowns.size):
        raise ShapeError(
            f"{user_line()}: root: f returns {equations} numbers for {unknowns.size} unknowns; "
            "it must return one for each"
        )
    found = _scipys(
        problem.fun,
        start,
        args,
        method,
        jac=problem.jac if method in WITH_JACOBIAN else None,
        tol=tol,
        callback=callback and (lambda x, residuals: callback(unknowns.unpack(x), residuals)),
        options=options,
    )
    found.x = unknowns.unpack(found.x)
    return found


__all__ = ["root"]
