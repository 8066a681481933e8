"""Loops whose steps read carries in another shape, turned, moved or exchanged: nothing is read
that the step has written already.

A carry and its reshape are one memory by two names. Each step is taken by `scan`, `fori_loop`
and `while_loop`, as it is and inside another loop; its value, gradient, Hessian product and the
gradients of a batch are those of Python's own loop on the tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.transforms.rewrite import optimize

RNG = np.random.default_rng(5)
Step = Callable[..., Any]


def put(x: Any, at: Any, value: Any) -> Any:
    y = x * 1.0
    y[at] = value
    return y


STEPS: dict[str, Step] = {
    "rolled": lambda a, v: np.roll(a, 1) * 0.5 + v,
    "rolled back": lambda a, v: np.roll(a, -5) * v,
    "rolled along each axis": lambda a, v: (
        np.roll(np.roll(a, 1, axis=0), -1, axis=1) + np.roll(a, 2, axis=1) * v
    ),
    "reshaped and turned": lambda a, v: (
        a + 0.3 * a.reshape(a.shape[::-1])[::-1].reshape(a.shape) * v
    ),
    "raveled backwards": lambda a, v: np.ravel(a)[::-1].reshape(a.shape) * 0.7 + v * a,
    "transposed": lambda a, v: a * v + 0.5 * a.T.reshape(a.shape),
    "raveled by columns": lambda a, v: a * v + 0.5 * np.ravel(a, order="F").reshape(a.shape),
    "flipped": lambda a, v: np.flip(a) * v + np.flip(a, 1) + a,
    "lower": lambda a, v: np.tril(a) * v + np.triu(np.flip(a, 0), 1),
    "differences": lambda a, v: np.pad(np.diff(a, axis=1), ((0, 0), (1, 0))) + v * a,
    "differences of all": lambda a, v: (
        0.5 * np.pad(np.diff(a.reshape(-1)), (0, 1)).reshape(a.shape) + v * a
    ),
    "pieces": lambda a, v: (
        np.concatenate([a[1:], a[:1] * 0.5], 0) * np.concatenate([a[:, 1:], v[:, :1]], 1)
    ),
    "pieces of all": lambda a, v: (
        np.concatenate([a.reshape(-1)[1:], v.reshape(-1)[:1]]).reshape(a.shape) + a
    ),
    "rows moved": lambda a, v: put(a, slice(1, None), a[:-1] * v[1:]),
    "a product with itself": lambda a, v: 0.3 * (a @ a.reshape(a.shape[::-1])) @ v,
    "a row from another": lambda a, v: put(a, 0, a[-1] * 0.5) + v,
    "a column from another": lambda a, v: put(a, (slice(None), 0), a[:, -1] * v[:, 0]),
    "a row from the reshaped": lambda a, v: put(a, 0, a.reshape(-1)[-a.shape[1] :] * 0.5) + v,
    "elements by number": lambda a, v: put(a, (0, 0), np.take(a.reshape(-1), [0, -1]).sum()) * v,
    "a sum over the reshaped": lambda a, v: a * v + np.sum(a.reshape(a.shape[::-1]), 0) @ v,
    "a corner": lambda a, v: a * v + np.roll(a[:2, :2], 1).sum(),
}
ELEMENTS = [
    name
    for name in STEPS
    if name.startswith(("a row", "a column", "elements", "pieces of all", "differences of all"))
]
"""The steps that want elements."""
TWO: dict[str, Callable[[Any, Any, Any], Any]] = {
    "exchanged": lambda a, b, v: (b * 0.9, a + v),
    "each other's transposes": lambda a, b, v: (
        b.T.reshape(a.shape) * 0.5 + v,
        a.T.reshape(b.shape),
    ),
    "rolled across": lambda a, b, v: (np.roll(b, 1) * v, np.roll(a, -1)),
    "one written from the other": lambda a, b, v: (
        put(a, 0, b.reshape(-1)[: a.shape[1]]) * v,
        b + a.T.reshape(b.shape),
    ),
    "halves": lambda a, b, v: (
        np.concatenate([a[1:], b[:1]], 0) * v,
        np.flip(b.reshape(-1)).reshape(b.shape) + a,
    ),
}
X = RNG.normal(size=(3, 5, 4))
"""What three steps read, of the shape of a carry."""
A = RNG.normal(size=(5, 4))
"""Rows that are written out, and too many elements for local variables."""


def by_scan(step: Step, init: Any, xs: Any) -> Any:
    return tg.scan(lambda c, v: (step(*c, v), None), init, xs)[0]


def by_count(step: Step, init: Any, xs: Any) -> Any:
    return tg.fori_loop(0, 3, lambda i, c: step(*c, xs[i]), init)


def by_condition(step: Step, init: Any, xs: Any) -> Any:
    return tg.while_loop(
        lambda s: s[1] < 3, lambda s: (step(*s[0], xs[s[1]]), s[1] + 1), (init, np.int64(0))
    )[0]


def by_loops(step: Step, init: Any, xs: Any) -> Any:
    return tg.scan(
        lambda c, v: (tg.fori_loop(0, 2, lambda _, d: step(*d, v), c), c[0].sum()), init, xs
    )[0]


LOOPS = {
    "scan": by_scan,
    "fori_loop": by_count,
    "while_loop": by_condition,
    "loop in a loop": by_loops,
}


def whole(loop: Callable[..., Any], step: Step, carries: int) -> Callable[..., Any]:
    """A function of the first carry and of what steps read."""
    wrapped = step if carries == 2 else lambda a, v: (step(a, v),)

    def f(a: Any, xs: Any) -> Any:
        init = (a, a * 0.5 + xs[0]) if carries == 2 else (a,)
        return [0.1 * c for c in loop(wrapped, init, xs)]

    return f


def forms(f: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """A function, and its derivatives."""

    def loss(a: Any, xs: Any) -> Any:
        weight = np.cos(np.arange(a.size)).reshape(a.shape)
        return sum(np.sum(weight * c * c) for c in f(a, xs))

    return {
        "value": f,
        "gradient": tg.grad(loss, (0, 1)),
        "Hessian product": lambda a, xs: tg.jvp(lambda y: tg.grad(loss)(y, xs), (a,), (np.sin(a),))[
            1
        ],
        "batch of gradients": tg.vmap(tg.grad(loss), in_axes=(0, None)),
    }


def leaves(x: Any) -> list[Any]:
    return [np.asarray(v) for v in x] if isinstance(x, (list, tuple)) else [np.asarray(x)]


def arguments(form: str, a: Any, xs: Any) -> tuple[Any, Any]:
    return (np.stack([a, -a, a * 0.5]) if form.startswith("batch") else a), xs


def same(got: Any, want: Any, tolerance: float = 1e-11) -> None:
    for g, w in zip(leaves(got), leaves(want), strict=True):
        np.testing.assert_allclose(
            g, w, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(w), initial=0)))
        )


def printed(f: Callable[..., Any], args: tuple[Any, ...], *again: tuple[Any, ...]) -> list[Any]:
    """The results of the generated source, which Python runs; of a program for all sizes where
    other arguments came before."""
    jitted = tg.jit(f)
    for other in again:
        jitted.graphs(*other)
    entry = jitted._entry(args, {})[0]
    return run_unjitted(optimize(entry.graph), [*args, *entry.traced.captures])


ALL = [(name, 1) for name in STEPS] + [(name, 2) for name in TWO]


@pytest.mark.parametrize(("name", "carries"), ALL, ids=[name for name, _ in ALL])
def test_programs_of_loops(name: str, carries: int) -> None:
    """The generated source, run as Python: every loop by value, one of them by its derivatives."""
    step = STEPS[name] if carries == 1 else TWO[name]
    for k, loop in enumerate(LOOPS.values()):
        which = ("value",) if k != len(name) % len(LOOPS) else tuple(forms(by_scan))
        for form in which:
            f, args = forms(whole(loop, step, carries))[form], arguments(form, A, X)
            same(printed(f, args), f(*args))


def together(names: list[str], derived: bool = True) -> Callable[..., Any]:
    """The values of several steps' loops, each of another kind, and the gradient of their sum."""
    fs = [
        whole(
            list(LOOPS.values())[k % len(LOOPS)],
            STEPS[n] if n in STEPS else TWO[n],
            1 if n in STEPS else 2,
        )
        for k, n in enumerate(names)
    ]

    def f(a: Any, xs: Any) -> Any:
        return [c for g in fs for c in g(a, xs)]

    def loss(a: Any, xs: Any) -> Any:
        return sum(np.sum(np.real(c * np.conj(c))) for c in f(a, xs))

    return (lambda a, xs: [*f(a, xs), *tg.grad(loss, (0, 1))(a, xs)]) if derived else f


