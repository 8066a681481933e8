"""Jitted functions, and what was derived of them, are pickled and copied: compiled code stays
behind, and who receives one compiles nothing that the disk has."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


@tg.jit
def energy(x):
    return np.sum(np.sin(x) ** 2)


@tg.jit(static_argnames=("k",), donate_argnums=0, checked=False, stage=False)
def power(x, k=2):
    return x**k


def slow(x):
    return np.sum(x**3)


fast = tg.jit(slow, checked=False)
steep = tg.jit(tg.grad(slow))
each = tg.jit(tg.vmap(tg.value_and_grad(slow), in_axes=(0,), out_axes=(0, 1)))


@tg.jit
def halves(x):
    return x[0] if x.shape[0] == 1 else halves(x[1:]) * 0.5 + x[0]


@tg.jit
@tg.grad
def slope(x):
    return np.sum(x**4)


@tg.grad
def plain_slope(x):
    return np.sum(x**4)


class Model:
    def __init__(self, w):
        self.w = w

    @tg.jit
    def loss(self, x):
        return np.sum(self.w * x**2)

    slopes = tg.grad(loss, argnums=1)

    @tg.jit(static_argnames=("self",))
    def fixed(self, x):
        return np.sum(self.w * x**2)


class Finer(Model):
    @tg.jit
    def loss(self, x):
        return super().loss(x) + np.sum(x)


@dataclass
class Weights:
    w: np.ndarray

    @tg.jit
    def loss(self, x):
        return np.sum(self.w * x**2)


@dataclass(eq=False)
class Scaled:
    by: float

    def __call__(self, x):
        return x * self.by

    def shifted(self, x):
        return x + self.by


X = np.arange(1.0, 4.0)
ROWS = np.arange(6.0).reshape(2, 3)
MODEL = Model(2.0)
FUNCTIONS = {
    "jit": (energy, X),
    "grad": (tg.grad(energy), X),
    "value_and_grad": (tg.value_and_grad(energy), X),
    "jacobian": (tg.jacobian(tg.grad(energy), mode="forward", chunk_size=2), X),
    "hessian": (tg.hessian(energy), X),
    "grad of grad": (tg.grad(tg.jit(lambda x: np.sum(tg.grad(energy)(x)))), X),
    "vmap": (tg.vmap(energy), ROWS),
    "vmap along trees": (tg.vmap(tg.grad(energy), in_axes=(1,), out_axes=1), ROWS),
    "jit of a global": (fast, X),
    "grad of jit of a global": (tg.grad(fast), X),
    "jit of grad": (steep, X),
    "jit of vmap of value_and_grad": (each, ROWS),
    "jit on grad": (slope, X),
    "grad of a plain one": (plain_slope, X),
    "one that calls itself": (halves, X),
    "method": (MODEL.loss, X),
    "method that calls the one it replaces": (Finer(3.0).loss, X),
    "grad of a method": (tg.grad(MODEL.loss), X),
    "grad as a method": (MODEL.slopes, X),
    "method with a static self": (MODEL.fixed, X),
    "method of a dataclass of arrays": (Weights(np.ones(3)).loss, X),
    "partial": (functools.partial(power, k=3), X),
    "jit of a ufunc": (tg.jit(np.sin), X),
    "jit of an object": (tg.jit(Scaled(3.0)), X),
    "jit of a method of another class": (tg.jit(Scaled(3.0).shifted), X),
}
ONLY_BY_VALUE = {"grad of grad"}


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(map(equal, a, b))
    return bool(np.array_equal(a, b))


def pickler(name: str) -> Any:
    return pickle if name == "pickle" else pytest.importorskip(name)


@pytest.mark.parametrize("name", ["pickle", "cloudpickle"])
@pytest.mark.parametrize("case", FUNCTIONS)
def test_what_comes_back_computes_the_same(case: str, name: str) -> None:
    function, x = FUNCTIONS[case]
    if case in ONLY_BY_VALUE and name == "pickle":
        with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
            pickle.dumps(function)
        return
    before = pickle.loads(pickler(name).dumps(function))
    wanted = function(x.copy())
    after = pickle.loads(pickler(name).dumps(function))
    for found in (before, after, copy.copy(function), copy.deepcopy(function)):
        assert equal(found(x.copy()), wanted)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_all_protocols(protocol: int) -> None:
    for function in (energy, tg.grad(energy), MODEL.loss, fast):
        assert equal(pickle.loads(pickle.dumps(function, protocol))(X), function(X))


def test_by_name_it_is_the_same_object() -> None:
    for function in (energy, power, Model.loss, tg.grad(energy), tg.hessian(energy, 0), slope):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.copy(function) is function
        assert copy.deepcopy([function])[0] is function
    # By its function: two objects, of which the second call has what the first compiled.
    first, second = (pickle.loads(pickle.dumps(fast)) for _ in range(2))
    assert first._signatures is second._signatures
    assert copy.deepcopy(fast) is fast


def test_compiled_code_does_not_travel() -> None:
    energy(X)
    assert len(pickle.dumps(energy)) < 300
    assert len(pickle.dumps(tg.grad(energy))) < 500


def test_options_travel() -> None:
    made = tg.jit(slow, checked=False, stage=True, donate_argnums=0)
    back = pickle.loads(pickle.dumps(made))
    assert (
        back._options() == made._options() == ((), ("x",), True, tg.jit(slow, checked=False).code)
    )
    assert tg.grad(back).code.checked is False
    own = tg.jit(lambda x, k: x**k, static_argnames="k", checked=False)
    back = pickle.loads(pytest.importorskip("cloudpickle").dumps(own))
    assert back._options() == (("k",), (), "auto", own.code)
    assert equal(back(X, 3), X**3)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(own)


@pytest.mark.parametrize(
    "made", [Model(2.0), Finer(2.0), Weights(np.full(3, 2.0))], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("how", ["pickle", "cloudpickle", "copy", "deepcopy"])
def test_objects_with_jitted_methods(made: Any, how: str) -> None:
    """Each copy reads its own attributes, also where the method was called before."""
    base = made.loss(X)
    tg.grad(made.loss)(X)
    loads: dict[str, Callable[[Any], Any]] = {"copy": copy.copy, "deepcopy": copy.deepcopy}
    other = loads[how](made) if how in loads else pickle.loads(pickler(how).dumps(made))
    assert other.loss(X) == base
    more = 14.0 if type(made).__name__ != "Weights" else float(np.sum(X**2))
    other.w = made.w + 1.0
    assert other.loss(X) == base + more
    assert equal(tg.grad(other.loss)(X), tg.grad(made.loss)(X) + 2.0 * X)
    assert made.loss(X) == base


@dataclass
class Shared:
    """Two objects that know each other and a compiled function."""

    function: Any
    other: Any = None


def test_cycles() -> None:
    model = Model(3.0)
    model.own = model.loss
    model.friend = Shared(model.loss, model)
    for found in (
        pickle.loads(pickle.dumps(model)),
        pickle.loads(pickler("cloudpickle").dumps(model)),
        copy.deepcopy(model),
    ):
        assert found.friend.other is found
        found.w = 1.0
        assert found.own(X) == found.friend.function(X) == found.loss(X) == 14.0
        assert model.own(X) == 42.0


def compiled_there(function: Callable[..., Any], x: Any) -> tuple[Any, int, int]:
    from tracegrad.codegen.disk.cache import COUNTERS

    before = COUNTERS.compiled
    return function(x), COUNTERS.compiled - before, os.getpid()


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_processes_compile_nothing_that_the_disk_has(way: str) -> None:
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {way}")
    cases = [
        FUNCTIONS[k]
        for k in ("jit", "value_and_grad", "hessian", "vmap", "jit of grad", "method", "partial")
    ]
    wanted = [function(x.copy()) for function, x in cases]
    with multiprocessing.get_context(way).Pool(1) as pool:
        found = pool.starmap(compiled_there, [(f, x.copy()) for f, x in cases])
    for (value, compiled, process), expected in zip(found, wanted, strict=True):
        assert equal(value, expected)
        assert compiled == 0
        assert process != os.getpid()


def test_an_executor_of_processes() -> None:
    energy(X), steep(X)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = [pool.submit(f, X) for f in (energy, tg.grad(energy), steep, MODEL.loss)]
        for f, future in zip((energy, tg.grad(energy), steep, MODEL.loss), found, strict=True):
            assert equal(future.result(), f(X))


MAIN = """
import multiprocessing, pickle, sys
import numpy as np
import tracegrad as tg

