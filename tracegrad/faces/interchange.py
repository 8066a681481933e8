"""A tensor outside of this library: as an ndarray, by DLPack, as memory and as Python's numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._codegen import addresses
from ..checks import REFUSED, explained_here
from ..devices import DeviceArray, exchange
from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..tape.mode import MODE
from ..types import normalize_axis
from .strides import contiguous
from .traced_memory import memory_of


class Interchange(Value):
    """What gives a tensor's elements and its memory away."""

    __slots__ = ()

    def numpy(self: Any, *, force: bool = False) -> np.ndarray[Any, Any]:
        """An ndarray on the same memory; writes go both ways, and count as writes into the tensor.
        `force` detaches first."""
        if self.requires_grad and MODE.enabled and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. "
                "Use tensor.detach().numpy() instead."
            )
        self._refresh()
        if type(self._data) is DeviceArray:
            if not force:
                self._data.__array__()
            return self._data.copy_to_host()
        data = self._concrete("numpy()", "Use NumPy's functions on the traced value itself.")
        if STATE.traces and not any(id(self) in trace.made for trace in STATE.traces):
            # NumPy would write into it once, while the function is traced.
            seen: np.ndarray[Any, Any] = data.view()
            seen.flags.writeable = False
            return seen
        lent: np.ndarray[Any, Any] = self._version_counter.lend(data)
        return lent

    def item(self: Any) -> Any:
        """The one element as a Python number."""
        self._refresh()
        data = self._concrete(
            "item()",
            "Leave the value an array: arithmetic works on it as on a number, and print shows it. "
            "Return it (loss.detach()), and call item() on what the compiled function gives.",
        )
        if data.size != 1:
            raise RuntimeError(f"a Tensor with {data.size} elements cannot be converted to Scalar")
        return data.item()

    def tolist(self: Any) -> Any:
        """The elements as nested lists of Python numbers."""
        self._refresh()
        return self._concrete("tolist()", "Leave the value an array.").tolist()

    def data_ptr(self: Any) -> int:
        """The address of the first element."""
        self._refresh()
        if type(self._data) is DeviceArray:
            return self._data.pointer
        data = self._concrete("data_ptr()", "A traced value has no memory.", read=False)
        return addresses.address_of(data)

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        """The device, as DLPack numbers it."""
        self._refresh()
        if type(self._data) is DeviceArray:
            return exchange.place(self._data)
        found: tuple[int, int] = self._concrete(
            "DLPack", "A traced value has no memory.", read=False
        ).__dlpack_device__()
        return found

    def __dlpack__(
        self: Any,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """The memory for another library (`torch.from_dlpack(x)`), shared. Raises BufferError for a
        tensor that requires grad."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        self._refresh()
        if type(self._data) is DeviceArray:
            return exchange.capsule(self._data, stream, dl_device, copy)
        data = self._concrete("DLPack", "A traced value has no memory.")
        if not copy:
            # The other library writes as a holder of a NumPy array does: it is looked for before a
            # saved value is read.
            data = self._version_counter.lend(data)
        return data.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)

    @property
    def __cuda_array_interface__(self: Any) -> dict[str, Any]:
        """The memory for another library (`cupy.asarray(x)`), shared; only tensors on a GPU that do
        not require grad have it."""
        if type(self._data) is not DeviceArray:
            raise AttributeError(
                "Can't get __cuda_array_interface__ on non-CUDA tensor; use .cuda() first"
            )
        if self.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires "
                "grad; use .detach() first"
            )
        self._refresh()
        return self._data.__cuda_array_interface__

    def is_contiguous(self: Any) -> bool:
        """Whether the elements lie in C order without gaps."""
        if not isinstance(self._data, Var):
            return bool(self._data.flags.c_contiguous)
        return contiguous(memory_of(self._root), self._view)

    def contiguous(self: Any) -> Any:
        """This tensor, or a copy of it in C order."""
        if self.is_contiguous():
            return self
        value = self.clone()
        if isinstance(value._data, Var):
            return value
        value._data = (
            value._data.copy()
            if type(value._data) is DeviceArray
            else np.ascontiguousarray(value._data)
        )
        return value

    def stride(self: Any, dim: int | None = None) -> Any:
        """Steps in elements along each axis."""
        try:
            data = self._layout("stride()")
            strides = tuple(s // data.itemsize for s in data.strides)
            return strides if dim is None else strides[normalize_axis(dim, len(strides))]
        except REFUSED as error:
            raise explained_here(error) from error.__cause__

    def storage_offset(self: Any) -> int:
        """How many elements of the base's memory lie before the first."""
        data = self._layout("storage_offset()")
        base = data if self._base is None else self._base._layout("storage_offset()")
        distance = addresses.address_of(data) - addresses.address_of(base)
        return distance // int(data.itemsize)

    def _layout(self: Any, asked: str) -> np.ndarray[Any, Any]:
        """Where the elements lie, not to be read."""
        if type(self._data) is DeviceArray:
            return self._data.layout
        found: np.ndarray[Any, Any] = self._concrete(
            asked, "A traced value has no memory.", read=False
        )
        return found

    def element_size(self: Any) -> int:
        """Bytes of one element."""
        size: int = self.dtype.itemsize
        return size

    def __bool__(self: Any) -> bool:
        data = self._condition()
        if data.size != 1:
            raise RuntimeError(
                "Boolean value of Tensor with more than one value is ambiguous"
                if data.size
                else "Boolean value of Tensor with no values is ambiguous"
            )
        return bool(data.reshape(())[()])

    def __float__(self: Any) -> float:
        data = self._concrete(
            "float()", "Leave the value an array: arithmetic works on it as on a float."
        )
        if data.size != 1:
            raise RuntimeError(f"a Tensor with {data.size} elements cannot be converted to Scalar")
        if self.requires_grad:
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                "behavior.\n"
                "Consider using tensor.detach() first.",
                UserWarning,
                stacklevel=2,
            )
        return float(data.item())

    def __complex__(self: Any) -> complex:
        return complex(self.item())

    def __index__(self: Any) -> int:
        data = self._concrete(
            "an index or range()",
            "Use tg.fori_loop for loops, x[i] with the tensor itself for indexing, "
            "or mark the argument static with static_argnames.",
        )
        if data.size != 1 or data.dtype.kind not in "biu":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(data.item())

    def __int__(self: Any) -> int:
        data = self._concrete(
            "int()",
            "Use .long() for a conversion, or mark the argument static with static_argnames.",
        )
        if data.size != 1:
            raise RuntimeError(f"a Tensor with {data.size} elements cannot be converted to Scalar")
        return int(data.item())
