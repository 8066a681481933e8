"""The process of `bench --scipy` that evaluates and times expressions: with tracegrad, NumPy and
SciPy, or with JAX in the interpreter of another environment."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from .measure import least
from .scipy_expressions import Expression, data
from .worker import first_line, pin, tell
from .workload import disagreement

MODULES = ("linalg", "special", "stats", "interpolate", "signal", "integrate", "ndimage")
TOLERANCE = 1e-8
STEP = 1e-6
SIGNS = (
    "np.linalg.eig(",
    "np.linalg.eigh(",
    "np.linalg.svd(",
)
"""Results whose signs are free."""
ORDER = "np.partition("
"""One whose order is."""

Calls = dict[str, Callable[[], Any]]


class WithTracegrad:
    """The functions of tracegrad, compiled, and those of NumPy and SciPy."""

    def __init__(self) -> None:
        self.tg = import_module("tracegrad")
        self.modules = {
            "tracegrad": {"np": np, **{m: getattr(self.tg, m) for m in MODULES}},
            "scipy": {"np": np, **{m: import_module(f"scipy.{m}") for m in MODULES}},
        }

    def prepare(self, asked: Expression, size: str) -> tuple[Calls, dict[str, Any]]:
        """The calls, and what they gave: why the value is wrong ("ok" for not at all), and the
        slope of the sum of the results along a direction, by the gradient and by differences."""
        arrays, free = data(size), asked.text.startswith(SIGNS)
        names = asked.arguments
        given = [arrays[name] for name in names]
        ours, theirs = (
            function(names, asked.text, {**arrays, **modules}) for modules in self.modules.values()
        )
        compiled = self.tg.jit(ours)
        calls = {"tracegrad": lambda: compiled(*given), "scipy": lambda: theirs(*given)}
        found, expected = (fixed(asked.text, f(*given)) for f in (compiled, theirs))
        told: dict[str, Any] = {"check": disagreement(found, expected, TOLERANCE) or "ok"}
        gradient = self.tg.jit(self.tg.grad(lambda *z: total(np, ours(*z), free)))
        try:
            slopes = gradient(*given)
        except self.tg.UnsupportedFunctionError as error:
            return calls, {**told, "refused": first_line(error)}
        at, others = given[0], given[1:]
        along = direction(at)
        ends = [total(np, theirs(at + s * STEP * along, *others), free) for s in (1, -1)]
        told["slope"] = float(np.sum(slopes * along))
        told["difference"] = float(ends[0] - ends[1]) / (2 * STEP)
        return {**calls, "gradient": lambda: gradient(*given)}, told


class WithJax:
    """The gradients of JAX, compiled."""

    def __init__(self) -> None:
        self.jax = import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        jnp = import_module("jax.numpy")
        solve = self.jax.lax.linalg.tridiagonal_solve

        def tridiagonal(bands: Any, right: Any) -> Any:
            low, up = jnp.roll(bands[2], 1), jnp.roll(bands[0], -1)
            return solve(low, bands[1], up, right[:, None])

        modules = {m: jax_module(m) for m in MODULES}
        self.modules = {"np": jnp, **modules, "tridiagonal": tridiagonal}

    def prepare(self, asked: Expression, size: str) -> tuple[Calls, dict[str, Any]]:
        """The gradient, and its slope."""
        np_, free = self.modules["np"], asked.text.startswith(SIGNS)
        arrays = {k: np_.asarray(v) for k, v in data(size).items()}
        given = [arrays[name] for name in asked.arguments]
        f = function(asked.arguments, asked.jax, {**arrays, **self.modules})
        gradient = self.jax.jit(self.jax.grad(lambda *z: total(np_, f(*z), free)))
        slope = np.sum(np.asarray(gradient(*given)) * direction(given[0]))
        return {"jax": lambda: gradient(*given).block_until_ready()}, {"slope": float(slope)}


def jax_module(name: str) -> Any:
    """JAX's module of this name with all that is in it, which it loads where it is asked for."""
    try:
        module = import_module(f"jax.scipy.{name}")
    except ImportError:
        return SimpleNamespace()
    if name == "stats":
        for distribution in ("multivariate_normal", "dirichlet"):
            import_module(f"jax.scipy.stats.{distribution}")
    return module


def function(names: Sequence[str], text: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function of these arguments."""
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: {text}", scope)
    return made


def leaves(result: Any) -> list[Any]:
    """The arrays of a result."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def fixed(text: str, result: Any) -> list[Any]:
    """What of a result is the same for all libraries."""
    arrays = [np.asarray(leaf) for leaf in leaves(result)]
    if text.startswith(SIGNS):
        return [np.abs(array) for array in arrays]
    return [np.sort(array) for array in arrays] if text.startswith(ORDER) else arrays


def total(np_: Any, result: Any, signs_are_free: bool) -> Any:
    """The sum of all real parts, or of squares of sizes where signs are free."""
    parts = [y for y in leaves(result) if y.dtype.kind in "fc"]
    if signs_are_free:
        return sum(np_.sum(np_.abs(y) ** 2 * weights(y.shape)) for y in parts)
    return sum(np_.sum(np_.real(y)) for y in parts)


def weights(shape: tuple[int, ...]) -> Any:
    """Numbers that differ: the sum of the squares of a vector of length 1 is constant."""
    return np.cos(np.arange(int(np.prod(shape)))).reshape(shape)


def direction(given: Any) -> Any:
    """The direction of slopes; symmetric at a symmetric matrix, of which SciPy reads one half, and
    0 where data are 0."""
    made = np.random.default_rng(1).normal(size=given.shape) * (np.asarray(given) != 0)
    matrix = given.ndim == 2 and given.shape[0] == given.shape[1]
    return made + made.T if matrix and np.array_equal(given, given.T) else made


LIBRARIES: dict[str, Callable[[], WithTracegrad | WithJax]] = {
    "tracegrad": WithTracegrad,
    "jax": WithJax,
}


def main(library: str) -> None:
    """A line with "expression" and "size" prepares one, and is answered by what was found, or why
    there is nothing. A line with "seconds" asks for the least processor time of each call, looked
    for so long. On the first core."""
    pin(1)
    try:
        contestant = LIBRARIES[library]()
    except ImportError as error:
        if error.name != library:
            raise
        tell(missing=f"{library} is not installed here")
        return
    tell(ready=True)
    calls: Calls = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if "seconds" in asked:
            tell(**{key: least(call, asked["seconds"]) for key, call in calls.items()})
            continue
        try:
            calls, told = contestant.prepare(Expression(**asked["expression"]), asked["size"])
        except Exception as error:
            # Whatever a library raises belongs into the report.
            calls, told = {}, {"failed": f"{type(error).__name__}: {first_line(error)}"}
        tell(**told)


if __name__ == "__main__":
    main(sys.argv[1])
