"""y = x' A x: its gradient (A + A') x, its Hessian A + A', and pictures of the graphs behind
them."""

from __future__ import annotations

import pathlib
import tempfile

import tracegrad as tg
from tracegrad.autograd import functional

# In [1]: The form and its gradient.
A = tg.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, -1.0], [1.0, 0.0, 1.0]], requires_grad=True)
x = tg.tensor([1.0, -2.0, 0.5], requires_grad=True)
y = x @ A @ x
print(y)
y.backward()
print(x.grad, bool((x.grad == (A + A.t()) @ x).all()))
print(A.grad, bool((A.grad == tg.outer(x, x)).all()))

# In [2]: The Hessian with respect to x.
print(functional.hessian(lambda x: x @ A.detach() @ x, x.detach()))

# In [3]: The computational graph, drawn: a notebook shows it by itself.
y = x @ A @ x
picture = tg.graph_picture(y, names={"x": x, "A": A})
print(repr(picture))

# In [4]: As a file, or as DOT text for other tools.
with tempfile.TemporaryDirectory() as place:
    path = pathlib.Path(place) / "quadratic_form.svg"
    picture.save(path)
    print(path.read_text(encoding="utf-8")[:4])
print(tg.graph_picture(y, names={"x": x, "A": A}, format="dot"))

# In [5]: The graph of a compiled function, with the adjoint values beside the forward ones.
gradient = tg.jit(tg.grad(lambda x, A: x @ A @ x))
print(gradient(x.detach(), A.detach()))
print(repr(tg.graph_picture(gradient, x.detach(), A.detach())))
