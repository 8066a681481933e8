"""What a jitted function reads and writes around it is one object, or shows one memory, at some
calls and not at others: each call as plain Python's, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests import object_programs, state_programs

OTHERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "view": lambda x: x[:],
    "transposed": lambda x: x.t(),
    "detached view": lambda x: x[:].detach(),
    "view of detached": lambda x: x.detach()[:],
    "from flipped": lambda x: tg.from_numpy(x.numpy()[::-1]),
    "numpy": lambda x: x.numpy(),
}


def made() -> Any:
    return tg.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("given", ["neither", "both", "the tensor", "the other", "rebound"])
@pytest.mark.parametrize("written", ["tensor", "other", "both"])
@pytest.mark.parametrize("other", OTHERS)
def test_memory_that_is_shared_later(other: str, written: str, given: str) -> None:
    if other == "numpy" and written != "tensor":
        return  # what it writes to plain arrays around it is refused at the first call

    def body(x: Any, d: Any) -> Any:
        if written != "other":
            x.mul_(2)
        if written != "tensor":
            d.add_(1)
        return d.sum() * 1, x.sum() * 1

    def run(jit: Callable[[Any], Any]) -> list[Any]:
        here = SimpleNamespace(x=made(), d=None)
        ways: dict[str, Any] = {
            "neither": (lambda: body(here.x, here.d), lambda: ()),
            "rebound": (lambda: body(here.x, here.d), lambda: ()),
            "both": (body, lambda: (here.x, here.d)),
            "the tensor": (lambda x: body(x, here.d), lambda: (here.x,)),
            "the other": (lambda d: body(here.x, d), lambda: (here.d,)),
        }
        function, arguments = ways[given]
        call, found = jit(function), []
        for shared in (False, False, True, True, False):
            if shared and given == "rebound":
                here.x = made()
            here.d = OTHERS[other](here.x if shared else made())
            try:
                result = [float(v) for v in call(*arguments())]
                found.append((result, here.x.tolist(), here.d.tolist()))
            except (ValueError, tg.TracegradError) as error:
                found.append(str(error) if shared else str(error) * ("neither" in str(error)))
                body(here.x, here.d)
        return found

    for got, wanted in zip(run(tg.jit), run(lambda f: f), strict=True):
        if isinstance(got, str):
            assert "memory" in got or "neither an argument" in got
        else:
            assert got == wanted


KINDS: dict[str, Callable[[float], Any]] = {
    "Tensor": lambda v: tg.tensor([v, 2.0]),
    "weight": lambda v: tg.tensor([v, 2.0], requires_grad=True),
    "array": lambda v: np.array([v, 2.0]),
    "large array": lambda v: np.full(5_000, v),
    "integers": lambda v: np.array([int(v), 2]),
    "large integers": lambda v: tg.tensor(np.full(5_000, int(v))),
}
HOLDERS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "attributes": (
        lambda a, b: SimpleNamespace(a=a, b=b),
        lambda h: (h.a, h.b),
        lambda h, name, value: setattr(h, name, value),
    ),
    "dict": (
        lambda a, b: {"a": a, "b": b},
        lambda h: (h["a"], h["b"]),
        lambda h, name, value: h.__setitem__(name, value),
    ),
    "list": (
        lambda a, b: [a, b],
        lambda h: (h[0], h[1]),
        lambda h, name, value: h.__setitem__("ab".index(name), value),
    ),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_one_object_at_two_places(holder: str, kind: str) -> None:
    """Tied and untied: each place is read by itself from the call on at which they differ."""
    make, (hold, read, put) = KINDS[kind], HOLDERS[holder]
    one = make(1.0)
    held = hold(one, one)

    def weighed(x: Any) -> Any:
        a, b = read(held)
        return (x * a).sum() + 10 * (x * b).sum()

    call, x = tg.jit(weighed), tg.tensor(2.0)
    for changes in ({}, {}, {"b": 3.0}, {"a": 5.0}, {"a": 7.0, "b": 7.0}, {}, {"a": 8.0}):
        if len(changes) == 2:
            put(held, "a", make(7.0))
            put(held, "b", read(held)[0])
        else:
            for name, value in changes.items():
                put(held, name, make(value))
        assert call(x).tolist() == weighed(x).tolist(), changes


@pytest.mark.usefixtures("kernels_in_python")
def test_boxes_on_one_array() -> None:
    one = made()
    held = SimpleNamespace(a=one, b=one.detach())
    total = tg.jit(lambda: held.a.sum() + 10 * held.b.sum())
    assert float(total()) == 110
    held.a = tg.ones(2, 2)
    assert float(total()) == 104
    held.a, held.b = held.b, held.a
    assert float(total()) == 50
    held.a = held.b.detach()
    assert float(total()) == 44


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("programs", [state_programs, object_programs])
def test_state_at_random(programs: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Of the first 200 programs over globals 52 gave other numbers or another state before, of 200
    over objects 37; `--soak N` draws 1,000 N of each."""
    count = 1_000 * request.config.getoption("--soak") or 16
    for seed in range(count):
        assert not programs.check(seed, str(tmp_path))
