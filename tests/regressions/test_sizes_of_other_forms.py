"""Sizes that are equal and written differently (`n + m - m`, `2 * n // 2`, `max(n, n)`): what asks
whether they are must not take another way because their forms differ. And a size is one of Python's
integers: whatever a function asks of it, a second and a third size get their own answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces
from tracegrad.compiled.symbolic_sizes import generalize
from tracegrad.ir.evaluate import evaluate
from tracegrad.ir.verify import verify
from tracegrad.tensor import Array
from tracegrad.transforms.rewrite import optimize
from tracegrad.transforms.sizes import with_sizes
from tracegrad.transforms.tracing import trace_function
from tracegrad.tree import flatten

pytestmark = pytest.mark.usefixtures("kernels_in_python")

Function = Callable[..., Any]

# --- forms of one size ----------------------------------------------------------------------------

FORMS: dict[str, Function] = {
    "n": lambda x, y: x,
    "sum of sizes": lambda x, y: (
        np.zeros_like(x, shape=(x.shape[0] + y.shape[0] - y.shape[0],)) + x
    ),
    "half of twice": lambda x, y: np.concatenate([x, x])[: 2 * x.shape[0] // 2],
    "once": lambda x, y: x.reshape(x.shape[0] * 1),
    "larger": lambda x, y: x[: max(x.shape[0], x.shape[0])],
    "joined and cut": lambda x, y: np.concatenate([x, y])[: x.shape[0]],
    "cut behind": lambda x, y: np.concatenate([y, x])[y.shape[0] :],
    "every second": lambda x, y: np.repeat(x, 2)[::2],
    "of a matrix": lambda x, y: (x[:, None] * np.ones_like(y)).reshape(-1, y.shape[0])[:, 0],
    "folded": lambda x, y: np.stack([x, x], 1).reshape(-1).reshape(-1, 2)[:, 1],
    "the other's": lambda x, y: y,
}
"""Vectors of as many elements as x, whose size has another form; y is as long as x, and has a
symbol of its own."""

USES: dict[str, Function] = {
    "broadcast": lambda a, b: a * b + np.sin(b),
    "outer": lambda a, b: a[:, None] * b[None, :],
    "product": lambda a, b: a @ b,
    "matrix product": lambda a, b: np.outer(a, b) @ np.outer(b, a),
    "reshape": lambda a, b: np.outer(a, b).reshape(b.shape[0], a.shape[0]),
    "concatenate": lambda a, b: np.concatenate([np.outer(a, b), np.outer(b, b)], 1),
    "where": lambda a, b: np.where(a > b, a * a, b),
    "stack": lambda a, b: np.stack([a, b]),
    "broadcast_to": lambda a, b: np.broadcast_to(a, (2, *b.shape)) * b,
    "write": lambda a, b: tg.index_update(a, slice(0, b.shape[0]), b * b),
    "sum of both": lambda a, b: np.sum(np.outer(a, a) + np.outer(b, b), axis=0),
    "scan": lambda a, b: tg.scan(lambda c, v: (c + v[0] * v[1], c), 0.0, (a, b))[1],
}
WAYS: dict[str, Callable[[Function], Function]] = {
    "value": lambda f: f,
    "grad": lambda f: tg.grad(lambda x, y: np.sum(np.sin(f(x, y))), argnums=(0, 1)),
    "grad of jit": lambda f: tg.grad(tg.jit(lambda x, y: np.sum(np.sin(f(x, y)))), argnums=(0, 1)),
    "jvp": lambda f: lambda x, y: tg.jvp(f, (x, y), (y, x))[1],
    "vmap": lambda f: lambda x, y: tg.vmap(f)(np.stack([x, y]), np.stack([y, x])),
}


def traced(function: Function, arguments: Any) -> Any:
    """The graph of a function for sizes each of which has a symbol of its own."""
    others = [tuple(s + 1 + 7 * k for s in np.shape(x)) for k, x in enumerate(arguments)]
    plain = [tg.types.type_of(x) for x in arguments]
    types, sizes = generalize(plain, others)
    assert len(sizes.hints) == sum(map(np.ndim, arguments))
    spec = flatten((tuple(arguments), {}))[1]
    made = trace_function(function, spec, types, [Array] * len(types), sizes=sizes)
    return made, sizes


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", WAYS)
def test_equal_sizes_of_different_forms(use: str, way: str) -> None:
    """One function that uses each form beside the plain one, traced for symbols; its graph, and
    what the rules make of it, for the sizes it was traced for and for others that fit."""

    def all_forms(x: Any, y: Any) -> Any:
        return [USES[use](x, FORMS[form](x, y)) for form in FORMS]

    def function(x: Any, y: Any) -> Any:
        parts = all_forms(x, y)
        return parts if way in ("value", "jvp", "vmap") else sum(np.sum(p * p) for p in parts)

    def derived(x: Any, y: Any) -> Any:
        return flatten(WAYS[way](function)(x, y))[0]

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 4))
    made, sizes = traced(derived, (x, y))
    graph = optimize(verify(made.graph))
    for n, m in ((4, 4), (6, 6), (4, 5)):
        if n != m and not sizes.hold({"n": n, "m": m}):
            continue
        x, y = rng.normal(size=n), rng.normal(size=m)
        assert sizes.hold({"n": n, "m": m})
        found = evaluate_with(graph, {"n": n, "m": m}, [x, y, *made.captures])
        for a, b in zip(found, derived(x, y), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def evaluate_with(graph: Any, sizes: dict[str, int], values: Any) -> list[Any]:
    return evaluate(with_sizes(graph, sizes), values)


@pytest.mark.parametrize("form", FORMS)
def test_compiled_for_three_sizes(form: str) -> None:
    def loss(x: Any, y: Any) -> Any:
        z = FORMS[form](x, y)
        return np.sum(np.where(x > z, x * z, y) + np.concatenate([x, z])[: z.shape[0]] + x @ z)

    f = tg.jit(tg.value_and_grad(loss, argnums=(0, 1)))
    with counted_traces() as traces:
        for n in (4, 6, 9):
            x, y = np.random.default_rng(n).normal(size=(2, n))
            for a, b in zip(
                flatten(f(x, y))[0], flatten(tg.value_and_grad(loss, (0, 1))(x, y))[0], strict=True
            ):
                np.testing.assert_allclose(a, b, rtol=1e-12)
    assert len(traces) == 2


# --- a size is one of Python's integers -----------------------------------------------------------

ASKED: dict[str, Function] = {
    "in a set": lambda n: 2.0 if n in {5, 7} else 3.0,
    "key of a dict": lambda n: {4: 1.0, 5: 2.0, 6: 3.0}.get(n, 4.0),
    "hash": lambda n: float(hash(n) % 4),
    "in a tuple": lambda n: 2.0 if n in (5, 8) else 3.0,
    "in a range": lambda n: 2.0 if n in range(5, 7) else 3.0,
    "equals np.int64": lambda n: 2.0 if n == np.int64(6) else 3.0,
    "np.int64 equals": lambda n: 2.0 if np.int64(6) == n else 3.0,
    "equals float32": lambda n: 2.0 if n == np.float32(6) else 3.0,
    "equals a complex number": lambda n: 2.0 if n == 6 + 0j else 3.0,
    "equals a fraction": lambda n: 2.0 if n == Fraction(6) else 3.0,
    "equals no number": lambda n: 2.0 if n == "6" or n is None else 3.0,
    "differs": lambda n: 2.0 if n != 6 else 3.0,
    "below a fraction": lambda n: 2.0 if n < Fraction(13, 2) else 3.0,
    "below np.int8": lambda n: 2.0 if n < np.int8(6) else 3.0,
    "below nan": lambda n: 2.0 if n < math.nan or n >= math.nan else 3.0,
    "beside infinities": lambda n: 2.0 if -math.inf < n < math.inf else 3.0,
    "truth": lambda n: 2.0 if n - 5 else 3.0,
    "not": lambda n: 2.0 if not n - 6 else 3.0,
    "abs": lambda n: abs(5 - n),
    "negative": lambda n: -n + +n * 2,
    "invert": lambda n: ~n,
    "bits": lambda n: (n & 3) + (n | 8) + (n ^ 5) + (n << 2) + (n >> 1) + (1 << n),
    "bit_length": lambda n: n.bit_length() + (2**n).bit_length(),
    "two to the size": lambda n: 2**n / 3**n,
    "beyond 64 bits": lambda n: (2 ** (20 * n)) / 2 ** (20 * n - 3),
    "high power": lambda n: n**30 / 7.0**30,
    "power of many sizes": lambda n: (n * 1000000) ** 4 / 1e24,
    "negative power": lambda n: n**-2,
    "size to the size": lambda n: n**n / 6.0**6,
    "pow with modulus": lambda n: pow(n, 3, 5),
    "divmod": lambda n: divmod(n, 4)[0] + divmod(17, n)[1],
    "divmod by a float": lambda n: divmod(n, 2.5)[1],
    "quotient of sizes": lambda n: (3 * n + 1) // n + (n * n) % (n + 1),
    "remainder of a negative": lambda n: -n % 4 + (n - 20) // 3,
    "by what may be 0": lambda n: n // (n - 5) if n != 5 else -1.0,
    "round": lambda n: round(n) + round(n * 10, -1) + math.floor(n) + math.ceil(n) + math.trunc(n),
    "float": lambda n: float(n) / 3,
    "int": lambda n: int(n) * 0.5,
    "complex": lambda n: abs(complex(n)),
    "format": lambda n: float(f"{n:03d}") + float(f"{n}") + float(str(n)),
    "math": lambda n: math.sqrt(n) + math.gcd(n, 6) + math.comb(n, 2) + math.factorial(n),
    "sum": lambda n: sum([n, 1, n]),
    "min and max": lambda n: min(n, 6) * max(n, 6, 3) + min([n, 4, 7]),
    "sorted": lambda n: sorted([6, n, 4.5])[1] * 1.0,
    "index of a list": lambda n: list(range(20))[n],
    "range": lambda n: sum(range(1, n, 2)),
    "repeat": lambda n: len([0] * n) + len("a" * n),
    "np.float64": lambda n: np.float64(n) / 3,
    "np.sqrt": lambda n: np.sqrt(n) + np.log(n),
    "np.array": lambda n: np.array([n, 2.5]).sum() + np.array(n) + np.asarray([n, n]).max(),
    "np.add": lambda n: np.add(n, 2) + np.multiply(n, np.int64(3)) + np.maximum(n, 6),
    "np.int8": lambda n: np.int64(np.int8(3)) * n + np.int16(2) * n,
    "np.float32": lambda n: float(np.float32(0.5)) * n,
    "isinstance": lambda n: 2.0 if isinstance(n, __import__("numbers").Integral) else 3.0,
    "np.isscalar": lambda n: 2.0 if np.isscalar(n) else 3.0,
    "np.arange": lambda n: (
        np.arange(n).sum() + np.arange(1, n).sum() + np.arange(0.0, n, 0.5).sum()
    ),
    "np.zeros": lambda n: np.zeros((n, 2)).size + np.ones(n).sum() + np.full((n, n), 2.0).sum(),
    "np.linspace": lambda n: np.linspace(0, 1, n)[1] + np.linspace(0, n, 5)[3],
    "np.eye": lambda n: np.eye(n).sum() + np.tri(n).sum() + np.identity(n)[0, 0],
    "np.clip": lambda n: np.clip(n, 5, 6) + np.round(n / 3, 1),
    "np.tile": lambda n: np.tile(np.ones(2), n).sum() + np.repeat(1.0, n).sum(),
    "of several names": lambda n: np.cov(np.ones((2, 3)) * n)[0, 0] + n,
    "np.mean": lambda n: np.mean([n, 1]) + np.prod((n, n)) + np.sum([n, 2]),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_size_as_a_number(name: str) -> None:
    f = tg.jit(lambda x: x * ASKED[name](x.shape[0]))
    for n in (4, 5, 6):
        x = np.arange(1.0, n + 1)
        found, want = f(x), x * ASKED[name](n)
        assert np.asarray(found).dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-13)


def test_a_padding_counted_from_the_end() -> None:
    """The remainder of a negative number by a size."""
    indices = np.array([0, 1, 2, 1])
    f = tg.jit(
        tg.grad(lambda w: tg.sum(tg.sin(tg.nn.functional.embedding(indices, w, padding_idx=-2))))
    )
    for n in (3, 4, 5, 6):
        w = tg.tensor(np.arange(2.0 * n).reshape(n, 2))
        found = f(w).numpy()
        want = np.cos(w.numpy()) * np.bincount(indices, minlength=n)[:, None]
        want[n - 2] = 0
        np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda n: 1 // (n - 5),
        lambda n: 1 % (n - 5),
        lambda n: (n + 1) // (n * n - 5 * n),
        lambda n: divmod(n, 5 - n),
        lambda n: 3.0 / (n - 5),
        lambda n: n / (n - 5),
    ],
)
def test_division_by_zero(wrong: Function) -> None:
    f = tg.jit(lambda x: x * np.sum(wrong(x.shape[0])))
    for n in (3, 4, 6):
        np.testing.assert_allclose(f(np.ones(n)), np.ones(n) * np.sum(wrong(n)))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(np.ones(5))
