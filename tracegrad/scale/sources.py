"""Shards: what can be one, and how a worker opens it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..checks import describe
from ..ir.lines import user_line
from ..tree import flatten, map_leaves, unflatten
from .transport import received


class Opener(NamedTuple):
    """How a shard is opened: `how` names a function of this module, or is one."""

    how: Any
    what: Any
    label: str

    def open(self) -> Any:
        """The shard: an array or a tree of arrays."""
        if self.how == "given":
            return received(self.what)
        return map_leaves(read, self.what) if self.how == "path" else self.what()


def read(path: Any, columns: Sequence[str] | None = None) -> Any:
    """The arrays in a file: what a path among the shards of `sum_over` stands for.

    path        .npy (an array, mapped and not read as a whole), .npz (a dict of its arrays),
                .parquet (a dict of its columns; needs pyarrow), .zarr (an array, or a dict of a
                group's arrays; needs zarr), .h5, .hdf5 (a dict of its datasets by name; needs h5py)
    columns     which columns or arrays of a file that has names; all of them

    Missing values of a column of floats are NaN. A column of integers or truths with missing
    values, and one of texts or dates, is a ValueError: it has no number to stand for them. Raises
    FileNotFoundError, and ModuleNotFoundError where the library that reads such files is not there.

    >>> import tempfile, os
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(os.path.join(folder, "part.npy"), np.arange(3.0))
    ...     tg.scale.read(os.path.join(folder, "part.npy")).sum()
    np.float64(3.0)
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{user_line()}: read: path is {describe(path)}; it must be a path")
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(
            f"{path}: a shard's file must be one of {', '.join(READERS)}; open others with a "
            "function without arguments that returns arrays"
        )
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there on this machine")
    found = reader(path, columns)
    if columns is not None and not isinstance(found, dict):
        raise ValueError(f"{path} holds one array, which has no columns")
    return found


def _npy(path: Path, columns: Any) -> Any:
    # A plain ndarray on the mapped memory; np.memmap would be a subclass.
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    return np.asarray(found)


def _chosen(path: Path, there: Sequence[str], columns: Any) -> Sequence[str]:
    if columns is None:
        return there
    missing = [c for c in columns if c not in there]
    if missing:
        raise KeyError(f"{path} has no {', '.join(missing)}; it has {', '.join(there)}")
    return list(columns)


def _npz(path: Path, columns: Any) -> Any:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in _chosen(path, file.files, columns)}


def _parquet(path: Path, columns: Any) -> Any:
    parquet: Any = _library("pyarrow.parquet", path, "parquet")
    file = parquet.ParquetFile(path)
    names = _chosen(path, file.schema_arrow.names, columns)
    table = file.read(columns=list(names))
    return {name: column(path, name, table.column(name)) for name in names}


def column(path: Any, name: str, values: Any) -> np.ndarray[Any, Any]:
    """A column of Arrow's as an array."""
    kind = str(values.type)
    if values.null_count and not kind.startswith(("float", "double", "halffloat")):
        raise ValueError(
            f"{path}: column {name!r} ({kind}) lacks {values.null_count} values, and no number "
            "stands for a missing one there: fill them before, or leave the column out (columns=)"
        )
    found = values.to_numpy()
    if found.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: column {name!r} holds {kind}, not numbers: leave it out (columns=), or "
            "encode it"
        )
    return np.ascontiguousarray(found)


def _zarr(path: Path, columns: Any) -> Any:
    zarr: Any = _library("zarr", path, "zarr")
    found = zarr.open(str(path), mode="r")
    if hasattr(found, "shape"):
        return np.asarray(found[...])
    names = sorted(name for name, _ in found.arrays())
    return {name: np.asarray(found[name][...]) for name in _chosen(path, names, columns)}


def _hdf5(path: Path, columns: Any) -> Any:
    h5py: Any = _library("h5py", path, "h5py")
    with h5py.File(path, "r") as file:
        names = sorted(name for name in file if hasattr(file[name], "shape"))
        return {name: np.asarray(file[name][...]) for name in _chosen(path, names, columns)}


READERS: dict[str, Callable[[Path, Any], Any]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".parquet": _parquet,
    ".zarr": _zarr,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
}


def _library(name: str, path: Path, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        raise ModuleNotFoundError(
            f"{path} is read by {package}, which is not installed: pip install {package}",
            name=error.name,
        ) from error


def column_of_frame(name: Any, values: Any) -> np.ndarray[Any, Any]:
    """A column of a pandas DataFrame as an array."""
    found = values.to_numpy()
    if found.dtype.kind == "O" and hasattr(values, "isna") and bool(values.isna().any()):
        raise ValueError(
            f"column {name!r} ({values.dtype}) lacks values, and no number stands for a missing "
            "one there: fill them before, or leave the column out"
        )
    if found.dtype.kind not in "biuf":
        raise ValueError(f"column {name!r} holds {values.dtype}, not numbers: leave it out")
    return np.ascontiguousarray(found)


def openers_of(shards: Sequence[Any]) -> list[Opener]:
    """How each of these is opened."""
    return [_opener(x, k) for k, x in enumerate(shards)]


def _opener(shard: Any, number: int) -> Opener:
    paths = flatten(shard)[0]
    if paths and all(isinstance(x, (str, os.PathLike)) for x in paths):
        texts = map_leaves(os.fspath, shard)
        return Opener("path", texts, ", ".join(map(str, flatten(texts)[0])))
    if callable(shard) and not hasattr(shard, "__array__"):
        name = getattr(shard, "__qualname__", None) or getattr(
            getattr(shard, "func", None), "__qualname__", type(shard).__name__
        )
        return Opener("call", shard, f"{name}()")
    leaves = flatten(shard)[0]
    for x in leaves:
        if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
            continue
        if hasattr(x, "__array__") and not isinstance(x, (str, bytes)):
            continue
        raise TypeError(
            f"{user_line()}: sum_over: shard {number} holds {describe(x)}; a shard is an array, a "
            "tree of arrays, a path, or a function without arguments that opens one of these"
        )
    return Opener("given", as_arrays(shard), "given by the driver")


def as_arrays(shard: Any) -> Any:
    """A tree of arrays of the driver's, in C order, as what has travelled: the last bits of sums
    depend on it."""
    leaves, spec = flatten(shard)
    return unflatten(spec, [np.asarray(getattr(x, "_data", x), order="C") for x in leaves])


__all__ = ["Opener", "as_arrays", "column_of_frame", "openers_of", "read"]
