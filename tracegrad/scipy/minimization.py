"""`minimize`: SciPy's, with the derivatives that each of its methods takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import scipy.optimize

from ..ir.trace import user_line
from .bounds import pairs
from .constraints import Constraint
from .objectives import Objective
from .unknowns import Function, Unknowns

_scipys: Any = scipy.optimize.minimize  # by any name of a method
DERIVATIVES = {
    **dict.fromkeys(("nelder-mead", "powell", "cobyla", "cobyqa"), ()),
    **dict.fromkeys(("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"), ("jac",)),
    **dict.fromkeys(("dogleg", "trust-exact"), ("jac", "hess")),
    # Those that want products alone are spared the matrix.
    **dict.fromkeys(("newton-cg", "trust-ncg", "trust-krylov", "trust-constr"), ("jac", "hessp")),
}
"""What SciPy's methods take."""
SQUARE = ("trust-constr",)
"""The methods that take the Hessians of constraints."""


def minimize(
    f: Function,
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str | Callable[..., Any] | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """`scipy.optimize.minimize` with the compiled derivatives that the method takes: gradients,
    Hessians or products with them; of constraints too.

    f             `f(x, *args)` with x as x0 is; returns one real number; it is traced
    x0            where to start: a number, an array of any shape or a tree of them, floating-point
                  or complex (lists of numbers and integers are floating-point arrays, as in SciPy)
    bounds        as SciPy takes them; where x0 is a tree, a tree as x0 of pairs (lower, upper),
                  either of which may be None, a number or an array, or None in place of a pair
    constraints   one or a list of `tg.scipy.constraint`, SciPy's dicts and NonlinearConstraints,
                  whose functions take x as f does and are given derivatives (where they bring none
                  of their own), and LinearConstraints on the vector

    `method`, `tol`, `callback` and `options` are SciPy's; the callback is given x as f is. Returns
    SciPy's OptimizeResult, of which `x` has the structure of x0 and the rest is SciPy's. Value and
    gradient at one x are one evaluation. Numbers are float64 to SciPy, f is given the dtypes of x0.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> f = lambda p: np.sum((p["a"] - 3.0) ** 2) + p["b"] ** 4
    >>> disk = tg.scipy.constraint(lambda p: np.sum(p["a"] ** 2), -np.inf, 2.0)
    >>> start = {"a": np.zeros(2), "b": 1.0}
    >>> found = tg.scipy.minimize(f, start, method="SLSQP", constraints=disk)
    >>> found.x["a"].round(4)
    array([1., 1.])
    """
    problem = Objective(f, x0, "minimize: x0")
    unknowns = problem.unknowns
    name = method.lower() if isinstance(method, str) else ""
    if name and name not in DERIVATIVES:
        raise ValueError(
            f"{user_line()}: minimize: SciPy has no method {method!r}; "
            f"it has {', '.join(DERIVATIVES)}"
        )
    wanted = DERIVATIVES[name] if name else ("jac", "hess", "hessp") if method else ("jac",)
    found = _scipys(
        problem.fun,
        unknowns.pack(x0),
        args,
        method,
        bounds=pairs(bounds, unknowns),
        constraints=_constraints(constraints, x0, not name or name in SQUARE, bool(method)),
        tol=tol,
        callback=_given_trees(callback, unknowns),
        options=options,
        **{part: getattr(problem, part) for part in wanted},
    )
    found.x = unknowns.unpack(found.x)
    return found


def _constraints(given: Any, x0: Any, curved: bool, chosen: bool) -> Any:
    one = isinstance(
        given,
        (dict, scipy.optimize.NonlinearConstraint, scipy.optimize.LinearConstraint),
    )
    made: list[Any] = []
    for k, c in enumerate([given] if one else given):
        if isinstance(c, dict) and not callable(c.get("jac")):
            c = _of_dict(c, k)
        elif (
            isinstance(c, scipy.optimize.NonlinearConstraint)
            and not isinstance(c, Constraint)
            and not callable(c.jac)
        ):
            c = Constraint(c.fun, c.lb, c.ub, None, c.keep_feasible)
        if isinstance(c, Constraint):
            c = c.of(x0)
            # Without a method SciPy takes SLSQP.
            made += [c] if curved and chosen else c.without_hessian()
        else:
            made.append(c)
    return made


def _of_dict(c: dict[str, Any], k: int) -> Constraint:
    """SciPy's older form: an equation, or what must not be negative."""
    kind, g, args = str(c.get("type", "")).lower(), c.get("fun"), c.get("args", ())
    if kind not in ("eq", "ineq") or not callable(g):
        raise ValueError(
            f"{user_line()}: minimize: constraint {k} is {c!r:.80}; a dict needs "
            "'type' ('eq' or 'ineq') and 'fun'"
        )
    return Constraint(lambda x: g(x, *args), 0.0, 0.0 if kind == "eq" else float("inf"))


def _given_trees(callback: Callable[..., Any] | None, unknowns: Unknowns) -> Any:
    """The callback as SciPy calls it, which looks at the name of its parameter."""
    if callback is None:
        return None
    user = callback
    try:
        names = set(inspect.signature(user).parameters)
    except (TypeError, ValueError):
        names = set()
    if names == {"intermediate_result"}:

        def told(intermediate_result: Any) -> Any:
            seen = {**intermediate_result, "x": unknowns.unpack(intermediate_result.x)}
            return user(intermediate_result=type(intermediate_result)(seen))

        return told
    return lambda x, *rest: user(unknowns.unpack(x), *rest)


__all__ = ["minimize"]
