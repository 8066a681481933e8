"""What rewriting has to keep: aliases, views, arguments written to, objects, functions of all
kinds; and what it refuses, with the line."""

# ruff: noqa: B007, PERF402, RET503 - the programs are as people write them
from __future__ import annotations

import functools
import logging
import types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import GRADIENTS, VALUES, check_gradient, check_value
from tracegrad.errors import ConcretizationError

X = np.array([1.0, -2.0, 3.0])


def alias_before_the_loop(x: Any) -> Any:
    a = x.copy()
    b = a
    for i in range(60):
        if a[0] < 50:
            a[i % 3] = b[(i + 1) % 3] * 1.1 + 1
    return np.sum(b)


def view_before_the_loop(x: Any) -> Any:
    a = x.copy()
    v = a[1:]
    for i in range(60):
        if v[0] < 50:
            v[:] = v + 0.5 * a[0]
            a[0] = a[0] * 1.01
    return np.sum(a)


def view_in_the_loop(x: Any) -> Any:
    a = np.outer(x, x) + x
    for i in range(1, a.shape[0]):
        row = a[i]
        if row[0] > 0:
            row[:] = row * 2 + a[i - 1]
    return np.sum(a * x)


def swapped(x: Any) -> Any:
    u, v = x.copy(), np.zeros(3)
    for t in range(41):
        for i in range(3):
            v[i] = u[i] + 0.1 * (u[i - 1] - u[i])
        u, v = v, u
    return np.sum(u * x) + np.sum(v**2)


def swapped_names_of_others(x: Any) -> Any:
    u, v = x.copy(), x * 3
    a, b = u, v
    for i in range(41):
        if a[0] < 100:
            b[:] = a * 1.01
        a, b = b, a
    return np.sum(u**2) + np.sum(v * x)


def raised_in_place(x: Any) -> Any:
    a, c = np.zeros(3), x.copy()
    b, d = a, c[1:]
    for i in range(60):
        a += x * i
        if b[0] > 100:
            d *= 0.9
    return np.sum(b) * x[0] + np.sum(c**2)


def written_in_a_branch(x: Any) -> Any:
    out = np.zeros(3)
    if x[0] > 0:
        out[1] = x[1] ** 2
    else:
        out[0] = x[0]
    out[2] += x[2] * out[1]
    return np.sum(out)


def passed_on(x: Any) -> Any:
    out = np.empty_like(x)
    fill(out, x)
    return np.sum(out**2)


def fill(out: Any, x: Any) -> None:
    for i in range(len(x)):
        if x[i] > 0:
            out[i] = x[i] * 2
        else:
            out[i] = x[i] ** 2


def attributes(x: Any) -> Any:
    c = types.SimpleNamespace(n=0, s=0.0)
    for v in x:
        if v > 0:
            c.s += v
            c.n += 1
    return c.s * c.n


def items_of_a_dict(x: Any) -> Any:
    d = {"s": 0.0}
    for i in range(100):
        if x[i % 3] > 0:
            d["s"] += x[i % 3]
    return d["s"]


def arrays_of_values(x: Any) -> Any:
    m = np.array([[x[0], 1.0], [x[1], x[2]]])
    if m[0, 0] > 0:
        m = np.array([m[0], m[1] * 2])
    return np.sum(m @ m)


def list_by_place(x: Any) -> Any:
    table = [1.0, 5.0, 7.0, 2.0]
    return table[int(x[2])] * x[0]


@numba.njit
def positive(v: Any) -> Any:
    if v > 0:
        return v * v
    return -v


@numba.njit
def of_numba(x: Any) -> Any:
    s = 0.0
    for i in numba.prange(x.shape[0]):
        s += positive(x[i]) * x[0]
    return s


def calls_numba(x: Any) -> Any:
    return of_numba(x) * 2 + positive(x[1])


class Model:
    def __init__(self, w: float) -> None:
        self.__w = w

    def _act(self, v: Any) -> Any:
        if v > self.__w:
            return v * self.__w
        return v * v

    def total(self, x: Any) -> Any:
        s = 0.0
        for v in x:
            s += self._act(v)
        return s


