"""torch.nn.utils: `tracegrad.nn.utils`."""

from __future__ import annotations

from ....nn.utils import *  # noqa: F403
from ....nn.utils import __all__ as _names
from . import rnn  # type: ignore[no-redef]

__all__ = [*_names, "rnn"]
