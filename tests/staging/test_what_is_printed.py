"""What a program prints, its compiled form prints: the same lines in the same order, at each
call."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ConcretizationError, TracegradError

X = np.array([1.5, -2.0, 3.25])


def lines(f: Callable[..., Any], *args: Any) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f(*args)
    return out.getvalue().splitlines()


def program(x: Any) -> Any:
    print("start", x, sep=": ")
    total, n = 0.0, len(x)
    for i in range(n):
        if x[i] > 0:
            print("pos", i, x[i], f"{x[i]:.3f}|{i:03d}|{x[i]!r:>12}")
            total += x[i] ** 2
        else:
            print("neg %d of %s is %6.2f%%" % (i, n, x[i]))  # noqa: UP031
    while total > 1:
        print("{} {v:.1e}".format(total > 4, v=total), end=";\n")  # noqa: UP032
        total = total / 4
    print("end", [total, (x[0],)], {"a": x[1], "b": "text"}, 1, None)
    return total


WAYS: dict[str, Callable[[], Any]] = {
    "jit": lambda: tg.jit(program),
    "jit of grad": lambda: tg.jit(tg.grad(program)),
    "grad of jit": lambda: tg.grad(tg.jit(program)),
    "jit of jit and jvp": lambda: tg.jit(lambda x: tg.jvp(tg.jit(program), (x,), (x,))),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_what_python_prints(way: str) -> None:
    """The first call, a second one (through the caller that was written), other values."""
    f = WAYS[way]()
    for x in (X, X, -X, np.array([0.5, 7.0, 1.0])):
        assert lines(f, x) == lines(program, x)


def test_eager_gradients_print_at_once() -> None:
    found = [line for line in lines(tg.grad(program), X) if "array" not in line]
    assert found == [line for line in lines(program, X) if "np.float64" not in line]


@pytest.mark.parametrize("compiled", [False, True])
def test_items_of_a_batch_one_after_the_other(compiled: bool) -> None:
    f = tg.vmap(program)
    batch = np.stack([X, -X, 2 * X])
    found = lines(tg.jit(f) if compiled else f, batch)
    assert found == [line for x in batch for line in lines(program, x)]


def test_second_sizes_and_dtypes() -> None:
    f = tg.jit(program)
    for x in (X, np.linspace(-1, 2, 5), np.linspace(-1, 2, 7), X.astype(np.float32)):
        assert lines(f, x) == lines(program, x)


def test_values_are_those_of_that_moment() -> None:
    """Arrays and numbers that change later, of every kind."""

    def changes(x: Any) -> Any:
        y = np.zeros(2, np.complex128)
        k = x.astype(np.int32)
        for i in range(2):
            print(y, k, k[0], x[0] > i, y[i])
            y[i] = x[i] + 1j
            k += 1
        print(y, k, x.reshape(1, -1), x[:0])
        return y

    assert lines(tg.jit(changes), X) == lines(changes, X)


def test_only_the_last_lines_of_many() -> None:
    def many(x: Any) -> Any:
        while x < 3000:
            x = x + 1
            print("a", x)
            if x > 2998:
                print("b", x)
        print("done")
        return x

    found = lines(tg.jit(many), 0.0)
    everything = lines(many, np.float64(0.0))
    assert found[0] == "... 1,976 lines before this one are left out"
    assert found[1:] == everything[-1027:]


def test_before_an_exception() -> None:
    def failing(x: Any) -> Any:
        for i in range(len(x)):
            print(i, x[i])
            if x[i] < 0:
                raise ValueError("negative")
            print("fine")
        print("not here")
        return x[0]

    expected, found = [], []
    for f, seen in ((failing, expected), (tg.jit(failing), found)):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), pytest.raises(ValueError, match="negative"):
            f(X)
        seen.append(out.getvalue())
    assert found == expected


def test_in_conditions_and_helpers() -> None:
    def goes(t: Any) -> Any:
        print("is it?", t)
        return t < 20

    def search(x: Any) -> Any:
        t = x[0]
        while goes(t):
            t = t * 2
        return t if goes(t - 20) and goes(t) else -t

    assert lines(tg.jit(tg.grad(search)), X) == lines(search, X)


def test_what_a_condition_changes_lasts() -> None:
    """A `while` whose condition writes, binds and raises."""
    counts = {"calls": 0}

    def passes(x: Any) -> Any:
        seen = np.zeros(2)
        counts["calls"] = 0 * x[0]

        def goes(t: Any) -> Any:
            counts["calls"] += 1.0
            seen[0] += t
            if t > 50:
                raise OverflowError("far")
            return t < 20

        t = x[0]
        while goes(t):
            t = t * 2
        return t * counts["calls"] + seen[0]

    for factor in (1.0, 1.1):
        expected = passes(factor * X)
        np.testing.assert_allclose(tg.jit(passes)(factor * X), expected, rtol=1e-14)
    with pytest.raises(OverflowError, match="far"):
        tg.jit(passes)(100 * X)


def test_streams(capsys: pytest.CaptureFixture[str]) -> None:
    @tg.jit
    def f(x: Any) -> Any:
        print("out", x[0], file=sys.stdout)
        print("err", x[0], file=sys.stderr, flush=True)
        return x

    f(X)
    f(X)
    assert capsys.readouterr() == ("out 1.5\n" * 2, "err 1.5\n" * 2)


def test_tensors() -> None:
    f = tg.jit(lambda t: (print(t, t[0]), t.sum())[1])
    t = tg.tensor(X, requires_grad=True)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f(t).backward()
    assert out.getvalue() == "tensor([ 1.5000, -2.0000,  3.2500]) tensor(1.5000)\n"
    np.testing.assert_array_equal(np.asarray(t.grad), np.ones(3))


# --- debug_print ----------------------------------------------------------------------------------


def shown(x: Any) -> Any:
    tg.debug_print("x = {}, {:.2f} {{}} {y[0]!r}", x, x[0], y=x)
    s = x[0]
    if s > 0:
        s = s * x[1]
        tg.debug_print(f"s = {s:.1f}")
    tg.debug_print("no value")
    return s


def test_debug_print() -> None:
    expected = [
        "x = [ 1.5  -2.    3.25], 1.50 {} np.float64(1.5)",
        "s = -3.0",
        "no value",
    ]
    for f in (shown, tg.jit(shown), tg.jit(tg.grad(shown)), lambda x: tg.vmap(shown)(x[None])):
        assert lines(f, X) == expected
    assert [x.replace("array(1.5)", "np.float64(1.5)") for x in lines(tg.grad(shown), X)] == (
        expected
    )
    assert lines(tg.jit(tg.vmap(shown)), np.stack([X, X])) == 2 * expected


def test_it_is_dropped_nowhere() -> None:
    """Nothing reads what is printed; derived graphs print once; texts stay in the graph."""
    graph = tg.jit(lambda x: (tg.debug_print("{}", x * 3), x)[1]).graphs(X)[-1]
    assert [n.op.name for n in graph.nodes].count("show") == 1
    f = tg.jit(tg.value_and_grad(lambda x: (tg.debug_print("{}", x.sum()), np.sum(x * x))[1]))
    assert lines(f, X) == lines(f, X) == ["2.75"]


def test_texts_of_a_second_process() -> None:
    """Kernels know nothing of what is printed: equal ones serve functions that print other
    texts."""
    found = [lines(tg.jit(lambda x, k=k: (tg.debug_print(k + " {}", x), x)[1]), X) for k in "ab"]
    assert found == [["a [ 1.5  -2.    3.25]"], ["b [ 1.5  -2.    3.25]"]]


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "a body of scan": (
        lambda x: tg.fori_loop(0, 2, lambda i, c: (tg.debug_print("{}", c), c)[1], x),
        TracegradError,
        r"test_what_is_printed.py:\d+: a body or branch that is given to a function of tracegrad's",
    ),
    "a file": (
        lambda x: (print(x, file=io.StringIO()), x)[1],
        ConcretizationError,
        r"test_what_is_printed.py:\d+: print\(..., file=...\)",
    ),
    "a text elsewhere": (
        lambda x: (len(f"{x}"), x)[1],
        ConcretizationError,
        r"test_what_is_printed.py:\d+: a text",
    ),
    "a format of other values": (
        lambda x: (tg.debug_print("{:d}", x[0]), x)[1],
        ValueError,
        "Unknown format code 'd'",
    ),
    "no text": (lambda x: (tg.debug_print(x), x)[1], TypeError, "takes a text first, not Array"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    f, kind, text = REFUSED[what]
    with pytest.raises(kind, match=text):
        tg.jit(f)(X)


def test_functions_for_others_do_not_print() -> None:
    f = tg.jit(shown)
    with pytest.raises(TracegradError, match="prints, which C cannot"):
        f.cfunc(X)
    with pytest.raises(TracegradError, match="prints, which a function for Numba cannot"):
        f.njit(X)


@pytest.mark.parametrize("text", ["{y}", "{} {}"])
@pytest.mark.parametrize("way", [lambda f: f, tg.jit])
def test_places_without_a_value(text: str, way: Any) -> None:
    with pytest.raises(TypeError, match=r"py:\d+: debug_print: the text .* no value is given"):
        way(lambda x: tg.debug_print(text, x))(1.0)
