"""Python state under transforms, in modules and optimizers, in threads, and where calls fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import compare, counted_traces
from tests.regressions.state_programs import X

# --- transforms, modules, optimizers --------------------------------------------------------------


class Counts:
    def __init__(self) -> None:
        self.n = 0

    def __call__(self, x: Any) -> Any:
        self.n += 1
        return np.sum(x * x) * self.n


@pytest.mark.parametrize(
    "transform",
    [tg.grad, tg.value_and_grad, lambda f: lambda x: tg.jvp(f, (x,), (x,))],
    ids=["grad", "both", "jvp"],
)
@pytest.mark.parametrize("inside", [True, False], ids=["of jit", "in jit"])
def test_derivatives_count_their_calls(transform: Any, inside: bool) -> None:
    plain, counts = Counts(), Counts()
    expected = transform(plain)
    found = transform(tg.jit(counts)) if inside else tg.jit(transform(counts))
    for _ in range(4):
        compare(found(X), expected(X))
    assert counts.n == plain.n == 4


def test_each_signature_counts_on() -> None:
    counts = Counts()
    compiled = tg.jit(counts)
    sizes = (2, 3, 4, 2, 5, 3)
    assert [compiled(np.ones(n)) for n in sizes] == [n * (k + 1) for k, n in enumerate(sizes)]


@pytest.mark.parametrize("other", [0, 100])
def test_state_set_between_the_calls(other: int) -> None:
    counts = Counts()
    compiled = tg.jit(counts)
    compiled(X)
    counts.n = other
    assert compiled(X) == 5.0 * (other + 1)
    counts.n = 2.5  # type: ignore[assignment]
    assert compiled(X) == 5.0 * 3.5
    counts.n = 2**40
    assert compiled(X) == 5.0 * (2**40 + 1)
    assert counts.n == 2**40 + 1


def test_jitted_functions_in_jitted_functions() -> None:
    history: list[Any] = []
    counts = Counts()
    inner = tg.jit(counts)
    kept = tg.jit(lambda x: (history.append(np.sum(x)), x * 2)[1])
    outer = tg.jit(lambda x: inner(x) + np.sum(kept(x)) + inner(kept(x)))
    total = 0
    for k in range(3):
        assert outer(X) == 5.0 * (2 * k + 1) + 6.0 + 20.0 * (2 * k + 2)
        total += 2
    assert counts.n == total
    assert inner(X) == 5.0 * 7
    assert history == [3.0] * 6


def test_a_call_that_fails_changes_nothing() -> None:
    n = 0

    @tg.jit
    def f(x: Any, k: Any) -> Any:
        nonlocal n
        n += 1
        return x[k] * n

    assert f(X, np.int64(0)) == 1.0
    for _ in range(2):
        with pytest.raises(IndexError):
            f(X, np.int64(9))
    assert n == 1
    assert f(X, np.int64(1)) == 4.0


def test_an_error_while_tracing_changes_nothing() -> None:
    state: dict[str, Any] = {"n": 0, "log": []}

    def f(x: Any) -> Any:
        state["n"] += 1
        state["log"].append(x)
        raise KeyError("of the user")

    with pytest.raises(KeyError, match="of the user"):
        tg.jit(f)(X)
    assert state == {"n": 0, "log": []}


def test_threads_count_together() -> None:
    counts = Counts()
    compiled = tg.jit(counts)
    found: list[float] = []

    def run() -> None:
        found.extend(float(compiled(np.ones(1))) for _ in range(100))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == list(map(float, range(1, 401)))
    assert counts.n == 400


class Net(tg.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tg.nn.Parameter(tg.tensor([0.2, 0.3]))
        self.h = tg.zeros(2)
        self.calls = 0
        self.last: Any = None

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.h = (x * self.w + self.h).tanh()
        self.last = self.h.detach() * self.calls
        return (self.h * self.calls).sum()


@pytest.mark.parametrize("carried", [True, False], ids=["state with its history", "detached"])
def test_a_module_keeps_state_through_backward(carried: bool) -> None:
    runs = []
    for way in (lambda m: m, tg.jit):
        net = Net()
        f = way(net)
        out = []
        for _ in range(3):
            loss = f(tg.ones(2))
            if not carried:
                loss.backward()
                net.h = net.h.detach()
            out += [loss.detach(), net.h.detach(), net.last]
        if carried:
            loss.backward()
        runs.append([*out, net.w.grad, net.calls])
    compare(*reversed(runs))


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("direct", [True, False], ids=["itself", "in a model"])
def test_batch_norm_counts_batches(momentum: float | None, direct: bool) -> None:
    runs = []
    for way in (lambda m: m, tg.jit):
        norm = tg.nn.BatchNorm1d(3, momentum=momentum)  # type: ignore[arg-type]
        f = way(norm if direct else tg.nn.Sequential(norm))
        rng = np.random.default_rng(0)
        for _ in range(4):
            f(tg.tensor(rng.normal(size=(4, 3))))
        runs.append([norm.running_mean, norm.running_var, norm.num_batches_tracked.item()])
    compare(*reversed(runs))


class Own(tg.optim.Optimizer):
    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, closure: Any = None) -> None:
        with tg.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["step"], state["m"] = 0, tg.zeros_like(p)
                    state["step"] += 1
                    state["m"].mul_(0.9).add_(p.grad)
                    p.add_(state["m"], alpha=-group["lr"] / state["step"])
                    p.addcdiv_(state["m"], tg.ones_like(p), value=-0.01 / state["step"])


def in_a_dict(w: Any) -> Callable[[], None]:
    s: dict[str, Any] = {"step": 0}

    def step() -> None:
        with tg.no_grad():
            s["step"] += 1
            w.add_(w.grad, alpha=-0.1 / s["step"])

    return step


def of_the_class(w: Any) -> Callable[[], None]:
    return Own([w], lr=0.1).step


@pytest.mark.parametrize("make", [in_a_dict, of_the_class], ids=lambda f: f.__name__)
def test_an_optimizer_of_ones_own(make: Any) -> None:
    runs = []
    for way in (lambda f: f, tg.jit):
        w = tg.tensor([1.0, 2.0], requires_grad=True)
        update = make(w)

        def step(x: Any, w: Any = w, update: Any = update) -> Any:
            w.grad = None
            loss = ((w * x) ** 2).sum()
            loss.backward()
            update()
            return loss

        f = way(step)
        with counted_traces() as traces:
            runs.append([*[f(tg.ones(2)).detach() for _ in range(6)], w.detach()])
        assert len(traces) <= 5
    compare(*reversed(runs))
