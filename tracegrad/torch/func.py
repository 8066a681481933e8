"""torch.func: `tracegrad.func`, and calls of modules with other parameters."""

from __future__ import annotations

from ..func import *  # noqa: F403
from ..func import __all__ as __all__