@pytest.mark.parametrize("part", range(2))
def test_compiled(part: int) -> None:
    f = together([name for name, _ in ALL][part::4])
    same(tg.jit(f)(A, X), f(A, X))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes(dtype: Any) -> None:
    f = together(["rolled", "reshaped and turned", "a row from the reshaped", "rolled across"])
    a, xs = A.astype(dtype), X.astype(dtype)
    if dtype is np.complex128:
        a, xs = a + 0.3j * a[::-1], xs - 0.2j
    got, want = printed(f, (a, xs)), f(a, xs)
    assert [g.dtype for g in got] == [np.asarray(w).dtype for w in want]
    same(got, want, 1e-4 if dtype is np.float32 else 1e-11)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (0, 4), (3, 0), (0, 0)], ids=str)
def test_sizes_of_one_and_none(shape: tuple[int, int]) -> None:
    names = [
        name
        for name, _ in ALL
        if name not in ELEMENTS and (0 not in shape or name != "one written from the other")
    ]
    f = together(names, False)
    a, xs = A[: shape[0], : shape[1]], X[:, : shape[0], : shape[1]]
    same(printed(f, (a, xs)), f(a, xs))


def test_sizes_that_are_symbols() -> None:
    f = together(
        [
            "rolled",
            "reshaped and turned",
            "raveled backwards",
            "pieces of all",
            "a row from the reshaped",
            "rolled across",
        ]
    )
    sized = [
        (RNG.normal(size=(m, n)), RNG.normal(size=(3, m, n))) for m, n in ((5, 4), (2, 5), (6, 6))
    ]
    for k, args in enumerate(sized):
        same(printed(f, args, *sized[k + 1 :], *sized[:k]), f(*args))