class Derived(Model):
    def _act(self, v: Any) -> Any:
        if v > 2:
            return super()._act(v) + v
        return v


def twice(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapped(*args: Any) -> Any:
        return f(*args) * 2

    return wrapped


@twice
def decorated(x: Any) -> Any:
    if x[0] > 0:
        return x[1] * x[2]
    return x[0]


def recursive(x: Any, depth: int = 4) -> Any:
    if depth == 0:
        return x[0]
    if x[0] > 0:
        return recursive(x * 0.9, depth - 1) + x[1]
    return x[2]


def complex_carry(x: Any) -> Any:
    z, n = 0.3 * x[0] + 0j, 0
    for i in range(40):
        if abs(z) > 2:
            break
        z = z * z + 0.03 * x[1] + 0.1j * x[2]
        n += 1
    return abs(z) * n


def in_quiet_contexts(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        if x[0] > 0:
            y = x[1] * 2
        else:
            y = x[2] / 0.0
        for i in range(60):
            if y < 2.87:
                y = y + x[i % 3] * 0.5
    return y * x[0]


def tried_in_a_function(x: Any) -> Any:
    try:
        y = chosen(x)
    finally:
        z = x[2]
    try:
        return [y * z][0]
    except IndexError:
        return y


def chosen(x: Any) -> Any:
    if x[0] > x[1]:
        return x[0] * x[1]
    return x[2]


def not_taken(x: Any) -> Any:
    if x[1] > 0:
        return np.sqrt(x[1])
    return x[0] * x[1]


PROGRAMS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        alias_before_the_loop,
        view_before_the_loop,
        view_in_the_loop,
        raised_in_place,
        swapped,
        swapped_names_of_others,
        written_in_a_branch,
        passed_on,
        attributes,
        items_of_a_dict,
        arrays_of_values,
        list_by_place,
        calls_numba,
        decorated,
        recursive,
        complex_carry,
        in_quiet_contexts,
        tried_in_a_function,
        not_taken,
    )
} | {
    "method": Model(1.5).total,
    "super": Derived(1.5).total,
    "partial": functools.partial(lambda a, x: x[0] * a if x[0] > a else x[1] * x[2], 2.0),
    "lambda": lambda x: (lambda v: v if v > 0 else v * v)(x[1]) * x[0],
}
Y = np.array([1.1, -2.0, 3.05])


@pytest.mark.parametrize("way", VALUES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, way: str) -> None:
    check_value(PROGRAMS[name], way, Y)


@pytest.mark.parametrize("way", GRADIENTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str, way: str) -> None:
    check_gradient(PROGRAMS[name], way, Y)


def test_functions_of_numba_are_taken_as_they_are() -> None:
    np.testing.assert_allclose(tg.grad(of_numba)(X), [14, -1, 6])
    assert tg.jit(of_numba)(X) == of_numba(X)


def test_arguments_written_to() -> None:
    def program(x: Any, n: Any) -> Any:
        for i in range(n):
            if x[i] < 0:
                x[i] = -x[i]
        return np.sum(x)

    x = X.copy()
    assert tg.jit(program)(x, 3) == 6.0
    np.testing.assert_array_equal(x, np.abs(X))
    x = X.copy()
    np.testing.assert_array_equal(tg.grad(program)(x, 3), [1, -1, 1])
    np.testing.assert_array_equal(tg.jit(tg.grad(program))(x, 3), [1, -1, 1])
    np.testing.assert_array_equal(x, X)


def test_dtypes_are_those_of_numpy() -> None:
    def program(x: Any) -> Any:
        s = 0
        for i in range(100):
            if x[i % 3] > 0:
                s = s + x[i % 3] * i
        return s

    for dtype in (np.float32, np.float64, np.int64):
        x = X.astype(dtype)
        assert tg.jit(program)(x).dtype == program(x).dtype


def one_branch(x: Any) -> Any:
    if x[0] > 0:
        y = x[1]
    return y


def no_pass(x: Any) -> Any:
    for i in range(int(x[0])):
        y = x[0] * i
    return y


