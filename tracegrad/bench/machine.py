"""What the machine and the environment are, for reports."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from .measure import usable_cores

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "jax", "torch", "autograd", "casadi")


def cpu_name() -> str:
    """The processor's name as its maker writes it, where the system tells."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    except OSError:
        pass
    if sys.platform == "darwin":
        asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False)
        if asked.stdout.strip():
            return asked.stdout.strip()
    return platform.processor() or platform.machine()


def installed(package: str) -> str | None:
    """The version of an installed package, None where it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def summary() -> dict[str, Any]:
    """For the head of a report."""
    return {
        "cpu": cpu_name(),
        "cores": usable_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := installed(name))},
        "cores_of_machine": os.cpu_count(),
    }
