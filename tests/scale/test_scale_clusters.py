"""Engines of `tg.scale` that are other libraries': joblib's processes, a Dask cluster, MPI. Those
that are not installed are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.shard_functions import logistic, rows

SHARDS = rows()
THETA = np.array([0.3, -0.2, 0.5])


def bits(total: Any) -> bytes:
    value, gradient = tg.value_and_grad(total)(THETA)
    product = tg.hvp(total, THETA, np.ones(3))
    return value.tobytes() + gradient.tobytes() + product.tobytes()


def test_joblib() -> None:
    pytest.importorskip("joblib")
    total = tg.scale.sum_over(logistic, SHARDS, backend="joblib", workers=2)
    assert bits(total) == bits(tg.scale.sum_over(logistic, SHARDS))
    tg.scale.close()


HEAD = """
import os
import numpy as np
import tracegrad as tg
from tests.shard_functions import logistic, rows

theta = np.array([0.3, -0.2, 0.5])
shards = rows()


def bits(total):
    value, gradient = tg.value_and_grad(total)(theta)
    return value.tobytes() + gradient.tobytes() + tg.hvp(total, theta, np.ones(3)).tobytes()


expected = bits(tg.scale.sum_over(logistic, shards))
"""
# A program of its own: beside the tests `sparse`, which Dask looks for, is a folder of them.
ON_DASK = """
def squares(t, s):
    return np.sum((s[0] @ t - s[1]) ** 2)


def failing():
    raise OSError("no such table")


def main(client):
    total = tg.scale.sum_over(logistic, shards, client=client)
    assert bits(total) == expected
    assert len(tg.scale.report()[-1].workers) == 2
    # Blocks of arrays, on the cluster and elsewhere; delayed objects.
    x, y = np.random.default_rng(0).normal(size=(20, 3)), np.ones(20)
    blocks = da.from_array(x, chunks=(6, 3)), da.from_array(y, chunks=6)
    g = tg.grad(lambda t: squares(t, (x, y)))(theta)
    held = tuple(client.persist(b) for b in blocks)
    for given, on in ((blocks, client), (held, client), (blocks, None)):
        found = tg.scale.sum_over(squares, given, client=on)
        np.testing.assert_allclose(tg.grad(found)(theta), g, rtol=1e-12)
    try:
        tg.scale.sum_over(squares, (blocks[0], da.ones(20, chunks=3)))
    except ValueError as error:
        assert "rechunk" in str(error)
    else:
        raise AssertionError("nothing was raised")
    delayed = [dask.delayed(np.ones)(k) for k in (2, 3)]
    assert tg.scale.sum_over(lambda t, s: np.sum(s) * t, delayed, client=client)(2.0) == 10.0
    try:
        tg.scale.sum_over(logistic, [shards[0], failing], client=client)(theta)
    except tg.scale.ShardError as error:
        assert "shard 1" in str(error) and "no such table" in str(error)
    else:
        raise AssertionError("nothing was raised")
    # A worker is killed: its shards are computed again.
    os.kill(list(client.run(os.getpid).values())[0], 9)
    assert bits(total) == expected
    print("well", flush=True)


if __name__ == "__main__":
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        main(client)
"""


def ran(text: str, folder: Any, *launcher: str) -> list[str]:
    """The lines that say that all is well, of a program."""
    (folder / "program.py").write_text(HEAD + text)
    own = {"PYTHONPATH": os.getcwd()}
    own |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [*launcher, sys.executable, str(folder / "program.py")],
        capture_output=True,
        text=True,
        cwd=os.getcwd(),
        env={**os.environ, **own},
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return sorted(line for line in done.stdout.splitlines() if line.startswith("well"))


def test_dask(tmp_path: Any) -> None:
    """Bits, blocks of arrays, delayed objects, a shard that fails, a worker that is killed."""
    pytest.importorskip("distributed")
    assert ran(ON_DASK, tmp_path) == ["well"]


ON_MPI = """
from mpi4py import MPI

comm = MPI.COMM_WORLD
assert bits(tg.scale.sum_over(logistic, shards, client=comm)) == expected
assert bits(tg.scale.sum_over(logistic, shards, client=comm, limit=60.0)) == expected


def failing():
    raise OSError("no such table")


# Every rank raises, also those whose shards are well.
try:
    tg.scale.sum_over(logistic, [shards[0], shards[1], failing], client=comm)(theta)
except tg.scale.ShardError as error:
    assert "shard 2" in str(error) and "no such table" in str(error)
else:
    raise AssertionError("nothing was raised")
# Ranks that do not agree are told so.
try:
    tg.scale.sum_over(logistic, shards, client=comm)(theta * (1 + comm.Get_rank()))
except tg.scale.ShardError as error:
    assert "every rank" in str(error)
else:
    raise AssertionError("nothing was raised")
print("well", comm.Get_rank(), flush=True)
"""


def mpirun() -> str | None:
    """The launcher beside this Python, or the system's."""
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun")


def test_mpi(tmp_path: Any) -> None:
    """Bits on every rank; a failure and a disagreement, which all ranks are told of."""
    pytest.importorskip("mpi4py")
    launcher = mpirun()
    if launcher is None:
        pytest.skip("no mpirun: pip install mpich")
    assert ran(ON_MPI, tmp_path, launcher, "-n", "2") == ["well 0", "well 1"]
