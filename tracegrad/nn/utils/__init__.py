"""Helpers around parameters and gradients, and (`nn.utils.rnn`) around sequences."""

from __future__ import annotations

from . import rnn
from .gradients import (
    clip_grad_norm_,
    clip_grad_value_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]
