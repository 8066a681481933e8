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


def several(name: str, *ops: str) -> Case:
    """A function of one number that has several results."""
    case = row(name, (0.3, 4), special=((np.array([0.5, -2.0, 40.0, np.nan]),),))
    return Case(**{**vars(case), "ops": ops})


def in_degrees(library: Any, x: Any) -> tuple[Any, ...]:
    return library.sindg(x), library.cosdg(x), library.tandg(x), library.cotdg(x)


def of_kelvin(library: Any, x: Any) -> tuple[Any, ...]:
    single = [getattr(library, n)(x) for n in ("ber", "bei", "berp", "beip")]
    return (*single, *[getattr(library, n)(x) for n in ("ker", "kei", "kerp", "keip")],
            *library.kelvin(x))  # fmt: skip


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
    row("ellipkm1", (1e-3, 3), special=((np.array([1.0, 1e-300, 0.0]),),)),
    row("wrightomega", (-5, 5), special=(NAN,)), row("ndtri_exp", (-9, -0.1)),
    *[several(*names) for names in (
        ("airy", "airy_ai", "airy_aip", "airy_bi", "airy_bip"),
        ("airye", "airye_ai", "airye_aip", "airye_bi", "airye_bip"),
        ("sici", "sine_integral", "cosine_integral"),
        ("shichi", "sinh_integral", "cosh_integral"),
        ("fresnel", "fresnel_sine", "fresnel_cosine"))],
    Case("special kelvin", lambda x: of_kelvin(tg.special, x), lambda rng: (
             np.concatenate([rng.uniform(0.1, 0.9, 2), rng.uniform(1.1, 12, 4)]),),
         lambda x: of_kelvin(sp, x),
         ("ber", "bei", "berp", "beip", "ker", "kei", "kerp", "keip"),
         special=((np.array([-2.0, -0.5, 0.0, 40.0, np.nan]),), (F32,), (np.zeros((0, 2)),)),
         errors=(NO_COMPLEX,)),
    Case("special degrees", lambda x: in_degrees(tg.special, x),
         lambda rng: (rng.uniform(-170, 170, size=(2, 3)),), lambda x: in_degrees(sp, x),
         ("sindg", "cosdg", "tandg", "cotdg"), special=((np.array([30.0, 90, -180, 45]),),)),
    row("kolmogorov", (0.3, 2.5), special=((np.array([0.0, 0.01, 0.82, -1.0, 9.0, np.nan]),),)),
    row("kolmogi", (0.1, 0.95), special=((np.array([0.0, 1.0, np.nan]),),)),
    row("zetac", (-4.8, 0.8), special=((np.array([0.0, 1.0, -2.0, 3.0, 60.0, np.nan]),),)),
    row("zetac", (1.2, 9), word="above"),
    *[several(*names) for names in (
        ("iti0k0", "integral_i0", "integral_k0"), ("itj0y0", "integral_j0", "integral_y0"),
        ("it2i0k0", "integral_i0_over", "integral_k0_over"),
        ("it2j0y0", "integral_j0_over", "integral_y0_over"),
        ("itmodstruve0", "itmodstruve0"), ("it2struve0", "it2struve0"))],
    row("rgamma", (0.3, 5), special=((np.array([0.0, -1.0, -1.5]),),)),
)  # fmt: skip
TWO = (
    *[row(name, (-1.5, 3.5), (0.5, 8), wrt=LAST1) for name in
      ("jv", "yv", "iv", "kv", "ive", "kve", "struve", "modstruve")],
    row("gammainc", (0.5, 5), (0.3, 6), wrt=LAST1), row("gammaincc", (0.5, 5), (0.3, 6)),
    row("gammaincinv", (0.5, 5), (0.1, 0.9), tolerance=1e-5),
    row("gammainccinv", (0.5, 5), (0.1, 0.9), wrt=LAST1, tolerance=1e-5),
    row("stdtr", (1, 9), (-3, 3)),
    row("stdtrit", (1, 9), (0.1, 0.9), wrt=LAST1, tolerance=1e-5),
    *[Case(**{**vars(row(name, (-3, 9), (-9, 0.9), special=(
          (np.array([0.0, 1.2, 1.2, np.nan]), np.array([0.5, 0.0, 1.0, 0.5])),))),
          "ops": (name, f"{name}_by_m")}) for name in ("ellipkinc", "ellipeinc")],
    Case(**{**vars(row("pbwa", (-2, 2), (-4, 4), wrt=LAST1)), "ops": ("weber_w", "weber_wp")}),
    row("binom", (4, 9), (0.5, 3.5)),
    row("poch", (0.5, 4), (0.5, 4)),
    row("owens_t", (-2, 2), (-2, 2)),
    row("elliprc", (0.3, 4), (0.3, 4), special=((np.array([1.0, 0.0]), np.array([-2.0, 1.0])),)),
    Case("special ellipj", lambda u, m: tg.special.ellipj(u, m),
         lambda rng: (rng.uniform(-6, 6, size=3), rng.uniform(0.1, 0.9, size=(2, 3))),
         lambda u, m: sp.ellipj(u, m), ("elliptic_amplitude",),
         special=((np.array([0.3, 2.0, 1.0]), np.array([0.0, 1.0, -0.5])),)),
    Case("special expn", tg.special.expn,
         lambda rng: (np.array([0, 1, 4]), rng.uniform(0.5, 6, size=(2, 3))), sp.expn, ("expn",),
         wrt=LAST1, special=((np.array([2.0, 3.0, 1.0]), np.array([0.0, np.nan, 1e3])),)),
    row("zeta", (1.5, 9), (0.3, 40),
        special=((np.array([2.0, 60.0, 1.0, 0.5]), np.array([0.1, 30.0, 2.0, -3.5])),)),
)  # fmt: skip
MORE = (
    *[row(name, (0.5, 4), (0.5, 4), (0.1, 0.9), wrt=wrt, tolerance=1e-5)
      for name, wrt in (("betainc", LAST2), ("betaincc", LAST2), ("betaincinv", None),
                        ("betainccinv", None))],
    *[row(name, (0.3, 4), (0.3, 4), (0.3, 4), special=((np.array([0.0]), np.ones(1), np.ones(1)),))
      for name in ("elliprd", "elliprf", "elliprg")],
    row("elliprj", (0.3, 4), (0.3, 4), (0.3, 4), (0.3, 4),
        special=((np.zeros(2), np.ones(2), np.ones(2), np.array([-0.5, 2.0])),)),
    row("chndtr", (0.5, 9), (0.7, 4), (0.3, 5), wrt=(0, 2),
        special=((np.array([0.0, 2.0, 3.0]), np.ones(3), np.array([1.0, 0.0, np.nan])),)),
    *[row(name, (0.3, 2), (0.3, 2), (0.3, 5), wrt=LAST2)
      for name in ("wright_bessel", "log_wright_bessel")],
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


def polynomials(library: Any, x: Any, a: Any) -> tuple[Any, ...]:
    degrees = np.array([[0], [1], [5]])
    return (
        *[
            getattr(library, f"eval_{n}")(degrees, x)
            for n in ("legendre", "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre")
        ],
        library.eval_gegenbauer(4, a, x),
        library.eval_genlaguerre(3, a, x),
    )


def more_polynomials(library: Any, x: Any, a: Any) -> tuple[Any, ...]:
    degrees = np.array([[0], [1], [4]])
    return (
        *[
            getattr(library, f"eval_{n}")(degrees, x)
            for n in ("chebyc", "chebys", "sh_legendre", "sh_chebyt", "sh_chebyu")
        ],
        library.eval_jacobi(degrees, a, a - 0.9, x),
        library.diric(x, np.array([[1], [4]])),
    )


def harmonics(library: Any, theta: Any, phi: Any) -> tuple[Any, ...]:
    degrees, orders = np.array([[0], [1], [3], [3], [2]]), np.array([[0], [-1], [2], [0], [3]])
    one = library.sph_harm_y(4, -3, theta, 0.1)
    return library.sph_harm_y(degrees, orders, theta, phi), one


def of_bessel(library: Any, x: Any) -> tuple[Any, ...]:
    return (
        library.jvp(0.7, x), library.yvp(0.7, x, 2), library.ivp(2, x, 3), library.kvp(1.2, x),
        library.hankel1(0.7, x), library.hankel2(0.7, x), library.hankel1e(0.7, x),
        library.hankel2e(0.7, x), library.jve(0.7, x), library.yve(0.7, x),
        *[getattr(library, f"spherical_{k}n")(n, x, d) for k in "jyik" for n in (0, 2)
          for d in (False, True)],
    )  # fmt: skip


def of_counts(library: Any, x: Any, y: Any) -> tuple[Any, ...]:
    return (
        library.bdtr(2.0, 5, x), library.bdtrc(2.5, 5, x), library.nbdtr(2, 5, x),
        library.nbdtrc(2, 5, x), library.chdtri(3.0, x), library.perm(y + 3.0, y),
        library.agm(x, y), library.powm1(y, x), library.radian(x, y, 3.0),
        library.voigt_profile(y, x, y),
    )  # fmt: skip


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
    *[Case(f"special lambertw {k}", lambda z, k=k: tg.special.lambertw(z, k), plane,
           lambda z, k=k: sp.lambertw(z, k), ("lambertw",), device=False,
           special=((np.array([0.2, 1.0, -0.5, 1e300, np.inf]),), (np.zeros((0, 2), complex),),
                    (np.array([complex(-0.5, -0.0), -0.2, 1e-300, np.nan]),),
                    (np.array([0.5 - 1j, 3.0], np.complex64),)))
      for k in (0, -1)],
    Case("errors of complex numbers", lambda z: errors_of(tg.special, z), plane,
         lambda z: errors_of(sp, z), ("erf", "erfc", "wofz"),
         special=((FAR,), (np.array([25 - 3j]),), (np.zeros((0, 2), complex),),
                  (np.array([0.5 - 1j, 3.0], np.complex64),)), device=False),
)  # fmt: skip
MADE = (
    *MADE,
    Case("special polynomials", lambda x, a: polynomials(tg.special, x, a),
         lambda rng: (rng.uniform(-0.9, 0.9, size=3), rng.uniform(0.4, 2, size=3)),
         lambda x, a: polynomials(sp, x, a), jit=False),
    Case("special more polynomials", lambda x, a: more_polynomials(tg.special, x, a),
         lambda rng: (rng.uniform(0.1, 0.9, size=3), rng.uniform(0.4, 2, size=3)),
         lambda x, a: more_polynomials(sp, x, a), jit=False),
    Case("spherical harmonics", lambda t, p: harmonics(tg.special, t, p),
         lambda rng: (rng.uniform(0.2, 3, size=3), rng.uniform(-3, 3, size=3)),
         lambda t, p: harmonics(sp, t, p), special=((np.array([0.0, np.pi]), np.zeros(2)),),
         jit=False),
    Case("special made of Bessel functions", lambda x: of_bessel(tg.special, x),
         lambda rng: (rng.uniform(0.3, 3, size=3),), lambda x: of_bessel(sp, x), jit=False),
    Case("special of counts", lambda x, y: of_counts(tg.special, x, y),
         lambda rng: (rng.uniform(0.2, 0.8, size=3), rng.uniform(0.5, 2, size=3)),
         lambda x, y: of_counts(sp, x, y), jit=False),
    Case("tails of distributions", lambda a, x: tails(tg.special, a, x),
         lambda rng: (rng.uniform(1, 5, size=3), rng.uniform(0.5, 4, size=(2, 3))),
         lambda a, x: tails(sp, a, x), order=1, wrt=(1,)),
    made("exprel", (-1, 1), special=((np.array([0.0, -800.0, 1e-12, np.inf, 2, 700]),),)),
)  # fmt: skip
CASES = (*ONE, *COMPLEX, *TWO, *MORE, *off_device(*MADE))
