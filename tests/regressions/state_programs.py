"""Functions that change Python's state, with what they leave; each is made anew by calling its
maker."""

from __future__ import annotations

import collections
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np

Made = tuple[Callable[[Any], Any], Callable[[], Any]]


X = np.array([1.0, 2.0])


COUNT = 0


MODULE = types.ModuleType("a_module_of_the_user")


class Holder:
    n = 0

    def __init__(self) -> None:
        self.n = 0


def attribute() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        held.n += 1
        return x * held.n

    return f, lambda: held.n


def method() -> Made:
    class Counts(Holder):
        def step(self, x: Any) -> Any:
            self.n += 1
            return x * self.n

    held = Counts()
    return held.step, lambda: held.n


def callable_object() -> Made:
    class Counts(Holder):
        def __call__(self, x: Any) -> Any:
            self.n += 1
            return x * self.n

    held = Counts()
    return held, lambda: held.n


def through_other_methods() -> Made:
    class Counts:
        def __init__(self) -> None:
            self.kept = {"n": 0}

        def count(self) -> None:
            self.kept["n"] += 1

        def forward(self) -> int:
            self.count()
            return self.kept["n"]

        def __call__(self, x: Any) -> Any:
            return x * self.forward()

    held = Counts()
    return lambda x: held(x), lambda: held.kept


def slots() -> Made:
    class Counts:
        __slots__ = ("n",)

        def __init__(self) -> None:
            self.n = 0

    held = Counts()

    def f(x: Any) -> Any:
        held.n += 1
        return x * held.n

    return f, lambda: held.n


def property_with_setter() -> Made:
    class Counts:
        _n = 0

        @property
        def n(self) -> int:
            return self._n

        @n.setter
        def n(self, value: int) -> None:
            self._n = value

    held = Counts()

    def f(x: Any) -> Any:
        held.n += 1
        return x * held.n

    return f, lambda: held.n


def class_attribute() -> Made:
    class Counts(Holder):
        def step(self, x: Any) -> Any:
            Counts.n += 1
            return x * Counts.n

    return Counts().step, lambda: Counts.n


def function_attribute() -> Made:
    def f(x: Any) -> Any:
        f.n += 1  # type: ignore[attr-defined]
        return x * f.n  # type: ignore[attr-defined]

    f.n = 0  # type: ignore[attr-defined]
    return f, lambda: f.n  # type: ignore[attr-defined]


def module_attribute() -> Made:
    MODULE.n = 0  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        MODULE.n += 1  # type: ignore[attr-defined]
        return x * MODULE.n  # type: ignore[attr-defined]

    return f, lambda: MODULE.n  # type: ignore[attr-defined]


def dataclass_field() -> Made:
    @dataclasses.dataclass
    class State:
        n: int = 0

    held = State()

    def f(x: Any) -> Any:
        held.n += 1
        return x * held.n

    return f, lambda: held.n


def nonlocal_variable() -> Made:
    n = 0

    def f(x: Any) -> Any:
        nonlocal n
        n += 1
        return x * n

    return f, lambda: n


def global_variable() -> Made:
    global COUNT
    COUNT = 0

    def f(x: Any) -> Any:
        global COUNT
        COUNT += 1
        return x * COUNT

    return f, lambda: COUNT


def dict_item() -> Made:
    state = {"step": 0}

    def f(x: Any) -> Any:
        state["step"] += 1
        return x * state["step"]

    return f, lambda: state


def list_element() -> Made:
    state = [0, 5.0]

    def f(x: Any) -> Any:
        state[0] += 1
        return x * state[0]

    return f, lambda: state


def deep() -> Made:
    state: Any = {"a": [{"b": Holder()}]}
    state["a"][0]["b"].inner = {"c": {"d": {"e": [0]}}}

    def f(x: Any) -> Any:
        last = state["a"][0]["b"].inner["c"]["d"]["e"]
        last[0] += 1
        return x * last[0]

    return f, lambda: state["a"][0]["b"].inner


def in_a_helper_found_by_a_default() -> Made:
    state = {"n": 0}

    def count(state: Any = state) -> int:
        state["n"] += 1
        return 1 * state["n"]  # type: ignore[no-any-return]

    return lambda x: x * count(), lambda: state


def behind_getattr_and_setattr() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        setattr(held, "n", getattr(held, "n") + 1)  # noqa: B009, B010
        return x * held.n

    return f, lambda: held.n


def behind_vars() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        vars(held).update(n=held.n + 1)
        return x * held.n

    return f, lambda: held.n


def float_decay() -> Made:
    held = {"rate": 1.0}

    def f(x: Any) -> Any:
        held["rate"] *= 0.5
        return x * held["rate"]

    return f, lambda: held


def complex_number() -> Made:
    held = {"z": 1.0 + 0.0j}

    def f(x: Any) -> Any:
        held["z"] = held["z"] * 1j
        return x * held["z"]

    return f, lambda: held


