"""torch.nn.utils.parametrizations: `tracegrad.nn.utils.parametrizations`."""

from __future__ import annotations

from ....nn.utils.parametrizations import *  # noqa: F403
from ....nn.utils.parametrizations import __all__ as __all__
