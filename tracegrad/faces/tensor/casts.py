"""Copies of Tensors, other dtypes, and new Tensors made after them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ..._codegen import loading
from ...checks import REFUSED, explained_here
from ...devices import CPU, KINDS, Device, DeviceArray, resolve
from ...dtypes import check
from ...ir.dispatch import STATE, Value
from ...ops.arrays.transfer import place_of, transfer
from ...sizes import INTEGRAL
from ...tape.hooks import boxed
from ...tape.versions import born

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Of the array API standard: each adds to the one before."""


def titled(result: Any, title: str, *sources: Any) -> Any:
    """Give the node that ended a composition the name that torch's users know: `MeanBackward0` for
    a sum and a division."""
    node = getattr(result, "_grad_fn", None)
    if node is not None:
        for s in sources:
            if node is getattr(s, "_grad_fn", None):
                return result
        node.title = title if "Backward" in title else f"{title}Backward0"
    return result


def sizes_of(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    try:
        return tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], INTEGRAL) else sizes
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


def own(face: Any, x: Any, requires_grad: bool = False, device: Any = None) -> Any:
    """A Tensor of what a constructor made, on a device: memory of its own, that can be written."""
    if type(x) is not DeviceArray and not isinstance(x, Value):
        x = np.asarray(x)
        if not x.flags.writeable or x.base is not None:
            x = x.copy()
    try:
        value = boxed(face, x)
        if device is not None and resolve(device) != place_of(value):
            value = transfer(value, device)
        value = born(value)
        if STATE.traces:
            STATE.traces[-1].made[id(value)] = value
        if requires_grad:
            if value.dtype.kind not in "fc":
                raise RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients"
                )
            value.requires_grad_()
    except REFUSED as error:
        raise explained_here(error) from error.__cause__
    return value


def dtype_and_device(
    args: tuple[Any, ...], dtype: Any = None, device: Any = None
) -> tuple[Any, Any]:
    """What the arguments of `to` mean: a dtype, a device, or a tensor that has both."""
    for a in args:
        if isinstance(a, Value):
            dtype, device = a.dtype, place_of(a)
        elif isinstance(a, Device) or (isinstance(a, str) and a.partition(":")[0] in KINDS):
            device = a
        elif isinstance(a, bool):
            pass  # non_blocking, copy
        elif isinstance(a, int):
            device = Device(a)
        elif isinstance(a, str):
            try:
                dtype = np.dtype(a)
            except TypeError:
                device = Device(a)  # which says what devices are called
        elif a is not None:
            dtype = a
    return dtype, device


CLASSES = {
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "int64": "LongTensor",
    "int32": "IntTensor",
    "int16": "ShortTensor",
    "int8": "CharTensor",
    "uint8": "ByteTensor",
    "uint16": "UInt16Tensor",
    "uint32": "UInt32Tensor",
    "uint64": "UInt64Tensor",
    "bool": "BoolTensor",
    "complex64": "ComplexFloatTensor",
    "complex128": "ComplexDoubleTensor",
}
"""torch's names of classes of tensors, by dtype."""


def dtype_named(dtype: Any) -> np.dtype[Any]:
    """The dtype that a dtype, torch's name of a class of tensors, or such a class means."""
    if isinstance(dtype, str):
        for name, known in CLASSES.items():
            if dtype.rpartition(".")[2] == known:
                return np.dtype(name)
    kind = getattr(dtype, "dtype", None)
    try:
        return check(np.dtype(kind if isinstance(kind, np.dtype) else dtype))
    except TypeError as error:
        raise TypeError(
            f"type(): {dtype!r} is no dtype, and no name of one such as 'torch.FloatTensor'"
        ) from error


