"""Everything that is asked of numba-cuda about devices and their memory; loaded when a device is
first asked for.

An array in a device's memory is described by a `layout`: an ndarray of its dtype, shape and strides
whose data pointer is the address on the device. The host must never read or write through it. So
views, overlaps and orders of memory are NumPy's business, and nothing is computed twice. Under
Numba's simulator the memory is the host's: there addresses are told `APART` too high, so that who
reads through a layout falls where he would with a GPU.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..addresses import address_of

Layout = np.ndarray[Any, Any]
APART = 1 << 52
"""What simulated addresses lie above the memory that they mean; no process has memory there."""
INSTALL = "pip install 'tracegrad[cuda]'"
TOOLKIT = (
    "nvidia-cuda-runtime",
    "nvidia-cuda-nvrtc",
    "nvidia-nvvm",
    "nvidia-nvjitlink",
    "nvidia-cuda-cccl",
    "cuda-bindings",
    "cuda-core",
)
"""The wheels that numba-cuda compiles with."""


def simulated() -> bool:
    """Whether Numba's simulator stands in for a GPU."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


@functools.cache
def target() -> Any:
    """numba.cuda; a RuntimeError says what is missing."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise RuntimeError(
            f"the device 'cuda' is not available: numba-cuda is not installed: {INSTALL}"
        )
    return importlib.import_module("numba.cuda")


@functools.cache
def missing() -> str:
    """Why no GPU can be used, in one sentence; empty where one can be."""
    if importlib.util.find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed: {INSTALL}"
    try:
        version = importlib.metadata.version("numba-cuda")
        if version.startswith("0.30.") and np.lib.NumpyVersion(np.__version__) >= "2.5.0":
            return f"numba-cuda {version} needs NumPy below 2.5: pip install 'numpy<2.5'"
        cuda = target()
        if not cuda.is_available():
            return (
                f"no NVIDIA driver was found ({_why(cuda)}). Install the driver of the GPU; "
                "numba-cuda itself is there"
            )
        if len(cuda.gpus) == 0:
            return "the NVIDIA driver sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES"
    except (
        Exception
    ) as error:  # whatever the driver's libraries raise where a part of them is missing
        return f"numba-cuda cannot be used ({type(error).__name__}: {error})"
    return ""


def _why(cuda: Any) -> str:
    """What the driver answered when it was initialized, in one line."""
    error = getattr(cuda, "cuda_error", lambda: None)()
    return (
        " ".join(str(error).split()).partition(". ")[0].rstrip(".") or "libcuda could not be loaded"
    )


def device_count() -> int:
    """How many GPUs can be used; 0 where none can, for whatever reason."""
    return 0 if missing() else len(target().gpus)


def check_device(index: int) -> None:
    """A RuntimeError that says what is missing where this device cannot be used."""
    reason = missing()
    if reason:
        raise RuntimeError(f"the device 'cuda' is not available: {reason}")
    if not 0 <= index < len(target().gpus):
        count = len(target().gpus)
        raise RuntimeError(
            f"there is no device cuda:{index}; this machine has {count} "
            f"GPU{'s' * (count != 1)}, counted from 0"
        )


def device_name(index: int) -> str:
    """The name on the card."""
    check_device(index)
    if simulated():
        return "Numba's CUDA simulator"
    name = target().gpus[index].name
    return name.decode() if isinstance(name, bytes) else str(name)


def capability(index: int) -> tuple[int, int]:
    """The compute capability, as (major, minor)."""
    check_device(index)
    major, minor = target().gpus[index].compute_capability
    return int(major), int(minor)


def current_device() -> int:
    """The number of the device that this thread uses."""
    check_device(0)
    return int(target().current_context().device.id) if not simulated() else 0


def synchronize(index: int) -> None:
    """Wait until the device has done all that it was told."""
    check_device(index)
    with target().gpus[index]:
        target().synchronize()


def memory_info(index: int) -> tuple[int, int]:
    """Free and total bytes; those of the simulator are not limited, and told as 0."""
    check_device(index)
    with target().gpus[index]:
        info = target().current_context().get_memory_info()
    return (0, 0) if simulated() else (int(info.free), int(info.total))


def allocate(index: int, nbytes: int) -> tuple[int, Any]:
    """New memory: its address, and the object that owns it. Raises MemoryError."""
    with target().gpus[index]:
        try:
            owner = target().device_array(nbytes, np.uint8)
        except Exception as error:
            if "OUT_OF_MEMORY" in str(error):
                raise MemoryError(f"cuda:{index} has no {nbytes} bytes left") from error
            raise
    return (
        address_of(owner._ary) + APART
        if simulated()
        else int(owner.__cuda_array_interface__["data"][0])
    ), owner


def native(index: int, layout: Layout) -> Any:
    """The memory of a layout as numba-cuda's array, which kernels take; it keeps the memory
    alive."""
    if simulated():
        address = address_of(layout) - APART * bool(layout.size)
        return _simulated_array()(
            array_at(address, layout.shape, layout.dtype, layout.strides, layout)
        )
    description = {
        "shape": layout.shape,
        "strides": layout.strides,
        "typestr": layout.dtype.str,
        "data": (address_of(layout) if layout.size else 0, False),
        "version": 3,
    }
    with target().gpus[index]:
        return target().from_cuda_array_interface(description, owner=layout, sync=False)


@functools.cache
def _simulated_array() -> Any:
    return importlib.import_module("numba.cuda.simulator.cudadrv.devicearray").FakeCUDAArray


class _Memory:
    """Memory that an array interface describes, to NumPy; `owner` lives as long as arrays on it."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.owner, self.__array_interface__ = owner, interface


