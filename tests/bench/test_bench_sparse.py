"""What `bench --sparse` tells, and that its loops by hand and the library agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import tracegrad as tg
from tracegrad.bench import sparse
from tracegrad.bench.report.sparse import (
    BY_HAND,
    OWN,
    ColourRow,
    SolvedRow,
    SparseRow,
    SparseTimes,
)


def test_report(tmp_path: Path) -> None:
    rows = [
        SparseRow("J", 10, 28, BY_HAND, 0.0, 1e-3),
        SparseRow("J", 10, 28, OWN, 0.5, 2.5e-3),
        SparseRow("J", 10, 28, "CasADi (MX)", 1.5, 7e-3),
    ]
    times = SparseTimes({"settings": {}}, rows)
    (_, (_, told)), (_, (_, aims)) = times.tables()
    assert [row[-1] for row in told] == ["1.00", "2.50", "7.00"]
    assert [row[2:] for row in aims] == [["2.50", "yes"], ["0.50", "yes"]]
    assert not times.wrong
    times.write_json(tmp_path / "times.json")
    assert len(json.loads((tmp_path / "times.json").read_text())["sparse"]) == 3


def test_solutions_that_differ_are_an_error() -> None:
    def times(result: float) -> SparseTimes:
        solved = [
            SolvedRow("Newton", 9, BY_HAND, 0.0, 1.0, 0.5, 0.1),
            SolvedRow("Newton", 9, OWN, 0.2, 1.0, result),
            SolvedRow("Newton", 4, OWN, 0.2, 1.0, 7.0),
        ]
        return SparseTimes({}, [], solved, [ColourRow("arrow", 9, "known", (9, 3, 2, None))])

    assert not times(0.5 + 1e-5).wrong
    assert times(0.51).wrong
    assert times(0.5).tables()[2][1][1] == [["arrow", "9", "known", "9", "3", "2", ""]]


def test_bundle_adjustment_by_hand() -> None:
    """The loop by hand, as plain Python, gives the entries in the order of the structure."""
    rng = np.random.default_rng(0)
    camera, point = np.array([0, 3, 3, 49]), np.array([0, 0, 2, 19])
    x = rng.normal(size=6 * sparse.CAMERAS + 3 * 20)
    dense = tg.jacobian(sparse.seen_by(camera, point))(x).reshape(8, -1)
    out = np.empty(18 * 4)
    sparse.seen_by_hand.py_func(x, camera, point, sparse.CAMERAS, out)
    place = np.concatenate(
        [6 * camera[:, None] + np.arange(6), 300 + 3 * point[:, None] + np.arange(3)], 1
    )
    found = np.zeros_like(dense)
    np.put_along_axis(found, np.repeat(place, 2, 0), out.reshape(8, 9), 1)
    np.testing.assert_allclose(found, dense, rtol=1e-12, atol=1e-12)
