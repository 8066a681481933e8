"""Optimizers and schedules against numbers that torch 2.13 gave for the same runs
(tests/data/optim.npz), their state, and errors."""

from __future__ import annotations

import copy
import math
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.optim_cases import OPTIMIZERS, PLATEAUS, SCHEDULES, plateau, rates, trajectory

NUMBERS = dict(np.load(pathlib.Path(__file__).parents[1] / "data" / "optim.npz"))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_trajectories_are_torchs(name: str) -> None:
    found = trajectory(name, tg.optim, tg.tensor)
    np.testing.assert_allclose(found, NUMBERS[f"run {name}"], rtol=1e-10, atol=1e-12)
    assert not np.allclose(found[0], found[-1])


@pytest.mark.parametrize(
    "name",
    [
        "SGD momentum",
        "SGD nesterov",
        "Adam amsgrad",
        "Adamax",
        "RAdam",
        "NAdam",
        "Rprop",
        "RMSprop centered",
        "Adadelta",
        "groups",
    ],
)
def test_compiled_trajectories_are_torchs(name: str) -> None:
    found = trajectory(name, tg.optim, tg.tensor, tg.jit)
    np.testing.assert_allclose(found, NUMBERS[f"run {name}"], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_torchs(name: str) -> None:
    np.testing.assert_allclose(rates(name, tg, tg.tensor), NUMBERS[f"rates {name}"], rtol=1e-12)


@pytest.mark.parametrize("name", PLATEAUS)
def test_reduce_on_plateau_is_torchs(name: str) -> None:
    np.testing.assert_allclose(
        plateau(tg, tg.tensor, **PLATEAUS[name]), NUMBERS[f"plateau {name}"], rtol=1e-12
    )


def parameters() -> list[Any]:
    return [tg.tensor([1.0, -2.0], requires_grad=True), tg.tensor([[0.5]], requires_grad=True)]


def descend(params: list[Any], optimizer: tg.optim.Optimizer, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        (params[0].square().sum() * 2 + (params[1] - 1).square().sum()).backward()
        optimizer.step()


MADE: dict[str, Callable[[Any], tg.optim.Optimizer]] = {
    "SGD": lambda p: tg.optim.SGD(p, lr=0.01, momentum=0.9, dampening=0.5),
    "Adam": lambda p: tg.optim.Adam(p, lr=0.01, amsgrad=True),
    "RMSprop": lambda p: tg.optim.RMSprop(p, centered=True, momentum=0.1),
    "Adagrad": lambda p: tg.optim.Adagrad(p, lr_decay=0.1),
}


@pytest.mark.parametrize("name", MADE)
def test_state_goes_on_where_it_was_saved(name: str) -> None:
    first = parameters()
    optimizer = MADE[name](first)
    descend(first, optimizer, 3)
    second = [p.detach().clone().requires_grad_() for p in first]
    other = MADE[name](second)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    descend(first, optimizer, 3)
    descend(second, other, 3)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.detach(), b.detach())
    assert set(optimizer.state_dict()) == {"state", "param_groups"}
    assert optimizer.state_dict()["param_groups"][0]["params"] == [0, 1]


def test_lbfgs_goes_on_where_it_was_saved() -> None:
    runs = []
    for restart in (False, True):
        w = tg.tensor([-1.0, 2.0], requires_grad=True)
        optimizer = tg.optim.LBFGS([w], lr=0.2, max_iter=2)

        def closure(w: Any = w) -> Any:
            w.grad = None
            loss = (w**4).sum() + w[0] * w[1]
            loss.backward()
            return loss

        for k in range(4):
            optimizer.step(closure)
            if restart and k == 1:
                state = copy.deepcopy(optimizer.state_dict())
                optimizer = tg.optim.LBFGS([w], lr=0.2, max_iter=2)
                optimizer.load_state_dict(state)
        runs.append(w.detach().numpy())
    np.testing.assert_array_equal(*runs)


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
def test_copies_go_on_by_themselves(how: Callable[[Any], Any]) -> None:
    params = parameters()
    optimizer = tg.optim.Adam(params, lr=0.1)
    descend(params, optimizer, 2)
    others, other = how((params, optimizer))
    assert other.param_groups[0]["params"][0] is others[0]
    other.param_groups[0]["lr"] = 0.2
    assert optimizer.param_groups[0].rate.item() == 0.1
    assert other.param_groups[0].rate.item() == 0.2
    before = params[0].detach().clone()
    descend(others, other, 1)
    np.testing.assert_array_equal(params[0].detach(), before)
    optimizer.param_groups[0]["lr"] = 0.2
    descend(params, optimizer, 1)
    np.testing.assert_array_equal(params[0].detach(), others[0].detach())


def test_loading_into_a_compiled_step() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.1, momentum=0.9)

    @tg.jit
    def step() -> Any:
        optimizer.zero_grad()
        loss = w.square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    start, state = w.detach().clone(), copy.deepcopy(optimizer.state_dict())
    losses = [step().item() for _ in range(4)]
    assert state["state"] == {}
    with tg.no_grad():
        w.copy_(start)
    saved = copy.deepcopy(optimizer.state_dict())
    for entries in saved["state"].values():
        for value in entries.values():
            value.zero_()
    saved["param_groups"][0]["lr"] = 0.05
    optimizer.load_state_dict(saved)
    assert step().item() == losses[0]
    assert w.detach().tolist() == [0.9, 1.8]


