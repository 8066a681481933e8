"""Random programs of loops and branches: drawn as nested tuples of small numbers, run with the
library's loops or with Python's.

A number stands for a choice by its remainder, so that every program is valid and shrinks. Values in
scope are arrays of three shapes that broadcast together, integers and flags; a body sees what
stands around it (closures), and what it makes stays inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tracegrad as tg
from tests.loop_ways import Plain


@dataclass
class Scope:
    """The values in sight."""

    floats: list[Any]
    ints: list[Any]
    flags: list[Any]
    dtype: Any
    shapes: list[Any]
    """Of a number, a vector and a matrix."""

    def inner(
        self, floats: Sequence[Any] = (), ints: Sequence[Any] = (), flags: Sequence[Any] = ()
    ) -> Scope:
        # What is new comes last, where small numbers find it first (see `at`).
        return Scope(
            [*self.floats, *floats],
            [*self.ints, *ints],
            [*self.flags, *flags],
            self.dtype,
            self.shapes,
        )


def at(values: list[Any], k: int) -> Any:
    return values[-1 - k % len(values)]


def fit(x: Any, shape: tuple[int, ...]) -> Any:
    """The value in this shape: means over leading axes, or repeated."""
    while x.ndim > len(shape):
        x = np.mean(x, axis=0)
    return x if x.ndim == len(shape) else np.broadcast_to(x, shape)


def indexed(x: Any, k: Any, v: Any = 0.0) -> Any:
    """A copy that is traced where index or value is: NumPy's own arrays can neither be read at a
    traced index nor take a traced value."""
    return x + ((k * 0).astype(x.dtype) + 0.0 * total(v))


def total(x: Any) -> Any:
    return np.sum(x) if np.ndim(x) else x


def written(x: Any, k: Any, v: Any) -> Any:
    """The array with an element or row written to."""
    if not x.ndim:
        return x + v
    y = indexed(x, k, v)
    y[k % x.shape[0]] = v
    return y


def added(x: Any, k: Any, v: Any) -> Any:
    if x.ndim < 2:
        return x - v
    y = indexed(x, k, v)
    y[:, k % x.shape[1]] += v
    return y


UNARY: list[Callable[[Any], Any]] = [
    np.sin,
    lambda x: -x,
    lambda x: 0.5 * x,
    np.tanh,
    lambda x: x * x,
    lambda x: np.exp(-x * x),
    lambda x: np.sqrt(1 + x * x),
    lambda x: 1 / (1.5 + np.cos(x)),
    lambda x: np.abs(x + 0.0171),
    lambda x: np.where(x > 0.1173, x, 2 * x - 0.1),
    lambda x: np.cumsum(x, axis=-1) * 0.4 if x.ndim else x + 1,
    lambda x: x[::-1] if x.ndim else x - 1,
    lambda x: x.T if x.ndim else 3.0 * x,
    lambda x: np.sum(x, axis=0) if x.ndim else x,
    lambda x: np.max(x, axis=-1) if x.ndim else x,
    lambda x: np.sum(x * x),
    lambda x: x[1:].sum() if x.ndim == 1 else np.log1p(x * x),
    lambda x: tg.stop_gradient(x) * x,
    lambda x: np.zeros_like(x) + 0.3,
    lambda x: (
        np.linalg.solve(x @ x.T + 2 * np.eye(x.shape[0], dtype=x.dtype), x)
        if x.ndim == 2
        else np.cos(x)
    ),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    np.add,
    np.subtract,
    np.multiply,
    lambda x, y: x / (1.3 + y * y),
    lambda x, y: np.maximum(x, 0.9 * y + 0.0137),
    lambda x, y: x @ y * 0.4 if x.ndim and y.ndim else x * y,
    lambda x, y: np.outer(x, y) * 0.5 if x.ndim == y.ndim == 1 else x + y,
    lambda x, y: np.where(y > 0.0719, x, y),
    lambda x, y: np.arctan2(x, 1.2 + y * y),
]


def statement(scope: Scope, kind: str, a: int, b: int, c: int) -> None:
    """One line of a body."""
    x, y = at(scope.floats, a), at(scope.floats, b)
    if kind == "unary":
        scope.floats.append(UNARY[c % len(UNARY)](x))
    elif kind == "binary":
        scope.floats.append(BINARY[c % len(BINARY)](x, y))
    elif kind == "read":
        k = at(scope.ints, c)
        x = indexed(x, k)
        scope.floats.append(
            x[k % x.shape[0]]
            if x.ndim == 1
            else x[k % x.shape[0], :] * x[:, -1 - k % x.shape[1]]
            if x.ndim
            else x * k.astype(scope.dtype) * 0.2
        )
    elif kind == "write":
        k = at(scope.ints, c)
        scope.floats.append((added if c % 2 else written)(x, k, fit(y, x.shape[1:])))
    elif kind == "choose":
        scope.floats.append(
            np.where(at(scope.flags, c), *np.broadcast_arrays(x, y))
            if c % 2
            else np.where(at(scope.flags, c), x, -x)
        )
    elif kind == "int":
        k, m = at(scope.ints, a), at(scope.ints, b)
        scope.ints.append(
            [
                k + 1,
                k * 2 - m,
                k // 2,
                k % 3,
                np.minimum(k, m),
                k + m,
                np.argmax(fit(x, scope.shapes[1])),
            ][c % 7]
            % 50
        )
    else:
        p, q = at(scope.flags, a), at(scope.flags, b)
        k = at(scope.ints, c)
        scope.flags.append(
            [total(x) > total(y) * 0.8 + 0.0237, k % 2 == 0, p & ~q, p ^ q, k < at(scope.ints, b)][
                c % 5
            ]
        )


def carried(
    scope: Scope, ends: tuple[int, ...], kinds: list[tuple[int, ...]], before: list[Any]
) -> list[Any]:
    """The new carries: changed, as they were, another one's, or constant."""
    result = []
    for k, shape in enumerate(kinds):
        e = ends[k % len(ends)]
        how, pick = e % 8, e // 8
        if how == 0:
            value = before[k]
        elif how == 1:
            value = at([b for b in before if b.ndim == len(shape)], pick)
        elif how == 2:
            value = np.full_like(before[k], 0.7)
        else:
            value = fit(at(scope.floats, pick), shape)
            value = np.tanh(value) if how < 5 else value * 0.6 + 0.05
        result.append(value)
    return result


