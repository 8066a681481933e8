"""`tg.pytensor.as_op`: compiled functions in PyTensor's graphs and PyMC's models."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
    from pytensor.gradient import Rop, hessian

    pt = pytensor.tensor

pytestmark = pytest.mark.filterwarnings("ignore")
X = np.random.default_rng(0).normal(size=(20, 3))
VALUES = (np.array([1.0, 2.0, 3.0]), 0.7, np.ones(20))
MODES = ("FAST_RUN", "FAST_COMPILE", "NUMBA")


def logp(w: Any, s: Any, y: Any) -> Any:
    return -0.5 * np.sum((y - X @ w) ** 2) / s**2 - len(y) * np.log(s)


def theirs(w: Any, s: Any, y: Any) -> Any:
    return -0.5 * pt.sum((y - X @ w) ** 2) / s**2 - 20 * pt.log(s)


def variables() -> list[Any]:
    return [pt.dvector("w"), pt.dscalar("s"), pt.dvector("y")]


def agree(variables: Any, ours: Any, theirs: Any, values: Any, mode: str) -> Any:
    f = pytensor.function(variables, ours, mode=mode)
    g = pytensor.function(variables, theirs, mode="FAST_COMPILE")
    for a, b in zip(f(*values), g(*values), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
        assert a.dtype == b.dtype
    return f


@pytest.mark.parametrize("mode", MODES)
def test_value_and_gradient_are_one_operation(mode: str) -> None:
    v = variables()
    value, other = tg.pytensor.as_op(logp, *VALUES)(*v), theirs(*v)
    f = agree(v, [value, *pytensor.grad(value, v)], [other, *pytensor.grad(other, v)], VALUES, mode)
    assert [str(n.op) for n in f.maker.fgraph.toposort()].count("tracegrad.logp_gradient") == 1
    assert not any(str(n.op) == "tracegrad.logp" for n in f.maker.fgraph.toposort())


@pytest.mark.parametrize("mode", ["FAST_RUN", "NUMBA"])
def test_hessian_and_product(mode: str) -> None:
    w, s, _ = v = variables()
    ours, other = tg.pytensor.as_op(logp, *VALUES)(*v), theirs(*v)
    found = [[hessian(f, w), pytensor.grad(pt.sum(pytensor.grad(f, w)), s)] for f in (ours, other)]
    agree(v, *found, VALUES, mode)


@pytest.mark.parametrize("mode", MODES)
def test_trees_matrices_and_integers(mode: str) -> None:
    """Two results of which one has no derivative, and an argument that has none."""

    def f(p: Any, k: Any) -> Any:
        return {"y": np.tanh(p["a"]) @ p["b"] * k, "n": np.argmax(p["a"])}

    a, b, k = pt.dmatrix("a"), pt.dvector("b"), pt.lscalar("k")
    values = (np.arange(6.0).reshape(2, 3) / 5, np.array([1.0, -1.0, 2.0]), 3)
    op = tg.pytensor.as_op(f, {"a": values[0], "b": values[1]}, values[2])
    found = op({"a": a, "b": b}, k)
    y = pt.dot(pt.tanh(a), b) * k
    agree(
        [a, b, k],
        [found["y"], found["n"], *pytensor.grad(pt.sum(found["y"] ** 2), [a, b])],
        [y, pt.argmax(a), *pytensor.grad(pt.sum(y**2), [a, b])],
        values,
        mode,
    )


def test_push_forward() -> None:
    x, t = pt.dvector("x"), pt.dvector("t")
    y = tg.pytensor.as_op(lambda x: np.sin(x) * x[0], np.zeros(3))(x)
    rate = Rop(y, x, t)
    f = pytensor.function([x, t], rate)
    a, b = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 0.5])
    np.testing.assert_allclose(f(a, b), np.cos(a) * b * a[0] + np.sin(a) * b[0])


def test_other_dtypes_are_cast_and_sizes_are_free_in_python() -> None:
    x = pt.ivector("x")
    found = tg.pytensor.as_op(lambda x: np.sum(x**2), np.zeros(3))(x)
    # PyTensor 3 is in Numba mode unless told otherwise.
    f = pytensor.function([x], found, mode="FAST_COMPILE")
    assert f(np.array([1, 2, 3, 4], np.int32)) == 30.0


class TestErrors:
    def test_structure_and_rank(self) -> None:
        op = tg.pytensor.as_op(logp, *VALUES)
        with pytest.raises(TypeError, match=r"pytensor_op.py:\d+.*structure"):
            op(pt.dvector(), pt.dscalar())
        with pytest.raises(TypeError, match="got an array of 2 dimensions; the example's has 1"):
            op(pt.dmatrix(), pt.dscalar(), pt.dvector())
        op = tg.pytensor.as_op(lambda d: d["a"] - d["b"], {"a": 1.0, "b": 2.0})
        with pytest.raises(TypeError, match="a dict come in the order 'b', 'a', not 'a', 'b' as"):
            op({"b": pt.dscalar(), "a": pt.dscalar()})

    def test_other_sizes_in_numba(self) -> None:
        x = pt.dvector("x")
        f = pytensor.function(
            [x], tg.pytensor.as_op(lambda x: np.sum(x**2), np.zeros(3))(x), mode="NUMBA"
        )
        assert f(np.ones(3)) == 3.0
        with pytest.raises(ValueError, match="size"):
            f(np.ones(4))

    def test_what_the_function_raises(self) -> None:
        def f(x: Any) -> Any:
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            tg.pytensor.as_op(f, 0.0)


def test_a_posterior_of_pymcs() -> None:
    """A normal mean: the posterior is known."""
    pm = pytest.importorskip("pymc", reason="PyMC is not installed")
    rng = np.random.default_rng(1)
    data = rng.normal(2.0, 1.0, size=50)
    op = tg.pytensor.as_op(lambda mu, y: -0.5 * np.sum((y - mu) ** 2), 0.0, data)
    with pm.Model():
        mu = pm.Normal("mu", 0.0, 10.0)
        pm.Potential("likelihood", op(mu, data))
        trace = pm.sample(
            800, tune=400, chains=1, cores=1, random_seed=3, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
    draws = trace.posterior["mu"].to_numpy().ravel()
    variance = 1 / (50 + 1 / 100)
    assert abs(draws.mean() - variance * data.sum()) < 5 * np.sqrt(variance / 200)
    assert 0.7 < draws.std() / np.sqrt(variance) < 1.3


def test_pytensor_is_imported_by_the_call_alone() -> None:
    code = "import sys, tracegrad as tg; tg.pytensor.as_op; assert 'pytensor' not in sys.modules"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
