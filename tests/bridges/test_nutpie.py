"""nutpie's sampler on the C function of a density: the same chain as through Python, sooner; and
what has no density is a divergence."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

nutpie = pytest.importorskip("nutpie", reason="nutpie is not installed")
pytest.importorskip("pymc", reason="PyMC is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
OPTIONS = {"draws": 400, "tune": 300, "chains": 2, "cores": 1, "seed": 1, "progress_bar": False}
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=60)


def regression(p: Any) -> Any:
    s = p["log_sigma"]
    return -0.5 * np.sum((Y - X @ p["w"]) ** 2) * np.exp(-2 * s) - 60 * s - 0.5 * s**2


def raw(f: Callable[..., Any], example: dict[str, Any]) -> Any:
    """The model as nutpie makes one of PyMC's, of the address."""
    from numba import cfunc, types
    from nutpie.compile_pymc import CompiledPyMCModel

    pointer = types.CPointer(types.float64)

    @cfunc(types.int64(types.uint64, types.uint64, pointer, pointer, types.voidptr))
    def expand(dim, expanded, x, out, user):
        for k in range(expanded):
            out[k] = x[k]
        return 0

    names, shapes = sorted(example), [np.shape(example[k]) for k in sorted(example)]
    n = tg.scipy.objective(f, like=example).pack(example).size
    return CompiledPyMCModel(
        dims={},
        compiled_logp_func=tg.jit(f).cfunc(example, signature="nutpie"),
        compiled_expand_func=expand,
        initial_point_func=lambda seed: np.random.default_rng(seed).normal(size=n) * 0.1 + 1.0,
        shared_data={},
        user_data=np.zeros(1),
        n_expanded=n,
        shape_info=(names, None, shapes),
        logp_func=None,
        expand_func=None,
        _n_dim=n,
        _shapes=dict(zip(names, shapes, strict=True)),
        _coords={},
    )


def through_python(f: Callable[..., Any], example: dict[str, Any]) -> Any:
    from nutpie.compiled_pyfunc import from_pyfunc

    problem = tg.scipy.objective(f, like=example)
    names, n = sorted(example), problem.pack(example).size

    def kept(x: Any) -> Any:
        values = problem.unpack(x)
        return {name: np.asarray(values[name]) for name in names}

    return from_pyfunc(
        n,
        lambda: problem.fun_and_jac,
        lambda *seeds: kept,
        [np.dtype("float64")] * len(names),
        [np.shape(example[k]) for k in names],
        names,
        make_initial_point_fn=lambda seed: np.random.default_rng(seed).normal(size=n) * 0.1 + 1.0,
    )


def test_the_same_chain_in_less_time() -> None:
    example = {"w": np.zeros(3), "log_sigma": 0.0}
    made = [raw(regression, example), through_python(regression, example)]
    traces = [nutpie.sample(m, **OPTIONS) for m in made]
    w = [t.posterior["w"].to_numpy() for t in traces]
    assert np.allclose(*[a.mean((0, 1)) for a in w], atol=0.02)
    exact = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(w[0].mean((0, 1)), exact, atol=0.03)
    times = []
    for m in made:
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            nutpie.sample(m, **OPTIONS)
            best = min(best, time.perf_counter() - start)
        times.append(best)
    assert times[1] > 1.8 * times[0], times


def test_what_has_no_density_is_a_divergence() -> None:
    """An exponential distribution of mean 1, without a transform: NaN where x is negative."""
    model = raw(lambda p: -np.sum(np.sqrt(p["x"]) ** 2), {"x": np.ones(2)})
    trace = nutpie.sample(model, **OPTIONS)
    x = trace.posterior["x"].to_numpy()
    assert int(trace.sample_stats["diverging"].sum()) > 0
    assert (x >= 0).all()
    assert 0.3 < x.mean() < 3.0


def test_a_singular_matrix_is_a_divergence() -> None:
    """Beyond the edge of what has a density the matrix is singular: those draws are divergences,
    the others those of the density."""

    def density(p: Any) -> Any:
        inside = np.maximum(p["x"], 0.0)
        scaled = np.linalg.solve(np.diag(inside), inside * p["x"])
        return -np.sum(scaled) + np.sum(np.log(inside))

    trace = nutpie.sample(raw(density, {"x": np.ones(2)}), **OPTIONS)
    x = trace.posterior["x"].to_numpy()
    assert int(trace.sample_stats["diverging"].sum()) > 0
    assert (x > 0).all()
    assert np.allclose(x.mean((0, 1)), 2.0, atol=0.35)  # a gamma distribution
