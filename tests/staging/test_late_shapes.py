"""Two arrays of lengths that only a run knows: whether they fit together is known then, too, and an
error as NumPy's says it where they do not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import by_source, differences

X = np.array([0.7, 0.2, 1.1, 0.45, 1.7, 0.3])
Y = np.array([0.3, 0.9, 0.1, 1.3, 0.65, 0.8])
Rule = Callable[[Any, Any], Any]
ERRORS = ValueError, IndexError, TypeError, ZeroDivisionError


def twice(c: Any, d: Any) -> Any:
    e = c * d
    g = np.where(c > d, e, d * 2) + c
    return np.sum(np.exp(-g) * e) + g.size


def crosswise(c: Any, d: Any) -> Any:
    return (c[:, None] * d + np.sin(d[:, None] * c)).sum()


def in_place(c: Any, d: Any) -> Any:
    e = c * 1
    e += d
    e[:] = e * d
    return e.sum()


def into_another(c: Any, d: Any) -> Any:
    out = np.zeros(len(c))
    out[:] = d
    few = np.zeros(3)
    few[...] = c
    few *= d
    return (few * (1 + few)).sum() + out.sum()


def beside_numbers(c: Any, d: Any) -> Any:
    return (c + np.ones(3)).sum() + (d * np.arange(3.0)).max()


def by_masks_again(c: Any, d: Any) -> Any:
    e = (c + d)[c + d > 1]
    z = X * c[0]
    z[z > 0.5] = 2.0
    z[X > 0.6] = d
    return e.sum() + z.sum()


def in_a_branch(c: Any, d: Any) -> Any:
    s = 0.0
    if c[0] > 0.5:
        s = (c + d).sum()
    else:
        s = c.sum()
    return s + (c * d).sum()


RULES: dict[str, Rule] = {
    f.__name__: f
    for f in (
        *(twice, crosswise, in_place, into_another, beside_numbers, by_masks_again),
        in_a_branch,
    )
} | {
    "sum": lambda c, d: (c + d).sum(),
    "matmul": lambda c, d: c @ d,
    "dot": lambda c, d: np.dot(c, d) + np.vdot(d, c),
    "inner": lambda c, d: np.inner(c, d) * np.vecdot(c, d),
    "of matrices": lambda c, d: (np.outer(X, c) @ np.outer(d, Y)).sum(),
    "einsum": lambda c, d: np.einsum("i,i->", c, d),
    "rows": lambda c, d: np.einsum("ij,j->", np.outer(X, c), d),
    "tensordot": lambda c, d: np.tensordot(c, np.outer(d, X), 1).sum(),
    "stack": lambda c, d: (np.stack([c, d], 1) * [1, 2]).sum(),
    "rows of both": lambda c, d: (np.array([c, d]) ** 2).sum(),
    "beside another": lambda c, d: np.column_stack([c, d]).max(initial=0),
    "the larger": lambda c, d: np.maximum(c, d).sum() + np.clip(c, 0.1, d).sum(),
    "alike": lambda c, d: np.broadcast_arrays(c, d)[1].sum(),
    "the same": lambda c, d: np.array_equal(c, d) + 2 * np.array_equal(c, c * 1),
    "lines": lambda c, d: np.interp(0.4, np.sort(c), d),
    "weights": lambda c, d: np.average(c, weights=d) if len(c) else 0.0,
    "in order": lambda c, d: d[np.lexsort((c, d))].sum(),
    "convolution": lambda c, d: np.convolve(c, d) @ np.convolve(d, c),
    "its middle": lambda c, d: np.convolve(c, d, "same").max() + np.convolve(X, c, "same")[2],
    "its inside": lambda c, d: np.convolve(c, [1.0, 2.0], "valid").sum() + np.convolve(c, d)[-1],
    "correlation": lambda c, d: np.correlate(c, d, "same")[0] + np.correlate(d, c).sum(),
    "backwards": lambda c, d: np.correlate(c, d, "full")[0] * np.correlate([1, 2.0], d).max(),
    "covariance": lambda c, d: np.cov(c, d, bias=True).sum() + np.stack([c, d]).size,
    "correlated": lambda c, d: np.nan_to_num(np.corrcoef(c, d)[0, 1]) + np.nan_to_num(np.cov(c)),
    "its size": lambda c, d: np.add(c, d).size,
    "choices": lambda c, d: np.select([c < 0.5, c > 1], [c, d], 0.0).sum(),
}


def above(x: Any, count: int) -> float:
    """A number that so many elements are above."""
    ordered = np.sort(x)[::-1]
    return float([ordered[0] + 1, *(ordered[1:] + ordered[:-1]) / 2, ordered[-1] - 1][count])


def of_both(rule: Rule) -> Callable[..., Any]:
    def f(x: Any, y: Any, p: Any, q: Any) -> Any:
        c = x[x > p]
        d = y[y > q]
        return rule(c, d)

    return f


def cases(*counts: int) -> list[tuple[Any, ...]]:
    return [(X, Y, above(X, m), above(Y, k)) for m, k in product(counts, counts)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", RULES)
def test_values_and_errors(name: str) -> None:
    """One graph for all pairs of lengths; each gives NumPy's value, or an error where NumPy
    does."""
    f = of_both(RULES[name])
    run = by_source(tg.jit(f))
    raised = 0
    for args in cases(0, 1, 2, 3):
        try:
            want = f(*args)
        except ERRORS:
            raised += 1
            with pytest.raises((*ERRORS, AssertionError)):  # the status of source that Python runs
                run(*args)
        else:
            np.testing.assert_allclose(run(*args), want, rtol=1e-12)
    assert raised or name == "the same"


@pytest.mark.parametrize("name", ["twice", "crosswise", "in_place", "into_another", "convolution"])
def test_derivatives(name: str) -> None:
    f = of_both(RULES[name])
    gradient = tg.jit(tg.grad(f))
    for args in cases(1, 3):
        try:
            f(*args)
        except ValueError:
            continue
        np.testing.assert_allclose(gradient(*args), differences(f, *args), rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(tg.grad(tg.jit(f))(*args), gradient(*args), rtol=1e-12)
    if name != "convolution":  # which takes any lengths
        with pytest.raises(tg.ShapeError, match="broadcast"):
            gradient(X, Y, above(X, 3), above(Y, 2))


def test_compiled() -> None:
    f = of_both(RULES["twice"])
    run = tg.jit(f)
    for args in cases(0, 1, 2):
        try:
            want = f(*args)
        except ValueError:
            with pytest.raises(tg.ShapeError, match="could not be broadcast"):
                run(*args)
        else:
            np.testing.assert_allclose(run(*args), want, rtol=1e-12)


def test_batches() -> None:
    """Each item has lengths of its own, and fails by itself."""
    f = of_both(twice)
    counts = [(2, 2), (3, 1), (1, 4), (0, 0)]
    p, q = np.array([(above(X, m), above(Y, k)) for m, k in counts]).T
    want = [f(X, Y, *given) for given in zip(p, q, strict=True)]
    np.testing.assert_allclose(by_source(tg.vmap(f, (None, None, 0, 0)))(X, Y, p, q), want)
    p[1] = above(X, 2)
    q[1] = above(Y, 3)
    with pytest.raises(tg.ShapeError, match="could not be broadcast"):
        tg.jit(tg.vmap(f, (None, None, 0, 0)))(X, Y, p, q)


def test_errors_name_the_line() -> None:
    """The exception is raised at the user's line, and says what did not fit."""

    def f(x: Any) -> Any:
        c = x[x > 1]
        d = x[x < 0.5]
        return (c * d).sum()

    with pytest.raises(tg.ShapeError, match="along axis -1 their lengths") as caught:
        tg.jit(f)(X)
    assert caught.traceback[-1].name == "f"
    assert caught.traceback[-1].lineno == f.__code__.co_firstlineno + 2
    with pytest.raises(tg.ShapeError, match="lengths"):
        tg.grad(tg.jit(f))(X)


def test_a_check_holds_where_it_was_made() -> None:
    """What a branch has checked nobody has checked behind it."""

    def f(x: Any, p: float) -> Any:
        c = x[x > 1]
        d = x[x < p]
        s = 0.0
        if p > 0.4:
            s = (c * d).sum()
        return s + (c + d).sum()

    run = tg.jit(f)
    np.testing.assert_allclose(run(X, 0.4), f(X, 0.4))
    for p in (0.25, 0.5):
        if np.sum(p > X) not in (1, 2):
            with pytest.raises(tg.ShapeError):
                run(X, p)
        else:
            np.testing.assert_allclose(run(X, p), f(X, p))
