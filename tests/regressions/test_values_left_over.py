"""Values that a function leaves in a list, an attribute, a global, a closure's cell or a dict,
under each transform, and that another reads under each transform, call after call: it reads what is
there now, or refuses; never what was there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Function = Callable[[Any], Any]
Place = tuple[Callable[[Any], None], Callable[[], Any]]
KEPT: Any = None


def in_a_list() -> Place:
    kept: list[Any] = [None]
    return lambda v: kept.__setitem__(0, v), lambda: kept[0]


def at_the_end_of_a_list() -> Place:
    kept: list[Any] = []
    return kept.append, lambda: kept[-1]


def in_a_dict() -> Place:
    kept: dict[str, Any] = {}
    return lambda v: kept.__setitem__("kept", v), lambda: kept["kept"]


def in_an_attribute() -> Place:
    class Holder:
        kept: Any = None

    holder = Holder()
    return lambda v: setattr(holder, "kept", v), lambda: holder.kept


def in_a_cell() -> Place:
    kept: Any = None

    def put(v: Any) -> None:
        nonlocal kept
        kept = v

    return put, lambda: kept


def in_a_global() -> Place:
    def put(v: Any) -> None:
        global KEPT
        KEPT = v

    return put, lambda: KEPT


PLACES = {
    f.__name__: f
    for f in (
        in_a_list,
        at_the_end_of_a_list,
        in_a_dict,
        in_an_attribute,
        in_a_cell,
        in_a_global,
    )
}


def summed(f: Function) -> Function:
    return lambda x: np.sum(f(x))


WAYS: dict[str, Callable[[Function], Function]] = {
    "plain": lambda f: f,
    "jit": tg.jit,
    "vjp": lambda f: lambda x: tg.vjp(f, x)[0],
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (np.ones(3),))[0],
    "vmap": tg.vmap,
    "grad": lambda f: tg.grad(summed(f)),
    "jit of grad": lambda f: tg.jit(tg.grad(summed(f))),
    "grad of jit": lambda f: tg.grad(summed(tg.jit(f))),
    "grad of grad": lambda f: tg.grad(summed(tg.grad(summed(f)))),
}
REFUSALS = (tg.EscapedValueError, tg.ConcretizationError, RuntimeError)
X = np.array([1.0, 2.0, 3.0])


def expected(way: str, x: Any, kept: Any) -> Any:
    if way == "grad of grad":
        return 0 * x
    if way == "vmap":
        return x[:, None] * kept
    return kept if "grad" in way else x * kept


EACH = [
    (place, left, read)
    for place in PLACES
    for left in WAYS
    for read in WAYS
    if left != "plain"
    and (
        place == "in_a_dict" or (left in ("grad", "jit", "vmap") and read in ("jit", "jit of grad"))
    )
]
"""All pairs in one place, and those that read compiled in all places."""


@pytest.mark.parametrize(("place", "left", "read"), EACH)
def test_what_is_read_is_what_is_there(place: str, left: str, read: str) -> None:
    put, get = PLACES[place]()

    def leaving(x: Any) -> Any:
        y = x * x
        put(y)
        return y

    leave, reading = WAYS[left](leaving), WAYS[read](lambda x: x * get())
    numbers = 0
    for kept, x in ((X, 10 * X), (X, 20 * X), (10 * X, 10 * X), (7 * X, 10 * X)):
        try:
            leave(kept)
            found = np.asarray(reading(x))
        except REFUSALS as error:
            text = str(error)
            assert "differentiated" in text or "traced" in text or "second time" in text
            continue
        numbers += 1
        np.testing.assert_allclose(found, expected(read, x, kept * kept))
    # A list that grows is refused where it is compiled; a number in another place is there.
    assert numbers == 4 or left not in ("jit", "jit of grad", "grad of jit") or "end" in place
