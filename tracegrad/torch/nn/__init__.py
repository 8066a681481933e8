"""torch.nn: `tracegrad.nn`."""

from __future__ import annotations

from ...nn import *  # noqa: F403
from ...nn import __all__ as _modules
from . import functional, init, parameter, utils  # type: ignore[no-redef]

__all__ = [*_modules, "functional", "init", "parameter", "utils"]
