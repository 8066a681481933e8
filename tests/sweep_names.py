"""Each use of a public name of NumPy and SciPy, checked for itself: value, dtype, slopes in both
modes, slopes of slopes, jit, vmap, single precision, empty arrays, NaN and infinities.

Usage: python -m tests.sweep_names [--eager] [PART OF A USE ...]
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats

import tracegrad as tg
from tests.name_uses import HELPERS, arrays, uses
from tests.names_page import OF_NUMPY, OF_SCIPY, numpys, scipys
from tests.texts import executed

ARRAYS = arrays()


class Ours:
    """tracegrad's functions in SciPy's modules, and SciPy's own that take its values."""

    def __init__(self, ours: Any, theirs: Any) -> None:
        self.ours, self.theirs = ours, theirs

    def __getattr__(self, name: str) -> Any:
        theirs = getattr(self.theirs, name)
        if isinstance(theirs, type(np)):
            return Ours(getattr(self.ours, name), theirs)
        return getattr(self.ours, name, theirs)


OURS = Ours(tg, scipy)


class Use:
    """A use: a function of the arrays whose letters it has."""

    def __init__(self, text: str) -> None:
        self.text = text
        source = text.split("#")[0].strip()
        tree = ast.parse(source, mode="eval")
        bound = {a.arg for n in ast.walk(tree) if isinstance(n, ast.Lambda) for a in n.args.args}
        used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - bound
        letters = [x for x in ARRAYS if x in used]
        self.letters = [x for x in letters if np.asarray(ARRAYS[x]).dtype.kind in "fc"]
        self.inputs = tuple(ARRAYS[x] for x in self.letters)
        fixed = {x: ARRAYS[x] for x in letters if x not in self.letters}
        written = f"def use({', '.join(self.letters)}):\n    return {source}\n"
        name = f"<{text}>"
        self.run: list[Callable[..., Any]] = [
            executed(written, name, sp=sp, **HELPERS, **fixed)["use"] for sp in (OURS, scipy)
        ]


