"""What holds while the gallery runs its examples."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

ORDER = (
    "nonlinear_least_squares",
    "logistic_regression",
    "predator_prey",
    "galaxy_mixture",
    "gaussian_process",
    "titration",
    "kepler_orbit",
    "swing_up",
    "many_small_fits",
    "digits_mlp",
    "scipy_and_sklearn",
    "sharded_logistic_regression",
    "hierarchical_model_mpi",
    "saved_on_disk",
    "reading_generated_code",
)
"""What most people come for stands first, what is about the machinery last."""


def place_of(file: str) -> int:
    """The place of an example in the gallery's list."""
    return ORDER.index(Path(file).stem)


_outside: list[Any] = []


def warnings_are_errors(gallery_conf: dict[str, Any], file: str, when: str) -> None:
    """As with `python -W error`, from an example's beginning to its end."""
    if when == "before":
        _outside.append(warnings.catch_warnings())
        _outside[-1].__enter__()
        warnings.simplefilter("error")
    elif _outside:
        _outside.pop().__exit__(None, None, None)
