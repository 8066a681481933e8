"""Automatic differentiation of running programs: the tape, the reverse sweep, dual numbers and the modes."""

from __future__ import annotations

from .functions import backward, grad
from .mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]
