"""Functions of real numbers that have several results, with SciPy's names: integrals of sines,
Fresnel's integrals, Airy's functions, Jacobi's elliptic functions."""

from __future__ import annotations

import math
from typing import Any

from ...ir.dispatch import bind
from ...ir.op import Op, even, odd
from ..elementwise.arithmetic import div, greater, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import sqrt, square
from ..elementwise.trigonometric import cos, cosh, sin, sinc
from .elliptic import ellipkinc_by_m, root
from .family import one_of
from .more_functions import exprel

# --- integrals ------------------------------------------------------------------------------------

sine_op: Op = one_of(
    "sine_integral", "sici", 0, ("x",), (lambda x: sinc(div(x, math.pi)),), parity=odd
)
cosine_op: Op = one_of("cosine_integral", "sici", 1, ("x",), (lambda x: div(cos(x), x),))
sinh_op: Op = one_of(
    "sinh_integral",
    "shichi",
    0,
    ("x",),
    (lambda x: mul(add(exprel(x), exprel(neg(x))), 0.5),),
    parity=odd,
)
cosh_op: Op = one_of(
    "cosh_integral", "shichi", 1, ("x",), (lambda x: div(cosh(x), x),), parity=even
)
fresnel_sine_op: Op = one_of(
    "fresnel_sine", "fresnel", 0, ("x",), (lambda x: sin(mul(square(x), math.pi / 2)),), parity=odd
)
fresnel_cosine_op: Op = one_of(
    "fresnel_cosine",
    "fresnel",
    1,
    ("x",),
    (lambda x: cos(mul(square(x), math.pi / 2)),),
    parity=odd,
)


def sici(x: Any) -> tuple[Any, Any]:
    """The integrals of `sin(t) / t` from 0 to x and of `cos(t) / t` from infinity to |x|, of real
    numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.sici(1.0)]
    [0.946083, 0.337404]
    """
    return bind(sine_op, [x]), bind(cosine_op, [x])


def shichi(x: Any) -> tuple[Any, Any]:
    """The integral of `sinh(t) / t` from 0 to x, and Euler's constant + log|x| + that of
    `(cosh(t) - 1) / t`, of real numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.shichi(1.0)]
    [1.057251, 0.837867]
    """
    return bind(sinh_op, [x]), bind(cosh_op, [x])


def fresnel(z: Any) -> tuple[Any, Any]:
    """Fresnel's integrals of `sin(pi * t**2 / 2)` and `cos(pi * t**2 / 2)` from 0 to z, of real
    numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.fresnel(1.0)]
    [0.438259, 0.779893]
    """
    return bind(fresnel_sine_op, [z]), bind(fresnel_cosine_op, [z])


# --- Airy -----------------------------------------------------------------------------------------

ai_op: Op = one_of("airy_ai", "airy", 0, ("z",), (lambda z: bind(aip_op, [z]),))
aip_op: Op = one_of("airy_aip", "airy", 1, ("z",), (lambda z: mul(z, bind(ai_op, [z])),))
bi_op: Op = one_of("airy_bi", "airy", 2, ("z",), (lambda z: bind(bip_op, [z]),))
bip_op: Op = one_of("airy_bip", "airy", 3, ("z",), (lambda z: mul(z, bind(bi_op, [z])),))


def airy(z: Any) -> tuple[Any, Any, Any, Any]:
    """Airy's functions Ai, Ai', Bi and Bi' of real numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.airy(0.0)]
    [0.355028, -0.258819, 0.614927, 0.448288]
    """
    return tuple(bind(o, [z]) for o in (ai_op, aip_op, bi_op, bip_op))


def _root_above(z: Any) -> Any:
    """sqrt(z), and 0 below 0, where nothing is scaled."""
    above = greater(z, 0)
    return where(above, sqrt(where(above, z, 1.0)), 0.0)


def _grown(z: Any, by: Any, of: Any) -> Any:
    return sub(by, mul(_root_above(z), of))


aie_op: Op = one_of(
    "airye_ai",
    "airye",
    0,
    ("z",),
    (lambda z, out: add(bind(aipe_op, [z]), mul(sqrt(z), out)),),
)
aipe_op: Op = one_of(
    "airye_aip",
    "airye",
    1,
    ("z",),
    (lambda z, out: add(mul(z, bind(aie_op, [z])), mul(sqrt(z), out)),),
)
bie_op: Op = one_of(
    "airye_bi", "airye", 2, ("z",), (lambda z, out: _grown(z, bind(bipe_op, [z]), out),)
)
bipe_op: Op = one_of(
    "airye_bip", "airye", 3, ("z",), (lambda z, out: _grown(z, mul(z, bind(bie_op, [z])), out),)
)


def airye(z: Any) -> tuple[Any, Any, Any, Any]:
    """Airy's functions Ai and Ai' times `exp(2 / 3 * z**1.5)` (NaN below 0), Bi and Bi' times
    `exp(-2 / 3 * z**1.5)` (unscaled below 0), of real numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.airye(1.0)]
    [0.263514, -0.309977, 0.619912, 0.478729]
    """
    return tuple(bind(o, [z]) for o in (aie_op, aipe_op, bie_op, bipe_op))


# --- Jacobi ---------------------------------------------------------------------------------------

amplitude_op: Op = one_of(
    "elliptic_amplitude",
    "ellipj",
    3,
    ("u", "m"),
    (
        lambda m, out: root(out, m),
        lambda m, out: neg(mul(ellipkinc_by_m(out, m), root(out, m))),
    ),
)


def ellipj(u: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Jacobi's elliptic functions sn, cn and dn of u with the parameter m from 0 to 1 (NaN beyond),
    and the amplitude: the phi with `ellipkinc(phi, m) = u`.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.ellipj(1.0, 0.5)]
    [0.803002, 0.595977, 0.823161, 0.932315]
    """
    phi = bind(amplitude_op, [u, m])
    return sin(phi), cos(phi), root(phi, m), phi


OPS = (
    sine_op, cosine_op, sinh_op, cosh_op, fresnel_sine_op, fresnel_cosine_op, ai_op, aip_op, bi_op,
    bip_op, aie_op, aipe_op, bie_op, bipe_op, amplitude_op,
)  # fmt: skip
__all__ = ["airy", "airye", "ellipj", "fresnel", "shichi", "sici"]
