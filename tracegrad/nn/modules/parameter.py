"""`Parameter`: a Tensor that a module counts among what is trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import tensors
from ...devices import DeviceArray
from ...dtypes import is_differentiable
from ...tape.versions import Uncounted
from ...tensor import Tensor


class Parameter(Tensor):
    """A Tensor that a Module counts among its parameters; it requires grad. It shares the memory of
    `data`.

    >>> import tracegrad as tg
    >>> tg.nn.Parameter(tg.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            data = tensors.empty(0)
        if isinstance(data, Tensor):
            data._refresh()
        array = data._data if isinstance(data, Tensor) else data
        if not isinstance(array, (np.ndarray, DeviceArray)):
            raise TypeError(
                f"Parameter: data must be a Tensor or an ndarray, not {type(data).__name__}"
            )
        if requires_grad and not is_differentiable(array.dtype):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        super().__init__(array, requires_grad)
        if isinstance(data, Tensor):
            # Who writes into the one writes into the other.
            counter, self._borrowed = data._version_counter, data._borrowed
            self._versions = None if type(counter) is Uncounted else counter

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


def clear(p: Any, set_to_none: bool) -> None:
    """Forget a gradient, or set it to zeros without its history."""
    if set_to_none:
        p.grad = None
    elif p.grad is not None:
        if p.grad.grad_fn is not None:
            p.grad.detach_()
        else:
            p.grad.requires_grad_(False)
        p.grad.zero_()


__all__ = ["Parameter"]
