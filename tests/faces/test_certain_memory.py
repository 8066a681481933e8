"""Whether a write reaches an array through what `ravel` and `reshape` made of it is as in NumPy, or
refused, whatever made the array and however the arguments lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.linspace(-0.9, 1.3, 24).reshape(2, 3, 4) ** 3
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x.copy(),
    "F": np.asfortranarray,
    "turned": lambda x: x.transpose(1, 2, 0).copy().transpose(2, 0, 1),
    "stepped": lambda x: np.repeat(x, 2, axis=2)[:, :, ::2],
}
MADE: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "product": lambda x: 2 * x,
    "sum": lambda x: np.sum(x, axis=1),
    "mean": lambda x: np.mean(x, axis=0),
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "sort": lambda x: np.sort(x, axis=1),
    "partition": lambda x: np.partition(x, 1, axis=0),
    "take": lambda x: np.take(x, [2, 0], 1),
    "take of the transpose": lambda x: np.take(x.T, [2, 0], 0),
    "indices behind": lambda x: x[:, [2, 0, 1]],
    "indices in front": lambda x: x[[1, 0]],
    "indices at the end": lambda x: x[..., [3, 0]],
    "indices twice": lambda x: x[:, [0, 2], [1, 3]],
    "indices apart": lambda x: x[[0, 1], :, [1, 3]],
    "a block of indices": lambda x: x[:, [[0, 2], [1, 0]]],
    "concatenate": lambda x: np.concatenate([x, 2 * x], axis=1),
    "stack": lambda x: np.stack([x, 2 * x], axis=1),
    "matmul": lambda x: x @ x.transpose(0, 2, 1),
    "matmul of transposes": lambda x: x[0].T @ x[1],
    "tensordot": lambda x: np.tensordot(x, x, ([2], [2])),
    "outer": lambda x: np.outer(x[0, 0], x[1, 0]),
    "add.outer": lambda x: np.add.outer(x[0], x[0, 0]),
    "diff": lambda x: np.diff(x, axis=1),
    "gradient": lambda x: np.gradient(x, axis=1),
    "roll": lambda x: np.roll(x, 1, 1),
    "repeat": lambda x: np.repeat(x, 2, 1),
    "tile": lambda x: np.tile(x, (2, 1, 1)),
    "pad": lambda x: np.pad(x, 1),
    "insert": lambda x: np.insert(x, 1, 0.5, 1),
    "delete": lambda x: np.delete(x, 1, 1),
    "compress": lambda x: np.compress([True, False, True], x, axis=1),
    "choose": lambda x: np.choose(np.arange(24).reshape(2, 3, 4) % 2, [x, -x]),
    "select": lambda x: np.select([np.arange(4) > 1], [x]),
    "where": lambda x: np.where(np.arange(4) > 1, x, 0.5),
    "zeros_like": lambda x: np.zeros_like(2 * x) + x[0, 0, 0],
    "empty_like, filled": lambda x: filled(np.empty_like(x), x),
    "zeros": lambda x: filled(np.zeros((2, 3, 4)), x),
    "copy": lambda x: np.copy(x.T),
    "its copy": lambda x: x.T.copy(),
    "contiguous": lambda x: np.ascontiguousarray(2 * x.T),
    "columns first": lambda x: np.asfortranarray(2 * x),
    "astype, C": lambda x: x.T.astype(float, order="C"),
    "astype, F": lambda x: (2 * x).astype(float, order="F"),
    "fft": lambda x: np.real(np.fft.fft(x, axis=1)),
    "real part": lambda x: (x + 1j * x).real,
    "inverse": lambda x: np.linalg.inv(x[0, :, :3].T + 3 * np.eye(3)),
    "rot90": lambda x: np.rot90(x, axes=(1, 2)) * 1.0,
    "along an axis": lambda x: np.apply_along_axis(lambda v: 2 * v, 1, x),
    "a column": lambda x: (2 * x)[:, 0, 1],
    "a row of the transpose": lambda x: (2 * x).T[1, 0],
    "written whole": lambda x: filled(2 * x.T, np.sin(x.T)),
    "written with another's": lambda x: 2.0 * filled(2 * x, with_sum(np.sin(x.T)).T),
    "written by rows": lambda x: filled(2 * x, x[0]),
    "of a branch": lambda x: 2 * x if x[0, 0, 0] > 0 else x + 1.0,
}


def with_sum(x: Any) -> Any:
    np.sum(x)
    return x


def filled(g: Any, x: Any) -> Any:
    g[...] = x
    return g


def written(g: Any, x: Any) -> Any:
    r = g.ravel()
    r[0] = x[0, 0, 1]
    s = g.reshape(-1)
    s[-1] = 50.0
    return np.sum(np.sin(g)) + np.sum(r * np.arange(r.size)) + np.sum(s**2)


def base_written(g: Any, x: Any) -> Any:
    g = g * 1.0 if g is x else g
    r, s = np.ravel(g), np.reshape(g, -1)
    t = np.ascontiguousarray(g)
    g += x[0, 0, 1]
    return r @ np.arange(r.size) + np.sum(s**2) + np.sum(t)


def outcomes(f: Callable[[Any], Any], x: Any) -> list[Any]:
    """What eager code and a trace give, None where they refuse."""
    found: list[float | None] = []
    ways: list[Callable[[Any], Any]] = [
        lambda x: tg.value_and_grad(f)(x)[0],
        lambda x: tg.vmap(f)(x[None])[0],
    ]
    for way in ways:
        try:
            found.append(float(way(x.copy(order="K"))))
        except tg.ConcretizationError:
            found.append(None)
    return found


def programs() -> list[tuple[str, str, Callable[[Any, Any], Any]]]:
    return [(m, where, use) for m in MADE for where in LAYOUTS for use in (written, base_written)]


@pytest.mark.parametrize("made", MADE)
def test_writes_reach_what_they_reach_in_numpy(made: str) -> None:
    for name, where, use in programs():
        if name != made:
            continue
        x = LAYOUTS[where](X)

        def f(x: Any, use: Any = use) -> Any:
            return use(MADE[made](x), x)

        want = f(x.copy(order="K"))
        eager, traced = outcomes(f, x)
        assert eager == pytest.approx(want, rel=1e-12), where
        assert traced is None or traced == pytest.approx(want, rel=1e-12), where
        # Of a trace, arguments that do not lie in C order are refused where that is told by it.
        assert where in ("F", "turned") or traced is not None


def carried(x: Any, turned: bool) -> Any:
    """A carry that lies otherwise from the first step on, or from the second."""
    g = 2 * x[0, :3, :3].T if turned else 2 * x[0, :3, :3]

    def step(_: Any, g: Any) -> Any:
        r = g.ravel()
        r[1] = 0.5 + r[2]
        return g.T * 1.5 + r[5]

    return tg.fori_loop(0, 3, step, g)


PLACES: dict[str, Callable[[Any], Any]] = {
    "carry": lambda x: carried(x, False),
    "turned carry": lambda x: carried(x, True),
    "carry, after": lambda x: written(
        tg.fori_loop(0, 3, lambda _, g: g.T * 1.5, 2 * x[0, :3, :3]), x
    ),
    "rows": lambda x: tg.scan(lambda c, r: (c + written(2 * r, r[None]), r), 0.0, x.T)[0],
    "branch": lambda x: tg.cond(x[0, 0, 0] > 0, lambda y: y.T * 1.0, lambda y: 2 * y, x[0, :3, :3]),
    "inside of a jitted one": lambda x: tg.jit(lambda y: written(2 * y, x))(x.T),
    "captured": lambda x: tg.jit(lambda y: written(y[0, 0, 0] + 2 * x.T, y))(x),
    "checkpointed": lambda x: tg.checkpoint(lambda y: written(2 * y, x))(x.T),
    "mapped": lambda x: tg.vmap(lambda y: written(2 * y, y[None]), in_axes=2)(x),
    "a constant": lambda x: written(x[0, 0, 0] * np.asfortranarray(X), x),
}


@pytest.mark.parametrize("place", PLACES)
def test_writes_in_regions(place: str) -> None:
    def f(x: Any) -> Any:
        y = PLACES[place](x)
        return np.sum(written(y, x)) if np.ndim(y) > 1 else np.sum(y)

    plainly = place != "mapped"
    with tg.disable_jit():
        want = f(X) if plainly else sum(written(2 * y, y[None]) for y in X.transpose(2, 0, 1))
    for way in (tg.jit(f), tg.jit(tg.value_and_grad(f)), tg.value_and_grad(f)):
        refused = ""
        try:
            value = way(X)
        except tg.ConcretizationError as error:
            refused = str(error)
        if refused:
            assert "C order" in refused or "lays out" in refused
        else:
            value = value[0] if isinstance(value, tuple) else value
            np.testing.assert_allclose(value, want, rtol=1e-12)


def test_a_call_with_another_order_is_refused() -> None:
    def f(x: Any) -> Any:
        g = 2 * x
        g.reshape(-1)[0] = 1.0
        return np.sum(g)

    g = tg.jit(f)
    x = X[0].copy()
    assert g(x) == g(x) == pytest.approx(f(x))
    for other in (np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2]):
        with pytest.raises(tg.ConcretizationError, match=r"Argument 0 .*ascontiguousarray"):
            g(other)
    assert g(x) == pytest.approx(f(x))
