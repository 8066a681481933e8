"""tg.checkpoint in every mode and order, and checkpointed loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.ir.graph import Graph
from tracegrad.ir.parser import parse_graph
from tracegrad.registry import OPS_BY_NAME
from tracegrad.utils.checkpoint import CheckpointError

pytestmark = pytest.mark.usefixtures("kernels_in_python")

RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 3)) / 2
X, V, XS = RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=(4, 3))
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def close(found: Any, expected: Any, rtol: float = 1e-11) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            close(f, e, rtol)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-13 if rtol < 1e-8 else 1e-6)


def layer(x: Any, k: int = 2) -> Any:
    return {"a": np.tanh(W @ x) * k, "s": (np.sin(x), "label", 3)}


def loss(wrap: Wrap) -> Callable[[Any], Any]:
    f = wrap(layer)

    def function(x: Any) -> Any:
        out = f(x, k=3)
        assert out["s"][1:] == ("label", 3)
        return np.sum(out["a"] * out["s"][0] * out["s"][2]) + np.sum(f(f(x)["a"])["a"])

    return function


def nodes(graph: Graph, name: str) -> int:
    return sum(
        (n.op.name == name) + sum(nodes(g, name) for g in n.subgraphs()) for n in graph.nodes
    )


MODES: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "value and gradient": lambda f: tg.value_and_grad(f)(X),
    "jit of the gradient": lambda f: tg.jit(tg.value_and_grad(f))(X),
    "gradient of jit": lambda f: tg.value_and_grad(tg.jit(f))(X),
    "float32": lambda f: tg.jit(tg.grad(f))(X.astype(np.float32)),
    "Hessian": lambda f: tg.hessian(f)(X),
    "jit of the Hessian": lambda f: tg.jit(tg.hessian(f))(X),
    "reverse over reverse": lambda f: tg.jit(tg.jacobian(tg.grad(f), mode="reverse"))(X),
    "third order": lambda f: tg.jit(tg.jacobian(tg.hessian(f)))(X),
    "jvp": lambda f: tg.jvp(f, (X,), (V,)),
    "jit of jvp": lambda f: tg.jit(lambda x: tg.jvp(f, (x,), (V,)))(X),
    "reverse over forward": lambda f: tg.jit(tg.grad(lambda x: tg.jvp(f, (x,), (V,))[1]))(X),
    "vmap of the gradient": lambda f: tg.vmap(tg.grad(f))(XS),
    "jit of vmap of the gradient": lambda f: tg.jit(tg.vmap(tg.grad(f)))(XS),
    "gradient of vmap": lambda f: tg.jit(tg.grad(lambda x: np.sum(tg.vmap(f)(x) ** 2)))(XS),
    "in a loop": lambda f: tg.jit(
        tg.hessian(lambda x: tg.scan(lambda c, y: (c * 0.5 + f(x * y), None), 0.0, XS)[0])
    )(X),
    "in a branch": lambda f: tg.jit(tg.grad(lambda x: tg.cond(x[0] > 9, np.sum, f, x)))(X),
}


class TestFunctions:
    @pytest.mark.usefixtures("kernels_in_python")
    @pytest.mark.parametrize("mode", MODES)
    def test_every_mode(self, mode: str) -> None:
        with tg.no_grad() if mode == "nothing" else tg.enable_grad():
            close(
                MODES[mode](loss(tg.checkpoint)),
                MODES[mode](loss(plain)),
                1e-4 if mode == "float32" else 1e-10,
            )

    def test_what_is_computed_again_is_not_merged_with_the_first_time(self) -> None:
        def deep(wrap: Wrap) -> Any:
            f = wrap(lambda x: np.tanh(W @ np.tanh(W @ np.tanh(W @ x))))

            def function(x: Any) -> Any:
                for _ in range(4):
                    x = f(x)
                return np.sum(x * x)

            return tg.jit(tg.value_and_grad(function))

        x = RNG.normal(size=(3, 3000))
        stored, again = deep(plain), deep(tg.checkpoint)
        close(again(x), stored(x))
        assert (nodes(stored.graphs(x)[1], "tanh"), nodes(again.graphs(x)[1], "tanh")) == (12, 24)
        # 12 results, against the 4 arguments (the first of which is there) and the 3 results of one
        # function.
        assert stored.memory(x).temporaries >= 12 * x.nbytes
        assert again.memory(x).temporaries <= 8 * x.nbytes
        graph = again.graphs(x)[1]
        assert str(parse_graph(str(graph), OPS_BY_NAME)) == str(graph)
        close(run_unjitted(graph, [x, W]), list(stored(x)))

    def test_nested(self) -> None:
        def make(wrap: Wrap) -> Any:
            inner = wrap(lambda x: np.exp(np.sin(x)))
            outer = wrap(lambda x: inner(inner(x)) * x)
            return lambda x: np.sum(outer(outer(x)))

        for mode in ("value and gradient", "jit of the gradient", "jit of the Hessian"):
            close(MODES[mode](make(tg.checkpoint)), MODES[mode](make(plain)))

    def test_tensors_and_what_is_read_around(self) -> None:
        def run(wrap: Wrap, compiled: bool, inside: bool) -> Any:
            w = tg.tensor(V, requires_grad=True)
            x = tg.tensor(X, requires_grad=True)
            f = wrap(lambda u: (u * w).sin())

            def step(x: Any) -> Any:
                value = (f(f(x)) * x).sum()
                if inside:
                    value.backward()
                return value.detach() if inside else value

            value = (tg.jit(step) if compiled else step)(x)
            if not inside:
                value.backward()
            return value.detach().numpy(), x.grad.numpy(), w.grad.numpy()

        expected = run(plain, False, False)
        for compiled in (False, True):
            for inside in (False, True):
                close(run(tg.checkpoint, compiled, inside), expected)

    @pytest.mark.parametrize("compiled", [False, True])
    def test_random_numbers_are_the_same_again(self, compiled: bool) -> None:
        def run(wrap: Wrap) -> Any:
            tg.manual_seed(5)
            f = wrap(lambda u: u.exp() * (tg.rand(3) < 0.5))
            g = (tg.jit if compiled else plain)(lambda x: (f(x) * f(x * 2)).sum())
            x = tg.tensor(X, requires_grad=True)
            first = g(x)
            first.backward()
            return first.detach().numpy(), x.grad.numpy(), g(x).detach().numpy(), tg.rand(2).numpy()

        close(run(tg.checkpoint), run(plain))

    def test_a_module_with_state(self) -> None:
        def run(wrap: Wrap) -> Any:
            tg.manual_seed(1)
            model = tg.nn.Sequential(
                tg.nn.Linear(3, 4), tg.nn.BatchNorm1d(4), tg.nn.Tanh(), tg.nn.Dropout(0.5)
            )
            called = wrap(model)
            optimizer = tg.optim.SGD(model.parameters(), lr=0.1)

            @tg.jit
            def step(x: Any) -> Any:
                optimizer.zero_grad()
                value = (called(x) ** 2).sum()
                value.backward()
                optimizer.step()
                return value.detach()

            values = [step(tg.tensor(XS)).item() for _ in range(3)]
            return (
                values,
                model[1].running_mean.numpy(),
                model[1].num_batches_tracked.numpy(),
                model[0].weight.detach().numpy(),
            )

        close(run(tg.checkpoint), run(plain))

    def test_methods_writes_and_what_is_no_array(self) -> None:
        class Model:
            scale = 2.0

            @tg.checkpoint
            def run(self, x: Any, name: str) -> Any:
                """Twice the sine."""
                assert name == "sin"
                x[1:] *= self.scale
                return getattr(np, name)(x)

        def function(x: Any) -> Any:
            y = x * 1.0
            return np.sum(Model().run(y, "sin") * y)

        def expected(x: Any) -> Any:
            y = x * np.array([1.0, 2.0, 2.0])
            return np.sum(np.sin(y) * y)

        assert (Model.run.__name__, Model.run.__doc__) == ("run", "Twice the sine.")
        close(tg.jit(tg.value_and_grad(function))(X), tg.value_and_grad(expected)(X))

    def test_odd_shapes_and_dtypes(self) -> None:
        def make(wrap: Wrap) -> Any:
            f = wrap(lambda y, i: np.abs(y * (1 + 2j)) * i)
            g = wrap(lambda y: np.sin(y) * np.sum(y))
            return lambda x: (
                np.sum(f(x, np.arange(x.size).reshape(x.shape)))
                + np.sum(g(x.T))
                + np.sum(g(x[..., ::2]))
            )

        for x in (
            np.zeros((0, 2)),
            np.array([1.5]),
            RNG.normal(size=(2, 5))[:, ::-1],
            np.asfortranarray(RNG.normal(size=(3, 4))),
        ):
            close(tg.jit(tg.grad(make(tg.checkpoint)))(x), tg.grad(make(plain))(x))
        sized = tg.jit(tg.grad(lambda x: np.sum(tg.checkpoint(lambda y: np.sin(y) * np.sum(y))(x))))
        for n in (3, 5, 8):
            x = np.linspace(0, 1, n)
            close(sized(x), np.cos(x) * np.sum(x) + np.sum(np.sin(x)))
        assert len({id(e.graph) for e in sized._signatures.entries.values()}) == 2

    def test_no_gradient_no_checkpoint(self) -> None:
        f = tg.checkpoint(np.sin)
        with tg.no_grad():
            assert isinstance(f(X), np.ndarray)
        assert nodes(tg.jit(lambda x: f(x)).graphs(X)[1], "recompute") == 0

    def test_errors(self) -> None:
        with pytest.raises(TypeError, match="checkpoint expects a function, got int"):
            tg.checkpoint(3)  # type: ignore[arg-type]
        calls: list[int] = []

        def changing(x: Any) -> Any:
            calls.append(1)
            return (x if len(calls) == 1 else x[:1]).sin().exp().sum()

        with pytest.raises(CheckpointError, match="different metadata"):
            tg.checkpoint(changing)(tg.ones(2, requires_grad=True)).backward()


# --- loops ----------------------------------------------------------------------------------------


def scanned(checkpoint: Any, reverse: bool = False) -> Callable[..., Any]:
    def function(c: Any, w: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            u = np.tanh(w @ c + x["x"])
            return u + 0.1 * c, (np.sum(u * x["x"]), x["k"])

        data = {"x": xs, "k": np.arange(len(xs))}
        last, (ys, ks) = tg.scan(step, c, data, reverse=reverse, checkpoint=checkpoint)
        return np.sum(last**2) + np.sum(np.sin(ys) * (1 + ks))

    return function


def counted(checkpoint: Any, lower: int = 0) -> Callable[..., Any]:
    return lambda c, w, n: np.sum(
        tg.fori_loop(
            lower, n, lambda i, c: np.tanh(w @ c) * (1 + 0.1 * i), c, checkpoint=checkpoint
        )
        ** 2
    )


def until(checkpoint: Any) -> Callable[..., Any]:
    def function(c: Any, w: Any) -> Any:
        going = lambda s: np.sum(s[0] ** 2) > 1e-3  # noqa: E731
        return np.sum(
            tg.while_loop(
                going, lambda s: (np.tanh(w @ s[0]) * 0.9, s[1] + 1), (c, 0), checkpoint=checkpoint
            )[0]
            ** 2
        )

    return function


class TestLoops:
    @pytest.mark.parametrize("length", [0, 1, 7, 12])
    @pytest.mark.parametrize("checkpoint", ["sqrt", 1, 3, (4, 2), 100])
    def test_scan(self, checkpoint: Any, length: int) -> None:
        reverse = length == 7
        args = X, W, np.sin(np.arange(3.0 * length)).reshape(length, 3)
        expected = tg.value_and_grad(scanned(None, reverse), argnums=(0, 1, 2))(*args)
        derivative = tg.value_and_grad(scanned(checkpoint, reverse), argnums=(0, 1, 2))
        close(derivative(*args), expected)
        close(tg.jit(derivative)(*args), expected)

    @pytest.mark.usefixtures("kernels_in_python")
    @pytest.mark.parametrize("checkpoint", ["sqrt", 3])
    def test_every_mode(self, checkpoint: Any) -> None:
        xs = np.sin(np.arange(21.0)).reshape(7, 3)

        def everything(checkpoint: Any, compiled: bool) -> Any:
            f = scanned(checkpoint, True)
            wrap = tg.jit if compiled else plain
            of_x = lambda c: f(c, W, xs)  # noqa: E731
            return [
                wrap(tg.hessian(of_x))(X),
                wrap(tg.jacobian(tg.grad(of_x), mode="reverse"))(X),
                wrap(lambda c: tg.jvp(of_x, (c,), (V,)))(X),
                wrap(tg.vmap(tg.grad(f, 1), in_axes=(0, None, None)))(XS, W, xs),
                wrap(tg.grad(lambda x: np.sum(tg.vmap(f, in_axes=(None, None, 0))(X, W, x))))(
                    np.stack([xs, xs * 2])
                ),
            ]

        close(everything(checkpoint, True), everything(None, False), 1e-9)

    @pytest.mark.usefixtures("kernels_in_python")
    @pytest.mark.parametrize("checkpoint", ["sqrt", 1, 3, (4, 2), 50])
    def test_counts(self, checkpoint: Any) -> None:
        f, g = counted(checkpoint), counted(None)
        traced = tg.jit(tg.value_and_grad(f, argnums=(0, 1)))
        for n in (0, 1, 7, 12):
            expected = tg.value_and_grad(lambda c, w, n=n: g(c, w, n), argnums=(0, 1))(X, W)
            close(traced(X, W, n), expected)
            close(tg.value_and_grad(lambda c, w, n=n: f(c, w, n), argnums=(0, 1))(X, W), expected)
        known = counted(checkpoint, 2)
        close(
            tg.jit(tg.hessian(lambda c: known(c, W, 9)))(X),
            tg.hessian(lambda c: counted(None, 2)(c, W, 9))(X),
            1e-9,
        )
        close(tg.jit(tg.hessian(until(checkpoint)))(X, W), tg.hessian(until(None))(X, W), 1e-9)
        close(tg.grad(until(checkpoint), 1)(X, W), tg.grad(until(None), 1)(X, W))

    def test_sizes(self) -> None:
        def make(checkpoint: Any) -> Any:
            return lambda xs: np.sum(
                tg.scan(lambda c, x: (np.sin(c * x) + c, c * x), X, xs, checkpoint=checkpoint)[1]
            )

        f = tg.jit(tg.grad(make("sqrt")))
        for n in (5, 25, 36, 37, 40, 49, 50, 53):
            xs = np.cos(np.arange(3.0 * n)).reshape(n, 3)
            close(f(xs), tg.grad(make(None))(xs))
        # Whether there is a rest makes different programs, of few steps other ones.
        assert len({id(e.graph) for e in f._signatures.entries.values()}) == 3
        text = str(f.graphs(xs)[1])
        assert "int((n) ** 0.5)" in text
        assert str(parse_graph(text, OPS_BY_NAME)) == text

    def test_bad_numbers(self) -> None:
        for bad in (0, -1, 2.0, "root", True, (), (3, 0)):
            with pytest.raises(
                ValueError, match="scan: checkpoint is 'sqrt', the steps of a segment"
            ):
                tg.scan(lambda c, x: (c, x), 0.0, X, checkpoint=bad)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="while_loop: checkpoint is"):
            tg.while_loop(lambda c: c < 1, lambda c: c + 1, 0.0, checkpoint=0)
        with pytest.raises(ValueError, match="fori_loop: checkpoint is"):
            tg.fori_loop(0, 3, lambda i, c: c, 0.0, checkpoint=-2)

    def test_eager_loops_keep_segments_only(self) -> None:
        saved: list[int] = []

        def run(checkpoint: Any) -> int:
            """How many steps of the body run until the gradient is there."""
            calls: list[int] = []

            def step(c: Any, _: Any) -> Any:
                calls.append(1)
                return c.sin() * c, None

            c = tg.tensor([0.5], requires_grad=True)
            with tg.autograd.graph.saved_tensors_hooks(lambda t: saved.append(1) or t, lambda t: t):
                last = tg.scan(step, c, None, length=12, checkpoint=checkpoint)[0]
            last.sum().backward()
            gradients.append(c.grad.numpy())
            return len(calls)

        gradients: list[Any] = []
        assert run(None) == 12
        assert len(saved) >= 12
        saved.clear()
        assert run(4) == 24
        assert not saved, "what is saved inside a segment goes nowhere else"
        assert run((4, 2)) == 24
        close(gradients[1:], [gradients[0]] * 2)