def test_what_is_captured_in_another_shape_is_reshaped_again() -> None:
    """A view of a view showed memory that nobody kept: what is shown is what owns the memory."""

    def f(a: Any, xs: Any) -> Any:
        kept = np.cumsum(a, 0).reshape(2, -1)

        def step(c: Any, v: Any) -> Any:
            return c + np.tanh(kept.reshape(-1, 2) @ v[0, :2])[:5, None] * kept.reshape(-1)[::-1][
                :4
            ], kept.reshape(-1)[2] * v

        return tg.scan(step, a, xs)

    args = A, X
    for form in (
        f,
        tg.grad(lambda a, xs: sum(np.sum(c * c) for c in f(a, xs)), (0, 1)),
        tg.vmap(f, in_axes=(0, None)),
    ):
        given = (np.stack([A, -A]), X) if form.__name__.startswith("vmap") else args
        same(printed(form, given), form(*given))
    same(tg.jit(f)(*args), f(*args))


def test_three_axes() -> None:
    steps: list[Step] = [
        lambda c, v: np.roll(c, 1) * 0.5 + v[:, None],
        lambda c, v: np.roll(c, (1, -1), axis=(0, 2)) + c.transpose(2, 1, 0).reshape(c.shape) * 0.3,
        lambda c, v: (
            np.flip(c.reshape(2, -1), 1).reshape(c.shape) * v[:, None]
            + np.swapaxes(c, 0, 1).reshape(c.shape)
        ),
        lambda c, v: put(c, (slice(None), 0), c.reshape(-1)[: v.size].reshape(v.shape)) * 0.5,
    ]

    def f(c: Any, xs: Any) -> Any:
        return [tg.scan(lambda c, v, s=s: (s(c, v), c.sum()), c, xs) for s in steps]

    c, xs = RNG.normal(size=(5, 2, 4)), X
    both = [
        tg.grad(lambda c, xs, k=k: np.sum(f(c, xs)[k][0] ** 2), (0, 1)) for k in range(len(steps))
    ]
    for g in (lambda c, xs: [y for pair in f(c, xs) for y in pair], *both):
        same(printed(g, (c, xs)), g(c, xs))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stacks_of_any_size_read_in_another_shape(dtype: Any) -> None:
    """Divisions by a size in a branch that few lanes of a vectorised loop take: what they read lay
    behind an address of the first lane."""

    def f(xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            ends = np.concatenate([x.reshape(-1)[5:], x.reshape(-1)[:5]]).reshape(x.shape)
            return c, (np.roll(x, -2) * c, np.roll(x, 3) + c, ends)

        return tg.scan(step, xs[0].reshape(-1)[0], xs)[1]

    for ndim in (2, 3):
        jitted = tg.jit(f)
        for shape in ((4, 4, 2), (3, 5, 3), (9, 8, 2), (7, 33, 17), (2, 16, 16)):
            xs = RNG.normal(size=(3, *shape[:ndim])).astype(dtype)
            same(jitted(xs), f(xs), 1e-6 if dtype is np.float32 else 1e-14)
