"""Loops and branches under modes and hooks, in threads, in a second process, and interrupted: the
same results, and nothing stays behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.3, -1.2, 2.0])


def total(x: Any) -> Any:
    """A number that every structured operation has a part in."""
    last, ys = tg.scan(lambda c, v: (np.sin(c) * v + x[0], c * v), x[1], x, checkpoint=2)
    grown = tg.while_loop(lambda c: np.sum(c) < 9, lambda c: c * 1.5 + 1, x)
    chosen = tg.cond(x[0] > 0, lambda: np.sum(np.exp(x)), lambda: np.sum(x))
    product = tg.fori_loop(0, 3, lambda i, c: c * x[i] + 1.0, x[2])
    each = tg.map(lambda r: tg.switch(np.sum(r > 0), [np.sin, np.cos], r), x)
    running = tg.associative_scan(np.multiply, x)
    again = tg.checkpoint(lambda v: np.tanh(v) * v)(x)
    return last + chosen + product + sum(np.sum(y) for y in (ys, grown, each, running, again))


VALUE, GRADIENT = tg.value_and_grad(total)(X)
HESSIAN = tg.hessian(total)(X)
FORMS: dict[str, Callable[[Any], Any]] = {"eager": total, "jit": tg.jit(total)}


@pytest.mark.parametrize("form", FORMS)
class TestModesAndHooks:
    def test_without_gradients(self, form: str) -> None:
        w = tg.tensor(X, requires_grad=True)
        for mode in (tg.no_grad(), tg.inference_mode(), tg.set_grad_enabled(False)):
            with mode:
                out = FORMS[form](w)
            assert not out.requires_grad
            np.testing.assert_allclose(out.item(), VALUE)
        assert FORMS[form](w).requires_grad

    def test_saved_tensors(self, form: str) -> None:
        w = tg.tensor(X, requires_grad=True)
        packed, unpacked = [], []

        def pack(t: Any) -> Any:
            packed.append(t)
            return t.detach().numpy().copy()

        def unpack(a: Any) -> Any:
            unpacked.append(a)
            return tg.tensor(a)

        for hooks in (
            tg.autograd.graph.saved_tensors_hooks(pack, unpack),
            tg.autograd.graph.save_on_cpu(),
        ):
            w.grad = None
            with hooks:
                out = FORMS[form](w)
            out.backward()
            np.testing.assert_allclose(w.grad.numpy(), GRADIENT)
        assert packed
        assert unpacked

    def test_anomaly_and_profiler(self, form: str) -> None:
        w = tg.tensor(X, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with tg.autograd.detect_anomaly(), tg.autograd.profiler.profile() as profile:
                FORMS[form](w).backward()
        np.testing.assert_allclose(w.grad.numpy(), GRADIENT)
        assert profile.key_averages()

    def test_anomaly_of_a_step(self, form: str) -> None:
        def infinite(x: Any) -> Any:
            return tg.scan(lambda c, v: (c + np.sqrt(v * 0.0) * v, None), 0.0, x)[0]

        w = tg.tensor(X, requires_grad=True)
        function = tg.jit(infinite) if form == "jit" else infinite
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with (
                tg.autograd.detect_anomaly(),
                pytest.raises(RuntimeError, match="returned nan values"),
            ):
                function(w).backward()
        FORMS[form](w).backward()

    def test_graphs_of_gradients(self, form: str) -> None:
        w = tg.tensor(X, requires_grad=True)
        (gradient,) = tg.autograd.grad(FORMS[form](w), w, create_graph=True)
        rows = [tg.autograd.grad(gradient[i], w, retain_graph=True)[0].numpy() for i in range(3)]
        np.testing.assert_allclose(rows, HESSIAN, rtol=1e-10)

    def test_backward_twice_and_changed_inputs(self, form: str) -> None:
        w = tg.tensor(X, requires_grad=True)
        out = FORMS[form](w)
        out.backward(retain_graph=True)
        out.backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * GRADIENT)
        with pytest.raises(RuntimeError, match="a second time"):
            out.backward()
        u = w * 1.0
        out = FORMS[form](u)
        with tg.no_grad():
            u[0] = 5.0
        with pytest.raises(
            RuntimeError, match=r"modified by an inplace|written to before backward"
        ):
            out.backward()


def test_modes_inside_of_a_body() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            with tg.no_grad():
                k = c * 2
            return np.sin(c) * v + k, None

        return tg.scan(step, x[1], x)[0]

    def plain(x: Any) -> Any:
        c = x[1]
        for i in range(3):
            c = np.sin(c) * x[i] + tg.stop_gradient(c * 2)
        return c

    expected = tg.grad(plain)(X)
    for g in (tg.grad(f), tg.jit(tg.grad(f))):
        np.testing.assert_allclose(g(X), expected)
    for function in (f, tg.jit(f)):
        w = tg.tensor(X, requires_grad=True)
        function(w).backward()
        np.testing.assert_allclose(w.grad.numpy(), expected)
    assert tg.is_grad_enabled()


def in_threads(count: int, work: Callable[[int], None]) -> None:
    failures: list[BaseException] = []

    def run(k: int) -> None:
        try:
            work(k)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


def test_threads_that_trace_at_once() -> None:
    """Each its own functions, some of them wrong, and one function that all of them call first."""
    shared = tg.jit(tg.value_and_grad(lambda x: total(x * 1.0)))

    def horner(x: Any) -> Any:
        return tg.scan(lambda c, v: (c * v + np.sin(v), None), x[0], x)[0]

    def work(k: int) -> None:
        np.testing.assert_allclose(tg.grad(total)(X), GRADIENT)
        with pytest.raises(TypeError, match="the carry itself changes"):
            tg.jit(lambda x: tg.scan(lambda c, v: (c + x, None), 0.0, x))(X)
        np.testing.assert_allclose(shared(X)[1], GRADIENT)
        sized = np.linspace(0.1, 1.0, 3 + k)
        np.testing.assert_allclose(tg.jit(tg.grad(horner))(sized), tg.grad(horner)(sized))
        w = tg.tensor(X, requires_grad=True)
        (tg.jit(lambda x: tg.fori_loop(0, 3, lambda i, c: c * x[i], 1.0))(w) + total(w)).backward()
        np.testing.assert_allclose(w.grad.numpy(), GRADIENT + np.prod(X) / X)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        in_threads(4, work)
    finally:
        sys.setswitchinterval(before)


def python(program: str) -> str:
    """What a process of its own prints."""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert not found.returncode, found.stderr
    return found.stdout


PROGRAM = """
import numpy as np, tracegrad as tg
from tracegrad.codegen.disk.cache import COUNTERS
def f(x):
    s = tg.scan(lambda c, v: (np.sin(c) * v, c), x[0], x, checkpoint="sqrt")[0]
    step = lambda c: c * c + tg.cond(c > 2, np.cos, np.sin, x[1])
    return tg.while_loop(lambda c: c < 9, step, x[2]) + s
