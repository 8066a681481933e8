"""Weights that are computed from what is trained in their place (values of torch's older forms are
among the cases of modules)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

utils = tg.nn.utils
parametrize = utils.parametrize
KINDS = {
    "weight_norm": lambda: utils.weight_norm(tg.nn.Linear(3, 4)),
    "parametrized spectral_norm": lambda: utils.parametrizations.spectral_norm(tg.nn.Linear(3, 4)),
}


class Symmetric(tg.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).T

    def right_inverse(self, x: Any) -> Any:
        return x.triu()


class Doubled(tg.nn.Module):
    def forward(self, x: Any) -> Any:
        return 2.0 * x


@pytest.mark.parametrize("kind", KINDS)
def test_training_steps_compiled_and_copies(kind: str) -> None:
    tg.manual_seed(3)
    model = KINDS[kind]()
    other, x = pickle.loads(pickle.dumps(copy.deepcopy(model))), tg.randn(5, 3)

    def step(model: Any, x: Any) -> Any:
        model.zero_grad()
        loss = (model(x) ** 2).sum()
        loss.backward()
        return loss.detach()

    compiled = tg.jit(lambda x: step(model, x))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), step(other, x), rtol=1e-12)
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(p.grad, q.grad, rtol=1e-10, atol=1e-14)
        for p, q in zip(model.buffers(), other.buffers(), strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-12)


def test_norms_are_what_they_say() -> None:
    layer = utils.parametrizations.weight_norm(tg.nn.Linear(3, 4))
    with tg.no_grad():
        layer.parametrizations.weight.original0.fill_(2.0)
    np.testing.assert_allclose(np.linalg.norm(layer.weight.detach(), axis=1), 2.0)
    layer.weight = tg.ones(4, 3)
    np.testing.assert_allclose(layer.weight.detach(), np.ones((4, 3)))
    layer = utils.spectral_norm(tg.nn.Conv2d(2, 3, 2), n_power_iterations=200)
    layer(tg.ones(1, 2, 2, 2))
    np.testing.assert_allclose(
        np.linalg.norm(layer.weight.detach().numpy().reshape(3, -1), 2), 1.0, rtol=1e-6
    )


def test_parametrizations_of_ones_own() -> None:
    layer = tg.nn.Linear(3, 3)
    trained = layer.weight
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert layer.parametrizations.weight.original is trained
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    value = layer.weight.detach().numpy()
    np.testing.assert_array_equal(value, value.T)
    layer.weight.sum().backward()
    np.testing.assert_array_equal(trained.grad, np.triu(np.full((3, 3), 4.0)) - 2.0 * np.eye(3))
    with pytest.raises(RuntimeError, match="Doubled has no right_inverse"):
        layer.weight = tg.ones(3, 3)
    assert parametrize.is_parametrized(layer)
    assert not parametrize.is_parametrized(layer, "bias")
    parametrize.remove_parametrizations(layer, "weight")
    assert not parametrize.is_parametrized(layer)
    assert layer.weight is trained
    np.testing.assert_array_equal(layer.weight.detach(), value)


def test_refusals() -> None:
    layer = utils.weight_norm(tg.nn.Linear(3, 4))
    with pytest.raises(RuntimeError, match="two weight_norm hooks"):
        utils.weight_norm(layer)
    with pytest.raises(AttributeError, match="weight_g and _v; assign to these"):
        layer.weight = tg.ones(4, 3)
    with pytest.raises(ValueError, match="has no parameter 'width'"):
        utils.spectral_norm(tg.nn.Linear(3, 4), "width")
    with pytest.raises(ValueError, match="positive"):
        utils.spectral_norm(tg.nn.Linear(3, 4), n_power_iterations=0)
    for remove in (utils.remove_weight_norm, utils.remove_spectral_norm):
        with pytest.raises(ValueError, match="not found"):
            remove(tg.nn.Linear(3, 4))
    with pytest.raises(ValueError, match="does not have a parametrization"):
        parametrize.remove_parametrizations(layer, "bias")
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(tg.nn.Linear(2, 3), "weight", tg.nn.Flatten(0))
    with pytest.raises(TypeError, match="it must be a Module"):
        parametrize.register_parametrization(layer, "bias", abs)


@pytest.mark.parametrize("dim", [0, 1])
def test_second_derivatives_of_weight_norm(dim: int) -> None:
    """torch 2.13 has another one by the direction, on the CPU."""
    tg.manual_seed(2)
    model, x = utils.weight_norm(tg.nn.Linear(2, 3), dim=dim), tg.randn(4, 2)
    parameters = dict(model.named_parameters())

    def loss(*given: Any) -> Any:
        return (
            tg.func.functional_call(model, dict(zip(parameters, given, strict=True)), (x,)) ** 3
        ).sum()

    inputs = tuple(p.detach().requires_grad_() for p in parameters.values())
    assert tg.autograd.gradgradcheck(loss, inputs)
