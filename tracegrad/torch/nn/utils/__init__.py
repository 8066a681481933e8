"""torch.nn.utils: `tracegrad.nn.utils`."""

from __future__ import annotations

from ....nn.utils import *  # noqa: F403
from ....nn.utils import __all__ as __all__
from . import parametrizations as parametrizations  # type: ignore[no-redef]
from . import parametrize as parametrize  # type: ignore[no-redef]
from . import rnn as rnn  # type: ignore[no-redef]
