"""Engines of `tg.scale` that are other libraries': joblib's processes, a Dask cluster, MPI. Those
that are not installed are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tracegrad as tg
from tests.shard_functions import bits, killed_at_random, logistic, rows
from tracegrad.scale.engines.processes import Processes

SHARDS = rows()
pytestmark = pytest.mark.engines
"""The CI installs the libraries in a step of its own and runs these there."""


@pytest.fixture
def counts(request: Any) -> tuple[int, ...]:
    """Numbers of workers that are processes; the wide run takes all."""
    return (1, 2, 3, 7) if request.config.getoption("--soak") else (3,)


def test_joblib(counts: tuple[int, ...]) -> None:
    pytest.importorskip("joblib")
    expected = bits(tg.scale.sum_over(logistic, SHARDS))
    for n in counts:
        total = tg.scale.sum_over(logistic, SHARDS, backend="joblib", workers=n)
        assert bits(total) == expected, n
        assert len(tg.scale.report()[-1].workers) == n
        tg.scale.close()


def test_joblib_workers_that_are_killed(request: Any) -> None:
    pytest.importorskip("joblib")
    engine = Processes(2, "joblib")
    try:
        killed_at_random(engine, 100 if request.config.getoption("--soak") else 3)
    finally:
        engine.close()


def ran(name: str, *given: Any, launcher: Sequence[str] = (), limit_s: float = 600) -> list[str]:
    """The lines that say that all is well, of a program beside this file."""
    program = str(Path(__file__).with_name(name))
    root = str(Path(__file__).parents[2])
    own = {"PYTHONPATH": root}
    own |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [*launcher, sys.executable, program, *map(str, given)],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, **own},
        timeout=limit_s,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return sorted(line for line in done.stdout.splitlines() if line.startswith("well"))


def test_dask(request: Any, counts: tuple[int, ...]) -> None:
    """Bits for any number of workers; blocks of arrays, delayed objects, futures, xarray; a shard
    that fails, workers that are killed or have no memory, other versions, a cluster that is closed.
    """
    pytest.importorskip("distributed")
    kills = 100 if request.config.getoption("--soak") else 2
    processes = ",".join(map(str, counts)) if len(counts) > 1 else "0"
    # A worker is back after some seconds; several evaluations follow each kill.
    assert ran("dask_program.py", kills, processes, limit_s=600 + 60 * kills) == ["well"]


def test_a_dask_scheduler_that_is_killed(tmp_path: Any) -> None:
    pytest.importorskip("distributed")
    assert ran("dask_lost_program.py", tmp_path / "scheduler.json") == ["well"]


def mpirun() -> str | None:
    """The launcher beside this Python, or the system's."""
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun")


@pytest.mark.parametrize("program", ["mpi_program.py", "mpi_driver_program.py"])
def test_mpi(program: str, counts: tuple[int, ...]) -> None:
    """Bits on every rank; a failure and a disagreement, which all ranks are told of; what comes
    late."""
    pytest.importorskip("mpi4py")
    launcher = mpirun()
    if launcher is None:
        pytest.skip("no mpirun: pip install mpich")
    for n in counts:
        found = ran(program, launcher=[launcher, "-n", str(n)])
        assert found == [f"well {k}" for k in range(n)]
