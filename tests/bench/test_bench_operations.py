"""`bench --operations`: every item runs and is the same computation for all; tables, means,
files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.bench import machine, operations
from tracegrad.bench.operations import Cost, OperationTimes
from tracegrad.bench.small import ITEMS, OPERATIONS, RECORDING, SIZES, Item, Operands


@pytest.mark.parametrize(
    "item", [i for i in ITEMS if i.size == 4], ids=lambda i: f"{i.name}, {i.kind}"
)
def test_items_do_the_same_each_time(item: Item) -> None:
    call = item.prepare(tg)
    first, second = (r if isinstance(r, (tuple, list)) else [r] for r in (call(), call()))
    assert len(first) == len(second) > 0
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.detach().numpy(), b.detach().numpy())
        assert a.requires_grad == (
            item.kind == "recorded"
            or item.name == "(sin(x) * y + 1)², sum"
            or item.name.startswith("no_grad")
        )


def test_gradients_of_items_are_those_of_the_operations() -> None:
    item = Item("x * y", 4, "with backward")
    operands = Operands(tg, 4, recorded=True)
    cotangent = np.linspace(0.5, 1.5, 4)
    found = item.prepare(tg)()
    np.testing.assert_allclose(found[0].numpy(), cotangent * operands.y.detach().numpy())
    np.testing.assert_allclose(found[1].numpy(), cotangent * operands.x.detach().numpy())


@pytest.fixture(scope="module")
def head() -> dict[str, Any]:
    import sys

    return {
        "tracegrad": "0",
        "machine": machine.summary(sys.executable),
        "settings": {"threads": 1},
    }


def test_a_run(head: dict[str, Any], tmp_path: Path) -> None:
    seen: list[Item] = []
    findings = operations.measure(head, None, 1, seen.append)
    assert seen == ITEMS
    assert all(c.tracegrad > 0 and c.torch is None and c.check == "ok" for c in findings.costs)
    findings.write_json(tmp_path / "a.json")
    assert len(json.loads((tmp_path / "a.json").read_text())["operations"]) == len(ITEMS)
    assert [title for title, _ in findings.tables()] == ["One operation, us", "Short chains, us"]


def test_tables_beside_torch(head: dict[str, Any], tmp_path: Path) -> None:
    costs = [
        Cost(i.name, i.size, i.kind, 4e-6 if i.kind == "recorded" else 1e-6, 2e-6) for i in ITEMS
    ]
    findings = OperationTimes(head, costs)
    assert findings.mean("recorded") == pytest.approx(2.0)
    assert findings.mean("untracked") == pytest.approx(0.5)
    (_, (headings, rows)), _, (_, (_, means)) = findings.tables()
    assert len(rows) == len(OPERATIONS) * len(SIZES)
    assert dict(zip(headings, rows[0], strict=True))["recorded, ratio"] == "2.00"
    assert [row[0] for row in means] == [*RECORDING, "chain", "all"]
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin operations -->\nold\n<!-- end operations -->\nafter\n")
    findings.write_markdown(page)
    text = page.read_text()
    assert text.startswith("before\n<!-- begin operations -->\n\n- Threads: 1.")
    assert text.endswith("<!-- end operations -->\nafter\n")
    assert "old" not in text
    assert "| x * y | 4 | 2.00 | 1.00 | 0.50 |" in text


def test_a_library_that_is_missing(head: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        def __init__(self, library: str, python: str) -> None:
            self.library, self.missing = (
                library,
                "torch is not installed here" if library == "torch" else "",
            )

        def ask(self, line: str) -> dict[str, Any]:
            samples = int(line.split()[1])
            return {"seconds": [1e-6] * samples, "sum": 1.0}

        def close(self) -> None:
            pass

    monkeypatch.setattr(operations, "started", Fake)
    findings = operations.measure(head, "python", 2, lambda item: None)
    assert findings.remarks == ["torch is left out: torch is not installed here."]
    assert findings.mean() is None


def test_results_that_differ_are_told(
    head: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fake:
        missing = ""

        def __init__(self, library: str, python: str) -> None:
            self.library = library

        def ask(self, line: str) -> dict[str, Any]:
            samples = int(line.split()[1])
            return {"seconds": [1e-6] * samples, "sum": 1.0 if self.library == "torch" else 1.1}

        def close(self) -> None:
            pass

    monkeypatch.setattr(operations, "started", Fake)
    findings = operations.measure(head, "python", 2, lambda item: None)
    assert {c.check for c in findings.costs} == {"the results differ: 1.1 and 1.0"}
