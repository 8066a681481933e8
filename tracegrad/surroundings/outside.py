"""What a function asks of the world around the program while it is traced: clocks, entropy,
variables of the environment.

None of it leaves a mark in Python's objects, so no comparison finds it. Functions whose code names
such a source are traced under Python's profiling hook, which is told of each call; others, and all
compiled calls, pay nothing.
"""

from __future__ import annotations

import datetime
import dis
import os
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from ..errors import TracegradError
from ..ir.lines import OURS
from .lookups import ASKED, looked_up
from .places import ITEM, Fact, root
from .reach import Reach, library

_CLOCK = (
    "Measure time around the call of the compiled function, or pass the time as an argument.",
    "the time of the call that was traced",
)
_ENTROPY = (
    "Use tg.Generator, or draw outside and pass the numbers as an argument; "
    "a generator that is made inside needs a seed.",
    "the numbers drawn while tracing",
)
_TIMES = [
    "time",
    "perf_counter",
    "monotonic",
    "process_time",
    "thread_time",
    "localtime",
    "gmtime",
    "ctime",
    "times",
]
_WATCHED: dict[Any, tuple[str, str]] = {
    **{
        getattr(module, name): _CLOCK
        for module in (time, os)
        for base in _TIMES
        for name in (base, f"{base}_ns")
        if hasattr(module, name)
    },
    **{getattr(os, name): _ENTROPY for name in ("urandom", "getrandom") if hasattr(os, name)},
}
_NOW = frozenset(("now", "utcnow", "today"))
_ENVIRONMENT: CodeType = type(os.environ).__getitem__.__code__
_STAMP: CodeType = uuid.uuid1.__code__
_SEED: CodeType = random.Random.seed.__code__
_NAMES = frozenset(
    (
        *(f.__name__ for f in _WATCHED),
        *_NOW,
        "environ",
        "getenv",
        "uuid1",
        "uuid4",
        "uuid6",
        "uuid7",
        "getnode",
        "secrets",
        *(f.__name__ for f in ASKED),
    )
) | {
    "Random",
    "SystemRandom",
    "default_rng",
    "RandomState",
    "SeedSequence",
    "seed",
    "MT19937",
    "PCG64",
    "PCG64DXSM",
    "Philox",
    "SFC64",
}
_SOURCES = frozenset(
    id(source)
    for source in (
        *_WATCHED,
        *ASKED,
        *(uuid.uuid1, uuid.uuid4, random.seed, random.Random, random.SystemRandom),
        *(getattr(np.random, name) for name in ("RandomState", "default_rng", "SeedSequence")),
        *(
            getattr(np.random, name)
            for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
        ),
    )
)
"""The same by identity, for those who call them by another name."""
_THROUGH = frozenset(
    (
        "uuid",
        "secrets",
        "random",
        "datetime",
        "_pydatetime",
        "os",
        "_collections_abc",
        "collections",
        "numpy",
        "functools",
    )
)
"""Modules that ask for whoever called them."""


class Outside:
    """What was asked for in one trace."""

    def __init__(self, name: str, mentioned: set[str]) -> None:
        self.name, self.mentioned = name, mentioned
        self.facts: list[Fact] = []
        """Variables of the environment, which later calls compare."""
        self.error: TracegradError | None = None

    def asked(self, frame: FrameType, event: str, arg: Any) -> None:
        """The profiling hook."""
        if event == "c_call" and arg in ASKED:
            # What a library looks up on its own (NumPy a method of its argument) is no matter.
            if self.error is None and _users(frame) is frame:
                self._looked_up(frame, arg)
        elif event == "c_call":
            why = _WATCHED.get(arg)
            if why is None:
                if arg.__name__ not in _NOW or not (
                    isinstance(arg.__self__, type) and issubclass(arg.__self__, datetime.date)
                ):
                    return
                why = _CLOCK
            if (
                self.error is None
                and (by := _users(frame)) is not None
                and not (arg is os.urandom and _seeded(by))
            ):
                self._refuse(by, arg, why)
        elif event == "call":
            if (
                frame.f_code is _STAMP
                and self.error is None
                and (by := _users(frame.f_back)) is not None
            ):
                self._refuse(by, uuid.uuid1, _CLOCK)
            elif frame.f_code is _ENVIRONMENT:
                if _users(frame.f_back) is not None:
                    self._rely_on(frame.f_locals["key"])
            elif (
                frame.f_code is _SEED
                and frame.f_locals.get("a", 0) is None
                and self.error is None
                and (by := _users(frame.f_back)) is not None
            ):
                self._refuse(by, random.seed, _ENTROPY)

    def _refuse(self, by: FrameType, function: Any, why: tuple[str, str]) -> None:
        module = getattr(function, "__module__", None) or getattr(
            getattr(function, "__self__", None), "__module__", ""
        )
        called = f"{'os' if module == 'posix' else module}.{function.__name__}"
        self.error = TracegradError(
            f"{_line(by)}: jit: {self.name} calls {called}, which happens once, "
            f"while the function is traced, so that every call would see {why[1]}. {why[0]}"
        )

    def _looked_up(self, by: FrameType, function: Any) -> None:
        found = looked_up(by, function, self.mentioned)
        if isinstance(found, str):
            self.error = TracegradError(
                f"{_line(by)}: jit: {self.name} looks a variable up by a name that it computes "
                f"({found}), so that it would be read once, while the function is traced. Write "
                "the variable itself or its name as a text there, or pass it as an argument."
            )
        elif found is not None:
            self.facts.append(found)

    def _rely_on(self, key: Any) -> None:
        held: Any = getattr(os.environ, "_data", {})
        try:
            encoded = os.environ.encodekey(key)
        except TypeError:
            return
        place = root("os.environ", held)
        if encoded in held:
            self.facts.append((place.then(f"[{key!r}]", ITEM, encoded), held[encoded]))
        else:
            self.facts.append((place.then(f"[{key!r}]", "{key} in {it}", encoded), False))


