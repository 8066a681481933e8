"""Linear algebra with NumPy's names: `tracegrad.linalg`; torch's words are in
`tracegrad.torch.linalg`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .ops.matrices.linalg import *  # noqa: F403
from .ops.matrices.linalg import __all__ as __all__

publish(globals(), __all__, OFTEN)
