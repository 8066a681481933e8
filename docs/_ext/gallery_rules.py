"""What holds while the gallery runs its examples."""

from __future__ import annotations

import warnings
from typing import Any

_outside: list[Any] = []


def warnings_are_errors(gallery_conf: dict[str, Any], file: str, when: str) -> None:
    """As with `python -W error`, from an example's beginning to its end."""
    if when == "before":
        _outside.append(warnings.catch_warnings())
        _outside[-1].__enter__()
        warnings.simplefilter("error")
    elif _outside:
        _outside.pop().__exit__(None, None, None)
