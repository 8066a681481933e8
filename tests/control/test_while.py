"""while_loop, fori_loop and map: values, derivatives of every mode and order, batches whose items
take different numbers of steps, errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.ir.parser import parse_graph
from tracegrad.registry import OPS_BY_NAME

WRAP = {"eager": lambda f: f, "jit": tg.jit}


def root(a: Any) -> Any:
    return tg.while_loop(lambda x: abs(x * x - a) > 1e-13 * a, lambda x: (x + a / x) / 2, a)


def collatz(n: Any, x: Any) -> Any:
    """As many multiplications as the orbit of n has steps."""

    def step(carry: Any) -> Any:
        k, y = carry
        return tg.cond(k % 2 == 0, lambda: k // 2, lambda: 3 * k + 1), np.sin(y) * x

    return tg.while_loop(lambda carry: carry[0] != 1, step, (n, x))[1]


def collatz_plain(n: int, x: Any) -> Any:
    y = x
    while n != 1:
        n, y = (n // 2 if n % 2 == 0 else 3 * n + 1), np.sin(y) * x
    return y


@pytest.mark.parametrize("wrap", WRAP)
class TestWhile:
    def test_every_order_and_mode(self, wrap: str) -> None:
        f = WRAP[wrap](root)
        for a in (2.0, 0.3, 1e6):
            np.testing.assert_allclose(f(a), np.sqrt(a), rtol=1e-13)
            np.testing.assert_allclose(tg.grad(f)(a), 0.5 * a**-0.5, rtol=1e-9)
            np.testing.assert_allclose(tg.jvp(f, (a,), (2.0,))[1], a**-0.5, rtol=1e-9)
            second = [
                tg.grad(tg.grad(f))(a),
                tg.hessian(f)(a),
                tg.jvp(tg.grad(f), (a,), (1.0,))[1],
                tg.grad(lambda b: tg.jvp(f, (b,), (1.0,))[1])(a),
            ]
            np.testing.assert_allclose(second, np.full(4, -0.25 * a**-1.5), rtol=1e-7)
            np.testing.assert_allclose(tg.grad(tg.grad(tg.grad(f)))(a), 0.375 * a**-2.5, rtol=1e-5)

    @pytest.mark.parametrize("n", [1, 2, 27, 6])
    def test_a_number_of_steps_known_only_at_run_time(self, wrap: str, n: int) -> None:
        f = WRAP[wrap](collatz)
        x = np.array([0.9, 1.3])
        np.testing.assert_allclose(f(n, x), collatz_plain(n, x), rtol=1e-12)
        g = WRAP[wrap](tg.jacobian(collatz, 1))
        np.testing.assert_allclose(g(n, x), tg.jacobian(collatz_plain, 1)(n, x), rtol=1e-10)

    def test_batches(self, wrap: str) -> None:
        a = np.array([2.0, 3.0, 1e4, 0.5])
        np.testing.assert_allclose(WRAP[wrap](tg.vmap(root))(a), np.sqrt(a), rtol=1e-13)
        np.testing.assert_allclose(WRAP[wrap](tg.vmap(tg.grad(root)))(a), 0.5 * a**-0.5, rtol=1e-9)
        np.testing.assert_allclose(
            WRAP[wrap](tg.vmap(tg.grad(tg.grad(root))))(a), -0.25 * a**-1.5, rtol=1e-7
        )
        np.testing.assert_allclose(
            WRAP[wrap](tg.jacobian(tg.vmap(root)))(a), np.diag(0.5 * a**-0.5), rtol=1e-9
        )
        counts = np.array([1, 7, 4])
        np.testing.assert_allclose(
            WRAP[wrap](tg.vmap(collatz, in_axes=(0, None)))(counts, 0.7),
            [collatz_plain(n, 0.7) for n in counts],
        )

    def test_batches_that_go_the_same_number_of_steps(self, wrap: str) -> None:
        def power(n: Any, x: Any) -> Any:
            return tg.while_loop(
                lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] * x, x + c[2]), (n, 1.0, 0.0)
            )[1:]

        x = np.array([1.0, 2.0, 3.0])
        values, sums = WRAP[wrap](tg.vmap(power, in_axes=(None, 0)))(3, x)
        np.testing.assert_allclose(values, x**3)
        np.testing.assert_allclose(sums, 3 * x)
        np.testing.assert_allclose(
            WRAP[wrap](tg.vmap(tg.grad(lambda n, v: power(n, v)[0], 1), in_axes=(None, 0)))(3, x),
            3 * x**2,
        )

    def test_nested(self, wrap: str) -> None:
        def f(a: Any) -> Any:
            def outer(carry: Any) -> Any:
                k, s = carry
                inner = tg.while_loop(lambda y: y < 10.0, lambda y: y * a, s)
                return k + 1, s + 1 / inner

            return tg.while_loop(lambda c: c[0] < 4, outer, (0, a))[1]

        def plain(a: Any) -> Any:
            s = a
            for _ in range(4):
                y = s
                while y < 10.0:
                    y = y * a
                s = s + 1 / y
            return s

        g = WRAP[wrap](f)
        np.testing.assert_allclose(g(1.7), plain(1.7))
        np.testing.assert_allclose(tg.grad(g)(1.7), tg.grad(plain)(1.7), rtol=1e-12)
        np.testing.assert_allclose(
            tg.grad(tg.grad(g))(1.7), tg.grad(tg.grad(plain))(1.7), rtol=1e-11
        )
        np.testing.assert_allclose(
            WRAP[wrap](tg.vmap(tg.grad(f)))(np.array([1.7, 3.0])),
            [tg.grad(plain)(1.7), tg.grad(plain)(3.0)],
            rtol=1e-12,
        )

    def test_tensors_and_closures(self, wrap: str) -> None:
        w = tg.tensor([1.5, 2.0], requires_grad=True)
        f = WRAP[wrap](lambda x: tg.while_loop(lambda y: y.sum() < 20.0, lambda y: y * w, x))
        y = f(tg.tensor([1.0, 1.0]))
        y.sum().backward()
        assert y.tolist() == [1.5**5, 2.0**5] if 1.5**4 + 2.0**4 < 20 else [1.5**4, 2.0**4]
        steps = round(np.log2(y.tolist()[1]))
        np.testing.assert_allclose(
            w.grad.tolist(), [steps * 1.5 ** (steps - 1), steps * 2.0 ** (steps - 1)]
        )

    def test_max_steps(self, wrap: str) -> None:
        f = WRAP[wrap](
            lambda x: tg.while_loop(lambda y: y > 0.5, lambda y: y * 0.9, x, max_steps=10)
        )
        np.testing.assert_allclose(f(1.0), 0.9**7)
        with pytest.raises(RuntimeError, match="still going after max_steps=10 steps"):
            f(100.0)
        np.testing.assert_allclose(f(1.0), 0.9**7)


@pytest.mark.parametrize("wrap", WRAP)
class TestFori:
    def horner(self, n: Any, x: Any) -> Any:
        return tg.fori_loop(0, n, lambda i, s: s * x + i, 1.0)

    @pytest.mark.parametrize("n", [0, 1, 5, -3])
    def test_traced_bounds(self, wrap: str, n: int) -> None:
        def plain(x: Any) -> Any:
            s = 1.0 + 0 * x
            for i in range(n):
                s = s * x + i
            return s

        f = WRAP[wrap](self.horner)
        assert f(n, 2.0) == plain(2.0)
        for d in (lambda h: tg.grad(h, -1), lambda h: tg.grad(tg.grad(h, -1), -1)):
            np.testing.assert_allclose(
                d(lambda x: f(n, x))(2.0) if wrap == "eager" else d(f)(n, 2.0), d(plain)(2.0)
            )
        np.testing.assert_allclose(
            WRAP[wrap](tg.hessian(self.horner, 1))(n, 2.0), tg.hessian(plain)(2.0)
        )

    def test_known_bounds_and_sizes(self, wrap: str) -> None:
        f = WRAP[wrap](lambda x: tg.fori_loop(1, x.shape[0], lambda i, s: s + x[i] * x[i - 1], 0.0))
        for n in (1, 2, 5, 8):
            x = np.arange(1.0, n + 1)
            np.testing.assert_allclose(f(x), np.sum(x[1:] * x[:-1]))
            expected = np.concatenate([x[1:], [0.0]]) + np.concatenate([[0.0], x[:-1]])
            np.testing.assert_allclose(tg.grad(f)(x), expected)

    def test_bounds_of_every_dtype(self, wrap: str) -> None:
        """The number of steps need not fit into the dtype of the bounds."""
        f = WRAP[wrap](lambda a, b: tg.fori_loop(a, b, lambda i, s: s * 0.5 + i, 0.0))
        kinds = np.uint8, np.int8, np.uint32, np.uint64, np.int64
        pairs = [(t(a), t(b)) for t in kinds for a, b in ((3, 1), (1, 3))]
        for a, b in (
            *pairs,
            (np.int8(-100), np.int8(100)),
            (np.uint64(2), np.int64(4)),
            (-1, np.uint8(2)),
            (-(2**63), 2 - 2**63),
        ):
            expected = 0.0
            for i in range(int(a), int(b)):
                expected = expected * 0.5 + i
            assert f(a, b) == expected
        np.testing.assert_array_equal(
            WRAP[wrap](tg.vmap(f))(np.array([3, 1], np.uint8), np.array([1, 3], np.uint8)),
            [0.0, 2.5],
        )

    def test_each_item_its_own_number_of_steps(self, wrap: str) -> None:
        counts = np.array([0, 1, 5])
        found = WRAP[wrap](tg.vmap(tg.grad(self.horner, 1), in_axes=(0, None)))(counts, 2.0)
        np.testing.assert_allclose(
            found, [tg.grad(lambda x, n=n: self.horner(int(n), x))(2.0) for n in counts]
        )


@pytest.mark.parametrize("wrap", WRAP)
def test_numbers_that_a_body_returns_are_arrays_to_the_next_step(wrap: str) -> None:
    """So that eager loops divide, invert and promote as compiled ones do."""
    single = np.float32(1)
    with np.errstate(all="ignore"):
        f = WRAP[wrap](lambda x: tg.scan(lambda c, _: (0.0, single / c), x, None, length=2))
        np.testing.assert_array_equal(f(2.0)[1], [0.5, np.inf])
        # A Python number raises no dtype, at the start and later.
        assert f(2.0)[1].dtype == np.float32
        g = WRAP[wrap](
            lambda x: tg.fori_loop(0, 2, lambda i, c: ({"a": 0}, 1 // c[0]["a"]), ({"a": x}, x))[1]
        )
        # By 0 Python's numbers do not divide.
        with pytest.raises(ZeroDivisionError):
            g(3)
        h = WRAP[wrap](
            lambda x: tg.while_loop(lambda c: ~c[0], lambda c: (True, c[1] + 1), (x < 0, x))[1]
        )
        assert h(2.0) == 3.0


@pytest.mark.parametrize("wrap", WRAP)
def test_map(wrap: str) -> None:
    x = np.array([4.0, -1.0, 9.0])
    f = WRAP[wrap](
        lambda v: tg.map(
            lambda u: {"r": tg.cond(u > 0, np.sqrt, np.negative, u), "s": u * np.ones(2)}, v
        )
    )
    np.testing.assert_allclose(f(x)["r"], [2.0, 1.0, 3.0])
    assert f(x)["s"].shape == (3, 2)
    np.testing.assert_allclose(tg.jacobian(lambda v: f(v)["r"])(x), np.diag([0.25, -1.0, 1 / 6]))
    assert f(np.zeros(0))["s"].shape == (0, 2)


def test_a_million_steps_compile_like_a_hundred() -> None:
    """The printed code is the same but for the count (a loop of few steps stays in one piece)."""

    def source(n: int) -> str:
        f = tg.jit(tg.grad(lambda x: tg.fori_loop(0, n, lambda i, s: np.sin(s) * x, 0.5)))
        return re.sub(r"\b\d+\b", "N", f.source(1.1).split('"""')[-1])

    assert source(1_000_003) == source(100)


