"""A call is a list of steps, and each step has two forms: what the plain way does and what the
written caller does is the same, in values, kinds and everything that the call changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.compiled.test_calls import SIGNATURES
from tracegrad.compiled.jitted import Jitted

X = np.arange(1.0, 5.0)
Case = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]


def leaf() -> Any:
    return tg.tensor(X, requires_grad=True)


class Counter:
    def __init__(self) -> None:
        self.count, self.log = 0, {"last": 0.0}
        self.state = tg.zeros(4)

    def __call__(self, x: Any) -> Any:
        self.count += 1
        self.log["last"] = np.sum(x)
        self.state.mul_(0.5).add_(x)
        return x * self.count + self.state * 2.0


def counting() -> Case:
    counter = Counter()
    return (lambda x: (counter(x), counter.count, counter.log["last"], counter.state * 1.0)), (
        lambda: (X.copy(),)
    )


def trained() -> Case:
    w = leaf()

    def step(x: Any) -> Any:
        w.grad = None
        loss = ((w * x) ** 2).sum()
        loss.backward()
        with tg.no_grad():
            w.sub_(0.01 * w.grad)
        return loss.detach(), w.grad * 1.0, w.detach() * 1.0

    return step, lambda: (X.copy(),)


def drawing() -> Case:
    generator = tg.Generator(3)
    return (lambda x: x + generator.uniform(size=4)), lambda: (X.copy(),)


def written(x: Any, t: Any) -> Any:
    x[0] = x[1] * 2.0
    t.mul_(2.0)
    return np.sum(x), x, t * 1.0


def mixed(t: Any, x: Any) -> Any:
    """Results of all kinds."""
    return (
        t * 2,
        x * 2,
        np.sum(x),
        x.shape[0],
        np.argmax(x),
        x > 2,
        t > 2,
        t.argmax(),
        t.sum(),
        2.5,
        True,
        np.float32(1),
        x[:2] + t.detach()[:2],
        t.detach(),
        np.ones(2),
        tg.ones(2),
        {"a": [t[0], x[0]]},
        None,
    )


def swept(x: Any) -> Any:
    w = (x * 1.0 if isinstance(x, tg.Tensor) else tg.tensor(x)).requires_grad_()
    (w**2).sum().backward()
    return w.grad, w.detach() * 2


CASES: dict[str, Callable[[], Case]] = {
    "counts, stores and writes around it": counting,
    "trains what it reads": trained,
    "draws": drawing,
    "writes to arguments": lambda: (written, lambda: (X.copy(), tg.tensor(X))),
    "a tensor beside an array": lambda: (mixed, lambda: (tg.tensor(X), X)),
    "a leaf beside an array": lambda: (mixed, lambda: (leaf(), X)),
    "a result of the tape beside an array": lambda: (mixed, lambda: (leaf() * 2, X)),
    "float32": lambda: (mixed, lambda: (leaf().float(), X.astype(np.float32))),
    "tensors": lambda: (mixed, lambda: (leaf(), tg.tensor(X))),
    "strided": lambda: (mixed, lambda: (leaf()[::2], np.arange(8.0)[::4])),
    "no grad": lambda: (tg.no_grad()(mixed), lambda: (leaf(), X)),
    "a leaf that is only looked at": lambda: (
        (lambda w, x: (w.detach() * x, x)),
        lambda: (leaf(), X),
    ),
    "tensors made inside": lambda: (
        (lambda x: (tg.tensor(x) * 2, tg.ones(()), x, np.ones(3))),
        lambda: (X,),
    ),
    "a sweep inside": lambda: (swept, lambda: (X,)),
    "numbers": lambda: ((lambda a, b, t: (a * b, a, t * b)), lambda: (3, 2.5, leaf())),
    "captures beside a leaf": lambda: ((lambda t: (t * X, X * 2, X)), lambda: (leaf(),)),
    "a captured leaf": lambda: ((lambda w: lambda x: (x * w, x * 2))(leaf()), lambda: (X,)),
}


def copied(tree: Any) -> Any:
    leaves, spec = tg.tree.flatten(tree)
    return tg.tree.unflatten(spec, [x.copy() if isinstance(x, np.ndarray) else x for x in leaves])


CASES |= {
    f"signature: {name}": lambda f=function, a=args: (
        f,
        lambda: copied(a),
    )
    for name, (function, args, kwargs, options) in SIGNATURES.items()
    if not kwargs and not options
}


def shown(value: Any) -> list[Any]:
    """What is seen of a tree: classes, dtypes, numbers, places on the tape."""
    found = []
    for x in tg.tree.flatten(value)[0]:
        box = isinstance(x, tg.Tensor)
        data = x.detach().numpy(force=True) if box else np.asarray(x)
        node = x.grad_fn if box else None
        found.append(
            (
                type(x),
                data.dtype,
                data.shape,
                data.tolist(),
                box and (x.requires_grad, x.is_leaf, node is None or node.name()),
            )
        )
    return found


def ran(case: Case, plain: bool) -> list[Any]:
    """Four calls of a jitted function, and what they left in their arguments."""
    function, fresh = case
    f = tg.jit(function)
    long: list[Any] = []
    original = Jitted._call

    def counted(self: Jitted, args: Any, kwargs: Any) -> Any:
        if self is f:
            long.append(args)
        return original(self, args, kwargs)

    Jitted._call = counted  # type: ignore[method-assign]
    try:
        found = []
        for _ in range(4):
            if plain:
                f._callers = ()
            long.clear()
            given = fresh()
            result = f(*given)
            found.append((shown(result), shown(given), type(result)))
    finally:
        Jitted._call = original  # type: ignore[method-assign]
    assert bool(long) is plain, "the last call took another way than the one asked for"
    return found


@pytest.mark.parametrize("name", CASES)
def test_both_forms(name: str) -> None:
    """The plain way, the written caller and the function itself give the same kinds and values."""
    plain, write = ran(CASES[name](), True), ran(CASES[name](), False)
    assert plain == write
    function, fresh = CASES[name]()
    for k in range(4):
        given = fresh()
        result = function(*given)
        for mine, own in zip(plain[k][0], shown(result), strict=True):
            number = own[0] in (int, float, complex, bool)
            assert number or mine[0] is own[0], "another class than the function's own"
            assert np.allclose(mine[3], own[3], rtol=1e-6)


def both_faces(x: Any) -> Any:
    t = tg.ones(4)
    return {"tensor": t * np.sum(x), "array": x * 2, "number": np.sum(x), "list": [x[0], t[0] * x]}


TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "value": lambda f: f(X),
    "jvp": lambda f: tg.jvp(f, (X,), (X,)),
    "vjp": lambda f: tg.vjp(f, X)[0],
    "vmap": lambda f: tg.vmap(f)(np.ones((3, 4))),
    "jit": lambda f: tg.jit(f)(X),
    "linearize": lambda f: tg.linearize(f, X)[0],
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_kinds_under_transforms(name: str) -> None:
    """A jitted function gives what the function gives, of each kind, to those around it too."""
    jitted = tg.jit(both_faces)
    for _ in range(3):
        found, expected = TRANSFORMS[name](jitted), TRANSFORMS[name](both_faces)
        kinds = [[type(x) for x in tg.tree.flatten(t)[0]] for t in (found, expected)]
        assert kinds[0] == kinds[1]


class Held:
    """What a function stores into."""

    def __init__(self) -> None:
        self.new, self.buffer = tg.zeros(3), tg.zeros(3)
        self.list = [tg.zeros(3)]


def rebound(held: Held, t: Any, y: Any) -> Any:
    held.new = y


def stored_below(held: Held, t: Any, y: Any) -> Any:
    held.list[0] = y


PLACES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "an argument": (lambda held, t, y: t.copy_(y), lambda held, t, r: t),
    "a box around it": (lambda held, t, y: held.buffer.copy_(y), lambda held, t, r: held.buffer),
    "an attribute": (rebound, lambda held, t, r: held.new),
    "an item": (stored_below, lambda held, t, r: held.list[0]),
    "a result": (lambda held, t, y: y, lambda held, t, r: r),
    "a result below others": (lambda held, t, y: {"y": [y, 1]}, lambda held, t, r: r["y"][0]),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_swept_history_stands_there_at_each_call(place: str) -> None:
    """What a sweep inside has gone through: the Tensor is tracked after the first call and after
    later ones, and who goes on from there is refused."""
    put, found_in = PLACES[place]
    held = Held()

    def squares(t: Any, x: Any) -> Any:
        w = x.detach().clone().requires_grad_()
        y = w * w
        y.sum().backward()
        return put(held, t, y)

    f = tg.jit(squares)
    for function in (squares, f, f, f):
        held.new, held.buffer, held.list[0] = tg.zeros(3), tg.zeros(3), tg.zeros(3)
        t = tg.zeros(3)
        found = found_in(held, t, function(t, tg.ones(3)))
        assert found.requires_grad
        assert found.grad_fn is not None
        with pytest.raises(RuntimeError, match="second time"):
            found.sum().backward()


def test_code_is_looked_up_once_where_no_caller_is_written(monkeypatch: Any) -> None:
    """A recorded call that changes something gets no caller: that is found out once."""
    from tracegrad.compiled import computing

    asked: list[Any] = []
    original = computing.Recorded.code

    def counted(self: Any, values: Any) -> Any:
        asked.append(values)
        return original(self, values)

    monkeypatch.setattr(computing.Recorded, "code", counted)
    buffer = tg.zeros(4)

    def step(w: Any) -> Any:
        buffer.add_(w.detach())
        return (w * 2.0).sum()

    f = tg.jit(step)
    for k in range(1, 5):
        f(leaf())
        assert buffer.tolist() == [k * x for x in X]
        assert len(asked) == 1
