"""Copies of Tensors, other dtypes, and new Tensors made after them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._codegen import integers
from ..autograd.hooks import boxed
from ..autograd.versions import born
from ..ir.dispatch import STATE, Value


def titled(result: Any, title: str, *sources: Any) -> Any:
    """Give the node that ended a composition the name that torch's users know: `MeanBackward0` for a sum and a division."""
    node = getattr(result, "grad_fn", None)
    if node is not None:
        for s in sources:
            if node is getattr(s, "grad_fn", None):
                return result
        node.title = title if "Backward" in title else f"{title}Backward0"
    return result


def sizes_of(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    return tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], (int, np.integer, integers.Integer)) else sizes


def own(face: Any, x: Any, requires_grad: bool = False) -> Any:
    """A Tensor of what a constructor made: memory of its own, that can be written."""
    if not isinstance(x, Value):
        x = np.asarray(x)
        if not x.flags.writeable or x.base is not None:
            x = x.copy()
    value = born(boxed(face, x))
    if STATE.traces:
        STATE.traces[-1].made[id(value)] = value
    if requires_grad:
        if value.dtype.kind not in "fc":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        value.requires_grad_()
    return value


class Device(str):
    """Where a tensor lies: always in the CPU's memory."""

    __slots__ = ()
    index = None  # type: ignore[assignment]

    @property
    def type(self) -> str:
        """The kind of device."""
        return str(self)

    def __repr__(self) -> str:
        return f"device(type='{self!s}')"


CPU = Device("cpu")


class TensorCasts(Value):
    """Methods whose names are those of Python's types stand apart, so that the types keep their names elsewhere."""

    __slots__ = ()

    def clone(self: Any) -> Any:
        """A copy, through which gradients flow."""
        return titled(ops.positive(self) if self.dtype.kind != "b" else ops.logical_or(self, False), "CloneBackward0", self)

    def to(self: Any, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False) -> Any:
        """The tensor in another dtype (or the dtype of another tensor); the device "cpu" is accepted."""
        for a in args:
            if isinstance(a, Value):
                dtype = a.dtype  # type: ignore[attr-defined]
            elif isinstance(a, str) and a.partition(":")[0] in ("cpu", "cuda", "meta"):
                device = a
            elif a is not None:
                dtype = a
        if device is not None and str(device) != "cpu":
            raise RuntimeError(f"tensors live in the CPU's memory; {device!r} is not available. Leave the device out, or name 'cpu'")
        result = self if dtype is None else ops.convert(self, dtype)
        return self.clone() if copy and result is self else result

    def type_as(self: Any, other: Any) -> Any:
        """In the dtype of `other`."""
        return ops.convert(self, other.dtype)

    def cpu(self: Any) -> Any:
        """This tensor."""
        return self

    def half(self: Any) -> Any:
        """Refused: half precision is no dtype of this library."""
        raise TypeError("half precision (float16) is not supported; use .float() for float32, the smallest floating dtype here")

    bfloat16 = half

    def short(self: Any) -> Any:
        """In int16."""
        return ops.convert(self, np.int16)

    def char(self: Any) -> Any:
        """In int8."""
        return ops.convert(self, np.int8)

    def byte(self: Any) -> Any:
        """In uint8."""
        return ops.convert(self, np.uint8)

    def cfloat(self: Any) -> Any:
        """In complex64."""
        return ops.convert(self, np.complex64)

    def cdouble(self: Any) -> Any:
        """In complex128."""
        return ops.convert(self, np.complex128)

    def float(self: Any) -> Any:
        """In float32."""
        return ops.convert(self, np.float32)

    def double(self: Any) -> Any:
        """In float64."""
        return ops.convert(self, np.float64)

    def int(self: Any) -> Any:
        """In int32."""
        return ops.convert(self, np.int32)

    def long(self: Any) -> Any:
        """In int64."""
        return ops.convert(self, np.int64)

    def bool(self: Any) -> Any:
        """Whether each element is not 0."""
        return ops.convert(self, np.bool_)

    def is_floating_point(self: Any) -> Any:
        """Whether the dtype is a real floating one."""
        return self.dtype.kind == "f"

    def is_complex(self: Any) -> Any:
        """Whether the dtype is complex."""
        return self.dtype.kind == "c"

    def is_signed(self: Any) -> Any:
        """Whether the dtype has negative numbers."""
        return self.dtype.kind in "ifc"

    @property
    def device(self: Any) -> Device:
        """The CPU."""
        return CPU

    is_cpu = property(lambda self: True, doc="True: tensors lie in the CPU's memory.")
    is_cuda = property(lambda self: False, doc="False: tensors lie in the CPU's memory.")
    is_sparse = property(lambda self: False, doc="False: all elements are stored.")

    def new_tensor(self: Any, data: Any, dtype: Any = None, requires_grad: Any = False) -> Any:
        """A tensor of `data` in this one's dtype."""
        return own(self.face, np.array(data, self.dtype if dtype is None else dtype), requires_grad)

    def new_zeros(self: Any, *size: Any, dtype: Any = None, requires_grad: Any = False) -> Any:
        """Zeros in this tensor's dtype."""
        return own(self.face, ops.zeros(sizes_of(size), self.dtype if dtype is None else dtype), requires_grad)

    def new_ones(self: Any, *size: Any, dtype: Any = None, requires_grad: Any = False) -> Any:
        """Ones in this tensor's dtype."""
        return own(self.face, ops.ones(sizes_of(size), self.dtype if dtype is None else dtype), requires_grad)

    def new_empty(self: Any, *size: Any, dtype: Any = None, requires_grad: Any = False) -> Any:
        """A tensor in this one's dtype, to be filled."""
        return own(self.face, ops.empty(sizes_of(size), self.dtype if dtype is None else dtype), requires_grad)

    def new_full(self: Any, size: Any, fill_value: Any, dtype: Any = None, requires_grad: Any = False) -> Any:
        """One value everywhere, in this tensor's dtype."""
        return own(self.face, ops.full(sizes_of((size,)), fill_value, self.dtype if dtype is None else dtype), requires_grad)
