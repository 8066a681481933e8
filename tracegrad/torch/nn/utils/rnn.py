"""torch.nn.utils.rnn: `tracegrad.nn.utils.rnn`."""

from __future__ import annotations

from ....nn.utils.rnn import *  # noqa: F403
from ....nn.utils.rnn import __all__ as __all__