class TensorCasts(Value):
    """Methods whose names are those of Python's types stand apart, so that the types keep their
    names elsewhere."""

    __slots__ = ()

    def clone(self: Any) -> Any:
        """A copy, through which gradients flow."""
        return titled(ops.positive(self), "CloneBackward0", self)

    def to(
        self: Any,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        copy: bool = False,
        non_blocking: bool = False,
    ) -> Any:
        """The tensor in another dtype, on another device, or in both as another tensor; itself
        where that changes nothing, unless a `copy` is asked for. Raises RuntimeError for a device
        that is not there."""
        try:
            dtype, device = dtype_and_device(args, dtype, device)
            if len(args) > 2 and isinstance(args[-1], bool):
                copy = args[-1]
            result = self if dtype is None else ops.convert(self, dtype)
            if device is not None:
                result = titled(transfer(result, device), "ToCopyBackward0", result)
            return self.clone() if copy and result is self else result
        except REFUSED as error:
            raise explained_here(error) from error.__cause__

    def type(self: Any, dtype: Any = None, non_blocking: Any = False) -> Any:
        """The name of torch's class of such tensors (`tracegrad.FloatTensor`), or the tensor in
        another dtype: a dtype, such a name, or such a class.

        >>> import tracegrad as tg
        >>> x = tg.tensor([1.5])
        >>> x.type(), x.type(tg.int64), x.type("torch.FloatTensor").dtype
        ('tracegrad.DoubleTensor', tensor([1]), dtype('float32'))
        """
        if dtype is None:
            name = CLASSES.get(self.dtype.name, self.dtype.name)
            return f"tracegrad.{'cuda.' if self.is_cuda else ''}{name}"
        return ops.convert(self, dtype_named(dtype))

    def type_as(self: Any, other: Any) -> Any:
        """In the dtype of `other`."""
        return ops.convert(self, other.dtype)

    def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
        """The tensor on a device, by the name of the array API standard; there is one stream."""
        if stream is not None:
            raise ValueError("to_device: there is one stream; stream must be None")
        return self.to(device)

    def __array_namespace__(self: Any, /, *, api_version: str | None = None) -> Any:
        """The functions of the array API standard for Tensors, `tracegrad.array_api`."""
        if api_version is not None and api_version not in VERSIONS:
            raise ValueError(
                f"__array_namespace__: api_version is {api_version!r}; "
                f"it can be {', '.join(VERSIONS)}"
            )
        return loading.load("tracegrad.array_api")

    def cpu(self: Any) -> Any:
        """The tensor in the host's memory: itself, or a copy."""
        return self.to(CPU)

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        """The tensor on a GPU, the current one where none is named: itself, or a copy."""
        return self.to("cuda" if device is None else Device(device))

    def half(self: Any) -> Any:
        """Refused: half precision is no dtype of this library."""
        raise TypeError(
            "half precision (float16) is not supported; use .float() for float32, "
            "the smallest floating dtype here"
        )

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
        """Where the elements lie."""
        return place_of(self)

    is_cpu = property(
        lambda self: place_of(self).type == "cpu",
        doc="Whether the elements lie in the host's memory.",
    )
    is_cuda = property(
        lambda self: place_of(self).type == "cuda", doc="Whether the elements lie on a GPU."
    )

    def get_device(self: Any) -> Any:
        """The number of the GPU that the elements lie on; -1 for the host's memory."""
        found = place_of(self)
        return -1 if found == CPU else found.number

    is_sparse = property(lambda self: False, doc="False: all elements are stored.")

    def new_tensor(
        self: Any, data: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False
    ) -> Any:
        """A tensor of `data` in this one's dtype, on its device."""
        return own(
            self.face,
            np.array(data, self.dtype if dtype is None else dtype),
            requires_grad,
            place_of(self) if device is None else device,
        )

    def new_zeros(
        self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False
    ) -> Any:
        """Zeros in this tensor's dtype, on its device."""
        made = ops.zeros(sizes_of(size), self.dtype if dtype is None else dtype)
        return own(self.face, made, requires_grad, place_of(self) if device is None else device)

    def new_ones(
        self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False
    ) -> Any:
        """Ones in this tensor's dtype, on its device."""
        made = ops.ones(sizes_of(size), self.dtype if dtype is None else dtype)
        return own(self.face, made, requires_grad, place_of(self) if device is None else device)

    def new_empty(
        self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False
    ) -> Any:
        """A tensor in this one's dtype, on its device, to be filled."""
        made = ops.empty(sizes_of(size), self.dtype if dtype is None else dtype)
        return own(self.face, made, requires_grad, place_of(self) if device is None else device)

    def new_full(
        self: Any,
        size: Any,
        fill_value: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: Any = False,
    ) -> Any:
        """One value everywhere, in this tensor's dtype, on its device."""
        made = ops.full(sizes_of((size,)), fill_value, self.dtype if dtype is None else dtype)
        return own(self.face, made, requires_grad, place_of(self) if device is None else device)
