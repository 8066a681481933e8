"""JAX, compiled, on device arrays made beforehand or on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..contestant import NotFittingError, Prepared, Setting
from ..workload import Workload, direction, with_modules

jax: Any = import_module("jax")
jax.config.update("jax_enable_x64", True)


def prepare(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    """The number of threads follows from the affinity mask, which stands before JAX is imported."""
    try:
        device = jax.devices("gpu" if setting.device == "cuda" else "cpu")[0]
    except RuntimeError as error:
        raise NotFittingError("JAX sees no GPU here") from error
    return _prepared(
        workload, arguments, lambda a: jax.device_put(a, device), setting.device == "cuda"
    )


def prepare_from_numpy(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    """Called with NumPy arrays, as a program does that is not written around JAX."""
    if not workload.call_bound:
        raise NotFittingError("the call is not what takes the time")
    return _prepared(workload, arguments, np.asarray)


def _prepared(
    workload: Workload, arguments: list[Any], put: Callable[[Any], Any], on_gpu: bool = False
) -> Prepared:
    if workload.step is not None:
        raise NotFittingError("no optimizers")
    loops = SimpleNamespace(
        scan=jax.lax.scan, while_loop=jax.lax.while_loop, vmap=jax.vmap, odeint=odeint
    )
    function = with_modules(
        workload.function, import_module("jax.numpy"), import_module("jax.scipy.special"), loops
    )
    inputs = [put(a) for a in arguments]
    derivative, primal = jax.jit(_transformed(workload, function)), jax.jit(function)
    extended = [*inputs, put(direction(arguments))] if workload.derivative == "hvp" else inputs
    # Calls return before their work is done.
    wait = jax.block_until_ready

    def to_numpy(result: Any) -> list[Any]:
        return [np.asarray(a) for a in jax.tree_util.tree_leaves(result)]

    if on_gpu:
        return Prepared(
            lambda: derivative(*extended), lambda: primal(*inputs), to_numpy, timed=_by_clock
        )
    return Prepared(lambda: wait(derivative(*extended)), lambda: wait(primal(*inputs)), to_numpy)


def _by_clock(call: Callable[[], Any], number: int) -> float:
    """The work of all calls is waited for once: JAX has no events."""
    start = perf_counter()
    for _ in range(number):
        last = call()
    jax.block_until_ready(last)
    return perf_counter() - start


def odeint(f: Callable[..., Any], y0: Any, times: Any, *args: Any, rtol: float, atol: float) -> Any:
    """By Diffrax where it is installed: the same method, gradients of the steps taken. Otherwise by
    JAX's own, which integrates an adjoint equation."""
    try:
        diffrax = import_module("diffrax")
    except ImportError:
        return import_module("jax.experimental.ode").odeint(
            f, y0, times, *args, rtol=rtol, atol=atol
        )
    term, saved = diffrax.ODETerm(lambda t, y, args: f(y, t, *args)), diffrax.SaveAt(ts=times)
    control = diffrax.PIDController(rtol=rtol, atol=atol)
    return diffrax.diffeqsolve(
        term,
        diffrax.Dopri5(),
        times[0],
        times[-1],
        None,
        y0,
        args,
        saveat=saved,
        stepsize_controller=control,
    ).ys


def _transformed(workload: Workload, function: Callable[..., Any]) -> Any:
    match workload.derivative:
        case "value_and_grad":
            return jax.value_and_grad(function, argnums=workload.argnums)
        case "grad":
            return jax.grad(function, argnums=workload.argnums)
        case "hessian":
            return jax.hessian(function)
        case "hvp":

            def product(x: Any, *rest_and_direction: Any) -> Any:
                *rest, v = rest_and_direction
                return jax.jvp(lambda y: jax.grad(function)(y, *rest), (x,), (v,))[1]

            return product
