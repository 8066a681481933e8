"""asin, acos, atan and atan2 without branches: one polynomial on half of the range, identities for
the other half."""

from __future__ import annotations

from typing import Any

from ...translation.symbolic import bits, copysign, fabs, fma, select, sqrt
from .formats import DOUBLE, FORMATS, PI, SINGLE, Format, Function, Table, horner

ATAN = {
    DOUBLE: (-0.3333333333333307, 0.19999999999951518, -0.14285714282577885, 0.11111111007097377,
             -0.09090907004114411, 0.07692279851145081, -0.06666404146022685, 0.058805282990097005,
             -0.052535205507700494, 0.04722328532951237, -0.04219194435565956, 0.036642206805125914,
             -0.029904300024575024, 0.0219853654465762, -0.01390101671267638, 0.007196810062514597,
             -0.0028850687613339154, 0.000831372466368736, -0.0001521713423412761,
             1.3226080080877766e-05),
    SINGLE: (-0.33333298563957214, 0.19998548924922943, -0.14264245331287384, 0.10952199250459671,
             -0.08403487503528595, 0.05795818194746971, -0.031178398057818413, 0.010914886370301247,
             -0.0017936814110726118),
}  # fmt: skip
"""(atan(t) - t) / t**3 in powers of t**2, for t from 0 to 1."""
ASIN = {
    DOUBLE: (0.1666666666666676, 0.07499999999970851, 0.044642857174571594, 0.030381942709442483,
             0.022372214946313574, 0.01735161268405326, 0.013980813180911954, 0.011398968077240312,
             0.010779960314759814, 0.0037074476858476603, 0.021705056505793137,
             -0.020995847917363433, 0.03262670575270874),
    SINGLE: (0.16666752099990845, 0.07495301216840744, 0.045470014214515686, 0.024180877953767776,
             0.042164575308561325),
}  # fmt: skip
"""(asin(t) - t) / t**3 in powers of t**2, for t from 0 to 1/2."""


def build(f: Format) -> dict[str, Function]:
    real, integer = f.real, f.integer
    zero, one, half, two, no_bit = real(0), real(1), real(0.5), real(2), integer(0)
    (pi, pi_rest), (quarter, quarter_rest) = f.parts(PI, 2), f.parts(PI / 2, 2)
    atan_tail, asin_tail = horner(f, ATAN[f]), horner(f, ASIN[f])

    def atan(x: Any) -> Any:
        a = fabs(x)
        steep = a > one
        t = select(steep, one, a) / select(steep, a, one)
        z = t * t
        v = fma(t * z, atan_tail(z), t)
        return copysign(select(steep, quarter - (v - quarter_rest), v), x)

    def atan2(y: Any, x: Any) -> Any:
        a, b = fabs(y), fabs(x)
        steep, behind = a > b, bits(x) < no_bit
        t = select(steep, b, a)
        # Equal terms may both be zero or infinite.
        t = select(a == b, select(a == zero, zero, one), t / select(steep, a, b))
        z = t * t
        v = fma(t * z, atan_tail(z), t)
        turn = select(steep, quarter, select(behind, pi, zero))
        rest = select(steep, quarter_rest, select(behind, pi_rest, zero))
        return copysign(turn + (select(steep == behind, v, -v) + rest), y)

    def chord(a: Any) -> Any:
        """asin(a) for a up to 1/2, beyond it asin(sqrt((1 - a) / 2)), which is half of acos(a)."""
        far = a > half
        z = select(far, (one - a) * half, a * a)
        t = select(far, sqrt(z), a)
        return far, fma(t * z, asin_tail(z), t)

    def asin(x: Any) -> Any:
        far, v = chord(fabs(x))
        return copysign(select(far, quarter - (two * v - quarter_rest), v), x)

    def acos(x: Any) -> Any:
        far, v = chord(fabs(x))
        near = quarter - (copysign(v, x) - quarter_rest)
        return select(far, select(x > zero, two * v, pi - (two * v - pi_rest)), near)

    return {"asin": asin, "acos": acos, "atan": atan, "atan2": atan2}


FUNCTIONS: Table = {f.name: build(f) for f in FORMATS}
