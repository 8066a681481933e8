"""Training: one whole step of a network with two layers, from zeroed gradients to moved parameters,
as torch's users write it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload

RATE, MOMENTUM, EPS = 0.01, 0.9, 1e-8


def loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
    scores = np.tanh(x @ w1.T + b1) @ w2.T + b2
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    log_p = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(labels)), labels])


def data(batch: int, inputs: int, hidden: int, classes: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(11)
    return (
        rng.standard_normal((hidden, inputs)) / np.sqrt(inputs),
        rng.standard_normal(hidden) * 0.1,
        rng.standard_normal((classes, hidden)) / np.sqrt(hidden),
        rng.standard_normal(classes) * 0.1,
        rng.random((batch, inputs)),
        rng.integers(0, classes, batch),
    )


def gradients(w1: Floats, b1: Floats, w2: Floats, b2: Floats, x: Floats, labels: Any) -> list[Any]:
    """The loss and its derivatives, by hand."""
    h = np.tanh(x @ w1.T + b1)
    scores = h @ w2.T + b2
    log_p = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    rows = np.arange(len(x))
    d_scores = np.exp(log_p)
    d_scores[rows, labels] -= 1.0
    d_scores /= len(x)
    d_h = (d_scores @ w2) * (1 - h**2)
    return [
        -np.mean(log_p[rows, labels]),
        d_h.T @ x,
        d_h.sum(axis=0),
        d_scores.T @ h,
        d_scores.sum(axis=0),
    ]


def after_sgd(*arguments: Any) -> list[Any]:
    value, *slopes = gradients(*arguments)
    # The first velocity is the gradient.
    return [value, *[p - RATE * g for p, g in zip(arguments, slopes, strict=False)]]


def after_adam(*arguments: Any) -> list[Any]:
    value, *slopes = gradients(*arguments)
    # At the first step the corrected means are the gradient and its square.
    return [
        value,
        *[p - RATE * g / (np.abs(g) + EPS) for p, g in zip(arguments, slopes, strict=False)],
    ]


def sgd(library: Any, parameters: Any) -> Any:
    return library.optim.SGD(parameters, lr=RATE, momentum=MOMENTUM)


def adam(library: Any, parameters: Any) -> Any:
    return library.optim.Adam(parameters, lr=RATE, eps=EPS)


def step_with(make_optimizer: Function) -> Function:
    """The step for a library: `build(library, tensors, compiled)` gives a function of images and
    labels, and the parameters that it moves.

    The very same text runs on tracegrad and on torch; `compiled` compiles the model alone.
    """

    def build(
        library: Any, w1: Any, b1: Any, w2: Any, b2: Any, compiled: Function | None = None
    ) -> tuple[Function, list[Any]]:
        nn = library.nn
        model = nn.Sequential(
            nn.Linear(w1.shape[1], w1.shape[0]), nn.Tanh(), nn.Linear(w2.shape[1], w2.shape[0])
        )
        model = model.double().to(w1.device)
        with library.no_grad():
            for parameter, value in zip(model.parameters(), (w1, b1, w2, b2), strict=True):
                parameter.copy_(value)
        optimizer = make_optimizer(library, model.parameters())
        forward = model if compiled is None else compiled(model)

        def step(x: Any, labels: Any) -> Any:
            optimizer.zero_grad()
            value = nn.functional.cross_entropy(forward(x), labels)
            value.backward()
            optimizer.step()
            return value.detach()

        return step, list(model.parameters())

    return build


SIZES = {
    "small": {"batch": 8, "inputs": 6, "hidden": 5, "classes": 3},
    "default": {"batch": 100, "inputs": 64, "hidden": 48, "classes": 10},
    "large": {"batch": 512, "inputs": 256, "hidden": 256, "classes": 10},
}
WORKLOADS = tuple(
    Workload(
        name="training",
        variant=variant,
        derivative="step",
        doc=f"a training step of a small network: zero_grad, cross-entropy, backward, {variant}",
        function=loss,
        data=data,
        sizes=SIZES,
        argnums=(0, 1, 2, 3),
        reference=reference,
        step=step_with(optimizer),
    )
    for variant, reference, optimizer in (("SGD", after_sgd, sgd), ("Adam", after_adam, adam))
)
