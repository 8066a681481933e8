"""Automatic differentiation of running programs: the tape, the reverse sweep, dual numbers and the
modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._codegen import loading
from ..tape.names import SavedTensor
from . import anomaly_mode as anomaly_mode
from . import forward_ad as forward_ad
from . import function as function
from . import grad_mode as grad_mode
from . import graph as graph
from .anomaly_mode import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from .function import Function
from .functions import backward, grad
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .gradcheck import gradcheck, gradgradcheck

if TYPE_CHECKING:
    from . import functional as functional
    from . import profiler as profiler
else:

    def __getattr__(name: str) -> object:
        if name in ("functional", "profiler"):
            return loading.load(f"tracegrad.autograd.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), "functional", "profiler"})


__all__ = [
    "Function",
    "SavedTensor",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
