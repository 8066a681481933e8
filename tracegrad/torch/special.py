"""torch.special: special functions of Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from .methods import FUNCTIONS, tensor_of, written


def _of(name: str, operation: str) -> Callable[..., Any]:
    function: Any = getattr(ops, operation)

    def made(input: Any, *others: Any, out: Any = None) -> Any:
        found = function(tensor_of(f"special.{name}", input), *others)
        return found if out is None else written(f"special.{name}", out, found)

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
softmax, log_softmax, logsumexp = (
    FUNCTIONS[name] for name in ("softmax", "log_softmax", "logsumexp")
)


def polygamma(n: int, input: Any) -> Any:
    """The n-th derivative of digamma."""
    return tensor_of("special.polygamma", input).polygamma(n)


__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
]
