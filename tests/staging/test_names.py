"""Which names lead to a value: variables that functions inside bind, objects that a pass makes,
arrays with two names. What a program changes is changed for all who read it, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import GRADIENTS, check_gradient, check_value
from tracegrad.errors import ConcretizationError

X = np.array([1.2, -0.7, 2.05])
TOTAL = 0.0
TWO = {"jit of grad": GRADIENTS["jit of grad"], "grad of jit": GRADIENTS["grad of jit"]}


def doubled(p: Any) -> Any:
    return p * 2


def bound_anew_then_written(x: Any) -> Any:
    p = x.copy()
    if x[0] > 0:
        p = doubled(p)
    p[1] = 3.0
    return np.sum(p * p)


def bound_anew_and_written_at_each_pass(x: Any) -> Any:
    p = x.copy()
    for i in range(6):
        if x[0] * 2.3 > i:
            p = p * 1.1
        p[1] += 3.0
    return np.sum(p * p)


def swapped_in_a_branch(x: Any) -> Any:
    p, r = x.copy(), x * 2
    if x[0] > 0:
        p, r = r, p
    p[1] = 7.0
    return np.sum(p * x) - np.sum(r)


def best_so_far(x: Any) -> Any:
    best = x.copy()
    for i in range(80):
        c = x * np.sin(i)
        if c[0] > best[0]:
            best = c
    best[0] = 5.0
    return np.sum(best) * x[0]


def nonlocal_sum(x: Any) -> Any:
    s = 0.0

    def add(v: Any) -> None:
        nonlocal s
        if v > 0:
            s = s + v * v

    for i in range(100):
        add(x[i % 3])
    return s


def nonlocal_count(x: Any) -> Any:
    n = 0

    def numbered(v: Any) -> Any:
        nonlocal n
        n += 1
        return v * n

    s = 0.0
    for i in range(60):
        if x[i % 3] > 0:
            s += numbered(x[i % 3])
    return s * n


def nonlocal_of_another_function(x: Any) -> Any:
    n = 0.0

    def add(v: Any) -> Any:
        nonlocal n
        n += v
        return v * n

    return applied(add, x) * n


def applied(f: Callable[..., Any], x: Any) -> Any:
    s = 0.0
    for i in range(60):
        if x[i % 3] > 0:
            s += f(x[i % 3])
    return s


def nonlocal_through_map(x: Any) -> Any:
    n = 0

    def add(v: Any) -> Any:
        nonlocal n
        n += 1
        return v * n

    s = 0.0
    for _ in range(40):
        s += sum(map(add, x)) + sum([add(v) for v in x])
    return s * n


def nonlocal_of_one_pass(x: Any) -> Any:
    def both(v: Any) -> Any:
        t = 0.0

        def add(u: Any) -> None:
            nonlocal t
            t = t + u

        add(v)
        add(v * v)
        return t

    s = 0.0
    for i in range(60):
        if x[i % 3] > 0:
            s += both(x[i % 3])
    return s


def two_counters(x: Any) -> Any:
    def counter() -> Callable[[], Any]:
        n = 0

        def more() -> Any:
            nonlocal n
            n += 1
            return n

        return more

    c, d, s = counter(), counter(), 0.0
    for i in range(50):
        s += c() * x[0] if x[i % 3] > 0 else d() * x[1]
    return s


def global_sum(x: Any) -> Any:
    global TOTAL
    TOTAL = 0.0
    for i in range(60):
        if x[i % 3] > 0:
            TOTAL += x[i % 3] ** 2
        raise_total(x[0] * i)
    return TOTAL


def raise_total(v: Any) -> None:
    global TOTAL
    if v > 20:
        TOTAL = TOTAL + v


class Larger:
    count = 0

    def __init__(self, a: Any, b: Any) -> None:
        self.a = a
        if a > b:
            self.b = a
        else:
            self.b = b * 2

    @classmethod
    def counted(cls, v: Any) -> Any:
        cls.count += 1
        return v * cls.count


def objects_of_one_pass(x: Any) -> Any:
    s = 0.0
    for i in range(60):
        p = Larger(x[i % 3], x[(i + 1) % 3])
        p.a = p.a * 2
        s += p.a * p.b
    return s


def containers_of_one_pass(x: Any) -> Any:
    s = 0.0
    for i in range(60):
        v = [x[0] * i, x[1]]
        v[0] += x[2]
        d = {"k": x[i % 3]}
        d["k"] *= v[0]
        v.append(d["k"])
        if x[i % 3] > 0:
            s += sum(v)
    return s


def attribute_of_a_class(x: Any) -> Any:
    Larger.count, s = 0, 0.0
    for i in range(60):
        if x[i % 3] > 0:
            s += Larger.counted(x[i % 3])
    return s * Larger.count


class Histogram:
    def __init__(self) -> None:
        self.total = 0.0
        self.places = np.zeros(3)

    def add(self, v: Any, k: Any) -> None:
        self.total += v
        self.places[k] += v


def object_around_two_loops(x: Any) -> Any:
    h = Histogram()
    for i in range(20):
        for k in range(3):
            if x[k] > 0:
                h.add(x[k] * i, k)
    return h.total * np.sum(h.places)


def given_back_after_a_write(x: Any) -> Any:
    y = x.copy()
    if x[0] > 0:
        y[0] = 7.0
        return y * x
    return x * 2


def result_that_is_written(x: Any) -> Any:
    return np.sum(written_where_positive(x.copy()) * x)


def written_where_positive(y: Any) -> Any:
    z = y * 2
    if y[0] > 0:
        y[0] = y[1] ** 2
        return y
    return z


def view_bound_after_a_write(x: Any) -> Any:
    y, z = x.copy(), x[1:] * 3
    if x[0] > 0:
        y[1:] = x[0] ** 2
        z = y[1:]
    else:
        z = x[1:] * 2
    return np.sum(z)


def last_of_an_array_that_is_written(x: Any) -> Any:
    y = x.copy()
    for i in range(60):
        y[i % 3] = y[i % 3] * 1.1 + 1
        last = y
    return np.sum(last)


PROGRAMS: list[Callable[..., Any]] = [
    bound_anew_then_written,
    bound_anew_and_written_at_each_pass,
    swapped_in_a_branch,
    best_so_far,
    nonlocal_sum,
    nonlocal_count,
    nonlocal_of_another_function,
    nonlocal_through_map,
    nonlocal_of_one_pass,
    two_counters,
    global_sum,
    objects_of_one_pass,
    containers_of_one_pass,
    attribute_of_a_class,
    object_around_two_loops,
    result_that_is_written,
    view_bound_after_a_write,
    last_of_an_array_that_is_written,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values(program: Callable[..., Any]) -> None:
    check_value(program, "jit", X)


@pytest.mark.parametrize("way", TWO)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(program: Callable[..., Any], way: str) -> None:
    check_gradient(program, way, X)


def test_what_is_returned_is_what_was_written() -> None:
    for x in (X, -X):
        found = tg.jit(given_back_after_a_write)(x)
        np.testing.assert_allclose(found, given_back_after_a_write(x))


def other_name_in_a_branch(x: Any) -> Any:
    q, p = x * 3, x.copy()
    if x[0] > 0:
        q = p
    p[0] = 5.0
    return np.sum(q)


def two_names_of_one_side(x: Any) -> Any:
    q, p = x * 3, x.copy()
    if x[0] > 0:
        q = p
    else:
        p = p * 2
    p[1] = 7.0
    return np.sum(q * p)


def chosen_by_an_expression(x: Any) -> Any:
    p, r = x.copy(), x * 2
    q = p if x[0] > 0 else r
    q[1] = 7.0
    return np.sum(p) + np.sum(r)


def other_name_in_two_branches(x: Any) -> Any:
    q, p = x * 3, x.copy()
    if x[0] > 0:
        if x[1] < 0:
            q = p
    p[0] = 5.0
    return np.sum(q)


def other_name_in_a_loop(x: Any) -> Any:
    q, p, i = x * 3, x.copy(), 0
    while i < x[2]:
        if x[1] < 0:
            q = p
        i = i + 1
    p[0] = 5.0
    return np.sum(q)


def other_name_after_a_pass(x: Any) -> Any:
    q, p, s, t = x.copy(), x.copy(), 0.0, x[0]
    while t < 50:
        p[0] += 1
        s += q[0]
        q = p
        t = t + 1
    return s + np.sum(q)


def filled_after_a_branch(x: Any) -> Any:
    q, p = x * 3, x.copy()
    if x[0] > 0:
        q = p
    p.fill(2.0)
    return np.sum(q)


def out_after_a_branch(x: Any) -> Any:
    q, p = x * 3, x.copy()
    if x[0] > 0:
        q = p
    np.add(x, 1.0, out=p)
    return np.sum(q)


@pytest.mark.parametrize(
    "program",
    [
        other_name_in_a_branch,
        two_names_of_one_side,
        chosen_by_an_expression,
        other_name_after_a_pass,
        other_name_in_two_branches,
        other_name_in_a_loop,
        filled_after_a_branch,
        out_after_a_branch,
    ],
    ids=lambda f: f.__name__,
)
def test_a_write_that_two_names_would_have_to_see_is_refused(program: Callable[..., Any]) -> None:
    for f in (tg.jit(program), tg.jit(tg.grad(program))):
        with pytest.raises(ConcretizationError, match=r"^test_names.py:\d+: .*another name"):
            f(X)


def test_generators_that_bind_variables_of_others_are_refused() -> None:
    def program(x: Any) -> Any:
        n = 0.0

        def counted() -> Any:
            nonlocal n
            n = n + x[0]
            yield n

        t = x[0]
        while t < 9:
            t = t + sum(counted())
        return t * n

    with pytest.raises(ConcretizationError, match=r"^test_names.py:\d+: .*variable 'n'"):
        tg.jit(program)(X)


def test_modules_are_staged() -> None:
    class Net(tg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tg.nn.Parameter(np.array([1.0, 2.0, 3.0]))

        def forward(self, x: Any) -> Any:
            y = (self.w * x).sum()
            if y > 0:
                return y
            return y * y

    net = Net()
    for x in (X, -X):
        y = X @ [1.0, 2.0, 3.0]
        found = tg.jit(lambda v: net(v) * 2)(tg.tensor(x))
        np.testing.assert_allclose(found.item(), 2 * (y if x is X else y * y))


def test_notes_say_why_a_function_was_not_staged(tmp_path: Any, monkeypatch: Any) -> None:
    class Odd:
        def __class_getitem__(cls, other: Any) -> Any:
            return other if other > 0 else -other

    with pytest.raises(ConcretizationError) as caught:
        tg.jit(lambda x: Odd[x[0]])(X)
    assert "is called by Python or a library (as an operator" in " ".join(caught.value.__notes__)


def test_functions_of_installed_packages(tmp_path: Any, monkeypatch: Any) -> None:
    from tracegrad.ir import lines
    from tracegrad.staging import functions

    package = tmp_path / "site-packages" / "staged_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from .inner import h\ndef f(x):\n    return h(x) * 2 if x[0] > 0 else x[1]\n"
    )
    (package / "inner.py").write_text("def h(x):\n    return x[1] if x[2] > 0 else x[0]\n")
    installed = (*functions.INSTALLED, str(package.parent))
    monkeypatch.setattr(functions, "INSTALLED", installed)
    monkeypatch.setattr(lines, "INSTALLED", installed)
    monkeypatch.syspath_prepend(package.parent)
    import staged_package  # type: ignore[import-not-found]

    assert tg.jit(staged_package.f)(X) == -1.4
    np.testing.assert_array_equal(tg.jit(tg.grad(staged_package.f))(X), [0, 2, 0])
    with pytest.raises(ConcretizationError) as caught:
        tg.jit(lambda x: staged_package.f(x) * 3)(X)
    assert "belongs to an installed library" in " ".join(caught.value.__notes__)
    assert tg.jit(lambda x: tg.jit(staged_package.f)(x) * 3)(X) == -1.4 * 3
