"""Runs of optimizers and schedules, as functions of torch or tracegrad, so that torch wrote
tests/data/optim.npz from the very same text.

`python tests/optim_cases.py FILE`, in an environment with torch, writes that file again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 50
A = np.random.default_rng(5).standard_normal((8, 3))
B = np.random.default_rng(6).standard_normal(8)

OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "SGD": lambda o, p: o.SGD(p, lr=0.02),
    "SGD momentum": lambda o, p: o.SGD(p, lr=0.01, momentum=0.9, dampening=0.3, weight_decay=0.1),
    "SGD nesterov": lambda o, p: o.SGD(p, lr=0.01, momentum=0.8, nesterov=True),
    "SGD maximize": lambda o, p: o.SGD(p, lr=0.001, maximize=True),
    "Adam": lambda o, p: o.Adam(p, lr=0.05),
    "Adam amsgrad": lambda o, p: o.Adam(
        p, lr=0.05, betas=(0.8, 0.95), weight_decay=0.1, amsgrad=True
    ),
    "Adam maximize": lambda o, p: o.Adam(p, lr=0.01, maximize=True),
    "AdamW": lambda o, p: o.AdamW(p, lr=0.05, weight_decay=0.2),
    "AdamW amsgrad": lambda o, p: o.AdamW(p, lr=0.05, amsgrad=True),
    "Adamax": lambda o, p: o.Adamax(p, lr=0.05, weight_decay=0.1),
    "RAdam": lambda o, p: o.RAdam(p, lr=0.05, betas=(0.8, 0.95), weight_decay=0.1),
    "RAdam decoupled": lambda o, p: o.RAdam(
        p, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True
    ),
    "NAdam": lambda o, p: o.NAdam(p, lr=0.02, weight_decay=0.1, momentum_decay=0.01),
    "NAdam decoupled": lambda o, p: o.NAdam(
        p, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1, decoupled_weight_decay=True
    ),
    "Rprop": lambda o, p: o.Rprop(p, lr=0.02, etas=(0.4, 1.3), step_sizes=(1e-4, 0.5)),
    "RMSprop": lambda o, p: o.RMSprop(p),
    "RMSprop centered": lambda o, p: o.RMSprop(
        p, lr=0.005, alpha=0.9, centered=True, momentum=0.5, weight_decay=0.1
    ),
    "Adagrad": lambda o, p: o.Adagrad(
        p, lr=0.1, lr_decay=0.05, weight_decay=0.1, initial_accumulator_value=0.2
    ),
    "Adadelta": lambda o, p: o.Adadelta(p, rho=0.8, weight_decay=0.1),
    "LBFGS": lambda o, p: o.LBFGS(p, lr=0.1, max_iter=2, history_size=5),
    "LBFGS strong_wolfe": lambda o, p: o.LBFGS(
        p, max_iter=3, history_size=3, line_search_fn="strong_wolfe"
    ),
    "groups": lambda o, p: o.SGD(
        [{"params": [p[0]], "lr": 0.05}, {"params": [p[1]]}], lr=0.01, momentum=0.5
    ),
}
SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "StepLR": lambda s, o: s.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 9, 9, 20], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 6),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.8, 10),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 8, 0.01),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=60, cycle_momentum=False),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o,
        0.5,
        epochs=6,
        steps_per_epoch=10,
        anneal_strategy="linear",
        three_phase=True,
        pct_start=0.4,
        cycle_momentum=False,
    ),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.02, 0.3, 5, 8),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(o, 0.02, 0.3, 4, mode="triangular2"),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(
        o, 0.02, 0.3, 4, mode="exp_range", gamma=0.9, cycle_momentum=False
    ),
    "CyclicLR scale_fn": lambda s, o: s.CyclicLR(
        o,
        0.02,
        0.3,
        4,
        scale_fn=lambda n: 1 / (1 + n),
        scale_mode="iterations",
        cycle_momentum=False,
    ),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 1 - 0.5 / epoch),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 12, 1.5),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CosineAnnealingWarmRestarts one length": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o,
        [
            s.LinearLR(o, 0.1, 1.0, 5),
            s.CosineAnnealingLR(o, 9),
            s.StepLR(o, 4, 0.5),
            s.MultiplicativeLR(o, lambda epoch: 0.9),
            s.PolynomialLR(o, 8, 2.0),
        ],
        [4, 9, 16, 22],
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.2, 6), s.ExponentialLR(o, 0.95)]
    ),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
}


def problem(kind: str, w: Any, b: Any, a: Any, y: Any) -> Any:
    """A loss with curvature that changes: least squares, and a bent valley for the line
    searches."""
    if kind.startswith("LBFGS"):
        return (
            (1 - w[0]) ** 2
            + 4 * (w[1] - w[0] ** 2) ** 2
            + (w[2] * b).square().sum()
            + (b - 1).square().sum()
        )
    return ((a @ w + b - y) ** 2).mean() + (w**4).sum() * 0.01


def trajectory(
    name: str, optim: Any, tensor: Callable[[Any], Any], wrap: Callable[[Any], Any] = lambda f: f
) -> Any:
    """The parameters after every fifth of 50 steps; the closure's loss is part of it."""
    w, b = (
        tensor(np.array([-1.2, 1.0, 0.5])).requires_grad_(),
        tensor(np.array([0.3])).requires_grad_(),
    )
    a, y = tensor(A), tensor(B)
    optimizer = OPTIMIZERS[name](optim, [w, b])

    def closure() -> Any:
        optimizer.zero_grad()
        loss = problem(name, w, b, a, y)
        loss.backward()
        return loss

    step = wrap(lambda: optimizer.step(closure).detach())
    found = []
    for k in range(STEPS):
        loss = step()
        if k % 5 == 4:
            found.append(
                np.concatenate([w.detach().numpy(), b.detach().numpy(), [float(loss.detach())]])
            )
    return np.array(found)


