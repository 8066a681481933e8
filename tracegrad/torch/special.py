"""torch.special: special functions of Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..ops.scipy_special import functions as scipys
from .methods import FUNCTIONS, tensor_of, written


def _of(name: str, operation: str) -> Callable[..., Any]:
    function: Any = getattr(ops, operation)

    def made(input: Any, *others: Any, out: Any = None) -> Any:
        found = function(tensor_of(f"special.{name}", input), *others)
        return written(f"special.{name}", out, found)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"As `tracegrad.{operation}`, of a Tensor. {function.__doc__}".partition("\n")[0]
    return made


entr, xlog1py, ndtr, ndtri = (_of(name, name) for name in ("entr", "xlog1py", "ndtr", "ndtri"))
expit, logit, erf, erfc, erfinv, exp2, expm1, log1p, sinc = (
    _of(name, name)
    for name in ("expit", "logit", "erf", "erfc", "erfinv", "exp2", "expm1", "log1p", "sinc")
)
gammaln, digamma, psi, xlogy, round = (
    _of(name, name) for name in ("gammaln", "digamma", "psi", "xlogy", "round")
)


def _scipys(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def made(input: Any, *others: Any, out: Any = None) -> Any:
        found = function(tensor_of(f"special.{name}", input), *others)
        return written(f"special.{name}", out, found)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"As `tracegrad.special.{function.__name__}`, of a Tensor."
    return made


i0, i0e, i1, i1e, erfcx, log_ndtr, zeta, gammainc, gammaincc = (
    _scipys(name, getattr(scipys, name))
    for name in ("i0", "i0e", "i1", "i1e", "erfcx", "log_ndtr", "zeta", "gammainc", "gammaincc")
)
bessel_j0, bessel_j1, bessel_y0, bessel_y1 = (
    _scipys(f"bessel_{name}", getattr(scipys, name)) for name in ("j0", "j1", "y0", "y1")
)
modified_bessel_i0, modified_bessel_i1, modified_bessel_k0, modified_bessel_k1 = (
    _scipys(f"modified_bessel_{name}", getattr(scipys, name)) for name in ("i0", "i1", "k0", "k1")
)
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = (
    _scipys(f"scaled_modified_bessel_{name}", getattr(scipys, f"{name}e")) for name in ("k0", "k1")
)
softmax, log_softmax, logsumexp = (
    FUNCTIONS[name] for name in ("softmax", "log_softmax", "logsumexp")
)


def multigammaln(input: Any, p: int) -> Any:
    """Logarithm of the multivariate gamma function of dimension p."""
    return scipys.multigammaln(tensor_of("special.multigammaln", input), p)


def polygamma(n: int, input: Any) -> Any:
    """The n-th derivative of digamma."""
    return tensor_of("special.polygamma", input).polygamma(n)


__all__ = [
    "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "entr", "erf", "erfc", "erfcx",
    "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1",
    "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "modified_bessel_i0",
    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr",
    "ndtri", "polygamma", "psi", "round", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "sinc", "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip
