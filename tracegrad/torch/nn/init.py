"""torch.nn.init: `tracegrad.nn.init`."""

from __future__ import annotations

from ...nn.init import *  # noqa: F403
from ...nn.init import __all__ as __all__
