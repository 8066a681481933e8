"""Python state that cannot be carried out by a compiled function is refused, and nothing has
changed."""

from __future__ import annotations

import itertools
import re
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.regressions.state_programs import Holder, Made, X

# --- refused --------------------------------------------------------------------------------------


def is_a_key() -> Made:
    held = Holder()
    table = {1: 2.0, 2: 3.0}

    def f(x: Any) -> Any:
        held.n += 1
        return x * table.get(held.n, 7.0)

    return f, lambda: held.n


def is_a_size() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        held.n += 1
        return np.zeros(held.n) + np.sum(x)

    return f, lambda: held.n


def leaves_64_bits() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        held.n += 1
        return x / 2**held.n

    return f, lambda: held.n


def elements_of_an_array() -> Made:
    held = np.zeros(2)

    def f(x: Any) -> Any:
        held[0] += 1
        return x * held[0]

    return f, held.tolist


def elements_of_a_large_array() -> Made:
    held = np.zeros(100_000)

    def f(x: Any) -> Any:
        held[0] += 1
        return x * held[0]

    return f, lambda: (held[0], held.flags.writeable)


def list_read_and_appended_to() -> Made:
    held = [1.0]

    def f(x: Any) -> Any:
        held.append(np.sum(x) * held[-1])
        return x

    return f, lambda: held


def list_shrinks() -> Made:
    held = [1.0, 2.0, 3.0, 4.0]
    return lambda x: x * held.pop(), lambda: held


def traced_value_in_an_object() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        held.out = types.SimpleNamespace(loss=np.sum(x))  # type: ignore[attr-defined]
        return x

    return f, lambda: hasattr(held, "out")


def traced_value_in_a_closure() -> Made:
    held: dict[str, Any] = {}

    def f(x: Any) -> Any:
        y = x * 2
        held["again"] = lambda: y
        return x

    return f, lambda: held


def appended_in_a_loop() -> Made:
    held: list[Any] = []
    return lambda x: tg.fori_loop(0, 3, lambda i, s: (held.append(s), s + 1.0)[1], x), lambda: held


def iterator() -> Made:
    numbers = iter([1.0, 2.0, 3.0, 4.0])
    return lambda x: x * next(numbers), lambda: 0


def counter() -> Made:
    numbers = itertools.count(1)
    return lambda x: x * next(numbers), lambda: 0


def generator() -> Made:
    def make() -> Any:
        k = 0.0
        while True:
            k += 1.0
            yield k

    numbers = make()
    return lambda x: x * next(numbers), lambda: 0


REFUSED: dict[Callable[[], Made], str] = {
    is_a_key: r"changes held\.n at each call.* cannot be hashed",
    is_a_size: r"changes held\.n at each call",
    leaves_64_bits: (
        r"held\.n, which it changes at each call, and pow at "
        r"test_python_state_refused\.py:\d+ may leave 64 bits"
    ),
    elements_of_an_array: r"changes the elements of held, .*Make it a Tensor",
    elements_of_a_large_array: r"changes the elements of held or .*Make it a Tensor",
    list_read_and_appended_to: (
        r"changes held at each call.*held, to which the function appends at each call, is read"
    ),
    list_shrinks: r"changes the length of held",
    traced_value_in_an_object: (
        r"a traced value \(f64\[\]\), made by sum at test_python_state_refused\.py:\d+ in "
        r"'f', is kept in held\.out"
    ),
    traced_value_in_a_closure: r"a traced value .* made by mul .* is kept in held\['again'\]",
    appended_in_a_loop: r"a traced value .* is kept in held",
    iterator: r"advances numbers",
    counter: r"advances numbers",
    generator: r"advances numbers",
}


@pytest.mark.parametrize("made", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_carried_out_is_refused_and_changes_nothing(
    made: Callable[[], Made],
) -> None:
    f, look = made()
    before = repr(look())
    first, last = made.__code__.co_firstlineno, made.__code__.co_firstlineno + 15
    for _ in range(2):
        with pytest.raises(tg.TracegradError, match=REFUSED[made]) as found:
            tg.jit(f)(X)
        line = re.match(r"test_python_state_refused\.py:(\d+): ", str(found.value))
        assert line is None or first <= int(line[1]) < last
        assert repr(look()) == before
    assert tg.jit(lambda x: x + 1)(X)[0] == 2.0


def test_a_scheduler_is_stepped_outside() -> None:
    w = tg.tensor([1.0], requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.5)
    for make in (
        lambda: tg.optim.lr_scheduler.StepLR(optimizer, 2),
        lambda: tg.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 0.9**k),
        lambda: tg.optim.lr_scheduler.ExponentialLR(optimizer, 0.9),
    ):
        scheduler = make()
        before = (
            optimizer.param_groups[0]["lr"],
            optimizer.param_groups[0].rate.item(),
            scheduler.last_epoch,
        )  # type: ignore[attr-defined]
        with pytest.raises(tg.TracegradError, match=r"last_epoch|lr"):
            tg.jit(lambda x: (scheduler.step(), x)[1])(tg.ones(1))  # noqa: B023
        after = (
            optimizer.param_groups[0]["lr"],
            optimizer.param_groups[0].rate.item(),
            scheduler.last_epoch,
        )  # type: ignore[attr-defined]
        assert after == before


def test_a_power_of_a_counter_becomes_a_float() -> None:
    held = Holder()

    def f(x: Any) -> Any:
        held.n += 1
        return x * 10**-held.n

    compiled = tg.jit(f)
    start = held.n
    found = [compiled(1.0) for _ in range(4)]
    np.testing.assert_allclose(found, [10.0 ** -(start + k) for k in range(1, 5)], rtol=1e-15)
    assert held.n == start + 4
