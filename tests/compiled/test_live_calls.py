"""Live calls of jitted functions: what the caller of a known signature does is what the long way
does, and what is not as it was goes there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import autograd
from tracegrad.compiled.jitted import Jitted

RNG = np.random.default_rng(5)


def leaf(*shape: int, dtype: Any = np.float64) -> Any:
    return tg.tensor(RNG.uniform(0.5, 1.5, shape).astype(dtype), requires_grad=True)


def gradients(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]
) -> list[Any]:
    """The results and the gradients of a weighted sum of them."""
    for x in leaves:
        x.grad = None
    found = function(*args, **kwargs)
    outs = (
        found
        if isinstance(found, tuple)
        else list(found.values())
        if isinstance(found, dict)
        else [found]
    )
    live = [o for o in outs if isinstance(o, tg.Tensor) and o.requires_grad]
    autograd.backward(
        live, [tg.ones(*o.shape, dtype=o.dtype) * (k + 1.0) for k, o in enumerate(live)]
    )
    return [
        *[(type(o), o.requires_grad, o.dtype, np.asarray(o.detach())) for o in outs],
        *[None if x.grad is None else x.grad.numpy() for x in leaves],
    ]


def two(x: Any, y: Any) -> Any:
    return (x * y).sum(), x.sin()


def aside(x: Any, y: Any) -> Any:
    loss = (x * y).sum()
    return loss, loss.detach() * 2, (x > 1).sum()


WEIGHTS = leaf(3)


def around(x: Any) -> Any:
    return (x * WEIGHTS).exp()


CASES: dict[
    str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], list[Any]]]
] = {
    "two results": lambda: (two, (leaf(3), leaf(3)), {}, []),
    "one of two wanted": lambda: (two, (leaf(3), tg.ones(3)), {}, []),
    "arrays and numbers beside": lambda: (
        lambda x, a, n: x * a * n,
        (leaf(2, 3), np.arange(3.0), 2.5),
        {},
        [],
    ),
    "integers beside": lambda: (lambda x, k: x[k] * 2, (leaf(4), tg.tensor([0, 2])), {}, []),
    "trees and keywords": lambda: (
        lambda p, *, q: {"a": p["w"] @ q[0], "b": q[1].sum()},
        ({"w": leaf(2, 2)},),
        {"q": (leaf(2), leaf(3))},
        [],
    ),
    "results without history": lambda: (aside, (leaf(3), leaf(3)), {}, []),
    "weights around it": lambda: (around, (tg.ones(3),), {}, [WEIGHTS]),
    "a value with history": lambda: (two, (leaf(3) * 2, leaf(3)), {}, []),
    "views": lambda: (two, (leaf(3, 4).T[1], tg.tensor(np.arange(12.0))[::4]), {}, []),
    "single numbers": lambda: (two, (leaf(), leaf()), {}, []),
    "nothing": lambda: (two, (leaf(0), leaf(0)), {}, []),
    "float32": lambda: (two, (leaf(3, dtype=np.float32), leaf(3, dtype=np.float32)), {}, []),
}


@pytest.fixture
def long_ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that were not served by a caller."""
    seen: list[str] = []
    run = Jitted._run

    def counted(self: Any, *given: Any) -> Any:
        seen.append(self.__name__)
        return run(self, *given)

    monkeypatch.setattr(Jitted, "_run", counted)
    return seen


@pytest.mark.parametrize("name", CASES)
def test_as_eagerly(name: str, long_ways: list[str]) -> None:
    function, args, kwargs, leaves = CASES[name]()
    leaves = leaves or [
        x
        for x in tg.tree.flatten((args, kwargs))[0]
        if isinstance(x, tg.Tensor) and x.requires_grad and x.is_leaf
    ]
    jitted = tg.jit(function)
    expected = (
        gradients(function, args, kwargs, leaves)
        if all(x.is_leaf for x in args if isinstance(x, tg.Tensor))
        else None
    )
    first = None
    for k in range(3):
        if expected is None:
            found = [np.asarray(o.detach()) for o in jitted(*args, **kwargs)]
            first = first or [np.asarray(o.detach()) for o in function(*args, **kwargs)]
            for a, b in zip(found, first, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6)
        else:
            for a, b in zip(gradients(jitted, args, kwargs, leaves), expected, strict=True):
                if isinstance(a, tuple):
                    assert a[:3] == b[:3]
                    a, b = a[3], b[3]
                assert (a is None) == (b is None)
                if a is not None:
                    assert a.dtype == b.dtype
                    np.testing.assert_allclose(a, b, rtol=1e-6)
        if k == 0:
            assert long_ways
            long_ways.clear()
    assert not long_ways, "the second and third call were served by the caller"


