"""The ways in which every program of these tests runs, and what plain Python gives for it.

Compiled are gradients of compiled functions; values, values of batches and gradients in one graph
are those of generated source that CPython runs, since compiling is what takes the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.compiled.jitted import Jitted
from tracegrad.ir.evaluate import evaluate
from tracegrad.tree import flatten, unflatten

Function = Callable[..., Any]


class Programs(dict[str, Function]):
    """The programs of a test, by their names: each is decorated with the table."""

    def __call__(self, f: Function) -> Function:
        self[f.__name__] = f
        return f


def of_first(f: Function, rest: tuple[Any, ...]) -> Function:
    return lambda x: f(x, *rest)


def batched(f: Function) -> Function:
    return lambda x, *rest: tg.vmap(f, in_axes=(0, *[None] * len(rest)))(
        np.stack([x, 1.01 * x]), *rest
    )[0]


def forward(f: Function) -> Function:
    def gradient(x: Any, *rest: Any) -> Any:
        g = of_first(f, rest)
        return np.array([tg.jvp(g, (x,), (d.reshape(x.shape),))[1] for d in np.eye(x.size)])

    return gradient


def inputs(jitted: Any, *args: Any) -> list[Any]:
    """What a graph of this call takes: the arguments, and what is read around the function."""
    return [*flatten((args, {}))[0], *jitted._entry(args, {}).entry.traced.captures]


def evaluated(f: Function, *args: Any, stage: Any = True) -> list[Any]:
    """The results by the graph as it was traced."""
    jitted: Any = tg.jit(f, stage=stage)
    graph = jitted.graphs(*args)[0]
    return evaluate(graph, inputs(jitted, *args))


def by_source(f: Function) -> Function:
    """The function by its generated source, which CPython runs and nothing compiles."""

    jitted: Any = f if isinstance(f, Jitted) else tg.jit(f)

    def run(*args: Any) -> Any:
        graph = jitted.graphs(*args)[-1]
        outs = run_unjitted(graph, inputs(jitted, *args), keep=True)
        spec = jitted._entry(args, {}).entry.traced.out_spec
        return unflatten(spec, [o[()] for o in outs[: spec.num_leaves]])

    return run


VALUES: dict[str, Callable[[Function], Function]] = {
    "jit": by_source,
    "vmap": batched,
    "jit of vmap": lambda f: by_source(batched(f)),
}
GRADIENTS: dict[str, Callable[[Function], Function]] = {
    "grad": tg.grad,
    "jit of grad": lambda f: by_source(tg.grad(f)),
    "grad of jit": lambda f: tg.grad(tg.jit(f)),
    "jvp": forward,
}
CALLS = {**GRADIENTS, "jit of grad": lambda f: tg.jit(tg.grad(f))}
"""The same as a user calls them: where errors and what else a call does are looked at."""


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([a.copy() if isinstance(a, np.ndarray) else a for a in args])


def value(f: Function, *args: Any) -> Any:
    """What Python and NumPy give."""
    return f(*copies(args))


def differences(f: Function, *args: Any, step: float = 1e-6) -> Any:
    """The derivative by the first argument, by central differences; its axes come first."""
    x, found = args[0], []
    for k in range(x.size):
        up, down = copies(args), copies(args)
        up[0].flat[k] += step
        down[0].flat[k] -= step
        found.append((f(*up) - f(*down)) / (2 * step))
    return np.reshape(found, (*x.shape, *np.shape(found[0])))


def check_value(f: Function, way: str, *args: Any) -> None:
    check_values(f, way, [args])


def check_values(f: Function, way: str, several: Sequence[tuple[Any, ...]]) -> None:
    """One function, called with one after the other of these arguments."""
    run = VALUES[way](f)
    for args in several:
        np.testing.assert_allclose(run(*copies(args)), value(f, *args), rtol=1e-12, atol=1e-13)


def check_gradient(f: Function, way: str, *args: Any) -> None:
    check_gradients(f, way, [args])


def check_gradients(f: Function, way: str, several: Sequence[tuple[Any, ...]]) -> None:
    """As `check_values`."""
    run = GRADIENTS[way](f)
    for args in several:
        np.testing.assert_allclose(
            np.reshape(run(*copies(args)), args[0].shape),
            differences(f, *args),
            rtol=2e-5,
            atol=2e-6,
        )
