"""The problems of `bench --sparse` by CasADi and asdex: one case in a process that is given its
name, its problem and its size, and prints what it took.

Others get what is best for them: CasADi its matrices (MX) or its scalars (SX), written into a
buffer; asdex a compiled function.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from .sparse import ALPHA, SIGMA, brusselator, chained, chained_inputs, median, trigonometric
from .sparse import brusselator_input as first_state
from .worker import MARK


class Made(NamedTuple):
    """Values to be timed."""

    run: Callable[[], Any]
    entries: Callable[[], np.ndarray]
    """The values of the last run, of a Hessian those of its lower triangle."""
    kept: Any = None
    """What has to stay meanwhile."""


def casadi_function(arguments: Any, matrix: Any, values: list[np.ndarray]) -> Made:
    """The entries of a matrix, written into one buffer."""
    function = import_module("casadi").Function("values", arguments, [matrix])
    call, run = function.buffer()
    out = np.empty(function.nnz_out(0))
    for k, value in enumerate(values):
        call.set_arg(k, value.data)
    call.set_res(0, out.data)

    def again() -> None:
        run()

    return Made(again, lambda: out, (call, values))


def casadi_brusselator(kind: str, size: int) -> Made:
    casadi = import_module("casadi")
    grid, n = round((size / 2) ** 0.5), size // 2
    number = np.arange(n).reshape(grid, grid)
    around = [np.roll(number, k, a).ravel().tolist() for k in (1, -1) for a in (0, 1)]
    y = getattr(casadi, kind).sym("y", size)
    u, v = y[:n], y[n:]

    def diffused(w: Any) -> Any:
        return ALPHA * grid * grid * (sum(w[k] for k in around) - 4 * w)

    du = 1.0 + u * u * v - 4.4 * u + diffused(u)
    dv = 3.4 * u - u * u * v + diffused(v)
    matrix = casadi.jacobian(casadi.vertcat(du, dv), y)
    return casadi_function([y], matrix, [first_state(grid)])


def casadi_chained(kind: str, size: int) -> Made:
    casadi = import_module("casadi")
    symbol = getattr(casadi, kind).sym
    x, lam, sigma = symbol("x", size), symbol("lam", size - 2), symbol("sigma")
    a, b, c = x[:-2], x[1:-1], x[2:]
    waves = casadi.sin(b - c) * casadi.sin(b + c)
    g = 3 * b**3 + 2 * c - 5 + waves + 4 * b - a * casadi.exp(a - b) - 3
    f = casadi.sum1(100 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1) ** 2)
    lower = casadi.tril(casadi.hessian(sigma * f + casadi.dot(lam, g), x)[0])
    return casadi_function(
        [x, lam, sigma], lower, [*chained_inputs(size), np.array([SIGMA], np.float64)]
    )


def asdex_brusselator(size: int) -> Made:
    jax, asdex = import_module("jax"), import_module("asdex")
    grid = round((size / 2) ** 0.5)
    y = first_state(grid)
    jacobian = jax.jit(asdex.jacobian(brusselator(grid, import_module("jax.numpy")), y))
    return Made(lambda: jacobian(y).data.block_until_ready(), lambda: np.asarray(jacobian(y).data))


def asdex_chained(size: int) -> Made:
    jax, asdex = import_module("jax"), import_module("asdex")
    jnp = import_module("jax.numpy")
    x, lam = chained_inputs(size)

    def lagrangian(x: Any, lam: Any) -> Any:
        return SIGMA * chained(x, jnp) + jnp.sum(lam * trigonometric(x, jnp))

    hessian = jax.jit(asdex.hessian(lagrangian, x, lam))

    def lower() -> np.ndarray:
        found = hessian(x, lam)
        rows, columns = np.asarray(found.indices).T
        values: np.ndarray = np.asarray(found.data)[rows >= columns]
        return values

    return Made(lambda: hessian(x, lam).data.block_until_ready(), lower)


MAKERS: dict[tuple[str, str], Callable[[int], Made]] = {
    ("CasADi (SX)", "brusselator"): lambda n: casadi_brusselator("SX", n),
    ("CasADi (MX)", "brusselator"): lambda n: casadi_brusselator("MX", n),
    ("CasADi (SX)", "chained"): lambda n: casadi_chained("SX", n),
    ("CasADi (MX)", "chained"): lambda n: casadi_chained("MX", n),
    ("asdex", "brusselator"): asdex_brusselator,
    ("asdex", "chained"): asdex_chained,
}


def main(who: str, problem: str, size: int, repeat: int) -> None:
    """Time one case."""
    if who == "asdex":
        import_module("jax").config.update("jax_enable_x64", True)
        import_module("asdex")
    else:
        import_module("casadi")
    start = process_time()
    made = MAKERS[who, problem](size)
    made.run()
    setup = process_time() - start
    squares = float(np.sum(made.entries() ** 2))
    found = {"setup": setup, "squares": squares, "values": median(made.run, repeat)}
    sys.stdout.write(f"\n{MARK}{json.dumps(found)}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
