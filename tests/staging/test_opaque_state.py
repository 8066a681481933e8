"""Objects of Python whose state no graph carries: iterators, random numbers, deques, buffers, class
attributes. A loop that changes one is written out, or refused with its line; it never happens once
in the place of at each pass."""

from __future__ import annotations

import array
import collections
import io
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.staging.ways import Programs, evaluated
from tracegrad.errors import ConcretizationError

X = np.array([1.45, -0.45, 2.55, 0.3])
PROGRAMS = program = Programs()


@program
def deque_in_turns(x: Any) -> Any:
    d = collections.deque([0.0, 0.0])
    for i in range(4):
        d.appendleft(x[i] if x[i] > 0 else 1.0)
        d.pop()
    return d[0] + 2 * d[1]


@program
def defaultdict_(x: Any) -> Any:
    d = collections.defaultdict(float)
    for i in range(4):
        d["a"] += x[i] if x[i] > 0 else 1.0
    return d["a"]


@program
def zip_by_next(x: Any) -> Any:
    z = zip(range(10), [1.0] * 10, strict=False)
    s = 0.0
    for i in range(4):
        a, b = next(z)
        s += a * x[i] if x[i] > 0 else b
    return s


@program
def class_counts_its_contexts(x: Any) -> Any:
    class C:
        n = 0

        def __enter__(self) -> None:
            C.n += 1

        def __exit__(self, *a: object) -> None:
            pass

    s = 0.0
    for i in range(4):
        with C():
            s += C.n
        s += x[i] if x[i] > 0 else 0.0
    return s


@program
def deque_items(x: Any) -> Any:
    d = collections.deque([0.0, 0.0])
    for i in range(4):
        d[0] = d[0] + x[i] if x[i] > 0 else d[1]
    return d[0]


@program
def buffer_(x: Any) -> Any:
    b = bytearray(2)
    s = 0.0
    for i in range(4):
        b[0] = b[0] + 1
        if x[i] > 0:
            s += x[i] * b[0]
    return s


@program
def list_in_turns(x: Any) -> Any:
    p = [0.0, 1.0, 2.0]
    for i in range(4):
        p[0], p[1] = p[1], p[0] + x[i]
        p[:] = p[::-1]
        if p[0] > 3:
            p[0] = 0.0
    return p[0] + 2 * p[2]


@program
def list_sorted(x: Any) -> Any:
    p = [0.0, 1.0, 2.0]
    for i in range(4):
        p.reverse()
        p.sort(key=lambda v: 0)
        if x[i] > 0:
            p[0] = p[0] + x[i]
    return p[0] + 2 * p[2]


@program
def iterator_in_a_while(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    t, s = abs(x[0]) + 0.3, 0.0
    while t < 3:
        t = t * 1.7
        s = s + next(it) * t
    return s


@program
def counter_in_a_branch(x: Any) -> Any:
    c = itertools.count(1)
    s = 0.0
    for i in range(4):
        if x[i] > 0:
            s += next(c) * x[i]
    return s


@program
def random_numbers(x: Any) -> Any:
    rng = np.random.default_rng(0)
    s = 0.0
    for i in range(4):
        if x[i] > -9:
            s += rng.normal() * x[i]
    return s


@program
def pythons_random_numbers(x: Any) -> Any:
    rng = random.Random(0)
    s = 0.0
    for i in range(4):
        if x[i] > 0:
            s += rng.random() * x[i]
    return s


@program
def generator_in_a_branch(x: Any) -> Any:
    def g() -> Iterator[int]:
        k = 1
        while True:
            yield k
            k = k * 2

    it = g()
    s = 0.0
    for i in range(4):
        if x[i] > 0:
            s += next(it) * x[i]
    return s


@program
def array_of_python(x: Any) -> Any:
    a = array.array("d", [0.0, 1.0])
    for i in range(4):
        a[0] = a[0] + a[1]
        if x[i] > 9:
            return x[0]
    return a[0] * x[0]


@program
def text_stream(x: Any) -> Any:
    out = io.StringIO()
    for i in range(4):
        out.write("ab")
        if x[i] > 9:
            return x[0]
    return len(out.getvalue()) * x[0]


@program
def counts(x: Any) -> Any:
    d = collections.Counter()
    for i in range(4):
        if x[i] > 0:
            d["a"] += 1
    return d["a"] * x[0]


REFUSED = {
    iterator_in_a_while,
    counter_in_a_branch,
    random_numbers,
    pythons_random_numbers,
    generator_in_a_branch,
    array_of_python,
    text_stream,
    counts,
}


@pytest.mark.parametrize("stage", ["auto", True])
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_right_or_refused(f: Callable[[Any], Any], stage: Any) -> None:
    if f in REFUSED:
        with pytest.raises(ConcretizationError, match=r"^test_opaque_state.py:\d+: .* change"):
            evaluated(f, X, stage=stage)
        return
    np.testing.assert_allclose(evaluated(f, X, stage=stage)[0], f(X.copy()), rtol=1e-12)
