"""Clocks, entropy, the environment and generators of others: what jit would freeze at the first
call is refused with the line, or compared."""

from __future__ import annotations

import cProfile
import datetime
import functools
import logging
import os
import random
import re
import secrets
import sys
import time
import uuid
from collections.abc import Callable
from os import environ
from time import perf_counter as tick
from typing import Any

import numpy as np
import pytest
from numpy.random import RandomState as Legacy
from numpy.random import default_rng as fresh

import tracegrad as tg

X = np.array([1.0, 2.0])
RNG = np.random.default_rng(0)
NESTED: Any = {"a": [{"b": np.random.RandomState(0)}]}
DRAW, SOME = RNG.normal, functools.partial(RNG.uniform, 1, 2)
GAUSS = random.gauss
BITS, SEEDS = np.random.PCG64(1), np.random.SeedSequence(2)


class Noisy:
    def __init__(self) -> None:
        self.source = random.Random(0)

    def draw(self) -> float:
        return self.source.uniform(1, 2)


NOISY = Noisy()


def imported_inside() -> float:
    from time import monotonic

    return monotonic()


CLOCKS: dict[str, Callable[[], Any]] = {
    "time.time": lambda: time.time(),
    "another name": lambda: tick(),
    "nanoseconds": lambda: time.monotonic_ns(),
    "process": lambda: time.process_time(),
    "imported inside": imported_inside,
    "local time": lambda: time.localtime().tm_sec,
    "datetime.now": lambda: datetime.datetime.now().second,
    "utc": lambda: datetime.datetime.now(datetime.UTC).second,
    "date.today": lambda: datetime.date.today().day,
    "uuid1": lambda: uuid.uuid1().int % 7,
}


def _of_a_variable(made: Any) -> Any:
    return made().uniform()


def _seeded_of_a_variable(made: Any) -> Any:
    again = made
    return made(3).uniform() + again(seed=4).uniform()


ENTROPY: dict[str, Callable[[], Any]] = {
    "os.urandom": lambda: os.urandom(1)[0],
    "uuid4": lambda: uuid.uuid4().int % 7,
    "secrets": lambda: secrets.randbelow(7),
    "token": lambda: secrets.token_bytes(1)[0],
    "SystemRandom": lambda: random.SystemRandom().random(),
    "Random()": lambda: random.Random().random(),
    "seed()": lambda: random.seed() or 1.0,
    "default_rng()": lambda: np.random.default_rng().uniform(),
    "RandomState()": lambda: np.random.RandomState().uniform(),
    "RandomState(None)": lambda: np.random.RandomState(None).uniform(),
    "RandomState() by another name": lambda: Legacy().uniform(),
    "default_rng() by another name": lambda: fresh().uniform(),
    "RandomState() of a variable": lambda: _of_a_variable(np.random.RandomState),
    "PCG64()": lambda: np.random.Generator(np.random.PCG64()).uniform(),
}
DRAWN: dict[str, Callable[[], Any]] = {
    "random": lambda: random.random(),
    "another name of gauss": lambda: GAUSS(0, 1),
    "np.random": lambda: np.random.uniform(),  # noqa: NPY002
    "a generator": lambda: RNG.normal(),
    "its method": lambda: DRAW(),
    "a partial of it": lambda: SOME(),
    "deep": lambda: NESTED["a"][0]["b"].uniform(),
    "of an object": lambda: NOISY.draw(),
    "bits": lambda: BITS.random_raw() % 7,
    "seeds": lambda: SEEDS.spawn(1)[0].generate_state(1)[0] % 7,
}
REFUSED = {
    **{
        name: (f, "happens once, while the function is traced, .* the time of")
        for name, f in CLOCKS.items()
    },
    **{
        name: (f, "happens once, while the function is traced, .*Use tg.Generator")
        for name, f in ENTROPY.items()
    },
    **{name: (f, "draws from a random generator") for name, f in DRAWN.items()},
}


@pytest.mark.parametrize("name", REFUSED)
def test_sources_are_refused_with_the_line(name: str) -> None:
    source, why = REFUSED[name]
    for f in (lambda x: x * source(), tg.grad(lambda x: np.sum(x * source()))):
        with pytest.raises(tg.TracegradError, match=why) as found:
            tg.jit(f)(X)
        assert re.match(r"test_outside_sources\.py:\d+: jit: ", str(found.value))
        assert sys.getprofile() is None


@pytest.mark.parametrize(
    "source",
    [
        lambda: np.random.default_rng(3).normal(),
        lambda: random.Random(3).random(),
        lambda: np.random.RandomState(3).normal() + np.random.RandomState(seed=4).normal(),
        lambda: Legacy(3).normal() + Legacy(seed=4).normal(),
        lambda: fresh(7).normal() + fresh(seed=7).normal(),
        lambda: _seeded_of_a_variable(np.random.RandomState),
        lambda: uuid.uuid5(uuid.NAMESPACE_DNS, "a").int % 7,
        lambda: datetime.datetime(2020, 1, 2).day,
        lambda: 1.0 if X is not None else time.time(),
        lambda: logging.getLogger("of the test").info("at %s", "once") or 2.0,
    ],
)
def test_what_is_the_same_at_each_call_is_compiled(source: Any) -> None:
    time_of_day = time.time  # named, and not called
    f = tg.jit(lambda x: x * source() if time_of_day is not None else x)
    for _ in range(2):
        np.testing.assert_allclose(f(X), X * source())


READS: dict[str, Callable[[], Any]] = {
    "os.environ.get": lambda: float(os.environ.get("TRACEGRAD_TEST", "1")),
    "os.getenv": lambda: float(os.getenv("TRACEGRAD_TEST") or 1),
    "environ": lambda: 2.0 if "TRACEGRAD_TEST" in environ else 3.0,
    "an item": lambda: (
        float(os.environ["TRACEGRAD_TEST"]) if "TRACEGRAD_TEST" in os.environ else 0.0
    ),
}


@pytest.mark.parametrize("name", READS)
def test_the_environment_is_read_at_each_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = READS[name]
    f = tg.jit(lambda x: x * read())
    for value in ("5", "5", "7", None, None, "7", "5"):
        if value is None:
            monkeypatch.delenv("TRACEGRAD_TEST", raising=False)
        else:
            monkeypatch.setenv("TRACEGRAD_TEST", value)
        np.testing.assert_array_equal(f(X), X * read())


def test_other_profilers_go_on() -> None:
    seen: list[str] = []
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    try:
        with pytest.raises(tg.TracegradError, match="time"):
            tg.jit(lambda x: x * time.time())(X)
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert "c_call" in seen
    with cProfile.Profile() as profile:
        assert tg.jit(lambda x: x * 2 if x.shape else time.time())(X)[0] == 2.0
    assert profile.getstats()
