"""Tensors on a device do what they do on the CPU: the tape, writes, transforms, compiled functions,
modules, optimizers."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
import tracegrad.autograd.forward_ad as forward_ad
from tests.cuda.common import X, same_on_both

D = "cuda"


def q(v: Any) -> Any:
    return (v.sin() * v).sum()


# --- writes and views -----------------------------------------------------------------------------


def test_writes() -> None:
    def writes(d: str, x: Any) -> Any:
        row = x[0]
        row *= 2
        x[:, 1] = 7.0
        x.T[2] += 1
        x.reshape(3, 2)[0] = tg.tensor([9.0, 8.0], device=d)
        x[x > 8] = 0.5
        x[tg.tensor([0, 1], device=d), tg.tensor([1, 2], device=d)] = 3.0
        z = x.clone()
        z.zero_().fill_(2.0)
        z.copy_(x)
        z.diagonal().fill_(4.0)
        z.detach().clone().cpu().copy_(x)
        tg.zeros(3)[0] = x[0, 0]
        return x.t_(), row, z

    same_on_both(writes, X)
    same_on_both(writes, X.astype(np.float32))


def test_recorded_writes() -> None:
    def writes(d: str, x: Any) -> Any:
        x.requires_grad_()
        y = x * 2
        y[0] = y[1] * 3
        y[:, 1] *= x[:, 0]
        y.mul_(2)
        (y**2).sum().backward()
        return x.grad

    same_on_both(writes, X)


def test_overwritten_values_are_noticed() -> None:
    x = tg.tensor(X, device=D, requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        tg.ones(1, device=D).expand(3).add_(1)


def test_indexing_and_parts() -> None:
    def parts(d: str, x: Any) -> Any:
        index = tg.tensor([1, 0], device=d)
        return [
            x[x > 2],
            x[index],
            x[[1, 0], 1],
            x[None, ..., ::2],
            x.sort(1)[0],
            x.max(1)[0],
            x.split(1)[1],
            x.unbind(1)[2],
            x.expand(2, 2, 3),
            x.flip(0),
            x.masked_fill(x > 2, 0.0),
            tg.stack([x, x]),
            x.std(),
            x.mean(0),
            x.gather(0, tg.tensor([[0, 1, 0]], device=d)),
        ]

    same_on_both(parts, X)


# --- the tape -------------------------------------------------------------------------------------


def test_orders_and_accumulation() -> None:
    def orders(d: str, x: Any) -> Any:
        x.requires_grad_()
        (g,) = tg.autograd.grad(q(x), x, create_graph=True)
        (h,) = tg.autograd.grad((g * g).sum(), x)
        q(x).backward()
        first = x.grad
        q(x).backward(retain_graph=True)
        assert first is x.grad
        (x * 1).backward(x.detach())
        x.backward(x.detach().T.reshape(2, 3))
        return g, h, x.grad

    same_on_both(orders, X)


def test_hooks_and_retained_gradients() -> None:
    def hooks(d: str, x: Any) -> Any:
        x.requires_grad_()
        seen: list[Any] = []
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 3)
        y.grad_fn.register_hook(lambda a, b: seen.append(b[0]))
        x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
        (y * y).sum().backward()
        return x.grad, y.grad, *seen

    same_on_both(hooks, X)


def test_functions_of_the_user() -> None:
    class Square(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * x, y * 2

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, y = ctx.saved_tensors
            return 2 * x * g + y * h, 2 * h

    @tg.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda r, g: (g * 3 * r * r,))

    def use(d: str, x: Any) -> Any:
        x.requires_grad_()
        Square.apply(x, x)[0].sum().backward()  # the second cotangent is materialized
        eager = x.grad.clone()
        tg.jit(lambda v: Square.apply(v, v)[1].sum())(x).backward()
        return (
            eager,
            x.grad,
            tg.grad(lambda v: cube(v).sum())(x.detach()),
            tg.jit(tg.grad(lambda v: cube(v).sum()))(x.detach()),
        )

    same_on_both(use, X)


def test_saved_on_the_cpu_and_anomalies() -> None:
    with tg.autograd.graph.save_on_cpu():
        x = tg.tensor(X, device=D, requires_grad=True)
        y = (x * x).sum()
    assert y.grad_fn is not None
    y.backward()
    assert x.grad.tolist() == (2 * X).tolist()
    x = tg.tensor([-1.0], device=D, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with tg.autograd.detect_anomaly():
            y = x.sqrt().sum()
            with pytest.raises(RuntimeError, match="returned nan values"):
                y.backward()
    assert tg.autograd.gradcheck(lambda v: v.sin(), (tg.tensor(X, device=D, requires_grad=True),))
    assert tg.autograd.gradgradcheck(
        lambda v: v.sin(), (tg.tensor(X[0], device=D, requires_grad=True),)
    )


# --- transforms and compiled functions ------------------------------------------------------------


def test_transforms() -> None:
    def transforms(d: str, x: Any) -> Any:
        with forward_ad.dual_level():
            _, tangent = forward_ad.unpack_dual(forward_ad.make_dual(x, x).sin() * 2)
        return [
            tg.grad(q)(x),
            tg.hessian(q)(x),
            tg.jacobian(lambda v: v**2)(x),
            tg.vmap(lambda v: v * v.sum())(x),
            tg.jvp(q, (x,), (x,))[1],
            tg.vmap(tg.grad(q))(x),
            tg.hvp(q, (x,), (x,)),
            tg.jit(tg.hessian(q))(x),
            tg.jit(tg.vmap(tg.grad(q)))(x),
            tg.jacfwd(lambda v: v.exp())(x),
            tangent,
        ]

    same_on_both(transforms, X)


def test_compiled_functions() -> None:
    """Values and gradients through several results; writes to arguments; random numbers; sizes that
    change."""

    def compiled(d: str, x: Any) -> Any:
        x.requires_grad_()
        f = tg.jit(lambda a, b: (tg.tanh(a @ b).sum(), a * 2))
        s, y = f(x, x.detach().T)
        (s + y.sum()).backward()
        only = tg.autograd.grad(f(x, x.detach().T)[1].sum(), x)[0]

        @tg.jit
        def write(a: Any) -> None:
            a[0] = a[1] * 2

        z = x.detach().clone()
        write(z)
        tg.manual_seed(3)
        draw = tg.jit(lambda v: v + tg.rand(2, 3))
        grown = tg.jit(lambda v: (v * 2).sum())
        return [
            s,
            y,
            x.grad,
            only,
            z,
            draw(z),
            draw(z),
            *[grown(tg.ones(n, device=d)) for n in (3, 5, 0, 1, 7)],
        ]

    same_on_both(compiled, X)


def test_loops_and_branches() -> None:
    def loops(d: str, x: Any) -> Any:
        results = []
        for wrap in (tg.jit, lambda f: f):
            carry, stacked = wrap(lambda v: tg.scan(lambda c, s: (c * 0.5 + s, c), v[0], v))(x)
            results += [
                carry,
                stacked,
                wrap(lambda v: tg.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, v))(x),
                wrap(lambda v: tg.cond(v.sum() > 3, lambda w: w * 2, lambda w: w, v))(x),
                wrap(tg.grad(lambda v: tg.fori_loop(0, 3, lambda i, c: c.sin() + c, v).sum()))(x),
            ]
        x.requires_grad_()
        tg.utils.checkpoint.checkpoint(q, x, use_reentrant=False).backward()
        return [*results, x.grad]

    same_on_both(loops, X)


def test_a_function_runs_where_its_inputs_are() -> None:
    f = tg.jit(lambda v: v.to(v.device) + tg.zeros(3, device=v.device))
    x = tg.ones(3, device=D)
    assert [f(x).is_cuda, f(x.cpu()).is_cuda, f(x).is_cuda] == [True, False, True]
    made = tg.jit(lambda: tg.ones(2, device="cuda") * 2)()
    assert (made.is_cuda, made.tolist()) == (True, [2.0, 2.0])
    scaled = tg.jit(lambda s: tg.ones(2, device="cuda") * s)(tg.tensor(3.0))
    assert (scaled.is_cuda, scaled.tolist()) == (True, [3.0, 3.0])
    with pytest.raises(
        RuntimeError,
        match=r"test_tensors.py:\d+: .* is compiled for cuda:0, and a compiled function runs on",
    ):
        tg.jit(lambda v: v.cpu() * 2)(x)


def test_what_a_function_reads_is_read_again() -> None:
    w, n, s = tg.tensor([1.0, 2.0, 3.0], device=D), np.array([1.0, 2.0, 3.0]), tg.tensor(2.0)
    f = tg.jit(lambda v: v * w * n * s)
    x = tg.ones(3, device=D)
    assert f(x).tolist() == [2, 8, 18]
    n[0] = 5
    with tg.no_grad():
        w[1] = 0
        s.fill_(1.0)
    assert f(x).tolist() == [5, 0, 9]


# --- modules and optimizers -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_training(name: str) -> None:
    """Eager and compiled steps, with the state on the device; then the module goes back."""

    def train(d: str, x: Any) -> Any:
        tg.manual_seed(0)
        model = tg.nn.Sequential(
            tg.nn.Linear(3, 2), tg.nn.Tanh(), tg.nn.LayerNorm(2), tg.nn.Linear(2, 1)
        ).to(d)
        optimizer = getattr(tg.optim, name)(
            model.parameters(), lr=0.1, **({"momentum": 0.9} if name == "SGD" else {})
        )

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        losses = [step(x), step(x)]
        compiled = tg.jit(step)
        losses += [compiled(x), compiled(x)]
        assert all(p.device.type == p.grad.device.type == d for p in model.parameters())
        state = [
            t
            for kept in optimizer.state.values()
            for t in kept.values()
            if isinstance(t, tg.Tensor)
        ]
        assert all(t.device.type == d for t in state)
        weights = [p.detach().clone() for p in model.parameters()]
        assert all(p.is_cpu for p in model.cpu().parameters())
        return [*losses, *weights]

    same_on_both(train, X, tolerance=1e-10)


def test_modules_move() -> None:
    model = tg.nn.BatchNorm1d(3)
    parameters = list(model.parameters())
    (model(tg.tensor(X)) ** 2).sum().backward()
    assert model.cuda() is model
    assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))
    assert all(
        t.is_cuda for t in [*model.parameters(), *model.buffers(), *[p.grad for p in parameters]]
    )
    assert model.to("cpu", np.float32).weight.dtype == np.float32
    assert model.num_batches_tracked.dtype == np.int64
    there = tg.nn.Linear(2, 2).cuda()
    here = tg.nn.Linear(2, 2)
    here.load_state_dict(there.state_dict())
    assert here.weight.is_cpu
    assert here.weight.tolist() == there.weight.tolist()
    with pytest.raises(RuntimeError, match="same device"):
        there(tg.ones(1, 2))


def test_lbfgs() -> None:
    def fit(d: str, x: Any) -> Any:
        w = tg.zeros(3, device=d, requires_grad=True)
        optimizer = tg.optim.LBFGS([w], max_iter=3)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((x @ w - 1) ** 2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return w

    same_on_both(fit, X, tolerance=1e-8)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1)])
def test_odd_shapes(shape: tuple[int, ...]) -> None:
    x = tg.tensor(np.ones(shape), device=D, requires_grad=True)
    (x * x + x).sum().backward()
    assert (x.grad.shape, x.grad.is_cuda) == (shape, True)
    assert x.grad.tolist() == (3 * np.ones(shape)).tolist()


def test_dtypes() -> None:
    for dtype in ("float32", "int32", "int64", "uint8", "bool", "complex128", "complex64"):

        def use(d: str, x: Any, dtype: str = dtype) -> Any:
            x = x.to(np.dtype(dtype))
            return [
                x,
                x == x,
                x & x if dtype == "bool" else x * x,
                x.real if "complex" in dtype else x.double(),
                x.sum(),
            ]

        same_on_both(use, X)


def test_functional() -> None:
    """What `autograd.functional` makes itself lies where the arguments do."""

    def use(d: str, x: Any) -> Any:
        F = tg.autograd.functional
        return [
            F.jacobian(lambda a: a.sin().sum(0), x),
            F.jacobian(lambda a: a.sin().sum(0), x, vectorize=True),
            F.jacobian(lambda a: a.sin().sum(0), x, vectorize=True, strategy="forward-mode"),
            F.hessian(lambda a: (a**3).sum(), x),
            F.vjp(lambda a: a.exp().sum(), x)[1],
            F.jvp(lambda a: a * 2, x, x)[1],
            F.hvp(lambda a: (a**3).sum(), x, x)[1],
        ]

    same_on_both(use, X)


def test_what_depends_on_values() -> None:
    """Sizes that the values decide; indices of the host; what a function makes while it is
    traced."""

    def use(d: str, x: Any) -> Any:
        tg.manual_seed(2)
        found = [
            tg.tensor([2, 1, 2], device=d).unique(),
            tg.tensor([2, 1, 2], device=d).bincount(),
            x.multinomial(2),
            x.nonzero(),
            x[tg.tensor([1, 0])],
            x[np.array([1, 0])],
            x[:, tg.tensor([[2, 0]])],
            np.ones_like(x),
            np.full_like(x[0, 0], 2.0),
        ]
        x.requires_grad_()
        x[tg.tensor([1, 1])].sum().backward()
        made = tg.jit(lambda v: v * tg.tensor([1.0, 2.0, 3.0], device=d) + tg.zeros((), device=d))
        root = tg.root(lambda z: z**3 - tg.tensor([1.0, 8.0], device=d), tg.ones(2, device=d))
        return [*found, x.grad, made(x.detach()), root]

    same_on_both(use, X)


def test_memory_does_not_grow() -> None:
    f = tg.jit(tg.value_and_grad(lambda a: (a.sin() ** 2).sum()))
    x = tg.tensor(X, device=D)
    seen = set()
    for _ in range(6):
        f(x)
        (x * 2).sum()
        gc.collect()
        seen.add(tg.cuda.memory_allocated())
    assert len(seen) <= 2  # what is kept of the first call
