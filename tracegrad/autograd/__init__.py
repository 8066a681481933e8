"""Automatic differentiation of running programs: the tape, the reverse sweep, dual numbers and the modes."""

from __future__ import annotations

from . import forward_ad as forward_ad
from . import grad_mode as grad_mode
from . import profiler as profiler
from .functions import backward, grad
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
