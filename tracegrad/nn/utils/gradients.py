"""Gradients limited in size, and parameters as one vector."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ... import ops
from ...autograd.grad_mode import no_grad
from ...checks import describe
from ...tensor import Tensor
from ...tensors import tensor


def _listed(parameters: Any) -> list[Any]:
    if isinstance(parameters, Tensor):
        found = [parameters]
    elif isinstance(parameters, Iterable):
        found = list(parameters)
    else:
        found = None
    if found is None or not all(isinstance(p, Tensor) for p in found):
        raise TypeError(f"a Tensor or an iterable of Tensors is wanted, not {describe(parameters)}")
    return found


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """The norm of the norms of all tensors, as of one vector."""
    found = _listed(tensors)
    if not found:
        return tensor(0.0)
    total = ops.vector_norm(ops.stack([ops.vector_norm(t, norm_type) for t in found]), norm_type)
    if error_if_nonfinite and not bool(ops.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is "
            "non-finite, so it cannot be clipped. To disable this error and scale the gradients "
            "by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grad_norm_(
    parameters: Iterable[Any] | Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale all gradients in place so that their joint norm is at most `max_norm`; the norm before
    is returned.

    >>> import tracegrad as tg
    >>> w = tg.zeros(2, requires_grad=True)
    >>> (w * tg.tensor([3.0, 4.0])).sum().backward()
    >>> tg.nn.utils.clip_grad_norm_([w], 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    gradients = [p.grad for p in _listed(parameters) if p.grad is not None]
    with no_grad():
        total = get_total_norm(gradients, norm_type, error_if_nonfinite)
        factor = max_norm / (total + 1e-6)
        factor = ops.where(factor > 1.0, 1.0, factor)
        for g in gradients:
            g.mul_(factor)
    return total


def clip_grad_value_(
    parameters: Iterable[Any] | Any, clip_value: float, foreach: bool | None = None
) -> None:
    """Limit each element of the gradients in place to [-clip_value, clip_value]."""
    gradients = [p.grad for p in _listed(parameters) if p.grad is not None]
    with no_grad():
        for g in gradients:
            g.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters as one vector, through which gradients flow.

    >>> import tracegrad as tg
    >>> tg.nn.utils.parameters_to_vector([tg.ones(2), tg.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    return ops.concatenate([ops.reshape(p, (-1,)) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Sequence[Any] | Iterable[Any]) -> None:
    """Write the parts of a vector into the parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a Tensor, but got: {type(vec).__name__}")
    at, found = 0, list(parameters)
    total = sum(math.prod(p.shape) for p in found)
    if vec.shape != (total,):
        raise RuntimeError(
            f"vector_to_parameters: the parameters have {total} elements, "
            f"but the vector's shape is {tuple(vec.shape)}"
        )
    with no_grad():
        for p in found:
            count = math.prod(p.shape)
            p.copy_(vec[at : at + count].reshape(p.shape))
            at += count


__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]
