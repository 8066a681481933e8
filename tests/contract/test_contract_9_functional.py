"""Contract, section 9: `autograd.functional` and the names of torch.func, one test or more per
line."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import functional as F
from tracegrad.autograd import grad

X, Y = tg.tensor([1.0, 2.0]), tg.tensor([1.0, 2.0, 3.0])
STRATEGIES = [
    {},
    {"vectorize": True},
    {"vectorize": True, "strategy": "forward-mode"},
    {"create_graph": True},
    {"create_graph": True, "vectorize": True},
]


def cube(x: Any) -> Any:
    return (x**3).sum()


def several(x: Any, y: Any) -> Any:
    return x[:, None] * y, (x * x).sum()


@pytest.mark.parametrize("options", STRATEGIES, ids=str)
def test_shapes_of_jacobians(options: dict[str, Any]) -> None:
    """out.shape + in.shape, in nested tuples where outputs or inputs are tuples; the same numbers
    by every strategy."""
    assert F.jacobian(lambda x: x * x, X, **options).tolist() == [[2, 0], [0, 4]]
    assert F.jacobian(lambda x: x * x, (X,), **options)[0].tolist() == [[2, 0], [0, 4]]
    assert F.jacobian(lambda x: (x * x,), X, **options)[0].tolist() == [[2, 0], [0, 4]]
    assert F.jacobian(lambda x: x * x, tg.tensor(3.0), **options).tolist() == 6
    found = F.jacobian(several, (X, Y), **options)
    assert [[j.shape for j in row] for row in found] == [[(2, 3, 2), (2, 3, 3)], [(2,), (3,)]]
    expected = tg.jacobian(several, argnums=(0, 1))(X.numpy(), Y.numpy())
    assert all(
        np.allclose(a.detach(), b)
        for r, s in zip(found, expected, strict=True)
        for a, b in zip(r, s, strict=True)
    )
    assert all(j.detach().numpy().flags.writeable for row in found for j in row)
    assert F.jacobian(lambda x: x[:0], X, **options).shape == (0, 2)
    assert F.jacobian(cube, tg.zeros(0, 3), **options).shape == (0, 3)
    matrix = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.allclose(
        F.jacobian(lambda x: x @ x, matrix, **options).detach(),
        tg.jacobian(lambda x: x @ x)(matrix.numpy()),
    )
    assert F.jacobian(lambda x: x.clone().mul_(x), X, **options).tolist() == [[2, 0], [0, 4]]
    assert F.jacobian(lambda x: x * x, X.float(), **options).dtype == np.float32


@pytest.mark.parametrize("options", STRATEGIES, ids=str)
def test_independence(options: dict[str, Any]) -> None:
    """Zeros for what does not depend on an input, or has no derivative."""
    a, b = F.jacobian(lambda x, y: x * 2, (X, Y), **options)
    assert (a.tolist(), b.tolist()) == ([[2, 0], [0, 2]], [[0, 0, 0]] * 2)
    assert F.jacobian(lambda x: tg.ones(3), X, **options).tolist() == [[0, 0]] * 3
    assert F.jacobian(lambda x: x.long(), X, **options).tolist() == [[0, 0]] * 2


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"vectorize": True},
        {"vectorize": True, "outer_jacobian_strategy": "forward-mode"},
        {"create_graph": True},
    ],
    ids=str,
)
def test_shapes_of_hessians(options: dict[str, Any]) -> None:
    """H[i][j] of shape in_i.shape + in_j.shape; one element in whatever shape is a scalar
    result."""
    assert F.hessian(cube, X, **options).tolist() == [[6, 0], [0, 12]]
    assert F.hessian(lambda x: cube(x).reshape(1, 1), X, **options).tolist() == [[6, 0], [0, 12]]
    assert F.hessian(cube, (X,), **options)[0][0].tolist() == [[6, 0], [0, 12]]
    assert F.hessian(lambda x: x**3, tg.tensor(2.0), **options).tolist() == 12
    found = F.hessian(lambda x, y: x.sum() * (y * y).sum(), (X, Y), **options)
    assert [[h.tolist() for h in row] for row in found] == [
        [[[0, 0], [0, 0]], [[2, 4, 6], [2, 4, 6]]],
        [[[2, 2], [4, 4], [6, 6]], [[6, 0, 0], [0, 6, 0], [0, 0, 6]]],
    ]
    assert F.hessian(lambda x: (2 * x).sum(), X, **options).tolist() == [[0, 0], [0, 0]]
    assert F.hessian(cube, tg.zeros(0), **options).shape == (0, 0)


def test_products() -> None:
    """(outputs, product), with the structure of the inputs for vjp, vhp and hvp, and of the outputs
    for jvp."""
    out, product = F.vjp(several, (X, Y), (tg.ones(2, 3), tg.tensor(2.0)))
    assert (out[1].tolist(), product[0].tolist(), product[1].tolist()) == (5, [10, 14], [3, 3, 3])
    out, product = F.jvp(several, (X, Y), (tg.ones(2), tg.zeros(3)))
    assert (product[0].tolist(), product[1].tolist()) == ([[1, 2, 3], [1, 2, 3]], 6)
    for who in (F.vhp, F.hvp):
        out, product = who(lambda x, y: x.sum() * (y * y).sum(), (X, Y), (tg.ones(2), tg.zeros(3)))
        assert (out.tolist(), [p.tolist() for p in product]) == (42, [[0, 0], [4, 8, 12]])
    assert F.vjp(cube, X)[1].tolist() == [3, 12]
    assert F.jvp(lambda x: x * Y, tg.tensor([2.0]))[1].tolist() == [1, 2, 3]
    assert F.hvp(cube, tg.tensor([2.0]))[1].tolist() == [12]


def test_what_inputs_and_outputs_may_be() -> None:
    """Tensors and tuples of them; lists and numbers are a TypeError that names them."""
    for who in (F.jacobian, F.hessian, F.vjp, F.jvp, F.vhp, F.hvp):
        name = who.__name__
        with pytest.raises(
            TypeError,
            match=(
                rf"inputs given to {name} must be either a Tensor or a tuple of Tensors .* "
                r"type <class 'list'>"
            ),
        ):
            who(cube, [X])
        with pytest.raises(TypeError, match="the value at index 1 has type <class 'float'>"):
            who(lambda x, y: cube(x), (X, 2.0))
    with pytest.raises(
        TypeError,
        match=r"outputs of the user-provided function given to jacobian must be .* <class 'list'>",
    ):
        F.jacobian(lambda x: [x], X)
    with pytest.raises(TypeError, match=r"v given to vjp must be .* type <class 'list'>"):
        F.vjp(lambda x: x, X, [X])


def test_strict() -> None:
    """strict refuses outputs without a history, inputs that are not used, and with create_graph
    derivatives that are constant."""
    no_grad = (
        "Output 0 of the user-provided function does not require gradients. The outputs must "
        "be computed in a differentiable manner"
    )
    refused: list[tuple[Callable[..., Any], str]] = [
        (lambda: F.jacobian(lambda x: tg.ones(3), X, strict=True), no_grad),
        (lambda: F.vjp(lambda x: x.long(), X, tg.ones(2), strict=True), no_grad),
        (lambda: F.hessian(lambda x: tg.tensor(1.0), X, strict=True), no_grad),
        (
            lambda: F.jacobian(lambda x, y: x * 2, (X, Y), strict=True),
            "Output 0 of the user-provided function is independent of input 1",
        ),
        (
            lambda: F.vjp(lambda x, y: x * 2, (X, Y), X, strict=True),
            "output of the user-provided function is independent of input 1",
        ),
        (
            lambda: F.jacobian(lambda x: x * 2, X, strict=True, create_graph=True),
            "jacobian of .* is independent of input 0.*create_graph=True",
        ),
        (
            lambda: F.vjp(lambda x: x * 2, X, X, strict=True, create_graph=True),
            "jacobian of .* is independent of input 0.*create_graph=True",
        ),
        (
            lambda: F.hessian(lambda x: (2 * x).sum(), X, strict=True),
            "While computing the hessian.*with respect to input 0 is independent",
        ),
        (
            lambda: F.hessian(lambda x, y: cube(x), (X, Y), strict=True),
            "While computing the hessian.*with respect to input 1 is independent",
        ),
        (lambda: F.vhp(lambda x: (2 * x).sum(), X, X, strict=True), "While computing the hessian"),
        (
            lambda: F.hvp(lambda x: (x * x).sum(), X, X, strict=True, create_graph=True),
            "hessian of .* is independent of input 0.*create_graph",
        ),
    ]
    for call, pattern in refused:
        with pytest.raises(RuntimeError, match=pattern):
            call()
    assert F.jacobian(lambda x: x * x, X, strict=True, create_graph=True).requires_grad
    assert F.hessian(cube, X, strict=True).tolist() == [[6, 0], [0, 12]]


def test_strategies_that_do_not_go_together() -> None:
    """What torch refuses, with its exceptions."""
    with pytest.raises(
        AssertionError,
        match=r'Expected strategy to be either "forward-mode" or "reverse-mode". Hint',
    ):
        F.jacobian(cube, X, strategy="sideways")
    with pytest.raises(AssertionError, match='either "forward-mode" or "reverse-mode"'):
        F.hessian(cube, X, outer_jacobian_strategy="sideways")
    for who in (
        lambda: F.jacobian(cube, X, strategy="forward-mode"),
        lambda: F.hessian(cube, X, outer_jacobian_strategy="forward-mode"),
    ):
        with pytest.raises(NotImplementedError, match="only implemented for `vectorize=True`"):
            who()
    with pytest.raises(
        NotImplementedError,
        match='`create_graph=True` and `strategy="forward-mode"` are not supported together',
    ):
        F.jacobian(cube, X, create_graph=True, vectorize=True, strategy="forward-mode")
    with pytest.raises(
        RuntimeError, match='`strict=True` and `strategy="forward-mode"` are not supported together'
    ):
        F.jacobian(cube, X, strict=True, vectorize=True, strategy="forward-mode")
    with pytest.raises(
        RuntimeError,
        match=(
            r"functional.jacobian: `strict=True` and `vectorized=True` are not supported "
            r"together"
        ),
    ):
        F.jacobian(cube, X, strict=True, vectorize=True)


def test_what_hessians_are_taken_of() -> None:
    """One Tensor with one element."""
    for who, name in ((F.hessian, "hessian"), (F.vhp, "vhp"), (F.hvp, "hvp")):
        rest = () if who is F.hessian else (X,)
        with pytest.raises(
            RuntimeError, match=f"The function given to {name} should return a single Tensor"
        ):
            who(lambda x: (x.sum(),), X, *rest)
        with pytest.raises(
            RuntimeError,
            match=f"returned by the function given to {name} should contain a single element",
        ):
            who(lambda x: x * x, X, *rest)


def test_vectors() -> None:
    """v may be left out only where it is one number, and has the sizes of what it belongs to."""
    with pytest.raises(
        RuntimeError,
        match=(
            r"v can only be None if the user-provided function returns a single Tensor with a "
            r"single element"
        ),
    ):
        F.vjp(lambda x: x * x, X)
    for who in (F.jvp, F.vhp, F.hvp):
        with pytest.raises(
            RuntimeError,
            match=(
                r"None if the input to the user-provided function is a single Tensor with a "
                r"single element"
            ),
        ):
            who(cube, X)
        with pytest.raises(
            RuntimeError,
            match=(
                r"^v has invalid size: should be tracegrad.Size\(\[2\]\) but got "
                r"tracegrad.Size\(\[3\]\)"
            ),
        ):
            who(cube, X, Y)
        with pytest.raises(
            RuntimeError, match=r"v is a tuple of invalid length: should be 2 but got 1"
        ):
            who(lambda x, y: cube(x) * cube(y), (X, Y), (X,))
        with pytest.raises(
            RuntimeError, match=r"Entry 1 in v has invalid size: should be tracegrad.Size\(\[3\]\)"
        ):
            who(lambda x, y: cube(x) * cube(y), (X, Y), (X, X))
        with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
            who(cube, X, (X, X))
    with pytest.raises(RuntimeError, match=r"^v has invalid size"):
        F.vjp(lambda x: x * x, X, Y)
    with pytest.raises(RuntimeError, match="dtype can require gradients, but output 0 holds int64"):
        F.jvp(lambda x: x.long(), X, X)


def test_results_have_no_history() -> None:
    """Unless create_graph asks for it; then they can be differentiated, also with respect to inputs
    that had one."""
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    for options in STRATEGIES[:3]:
        assert not F.jacobian(lambda x: x * w, X, **options).requires_grad
    for out in (F.vjp(lambda x: x * w, w, X), F.jvp(lambda x: x * w, w, X), F.hvp(cube, w, X)):
        assert not any(t.requires_grad for t in out)
    for vectorize in (False, True):
        j = F.jacobian(lambda x: x**3, w, create_graph=True, vectorize=vectorize)
        assert grad(j.sum(), w)[0].tolist() == [6, 12]
        h = F.hessian(lambda x: (x**4).sum(), w, create_graph=True, vectorize=vectorize)
        assert grad(h.sum(), w)[0].tolist() == [24, 48]
    assert grad(F.vjp(cube, w, create_graph=True)[1].sum(), w)[0].tolist() == [6, 12]
    assert grad(F.jvp(lambda x: x**3, w, X, create_graph=True)[1].sum(), w)[0].tolist() == [6, 24]
    assert grad(F.hvp(lambda x: (x**4).sum(), w, X, create_graph=True)[1].sum(), w)[0].tolist() == [
        24,
        96,
    ]
    assert F.jacobian(lambda x: x * w, X, create_graph=True).requires_grad


def test_under_no_grad() -> None:
    """The mode of the caller does not matter."""
    with tg.no_grad():
        assert F.hessian(cube, X).tolist() == [[6, 0], [0, 12]]
        assert F.jvp(lambda x: x * x, X, X)[1].tolist() == [2, 8]
        for vectorize in (False, True):
            assert F.jacobian(
                lambda x: x**3, X, create_graph=True, vectorize=vectorize
            ).requires_grad
            assert F.hessian(cube, X, create_graph=True, vectorize=vectorize).requires_grad


def test_of_jitted_functions_and_inside_jit() -> None:
    """Hessians of compiled functions are not zero; inside jit all is traced, for any size."""
    f = tg.jit(lambda x: (np.sin(x) * x**2).sum())
    expected = tg.hessian(lambda x: np.sum(np.sin(x) * x**2))(X.numpy())
    for vectorize, strategy in itertools.product((False, True), ("reverse-mode", "forward-mode")):
        if vectorize or strategy == "reverse-mode":
            assert np.allclose(
                F.hessian(f, X, vectorize=vectorize, outer_jacobian_strategy=strategy), expected
            )
    assert np.allclose(F.hvp(f, X, X)[1], expected @ X.numpy())
    for vectorize, strategy in (
        (False, "reverse-mode"),
        (True, "reverse-mode"),
        (True, "forward-mode"),
    ):
        inside = tg.jit(
            lambda x, v=vectorize, s=strategy: F.hessian(
                lambda y: (y**3).sum(), x, vectorize=v, outer_jacobian_strategy=s
            )
        )
        for n in (2, 3, 4):
            assert np.allclose(inside(tg.arange(float(n))), np.diag(6.0 * np.arange(n)))


def test_forward_mode_runs_the_function_once() -> None:
    """As it is, on dual numbers whose values are known: it may branch on them."""
    calls: list[Any] = []

    def branching(x: Any) -> Any:
        calls.append(x)
        return x * 2 if float(x.sum()) > 0 else x * 3

    assert F.jacobian(branching, X, vectorize=True, strategy="forward-mode").tolist() == [
        [2, 0],
        [0, 2],
    ]
    assert F.jacobian(branching, -X, vectorize=True, strategy="forward-mode").tolist() == [
        [3, 0],
        [0, 3],
    ]
    assert len(calls) == 2


def test_under_jvp() -> None:
    """Derivatives of Jacobians in an enclosing forward mode."""
    for options in STRATEGIES[:3]:
        _, t = tg.jvp(lambda x, o=options: F.jacobian(lambda y: y**3, x, **o), (X,), (tg.ones(2),))
        assert t.tolist() == [[6, 0], [0, 12]]


def test_complex() -> None:
    """Reverse mode gives conjugate derivatives, as torch's batched Jacobian; forward mode the
    derivative itself."""
    z = tg.tensor([1 + 2j, 3 - 1j])
    square = {"vectorize": True}
    assert F.jacobian(lambda x: x * x, z, **square).tolist() == [[2 - 4j, 0], [0, 6 + 2j]]
    assert F.jacobian(lambda x: x * x, z, strategy="forward-mode", **square).tolist() == [
        [2 + 4j, 0],
        [0, 6 - 2j],
    ]
    assert F.vjp(lambda x: x * x, z, z)[1].tolist() == [10, 20]
    assert F.jvp(lambda x: x * x, z, z)[1].tolist() == [-6 + 8j, 16 - 12j]
    assert np.allclose(F.jacobian(lambda x: x.abs(), z), np.diag((z / z.abs()).numpy()))


func = tg.func


def test_func_gradients() -> None:
    """grad, grad_and_value and vjp, with argnums and has_aux."""
    f = lambda x, y: ((x * y[:2]).sum(), {"y": y})  # noqa: E731
    gradient, aux = func.grad(f, argnums=1, has_aux=True)(X, Y)
    assert (gradient.tolist(), aux["y"].tolist()) == ([1, 2, 0], [1, 2, 3])
    gradients, (value, _) = func.grad_and_value(f, argnums=(0, 1), has_aux=True)(X, Y)
    assert ([g.tolist() for g in gradients], value.tolist()) == ([[1, 2], [1, 2, 0]], 5)
    out, pull, _ = func.vjp(f, X, Y, has_aux=True)
    assert (out.tolist(), [g.tolist() for g in pull(tg.tensor(2.0))]) == (5, [[2, 4], [2, 4, 0]])


def test_func_forward() -> None:
    """jvp with has_aux and strict; linearize."""
    assert [t.tolist() for t in func.jvp(lambda x: (x * x, x), (X,), (X,), has_aux=True)] == [
        [1, 4],
        [2, 8],
        [1, 2],
    ]
    assert func.jvp(lambda x: (x, tg.ones(1)), (X,), (X,))[1][1].tolist() == [0]
    with pytest.raises(RuntimeError, match="output 1 of f does not depend on the primals"):
        func.jvp(lambda x: (x, tg.ones(1)), (X,), (X,), strict=True)
    assert func.jvp(lambda x: (x, x * 2), (X,), (X,), strict=True)[1][1].tolist() == [2, 4]
    out, push = func.linearize(lambda x: x**3, X)
    assert (out.tolist(), push(tg.ones(2)).tolist()) == ([1, 8], [3, 12])


def test_func_jacobians() -> None:
    """jacrev, jacfwd and hessian, of results of any shape."""
    for jacobian in (func.jacrev, func.jacfwd):
        assert jacobian(lambda x: x * x)(X).tolist() == [[2, 0], [0, 4]]
        found, aux = jacobian(lambda x, y: (x * y[:2], y), argnums=1, has_aux=True)(X, Y)
        assert (found.tolist(), aux.tolist()) == ([[1, 0, 0], [0, 2, 0]], [1, 2, 3])
    assert func.jacrev(lambda x: x * x, chunk_size=1)(X).tolist() == [[2, 0], [0, 4]]
    assert func.hessian(cube)(X).tolist() == [[6, 0], [0, 12]]
    assert func.hessian(lambda x: x**3)(X).tolist() == [[[6, 0], [0, 0]], [[0, 0], [0, 12]]]


def test_func_vmap() -> None:
    """in_dims, out_dims and chunk_size."""
    m = tg.arange(6.0).view(2, 3)
    for chunk in (None, 1, 2, 5):
        assert func.vmap(lambda x: x * 2, chunk_size=chunk)(m).tolist() == (m * 2).tolist()
        assert (
            func.vmap(lambda x: x * 2, in_dims=1, out_dims=1, chunk_size=chunk)(m).tolist()
            == (m * 2).tolist()
        )
        a, b = func.vmap(
            lambda x, y: (x.sum() + y, x * 2), in_dims=(1, None), out_dims=(0, 1), chunk_size=chunk
        )(m, tg.tensor(1.0))
        assert (a.tolist(), b.tolist()) == ([4, 6, 8], (m * 2).tolist())
    assert func.vmap(func.grad(cube))(m).tolist() == (3 * m * m).tolist()
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
            func.vmap(cube, chunk_size=wrong)
    with pytest.raises(ValueError, match=r"same size in the mapped dimension, got sizes \[2, 3\]"):
        func.vmap(lambda x, y: x * y, chunk_size=2)(X, Y)


def test_func_randomness() -> None:
    """Random numbers inside of vmap: refused, the same for all items, or different ones."""
    f = lambda x: x + tg.rand(())  # noqa: E731
    with pytest.raises(
        RuntimeError, match="called random operation while in randomness error mode"
    ):
        func.vmap(f)(tg.zeros(3))
    with pytest.raises(RuntimeError, match="randomness error mode"):
        func.jacfwd(f)(tg.zeros(3))
    assert len(set(func.vmap(f, randomness="same")(tg.zeros(3)).tolist())) == 1
    assert len(set(func.vmap(f, randomness="different")(tg.zeros(3)).tolist())) == 3
    assert func.vmap(lambda x: x * 2, out_dims=1, randomness="different")(tg.ones(3, 2)).shape == (
        2,
        3,
    )
    assert func.jacfwd(f, randomness="same")(tg.zeros(())).tolist() == 1
    with pytest.raises(RuntimeError, match="Only allowed values for randomness are"):
        func.vmap(f, randomness="often")
