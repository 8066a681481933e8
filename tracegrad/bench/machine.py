"""What the machine and the environments are, for reports."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ..devices import driver
from .measure import usable_cores

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "jax",
    "jaxlib",
    "torch",
    "autograd",
    "casadi",
    "numba-cuda",
    "cupy-cuda13x",
)
VERSIONS = """
import json, platform, sys
from importlib import metadata
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def summary(peer_python: str, device: str = "cpu") -> dict[str, Any]:
    """For the head of a report."""
    return {
        "cpu": cpu_name(),
        "gpu": _gpu() if device == "cuda" else "",
        "cores": usable_cores(),
        "cores_of_machine": os.cpu_count(),
        "caches": caches(),
        "memory_gb": memory(),
        "system": f"{system()}, {platform.machine()}",
        "packages": versions(sys.executable),
        "peer_packages": versions(peer_python),
        "blas": {module.__name__: blas(module) for module in (np, scipy)},
    }


def _gpu() -> str:
    major, minor = driver().capability(0)
    return f"{driver().device_name(0)}, compute capability {major}.{minor}"


def cpu_name() -> str:
    """The processor's name as its maker writes it, where the system tells."""
    try:
        found = re.search(
            r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE
        )
        if found:
            return found[1].strip()
    except OSError:
        pass
    if sys.platform == "darwin":
        asked = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.stdout.strip():
            return asked.stdout.strip()
    return platform.processor() or platform.machine()


def installed(package: str) -> str | None:
    """The version of an installed package, None where it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def caches() -> dict[str, str]:
    """The caches that the first core uses, where Linux tells: "L1 data" -> "48K"."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            (index / name).read_text().strip() for name in ("level", "type", "size")
        )
        found[f"L{level}" + ("" if kind == "Unified" else f" {kind.lower()}")] = size
    return found


def memory() -> int | None:
    """Gigabytes, None where the system does not tell."""
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9)
    except (AttributeError, OSError, ValueError):
        return None


def system() -> str:
    """The system's name and version."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (KeyError, OSError):
        return f"{platform.system()} {platform.release()}"


def versions(python: str) -> dict[str, str]:
    """The versions of Python and of the packages of interest in an environment."""
    asked = subprocess.run(
        [python, "-c", VERSIONS, *PACKAGES], capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(asked.stdout)
    return found


def blas(module: Any) -> str:
    """The BLAS that NumPy or SciPy was built with."""
    built = module.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return f"{built.get('name', 'unknown')} {built.get('version', '')}".strip()


def lines(head: dict[str, Any]) -> list[str]:
    """The same for people, a line per matter."""
    machine = head["machine"]
    parts = [f"{machine['cpu']}, {machine['cores']} of {machine['cores_of_machine']} cores"]
    parts = [machine["gpu"], *parts] if machine["gpu"] else parts
    parts += [f"{name} {size}" for name, size in machine["caches"].items()]
    parts += [f"{machine['memory_gb']} GB"] if machine["memory_gb"] else []
    here = listed(machine["packages"])
    there = {
        name: v
        for name, v in machine["peer_packages"].items()
        if machine["packages"].get(name) != v
    }
    return [
        f"Threads: {head['settings']['threads']}.",
        f"Machine: {', '.join(parts)}; {machine['system']}.",
        f"tracegrad {head['tracegrad']}, {here}; BLAS: {listed(machine['blas'])}.",
        *([f"Other libraries: {listed(there)}."] if there else []),
    ]


def listed(named: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in named.items())
