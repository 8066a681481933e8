"""Functions as libraries for C: called from Python and from C, by CasADi, and as models of cnlp."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
from tracegrad.codegen.c_function import THREAD

import tracegrad as tg
from tracegrad.interfaces import linking
from tracegrad.interfaces.exporting import DERIVATIVES

LINKER = any(map(shutil.which, (*linking.DRIVERS, *linking.LINKERS)))
pytestmark = pytest.mark.skipif(not LINKER, reason="there is no linker on this machine")
DEEP = ["value", "grad", "value_and_grad", "hessian"]
WEIGHTS = np.array([1.0, -2.0, 0.5])
X = np.array([0.5, -0.25, 1.5])


@tg.jit
def weighted(x):
    return np.sum(np.sin(x) ** 2 * WEIGHTS) * np.exp(x[0])


@tg.jit
def taken(x, k):
    return x[k] * 2.0


def undefined(library: Path) -> set[str]:
    """The names that a library takes from others."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("there is no nm on this machine")
    listed = subprocess.run(
        [nm, "-D", "-u", str(library)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One library of a function with a captured array, and its derivatives."""
    folder = tmp_path_factory.mktemp("library")
    made = weighted.export(folder, "weighted", X, derivatives=DEEP, signatures=["plain"])
    assert made == folder / f"weighted{linking.SUFFIX}"
    return made


def test_the_numbers_of_the_python_call(library: Path) -> None:
    loaded = tg.load(library)
    assert loaded.weighted(X) == weighted(X)
    assert np.array_equal(loaded.weighted_grad(X), tg.grad(weighted)(X))
    value, slopes = loaded.weighted_value_and_grad(X)
    assert value == weighted(X)
    assert np.array_equal(slopes, tg.grad(weighted)(X))
    assert np.array_equal(loaded.weighted_hessian(X[::1]), tg.hessian(weighted)(X))
    assert np.array_equal(loaded.weighted_grad(np.repeat(X, 2)[::2]), tg.grad(weighted)(X))
    assert (
        sorted(loaded.functions)
        == ["weighted", *[f"weighted_{d}" for d in sorted(DEEP[1:])]][: len(DEEP)]
    )


def test_there_is_no_python_in_it(library: Path) -> None:
    names = undefined(library)
    own = {"malloc", "free", "memcpy", "memset", "memmove", THREAD}
    assert THREAD in names
    system = re.compile(r"_ITM_\w+|__\w+|_\w+")
    assert [n for n in names - own if not system.fullmatch(n)] == []
    text = b"".join(line for line in library.read_bytes().split(b"\0") if b"Py" in line)
    assert b"Py_" not in text
    assert b"numpy" not in library.read_bytes()


def test_the_header_says_what_there_is(library: Path) -> None:
    text = library.with_suffix(".h").read_text()
    assert "int weighted_grad(const double *x, double *d_x);" in text
    assert "argument x: float64[3]" in text
    assert "result result: float64[3][3]" in text
    assert "typedef" not in text


def test_errors_are_raised_from_statuses(tmp_path: Path) -> None:
    path = taken.export(tmp_path, "taken", X, np.array([0, 1]))
    loaded = tg.load(path)
    assert loaded.taken(X, np.array([2, -3])).tolist() == [3.0, 1.0]
    assert loaded.last_status() is None
    with pytest.raises(IndexError, match="7"):
        loaded.taken(X, np.array([0, 7]))
    assert np.isnan(loaded.taken(X * np.nan, np.array([0, 1]))).all()
    assert loaded.last_status().code > 0
    with pytest.raises(ValueError, match="shape"):
        loaded.taken(X[:2], np.array([0, 1]))
    with pytest.raises(TypeError, match="int64"):
        loaded.taken(X, X[:2])
    with pytest.raises(TypeError, match="x, k"):
        loaded.taken(X)
    with pytest.raises(AttributeError, match="has no function gone"):
        loaded.gone  # noqa: B018
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(loaded.last_status()))
    thread.start()
    thread.join()
    assert found == [None]


def test_names_of_all_kinds(tmp_path: Path) -> None:
    f = tg.jit(lambda value, code, char, entry, failed, status, work: value + code * char)
    g = tg.jit(lambda result, n: result[:, None] * n)
    path = f.export(tmp_path, "take", *[X] * 7)
    assert np.array_equal(tg.load(path).take(*[X] * 7), X + X * X)
    path = g.export(tmp_path, "record", X, X, sizes="symbolic")
    assert np.array_equal(tg.load(path).record(X, X), X[:, None] * X)
    for name in ("double", "sin", "a b", "1a", ""):
        with pytest.raises(ValueError, match="identifier of C"):
            f.export(tmp_path, name, *[X] * 7)


def test_symbolic_sizes(tmp_path: Path) -> None:
    f = tg.jit(lambda a, b: (np.cumsum(a * b), np.sum(a[1:] * b[:-1]), (a[:, None] * b)[1:]))
    path = f.export(tmp_path, "any", np.ones(4), np.ones(4), sizes="symbolic")
    header = path.with_suffix(".h").read_text()
    assert "int any(long long n, const double *a, const double *b," in header
    assert "sizes: n - 2 != 0" in header
    loaded, rng = tg.load(path), np.random.default_rng(0)
    with pytest.raises(ValueError, match="sizes that it was not made for"):
        loaded.any(X[:2], X[:2])
    for n in (3, 50, 3000):
        a, b = rng.normal(size=(2, n))
        for found, wanted in zip(loaded.any(a, b), f(a, b), strict=True):
            assert np.allclose(found, wanted, rtol=1e-12)
    g = tg.jit(lambda x: np.sum((x[2:] - 2.0 * x[1:-1] + x[:-2]) ** 2) / x.shape[0])
    path = g.export(tmp_path, "bent", np.ones(6), derivatives=["grad"], sizes="symbolic")
    x = rng.normal(size=11)
    assert np.allclose(tg.load(path).bent_grad(x), tg.grad(g)(x), rtol=1e-12)
    counted = tg.jit(lambda x: x * np.array([float(k) for k in range(x.shape[0])]))
    loaded = tg.load(counted.export(tmp_path, "counted", np.ones(4), sizes="symbolic"))
    assert np.array_equal(loaded.counted(np.ones(7)), np.arange(7.0))
    factors = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    pinned = tg.jit(lambda x: x * factors[x.shape[0]])
    with pytest.raises(tg.TracegradError, match="sizes='fixed'"):
        pinned.export(tmp_path, "pinned", np.ones(4), sizes="symbolic")


ROUTINES = {
    "a small system": (lambda a: np.linalg.solve(a + 4.0 * np.eye(5), a), 5),
    "a small Cholesky factor": (lambda a: np.linalg.cholesky(a @ a.T + np.eye(4)), 4),
    "a product": (lambda a: a @ np.sin(a), 70),
    "a product with a vector": (lambda a: a @ a[0] + a[1] @ a, 40),
    "a complex product": (lambda a: ((a + 2j) @ (a * 1j)).real, 12),
    "a system": (lambda a: np.linalg.solve(a + 9.0 * np.eye(12), a[:, 0]), 12),
    "a Cholesky factor": (lambda a: np.linalg.cholesky(a @ a.T + np.eye(12)), 12),
    "a QR factor": (lambda a: np.linalg.qr(a)[0], 12),
    "eigenvalues": (lambda a: np.linalg.eigvalsh(a + a.T), 12),
    "projections on eigenvectors": (lambda a: np.linalg.eigh(a + a.T)[1] ** 2, 30),
    "a tridiagonal spectrum": (
        lambda a: tg.linalg.eigh_tridiagonal(a[0], a[1, 1:])[1] ** 2
        + tg.linalg.eigvalsh_tridiagonal(a[0], a[1, 1:]), 30,
    ),
    "singular values": (lambda a: np.linalg.svd(a, compute_uv=False), 30),
    "a pseudoinverse": (lambda a: np.linalg.pinv(a), 9),
    "a log determinant": (lambda a: np.linalg.slogdet(a)[1], 30),
    "a transform": (lambda a: np.abs(np.fft.fft(a)) ** 2, 12),
    "log gamma": (lambda a: scipy.special.gammaln(a), 12),
    "gamma": (lambda a: scipy.special.gamma(a), 12),
    "digamma": (lambda a: scipy.special.digamma(a), 12),
    "derivatives of a likelihood": (
        tg.hessian(
            lambda a: np.linalg.slogdet(a @ a.T + np.eye(9))[1]
            + np.sum(np.linalg.solve(a + 9.0 * np.eye(9), a[0]) ** 2)
            + np.sum(scipy.special.gammaln(a * a))
        ), 9,
    ),
    "a sort": (lambda a: np.sort(a, axis=1), 20),
    "a loop of a length that is not known": (
        tg.grad(lambda a: tg.while_loop(
            lambda c: c[0] < 9.0, lambda c: (c[0] * 1.5, c[1] * np.sin(c[0])),
            (1.0 + a[0, 0] ** 2, a[0, 1]),
        )[1]), 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ROUTINES)
def test_own_routines_come_along(case: str, tmp_path: Path) -> None:
    function, n = ROUTINES[case]
    f, a = tg.jit(function), np.random.default_rng(2).normal(size=(n, n))
    path = f.export(tmp_path, "routine", a)
    wanted = np.asarray(f(a))
    assert np.allclose(tg.load(path).routine(a), wanted, rtol=1e-10, atol=1e-10 * abs(wanted).max())
    assert not [n for n in undefined(path) if re.search("Py|NRT|numba|tracegrad", n)]


def test_what_c_has_not_is_refused_by_name(tmp_path: Path) -> None:
    big = tg.jit(lambda a: np.linalg.eigvals(a).real)
    with pytest.raises(tg.TracegradError, match=r"LAPACK's dgeev.*libraries="):
        big.export(tmp_path, "big", np.eye(20))
    with pytest.raises(tg.TracegradError, match="calls jv, which"):
        tg.jit(lambda x: scipy.special.jv(1.5, x)).export(tmp_path, "bessel", 1.5)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError, match="no_such_lapack"):
        big.export(tmp_path, "big", np.eye(20), libraries=["no_such_lapack"])


def test_another_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracegrad.codegen.native import c_library

    if c_library.binding.get_default_triple().startswith("x86_64"):
        path = weighted.export(tmp_path, "old", X, cpu="x86-64-v2")
        assert np.allclose(tg.load(path).old(X), weighted(X), rtol=1e-13)
    path = weighted.export(tmp_path, "own", X)
    monkeypatch.setattr(c_library, "missing", lambda wanted: ["avx9"])
    with pytest.raises(tg.TracegradError, match="processor with avx9"):
        tg.load(path)
    with pytest.raises(ValueError, match="cpu is 'native' or"):
        weighted.export(tmp_path, "other", X, cpu="i386")


def test_libraries_of_others(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match="there is no"):
        tg.load(tmp_path / "none.so")
    other = tmp_path / f"renamed{linking.SUFFIX}"
    shutil.copy(library, other)
    with pytest.raises(tg.TracegradError, match="under this name"):
        tg.load(other)
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(tg.TracegradError, match="no library"):
        tg.load(tmp_path / "text.so")
    monkeypatch.setattr("tracegrad.interfaces.library.FORMAT", 99)
    with pytest.raises(tg.TracegradError, match="export it again"):
        tg.load(library)


def test_without_a_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(RuntimeError, match="takes a linker") as raised:
        weighted.export(tmp_path, "w", X)
    assert (tmp_path / "w.o").exists()
    assert "-shared" in str(raised.value) or "-dynamiclib" in str(raised.value)


REFUSED = {
    "a name with a blank": ({"name": "no name"}, ValueError, "identifier of C"),
    "an unknown derivative": ({"derivatives": ["gradient"]}, ValueError, "gradient"),
    "an unknown signature": ({"signatures": ["python"]}, ValueError, "python"),
    "a text for a list": ({"derivatives": "grad"}, TypeError, "list of names"),
    "other sizes": ({"sizes": "any"}, ValueError, "'fixed' or 'symbolic'"),
    "symbolic sizes for others": (
        {"sizes": "symbolic", "signatures": ["nutpie"]}, ValueError, "alone",
    ),
    "one name for two": ({"signatures": ["plain", "nutpie"]}, TypeError, "would be there twice"),
    "an option that nobody has": (
        {"signatures": ["casadi"], "bounds": 3}, TypeError, "no option bounds",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    options, error, text = REFUSED[case]
    options = {"name": "w", **options}
    with pytest.raises(error, match=text) as raised:
        weighted.export(tmp_path, options.pop("name"), X, **options)
    assert "test_export.py" in str(raised.value)


# --- from C --------------------------------------------------------------------------------------


def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        pytest.skip("there is no C compiler on this machine")
    return found


def test_the_example_runs(library: Path) -> None:
    name = library.with_name("weighted_example")
    build = [compiler(), "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"{name}.c"]
    subprocess.run([*build, str(library), "-o", str(name)], check=True, capture_output=True)
    done = subprocess.run([str(name)], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "status 0"
    assert float(done.stdout.split()[-1]) == weighted(X)


PROGRAM = """
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include "both.h"

static int failed;

static void *work(void *given) {
    double x[2] = {1.0, 2.0}, grad[2], logp, shift = *(double *)given;
    for (int k = 0; k < 1000; k++) {
        x[0] = shift;
        if (both(2, x, grad, &logp, NULL) != 0 || grad[0] != -shift) failed = 1;
        x[0] = NAN;
        int function; long long value;
        if (both(2, x, grad, &logp, NULL) <= 0) failed = 2;
        if (both_last_status(&function, &value) <= 0) failed = 3;
        if (both(3, x, grad, &logp, NULL) >= 0) failed = 4;
    }
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    double shifts[3] = {1.0, 2.0, 3.0};
    int function; long long value;
    for (int k = 0; k < 3; k++) pthread_create(&threads[k], NULL, work, &shifts[k]);
    for (int k = 0; k < 3; k++) pthread_join(threads[k], NULL);
    if (both_last_status(&function, &value) != 0) failed = 5;
    printf("%d\\n", failed);
    return failed;
}
"""


def test_other_forms_from_several_threads_of_a_c_program(tmp_path: Path) -> None:
    normal = tg.jit(lambda x: -0.5 * np.sum(x**2))
    path = normal.export(tmp_path, "both", np.ones(2), signatures=["nutpie"])
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(
        [compiler(), "-Wall", "-Werror", str(tmp_path / "program.c"), str(path), "-lm", "-lpthread",
         "-o", str(tmp_path / "program")], check=True, capture_output=True,
    )  # fmt: skip
    done = subprocess.run([str(tmp_path / "program")], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "0"


# --- nonlinear programs --------------------------------------------------------------------------


@tg.jit
def objective(x):
    return x[0] * x[3] * np.sum(x[:3]) + x[2]


@tg.jit
def constraints(x):
    return np.stack([np.prod(x), np.sum(x * x)])


START = np.array([1.0, 5.0, 5.0, 1.0])
SOLUTION = np.array([1.0, 4.742999644, 3.821149979, 1.379408293])


def test_cnlp(tmp_path: Path) -> None:
    path = objective.export(
        tmp_path, "hs071", START, signatures=["cnlp"], constraints=constraints,
        bounds=(1.0, 5.0), constraint_bounds=([25.0, 40.0], [np.inf, 40.0]),
    )  # fmt: skip
    p = ctypes.CDLL(str(path))
    own = p.hs071_new(0)
    assert own > 0
    assert [getattr(p, f"hs071_{n}")(own) for n in ("nvar", "ncon", "nnzj", "nnzh")] == [
        4,
        2,
        8,
        10,
    ]
    assert p.hs071_nvar(own + 1) == -1
    assert p.hs071_nargs() == 0

    def call(name: str, *args: Any, id: int = own) -> int:
        passed = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_double(a)
            for a in args
        ]
        status: int = getattr(p, f"hs071_{name}")(id, *passed)
        return status

    meta = [np.zeros(n) for n in (4, 4, 4, 2, 2)]
    assert call("meta", *meta) == 0
    assert [m.tolist() for m in meta] == [
        START.tolist(), [1.0] * 4, [5.0] * 4, [25.0, 40.0], [np.inf, 40.0],
    ]  # fmt: skip
    assert call("meta", *meta, id=7) == 1
    value, slopes, c = np.zeros(1), np.zeros(4), np.zeros(2)
    assert call("obj", START, value) == call("grad", START, slopes) == call("cons", START, c) == 0
    assert value[0] == objective(START)
    assert np.array_equal(slopes, tg.grad(objective)(START))
    assert np.array_equal(c, constraints(START))
    assert call("obj", START * np.nan, value) != 0
    assert call("obj", START, value, id=7) != 0
    for name, count, more, matrix in (
        ("jac", 8, (), tg.jacobian(constraints)(START)),
        (
            "hess", 10, (np.array([0.5, -1.0]), 2.0),
            2.0 * tg.hessian(objective)(START)
            + np.tensordot([0.5, -1.0], tg.jacobian(tg.jacobian(constraints))(START), 1),
        ),
    ):  # fmt: skip
        rows, columns = np.zeros((2, count), np.int32)
        values = np.zeros(count)
        assert call(f"{name}_structure", rows, columns) == 0
        assert call(name, START, *more, values) == 0
        assert rows.min() == columns.min() == 1
        assert np.allclose(values, matrix[rows - 1, columns - 1], rtol=1e-12)


def test_casadi_solves_hs071(tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi")
    f, g = (
        casadi.external(name, str(made.export(tmp_path, name, START, signatures=["casadi"])))
        for name, made in (("f", objective), ("g", constraints))
    )
    x = casadi.MX.sym("x", 4)
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-11}
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": f(x), "g": g(x)}, options)
    found = solver(x0=START, lbx=1.0, ubx=5.0, lbg=[25.0, 40.0], ubg=[np.inf, 40.0])
    assert solver.stats()["return_status"] == "Solve_Succeeded"
    assert np.allclose(np.array(found["x"])[:, 0], SOLUTION, atol=1e-8)


def test_casadi_reads_matrices_by_columns(tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi")
    f = tg.jit(lambda a, b: (a @ b, np.sum(a**2) * b[:, 0], np.sum(b)))
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) + 1.0
    made = casadi.external("f", str(f.export(tmp_path, "f", a, b, signatures=["casadi"])))
    for found, wanted in zip(made(a, b), f(a, b), strict=True):
        assert np.allclose(np.array(found).reshape(np.shape(wanted)), wanted)
    p, q = casadi.MX.sym("p", 2, 3), casadi.MX.sym("q", 3, 4)
    same = (p @ q, casadi.sumsqr(p) * q[:, 0], casadi.sum1(casadi.sum2(q)))
    for k in range(3):
        for by in (p, q):
            own = casadi.Function("j", [p, q], [casadi.jacobian(made(p, q)[k], by)])
            wanted = casadi.Function("j", [p, q], [casadi.jacobian(same[k], by)])
            assert np.allclose(np.array(own(a, b)), np.array(wanted(a, b)))
    seed = casadi.MX.sym("s", 2, 4)
    for of in (casadi.jtimes(made(p, q)[0], q, q), casadi.jtimes(made(p, q)[0], p, seed, True)):
        found = casadi.Function("t", [p, q, seed], [of])(a, b, np.ones((2, 4)))
        assert np.isfinite(np.array(found)).all()


def test_every_derivative_has_a_name() -> None:
    assert list(DERIVATIVES) == ["value", "grad", "value_and_grad", "jacobian", "hessian"]
