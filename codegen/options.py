"""What compiled code of a graph may do otherwise than NumPy, and when it is made: choices of the
user's."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class CodeOptions:
    """How a graph is compiled; see `jit`, which has these options.

    checked            an index out of range is an error; else it means the nearest place
    contract           a product that is only added to something is not rounded
    flush_denormals    denormal numbers are zeros, read and written
    warm               who compiles: "call", the first call, or "background", a thread beside calls
    """

    checked: bool = True
    contract: bool = False
    flush_denormals: bool = False
    warm: str = "call"


PLAIN = CodeOptions()
HAVE_MODES = ("x86_64", "amd64", "aarch64", "arm64")
"""Processors that can take denormal numbers as zeros."""
WARM = ("call", "background")


def chosen(before: CodeOptions, said: Mapping[str, object]) -> CodeOptions:
    """The options with these said anew."""
    for name, value in said.items():
        if name == "warm":
            if not isinstance(value, str) or value not in WARM:
                raise ValueError(f"jit: warm is 'call' or 'background', not {value!r:.60}")
        elif not isinstance(value, bool):
            raise TypeError(f"jit: {name} is True or False, not {value!r:.60}")
    machine = platform.machine().lower()
    if said.get("flush_denormals") and machine not in HAVE_MODES:
        raise ValueError(f"jit: flush_denormals is not known for this processor ({machine})")
    return replace(before, **said)  # type: ignore[arg-type]


__all__ = ["PLAIN", "CodeOptions", "chosen"]
