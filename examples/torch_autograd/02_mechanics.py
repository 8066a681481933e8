"""The mechanics: modes, what the tape saves and checks, layouts of gradients, hooks, and the parts
one can look at."""

from __future__ import annotations

import threading

import tracegrad as tg
from tracegrad import autograd


# In [1]: The tape is written while the program runs, so each run may take another way.
def halved_until_odd(n, x):
    while n % 2 == 0:
        n, x = n // 2, x * x
    return x


x = tg.tensor(1.1, requires_grad=True)
for n in (3, 4, 8):
    (gradient,) = autograd.grad(halved_until_odd(n, x), x)
    print(n, gradient)

# In [2]: Leaves and results.
w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
mid = w * w
loss = mid.sum()
print(w.is_leaf, mid.is_leaf, loss.is_leaf, tg.ones(2).is_leaf)
print(w.grad_fn, mid.grad_fn, loss.grad_fn)

# In [3]: From a node one reaches the nodes before it, down to where a leaf's gradient is added up.
node = loss.grad_fn
while node is not None:
    print(node.name())
    node = node.next_functions[0][0] if node.next_functions else None

# In [4]: A node keeps what its derivative reads.
product = w * tg.tensor([4.0, 5.0, 6.0])
print(product.grad_fn._saved_other)
root = w.exp()
print(bool((root.grad_fn._saved_result == root).all()))

# In [5]: Which of a node's results a tensor is.
first, second, third = w.unbind()
print(first.output_nr, second.output_nr, third.output_nr, first.grad_fn is third.grad_fn)

# In [6]: The modes, as context managers, decorators and functions.
with tg.no_grad():
    print(tg.is_grad_enabled(), (w * 2).requires_grad)
    with tg.enable_grad():
        print(tg.is_grad_enabled(), (w * 2).requires_grad)


@tg.no_grad()
def doubled(t):
    return t * 2


print(doubled(w).requires_grad)
tg.set_grad_enabled(False)
print((w * 2).requires_grad)
tg.set_grad_enabled(True)
with tg.set_grad_enabled(False):
    print((w * 2).requires_grad)

# In [7]: Inference mode does even less: its tensors have no version counter and never join a
# history.
with tg.inference_mode():
    print(tg.is_inference_mode_enabled(), tg.is_grad_enabled())
    lean = w * 2
print(lean.requires_grad, tg.is_inference_mode_enabled())
try:
    w * lean
except RuntimeError as error:
    print(error)

# In [8]: Modes belong to a thread.
seen = []
with tg.no_grad():
    worker = threading.Thread(target=lambda: seen.append(tg.is_grad_enabled()))
    worker.start()
    worker.join()
    print("here:", tg.is_grad_enabled(), "in a new thread:", seen[0])

# In [9]: Every write raises a tensor's version, which views share.
base = tg.zeros(4)
view = base[1:3]
print(base._version, view._version, view._is_view(), view._base is base, base._base)
view.add_(1)
base.mul_(3)
print(base, base._version, view._version)

# In [10]: What was saved must not have changed when its derivative is taken; the check comes with
# `backward`. A sum saves nothing ...
result = w + 1
total = (result * 2).sum()
result.add_(1)
total.backward()
print(w.grad)
w.grad = None

# ... but the derivative of exp is its result.
result = w.exp()
total = result.sum()
result.add_(1)
try:
    total.backward()
except RuntimeError as error:
    print(error)

# In [11]: A leaf that wants a gradient is not written to, unless nothing is recorded.
try:
    w.mul_(2)
except RuntimeError as error:
    print(error)
with tg.no_grad():
    w.mul_(2)
print(w, w.is_leaf, w._version)

# In [12]: In-place operations on results are part of the history, also through views.
w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
t = w * 1
t[0] = 0.0
t[1:].mul_(10)
t.sum().backward()
print(t, w.grad, sep="\n")

# In [13]: A gradient has the memory layout of its leaf.
columns = tg.zeros(3, 2).t().requires_grad_()
(columns * tg.arange(6.0).reshape(2, 3)).sum().backward()
print(columns.stride(), columns.grad.stride())
print(columns.grad)

# In [14]: Gradients of results are kept on request, and hooks see them pass.
w = tg.tensor([1.0, 2.0], requires_grad=True)
mid = w * 3
mid.retain_grad()
handle = mid.register_hook(lambda grad: grad * 10)
(mid * mid).sum().backward()
print(mid.grad, w.grad)
handle.remove()

# In [15]: In-place accumulation: the same tensor goes on being the gradient.
w.grad = None
(w * 2).sum().backward()
gradient = w.grad
(w * 2).sum().backward()
print(gradient is w.grad, gradient)
