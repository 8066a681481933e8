"""What is no C function is refused at the call, with what it got and what it wants."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.5, -0.25, 1.5])


@tg.jit
def cubed(x):
    return np.sin(x) ** 3


@tg.jit
def energy(x):
    return np.sum(np.exp(x) * np.cos(x))


@tg.jit
def solved(a, b):
    return np.linalg.solve(a, b)


@tg.jit
def taken(x, k):
    return x[k]


class Counter:
    count = 0.0


def counting(x):
    Counter.count = Counter.count + x
    return x


def writing(x):
    x[0] = 1.0
    return x


REFUSED = {
    "unknown signature": (energy, (X,), {"signature": "qaud"}, ValueError, "did you mean 'quad'"),
    "no text": (energy, (X,), {"signature": 3}, ValueError, "no signature 3"),
    "unknown option": (energy, (X,), {"constraints": energy}, TypeError, "no option constraints"),
    "an argument by name": (taken, (X,), {"k": 1}, TypeError, "k is an argument.*by position"),
    "not scalar": (tg.grad(energy), (X,), {"signature": "quad"}, TypeError, "return one number"),
    "float32": (cubed, (np.float32(1),), {"signature": "quad"}, TypeError, "float32"),
    "an integer": (tg.jit(lambda k: k * 0.5), (1,), {"signature": "quad"}, TypeError, "int64"),
    "a matrix": (tg.jit(np.sum), (np.eye(2),), {"signature": "quad"}, TypeError, "one vector"),
    "a vector where one number goes": (
        energy, (X,), {"signature": "double (double)"}, TypeError, "passes several",
    ),
    "two arguments": (
        solved, (np.eye(2), np.ones(2)), {"signature": "nutpie"}, TypeError, "has 2 arguments",
    ),
    "float32 parameters": (
        energy, (X.astype("f4"),), {"signature": "nutpie"}, TypeError, "make it float64",
    ),
    "a gradient for ipopt": (
        tg.grad(energy), (X,), {"signature": "ipopt"}, TypeError, "must return one number",
    ),
    "constraints that are a number": (
        energy, (X,), {"signature": "ipopt", "constraints": energy}, TypeError, "one vector",
    ),
    "constraints that are no function": (
        energy, (X,), {"signature": "ipopt", "constraints": 3}, TypeError, "must be a function",
    ),
    "a filter of a matrix": (
        tg.jit(np.sum), (np.eye(2),), {"signature": "generic_filter"}, TypeError, "one vector",
    ),
    "a transform of floats": (
        tg.jit(np.sin), (X,), {"signature": "geometric_transform"}, TypeError, "int64",
    ),
    "a right-hand side of an integer time": (
        tg.jit(lambda t, y: y), (1, X), {"signature": "lsoda"}, TypeError, "must be a float",
    ),
    "a right-hand side of another shape": (
        tg.jit(lambda t, y: y[:2]), (1.0, X), {"signature": "sundials"}, TypeError, "of the state",
    ),
    "writes": (tg.jit(writing), (X.copy(),), {}, tg.TracegradError, "writes to its arguments"),
    "changes": (tg.jit(counting), (1.0,), {}, tg.TracegradError, "changes what is around it"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    function, args, options, error, text = REFUSED[case]
    with pytest.raises(error, match=text) as raised:
        function.cfunc(*args, **options)
    assert "test_what_is_refused.py" in str(raised.value)


def test_arrays_that_c_would_misread() -> None:
    """From Python: what C would take for something else, or find the end of, is an error."""
    c = tg.jit(lambda x: (np.sum(x), x * 2)).cfunc(np.ones(4))
    x, value, result = np.arange(4.0), np.zeros(1), np.zeros(4)
    assert c(x, value, result) == 0
    still = np.zeros(4)
    still.setflags(write=False)
    misaligned = np.frombuffer(b"\0" * 33, np.uint8)[1:].view(float)
    for kind, given in [
        (TypeError, (x.astype(np.float32), value, result)),
        (TypeError, (np.arange(4), value, result)),
        (TypeError, (x.astype(">f8"), value, result)),
        (TypeError, (x, value, result.astype(np.float32))),
        (ValueError, (x[:2], value, result)),
        (ValueError, (x[::-1], value, result)),
        (ValueError, (misaligned, value, result)),
        (ValueError, (x, value, np.zeros(2))),
        (ValueError, (x, value, np.zeros(8)[::2])),
        (ValueError, (x, value, still)),
    ]:
        with pytest.raises(kind, match="the array for"):
            c(*given)
