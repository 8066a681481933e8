"""Sixteen threads that use the library's shared tables, and may be switched between any two
instructions of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.interleaved import at_once, interleaved
from tracegrad.checks import failures
from tracegrad.compiled import kept
from tracegrad.control import running
from tracegrad.faces.twins import TWINS, detached
from tracegrad.ops.elementwise.derived import add_op
from tracegrad.runtime import threads

THREADS, RATE = 16, 0.2


def a_table_of_the_newest(_: pytest.MonkeyPatch) -> Callable[[int], Any]:
    table: dict[int, int] = kept.Kept(3)

    def work(number: int) -> None:
        for k in range(20):
            table[100 * number + k] = k
            assert table.setdefault(100 * number + k % 5, 7) in (7, k % 5)
            assert len(table) <= 3 + THREADS

    return work


def one_native_operation(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Any]:
    class Compiler:
        @staticmethod
        def run(graph: Any, arrays: Any) -> Any:
            return [np.add(*arrays)]

    monkeypatch.setattr(running, "KEPT", 1)
    monkeypatch.setattr(running.upward, "COMPILER", Compiler)

    def work(number: int) -> None:
        for k in range(16):
            x = np.ones((number + 1, k + 1))
            assert running.natively(add_op, [x, x], {})[0].shape == x.shape

    return work


def derived_functions(_: pytest.MonkeyPatch) -> Callable[[int], Any]:
    f = tg.jit(lambda x: np.sum(x * x))
    made: set[int] = set()
    keep = []

    def work(number: int) -> None:
        g = tg.grad(f)
        keep.append(g)
        made.add(id(g))
        assert len(made) == 1

    return work


def tables_of_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Any]:
    sharing: Any = object.__new__(threads.Sharing)
    sharing.shares, sharing._rows = ((0,),), lambda n: ((0, 0, n, 1, 10**9),)
    monkeypatch.setattr(threads, "POOL", SimpleNamespace(threads=4))

    class Tables(dict[Any, Any]):
        def __len__(self) -> int:
            return 5000  # cleared with each new entry

    sharing._tables = Tables()

    def work(number: int) -> None:
        for k in range(20):
            n = 1000 * (1 + (number + k) % 3)
            assert sharing.table((n,)).words[2] == n

    return work


def names_of_functions(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Any]:
    left = [lambda: None for _ in range(20)]
    monkeypatch.setattr(failures, "_WAITING", left)

    def work(number: int) -> None:
        for _ in range(20):
            failures.called()
            assert not left

    return work


def detached_weights(_: pytest.MonkeyPatch) -> Callable[[int], Any]:
    w = tg.Tensor(np.ones(3), requires_grad=True)

    def work(number: int) -> None:
        keep = []
        for k in range(6):
            one = detached(w, w._version_counter)
            keep += [one] if k % 2 else []
            assert all(any(r() is x for r in TWINS[id(w)]) for x in (*keep, one))

    return work


SHARED = [
    a_table_of_the_newest,
    one_native_operation,
    derived_functions,
    tables_of_pieces,
    names_of_functions,
    detached_weights,
]


@pytest.mark.parametrize("shared", SHARED, ids=[f.__name__ for f in SHARED])
def test_shared_tables(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    work = shared(monkeypatch)
    with interleaved(RATE) as switches:
        at_once(work, THREADS)
    assert switches[0] > 20
