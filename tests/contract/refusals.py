"""What writes that are refused say."""

from __future__ import annotations

LEAF = r"^a leaf Variable that requires grad is being used in an in-place operation"
