"""What printed source runs on, each function in Python and compiled; compilation; the disk
cache."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numba
import numpy as np
import pytest
import scipy.special
from tracegrad.codegen.disk import cache, stored
from tracegrad.codegen.disk.entry import DiskEntry, unpack
from tracegrad.codegen.native import borrowed, library, routines, scalar, support
from tracegrad.codegen.native.compile import FLAGS, compile_source, signature
from tracegrad.codegen.native.support import view
from tracegrad.codegen.translation.direct import KernelCompiler

import tracegrad

F8, F4 = np.dtype(np.float64), np.dtype(np.float32)


@functools.cache
def native(function: Callable[..., Any], count: int) -> Any:
    """The compiled form, called with scalars or arrays."""
    names = ", ".join(f"a{k}" for k in range(count))
    return numba.njit(error_model="numpy")(
        eval(f"lambda {names}: function({names})", {"function": function})
    )


# --- scalar functions in Python and compiled ------------------------------------------------------

VALUES = {
    "f8": [0.0, -0.0, 0.5, -0.5, 1.0, 2.5, -2.5, 7.0, 30.25, np.inf, -np.inf, np.nan],
    "i8": [0, 1, 2, 3, 7, -1, -3, 2**63 - 1, -(2**63)],
    "i4": [0, 1, 2, 3, 7, -1, -3, 2**31 - 1, -(2**31)],
    "u1": [0, 1, 2, 3, 7, 255],
    "c16": [0, 1, 1j, -1 + 2j, 0.5 - 0.25j, 3 + 1e-5j],
}
UNARY = {
    "f8": (
        "abs_ acos asinh atan atanh cbrt ceil cos digamma erf erfc erfinv exp2 floor gamma "
        "isfinite isinf isnan lgamma log10 log2 reciprocal rint sign signbit sin sinc sqrt tan "
        "trigamma trunc"
    ),
    "i8": "abs_ bitwise_not sign square isnan exp sqrt",
    "i4": "abs_ bitwise_not sign square logical_not",
    "u1": "bitwise_not sign square",
    "c16": (
        "abs_ angle conj cos exp expm1 imag log log1p real sigmoid sign sin sqrt square tanh isnan"
    ),
}
BINARY = {
    "f8": (
        "atan2 copysign floordiv fmax fmin fmod heaviside hypot logaddexp logical_and maximum "
        "minimum mod nextafter strong_mul"
    ),
    "i8": (
        "bitwise_and bitwise_xor floordiv fmod gcd left_shift maximum minimum mod pow right_shift "
        "strong_mul"
    ),
    "i4": "bitwise_or floordiv fmod gcd left_shift mod pow right_shift",
    "u1": "bitwise_and floordiv gcd mod pow left_shift",
    "c16": "maximum minimum pow strong_mul",
}


@pytest.mark.parametrize(("code", "count"), [(code, count) for count in (1, 2) for code in VALUES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_python_and_native_scalars_agree(code: str, count: int) -> None:
    values = np.array(VALUES[code], code)
    rows = [(a,) for a in values] if count == 1 else [(a, b) for a in values for b in values]
    for name in (UNARY if count == 1 else BINARY)[code].split():
        function = getattr(scalar, name)
        compiled = native(function, count)
        expected = np.array([function(*row) for row in rows])
        found = np.array([compiled(*row) for row in rows]).astype(expected.dtype)
        zeros = (
            expected == 0
            if name in ("maximum", "minimum", "fmax", "fmin")
            else np.zeros(len(rows), bool)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300, err_msg=name)
        if expected.dtype.kind == "f":
            same = (np.signbit(found) == np.signbit(expected)) | np.isnan(expected) | zeros
            assert same.all(), (name, [row for row, s in zip(rows, same, strict=True) if not s])


def test_polygamma_and_sinc_against_mpmath() -> None:
    poly, derivative = native(scalar.polygamma, 2), native(scalar.sinc_derivative, 2)
    for n in range(5):
        for x in (0.1, 1.0, 3.7, 25.0, -0.5, -7.3):
            assert np.isclose(poly(n, x), float(mpmath.polygamma(n, x)), rtol=1e-11), (n, x)
        for x in (0.3, -1.7, 5.5):
            assert np.isclose(
                derivative(x, n),
                float(mpmath.diff(mpmath.sinc, np.pi * x, n)),
                rtol=1e-8,
                atol=1e-10,
            ), (n, x)


def test_narrow_types_wrap_around() -> None:
    assert native(scalar.pow, 2)(np.int8(3), np.int8(5)) == np.int8(-13)
    assert native(scalar.floordiv, 2)(np.int64(-(2**63)), np.int64(-1)) == -(2**63)
    assert native(scalar.mod, 2)(np.int64(-(2**63)), np.int64(-1)) == 0


def test_random_numbers_are_the_same_everywhere() -> None:
    # The published test vector of Philox4x32-10.
    assert int(scalar.philox(0, 0, 0, 0)) == 0xE169C58D6627E8D5
    assert int(scalar.philox(0, 0, 0, 1)) == 0x9B00DBD8BC57AC4C
    n = 20_000

    @numba.njit(error_model="numpy")
    def draw(u: Any, z: Any) -> None:
        for i in range(u.size):
            u[i] = scalar.philox_uniform(12345, 7, i)
            z[i] = scalar.philox_normal(12345, 7, i)

    u, z = np.empty(n), np.empty(n)
    draw(u, z)
    assert np.array_equal(u, scalar.philox_uniform_array(12345, 7, n))
    assert np.array_equal(z, scalar.philox_normal_array(12345, 7, n))
    assert scalar.philox_normal(12345, 7, 11) == z[11]
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(z.mean()) < 0.05
    assert abs(z.std() - 1) < 0.05


# --- support --------------------------------------------------------------------------------------


def test_views_of_the_arena() -> None:
    def kernel(arena: Any, out: Any) -> None:
        a = view(arena, support.index(64), (support.index(2), support.index(3)), np.float64)
        b = view(arena, support.index(0), (), np.int32)
        b[()] = 5
        for i in range(support.index(0), support.index(2)):
            for j in range(support.index(0), support.index(3)):
                a[i, j] = b[()] + support.signed(i) - support.signed(j)
                out[i, j] = a[i, j]

    first, second = np.empty((2, 3)), np.empty((2, 3))
    kernel(np.zeros(200, np.uint8), first)
    numba.njit(kernel)(np.zeros(200, np.uint8), second)
    assert np.array_equal(first, second)
    assert first[1, 2] == 4


def test_reductions_vectorise_only_through_acc() -> None:
    @numba.njit(error_model="numpy")
    def total(x: Any) -> Any:
        s = 0.0
        for i in range(support.index(0), support.index(x.shape[0])):
            s = support.acc(s, x[i])
        return s

    x = np.random.default_rng(0).normal(size=1001)
    assert np.isclose(total(x), x.sum(), rtol=1e-12)
    (text,) = total.inspect_llvm().values()
    assert "reassoc" in text
    assert "vector.body" in text


# --- library and routines -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "c8", "i8", "?"])
def test_matrix_products(dtype: str) -> None:
    rng = np.random.default_rng(0)
    single, batched = native(library.matmul, 5), native(library.matmul_batched, 5)
    for m, k, n in (
        (2, 3, 4),
        (12, 13, 14),
        (1, 600, 1),
        (40, 30, 1),
        (1, 30, 40),
        (0, 2, 3),
        (3, 0, 2),
    ):
        for ta in (False, True):
            for tb in (False, True):
                a, b = (
                    rng.integers(-3, 4, s).astype(dtype)
                    for s in ((k, m) if ta else (m, k), (n, k) if tb else (k, n))
                )
                out, expected = np.ones((m, n), dtype), np.ones((m, n), dtype)
                single(a, b, out, ta, tb)
                library.matmul(a, b, expected, ta, tb)
                np.testing.assert_allclose(out, expected)
                stack = np.ones((3, m, n), dtype)
                batched(np.stack([a, a, a]), b[None], stack, ta, tb)
                np.testing.assert_allclose(stack, np.stack([expected] * 3))


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_factorisations(dtype: str) -> None:
    rng = np.random.default_rng(0)
    a = (
        rng.normal(size=(2, 5, 5)) + (1j * rng.normal(size=(2, 5, 5)) if dtype == "c16" else 0)
    ).astype(dtype)
    h = a @ a.conj().swapaxes(1, 2) + np.eye(5)
    b = a[:, :, :2].copy()
    real = a.real.dtype
    status = np.zeros(2, np.int64)

    def run(name: str, inputs: list[Any], outputs: list[Any], *flags: Any) -> list[Any]:
        function = getattr(library, name)
        expected = [np.empty_like(o) for o in outputs]
        native(function, len(inputs) + len(outputs) + len(flags))(*inputs, *outputs, *flags)
        function(*inputs, *expected, *flags)
        for o, e in zip(outputs, expected, strict=True):
            # Singular and eigenvectors are unique up to their phases.
            alike = np.abs if name in ("eigh", "svd") else np.asarray
            np.testing.assert_allclose(alike(o), alike(e), rtol=1e-9, atol=1e-9, err_msg=name)
        return outputs

    run("solve", [a, b], [np.empty_like(b)], status, 1)
    if dtype == "f8":
        run("solve", [a[0], b[0]], [np.empty_like(b[0])], status, 1)
        run("inv", [a], [np.empty_like(a)], status, 1)
        run("pinv", [b], [np.empty((2, 2, 5), dtype)], 1e-15)
        run("adjugate", [a], [np.empty_like(a)])
    run("slogdet", [a], [np.empty(2, dtype), np.empty(2, real)])
    run("cholesky", [h], [np.empty_like(h)], status, 1)
    run("qr", [b], [np.empty_like(b), np.empty((2, 2, 2), dtype)])
    w, v = run("eigh", [h], [np.empty((2, 5), real), np.empty_like(h)], status, 1)
    np.testing.assert_allclose(h @ v, v * w[:, None, :], atol=1e-9)
    u, s, vh = run(
        "svd",
        [b],
        [np.empty_like(b), np.empty((2, 2), real), np.empty((2, 2, 2), dtype)],
        status,
        1,
    )
    np.testing.assert_allclose((u * s[:, None, :]) @ vh, b, atol=1e-12)
    run("eigvalsh", [h], [np.empty((2, 5), real)], status, 1)
    run("svdvals", [b], [np.empty((2, 2), real)], status, 1)
    for lower in (True, False):
        for trans in (0, 1, 2):
            run("triangular_solve", [a, b], [np.empty_like(b)], lower, trans, False)
    assert status[0] == 0


def test_failed_factorisations_are_recorded() -> None:
    status, out = np.zeros(2, np.int64), np.zeros((3, 3))
    native(library.cholesky, 4)(-np.eye(3), out, status, 7)
    assert status.tolist() == [7, 1]
    assert np.isnan(out).all()
    native(library.inv, 4)(np.zeros((3, 3)), out, status, 8)
    assert status[0] == 7, "the first failure stands"


def test_sorting_and_searching() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (4, 50, 3)).astype(float)
    x.ravel()[::7] = np.nan
    for axis in (0, 1, -1):
        order, ordered = np.empty(x.shape, np.int64), np.empty_like(x)
        native(routines.argsort, 3)(x, order, axis)
        native(routines.sort, 3)(x, ordered, axis)
        assert np.array_equal(order, np.argsort(x, axis, kind="stable"))
        assert np.array_equal(ordered, np.sort(x, axis), equal_nan=True)
    keys = np.sort(x.ravel())
    for right in (False, True):
        places = np.empty(x.shape, np.int64)
        native(routines.searchsorted, 4)(keys, x, places, right)
        assert np.array_equal(places, np.searchsorted(keys, x, "right" if right else "left"))


@pytest.mark.parametrize("reverse", [False, True])
def test_linear_recurrence(reverse: bool) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 3, 20, 2))
    for axis in (0, 1, 2):
        out, expected = np.empty_like(b), np.empty_like(b)
        native(routines.linear_recurrence, 5)(a, b, out, axis, reverse)
        routines.linear_recurrence(a, b, expected, axis, reverse)
        np.testing.assert_allclose(out, expected, rtol=1e-12)


# --- compilation and the disk cache ---------------------------------------------------------------

SOURCE = '''
"""A kernel."""
from tracegrad.codegen.native.scalar import erfinv, exp
from tracegrad.codegen.native.support import index
import numpy as np


def kernel(x, out0, arena, status, phase, lo, hi):
    for i in range(index(0), index(x.shape[0])):
        out0[i] = exp(x[i]) + erfinv(np.float64(0.5))
'''
REST = (np.empty(64, np.uint8), np.zeros(2, np.int64), -1, 0, 0)
HALF = 0.4769362762044699


def make(folder: Path | None, layout: str = "C") -> Any:
    return compile_source(SOURCE, "kernel", [(F8, 1, layout)], [(F8, 1)], folder).call


def works(call: Any) -> bool:
    x, out = np.arange(3.0), np.empty(3)
    call(x, out, *REST)
    return np.allclose(out, np.exp(x) + HALF)


def test_entry_checks_its_arguments() -> None:
    assert borrowed.available()
    call, out = make(None), np.empty(3)
    x = np.arange(3.0)
    x.flags.writeable = False
    count = sys.getrefcount(x)
    call(x, out, *REST)
    assert sys.getrefcount(x) == count
    bad = [x[None], x.astype(F4), x[::2], x.astype(">f8"), [1.0, 2.0], x.astype(np.int64), None]
    for argument in bad:
        with pytest.raises(TypeError, match="not the 1-d float64 array"):
            call(argument, out, *REST)
    strided, two = make(None, "A"), np.empty(2)
    strided(x[::2], two, *REST)
    assert np.allclose(two, np.exp(x[::2]) + HALF)


@pytest.mark.falls_back
def test_many_arrays_still_vectorise() -> None:
    names = [f"x{k}" for k in range(8)]
    outs = [f"y{k}" for k in range(8)]
    body = "\n".join(
        f"        {y}[i] = {x}[i] * np.float64(2.0) + x0[i]"
        for x, y in zip(names, outs, strict=True)
    )
    source = (
        "import numpy as np\nfrom tracegrad.codegen.native.support import index\n\n\n"
        f"def many({', '.join(names + outs)}, arena, status, phase, lo, hi):\n"
        f"    for i in range(index(0), index(x0.shape[0])):\n{body}\n"
    )
    sig = signature([(F8, 1, "C")] * 16)
    space: dict[str, Any] = {}
    exec(source, space)
    dispatcher = numba.njit(sig, pipeline_class=KernelCompiler, **FLAGS)(space["many"])
    (text,) = dispatcher.inspect_llvm().values()
    assert "vector.body" in text
    assert "vector.memcheck" not in text


def test_kernels_are_kept_on_disk(tmp_path: Path) -> None:
    before = (cache.COUNTERS.compiled, cache.COUNTERS.loaded)
    assert works(make(tmp_path))
    assert works(make(tmp_path))
    assert (cache.COUNTERS.compiled, cache.COUNTERS.loaded) == (before[0] + 1, before[1] + 1)
    assert cache.cache_info(tmp_path)["kernels"] == 1
    (file,) = tmp_path.iterdir()
    called = unpack(file.stem, file.read_bytes()).texts("called")
    assert "tracegrad_special_erfinv" in called
    # What calls Numba's runtime makes each later process load all of Numba's registries.
    assert not [name for name in called if name.startswith("NRT_")]
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    assert cache.cache_clear(tmp_path) == 1
    assert cache.cache_info(tmp_path)["kernels"] == 0


def test_unknown_symbols_are_seen_before_the_linker_meets_them(tmp_path: Path) -> None:
    make(tmp_path)
    (file,) = tmp_path.iterdir()
    entry = unpack(file.stem, file.read_bytes())
    with pytest.raises(ImportError, match="no_such_routine_anywhere"):
        stored.load(DiskEntry({**entry.data, "called": ["no_such_routine_anywhere"]}, entry.parts))


@pytest.mark.parametrize(
    "setting", ["CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "OPT", "LOOP_VECTORIZE"]
)
def test_kernels_belong_to_numbas_settings(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.environment.__wrapped__()
    monkeypatch.setattr(numba.core.config, setting, "another")
    assert cache.environment.__wrapped__() != before


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


def test_damaged_kernels_are_built_again(tmp_path: Path) -> None:
    """More faults stand in tests/regressions/test_cache_faults.py."""
    make(tmp_path)
    flipped(next(tmp_path.iterdir()))
    compiled = cache.COUNTERS.compiled
    assert works(make(tmp_path))
    assert cache.COUNTERS.compiled == compiled + 1
    assert works(make(tmp_path))
    assert cache.COUNTERS.compiled == compiled + 1


def test_numba_cache_settings_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(elsewhere))
    make(tmp_path / "kernels")
    assert not elsewhere.exists()
    assert list((tmp_path / "kernels").iterdir())


SCRIPT = f"""
import sys
from pathlib import Path
import numpy as np
from tracegrad.codegen.disk import cache
from tracegrad.codegen.native.compile import FLAGS, compile_source, signature
from tracegrad.codegen.translation.direct import KernelCompiler
source = {SOURCE!r}
double = np.dtype("f8")
folder = Path(sys.argv[1])
call = compile_source(source, "kernel", [(double, 1, "C")], [(double, 1)], folder).call
out = np.empty(1)
call(np.zeros(1), out, np.empty(64, np.uint8), np.zeros(2, np.int64), -1, 0, 0)
print(cache.COUNTERS.compiled, cache.COUNTERS.loaded, out[0])
"""


def test_processes_share_kernels_and_may_race(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(tracegrad.__file__).parent.parent)}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    both = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    results = [p.communicate(timeout=120)[0].split() for p in both]
    assert all(np.isclose(float(r[2]), 1 + HALF) for r in results)
    third = subprocess.run(
        command, env=env, capture_output=True, text=True, check=True, timeout=120
    ).stdout.split()
    assert third[:2] == ["0", "1"]
    (only,) = tmp_path.iterdir()
    assert only.suffix == cache.SUFFIX


def test_importing_the_package_loads_no_compiler() -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(tracegrad.__file__).parent.parent)}
    code = (
        "import sys, tracegrad; assert 'numba' not in sys.modules and 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=120)


@pytest.mark.parametrize("wrap", [lambda f: f, tracegrad.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("n", range(1, 6))
def test_polygamma_far_below_0(n: int, wrap: Any) -> None:
    """Sums with a step a unit would take years; poles have SciPy's sign."""
    x = np.array([-19.3, -20.5, -21.01, -1e3 - 0.25, -1e6 + 0.125, -1e10 - 0.5, -1e15 - 0.25])
    exact = [float(mpmath.polygamma(n, mpmath.mpf(v))) for v in x[:4]]
    with mpmath.workdps(60):
        for v in x[4:]:
            cotangent = mpmath.diff(lambda u: mpmath.pi * mpmath.cot(mpmath.pi * u), v % 1, n)
            exact.append(float((-1) ** n * mpmath.polygamma(n, 1 - mpmath.mpf(v)) - cotangent))
    f = wrap(lambda x: tracegrad.polygamma(n, x))
    np.testing.assert_allclose(f(x), exact, rtol=1e-11)
    np.testing.assert_allclose(f(x.astype(np.float32))[:2], exact[:2], rtol=1e-4)
    poles = np.array([0.0, -1.0, -21.0, -1e10, -1e16, -1e300, -np.inf, np.nan])
    np.testing.assert_array_equal(f(poles), scipy.special.polygamma(n, poles))
