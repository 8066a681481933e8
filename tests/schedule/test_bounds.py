"""What is proved of integer expressions is so: against all values that their symbols may have."""

from __future__ import annotations

import numpy as np
import pytest

from tracegrad._codegen import integers
from tracegrad.schedule.bounds import nonnegative
from tracegrad.types import Int

ROW, COLUMN, STEPS = map(integers.symbol, "ijs")


OPERATIONS = (integers.floordiv, integers.mod, integers.minimum, integers.maximum)
Values = list[dict[str, int]]


def drawn(rng: np.random.Generator, depth: int = 2) -> Int:
    """An expression with quotients, remainders, extremes and powers, as programs have them."""
    total: Int = int(rng.integers(-6, 30))
    for _ in range(int(rng.integers(1, 4))):
        part: Int = ROW if rng.random() < 0.5 else COLUMN
        if depth and rng.random() < 0.6:
            operation = OPERATIONS[rng.integers(4)]
            part = operation(drawn(rng, depth - 1), int(rng.integers(2, 5)))
        total = total + int(rng.integers(-3, 4)) * integers.product([part] * rng.choice((1, 1, 3)))
    return total


def least(value: Int, values: Values) -> int:
    return min(integers.evaluate(value, v) for v in values)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_proved_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    proved = 0
    for _ in range(400):
        lo, count = (int(n) for n in rng.integers((-4, 1), (3, 7)))
        ranges = {"i": (lo, lo + count), "j": (0, integers.symbol("i") + 5)}
        values = [{"i": i, "j": j} for i in range(lo, lo + count) for j in range(i + 5)]
        value = drawn(rng)
        if nonnegative(value, ranges):
            assert least(value, values) >= 0, (value, ranges)
            proved += not isinstance(value, int) and "/" in str(value)
    assert proved > 3


@pytest.mark.parametrize("step", [2, 3])
@pytest.mark.parametrize("n", [5, 8])
def test_every_place_of_a_loop_with_a_step_is_proved_to_be_inside(n: int, step: int) -> None:
    """`for j in range(i % step, n - 1, step)` reads places j and j + 1 of n."""
    first = integers.mod(ROW, step)
    count = integers.floordiv(n - 1 - first + (step - 1), step)
    ranges = {"i": (0, 7), "s": (count, count + 1), "j": (0, STEPS)}
    place = first + step * COLUMN
    assert nonnegative(place, ranges)
    assert nonnegative(n - 1 - (place + 1), ranges)
    assert not nonnegative(n - 2 - (place + 1), ranges)


def test_what_is_linear_in_known_ranges_is_decided() -> None:
    rng = np.random.default_rng(7)
    answers = set()
    for _ in range(300):
        bounds = {
            n: (int(lo), int(lo + rng.integers(1, 9)))
            for n, lo in zip("ij", rng.integers(-4, 5, 2), strict=True)
        }
        value = (
            int(rng.integers(-3, 4)) * ROW
            + int(rng.integers(-3, 4)) * COLUMN
            + int(rng.integers(-9, 20))
        )
        values = [{"i": i, "j": j} for i in range(*bounds["i"]) for j in range(*bounds["j"])]
        answers.add(nonnegative(value, bounds))
        assert nonnegative(value, bounds) == (least(value, values) >= 0)
    assert answers == {False, True}


def test_equal_sums_have_equal_forms() -> None:
    """However constants and factors came to them; as text, too."""
    x = ROW * COLUMN + 2 * ROW + STEPS
    for forms in (
        [x + 3, 3 + x, x + 1 + 2, (x + 7) - 4, 3 - (0 - x), 3 + (ROW + STEPS) + ROW * (COLUMN + 1)],
        [x, x + 1 - 1, 0 + x, -1 * (-1 * x), (x + 5) - 5, x * 1, 2 * x - x],
        [-2 * x - 2, (x + 1) * -2, -(2 * x + 2), -2 - 2 * x],
    ):
        assert {str(form) for form in forms} == {str(forms[0])}
        assert all(form == forms[0] and hash(form) == hash(forms[0]) for form in forms)
    assert x * 0 == 0 == x - x
