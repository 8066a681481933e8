"""`tg.jax.wrap`: compiled functions in JAX's derivatives, batches and jit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def doubles() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def energy(x: Any, k: Any) -> Any:
    return np.sum(np.exp(-k * (x[1:] - x[:-1]) ** 2))


def jaxs_energy(x: Any, k: Any) -> Any:
    return jnp.sum(jnp.exp(-k * (x[1:] - x[:-1]) ** 2))


def layer(p: Any) -> Any:
    return {"y": np.sin(p["a"]) @ p["b"], "n": np.argmax(p["a"])}


def jaxs_layer(p: Any) -> Any:
    return {"y": jnp.sin(p["a"]) @ p["b"], "n": jnp.argmax(p["a"])}


def same(ours: Any, theirs: Any) -> None:
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


NUMBER = {
    "value": lambda f: f,
    "grad": lambda f: jax.grad(f, (0, 1)),
    "value_and_grad": jax.value_and_grad,
    "hessian": jax.hessian,
    "jacrev jacrev": lambda f: jax.jacrev(jax.jacrev(f)),
    "jacfwd jacfwd": lambda f: jax.jacfwd(jax.jacfwd(f, 1)),
    "third": lambda f: jax.jacrev(jax.hessian(f)),
}
TREE = {
    "jacrev": jax.jacrev,
    "jacfwd": jax.jacfwd,
    "jacrev jacrev": lambda f: jax.jacrev(jax.jacrev(f)),
    "jacfwd jacrev": lambda f: jax.jacfwd(jax.jacrev(f)),
    "jacrev jacfwd": lambda f: jax.jacrev(jax.jacfwd(f)),
}
WAYS = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "jit vmap": lambda f: jax.jit(jax.vmap(f)),
}
CASES = [(t, w) for t in NUMBER for w in WAYS if w != "jit" or t == "value_and_grad"]


@pytest.mark.parametrize(("transform", "way"), CASES)
def test_of_one_number(transform: str, way: str) -> None:
    x = jnp.linspace(0, 1, 5) ** 2
    if "vmap" in way:
        x, k = jnp.stack([x, jnp.cos(x)]), jnp.array([2.0, 3.0])
    else:
        k = jnp.array(2.0)
    ours, theirs = (WAYS[way](NUMBER[transform](f)) for f in (tg.jax.wrap(energy), jaxs_energy))
    same(ours(x, k), theirs(x, k))


@pytest.mark.parametrize("way", ["eager", "jit vmap"])
@pytest.mark.parametrize("transform", TREE)
def test_of_a_tree(transform: str, way: str) -> None:
    wrapped = tg.jax.wrap(layer)
    p = {"a": jnp.arange(6.0).reshape(2, 3), "b": jnp.array([1.0, -2.0, 0.5])}
    p = jax.tree.map(lambda a: jnp.stack([a, 2 * a]), p) if "vmap" in way else p
    ours = WAYS[way](TREE[transform](lambda p: wrapped(p)["y"]))
    theirs = WAYS[way](TREE[transform](lambda p: jaxs_layer(p)["y"]))
    same(ours(p), theirs(p))
    if way == "eager":
        same(wrapped(p), jaxs_layer(p))


def test_axes_of_batches() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    ours = jax.vmap(tg.jax.wrap(energy), (1, None))(x, 2.0)
    same(ours, jax.vmap(jaxs_energy, (1, None))(x, 2.0))


def test_complex_numbers() -> None:
    """JAX's gradients are conjugate to tracegrad's."""
    z = jnp.array([1 + 2j, 0.5j])
    f, jaxs = tg.jax.wrap(lambda z: np.sum(np.abs(z * z + 1) ** 2)), (
        lambda z: jnp.sum(jnp.abs(z * z + 1) ** 2)
    )  # fmt: skip
    same(jax.grad(f)(z), jax.grad(jaxs)(z))
    f, jaxs = tg.jax.wrap(lambda z: z * z * np.conj(z[0])), lambda z: z * z * jnp.conj(z[0])
    same(jax.vjp(f, z)[1](z * 1j + 2), jax.vjp(jaxs, z)[1](z * 1j + 2))
    same(jax.jvp(f, (z,), (z * 1j,)), jax.jvp(jaxs, (z,), (z * 1j,)))


def test_other_sizes_and_large_arrays() -> None:
    """A second size makes a size-generic function; arrays of many pages are filled in place."""
    f = jax.jit(jax.value_and_grad(tg.jax.wrap(energy)))
    for n in (4, 7, 300_000):
        x = jnp.linspace(0, 1, n) ** 2
        same(f(x, 2.0), jax.value_and_grad(jaxs_energy)(x, 2.0))


def test_short_floats_are_jaxs_default() -> None:
    jax.config.update("jax_enable_x64", False)
    weights = np.array([1.0, 2.0])  # float64, which JAX has not now
    f = tg.jax.wrap(lambda x: np.sum(weights * x**2))
    x = jnp.array([1.0, 2.0])
    for way in (lambda f: f, jax.jit):
        value, gradient = way(jax.value_and_grad(f))(x)
        assert value.dtype == gradient.dtype == jnp.float32
        np.testing.assert_allclose(gradient, [2.0, 8.0])
        np.testing.assert_allclose(way(jax.hessian(f))(x), [[2, 0], [0, 4]], atol=1e-6)


def test_a_scan_of_jaxs_around_it() -> None:
    """A program of JAX's: gradient descent on a compiled energy, and its derivative."""

    def descended(energy: Any) -> Any:
        def last(x: Any, rate: Any) -> Any:
            step = lambda x, _: (x - rate * jax.grad(energy)(x, 2.0), None)  # noqa: E731
            return jnp.sum(jax.lax.scan(step, x, length=5)[0] ** 2)

        return jax.jit(jax.grad(last, 1))

    x = jnp.array([0.1, 0.9, 0.3])
    same(descended(tg.jax.wrap(energy))(x, 0.1), descended(jaxs_energy)(x, 0.1))


