"""Orthogonal polynomials of known degrees, with SciPy's names, by their recurrences (DLMF 18.9):
compositions, so that every derivative is one, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...checks import describe
from ...dtypes import inexact
from ...errors import UnsupportedFunctionError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ..define import as_array
from ..elementwise.arithmetic import div, sub, where
from ..elementwise.derived import add, convert, mul

HIGHEST = 1000
"""Each degree is a step that is written out."""
Step = Callable[[int, Any, Any], Any]


def _degrees(name: str, n: Any) -> np.ndarray[Any, Any]:
    if isinstance(n, Value):
        raise UnsupportedFunctionError(
            f"{user_line()}: special.{name}: the degree n is traced or differentiated; it must be "
            "known integers"
        )
    found = np.asarray(n)
    whole = found.astype(np.int64) if found.dtype.kind in "biuf" else found
    if found.dtype.kind not in "biuf" or not np.all((whole == found) & (whole >= 0)):
        raise ValueError(
            f"special.{name}: the degree n is {describe(n)}; it must be integers from 0 on"
        )
    if np.any(whole > HIGHEST):
        raise ValueError(
            f"special.{name}: the degree n is {describe(n)}; it must be at most {HIGHEST}"
        )
    return whole


def _evaluate(name: str, n: Any, x: Any, first: Any, step: Step) -> Any:
    """The polynomials of degrees n: 1, `first`, and `step(k, p[k], p[k - 1])` for p[k + 1]."""
    n = _degrees(name, n)
    before: Any = add(mul(x, 0.0), 1.0)
    now: Any = first
    found = where(n == 0, before, now) if n.ndim else (before if n == 0 else now)
    for k in range(1, int(n.max(initial=0))):
        before, now = now, step(k, now, before)
        found = where(n == k + 1, now, found) if n.ndim else now
    return found


def _float(x: Any) -> Any:
    x = as_array(x)
    return x if x.dtype.kind in "fc" else convert(x, inexact(x.dtype))


def eval_legendre(n: Any, x: Any) -> Any:
    """Legendre's polynomials of degrees n, known integers.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_legendre(2, 0.5))
    -0.125
    """
    x = _float(x)
    return _evaluate("eval_legendre", n, x, x, lambda k, p, q: div(
        sub(mul(mul(x, p), 2.0 * k + 1), mul(q, float(k))), k + 1.0))  # fmt: skip


def eval_chebyt(n: Any, x: Any) -> Any:
    """Chebyshev's polynomials of the first kind, of degrees n, known integers.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_chebyt(2, 0.5))
    -0.5
    """
    x = _float(x)
    return _evaluate("eval_chebyt", n, x, x, lambda k, p, q: sub(mul(mul(x, 2.0), p), q))


def eval_chebyu(n: Any, x: Any) -> Any:
    """Chebyshev's polynomials of the second kind, of degrees n, known integers.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_chebyu(2, 0.5))
    0.0
    """
    x = _float(x)
    twice = mul(x, 2.0)
    return _evaluate("eval_chebyu", n, x, twice, lambda k, p, q: sub(mul(twice, p), q))


def eval_hermite(n: Any, x: Any) -> Any:
    """Hermite's polynomials (of the weight `exp(-x**2)`) of degrees n, known integers.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_hermite(2, 0.5))
    -1.0
    """
    x = _float(x)
    twice = mul(x, 2.0)
    return _evaluate("eval_hermite", n, x, twice, lambda k, p, q: sub(
        mul(twice, p), mul(q, 2.0 * k)))  # fmt: skip


def eval_hermitenorm(n: Any, x: Any) -> Any:
    """Hermite's polynomials of the weight `exp(-x**2 / 2)`, of degrees n, known integers.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_hermitenorm(2, 0.5))
    -0.75
    """
    x = _float(x)
    return _evaluate("eval_hermitenorm", n, x, x, lambda k, p, q: sub(
        mul(x, p), mul(q, float(k))))  # fmt: skip


def eval_genlaguerre(n: Any, alpha: Any, x: Any) -> Any:
    """Generalized Laguerre polynomials of degrees n, known integers; differentiable by alpha, too.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_genlaguerre(1, 0.5, 2.0))
    -0.5
    """
    x, alpha = _float(x), _float(alpha)
    first = sub(add(alpha, 1.0), x)

    def step(k: int, p: Any, q: Any) -> Any:
        now = mul(sub(add(alpha, 2.0 * k + 1), x), p)
        return div(sub(now, mul(add(alpha, float(k)), q)), k + 1.0)

    return _evaluate("eval_genlaguerre", n, add(x, mul(alpha, 0.0)), first, step)


def eval_laguerre(n: Any, x: Any) -> Any:
    """Laguerre's polynomials of degrees n, known integers.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_laguerre(1, 2.0))
    -1.0
    """
    x = _float(x)
    return _evaluate("eval_laguerre", n, x, sub(1.0, x), lambda k, p, q: div(
        sub(mul(sub(2.0 * k + 1, x), p), mul(q, float(k))), k + 1.0))  # fmt: skip


def eval_gegenbauer(n: Any, alpha: Any, x: Any) -> Any:
    """Gegenbauer's (ultraspherical) polynomials of degrees n, known integers; differentiable by
    alpha, too.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_gegenbauer(1, 0.5, 2.0))
    2.0
    """
    x, alpha = _float(x), _float(alpha)

    def step(k: int, p: Any, q: Any) -> Any:
        now = mul(mul(add(alpha, float(k)), x), mul(p, 2.0))
        return div(sub(now, mul(add(mul(alpha, 2.0), k - 1.0), q)), k + 1.0)

    first = mul(mul(alpha, x), 2.0)
    return _evaluate("eval_gegenbauer", n, add(x, mul(alpha, 0.0)), first, step)


__all__ = [
    "eval_chebyt", "eval_chebyu", "eval_gegenbauer", "eval_genlaguerre", "eval_hermite",
    "eval_hermitenorm", "eval_laguerre", "eval_legendre",
]  # fmt: skip
