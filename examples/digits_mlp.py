"""A small neural network on scikit-learn's handwritten digits: parameters in a dict, gradients in the same dict, Adam in NumPy."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_digits

import tracegrad as tg

digits = load_digits()
images, labels = digits.data / 16.0, digits.target
rng = np.random.default_rng(0)
order = rng.permutation(len(images))
train, test = order[:1400], order[1400:]
parameters = {
    "hidden": {"w": rng.normal(size=(64, 48)) / 8.0, "b": np.zeros(48)},
    "output": {"w": rng.normal(size=(48, 10)) / 7.0, "b": np.zeros(10)},
}


def scores(p, images):
    return np.tanh(images @ p["hidden"]["w"] + p["hidden"]["b"]) @ p["output"]["w"] + p["output"]["b"]


@tg.jit
def loss(p, images, one_hot):
    """Mean cross-entropy."""
    z = scores(p, images)
    largest = np.max(z, axis=1, keepdims=True)
    log_sum = largest[:, 0] + np.log(np.sum(np.exp(z - largest), axis=1))
    return np.mean(log_sum - np.sum(z * one_hot, axis=1))


def walk(function, *trees):
    """`function` at every array of trees that have the same keys."""
    if isinstance(trees[0], dict):
        return {key: walk(function, *[t[key] for t in trees]) for key in trees[0]}
    return function(*trees)


def accuracy(rows):
    return np.mean(np.argmax(scores(parameters, images[rows]), axis=1) == labels[rows])


targets = np.eye(10)[labels]
step = tg.value_and_grad(loss)
mean, square = walk(np.zeros_like, parameters), walk(np.zeros_like, parameters)
batch, count, began = 100, 0, time.perf_counter()
print(f"untrained   test accuracy {accuracy(test):.3f}")
for epoch in range(1, 31):
    shuffled = rng.permutation(train)
    total = 0.0
    for rows in shuffled.reshape(-1, batch):
        value, gradient = step(parameters, images[rows], targets[rows])
        total += value / (len(train) // batch)
        count += 1
        mean = walk(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = walk(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
        rate = 0.005 * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        parameters = walk(lambda p, m, s, rate=rate: p - rate * m / (np.sqrt(s) + 1e-8), parameters, mean, square)
    if epoch % 6 == 0:
        print(f"epoch {epoch:2d}    loss {total:.4f}   test accuracy {accuracy(test):.3f}")
print(f"{count} steps in {time.perf_counter() - began:.2f} s, compilation included")
assert accuracy(test) > 0.94
