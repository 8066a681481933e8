"""One function written in every way there is, differentiated by every means: what threads, forked
processes and interrupts are tried on. The function is sum(a sin(x) + b x^3), so that every value
and derivative is known."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from tracegrad.codegen.loading import COMPILING

import tracegrad as tg
from tracegrad.compiled import alone
from tracegrad.compiled.effects import CHANGING
from tracegrad.ir.dispatch import SPECIAL, STATE
from tracegrad.sizes import SIZES
from tracegrad.tape.engine import RUNNING
from tracegrad.tape.mode import MODE
from tracegrad.tape.saved import SAVING
from tracegrad.utils.checkpoint import checkpoint

Function = Callable[[Any], Any]

# --- what is expected -----------------------------------------------------------------------------


def terms(x: Any, a: float, b: float) -> Any:
    return a * np.sin(x) + b * x**3


def slopes(x: Any, a: float, b: float) -> Any:
    return a * np.cos(x) + 3 * b * x**2


def bends(x: Any, a: float, b: float) -> Any:
    return -a * np.sin(x) + 6 * b * x


# --- the ways to write it -------------------------------------------------------------------------


def in_place(a: float, b: float) -> Function:
    def function(x: Any) -> Any:
        z = x * 0.0
        z[:] = a * np.sin(x)
        z += b * x**3
        z[0] = z[0] + 1.0
        return np.sum(z) - 1.0

    return function


def by_scan(a: float, b: float) -> Function:
    return lambda x: tg.scan(lambda c, s: (c + terms(s, a, b), None), 0.0 * x[0], x)[0]


def by_fori_loop(a: float, b: float) -> Function:
    return lambda x: tg.fori_loop(0, x.shape[0], lambda i, c: c + terms(x[i], a, b), 0.0 * x[0])


def by_while_loop(a: float, b: float) -> Function:
    def function(x: Any) -> Any:
        n = x.shape[0]
        body: Function = lambda s: (s[0] + 1, s[1] + terms(x[s[0]], a, b))  # noqa: E731
        return tg.while_loop(lambda s: s[0] < n, body, (0, 0.0 * x[0]), max_steps=100)[1]

    return function


def by_map(a: float, b: float) -> Function:
    return lambda x: np.sum(tg.map(lambda s: terms(s, a, b), x))


def by_cond(a: float, b: float) -> Function:
    def function(x: Any) -> Any:
        return tg.cond(x[0] < 1e9, lambda y: np.sum(terms(y, a, b)), lambda y: np.sum(y), x)

    return function


def by_vmap(a: float, b: float) -> Function:
    return lambda x: np.sum(tg.vmap(lambda s: terms(s, a, b))(x))


def with_checkpoint(a: float, b: float) -> Function:
    return tg.checkpoint(lambda x: np.sum(terms(x, a, b)))


def with_torchs_checkpoint(a: float, b: float) -> Function:
    return lambda x: checkpoint(lambda y: np.sum(terms(y, a, b)), x, use_reentrant=False)


def with_forward_rule(a: float, b: float) -> Function:
    custom = tg.custom_jvp(lambda x: terms(x, a, b))
    custom.defjvp(
        lambda primals, tangents: (custom(*primals), slopes(primals[0], a, b) * tangents[0])
    )
    return lambda x: np.sum(custom(x))


def with_reverse_rule(a: float, b: float) -> Function:
    custom = tg.custom_vjp(lambda x: terms(x, a, b))
    custom.defvjp(lambda x: (custom(x), x), lambda x, ct: (slopes(x, a, b) * ct,))
    return lambda x: np.sum(custom(x))


def with_function(a: float, b: float) -> Function:
    class Terms(tg.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return tg.as_tensor(terms(x, a, b))

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct * slopes(ctx.saved_tensors[0], a, b)

    return lambda x: Terms.apply(tg.as_tensor(x)).sum()


def with_array(a: float, b: float) -> Function:
    around = np.array([a, b])
    return lambda x: np.sum(around[0] * np.sin(x) + around[1] * x**3)


def with_tensor(a: float, b: float) -> Function:
    around = tg.tensor([a, b], requires_grad=True, dtype=np.float64)
    return lambda x: np.sum(around[0] * np.sin(x) + around[1] * x**3)


def with_jit_inside(a: float, b: float) -> Function:
    inner = tg.jit(lambda x: terms(x, a, b))
    return lambda x: np.sum(inner(x))


def with_solution(a: float, b: float) -> Function:
    return lambda x: np.sum(np.linalg.solve(2.0 * np.eye(x.shape[0]), 2.0 * terms(x, a, b)))


def sorted_first(a: float, b: float) -> Function:
    return lambda x: np.sum(terms(np.sort(x[::-1]), a, b))


def without_recording(a: float, b: float) -> Function:
    def function(x: Any) -> Any:
        with tg.no_grad():
            known = np.sum(x * x)
        return np.sum(terms(x, a, b)) + 0.0 * tg.stop_gradient(known)

    return function


WAYS: dict[str, Callable[[float, float], Function]] = {
    "plain": lambda a, b: lambda x: np.sum(terms(x, a, b)),
    "in place": in_place,
    "scan": by_scan,
    "fori_loop": by_fori_loop,
    "while_loop": by_while_loop,
    "map": by_map,
    "cond": by_cond,
    "vmap": by_vmap,
    "checkpoint": with_checkpoint,
    "torch's checkpoint": with_torchs_checkpoint,
    "custom_jvp": with_forward_rule,
    "custom_vjp": with_reverse_rule,
    "Function": with_function,
    "array around": with_array,
    "Tensor around": with_tensor,
    "jit inside": with_jit_inside,
    "solve": with_solution,
    "sort": sorted_first,
    "no_grad inside": without_recording,
}
REVERSE_ONLY = {"custom_vjp", "Function"}

# --- the derivatives: each checks its result ----------------------------------------------------

Check = Callable[[Function, Any, float, float], None]


def same(found: Any, wanted: Any) -> None:
    if isinstance(found, tg.Tensor):
        found = found.detach().numpy()
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-10, atol=1e-12)


def value(f: Function, x: Any, a: float, b: float) -> None:
    same(f(x), np.sum(terms(x, a, b)))


def of(transform: Callable[[Function], Function], wanted: Callable[..., Any]) -> Check:
    """The check of a transform, whose result `wanted` says."""
    return lambda f, x, a, b: same(transform(f)(x), wanted(x, a, b))


def matrix(x: Any, a: float, b: float) -> Any:
    return np.diag(bends(x, a, b))


def of_both(f: Function, x: Any, a: float, b: float) -> None:
    found, slope = tg.value_and_grad(f)(x)
    same(found, np.sum(terms(x, a, b)))
    same(slope, slopes(x, a, b))


def of_a_batch(f: Function, x: Any, a: float, b: float) -> None:
    batch = np.stack([x, 2 * x, x - 1])
    same(tg.vmap(tg.grad(f))(batch), slopes(batch, a, b))


def of_a_pullback(f: Function, x: Any, a: float, b: float) -> None:
    same(tg.vjp(f, x)[1](2.0)[0], 2 * slopes(x, a, b))


def of_a_tangent(f: Function, x: Any, a: float, b: float) -> None:
    same(tg.jvp(f, (x,), (np.ones_like(x),))[1], np.sum(slopes(x, a, b)))


def of_a_linearization(f: Function, x: Any, a: float, b: float) -> None:
    same(tg.linearize(f, x)[1](np.ones_like(x)), np.sum(slopes(x, a, b)))


def backward(f: Function, x: Any, a: float, b: float) -> None:
    t = tg.tensor(x, requires_grad=True)
    (2 * f(t) + (t * t).mul_(3.0).sum()).backward()
    same(t.grad, 2 * slopes(x, a, b) + 6 * x)


def without_grad(f: Function, x: Any, a: float, b: float) -> None:
    t = tg.tensor(x, requires_grad=True)
    with tg.no_grad():
        assert not (t * 2).requires_grad
        same(f(t), np.sum(terms(x, a, b)))
        with tg.enable_grad():
            assert (t * 2).requires_grad
    assert (t * 2).requires_grad


def twice(f: Function, x: Any, a: float, b: float) -> None:
    t = tg.tensor(x, requires_grad=True)
    (slope,) = tg.autograd.grad(f(t), t, create_graph=True)
    same(slope, slopes(x, a, b))
    same(tg.autograd.grad(slope.sum(), t)[0], bends(x, a, b))


def through_hooks(f: Function, x: Any, a: float, b: float) -> None:
    t = tg.tensor(x, requires_grad=True)
    t.register_hook(lambda g: g * 2)
    with tg.autograd.graph.saved_tensors_hooks(lambda s: s.detach().clone(), lambda s: s):
        y = f(t)
    y.backward()
    same(t.grad, 2 * slopes(x, a, b))


def a_step(f: Function, x: Any, a: float, b: float) -> None:
    """A compiled step of training: it writes a weight and its gradient."""
    w = tg.tensor(x, requires_grad=True)

    def step() -> Any:
        loss = f(w)
        w.grad = None
        loss.backward()
        with tg.no_grad():
            w.sub_(0.01 * w.grad)
        return loss.detach()

    train, now = tg.jit(step), x
    for _ in range(3):
        same(train(), np.sum(terms(now, a, b)))
        now = now - 0.01 * slopes(now, a, b)
        same(w, now)


REVERSE: dict[str, Check] = {
    "value": value,
    "grad": of(tg.grad, slopes),
    "value_and_grad": of_both,
    "jacrev of grad": of(lambda f: tg.jacrev(tg.grad(f)), matrix),
    "vmap of grad": of_a_batch,
    "vjp": of_a_pullback,
    "backward": backward,
    "no_grad": without_grad,
    "create_graph": twice,
    "hooks": through_hooks,
    "a step of training": a_step,
}
DERIVATIVES: dict[str, Check] = {
    **REVERSE,
    "jacfwd of grad": of(lambda f: tg.jacfwd(tg.grad(f)), matrix),
    "hessian": of(tg.hessian, matrix),
    "jvp": of_a_tangent,
    "linearize": of_a_linearization,
}


def drawn(rng: random.Random, compiled: bool | None = None) -> tuple[str, Callable[[], None]]:
    """A program that no earlier call has met, by name; calling it runs it and checks all it gives.
    Calling it again runs the same functions again, which are compiled by then."""
    way, a, b = (
        rng.choice(list(WAYS)),
        round(rng.uniform(0.5, 2.0), 6),
        round(rng.uniform(-1.0, 1.0), 6),
    )
    kind = rng.choice(list(REVERSE if way in REVERSE_ONLY else DERIVATIVES))
    f = WAYS[way](a, b)
    jit = rng.random() < 0.5 if compiled is None else compiled
    g = tg.jit(f) if jit else f
    x = np.linspace(0.1, 1.0, rng.choice((2, 3, 5)))
    return f"{kind} of {way}{' (jit)' if jit else ''}", lambda: DERIVATIVES[kind](g, x, a, b)


def drawn_and_run(seed: int) -> None:
    """What a child process does."""
    rng = random.Random(seed)
    for _ in range(2):
        name, run = drawn(rng)
        try:
            run()
        except Exception as error:
            raise AssertionError(name) from error


# --- what must be so afterwards -------------------------------------------------------------------


def clean() -> None:
    """Nothing is open in this thread, and no lock is held. (After an interrupt a thread may be
    noted for nothing.)"""
    STATE.special = STATE.special
    assert not STATE.traces
    assert not STATE.levels
    assert not STATE.created
    assert not SIZES.open
    assert STATE.special == 0
    assert MODE.enabled
    assert not MODE.inference
    assert not SPECIAL
    assert not SAVING.pairs
    assert RUNNING.task is None
    assert not alone._OPEN.keys
    assert not alone.TRACING._is_owned()
    assert not CHANGING._is_owned()
    with COMPILING:  # what was being compiled is compiled to its end, in a thread of its own
        pass
    assert gc.isenabled()
