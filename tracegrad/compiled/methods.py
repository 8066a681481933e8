"""Methods that are compiled."""

from __future__ import annotations

from typing import Any


def bound(jitted: Any, instance: Any) -> Any:
    """A jitted method: one compiled function per instance, which it keeps while the instance
    lives."""
    name = jitted._attribute
    own = vars(instance).get(name) if hasattr(instance, "__dict__") else None
    # That of another one came with a copy of its attributes.
    if own is None or own._origin[1][1] is not instance:
        own = type(jitted)(
            jitted.function.__get__(instance),
            jitted.static_argnames,
            stage=jitted.stage,
            code=jitted.code,
        )
        own.donated = jitted.donated
        own._origin = bound, (jitted, instance)
        if hasattr(instance, "__dict__"):
            object.__setattr__(instance, name, own)
    return own


__all__ = ["bound"]
