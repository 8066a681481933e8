"""Compiled kernels on disk: one sealed file per key, put there by an atomic rename.

Numba's own cache crashes on damaged files, can exchange kernels under concurrent writers, and runs
what others may have written. Here an entry is data under a seal that covers its key
(`cache_entry`), in a folder to which nobody else writes (`cache_folder`). Whatever is wrong with
the disk, a kernel is compiled in memory; where that would happen to every one of them, one warning
says so.
"""

from __future__ import annotations

import hashlib
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import llvmlite
import llvmlite.binding as binding
import numba
import numpy as np
import scipy
from numba.core import config

from ..loading import ASKED
from ..scalars.value import outside
from .entry import DamagedError, DiskEntry, pack, unpack
from .folder import opened

SUFFIX = ".code"
FOLDER: list[Path | None] = [None]
"""Where the kernel compiled last is kept (None: in memory only): the routines that it calls are
kept there too."""


@dataclass
class Counters:
    """How many kernels this process compiled, and how many the disk served."""

    compiled: int = 0
    loaded: int = 0


COUNTERS = Counters()


@cache
def environment() -> str:
    """Everything besides the source that decides what machine code comes out."""
    versions = [
        platform.python_version(),
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        scipy.__version__,
    ]
    host = [
        platform.machine(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
    ]
    # Numba's settings, by which a processor other than the host is compiled for, or less is
    # optimized.
    settings = [
        config.CPU_NAME,
        config.CPU_FEATURES,
        config.ENABLE_AVX,
        config.OPT,
        config.LOOP_VECTORIZE,
        config.SLP_VECTORIZE,
    ]
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for path in sorted(root.rglob("*.py")):
        digest.update(
            path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    return "\n".join([*versions, *host, *map(str, settings), digest.hexdigest()])


def key_of(source: str, *extra: Any) -> str:
    """The key of a kernel: of its code without comments, docstrings, line numbers and names of
    local variables, so that neither moving the user's lines nor another name for a variable changes
    anything."""
    code = compile(source, "", "exec", dont_inherit=True, optimize=2)
    text = "\0".join([repr(_content(code)), outside(source), environment(), *map(str, extra)])
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _content(code: CodeType) -> tuple[Any, ...]:
    """What a code object does, of whatever place in a file; its instructions know local variables
    by number."""
    constants = [_content(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return (
        code.co_code,
        constants,
        code.co_names,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_flags,
    )


def fetch(
    root: Path,
    key: str,
    build: Callable[[], tuple[Any, DiskEntry | None]],
    load: Callable[[DiskEntry], Any],
) -> Any:
    """`load(entry)` of what the disk has, or else what `build()` makes, which gives the entry to
    keep beside it (None: nothing)."""
    found = _loaded(root, key, load)
    if found is not None:
        return found[0]
    with _alone(root, key):
        # Processes that begin together do not all compile the same.
        found = _loaded(root, key, load)
        if found is not None:
            return found[0]
        made, entry = build()
        COUNTERS.compiled += 1
        if entry is not None:
            _keep(root, key, entry)
        return made


def _loaded(root: Path, key: str, load: Callable[[DiskEntry], Any]) -> tuple[Any] | None:
    kept = _kept(root, key)
    if kept is None:
        return None
    try:
        loaded = load(kept)
    except Exception:
        # Whatever an unreadable entry raises, building it again is the answer.
        return None
    COUNTERS.loaded += 1
    return (loaded,)


@contextmanager
def _alone(root: Path, key: str) -> Iterator[None]:
    """A block for which one process at a time has this key, where the disk can say so."""
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(stack.enter_context(opened(root, make=True)).alone(key))
        yield


def _kept(root: Path, key: str) -> DiskEntry | None:
    try:
        with opened(root) as folder:
            return unpack(key, folder.read(key + SUFFIX))
    except (FileNotFoundError, DamagedError):
        # Not there yet, or to be replaced.
        return None
    except OSError as error:
        _tell(root, error)
        return None


def _keep(root: Path, key: str, entry: DiskEntry) -> None:
    try:
        with opened(root, make=True) as folder:
            folder.write(key + SUFFIX, pack(key, entry))
            if root not in _CLEANED:
                _CLEANED.add(root)
                folder.clean_up()
    except FileNotFoundError:
        # Somebody clears the cache meanwhile; the next kernel finds or makes the folder.
        pass
    except OSError as error:
        _tell(root, error)


_CLEANED: set[Path] = set()
"""Folders that this process has cleaned up."""
_TOLD: set[Path] = set()
"""Folders of which this process has said what is wrong with them."""
ADVICE = (
    "Functions are compiled in memory, by each process anew. "
    "Set the environment variable TRACEGRAD_CACHE_DIR to a folder of your own on a disk with room, "
    "or to nothing to do without one."
)


def _tell(root: Path, error: OSError) -> None:
    """One warning for each folder, at the line outside of this package that led here."""
    if root in _TOLD:
        return
    _TOLD.add(root)
    text = f"tracegrad cannot use the folder {root} for compiled code: {error}. {ADVICE}"
    frame: FrameType | None = sys._getframe()
    # What compiles has a thread of its own, which somebody waits for.
    waiting = getattr(ASKED, "frame", None)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "tracegrad",
        "contextlib",
        "threading",
    ):
        frame = frame.f_back
        if frame is None:
            frame, waiting = waiting, None
    if frame is None:
        warnings.warn(text, RuntimeWarning, stacklevel=1)
    else:
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        warnings.warn_explicit(
            text, RuntimeWarning, frame.f_code.co_filename, frame.f_lineno, registry=registry
        )


def cache_info(root: Path) -> dict[str, int]:
    """The number of kernels kept and their bytes; OSError where the folder cannot be used."""
    try:
        with opened(root) as folder:
            found = folder.sizes(SUFFIX)
    except FileNotFoundError:
        found = {}
    return {"kernels": len(found), "bytes": sum(found.values())}


def cache_clear(root: Path) -> int:
    """Delete all kernels, and what is left over of others; how many there were. OSError where the
    folder cannot be used."""
    try:
        with opened(root) as folder:
            before = folder.sizes(SUFFIX)
            for name in before:
                folder.remove(name)
            folder.clean_up(age=0.0)
            return len(before.keys() - folder.sizes(SUFFIX).keys())
    except FileNotFoundError:
        return 0


def trial(root: Path) -> None:
    """Raise the OSError that keeping a kernel would meet."""
    with opened(root, make=True) as folder:
        folder.try_writing()
