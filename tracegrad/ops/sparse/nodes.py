"""Sparse arrays as nodes of trees: the data is their leaf, the layout decides the signature."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import tree
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...sizes import same_shape
from ...types import show
from .operand import SparseArray
from .pattern import FORMATS, SparseFormat, layout_of


def _flatten(a: Any) -> tuple[list[Any], SparseFormat, tuple[str]]:
    layout = layout_of(a)  # first: refuses formats that have no data
    return [a.data], layout, ("data",)


def together(kept: SparseFormat, leaves: Any) -> Any:
    """SciPy's array where the data is one of NumPy's, ours where it is not yet."""
    (data,) = leaves
    if isinstance(data, (Value, np.ndarray)) and not same_shape(data.shape, kept.of_data):
        raise ShapeError(
            f"the data of a sparse array of shape {kept.shape} has shape {kept.of_data}, not "
            f"{show(data.shape)}: vmap, jacobian and loops that stack results do not take sparse "
            "arrays as a whole. Pass A.data, and make the array inside: "
            "tg.sparse.array((data, indices, indptr), shape)"
        )
    if type(data) is np.ndarray and data.shape == kept.of_data:
        return kept.scipy(data)
    return SparseArray(data, kept)


def _of_scipy(module: str) -> None:
    from scipy import sparse

    for name in FORMATS:
        for kind in ("array", "matrix"):
            tree.node(getattr(sparse, f"{name}_{kind}"), _flatten, together)


def _own(module: str) -> None:
    tree.node(SparseArray, lambda a: ([a.data], a.layout, ("data",)), together)


# Once one of them is met: neither SciPy's arrays nor trees are loaded with the package.
tree.later("scipy.sparse", _of_scipy)
tree.later(SparseArray.__module__, _own)
