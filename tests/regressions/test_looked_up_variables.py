# ruff: noqa: B009, SIM401, UP030, UP032 - the ways to look a variable up are what is tested
"""Variables that a jitted function looks up by their names, in any of Python's ways: what they hold
is read at each call, or a name that is computed is refused with the line."""

from __future__ import annotations

import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.regressions import looked_up
from tests.regressions import looked_up as also

factor: Any = 2.0
count = 0
NAME = "factor"
NAMES = ("factor",)
MODULE = looked_up.__name__
space = globals
lookup = getattr


class Settings:
    factor = 2.0


def elsewhere(name: str) -> Any:
    return globals()[name]


def import_inside(x: Any) -> Any:
    from tests.regressions import looked_up

    return x * looked_up.factor


def name_imported_inside(x: Any) -> Any:
    from tests.regressions.looked_up import factor

    return x * factor


def executed(x: Any) -> Any:
    found: dict[str, Any] = {}
    exec("y = factor", None, found)
    return x * found["y"]


def by_default(x: Any, name: str = "factor") -> Any:
    return x * globals()[name]


def made() -> Callable[[Any], Any]:
    key = "factor"
    return lambda x: x * globals()[key]


READS: dict[str, Callable[[Any], Any]] = {
    "globals()[...]": lambda x: x * globals()["factor"],
    "globals().get": lambda x: x * globals().get("factor", 1.0),
    "in globals()": lambda x: x * (globals()["factor"] if "factor" in globals() else 1.0),
    "globals under another name": lambda x: x * space()["factor"],
    "a name in a variable": lambda x: x * globals()[NAME],
    "a name in a closure": made(),
    "a name as default": by_default,
    "a name handed over": lambda x: x * elsewhere("factor"),
    "vars(module)": lambda x: x * vars(looked_up)["factor"],
    "vars of a module from sys.modules": lambda x: x * vars(sys.modules[__name__])["factor"],
    "module.__dict__": lambda x: x * looked_up.__dict__["factor"],
    "module.__dict__.get": lambda x: x * looked_up.__dict__.get("factor"),
    "module.__getattribute__": lambda x: x * looked_up.__getattribute__("factor"),
    "getattr(module)": lambda x: x * getattr(looked_up, "factor"),
    "getattr with a default": lambda x: x * getattr(looked_up, "factor", 1.0),
    "getattr under another name": lambda x: x * lookup(also, "factor"),
    "attrgetter": lambda x: x * operator.attrgetter("factor")(looked_up),
    "sys.modules": lambda x: x * sys.modules[MODULE].factor,
    "getattr of sys.modules": lambda x: x * getattr(sys.modules[MODULE], "factor"),
    "import_module": lambda x: x * importlib.import_module(MODULE).factor,
    "import inside": import_inside,
    "from import inside": name_imported_inside,
    "function.__globals__": lambda x: x * looked_up.function.__globals__["factor"],
    "eval": lambda x: x * eval("factor"),
    "eval of a formula": lambda x: eval("x * factor", None, {"x": x}),
    "exec": executed,
    "frame": lambda x: x * inspect.currentframe().f_globals["factor"],  # type: ignore[union-attr]
    "members of a module": lambda x: x * dict(inspect.getmembers(looked_up))["factor"],
    "format": lambda x: x * float("{0.factor}".format(looked_up)),
    "getattr(class)": lambda x: x * getattr(Settings, "factor"),
    "vars(class)": lambda x: x * vars(Settings)["factor"],
    "class.__dict__": lambda x: x * Settings.__dict__["factor"],
}
COMPUTED: dict[str, Callable[[Any], Any]] = {
    "a name in a tuple": lambda x: x * globals()[NAMES[0]],
    "globals": lambda x: x * globals()["fac" + "TOR".lower()],
    "all globals": lambda x: x * dict(globals())["fac" + "tor" * 1],
    "globals handed over": lambda x: x * operator.itemgetter("FACTOR".lower())(globals()),
    "a loop over globals": lambda x: (
        x * next(v for k, v in globals().items() if k.endswith("actor"))
    ),
    "vars(module)": lambda x: x * vars(looked_up)["FACTOR".lower()],
    "getattr(module)": lambda x: x * getattr(looked_up, "FACTOR".lower()),
    "getattr(class)": lambda x: x * getattr(Settings, "FACTOR".lower(), 1.0),
    "eval": lambda x: x * eval("FACTOR".lower()),
}


