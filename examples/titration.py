"""A titration curve and its errors
================================

An equilibrium and what it depends on: the pH of phosphoric acid titrated with lye, its
equivalence point, and the error of both.

The pH solves the balance of charges, an equation without a closed form. `tg.root` finds it, and its
derivatives of any order come from the balance itself (the implicit function theorem): the slope of
the titration curve shows where the acid is used up, and the place where the second derivative
changes its sign, itself found by `tg.root`, is the equivalence point. How both move with each
constant that was measured gives their standard errors.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import tracegrad as tg

SAMPLE = 20.0  # ml of acid
NAMES = ["pK1", "pK2", "pK3", "acid, mol/l", "lye, mol/l"]
CONSTANTS = np.array([2.148, 7.198, 12.35, 0.05, 0.1])
ERRORS = np.array([0.01, 0.01, 0.03, 0.0005, 0.0002])


def charge(pH, volume, constants):
    """Positive minus negative charges, in mmol/l, after `volume` ml of lye."""
    h = 10.0**-pH
    K1, K2, K3 = (10.0 ** -constants[k] for k in range(3))
    acid, lye = constants[3] * SAMPLE / (SAMPLE + volume), constants[4] * volume / (SAMPLE + volume)
    one, two, three = K1 * h * h, K1 * K2 * h, K1 * K2 * K3
    per_molecule = (one + 2 * two + 3 * three) / (h**3 + one + two + three)
    return 1e3 * (lye + h - 1e-14 / h - acid * per_molecule)


def pH(volume, constants):
    return tg.root(charge, 7.0, volume, constants)


def equivalence(constants):
    """The volume at which the curve is steepest, between the first and the second proton."""
    curvature = tg.grad(tg.grad(pH))
    return tg.root(curvature, constants[3] * SAMPLE / constants[4], constants)


volumes = np.array([0.0, 5.0, 9.0, 9.9, 10.0, 10.1, 11.0, 15.0, 19.0, 20.0, 21.0])
curve = tg.jit(tg.vmap(tg.value_and_grad(pH), in_axes=(0, None)))
by_constants = tg.jit(tg.vmap(tg.grad(pH, 1), in_axes=(0, None)))
values, slopes = curve(volumes, CONSTANTS)
errors = np.sqrt(np.sum((by_constants(volumes, CONSTANTS) * ERRORS) ** 2, axis=1))
print(f"{'lye, ml':>8}{'pH':>10}{'slope per ml':>24}")
for row in zip(volumes, values, errors, slopes, strict=True):
    print("{:8.1f} {:9.3f} +- {:.3f} {:12.3f}".format(*row))

point, moves = tg.jit(tg.value_and_grad(equivalence))(CONSTANTS)
print(
    f"\nequivalence point {point:.4f} +- {np.sqrt(np.sum((moves * ERRORS) ** 2)):.4f} ml; "
    "it moves, per standard error of a constant, by"
)
for name, move, error in zip(NAMES, moves, ERRORS, strict=True):
    print(f"{name:12} {move * error:10.6f} ml")

# The same derivative by solving the problem again beside.
h = 1e-4
found = tg.jit(equivalence)
again = [
    (found(CONSTANTS + h * d) - found(CONSTANTS - h * d)) / (2 * h) for d in np.diag(CONSTANTS)
]
assert np.allclose(again, moves * CONSTANTS, rtol=1e-4, atol=1e-4)

# %%
# The curve with its slope; the point is where the slope is largest.
figure, axes = plt.subplots(layout="constrained")
many = np.linspace(0.0, 21.0, 400)
heights, steepness = curve(many, CONSTANTS)
axes.plot(many, heights, label="pH")
axes.plot(many, steepness, linewidth=0.8, label="slope, per ml")
axes.axvline(point, color="grey", linewidth=0.8)
axes.set(xlabel="lye, ml", ylim=(0.0, 13.0))
axes.legend()
plt.show()
