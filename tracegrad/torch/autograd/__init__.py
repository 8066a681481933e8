"""torch.autograd: `tracegrad.autograd`, and the older `Variable`."""

from __future__ import annotations

from typing import Any

from ...autograd import (
    Function,
    anomaly_mode,
    backward,
    detect_anomaly,
    enable_grad,
    forward_ad,
    function,
    grad,
    grad_mode,
    gradcheck,
    gradgradcheck,
    graph,
    inference_mode,
    is_anomaly_enabled,
    no_grad,
    profiler,
    set_detect_anomaly,
    set_grad_enabled,
)
from ...checks import describe
from ...dtypes import is_differentiable
from ...tensor import Tensor
from . import functional


class _OfTensors(type):
    """`isinstance(x, Variable)` is true of every Tensor; calling the class gives a leaf."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)

    def __call__(
        cls, data: Any = (), requires_grad: bool = False, volatile: bool | None = None
    ) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Variable data has to be a tensor, but got {type(data).__name__}; "
                "make one with torch.tensor(...)"
            )
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"Variable: requires_grad is {describe(requires_grad)}; it must be True or False"
            )
        if requires_grad and not is_differentiable(data.dtype):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        found = data.detach()
        return found.requires_grad_() if requires_grad else found


class Variable(metaclass=_OfTensors):
    """A leaf on the memory of a tensor: what torch before 0.4 needed for gradients; a Tensor today.

    >>> import tracegrad.torch as torch
    >>> x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """


__all__ = [
    "Function",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]