def test_what_changes_goes_the_long_way(long_ways: list[str]) -> None:
    """The same function with other kinds of arguments, in other modes, and under other
    transforms."""
    f = tg.jit(lambda x, y: np.sum(np.sin(x) * y))

    def eager(x: Any, y: Any) -> Any:
        return (x.sin() * y).sum()

    x, y = leaf(3), leaf(3)
    for _ in range(2):
        f(x, y)
    with tg.no_grad():
        assert not f(x, y).requires_grad
    assert f(x, y.detach()).grad_fn.next_functions[1][0] is None
    assert not f(x.detach(), y.detach()).requires_grad
    assert f(leaf(3, dtype=np.float32), y).dtype == np.float64
    assert f(leaf(5), leaf(5)).requires_grad
    with pytest.raises(ValueError, match="shape"):
        f(x, leaf(4))
    with autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True).tolist(), tg.tensor):
        (g,) = autograd.grad(f(x, y), x)
    np.testing.assert_allclose(g.numpy(), (x.cos() * y).detach().numpy())
    (g,) = autograd.grad(f(x, y), x, create_graph=True)
    (h,) = autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), -(x.sin() * y).detach().numpy())
    a, b = x.detach().clone().numpy(), y.detach().clone().numpy()
    np.testing.assert_allclose(tg.grad(f)(a, b), np.cos(a) * b)
    np.testing.assert_allclose(
        tg.vmap(f)(np.stack([a, b]), np.stack([b, a])),
        [(np.sin(a) * b).sum(), (np.sin(b) * a).sum()],
    )
    tangent = tg.jvp(f, (a, b), (np.ones(3), np.zeros(3)))[1]
    np.testing.assert_allclose(tangent, (np.cos(a) * b).sum())
    np.testing.assert_allclose(tg.hessian(f)(a, b), np.diag(-np.sin(a) * b), atol=1e-15)
    assert f(x, y).item() == pytest.approx(eager(x, y).item())


def test_weights_are_read_at_each_call() -> None:
    """A captured weight that an optimizer changed in place, that was put in its place, or that is
    frozen."""

    class Model:
        w = leaf(3)

    model = Model()
    f = tg.jit(lambda x: (x * model.w).sum())
    x = tg.ones(3)
    for _ in range(3):
        f(x).backward()
    assert model.w.grad.tolist() == [3, 3, 3]
    with tg.no_grad():
        model.w.mul_(0.0)
    assert f(x).item() == 0
    model.w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert f(x).item() == 6
    f(x).backward()
    assert model.w.grad.tolist() == [1, 1, 1]
    model.w.requires_grad_(False)
    assert not f(x).requires_grad
    model.w.requires_grad_(True)
    assert f(x).requires_grad


def test_the_node_is_checked_and_freed() -> None:
    """What was saved and overwritten is noticed, results too; a second pass needs retain_graph;
    hooks and names are those of a node."""
    f = tg.jit(lambda x: (x * x).exp())
    x = leaf(3)
    for _ in range(2):
        f(x)
    y = f(x)
    with tg.no_grad():
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = f(x)
    y.detach().mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = f(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()
    y = f(x)
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()
    assert seen == [[1, 1, 1]]
    assert y.grad_fn.next_functions[0][0].variable is x
    assert not y.is_leaf


def test_calls_of_several_threads() -> None:
    f = tg.jit(lambda x, y: (x * y).sum())
    xs = [leaf(50) for _ in range(4)]
    y = leaf(50)
    f(xs[0], y)
    bad: list[int] = []

    def job(k: int) -> None:
        for _ in range(100):
            (g,) = autograd.grad(f(xs[k], y), xs[k])
            if not np.array_equal(g.numpy(), y.detach().numpy()):
                bad.append(k)

    threads = [threading.Thread(target=job, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not bad
