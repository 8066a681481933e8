"""Methods of `tg.stats`' distributions, of which each argument is wrong in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.stats

import tracegrad as tg
from tracegrad.ops.stats.calls import METHODS, Frozen
from tracegrad.ops.stats.distribution import Univariate

from .scipy_names import EXAMPLES
from .target import Target, runs
from .things import Maker, square

SHAPES: dict[str, tuple[float, ...]] = {
    "norminvgauss": (1.5, 0.5),
    "truncnorm": (-1.5, 1.5),
    "truncpareto": (1.5, 3.5),
    "triang": (0.25,),
    "trapezoid": (0.25, 0.75),
    "bernoulli": (0.25,),
    "binom": (5, 0.25),
    "nbinom": (5, 0.25),
    "geom": (0.25,),
    "logser": (0.25,),
    "randint": (1, 6),
    "loguniform": (0.25, 1.5),
    "reciprocal": (0.25, 1.5),
    "wrapcauchy": (0.25,),
    "skewcauchy": (0.25,),
    "boltzmann": (1.5, 5),
}
"""Shape parameters, where 1.5 and the next ones above it are none."""
OF_VECTORS: dict[str, tuple[tuple[str, Maker], ...]] = {
    "multivariate_normal": (
        ("x", lambda: np.array([0.5, 0.25])),
        ("mean", lambda: np.array([0.25, 0.75])),
        ("cov", square),
    ),
    "multivariate_t": (
        ("x", lambda: np.array([0.5, 0.25])),
        ("loc", lambda: np.array([0.25, 0.75])),
        ("shape", square),
        ("df", lambda: 3.0),
    ),
    "dirichlet": (
        ("x", lambda: np.array([0.25, 0.75])),
        ("alpha", lambda: np.array([1.5, 2.5])),
    ),
    "wishart": (("x", square), ("df", lambda: 3), ("scale", square)),
    "multinomial": (
        ("x", lambda: np.array([2, 1])),
        ("n", lambda: 3),
        ("p", lambda: np.array([0.25, 0.75])),
    ),
}


def given(name: str, dist: Univariate, method: str) -> tuple[tuple[str, Maker], ...]:
    known = [maker() for _, maker in EXAMPLES.get(f"tg.stats.{name}", ())]
    shapes = known or SHAPES.get(name, [1.5 + k for k in range(len(dist.shapes))])
    at = 0.25 if method in ("ppf", "isf") else 3 if dist.discrete else 1.75
    parameters = dict(zip(dist.shapes, shapes, strict=True)) | {"loc": 0.5 - 0.5 * dist.discrete}
    if not dist.discrete:
        parameters["scale"] = 2.0
    return (
        ("q" if method in ("ppf", "isf") else "k" if dist.discrete else "x", lambda: np.array(at)),
        *((key, lambda value=value: value) for key, value in parameters.items()),
    )


def methods() -> Iterator[Target]:
    for name in tg.stats.__all__:
        dist = getattr(tg.stats, name)
        if not hasattr(dist, "_parameters") and name not in OF_VECTORS:
            continue
        theirs = getattr(scipy.stats, name)
        for method in METHODS:
            function = getattr(dist, method, None)
            if function is None:
                continue
            args = OF_VECTORS.get(name) or given(name, dist, method)
            if not runs(lambda f=function: f, args):
                continue  # it says so, which the test of refused methods sees
            reference = getattr(theirs, method)
            yield Target(
                f"stats.{name}.{method}",
                lambda f=function: f,
                args,
                reference=None if name in HANGS else reference,
                scipys=True,
                every=EVERY,
                words=(name,),
            )


EVERY = 12
HANGS = ("hypergeom",)
"""Where SciPy does not come back, or not soon, from numbers of 2^62."""


def frozen() -> Iterator[Target]:
    """Distributions with their parameters, and what is no method of theirs."""
    made: dict[str, Callable[[], Frozen]] = {
        "norm(...)": lambda: tg.stats.norm(0.5, 2.0),
        "poisson(...)": lambda: tg.stats.poisson(1.5),
        "multivariate_normal(...)": lambda: tg.stats.multivariate_normal(np.zeros(2), np.eye(2)),
    }
    for name, make in made.items():
        for method in METHODS:
            if hasattr(make(), method):
                yield Target(
                    f"stats.{name}.{method}",
                    lambda make=make, method=method: getattr(make(), method),
                    (("x", lambda: np.array([0.5, 0.25])),),
                    words=(name.removesuffix("(...)"),),
                )


GROUPS = {"methods of distributions": methods, "distributions with parameters": frozen}