g = tg.jit(tg.value_and_grad(f))
v, d = g(np.array([0.3, -1.2, 2.0]))
print(repr(float(v)), d.tolist(), COUNTERS.compiled)
"""


def test_a_second_process() -> None:
    """It finds the kernels of the first one, and the same bits."""
    first, second = python(PROGRAM), python(PROGRAM)
    *values, compiled = first.split()
    assert int(compiled) > 0
    assert second.split() == [*values, "0"]


class TestInterrupts:
    """Ctrl-C in a step, while a function is traced, and while a compiled one runs."""

    @pytest.mark.parametrize("form", ["eager", "grad", "jit", "vmap"])
    def test_in_a_body(self, form: str) -> None:
        wrap: dict[str, Any] = {
            "eager": lambda f: f,
            "grad": tg.grad,
            "jit": tg.jit,
            "vmap": lambda f: lambda x: tg.vmap(f)(np.stack([x, x])),
        }

        def stopped(c: Any) -> Any:
            raise KeyboardInterrupt

        bodies: list[Callable[[Any], Any]] = [
            lambda x: tg.scan(lambda c, v: (stopped(c), None), 0.0, x)[0],
            lambda x: tg.while_loop(lambda c: c < 9, stopped, x[0]),
            lambda x: tg.while_loop(stopped, lambda c: c, x[0]),
            lambda x: tg.fori_loop(0, 3, lambda i, c: stopped(c), x[0]),
            lambda x: tg.cond(x[0] > 0, stopped, stopped, x),
            lambda x: tg.checkpoint(stopped)(x),
        ]
        for body in bodies:
            with pytest.raises(KeyboardInterrupt):
                wrap[form](body)(X)
            np.testing.assert_allclose(tg.grad(total)(X), GRADIENT)
            assert tg.is_grad_enabled()
        np.testing.assert_allclose(tg.jit(tg.grad(total))(X), GRADIENT)

    def test_while_compiled_code_runs(self) -> None:
        """It is told when the call returns."""
        program = """
import os, signal, threading, numpy as np, tracegrad as tg
step = lambda c: (c[0] + 1, np.cos(c[1]))
f = tg.jit(lambda n: tg.while_loop(lambda c: c[0] < n, step, (0, 0.3))[1])
small = f(5)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
try:
    timer.start()
    f(20_000_000)
    timer.join()
except KeyboardInterrupt:
    print("interrupted", f(5) == small)
"""
        assert python(program).split() == ["interrupted", "True"]