scale = 2.0

@tg.jit
def f(x):
    return np.sum(np.sin(scale * x) ** 2)

@tg.jit
def again(x):
    return x[0] if x.shape[0] == 1 else again(x[1:]) * 0.5 + x[0]

class Model:
    def __init__(self, w):
        self.w = w

    @tg.jit
    def loss(self, x):
        return np.sum(self.w * x**2)

def compiled(function, x):
    from tracegrad.codegen.disk.cache import COUNTERS
    before = COUNTERS.compiled
    value = function(x)
    return value, COUNTERS.compiled - before

x = np.arange(1.0, 4.0)

def functions():
    return [f, tg.grad(f), tg.hessian(f), again, Model(3.0).loss]
"""
BY_NAME = """
if __name__ == "__main__":
    for way in sys.argv[1:]:
        with multiprocessing.get_context(way).Pool(1) as pool:
            for g in functions():
                value, count = pool.apply(compiled, (g, x))
                assert np.array_equal(value, g(x)) and (count == 0 or way == "spawn"), (g, count)
            for g in functions():
                assert pool.apply(compiled, (g, x))[1] == 0, g
"""
BY_VALUE = """
if __name__ == "__main__":
    import cloudpickle
    extra = tg.jit(lambda x: np.cos(x) * scale)
    whole = [(g, g(x)) for g in (*functions(), extra, tg.vmap(extra))]
    sys.stdout.buffer.write(cloudpickle.dumps(whole))
