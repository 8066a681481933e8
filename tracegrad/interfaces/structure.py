"""Which elements of a Jacobian or Hessian a consumer gets, in which order, and their values as a
function that is compiled like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..sparse.matrix_function import SparseDerivative


@dataclass(frozen=True)
class Structure:
    """Coordinates of the elements, counted from 0, sorted by rows."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.rows)


def structured(derivative: SparseDerivative, *example: Any) -> tuple[Structure, Callable[..., Any]]:
    """The structure of a sparse derivative for arguments like these, and its values as a function
    of the arguments."""
    found, values = derivative.traceable(*example)
    return Structure(tuple(found.rows.tolist()), tuple(found.columns.tolist())), values


def nothing() -> tuple[Structure, Callable[..., Any]]:
    """The same of no results."""
    return Structure((), ()), lambda *_: np.zeros(0)


__all__ = ["Structure", "nothing", "structured"]
