"""Programs that cannot become a graph: each is refused with the user's line, the reason, and what
to do."""

# ruff: noqa: B007, F841, PERF401, RET503 - as people write them
from __future__ import annotations

import inspect
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import TracegradError

X = np.array([1.45, -0.45, 2.55, 0.3])
AROUND = np.zeros(3)
LIST: list[Any] = []
REFUSED: dict[Callable[..., Any], str] = {}


def refused(message: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A program that is refused with this message, at the line that ends with `# here`."""

    def note(f: Callable[..., Any]) -> Callable[..., Any]:
        REFUSED[f] = message
        return f

    return note


@refused("'y' is read here, but the branch .* where the condition does not hold")
def one_branch(x: Any) -> Any:
    if x[0] > 0:
        y = x[1]
    return y  # here


@refused("'y' is read here, but the branch .* unbound where the condition holds")
def other_branch(x: Any) -> Any:
    if x[0] > 0:
        pass
    else:
        y = x[1]
    return y + 1  # here


@refused("'y' is read here, but the loop .* may end without having bound it")
def no_pass(x: Any) -> Any:
    for i in range(int(x[0])):
        y = x[0] * i
    return y  # here


@refused("'i' is read here, but the loop")
def loop_variable(x: Any) -> Any:
    for i in range(int(x[0])):
        pass
    return x[0] * i  # here


@refused("'y' is read here, but the loop")
def while_bound(x: Any) -> Any:
    t = x[0]
    while t < 3:
        t = t * 2
        y = t
    return y  # here


@refused("'y' is read here, but the branch")
def unbound_in_augment(x: Any) -> Any:
    if x[0] > 0:
        y = x[1]
    y += 1  # here
    return y


@refused("'y' is read here, but the branch")
def unbound_in_closure(x: Any) -> Any:
    if x[0] > 0:
        y = x[1]
    return (lambda: y)()  # here


@refused("'y' is read here, but the branch")
def nested_unbound(x: Any) -> Any:
    if x[0] > 0:
        if x[1] > 0:
            y = x[1]
        else:
            z = 1.0
    else:
        y = x[2]
    return y  # here


@refused("SimpleNamespace.v is set in one branch .* Set it before")
def attr_one_branch(x: Any) -> Any:
    o = types.SimpleNamespace()
    if x[0] > 0:  # here
        o.v = x[1]
    return o.v


@refused(r"dict\['v'\] is set in one branch .* Set it before")
def key_one_branch(x: Any) -> Any:
    d = {}
    if x[0] > 0:  # here
        d["v"] = x[1]
    return d["v"]


@refused(r"y has the shape \(4,\) where .* make the shapes agree")
def shapes_branch(x: Any) -> Any:
    if x[0] > 0:  # here
        y = x
    else:
        y = x[:2]
    return np.sum(y)


@refused("y is a tuple .* where the condition holds and a number")
def forms_branch(x: Any) -> Any:
    if x[0] > 0:  # here
        y = (x[0], x[1])
    else:
        y = x[0]
    return y


@refused("what the function returns is a number .* and None")
def none_or_value(x: Any) -> Any:
    if x[0] > 0:  # here
        return x[0]


@refused("k is .a. where .* which a graph cannot choose. Give each a number")
def string_branch(x: Any) -> Any:
    if x[0] > 0:  # here
        k = "a"
    else:
        k = "b"
    return {"a": x[0], "b": x[1]}[k]


@refused("g is a ufunc .* which a graph cannot choose")
def function_branch(x: Any) -> Any:
    if x[0] > 0:  # here
        g = np.sin
    else:
        g = np.cos
    return g(x[1])


@refused("a str is appended to p")
def list_of_texts_branch(x: Any) -> Any:
    if x[0] > 0:  # here
        p = [x[0]]
    else:
        p = ["a", x[1]]
    return p[0]


@refused("p is a list .* and a tuple")
def type_branch(x: Any) -> Any:
    if x[0] > 0:  # here
        p = [x[0]]
    else:
        p = (x[0],)
    return p[0]


@refused("p is a dict .* values of one form")
def dict_keys_branch(x: Any) -> Any:
    if x[0] > 0:  # here
        p = {"a": x[0]}
    else:
        p = {"b": x[0]}
    return p["a"]


@refused(r"y has the shape \(4,\) before a pass of this loop and \(8,\) after it. Start with")
def shape_while(x: Any) -> Any:
    y = x
    while np.sum(y) < 10:  # here
        y = np.concatenate([y, x])
    return np.sum(y)


@refused(r"y has the shape \(4,\) before a pass")
def shape_for(x: Any) -> Any:
    y = x
    n = int(x[2])
    for i in range(n):  # here
        y = np.append(y, x[0])
    return np.sum(y)


@refused("y is of another form after a pass")
def form_while(x: Any) -> Any:
    y = x[0]
    while np.sum(y) < 10:  # here
        y = (y, x[0])
    return y


@refused("k holds 'ab' after a pass .* cannot carry")
def string_while(x: Any) -> Any:
    k = "a"
    t = x[0]
    while t < 5:  # here
        t = t * 2
        k = k + "b"
    return t * len(k)


@refused("best is of another form after a pass")
def none_while(x: Any) -> Any:
    best = None
    t = x[0]
    while t < 5:  # here
        t = t * 2
        if best is None or t > best:
            best = t
    return best


@refused("a dict is read at a key that is not known .* Use an array")
def dict_by_value(x: Any) -> Any:
    d = {0: x[0], 1: x[1:], 2: x[2]}
    return d[int(x[2])]  # here


@refused("a dict is written at a place that is not known .* Use an array")
def dict_write_by_value(x: Any) -> Any:
    d = {0: 0.0, 1: 0.0, 2: 0.0}
    d[int(x[2])] = x[1]  # here
    return d[2]


@refused("a tuple of unlike things is read at a place that is not known .* Use an array")
def tuple_by_value(x: Any) -> Any:
    return ("a", "b", "c")[int(x[2])]  # here


@refused("a list of unlike things is read")
def functions_by_value(x: Any) -> Any:
    return [np.sin, np.cos, np.tan][int(x[2])](x[0])  # here


@refused("a list is cut at a place that is not known .* Make it an array")
def list_slice_by_value(x: Any) -> Any:
    p = [x[0], x[1], x[2]]
    return sum(p[: int(x[2])])  # here


@refused("a text .* tg.debug_print")
def str_of_traced(x: Any) -> Any:
    d = {"1.45": 3.0}
    return d.get(str(x[0]), 1.0) * x[0]  # here


@refused("a dict is written at a place that is not known")
def int_key_store(x: Any) -> Any:
    d = {}
    for i in range(int(x[2])):
        d[i] = x[i]  # here
    return d[0]


@refused(
    "'list.append' in a branch or loop .* Collect values in a list that the function itself begins"
)
def outside_list(x: Any) -> Any:
    for i in range(int(x[2])):
        LIST.append(x[i])  # here
    return x[0]


@refused("'set.add' in a branch or loop")
def outside_set(x: Any) -> Any:
    s = set()
    for i in range(int(x[2])):
        s.add(i)  # here
    return len(s) * x[0]


@refused("a str is appended to s in a loop")
def pop_unlike(x: Any) -> Any:
    s = ["a", x[0], x[1]]
    t = 0.0
    while t < 1:  # here
        s.pop()
        t = t + x[0]
    return t


@refused("a list is put into s")
def put_list(x: Any) -> Any:
    s = []
    row = [x[0], x[1]]
    for i in range(int(x[2])):
        s.append([x[0], x[i]])
        s[i] = row  # here
    return s[0][0]


@refused("'del' in a branch or loop")
def del_in_branch(x: Any) -> Any:
    d = {"a": x[0], "b": x[1]}
    if x[0] > 0:
        del d["a"]  # here
    return d["b"]


@refused(r"the result has the shape \(2,\) where")
def append_unlike(x: Any) -> Any:
    p = []
    for i in range(int(x[2])):
        p.append(x[:2] if i > 0 else x)  # here
    return p[0][0]


@refused("plain array of shape .* made elsewhere .* np.zeros_like")
def write_outside(x: Any) -> Any:
    AROUND[0] = x[0]  # here
    return AROUND[0] * 2


@refused("stands in a 'try', .* Compute the value outside")
def try_around(x: Any) -> Any:
    try:
        if x[0] > 0:  # here
            return x[0]
    except ValueError:
        return 2.0
    return 1.0


@refused("stands in a 'try', .* Compute the value outside")
def try_raise(x: Any) -> Any:
    try:
        if x[0] > 0:  # here
            raise ValueError("no")
        return 1.0
    except ValueError:
        return x[0]


@refused("a 'with' .* Compute the value outside")
def with_lock(x: Any) -> Any:
    with threading.Lock():
        if x[0] > 0:  # here
            y = x[1]
        else:
            y = x[2]
    return y


@refused("this condition .* stands in a .*'match'")
def match_traced(x: Any) -> Any:
    match {"v": x[0]}:
        case {"v": v, **others}:
            if v > 0:  # here
                return x[1] * len(others)
    return x[2]


@refused("a Python condition .* needs the value")
def gen_with_condition(x: Any) -> Any:
    def g() -> Iterator[Any]:
        for v in x:
            if v > 0:  # here
                yield v

    return sum(g())


@refused("truth value of an array .* Use a.any")
def array_truth(x: Any) -> Any:
    if x > 0:  # here
        return x[0]
    return x[1]


@refused("truth value of an array .* Use a.any")
def array_truth_while(x: Any) -> Any:
    while x > 0:  # here
        x = x - 1
    return x[0]


@refused("truth value of an array .* Use a.any")
def array_and(x: Any) -> Any:
    return x[0] if (x > 0 and x < 2) else x[1]  # here


@refused("truth value of an array .* Use a.any")
def array_chain(x: Any) -> Any:
    return x[0] if 0 < x < 2 else x[1]  # here


@refused("the stop of a slice must be an integer")
def float_slice(x: Any) -> Any:
    return np.sum(x[: x[2]])  # here


@refused("the step of a range.* before the try")
def traced_step(x: Any) -> Any:
    s, k = 0.0, int(x[2])
    try:
        for i in range(0, 4, k):  # here
            s += x[i]
    except ValueError:
        return -1.0
    return s


@refused(r"int\(\) takes a real number, .* take its .real")
def int_complex(x: Any) -> Any:
    return int(x[0] + 1j) * x[0]  # here


@refused("a traced .* array cannot be hashed: .* Compare with ==")
def hash_traced(x: Any) -> Any:
    return {x[0]: 1.0}[x[0]] * x[1]  # here


@pytest.mark.parametrize("stage", ["auto", True])
@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_refused_with_line_and_reason(
    f: Callable[..., Any], stage: Any, request: pytest.FixtureRequest
) -> None:
    if stage == "auto" and [*REFUSED].index(f) % 3 and request.config.getoption("--soak") < 1:
        pytest.skip("give --soak 1 for all programs in both ways")
    lines, first = inspect.getsourcelines(f)
    (line,) = [first + k for k, text in enumerate(lines) if text.rstrip().endswith("# here")]
    kinds = (TracegradError, TypeError, IndexError)
    with pytest.raises(kinds, match=rf"^test_illegal_programs.py:{line}: .*{REFUSED[f]}"):
        tg.jit(f, stage=stage).graphs(X)
    np.testing.assert_array_equal(AROUND, 0.0)
    assert not LIST
