"""Contract, section 10, complex: gradients are dL/dz*, the conjugate Wirtinger derivative; numbers
from torch 2.13."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import grad

Z, R = [0.5 + 1.5j, -1.2 + 0.3j], [0.5, -1.2]

TORCH: dict[str, tuple[Callable[[Any], Any], list[complex]]] = {
    "z * z": (lambda z: z * z, [(7 - 1j), (-1.2 - 5.4j)]),
    "z.exp()": (lambda z: z.exp(), [(3.405808333 - 1.411339344j), (0.465759773 + 0.486474666j)]),
    "z.sin()": (lambda z: z.sin(), [(0.022771758 + 5.149698263j), (0.946436149 + 0.473748217j)]),
    "z.cos()": (lambda z: z.cos(), [(-4.865042285 - 0.386991974j), (0.753605774 + 2.058937996j)]),
    "z.tan()": (lambda z: z.tan(), [(0.414099521 + 0.079080319j), (-7.31417803 + 6.791187906j)]),
    "z.sinh()": (lambda z: z.sinh(), [(1.119345015 - 0.360259744j), (0.837632669 + 3.905646997j)]),
    "z.cosh()": (lambda z: z.cosh(), [(2.286463318 - 1.0510796j), (-0.371872897 - 3.419172331j)]),
    "z.tanh()": (lambda z: z.tanh(), [(-5.618233584 - 5.815058728j), (0.577375728 + 0.397030502j)]),
    "z.asin()": (lambda z: z.asin(), [(0.782318771 + 0.9373843j), (-1.301969748 + 2.133186554j)]),
    "z.atan()": (lambda z: z.atan(), [(-1.230769231 - 0.153846154j), (0.627389958 + 0.658842226j)]),
    "z.log()": (lambda z: z.log(), [(-1 + 1j), (-1.176470588 - 1.37254902j)]),
    "z.sqrt()": (
        lambda z: z.sqrt(),
        [(-0.142424392 + 0.877658651j), (-0.837472975 + 0.556061256j)],
    ),
    "1 / z": (lambda z: 1 / z, [(0.8 + 0.4j), (-1.191849289 - 0.845828528j)]),
    "z**3": (lambda z: z**3, [(3 - 16.5j), (-0.27 + 10.26j)]),
    "z ** (1 + 2j)": (
        lambda z: z ** (1 + 2j),
        [(0.250330514 - 0.326232265j), (0.013883126 - 0.006287748j)],
    ),
    "z**z": (lambda z: z**z, [(0.50692743 - 0.656019841j), (-2.234539904 - 0.460823729j)]),
    "2**z": (lambda z: 2**z, [(2.18694291 + 0.147684956j), (0.419785477 + 0.528132818j)]),
    "z.abs()": (lambda z: z.abs(), [(0.474341649 + 1.423024947j), (-1.45521375 + 0.363803438j)]),
    "z.angle()": (lambda z: z.angle(), [(-0.9 + 0.3j), (-0.294117647 - 1.176470588j)]),
    "z.real": (lambda z: z.real, [(1.5 + 0j), (1.5 + 0j)]),
    "z.imag": (lambda z: z.imag, [1.5j, 1.5j]),
    "z.conj()": (lambda z: z.conj(), [(1 - 2j), (1 - 2j)]),
    "z.abs() ** 2": (lambda z: z.abs() ** 2, [(1.5 + 4.5j), (-3.6 + 0.9j)]),
    "z * z.conj()": (lambda z: z * z.conj(), [(1 + 3j), (-2.4 + 0.6j)]),
    "z.sum()": (lambda z: z.sum(), [(1 + 2j), (1 + 2j)]),
    "z.prod()": (lambda z: z.prod(), [(-0.6 - 2.7j), (3.5 - 0.5j)]),
    "z.mean()": (lambda z: z.mean(), [(0.5 + 1j), (0.5 + 1j)]),
    "tg.sign(z)": (
        lambda z: tg.sign(z),
        [(0.18973666 - 0.063245553j), (0.428004044 + 1.712016177j)],
    ),
    "z.cumsum(0)": (lambda z: z.cumsum(0), [(2 + 4j), (1 + 2j)]),
    "z.cumprod(0)": (lambda z: z.cumprod(0), [(0.4 - 0.7j), (3.5 - 0.5j)]),
    "z / (z + 1j)": (
        lambda z: z / (z + 1j),
        [(-0.224852071 + 0.26035503j), (-0.369504639 - 0.611417897j)],
    ),
    "z @ z": (lambda z: z @ z, [(7 - 1j), (-1.2 - 5.4j)]),
    "z[:, None] * z.conj()": (lambda z: z[:, None] * z.conj(), [(-1.4 + 3.6j), (-1.4 + 3.6j)]),
    "tg.where(tg.tensor([True, False]), z, z * z)": (
        lambda z: tg.where(tg.tensor([True, False]), z, z * z),
        [(1 + 2j), (-1.2 - 5.4j)],
    ),
    "(z.abs() ** 2).sum().sqrt()": (
        lambda z: (z.abs() ** 2).sum().sqrt(),
        [(0.373601611 + 1.120804833j), (-0.896643867 + 0.224160967j)],
    ),
    "z.exp().real * z.imag": (
        lambda z: z.exp().real * z.imag,
        [(0.26240834 - 3.525391311j), (0.129483819 + 0.391558692j)],
    ),
}
"""Functions of Z, and torch's gradient for a weight of 1 + 2j everywhere (1.5 where the result is
real)."""


def leaf(values: Any, **options: Any) -> Any:
    return tg.tensor(values, requires_grad=True, **options)


def weight(y: Any) -> Any:
    return tg.tensor(np.full(y.shape, 1 + 2j if y.dtype.kind == "c" else 1.5, y.dtype))


@pytest.mark.parametrize("jitted", [False, True])
def test_gradients_are_torchs(jitted: bool) -> None:
    """Holomorphic functions, functions to the reals, and what is neither: eagerly, and all of them
    in one compiled function."""
    z = leaf(Z)
    functions = [f for f, _ in TORCH.values()]
    whole = (
        (lambda z: tuple(f(z) for f in functions))
        if not jitted
        else tg.jit(lambda z: tuple(f(z) for f in functions))
    )
    for name, y, (_, expected) in zip(TORCH, whole(z), TORCH.values(), strict=True):
        (g,) = grad(y, z, weight(y), retain_graph=True)
        assert g.dtype == np.complex128
        np.testing.assert_allclose(g.numpy(), expected, rtol=1e-7, atol=1e-9, err_msg=name)


def test_holomorphic() -> None:
    """The gradient is the weight times the conjugate of the derivative."""
    z = leaf(Z)
    for function, derivative in (
        (np.exp, np.exp),
        (np.sin, np.cos),
        (lambda z: z**3, lambda z: 3 * z**2),
    ):
        y = function(z)
        (g,) = grad(y, z, weight(y))
        np.testing.assert_allclose(g, (1 + 2j) * np.conj(derivative(np.array(Z))))


def test_to_the_reals() -> None:
    """The gradient of a real function s is 2 ds/dz*, that is ds/dx + i ds/dy: the direction in
    which s grows."""
    z = leaf(Z)
    (z.abs() ** 2).sum().backward()
    np.testing.assert_allclose(z.grad, 2 * np.array(Z))
    (g,) = grad((z.real * 3 + z.imag * 5).sum(), z)
    assert g.tolist() == [3 + 5j] * 2
    at_zero = leaf([0j])
    assert grad(at_zero.abs().sum(), at_zero)[0].tolist() == [0]


def test_from_the_reals() -> None:
    """A real input has a real gradient, that of the real part of the weighted sum."""
    functions: list[tuple[Callable[[Any], Any], list[float]]] = [
        (lambda x: x * 1j, [2.0, 2.0]),
        (lambda x: (1j * x).exp(), [1.2757395852, 1.6567545949]),
        (lambda x: x * (2 + 1j) + x**2, [5.0, 1.6]),
        (lambda x: x.to(tg.complex128), [1.0, 1.0]),
        (lambda x: (x * (1 + 1j)).abs(), [2.1213203436, -2.1213203436]),
    ]
    for function, expected in functions:
        x = leaf(R)
        y = function(x)
        (g,) = grad(y, x, weight(y))
        assert g.dtype == np.float64
        np.testing.assert_allclose(g, expected, atol=1e-9)
    x, z = leaf(R), leaf(Z)
    a, b = grad((x * z).sum(), [x, z], tg.tensor(1 + 2j))
    np.testing.assert_allclose(a, [3.5, -0.6])
    np.testing.assert_allclose(b, [0.5 + 1j, -1.2 - 2.4j])


def test_second_order() -> None:
    """Gradients of gradients, of a holomorphic and of a real function."""
    v = tg.tensor([1 + 1j, 2 - 1j])
    z = leaf(Z)
    (g,) = grad((z**3).sum(), z, tg.tensor(1 + 0j), create_graph=True)
    np.testing.assert_allclose(grad(g, z, v)[0], [-6 - 12j, -12.6 - 10.8j])
    (g,) = grad((z.abs() ** 3).sum(), z, create_graph=True)
    np.testing.assert_allclose(
        g.detach(), [2.3717082451 + 7.1151247354j, -4.4529540757 + 1.1132385189j]
    )
    np.testing.assert_allclose(
        grad(g, z, v)[0], [6.6407830864 + 10.4355162786j, 15.2797443773 - 5.6753336259j]
    )


def test_matrices() -> None:
    """Products and solutions."""
    z = leaf([[1 + 1j, 2], [0.5j, 1]])
    (g,) = grad((z @ z).sum(), z, tg.tensor(1 + 0j))
    assert g.tolist() == [[4 - 2.5j, 2 - 2j], [6 - 1j, 4 - 0.5j]]
    z = leaf([[1 + 1j, 2], [0.5j, 3]])
    (g,) = grad(np.linalg.solve(z, tg.ones(2, dtype=tg.complex128)).sum(), z, tg.tensor(1 + 2j))
    expected = [
        [0.4023668639 - 0.3343195266j, 0.2352071006 - 0.5355029586j],
        [-0.2426035503 + 0.0177514793j, -0.2337278107 + 0.1390532544j],
    ]
    np.testing.assert_allclose(g, expected, rtol=1e-8)


def test_precision() -> None:
    """complex64 stays complex64."""
    z = leaf(Z, dtype=tg.complex64)
    (g,) = grad((z * z.conj()).real.sum(), z)
    assert g.dtype == np.complex64
    np.testing.assert_allclose(g, 2 * np.array(Z), rtol=1e-6)


def test_a_step_downhill() -> None:
    """z - rate * gradient lowers a real loss: the reason for the convention."""
    z, target = leaf(Z), tg.tensor([1 - 1j, 2 + 2j])
    losses = []
    for _ in range(50):
        loss = ((z * z - target).abs() ** 2).sum()
        losses.append(loss.item())
        loss.backward()
        with tg.no_grad():
            z -= 0.02 * z.grad
        z.grad = None
    assert all(b < a for a, b in itertools.pairwise(losses))
    assert losses[-1] < 0.02 * losses[0]
