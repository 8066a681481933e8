"""From graphs to kernel programs: what is stored, which loops are shared, and where temporaries
live.

The scheduler is loaded by the first graph that it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._codegen import loading

if TYPE_CHECKING:
    from .build import schedule
else:
    _build = loading.Late("tracegrad.schedule.build")

    def schedule(*args: Any, **options: Any) -> Any:
        """A program for a graph; see `build.schedule`."""
        return _build.schedule(*args, **options)


__all__ = ["schedule"]
