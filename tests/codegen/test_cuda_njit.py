"""Derivatives as device functions that kernels of the user's own call: compiled to PTX, and run by
the simulator in a process of its own."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cuda_plans import INSTALLED, NEEDS_COMPILER

SCRIPT = """
import numpy as np
from numba import cuda
import tracegrad as tg

@tg.jit
def energy(x, k):
    d = x[1:] - x[:-1]
    return np.sum(np.exp(-k * d**2)) + tg.fori_loop(0, 4, lambda i, c: c * np.sin(c), x[0])

@tg.jit
def product(a):
    return np.sum((a @ a.T) ** 2)

both = tg.value_and_grad(energy).njit(np.ones(6), 2.0, target="cuda")
hessian = tg.hessian(energy).njit(np.ones(6), 2.0, target="cuda")
of_product = tg.grad(product).njit(np.ones((5, 5)), target="cuda")

@cuda.jit
def each(xs, values, gradients, hessians):
    i = cuda.grid(1)
    if i < xs.shape[0]:
        values[i] = both(xs[i], 2.0, gradients[i])
        hessian(xs[i], 2.0, hessians[i])

@cuda.jit
def one(a, out):
    of_product(a, out)

rng = np.random.default_rng(0)
xs, a = rng.normal(size=(3, 6)), rng.normal(size=(5, 5))
values, gradients, hessians = np.zeros(3), np.zeros((3, 6)), np.zeros((3, 6, 6))
out = np.zeros((5, 5))
each[2, 2](xs, values, gradients, hessians)
one[1, 1](a, out)
for i in range(3):
    v, g = tg.value_and_grad(energy)(xs[i], 2.0)
    np.testing.assert_allclose(values[i], v, rtol=1e-13)
    np.testing.assert_allclose(gradients[i], g, rtol=1e-12)
    np.testing.assert_allclose(hessians[i], tg.hessian(energy)(xs[i], 2.0), rtol=1e-11, atol=1e-13)
np.testing.assert_allclose(out, tg.grad(product)(a), rtol=1e-12)
print("equal")
"""


@pytest.mark.skipif(not INSTALLED, reason="needs numba-cuda: pip install 'tracegrad[cuda]'")
def test_on_the_simulator() -> None:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        cwd=root,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "equal", done.stderr


def value_and_slope(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(-x))


@NEEDS_COMPILER
@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_compiles_to_ptx(kind: str) -> None:
    from numba import cuda, types

    compiling = importlib.import_module("tracegrad.codegen.cuda.compile")
    function = tg.value_and_grad(tg.jit(value_and_slope)).njit(np.ones(4, kind), target="cuda")
    number = getattr(types, kind)

    def kernel(x: Any, value: Any, slope: Any) -> None:
        value[0] = function(x, slope)

    with compiling.compiling_for((8, 0)):
        text, _ = cuda.compile_ptx(kernel, (number[::1], number[::1], number[::1]), cc=(8, 0))
    assert ".entry" in text


@pytest.mark.skipif(not INSTALLED, reason="needs numba-cuda: pip install 'tracegrad[cuda]'")
def test_what_a_thread_cannot_do() -> None:
    with pytest.raises(NotImplementedError, match="no form that one thread runs"):
        tg.jit(lambda a: np.linalg.svd(a)[1]).njit(np.eye(3), target="cuda")
    captured = np.ones(3)
    with pytest.raises(TypeError, match="captures='arguments'"):
        tg.jit(lambda x: x * captured).njit(np.ones(3), target="cuda", captures="freeze")


def test_target_is_checked() -> None:
    with pytest.raises(ValueError, match="target is 'cpu' or 'cuda'"):
        tg.jit(value_and_slope).njit(np.ones(3), target="gpu")


@pytest.mark.skipif(INSTALLED, reason="numba-cuda is installed")
def test_without_numba_cuda() -> None:
    with pytest.raises(RuntimeError, match="pip install"):
        tg.jit(value_and_slope).njit(np.ones(3), target="cuda")
