"""torch.optim: `tracegrad.optim`."""

from __future__ import annotations

from ...optim import *  # noqa: F403
from ...optim import __all__ as _names
from . import lr_scheduler  # type: ignore[no-redef]

__all__ = [*_names, "lr_scheduler"]
