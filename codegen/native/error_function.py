"""erf and erfc without branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .exponentials import STEPS
from .formats import DOUBLE, FORMATS, SINGLE, Format, Function, Table, horner
from .symbolic import copysign, fabs, fma, select


@dataclass(frozen=True)
class Fit:
    """The constants of one format."""

    near: tuple[float, ...]
    """(erf(x) - x) / x in powers of x*x, for |x| <= 1."""
    log_erfc: tuple[float, ...]
    """log(erfc(x)) in powers of x - 2, from 1 to `one`; as exact as erf there needs it, hence hardly at the end."""
    one: float
    """From here on erf rounds to 1."""
    tail: tuple[float, ...]
    """(1 + 2x) exp(x*x) erfc(x) - 1 in powers of (x - pivot) / (x + pivot), from 0.75 to `zero`."""
    pivot: float
    zero: float
    """From here on erfc rounds to 0."""


FITS = {
    DOUBLE: Fit(
        near=(
            0.12837916709551256,
            -0.3761263890318352,
            0.11283791670944202,
            -0.026866170643113703,
            0.00522397760613409,
            -0.0008548325929952487,
            0.00012055293593148915,
            -1.4924712567028885e-05,
            1.6447134333548473e-06,
            -1.6206331497837262e-07,
            1.3711044096634168e-08,
            -7.779565858369594e-10,
        ),
        log_erfc=(
            -5.364941264616633,
            -4.418160805994333,
            -0.9237508418240401,
            -0.016465118140581516,
            0.0035707563437267584,
            -0.0007323993518456559,
            0.0001353093810794189,
            -2.07065426801962e-05,
            1.9520043021027153e-06,
            2.0380564733986938e-07,
            -1.7287712385127477e-07,
            5.766013115602712e-08,
            -1.4232720882822575e-08,
            2.6254280480407676e-09,
            -1.5306204193494241e-10,
            -8.528339791863888e-11,
            1.770531762792244e-11,
        ),
        one=6.0,
        tail=(
            0.25300805826972966,
            -0.13562110612458156,
            -0.04756229435345134,
            0.12964515870281684,
            -0.11927366341527892,
            0.06830802734148714,
            -0.023770514918700206,
            0.00252939186666874,
            0.0018886903416724004,
            -0.0007798328322407805,
            -0.00010515943602287633,
            0.00012510300005981437,
            4.946135742232364e-06,
            -2.0114823124926486e-05,
            -7.146613433303261e-07,
            3.5046253120967843e-06,
            3.085390637906764e-07,
            -6.527385014663462e-07,
            -6.616909111202908e-08,
            1.0964431774353596e-07,
            -1.1878420545583188e-08,
        ),
        pivot=3.0,
        zero=28.0,
    ),
    SINGLE: Fit(
        near=(
            0.12837916612625122,
            -0.3761262595653534,
            0.1128358542919159,
            -0.026853812858462334,
            0.005188328679651022,
            -0.0008010187884792686,
            7.853800343582407e-05,
        ),
        log_erfc=(
            -5.364941120147705,
            -4.418159484863281,
            -0.9237534999847412,
            -0.016487903892993927,
            0.0035442316439002752,
            -0.000711109081748873,
            0.0001863788056652993,
        ),
        one=4.0,
        tail=(
            0.27697837352752686,
            -0.09276378899812698,
            -0.16603010892868042,
            0.16404934227466583,
            -0.054226163774728775,
            -0.008003069087862968,
            0.008760166354477406,
            0.0010759462602436543,
            -0.001482608960941434,
        ),
        pivot=2.0,
        zero=10.5,
    ),
}


def build(f: Format) -> dict[str, Function]:
    fit, steps, real = FITS[f], STEPS[f.name], f.real
    reduce, growth, power_of_two, scale = steps.reduce, steps.growth, steps.power_of_two, steps.scale
    zero, one, two = real(0), real(1), real(2)
    near, log_erfc, tail = horner(f, fit.near), horner(f, fit.log_erfc), horner(f, fit.tail)
    erf_limit, erfc_limit, pivot, bound = real(fit.one), real(fit.zero), real(fit.pivot), real(0.75)

    def erf(x: Any) -> Any:
        a = fabs(x)
        small = fma(a, near(a * a), a)
        # The difference is exact.
        n, r = reduce(log_erfc(select(a > erf_limit, erf_limit, a) - two))
        # 1 - exp(p) = (1 - s) - s * (exp(r) - 1), where 1 - s is exact or s far below the last place.
        s = power_of_two(n)
        large = (one - s) - s * growth(r)
        return copysign(select(a < one, small, large), x)

    def erfc(x: Any) -> Any:
        a = fabs(x)
        z = fma(x, near(x * x), x)
        a = select(a > erfc_limit, erfc_limit, a)
        # exp(-a * a), with what the square lost to rounding put into the reduced argument.
        h = -a * a
        n, r = reduce(h)
        y = growth(r - fma(a, a, h))
        q = (tail((a - pivot) / (a + pivot)) + one) / fma(two, a, one)
        y = scale(fma(q, y, q), n)
        return select(fabs(x) < bound, one - z, select(x < zero, two - y, y))

    return {"erf": erf, "erfc": erfc}


FUNCTIONS: Table = {f.name: build(f) for f in FORMATS}
