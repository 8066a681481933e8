"""`disable_jit`: jitted functions run as what the user wrote."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.compiled.plainly import jit_is_disabled
from tracegrad.ir.dispatch import SPECIAL

ROOT = Path(__file__).parents[2]
X = np.array([0.5, -1.0, 2.0])


@tg.jit
def watched(x: Any) -> Any:
    print("here")
    return np.sum(x**3)


@tg.jit(static_argnames="n", checked=False, donate_argnums=(0,))
def with_options(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 2
    return x


@tg.jit
def branching(x: Any) -> Any:
    total = 0.0
    for v in x:
        if v > 0:
            total = total + np.sin(v)
    return total


@tg.jit
def looping(x: Any) -> Any:
    return tg.scan(lambda c, v: (c * v + 1.0, c), 1.0, x)[0]


@tg.jit
def writing(x: Any) -> Any:
    x[0] = 5.0
    return x * 2


def printing(x: Any) -> Any:
    print("x is", x)
    return np.sum(x)


class Model:
    factor = 3.0

    @tg.jit
    def loss(self, x: Any) -> Any:
        return np.sum(x * self.factor)


def test_the_function_itself_runs_at_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    with tg.disable_jit():
        assert watched(X) == np.sum(X**3)
        assert watched(X) == np.sum(X**3)
    assert capsys.readouterr().out == "here\n" * 2


@pytest.mark.parametrize("f", [branching, looping, watched], ids=lambda f: f.__name__)
def test_derivatives_are_those_of_the_compiled_function(f: Any) -> None:
    compiled = tg.grad(f)(X), tg.jit(tg.value_and_grad(f))(X), tg.jvp(f, (X,), (X,))
    with tg.disable_jit():
        plain = tg.grad(f)(X), tg.jit(tg.value_and_grad(f))(X), tg.jvp(f, (X,), (X,))
        second = tg.hessian(f)(X)
        x = tg.tensor(X, requires_grad=True)
        f(x).backward()
    np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-14)
    np.testing.assert_allclose(compiled[1][0], plain[1][0], rtol=1e-14)
    np.testing.assert_allclose(compiled[1][1], plain[1][1], rtol=1e-14)
    np.testing.assert_allclose(compiled[2], plain[2], rtol=1e-14)
    np.testing.assert_allclose(x.grad, plain[0], rtol=1e-14)
    np.testing.assert_allclose(second, tg.hessian(f.__wrapped__)(X), rtol=1e-13)


def test_values_are_real_where_a_derivative_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with tg.disable_jit():
        tg.grad(tg.jit(printing))(X)
    assert capsys.readouterr().out == f"x is {X}\n"


def test_options_methods_and_writes() -> None:
    given = X.copy()
    with tg.disable_jit():
        np.testing.assert_array_equal(with_options(given, n=3), 8 * X)
        np.testing.assert_array_equal(with_options(given, 1), 2 * X)
        np.testing.assert_array_equal(given, X)
        model = Model()
        assert model.loss(X) == Model.loss(model, X) == 3 * np.sum(X)
        np.testing.assert_array_equal(writing(given), [10.0, -2.0, 4.0])
    np.testing.assert_array_equal(given, [5.0, -1.0, 2.0])


@tg.jit
def written(x: Any) -> Any:
    """1 where it runs as it is written, 2 where it was compiled."""
    return x[0] * 0.0 + (1.0 if type(x) is np.ndarray else 2.0)


def test_modes_end_and_nest() -> None:
    assert written(X) == 2.0
    with tg.disable_jit():
        assert written(X) == 1.0
        with tg.disable_jit(False):
            assert written(X) == 2.0
        with tg.disable_jit():
            pass
        assert written(X) == 1.0
        assert jit_is_disabled()
    with pytest.raises(KeyError), tg.disable_jit():
        raise KeyError
    assert not jit_is_disabled()
    assert not SPECIAL
    assert written(X) == 2.0

    @tg.disable_jit()
    def decorated() -> bool:
        return jit_is_disabled()

    assert decorated()
    assert not jit_is_disabled()
    with pytest.raises(TypeError, match="True or False"):
        tg.disable_jit(3)  # type: ignore[arg-type]


def test_it_is_of_the_task() -> None:
    found: list[bool] = []
    with tg.disable_jit():
        thread = threading.Thread(target=lambda: found.append(jit_is_disabled()))
        thread.start()
        thread.join()
    assert found == [False]

    async def one(disabled: bool) -> bool:
        with tg.disable_jit(disabled):
            await asyncio.sleep(0)
            return jit_is_disabled()

    async def both() -> list[bool]:
        return await asyncio.gather(one(True), one(False))

    assert asyncio.run(both()) == [True, False]
    assert not SPECIAL


def test_a_call_inside_of_a_trace_is_part_of_it() -> None:
    outer = tg.jit(lambda x: watched(x) * 2)
    with tg.disable_jit():
        source = outer.source(X)  # what shows compiled code compiles
    assert "def " in source
    assert outer(X) == 2 * np.sum(X**3)


@pytest.mark.parametrize(("value", "calls"), [("1", 3), ("0", 1), ("", 1)])
def test_the_environment_variable(value: str, calls: int) -> None:
    program = (
        "import numpy as np, tracegrad as tg\n@tg.jit\ndef f(x):\n"
        "    print('here')\n    return x * 2\nfor _ in range(3): f(np.ones(2))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TRACEGRAD_DISABLE_JIT": value},
        capture_output=True,
        text=True,
    )
    assert found.stdout.count("here") == calls, found.stderr
