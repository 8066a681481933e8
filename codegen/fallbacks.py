"""What the translator left to Numba's own pipeline in this process. It can be asked for while
another thread loads the translator for the first time."""

from __future__ import annotations

import logging

LOG = logging.getLogger("tracegrad")
FALLBACKS: list[str] = []
"""What the one pass did not cover, each with the reason: to be covered, since nobody waits
gladly."""


def fell_back(name: str, reason: object) -> None:
    """Note that a function is left to Numba's pipeline."""
    FALLBACKS.append(f"{name}: {reason}")
    LOG.info(
        "%s is compiled by Numba's own pipeline, which takes 3 to 10 times as long: %s",
        name,
        reason,
    )


__all__ = ["FALLBACKS", "fell_back"]
