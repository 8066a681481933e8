"""Optimizers take the parts of complex parameters as real ones of their own, as torch's do: their
squares were complex squares, and states of theirs could not be loaded."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.optim_cases import OPTIMIZERS

START = np.array([[1 + 2j, -0.5j, 0.3], [0.2 + 0.1j, -1.0, 2 - 1j]])
NAMES = [n for n in OPTIMIZERS if n != "groups"]


def loss_of(real: Any, imag: Any) -> Any:
    return ((real - 0.3) ** 2 + 2 * (imag - 1) ** 2 + 0.1 * real**3 * imag).sum()


def run(name: str, paired: bool, loaded: bool = False, way: Any = lambda f: f) -> Any:
    """The parameter after some steps, as pairs of real numbers."""
    pairs = np.stack([START.real, START.imag], -1)
    p = tg.tensor(pairs if paired else START, requires_grad=True)
    made = OPTIMIZERS[name]
    optimizer = made(tg.optim, [p])

    def closure() -> Any:
        optimizer.zero_grad()
        loss = loss_of(p[..., 0], p[..., 1]) if paired else loss_of(p.real, p.imag)
        loss.backward()
        return loss

    step = way(lambda: optimizer.step(closure))
    for k in range(5):
        step()
        if loaded and k == 2:
            state = deepcopy(optimizer.state_dict())
            optimizer = made(tg.optim, [p])
            optimizer.load_state_dict(state)
    found = p.detach().numpy()
    return found if paired else np.stack([found.real, found.imag], -1)


@pytest.mark.parametrize("name", NAMES)
def test_parts_move_as_real_parameters(name: str) -> None:
    expected = run(name, paired=True)
    np.testing.assert_allclose(run(name, paired=False), expected, rtol=1e-12, atol=1e-14)
    if not name.startswith("LBFGS"):
        found = run(name, paired=False, loaded=True)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["Adam amsgrad", "Rprop"])
def test_compiled_steps(name: str, kernels_in_python: None) -> None:
    expected = run(name, paired=True)
    found = run(name, paired=False, way=tg.jit)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_velocities_that_torch_saved_have_begun() -> None:
    def moved(foreign: bool) -> Any:
        p = tg.tensor([1.0, -2.0], requires_grad=True)
        optimizer = tg.optim.SGD([p], lr=0.1, momentum=0.9, dampening=0.3)
        for k in range(4):
            optimizer.zero_grad()
            (p**3).sum().backward()
            optimizer.step()
            if k == 1:
                state = deepcopy(optimizer.state_dict())
                if foreign:
                    state["state"][0].pop("started")
                optimizer = tg.optim.SGD([p], lr=0.1, momentum=0.9, dampening=0.3)
                optimizer.load_state_dict(state)
        return p.detach().numpy()

    np.testing.assert_array_equal(moved(foreign=True), moved(foreign=False))
