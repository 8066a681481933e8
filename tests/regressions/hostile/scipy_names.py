"""What has the names of SciPy's functions and of other libraries: whose they are, and arguments
that work where the names of parameters do not tell them."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.sparse

import tracegrad as tg

from .things import Maker, fn_of, half, sine, square, vector

THEIRS: dict[str, Any] = {
    "tg": np,
    "tg.linalg": np.linalg,
    "tg.fft": np.fft,
    **{
        f"tg.{name}": importlib.import_module(f"scipy.{name}")
        for name in ("signal", "special", "stats", "ndimage", "interpolate", "integrate")
    },
}
"""The namespaces whose functions ours have the names of."""
HANGS = ("tg.special.hyp1f1", "tg.integrate.quad_vec")
"""What SciPy does not come back from, for some numbers."""


def sections() -> Any:
    return np.array([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]])


def signal() -> Any:
    return np.arange(24.0) ** 2


def places() -> Any:
    return np.array([0, 1])


def sparse() -> Any:
    return scipy.sparse.csr_array(square())


def of(maker: Maker) -> Maker:
    """A Tensor, as functions of the array API take."""
    return lambda: tg.tensor(maker())


def line(x: Any, a: Any, b: Any) -> Any:
    return a * x + b


def times(theta: Any, shard: Any) -> Any:
    return np.sum(theta * shard)


_TIMES: tuple[Maker, ...] = (lambda: np.arange(4.0), lambda: np.array([1.0, 3.0, 5.0, 7.0]))
EXAMPLES: dict[str, tuple[tuple[str, Maker], ...]] = {
    "tg.signal.filtfilt": (
        ("b", lambda: [0.5, 0.5]),
        ("a", lambda: [1.0, 0.1]),
        ("x", signal),
    ),
    "tg.signal.savgol_filter": (
        ("x", signal),
        ("window_length", lambda: 5),
        ("polyorder", lambda: 2),
    ),
    "tg.signal.sosfilt": (("sos", sections), ("x", signal)),
    "tg.signal.sosfilt_zi": (("sos", sections),),
    "tg.signal.sosfiltfilt": (("sos", sections), ("x", signal)),
    **{
        f"tg.ndimage.{name}_filter": (("input", square), ("size", lambda: 3))
        for name in ("maximum", "median", "minimum")
    },
    **{
        f"tg.ndimage.{name}": (("input", square), ("size", lambda: 3))
        for name in (
            "black_tophat",
            "grey_closing",
            "grey_dilation",
            "grey_erosion",
            "grey_opening",
            "morphological_gradient",
            "morphological_laplace",
            "white_tophat",
        )
    },
    "tg.ndimage.percentile_filter": (
        ("input", square),
        ("percentile", lambda: 40.0),
        ("size", lambda: 3),
    ),
    "tg.ndimage.rank_filter": (("input", square), ("rank", lambda: 1), ("size", lambda: 3)),
    "tg.linalg.leslie": (("f", lambda: np.arange(1.0, 4)), ("s", lambda: np.ones(2))),
    "tg.interpolate.BSpline": (
        ("t", lambda: np.arange(6.0)),
        ("c", lambda: np.ones(3)),
        ("k", lambda: 2),
    ),
    "tg.interpolate.make_interp_spline": (
        ("x", lambda: np.arange(5.0)),
        ("y", lambda: np.ones(5)),
        ("k", lambda: 2),
    ),
    "tg.interpolate.interpn": (
        ("points", lambda: [np.array([0.0, 1.0]), np.array([0.0, 2.0])]),
        ("values", square),
        ("xi", lambda: np.array([[0.5, 1.0], [1.0, 0.5]])),
    ),
    **{
        f"tg.integrate.{name}": (("func", fn_of(sine)), ("a", lambda: 0.0), ("b", lambda: 1.0))
        for name in ("quad", "quad_vec")
    },
    "tg.integrate.romb": (("y", lambda: np.arange(5.0)),),
    "tg.integrate.fixed_quad": (("func", fn_of(sine)), ("a", lambda: 0.0), ("b", lambda: 1.0)),
    **{
        f"tg.stats.{name}": tuple(
            (f"shape {k}", lambda value=value: value) for k, value in enumerate(shapes)
        )
        for name, shapes in {
            "betabinom": (5, 1.5, 2.5),
            "betanbinom": (5, 1.5, 2.5),
            "hypergeom": (20, 7, 12),
            "truncweibull_min": (1.5, 0.5, 2.5),
        }.items()
    },
    "tg.tree.flatten": (("tree", lambda: [1.0, 2.0]),),
    "tg.tree.unflatten": (
        ("spec", lambda: tg.tree.flatten([1.0, 2.0])[1]),
        ("leaves", lambda: [1.0, 2.0]),
    ),
    "tg.tree.node": (
        ("cls", lambda: type("Pair", (), {})),
        ("take_apart", fn_of(half)),
        ("together", fn_of(half)),
    ),
    "tg.scale.sum_over": (("per_shard", fn_of(times)), ("shards", lambda: [vector()])),
    "tg.scale.map_over": (("function", fn_of(sine)), ("problems", lambda: [vector()])),
    "tg.scipy.curve_fit": (
        ("f", fn_of(line)),
        ("xdata", _TIMES[0]),
        ("ydata", _TIMES[1]),
    ),
    "tg.scipy.least_squares": (("residuals", fn_of(half)), ("x0", vector)),
    "tg.sparse.array": (("parts", sparse),),
    "tg.sparse.solve": (("A", sparse), ("b", vector)),
    "tg.array_api.isdtype": (("dtype", lambda: np.dtype(float)), ("kind", lambda: "bool")),
    **{
        f"tg.array_api.{name}": tuple((f"x{k}", maker) for k, maker in enumerate(makers))
        for name, makers in {
            "searchsorted": (of(vector), of(vector)),
            "take": (of(vector), of(places)),
            "cumulative_sum": (of(vector),),
            "cumulative_prod": (of(vector),),
            "linalg.cholesky": (of(square),),
            "linalg.cross": (lambda: tg.ones(3), lambda: tg.ones(3)),
            "linalg.inv": (of(square),),
            "linalg.solve": (of(square), of(square)),
        }.items()
    },
}
NEEDS_A_LIBRARY = (
    "tg.jax.", "tg.pytensor.", "tg.interfaces.NativeFunction", "tg.scale.",
    "tg.integrate.dblquad", "tg.integrate.nquad", "tg.integrate.solve_ivp", "tg.integrate.tplquad",
)  # fmt: skip
"""What is called with wrong arguments alone: JAX and PyTensor may not be there, C functions and
sums are made by others, files are read, integrals over several variables take long."""
