"""`autograd.backward`, `autograd.grad` and the functions of `autograd.functional`; custom Functions
and their check."""

from __future__ import annotations

import warnings

import tracegrad as tg
from tracegrad import autograd
from tracegrad.autograd import functional
from tracegrad.autograd.gradcheck import GradcheckError

# In [1]: `backward` adds to the `.grad` of leaves, from several tensors at once if you like.
x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = tg.tensor([4.0, 5.0, 6.0], requires_grad=True)
autograd.backward([(x * y).sum(), (x**2).sum()])
print(x.grad, y.grad)

# In [2]: Weights for what is no single number; `inputs` names the only receivers.
x.grad = y.grad = None
autograd.backward(x * y, grad_tensors=tg.tensor([1.0, 10.0, 100.0]), inputs=[x])
print(x.grad, y.grad)

# In [3]: `grad` returns gradients and leaves `.grad` alone.
x.grad = None
gx, gy = autograd.grad((x * y).sum(), (x, y))
print(gx, gy, x.grad)

# In [4]: What does not take part is an error, None or zeros.
alone = tg.zeros(2, requires_grad=True)
try:
    autograd.grad(x.sum(), (x, alone))
except RuntimeError as error:
    print(error)
print(autograd.grad(x.sum(), (x, alone), allow_unused=True))
print(autograd.grad(x.sum(), (x, alone), materialize_grads=True))

# In [5]: With create_graph the gradient has a history of its own, so it can be differentiated
# again.
(first,) = autograd.grad((x**3).sum(), x, create_graph=True)
(second,) = autograd.grad(first.sum(), x)
print(first, second, sep="\n")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    (x**3).sum().backward(create_graph=True)
print(caught[0].category.__name__, str(caught[0].message)[:71])
x.grad = None

# In [6]: Many vectors at once: the rows of a Jacobian.
out = x**2
print(autograd.grad(out, x, tg.eye(3), is_grads_batched=True)[0])


# In [7]: The same, and more, from a function.
def energy(q):
    return (q[0] ** 2 + 3 * q[1] * q[2]).exp()


q = tg.tensor([0.5, 0.25, -1.0])
print(functional.jacobian(lambda q: q * q.sum(), q))
print(functional.hessian(energy, q))


# In [8]: Several inputs give nested tuples.
def rotated(angle, length):
    return tg.stack([length * angle.cos(), length * angle.sin()])


(by_angle, by_length) = functional.jacobian(rotated, (tg.tensor(0.5), tg.tensor(2.0)))
print(by_angle, by_length)

# In [9]: Products with a vector, without the matrix.
v = tg.tensor([1.0, 0.0, 2.0])
print(functional.vjp(lambda q: q * q.sum(), q, v))
print(functional.jvp(lambda q: q * q.sum(), q, v))
print(functional.hvp(energy, q, v)[1])
print(functional.vhp(energy, q, v)[1])


# In [10]: A function with a derivative of its own.
class Cube(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output if ctx.needs_input_grad[0] else None


x = tg.tensor([1.0, 2.0, -3.0], requires_grad=True)
cubes = Cube.apply(x)
print(cubes)
cubes.sum().backward()
print(x.grad)


# In [11]: A wrong derivative does not pass the check by finite differences.
class WrongCube(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] ** 2 * grad_output


print(autograd.gradcheck(Cube.apply, x), autograd.gradgradcheck(Cube.apply, x))
try:
    autograd.gradcheck(WrongCube.apply, x)
except GradcheckError as error:
    print(str(error).splitlines()[0])
