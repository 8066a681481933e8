"""torch.nn.utils.parametrize: `tracegrad.nn.utils.parametrize`."""

from __future__ import annotations

from ....nn.utils.parametrize import *  # noqa: F403
from ....nn.utils.parametrize import __all__ as __all__