"""
RECEIVER = """
import pickle, sys
import numpy as np
from tracegrad.codegen.disk.cache import COUNTERS

x = np.arange(1.0, 4.0)
for function, wanted in pickle.load(sys.stdin.buffer):
    assert np.array_equal(function(x), wanted), function
assert COUNTERS.compiled == 0, COUNTERS
assert COUNTERS.loaded >= 5
print("well")
"""
JOBS = """
if __name__ == "__main__":
    from joblib import Parallel, delayed
    for g in functions():
        g(x)
    found = Parallel(n_jobs=2, backend="loky")(
        delayed(compiled)(g, x) for g in (*functions(), tg.jit(lambda x: f(x) + 1.0)))
    for (value, count), g in zip(found, functions()):
        assert np.array_equal(value, g(x)) and count == 0, (g, count)
"""


def run(text: str, path: Any, *arguments: str, **options: Any) -> Any:
    file = path / "program.py"
    file.write_text(textwrap.dedent(text))
    return subprocess.run(
        [sys.executable, "-W", "error", str(file), *arguments],
        check=True,
        capture_output=True,
        cwd=os.getcwd(),
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        timeout=120,
        **options,
    )


def test_functions_of_the_main_program(tmp_path: Any) -> None:
    ways = [w for w in ("spawn", "fork") if w in multiprocessing.get_all_start_methods()]
    run(MAIN + BY_NAME, tmp_path, *ways)


def test_functions_of_the_main_program_by_value(tmp_path: Any) -> None:
    pytest.importorskip("cloudpickle")
    sent = run(MAIN + BY_VALUE, tmp_path).stdout
    assert run(RECEIVER, tmp_path, input=sent).stdout.strip() == b"well"


def test_jobs_of_joblib(tmp_path: Any) -> None:
    pytest.importorskip("joblib")
    run(MAIN + JOBS, tmp_path)
