"""`raise` and `assert` behind conditions on traced values: the exception of the user's own type and
message, at the user's line, where plain Python raises it, and nowhere else."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.programs.failing import (
    Unphysical,
    a_range_without_step,
    after_a_write,
    asserted,
    asserted_at_each_step,
    at_once,
    at_some_step,
    in_a_function,
    in_a_function_of_ours,
    in_a_loop_of_ours,
    in_two_loops,
    last_choice,
    of_no_integer,
    positive,
    the_first_of_several,
    without_end_otherwise,
)
from tests.staging.ways import CALLS, VALUES, copies
from tracegrad.errors import ConcretizationError

FINE = np.array([1.2, 2.0, 2.0])


PROGRAMS: list[Callable[..., Any]] = [
    at_once,
    at_some_step,
    in_a_function,
    without_end_otherwise,
    asserted,
    asserted_at_each_step,
    last_choice,
    after_a_write,
    of_no_integer,
    in_a_loop_of_ours,
    in_a_function_of_ours,
    in_two_loops,
    a_range_without_step,
]
GIVEN = [FINE, np.array([-1.0, 0.5, np.nan]), np.array([1.0, -0.5, np.inf]), -6 * FINE]
OF_VALUES: dict[str, Callable[[Any], Any]] = {"jit": tg.jit, "vmap": VALUES["vmap"]}
WAYS = {**OF_VALUES, **{k: w for k, w in CALLS.items() if k != "jvp"}}


def outcome(f: Callable[[], Any]) -> Any:
    try:
        return f()
    except Exception as error:
        return type(error), error.args, traceback.extract_tb(error.__traceback__)[-1].name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_raised_is_what_python_raises(program: Callable[..., Any], way: str) -> None:
    f = WAYS[way](program)
    for x in GIVEN:
        expected = outcome(lambda x=x: program(x.copy()))
        found = outcome(lambda x=x: f(x.copy()))
        if isinstance(expected, tuple):
            # What an index out of range is told by is no promise.
            count = 1 if expected[0] is IndexError else 2
            assert found[:count] == expected[:count], (x, found)
        elif way in OF_VALUES:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        else:
            assert np.shape(found) == (3,), (x, found)


def test_the_traceback_ends_at_the_users_line() -> None:
    with pytest.raises(KeyError) as caught:
        tg.jit(in_a_function)(-FINE)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.name, last.line) == ("positive", 'raise KeyError("v")')
    with pytest.raises(Unphysical) as other:
        tg.jit(at_once)(-FINE)
    assert other.value.size == 3


def test_arguments_are_not_written_where_it_is_raised() -> None:
    def program(x: Any, y: Any) -> Any:
        y[0] = x[0]
        if x[1] < 0:
            raise ValueError("late")
        y[1] = x[1]
        return np.sum(y)

    f = tg.jit(program)
    for x, changed in ((FINE, True), (-FINE, False)):
        y = np.zeros(3)
        found = outcome(lambda x=x, y=y: f(x, y))
        assert (found == 3.2) if changed else (found[0] is ValueError)
        np.testing.assert_array_equal(y, [*x[:2], 0] if changed else np.zeros(3))


def test_the_first_of_several_is_raised() -> None:
    f = tg.jit(the_first_of_several)
    assert outcome(lambda: f(np.array([1.0, 9.0, -1.0])))[:2] == (AssertionError, ("large",))
    assert outcome(lambda: f(np.array([1.0, 2.0, -1.0])))[0] is ValueError
    assert f(FINE) == 1.2


def test_any_lane() -> None:
    f = tg.jit(tg.vmap(in_a_function))
    x = np.stack([FINE, FINE * 1.1, FINE])
    np.testing.assert_allclose(f(x), [in_a_function(v) for v in x])
    x[1, 1] = -1
    assert outcome(lambda: f(x))[0] is KeyError


def test_second_derivatives() -> None:
    h = tg.jit(tg.hessian(at_some_step))
    np.testing.assert_allclose(h(FINE), np.diag([28.0, 26.0, 26.0]))
    assert outcome(lambda: h(-FINE))[0] is ValueError


def test_other_calls_are_not_concerned() -> None:
    f = tg.jit(at_some_step)
    for x in (FINE, -FINE, FINE):
        assert isinstance(outcome(lambda x=x: f(x)), tuple) == (x is not FINE)


def test_a_try_around_it_is_refused() -> None:
    def program(x: Any) -> Any:
        try:
            return positive(x[0])
        except KeyError:
            return 0.0

    with pytest.raises(ConcretizationError, match=r"^failing.py:\d+: 'raise' depends on"):
        tg.jit(program)(FINE)
    assert copies((FINE,))[0] is not FINE


def test_conditions_that_python_knows_raise_at_once() -> None:
    def program(x: Any, n: int) -> Any:
        s = x[0]
        if s > 0:
            s = s * 2
        if n < 0:
            raise IndexError(f"n = {n}")
        try:
            s = s + [1.0, 2.0][n]
        except IndexError:
            s = s + 9
        return s

    f = tg.jit(program, static_argnames="n")
    assert outcome(lambda: f(FINE, -1))[:2] == (IndexError, ("n = -1",))
    assert (f(FINE, 1), f(FINE, 7)) == (4.4, 11.4)
