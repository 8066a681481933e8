"""Compiled kernels on disk: one directory per key, sealed by a manifest of hashes, published by an atomic rename.

Numba's own cache crashes on damaged files and can exchange kernels under concurrent writers. Here each kernel has a directory of its
own, which is written before anybody else can see it; a directory whose files do not match its manifest is thrown away and built again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import llvmlite.binding as binding
import numba
import numpy as np
import scipy
from numba.core import config

MANIFEST = "manifest.json"
PREFIX = "k"
FOLDER: list[Path | None] = [None]
"""Where the kernel compiled last is kept (None: in memory only): the routines that it calls are kept there too."""


@dataclass
class Counters:
    """How many kernels this process compiled, and how many the disk served."""

    compiled: int = 0
    loaded: int = 0


COUNTERS = Counters()


@cache
def environment() -> str:
    """Everything besides the source that decides what machine code comes out."""
    versions = [platform.python_version(), numba.__version__, llvmlite.__version__, np.__version__, scipy.__version__]
    host = [platform.machine(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()]
    # Numba's settings, by which a processor other than the host is compiled for, or less is optimized.
    settings = [config.CPU_NAME, config.CPU_FEATURES, config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE]
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return "\n".join([*versions, *host, *map(str, settings), digest.hexdigest()])


def key_of(source: str, *extra: Any) -> str:
    """The key of a kernel: of its code without comments, docstrings and line numbers, so that moving the user's lines changes nothing."""
    code = compile(source, "", "exec", dont_inherit=True, optimize=2)
    text = "\0".join([repr(_content(code)), environment(), *map(str, extra)])
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _content(code: CodeType) -> tuple[Any, ...]:
    """What a code object does, of whatever place in a file."""
    constants = [_content(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount, code.co_flags)


def _files(directory: Path) -> list[Path]:
    return sorted(p for p in directory.rglob("*") if p.is_file() and p.name != MANIFEST)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def seal(directory: Path) -> None:
    """Write the manifest: the last step before a directory is published."""
    (directory / MANIFEST).write_text(json.dumps({p.relative_to(directory).as_posix(): _hash(p) for p in _files(directory)}))


def intact(directory: Path) -> bool:
    """Whether the directory holds exactly what its manifest says."""
    try:
        expected = json.loads((directory / MANIFEST).read_text())
        found = {p.relative_to(directory).as_posix(): _hash(p) for p in _files(directory)}
    except (OSError, ValueError):
        return False
    return bool(expected) and expected == found


def fetch(root: Path, key: str, build: Callable[[Path], Any], load: Callable[[Path], Any]) -> Any:
    """`load(directory)` of the published kernel, or `build(directory)` in a new directory that is then published.

    Where nothing can be written (a read-only or full disk) the kernel is built in a temporary directory and not kept.
    """
    final = root / f"{PREFIX}{key}"
    if final.is_dir():
        if intact(final):
            try:
                loaded = load(final)
            except Exception:
                # Whatever an unreadable entry raises, building it again is the answer.
                loaded = None
            if loaded is not None:
                COUNTERS.loaded += 1
                return loaded
        _discard(final)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix="building-", dir=root))
    except OSError:
        work, final = Path(tempfile.mkdtemp(prefix="tracegrad-")), Path(os.devnull)
    try:
        built = build(work)
        COUNTERS.compiled += 1
        if final != Path(os.devnull):
            seal(work)
            os.rename(work, final)
    except OSError:
        # Another process published the same kernel first, which is as good; any other failure of the disk only costs the next start.
        pass
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return built


def _discard(directory: Path) -> None:
    """Move a damaged directory out of the way before deleting it, so that nobody reads it half deleted."""
    try:
        grave = Path(tempfile.mkdtemp(prefix="damaged-", dir=directory.parent))
        os.rename(directory, grave / "x")
        shutil.rmtree(grave, ignore_errors=True)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)


def cache_info(root: Path) -> dict[str, int]:
    """The number of kernels kept and their bytes."""
    if not root.is_dir():
        return {"kernels": 0, "bytes": 0}
    kernels = [p for p in root.iterdir() if p.is_dir()]
    return {"kernels": len(kernels), "bytes": sum(f.stat().st_size for k in kernels for f in k.rglob("*") if f.is_file())}


def cache_clear(root: Path) -> int:
    """Delete all kernels; how many there were. Only directories that this module named are touched."""
    count = 0
    if root.is_dir():
        for p in root.iterdir():
            if p.is_dir() and ((p / MANIFEST).exists() or p.name.startswith(("building-", "damaged-"))):
                shutil.rmtree(p, ignore_errors=True)
                count += 1
    return count
