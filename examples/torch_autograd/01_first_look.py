"""A first look at autograd: tensors that remember how they came about, and what `backward` does
with that."""

from __future__ import annotations

import tracegrad as tg

# In [1]: A tensor with requires_grad=True starts a history.
x = tg.ones(2, 2, requires_grad=True)
print(x)

# In [2]: What is computed from it has a grad_fn, the operation that made it.
y = x + 2
print(y)
print(y.grad_fn)

# In [3]: More operations.
z = y * y * 3
out = z.mean()
print(z, out, sep="\n")

# In [4]: A tensor made by the user does not ask for gradients until it is told to.
a = tg.tensor([[0.5, -1.5], [2.0, 3.0]])
a = (a * 3) / (a - 1)
print(a.requires_grad)
a.requires_grad_(True)
print(a.requires_grad)
b = (a * a).sum()
print(b.grad_fn)

# In [5]: One number, so `backward` needs no argument: d(out)/dx.
out.backward()
print(x.grad)

# In [6]: By hand: out = sum(3 (x + 2)^2) / 4, so d(out)/dx = 3 (x + 2) / 2, which is 4.5 where x is
# 1.
print(bool((x.grad == 1.5 * (x.detach() + 2)).all()))

# In [7]: The history is freed by then, so a second time is refused.
try:
    out.backward()
except RuntimeError as error:
    print(f"{type(error).__name__}: {error}")

# In [8]: With retain_graph=True it is kept, and gradients add up until they are zeroed.
inp = tg.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
out.backward(tg.ones_like(out), retain_graph=True)
print(f"First call\n{inp.grad}")
out.backward(tg.ones_like(out), retain_graph=True)
print(f"\nSecond call\n{inp.grad}")
inp.grad.zero_()
out.backward(tg.ones_like(out), retain_graph=True)
print(f"\nCall after zeroing gradients\n{inp.grad}")

# In [9]: Define by run: the history is what happened, loops and branches included.
x = tg.tensor([0.75, -1.5, 0.25], requires_grad=True)
y = x * 2
count = 1
while y.data.norm() < 1000:
    y = y * 2
    count += 1
print(count, y)

# In [10]: y is no single number, so `backward` gets a vector v and computes v' J.
v = tg.tensor([0.1, 1.0, 0.0001])
y.backward(v)
print(x.grad)
print(bool((x.grad == v * 2.0**count).all()))

# In [11]: No history inside no_grad ...
print(x.requires_grad, (x**2).requires_grad)
with tg.no_grad():
    print((x**2).requires_grad)

# In [12]: ... nor from a detached tensor, which has the same values.
y = x.detach()
print(y.requires_grad)
print(x.eq(y).all())
x.detach_()
print(x.requires_grad, x.is_leaf)
