"""Integrals of functions under SciPy's names: `quad` and its kin, and `solve_ivp`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.optimize

from .. import ops
from ..checks import describe
from ..errors import ShapeError, UnsupportedFunctionError
from ..ir.trace import user_line
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from .ode import odeint
from .quadrature import How, integral

MOST = 1000
"""So many intervals `quad_vec` has room for."""


def _how(who: str, epsabs: Any, epsrel: Any, limit: Any) -> How:
    count = operator.index(limit)
    if count < 1:
        raise ValueError(f"{user_line()}: {who}: limit is {limit}; it must be at least 1")
    for word, x in (("epsabs", epsabs), ("epsrel", epsrel)):
        if isinstance(x, Boxed) or not isinstance(x, (int, float, np.number)) or x != x:
            raise TypeError(f"{user_line()}: {who}: {word} is {describe(x)}; it must be a number")
    return How(who, float(epsabs), float(epsrel), count)


def _refuse(who: str, **given: Any) -> None:
    for word, x in given.items():
        if x is not None and x is not False and not (isinstance(x, int) and x == 0):
            raise UnsupportedFunctionError(f"{user_line()}: {who} with {word}= is not supported")


def _end(who: str, word: str, x: Any) -> Any:
    kind = leaf_type(x) if isinstance(x, Boxed) else np.asarray(x)
    if len(kind.shape) or kind.dtype.kind not in "biuf":
        raise TypeError(f"{user_line()}: {who}: {word} is {describe(x)}; it must be a real number")
    return x


def _is(x: Any, infinity: float) -> bool:
    """Whether a limit is that infinity: a known number. Traced limits are finite."""
    return not isinstance(x, Boxed) and float(x) == infinity


def _over(f: Callable[[Any], Any], a: Any, b: Any, how: How) -> tuple[Any, Any]:
    """The integral between limits that may be infinite: x = a + (1 - t) / t is substituted."""
    a, b = _end(how.who, "a", a), _end(how.who, "b", b)
    inf = float("inf")
    if _is(a, inf) or _is(b, -inf):
        if _is(a, -inf) or _is(b, inf):
            raise ValueError(f"{user_line()}: {how.who}: both limits are the same infinity")
        value, error = _over(f, b, a, how)
        return -value, error
    if not _is(a, -inf) and not _is(b, inf):
        return integral(f, a, b, how)

    def whole(t: Any) -> Any:
        x = (1.0 - t) / t
        if not _is(b, inf):
            return f(b - x) / (t * t)
        if not _is(a, -inf):
            return f(a + x) / (t * t)
        return (f(x) + f(-x)) / (t * t)

    return integral(whole, 0.0, 1.0, how)


def _between(f: Callable[[Any], Any], a: Any, b: Any, points: Any, how: How) -> tuple[Any, Any]:
    """The integral, and that over each part between `points`."""
    if points is None:
        return _over(f, a, b, how)
    if _is(a, float("inf")) or _is(a, -float("inf")) or abs(float(b)) == float("inf"):
        raise ValueError(f"{user_line()}: {how.who}: infinite limits cannot be used with points")
    ends = [_end(how.who, "a point", x) for x in points]
    falls = not isinstance(a, Boxed) and not isinstance(b, Boxed) and a > b
    if not any(isinstance(x, Boxed) for x in ends):
        ends = sorted({float(x) for x in ends}, reverse=falls)
    ends = [a, *ends, b]
    part = how._replace(epsabs=how.epsabs / (len(ends) - 1))
    found = [_over(f, *pair, part) for pair in pairwise(ends)]
    return tuple([sum(x[1:], x[0]) for x in zip(*found, strict=True)])


def _tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> tuple[Any, Any]:
    """The integral of `func(x, *args)`, a number, over x from a to b, and an estimate of its error.

    By Gauss' and Kronrod's rules on intervals that are halved where the error is large, at most
    `limit` of them; a RuntimeError where that is not enough for `epsabs` or `epsrel` (SciPy warns).
    `points` are places where `func` is not smooth. Known limits may be infinite; those that are
    traced are taken to be finite. `func` is traced once. Differentiable to every order, by a, b,
    `args` and whatever `func` reads around it: derivatives are integrals that adapt themselves.
    `full_output` and `weight` are refused.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> f = lambda s: tg.integrate.quad(lambda x: np.exp(-s * x * x), -np.inf, np.inf)[0]
    >>> round(float(f(1.0) ** 2), 9), round(float(tg.grad(f)(1.0)), 9)
    (3.141592654, -0.886226925)
    """
    _refuse("quad", full_output=full_output, weight=weight, wvar=wvar, wopts=wopts)
    how = _how("quad", epsabs, epsrel, limit)

    def number(x: Any) -> Any:
        y = func(x, *_tuple(args))
        kind = leaf_type(y) if isinstance(y, Boxed) else np.asarray(y)
        if len(kind.shape):
            raise ShapeError(
                f"{user_line()}: quad: func returns an array of shape {tuple(kind.shape)}; it must "
                "return a number (quad_vec integrates arrays)"
            )
        if kind.dtype.kind == "c" and not complex_func:
            raise TypeError(
                f"{user_line()}: quad: func returns complex numbers: say complex_func=True"
            )
        return y

    return _between(number, a, b, points, how)


def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: str | None = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> tuple[Any, Any]:
    """The integral of `f(x, *args)`, an array of any shape, over x from a to b, and an estimate of
    the error in the norm, as `quad`. At most 1,000 intervals, which all elements share; the element
    with the largest error decides. Rules (`quadrature`) other than "gk21" and `full_output` are
    refused.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.integrate.quad_vec(lambda x: np.stack([x, x * x]), 0.0, 1.0)[0].round(12)
    array([0.5       , 0.33333333])
    """
    _refuse("quad_vec", full_output=full_output)
    if norm not in ("2", "max"):
        raise ValueError(f"{user_line()}: quad_vec: norm is {norm!r}; it is '2' or 'max'")
    if quadrature not in (None, "gk21"):
        raise UnsupportedFunctionError(
            f"{user_line()}: quad_vec with quadrature={quadrature!r} is not supported"
        )
    how = _how("quad_vec", epsabs, epsrel, int(min(limit, MOST)))
    value, error = _between(lambda x: f(x, *_tuple(args)), a, b, points, how)
    sizes = ops.ravel(ops.absolute(error))
    return value, ops.norm(sizes) if norm == "2" else ops.max(sizes)


def nquad(
    func: Callable[..., Any],
    ranges: Sequence[Any],
    args: Any = None,
    opts: Any = None,
    full_output: bool = False,
) -> tuple[Any, Any]:
    """The integral of `func(x0, x1, ..., *args)` over all of x0, x1, ..., and an estimate of the
    error of the outermost one. `ranges` are their limits, (a, b) each or a function of the
    variables behind it (and of args) that gives them; `opts` are options of `quad`, a dict for all
    or a sequence of one for each.

    >>> import tracegrad as tg
    >>> round(float(tg.integrate.nquad(lambda y, x: x * y, [lambda x: (0.0, x), (0.0, 2.0)])[0]), 9)
    2.0
    """
    _refuse("nquad", full_output=full_output)
    more, count = () if args is None else _tuple(args), len(ranges)
    options = [opts] * count if opts is None or isinstance(opts, dict) else list(opts)
    if len(options) != count or count < 1:
        raise ValueError(f"{user_line()}: nquad: {len(options)} opts for {count} ranges")

    def inside(level: int, outer: tuple[Any, ...]) -> tuple[Any, Any]:
        """The integral over the variables up to that one, for the ones behind it."""
        limits = ranges[level]
        low, high = limits(*outer, *more) if callable(limits) else limits

        def f(x: Any) -> Any:
            if level == 0:
                return func(x, *outer, *more)
            return inside(level - 1, (x, *outer))[0]

        return quad(f, low, high, **(options[level] or {}))

    return inside(count - 1, ())


def _given(limit: Any, *at: Any) -> Any:
    return limit(*at) if callable(limit) else limit


def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:
    """The integral of `func(y, x, *args)` over y from gfun(x) to hfun(x) and x from a to b, and an
    estimate of the error; gfun and hfun may be numbers.

    >>> import tracegrad as tg
    >>> round(float(tg.integrate.dblquad(lambda y, x: x * y, 0.0, 2.0, 0.0, lambda x: x)[0]), 9)
    2.0
    """
    ranges = [lambda x, *_: (_given(gfun, x), _given(hfun, x)), (a, b)]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


def tplquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:
    """The integral of `func(z, y, x, *args)` over z from qfun(x, y) to rfun(x, y), y from gfun(x)
    to hfun(x) and x from a to b, and an estimate of the error.

    >>> import tracegrad as tg
    >>> found = tg.integrate.tplquad(lambda z, y, x: x * z, 0.0, 1.0, 0.0, 1.0, 0.0, 2.0)
    >>> round(float(found[0]), 9)
    1.0
    """
    ranges = [
        lambda y, x, *_: (_given(qfun, x, y), _given(rfun, x, y)),
        lambda x, *_: (_given(gfun, x), _given(hfun, x)),
        (a, b),
    ]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


def _array(x: Any) -> Any:
    x = ops.stack(list(x)) if isinstance(x, (list, tuple)) and x else x
    return x if isinstance(x, Boxed) else np.asarray(x)


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """The solution of y' = fun(t, y, *args) from y0 (n,) at t_span[0], at the times `t_eval` (k,):
    SciPy's result with `t` and `y` (n, k). `options` are rtol (1e-3) and atol (1e-6).

    By `tg.odeint`, whose steps are those of "RK45", the one method: others are refused by name
    (tg.odeint has one for stiff equations, "rodas"), as are results at steps of the solver's
    choice, `dense_output` and `events`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> decay = tg.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], t_eval=[0.5, 1.0], rtol=1e-8)
    >>> decay.y.round(5)
    array([[0.60653, 0.36788]])
    """
    if method != "RK45":
        raise UnsupportedFunctionError(
            f"{user_line()}: solve_ivp with method={method!r} is not supported: it is 'RK45', and "
            'for stiff equations there is tg.odeint(..., method="rodas")'
        )
    _refuse("solve_ivp", dense_output=dense_output, events=events)
    rtol, atol = options.pop("rtol", 1e-3), options.pop("atol", 1e-6)
    if options:
        raise UnsupportedFunctionError(
            f"{user_line()}: solve_ivp with {next(iter(options))}= is not supported"
        )
    if t_eval is None:
        raise UnsupportedFunctionError(
            f"{user_line()}: solve_ivp without t_eval= is not supported: at how many times the "
            "solution would stand is known after the run only. Name them: t_eval=np.array([0.0, "
            "1.0])"
        )
    start, stop = t_span
    times = _array(t_eval)
    if len(leaf_type(times).shape) != 1:
        raise ShapeError(f"{user_line()}: solve_ivp: t_eval must be a vector")
    if not any(isinstance(x, Boxed) for x in (start, stop, times)) and times.size:
        if times.min() < min(start, stop) or times.max() > max(start, stop):
            raise ValueError(f"{user_line()}: solve_ivp: values in t_eval are not within t_span")
    state = _array(y0)
    kind = leaf_type(state)
    if len(kind.shape) != 1:
        raise ShapeError(f"{user_line()}: solve_ivp: y0 must be a vector")
    state = state if kind.dtype.kind in "fc" else ops.convert(state, np.float64)
    more = () if args is None else _tuple(args)

    def slope(y: Any, t: Any) -> Any:
        found = fun(t, y, *more)
        return ops.stack(list(found)) if isinstance(found, (list, tuple)) else found

    all_times = ops.concatenate([ops.reshape(ops.convert(start, np.float64), (1,)), times])
    y = odeint(slope, state, all_times, rtol=rtol, atol=atol)[1:]
    made: Any = scipy.optimize.OptimizeResult
    return made(
        {
            "t": times,
            "y": ops.transpose(y),
            "sol": None,
            "t_events": None,
            "y_events": None,
            "status": 0,
            "message": "The solver successfully reached the end of the integration interval.",
            "success": True,
        }
    )


__all__ = ["dblquad", "nquad", "quad", "quad_vec", "solve_ivp", "tplquad"]
