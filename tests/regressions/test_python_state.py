"""Python state that a jitted function changes: four calls give what plain Python gives, and leave the same state; or there is an error."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import re
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces

Made = tuple[Callable[[Any], Any], Callable[[], Any]]
"""A function of an array, and a look at the state around it."""
X = np.array([1.0, 2.0])
COUNT = 0
MODULE = types.ModuleType("a_module_of_the_user")


def compare(found: Any, expected: Any) -> None:
    """Equal values of equal types, to rounding, in trees."""
    if isinstance(expected, (tg.Tensor, np.ndarray, np.generic, float, complex)):
        assert type(found) is type(expected)
        read = [x.detach().numpy() if isinstance(x, tg.Tensor) else np.asarray(x) for x in (found, expected)]
        assert read[0].dtype == read[1].dtype
        np.testing.assert_allclose(*read, rtol=1e-13)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            compare(found[key], expected[key])
    elif isinstance(expected, (list, tuple, collections.deque)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            compare(a, b)
    else:
        assert type(found) is type(expected)
        assert found == expected


class Holder:
    n = 0

    def __init__(self) -> None:
        self.n = 0


# --- carried out at each call ------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("made", CARRIED_OUT, ids=lambda f: f.__name__)
def test_four_calls_are_those_of_plain_python(made: Callable[[], Made]) -> None:
    f, look = made()
    expected = [(f(X), repr(look())) for _ in range(4)]
    state = look()
    f, look = made()
    compiled = tg.jit(f)
    for value, shown in expected:
        compare(compiled(X), value)
        if "array" not in shown:
            assert repr(look()) == shown
    compare(look(), state)


def test_calls_with_state_are_compiled_once_and_take_the_short_way() -> None:
    f, look = attribute()
    compiled = tg.jit(f)
    compiled(X)
    with counted_traces() as traces:
        for _ in range(5):
            compiled(X)
    assert traces == []
    assert len(compiled._callers) == 1
    assert look() == 6


# --- refused -----------------------------------------------------------------------------------------------------------------------


def decides_a_branch() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        held.n += 1
        return x if held.n % 2 else -x

    return f, lambda: held.n


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


def becomes_a_float_where_an_array_would_not() -> Made:
    held = Holder()

    def f(x: Any) -> Any:
        held.n += 1
        return x * 10**-held.n

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
    decides_a_branch: r"changes held\.n at each call, and asks for what it is now: .* a Python condition",
    is_a_key: r"changes held\.n at each call.* cannot be hashed",
    is_a_size: r"changes held\.n at each call",
    leaves_64_bits: r"held\.n, which it changes at each call, and pow at test_python_state\.py:\d+ may leave 64 bits",
    becomes_a_float_where_an_array_would_not: r"held\.n, which it changes at each call",
    elements_of_an_array: r"changes the elements of held, .*Make it a Tensor",
    elements_of_a_large_array: r"changes the elements of held, .*Make it a Tensor",
    list_read_and_appended_to: r"changes held at each call.*held, to which the function appends at each call, is read",
    list_shrinks: r"changes the length of held",
    traced_value_in_an_object: r"a traced value \(f64\[\]\), made by sum at test_python_state\.py:\d+ in 'f', is kept in held\.out",
    traced_value_in_a_closure: r"a traced value .* made by mul .* is kept in held\['again'\]",
    appended_in_a_loop: r"a traced value .* is kept in held",
    iterator: r"advances numbers",
    counter: r"advances numbers",
    generator: r"advances numbers",
}


@pytest.mark.parametrize("made", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_carried_out_is_refused_and_changes_nothing(made: Callable[[], Made]) -> None:
    f, look = made()
    before = repr(look())
    first, last = made.__code__.co_firstlineno, made.__code__.co_firstlineno + 15
    for _ in range(2):
        with pytest.raises(tg.TracegradError, match=REFUSED[made]) as found:
            tg.jit(f)(X)
        line = re.match(r"test_python_state\.py:(\d+): ", str(found.value))
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
        before = optimizer.param_groups[0]["lr"], optimizer.param_groups[0].rate.item(), scheduler.last_epoch  # type: ignore[attr-defined]
        with pytest.raises(tg.TracegradError, match=r"last_epoch|lr"):
            tg.jit(lambda x: (scheduler.step(), x)[1])(tg.ones(1))  # noqa: B023
        after = optimizer.param_groups[0]["lr"], optimizer.param_groups[0].rate.item(), scheduler.last_epoch  # type: ignore[attr-defined]
        assert after == before


# --- transforms, modules, optimizers -----------------------------------------------------------------------------------------------


class Counts:
    def __init__(self) -> None:
        self.n = 0

    def __call__(self, x: Any) -> Any:
        self.n += 1
        return np.sum(x * x) * self.n


@pytest.mark.parametrize("transform", [tg.grad, tg.value_and_grad, lambda f: lambda x: tg.jvp(f, (x,), (x,))], ids=["grad", "both", "jvp"])
@pytest.mark.parametrize("inside", [True, False], ids=["of jit", "in jit"])
def test_derivatives_count_their_calls(transform: Any, inside: bool) -> None:
    plain, counts = Counts(), Counts()
    expected = transform(plain)
    found = transform(tg.jit(counts)) if inside else tg.jit(transform(counts))
    for _ in range(4):
        compare(found(X), expected(X))
    assert counts.n == plain.n == 4


def test_each_signature_counts_on() -> None:
    counts = Counts()
    compiled = tg.jit(counts)
    sizes = (2, 3, 4, 2, 5, 3)
    assert [compiled(np.ones(n)) for n in sizes] == [n * (k + 1) for k, n in enumerate(sizes)]


@pytest.mark.parametrize("other", [0, 100])
def test_state_set_between_the_calls(other: int) -> None:
    counts = Counts()
    compiled = tg.jit(counts)
    compiled(X)
    counts.n = other
    assert compiled(X) == 5.0 * (other + 1)
    counts.n = 2.5  # type: ignore[assignment]
    assert compiled(X) == 5.0 * 3.5
    counts.n = 2**40
    assert compiled(X) == 5.0 * (2**40 + 1)
    assert counts.n == 2**40 + 1


def test_jitted_functions_in_jitted_functions() -> None:
    history: list[Any] = []
    counts = Counts()
    inner = tg.jit(counts)
    kept = tg.jit(lambda x: (history.append(np.sum(x)), x * 2)[1])
    outer = tg.jit(lambda x: inner(x) + np.sum(kept(x)) + inner(kept(x)))
    total = 0
    for k in range(3):
        assert outer(X) == 5.0 * (2 * k + 1) + 6.0 + 20.0 * (2 * k + 2)
        total += 2
    assert counts.n == total
    assert inner(X) == 5.0 * 7
    assert history == [3.0] * 6


def test_a_call_that_fails_changes_nothing() -> None:
    n = 0

    @tg.jit
    def f(x: Any, k: Any) -> Any:
        nonlocal n
        n += 1
        return x[k] * n

    assert f(X, np.int64(0)) == 1.0
    for _ in range(2):
        with pytest.raises(IndexError):
            f(X, np.int64(9))
    assert n == 1
    assert f(X, np.int64(1)) == 4.0


def test_an_error_while_tracing_changes_nothing() -> None:
    state: dict[str, Any] = {"n": 0, "log": []}

    def f(x: Any) -> Any:
        state["n"] += 1
        state["log"].append(x)
        raise KeyError("of the user")

    with pytest.raises(KeyError, match="of the user"):
        tg.jit(f)(X)
    assert state == {"n": 0, "log": []}


def test_threads_count_together() -> None:
    counts = Counts()
    compiled = tg.jit(counts)
    found: list[float] = []

    def run() -> None:
        found.extend(float(compiled(np.ones(1))) for _ in range(100))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == list(map(float, range(1, 401)))
    assert counts.n == 400


class Net(tg.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tg.nn.Parameter(tg.tensor([0.2, 0.3]))
        self.h = tg.zeros(2)
        self.calls = 0
        self.last: Any = None

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.h = (x * self.w + self.h).tanh()
        self.last = self.h.detach() * self.calls
        return (self.h * self.calls).sum()


@pytest.mark.parametrize("carried", [True, False], ids=["state with its history", "detached"])
def test_a_module_keeps_state_through_backward(carried: bool) -> None:
    runs = []
    for way in (lambda m: m, tg.jit):
        net = Net()
        f = way(net)
        out = []
        for _ in range(3):
            loss = f(tg.ones(2))
            if not carried:
                loss.backward()
                net.h = net.h.detach()
            out += [loss.detach(), net.h.detach(), net.last]
        if carried:
            loss.backward()
        runs.append([*out, net.w.grad, net.calls])
    compare(*reversed(runs))


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("direct", [True, False], ids=["itself", "in a model"])
def test_batch_norm_counts_batches(momentum: float | None, direct: bool) -> None:
    runs = []
    for way in (lambda m: m, tg.jit):
        norm = tg.nn.BatchNorm1d(3, momentum=momentum)  # type: ignore[arg-type]
        f = way(norm if direct else tg.nn.Sequential(norm))
        rng = np.random.default_rng(0)
        for _ in range(4):
            f(tg.tensor(rng.normal(size=(4, 3))))
        runs.append([norm.running_mean, norm.running_var, norm.num_batches_tracked.item()])
    compare(*reversed(runs))


class Own(tg.optim.Optimizer):
    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, closure: Any = None) -> None:
        with tg.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["step"], state["m"] = 0, tg.zeros_like(p)
                    state["step"] += 1
                    state["m"].mul_(0.9).add_(p.grad)
                    p.add_(state["m"], alpha=-group["lr"] / state["step"])
                    p.addcdiv_(state["m"], tg.ones_like(p), value=-0.01 / state["step"])


def in_a_dict(w: Any) -> Callable[[], None]:
    s: dict[str, Any] = {"step": 0}

    def step() -> None:
        with tg.no_grad():
            s["step"] += 1
            w.add_(w.grad, alpha=-0.1 / s["step"])

    return step


def of_the_class(w: Any) -> Callable[[], None]:
    return Own([w], lr=0.1).step


@pytest.mark.parametrize("make", [in_a_dict, of_the_class], ids=lambda f: f.__name__)
def test_an_optimizer_of_ones_own(make: Any) -> None:
    runs = []
    for way in (lambda f: f, tg.jit):
        w = tg.tensor([1.0, 2.0], requires_grad=True)
        update = make(w)

        def step(x: Any, w: Any = w, update: Any = update) -> Any:
            w.grad = None
            loss = ((w * x) ** 2).sum()
            loss.backward()
            update()
            return loss

        f = way(step)
        with counted_traces() as traces:
            runs.append([*[f(tg.ones(2)).detach() for _ in range(6)], w.detach()])
        assert len(traces) <= 5
    compare(*reversed(runs))


# --- containers among the arguments ------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    n: int
    m: Any


def count_in_a_dict(x: Any, s: Any) -> Any:
    s["n"] += 1
    return x * s["n"]


def replace_an_array(x: Any, s: Any) -> Any:
    s["m"] = s["m"] * 0.5 + x
    return s["m"] * 1.0


def set_fields(x: Any, s: Any) -> Any:
    s.n += 1
    s.m = s.m + x
    return s.m * s.n


def append_to_a_list(x: Any, s: Any) -> Any:
    s.append(np.sum(x) * len(s))
    return x


def deeper(x: Any, s: Any) -> Any:
    s["a"][0] = s["a"][0] + x
    s["b"] = 7
    return s["a"][0] * 1.0


GIVEN: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (count_in_a_dict, lambda: {"n": 0}),
    (replace_an_array, lambda: {"m": np.zeros(2)}),
    (set_fields, lambda: State(0, np.zeros(2))),
    (append_to_a_list, lambda: [1.0]),
    (deeper, lambda: {"a": [np.zeros(2)]}),
]


@pytest.mark.parametrize(("f", "state"), GIVEN, ids=lambda f: f.__name__ if f.__name__ != "<lambda>" else "")
def test_arguments_that_hold_state(f: Any, state: Any) -> None:
    given, plain = state(), state()
    compiled = tg.jit(f)
    for _ in range(4):
        compare(compiled(X, given), f(X, plain))
        compare(*[vars(s) if isinstance(s, State) else s for s in (given, plain)])


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2.0), np.float32(2.0)], ids=repr)
@pytest.mark.parametrize("way", [tg.jit, tg.grad, lambda f: lambda n: tg.jvp(f, (n,), (n,))[0]], ids=["jit", "grad", "jvp"])
def test_a_number_is_replaced_and_not_written(number: Any, way: Any) -> None:
    def f(n: Any) -> Any:
        m = n
        m += 1.0
        s = np.sum(n * n)
        t = s
        t *= 2.0
        return n * n + s * t

    if way is tg.grad:
        if not isinstance(number, int):
            np.testing.assert_allclose(way(f)(number), 2 * number + 8 * number**3)
        return
    for _ in range(3):
        np.testing.assert_allclose(tg.jit(f)(number), f(number))
        np.testing.assert_allclose(way(f)(number if way is tg.jit else float(number)), f(number))


def test_an_array_without_axes_is_written() -> None:
    def f(total: Any) -> Any:
        total += 1.0
        return total * 1.0

    total = np.array(1.0)
    compiled = tg.jit(f)
    assert [float(compiled(total)) for _ in range(3)] == [2.0, 3.0, 4.0]
    assert total == 4.0
    assert compiled(np.float64(1.0)) == 2.0


# --- what is read around a function and changed by others --------------------------------------------------------------------------

SCALE = 2.0


class Reads:
    def __init__(self) -> None:
        self.config = {"a": {"b": {"c": {"d": {"e": {"rate": 1.0}}}}}}
        self.rate = 1.0

    def helper(self, x: Any) -> Any:
        return x * SCALE

    def __call__(self, x: Any) -> Any:
        return self.helper(x) * self.rate * self.config["a"]["b"]["c"]["d"]["e"]["rate"]


@pytest.mark.parametrize(
    "way",
    [
        lambda r: tg.jit(r),
        lambda r: tg.jit(r.__call__),
        lambda r: tg.jit(lambda x: r(x)),
        lambda r: functools.partial(tg.jit(lambda x, r: r(x), static_argnames="r"), r=r),
    ],
    ids=["the object", "its method", "a function around", "a static argument"],
)
def test_numbers_that_others_change_are_read_at_each_call(way: Any) -> None:
    global SCALE
    reads = Reads()
    f = way(reads)
    try:
        assert f(1.0) == 2.0
        SCALE = 3.0
        assert f(1.0) == 3.0
        reads.rate = 2.0
        assert f(1.0) == 6.0
        reads.config["a"]["b"]["c"]["d"]["e"]["rate"] = 5.0
        assert f(1.0) == 30.0
    finally:
        SCALE = 2.0


def test_parameters_that_are_replaced_in_a_jitted_module() -> None:
    net = tg.nn.Linear(2, 1)
    f = tg.jit(net)
    f(tg.ones(2))
    net.weight = tg.nn.Parameter(tg.ones(1, 2))
    net.bias = tg.nn.Parameter(tg.zeros(1))
    compare(f(tg.ones(2)).detach(), tg.tensor([2.0]))


def test_a_number_is_no_key() -> None:
    with pytest.raises(TypeError, match="cannot be hashed"):
        tg.jit(lambda n: {1: 2.0}.get(n, 3.0))(1)
