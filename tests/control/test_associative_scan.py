"""associative_scan: values, all derivatives, batches and errors, against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import gradcheck, gradgradcheck

pytestmark = pytest.mark.usefixtures("kernels_in_python")

WRAP = {"eager": lambda f: f, "jit": tg.jit}
RNG = np.random.default_rng(7)


def affine(a: Any, b: Any) -> Any:
    """First a, then b, of functions s -> decay * s + gain."""
    return {"decay": a["decay"] * b["decay"], "gain": b["decay"] * a["gain"] + b["gain"]}


def running(fn: Any, xs: Any, reverse: bool = False) -> Any:
    """The running combinations as a list."""
    out: list[Any] = []
    for x in xs[::-1] if reverse else xs:
        out.append(fn(out[-1], x) if out else x)
    return out[::-1] if reverse else out


@pytest.mark.parametrize("wrap", WRAP)
class TestValues:
    @pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_linear_recurrence(self, wrap: str, n: int, reverse: bool) -> None:
        xs = {"decay": RNG.uniform(0.5, 1.0, n), "gain": RNG.normal(size=n)}
        found = WRAP[wrap](lambda v: tg.associative_scan(affine, v, reverse=reverse))(xs)
        s, expected = 0.0, np.zeros(n)
        for i in range(n)[:: -1 if reverse else 1]:
            expected[i] = s = xs["decay"][i] * s + xs["gain"][i]
        np.testing.assert_allclose(found["gain"], expected, rtol=1e-14)
        assert found["gain"].dtype == np.float64

    def test_axes_and_order(self, wrap: str) -> None:
        m = RNG.normal(size=(2, 2, 5))
        each = list(np.moveaxis(m, 2, 0))
        for axis in (2, -1):
            for reverse in (False, True):
                found = WRAP[wrap](
                    lambda v, axis=axis, reverse=reverse: tg.associative_scan(
                        np.matmul, v, reverse, axis
                    )
                )(m)
                np.testing.assert_allclose(
                    np.moveaxis(found, 2, 0), running(np.matmul, each, reverse), rtol=1e-12
                )

    def test_dtypes_and_layouts(self, wrap: str) -> None:
        f = WRAP[wrap](lambda v: tg.associative_scan(np.maximum, v))
        for dtype in (np.float32, np.int16, np.uint8):
            x = RNG.normal(size=(9, 4)).astype(dtype)[::2, ::-1]
            found = f(x)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, np.maximum.accumulate(x))
        flags = np.array([True, True, False, True])
        np.testing.assert_array_equal(
            WRAP[wrap](lambda v: tg.associative_scan(np.logical_and, v))(flags),
            [True, True, False, False],
        )
        np.testing.assert_array_equal(f(np.zeros((4, 0))), np.zeros((4, 0)))
        np.testing.assert_array_equal(f(np.array([1.0, np.nan, 2.0])), [1.0, np.nan, np.nan])

    def test_the_result_is_new(self, wrap: str) -> None:
        for n in (0, 1, 3):
            x = np.ones(n)
            y = WRAP[wrap](lambda v: tg.associative_scan(lambda a, b: b, v))(x)
            y[...] = 5.0
            np.testing.assert_array_equal(x, np.ones(n))


def orbit(m: Any, w: Any) -> Any:
    """Products of matrices, each with a scale that is captured."""
    return tg.associative_scan(lambda a, b: w * (a @ b), m)


@pytest.mark.parametrize("wrap", WRAP)
class TestDerivatives:
    M = RNG.normal(size=(4, 2, 2))
    W = 1.3

    def plain(self, m: Any, w: Any) -> Any:
        return np.stack(running(lambda a, b: w * (a @ b), list(m)))

    def test_both_orders_and_modes(self, wrap: str) -> None:
        def loss(f: Any) -> Any:
            return lambda m, w: np.sum(np.sin(f(m, w)))

        f, plain = WRAP[wrap](loss(orbit)), loss(self.plain)
        args = self.M, self.W
        for k in (0, 1):
            np.testing.assert_allclose(tg.grad(f, k)(*args), tg.grad(plain, k)(*args), rtol=1e-11)
            np.testing.assert_allclose(
                tg.hessian(f, k)(*args), tg.hessian(plain, k)(*args), rtol=1e-10, atol=1e-10
            )
        direction = np.cos(self.M), 0.4
        np.testing.assert_allclose(
            tg.jvp(f, args, direction)[1], tg.jvp(plain, args, direction)[1], rtol=1e-12
        )
        np.testing.assert_allclose(
            tg.jvp(tg.grad(f), args, direction)[1],
            tg.jvp(tg.grad(plain), args, direction)[1],
            rtol=1e-11,
            atol=1e-11,
        )

    def test_batches(self, wrap: str) -> None:
        w = np.array([0.5, 1.0, 2.0])
        batch = RNG.normal(size=(4, 3, 2, 2))
        f = WRAP[wrap](tg.vmap(orbit, in_axes=(1, 0), out_axes=1))
        np.testing.assert_allclose(
            f(batch, w), np.stack([self.plain(batch[:, k], w[k]) for k in range(3)], 1), rtol=1e-12
        )
        only_w = WRAP[wrap](
            tg.vmap(tg.grad(lambda m, w: np.sum(orbit(m, w) ** 2), 1), in_axes=(None, 0))
        )
        expected = [tg.grad(lambda v: np.sum(self.plain(self.M, v) ** 2))(v) for v in w]
        np.testing.assert_allclose(only_w(self.M, w), expected, rtol=1e-11)

    def test_finite_differences(self, wrap: str) -> None:
        f = WRAP[wrap](lambda m: orbit(m, self.W))
        m = tg.tensor(self.M[:3], requires_grad=True)
        assert gradcheck(f, (m,))
        assert gradgradcheck(f, (m,))


def test_one_loop_whatever_the_length() -> None:
    f = tg.jit(tg.grad(lambda v: np.sum(tg.associative_scan(np.multiply, v))))
    assert sum(n.op.name == "scan" for n in f.graphs(np.ones(1000))[1].nodes) == 2
    x = RNG.uniform(0.5, 1.5, 6)
    np.testing.assert_allclose(f(x), tg.grad(lambda v: np.sum(np.cumprod(v)))(x), rtol=1e-13)
    y = RNG.uniform(0.5, 1.5, 9)
    np.testing.assert_allclose(f(y), tg.grad(lambda v: np.sum(np.cumprod(v)))(y), rtol=1e-13)


@pytest.mark.parametrize("wrap", WRAP)
def test_errors(wrap: str) -> None:
    m = RNG.normal(size=(3, 2))
    here = r"test_associative_scan\.py:\d+: associative_scan: "
    cases: list[tuple[Any, Any, type[Exception], str]] = [
        (lambda a, b: (a, b), m, TypeError, here + "fn returned a result of structure"),
        (
            lambda a, b: np.sum(a + b),
            m,
            TypeError,
            here + r"fn of two slices that are f64\[2\] returned f64\[\]",
        ),
        (
            lambda a, b: {"x": a["x"] > b["x"]},
            {"x": m},
            TypeError,
            here + r"fn of two slices .* returned bool\[2\] \(\['x'\]\)",
        ),
        (
            np.add,
            (m, m[:2]),
            tg.ShapeError,
            here + r"the sizes of xs along axis 0 differ: \[3, 2\]",
        ),
        (
            np.add,
            np.float64(1.0),
            tg.ShapeError,
            here + r"axis 0 is out of range for an array of shape \(\)",
        ),
        (np.add, (), ValueError, "xs has no arrays"),
    ]
    for fn, xs, error, text in cases:
        with pytest.raises(error, match=text):
            WRAP[wrap](lambda v, fn=fn: tg.associative_scan(fn, v))(xs)
    with pytest.raises(tg.ShapeError, match=here + "axis 2 is out of range"):
        WRAP[wrap](lambda v: tg.associative_scan(np.add, v, axis=2))(m)
