"""A shared library from an object file, by a linker of the system."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
DRIVERS = ("cc", "gcc", "clang")
LINKERS = ("ld.lld", "ld")


def link(objects: Path, library: Path, libraries: Sequence[str]) -> None:
    """Write `library`; RuntimeError where there is no linker, or it fails."""
    commands = _commands(objects, library, libraries)
    found = next((c for c in commands if shutil.which(c[0])), None)
    if found is None:
        raise RuntimeError(
            f"export: making {library.name} takes a linker, and none of "
            f"{', '.join(c[0] for c in commands)} is on the PATH. Install a C compiler (gcc or "
            "clang), or set the environment variable CC to one. "
            f"{objects} is written: on a machine with one, run {' '.join(commands[0])}"
        )
    done = subprocess.run(found, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"export: {' '.join(found)} failed:\n{done.stderr.strip()}")


def _commands(objects: Path, library: Path, libraries: Sequence[str]) -> list[list[str]]:
    own = os.environ.get("CC", "").split()
    shared = "-dynamiclib" if sys.platform == "darwin" else "-shared"
    more = [f"-l{name}" for name in libraries]
    math = [] if sys.platform == "win32" else ["-lm"]
    tail = [str(objects), "-o", str(library), *more, *math]
    drivers = [[*driver, shared, *tail] for driver in (own, *[[d] for d in DRIVERS]) if driver]
    if sys.platform.startswith("linux"):
        drivers += [[linker, "-shared", *tail[:3], *more] for linker in LINKERS]
    return drivers


__all__ = ["SUFFIX", "link"]
