"""erf and erfc without branches."""

from __future__ import annotations

from typing import Any

from ...translation.symbolic import copysign, fabs, fma, select
from .exponentials import FUNCTIONS as EXPONENTIALS
from .exponentials import STEPS
from .formats import DOUBLE, FORMATS, SINGLE, Format, Function, Table, horner

NEAR = {
    DOUBLE: (0.12837916709551256, -0.3761263890318352, 0.11283791670944202, -0.026866170643113703,
             0.00522397760613409, -0.0008548325929952487, 0.00012055293593148915,
             -1.4924712567028885e-05, 1.6447134333548473e-06, -1.6206331497837262e-07,
             1.3711044096634168e-08, -7.779565858369594e-10),
    SINGLE: (0.12837916612625122, -0.3761262595653534, 0.1128358542919159, -0.026853812858462334,
             0.005188328679651022, -0.0008010187884792686, 7.853800343582407e-05),
}  # fmt: skip
"""(erf(x) - x) / x in powers of x*x, for |x| <= 1."""
FAR = {
    DOUBLE: (0.25539567631050525, -0.10679646185349598, 0.04180275260357362, -0.015460637763883785,
             0.005440738537040526, -0.0018316642814944924, 0.0005924699944325674,
             -0.00018477833519944844, 5.572833132801854e-05, -1.6293809427683657e-05,
             4.628125775694126e-06, -1.2793719060901168e-06, 3.449194472536626e-07,
             -9.089744494212673e-08, 2.3307707646560957e-08, -5.7713408268332604e-09,
             1.441543044352475e-09, -3.870885551471406e-10, 9.604098896101272e-11,
             -1.594374776564136e-11, 1.1868237101033715e-12),
    SINGLE: (0.2553955912590027, -0.10679782181978226, 0.04180185869336128, -0.015442009083926678,
             0.005475292913615704, -0.0018604814540594816, 0.0005017828661948442,
             -0.00020055167260579765, 0.00010818205191753805),
}  # fmt: skip
"""exp(x*x) erfc(x) in powers of x - 2, from 1 to where erf rounds to 1; as exact as erf there needs
it, hence hardly at the end."""
TAIL = {
    DOUBLE: (0.25300805826972966, -0.13562110612458156, -0.04756229435345134, 0.12964515870281684,
             -0.11927366341527892, 0.06830802734148714, -0.023770514918700206, 0.00252939186666874,
             0.0018886903416724004, -0.0007798328322407805, -0.00010515943602287633,
             0.00012510300005981437, 4.946135742232364e-06, -2.0114823124926486e-05,
             -7.146613433303261e-07, 3.5046253120967843e-06, 3.085390637906764e-07,
             -6.527385014663462e-07, -6.616909111202908e-08, 1.0964431774353596e-07,
             -1.1878420545583188e-08),
    SINGLE: (0.27697837352752686, -0.09276378899812698, -0.16603010892868042, 0.16404934227466583,
             -0.054226163774728775, -0.008003069087862968, 0.008760166354477406,
             0.0010759462602436543, -0.001482608960941434),
}  # fmt: skip
"""(1 + 2x) exp(x*x) erfc(x) - 1 in powers of (x - pivot) / (x + pivot), from 0.75 to `ZERO`."""
ONE, ZERO, PIVOT = (
    {DOUBLE: 6.0, SINGLE: 4.0},
    {DOUBLE: 28.0, SINGLE: 10.5},
    {DOUBLE: 3.0, SINGLE: 2.0},
)
"""From the first on erf rounds to 1, from the second on erfc to 0."""


def build(f: Format) -> dict[str, Function]:
    steps, real, exp = STEPS[f.name], f.real, EXPONENTIALS[f.name]["exp"]
    reduce, growth, scale = steps.reduce, steps.growth, steps.scale
    zero, one, two = real(0), real(1), real(2)
    near, far, tail = horner(f, NEAR[f]), horner(f, FAR[f]), horner(f, TAIL[f])
    erf_limit, erfc_limit, pivot, bound = real(ONE[f]), real(ZERO[f]), real(PIVOT[f]), real(0.75)

    def erf(x: Any) -> Any:
        a, z = fabs(x), x * x
        small = fma(a, near(z), a)
        # The derivative has the same exponential: where both are computed, it is computed once.
        large = one - exp(-z) * far(select(a > erf_limit, erf_limit, a) - two)
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
