"""torch's in-place methods, whose names end in an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..ir.dispatch import Value
from .operators import operand


def _in_place(name: str) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        return self._update(getattr(ops, name), *[operand(o) for o in others])

    method.__name__, method.__doc__ = name + "_", f"As tracegrad.{name}, in place."
    return method


class TensorUpdates(Value):
    """Each writes through `_update`: views and their bases see it, the tape counts it."""

    __slots__ = ()

    mul_, div_, pow_, remainder_, floor_divide_ = map(_in_place, ("mul", "div", "power", "remainder", "floor_divide"))
    exp_, log_, sqrt_, neg_, abs_, tanh_ = map(_in_place, ("exp", "log", "sqrt", "neg", "absolute", "tanh"))
    sigmoid_, relu_, sin_, cos_, reciprocal_, square_ = map(_in_place, ("sigmoid", "relu", "sin", "cos", "reciprocal", "square"))
    floor_, ceil_, trunc_, sign_, maximum_, minimum_ = map(_in_place, ("floor", "ceil", "trunc", "sign", "maximum", "minimum"))

    def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        """Add in place `alpha` times the other."""
        return self._update(ops.add, operand(other) if alpha == 1 else ops.mul(alpha, operand(other)))

    def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        """Subtract in place `alpha` times the other."""
        return self._update(ops.sub, operand(other) if alpha == 1 else ops.mul(alpha, operand(other)))

    def addcmul_(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        """Add `value * tensor1 * tensor2` in place."""
        return self._update(ops.add, ops.mul(value, ops.mul(tensor1, tensor2)))

    def addcdiv_(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        """Add `value * tensor1 / tensor2` in place."""
        return self._update(ops.add, ops.mul(value, ops.div(tensor1, tensor2)))

    def lerp_(self: Any, end: Any, weight: Any) -> Any:
        """Move in place towards `end` by the fraction `weight`."""
        return self._update(lambda x: x + weight * (end - x))

    def clamp_(self: Any, min: Any = None, max: Any = None) -> Any:
        """Limit the elements to [min, max] in place."""
        return self._update(ops.clip, min, max)

    def masked_fill_(self: Any, mask: Any, value: Any) -> Any:
        """Set the elements where the mask is true."""
        return self._update(lambda x: ops.where(mask, value, x))

    def zero_(self: Any) -> Any:
        """Set all elements to 0."""
        return self.fill_(0)

    def fill_(self: Any, value: Any) -> Any:
        """Set all elements to one value."""
        return self.copy_(value)

    def copy_(self: Any, src: Any) -> Any:
        """Take the (broadcast) elements of `src`."""
        source = ops.convert(operand(src), self.dtype)
        # Selecting never the old value keeps the result on the tape of both.
        return self._update((lambda x: ops.where(False, x, source)) if self.requires_grad else lambda x: ops.broadcast_to(source, x.shape))

    def uniform_(self: Any, low: float = 0.0, high: float = 1.0) -> Any:
        """Fill with uniform random numbers."""
        return self.copy_(ops.random.DEFAULT.uniform(low, high, self.shape))

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0) -> Any:
        """Fill with normal random numbers."""
        return self.copy_(ops.random.DEFAULT.normal(mean, std, self.shape))