def bind(value: Any) -> None:
    global factor
    factor = looked_up.factor = Settings.factor = value


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    bind(2.0)
    yield
    bind(2.0)


@pytest.mark.parametrize("way", READS)
def test_a_number_is_read_at_each_call(way: str) -> None:
    function = READS[way]
    compiled = tg.jit(function)
    assert compiled(1.5) == function(1.5) == 3.0
    bind(3.0)
    assert compiled(1.5) == function(1.5) == 4.5
    gradient = tg.jit(tg.grad(function))
    assert gradient(1.5) == 3.0
    bind(2.0)
    assert gradient(1.5) == 2.0


@pytest.mark.parametrize(
    "way", [way for way in READS if way not in ("format", "a name handed over")]
)
def test_an_array_is_read_at_each_call(way: str) -> None:
    x = np.array([1.5])
    compiled = tg.jit(READS[way])
    for value in (np.array([2.0]), np.array([3.0])):
        bind(value)
        assert compiled(x) == value * 1.5
        value += 4.0
        assert compiled(x) == value * 1.5


def test_a_module_that_the_function_itself_loads() -> None:
    package: Any = sys.modules[MODULE.rpartition(".")[0]]
    del sys.modules[MODULE], package.looked_up
    try:
        compiled = tg.jit(import_inside)
        assert compiled(1.5) == 3.0
        sys.modules[MODULE].factor = 3.0  # type: ignore[attr-defined]
        assert compiled(1.5) == 4.5
    finally:
        sys.modules[MODULE] = package.looked_up = looked_up


@pytest.mark.parametrize("way", COMPUTED)
def test_a_name_that_is_computed_is_refused_with_the_line(way: str) -> None:
    with pytest.raises(
        tg.TracegradError, match=r"test_looked_up_variables\.py:\d+: jit: .* by a name that it comp"
    ):
        tg.jit(COMPUTED[way])(1.5)


def test_what_is_not_there_yet_is_asked_for_again() -> None:
    @tg.jit
    def f(x: Any) -> Any:
        return x * globals().get("defined_later", 2.0)

    assert f(1.5) == 3.0
    globals()["defined_later"] = 3.0
    try:
        assert f(1.5) == 4.5
    finally:
        del globals()["defined_later"]
    assert f(1.5) == 3.0


def test_what_is_written_by_a_name_is_state() -> None:
    @tg.jit
    def f(x: Any) -> Any:
        globals()["count"] += 1
        return x * count

    globals()["count"] = 0
    assert [f(1.0) for _ in range(4)] == [1, 2, 3, 4]
    assert count == 4


def test_computed_names_of_objects_and_libraries_are_no_matter() -> None:
    here = Settings()
    here.__dict__["own"] = 2.0

    @tg.jit
    def f(x: Any) -> Any:
        return getattr(np, "s" + "in")(x) * getattr(here, "o" + "wn") * getattr(x, "nd" + "im", 1)

    x = np.ones(2)
    np.testing.assert_allclose(f(x), 2 * np.sin(x))
    here.__dict__["own"] = 3.0
    np.testing.assert_allclose(f(x), 3 * np.sin(x))


@pytest.mark.parametrize("way", ["jit", "jit of grad", "jit of vmap"])
def test_what_numpy_looks_up_on_its_own_is_no_matter(way: str) -> None:
    """NumPy asks lists and numbers for a method; the function's own `getattr` has nothing to do
    with that. Once this was refused where the function holds NumPy in a variable."""
    numbers = [1.0, 2.0]

    def f(x: Any) -> Any:
        of = np
        return of.sum(numbers, None, of.float64) * getattr(x, "size", 1) * of.sum(x * x)

    x = np.ones(3)
    made = {"jit": tg.jit(f), "jit of grad": tg.jit(tg.grad(f)), "jit of vmap": tg.jit(tg.vmap(f))}
    wanted = {"jit": 27, "jit of grad": [18, 18, 18], "jit of vmap": [27]}
    assert np.array_equal(made[way](x[None] if "vmap" in way else x), wanted[way])
