"""Library routines that get no memory for what they work with: an error, never a crash, in compiled
functions and in C functions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import numpy as np
from llvmlite import ir

import tracegrad as tg
import tracegrad.codegen.native  # loads the translator
from tracegrad.codegen.translation.values import Values

Values.memory = lambda self, builder, size: ir.Constant(ir.IntType(8).as_pointer(), None)

a = np.random.default_rng(0).normal(size=(9, 9)) + 9 * np.eye(9)
s = a @ a.T
FUNCTIONS = {
    "det": lambda a: tg.linalg.det(a),
    "slogdet": lambda a: tg.linalg.slogdet(a)[1],
    "solve": lambda a: tg.linalg.solve(a, a[0]),
    "inv": lambda a: tg.linalg.inv(a),
    "pinv": lambda a: tg.linalg.pinv(a),
    "qr": lambda a: tg.linalg.qr(a)[1],
    "svd": lambda a: tg.linalg.svd(a)[1],
    "eigh": lambda a: tg.linalg.eigh(a + a.T)[0],
    "eig": lambda a: np.abs(tg.linalg.eigvals(a)),
    "lu": lambda a: tg.linalg.lu_factor(a)[0],
    "expm": lambda a: tg.linalg.expm(a),
    "sqrtm": lambda a: tg.linalg.sqrtm(a @ a.T),
    "sylvester": lambda a: tg.linalg.solve_sylvester(a, a, a),
    "sort": lambda a: np.sort(a, 0),
    "argsort": lambda a: np.argsort(a.reshape(-1)),
    "fft": lambda a: np.abs(np.fft.fft(a)),
    "irfft": lambda a: np.fft.irfft(np.fft.rfft(a)),
    "stack of det": lambda a: tg.linalg.det(np.stack([a, a])),
    "gradient of det": tg.grad(lambda a: tg.linalg.det(a)),
    "lanes": tg.vmap(lambda row: np.sort(row)),
}
for name, function in FUNCTIONS.items():
    try:
        found = tg.jit(function)(a)
    except MemoryError as error:
        print(name, "MemoryError", error)
    else:
        print(name, "gave", found)
c = tg.jit(lambda a: tg.linalg.det(a)).cfunc(a)
print("C function", c(a, np.zeros(1)) < 0, type(c.last_status().error).__name__)
"""


def test_every_routine(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, path],
        env={**os.environ, "TRACEGRAD_CACHE_DIR": str(tmp_path / "cache")},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 21
    assert not [line for line in lines[:-1] if " MemoryError " not in line]
    assert lines[-1] == "C function True MemoryError"
