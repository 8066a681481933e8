"""What is kept of compiled functions has bounds, and a function that is traced anew at each call
says so once."""

from __future__ import annotations

import gc
import re
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces
from tracegrad.compiled import kept
from tracegrad.compiled import on_device as placed
from tracegrad.surroundings import names

X = np.array([1.0, 2.0])
Made = tuple[Callable[[Any], Any], Callable[[], Any]]


def new_keys() -> Made:
    held: dict[str, Any] = {}
    return lambda x: (held.update({f"k{len(held)}": np.sum(x)}), x * len(held))[1], lambda: held


def new_attributes() -> Made:
    class Holder:
        pass

    held = Holder()
    return lambda x: (setattr(held, f"a{len(vars(held))}", 1), x * len(vars(held)))[
        1
    ], lambda: vars(held)


def growing_set() -> Made:
    held: set[int] = set()
    return lambda x: (held.add(len(held)), x * len(held))[1], lambda: held


def growing_text() -> Made:
    held = {"text": ""}

    def f(x: Any) -> Any:
        held["text"] += "a"
        return x * len(held["text"])

    return f, lambda: held


def read_only() -> Made:
    held: list[int] = []
    return lambda x: x * len(held), lambda: held


@pytest.mark.parametrize(
    "made",
    [new_keys, new_attributes, growing_set, growing_text, read_only],
    ids=lambda f: f.__name__,
)
def test_what_is_traced_at_each_call_is_right_and_says_so_once(made: Any) -> None:
    def calls(way: Any) -> Any:
        f, look = made()
        compiled = way(f)
        results = []
        for _ in range(19):
            if made is read_only:
                look().append(1)
            results.append(compiled(X))
        return compiled, results, repr(look())

    expected = calls(lambda f: f)[1:]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled, found, state = calls(tg.jit)
    np.testing.assert_array_equal(found, expected[0])
    assert state == expected[1]
    assert len(caught) == 1
    assert caught[0].category is RuntimeWarning
    assert re.match(
        r"test_bounds_of_caches\.py:\d+: jit: <lambda>|test_bounds_of_caches\.py:\d+: jit: f",
        str(caught[0].message),
    )
    assert re.search(
        (
            r"traced anew 16 times .*(len\(held\) was|is new|frozenset\(held\) was"
            r"|held\['text'\] was|type)"
        ),
        str(caught[0].message),
    )
    assert len(compiled._callers) <= kept.MOST_FORMER + 1
    assert len(compiled._known) <= kept.MOST_FORMER + 1
    assert sum(map(len, compiled._signatures.former.values())) <= kept.MOST_FORMER


def test_appending_is_compiled_once() -> None:
    history: list[Any] = []
    f = tg.jit(lambda x: (history.append(1.5), history.append(np.sum(x)), x)[2])
    f(X)
    with counted_traces() as traces:
        for _ in range(20):
            f(X)
    assert traces == []
    assert history == [1.5, 3.0] * 21


def test_after_many_changes_calls_take_the_short_way() -> None:
    held = {"scale": 0.0}
    f = tg.jit(lambda x: x * np.full(2, held["scale"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(36):
            held["scale"] = float(k)
            assert f(X)[1] == 2.0 * k
    assert f._callers[0]((X,), {})[1] == 2.0 * 35


def test_tables_of_a_function_keep_the_newest_signatures(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tg.jit(lambda *xs: sum(np.sum(x) for x in xs))
    for table in (
        f._signatures.first,
        f._signatures.concrete,
        f._signatures.former,
        f._signatures.symbolic,
        f._known,
        f._signatures.retraced,
    ):
        assert isinstance(table, kept.Kept)
        monkeypatch.setattr(table, "most", 3)
    monkeypatch.setattr(sys.modules["tracegrad.compiled.signatures"], "MOST_ENTRIES", 4)
    for count in range(1, 6):
        for n in (2, 3):
            assert f(*[np.ones(n)] * count) == n * count
    assert [len(t) for t in (f._signatures.first, f._signatures.symbolic)] == [3, 3]
    assert len(f._signatures.entries) == 4
    assert f(np.ones(2)) == 2.0


def test_kept() -> None:
    table: kept.Kept[int, str] = kept.Kept(2)
    for k in range(4):
        assert table.setdefault(k, str(k)) == str(k)
    assert table == {2: "2", 3: "3"}
    table[2] = "two"
    table[4] = "4"
    assert table == {3: "3", 4: "4"}
    for known in (placed._KNOWN, placed._GENERIC, placed._FIRST):
        assert isinstance(known, kept.Kept)
    assert names.spelled.cache_parameters()["maxsize"] == 4096


def test_functions_and_their_compiled_forms_go_together() -> None:
    def make(k: int) -> Any:
        held = {"n": 0}
        rng = tg.Generator(k)

        def f(x: Any) -> Any:
            held["n"] += 1
            if k == 3:
                tg.rand(2, generator=rng)
                raise KeyError
            return np.sum(x * k) * held["n"]

        return f

    alive = []
    for k in range(4):
        f = make(k)
        compiled = tg.jit(tg.grad(f))
        if k == 3:
            with pytest.raises(KeyError):
                compiled(X)
        else:
            compiled(X)
        alive.append(weakref.ref(f))
    del f, compiled
    gc.collect()
    assert [r() for r in alive] == [None] * 4
