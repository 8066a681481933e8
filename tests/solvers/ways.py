"""Ways to run what solvers are part of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracegrad as tg

WRAP: dict[str, Callable[..., Any]] = {"eager": lambda f: f, "jit": tg.jit}
