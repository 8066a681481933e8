"""A module whose variables the functions of test_looked_up_variables.py look up."""

from __future__ import annotations

from typing import Any

import numpy as np

factor: Any = 2.0
weights = np.array([2.0])


def function(x: Any) -> Any:
    return x * factor
