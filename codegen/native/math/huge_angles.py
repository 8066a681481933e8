"""Quarter turns of huge angles, by multiplication with as many bits of 2/pi as count (after Payne
and Hanek): slow, and called rarely."""

from __future__ import annotations

from llvmlite import ir

from ...translation.symbolic import OPPOSITE, LlvmScalar, fast_sum, two_product, two_sum
from .formats import DOUBLE, PI

LEADING = 64
"""Zero bits in front of those of 2/pi, for angles that are not huge."""
WORDS = 21
TABLE = [
    int(2 / PI * 2 ** (64 * WORDS - LEADING)) >> (64 * k) & (2**64 - 1)
    for k in reversed(range(WORDS))
]
NAME = "tracegrad_two_over_pi"
WORD, INDEX, PRODUCT = ir.IntType(64), ir.IntType(32), ir.IntType(128)
CHUNKS = ((80, 48), (32, 48), (0, 32))
"""The product's parts, by first bit and number, that are converted to floats one by one."""


def reduce(x: LlvmScalar) -> tuple[LlvmScalar, LlvmScalar, LlvmScalar]:
    """The number of quarter turns nearest to a finite float64 without its sign, modulo 4, and what
    is left in radians, in two parts.

    With x = m * 2**e the bits of 2/pi worth 4 and more after multiplication by 2**e are whole turns
    of every integer m. Of the product of m with the 192 bits below them 128 are kept, down to
    2**-126; no float64 is nearer to a multiple of pi/2 than 2**-62.
    """
    b = x.builder
    module = b.module
    table = module.globals.get(NAME)
    if table is None:
        table = ir.GlobalVariable(module, ir.ArrayType(WORD, WORDS), NAME)
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(
            table.value_type, [ir.Constant(WORD, word) for word in TABLE]
        )
    pattern = b.bitcast(x.ir, OPPOSITE[x.ir.type])
    exponent = b.and_(b.lshr(pattern, WORD(52)), WORD(2047))
    significand = b.or_(b.and_(pattern, WORD(2**52 - 1)), WORD(2**52))
    # The first bit that counts is worth 2**1 after multiplication by 2**e, e = exponent - 1075.
    first = b.add(exponent, WORD(LEADING - 1075 - 2))
    start, offset = b.lshr(first, WORD(6)), b.and_(first, WORD(63))
    words = [
        b.load(b.gep(table, [INDEX(0), b.add(start, WORD(k))], inbounds=True)) for k in range(4)
    ]
    join = module.declare_intrinsic("llvm.fshl", [WORD], ir.FunctionType(WORD, [WORD] * 3))
    top, middle, bottom = (b.call(join, [words[k], words[k + 1], offset]) for k in range(3))
    m = b.zext(significand, PRODUCT)
    product = b.shl(b.zext(b.mul(top, significand), PRODUCT), PRODUCT(64))
    product = b.add(product, b.mul(b.zext(middle, PRODUCT), m))
    product = b.add(product, b.lshr(b.mul(b.zext(bottom, PRODUCT), m), PRODUCT(64)))
    turns = LlvmScalar(b, b.trunc(b.lshr(b.add(product, PRODUCT(2**125)), PRODUCT(126)), WORD))
    # The rest as a signed fraction, in chunks that a float holds exactly.
    rest = b.shl(product, PRODUCT(2))
    parts: list[LlvmScalar] = []
    for place, count in CHUNKS:
        chunk = b.trunc(b.ashr(rest, PRODUCT(place)), WORD)
        chunk = b.sitofp(b.and_(chunk, WORD(2**count - 1)) if parts else chunk, x.ir.type)
        parts.append(LlvmScalar(b, chunk) * DOUBLE.real(2.0 ** (place - 128)))
    s, first_lost = two_sum(parts[0], parts[1])
    high, low = fast_sum(s, first_lost + parts[2])
    quarter, quarter_rest = DOUBLE.parts(PI / 2, 2)
    r, r_rest = two_product(high, quarter)
    r_rest = r_rest + (high * quarter_rest + low * quarter)
    return turns, r, r_rest
