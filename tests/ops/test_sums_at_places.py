"""Sums at places of many elements and of rows have the bits of `np.add.at`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracegrad.ops.places import positions, sums

PLACES: dict[str, tuple[tuple[int, ...], dict[str, Any], tuple[tuple[int, ...], ...]]] = {
    # shape, parameters, shapes of the index arrays
    "rows": ((5, 8), {"axes": (0,)}, ((7,),)),
    "rows of matrices": ((5, 3, 2), {"axes": (0,)}, ((2, 4),)),
    "columns": ((5, 8), {"axes": (1,), "at": 1}, ((7,),)),
    "columns in front": ((4, 5, 6), {"axes": (1,)}, ((3,),)),
    "two axes": ((4, 5, 6), {"axes": (0, 2)}, ((3,), (3,))),
    "lanes": ((4, 5), {"axes": (1,), "aligned": ((0, 0),)}, ((4, 6),)),
    "windows": ((6, 5), {"axes": (0,), "windows": ((2, 1, 2),)}, ((3,),)),
    "one row": ((4, 5, 6), {"axes": (0,)}, ((),)),
    "no row": ((5, 4), {"axes": (0,)}, ((0,),)),
}
DTYPES = (np.float64, np.float32, np.complex128, np.complex64, np.int64, np.int8, np.uint16, bool)


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    x = 9 * rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("start", ["zeros", "numbers", "special numbers, columns first"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("name", PLACES)
def test_bits_of_add_at(name: str, dtype: Any, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    shape, given, blocks = PLACES[name]
    params: dict[str, Any] = {
        "at": 0,
        "aligned": (),
        "windows": (None,) * len(blocks),
        "unique": False,
    } | given
    ends = [0 if w is None else w[2] - 1 for w in params["windows"]]
    indices = [
        rng.integers(0 if end else -shape[a], shape[a] - end, block)
        for a, end, block in zip(params["axes"], ends, blocks, strict=True)
    ]
    wanted = positions.gather_evaluate(np.zeros(shape), *indices, **params).shape
    x, updates = drawn(rng, shape, dtype), drawn(rng, wanted, dtype)
    if start == "zeros":
        x = np.broadcast_to(np.zeros((), dtype), shape)
    elif start != "numbers":
        x = np.asfortranarray(x)
        if x.dtype.kind in "fc" and updates.size:
            updates.flat[0], x.flat[1], x.flat[2] = np.nan, -0.0, np.inf
    add = positions.scatter_evaluate(True)
    monkeypatch.setattr(positions, "MANY", 1 << 60)
    expected = add(x, updates, *indices, **params)
    monkeypatch.setattr(positions, "MANY", 1)
    monkeypatch.setattr(sums, "IN_ROWS", 1)
    found = add(x, updates, *indices, **params)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if x.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_rows_out_of_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "MANY", 1)
    monkeypatch.setattr(sums, "IN_ROWS", 1)
    params: dict[str, Any] = {
        "axes": (0,),
        "at": 0,
        "aligned": (),
        "windows": (None,),
        "unique": False,
    }
    for place in (5, -6):
        with pytest.raises(IndexError, match=f"index {place} is out of bounds"):
            positions.scatter_evaluate(True)(
                np.zeros((5, 4)), np.ones((1, 4)), np.array([place]), **params
            )
