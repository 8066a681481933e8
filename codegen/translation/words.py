"""Machine words of LLVM code: arithmetic of indices, folded where it is known, and what tells that
two are the same."""

from __future__ import annotations

from typing import Any

from llvmlite import ir


def taken_apart(quotient: Any, rest: Any, size: Any) -> bool:
    """Whether two indices are one place along two axes, divided by the size of the latter."""
    if getattr(quotient, "opname", "") != "udiv" or getattr(rest, "opname", "") != "urem":
        return False
    (whole, by), (other, also) = ([a, divisor(b)] for a, b in (quotient.operands, rest.operands))
    return alike(whole, other) and alike(by, also) and alike(by, size)


def divisor(by: Any) -> Any:
    """What `Values.divided` divides by."""
    return by.operands[2] if getattr(by, "opname", "") == "select" else by


def alike(a: Any, b: Any) -> bool:
    """Whether two machine words are computed in the same way."""
    if a is b:
        return True
    if isinstance(a, ir.Constant) or isinstance(b, ir.Constant):
        return (
            isinstance(a, ir.Constant) and isinstance(b, ir.Constant) and a.constant == b.constant
        )
    opname = getattr(a, "opname", "")
    return (
        opname in ("add", "sub", "mul", "udiv", "urem")
        and opname == getattr(b, "opname", "")
        and all(alike(p, q) for p, q in zip(a.operands, b.operands, strict=True))
    )


def plus(builder: Any, a: Any, b: Any) -> Any:
    """a + b of machine words, folded where it is known."""
    if a is None or _is(a, 0):
        return b
    if _is(b, 0):
        return a
    if isinstance(a, ir.Constant) and isinstance(b, ir.Constant):
        return ir.Constant(a.type, a.constant + b.constant)
    return builder.add(a, b)


def times(builder: Any, a: Any, b: Any) -> Any:
    """a * b of machine words, folded where it is known."""
    if _is(a, 1) or _is(b, 0):
        return b
    if _is(b, 1) or _is(a, 0):
        return a
    if isinstance(a, ir.Constant) and isinstance(b, ir.Constant):
        return ir.Constant(a.type, a.constant * b.constant)
    return builder.mul(a, b)


def _is(a: Any, number: int) -> bool:
    return isinstance(a, ir.Constant) and a.constant == number
