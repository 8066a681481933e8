"""What Python itself would raise in a branch or a body (an index out of range, a division by 0) is
raised where that is reached, and nowhere else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ops.places import keys


def element(x: Any) -> Any:
    return np.sum(x * x) if x[0] > 0 else x[5]


def conditional(x: Any) -> Any:
    s = 0.0
    for i in range(1, len(x) - 1):
        s = s * 0.5 + np.sin((x[i] + x[2 * i]) if x[i] > 0.1 else x[0] ** 2)
    return s


def division(x: Any) -> Any:
    return x[1] ** 2 if x[0] > 0 else x[0] * (1 / (len(x) - 4))


def from_a_list(x: Any) -> Any:
    values, s = [x[0] ** 2, x[1]], 0.0
    for i in range(3):
        if x[i] > 0:
            s = s + values[i]
    return s


def caught(x: Any) -> Any:
    s = 0.0
    for _ in range(2):
        if x[0] > 0:
            try:
                s = s + x[7]
            except IndexError:
                s = s - x[1] ** 2
    return s


def body(x: Any) -> Any:
    s = x[0] ** 2
    while s > 5:
        s = s + x[9]
    return s


def from_a_dict(x: Any) -> Any:
    values = {"a": x[0] ** 2, "b": x[1]}
    return values["a"] if x[0] > 0 else values["b"] * values["c"]


def shapes(x: Any) -> Any:
    return np.sum(x * x) if x[0] > 0 else np.sum(x * x[1:])


RAISING = {
    element: 2,
    conditional: 1,
    division: 2,
    from_a_list: 1,
    from_a_dict: 2,
    caught: 0,
    body: 1,
}
"""At how many of the points each one raises."""
POINTS = [
    np.array([1.0, 0.5, -1.0, -2.0]),
    np.array([-1.0, -0.5, 1.0, 2.0]),
    np.array([-3.0, 2.0, -1.0, 0.5]),
    np.array([2.0, -1.0, -3.0, 1.0]),
]


def outcome(function: Callable[[Any], Any], x: Any) -> Any:
    try:
        return function(x)
    except (IndexError, KeyError, ZeroDivisionError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("function", RAISING)
def test_errors_are_those_of_python(function: Callable[[Any], Any]) -> None:
    compiled = tg.jit(tg.value_and_grad(function))
    step, raised = 1e-6 * np.eye(4), 0
    for x in POINTS:
        wanted, found = outcome(function, x), outcome(compiled, x)
        if isinstance(wanted, tuple):
            raised += 1
            assert found == wanted
            continue
        slopes = [(function(x + h) - function(x - h)) / 2e-6 for h in step]
        np.testing.assert_allclose(found[0], wanted, rtol=1e-13)
        np.testing.assert_allclose(found[1], slopes, rtol=1e-6, atol=1e-8)
    assert raised == RAISING[function]


def test_the_line_is_the_users() -> None:
    with pytest.raises(IndexError, match="index 5 is out of bounds") as caught:
        tg.jit(element)(POINTS[1])
    last = caught.traceback[-1]
    assert str(last.path) == __file__
    assert last.lineno + 1 == element.__code__.co_firstlineno + 1


def test_shapes_that_do_not_fit() -> None:
    """A branch that is not taken may hold them."""
    compiled = tg.jit(tg.grad(shapes))
    np.testing.assert_allclose(compiled(POINTS[0]), 2 * POINTS[0])
    with pytest.raises(tg.ShapeError, match="broadcast"):
        compiled(POINTS[1])


def test_defects_of_the_library_are_not_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An IndexError in a line of the library's that says nothing of the program's indices."""
    space: dict[str, Any] = {}
    exec(compile("def broken(*args): return [][0]", str(keys.__file__), "exec"), space)
    monkeypatch.setattr(keys, "integer_place", space["broken"])
    with pytest.raises(IndexError, match="list index"):
        tg.jit(element).graphs(POINTS[0])
