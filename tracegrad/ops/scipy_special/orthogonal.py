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
from ..elementwise.arithmetic import div, equal, less, sub, where
from ..elementwise.derived import add, convert, mul
from ..elementwise.elementary import absolute
from ..elementwise.trigonometric import cos
from .series import binom

HIGHEST = 1000
"""Each degree is a step that is written out."""
Step = Callable[[int, Any, Any], Any]
INFINITY = float("inf")


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
    before: Any = where(equal(x, x), 1.0, x)
    now: Any = first
    found = where(n == 0, before, now) if n.ndim else (before if n == 0 else now)
    for k in range(1, int(n.max(initial=0))):
        # Beyond all numbers the last term is the largest.
        kept = where(equal(absolute(now), INFINITY), 0.0, before)
        before, now = now, step(k, now, kept)
        found = where(n == k + 1, now, found) if n.ndim else now
    return found


def _beside(x: Any, *parameters: Any) -> Any:
    """x in the shape of all."""
    for parameter in parameters:
        x = where(equal(parameter, parameter), x, parameter)
    return x


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

    return _evaluate("eval_genlaguerre", n, _beside(x, alpha), first, step)


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
    return _evaluate("eval_gegenbauer", n, _beside(x, alpha), first, step)


def eval_jacobi(n: Any, alpha: Any, beta: Any, x: Any) -> Any:
    """Jacobi's polynomials of degrees n, known integers, for alpha and beta above -1;
    differentiable by alpha and beta, too. By DLMF 18.9.2.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_jacobi(1, 1.0, 0.0, 0.5))
    1.25
    """
    x, alpha, beta = _float(x), _float(alpha), _float(beta)
    both = add(alpha, beta)
    left = less(x, 0)
    end, other = where(left, -1.0, 1.0), where(left, beta, alpha)

    def step(k: int, p: Any, q: Any) -> Any:
        whole = add(both, 2.0 * k)
        slope = mul(mul(add(whole, 1.0), whole), add(whole, 2.0))
        # From the nearer end of the interval: there is no difference of large squares.
        rest = add(mul(both, add(other, 1.0)), mul(add(both, k + 1.0), 2.0 * k))
        inside = add(mul(slope, sub(x, end)), mul(mul(mul(add(whole, 1.0), rest), 2.0), end))
        last = mul(mul(add(alpha, float(k)), add(beta, float(k))), mul(add(whole, 2.0), 2.0))
        below = mul(mul(add(both, k + 1.0), whole), 2.0 * (k + 1))
        return div(sub(mul(inside, p), mul(last, q)), below)

    first = add(add(alpha, 1.0), mul(mul(add(both, 2.0), sub(x, 1.0)), 0.5))
    return _evaluate("eval_jacobi", n, _beside(x, alpha, beta), first, step)


def eval_chebyc(n: Any, x: Any) -> Any:
    """Chebyshev's polynomials of the first kind on [-2, 2], `2 * eval_chebyt(n, x / 2)`.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_chebyc(2, 1.0))
    -1.0
    """
    return mul(eval_chebyt(_degrees("eval_chebyc", n), mul(_float(x), 0.5)), 2.0)


def eval_chebys(n: Any, x: Any) -> Any:
    """Chebyshev's polynomials of the second kind on [-2, 2], `eval_chebyu(n, x / 2)`.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_chebys(2, 1.0))
    0.0
    """
    return eval_chebyu(_degrees("eval_chebys", n), mul(_float(x), 0.5))


def _shifted(x: Any) -> Any:
    return sub(mul(_float(x), 2.0), 1.0)


def eval_sh_legendre(n: Any, x: Any) -> Any:
    """Legendre's polynomials on [0, 1], `eval_legendre(n, 2 * x - 1)`.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_sh_legendre(2, 0.75))
    -0.125
    """
    return eval_legendre(_degrees("eval_sh_legendre", n), _shifted(x))


def eval_sh_chebyt(n: Any, x: Any) -> Any:
    """Chebyshev's polynomials of the first kind on [0, 1], `eval_chebyt(n, 2 * x - 1)`.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_sh_chebyt(2, 0.75))
    -0.5
    """
    return eval_chebyt(_degrees("eval_sh_chebyt", n), _shifted(x))


def eval_sh_chebyu(n: Any, x: Any) -> Any:
    """Chebyshev's polynomials of the second kind on [0, 1], `eval_chebyu(n, 2 * x - 1)`.

    >>> import tracegrad as tg
    >>> float(tg.special.eval_sh_chebyu(2, 0.75))
    0.0
    """
    return eval_chebyu(_degrees("eval_sh_chebyu", n), _shifted(x))


def eval_sh_jacobi(n: Any, p: Any, q: Any, x: Any) -> Any:
    """Jacobi's polynomials on [0, 1] whose highest coefficient is 1,
    `eval_jacobi(n, p - q, q - 1, 2 * x - 1) / binom(2 * n + p - 1, n)`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.eval_sh_jacobi(1, 2.0, 1.0, 0.5)), 6)
    0.166667
    """
    n = _degrees("eval_sh_jacobi", n)
    x, p, q = (_float(v) for v in (x, p, q))
    of_size = binom(add(mul(n, 2.0), sub(p, 1.0)), n)
    return div(eval_jacobi(n, sub(p, q), sub(q, 1.0), _shifted(x)), of_size)


def diric(x: Any, n: Any) -> Any:
    """Dirichlet's kernel `sin(n * x / 2) / (n * sin(x / 2))` of known integers n from 1 on. By
    Chebyshev's polynomial of the second kind in cos(x / 2), which has all derivatives at multiples
    of 2 pi as well.

    >>> import tracegrad as tg
    >>> float(tg.special.diric(0.0, 3))
    1.0
    """
    if isinstance(n, Value):
        n = _degrees("diric", n)
    count = np.asarray(n)
    if np.any(count < 1):
        raise ValueError(f"special.diric: n is {describe(n)}; it must be integers from 1 on")
    x = _float(x)
    of_size = count.astype(x.dtype) if count.ndim else float(count)
    return div(eval_chebyu(count - 1, cos(mul(x, 0.5))), of_size)


__all__ = [
    "diric", "eval_chebyc", "eval_chebys", "eval_chebyt", "eval_chebyu",
    "eval_gegenbauer", "eval_genlaguerre", "eval_hermite", "eval_hermitenorm", "eval_jacobi",
    "eval_laguerre", "eval_legendre", "eval_sh_chebyt", "eval_sh_chebyu", "eval_sh_jacobi",
    "eval_sh_legendre",
]  # fmt: skip
