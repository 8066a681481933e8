"""Uses that once gave a wrong answer or an obscure error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces

X = np.arange(1.0, 5.0)


class Model:
    factor = 1.0

    def __init__(self, w: Any) -> None:
        self.w = w

    @tg.jit
    def apply(self, x: Any) -> Any:
        return x * self.w * self.factor


class TestSurroundings:
    def test_a_captured_array_changed_in_place_is_seen_where_numpy_read_it(self) -> None:
        w = np.array([1.0, 2.0])

        def loss(A: Any) -> Any:
            return np.sum((A @ w) ** 2) + np.sum(w**2)  # w**2 is NumPy's own

        f = tg.jit(loss)
        f(np.eye(2))
        w[0] = 5.0
        assert f(np.eye(2)) == loss(np.eye(2))
        w = np.array([3.0, 3.0])
        assert f(np.eye(2)) == loss(np.eye(2))

    def test_an_element_read_while_tracing(self) -> None:
        c = np.array([1.0])
        f = tg.jit(lambda x: x * c[0])
        f(1.0)
        c[0] = 10.0
        assert f(1.0) == 10.0

    def test_a_training_loop_does_not_retrace(self) -> None:
        w = np.ones(2)
        f = tg.jit(lambda A: np.sum(A @ w + np.eye(2)))
        with counted_traces() as traces:
            for _ in range(5):
                f(np.eye(2))
                w[:] -= 0.1
        assert len(traces) <= 3  # once more, and once to see that w is an operand only

    def test_the_sign_of_zero(self) -> None:
        z = 0.0
        f = tg.jit(lambda x: np.copysign(x, z))
        f(1.0)
        z = -0.0
        assert f(1.0) == -1.0

    def test_a_list_that_grew(self) -> None:
        parts = [2.0]
        f = tg.jit(lambda x: sum((x * p for p in parts), 0.0))
        f(1.0)
        parts.append(3.0)
        assert f(1.0) == 5.0

    def test_a_method_reads_its_instance_again(self) -> None:
        m, n = Model(np.ones(4)), Model(np.full(4, 2.0))
        assert np.array_equal(m.apply(X), X)
        assert np.array_equal(n.apply(X), 2 * X)
        m.w = np.full(4, 3.0)
        assert np.array_equal(m.apply(X), 3 * X)
        m.w = 4.0
        assert np.array_equal(m.apply(X), 4 * X)

    def test_random_numbers_of_numpy_are_refused(self) -> None:
        rng = np.random.default_rng(0)
        with pytest.raises(tg.TracegradError, match=r"tg\.Generator"):
            tg.jit(lambda x: x + rng.normal())(1.0)


class TestStatic:
    def test_with_other_kinds_of_parameters(self) -> None:
        assert np.array_equal(
            tg.jit(lambda a, *b, n=2: a * n + b[0], static_argnames="n")(X, 1.0, n=3), 3 * X + 1
        )
        assert np.array_equal(
            tg.jit(lambda a, **k: a * k["n"] + k["m"], static_argnames="n")(X, n=3, m=1.0),
            3 * X + 1,
        )
        assert np.array_equal(tg.jit(lambda a, /, n=2: a * n, static_argnames="n")(X, n=3), 3 * X)

    def test_under_derivatives(self) -> None:
        f = tg.jit(lambda a, n: sum(np.sum(a**3) for _ in range(n)), static_argnames="n")
        assert np.allclose(tg.grad(f)(X, 2), 6 * X**2)
        assert np.allclose(tg.hessian(f)(X, n=1), np.diag(6 * X))
        assert np.allclose(tg.hvp(f, (X,), (np.ones(4),), 1), 6 * X)

    def test_type_matters(self) -> None:
        f = tg.jit(lambda a, n: a * n, static_argnames="n")
        assert f(1, 2).dtype == np.int64
        assert f(1, 2.0).dtype == np.float64


class TestCalls:
    def test_nothing_is_returned(self) -> None:
        assert tg.jit(lambda x: None)(1.0) is None
        assert tg.jit(lambda x: ())(1.0) == ()

    def test_memory_that_is_not_aligned(self) -> None:
        x = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64)
        f = tg.jit(lambda a: 2 * a)
        for a in (x, X, X, x):
            assert np.array_equal(f(a), 2 * X)

    def test_a_written_argument_that_shares_memory(self) -> None:
        def f(p: Any, q: Any) -> Any:
            p[0] = 9.0
            return p + q

        x = X.copy()
        with pytest.raises(ValueError, match="p is written to and shares memory"):
            tg.jit(f)(x, x)
        y = np.arange(8.0)
        assert np.array_equal(tg.jit(f)(y[::2], y[1::2]), [10.0, 5.0, 9.0, 13.0])

    def test_a_traced_value_kept_outside(self) -> None:
        kept: list[Any] = []
        tg.jit(lambda x: kept.append(x * 2) or x)(X)
        np.testing.assert_array_equal(kept[0], X * 2)
        with pytest.raises(RuntimeError, match=r"a traced value .* is kept in kept"):
            tg.jit(lambda x: kept.append(lambda: x) or x)(X)


class TestTransforms:
    def test_custom_vjp_keeps_its_rule_under_vmap(self) -> None:
        @tg.custom_vjp
        def f(a: Any, b: Any) -> Any:
            return a * b

        f.defvjp(lambda a, b: (a * b, (a, b)), lambda r, ct: (10 * ct * r[1], ct * r[0]))

        def total(a: Any, b: Any) -> Any:
            return np.sum(tg.vmap(f, in_axes=(0, None))(a, b))

        for g in (
            tg.grad(total, (0, 1)),
            tg.jit(tg.grad(total, (0, 1))),
            tg.grad(tg.jit(total), (0, 1)),
        ):
            da, db = g(X, 2.0)
            assert np.array_equal(da, np.full(4, 20.0))
            assert db == np.sum(X)

    def test_custom_jvp_keeps_its_rule_under_vmap(self) -> None:
        @tg.custom_jvp
        def f(a: Any) -> Any:
            return np.sin(a)

        f.defjvp(lambda p, t: (f(*p), 3 * t[0] * np.cos(p[0])))
        for g in (
            tg.grad(lambda a: np.sum(tg.vmap(f)(a))),
            tg.jit(tg.grad(lambda a: np.sum(tg.vmap(f)(a)))),
        ):
            assert np.allclose(g(X), 3 * np.cos(X))
        assert np.allclose(tg.jvp(tg.vmap(f), (X,), (X,))[1], 3 * X * np.cos(X))
        A = np.arange(6.0).reshape(2, 3)
        assert np.allclose(tg.grad(lambda a: np.sum(tg.vmap(tg.vmap(f))(a)))(A), 3 * np.cos(A))

    def test_out_axes(self) -> None:
        with pytest.raises(ValueError, match="out_axes"):
            tg.vmap(np.sum, out_axes=3)(np.ones((2, 3)))
        with pytest.raises(ValueError, match="out_axes"):
            tg.vmap(np.sum, out_axes=None)(np.ones((2, 3)))

    def test_jacobian_of_a_complex_result(self) -> None:
        for jacobian in (tg.jacobian, tg.jacfwd, tg.jacrev):
            assert jacobian(lambda z: z * (1 + 2j))(np.array([1 + 1j])) == 1 + 2j
        assert tg.jacobian(lambda x: x * (1 + 2j))(np.array([1.0])) == 1 + 2j


class TestScan:
    def test_of_no_steps_has_empty_results(self) -> None:
        carry, ys = tg.scan(lambda c, x: (c + x, c * x), 0.0, np.zeros(0))
        assert carry == 0.0
        assert ys.shape == (0,)

    def test_a_carry_that_changes_is_refused_in_both_modes(self) -> None:
        bodies = (
            lambda c, x: (np.stack([c, c]), None),
            lambda c, x: ((c, c), None),
            lambda c, x: (c.astype(np.float32), None),
            lambda c, x: c,
        )
        for body in bodies:
            for wrap in (tg.jit, lambda f: f):
                with pytest.raises(TypeError, match="scan: "):
                    wrap(lambda v, body=body: tg.scan(body, np.float64(0), v))(X)

    def test_a_number_as_carry_has_the_same_dtype_in_both_modes(self) -> None:
        def f(v: Any) -> Any:
            return tg.scan(lambda c, x: (c + x, c), 0.0, v)

        v = X.astype(np.float32)
        for eager, compiled in zip(f(v), tg.jit(f)(v), strict=True):
            assert eager.dtype == compiled.dtype
            assert np.allclose(eager, compiled)
