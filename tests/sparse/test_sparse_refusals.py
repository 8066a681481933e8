"""What sparse derivatives refuse: structures that are no more, and derivatives that are dense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import DTypeError, TracegradError

X = np.linspace(0.1, 1.0, 12)
WAY = {"wide": True}
"""Which branch the functions take."""


def residuals(x: Any) -> Any:
    return x[1:] * x[:-1] if WAY["wide"] else x[1:] ** 2 * 3.0


def loss(x: Any) -> Any:
    return np.sum(residuals(x) ** 2) + np.sum(x**3)


class Case(NamedTuple):
    """A sparse derivative, and its arguments for an x."""

    make: Callable[..., Any]
    args: Callable[[Any], tuple[Any, ...]] = lambda x: (x,)


CASES = {
    "jacobian": Case(lambda **k: tg.sparse_jacobian(residuals, **k)),
    "hessian": Case(lambda **k: tg.sparse_hessian(loss, **k)),
    "lower": Case(lambda **k: tg.sparse_hessian(loss, lower=True, **k)),
    "lagrangian": Case(
        lambda **k: tg.hessian_of_lagrangian(loss, residuals, **k),
        lambda x: (x, np.ones(x.size - 1), 0.5),
    ),
    "colours": Case(lambda **k: tg.sparse_jacobian(residuals, method="columns", **k)),
}


@pytest.fixture(autouse=True)
def _wide() -> Any:
    yield
    WAY["wide"] = True


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_structures_that_are_no_more(case: Case) -> None:
    """Values for another branch or another size are never written where others were expected; with
    `structure` called again they are, at the right places."""
    made, args = case.make(), case.args
    kept = made.structure(*args(X))
    out = np.full(len(kept), np.nan)
    made.values(*args(X), out=out)
    made.values(*args(X), out=out)  # the quick way
    filled = out.copy()

    WAY["wide"] = False
    for given in ({"out": out}, {}):
        with pytest.raises(TracegradError, match=r"changed since .*Call structure again"):
            made.values(*args(X), **given)
    np.testing.assert_array_equal(out, filled)
    assert made(*args(X)).shape == kept.shape  # a matrix brings its own places
    again = made.structure(*args(X))
    assert not kept.same(again)
    dense = np.zeros(kept.shape)
    dense[again.rows, again.columns] = made.values(*args(X))
    np.testing.assert_array_equal(dense, made(*args(X)).toarray())

    WAY["wide"] = True
    made.structure(*args(X))
    for given in ({"out": out}, {}):
        with pytest.raises(TracegradError, match="was taken for a matrix of shape"):
            made.values(*args(X[:9]), **given)
    np.testing.assert_array_equal(out, filled)
    small = made.structure(*args(X[:9]))
    assert len(made.values(*args(X[:9]))) == len(small) < len(kept)
    with pytest.raises(ValueError, match=f"vector of {len(small)} numbers"):
        made.values(*args(X[:9]), out=out)
    # The first size is still known.
    np.testing.assert_array_equal(made.values(*args(X), out=np.empty(len(out))), filled)


def test_as_many_entries_elsewhere() -> None:
    """Neither the number of entries nor the size of the buffer tells these apart."""
    J = tg.sparse_jacobian(lambda x: np.diff(x, axis=-1))
    kept = J.structure(np.zeros((2, 3)))
    J.values(np.zeros((2, 3)), out=np.empty(len(kept)))
    assert len(kept) == 8
    with pytest.raises(TracegradError, match="Call structure with these arguments"):
        J.values(np.zeros((4, 2)), out=np.empty(8))
    single = J.values(np.zeros((2, 3), np.float32))  # of the same places
    assert single.dtype == np.float32
    fresh = tg.sparse_jacobian(np.diff)
    fresh.values(X)
    fresh.values(X[:5])  # no structure was taken


def test_frozen_functions() -> None:
    """A function for compiled code keeps what it read, and takes no other sizes."""
    H = tg.sparse_hessian(loss, lower=True)
    run, kept = H.njit(X), H.structure(X)
    WAY["wide"] = False
    before = run(X)
    assert len(before) == len(kept)
    with pytest.raises(ValueError, match="size 12"):
        run(X[:9])
    with pytest.raises(TracegradError, match="changed"):
        H.values(X)
    now = H.structure(X)
    with pytest.raises(ValueError, match="vector"):
        H.values(X, out=np.empty((len(now), 1)))
    with pytest.raises(DTypeError, match="float32"):
        H.values(X, out=np.empty(len(now), np.float32))


def test_arguments_that_decide_are_not_frozen() -> None:
    """Compiled code would write the values of other entries at other indices."""
    J = tg.sparse_jacobian(lambda x, i: x[i] ** 2)
    i = np.array([1, 2, 3])
    for call in (J.njit, J.traceable):
        with pytest.raises(TracegradError, match="decides by its values"):
            call(X, i)
    assert J.structure(X, i).columns.tolist() == [1, 2, 3]
    with pytest.raises(TracegradError, match="changed"):
        J.values(X, i + 1)


@pytest.mark.parametrize(("start", "to"), [(0, 0), (1, 0), (0, 1), (10, 3)])
def test_a_buffer_that_is_the_argument(start: int, to: int) -> None:
    """Values are those of the argument as it was, though they are written over it."""
    J = tg.sparse_jacobian(np.square)
    for again in range(3):  # the later calls are those of a known signature
        memory = np.arange(22.0)
        x, out = memory[start : start + 12], memory[to : to + 12]
        if again:
            J.values(x.copy(), out=np.empty(12))
        wanted = 2 * x
        assert J.values(x, out=out) is out
        np.testing.assert_array_equal(out, wanted)


def dense_residuals(x: Any) -> Any:
    return x / np.sum(x)


def dense_loss(x: Any) -> Any:
    return np.sum(x) ** 3


N = 70_000
DENSE = {
    "jacobian": Case(lambda: tg.sparse_jacobian(dense_residuals)),
    "solve": Case(lambda: tg.sparse_jacobian(lambda x: np.cumsum(np.sort(x)))),
    "hessian": Case(lambda: tg.sparse_hessian(dense_loss)),
    "lagrangian": Case(
        lambda: tg.hessian_of_lagrangian(lambda x: np.sum(x**2), lambda x: np.sin(np.sum(x))),
        lambda x: (x, 1.0, 1.0),
    ),
    "columns": Case(lambda: tg.sparse_jacobian(dense_residuals, method="columns")),
}


@pytest.mark.parametrize("case", DENSE.values(), ids=DENSE)
def test_dense_ones(case: Case) -> None:
    """By every way in: how many entries, how many bytes, and what to do, in no time and before any
    memory is asked for."""
    made, args = case.make(), case.args(np.ones(N))
    message = r"[0-9,]{13} entries for 70,000 rows.*\d\d\.\d GiB.*tg.jvp, tg.vjp.*limit="
    for call in (
        lambda: made(*args),
        lambda: made.structure(*args),
        lambda: made.values(*args, out=np.empty(3)),
        lambda: made.pattern(*args),
        lambda: made.njit(*args),
    ):
        with pytest.raises(TracegradError, match=message):
            call()