def whiles(f: Any, *args: Any) -> int:
    """How many loops that a condition ends there are in what is compiled."""

    def count(graph: Any) -> int:
        return sum(
            (node.op.name == "while_loop") + sum(map(count, node.subgraphs()))
            for node in graph.nodes
        )

    return count(tg.jit(f).graphs(*args)[1])


class TestLoopsThatShareTheirSteps:
    """Two loops whose conditions read carries that agree are one; all values are those of plain
    Python."""

    def test_each_keeps_what_the_other_has_not(self) -> None:
        def f(x: Any, limit: Any) -> Any:
            _, a = tg.while_loop(
                lambda c: c[0] < limit, lambda c: (c[0] * x, c[1] + c[0]), (x, 0.0)
            )
            # The first of two carries that start alike is not the one that agrees.
            b, _, k = tg.while_loop(
                lambda c: c[1] < limit, lambda c: (c[0] + c[1] * x, c[1] * x, c[2] + 1), (x, x, 0)
            )
            return a, b, k

        assert whiles(f, 1.5, 20.0) == 1
        found = tg.jit(f)
        for limit in (20.0, 1.0, 1e6):
            np.testing.assert_allclose(found(1.5, limit), f(1.5, limit), rtol=1e-13)
            slopes = [tg.jacobian(g)(1.5, limit) for g in (found, f)]
            np.testing.assert_allclose(*slopes, rtol=1e-12)

    @pytest.mark.parametrize("second", ["limit", "carry", "start", "step", "most"])
    def test_where_they_may_end_apart(self, second: str) -> None:
        def f(x: Any, y: Any) -> Any:
            one = tg.while_loop(lambda c: c[0] < 9.0, lambda c: (c[0] * x, c[1] + 1.0), (x, y))
            start = (x + 0.5, y) if second == "start" else (x, y)
            test = {"limit": lambda c: c[0] < 8.0, "carry": lambda c: c[1] < 9.0}.get(
                second, lambda c: c[0] < 9.0
            )
            step = (
                (lambda c: (c[0] * x * 1.5, c[1] + 1.0))
                if second == "step"
                else lambda c: (c[0] * x, c[1] + 1.0)
            )
            two = tg.while_loop(test, step, start, max_steps=50 if second == "most" else None)
            return (*one, *two)

        assert whiles(f, 1.3, 2.5) == 2
        np.testing.assert_allclose(tg.jit(f)(1.3, 2.5), f(1.3, 2.5), rtol=1e-13)

    def test_inside_of_loops_that_are_joined(self) -> None:
        """The loop of a function and the one of its adjoint that keeps its carries, with a loop of
        unknown length in each step."""

        def f(x: Any) -> Any:
            def step(carry: Any, limit: Any) -> Any:
                s, total = tg.while_loop(
                    lambda c: c[0] < limit, lambda c: (c[0] * x, c[1] + c[0]), carry
                )
                return (s, total), total * s

            return np.sum(tg.scan(step, (x, 0.0), np.array([2.0, 5.0, 9.0]))[1])

        # Once forward; the steps of one limit are then a loop of known length.
        assert whiles(tg.value_and_grad(f), 1.3) == 1
        np.testing.assert_allclose(tg.grad(tg.jit(f))(1.3), tg.grad(f)(1.3), rtol=1e-12)
        np.testing.assert_allclose(
            tg.jit(tg.grad(tg.grad(f)))(1.3), tg.grad(tg.grad(f))(1.3), rtol=1e-11
        )


