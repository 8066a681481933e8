"""Where arrays lie: the names of devices, arrays in a device's memory, and the pool that this
memory is taken from.

An array in a device's memory is to the rest of the package what a variable of a trace is: the data
of a box, never an operand by itself. Nothing of CUDA is loaded before a device is asked for.
"""

from .array import (
    IN_USE,
    DeviceArray,
    from_host,
    later,
    raise_failures,
    share_memory,
    to_host,
)
from .device import CPU, KINDS, Device, driver, resolve

__all__ = [
    "CPU",
    "IN_USE",
    "KINDS",
    "Device",
    "DeviceArray",
    "driver",
    "from_host",
    "later",
    "raise_failures",
    "resolve",
    "share_memory",
    "to_host",
]
