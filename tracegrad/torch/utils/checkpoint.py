"""torch.utils.checkpoint: `tracegrad.utils.checkpoint`."""

from __future__ import annotations

from ...utils.checkpoint import checkpoint

__all__ = ["checkpoint"]
