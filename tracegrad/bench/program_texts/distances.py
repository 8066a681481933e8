"""What the gradients of programs are taken of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def distance(function: Callable[..., Any]) -> Callable[..., Any]:
    """How far the result is from ones, squared. (The sum of the squares alone is the same for all
    results of Gram and Schmidt.)"""

    def total(*arguments: Any) -> Any:
        return np.sum((function(*arguments) - 1.0) ** 2)

    return total


__all__ = ["distance"]
