"""Reading what was compiled
=========================

Reading what was compiled: the graph of a function, of its gradient, and the Python source that
Numba turns into native code."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import tracegrad as tg


@tg.jit
def rosenbrock(x):
    a = x[1:] - x[:-1] ** 2
    b = 1.0 - x[:-1]
    return np.sum(100.0 * a**2 + b**2)


gradient = tg.grad(rosenbrock)
x = np.array([-1.2, 1.0, 0.5, 2.0])

print(
    "The function as it was traced and simplified, each line with the line of this file "
    "that it came from:\n"
)
print(rosenbrock.graphs(x))
print("\nIts gradient, after differentiation and simplification:\n")
print(gradient.graphs(x)[-1])
print("\nThe native code of the gradient, as Python source; it runs un-jitted too:\n")
print(gradient.source(x))

by_hand = np.zeros(4)
by_hand[1:] += 200.0 * (x[1:] - x[:-1] ** 2)
by_hand[:-1] -= 400.0 * x[:-1] * (x[1:] - x[:-1] ** 2) + 2.0 * (1.0 - x[:-1])
print("gradient ", gradient(x))
print("by hand  ", by_hand)
assert np.allclose(gradient(x), by_hand, rtol=1e-14)

# %%
# The function, and its gradient by each element around the point.
figure, axes = plt.subplots(layout="constrained")
steps = np.linspace(-0.5, 0.5, 101)
for k in range(4):
    slopes = [gradient(x + s * np.eye(4)[k])[k] for s in steps]
    axes.plot(steps, slopes, label=f"element {k}")
axes.set(xlabel="change of one element", ylabel="its partial derivative")
axes.legend()
plt.show()