def test_parameters_without_gradient_stay() -> None:
    used, unused = parameters()
    optimizer = tg.optim.Adam([used, unused])
    used.sum().backward()
    optimizer.step()
    assert unused.item() == 0.5
    assert unused not in optimizer.state
    assert float(optimizer.state[used]["step"]) == 1.0
    assert used._version == 1


def test_groups_and_zero_grad() -> None:
    a, b = parameters()
    optimizer = tg.optim.SGD([("a", a)], lr=0.1)
    optimizer.add_param_group({"params": b, "lr": 0.5})
    (a.sum() + b.sum()).backward()
    optimizer.step()
    np.testing.assert_allclose(a.detach(), [0.9, -2.1])
    assert b.item() == 0.0
    held = a.grad
    optimizer.zero_grad(set_to_none=False)
    assert a.grad is held
    assert held.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert a.grad is None
    assert "lr: 0.5" in repr(optimizer)
    assert repr(optimizer).startswith("SGD (\nParameter Group 0\n")


def test_a_tensor_as_learning_rate() -> None:
    w, rate = tg.tensor([1.0], requires_grad=True), tg.tensor(0.5)
    optimizer = tg.optim.SGD([w], lr=rate)

    @tg.jit
    def step() -> None:
        w.grad = None
        w.sum().backward()
        optimizer.step()

    step()
    rate.fill_(0.25)
    step()
    assert w.item() == 0.25
    optimizer.param_groups[0]["lr"] = 0.125
    step()
    assert w.item() == 0.125
    optimizer.param_groups[0]["lr"] = tg.tensor(1.0)
    step()
    assert w.item() == -0.875
    assert rate.item() == 0.25
    assert len(step._signatures.entries) == 1


def test_float32_parameters_stay_float32() -> None:
    for make in MADE.values():
        w = tg.tensor([1.0, 2.0], dtype=np.float32, requires_grad=True)
        optimizer = make([w])
        for _ in range(2):
            w.grad = None
            w.square().sum().backward()
            optimizer.step()
        assert w.dtype == np.float32
        assert all(
            t.dtype == np.float32
            for key, t in optimizer.state[w].items()
            if key not in ("step", "started")
        )


def test_the_loss_of_a_closure_is_returned() -> None:
    w = tg.tensor([3.0], requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.1)

    def closure() -> Any:
        assert tg.is_grad_enabled()
        optimizer.zero_grad()
        loss = w.square().sum()
        loss.backward()
        return loss

    with tg.no_grad():
        assert optimizer.step(closure).item() == 9.0


