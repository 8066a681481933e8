"""What the op table's tests share: finite differences, comparison, and running a function in each
mode."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.compiled import entries


def compare(found: Any, expected: Any) -> None:
    """Equal values of equal types, to rounding, in trees."""
    if isinstance(expected, (tg.Tensor, np.ndarray, np.generic, float, complex)):
        assert type(found) is type(expected)
        read = [
            x.detach().numpy() if isinstance(x, tg.Tensor) else np.asarray(x)
            for x in (found, expected)
        ]
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


def leaf(*values: float) -> tg.Tensor:
    """A vector of these numbers, or of 1, 2 and 3, that requires grad."""
    return tg.tensor(values or (1.0, 2.0, 3.0), dtype=np.float64, requires_grad=True)


@contextlib.contextmanager
def counted_traces() -> Iterator[list[str]]:
    """The names of the functions that `jit` traces in this block. (A list of the function's own
    would grow at each call.)"""
    names: list[str] = []
    trace = entries.trace_function

    def counted(function: Any, *args: Any, **options: Any) -> Any:
        names.append(getattr(function, "__name__", ""))
        return trace(function, *args, **options)

    with mock.patch.object(entries, "trace_function", counted):
        yield names


def sampled(every: Iterable[Any], chosen: Callable[[Any], bool]) -> list[Any]:
    """Parameters of a test, of which the chosen ones always run and all with `--soak 1`."""
    return [x if chosen(x) else pytest.param(x, marks=pytest.mark.soak) for x in every]


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def assert_same(
    found: Any, expected: Any, tolerance: float = 1e-10, dtypes: bool = True, floor: float = 0.0
) -> None:
    """Equal values (NaN equals NaN), shapes and dtypes, for trees that are tuples. `floor` is the
    rounding of what may have cancelled."""
    found, expected = as_tuple(found), as_tuple(expected)
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        f, e = np.asarray(f), np.asarray(e)
        assert f.shape == e.shape, (f.shape, e.shape)
        if dtypes:
            assert f.dtype == e.dtype, (f.dtype, e.dtype)
        scale = 1e6 if e.dtype in (np.float32, np.complex64) else 1.0
        finite = np.abs(e[np.isfinite(e)]) if e.dtype.kind in "fc" else np.zeros(0)
        size = float(finite.max()) if finite.size else 1.0
        np.testing.assert_allclose(
            f,
            e,
            rtol=tolerance * scale,
            atol=scale * max(tolerance * max(size, 1e-300), floor),
            equal_nan=True,
        )


def floating(arrays: Sequence[Any], wrt: Sequence[int] | None) -> list[int]:
    if wrt is not None:
        return list(wrt)
    return [k for k, a in enumerate(arrays) if np.asarray(a).dtype.kind in "fc"]


def directional(
    function: Callable[..., Any],
    arrays: Sequence[Any],
    wrt: Sequence[int],
    directions: Sequence[Any],
    step: float = 1e-3,
) -> tuple[Any, ...]:
    """Derivative along `directions`, by central differences of orders h^2 extrapolated twice
    (Richardson), error about h^6."""

    def at(h: float) -> list[Any]:
        moved = [np.asarray(a) for a in arrays]
        for k, d in zip(wrt, directions, strict=True):
            moved[k] = moved[k] + h * d
        return [np.asarray(o) for o in as_tuple(function(*moved))]

    def central(h: float) -> list[Any]:
        return [(p - m) / (2 * h) for p, m in zip(at(h), at(-h), strict=True)]

    d1, d2, d4 = central(step), central(step / 2), central(step / 4)
    first = [(4 * b - a) / 3 for a, b in zip(d1, d2, strict=True)]
    second = [(4 * b - a) / 3 for a, b in zip(d2, d4, strict=True)]
    return tuple((16 * b - a) / 15 for a, b in zip(first, second, strict=True))


def like(rng: np.random.Generator, a: Any) -> Any:
    """A random direction of a's shape and dtype, about unit size."""
    a = np.asarray(a)
    d = rng.normal(size=a.shape)
    return (
        (d + 1j * rng.normal(size=a.shape)).astype(a.dtype)
        if a.dtype.kind == "c"
        else np.asarray(d, a.dtype)
    )


def inner(a: Any, b: Any) -> float:
    """Real inner product of trees."""
    return float(
        sum(
            np.sum(np.real(np.conj(np.asarray(x)) * np.asarray(y)))
            for x, y in zip(as_tuple(a), as_tuple(b), strict=True)
        )
    )


def differentiable_outputs(function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """The function restricted to its floating results."""
    return lambda *xs: tuple(o for o in as_tuple(function(*xs)) if o.dtype.kind in "fc")


def check_first_order(
    function: Callable[..., Any],
    arrays: Sequence[Any],
    wrt: Sequence[int],
    tolerance: float,
    rng: np.random.Generator,
) -> None:
    """Forward mode against finite differences; reverse against forward by <Jv, u> = <v, J'u>."""
    f = differentiable_outputs(function)
    directions = [like(rng, arrays[k]) for k in wrt]

    def of_wrt(*xs: Any) -> Any:
        full = list(arrays)
        for k, x in zip(wrt, xs, strict=True):
            full[k] = x
        return f(*full)

    chosen = [arrays[k] for k in wrt]
    outs, tangents = tg.jvp(of_wrt, tuple(chosen), tuple(directions))
    numeric = directional(lambda *xs: as_tuple(of_wrt(*xs)), chosen, range(len(wrt)), directions)
    for t, n in zip(as_tuple(tangents), numeric, strict=True):
        np.testing.assert_allclose(
            np.asarray(t),
            n,
            rtol=tolerance,
            atol=tolerance * max(1.0, float(np.max(np.abs(n), initial=0.0))),
        )
    us = tuple(like(rng, o) for o in as_tuple(outs))
    _, pullback = tg.vjp(of_wrt, *chosen)
    cotangents = pullback(us)
    left, right = inner(us, tangents), inner(cotangents, directions)
    assert abs(left - right) <= 1e-9 * max(1.0, abs(left), abs(right)) * max(
        1.0, tolerance / 1e-9 * 1e-3
    ), (left, right)


def check_second_order(
    function: Callable[..., Any],
    arrays: Sequence[Any],
    wrt: Sequence[int],
    tolerance: float,
    rng: np.random.Generator,
) -> None:
    """The gradient of a random projection of the results is itself a function: check it to first
    order, in both modes."""
    f = differentiable_outputs(function)
    weights: list[Any] = []

    def gradient(*xs: Any) -> Any:
        full = list(arrays)
        for k, x in zip(wrt, xs, strict=True):
            full[k] = x

        def projected(*ys: Any) -> Any:
            inside = list(full)
            for k, y in zip(wrt, ys, strict=True):
                inside[k] = y
            outs = f(*inside)
            if not weights:
                weights.extend(
                    np.asarray(like(np.random.default_rng(7), np.zeros(np.shape(o), o.dtype)))
                    for o in outs
                )
            # The smooth non-linear wrapper keeps second derivatives from vanishing for linear
            # operations.
            return sum(
                np.sum(np.real(w * o)) + np.sum(np.real(np.conj(o) * o)) / 2
                for w, o in zip(weights, outs, strict=True)
            )

        return tg.grad(projected, argnums=tuple(range(len(wrt))))(*xs)

    check_first_order(gradient, [arrays[k] for k in wrt], list(range(len(wrt))), tolerance, rng)
