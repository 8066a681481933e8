"""A neural network on handwritten digits
======================================

A small neural network on scikit-learn's handwritten digits, as torch's users write it; the whole
training step is one compiled program."""

from __future__ import annotations

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import tracegrad as tg
from tracegrad import nn

digits = load_digits()
images, labels = tg.tensor(digits.data / 16.0), tg.tensor(digits.target)
order = np.random.default_rng(0).permutation(len(digits.target))
train, test = order[:1400], order[1400:]
EPOCHS, BATCH = 30, 100


def fit(compiled: bool):
    """Train a network, with the same numbers whether the step is compiled or not; the losses of all
    steps, the network, and the seconds that the first step took, and the others."""
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 10))
    optimizer = tg.optim.Adam(model.parameters(), lr=0.005)
    scheduler = tg.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS, eta_min=0.0005)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = tg.jit(step) if compiled else step
    losses, times, rng = [], [], np.random.default_rng(1)
    for _ in range(EPOCHS):
        for rows in rng.permutation(train).reshape(-1, BATCH):
            began = time.perf_counter()
            losses.append(step(images[rows], labels[rows]).item())
            times.append(time.perf_counter() - began)
        # The compiled step reads the learning rate at each call.
        scheduler.step()
    return np.array(losses), model, (times[0], sum(times[1:]))


def accuracy(model):
    """The share of test images that are recognised."""
    with tg.no_grad():
        return (model(images[test]).argmax(1) == labels[test]).double().mean().item()


if __name__ == "__main__":
    results = {}
    for compiled in (False, True):
        losses, model, (first, others) = fit(compiled)
        results[compiled] = losses
        print(
            f"{'compiled' if compiled else 'eager   '}  loss {losses[0]:.4f} -> {losses[-1]:.4f}"
            f"   test accuracy {accuracy(model):.3f}   ",
            end="",
        )
        print(f"first step {first:.2f} s, others {1e6 * others / (len(losses) - 1):.0f} us each")
        assert accuracy(model) >= 0.95
    print(f"largest difference of two losses: {np.max(np.abs(results[True] - results[False])):.1e}")
    np.testing.assert_allclose(results[True], results[False], rtol=1e-10)

    # %%
    # The losses of both ways lie on one another.
    figure, axes = plt.subplots(layout="constrained")
    axes.semilogy(results[False], label="eager", linewidth=3, alpha=0.4)
    axes.semilogy(results[True], label="compiled", linewidth=0.8)
    axes.set(xlabel="step", ylabel="cross entropy")
    axes.legend()
    plt.show()