def flat(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [y for part in x for y in flat(part)]
    if isinstance(x, (str, bool, int, np.dtype)) or x is None:
        return []
    return [x]


def weighted(outs: list[Any]) -> Any:
    rng, total = np.random.default_rng(1), 0.0
    for o in outs:
        if np.result_type(o).kind not in "fc":
            continue
        c = rng.normal(size=np.shape(o)) + 1j * rng.normal(size=np.shape(o))
        total = total + (np.sum(np.real(o * c)) if np.result_type(o).kind == "c"
                         else np.sum(o * c.real))  # fmt: skip
    return total


def directions(inputs: Any, seed: int = 2) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return tuple(
        rng.normal(size=np.shape(a)) + 1j * rng.normal(size=np.shape(a))
        if np.asarray(a).dtype.kind == "c"
        else rng.normal(size=np.shape(a))
        for a in inputs
    )


def inner(a: Any, b: Any) -> Any:
    """The slope along b, of the gradient a (complex gradients are conjugate slopes)."""
    return sum(np.sum(np.real(x) * np.real(y) + np.imag(x) * np.imag(y))
               if np.result_type(x, y).kind == "c" else np.sum(x * y)
               for x, y in zip(a, b, strict=True))  # fmt: skip


def difference(f: Callable[..., Any], x: Any, v: Any, h: float) -> Any:
    at = lambda k: f(*(a + k * h * d for a, d in zip(x, v, strict=True)))  # noqa: E731
    pairs = zip(*(at(k) for k in (-2, -1, 1, 2)), strict=True)
    return [(a - d + 8 * (c - b)) / (12 * h) for a, b, c, d in pairs]


def check(use: Use, compiled: bool, thorough: bool = False) -> list[str]:
    wrong: list[str] = []

    def same(what: str, found: Any, expected: Any, rtol: float, atol: float) -> None:
        found, expected = flat(list(found)), flat(list(expected))
        if len(found) != len(expected):
            wrong.append(f"{what}: {len(found)} results, not {len(expected)}")
            return
        for a, b in zip(found, expected, strict=True):
            a, b = np.asarray(a), np.asarray(b)
            if a.shape != b.shape:
                wrong.append(f"{what}: shape {a.shape}, not {b.shape}")
            elif not np.allclose(a, b, rtol=rtol, atol=atol * max(1, np.abs(b).max(initial=0)),
                                 equal_nan=True):  # fmt: skip
                wrong.append(f"{what}: {np.ravel(a)[:4]} not {np.ravel(b)[:4]}")

    def attempt(what: str, call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as error:
            wrong.append(f"{what}: {type(error).__name__}: {str(error)[:300]}")

    ours, theirs = ((lambda *a, f=f: flat(f(*a))) for f in use.run)
    x = use.inputs
    expected = theirs(*x)
    smooth = any(np.result_type(e).kind in "fc" for e in expected) and bool(x)

    def values() -> None:
        boxed = []

        def f(*a: Any) -> Any:
            out = ours(*a)
            boxed.append([np.result_type(o) for o in out])
            return out

        same("value", tg.vjp(f, *x)[0] if smooth else f(*x), expected, 1e-9, 1e-11)
        kinds = [np.result_type(e) for e in expected]
        if boxed and boxed[0] != kinds:
            wrong.append(f"dtypes {boxed[0]} not {kinds}")

    attempt("value", values)
    if wrong and wrong[0].startswith("value: ") and "Error: " in wrong[0]:
        return [wrong[0].replace("value: ", "refused: ")]
    one = lambda *a: weighted(ours(*a))  # noqa: E731
    places = tuple(range(len(x)))
    grad = tg.grad(one, places)
    v, w = directions(x), directions(x, 3)
    inexact = lambda outs: [o for o in outs if np.result_type(o).kind in "fc"]  # noqa: E731
    along = lambda *a: inner(grad(*a), v)  # noqa: E731
    hvp = lambda *a: tg.jvp(grad, a, v)[1]  # noqa: E731

    def first() -> None:
        slope = difference(lambda *a: inexact(theirs(*a)), x, v, 1e-4)
        same("jvp", inexact(tg.jvp(lambda *a: inexact(ours(*a)), x, v)[1]), slope, 1e-6, 1e-7)
        same("grad", [inner(grad(*x), v)], [weighted(slope)], 1e-6, 1e-6)

    def second() -> None:
        forward = list(hvp(*x))
        same("jvp of grad", forward, difference(lambda *a: grad(*a), x, v, 1e-4), 1e-5, 1e-6)
        same("grad of grad", tg.grad(along, places)(*x), forward, 1e-8, 1e-9)
        twice = lambda *a: weighted(  # noqa: E731
            tg.jvp(lambda *b: inexact(tg.jvp(lambda *e: inexact(ours(*e)), b, v)[1]), a, w)[1]
        )
        same("jvp of jvp", [twice(*x)], [inner(forward, w)], 1e-8, 1e-9)

    if smooth:
        attempt("first", first)
        attempt("second", second)

    def single() -> None:
        low = tuple(np.asarray(a).astype(np.complex64 if np.iscomplexobj(a) else np.float32)[()]
                    for a in x)  # fmt: skip
        expected = theirs(*low)
        found = tg.vjp(lambda *a: ours(*a), *low)[0] if smooth else ours(*low)
        kinds = [[np.result_type(e) for e in some] for some in (found, expected)]
        if kinds[0] != kinds[1]:
            wrong.append(f"single: dtypes {kinds[0]} not {kinds[1]}")
        same("single", found, expected, 2e-3, 2e-4)
        if smooth:
            slopes = grad(*low)
            kinds = [[np.result_type(s) for s in some] for some in (slopes, low)]
            if kinds[0] != kinds[1]:
                wrong.append(f"single: dtypes of grad {kinds[0]} not {kinds[1]}")
            same("single grad", slopes, grad(*x), 2e-2, 2e-2)

    def holes(places: range, hole: float) -> None:
        if use.text.startswith("sp.ndimage.shift("):
            return  # SciPy 1.17 reads outside of the array
        bad = tuple(np.where(np.arange(a.size).reshape(a.shape) == min(1, a.size - 1), hole, a)[()]
                    if k in places else a for k, a in enumerate(x))  # fmt: skip
        try:
            expected = theirs(*bad)
        except Exception:
            return
        try:
            found = tg.vjp(lambda *a: ours(*a), *bad)[0]
        except (tg.TracegradError, np.linalg.LinAlgError):
            return
        name = f"{hole} in {', '.join(use.letters[k] for k in places)}"
        same(name, found, expected, 1e-9, 1e-11)

    def nothing() -> None:
        for axis in (0, -1):
            bad = tuple(np.take(a, [], axis) if np.ndim(a) else a for a in x)
            try:
                expected = theirs(*bad)
            except Exception:
                expected = None
            try:
                found = tg.vjp(lambda *a: ours(*a), *bad)[0]
            except Exception as error:
                clear = isinstance(error, (ValueError, TypeError, IndexError, tg.TracegradError))
                if expected is not None or not clear:
                    known = "" if expected is None else " where SciPy answers"
                    wrong.append(f"empty {axis}{known}: {type(error).__name__}: {str(error)[:200]}")
                continue
            if expected is not None:
                same(f"empty {axis}", found, expected, 1e-9, 1e-11)

    if x:
        attempt("single", single)
    if smooth:
        attempt("holes", lambda: holes(range(len(x)), np.nan))
        for k, hole in itertools.product(range(len(x)), (np.nan, np.inf) if thorough else ()):
            attempt("holes", functools.partial(holes, range(k, k + 1), hole))
        attempt("empty", nothing)
    if smooth:
        many = tuple(np.stack([a, a + 1e-3 * d, a - 2e-3 * d]) for a, d in zip(x, v, strict=True))
        rows = [tuple(m[k] for m in many) for k in range(3)]
        looped = lambda f: [np.stack(o) for o in zip(*(f(*r) for r in rows), strict=True)]  # noqa
        attempt("vmap", lambda: same("vmap", tg.vmap(ours)(*many), looped(ours), 1e-9, 1e-10))
        attempt(
            "vmap grad",
            lambda: same("vmap grad", tg.vmap(grad)(*many), looped(grad), 1e-9, 1e-9),
        )
    if compiled and smooth:
        attempt("jit", lambda: same("jit", tg.jit(ours)(*x), expected, 1e-9, 1e-11))
        attempt("jit grad", lambda: same("jit grad", tg.jit(grad)(*x), grad(*x), 1e-8, 1e-9))
        attempt("jit hvp", lambda: same("jit hvp", tg.jit(hvp)(*x), hvp(*x), 1e-7, 1e-8))
        attempt("jit vmap", lambda: same(
            "jit vmap", tg.jit(tg.vmap(ours))(*many), looped(ours), 1e-9, 1e-10))  # fmt: skip
    elif compiled and x:
        attempt("jit", lambda: same("jit", tg.jit(ours)(*x), expected, 1e-9, 1e-11))
    return wrong


def without_a_use(texts: list[str]) -> list[str]:
    """Names that are supported and stand in no use."""
    written = " ".join(texts)
    names = [f"{p}.{n}" for p in OF_NUMPY for n, what in numpys(p).items() if what == ""]
    names += [f"sp.{p}.{n}" for p in OF_SCIPY if p != "stats" for n, what in scipys(p).items()
              if what in ("", f"tg.{p}.{n}")]  # fmt: skip
    return [n for n in names if not re.search(rf"(?<![\w.]){re.escape(n)}\(", written)]


def main() -> None:
    warnings.simplefilter("ignore")
    texts = uses()
    wanted = [a for a in sys.argv[1:] if not a.startswith("--")]
    print("without a use:", without_a_use(texts))
    bad = 0
    chosen = [t for t in texts if not wanted or any(w in t for w in wanted)]
    for text in chosen:
        try:
            wrong = check(Use(text), "--eager" not in sys.argv, True)
        except Exception as error:
            wrong = [f"row: {type(error).__name__}: {error}"]
        bad += bool(wrong)
        for line in wrong:
            print(f"{text}  ::  {line}", flush=True)
    print(f"{len(chosen)} uses, {bad} of them with findings")


if __name__ == "__main__":
    main()
