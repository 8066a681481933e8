"""Every use of a public name of NumPy and SciPy (`tests.name_uses`), with its arrays in another
form than the row has them: without elements, of no axes, of booleans, shorts, complex or single
numbers, as views, with zeros in places. Values and shapes are NumPy's and SciPy's, dtypes NumPy's,
and what is not answered is refused in words, eagerly and in a trace.

A third of all pairs of use and form, all with `--soak 1`.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.name_uses import uses
from tests.sweep_names import Use
from tracegrad.ir.evaluate import evaluate
from tracegrad.tensor import Array
from tracegrad.transforms.tracing import leaf_type, trace_function
from tracegrad.tree import flatten, unflatten

Form = Callable[[np.ndarray], Any]


def shaped(*shape: int) -> Form:
    def form(a: np.ndarray) -> Any:
        values = np.random.default_rng(7).uniform(0.2, 0.8, shape)
        return (values if a.dtype.kind != "c" else values * (1 + 0.5j)) if a.ndim else a[()]

    return form


def whole(a: np.ndarray) -> np.ndarray:
    return np.rint(a.real * 2)


FORMS: dict[str, Form] = {
    "empty (0,)": shaped(0),
    "empty (0, 3)": shaped(0, 3),
    "empty (2, 0, 4)": shaped(2, 0, 4),
    "empty along the last axis": lambda a: np.take(a, [], -1) if a.ndim else a[()],
    "of no axes": shaped(),
    "booleans": lambda a: a.real > 0,
    "shorts": lambda a: whole(a).astype(np.int16),
    "integers": lambda a: whole(a).astype(np.int64),
    "complex": lambda a: a + 0.3j * (1 + np.arange(a.size).reshape(a.shape) / 7),
    "single": lambda a: a.astype(np.complex64 if a.dtype.kind == "c" else np.float32),
    "every second": lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a[()],
    "a zero": lambda a: np.where(np.arange(a.size).reshape(a.shape) == min(1, a.size - 1), 0, a),
}
INTERNAL = (AttributeError, AssertionError, KeyError, NameError, RecursionError, SystemError)
EXCUSED = (
    ("sp.signal.", "empty", "SciPy's are of the input's shape, or of one element"),
    ("np.cov(c)", "empty", "NumPy's are real"),
    ("np.reciprocal(", "", "of the integer 0, where NumPy's are the processor's"),
    ("np.polymul(", "booleans", "leading zeros stay: shapes do not depend on numbers"),
    ("np.abs(sp.linalg.eigh_tri", "", "in double precision, SciPy's of few bits in single"),
    ("sp.integrate.cumulative_trap", "booleans", "the sum of two booleans is a boolean in SciPy's"),
    ("sp.linalg.fiedler(", "empty", "SciPy's have one axis"),
    ("sp.linalg.lu(", "empty", "SciPy's permutation is of no rows"),
    ("sp.linalg.qr(", "", "NumPy's arguments and shapes"),
    ("sp.linalg.matmul_toeplitz(", "empty", "SciPy's have no rows"),
    ("sp.linalg.solve_circulant(", "empty", "stacks in front, as of other systems"),
    ("sp.linalg.qr_multiply(", "empty", "shapes of the product"),
    ("sp.linalg.rq(", "empty", "which rows complete a basis is arbitrary"),
    ("sp.linalg.signm(", "booleans", "SciPy's are inexact"),
    ("sp.linalg.solve_sylvester(A + 0j", "", "SciPy's do not solve the equation"),
    ("sp.linalg.subspace_angles(M[:, :2], M[:, :2] +", "", "of small angles SciPy's take cosines"),
    ("np.abs(sp.linalg.eig_banded(", "", "in double precision, SciPy's of few bits in single"),
    ("np.abs(sp.linalg.null_space(", "empty", "which basis of all is arbitrary"),
    ("np.dot(sp.linalg.null_space(", "", "a product without a conjugate depends on the basis"),
    ("sp.ndimage.extrema(", "", "the first of equal ones, where SciPy gives any"),
    ("sp.ndimage.fourier_uniform(", "a zero", "the limit, where SciPy has 0"),
    ("sp.ndimage.gaussian_gradient", "of no axes", "what SciPy's memory held"),
    ("sp.ndimage.maximum_filter(", "booleans", "SciPy makes a boolean of cval"),
    ("sp.ndimage.median(x, np.round(y)", "of no axes", "NaN of a label that no element has"),
    ("sp.ndimage.spline_filter1d(M, 5", "", "SciPy's coefficients are inexact"),
    ("sp.ndimage.zoom(M, 1.5, grid", "complex", "SciPy forgets grid_mode"),
    ("sp.signal.chirp(", "complex", "SciPy drops imaginary parts"),
    ('sp.signal.convolve(z, w, method="fft")', "booleans", "SciPy's are of rounding errors"),
    ("sp.special.agm(", "a zero", "of two zeros"),
    ("sp.special.beta", "a zero", "of two zeros, a pole"),
    ("sp.special.boxcox(", "a zero", "of two zeros"),
    ("sp.special.voigt_profile(", "a zero", "of no width"),
    ("sp.special.ellipj(", "shorts", "single precision in SciPy's"),
    ("sp.special.hankel", "a zero", "the limit, where SciPy has NaN"),
    ("sp.special.yve", "a zero", "the limit, where SciPy has NaN"),
    ("sp.special.logsumexp(x, 0, p, True)", "of no axes", "SciPy's has one axis"),
    ("sp.stats.variation(", "booleans", "SciPy's of constant booleans is NaN"),
)
"""Starts of uses, forms, and why something else is right."""


def excused(text: str, name: str) -> bool:
    return any(text.startswith(t) and name.startswith(f) for t, f, _ in EXCUSED)


def flat(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [y for part in x for y in flat(part)]
    return [] if isinstance(x, (str, np.dtype)) or x is None else [x]


def traced(function: Callable[..., Any], x: tuple[Any, ...]) -> Any:
    spec = flatten((x, {}))[1]
    found = trace_function(function, spec, [leaf_type(v) for v in x], [Array] * len(x), name="f")
    outs = evaluate(found.graph, [*x, *found.captures])
    for o, v in zip(found.graph.outputs, outs, strict=True):
        assert (o.type.dtype, tuple(o.type.shape)) == (np.asarray(v).dtype, np.shape(v))
    return unflatten(found.out_spec, outs)


def difference(found: list[Any], expected: list[Any], theirs_are_dtypes: bool, single: bool) -> str:
    if len(found) != len(expected):
        return f"{len(found)} results, not {len(expected)}"
    for one, other in zip(found, expected, strict=True):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape:
            return f"shape {a.shape}, not {b.shape}"
        if theirs_are_dtypes and a.dtype != b.dtype and b.dtype != np.float16:
            return f"dtype {a.dtype}, not {b.dtype}"
        if b.dtype.kind not in "biufc":
            continue
        coarse = single or {a.dtype.char, b.dtype.char} & set("fFe")
        tol = 5e-3 if coarse else 1e-7
        scale = np.abs(b[np.isfinite(b)]).max(initial=1) if b.dtype.kind in "fc" else 0
        if not np.allclose(
            a, b, rtol=tol, atol=tol * scale / (1 if coarse else 100), equal_nan=True
        ):
            return f"{a.ravel()[:4]}, not {b.ravel()[:4]}"
    return ""


def from_inside(error: Exception) -> bool:
    """Whether a line of the library made an error that is not in its words."""
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return isinstance(error, INTERNAL) and ("tracegrad" in last or last == __file__)


def findings(use: Use, name: str) -> list[str]:
    ours, theirs = ((lambda *a, f=f: flat(f(*a))) for f in use.run)
    values = tuple(FORMS[name](np.asarray(a)) for a in use.inputs)
    try:
        expected = theirs(*values)
    except Exception:
        expected = None
    ways = {"traced": lambda: traced(ours, values)}
    if all(np.asarray(v).dtype.kind in "fc" for v in values):
        ways["recorded"] = lambda: tg.vjp(ours, *values)[0]
    wrong = []
    for way, run in ways.items():
        try:
            found = list(run())
        except Exception as error:
            if from_inside(error):
                wrong.append(f"{way}: {type(error).__name__}: {error}")
            continue
        if expected is not None:
            what = difference(found, expected, use.text[:2] == "np", name == "single")
            wrong += [f"{way}: {what}"] if what else []
    return wrong


PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_uses(part: int, pytestconfig: pytest.Config) -> None:
    every = 1 if pytestconfig.getoption("--soak") else 3
    wrong, seen = [], 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k, text in list(enumerate(uses()))[part::PARTS]:
            use = Use(text)
            if not use.inputs or text.startswith("sp.ndimage.shift("):
                continue  # SciPy 1.17's shift reads outside of the array
            for j, name in enumerate(FORMS):
                if (k // PARTS + j) % every:
                    continue
                seen += 1
                if not excused(text, name):
                    wrong += [f"{text}, {name}: {f}" for f in findings(use, name)]
    assert seen > 100
    assert not wrong, "\n".join(wrong)
