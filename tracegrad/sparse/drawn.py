"""A sparsity pattern as an SVG picture, which notebooks show by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

SIDE = 320
"""Pixels of the longer side."""
CELLS = 80
"""So many cells along it at most: of larger patterns a cell is as dark as its part is full."""


def to_svg(pattern: Any, title: str) -> str:
    """The entries of a sparse array as squares, in rows from the top."""
    m, n = (max(int(k), 1) for k in pattern.shape)
    longest = max(m, n)
    step = -(-longest // CELLS)
    rows, columns = -(-m // step), -(-n // step)
    entries = pattern.tocoo()
    cells = (entries.coords[0] // step).astype(np.int64) * columns + entries.coords[1] // step
    counts = np.bincount(cells, minlength=rows * columns).reshape(rows, columns)
    size = SIDE / max(rows, columns)
    width, height = columns * size, rows * size
    squares = []
    for i, j in zip(*np.nonzero(counts), strict=True):
        # The last row and column of cells may stand for fewer elements.
        whole = min(step, m - i * step) * min(step, n - j * step)
        shade = 0.25 + 0.75 * counts[i, j] / whole
        squares.append(
            f'<rect x="{j * size:.2f}" y="{i * size:.2f}" width="{size:.2f}" '
            f'height="{size:.2f}" fill-opacity="{min(shade, 1.0):.2f}"/>'
        )
    # Width for the words under small patterns, too.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width, SIDE) + 2:.0f}" '
        f'height="{height + 24:.0f}" viewBox="-1 -1 {max(width, SIDE) + 2:.0f} {height + 24:.0f}">'
        f"<title>{title}</title>"
        f'<rect width="{width:.2f}" height="{height:.2f}" fill="white" stroke="gray"/>'
        f'<g fill="#1f4e79">{"".join(squares)}</g>'
        f'<text y="{height + 16:.0f}" font-family="sans-serif" font-size="12" '
        f'fill="gray">{title}</text></svg>'
    )


__all__ = ["to_svg"]
