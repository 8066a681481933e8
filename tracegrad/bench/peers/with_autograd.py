"""HIPS autograd: the define-by-run tape on NumPy arrays that many programs still use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..contestant import NotFittingError, Prepared, Setting
from ..workload import Workload, direction, with_modules

autograd: Any = import_module("autograd")


def prepare(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    if workload.step is not None:
        raise NotFittingError("no optimizers")
    if workload.name == "ode":
        raise NotFittingError("no solver whose steps it sees")
    if workload.name == "newton":
        raise NotFittingError("no batched while loop: 100,000 loops in Python")
    if workload.variant == "batch":
        raise NotFittingError(
            "no batched loop: a loop in Python for each system, half a minute a call"
        )
    function = with_modules(
        workload.function, import_module("autograd.numpy"), import_module("autograd.scipy.special")
    )
    derivative: Callable[..., Any]
    inputs = arguments
    match workload.derivative:
        case "value_and_grad":
            # value_and_grad takes one argument number only; the functional form takes several as a
            # tuple.
            derivative = autograd.value_and_grad(lambda chosen, rest: function(*chosen, *rest))
        case "grad":
            derivative = autograd.grad(lambda chosen, rest: function(*chosen, *rest))
        case "hessian":
            derivative = autograd.hessian(function)
        case "hvp":
            derivative = autograd.hessian_vector_product(function)
            inputs = [arguments[0], direction(arguments), *arguments[1:]]
            product = derivative

            def reordered(x: Any, v: Any, *rest: Any) -> Any:
                return autograd.hessian_vector_product(lambda y: function(y, *rest))(x, v)

            derivative = product if len(arguments) == 1 else reordered
    if workload.derivative in ("value_and_grad", "grad"):
        assert workload.argnums == tuple(range(len(workload.argnums)))
        inputs = [
            tuple(arguments[: len(workload.argnums)]),
            tuple(arguments[len(workload.argnums) :]),
        ]
    return Prepared(lambda: derivative(*inputs), lambda: function(*arguments), _flat)


def _flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [a for part in result for a in _flat(part)]
    return [np.asarray(result)]
