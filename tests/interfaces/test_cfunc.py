"""C functions of jitted ones: the numbers of the Python call, in every form, from one kernel."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import ndimage
from scipy.integrate import nquad, quad

import tracegrad as tg

SCALE = np.array([1.0, 2.0, 3.0])


@tg.jit
def cubed(x):
    return np.sin(x) ** 3


@tg.jit
def energy(x):
    return np.sum(np.exp(x) * np.cos(x))


@tg.jit
def scaled(x):
    return np.sum(SCALE * x**2)


@tg.jit
def of_tree(p, t):
    return {"y": p["a"] * np.sin(t), "z": np.sum(p["b"] @ t), "k": p["n"] + 1}


@tg.jit
def solved(a, b):
    return np.linalg.solve(a, b)


@tg.jit
def taken(x, k):
    return x[k]


X = np.array([0.5, -0.25, 1.5])
DTYPES = [
    "float64",
    "float32",
    "complex128",
    "complex64",
    "int64",
    "int32",
    "int8",
    "uint16",
    "bool",
]


def results_like(values: Any) -> list[np.ndarray]:
    leaves = values if isinstance(values, tuple) else (values,)
    return [np.full(np.shape(v), 77, np.asarray(v).dtype) for v in leaves]


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_takes_every_dtype(dtype: str) -> None:
    f = tg.jit(lambda x, y: (x + y, x * y, (x != y).sum()))
    x, y = np.array([[1, 2, 0], [3, 1, 1]], dtype), np.array([1, 0, 1], dtype)
    wanted = f(x, y)
    out = results_like(wanted)
    assert f.cfunc(x, y)(x, y, *out) == 0
    for found, value in zip(out, wanted, strict=True):
        assert np.array_equal(found, value)


@pytest.mark.parametrize(
    "derive",
    [lambda f: f, tg.grad, tg.value_and_grad, tg.hessian, tg.jacobian],
    ids=lambda f: f.__name__,
)
def test_plain_of_derivatives_has_the_numbers_of_the_python_call(derive: Any) -> None:
    made = derive(energy)
    wanted = made(X)
    out = results_like(wanted)
    assert made.cfunc(X)(X, *out) == 0
    leaves = wanted if isinstance(wanted, tuple) else (wanted,)
    assert all(np.array_equal(a, b) for a, b in zip(out, leaves, strict=True))


def test_plain_of_trees_and_numbers() -> None:
    p = {"a": 2.0, "b": np.arange(6.0).reshape(2, 3), "n": 4}
    c = of_tree.cfunc(p, X)
    assert c.prototype.startswith("int of_tree(double p_a, const double *p_b, long long p_n, ")
    k, y, z = np.zeros((), np.int64), np.zeros(3), np.zeros(())
    assert c(2.0, p["b"], 4, X, k, y, z) == 0
    wanted = of_tree(p, X)
    assert k == wanted["k"]
    assert np.array_equal(y, wanted["y"])
    assert z == wanted["z"]


def test_shared_kernel() -> None:
    from tracegrad.codegen.disk.cache import COUNTERS
    from tracegrad.codegen.native.compile import KERNELS

    f = tg.jit(lambda x: np.sum(np.tanh(x) ** 5))
    f(X)
    before, kernels = COUNTERS.compiled, len(KERNELS)
    for signature in ("plain", "quad", "double (int, double *)", "double (int, double *, void *)"):
        f.cfunc(X, signature=signature)
    f.njit  # noqa: B018
    assert (COUNTERS.compiled, len(KERNELS)) == (before, kernels)


def test_captured_arrays_are_copies_that_may_be_written_to() -> None:
    c = scaled.cfunc(X)
    out = np.zeros(1)
    c(X, out)
    assert out[0] == np.sum(SCALE * X**2)
    assert list(c.captures) == ["SCALE"]
    c.captures["SCALE"][...] = 1.0
    c(X, out)
    assert out[0] == np.sum(X**2)
    assert SCALE.tolist() == [1.0, 2.0, 3.0]


def test_fixed_sizes_after_calls_with_others() -> None:
    f = tg.jit(lambda x: np.cumsum(x * x))
    for n in (2, 3, 4):
        f(np.ones(n))
    out = np.zeros(5)
    assert f.cfunc(np.ones(5))(np.arange(5.0), out) == 0
    assert np.array_equal(out, np.cumsum(np.arange(5.0) ** 2))


# --- statuses ------------------------------------------------------------------------------------


def test_what_fails_gives_a_status_and_a_reason() -> None:
    c, out = solved.cfunc(np.eye(9), np.ones(9)), np.zeros(9)
    assert c.last_status() is None
    assert solved.last_status() is None
    assert c(np.zeros((9, 9)), np.ones(9), out) > 0
    assert isinstance(c.last_status().error, np.linalg.LinAlgError)
    assert "ingular" in str(solved.last_status())
    assert c(2.0 * np.eye(9), np.ones(9), out) == 0
    assert out.tolist() == [0.5] * 9
    assert solved.last_status(clear=True) is not None
    assert c.last_status() is None

    t = taken.cfunc(X, np.array([0, 1]))
    out = np.zeros(2)
    assert t(X, np.array([2, -3]), out) == 0
    assert out.tolist() == [1.5, 0.5]
    assert t(X, np.array([2, 5]), out) > 0
    status = taken.last_status()
    assert isinstance(status.error, IndexError)
    assert "5" in status.message
    with pytest.raises(IndexError) as raised:
        taken(X, np.array([2, 5]))
    assert str(raised.value) == status.message

    x = np.array([0.0, np.nan, 1.0])
    for n, finite in ((3, True), (50, True), (3, False)):
        e, out = tg.grad(energy).cfunc(x.repeat(n), finite=finite), np.zeros(3 * n)
        assert (e(x.repeat(n), out) > 0) == finite
        assert np.array_equal(np.isnan(out), np.isnan(x.repeat(n)))
        assert not finite or isinstance(e.last_status().error, FloatingPointError)


def test_out_of_memory() -> None:
    n = 3_000_000
    f = tg.jit(lambda x: np.sum(np.sort(np.outer(x, x), axis=1)[:, 0]))
    c, out = f.cfunc(np.ones(n)), np.zeros(1)
    assert c.workspace_bytes > 1 << 45
    assert c(np.ones(n), out) < 0
    assert isinstance(c.last_status().error, MemoryError)


def test_threads() -> None:
    """Each has memory of its own, and reads the reason of its own failures."""
    n = 60
    f = tg.jit(lambda a, k: np.linalg.solve(a @ a.T + 0.1 * a, a)[k])
    rng = np.random.default_rng(0)
    a = rng.normal(size=(n, n)) + n * np.eye(n)
    c = f.cfunc(a, 0)
    wanted = [f(a, k) for k in range(4)]
    problems: list[Any] = []

    def work(k: int) -> None:
        out = np.zeros(n)
        for _ in range(200):
            if c(a, k, out) != 0 or not np.array_equal(out, wanted[k]):
                problems.append(k)
            if c(a, n + k, out) <= 0:
                problems.append("status")
        if k % 2 and str(n + k) not in c.last_status().message:
            problems.append(c.last_status())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems
    assert c.last_status() is None
    if sys.platform in ("linux", "win32"):
        later: list[Any] = []
        for _ in range(3):  # a new thread knows nothing of those that are done
            one = threading.Thread(target=lambda: later.append(c.last_status()))
            one.start()
            one.join()
        assert later == [None] * 3


# --- SciPy ---------------------------------------------------------------------------------------


def test_quad() -> None:
    slope = tg.grad(cubed)
    for signature in ("quad", "double (double)", "double (double, void *)"):
        c = slope.cfunc(0.5, signature=signature)
        user = (None,) if "void" in signature else ()
        assert c(0.3, *user) == slope(0.3)
        assert abs(quad(c.scipy, 0.0, 1.0)[0] - np.sin(1.0) ** 3) < 1e-12
        if not user:
            assert abs(quad(c.ctypes, 0.0, 1.0)[0] - np.sin(1.0) ** 3) < 1e-12


def test_captured_arrays_are_user_data() -> None:
    f = tg.jit(lambda x: np.sum(x * SCALE))
    c = f.cfunc(0.5, signature="double (double, void *)")
    assert c(0.5, None) == 3.0
    other = np.array([10.0, 0.0, 5.0])
    addresses = (ctypes.c_void_p * 1)(other.ctypes.data)
    assert c(0.5, ctypes.addressof(addresses)) == 7.5
    assert abs(quad(c.scipy, 0.0, 1.0)[0] - 3.0) < 1e-12


def test_nquad_and_arguments() -> None:
    f = tg.jit(lambda x, y, k: np.exp(-k * x * y))
    for signature in ("quad", "double (int, double *)", "double (int, double *, void *)"):
        c = f.cfunc(1.0, 1.0, 1.0, signature=signature)
        found = nquad(c.scipy, [(0.0, 1.0), (0.0, 2.0)], args=(0.5,))[0]
        assert (
            abs(found - nquad(lambda *a: float(f(*a)), [(0.0, 1.0), (0.0, 2.0)], (0.5,))[0]) < 1e-9
        )
    v = tg.jit(lambda x: x[0] ** 2 * x[1]).cfunc(np.ones(2), signature="quad")
    assert abs(quad(v.scipy, 0.0, 1.0, args=(3.0,))[0] - 1.0) < 1e-12
    assert np.isnan(v(3, np.ones(3)))
    assert v.last_status().code < 0


def test_what_fails_inside_of_quad() -> None:
    f = tg.jit(lambda x: X[np.asarray(x * 10.0).astype(int)])
    c = f.cfunc(0.1, signature="quad")
    assert c(0.11) == X[1]
    assert np.isnan(c(0.9))
    assert isinstance(f.last_status().error, IndexError)


def test_filters() -> None:
    image = np.random.default_rng(1).normal(size=(12, 9))
    spread = tg.jit(lambda v: np.sqrt(np.mean((v - np.mean(v)) ** 2)))
    c = spread.cfunc(np.ones(9), signature="generic_filter")
    assert np.allclose(
        ndimage.generic_filter(image, c.scipy, size=3),
        ndimage.generic_filter(image, np.std, size=3),
    )
    with pytest.raises(RuntimeError):
        ndimage.generic_filter(image, c.scipy, size=5)

    smooth = tg.jit(lambda v: (v[:-2] + v[1:-1] + v[2:]) / 3.0)
    c = smooth.cfunc(np.ones(11), signature="generic_filter1d")
    found = ndimage.generic_filter1d(image, c.scipy, 3)
    assert np.allclose(found, ndimage.uniform_filter1d(image, 3, mode="reflect"))

    shift = tg.jit(lambda k: k - np.array([0.5, 0.25]))
    c = shift.cfunc(np.array([1, 2]), signature="geometric_transform")
    wanted = ndimage.geometric_transform(image, lambda k: (k[0] - 0.5, k[1] - 0.25))
    assert np.allclose(ndimage.geometric_transform(image, c.scipy), wanted)


def test_scipy_objects_keep_the_function_alive() -> None:
    kept = [tg.jit(lambda x, k=k: x * k).cfunc(0.5, signature="quad").scipy for k in (2.0, 3.0)]
    kept += [tg.jit(lambda x, k=k: x * k).cfunc(0.5, signature="quad").ctypes for k in (4.0,)]
    gc.collect()
    assert [round(quad(c, 0.0, 2.0)[0]) for c in kept] == [4, 6, 8]


# --- samplers, differential equations ------------------------------------------------------------


def test_nutpie() -> None:
    def logp(p):
        return -0.5 * np.sum((p["mu"] - SCALE) ** 2 * np.exp(-p["s"])) - 1.5 * p["s"]

    f = tg.jit(logp)
    c = f.cfunc({"mu": np.zeros(3), "s": 0.0}, signature="nutpie")
    x, grad, value = np.array([0.5, 1.0, 2.0, 0.3]), np.zeros(4), np.zeros(1)
    assert c(4, x, grad, value, None) == 0
    wanted, slopes = tg.value_and_grad(f)({"mu": x[:3], "s": x[3]})
    assert value[0] == wanted
    assert np.array_equal(grad, [*slopes["mu"], slopes["s"]])
    assert c(5, x, grad, value, None) < 0
    x[0] = np.nan
    assert c(4, x, grad, value, None) > 0


@tg.jit
def pendulum(t, u, p):
    return np.stack([u[1], -p[0] * np.sin(u[0]) + np.cos(t)])


def test_lsoda_and_minpack() -> None:
    u, p = np.array([0.3, -0.2]), np.array([2.0])
    for f in (pendulum, tg.jacobian(pendulum, 1)):
        wanted = f(0.5, u, p)
        out = np.zeros_like(wanted)
        c = f.cfunc(0.5, u, p, signature="lsoda")
        assert c(0.5, u, out, p) is None
        assert np.array_equal(out, wanted)
    root = tg.jit(lambda x, a: x**2 - a)
    for f in (root, tg.jacobian(root)):
        out = np.zeros_like(f(u, u))
        f.cfunc(u, u, signature="minpack")(u, out, p.repeat(2))
        assert np.array_equal(out, f(u, p.repeat(2)))
    failing = tg.jit(lambda x: np.linalg.solve(np.outer(x, x), x))
    out = np.zeros(2)
    failing.cfunc(u, signature="minpack")(np.zeros(2), out, None)
    assert np.isnan(out).all()


class _Vector(ctypes.Structure):
    """The head of SUNDIALS' serial vectors and dense matrices."""

    class Content(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_int64),
            ("other", ctypes.c_int64),
            ("data", ctypes.c_void_p),
        )

    _fields_ = (("content", ctypes.POINTER(Content)), ("ops", ctypes.c_void_p))


