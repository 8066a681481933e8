"""SciPy's compiled functions of one to four numbers that have no text of their own here, for
processors alone: a program for a device that calls one is refused (`host_only`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy

from .value import Scalar

ARITY = {
    1: "bei beip ber berp cosdg cotdg dawsn ellipe ellipk ellipkm1 erfcinv erfcx erfi exp1 expi i0 "
       "i0e i1 i1e it2struve0 itmodstruve0 j0 j1 k0 k0e k1 k1e kei keip ker kerp kolmogi "
       "kolmogorov log_ndtr ndtri_exp rgamma sindg spence tandg wrightomega y0 y1 zetac",
    2: "binom ellipeinc ellipkinc elliprc gammainc gammaincc gammainccinv gammaincinv iv ive "
       "jv kv kve modstruve owens_t poch stdtr stdtrit struve yv",
    3: "betainc betaincc betainccinv betaincinv chndtr elliprd elliprf elliprg "
       "log_wright_bessel wright_bessel",
    4: "elliprj hyp2f1",
}  # fmt: skip
"""Names in SciPy, by the number of operands."""
COST = {1: 150, 2: 300, 3: 500, 4: 500}


def _scipy(name: str, count: int) -> Callable[..., Any]:
    """A function of `scipy.special`, which is loaded at its first use."""

    def call(*operands: Any) -> Any:
        return getattr(scipy.special, name)(*operands)

    operands = ", ".join("xyzw"[:count])
    made: Callable[..., Any] = eval(f"lambda {operands}: call({operands})", {"call": call})
    return made


SCALARS = tuple(
    Scalar(name, _scipy(name, count), f"scipy {name}", cost=COST[count])
    for count, names in ARITY.items()
    for name in names.split()
)
