"""From graphs to kernel programs: what is stored, which loops are shared, and where temporaries live."""

from __future__ import annotations

from .build import schedule

__all__ = ["schedule"]