def sundials_vector(x: np.ndarray) -> Any:
    return _Vector(ctypes.pointer(_Vector.Content(len(x), 1, x.ctypes.data)), None)


def test_sundials() -> None:
    f = tg.jit(lambda t, y: np.stack([y[1] * t, -np.log(y[0]) * y[1]]))
    made = f.cfunc(0.5, np.ones(2), signature="sundials")
    y, out, matrix = np.array([0.5, 2.0]), np.zeros(2), np.zeros((2, 2))
    vectors = [sundials_vector(v) for v in (y, out, matrix)]
    at = [ctypes.addressof(v) for v in vectors]
    assert made.rhs(0.3, at[0], at[1], None) == 0
    assert np.array_equal(out, f(0.3, y))
    assert made.jac(0.3, at[0], at[1], at[2], None, None, None, None) == 0
    assert np.array_equal(matrix.T, tg.jacobian(f, 1)(0.3, y))
    y[0] = -1.0
    with np.errstate(all="ignore"):
        assert made.rhs(0.3, at[0], at[1], None) > 0


# --- Numba ---------------------------------------------------------------------------------------


def test_arguments_of_compiled_functions() -> None:
    @njit
    def total(f, n):
        s = 0.0
        for k in range(n):
            s += f(k / n)
        return s

    first, second = (f.cfunc(0.5, signature="quad") for f in (cubed, tg.grad(cubed)))
    for c, f in ((first, cubed), (second, tg.grad(cubed))):
        assert abs(total(c, 50) - sum(f(k / 50) for k in range(50))) < 1e-12
    assert len(total.overloads) == 1
    assert first.__wrapper_address__() == first.address

    @njit
    def call(f, x, out):
        return f(x.ctypes, out.ctypes)

    out = np.zeros(1)
    assert call(energy.cfunc(X), X, out) == 0
    assert out[0] == energy(X)


def test_a_pointer_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="cfunc"):
        pickle.dumps(cubed.cfunc(0.5, signature="quad"))


# --- from the disk -------------------------------------------------------------------------------

PROGRAM = """
import numba
import numpy as np
import tracegrad as tg
from tracegrad.codegen.disk.cache import COUNTERS

@tg.jit
def f(x):
    return np.sum(np.sin(x) ** 2) * x[0]

g = tg.jit(lambda x: np.stack([x[0] * x[1], np.sum(x)]))
x = np.ones(3)
f.cfunc(x), tg.value_and_grad(f).cfunc(x), f.cfunc(x, signature="nutpie")
f.cfunc(x, signature="ipopt", constraints=g)
print(COUNTERS.compiled, COUNTERS.loaded)
assert isinstance(numba.typeof(f.cfunc(x)), numba.types.FunctionType)
"""


def test_a_second_process_compiles_nothing(tmp_path: Any) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    run = functools.partial(
        subprocess.run,
        [sys.executable, "-W", "error", str(file)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    first, second = ([int(n) for n in run().stdout.split()] for _ in range(2))
    assert sum(first) == sum(second) == 6
    assert second[0] == 0
