"""A network of one layer: a loss from logits, the gradients of its parameters, and some steps
downhill."""

from __future__ import annotations

import tracegrad as tg
from tracegrad import nn, optim

tg.manual_seed(0)

# In [1]: Inputs, expected outputs, and two parameters.
x = tg.ones(5)
y = tg.zeros(3)
w = tg.tensor([[0.5, -1.0, 0.25]] * 5, requires_grad=True)
b = tg.tensor([0.1, 0.2, -0.3], requires_grad=True)
z = tg.matmul(x, w) + b
loss = nn.functional.binary_cross_entropy_with_logits(z, y)
print(z, loss, sep="\n")

# In [2]: What each remembers.
print("of z:", z.grad_fn.name(), "| of the loss:", loss.grad_fn.name())

# In [3]: The gradients.
loss.backward()
print(w.grad, b.grad, sep="\n")
print(bool((w.grad[0] == b.grad).all()))

# In [4]: No history where none is wanted.
z = tg.matmul(x, w) + b
print(z.requires_grad)
with tg.no_grad():
    z = tg.matmul(x, w) + b
print(z.requires_grad, (tg.matmul(x, w) + b).detach().requires_grad)

# In [5]: By hand: step, then set the gradients back to zero.
before = float(loss.detach())
for _ in range(20):
    loss = nn.functional.binary_cross_entropy_with_logits(tg.matmul(x, w) + b, y)
    w.grad.zero_()
    b.grad.zero_()
    loss.backward()
    with tg.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
print(f"{before:.6f} -> {loss.item():.6f}")

# In [6]: The same with a module and an optimiser.
model = nn.Linear(5, 3)
with tg.no_grad():
    model.weight.copy_(tg.tensor([[0.5, -1.0, 0.25]] * 5).t())
    model.bias.copy_(tg.tensor([0.1, 0.2, -0.3]))
optimiser = optim.SGD(model.parameters(), lr=0.1)
for _ in range(21):
    optimiser.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    loss.backward()
    optimiser.step()
print(f"{loss.item():.6f}")
model.zero_grad()
print([p.grad is None for p in model.parameters()])


# In [7]: And as one compiled step.
@tg.jit
def step(w, b, x, y):
    def objective(parameters):
        w, b = parameters
        return nn.functional.binary_cross_entropy_with_logits(tg.matmul(x, w) + b, y)

    value, (gw, gb) = tg.value_and_grad(objective)((w, b))
    return value, w - 0.1 * gw, b - 0.1 * gb


w, b = tg.tensor([[0.5, -1.0, 0.25]] * 5), tg.tensor([0.1, 0.2, -0.3])
for _ in range(21):
    value, w, b = step(w, b, x, y)
print(f"{value.item():.6f}")