def rates(name: str, torch: Any, tensor: Callable[[Any], Any]) -> Any:
    """The learning rates of 30 epochs."""
    optimizer = torch.optim.SGD([tensor(np.zeros(1)).requires_grad_()], lr=0.5)
    schedule = SCHEDULES[name](torch.optim.lr_scheduler, optimizer)
    found = []
    for _ in range(30):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return np.array(found)


def plateau(torch: Any, tensor: Callable[[Any], Any], **options: Any) -> Any:
    """The learning rates while a number first falls and then does not."""
    optimizer = torch.optim.SGD([tensor(np.zeros(1)).requires_grad_()], lr=0.5)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=2, **options
    )
    found = []
    for value in [5.0, 4.0, 3.9999, 3.5, 3.6, 3.7, 3.5, 3.6, 3.2, *[3.3] * 12]:
        schedule.step(value)
        found.append(optimizer.param_groups[0]["lr"])
    return np.array(found)


PLATEAUS: dict[str, dict[str, Any]] = {
    "min": {},
    "max": {"mode": "max"},
    "abs": {"threshold": 0.4, "threshold_mode": "abs", "cooldown": 2, "min_lr": 0.1},
}


def main(file: str) -> None:
    """Write torch's numbers."""
    import torch

    torch.set_default_dtype(torch.float64)  # for what an optimizer keeps besides its averages
    numbers = {f"run {name}": trajectory(name, torch.optim, torch.tensor) for name in OPTIMIZERS}
    numbers |= {f"rates {name}": rates(name, torch, torch.tensor) for name in SCHEDULES}
    numbers |= {
        f"plateau {name}": plateau(torch, torch.tensor, **options)
        for name, options in PLATEAUS.items()
    }
    np.savez_compressed(file, **numbers)


if __name__ == "__main__":
    main(sys.argv[1])
