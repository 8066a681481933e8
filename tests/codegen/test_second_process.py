"""What a process loads that compiles, and one that finds its kernels on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tracegrad

FOUND = """
import sys
import numpy as np
import tracegrad as tg
from tracegrad.codegen.disk import cache

@tg.jit
@tg.grad
def f(x):
    matrix = np.outer(x, x) + np.eye(x.size)
    sums = np.sum(np.sin(x) * np.exp(x)) + np.sort(x) @ x + tg.special.gammaln(x).sum()
    z = np.fft.fft(x) * (1 + 2j)
    sums = sums + np.abs(np.exp(z / (z + x)) * np.log(z)).sum()
    return sums + np.linalg.slogdet(matrix)[1] + np.linalg.eigh(matrix)[0].sum()

value = f(np.linspace(0.1, 1.0, 9))
loaded = [n for n in ("numba.np.arraymath", "numba.np.linalg") if n in sys.modules]
print(cache.COUNTERS.compiled, value.sum(), loaded)
"""


def test_neither_process_loads_all_of_numba(tmp_path: Path) -> None:
    """Which takes as long as all else: generated code calls few of its functions, and the names
    that compiled code calls are found without."""
    there = str(Path(tracegrad.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": there, "TRACEGRAD_CACHE_DIR": str(tmp_path)}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", FOUND], env=env, capture_output=True, text=True, check=True
        ).stdout.split(maxsplit=2)
        for _ in range(2)
    ]
    assert outputs[0][2] == "[]\n"
    assert outputs[1] == ["0", outputs[0][1], "[]\n"]
