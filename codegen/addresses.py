"""Where arrays lie."""

from __future__ import annotations

from typing import Any

import numpy as np


def address_of(x: np.ndarray[Any, Any]) -> int:
    """The address of the first element: in the host's memory or, of a layout, in the device's."""
    address: int = x.__array_interface__["data"][0]
    return address


__all__ = ["address_of"]
