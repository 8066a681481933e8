"""Functions that write into their arguments, given to what calls functions: values and derivatives
are those of Python's own run of it, whoever compiles or differentiates.

What loops hand to their bodies is the bodies' own; what `cond`, `switch` and `checkpoint` are given
is the caller's. (They were not: a `cond` of compiled code lost the writes, eager `scan` wrote into
what it went over, a checkpoint ran again on what its first run had written.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0, 0.5])
T = np.array([1.0, -1.0, 0.5, 2.0])


def chain(x: Any) -> Any:
    x[1:] = x[1:] * x[:-1] * 0.9
    return x


def step(x: Any) -> Any:
    x[0] = x[0] * 1.5
    x[1:] += x[:1]
    return x


def row(total: Any, r: Any) -> Any:
    r[0] = r[0] * total
    total = total + (r**2).sum()
    r[1] = 7.0
    return total, r


def loss(x: Any) -> Any:
    return (step(x) ** 3).sum()


def scanned(rows: Any, **options: Any) -> Any:
    total, ys = tg.scan(row, 0.1, rows, **options)
    return total + (ys * ys).sum() + 3 * rows.sum()


def looped(x: Any, **options: Any) -> Any:
    return (tg.fori_loop(0, 3, lambda k, c: chain(c), x, **options) ** 2).sum() + 3 * x.sum()


def repeated(x: Any, **options: Any) -> Any:
    found = tg.while_loop(lambda c: c[0] < 5, step, x, **options)
    return (found**2).sum() + 3 * x.sum()


def of_two(x: Any) -> Any:
    y = x * 2
    found = tg.cond(x[0] > 0, lambda a, b: loss(a) + b[0], lambda a, b: loss(b), x, y)
    return found + (x * y).sum()


def of_a_tree(x: Any) -> Any:
    d = {"a": x, "b": x * 2}
    return tg.cond(x[0] > 0, lambda d: loss(d["a"]), lambda d: d["b"].sum(), d) + d["a"].sum()


def of_a_view(x: Any) -> Any:
    return tg.cond(x[0] > 0, loss, lambda y: y.sum(), x[1:]) + (x**2).sum()


def alternating(x: Any) -> Any:
    return tg.switch((x[1] > 0) * 1, [lambda y: y.sum(), loss, chain], x) + (x**2).sum()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "checkpoint": lambda x: tg.checkpoint(loss)(x) + (x**2).sum(),
    "checkpoint within one": lambda x: tg.checkpoint(tg.checkpoint(loss))(x) + (x**2).sum(),
    "torch's checkpoint": lambda x: tg.utils.checkpoint.checkpoint(loss, x) + (x**2).sum(),
    "cond": lambda x: tg.cond(x[1] > 0, loss, lambda y: y.sum(), x) + (x**2).sum(),
    "cond not taken": lambda x: tg.cond(x[1] < 0, loss, lambda y: y.sum(), x) + (x**2).sum(),
    "cond of two": of_two,
    "cond of a tree": of_a_tree,
    "cond of a view": of_a_view,
    "scan": lambda x: scanned(np.stack([x, x * 2])),
    "scan of a view": lambda x: scanned(x.reshape(2, 2)) + (x**2).sum(),
    "scan in segments": lambda x: scanned(x.reshape(2, 2), checkpoint=1),
    "fori_loop": looped,
    "fori_loop in segments": lambda x: looped(x, checkpoint=2),
    "while_loop": repeated,
    "while_loop in segments": lambda x: repeated(x, checkpoint=2),
    "linearize": lambda x: tg.linearize(loss, x)[0] + (x**2).sum(),
    "vjp": lambda x: tg.vjp(loss, x)[0] + (x**2).sum(),
    "value_and_grad": lambda x: tg.value_and_grad(loss)(x)[0] + (x**2).sum(),
    "jvp": lambda x: tg.jvp(loss, (x,), (T,))[0] + (x**2).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_python(name: str) -> None:
    f = PROGRAMS[name]
    value, h = f(X.copy()), 1e-6
    slope = sum(
        (f(X + h * t * e) - f(X - h * t * e)) / (2 * h) for t, e in zip(T, np.eye(4), strict=True)
    )
    jitted = tg.jit(f)
    np.testing.assert_allclose(jitted(X.copy()), value, rtol=1e-13)
    ways: dict[str, Callable[[], Any]] = {
        "grad": lambda: tg.grad(f)(X) @ T,
        "grad of jit": lambda: tg.grad(jitted)(X) @ T,
        "jvp": lambda: tg.jvp(f, (X,), (T,))[1],
        "jvp of jit": lambda: tg.jvp(jitted, (X,), (T,))[1],
    }
    for way, found in ways.items():
        np.testing.assert_allclose(found(), slope, rtol=1e-6, err_msg=way)
    # Of the second derivatives one mode is the other one's measure.
    along = tg.jvp(lambda x: tg.grad(f)(x), (X,), (T,))[1]
    np.testing.assert_allclose(tg.grad(lambda x: tg.jvp(f, (x,), (T,))[1])(X), along, rtol=1e-10)


def of_tensors(x: Any) -> Any:
    return tg.cond(x[1] > 0, loss, lambda y: y.sum(), x) + (x**2).sum()


def test_tensors_are_written_as_eagerly() -> None:
    x, y = tg.tensor(X), tg.tensor(X)
    assert float(of_tensors(x)) == pytest.approx(float(tg.jit(of_tensors)(y)), rel=1e-14)
    assert x.tolist() == y.tolist() != X.tolist()


def test_what_a_branch_cannot_write_is_refused() -> None:
    buffer = np.zeros(4)
    with pytest.raises(tg.errors.TracegradError, match="a plain array"):
        tg.jit(lambda x: tg.cond(x[0] > 0, loss, np.sum, buffer))(X.copy())
    assert not buffer.any()
    for other in (lambda x: x, lambda x: x[1:], lambda x: x.reshape(2, 2)):
        with pytest.raises(tg.errors.TracegradError, match="whose memory another one shows"):
            tg.jit(
                lambda x, o=other: tg.cond(
                    x[0] > 0, lambda a, b: loss(a) + b.sum(), lambda a, b: a.sum(), x, o(x)
                )
            )(X.copy())


def test_a_checkpoint_that_writes_what_it_was_not_given() -> None:
    def f(x: Any) -> Any:
        return tg.checkpoint(lambda: loss(x))() + x.sum()

    with pytest.raises(tg.utils.checkpoint.CheckpointError, match="has become another one"):
        tg.grad(f)(X)
