"""Kernels that several processes left on disk meet in one process: each is called for what it was
compiled from."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.bytecode import FunctionIdentity
from tracegrad.codegen.native.compile import NativeKernel, compile_source
from tracegrad.codegen.translation import direct, operands, unit

import tracegrad

F8 = np.dtype(np.float64)
REST = (np.empty(64, np.uint8), np.zeros(2, np.int64), -1, 0, 0)
SOURCE = """
from tracegrad.codegen.native.support import index
from tracegrad.codegen.native.routines import linear_recurrence


def kernel(x, out0, arena, status, phase, lo, hi):
    linear_recurrence(x, x, out0, 0, False)
    for i in range(index(0), index(x.shape[0])):
        out0[i] = out0[i] * {factor}
"""


def made(factor: float, folder: Path | None, monkeypatch: pytest.MonkeyPatch) -> NativeKernel:
    """One of several kernels of equal names and types, made or read as in a process of its own."""
    monkeypatch.setattr(FunctionIdentity, "_unique_ids", itertools.count(10**6))
    return compile_source(SOURCE.format(factor=factor), "kernel", [(F8, 1, "C")], [(F8, 1)], folder)


def multiplies(kernel: NativeKernel, factor: float) -> bool:
    out = np.empty(3)
    kernel.call(np.array([2.0, 1.0, 3.0]), out, *REST)
    return out.tolist() == [factor * 2.0, factor * 3.0, factor * 12.0]


@pytest.fixture(params=["direct", pytest.param("numba", marks=pytest.mark.falls_back)])
def pipeline(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The translator, or Numba's own pipeline, which stands in for it."""
    if request.param == "numba":

        def refuse(*_: Any) -> None:
            raise operands.UntranslatableError("not today")

        monkeypatch.setattr(unit.Unit, "entry", refuse)
    return str(request.param)


@pytest.mark.parametrize(
    "later", [0, 1, 2], ids=["both from disk", "one from disk, one compiled", "both compiled"]
)
def test_kernels_of_one_name_and_type_are_not_exchanged(
    pipeline: str, later: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for factor in (2.0, 3.0)[: 2 - later]:
        made(factor, tmp_path, monkeypatch)
    kernels = {factor: made(factor, tmp_path, monkeypatch) for factor in (2.0, 3.0)}
    assert [k.at_hand for k in kernels.values()] == [later < 2, later < 1]
    # The address is what threads call by; it was once looked up by a name that both had.
    assert kernels[2.0].address() != kernels[3.0].address() != 0
    assert all(multiplies(kernel, factor) for factor, kernel in kernels.items())


def test_what_a_kernel_calls_is_its_own(pipeline: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No function that another kernel's code could be linked to, or that could be taken for
    another's."""
    kinds: list[type] = []
    shared: list[str] = []
    optimize = direct.Alone._optimize_final_module

    def watched(library: Any) -> None:
        optimize(library)
        kinds.append(type(library))
        functions = library._final_module.functions
        shared.extend(
            f.name for f in functions if not f.is_declaration and f.linkage.name != "internal"
        )

    monkeypatch.setattr(direct.Alone, "_optimize_final_module", watched)
    assert multiplies(made(2.0, None, monkeypatch), 2.0)
    assert kinds == [direct.WholeLibrary if pipeline == "direct" else direct.Alone]
    assert len(shared) == 2
    assert all("kernel_" in name for name in shared), "the entry for Python and the native function"


THREADS = """
import sys
import numpy as np
import tracegrad as tg
from tracegrad.codegen.disk import cache

x = np.linspace(0.0, 1.0, 200_000)
def made(w):
    return tg.jit(lambda x: np.sum(np.exp(np.sin(x * w)) * np.cos(x)))
functions = [made(w) for w in map(float, sys.argv[1:])]
tg.set_num_threads(1)
alone = [f(x) for f in functions]
tg.set_num_threads(2)
for f, expected in [*zip(functions, alone)] * 20:
    assert abs(f(x) - expected) <= 1e-9 * abs(expected)
print(cache.COUNTERS.compiled, cache.COUNTERS.loaded)
"""


def test_threads_run_the_function_that_was_asked_for(tmp_path: Path) -> None:
    variables = {
        "TRACEGRAD_CACHE_DIR": str(tmp_path),
        "NUMBA_NUM_THREADS": "2",
        "PYTHONPATH": str(Path(tracegrad.__file__).parent.parent),
    }

    def run(*arguments: str) -> str:
        command = [sys.executable, "-c", THREADS, *arguments]
        return subprocess.run(
            command,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout

    assert [run("2"), run("3"), run("2", "3")] == ["1 0\n", "1 0\n", "0 2\n"]


ROUTINES = """
import numpy as np
import tracegrad as tg

rng = np.random.default_rng(0)
a, b = rng.standard_normal((2, 1000, 130))
s = a[:300] @ a[:300].T + 300 * np.eye(300)
cases = {
    "a large product": (lambda a, b: a @ b.T, a, b),
    "of float32": (lambda a, b: a @ b.T, a.astype("f4"), b.astype("f4")),
    "Cholesky": (np.linalg.cholesky, s),
    "solve": (np.linalg.solve, s, s[0]),
    "eigenvalues": (lambda s: np.linalg.eigh(s)[0], s[:60, :60]),
    "QR": (lambda a: np.linalg.qr(a)[0], s[:, :60]),
    "Fourier": (np.fft.fft, s[0]),
}
for name, (f, *xs) in cases.items():
    np.testing.assert_allclose(tg.jit(f)(*xs), f(*xs), rtol=1e-3, atol=2e-4, err_msg=name)
print("right")
"""


def test_routines_that_another_process_left_on_disk(tmp_path: Path) -> None:
    """A symbol that only the process has which compiled ends one that reads the code."""
    environment = {
        **os.environ,
        "TRACEGRAD_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(tracegrad.__file__).parent.parent),
    }
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", ROUTINES],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.stdout == "right\n", done.stderr
