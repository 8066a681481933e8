"""What `bench --linalg` tells, and that both texts of its calls agree where torch is installed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tracegrad.bench import dense
from tracegrad.bench.dense_worker import checksum, with_torch, with_tracegrad


def test_report(tmp_path: Path) -> None:
    seen = {
        "tracegrad": [{"sum": 1.0, "seconds": 2e-3}, {"sum": 1.0, "seconds": 1e-3}],
        "torch": [{"sum": 1.0, "seconds": 3e-3}, {"sum": 1.0, "seconds": 4e-3}],
    }
    failed = {**seen, "torch": [{"failed": "RuntimeError: no LAPACK"}]}
    other = {**seen, "torch": [{"sum": 1.1, "seconds": 0.5e-3}]}
    name = dense.LIKELIHOODS[0]
    costs = [
        dense.compared(name, 100, "float64", seen),
        dense.compared(name, 300, "float64", failed),
        dense.compared("QR", 100, "float64", other),
        dense.compared("QR", 300, "float64", {"tracegrad": seen["tracegrad"]}),
    ]
    assert [c.speed for c in costs] == [3.0, None, 0.5, None]
    times = dense.DenseTimes({"settings": {}}, costs)
    assert times.wrong
    (_, (head, told)), (_, (_, aims)) = times.tables()
    assert [len(row) for row in told] == [len(head)] * 2
    assert told[0] == [name, "1.00", "3.00", "3.00", "1.00", "", ""]
    assert [row[2:] for row in aims] == [
        ["0.50", "QR, n = 100, float64", "no"],
        ["3.00", f"{name}, n = 100, float64", "yes"],
    ]
    times.write_json(tmp_path / "times.json")
    assert len(json.loads((tmp_path / "times.json").read_text())["linalg"]) == 4


def test_calls() -> None:
    """Those of the value of a process, whose text stands there twice."""
    ours = with_tracegrad(20, "float64")
    value = ours["Gaussian process, value and gradient"]()
    assert np.isfinite(checksum(value, False))
    if find_spec("torch"):
        theirs = with_torch(20, "float64")
        assert ours.keys() == theirs.keys()
        np.testing.assert_allclose(
            checksum(value, False),
            checksum(theirs["Gaussian process, value and gradient"](), False),
        )
