"""The functions of numbers that devices have bodies for, run by the processor: what they are at the
edges, where libraries differ."""

from __future__ import annotations

import importlib
import math
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from tracegrad.codegen.scalars import SCALARS

from tests.cuda_plans import INSTALLED

pytestmark = pytest.mark.skipif(
    not INSTALLED, reason="needs numba-cuda: pip install 'tracegrad[cuda]'"
)
EDGES = np.array(
    [
        math.nan,
        math.inf,
        -math.inf,
        0.0,
        -0.0,
        1e-300,
        1.0,
        -1.0,
        2.5,
        -2.5,
        3.0,
        -3.0,
        30.0,
        -30.0,
        1e300,
        -1e300,
    ]
)
LIBRARY = SimpleNamespace(
    **{
        name: getattr(np, name)
        for name in (
            "copysign",
            "exp",
            "fabs",
            "floor",
            "fmod",
            "inf",
            "isfinite",
            "log",
            "log1p",
            "nan",
            "pi",
            "sin",
            "tan",
        )
    },
    lgamma=lambda x: np.abs(sp.gammaln(x)) if np.isinf(x) else sp.gammaln(x),
)
"""A `math` that raises nothing, as on a device."""
REFERENCES: dict[str, Any] = {
    "digamma": sp.digamma,
    "floordiv": np.floor_divide,
    "lgamma": sp.gammaln,
    "logaddexp": np.logaddexp,
    "mod": np.mod,
    "sigmoid": sp.expit,
    "softplus": lambda x: np.logaddexp(np.zeros((), x.dtype), x),
    "trigamma": lambda x: sp.polygamma(1, x),
}
NAMES = sorted(
    s.name
    for s in SCALARS.values()
    if isinstance(s.device, str) and s.device.removeprefix("double ").startswith("bodies.")
)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_edges(name: str, dtype: str) -> None:
    """As NumPy's or SciPy's, at all of them or all pairs."""
    bodies: Any = importlib.import_module("tracegrad.codegen.scalars.bodies")
    body = getattr(bodies, str(SCALARS[name].device).rpartition(".")[2])
    there = FunctionType(body.__code__, {**vars(bodies), "math": LIBRARY})
    with np.errstate(all="ignore"):
        xs = EDGES.astype(dtype)
        for at in np.ndindex(*(len(xs),) * body.__code__.co_argcount):
            given = [xs[k] for k in at]
            expected, found = REFERENCES[name](*given), np.dtype(dtype).type(there(*given))
            said = f"{name}({', '.join(map(str, given))}) is {found}, not {expected}"
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-300, err_msg=said)
            assert expected != 0 or math.copysign(1, found) == math.copysign(1, expected), said
