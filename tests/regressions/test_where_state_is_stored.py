"""What a function stores goes into the object that it wrote to: not into one that it puts in the
place of that object afterwards, and not into one that is found elsewhere no longer."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


class Slotted:
    __slots__ = ("v",)

    def __init__(self, v: Any) -> None:
        self.v = v


def made() -> SimpleNamespace:
    return SimpleNamespace(
        one=SimpleNamespace(v=np.ones(2), n=1),
        other=SimpleNamespace(v=np.zeros(2), n=5),
        d={"v": np.ones(2), "gone": 1},
        items=[np.ones(2)],
        pairs=[[1, 2]],
        tags={1},
        slotted=Slotted(np.ones(2)),
        spare=Slotted(np.zeros(2)),
    )


def shown(x: Any) -> Any:
    if isinstance(x, Slotted):
        return shown(x.v)
    if isinstance(x, SimpleNamespace):
        return shown(vars(x))
    if isinstance(x, dict):
        return {k: shown(v) for k, v in x.items()}
    return [shown(v) for v in x] if isinstance(x, list) else np.asarray(x).tolist()


def attribute(h: Any, x: Any) -> None:
    h.one.v = x * 2
    h.one = h.other


def number(h: Any, x: Any) -> None:
    h.one.n += 1
    h.one = h.other


def items_of_both(h: Any, x: Any) -> None:
    h.d["v"] = x * 2
    h.d = {"v": x + 1, "gone": 2}


def deleted(h: Any, x: Any) -> None:
    if "gone" in h.d:
        del h.d["gone"]
    h.d = {"v": x}


def number_of_a_dict(h: Any, x: Any) -> None:
    h.d["gone"] += 2
    h.d["new"] = 3
    h.d = {"gone": 7, "v": x}


def rebound_before(h: Any, x: Any) -> None:
    d, items = h.d, h.items
    h.d, h.items = {"gone": 7, "v": x}, [x]
    d["gone"] = 3
    items[0] = x + 1


def in_a_list(h: Any, x: Any) -> None:
    h.pairs[0][1] = h.pairs[0][0] + 1
    h.pairs = [[5, 6]]


def item_of_a_list(h: Any, x: Any) -> None:
    h.items[0] = x * 2
    h.items = [x, x + 1]


def appended(h: Any, x: Any) -> None:
    h.items.append(x * 2)
    h.items = [x]


def set_(h: Any, x: Any) -> None:
    h.tags.add(3)
    h.tags = {2}


def slot(h: Any, x: Any) -> None:
    h.slotted.v = x * 2
    h.slotted = h.spare


def exchanged(h: Any, x: Any) -> None:
    h.one.v, h.other.v = x * 2, x * 3
    h.one, h.other = h.other, h.one


BODIES = (attribute, number, items_of_both, deleted, number_of_a_dict, rebound_before, in_a_list,
          item_of_a_list, appended, set_, slot, exchanged)  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda f: f.__name__)
def test_into_what_is_replaced(body: Callable[[Any, Any], None]) -> None:
    def run(jit: Any) -> list[Any]:
        h = made()
        before = list(vars(h).values())

        def f(x: Any) -> Any:
            body(h, x)
            return x * 1

        call, found = jit(f), []
        for k in range(4):
            call(np.arange(2.0) + k)
            found.append([shown(x) if type(x) is not set else sorted(x) for x in before])
            found.append(shown(h) if body is not set_ else sorted(h.tags))
        return found

    assert run(tg.jit) == run(lambda f: f)


class Counted:
    def __init__(self) -> None:
        self.n = 0


class Owner:
    calls = 0

    def __init__(self) -> None:
        # Names what `run` finds as an attribute.
        self.inner = FIRST

    def run(self, x: Any) -> Any:
        Owner.calls += 1  # by which the code of the class is found
        self.inner.n += 1
        return x * self.inner.n


FIRST = Counted()
ELSEWHERE: dict[str, Any] = {}


def other_inner(o: Owner) -> None:
    o.inner = Counted()


def other_name(o: Owner) -> None:
    global FIRST
    FIRST = Counted()


def other_item(o: Owner) -> None:
    ELSEWHERE["inner"] = Counted()


@pytest.mark.parametrize("change", [other_inner, other_name, other_item], ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", ["method", "function", "items"])
def test_into_what_the_code_names(change: Callable[[Owner], None], way: str) -> None:
    def run(jit: Any) -> list[Any]:
        global FIRST
        FIRST = Counted()
        o = Owner()
        ELSEWHERE["inner"] = ELSEWHERE["again"] = o.inner

        def reading(x: Any) -> Any:
            ELSEWHERE["again"].n += len(ELSEWHERE)
            return o.run(x)

        ways = {"method": o.run, "function": lambda x: o.run(x), "items": reading}
        call, found = jit(ways[way]), []
        for k in range(6):
            if k in (2, 4):
                change(o)
            result = call(np.arange(2.0)).tolist()
            held = (FIRST, o.inner, *ELSEWHERE.values())
            found.append((result, [h.n for h in held]))
        return found

    assert run(tg.jit) == run(lambda f: f)
