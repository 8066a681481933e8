"""A third-order polynomial fitted to a sine, with the Legendre polynomial of degree 3 as a Function
of its own."""

from __future__ import annotations

import math

import tracegrad as tg
from tracegrad import autograd


# In [1]: y = a + b P3(c + d x), where P3(t) = (5 t^3 - 3 t) / 2. The backward pass is written by
# hand.
class LegendrePolynomial3(autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return 0.5 * (5 * t**3 - 3 * t)

    @staticmethod
    def backward(ctx, grad_output):
        (t,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * t**2 - 1)


# In [2]: The derivative passes the check, once and twice.
t = tg.linspace(-1.0, 1.0, 7, requires_grad=True)
print(
    autograd.gradcheck(LegendrePolynomial3.apply, t),
    autograd.gradgradcheck(LegendrePolynomial3.apply, t),
)

# In [3]: Data and the four parameters.
x = tg.linspace(-math.pi, math.pi, 2000)
y = tg.sin(x)
a = tg.full((), 0.0, requires_grad=True)
b = tg.full((), -1.0, requires_grad=True)
c = tg.full((), 0.0, requires_grad=True)
d = tg.full((), 0.3, requires_grad=True)

# In [4]: Gradient descent.
P3 = LegendrePolynomial3.apply
for k in range(2000):
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    if k % 400 == 399:
        print(k, f"{loss.item():.6f}")
    loss.backward()
    with tg.no_grad():
        for parameter in (a, b, c, d):
            parameter -= 5e-6 * parameter.grad
            parameter.grad = None
print(f"y = {b.item():.4f} P3({d.item():.4f} x)", abs(a.item()) < 1e-9, abs(c.item()) < 1e-9)


# In [5]: The same loop compiled: the Function keeps its own backward pass inside jit.
@tg.jit
def step(p, x, y):
    def loss(p):
        return (p[0] + p[1] * P3(p[2] + p[3] * x) - y).pow(2).sum()

    value, gradient = tg.value_and_grad(loss)(p)
    return value, p - 5e-6 * gradient


p = tg.tensor([0.0, -1.0, 0.0, 0.3])
for _ in range(2000):
    value, p = step(p, x, y)
print(f"{value.item():.6f}", [f"{p[k].item():.4f}" for k in (1, 3)])
