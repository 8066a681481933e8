"""tracegrad itself, eagerly and compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from scipy import special

import tracegrad as tg
from tracegrad.devices import driver

from ..contestant import NotFittingError, Prepared, Setting
from ..measure import by_events
from ..workload import Workload, direction, with_modules


def prepare_eager(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    """The define-by-run tape; the function alone is plain NumPy."""
    if workload.step is not None:
        return training(workload, arguments, lambda f: f, setting)
    if workload.name == "newton" and len(arguments[0]) > 1_000:
        raise NotFittingError("eagerly each equation is a loop in Python")
    workload = own(workload)
    return prepared(workload, arguments, transformed(workload), workload.function, setting)


def prepare_jit(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    """The compiled derivative of the same text."""
    tg.set_num_threads(setting.threads)
    if workload.step is not None:
        return training(workload, arguments, tg.jit, setting)
    workload = own(workload)
    compiled = tg.jit(flush_denormals=True) if workload.flush_denormals else tg.jit
    derivative = compiled(transformed(workload))
    return replace(
        prepared(workload, arguments, derivative, compiled(workload.function), setting),
        nodes=lambda: operations(derivative.graphs(*inputs(workload, arguments))[1]),
    )


def operations(graph: Any) -> int:
    """How many a graph has, those in the bodies of its loops and branches included."""
    return sum(1 + sum(map(operations, node.subgraphs())) for node in graph.nodes)


def training(
    workload: Workload, arguments: list[Any], compiled: Callable[[Any], Any], setting: Setting
) -> Prepared:
    """A training step on Tensors, which are made once."""
    assert workload.step is not None
    count = len(workload.argnums)
    tensors = [tg.tensor(a, device=setting.device) for a in arguments]
    step, parameters = workload.step(tg, *tensors[:count])
    whole = compiled(step)
    return on_device(
        Prepared(lambda: whole(*tensors[count:]), None, lambda value: flat((value, *parameters))),
        setting,
    )


def start_up() -> None:
    """Load the compiler, so that what it costs once per process is not counted as the first
    workload's compile time."""
    tg.jit(tg.grad(lambda x: (x * x).sum()))(np.ones(3))


def own(workload: Workload) -> Workload:
    """The workload with tracegrad's loops, where it has any."""
    return (
        replace(workload, function=with_modules(workload.function, np, special, tg))
        if workload.loops
        else workload
    )


def transformed(workload: Workload) -> Callable[..., Any]:
    """The derivative as a function of the workload's arguments (and of the direction, last, for a
    Hessian-vector product)."""
    argnums: Any = workload.argnums if len(workload.argnums) > 1 else workload.argnums[0]
    match workload.derivative:
        case "value_and_grad":
            return tg.value_and_grad(workload.function, argnums=argnums)
        case "grad":
            return tg.grad(workload.function, argnums=argnums)
        case "hessian":
            return tg.hessian(workload.function)
        case "hvp":
            function = workload.function

            def product(x: Any, *rest_and_direction: Any) -> Any:
                *rest, v = rest_and_direction
                return tg.hvp(function, (x,), (v,), *rest)

            return product

        case "step":
            raise AssertionError("a training step is no derivative of a function")


def prepared(
    workload: Workload,
    arguments: list[Any],
    derivative: Callable[..., Any],
    primal: Callable[..., Any],
    setting: Setting,
) -> Prepared:
    given = inputs(workload, arguments)
    if setting.device != "cpu":
        given = [tg.tensor(a, device=setting.device) for a in given]
    own = given[: len(arguments)]
    return on_device(Prepared(lambda: derivative(*given), lambda: primal(*own), flat), setting)


def on_device(made: Prepared, setting: Setting) -> Prepared:
    """Waiting for a GPU, and timing by its events (those of Numba's simulator tell nothing)."""
    if setting.device == "cpu":
        return made
    events = made.timed if driver().simulated() else by_events(import_module("numba.cuda").event)
    return replace(made, wait=tg.cuda.synchronize, timed=events)


def inputs(workload: Workload, arguments: list[Any]) -> list[Any]:
    """What the derivative is called with."""
    return [*arguments, direction(arguments)] if workload.derivative == "hvp" else arguments


def flat(result: Any) -> list[Any]:
    """The arrays of nested tuples."""
    if isinstance(result, (tuple, list)):
        return [a for part in result for a in flat(part)]
    return [
        result.detach().cpu().numpy().copy()
        if isinstance(result, tg.Tensor)
        else np.asarray(result)
    ]
