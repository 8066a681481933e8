"""Elementary functions without branches, so that loops over them vectorise: exp, log, tanh, erf and their relatives.

Each is reduced to a short interval, evaluated there by a polynomial in fused multiply-adds, and put together by the
exponent's bits; special values are selected at the end. The polynomials are minimax fits. No fast-math flag is set
anywhere: reassociation would destroy the reductions. One text serves both precisions, with the constants of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bridge import inlined
from .sources import generated
from .support import bits, copysign_float, fabs_float, fma, from_bits, select


@dataclass(frozen=True)
class Format:
    """The constants of one floating-point format."""

    real: Any
    integer: Any
    mantissa: int
    bias: int
    magic: float
    """1.5 * 2**mantissa: adding it to a small float leaves the nearest integer in the low bits."""
    highest: float
    lowest: float
    """exp overflows above `highest` and is 0 below `lowest`."""
    exp: tuple[float, ...]
    log: tuple[float, ...]
    short: tuple[float, float]
    """log(2) in two parts, the first with so few bits that an exponent times it is exact."""
    erf: tuple[float, ...]
    """(erf(x) - x) / x in powers of x*x, for |x| <= 1."""
    log_erfc: tuple[float, ...]
    """log(erfc(x)) in powers of x - 2, from 1 to `erf_limit`; as exact as erf there needs it, hence hardly at the end."""
    erf_limit: float
    """From here on erf rounds to 1."""
    erfc: tuple[float, ...]
    """(1 + 2x) exp(x*x) erfc(x) - 1 in powers of (x - pivot) / (x + pivot), from 0.75 to `erfc_limit`."""
    pivot: float
    erfc_limit: float
    """From here on erfc rounds to 0."""


DOUBLE = Format(
    np.float64, np.int64, 52, 1023, 6755399441055744.0, 709.782712893384, -745.1332191019412,
    exp=(0.5, 0.16666666666666685, 0.04166666666666673, 0.00833333333331662, 0.0013888888888858209, 0.00019841269897361157,
         2.480158737409155e-05, 2.7557233930214123e-06, 2.7557233107306724e-07, 2.5112348210513994e-08, 2.0927013137492448e-09),
    log=(0.6666666666666735, 0.399999999994113, 0.28571428743223065, 0.22222198479599417, 0.18183569569516417,
         0.1531390725096072, 0.14797470532639503),
    short=(0.6931471805598903, 5.497923018708371e-14),
    erf=(0.12837916709551256, -0.3761263890318352, 0.11283791670944202, -0.026866170643113703, 0.00522397760613409,
         -0.0008548325929952487, 0.00012055293593148915, -1.4924712567028885e-05, 1.6447134333548473e-06, -1.6206331497837262e-07,
         1.3711044096634168e-08, -7.779565858369594e-10),
    log_erfc=(-5.364941264616633, -4.418160805994333, -0.9237508418240401, -0.016465118140581516, 0.0035707563437267584,
              -0.0007323993518456559, 0.0001353093810794189, -2.07065426801962e-05, 1.9520043021027153e-06, 2.0380564733986938e-07,
              -1.7287712385127477e-07, 5.766013115602712e-08, -1.4232720882822575e-08, 2.6254280480407676e-09, -1.5306204193494241e-10,
              -8.528339791863888e-11, 1.770531762792244e-11),
    erf_limit=6.0,
    erfc=(0.25300805826972966, -0.13562110612458156, -0.04756229435345134, 0.12964515870281684, -0.11927366341527892,
          0.06830802734148714, -0.023770514918700206, 0.00252939186666874, 0.0018886903416724004, -0.0007798328322407805,
          -0.00010515943602287633, 0.00012510300005981437, 4.946135742232364e-06, -2.0114823124926486e-05, -7.146613433303261e-07,
          3.5046253120967843e-06, 3.085390637906764e-07, -6.527385014663462e-07, -6.616909111202908e-08, 1.0964431774353596e-07,
          -1.1878420545583188e-08),
    pivot=3.0,
    erfc_limit=28.0,
)  # fmt: skip
SINGLE = Format(
    np.float32, np.int32, 23, 127, 12582912.0, 88.72283, -103.97208,
    exp=(0.5, 0.1666666716337204, 0.041666269302368164, 0.008333263918757439, 0.0013946176040917635, 0.00019918559701181948),
    log=(0.6666666269302368, 0.4000033736228943, 0.28537240624427795, 0.23583540320396423),
    short=(0.693145751953125, 1.428606765330187e-06),
    erf=(0.12837916612625122, -0.3761262595653534, 0.1128358542919159, -0.026853812858462334, 0.005188328679651022,
         -0.0008010187884792686, 7.853800343582407e-05),
    log_erfc=(-5.364941120147705, -4.418159484863281, -0.9237534999847412, -0.016487903892993927, 0.0035442316439002752,
              -0.000711109081748873, 0.0001863788056652993),
    erf_limit=4.0,
    erfc=(0.27697837352752686, -0.09276378899812698, -0.16603010892868042, 0.16404934227466583, -0.054226163774728775,
          -0.008003069087862968, 0.008760166354477406, 0.0010759462602436543, -0.001482608960941434),
    pivot=2.0,
    erfc_limit=10.5,
)  # fmt: skip

Unary = Callable[[Any], Any]


def horner(coefficients: tuple[Any, ...]) -> Unary:
    """The polynomial as one expression per degree; the source is generated because Numba unrolls no loop over a closure's tuple."""
    names = {f"c{k}": c for k, c in enumerate(coefficients)}
    text = f"c{len(coefficients) - 1}"
    for k in range(len(coefficients) - 2, -1, -1):
        text = f"fma({text}, x, c{k})"
    scope: dict[str, Any] = {"fma": fma, **names}
    return inlined(generated(f"def polynomial(x):\n    return {text}\n", "polynomial", scope))


