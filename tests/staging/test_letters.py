"""Letters of texts at places which only a run knows: compared, looked up and found as Python does,
with derivatives of what hangs on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_semantics import check_as_plain_python
from tests.staging.ways import Programs
from tracegrad.staging import loops

program = Programs()
FIRST, SECOND = "GGTTGACTAGGTTGACTA", "TGTTACGGTGTTACGG"
SCORE = {(x, y): 1.0 if x == y else -0.5 * ("ACGT".index(x) + 1) for x in "ACGT" for y in "ACGT"}


@program
def by_numbers(x: Any) -> Any:
    h, best = np.zeros((5, 7)), 0.0
    for i in range(1, 5):
        for j in range(1, 7):
            s = x[0] if FIRST[i - 1] == SECOND[-j] else -x[1]
            h[i, j] = max(h[i - 1, j - 1] + s, h[i - 1, j] - x[2] ** 2, h[i, j - 1] - 0.3, 0)
            best = max(best, h[i, j])
    return best + np.sum(h)


@program
def by_dicts(x: Any) -> Any:
    weights = {"A": x[0], "C": 1.0, "G": x[1] * x[2], "T": x[3], "other": 0.0}
    s = 0.1
    for k, (a, b) in enumerate(zip(FIRST, SECOND, strict=False)):
        s = np.sin(s + SCORE[a, b] * x[0]) + weights[a] * k
        if a != "T" and b in ("C", "G"):
            s += x[1] * "ACGT".index(a) + ord(b) * 1e-3 + "CA".find(a)
    return s


@program
def handed_on(x: Any) -> Any:
    last, s = FIRST[0], x[0]
    for k, c in enumerate(FIRST[1:]):
        if c == last or c in "CA":
            s = s * x[1] + 0.5
        elif c not in "GA":
            s += x[2] / (k + 1)
        last = c
    return s + (x[3] if last == "A" else 0.0)


@program
def written_out(x: Any) -> Any:
    """What no graph can hold of a letter."""
    s, seen = 0.0, set()
    for c in FIRST:
        seen.add(c)
        if isinstance(c, str) and c.lower() + "x" == "gx":
            s = np.sin(s + x[0] * len(seen))
    return s


@program
def of_bytes(x: Any) -> Any:
    data, s = FIRST.encode(), 0.0
    for k in range(14):
        s = np.cos(s + x[k % 4] * data[k] * 0.01)
    return s


@pytest.mark.parametrize("name", program)
def test_as_plain_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    check_as_plain_python(program[name], second=False)


def test_what_is_not_there() -> None:
    def unknown(x: Any, k: Any) -> Any:
        return {"A": x, "C": 2 * x}[FIRST[k]]

    found = tg.jit(unknown)
    assert found(2.0, 5) == 2.0
    assert found(2.0, 6) == 4.0
    with pytest.raises(KeyError):
        found(2.0, 0)
    with pytest.raises(IndexError):
        found(2.0, 18)
    with pytest.raises(ValueError, match="substring not found"):
        tg.jit(lambda x, k: x * "AC".index(FIRST[k]), stage=True)(2.0, 0)
