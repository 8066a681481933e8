"""Custom reverse rules whose surroundings are written to before the derivative is taken: what held
when the function was called counts, or it is an error. (The rule's forward function ran in the
backward pass, and read what was there then.)"""

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import TracegradError

POINT = np.array([0.5, 0.7])


def squares(buffer: Any) -> Any:
    """`x**2 * buffer`, of which the rule keeps what it multiplied by."""

    @tg.custom_vjp
    def f(x: Any) -> Any:
        return x * x * buffer

    f.defvjp(
        lambda x: (x * x * buffer, {"x": x, "of": buffer}),
        lambda kept, ct: (2 * kept["x"] * kept["of"] * ct,),
    )
    return f


def loop(make: Any) -> Any:
    """A buffer that is filled anew for each of three terms."""

    def f(x: Any) -> Any:
        buffer = make()
        term, total = squares(buffer), 0.0
        for k in range(3):
            buffer[:] = k + 1.0
            total = total + (term(x) * (k + 1)).sum()
        return total

    return f


def right_or_refused(run: Any, expected: Any) -> None:
    try:
        found = run()
    except (RuntimeError, TracegradError) as error:
        text = str(error)
        assert any(t in text for t in ("modified by an inplace", "written to", "residuals"))
        return
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


MAKERS = {"array": lambda: np.zeros(2), "tensor": lambda: tg.zeros(2)}
SLOPE = 2 * POINT * (1 + 4 + 9)
WAYS = {
    "grad": lambda f: tg.grad(f)(POINT),
    "vjp": lambda f: tg.vjp(f, POINT)[1](1.0)[0],
    "jacrev": lambda f: tg.jacrev(lambda x: tg.stack([f(x), 2 * f(x)]))(POINT)[0],
    "jit of grad": lambda f: tg.jit(tg.grad(f))(POINT),
    "grad of jit": lambda f: tg.grad(tg.jit(f))(POINT),
    "vmap of grad": lambda f: tg.vmap(tg.grad(f))(POINT[None])[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MAKERS)
def test_a_buffer_that_is_filled_anew(kind: str, way: str) -> None:
    right_or_refused(lambda: WAYS[way](loop(MAKERS[kind])), SLOPE)


@pytest.mark.parametrize("kind", MAKERS)
def test_second_derivatives(kind: str) -> None:
    f = loop(MAKERS[kind])
    expected = np.diag(2.0 * np.full(2, 14.0))
    right_or_refused(lambda: tg.jacrev(tg.grad(f))(POINT), expected)
    right_or_refused(lambda: tg.jit(tg.jacrev(tg.grad(f)))(POINT), expected)


def test_eager_derivatives_of_arrays_are_right() -> None:
    np.testing.assert_allclose(tg.grad(loop(MAKERS["array"]))(POINT), SLOPE)
    with pytest.raises(RuntimeError, match="gives other residuals"):
        tg.jacrev(tg.grad(loop(MAKERS["array"])))(POINT)


def test_backward_later() -> None:
    for write, expected in ((lambda b: b.__imul__(3.0), [1.0, 1.4]), (lambda b: None, [1.0, 1.4])):
        buffer = np.ones(2)
        x = tg.tensor(POINT, requires_grad=True)
        y = squares(buffer)(x).sum()
        write(buffer)
        y.backward()
        np.testing.assert_allclose(np.asarray(x.grad), expected)
    buffer = tg.ones(2)
    x = tg.tensor(POINT, requires_grad=True)
    y = squares(buffer)(x).sum()
    buffer.mul_(3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


def test_the_forward_rule_runs_once() -> None:
    calls: list[str] = []

    @tg.custom_vjp
    def f(x: Any) -> Any:
        return x * x

    def forward(x: Any) -> Any:
        calls.append("forward")
        return x * x, x

    f.defvjp(forward, lambda x, ct: (2 * x * ct,))
    assert tg.grad(f)(3.0) == 6.0
    assert tg.jacrev(lambda x: f(x))(POINT).tolist() == np.diag(2 * POINT).tolist()
    assert calls == ["forward"] * 2
    assert f(2.0) == 4.0
    assert calls == ["forward"] * 2
    assert tg.grad(tg.grad(f))(3.0) == 2.0
    x = tg.tensor(POINT, requires_grad=True)
    with tg.no_grad():
        f(x)
    assert len(calls) == 4


def test_a_rule_that_calls_the_function() -> None:
    @tg.custom_vjp
    def f(x: Any) -> Any:
        return x**3

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (3 * x**2 * ct,))
    for g in (tg.grad(f), tg.jit(tg.grad(f)), tg.grad(tg.jit(f)), tg.grad(tg.checkpoint(f))):
        assert float(g(2.0)) == 12.0
    for h in (tg.grad(tg.grad(f)), tg.jit(tg.grad(tg.grad(f)))):
        assert float(h(2.0)) == 12.0


def test_residuals_of_all_kinds() -> None:
    @tg.custom_vjp
    def f(x: Any, n: Any) -> Any:
        return x * n

    f.defvjp(
        lambda x, n: (x * n, (n, "text", None, [np.float32(2.0), x > 0.6], tg.ones(2))),
        lambda kept, ct: (ct * kept[0] * kept[3][0] / 2 * kept[4], None),
    )
    np.testing.assert_allclose(tg.grad(lambda x: np.sum(f(x, 3)))(POINT), [3.0, 3.0])
    np.testing.assert_allclose(
        tg.jacrev(tg.grad(lambda x: np.sum(f(x, 3) * x)))(POINT), np.diag([6.0, 6.0])
    )
    nan = tg.custom_vjp(lambda x: x * np.nan)
    nan.defvjp(lambda x: (x * np.nan, x * np.nan), lambda kept, ct: (ct * kept,))
    assert np.isnan(tg.grad(tg.grad(nan))(1.0))
