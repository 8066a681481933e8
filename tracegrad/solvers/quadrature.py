"""Integrals of functions by adaptive quadrature, and their derivatives.

The value comes from Gauss' and Kronrod's rules of 10 and 21 points (R. Piessens et al., "QUADPACK",
1983) on intervals of which the worst is halved until the estimated error is small enough. Before
that x = a + (b - a) s**2 (3 - 2 s) is substituted, which makes singular ends (roots, logarithms)
smooth. How the value was found is not differentiated: a change of parameters moves the integral by
the integral of the change of the integrand, which finds intervals of its own, and a change of the
limits by the values there (Leibniz). These are integrals again: all orders come of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import ops
from ..control.region import closed, strong
from ..control.repeat import loop_while
from ..custom.rules import implicit_op, stop_gradient
from ..derivatives.forward import jvp
from ..derivatives.reverse import vjp
from ..derivatives.vmap import vmap
from ..dtypes import FLOAT64, is_differentiable
from ..ir.dispatch import bind
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.op import Op
from ..ir.trace import user_line
from ..tape.engine import zeros
from ..tape.mode import MODE
from ..tensor import Boxed
from ..transforms.tracing import leaf_type, plain
from ..types import ArrayType
from .vectors import Layout, traced

_HALF = (
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452,
    0.930157491355708226001207180059508, 0.865063366688984510732096688423493,
    0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
    0.294392862701460198131126603103866, 0.148874338981631210884826001129720,
)  # fmt: skip
_KRONROD = (
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390,
    0.054755896574351996031381300244580, 0.075039674810919952767043140916190,
    0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707,
    0.142775938577060080797094273138717, 0.147739104901338491374841515972068,
)  # fmt: skip
_GAUSS = (
    0.066671344308688137593568809893332, 0.149451349150580593145863396957658,
    0.219086362515982043995534934228163, 0.269266719309996355091226921569469,
    0.295524224714752870173815619188769,
)  # fmt: skip
NODES = np.array([*_HALF, 0.0, *[-x for x in reversed(_HALF)]])
"""From 1 down to -1; every second one, from the second on, is Gauss'."""
KRONROD = np.array([*_KRONROD, 0.149445554002916905664936468389821, *reversed(_KRONROD)])
GAUSS = np.zeros(21)
GAUSS[1::2] = [*_GAUSS, *reversed(_GAUSS)]
ROUNDING = 100 * np.finfo(float).eps
"""Errors of this fraction of the integral of |f| are those of rounding."""


class How(NamedTuple):
    """What is asked of an integral: errors, absolute or relative, and the most intervals."""

    who: str
    epsabs: float
    epsrel: float
    limit: int


def integral(f: Callable[[Any], Any], a: Any, b: Any, how: How) -> tuple[Any, Any]:
    """The integral of `f`, which takes a number and gives an array, from a to b, both finite, and
    the estimate of its error, of which there is no derivative. RuntimeError where the error does
    not become small enough with so many intervals."""
    where = Layout(np.float64(0.0), how.who)
    region = traced(f, where, how.who)
    if len(region.graph.output_types) != 1:
        raise TypeError(f"{user_line()}: {how.who}: func must return a number or an array")
    kind = region.graph.output_types[0]
    result = Layout(ops.zeros(kind.shape, dtype=kind.dtype if kind.dtype.kind in "fc" else float),
                    f"{how.who}: what func returns")  # fmt: skip
    captures = region.captures
    types = [ArrayType(FLOAT64, ()), *map(strong, captures)]

    def vector(x: Any, *given: Any) -> list[Any]:
        (found,) = evaluate(region.graph, [x, *given])
        return [result.pack([found if kind.dtype.kind in "fc" else ops.convert(found, FLOAT64)])]

    graph = closed("integrand", vector, types, region.graph)
    ends = [ops.convert(end, FLOAT64) for end in (a, b)]
    value, error = _found(graph, *map(_constant, [*ends, *captures]), how=how)
    if any(isinstance(x, Boxed) for x in (*ends, *captures)):
        inputs = [stop_gradient(value), *ends, *captures]
        same = closed("integral", lambda *v: [v[0]], list(map(strong, inputs)), graph)
        value = bind(implicit_op, inputs, {"graph": same, "rule": Leibniz(graph, how)})[0]
    return result.unpack(value)[0], result.unpack(error)[0]


def _constant(x: Any) -> Any:
    return plain(stop_gradient(x)) if isinstance(x, Boxed) else x


