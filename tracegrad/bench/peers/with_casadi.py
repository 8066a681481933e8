"""CasADi's matrix expressions and its own virtual machine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..contestant import NotFittingError, Prepared, Setting
from ..workload import Workload, direction

casadi: Any = import_module("casadi")


def prepare(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    """Second derivatives keep CasADi's sparsity while they are timed, and become dense for the
    check."""
    if workload.casadi is None:
        raise NotFittingError("does not fit CasADi")
    symbols = [casadi.MX.sym(f"a{k}", *a.shape) for k, a in enumerate(arguments)]
    value = workload.casadi(casadi)(*symbols)
    wanted = [symbols[k] for k in workload.argnums]
    inputs = [casadi.DM(a) for a in arguments]
    shapes: list[tuple[int, ...]] = [arguments[k].shape for k in workload.argnums]
    extended, extended_symbols = inputs, symbols
    match workload.derivative:
        case "value_and_grad":
            outputs, shapes = [value, *[casadi.gradient(value, w) for w in wanted]], [(), *shapes]
        case "grad":
            outputs = [casadi.gradient(value, w) for w in wanted]
        case "hessian":
            outputs, shapes = [casadi.hessian(value, wanted[0])[0]], [shapes[0] * 2]
        case "hvp":
            v = casadi.MX.sym("v", *arguments[0].shape)
            outputs = [casadi.jtimes(casadi.gradient(value, wanted[0]), wanted[0], v)]
            extended, extended_symbols = [*inputs, casadi.DM(direction(arguments))], [*symbols, v]
    derivative = casadi.Function("derivative", extended_symbols, outputs)
    primal = casadi.Function("primal", symbols, [value])

    def to_numpy(result: Any) -> list[Any]:
        parts = result if isinstance(result, tuple) else (result,)
        return [
            np.asarray(part.full()).reshape(shape)
            for part, shape in zip(parts, shapes, strict=True)
        ]

    return Prepared(lambda: derivative(*extended), lambda: primal(*inputs), to_numpy)
