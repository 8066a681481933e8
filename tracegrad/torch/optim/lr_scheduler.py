"""torch.optim.lr_scheduler: `tracegrad.optim.lr_scheduler`."""

from __future__ import annotations

from ...optim.lr_scheduler import *  # noqa: F403
from ...optim.lr_scheduler import __all__ as __all__
