"""Dual tensors of `autograd.forward_ad`: levels, tangents through operations, views, writes, both
orders of mixing with backward."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import forward_ad as fwd
from tracegrad.autograd import grad
from tracegrad.tree import flatten


@pytest.fixture
def level() -> Iterator[int]:
    with fwd.dual_level() as number:
        yield number


def dual(values: Any, tangent: Any) -> Any:
    return fwd.make_dual(tg.tensor(values), tg.tensor(tangent))


def parts(x: Any) -> tuple[Any, Any]:
    primal, tangent = fwd.unpack_dual(x)
    return primal.tolist(), None if tangent is None else tangent.tolist()


def test_make_and_unpack(level: int) -> None:
    """Operations carry the tangent on; the result of unpacking is a named tuple."""
    x = dual([1.0, 2.0], [1.0, 0.0])
    found = fwd.unpack_dual(x * x, level=level)
    assert isinstance(found, fwd.UnpackedDualTensor)
    assert (level, found.primal.tolist(), found.tangent.tolist()) == (0, [1, 4], [2, 0])
    assert parts(tg.ones(2))[1] is None
    assert parts(x * 0)[1] == [0, 0]
    t = tg.ones(2)
    assert fwd.unpack_dual(fwd.make_dual(tg.ones(2), t)).tangent is t


def test_without_a_level() -> None:
    """Outside of a level nothing can be dual, and what was is no more."""
    with pytest.raises(
        RuntimeError, match=r"no level exists, make sure to enter_dual_level\(\) first"
    ):
        fwd.make_dual(tg.ones(1), tg.ones(1))
    plain = tg.ones(1)
    assert fwd.unpack_dual(plain).primal is plain
    with fwd.dual_level():
        x = dual(1.0, 2.0)
    assert parts(x) == (1, None)
    y = x * 2
    with fwd.dual_level():
        assert parts(y)[1] is None
        assert parts(x * 3)[1] is None


def test_printing() -> None:
    """The tangent is shown as long as it counts."""
    with fwd.dual_level():
        x = dual([1.0, 2.0], [1.0, 0.0])
        assert repr(x) == "tensor([1., 2.], tangent=tensor([1., 0.]))"
    assert repr(x) == "tensor([1., 2.])"


def test_entering_and_leaving() -> None:
    """The functions behind the context manager, and what they refuse."""
    level = fwd.enter_dual_level()
    try:
        assert parts(dual(1.0, 2.0)) == (1, 2)
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            fwd.enter_dual_level()
        with pytest.raises(RuntimeError, match="not the last one that was created"):
            fwd.exit_dual_level(level=5)
        for wrong in (
            lambda: fwd.make_dual(tg.ones(1), tg.ones(1), level=3),
            lambda: fwd.unpack_dual(tg.ones(1), level=3),
        ):
            with pytest.raises(RuntimeError, match="Invalid level"):
                wrong()
    finally:
        fwd.exit_dual_level(level=level)
    with pytest.raises(RuntimeError, match="no forward AD level to exit"):
        fwd.exit_dual_level()


def test_as_a_decorator_and_per_thread() -> None:
    """A decorated function opens the level at each call; another thread may open its own at the
    same time."""

    @fwd.dual_level()
    def cube(x: Any) -> Any:
        return parts(fwd.make_dual(x, tg.ones(())) ** 3)

    assert cube(tg.tensor(2.0)) == (8, 12)
    with fwd.dual_level():
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(cube(tg.tensor(3.0))))
        thread.start()
        thread.join()
        assert found == [(27, 27)]
        assert parts(dual(1.0, 2.0)) == (1, 2)


def test_what_is_refused(level: int) -> None:
    """Shapes that differ, integers, complex tangents of real tensors, duals of duals, what is no
    tensor."""
    with pytest.raises(
        RuntimeError, match=r"different size than that of the original Tensor.*\[2\].*\[3\]"
    ):
        fwd.make_dual(tg.ones(2), tg.ones(3))
    with pytest.raises(RuntimeError, match=r"forward gradient is of size \[\]"):
        fwd.make_dual(tg.ones(2), tg.tensor(1.0))
    with pytest.raises(
        ValueError,
        match=r"Expected primal to be floating point or complex, but got: tracegrad.int64",
    ):
        fwd.make_dual(tg.tensor([1, 2]), tg.ones(2))
    with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
        fwd.make_dual(tg.ones(2), tg.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="tangent of a real Tensor to be real"):
        fwd.make_dual(tg.ones(2), tg.ones(2, dtype=tg.complex128))
    x = dual([1.0], [1.0])
    with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
        fwd.make_dual(x, tg.ones(1))
    with pytest.raises(RuntimeError, match="forward grad that itself has a forward gradient"):
        fwd.make_dual(tg.ones(1), x)
    with pytest.raises(TypeError, match="must be a Tensor, but got float"):
        fwd.make_dual(1.0, tg.ones(1))


def test_dtypes_and_shapes(level: int) -> None:
    """float32, complex, 0-d, empty, strided; a tangent of another precision is converted; integers
    have none."""
    x = fwd.make_dual(tg.ones(2, dtype=tg.float32), tg.ones(2))
    assert fwd.unpack_dual(x.sin()).tangent.dtype == np.float32
    z = dual([1 + 1j], [1j])
    assert parts(z * z) == ([2j], [-2 + 2j])
    assert np.allclose(parts(z.abs())[1], [0.5**0.5])
    assert parts(dual([1.0], [2.0]) * 1j) == ([1j], [2j])
    assert parts(dual(3.0, 1.0) ** 2) == (9, 6)
    assert parts((dual(np.zeros((0, 2)), np.zeros((0, 2)))).sum()) == (0, 0)
    assert parts(fwd.make_dual(tg.arange(6.0).view(2, 3).t(), tg.ones(3, 2)).sum(0))[1] == [3, 3]
    x = dual([1.0, 3.0], [2.0, 1.0])
    assert [parts(y)[1] for y in (x.argmax(), x > 1, x.long())] == [None] * 3
    assert [
        parts(y) for y in dual([[1.0, 3.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]]).unbind()
    ] == [([1, 3], [1, 2]), ([0, 1], [3, 4])]
    assert (dual(2.0, 1.0).item(), float(dual(2.0, 1.0))) == (2, 2)


def test_writes(level: int) -> None:
    """In-place operations on duals, and of duals into what has no tangent yet."""
    x = dual([1.0, 2.0], [1.0, 1.0])
    x.mul_(3.0)
    assert parts(x) == ([3, 6], [3, 3])
    x = dual([1.0, 2.0], [1.0, 1.0])
    x.mul_(x)  # torch: a tangent of [2, 6], since it reads the number that it has just overwritten
    assert parts(x) == ([1, 4], [2, 4])
    z = tg.zeros(3)
    x = dual([1.0, 2.0], [1.0, 5.0])
    z[:2] = x
    z[2] = x[1]
    assert parts(z) == ([1, 2, 2], [1, 5, 5])
    x[0] = 7.0
    assert parts(x) == ([7, 2], [0, 5])
    memory = tg.zeros(2)
    shared = fwd.make_dual(memory, tg.ones(2))
    shared.add_(1)
    assert (memory.tolist(), memory._version, parts(memory)[1]) == ([1, 1], 1, None)


def test_views(level: int) -> None:
    """A view of a dual shows its tangents, writes go both ways."""
    x = dual([1.0, 2.0, 3.0], [1.0, 5.0, 6.0])
    v = x[1:]
    v.mul_(2)
    assert parts(v) == ([4, 6], [10, 12])
    assert parts(x) == ([1, 4, 6], [1, 10, 12])
    x.mul_(2)
    assert parts(v) == ([8, 12], [20, 24])
    plain = tg.zeros(3)
    v = plain[1:]
    v.copy_(dual([1.0, 2.0], [1.0, 5.0]))
    assert parts(plain) == ([0, 1, 2], [0, 1, 5])
    m = dual([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]])
    m.t()[0].add_(m[1])
    assert parts(m) == ([[4, 2], [7, 4]], [[1, 0], [1, 1]])


@pytest.mark.parametrize("face", [np.array, tg.tensor])
def test_views_inside_jvp(face: Any) -> None:
    """Writes through views, and to what a view shows, in a function under jvp; as the reverse mode
    has it."""

    def through(x: Any) -> Any:
        y = x * 1
        v = y[1:]
        v *= 2
        v[0] = v[1] * x[0]
        return y

    def below(x: Any) -> Any:
        v = x[1:]
        x *= 2
        return v * 1

    x, t = face([1.0, 2.0, 3.0]), face([1.0, 5.0, 6.0])
    for function in (through, below):
        out, tangent = tg.jvp(function, (x,), (t,))
        whole = tg.jacobian(function, mode="reverse")(np.array([1.0, 2.0, 3.0]))
        assert np.allclose(tangent, whole @ np.array([1.0, 5.0, 6.0]))
        assert np.allclose(out, function(np.array([1.0, 2.0, 3.0])))
        assert np.allclose(tg.jvp(tg.jit(function), (x,), (t,))[1], tangent)
    assert np.array_equal(x, [1, 2, 3])


def test_what_drops_the_tangent(level: int) -> None:
    """detach() and .data have none, clone() has it, and the grad mode does not matter."""
    x = dual([1.0, 2.0], [1.0, 5.0])
    assert parts(x.detach())[1] is None
    assert parts(x.data)[1] is None
    assert parts(x.clone())[1] == [1, 5]
    with tg.no_grad():
        assert parts(x * 2) == ([2, 4], [2, 10])


def test_reverse_over_forward(level: int) -> None:
    """Primal and tangent can be differentiated with respect to what they were made of."""
    x, v = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([1.0, 3.0], requires_grad=True)
    y, t = fwd.unpack_dual((fwd.make_dual(x, v) ** 3).sum())
    assert y.requires_grad
    assert [g.tolist() for g in grad(t, [x, v], retain_graph=True)] == [[6, 36], [3, 12]]
    assert grad(y, x)[0].tolist() == [3, 12]


def test_forward_over_reverse(level: int) -> None:
    """The gradient of a function of duals is dual: its tangent is a Hessian-vector product."""
    x = fwd.make_dual(tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([1.0, 0.0]))
    (g,) = grad((x**3).sum(), x, create_graph=True)
    assert parts(g) == ([3, 12], [6, 0])
    x = dual([1.0, 2.0], [1.0, 3.0]).requires_grad_()
    (g,) = grad((x**3).sum(), x)
    assert parts(g) == ([3, 12], [6, 36])
    leaf = tg.tensor([1.0, 2.0], requires_grad=True)
    (g,) = grad(leaf * leaf, leaf, dual([1.0, 1.0], [3.0, 4.0]))
    assert parts(g) == ([2, 4], [6, 16])
    x = fwd.make_dual(leaf, tg.ones(2))
    (x**3).sum().backward()
    assert parts(leaf.grad) == ([3, 12], None)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x.mul_(2)


def test_jitted(level: int) -> None:
    """Duals through a jitted function, forward over reverse of it, and a level inside of one."""
    f = tg.jit(lambda x: np.sin(x) * x)
    x = dual([1.0, 2.0], [1.0, 3.0])
    assert np.allclose(parts(f(x))[1], (np.cos([1, 2]) * [1, 2] + np.sin([1, 2])) * [1, 3])
    x = dual([1.0, 2.0], [1.0, 3.0]).requires_grad_()
    (g,) = grad(f(x).sum(), x)
    assert np.allclose(parts(g)[1], (2 * np.cos([1, 2]) - np.sin([1, 2]) * [1, 2]) * [1, 3])


def test_a_level_inside_a_jitted_function() -> None:
    """The tangent is traced like all else."""

    @tg.jit
    def derivative(x: Any, t: Any) -> Any:
        with fwd.dual_level():
            return fwd.unpack_dual(fwd.make_dual(x, t) ** 3).tangent

    assert derivative(tg.tensor(2.0), tg.tensor(1.0)).item() == 12
    with fwd.dual_level():
        # Traced anew for this shape, with a level open around it.
        second = derivative(dual([1.0, 2.0], [1.0, 1.0]), tg.ones(2))
        assert parts(second) == ([3, 12], [6, 12])
        with pytest.raises(RuntimeError, match="Nested"):
            fwd.enter_dual_level()


def test_beside_jvp(level: int) -> None:
    """tracegrad's own jvp nests in the level: second derivatives."""
    x = dual(2.0, 1.0)
    _, t = tg.jvp(lambda y: y**3, (x,), (tg.tensor(1.0),))
    assert parts(t) == (12, 12)


