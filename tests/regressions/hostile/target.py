"""A target of the sweep: something public that can be called, arguments of it that work, and the
wrong calls of it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tracegrad as tg

from .examples import EXAMPLES, LOOPS
from .excuses import EXCUSED
from .scipy_names import EXAMPLES as SCIPYS
from .things import ANY_ARRAY, BY_NAME, WRONG, Maker, square


class Target(NamedTuple):
    """Something public that can be called. `make()` gives it (afresh, where it has state), `args`
    makers of arguments that work."""

    name: str
    make: Callable[[], Callable[..., Any]]
    args: tuple[tuple[str, Maker], ...]
    options: tuple[str, ...] = ()
    works: bool = True
    reference: Callable[..., Any] | None = None
    """NumPy's function of the same name and arguments, which refuses what ours must refuse."""
    scipys: bool = False
    """Whether that is SciPy's: of what it refuses, what it says with a ValueError alone counts.
    Other errors are those of conversions to its C functions, and ours broadcast."""
    whole: bool = False
    """Whether all that is given are the arguments themselves: no call with too many, too few or
    unknown ones is of use."""
    every: int = 2
    """Each how many-th of the wrong things an argument meets where not all are asked for."""
    words: tuple[str, ...] = ()
    """What else names it in messages."""


def parameters_of(function: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def runs(make: Callable[[], Any], given: tuple[tuple[str, Maker], ...]) -> bool:
    try:
        make()(*[maker() for _, maker in given])
    except Exception:
        return False
    return True


def target(name: str, make: Callable[[], Any]) -> Target:
    """The target with the first arguments found by name that work."""
    parameters = parameters_of(make())
    if parameters is None:
        return Target(name, make, (), works=False)
    given = EXAMPLES.get(name, SCIPYS.get(name))
    if given is not None:
        by_place = [p.name for p in parameters][: len(given)]
        return Target(
            name,
            make,
            given,
            tuple(
                p.name
                for p in parameters
                if p.default is not p.empty
                and p.kind is not p.POSITIONAL_ONLY
                and p.name not in (*dict(given), *by_place)
            ),
            works=runs(make, given),
        )
    ahead = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    options = tuple(
        p.name
        for p in parameters
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is not p.empty
    )
    choices = [
        [(p.name, maker) for maker in (*BY_NAME.get(p.name, ()), *ANY_ARRAY)]
        for p in ahead
        if p.default is p.empty
    ]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        trials: Any = itertools.chain(
            itertools.product(*choices),
            *(
                itertools.product(
                    *choices,
                    *[
                        [
                            ("further argument", m)
                            for m in (
                                lambda: 0,
                                lambda: 2,
                                square,
                                lambda: tg.ones(2, 2),
                                lambda: 1,
                            )
                        ]
                    ]
                    * k,
                )
                for k in (1, 2)
            ),
        )
    else:
        trials = itertools.product(*choices)
    for trial in itertools.islice(trials, 600):
        try:
            make()(*[maker() for _, maker in trial])
        except Exception:
            continue
        return Target(name, make, tuple(trial), options)
    return Target(
        name, make, tuple((p.name, square) for p in ahead if p.default is p.empty), options, False
    )


def calls(t: Target, full: bool = False) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """What the target is called with, and what is wrong with it."""
    good = [maker for _, maker in t.args]
    # Each argument meets a part of the wrong things, the next one another part, and each of these
    # meets a part of the targets; each target meets what it is excused for.
    number = sum(map(ord, t.name))
    every = 1 if full else t.every
    step = max(1, every // 2)
    excused = EXCUSED.get(t.name, ())
    wrong = [
        (k + number, kind, make)
        for k, (kind, make) in enumerate(WRONG.items())
        if kind not in LOOPS.get(t.name, ())
    ]
    for k, (argument, _) in enumerate(t.args):
        for place, kind, make in wrong:
            if (place + k * step) % every == 0 or f"{argument} = {kind}" in excused:
                yield (
                    f"{argument} = {kind}",
                    tuple(make() if j == k else g() for j, g in enumerate(good)),
                    {},
                )
    for k, option in enumerate(t.options, len(t.args)):
        for place, kind, make in wrong:
            if (place + k * step) % every == 0 or f"{option}={kind}" in excused:
                yield f"{option}={kind}", tuple(g() for g in good), {option: make()}
    if t.whole:
        if not good:
            yield "called", (), {}
        return
    if good and t.name not in LOOPS:
        yield "no arguments", (), {}
        if len(good) > 1:
            yield "an argument less", tuple(g() for g in good[:-1]), {}
    if not t.name.endswith("meshgrid"):
        yield "many arguments", (*[g() for g in good], *[square()] * 12), {}
    yield "an unknown keyword", tuple(g() for g in good), {"no_such_option": 1}
