"""Optimal control with sparse derivatives
=======================================

A pole on a cart is swung up with the least effort: unknown is the whole path, equations of motion
are constraints, and Newton's method solves for all of it at once.

Position, angle, their speeds and the force at 201 times are 1,005 unknowns; the trapezoidal rule
between each two times gives 800 constraints. `tg.sparse_jacobian` and `tg.hessian_of_lagrangian`
find where their derivatives are, and fill the matrix of each Newton step, which SciPy factorizes.
The problem is that of M. Kelly, SIAM Review 59 (2017), section 6, without limits of the force.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

import tracegrad as tg

STEPS, SECONDS = 200, 2.0
CART, POLE, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81
H = SECONDS / STEPS
START, END = np.zeros(4), np.array([1.0, np.pi, 0.0, 0.0])


def slope(z):
    """How position, angle and their speeds change."""
    angle, turning, force = z[:, 1], z[:, 3], z[:, 4]
    s, c = np.sin(angle), np.cos(angle)
    mass = CART + POLE * s**2
    cart = (LENGTH * POLE * s * turning**2 + force + POLE * GRAVITY * c * s) / mass
    pole = LENGTH * POLE * c * s * turning**2 + force * c + (CART + POLE) * GRAVITY * s
    return np.stack([z[:, 2], z[:, 3], cart, -pole / (LENGTH * mass)], 1)


def effort(x):
    u = x.reshape(-1, 5)[:, 4]
    return 0.5 * H * np.sum(u[1:] ** 2 + u[:-1] ** 2)


def gaps(x):
    """Zero for a path that moves as it must, from rest below to rest above."""
    z = x.reshape(-1, 5)
    motion = z[1:, :4] - z[:-1, :4] - 0.5 * H * (slope(z)[1:] + slope(z)[:-1])
    return np.concatenate([z[0, :4] - START, motion.ravel(), z[-1, :4] - END])


value = tg.jit(tg.value_and_grad(effort))
constraints = tg.jit(gaps)
J = tg.sparse_jacobian(gaps)
H_lagrangian = tg.hessian_of_lagrangian(effort, gaps)


def newton(x):
    """Newton's method for the conditions of a minimum (sequential quadratic programs). Far away the
    curvature of the constraints may point down: it counts once they are nearly met."""
    n, lam, near = x.size, np.zeros(gaps(x).size), False

    def merit(x):
        return value(x)[0] + 1e3 * np.abs(constraints(x)).sum()

    for count in range(1, 100):
        jac = J(x)
        curvature = H_lagrangian(x, lam if near else 0 * lam, 1.0)
        hessian = curvature + (0.0 if near else 1e-3) * sp.eye_array(n)
        system = sp.block_array([[hessian, jac.T], [jac, None]], format="csc")
        step = scipy.sparse.linalg.spsolve(system, -np.append(value(x)[1], constraints(x)))
        length = 1.0
        while not near and length > 1e-3 and merit(x + length * step[:n]) > merit(x):
            length /= 2
        x, lam = x + length * step[:n], step[n:]
        unmet = np.append(value(x)[1] + J(x).T @ lam, constraints(x))
        size = np.abs(unmet).max()
        print(f"{count:3d}  step {length:5.3f}  unmet {size:8.1e}  effort {effort(x):9.5f}")
        near = near or (length == 1.0 and size < 2e-1)
        if size < 1e-10:
            return x, lam, system
    raise AssertionError("Newton's method did not converge")


guess = np.zeros((STEPS + 1, 5))
guess[:, :4] = np.linspace(START, END, STEPS + 1)
x, lam, system = newton(guess.ravel())
z = x.reshape(-1, 5)
times = np.linspace(0.0, SECONDS, STEPS + 1)

# The first 60 columns of the constraints' pattern, and the path.
pattern = tg.sparsity(gaps)(x)
print(f"{pattern.shape[0]} x {pattern.shape[1]}, {pattern.nnz} entries, {pattern.method} values")
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.spy(pattern[:60, :60], markersize=3)
left.set_title("gaps by the path (first 60)")
right.plot(times, z[:, 0], label="position, m")
right.plot(times, z[:, 1], label="angle, rad")
right.plot(times, z[:, 4] / 10, label="force, 10 N")
right.set_xlabel("s")
right.legend()

assert np.abs(constraints(x)).max() < 1e-10
assert abs(effort(x) - 58.83) < 0.01, effort(x)
