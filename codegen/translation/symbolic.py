"""Values of the code being compiled, with Python's operators: a function run on them writes LLVM
instructions where it stands.

The vector functions are written in these. Numba would infer types for each of them and compile it
on its own, 20 to 50 ms a function; running it takes about one, and there is no call left to inline.
Operands have one type: nothing is promoted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

DOUBLE, SINGLE = ir.DoubleType(), ir.FloatType()
KINDS = {np.float64: DOUBLE, np.float32: SINGLE, np.int64: ir.IntType(64), np.int32: ir.IntType(32)}
OPPOSITE = {
    DOUBLE: ir.IntType(64),
    SINGLE: ir.IntType(32),
    ir.IntType(64): DOUBLE,
    ir.IntType(32): SINGLE,
}


def lift(x: Any) -> Any:
    """The LLVM value of an operand, which may be a NumPy scalar."""
    return x.ir if isinstance(x, LlvmScalar) else ir.Constant(KINDS[type(x)], x.item())


class LlvmScalar:
    """A float, a signed integer or a truth value that is known when the code runs."""

    __slots__ = ("builder", "ir")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.ir = value

    def _do(self, of_float: str, of_integer: str, x: Any, y: Any) -> LlvmScalar:
        name = of_float if self.ir.type in (DOUBLE, SINGLE) else of_integer
        return LlvmScalar(self.builder, getattr(self.builder, name)(lift(x), lift(y)))

    def _compare(self, sign: str, other: Any) -> LlvmScalar:
        b, x, y = self.builder, self.ir, lift(other)
        if self.ir.type not in (DOUBLE, SINGLE):
            return LlvmScalar(b, b.icmp_signed(sign, x, y))
        # Nothing is equal to NaN, and everything different from it.
        return LlvmScalar(b, (b.fcmp_unordered if sign == "!=" else b.fcmp_ordered)(sign, x, y))

    def __add__(self, other: Any) -> LlvmScalar:
        return self._do("fadd", "add", self, other)

    def __radd__(self, other: Any) -> LlvmScalar:
        return self._do("fadd", "add", other, self)

    def __sub__(self, other: Any) -> LlvmScalar:
        return self._do("fsub", "sub", self, other)

    def __rsub__(self, other: Any) -> LlvmScalar:
        return self._do("fsub", "sub", other, self)

    def __mul__(self, other: Any) -> LlvmScalar:
        return self._do("fmul", "mul", self, other)

    def __rmul__(self, other: Any) -> LlvmScalar:
        return self._do("fmul", "mul", other, self)

    def __truediv__(self, other: Any) -> LlvmScalar:
        return self._do("fdiv", "", self, other)

    def __rtruediv__(self, other: Any) -> LlvmScalar:
        return self._do("fdiv", "", other, self)

    def __and__(self, other: Any) -> LlvmScalar:
        return self._do("", "and_", self, other)

    def __or__(self, other: Any) -> LlvmScalar:
        return self._do("", "or_", self, other)

    def __lshift__(self, other: Any) -> LlvmScalar:
        return self._do("", "shl", self, other)

    def __rshift__(self, other: Any) -> LlvmScalar:
        return self._do("", "ashr", self, other)

    def __invert__(self) -> LlvmScalar:
        return LlvmScalar(self.builder, self.builder.not_(self.ir))

    def __neg__(self) -> LlvmScalar:
        b = self.builder
        return LlvmScalar(
            b, b.fneg(self.ir) if self.ir.type in (DOUBLE, SINGLE) else b.neg(self.ir)
        )

    def __lt__(self, other: Any) -> LlvmScalar:
        return self._compare("<", other)

    def __le__(self, other: Any) -> LlvmScalar:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> LlvmScalar:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> LlvmScalar:
        return self._compare(">=", other)

    def __eq__(self, other: object) -> LlvmScalar:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: object) -> LlvmScalar:  # type: ignore[override]
        return self._compare("!=", other)

    def __bool__(self) -> bool:
        raise TypeError("what this is is not known before the code runs; use select")


def _intrinsic(name: str, *operands: Any) -> LlvmScalar:
    first = next(x for x in operands if isinstance(x, LlvmScalar))
    values = [lift(x) for x in operands]
    kind = first.ir.type
    callee = first.builder.module.declare_intrinsic(
        f"llvm.{name}", [kind], ir.FunctionType(kind, [kind] * len(values))
    )
    return LlvmScalar(first.builder, first.builder.call(callee, values))


def fma(x: Any, y: Any, z: Any) -> LlvmScalar:
    """`x * y + z` rounded once."""
    return _intrinsic("fma", x, y, z)


def sqrt(x: LlvmScalar) -> LlvmScalar:
    return _intrinsic("sqrt", x)


def floor(x: LlvmScalar) -> LlvmScalar:
    return _intrinsic("floor", x)


def fabs(x: LlvmScalar) -> LlvmScalar:
    return _intrinsic("fabs", x)


def copysign(x: Any, y: Any) -> LlvmScalar:
    return _intrinsic("copysign", x, y)


def select(condition: LlvmScalar, x: Any, y: Any) -> LlvmScalar:
    """`x` where the condition holds, else `y`; both are evaluated and no branch is made."""
    return LlvmScalar(condition.builder, condition.builder.select(condition.ir, lift(x), lift(y)))


def bits(x: LlvmScalar) -> LlvmScalar:
    """The bits of a float as a signed integer of its width."""
    return LlvmScalar(x.builder, x.builder.bitcast(x.ir, OPPOSITE[x.ir.type]))


def without_sign(x: LlvmScalar, places: Any) -> LlvmScalar:
    """`x >> places` of the bits as a number without a sign, which zeros come in front of: one
    instruction for vectors of any width, where `>>` takes three on many processors."""
    return LlvmScalar(x.builder, x.builder.lshr(x.ir, lift(places)))


from_bits = bits
"""The float whose bits are the given integer."""


def two_sum(x: Any, y: Any) -> tuple[LlvmScalar, LlvmScalar]:
    """The rounded sum and what rounding lost."""
    s = x + y
    d = s - x
    return s, (x - (s - d)) + (y - d)


def fast_sum(x: Any, y: Any) -> tuple[LlvmScalar, LlvmScalar]:
    """The same for |x| >= |y|."""
    s = x + y
    return s, y - (s - x)


def two_product(x: Any, y: Any) -> tuple[LlvmScalar, LlvmScalar]:
    """The rounded product and what rounding lost."""
    p = x * y
    return p, fma(x, y, -p)
