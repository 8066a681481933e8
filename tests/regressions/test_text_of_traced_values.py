"""A text of a value that is traced would be the same at each call: the trace ends in an error that
names the line. Sizes are pinned."""

from __future__ import annotations

import dataclasses
import json
import logging
import string
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces

X = np.array([1.0, 2.0])


@dataclasses.dataclass
class Pair:
    x: Any


TEXTS: dict[str, Callable[[Any], Any]] = {
    "f-string": lambda x: f"{x}",
    "f-string in a list": lambda x: f"{[x]}",
    "repr": lambda x: repr(x),
    "str": lambda x: str(x),
    "str in a function that is rewritten": lambda x: [x[0] if x[0] > 0 else 0.0, str(x)],
    "f-string that is kept and printed": lambda x: [f"{x}", print("")][0],
    "str in a dict": lambda x: str({"a": (x,)}),
    "map of str": lambda x: ",".join(map(str, [x])),
    "percent": lambda x: "%s" % x,  # noqa: UP031
    "format": lambda x: "{}".format(x),  # noqa: UP032
    "template": lambda x: string.Template("$x").substitute(x=x),
    "dataclass": lambda x: repr(Pair(x)),
    "log": lambda x: logging.getLogger("test").warning("x is %s", x),
    "json": lambda x: json.dumps(1, indent=str(x)),
    "exception that is caught": lambda x: str(ValueError(x)),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "jit": tg.jit,
    "jit of grad": lambda f: tg.jit(tg.grad(lambda x: np.sum(f(x)))),
    "jit in jit": lambda f: tg.jit(tg.jit(f)),
    "loop": lambda f: tg.jit(lambda x: tg.fori_loop(0, 2, lambda i, y: f(y), x)),
    "vmap": lambda f: lambda x: tg.vmap(f)(x[None]),
    "checkpoint": lambda f: tg.jit(lambda x: tg.checkpoint(f)(x)),
    "Tensor": lambda f: lambda x: tg.jit(f)(tg.tensor(x)),
}


@pytest.mark.parametrize(
    ("text", "way"),
    [
        *[(t, "jit") for t in TEXTS],
        *[(t, w) for w in WAYS for t in ("f-string", "str") if w != "jit"],
    ],
)
def test_a_text_of_a_traced_value_is_refused_with_the_line(text: str, way: str) -> None:
    def f(x: Any) -> Any:
        TEXTS[text](x)
        return x * 2

    for _ in range(2):
        with pytest.raises(
            tg.ConcretizationError, match=r"test_text_of_traced_values\.py:\d+: a text"
        ):
            WAYS[way](f)(X)


def test_in_running_code_texts_are_those_of_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    assert tg.grad(lambda x: (found.append(f"{x} {x!r} {x[0]}"), np.sum(x * x))[1])(X)[0] == 2.0
    assert found == ["[1. 2.] array([1., 2.]) 1.0"]
    tg.jit(lambda x: (print("traced"), x)[1])(X)
    assert capsys.readouterr().out == "traced\n"


def test_other_errors_come_first() -> None:
    with pytest.raises(KeyError):
        tg.jit(lambda x: {"a": 1}[f"{x}"])(X)
    with pytest.raises(ValueError, match="x is <traced"):
        tg.jit(lambda x: int("x is " + str(x)))(X)


def test_the_text_of_a_size_pins_it() -> None:
    kept: dict[str, str] = {}

    def f(x: Any) -> Any:
        kept["name"] = f"{x.shape} {len(x)} {x.size!r} {x.shape[0] + 1}"
        return x * 2

    compiled = tg.jit(f)
    for _ in range(2):
        for n in (2, 3, 5, 4):
            assert compiled(np.ones(n))[0] == 2.0
            assert kept["name"] == f"({n},) {n} {n} {n + 1}"


@pytest.mark.parametrize("n", [3, np.int64(3), tg.tensor(3)], ids=["int", "np.int64", "Tensor"])
@pytest.mark.parametrize("way", [lambda f: f, tg.jit], ids=["plain", "jit"])
def test_a_list_times_an_integer_is_repeated(n: Any, way: Any) -> None:
    for f in (
        lambda n: len([1, 2] * n),
        lambda n: len(n * [1, 2]),
        lambda n: len((5,) * n),
        lambda n: len("ab" * n),
    ):
        if way is tg.jit:
            with pytest.raises(tg.ConcretizationError, match=r"py:\d+: an index or range"):
                way(f)(n)
        else:
            assert way(f)(n) == (3 if f(1) == 1 else 6)


def test_state_that_is_a_number_stays_one_after_arithmetic() -> None:
    held = {"n": 0, "r": 0.5}

    def f(x: Any) -> Any:
        held["n"] += 1
        held["r"] = held["r"] * 0.5
        both = isinstance(held["n"], int) and isinstance(held["n"] * 2 + 1, int)
        return x * held["n"] * (2 if both and isinstance(held["r"] / 2, float) else 3)

    compiled = tg.jit(f)
    with counted_traces() as traces:
        assert [float(compiled(X)[0]) for _ in range(4)] == [2.0, 4.0, 6.0, 8.0]
    assert held == {"n": 4, "r": 0.5**5}
    assert len(traces) == 3