def same_number(x: Any) -> Any:
    return x


def opposite(x: Any) -> Any:
    return -x


def test_what_is_read_around_it_is_read_again() -> None:
    """By eager calls, and when JAX traces anew: a number, what NumPy computes of an array while it
    is traced, another function under a name."""
    factor, weights, helpers = [1.0], np.ones(2), [same_number]
    for f in (
        lambda x: np.sum(x**3) * factor[0],
        lambda x: np.sum(x**3) * (np.sum(weights) / 2),
        lambda x: helpers[0](np.sum(x**3)),
    ):
        factor[0], weights[:], helpers[0] = 1.0, 1.0, same_number
        wrapped, x = tg.jax.wrap(f), jnp.ones(1)

        def found(wrapped: Any = wrapped, x: Any = x) -> list[float]:
            def anew(x: Any) -> Any:
                return wrapped(x)

            ways = (wrapped, jax.jit(anew), jax.jit(jax.grad(anew)), jax.jit(jax.hessian(anew)))
            return [float(np.ravel(way(x))[0]) for way in ways]

        assert found() == [1.0, 1.0, 3.0, 6.0]
        factor[0], weights[:], helpers[0] = -1.0, -1.0, opposite
        assert found() == [-1.0, -1.0, -3.0, -6.0]


def test_arrays_around_it_are_read_at_each_call() -> None:
    weights = np.ones(2)
    f, x = jax.jit(jax.grad(tg.jax.wrap(lambda x: np.sum(x**3 * weights)))), jnp.ones(2)
    assert f(x).tolist() == [3.0, 3.0]
    weights[:] = 2.0
    assert f(x).tolist() == [6.0, 6.0]


def test_programs_with_loops_and_branches() -> None:
    def program(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            if x[i] > 1.0:
                total += x[i] ** 3
            else:
                total += 2.0 * x[i]
        return total

    wrapped, x = tg.jax.wrap(program), jnp.array([0.5, 2.0])
    np.testing.assert_allclose(jax.grad(wrapped)(x), [2.0, 12.0])
    np.testing.assert_allclose(jax.hessian(wrapped)(x), [[0.0, 0.0], [0.0, 12.0]], atol=1e-14)


class TestErrors:
    def test_while_it_is_traced(self) -> None:
        def f(x: Any) -> Any:
            raise KeyError("mine")

        for way in (lambda f: f, jax.jit, jax.grad):
            with pytest.raises(KeyError, match="mine"):
                way(tg.jax.wrap(f))(jnp.ones(2))

    def test_while_it_runs(self) -> None:
        f = tg.jax.wrap(lambda x, k: tg.take(x, k))
        with pytest.raises(IndexError):
            f(jnp.ones(2), jnp.array(5))
        with pytest.raises(jax.errors.JaxRuntimeError, match="IndexError"):
            jax.jit(f)(jnp.ones(2), jnp.array(5)).block_until_ready()

    def test_writes_to_arguments(self) -> None:
        def f(x: Any) -> Any:
            x[0] = 1.0
            return x.sum()

        with pytest.raises(ValueError, match="read-only"):
            tg.jax.wrap(f)(jnp.zeros(3))


def test_jax_is_imported_by_the_call_alone() -> None:
    code = (
        "import sys, tracegrad as tg; tg.jax.wrap; assert 'jax' not in sys.modules; "
        "tg.jax.wrap(abs); assert 'jax' in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
