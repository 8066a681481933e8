"""Arrays in the memory of a device."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np

from .._codegen import addresses, loading, locks
from .device import CPU, Device, driver, resolve
from .pool import pool_of

IN_USE: list[Device] = []
"""The devices on which arrays were made: while it is empty, which is quick to see, nobody looks for
such arrays."""


PENDING: dict[Device, list[tuple[np.ndarray[Any, Any], Callable[[int, int], Exception]]]] = {}
"""By device: where programs that were started will have recorded a failure, and what makes an error
of its code and value."""
MOST_PENDING = 1024
_NOTING = locks.lock()


def later(
    device: Device, status: np.ndarray[Any, Any], failure: Callable[[int, int], Exception]
) -> None:
    """Look for a failure when something waits for the device anyway (or when too many have not been
    looked for)."""
    with _NOTING:
        # Never into a list that another thread has taken and looked through.
        waiting = PENDING.setdefault(device, [])
        waiting.append((status, failure))
    if len(waiting) > MOST_PENDING:
        raise_failures(device)


def raise_failures(device: Device) -> None:
    """Raise the first failure of the programs that were started on a device."""
    with _NOTING:
        waiting = PENDING.pop(device, [])
    for status, failure in waiting:
        code, value = driver().download(device.number, status).tolist()
        if code:
            raise failure(code, value)


class DeviceArray:
    """An array in the memory of a device: where its elements lie (`layout`, see
    codegen/cuda/driver.py), and `native`, which kernels take.

    It computes nothing, and NumPy cannot read it. Views share its memory and cost no kernel.
    """

    __slots__ = ("__weakref__", "_native", "device", "layout")
    __array_ufunc__ = None
    __array_priority__ = 1000

    def __init__(self, device: Device, layout: np.ndarray[Any, Any]) -> None:
        self.device, self.layout = device, layout
        self._native: Any = None

    @classmethod
    def empty(cls, device: Device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """New memory in C order, not cleared."""
        if device not in IN_USE:
            IN_USE.append(device)
        return cls(device, pool_of(device.number).empty(shape, dtype))

    @classmethod
    def zeros(cls, device: Device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """New memory, cleared."""
        made = cls.empty(device, shape, dtype)
        driver().clear(device.number, made.layout)
        return made

    # Read in C: operations ask for these all the time.
    dtype = property(attrgetter("layout.dtype"), doc="The element type.")
    shape = property(attrgetter("layout.shape"), doc="The sizes of the axes.")
    strides = property(attrgetter("layout.strides"), doc="The steps along the axes, in bytes.")
    ndim = property(attrgetter("layout.ndim"), doc="The number of axes.")
    size = property(attrgetter("layout.size"), doc="The number of elements.")
    nbytes = property(attrgetter("layout.nbytes"), doc="What the elements take.")
    itemsize = property(attrgetter("layout.itemsize"), doc="The bytes of one element.")
    flags = property(attrgetter("layout.flags"), doc="The order of the memory, as NumPy tells it.")
    base = property(attrgetter("layout.base"), doc="What owns the memory.")

    @property
    def native(self) -> Any:
        """As numba-cuda's array."""
        if self._native is None:
            self._native = driver().native(self.device.number, self.layout)
        return self._native

    @property
    def pointer(self) -> int:
        """The address of the first element in the device's memory."""
        address: int = addresses.address_of(self.layout)
        return address

    # --- views ------------------------------------------------------------------------------------

    def showing(self, layout: np.ndarray[Any, Any]) -> DeviceArray:
        """Another array on the same memory: `layout` is a view of this one's."""
        return DeviceArray(self.device, layout)

    def reshape(self, shape: tuple[int, ...]) -> DeviceArray | None:
        """A view of this shape, or None where elements would have to move."""
        try:
            return self.showing(self.layout.reshape(shape, copy=False))
        except ValueError:
            if np.prod(shape, dtype=np.int64) == self.size:
                return None
            raise

    def transpose(self, axes: tuple[int, ...] | None = None) -> DeviceArray:
        """The axes in another order."""
        return self.showing(self.layout.transpose(axes))

    def __getitem__(self, index: Any) -> DeviceArray:
        """Basic indexing: integers, slices, None and Ellipsis."""
        for part in index if isinstance(index, tuple) else (index,):
            if not (part is None or part is Ellipsis or isinstance(part, (int, slice))):
                raise TypeError(
                    f"an array on {self.device} takes integers, slices, None and Ellipsis as "
                    f"indices, not {type(part).__name__}"
                )
        whole = index if isinstance(index, tuple) else (index,)
        # With an Ellipsis the result is an array of no axes where all indices are integers, and not
        # a number that would be read.
        return self.showing(
            self.layout[whole if any(part is Ellipsis for part in whole) else (*whole, ...)]
        )

    def shares_memory(self, other: DeviceArray) -> bool:
        """Whether both may lie on the same memory."""
        return self.device == other.device and bool(np.may_share_memory(self.layout, other.layout))

    # --- copies -----------------------------------------------------------------------------------

    def copy_to_host(self) -> np.ndarray[Any, Any]:
        """A copy in the host's memory, in C order; waits for what the device does, and raises what
        failed there."""
        raise_failures(self.device)
        found: np.ndarray[Any, Any] = driver().download(self.device.number, self.layout)
        return found

    def copy(self) -> DeviceArray:
        """A copy on the same device, in C order."""
        made = DeviceArray.empty(self.device, self.shape, self.dtype)
        made.fill_from(self)
        return made

    def fill_from(self, other: DeviceArray) -> None:
        """Take the elements of an array of the same shape and dtype on the same device, which may
        share memory with this one."""
        assert self.shape == other.shape
        assert self.dtype == other.dtype
        assert self.device == other.device
        if self.shares_memory(other):
            if self.pointer == other.pointer and self.strides == other.strides:
                return
            other = other.copy()
        loading.imported("..codegen.cuda.copies", __package__).copy(
            self.device.number, self.layout, other.layout
        )

    def to(self, device: Device) -> DeviceArray | np.ndarray[Any, Any]:
        """On another device: itself where it is there, else a copy."""
        if device == self.device:
            return self
        host = self.copy_to_host()
        return host if device == CPU else from_host(device, host)

    # --- what other libraries see -----------------------------------------------------------------

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "strides": None if self.flags.c_contiguous else self.strides,
            "typestr": self.dtype.str,
            "data": (self.pointer if self.size else 0, False),
            "version": 3,
            "stream": 1,  # the legacy default stream
        }

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __len__(self) -> int:
        return len(self.layout)

    def __repr__(self) -> str:
        return f"DeviceArray({self.copy_to_host()!r}, device={str(self.device)!r})"

    def __reduce__(self) -> Any:
        return _restored, (str(self.device), self.copy_to_host())

    def __deepcopy__(self, memo: Any) -> DeviceArray:
        return self.copy()


def to_host(data: Any) -> Any:
    """What lies on a device, copied to the host; anything else as it is."""
    return data.copy_to_host() if type(data) is DeviceArray else data


def share_memory(a: Any, b: Any) -> bool:
    """Whether two arrays, of the host or of devices, may lie on the same memory."""
    if type(a) is DeviceArray:
        return type(b) is DeviceArray and a.shares_memory(b)
    if type(b) is DeviceArray:
        return False
    owner = a.base
    return (owner is not None and (owner is b or owner is b.base)) or bool(
        np.may_share_memory(a, b)
    )


def from_host(device: Device, array: Any) -> DeviceArray:
    """A copy of a NumPy array or scalar in a device's memory, in C order."""
    array = np.asarray(array)
    made = DeviceArray.empty(device, array.shape, array.dtype)
    driver().upload(device.number, made.layout, array)
    return made


def _restored(device: str, array: np.ndarray[Any, Any]) -> DeviceArray:
    return from_host(resolve(device), array)
