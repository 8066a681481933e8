"""Ways to run what solvers are part of, and a system for them to solve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracegrad as tg

A = np.array([[3.0, 1.0, 0.2], [-0.5, 2.0, 0.3], [0.1, 0.4, 4.0]])
P = np.array([1.0, -2.0, 0.5])

WRAP: dict[str, Callable[..., Any]] = {"eager": lambda f: f, "jit": tg.jit}