def other_shapes(x: Any) -> Any:
    if x[0] > 0:
        y = x
    else:
        y = x[:2]
    return np.sum(y)


def other_forms(x: Any) -> Any:
    if x[0] > 0:
        return x[0]


def trying(x: Any) -> Any:
    try:
        if x[0] > 0:
            return x[0]
    except ValueError:
        return 2.0
    return 1.0


def with_a_jump(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        if x[0] > 0:
            return x[0]
    return 1.0


AROUND = np.zeros(3)


def writing_around(x: Any) -> Any:
    AROUND[0] = x[0]
    return AROUND[0] * 2


REFUSED: dict[Callable[..., Any], str] = {
    one_branch: r"'y' is read here, but the branch .* unbound where the condition does not hold",
    no_pass: r"'y' is read here, but the loop at test_meaning.py:\d+ may end without",
    other_shapes: r"y has the shape \(3,\) where the condition holds and \(2,\)",
    other_forms: r"what the function returns is a number f64\[\] where .* holds and None",
    trying: r"this condition depends on a traced value, and stands in a 'try'",
    with_a_jump: r"this condition depends on a traced value, and stands in a 'try', a 'match' or",
    writing_around: r".*written into a plain array .* made elsewhere",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(ConcretizationError, match=r"^test_meaning.py:\d+: " + REFUSED[program]):
        tg.jit(program)(X)
    np.testing.assert_array_equal(AROUND, np.zeros(3))


def test_what_python_knows_is_python() -> None:
    seen: list[int] = []

    def program(x: Any, flag: bool) -> Any:
        s = x[0]
        if s > 0:
            s = s * 2
        for k in range(3):
            seen.append(k)
        if flag:
            seen.append(-1)
        return s

    assert tg.jit(program, static_argnames="flag")(X, True) == 2.0
    assert seen[-4:] == [0, 1, 2, -1]


def test_without_source() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x if x > 0 else -x", names)
    with pytest.raises(ConcretizationError) as caught:
        tg.jit(names["f"])(2.0)
    assert "source is not to be had" in " ".join(caught.value.__notes__)


def test_what_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    f = tg.jit(one_branch)
    text = f.staged()
    assert text.startswith("def one_branch(x: Any) -> Any:\n    if x[0] > 0:\n        y = x[1]")
    assert "_tg.if_(" in text
    with caplog.at_level(logging.INFO, "tracegrad"):
        tg.jit(not_taken)(X)
    assert "not_taken (test_meaning.py" in caplog.text
    with pytest.raises(ValueError, match="stage is 'auto', True or False"):
        tg.jit(one_branch, stage="yes")


def test_tracebacks_point_into_the_users_text() -> None:
    def program(x: Any) -> Any:
        if x[0] > 0:
            return np.dot(x, np.ones(7))
        return x[0]

    with pytest.raises(tg.ShapeError) as caught:
        tg.jit(program)(X)
    assert any(
        entry.path and entry.path.name == "test_meaning.py" and "np.ones(7)" in str(entry.statement)
        for entry in caught.traceback
        if hasattr(entry.path, "name")
    )


def chosen_then_written(x: Any) -> Any:
    p = x.copy()
    q = p
    if x[0] > 5:
        p = p * 2
    p[1] = 7.0
    return np.sum(q) + np.sum(p)


def looped_then_written(x: Any) -> Any:
    best = x
    for i in range(80):
        c = x * np.sin(i)
        if c[0] > best[0]:
            best = c
    best[0] = 5.0
    return np.sum(best) * x[0]


def attribute_with_another_name(x: Any) -> Any:
    o = types.SimpleNamespace(v=x.copy())
    w = o.v
    for i in range(60):
        o.v[i % 3] += x[i % 3]
        if w[0] > 5:
            o.v = o.v * 0.5
    return np.sum(o.v) + np.sum(w)


@pytest.mark.parametrize(
    "program", [chosen_then_written, looped_then_written, attribute_with_another_name]
)
def test_which_array_is_written_is_known_or_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(ConcretizationError, match=r"^test_meaning.py:\d+: .*may be one that has"):
        tg.jit(program)(X)