def numpy_scalar() -> Made:
    held = {"m": np.float32(0.0)}

    def f(x: Any) -> Any:
        held["m"] = np.float32(0.5) * held["m"] + np.float32(1.0)
        return x * held["m"]

    return f, lambda: held


def moving_average() -> Made:
    held = Holder()
    held.mean = 0.0  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        held.mean = 0.9 * held.mean + 0.1 * np.sum(x)  # type: ignore[attr-defined]
        return held.mean  # type: ignore[attr-defined]

    return f, lambda: held.mean  # type: ignore[attr-defined]


def array_replaced() -> Made:
    held = {"h": np.zeros(2)}

    def f(x: Any) -> Any:
        held["h"] = np.tanh(held["h"] + x)
        return held["h"] * 1.0

    return f, lambda: held


def tuple_replaced() -> Made:
    held = Holder()
    held.state = (np.zeros(2), 1.0)  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        h, c = held.state  # type: ignore[attr-defined]
        held.state = (np.sqrt(h + x), c * 0.5)  # type: ignore[attr-defined]
        return held.state[0] * held.state[1]  # type: ignore[attr-defined]

    return f, lambda: held.state  # type: ignore[attr-defined]


def made_at_the_first_call() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        if not hasattr(held, "w"):
            held.w = np.ones(2)  # type: ignore[attr-defined]
            return x * 0.0
        held.w = held.w * 2 + x
        return held.w * 1.0

    return f, lambda: held.w  # type: ignore[attr-defined]


def result_kept() -> Made:
    held = Holder()
    held.last = None  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        before = held.last  # type: ignore[attr-defined]
        held.last = np.sum(x)  # type: ignore[attr-defined]
        return held.last if before is None else before + held.last  # type: ignore[attr-defined]

    return f, lambda: held.last  # type: ignore[attr-defined]


def tree_kept() -> Made:
    held: dict[str, Any] = {}

    def f(x: Any) -> Any:
        held["all"] = {"x": [x * 2, (np.sum(x), 3, "text", None)]}
        return x

    return f, lambda: held


def flag_turned() -> Made:
    held = {"on": False}

    def f(x: Any) -> Any:
        held["on"] = not held["on"]
        return x if held["on"] else -x

    return f, lambda: held


def set_grows_once() -> Made:
    seen: set[str] = set()

    def f(x: Any) -> Any:
        if "x" not in seen:
            seen.add("x")
            return -x
        return x

    return f, lambda: seen


def item_taken_out() -> Made:
    held = {"first": 5.0, "other": 1.0}
    return lambda x: x * held.pop("first", 2.0), lambda: held


def appended() -> Made:
    history: list[Any] = []

    def f(x: Any) -> Any:
        history.append(np.sum(x))
        history.extend([1.0, x * 2])
        return x

    return f, lambda: history


def appended_in_a_dict() -> Made:
    history: Any = {"loss": [], "n": 1}

    def f(x: Any) -> Any:
        history["n"] += 1
        history["loss"] += [np.sum(x) * history["n"]]
        return x

    return f, lambda: history


def appended_to_a_deque() -> Made:
    history: Any = {"last": collections.deque([0.0, 0.0], maxlen=3)}

    def f(x: Any) -> Any:
        history["last"].append(np.sum(x))
        return x

    return f, lambda: history


def remainder() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        held.n = (held.n + 1) % 3
        return x.astype(np.float32) * held.n

    return f, lambda: held.n


def linear_congruences() -> Made:
    held = Holder()
    held.n = 1

    def f(x: Any) -> Any:
        held.n = (held.n * 1103515245 + 12345) % 2**31
        return x * held.n

    return f, lambda: held.n


def bias_correction() -> Made:
    held = {"step": 0}

    def f(x: Any) -> Any:
        held["step"] += 1
        return x / (1 - 0.9 ** held["step"])

    return f, lambda: held


def several() -> Made:
    held, n = Holder(), 10

    def f(x: Any) -> Any:
        nonlocal n
        held.n += 1
        n -= held.n
        return x * n + held.n

    return f, lambda: (held.n, n)


CARRIED_OUT = (
    attribute,
    method,
    callable_object,
    through_other_methods,
    slots,
    property_with_setter,
    class_attribute,
    function_attribute,
    module_attribute,
    dataclass_field,
    nonlocal_variable,
    global_variable,
    dict_item,
    list_element,
    deep,
    in_a_helper_found_by_a_default,
    behind_getattr_and_setattr,
    behind_vars,
    float_decay,
    complex_number,
    numpy_scalar,
    moving_average,
    array_replaced,
    tuple_replaced,
    made_at_the_first_call,
    result_kept,
    tree_kept,
    flag_turned,
    set_grows_once,
    item_taken_out,
    appended,
    appended_in_a_dict,
    appended_to_a_deque,
    remainder,
    linear_congruences,
    bias_correction,
    several,
)
