"""Arrays of other libraries on the same memory: DLPack and the CUDA array interface.

All work here goes to the device's default stream. Who takes an array for that stream, or for none,
need not wait; for others the device is waited for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .array import IN_USE, DeviceArray
from .device import Device, driver, resolve

ON_HOST, ON_CUDA, PINNED = 1, 2, 3
"""DLPack's numbers of the kinds of devices."""
DEFAULT_STREAMS = (None, -1, 0, 1)
"""None, "do not wait", and names of the default stream."""
KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
"""DLPack's codes of element types."""


class _Tensor(ctypes.Structure):
    """`DLManagedTensor`, as dlpack.h lays it out."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("kind", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_USED = b"used_dltensor"  # a capsule keeps the address of its name


def place(x: DeviceArray) -> tuple[int, int]:
    """What `__dlpack_device__` gives."""
    return ON_CUDA, x.device.number


def capsule(
    x: DeviceArray, stream: Any = None, device: Any = None, copy: bool | None = None
) -> Any:
    """What `__dlpack__` gives: NumPy's capsule of the layout, which keeps that alive, with the
    device written into it.

    Raises BufferError where another device is asked for.
    """
    if device is not None and tuple(device) != place(x):
        raise BufferError(f"the array lies on {x.device}; copy it with .cpu() or .to(device) first")
    if copy:
        x = x.copy()
    if stream not in DEFAULT_STREAMS:
        driver().synchronize(x.device.number)
    layout = x.layout
    if not layout.flags.writeable:
        # DLPack has no word for memory that must not be written, and torch exports such tensors,
        # too.
        interface = {
            **layout.__array_interface__,
            "data": (x.pointer, False),
            "strides": layout.strides,
        }
        layout = np.asarray(_Foreign(interface, layout))
    made = layout.__dlpack__()
    found = _Tensor.from_address(_pointer_in(made, b"dltensor"))
    found.kind, found.number = place(x)
    return made


class _Foreign:
    """The memory of an array of another library, to NumPy; `release` is called when no array lies
    on it any more."""

    def __init__(
        self, interface: dict[str, Any], owner: Any, release: Callable[[], Any] | None = None
    ) -> None:
        self.__array_interface__ = interface
        self.owner, self.release = owner, release

    def __del__(self) -> None:
        if self.release is not None:
            self.release()


def _on(device: Device, foreign: _Foreign) -> DeviceArray:
    if device not in IN_USE:
        IN_USE.append(device)
    return DeviceArray(device, np.asarray(foreign))


def from_dlpack(other: Any) -> DeviceArray | np.ndarray[Any, Any]:
    """An array on the memory of another library's, on its device. Raises BufferError for devices
    that are neither CPUs nor GPUs of CUDA."""
    kind, number = other.__dlpack_device__()
    if kind in (ON_HOST, PINNED):
        shared: np.ndarray[Any, Any] = np.from_dlpack(other)
        return shared
    if kind != ON_CUDA:
        raise BufferError(
            f"arrays on devices of DLPack's kind {int(kind)} cannot be taken over, "
            "only those of CPUs (1) and CUDA GPUs (2)"
        )
    device = resolve(Device("cuda", int(number)))
    given = other.__dlpack__(stream=1)
    address = _pointer_in(given, b"dltensor")
    found = _Tensor.from_address(address)
    if found.code not in KINDS or found.lanes != 1:
        raise BufferError(
            f"elements of DLPack's type {found.code} with {found.lanes} lanes are not supported"
        )
    dtype = np.dtype(f"{KINDS[found.code]}{found.bits // 8}")
    shape = tuple(found.shape[k] for k in range(found.ndim))
    strides = (
        tuple(found.strides[k] * dtype.itemsize for k in range(found.ndim))
        if found.strides
        else None
    )
    start = (found.data or 0) + found.byte_offset
    interface = {
        "shape": shape,
        "strides": strides,
        "typestr": dtype.str,
        "data": (start, False),
        "version": 3,
    }
    _rename(given, _USED)
    deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(found.deleter) if found.deleter else None
    return _on(
        device, _Foreign(interface, given, None if deleter is None else lambda: deleter(address))
    )


def from_interface(other: Any) -> DeviceArray:
    """An array on the memory of an object with a `__cuda_array_interface__`, on the current GPU."""
    described = other.__cuda_array_interface__
    if described.get("mask") is not None:
        raise BufferError("arrays with a mask are not supported")
    device = resolve("cuda")
    if described.get("stream") not in DEFAULT_STREAMS:
        driver().synchronize(device.number)
    interface = {key: described.get(key) for key in ("shape", "strides", "typestr", "data")} | {
        "version": 3
    }
    return _on(device, _Foreign(interface, other))


__all__ = ["capsule", "from_dlpack", "from_interface", "place"]
