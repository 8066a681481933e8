"""Lists that are written at places which only a run knows: as Python has them under all of their
names, in loops and branches, with all derivatives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_semantics import POINTS, check_as_plain_python
from tests.staging.ways import Function, Programs
from tracegrad.staging import loops

program = Programs()


def at(v: Any, n: int) -> Any:
    return int(abs(v) * 2) % n


@program
def counted_and_summed(x: Any) -> Any:
    h, s = [0] * 3, [0.0] * 3
    for v in x:
        k = at(v, 3)
        h[k] += 1
        s[k] += v * v
    return sum(a / b for a, b in zip(s, h, strict=True) if b > 0) + h[0]


@program
def integers_become_floats(x: Any) -> Any:
    s = [0] * 3
    for v in x:
        s[at(v, 3)] += v
    return sum(k * a for k, a in enumerate(s)) + s[-1] * len(s)


@program
def inserted(x: Any) -> Any:
    a = list(x)
    for i in range(1, len(a)):
        key, j = a[i], i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return sum(k * v for k, v in enumerate(a))


@program
def chosen_and_exchanged(x: Any) -> Any:
    a = [v * v for v in x]
    for i in range(len(a)):
        m = i
        for j in range(i + 1, len(a)):
            if a[j] < a[m]:
                m = j
        a[i], a[m] = a[m], a[i]
    return sum(k * v for k, v in enumerate(a))


@program
def other_names(x: Any) -> Any:
    a = [1.0, 2.0, x[0]]
    b, held = a, {"a": a}
    before, pairs, copies = a[:], list(enumerate(a)), [list(a), a.copy(), a + [0.0], np.array(a)]
    a[at(x[1], 3)] = x[2]
    held["a"][at(x[3], 3)] *= 2.0
    s = sum(k * v for k, v in enumerate(b)) + 10 * sum(before) + 100 * sum(v for _, v in pairs)
    return s + sum(1000.0 * c[k] for k, c in enumerate(copies[:3])) + np.sum(copies[3] ** 2)


@program
def in_functions_and_objects(x: Any) -> Any:
    class Held:
        items: Any = None

    def put(a: Any, k: Any, v: Any) -> None:
        a[k] = v

    a, held = [x[0], 1.0, 2.0], Held()
    held.items = a
    put(a, at(x[1], 3), x[1])
    for v in x:
        put(held.items, at(v, 3), v * a[0])
    return a[0] + 2 * a[1] * a[2] if isinstance(a, list) else 1e9


@program
def written_while_read(x: Any) -> Any:
    a, s = [1.0, 2.0, 3.0, 4.0], 0.0
    for k, v in enumerate(a):
        a[(k + at(x[0], 2) + 1) % 4] += v * x[k]
        s += v * a[k]
    for v in a:
        a[3] += v
    return s + a[3]


@program
def new_in_each_pass(x: Any) -> Any:
    before, s = [1.0, 2.0, 3.0], 0.0
    for v in x:
        now = [0.0] * 3
        for j in range(3):
            now[j] = before[j - 1] * v
        now[at(v, 3)] += v
        before = now
        s += sum(now)
    return s


@program
def exchanged_names(x: Any) -> Any:
    a, b = [1.0, 2.0], [3.0, 4.0]
    for v in x:
        a[at(v, 2)] += v
        a, b = b, a
    return a[0] * b[1] + 3 * a[1] - b[0]


@program
def in_branches(x: Any) -> Any:
    c = [0.5, 1.0, 2.0]
    for v in x:
        if v > 0:
            c[at(v, 3)] *= v
        else:
            c[0] += v
            if v < -1:
                c[1] = v
    return c[0] + c[1] * c[2]


@program
def conditions(x: Any) -> Any:
    done, dist = [False] * 4, [np.inf] * 4
    dist[0] = 0.0
    for _ in range(4):
        u = min(range(4), key=lambda k: np.inf if done[k] else dist[k])
        done[u] = True
        for v in range(4):
            w = 1.0 + (x[u] - x[v]) ** 2 + (u + 2 * v) % 3
            if not done[v] and dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
    return sum(dist) + max(dist) + sorted(dist)[1]


@pytest.mark.parametrize("name", program)
def test_as_plain_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    check_as_plain_python(program[name])


def test_a_list_is_returned() -> None:
    def f(x: Any) -> Any:
        a = [0.0] * 3
        a[at(x[0], 3)] = x[1]
        return a

    found = tg.jit(f)(POINTS[0])
    assert type(found) is list
    np.testing.assert_allclose(found, f(POINTS[0]))


def appended(x: Any) -> Any:
    a = [0.0] * 3
    a[at(x[0], 3)] = x[1]
    a.append(x[2])
    return sum(a)


def unlike(x: Any) -> Any:
    a = [0.0, None, x]
    a[at(x[0], 2)] = x[1]
    return a[0]


@pytest.mark.parametrize("f", [appended, unlike])
def test_refused(f: Function) -> None:
    text = "a list is written at a place that is not known while the function is traced"
    with pytest.raises(tg.ConcretizationError, match=re.escape(text)):
        tg.jit(f)(POINTS[0])


def test_out_of_range() -> None:
    def f(x: Any) -> Any:
        a = [0.0] * 3
        a[int(x[0])] = x[1]
        return sum(a)

    assert tg.jit(f)(np.array([-1.0, 2.0])) == 2.0
    with pytest.raises(IndexError):
        tg.jit(f)(np.array([3.0, 2.0]))


NARROW = np.array([0.7, -0.4, 1.1, 0.2], np.float32)


def counted(x: Any) -> Any:
    c = [0] * 4
    for v in x:
        c[int(abs(v) * 3) % 4] += 1
    return c


def weighed(x: Any) -> Any:
    c = [0.5] * 4
    for v in x:
        c[int(abs(v) * 3) % 4] += v
    return c


def set_once(x: Any) -> Any:
    c = [0.5] * 4
    c[int(x[0] * 3)] = 2.0
    return c


def only_read(x: Any) -> Any:
    return [0.5, 1.5, 2.0, 0.25]


READ: dict[str, Any] = {
    "item": lambda c, x: x * c[0],
    "traced item": lambda c, x: x * c[int(x[1] > 0)],
    "entry": lambda c, x: x * {0: 1.5, 1: 2.0}[int(x[1] > 0)],
    "sum": lambda c, x: x * sum(c),
    "max": lambda c, x: x * max(c) - x * min(c),
    "sorted": lambda c, x: x * sorted(c)[0],
    "loop": lambda c, x: sum([x * v * k for k, v in enumerate(c)]),
    "slice": lambda c, x: x * c[1:3][0],
    "quotient": lambda c, x: x * (c[0] // 2) + x * (c[1] / 3),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("make", [counted, weighed, set_once, only_read])
@pytest.mark.parametrize("read", READ)
def test_items_are_pythons_numbers(make: Any, read: str) -> None:
    """They raise no dtype, written and read at traced places or not, whatever is added to them."""

    def f(x: Any) -> Any:
        return READ[read](make(x), x)

    expected, found = f(NARROW), tg.jit(f)(NARROW)
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def sorted_by_insertion(x: Any) -> Any:
    a = [v * 1.0 for v in x]
    for i in range(1, len(a)):
        j, t = i - 1, a[i]
        while j >= 0 and a[j] > t:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = t
    return np.stack(a) * np.linspace(0.5, 1.0, len(a)).astype(x.dtype)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 20])
def test_a_list_that_keeps_its_length_becomes_an_array(n: int, dtype: Any) -> None:
    """However many items there are: longer ones are read by a loop from their start on."""
    x = np.random.default_rng(n).normal(size=n).astype(dtype)
    found = tg.jit(sorted_by_insertion)(x)
    np.testing.assert_array_equal(found, sorted_by_insertion(x))
    assert found.dtype == dtype
