"""Tensors of the backward pass in files
=====================================

Training with what the backward pass needs kept in files: hooks of saved tensors.

Every operation keeps what its derivative reads. `saved_tensors_hooks` gets each of these tensors
when it is saved and gives it back when it is needed, so that it can lie in a file, be packed, or be
counted. The gradients are the same to the bit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tracegrad as tg
from tracegrad.autograd.graph import saved_tensors_hooks


class OnDisk(saved_tensors_hooks):
    """Tensors of at least `least` elements go to a folder; smaller ones stay in memory. A file is
    deleted when the node that it was saved for is freed."""

    def __init__(self, folder: Path, least: int = 1000):
        super().__init__(self.pack, self.unpack)
        self.folder, self.least = folder, least
        self.count = self.written = 0

    def pack(self, t):
        # Parameters are in memory anyway.
        if t.numel() < self.least or (t.is_leaf and t.requires_grad):
            return t.detach()
        self.count += 1
        self.written += t.numel() * t.element_size()
        return File(self.folder / f"{self.count}.npy", t.detach().numpy())

    def unpack(self, packed):
        return tg.from_numpy(np.load(packed.path)) if isinstance(packed, File) else packed


class File:
    """A file that is there as long as this object."""

    def __init__(self, path: Path, array: np.ndarray):
        self.path = path
        np.save(path, array)

    def __del__(self):
        self.path.unlink()


def loss(weights, x, y):
    """Mean squared error of a network of tanh layers."""
    for w in weights[:-1]:
        x = (x @ w).tanh()
    return ((x @ weights[-1] - y) ** 2).mean()


rng = np.random.default_rng(0)
x = tg.tensor(rng.normal(size=(512, 16)))
y = (x[:, :1] * 2).sin() + x[:, 1:2]
weights = [
    tg.tensor(rng.normal(size=s) / np.sqrt(s[0]), requires_grad=True)
    for s in ((16, 64), (64, 64), (64, 1))
]

expected = tg.autograd.grad(loss(weights, x, y), weights)
losses = []
losses = []
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    hooks = OnDisk(folder)
    for step in range(20):
        with hooks:
            value = loss(weights, x, y)
        files = len(list(folder.iterdir()))
        value.backward()
        losses.append(value.item())
        losses.append(value.item())
        if step == 0:
            assert all(
                np.array_equal(w.grad.numpy(), g.numpy())
                for w, g in zip(weights, expected, strict=True)
            )
            print(
                f"a step keeps {files} files, {hooks.written / 1e3:.0f} kB; after its "
                f"backward pass {len(list(folder.iterdir()))}"
            )
        with tg.no_grad():
            for w in weights:
                w -= 0.1 * w.grad
                w.grad = None
assert losses[-1] < losses[0] / 2
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")

# %%
# The loss of each step.
figure, axes = plt.subplots(layout="constrained")
axes.plot(losses, "o-")
axes.set(xlabel="step", ylabel="mean squared error")
plt.show()
