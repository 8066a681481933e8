"""Singular value decompositions by NumPy, of finite matrices: from infinite ones LAPACK's `gesdd`
may not come back."""

from __future__ import annotations

from typing import Any

import numpy as np


def svd(a: Any) -> Any:
    """The reduced decomposition of a matrix or a stack; of numbers that are not finite the error
    is that of NumPy for NaN."""
    _refuse_infinite(a)
    return np.linalg.svd(a, full_matrices=False)


def pinv(a: Any, rcond: float) -> Any:
    """The pseudo-inverse of a matrix or a stack."""
    _refuse_infinite(a)
    return np.linalg.pinv(a, rcond)


def _refuse_infinite(a: Any) -> None:
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError("SVD did not converge")
