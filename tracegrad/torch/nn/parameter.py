"""torch.nn.parameter: `Parameter`."""

from __future__ import annotations

from ...nn.modules.parameter import Parameter

__all__ = ["Parameter"]
