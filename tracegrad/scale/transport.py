"""Arrays between processes of one machine: large ones lie in memory that both have mapped, and only
where they lie is sent.

A shelf is a file in memory (`/dev/shm`, where there is one with room for it) that one process
writes and others map. It is written anew at each evaluation: nobody reads it any more by then.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..compiled.kept import Kept
from ..tree import flatten, unflatten

LARGE = 1 << 15
"""Bytes from which an array is laid on a shelf: smaller ones take less time in a pipe."""
ALIGNED = 64
SHARED = Path("/dev/shm")


class Shelved(NamedTuple):
    """Where an array lies; `size` is that of the file."""

    path: str
    offset: int
    dtype: Any
    shape: tuple[int, ...]
    size: int


class ShelfPlace:
    """A `Shelved` as a leaf of trees."""

    def __init__(self, stored: Shelved) -> None:
        self.stored = stored


class ShelfFolder:
    """A folder of shelves, which goes with the object; processes that were killed leave theirs."""

    def __init__(self) -> None:
        usable = SHARED.is_dir() and os.access(SHARED, os.W_OK)
        self.parents = [str(SHARED)] if usable else []
        self.parents.append(tempfile.gettempdir())
        self.made: dict[str, str] = {}
        self.count = 0
        self.close = weakref.finalize(self, _remove, self.made, os.getpid())

    def shelf(self) -> Shelf:
        """A new shelf."""
        self.count += 1
        return Shelf(self, f"{self.count}")

    def file(self, name: str, size: int) -> str:
        """A file of this size, of which every byte is there."""
        for k, parent in enumerate(self.parents):
            folder = self.made.get(parent)
            if folder is None:
                _clean(parent)
                folder = tempfile.mkdtemp(prefix=f"tracegrad-{os.getpid()}-", dir=parent)
                self.made[parent] = folder
            path = os.path.join(folder, name)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _allocate(descriptor, size)
            except OSError:
                # A memory file system without room: writing to it would end the process.
                os.unlink(path)
                if k + 1 == len(self.parents):
                    raise
            else:
                return path
            finally:
                os.close(descriptor)
        raise AssertionError


def _allocate(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.truncate(descriptor, size)


def _remove(made: dict[str, str], owner: int) -> None:
    if os.getpid() == owner:
        for folder in made.values():
            shutil.rmtree(folder, ignore_errors=True)


def _clean(parent: str) -> None:
    """Remove what processes of this user left that are no more."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            parts = entry.name.split("-")
            if parts[0] != "tracegrad" or len(parts) != 3 or not parts[1].isdigit():
                continue
            if hasattr(os, "getuid") and entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            try:
                os.kill(int(parts[1]), 0)
            except ProcessLookupError:
                shutil.rmtree(entry.path, ignore_errors=True)
            except OSError:
                pass


class Shelf:
    """A file that one process writes arrays to."""

    def __init__(self, folder: ShelfFolder, name: str) -> None:
        self.folder, self.name = folder, name
        self.path = ""
        self.memory: mmap.mmap | None = None
        self.made: list[str] = []
        self.close = weakref.finalize(self, _unlink, self.made, os.getpid())
        self.close.atexit = False

    def place(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[Shelved]:
        """Write arrays, in place of what was there."""
        offsets, size = [], 0
        for x in arrays:
            offsets.append(size)
            size += -(-x.nbytes // ALIGNED) * ALIGNED
        if self.memory is None or len(self.memory) < size:
            # A file of another name: whoever maps the former one still reads what it was.
            room = max(size, 1 << 16, 0 if self.memory is None else 2 * len(self.memory))
            path = self.folder.file(f"{self.name}-{room}", room)
            self.memory = _mapped(path, write=True)
            _unlink(self.made, os.getpid())
            self.path = path
            self.made.append(path)
        found = []
        for x, offset in zip(arrays, offsets, strict=True):
            target = np.ndarray(x.shape, x.dtype, self.memory, offset)
            target[...] = x
            found.append(Shelved(self.path, offset, x.dtype, x.shape, len(self.memory)))
        return found

    def lay(self, tree: Any) -> Any:
        """A tree of arrays in which the large ones are places on the shelf."""
        leaves, spec = flatten(tree)
        return unflatten(spec, self.lay_lists([leaves])[0])

    def lay_lists(self, lists: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """The same of lists of arrays."""
        large = [x for xs in lists for x in xs if _is_large(x)]
        if not large:
            return lists
        places = map(ShelfPlace, self.place(large))
        return [[next(places) if _is_large(x) else x for x in xs] for xs in lists]


def _is_large(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.nbytes >= LARGE


def _unlink(made: list[str], owner: int) -> None:
    """Remove files; whoever has them mapped still reads them."""
    while made and os.getpid() == owner:
        with contextlib.suppress(OSError):
            os.unlink(made.pop())


def _mapped(path: str, write: bool = False) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDWR if write else os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_WRITE if write else mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


MOST = 64
"""So many files are kept mapped."""
_MAPS: dict[str, mmap.mmap] = Kept(MOST)


def let_go() -> None:
    """Forget files that are no more."""
    for path in [p for p in list(_MAPS) if not os.path.exists(p)]:
        _MAPS.pop(path, None)


def opened(stored: Shelved) -> np.ndarray[Any, Any]:
    """The array at a place, which nobody may write to."""
    memory = _MAPS.get(stored.path)
    if memory is None:
        memory = _MAPS[stored.path] = _mapped(stored.path)
    return np.ndarray(stored.shape, stored.dtype, memory, stored.offset)


def received(tree: Any) -> Any:
    """A tree in which what was laid on a shelf is arrays."""
    leaves, spec = flatten(tree)
    return unflatten(spec, taken(leaves))


def taken(arrays: Sequence[Any]) -> list[Any]:
    """The same of a list."""
    return [opened(x.stored) if type(x) is ShelfPlace else x for x in arrays]


_OWN: dict[str, Shelf] = {}


def sent(lists: Sequence[Sequence[Any]], room: Any) -> Sequence[Sequence[Any]]:
    """Lists of results with the large ones on the worker's shelf in the folder `room`; as they are
    where there is none."""
    if room is None:
        return lists
    shelf = _OWN.get(room)
    if shelf is None:
        shelf = _OWN[room] = Shelf(DriversFolder(room), "results")  # type: ignore[arg-type]
    try:
        return shelf.lay_lists(lists)
    except OSError:
        return lists  # no room: they go the way of small ones


class DriversFolder:
    """A folder of the driver's, into which a worker writes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def file(self, name: str, size: int) -> str:
        path = os.path.join(self.folder, f"{os.getpid()}-{name}")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _allocate(descriptor, size)
        finally:
            os.close(descriptor)
        return path


__all__ = [
    "LARGE",
    "Shelf",
    "ShelfFolder",
    "ShelfPlace",
    "Shelved",
    "let_go",
    "opened",
    "received",
    "sent",
    "taken",
]