def array_at(
    address: int,
    shape: tuple[int, ...],
    dtype: Any,
    strides: tuple[int, ...] | None = None,
    owner: Any = None,
) -> Layout:
    """Elements from an address on (None: in C order); `owner` keeps the memory alive."""
    interface = {
        "version": 3,
        "data": (address, False),
        "shape": shape,
        "strides": strides,
        "typestr": np.dtype(dtype).str,
    }
    return np.asarray(_Memory(interface, owner))


def enter(index: int) -> None:
    """Make the device the one that this thread's launches and `clear` go to."""
    if not simulated():
        _entry(index)()


@functools.cache
def _entry(index: int) -> Callable[[], None]:
    from cuda.bindings import driver
    from cuda.core import Device

    device = Device(index)
    device.set_current()
    wanted = int(driver.cuCtxGetCurrent()[1])

    def entered() -> None:
        # Another library may have chosen another device in the meantime.
        if int(driver.cuCtxGetCurrent()[1]) != wanted:
            device.set_current()

    return entered


# --- copies ---------------------------------------------------------------------------------------


def upload(index: int, destination: Layout, source: np.ndarray[Any, Any]) -> None:
    """Copy from the host into gapless memory of the same shape and dtype."""
    if destination.size:
        if not destination.flags.c_contiguous:
            destination, source = destination.T, source.T
        data = np.ascontiguousarray(source)
        _order(index, "cuMemcpyHtoD", address_of(destination), address_of(data), data.nbytes)


def download(index: int, source: Layout) -> np.ndarray[Any, Any]:
    """A copy in the host's memory, in C order; waits for what the device does. One transfer moves
    all from the first byte to the last."""
    if not source.size:
        return np.empty(source.shape, source.dtype)
    low, high = np.lib.array_utils.byte_bounds(source)
    raw = np.empty(high - low, np.uint8)
    _order(index, "cuMemcpyDtoH", address_of(raw), low, raw.nbytes)
    found = np.ndarray(source.shape, source.dtype, raw, address_of(source) - low, source.strides)
    return np.ascontiguousarray(found).reshape(source.shape)


def move(index: int, destination: Layout, source: Layout) -> None:
    """Copy on the device between gapless arrays of the same shape, dtype and order of memory."""
    nbytes = source.nbytes
    if nbytes:
        _order(index, "cuMemcpyDtoDAsync", address_of(destination), address_of(source), nbytes, 0)


def clear(index: int, destination: Layout) -> None:
    """Zero gapless memory, after what the device was told before."""
    if destination.size:
        _order(index, "cuMemsetD8Async", address_of(destination), 0, destination.nbytes, 0)


def _order(index: int, what: str, *given: int) -> None:
    """Have CUDA's driver do something to memory, after what it was told before. It is asked
    directly: what numba-cuda checks and converts takes longer than most copies."""
    if simulated():
        SIMULATED_ORDERS[what](*given)
        return
    enter(index)
    (code,) = getattr(_bindings(), what)(*given)
    if code:
        raise RuntimeError(f"the device refused {what} of {given[2]} bytes: {code.name}")


@functools.cache
def _bindings() -> Any:
    return importlib.import_module("cuda.bindings.driver")


def _near(address: int, nbytes: int) -> Layout:
    """Memory of the host, simulated addresses being told `APART` too high."""
    return array_at(address - APART if address >= APART else address, (nbytes,), np.uint8)


def _copied(destination: int, source: int, nbytes: int, *_: int) -> None:
    np.copyto(_near(destination, nbytes), _near(source, nbytes))


SIMULATED_ORDERS: dict[str, Callable[..., None]] = {
    "cuMemcpyHtoD": _copied,
    "cuMemcpyDtoH": _copied,
    "cuMemcpyDtoDAsync": _copied,
    "cuMemsetD8Async": lambda address, value, nbytes, _: _near(address, nbytes).fill(value),
}
"""What the orders do where the memory is the host's."""


def versions() -> dict[str, str]:
    """numba-cuda and the wheels that it compiles with: their versions, empty where one is not
    installed."""
    found = {}
    for name in ("numba-cuda", *TOOLKIT):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = ""
    return found