def block(scope: Scope, code: tuple[Any, ...], loops: Any) -> None:
    for kind, *rest in code:
        if kind in REGIONS:
            numbers, bodies = rest
            REGIONS[kind](scope, loops, numbers, bodies)
        else:
            statement(scope, kind, *rest)


CHECKPOINTS = [None, "sqrt", None, 2, (2, 2), None, 1, None]


def starts(scope: Scope, numbers: tuple[int, ...]) -> list[Any]:
    return [at(scope.floats, n) for n in numbers[: 1 + numbers[0] % 3]]


def one_scan(scope: Scope, loops: Any, numbers: tuple[int, ...], bodies: Any) -> None:
    out, scope = scope, scope.inner()
    code, ends = bodies[0]
    init = starts(scope, numbers)
    kinds = [x.shape for x in init]
    length, reverse = numbers[3] % 5, numbers[4] % 2 == 1
    x = at(scope.floats, numbers[5])
    xs = {}
    if x.ndim and numbers[5] % 3 == 2:
        xs, length = {"x": x, "k": np.cumsum(x > 0, axis=0).astype(np.int64)}, x.shape[0]
        if x.ndim == 2:
            xs["k"] = xs["k"][:, 0]
    elif numbers[5] % 3:
        pool = np.stack([x * f for f in (0.5, -1.0, 0.8, 0.3)], axis=0)[:length]
        xs = {"x": pool, "k": np.arange(length) + at(scope.ints, numbers[4])}

    def step(carry: Any, x: Any) -> Any:
        inside = scope.inner(
            [*carry["f"], *([x["x"]] if x else [])],
            [carry["k"], *([x["k"]] if x else [])],
            [carry["p"]],
        )
        block(inside, code, loops)
        new = {
            "f": tuple(carried(inside, ends, kinds, carry["f"])),
            "k": (carry["k"] + inside.ints[-1]) % 7,
            "p": inside.flags[-1],
        }
        return new, at(inside.floats, ends[-1])

    start = {"f": tuple(init), "k": at(scope.ints, numbers[5]), "p": at(scope.flags, numbers[5])}
    last, ys = loops.scan(
        step, start, xs, length=length, reverse=reverse, checkpoint=at(CHECKPOINTS, numbers[3] // 5)
    )
    out.floats += [*last["f"], np.sum(ys, axis=0)]
    out.ints.append(last["k"])
    out.flags.append(last["p"])


def one_fori(scope: Scope, loops: Any, numbers: tuple[int, ...], bodies: Any) -> None:
    out, scope = scope, scope.inner()
    code, ends = bodies[0]
    init = starts(scope, numbers)
    kinds = [x.shape for x in init]
    lower: Any = numbers[3] % 3
    upper: Any = (
        lower + numbers[4] % 4
        if numbers[5] % 3 == 1
        else at(scope.ints, numbers[4]) % 5
        if numbers[5] % 3
        else scope.shapes[1][0]
    )

    def step(i: Any, carry: Any) -> Any:
        inside = scope.inner(list(carry), [i])
        block(inside, code, loops)
        return tuple(carried(inside, ends, kinds, carry))

    out.floats += loops.fori_loop(
        lower, upper, step, tuple(init), checkpoint=at(CHECKPOINTS, numbers[3] // 5)
    )


def one_while(scope: Scope, loops: Any, numbers: tuple[int, ...], bodies: Any) -> None:
    out, scope = scope, scope.inner()
    code, ends = bodies[0]
    init = starts(scope, numbers)
    kinds = [x.shape for x in init]
    limit: Any = numbers[3] % 5 if numbers[5] % 2 else at(scope.ints, numbers[3]) % 5

    def going(carry: Any) -> Any:
        return (carry[0] < limit) & (total(carry[1][0]) * at([1, -1, 0], numbers[4]) < 1.537)

    def step(carry: Any) -> Any:
        inside = scope.inner(list(carry[1]), [carry[0]])
        block(inside, code, loops)
        return carry[0] + 1, carried(inside, ends, kinds, carry[1])

    most = 5 if numbers[4] % 2 else None
    steps, last = loops.while_loop(
        going,
        step,
        (np.int64(0), init),
        max_steps=most,
        checkpoint=at(CHECKPOINTS, numbers[3] // 5),
    )
    out.floats += last
    out.ints.append(steps)


def one_branch(scope: Scope, loops: Any, numbers: tuple[int, ...], bodies: Any) -> None:
    out, scope = scope, scope.inner()
    init = starts(scope, numbers)
    kinds = [x.shape for x in init]

    def function(body: Any) -> Any:
        code, ends = body

        def branch(given: Any, k: Any) -> Any:
            inside = scope.inner(list(given), [k])
            block(inside, code, loops)
            return carried(inside, ends, kinds, given), inside.ints[-1]

        return branch

    branches = list(map(function, bodies))
    number = at(scope.ints, numbers[4])
    if len(bodies) == 2 and numbers[5] % 2:
        found, k = loops.cond(at(scope.flags, numbers[3]), *branches, init, number)
    else:
        found, k = loops.switch(number % len(bodies), branches, init, number)
    out.floats += found
    out.ints.append(k)


def one_map(scope: Scope, loops: Any, numbers: tuple[int, ...], bodies: Any) -> None:
    out, scope = scope, scope.inner()
    code, ends = bodies[0]
    x = at(scope.floats, numbers[0])
    if not x.ndim:
        x = np.broadcast_to(x, scope.shapes[1])

    def each(row: Any) -> Any:
        inside = scope.inner([row])
        block(inside, code, loops)
        return carried(inside, ends, [row.shape], [row])[0]

    function = loops.vmap if numbers[3] % 2 else loops.map
    around = {1: loops.call, 2: loops.checkpoint}.get(numbers[4] % 5, Plain.call)
    out.floats.append(around(lambda v: function(each, v), x))


def one_combination(scope: Scope, loops: Any, numbers: tuple[int, ...], bodies: Any) -> None:
    out, scope = scope, scope.inner()
    x = at(scope.floats, numbers[0])
    x = x if x.ndim else np.broadcast_to(x, scope.shapes[1]) * 0.9
    w = at(scope.floats, numbers[1])
    combine = at(
        [
            lambda a, b: a + b,
            lambda a, b: np.maximum(a, b),
            lambda a, b: a + b + a * b * np.tanh(total(w)),
            lambda a, b: a * b,
        ],
        numbers[2],
    )
    out.floats.append(loops.associative_scan(combine, x, reverse=numbers[3] % 2 == 1))


REGIONS = {
    "scan": one_scan,
    "fori": one_fori,
    "while": one_while,
    "branch": one_branch,
    "map": one_map,
    "combination": one_combination,
}
SMALL = st.integers(0, 200)
LINES = st.tuples(
    st.sampled_from(["unary", "binary", "binary", "read", "write", "choose", "int", "flag"]),
    SMALL,
    SMALL,
    SMALL,
)


def codes(depth: int) -> st.SearchStrategy[Any]:
    """The lines of a body, with regions nested so deep."""
    if depth == 0:
        return st.lists(LINES, max_size=4).map(tuple)
    body = st.tuples(codes(depth - 1), st.tuples(SMALL, SMALL, SMALL))
    count = {"branch": (2, 3), "combination": (0, 0)}
    one = st.sampled_from(sorted(REGIONS)).flatmap(
        lambda kind: st.tuples(
            st.just(kind),
            st.tuples(*[SMALL] * 6),
            st.lists(
                body, min_size=count.get(kind, (1, 1))[0], max_size=count.get(kind, (1, 1))[1]
            ),
        )
    )
    few = st.lists(LINES, max_size=2)
    return (
        st.tuples(few, one, few).map(lambda t: (*t[0], t[1], *t[2]))
        if depth == 1
        else st.one_of(
            codes(depth - 1), st.tuples(few, one, few).map(lambda t: (*t[0], t[1], *t[2]))
        )
    )


@dataclass(frozen=True)
class Program:
    """`run(loops)` is a function of three arrays (a number, a vector, a matrix) and an integer; its
    result one or two arrays."""

    code: tuple[Any, ...]
    seed: int
    single: bool = False

    @property
    def dtype(self) -> Any:
        return np.float32 if self.single else np.float64

    def arguments(self, seed: int = 0, n: int = 3) -> tuple[Any, ...]:
        rng = np.random.default_rng([self.seed, seed])
        return (
            *[np.asarray(rng.uniform(-1.2, 1.2, s), self.dtype)[()] for s in ((), (n,), (n, n))],
            np.int64(rng.integers(5)),
        )

    def run(self, loops: Any) -> Callable[..., Any]:
        def program(a: Any, b: Any, c: Any, k: Any) -> Any:
            scope = Scope(
                [c, b, a],
                [np.int64(2), k],
                [np.True_, k % 2 == 1],
                self.dtype,
                [(), b.shape, (b.shape[0], b.shape[0])],
            )
            block(scope, self.code, loops)
            return tuple(x + 0 * a for x in scope.floats[-2:])

        return program

    def objective(self, loops: Any) -> Callable[..., Any]:
        def scalar(*args: Any) -> Any:
            return sum(np.sum(np.sin(o + 0.1 * k)) for k, o in enumerate(self.run(loops)(*args)))

        return scalar


def programs(depth: int = 2) -> st.SearchStrategy[Program]:
    return st.builds(
        Program, codes(depth), st.integers(0, 99), st.integers(0, 3).map(lambda n: n == 3)
    )