def test_printed_and_parsed() -> None:
    f = tg.jit(tg.value_and_grad(root))
    text = str(f.graphs(2.0)[1])
    again = parse_graph(text, OPS_BY_NAME)
    assert str(again) == text
    value, gradient = run_unjitted(again, [2.0])
    np.testing.assert_allclose([value, gradient], [np.sqrt(2), 0.5**1.5])


def test_what_a_loop_keeps_may_not_fit() -> None:
    f = tg.jit(tg.grad(lambda n, x: np.sum(tg.fori_loop(0, n, lambda i, s: np.sin(s) * x, x)), 1))
    x = np.ones(1 << 16)
    assert np.all(np.isfinite(f(3, x)))
    for count in (1 << 40, 1 << 60):
        with pytest.raises(MemoryError, match=r"no memory for \d{18,} bytes that a loop keeps"):
            f(count, x)
    assert np.all(np.isfinite(f(3, x)))


class TestErrors:
    def test_a_carry_that_changes(self) -> None:
        for wrap in WRAP.values():
            with pytest.raises(
                TypeError, match=r"while_loop: the carry \['a'\] changes from f64\[\] to f64\[2\]"
            ):
                wrap(
                    lambda x: tg.while_loop(
                        lambda c: c["a"].sum() < 3, lambda c: {"a": c["a"] * np.ones(2)}, {"a": x}
                    )
                )(1.0)
            with pytest.raises(
                TypeError, match=r"fori_loop: the carry itself changes from i64\[\] to f64\[\]"
            ):
                wrap(lambda x: tg.fori_loop(0, 3, lambda i, s: s + x, np.int64(0)))(1.0)
            with pytest.raises(TypeError, match="carry of structure"):
                wrap(lambda x: tg.while_loop(lambda c: c < 3, lambda c: (c, c), x))(1.0)

    def test_the_condition(self) -> None:
        for wrap in WRAP.values():
            with pytest.raises(tg.ShapeError, match="the condition must return one value"):
                wrap(lambda x: tg.while_loop(lambda c: c < 3, lambda c: c + 1, x))(np.zeros(2))
        with pytest.raises(ValueError, match="max_steps must be at least 0"):
            tg.while_loop(lambda c: c < 3, lambda c: c + 1, 0.0, max_steps=-1)

    def test_bounds(self) -> None:
        for wrap in WRAP.values():
            with pytest.raises(TypeError, match="a bound must be one integer"):
                wrap(lambda n: tg.fori_loop(0, n, lambda i, s: s, 0.0))(2.5)