W = tg.zeros(2, requires_grad=True)
ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a tensor": (lambda: tg.optim.SGD(W), TypeError, r"write \[w\]"),
    "nothing": (lambda: tg.optim.SGD([]), ValueError, "empty parameter list"),
    "no tensor": (lambda: tg.optim.SGD([1.0]), TypeError, "can only optimize Tensors"),
    "no leaf": (lambda: tg.optim.SGD([W * 2]), ValueError, "non-leaf"),
    "twice": (lambda: tg.optim.SGD([W, W]), ValueError, "more than one parameter group, or twice"),
    "a set": (lambda: tg.optim.SGD([{"params": {W}}]), TypeError, "ordered collections"),
    "lr": (lambda: tg.optim.Adam([W], lr=-1.0), ValueError, "Invalid lr value: -1.0"),
    "nan": (lambda: tg.optim.SGD([W], lr=math.nan), ValueError, "Invalid lr value: nan"),
    "beta": (
        lambda: tg.optim.AdamW([W], betas=(0.9, 1.0)),
        ValueError,
        "beta parameter at index 1",
    ),
    "nesterov": (
        lambda: tg.optim.SGD([W], nesterov=True),
        ValueError,
        "Nesterov momentum requires",
    ),
    "differentiable": (
        lambda: tg.optim.SGD([W], differentiable=True),
        NotImplementedError,
        "not supported",
    ),
    "line search": (
        lambda: tg.optim.LBFGS([W], line_search_fn="armijo"),
        RuntimeError,
        "strong_wolfe",
    ),
    "groups": (
        lambda: tg.optim.LBFGS([{"params": [W]}, {"params": [tg.zeros(1)]}]),
        ValueError,
        "parameter groups",
    ),
    "closure": (lambda: tg.optim.LBFGS([W]).step(), TypeError, "needs a closure"),
    "load": (
        lambda: tg.optim.SGD([W]).load_state_dict({"state": {}, "param_groups": []}),
        ValueError,
        "different number",
    ),
    "schedule": (lambda: tg.optim.lr_scheduler.StepLR(W, 2), TypeError, "is not an Optimizer"),
    "lambdas": (
        lambda: tg.optim.lr_scheduler.LambdaLR(tg.optim.SGD([W]), []),
        ValueError,
        "Expected 1 lr_lambdas",
    ),
    "factor": (
        lambda: tg.optim.lr_scheduler.ReduceLROnPlateau(tg.optim.SGD([W]), factor=1.0),
        ValueError,
        "Factor should be",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_was_wrong(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()


def test_schedules_can_be_saved() -> None:
    optimizer = tg.optim.SGD([W], lr=1.0)
    schedule = tg.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    schedule.step()
    state = schedule.state_dict()
    other = tg.optim.lr_scheduler.ExponentialLR(tg.optim.SGD([W], lr=1.0), 0.1)
    other.load_state_dict(state)
    assert (other.last_epoch, other.gamma, other.get_last_lr()) == (1, 0.5, [0.5])


def test_one_cycle_moves_momentum_too() -> None:
    """Rates and first betas as torch gives them."""
    expected = [
        (0.02, 0.95),
        (0.26, 0.9),
        (0.5, 0.85),
        (0.475242316007, 0.854951556605),
        (0.405872826975, 0.868825509907),
    ]
    expected += [
        (0.305631010968, 0.888873953302),
        (0.194370989032, 0.911126046698),
        (0.094129173025, 0.931174490093),
    ]
    optimizer = tg.optim.Adam([tg.zeros(1, requires_grad=True)], lr=0.1)
    schedule = tg.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=10)
    for rate, beta in expected:
        group = optimizer.param_groups[0]
        np.testing.assert_allclose(
            (float(group["lr"]), group["betas"][0]), (rate, beta), rtol=1e-11
        )
        schedule.step()
    for _ in range(2):
        schedule.step()
    with pytest.raises(ValueError, match="number of total steps is 10"):
        schedule.step()
    for options, text in (
        ({}, "either total_steps OR"),
        ({"total_steps": 5, "pct_start": 2.0}, "pct_start"),
        ({"total_steps": 0}, "positive"),
    ):
        with pytest.raises(ValueError, match=text):
            tg.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, **options)
