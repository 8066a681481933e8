"""Sparse derivatives and sparse operands: patterns, compressed and direct values of Jacobians and
Hessians; `scipy.sparse` arrays inside traced functions."""

from __future__ import annotations

from ..checks import OFTEN, publish
from .arrays import SparseArray, array, solve

__all__ = ["SparseArray", "array", "solve"]

publish(globals(), __all__, OFTEN)
