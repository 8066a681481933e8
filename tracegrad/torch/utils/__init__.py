"""torch.utils: data for training, and recomputing in place of saving."""

from __future__ import annotations

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
