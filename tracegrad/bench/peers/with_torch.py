"""torch, eagerly and through torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..contestant import NotFittingError, Prepared, Setting
from ..measure import by_events
from ..workload import Workload, direction

torch: Any = import_module("torch")


def prepare_eager(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    return _prepare(workload, arguments, setting, lambda f: f)


def prepare_compiled(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    if workload.loops:
        raise NotFittingError("it unrolls loops, and compiles for minutes")
    # Every workload is compiled for its own sizes. Without this, the second workload on the same
    # text is compiled for any size, which is slower and fails for some Hessians.
    torch.compiler.reset()
    # torch.compile's kernels run five times slower in a process that has made no eager call yet
    # (black_scholes: 48 against 8.5 ms for the function alone, torch 2.13 on an AMD EPYC with
    # AVX-512); a program that computes its arguments with torch has made one.
    torch.exp(torch.ones(3, dtype=torch.float64) + 1)
    return _prepare(workload, arguments, setting, torch.compile)


def _prepare(
    workload: Workload, arguments: list[Any], setting: Setting, compiled: Callable[[Any], Any]
) -> Prepared:
    if workload.torch is None and workload.step is None:
        raise NotFittingError("no torch version of this workload")
    if setting.device == "cuda" and not torch.cuda.is_available():
        raise NotFittingError("torch sees no GPU here")
    torch.set_num_threads(setting.threads)
    on_gpu = (
        {
            "wait": torch.cuda.synchronize,
            "timed": by_events(lambda: torch.cuda.Event(enable_timing=True)),
        }
        if setting.device == "cuda"
        else {}
    )
    if workload.step is not None:
        count = len(workload.argnums)
        tensors = [torch.from_numpy(np.ascontiguousarray(a)).to(setting.device) for a in arguments]
        step, parameters = workload.step(torch, *tensors[:count], compiled=compiled)
        return Prepared(
            lambda: step(*tensors[count:]),
            None,
            lambda value: [_numpy(x).copy() for x in (value, *parameters)],
            **on_gpu,
        )
    assert workload.torch is not None
    inputs = [
        torch.from_numpy(np.ascontiguousarray(a).reshape(a.shape)).to(setting.device)
        for a in arguments
    ]
    function = workload.torch(torch)
    primal = compiled(function)
    derivative: Callable[[], Any]
    match workload.derivative:
        case "value_and_grad" | "grad":
            # The forward is compiled and its backward with it, as in a training loop.
            leaves = [
                a.clone().requires_grad_() if k in workload.argnums else a
                for k, a in enumerate(inputs)
            ]
            wanted = [leaves[k] for k in workload.argnums]
            with_value = workload.derivative == "value_and_grad"

            def derivative() -> Any:
                value = primal(*leaves)
                gradients = torch.autograd.grad(value, wanted)
                return (value, *gradients) if with_value else gradients

        case "hessian":
            hessian = compiled(torch.func.hessian(function))

            def derivative() -> Any:
                return (hessian(*inputs),)

        case "hvp":
            v = torch.from_numpy(direction(arguments)).to(setting.device)

            def product(x: Any, *rest: Any) -> Any:
                return torch.func.jvp(lambda y: torch.func.grad(function)(y, *rest), (x,), (v,))[1]

            whole = compiled(product)

            def derivative() -> Any:
                return (whole(*inputs),)

    return Prepared(
        derivative, lambda: primal(*inputs), lambda result: [_numpy(a) for a in result], **on_gpu
    )


def _numpy(x: Any) -> Any:
    return x.detach().cpu().numpy()