def build(f: Format) -> dict[str, Unary]:
    """The functions of one format."""
    real, integer = f.real, f.integer
    zero, one, half, two = real(0), real(1), real(0.5), real(2)
    infinity, nan = real(np.inf), real(np.nan)
    per_ln2, ln2, magic = real(1 / np.log(2)), real(np.log(np.longdouble(2))), real(f.magic)
    ln2_rest = real(np.log(np.longdouble(2)) - np.longdouble(ln2))
    short, short_rest = real(f.short[0]), real(f.short[1])
    highest, lowest = real(f.highest), real(f.lowest)
    shift, bias, one_bit = integer(f.mantissa), integer(f.bias), integer(1)
    magic_bits, root_bits = magic.view(integer), real(np.sqrt(0.5)).view(integer)
    normal, up, up_exponent = real(np.finfo(real).tiny), real(2.0 ** (f.mantissa + 2)), real(f.mantissa + 2)
    exp_tail = horner(tuple(real(c) for c in f.exp))
    log_tail = horner(tuple(real(c) for c in f.log))
    erf_head, log_erfc = horner(tuple(real(c) for c in f.erf)), horner(tuple(real(c) for c in f.log_erfc))
    erfc_tail, erfc_pivot = horner(tuple(real(c) for c in f.erfc)), real(f.pivot)
    erf_limit, erfc_limit, erfc_bound = real(f.erf_limit), real(f.erfc_limit), real(0.75)
    floor_expm1, tiny = real(-(f.mantissa + 8) * 0.6931471805599453), real(2.0 ** -(f.mantissa + 2))

    @inlined
    def power_of_two(n: Any) -> Any:
        return from_bits(integer(integer(n + bias) << shift))

    @inlined
    def exp(x: Any) -> Any:
        t = fma(x, per_ln2, magic)
        k = t - magic
        n = integer(bits(t) - magic_bits)
        r = fma(-k, ln2_rest, fma(-k, ln2, x))
        y = fma(r * r, exp_tail(r), r) + one
        # In two factors, since 2**n alone may be out of range where the result is not.
        n1 = integer(n >> one_bit)
        y = y * power_of_two(n1) * power_of_two(integer(n - n1))
        return select(x > highest, infinity, select(x < lowest, zero, y))

    @inlined
    def expm1(x: Any) -> Any:
        c = select(x < floor_expm1, floor_expm1, x)
        t = fma(c, per_ln2, magic)
        k = t - magic
        n = integer(bits(t) - magic_bits)
        r = fma(-k, ln2_rest, fma(-k, ln2, c))
        y = fma(r * r, exp_tail(r), r)
        s = power_of_two(integer(n - one_bit))
        y = fma(y, s, s - half) * two
        return select(x > highest, infinity, select(fabs_float(x) < tiny, x, y))

    @inlined
    def log(x: Any) -> Any:
        small = x < normal
        b = bits(select(small, x * up, x))
        n = integer(integer(b - root_bits) >> shift)
        k = from_bits(integer(n + magic_bits)) - magic - select(small, up_exponent, zero)
        g = from_bits(integer(b - integer(n << shift))) - one
        s = g / (two + g)
        z = s * s
        h = half * g * g
        y = k * short - ((h - fma(s, h + z * log_tail(z), k * short_rest)) - g)
        y = select(x < infinity, y, x)
        return select(x == zero, -infinity, select(x < zero, nan, y))

    @inlined
    def log1p(x: Any) -> Any:
        u = one + x
        v = u - one
        lost = ((one - (u - v)) + (x - v)) / u
        b = bits(u)
        n = integer(integer(b - root_bits) >> shift)
        k = from_bits(integer(n + magic_bits)) - magic
        g = from_bits(integer(b - integer(n << shift))) - one
        s = g / (two + g)
        z = s * s
        h = half * g * g
        y = k * short - ((h - (fma(s, h + z * log_tail(z), k * short_rest) + lost)) - g)
        y = select(x < infinity, y, x)
        y = select(fabs_float(x) < tiny, x, y)
        return select(x == -one, -infinity, select(x < -one, nan, y))

    @inlined
    def tanh(x: Any) -> Any:
        e = expm1(-two * fabs_float(x))
        return copysign_float(-e / (two + e), x)

    @inlined
    def sigmoid(x: Any) -> Any:
        e = exp(-fabs_float(x))
        return select(x < zero, e, one) / (one + e)

    @inlined
    def softplus(x: Any) -> Any:
        return select(x > zero, x, select(x <= zero, zero, x)) + log1p(exp(-fabs_float(x)))

    @inlined
    def sinh(x: Any) -> Any:
        e = expm1(fabs_float(x))
        # exp(|x|) overflows before sinh does: halve inside where it would.
        big = exp(half * fabs_float(x))
        y = select(e < infinity, half * (e + e / (e + one)), half * big * big)
        return copysign_float(select(x == x, y, x), x)

    @inlined
    def cosh(x: Any) -> Any:
        e = exp(fabs_float(x))
        big = exp(half * fabs_float(x))
        return select(e < infinity, half * (e + one / e), half * big * big)

    @inlined
    def erf(x: Any) -> Any:
        a = fabs_float(x)
        small = fma(a, erf_head(a * a), a)
        # The difference is exact.
        p = log_erfc(select(a > erf_limit, erf_limit, a) - two)
        t = fma(p, per_ln2, magic)
        k = t - magic
        r = fma(-k, ln2_rest, fma(-k, ln2, p))
        # 1 - exp(p) = (1 - s) - s * (exp(r) - 1), where 1 - s is exact or s far below the last place.
        s = power_of_two(integer(bits(t) - magic_bits))
        large = (one - s) - s * fma(r * r, exp_tail(r), r)
        return copysign_float(select(a < one, small, large), x)

    @inlined
    def erfc(x: Any) -> Any:
        a = fabs_float(x)
        z = fma(x, erf_head(x * x), x)
        a = select(a > erfc_limit, erfc_limit, a)
        # exp(-a * a), with what the square lost to rounding put into the reduced argument.
        h = -a * a
        t = fma(h, per_ln2, magic)
        k = t - magic
        n = integer(bits(t) - magic_bits)
        r = fma(-k, ln2_rest, fma(-k, ln2, h)) - fma(a, a, h)
        y = fma(r * r, exp_tail(r), r)
        n1 = integer(n >> one_bit)
        q = erfc_tail((a - erfc_pivot) / (a + erfc_pivot))
        q = (q + one) / fma(two, a, one)
        y = fma(q, y, q) * power_of_two(n1) * power_of_two(integer(n - n1))
        return select(fabs_float(x) < erfc_bound, one - z, select(x < zero, two - y, y))

    return {"exp": exp, "expm1": expm1, "log": log, "log1p": log1p, "tanh": tanh, "sigmoid": sigmoid, "softplus": softplus,
            "sinh": sinh, "cosh": cosh, "erf": erf, "erfc": erfc}  # fmt: skip


FUNCTIONS = {"float64": build(DOUBLE), "float32": build(SINGLE)}
