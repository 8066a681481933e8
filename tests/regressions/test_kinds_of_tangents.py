"""A tangent is what the result is that it belongs to (a Tensor, an array, a number), eagerly and
compiled, with jvp and with linearize; a gradient is what its argument is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.arange(1.0, 4.0)
ONES = tg.ones(3)


def mixed(x: Any) -> Any:
    """Results of each kind: of the argument, of NumPy alone, of torch's functions; constant ones,
    and such without a derivative."""
    return {
        "moved": ONES * np.sum(x * x),
        "as given": x * 2.0,
        "number": np.sum(x),
        "itself": x,
        "integer": np.argmax(x),
        "constant Tensor": tg.ones(2),
        "constant array": np.ones(2),
        "constant number": 2.5,
    }


GIVEN: dict[str, Callable[[], Any]] = {
    "array": lambda: X.copy(),
    "tensor": lambda: tg.tensor(X),
    "leaf": lambda: tg.tensor(X, requires_grad=True),
    "number": lambda: 1.5,
}
DIRECTIONS: dict[str, Callable[[Any], Any]] = {
    "as the argument": lambda x: x,
    "array": lambda x: np.asarray(x.detach() if isinstance(x, tg.Tensor) else x) * 1.0,
    "tensor": lambda x: tg.tensor(x.tolist() if hasattr(x, "tolist") else x, dtype=tg.float64),
}
WAYS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "jvp": lambda f, x, v: tg.jvp(f, (x,), (v,)),
    "linearize": lambda f, x, v: (lambda y, push: (y, push(v)))(*tg.linearize(f, x)),
    "jvp of a part": lambda f, x, v: tg.jvp(lambda x: f(x * 1.0), (x,), (v,)),
}
FORMS: dict[str, Callable[..., Any]] = {
    "eager": lambda way, x, v: way(mixed, x, v),
    "of a jitted function": lambda way, x, v: way(tg.jit(mixed), x, v),
    "in a jitted function": lambda way, x, v: tg.jit(lambda x, v: way(mixed, x, v))(x, v),
    "of one in one": lambda way, x, v: tg.jit(lambda x, v: way(tg.jit(mixed), x, v))(x, v),
}


def number_of(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, tg.Tensor) else np.asarray(x)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("given", GIVEN)
def test_tangents_are_what_results_are(given: str, direction: str, way: str, form: str) -> None:
    x = GIVEN[given]()
    v = DIRECTIONS[direction](x)
    results, tangents = FORMS[form](WAYS[way], x, v)
    expected, at = mixed(x), number_of(x)
    d = number_of(v)
    slopes = {
        "moved": np.ones(3) * np.sum(2 * at * d),
        "as given": 2 * d,
        "number": np.sum(d),
        "itself": d,
        "integer": 0.0,
        "constant Tensor": np.zeros(2),
        "constant array": np.zeros(2),
        "constant number": 0.0,
    }
    for name, slope in slopes.items():
        result, tangent = results[name], tangents[name]
        tensor = isinstance(expected[name], tg.Tensor)
        assert isinstance(result, tg.Tensor) is tensor, name
        assert isinstance(tangent, tg.Tensor) is tensor, name
        if not tensor:
            array = isinstance(expected[name], np.ndarray) and expected[name].ndim
            assert isinstance(tangent, np.ndarray if array else (np.generic, float)), name
        np.testing.assert_allclose(number_of(result), number_of(expected[name]), rtol=1e-14)
        np.testing.assert_allclose(number_of(tangent), slope, rtol=1e-14)
        assert number_of(tangent).shape == np.shape(slope)


@pytest.mark.parametrize("form", ["eager", "of a jitted function"])
@pytest.mark.parametrize("given", ["array", "tensor", "leaf"])
def test_gradients_are_what_arguments_are(given: str, form: str) -> None:
    def both(x: Any) -> Any:
        return ONES * np.sum(x * x), x * 2.0

    x = GIVEN[given]()
    result, pull = tg.vjp(tg.jit(both) if form != "eager" else both, x)
    for cotangents in ((tg.ones(3), np.ones(3)), (np.ones(3), tg.ones(3))):
        (found,) = pull(cotangents)
        assert isinstance(found, tg.Tensor) is isinstance(x, tg.Tensor)
        np.testing.assert_allclose(number_of(found), 6 * X + 2)
    assert [isinstance(r, tg.Tensor) for r in result] == [True, isinstance(x, tg.Tensor)]


@pytest.mark.parametrize("way", ["jvp", "linearize"])
@pytest.mark.parametrize("form", ["eager", "of a jitted function"])
def test_backward_through_a_tangent(way: str, form: str) -> None:
    """A tangent that stands on the tape is a Tensor there, also beside an array."""
    v = tg.tensor(X, requires_grad=True)
    _, tangents = FORMS[form](WAYS[way], X.copy(), v)
    for name in ("as given", "moved"):
        assert isinstance(tangents[name], tg.Tensor)
        assert tangents[name].requires_grad
    tangents["as given"].sum().backward()
    assert v.grad is not None
    assert v.grad.tolist() == [2.0, 2.0, 2.0]


def test_tangents_of_tangents() -> None:
    """The second derivative of what gives both kinds."""
    for f in (mixed, tg.jit(mixed)):
        inner = lambda x, f=f: tg.jvp(f, (x,), (X,))[1]  # noqa: E731
        tangents, seconds = tg.jvp(inner, (X.copy(),), (X,))
        for name in ("moved", "as given", "constant Tensor", "constant array"):
            tensor = name in ("moved", "constant Tensor")
            assert isinstance(tangents[name], tg.Tensor) is tensor
            assert isinstance(seconds[name], tg.Tensor) is tensor
        np.testing.assert_allclose(number_of(seconds["moved"]), np.ones(3) * np.sum(2 * X * X))


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "vjp": lambda f: tg.vjp(f, X)[1](1j * X),
    "vjp in jit": lambda f: tg.jit(lambda x, c: tg.vjp(f, x)[1](c))(X, 1j * X),
    "jvp": lambda f: tg.jvp(f, (X,), (1j * X,)),
    "linearize": lambda f: tg.linearize(f, X)[1](1j * X),
    "hvp": lambda f: tg.hvp(lambda x: np.sum(f(x)), X, 1j * X),
    "number": lambda f: tg.vjp(lambda x: x * x, 2.0)[1](1j),
}


@pytest.mark.parametrize("way", COMPLEX)
@pytest.mark.parametrize("form", ["eager", "of a jitted function"])
def test_complex_ones_of_real_values_are_refused(way: str, form: str) -> None:
    """Their imaginary part was dropped."""
    function = tg.jit(lambda x: x**3) if form != "eager" else lambda x: x**3
    with pytest.raises(tg.DTypeError, match=r"tangent of dtype complex128.*of dtype float64"):
        COMPLEX[way](function)


@pytest.mark.parametrize(
    "derive", ["grad", "value_and_grad", "jacobian", "hessian", "sparse_jacobian", "sparse_hessian"]
)
@pytest.mark.parametrize("argnums", [(0, 0), (1, 0, 1), (0, -2), (-1, 1)])
def test_an_argument_is_named_once(derive: str, argnums: Any) -> None:
    """The first of two was a leaf that the result does not depend on: zeros."""

    def f(x: Any, y: Any) -> Any:
        return x * y if derive == "sparse_jacobian" else np.sum(x * x * y)

    for function in (f, tg.jit(f)):
        with pytest.raises(TypeError, match=f"{derive[:4]}.*twice|jacobian.*twice|grad.*twice"):
            getattr(tg, derive)(function, argnums=argnums)(X, X)
