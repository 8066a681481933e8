"""Modules make their parameters and buffers on the device they are asked for: `device` was ignored
by some of them."""

from __future__ import annotations

import inspect

import pytest

import tracegrad as tg
from tracegrad import nn


def _takes_device(cls):
    """Whether a class has a device to choose, and is no mere base."""
    if not isinstance(cls, type) or cls is nn.RNNBase:
        return False
    return "device" in inspect.signature(cls.__init__).parameters


CLASSES = {name: getattr(nn, name) for name in nn.__all__ if _takes_device(getattr(nn, name))}


CHOSEN = {
    "affine": True,
    "d_model": 2,
    "nhead": 1,
    "dim_feedforward": 2,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
}


def _made(cls, **options):
    """An instance whose sizes are all 2, with all the parameters that it may have."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    needed = [2 for p in parameters if p.default is p.empty]
    chosen = {
        p.name: CHOSEN[p.name] for p in parameters if p.name in CHOSEN and p.default is not p.empty
    }
    return cls(*needed, **chosen, **options)


def test_the_layers_with_parameters_are_there():
    assert {
        "Linear",
        "Bilinear",
        "Conv2d",
        "ConvTranspose2d",
        "BatchNorm1d",
        "PReLU",
        "LSTM",
    } <= CLASSES.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_the_device_is_asked_for(name):
    with pytest.raises(RuntimeError, match="device"):
        _made(CLASSES[name], device="nowhere")


@pytest.mark.parametrize("name", CLASSES)
def test_on_the_cpu(name):
    made = _made(CLASSES[name], device="cpu", dtype=tg.float32)
    values = [*made.parameters(), *made.buffers()]
    assert values
    assert all(str(v.device) == "cpu" for v in values)
    assert all(v.dtype == tg.float32 for v in made.parameters())