@contextmanager
def watching(name: str, reach: Reach, facts: list[Fact]) -> Iterator[None]:
    """A block in which a function is traced that can reach what `reach` found; `facts` are what
    later calls have to compare."""
    found = Outside(name, reach.mentioned)
    before: Callable[..., Any] | None = sys.getprofile()
    if not _may_ask(reach) or (before is not None and not callable(before)):
        yield
        return

    def both(frame: FrameType, event: str, arg: Any) -> None:
        found.asked(frame, event, arg)
        if before is not None:
            before(frame, event, arg)

    sys.setprofile(found.asked if before is None else both)
    try:
        yield
    finally:
        sys.setprofile(before)
    facts[:] = found.facts
    if found.error is not None:
        raise found.error


def states(reach: Reach) -> dict[str, Any]:
    """The states of the generators of NumPy and Python that a function may draw from, by what they
    are called."""
    found: dict[str, Any] = {}
    for path, g in [
        *[(node.path, node.value) for node in reach.generators],
        ("np.random", np.random),
    ]:
        if isinstance(g, np.random.Generator):
            found[path] = repr(g.bit_generator.state)
        elif isinstance(g, np.random.BitGenerator):
            found[path] = repr(g.state)
        elif isinstance(g, np.random.SeedSequence):
            found[path] = g.n_children_spawned
        elif isinstance(g, np.random.RandomState) or g is np.random:
            legacy: Any = g.get_state()
            found[path] = [*map(bytes, map(np.asarray, legacy[1:]))]
        elif (
            isinstance(g, random.Random)
            and not isinstance(g, random.SystemRandom)
            and g is not getattr(random, "_inst", None)
        ):
            found[path] = g.getstate()
    return found | {"random": random.getstate()}


def check_drawn(name: str, watch: Any, before: dict[str, Any]) -> None:
    """A TracegradError where a function that was traced has drawn numbers."""
    now = states(watch.reach)
    source = next((path for path, state in now.items() if state != before[path]), None)
    if source is not None and (source != "random" or watch.reach.names(random)):
        raise TracegradError(
            f"{watch.drawn_at()}: jit: {name} draws from a random generator of NumPy "
            f"or Python ({source}), so every call would repeat the numbers drawn while tracing. "
            "Use tg.Generator, or draw outside and pass the numbers as an argument."
        )


def _may_ask(reach: Reach) -> bool:
    return not _NAMES.isdisjoint(reach.mentioned) or not _SOURCES.isdisjoint(reach.seen)


def _line(frame: FrameType) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _users(frame: FrameType | None) -> FrameType | None:
    """Who asked, where it is the user's code; what libraries ask for themselves (a log's date) is
    no matter of the function."""
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] in _THROUGH:
        frame = frame.f_back
    if (
        frame is None
        or frame.f_code.co_filename.startswith(OURS)
        or library(frame.f_globals.get("__name__"))
    ):
        return None
    return frame


def _seeded(frame: FrameType) -> bool:
    """Whether what a frame is calling is `RandomState(seed)`, which makes a generator without a
    seed before it sets that."""
    before: list[dis.Instruction] = []
    for i in dis.get_instructions(frame.f_code):
        if i.offset == frame.f_lasti:
            given = i.opname.startswith("CALL") and bool(i.arg) and before[-1].argval is not None
            return given and any(x is np.random.RandomState for x in _loaded(frame, before[-12:]))
        if i.opname not in ("PRECALL", "KW_NAMES", "CACHE"):
            before.append(i)
    return False


def _loaded(frame: FrameType, instructions: Sequence[dis.Instruction]) -> Iterator[Any]:
    """What these instructions load, under whatever name: variables, and what modules hold."""
    value: Any = None
    for i in instructions:
        if i.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
            value = getattr(value, i.argval, None) if isinstance(value, ModuleType) else None
        elif i.opname.startswith("LOAD_") and isinstance(i.argval, str):
            value = frame.f_locals.get(i.argval, frame.f_globals.get(i.argval))
        else:
            continue
        yield value


__all__ = ["Outside", "watching"]