def _found(graph: Graph, a: Any, b: Any, *captures: Any, how: How) -> tuple[Any, Any]:
    """The integral of a vector and its errors, no derivative intended."""

    def at(s: Any, a: Any, b: Any, *given: Any) -> Any:
        x = a + (b - a) * (s * s * (3.0 - 2.0 * s))
        return evaluate(graph, [x, *given])[0] * ((b - a) * (6.0 * s * (1.0 - s)))

    def line(s: Any, *given: Any) -> list[Any]:
        return [vmap(lambda one: at(one, *given))(s)]

    number = ArrayType(FLOAT64, ())
    nodes = [ArrayType(FLOAT64, (len(NODES),)), number, number, *map(strong, captures)]
    values = closed("nodes", line, nodes, graph)

    def rule(left: Any, right: Any) -> tuple[Any, Any, Any]:
        """Integral, error and integral of the size, of one interval (QUADPACK's estimate)."""
        half = 0.5 * (right - left)
        (y,) = evaluate(values, [0.5 * (left + right) + half * NODES, a, b, *captures])
        y = ops.convert(y, FLOAT64)
        found, gauss = half * (KRONROD @ y), half * (GAUSS @ y)
        size = half * (KRONROD @ ops.absolute(y))
        spread = half * (KRONROD @ ops.absolute(y - found / (2.0 * half)))
        gap = ops.absolute(found - gauss)
        ratio = 200.0 * gap / ops.where(spread > 0, spread, 1.0)
        error = ops.where(spread > 0, spread * ops.minimum(1.0, ratio * ops.sqrt(ratio)), gap)
        return found, ops.maximum(error, 50 * np.finfo(float).eps * size), size

    places = np.arange(how.limit)

    def put(into: Any, place: Any, x: Any) -> Any:
        chosen = places == place
        return ops.where(chosen if leaf_type(into).ndim == 1 else chosen[:, None], x, into)

    def going(state: Any) -> Any:
        *_, found, errors, sizes, _ = state
        error = ops.max(ops.sum(errors, 0))
        asked = ops.maximum(how.epsabs, how.epsrel * ops.max(ops.absolute(ops.sum(found, 0))))
        return (error > asked) & (error > ROUNDING * ops.max(ops.sum(sizes, 0)))

    def halved(state: Any) -> Any:
        lefts, rights, *kept, count = state
        worst = ops.argmax(ops.max(kept[1], 1))
        left, right = lefts[worst], rights[worst]
        middle = 0.5 * (left + right)
        one, other = rule(left, middle), rule(middle, right)
        kept = [put(put(k, worst, x), count, y) for k, x, y in zip(kept, one, other, strict=True)]
        return (
            put(put(lefts, count, middle), worst, left),
            put(put(rights, count, right), worst, middle),
            *kept,
            count + 1,
        )

    with np.errstate(all="ignore"):
        first = rule(np.float64(0.0), np.float64(1.0))
        if leaf_type(first[0]).shape == (0,):
            return first[0], first[1]
        empty = [ops.zeros((how.limit, *leaf_type(x).shape)) for x in first]
        start = (
            np.zeros(how.limit),
            np.where(places == 0, 1.0, 0.0),
            *[put(e, 0, x) for e, x in zip(empty, first, strict=True)],
            np.int64(1),
        )
        failure = (
            f"{how.who}: the error is not within epsabs={how.epsabs:.3g} or "
            f"epsrel={how.epsrel:.3g} with limit={how.limit} intervals: name the places where func "
            "is not smooth (points=), allow more intervals or a larger error, or the integral may "
            "not exist"
        )
        state = loop_while(going, halved, start, how.limit - 1, failure)
    return ops.sum(state[2], 0), ops.sum(state[3], 0)


@dataclass(frozen=True, eq=False)
class Leibniz:
    """Derivatives of an integral with inputs (value, a, b, parameters...) of a graph over (x,
    parameters...)."""

    graph: Graph
    how: How
    op: ClassVar[Op] = implicit_op

    def __repr__(self) -> str:
        return self.how.who

    def _at(self, x: Any, parameters: Sequence[Any]) -> Any:
        return evaluate(self.graph, [x, *parameters])[0]

    def _along(self, x: Any, parameters: Sequence[Any], moving: Sequence[int]) -> Any:
        """The integrand at x as a function of some of the parameters."""

        def function(*given: Any) -> Any:
            full = list(parameters)
            for k, value in zip(moving, given, strict=True):
                full[k] = value
            return self._at(x, full)

        return function

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return (values[0],)

    def jvp(self, tangents: Any, inputs: Any, outs: Any) -> list[Any]:
        a, b, *parameters = inputs[1:]
        moving = [
            k
            for k, t in enumerate(tangents[3:])
            if t is not None and is_differentiable(leaf_type(parameters[k]).dtype)
        ]
        parts = []
        if moving:
            primals = tuple([parameters[k] for k in moving])
            directions = tuple([tangents[3 + k] for k in moving])

            def change(x: Any) -> Any:
                return jvp(self._along(x, parameters, moving), primals, directions)[1]

            parts.append(integral(change, a, b, self.how)[0])
        if tangents[2] is not None:
            parts.append(self._at(b, parameters) * tangents[2])
        if tangents[1] is not None:
            parts.append(-(self._at(a, parameters) * tangents[1]))
        return [sum(parts[1:], parts[0]) if parts else None]

    def vjp(self, cts: Any, inputs: Any, outs: Any, wanted: Any) -> list[Any]:
        if not MODE.enabled:
            # As of `implicit`: the derivatives inside of this rule are on.
            cts, inputs = (
                [x._untracked() if isinstance(x, Boxed) else x for x in xs] for xs in (cts, inputs)
            )
        a, b, *parameters = inputs[1:]
        ct = cts[0]
        found: list[Any] = [zeros(strong(x)) if w else None
                            for x, w in zip(inputs, wanted, strict=True)]  # fmt: skip
        if ct is None:
            return found
        moving = [
            k
            for k, w in enumerate(wanted[3:])
            if w and is_differentiable(leaf_type(parameters[k]).dtype)
        ]
        if moving:
            primals = [parameters[k] for k in moving]
            layout = Layout(primals, self.how.who)

            def change(x: Any) -> Any:
                pull = vjp(self._along(x, parameters, moving), *primals)[1]
                return layout.pack(list(pull(ct)))

            total = layout.unpack(integral(change, a, b, self.how)[0])
            for k, part in zip(moving, total, strict=True):
                found[3 + k] = part
        if wanted[2]:
            found[2] = ops.sum(self._at(b, parameters) * ct)
        if wanted[1]:
            found[1] = -ops.sum(self._at(a, parameters) * ct)
        return found


__all__ = ["How", "integral"]
