"""Special functions of SciPy: values, and derivatives by every operand that has one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

import tracegrad as tg
from tests.cases import Case, off_device
from tests.cases.elementwise import NO_COMPLEX

F32 = np.array([0.4, 0.7], np.float32)


def row(
    name: str,
    *intervals: tuple[float, float],
    wrt: tuple[int, ...] | None = None,
    special: tuple[tuple[Any, ...], ...] = (),
    errors: tuple[Any, ...] = (),
    word: str = "",
    **more: Any,
) -> Case:
    """A function of as many operands as there are intervals; the last of them is broadcast."""

    def inputs(rng: np.random.Generator) -> tuple[Any, ...]:
        last = len(intervals) - 1
        return tuple(
            rng.uniform(*pair, size=(2, 3) if k == last else (3,))
            for k, pair in enumerate(intervals)
        )

    count = len(intervals)
    return Case(
        f"special {name} {word}",
        getattr(tg.special, name),
        inputs,
        getattr(sp, name),
        (name,),
        wrt=wrt,
        special=((np.zeros((0, 2)),) * count, (F32,) * count, *special),
        errors=errors,
        **more,
    )


NAN = (np.array([np.nan, 0.5]),)
LAST1, LAST2, LAST3 = (1,), (2,), (3,)
NO_COMPLEX_ORDER = ((np.array(1), np.array(2j)), tg.DTypeError, "complex")
ONE = (
    row("log_ndtr", (-40, 4), special=(NAN,), errors=(NO_COMPLEX,)),
    row("erfcx", (-2, 40), special=((np.array([25.9, 26.1, 1e8, -30.0]),),)),
    row("erfcinv", (0.2, 1.8)),
    row("expi", (0.5, 4), word="positive"),
    row("exp1", (0.5, 4)),
    *[row(name, (0.5, 12), special=((np.array([1, 2]),), NAN), errors=(NO_COMPLEX,)) for name in
      ("j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e")],
    *[row(name, (-6, 6), special=((np.array([-2, 0, 2]),),)) for name in
      ("i0", "i1", "i0e", "i1e")],
    row("ellipk", (-3, 0.9), special=((np.array([0.0, 1e-12]),),)),
    row("ellipe", (-3, 0.9), special=((np.array([0.0, 1e-12, 1.0]),),)),
    row("erfi", (-2, 2)), row("dawsn", (-4, 4), special=(NAN,), errors=(NO_COMPLEX,)),
    row("spence", (0.2, 3), special=((np.array([1.0, 1.0 + 1e-9, 0.0]),),)),
    row("rgamma", (0.3, 5), special=((np.array([0.0, -1.0, -1.5]),),)),
)  # fmt: skip
TWO = (
    *[row(name, (-1.5, 3.5), (0.5, 8), wrt=LAST1) for name in
      ("jv", "yv", "iv", "kv", "ive", "kve")],
    row("gammainc", (0.5, 5), (0.3, 6), wrt=LAST1), row("gammaincc", (0.5, 5), (0.3, 6)),
    row("gammaincinv", (0.5, 5), (0.1, 0.9), tolerance=1e-5),
    row("gammainccinv", (0.5, 5), (0.1, 0.9), wrt=LAST1, tolerance=1e-5),
    row("stdtr", (1, 9), (-3, 3)),
    row("stdtrit", (1, 9), (0.1, 0.9), wrt=LAST1, tolerance=1e-5),
    row("ellipkinc", (0.1, 1.4), (0.1, 0.9), wrt=(0,)),
    row("ellipeinc", (0.1, 1.4), (0.1, 0.9), wrt=(0,)),
    row("binom", (4, 9), (0.5, 3.5)),
    row("poch", (0.5, 4), (0.5, 4)),
    row("owens_t", (-2, 2), (-2, 2)),
    row("zeta", (1.5, 9), (0.3, 40), wrt=LAST1,
        special=((np.array([2.0, 60.0, 1.0, 0.5]), np.array([0.1, 30.0, 2.0, -3.5])),)),
)  # fmt: skip
MORE = (
    *[row(name, (0.5, 4), (0.5, 4), (0.1, 0.9), wrt=wrt, tolerance=1e-5)
      for name, wrt in (("betainc", LAST2), ("betaincc", LAST2), ("betaincinv", None))],
    row("hyp2f1", (0.5, 2), (0.5, 2), (2, 3), (-2, 0.7), wrt=LAST3),
    row("hyp0f1", (0.5, 4), (-6, 9), wrt=LAST1,
        special=((np.array([170.5, -2.5, -2.0, 0.0, 2.0, 900.0, np.nan]),
                  np.array([1.0, 3.0, 1.0, 1.0, np.inf, 1e6, 1.0])),)),
    row("hyp1f1", (0.3, 3), (0.4, 4), (-5, 5), wrt=LAST2,
        special=((np.array([0.0, -3.0, 1.5, 1.0, np.nan]), np.array([1.0, -2.0, 2.5, 2.0, 1.0]),
                  np.array([5.0, 1.0, -300.0, 700.0, 1.0])),)),
    *[Case(f"special {name}", getattr(tg.special, name),
           lambda rng: (np.array([0, 1, 4]), rng.uniform(0.5, 6, size=(2, 3))), getattr(sp, name),
           (name,), wrt=LAST1, errors=(NO_COMPLEX_ORDER,),
           special=((np.array([2.0, -1.0, -3.0, 0.0]), np.array([1e10, 1e-6, 2.0, -1.0])),
                    (np.array([1.0, 2.0], np.float32), F32),
                    (np.array(3), np.array([0.0, np.nan]))))
      for name in ("kn", "yn")],
)  # fmt: skip


def made(name: str, *intervals: tuple[float, float], word: str = "", **more: Any) -> Case:
    """A composition: it has no operation of its own."""
    case = row(name, *intervals, word=word, **more)
    return Case(**{**vars(case), "ops": ()})


EDGES = (np.array([0.0, 0.0, -1.0, 2.0, np.nan]), np.array([0.0, 1.0, 1.0, 0.0, 1.0]))
MADE = (
    made("rel_entr", (0.5, 3), (0.5, 3), special=(EDGES,)),
    made("kl_div", (0.5, 3), (0.5, 3), special=(EDGES,)),
    made("huber", (0.5, 1.0), (1.1, 3), word="line"),
    made("huber", (1.0, 2.0), (-0.9, 0.9), word="square",
         special=((np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 2.0])),)),
    made("pseudo_huber", (0.5, 2), (-3, 3),
         special=((np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 1e-9])),)),
    made("boxcox", (0.5, 3), (0.2, 2),
         special=((np.array([2.0, 2.0, 3.0]), np.array([0.0, 1e-9, 1e-3])),)),
    made("boxcox1p", (0.5, 3), (-2, -0.2)),
    made("inv_boxcox", (0.2, 1), (0.2, 2),
         special=((np.array([2.0, 2.0]), np.array([0.0, 1e-9])),)),
    made("inv_boxcox1p", (0.2, 1), (0.2, 2)),
    made("exp10", (-2, 2)),
    made("cosm1", (-2, 2), special=((np.array([1e-9, 0.0]),),)),
    made("comb", (4, 9), (0.5, 3.5)),
    made("loggamma", (0.3, 5), special=((np.array([-0.5, -3.0, 0.0, np.inf, np.nan]),),),
         errors=(((np.array(2j),), tg.DTypeError, "must be real"),)),
    Case(
        "special multigammaln",
        lambda a: tg.special.multigammaln(a, 3),
        lambda rng: (rng.uniform(2, 6, size=3),),
        lambda a: sp.multigammaln(a, 3),
        errors=(((np.array(2j),), tg.DTypeError, "not defined for complex128"),),
    ),
)  # fmt: skip


def errors_of(library: Any, z: Any) -> Any:
    return library.erf(z), library.erfc(z), library.wofz(z), library.erfi(z)


def plane(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.uniform(-2.5, 2.5, size=(2, 6)) + 1j * rng.uniform(-2.5, 2.5, size=(2, 6)),)


def tails(library: Any, a: Any, x: Any) -> Any:
    return tuple(getattr(library, n)(a, x) for n in ("chdtr", "chdtrc", "gdtr", "gdtrc", "fdtr",
                                                      "fdtrc")[:2]) + tuple(
        getattr(library, n)(2.0, a, x) for n in ("gdtr", "gdtrc", "fdtr", "fdtrc")) + (
        library.pdtr(3, x), library.pdtrc(2, x))  # fmt: skip


FAR = np.array([4.3 + 0.2j, -3 + 3j, 0.0, 1e-9j, 2.0, -3.0, 3j, 1e-200 + 1e-300j])
COMPLEX = (
    Case("errors of complex numbers", lambda z: errors_of(tg.special, z), plane,
         lambda z: errors_of(sp, z), ("erf", "erfc", "wofz"),
         special=((FAR,), (np.array([25 - 3j]),), (np.zeros((0, 2), complex),),
                  (np.array([0.5 - 1j, 3.0], np.complex64),)), device=False),
)  # fmt: skip
MADE = (
    *MADE,
    Case("tails of distributions", lambda a, x: tails(tg.special, a, x),
         lambda rng: (rng.uniform(1, 5, size=3), rng.uniform(0.5, 4, size=(2, 3))),
         lambda a, x: tails(sp, a, x), order=1, wrt=(1,)),
    made("exprel", (-1, 1), special=((np.array([0.0, -800.0, 1e-12, np.inf, 2, 700]),),)),
)  # fmt: skip
CASES = (*ONE, *COMPLEX, *TWO, *MORE, *off_device(*MADE))