def test_custom_functions(level: int) -> None:
    """A Function's own jvp, and forward over reverse through what it saved: an input, and a
    result."""

    class Exp(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y, x)
            ctx.save_for_forward(y)
            return y

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            y, x = ctx.saved_tensors
            return ct * y + 0 * x

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * ctx.saved_tensors[0]

    e = np.exp([0.5, 1.0])
    for f in (Exp.apply, tg.jit(Exp.apply)):
        x = dual([0.5, 1.0], [1.0, 3.0]).requires_grad_()
        y = f(x)
        assert np.allclose(parts(y)[1], e * [1, 3])
        for create_graph in (True, False):
            (g,) = grad(y.sum(), x, create_graph=create_graph, retain_graph=True)
            assert np.allclose(parts(g), [e, e * [1, 3]])


def test_of_a_value_beside_its_gradient() -> None:
    """The value's tangent comes out of the inner derivative without its history."""

    def f(x: Any) -> Any:
        return np.sum(np.sin(x) ** 2)

    x, v = np.arange(3.0), np.array([1.0, -2.0, 0.5])
    for derivative in (
        tg.value_and_grad(f),
        lambda x: tg.value_and_grad(lambda y: (f(y), np.cos(y)), has_aux=True)(x),
    ):
        found, expected = (
            tg.jvp(derivative, (x,), (v,)),
            tg.jit(lambda x, d=derivative: tg.jvp(d, (x,), (v,)))(x),
        )
        for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            assert isinstance(a, (np.ndarray, np.generic))
            np.testing.assert_allclose(a, b, rtol=1e-14)
