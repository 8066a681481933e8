"""Where shards come from: files of several libraries, collections, long streams. What needs a
library is skipped where that is not installed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.shard_functions import logistic, rows

SHARDS = rows()[:3]
THETA = np.array([0.3, -0.2, 0.5])


def zarr_groups(folder: Path) -> list[Path]:
    zarr: Any = pytest.importorskip("zarr")
    paths = []
    for k, s in enumerate(SHARDS):
        paths.append(folder / f"part-{k}.zarr")
        group = zarr.open_group(str(paths[-1]), mode="w")
        for name, x in s.items():
            group.create_array(name, data=x, chunks=(2,) * x.ndim)
    return paths


def hdf5_files(folder: Path) -> list[Path]:
    h5py: Any = pytest.importorskip("h5py")
    paths = []
    for k, s in enumerate(SHARDS):
        paths.append(folder / f"part-{k}.h5")
        with h5py.File(paths[-1], "w") as file:
            for name, x in s.items():
                file.create_dataset(name, data=x)
    return paths


def parquet_files(folder: Path) -> list[Path]:
    pyarrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    paths = []
    for k, s in enumerate(SHARDS):
        paths.append(folder / f"part-{k}.parquet")
        columns = {f"x{j}": s["x"][:, j] for j in range(3)} | {"y": s["y"]}
        parquet.write_table(pyarrow.table(columns), paths[-1])
    return paths


def npz_files(folder: Path) -> list[Path]:
    paths = [folder / f"part-{k}.npz" for k in range(len(SHARDS))]
    for path, s in zip(paths, SHARDS, strict=True):
        np.savez(path, **s)
    return paths


MADE = {"zarr": zarr_groups, "h5": hdf5_files, "parquet": parquet_files, "npz": npz_files}


@pytest.mark.engines
@pytest.mark.parametrize("kind", MADE)
def test_files_of_shards(kind: str, tmp_path: Path) -> None:
    """The bits are those of the arrays themselves; one that is missing, damaged or lacks a column
    is named."""
    paths = MADE[kind](tmp_path)

    def of_table(t: Any, s: Any) -> Any:
        if kind == "parquet":
            s = {"x": np.stack([s["x0"], s["x1"], s["x2"]], axis=1), "y": s["y"]}
        return logistic(t, s)

    total = tg.scale.sum_over(of_table, paths)
    expected = tg.value_and_grad(tg.scale.sum_over(logistic, SHARDS))(THETA)
    found = tg.value_and_grad(total)(THETA)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
    only = tg.scale.read(paths[0], columns=["y"])
    assert list(only) == ["y"]
    assert only["y"].tobytes() == SHARDS[0]["y"].tobytes()
    with pytest.raises(KeyError, match="has no z"):
        tg.scale.read(paths[0], columns=["y", "z"])
    gone = [*paths[:2], tmp_path / f"none.{kind}"]
    with pytest.raises(tg.scale.ShardError, match=r"shard 2 \(.*none"):
        tg.scale.sum_over(of_table, gone)(THETA)
    if kind != "zarr":
        paths[1].write_bytes(b"torn")
        with pytest.raises(tg.scale.ShardError, match=r"shard 1 \(.*part-1"):
            tg.scale.sum_over(of_table, paths)(THETA)


@pytest.mark.engines
def test_an_array_in_a_zarr_file(tmp_path: Path) -> None:
    zarr: Any = pytest.importorskip("zarr")
    x = SHARDS[0]["x"]
    zarr.create_array(str(tmp_path / "x.zarr"), data=x, chunks=(2, 2))
    assert tg.scale.read(tmp_path / "x.zarr").tobytes() == x.tobytes()
    with pytest.raises(ValueError, match="no columns"):
        tg.scale.read(tmp_path / "x.zarr", columns=["a"])


@pytest.mark.engines
def test_xarray_in_chunks(tmp_path: Path) -> None:
    """Without a cluster: each worker computes its blocks."""
    xarray: Any = pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    x, y = np.concatenate([s["x"] for s in SHARDS]), np.concatenate([s["y"] for s in SHARDS])
    table = xarray.Dataset({"x": (("r", "c"), x), "y": ("r", y)}).chunk({"r": 5})
    total = tg.scale.sum_over(logistic, table)
    assert "over 4 shards" in repr(total)
    expected = tg.grad(lambda t: logistic(t, {"x": x, "y": y}))(THETA)
    np.testing.assert_allclose(tg.grad(total)(THETA), expected, rtol=1e-12)
    alone = tg.scale.sum_over(lambda t, s: np.sum(np.sin(s @ t)), table["x"])
    np.testing.assert_allclose(alone(THETA), np.sum(np.sin(x @ THETA)), rtol=1e-12)
    with pytest.raises(ValueError, match="rechunk"):
        tg.scale.sum_over(lambda t, s: np.sum(s), table["x"].chunk({"c": 2}))


def test_a_library_that_is_not_there_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    for name, suffix in (("zarr", "zarr"), ("h5py", "h5"), ("pyarrow", "parquet")):
        path = tmp_path / f"part.{suffix}"
        path.touch()
        for module in [m for m in sys.modules if m.split(".")[0] == name]:
            monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ModuleNotFoundError, match=f"pip install {name}"):
            tg.scale.read(path)


def test_many_rows_in_little_memory(tmp_path: Path) -> None:
    """The code of the run of 10^9 rows, of fewer: the rows take 128 MB, of which never more than
    two chunks are in memory (the files are mapped, and what was read of them can be dropped)."""
    program = (
        "import sys; from tracegrad.bench.sharded import streamed;"
        "print(tuple(streamed(8_000_000, 250_000, 1_000_000, sys.argv[1], 3)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    seconds, own, rows_done, error = ast.literal_eval(done.stdout)
    assert rows_done == 8_000_000
    assert own < 64 << 20
    assert error < 1e-5
    assert seconds > 0.0
