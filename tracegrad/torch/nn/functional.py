"""torch.nn.functional: `tracegrad.nn.functional`."""

from __future__ import annotations

from ...nn.functional import *  # noqa: F403
from ...nn.functional import __all__ as __all__
