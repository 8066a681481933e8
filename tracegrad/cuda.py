"""torch.cuda's names: which GPUs there are, waiting for them, and what memory arrays take there.

A device is named by its number, by a string or by a `device`; where none is given, the current one
is meant. All functions but `is_available` and `device_count` raise RuntimeError where no GPU can be
used, saying what is missing.
"""

from __future__ import annotations

from typing import Any

from .checks import OFTEN, publish
from .devices import Device, driver, raise_failures, resolve
from .devices.pool import DevicePool, pool_of


def _number(device: Any) -> int:
    found = resolve("cuda" if device is None else Device(device))
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return found.number


def _pool(device: Any) -> DevicePool:
    return pool_of(_number(device))


def is_available() -> bool:
    """Whether there is a GPU that can be used; `python -m tracegrad doctor` says why not.

    >>> import tracegrad as tg
    >>> tg.cuda.is_available() == (tg.cuda.device_count() > 0)
    True
    """
    return device_count() > 0


def device_count() -> int:
    """How many GPUs can be used."""
    count: int = driver().device_count()
    return count


def current_device() -> int:
    """The number of the GPU that "cuda" means."""
    return _number(None)


def get_device_name(device: Any = None) -> str:
    """The name on the card."""
    name: str = driver().device_name(_number(device))
    return name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability, as (major, minor)."""
    found: tuple[int, int] = driver().capability(_number(device))
    return found


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has done all that it was told: calls return before their results are
    computed. Raises what failed there."""
    found = resolve("cuda" if device is None else Device(device))
    driver().synchronize(_number(found))
    raise_failures(found)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of the GPU's memory, as the driver sees them; (0, 0) for the
    simulator."""
    found: tuple[int, int] = driver().memory_info(_number(device))
    return found


def memory_allocated(device: Any = None) -> int:
    """Bytes of the blocks in which arrays lie."""
    return _pool(device).allocated


def max_memory_allocated(device: Any = None) -> int:
    """The most that `memory_allocated` was since `reset_peak_memory_stats`."""
    return _pool(device).peak


def memory_reserved(device: Any = None) -> int:
    """Bytes that were asked of the driver: those of arrays, and those kept for reuse."""
    return _pool(device).reserved


def max_memory_reserved(device: Any = None) -> int:
    """The most that `memory_reserved` was since `reset_peak_memory_stats`."""
    return _pool(device).peak_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the maxima from now on."""
    pool = _pool(device)
    with pool.lock:
        pool.peak, pool.peak_reserved = pool.allocated, pool.reserved


def empty_cache() -> None:
    """Give back to the driver what is kept for reuse."""
    for number in range(device_count()):
        pool_of(number).clear()


__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "synchronize",
]

publish(globals(), __all__, OFTEN)
