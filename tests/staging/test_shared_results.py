"""Two names that lead to one array after a branch or a loop: a write through the one is seen by the
other, or refused; never lost."""

# ruff: noqa: B007 - the programs are as people write them
from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.staging.ways import Programs, evaluated
from tracegrad.errors import ConcretizationError
from tracegrad.staging import loops

X = np.array([1.45, -0.45, 2.55, 0.3])
PROGRAMS = program = Programs()


@program
def another_name(x: Any) -> Any:
    p = x.copy()
    q = p * 1
    for i in range(4):
        p = p * 1.1
        q = p
    p[0] = 5.0
    return np.sum(q * x)


@program
def a_part(x: Any) -> Any:
    p = x.copy()
    q = p * 1
    for i in range(4):
        p = p * 1.1
        q = p[1:]
    p[:] = 5.0
    return np.sum(q * x[1:])


@program
def bound_in_the_loop_alone(x: Any) -> Any:
    p = x.copy()
    for i in range(4):
        p = p * 1.1
        q = p
    p[0] = 5.0
    return np.sum(q * x)


@program
def part_is_written(x: Any) -> Any:
    p = x.copy()
    for i in range(4):
        p = p * 1.1
        q = p[1:]
    q[0] = 5.0
    return np.sum(p * x)


@program
def of_both_branches(x: Any) -> Any:
    p, q = x.copy(), x * 2
    if x[0] > 0:
        p = x * 3
        q = p
    else:
        p = x * 4
        q = p
    p[0] = 5.0
    return np.sum(q * x)


@program
def part_in_both_branches(x: Any) -> Any:
    if x[0] > 0:
        p = x * 3
        q = p[1:]
    else:
        p = x * 4
        q = p[1:]
    p[:] = 5.0
    return np.sum(q)


@program
def in_a_while(x: Any) -> Any:
    p, t = x.copy(), abs(x[0]) + 0.1
    q = p
    while t < 9:
        p = p * 1.1
        q = p
        t = t * 2
    q[0] = 5.0
    return np.sum(p * x)


@program
def through_a_third_name(x: Any) -> Any:
    p = x.copy()
    q = x * 2
    for i in range(4):
        r = p * 1.1
        p = r
        q = r
    q += 1
    return np.sum(p * x)


@program
def item_of_a_dict(x: Any) -> Any:
    p = x.copy()
    d = {"q": x * 2}
    for i in range(4):
        p = p * 1.1
        d["q"] = p
    p[0] = 5.0
    return np.sum(d["q"] * x)


@program
def two_attributes(x: Any) -> Any:
    o = types.SimpleNamespace(a=x * 1, b=x * 2)
    for i in range(4):
        o.a = o.a * 1.1 if x[i] > 0 else o.a
        o.b = o.a
    o.b[0] = 5.0
    return np.sum(o.a * x)


@program
def in_a_tuple(x: Any) -> Any:
    p = x.copy()
    q = (p, 1.0)
    for i in range(4):
        p = p * 1.1
        q = (p, 2.0)
    p[0] = 5.0
    return np.sum(q[0] * x)


@program
def of_a_swap(x: Any) -> Any:
    u, v = x.copy(), x * 2
    w = u
    for i in range(5):
        u, v = v, u * 1.0
        w = u
    w[0] = 5.0
    return np.sum(u * x) + np.sum(v)


@program
def written_in_the_pass(x: Any) -> Any:
    p = x.copy()
    q = p * 1
    for i in range(4):
        p = p * 1.1
        q = p
        if x[0] > 0:
            q[0] = 1.0
        p[1] = 2.0
    return np.sum(q * x) + np.sum(p)


@program
def through_a_function(x: Any) -> Any:
    p = x.copy()
    q = p * 1

    def g(v: Any) -> Any:
        return v

    for i in range(4):
        p = g(p * 1.1)
        q = g(p)
    p *= 2
    return np.sum(q * x)


@program
def last_row(x: Any) -> Any:
    m = np.outer(x, x)
    for i in range(4):
        last = m[i]
        if x[0] > 0:
            s = 1.0
        else:
            s = 2.0
    last[:] = s
    return np.sum(m * m)


@program
def chosen_row(x: Any) -> Any:
    m = np.outer(x, x)
    last = m[0]
    if x[0] > 0:
        last = m[1]
    last[:] = 1.0
    return np.sum(m * m)


@program
def last_row_before_a_write(x: Any) -> Any:
    m = np.outer(x, x)
    for i in range(4):
        last = m[i]
        if x[0] > 0:
            s = 1.0
        else:
            s = 2.0
    m[:] = s
    return np.sum(m * last)


@program
def last_row_of_a_while(x: Any) -> Any:
    m = np.outer(x, x)
    t = abs(x[0]) + 0.1
    row = x
    while t < 5:
        row = m[int(t) % 4]
        t = t * 2
    m[:] = 0.5
    return np.sum(m * row)


@program
def a_view_that_a_loop_turned(x: Any) -> Any:
    p = x * 1
    t = p
    for i in range(20):
        t = t[::-1]
    for i in range(4):
        t[i % 2] = t[1] + x[0]
        t = t * 1.1
    return np.sum(p * x) + np.sum(t)


@program
def a_view_that_a_loop_writes(x: Any) -> Any:
    p = x * 1
    t = p
    for i in range(4):
        t = t[::-1]
    i = 0
    while i < 4 and x[0] > 0:
        t[i] *= 2
        i += 1
    return np.sum(p * x) + np.sum(t)


@program
def a_view_of_nothing_else(x: Any) -> Any:
    t = np.real(x * 1j + x)
    for i in range(4):
        t[i] = t[1] + x[0]
        t = t * 1.1
    return np.sum(t * x)


def outcome(f: Callable[[Any], Any], stage: Any) -> Any:
    """The value by the graph; None where the write is refused."""
    try:
        return evaluated(f, X, stage=stage)[0]
    except ConcretizationError as error:
        if not re.match(r"test_shared_results.py:\d+: .*another name", str(error)):
            raise
        return None


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_right_or_refused(f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    found = outcome(f, True)
    assert found is None or np.allclose(found, f(X.copy()), rtol=1e-12), f.__name__


def test_a_view_of_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its base has no name."""
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    assert outcome(a_view_of_nothing_else, True) is not None


@pytest.mark.parametrize("f", [another_name, a_part, in_a_tuple], ids=lambda f: f.__name__)
def test_written_out_it_is_right(f: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(outcome(f, "auto"), f(X.copy()), rtol=1e-12)
