"""How one matrix product is computed: by plain loops, by BLAS with a vector, or by `gemm`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.core.typing import signature
from numba.np import numpy_support

from . import gemm
from .bridge import implements, primitive
from .foreign import LETTERS, blas, routine
from .support import acc, index
from .symbols import OWN

NO, YES = ord("N"), ord("T")
KINDS = "lllallallaalllllll"
"""The arguments of the routine of `gemm`."""
BAND = 256
"""The rows of a part of a large product, each of which copies the second operand again."""


def by_loops(m: int, n: int, k: int, turned_a: bool, turned_b: bool) -> bool:
    """Whether plain loops take less time than a call: the one rule, from the table in
    docs/decisions/products.md.

    Where both operands are read along their rows, each element of the result is a vectorised sum of
    its own: that holds on for a few rows.
    """
    return m * n * k <= 64 or (turned_b and not turned_a and (m <= 8 or m * n * k <= 512))


implements(by_loops)(lambda m, n, k, turned_a, turned_b: by_loops)


def in_loops(a: Any, b: Any, out: Any, turned_a: bool, turned_b: bool) -> None:
    raise TypeError("compiled code only")


@implements(in_loops, inline=False)
def _type_loops(a: Any, b: Any, out: Any, turned_a: Any, turned_b: Any) -> Any:
    t = np.bool_ if isinstance(out.dtype, types.Boolean) else numpy_support.as_dtype(out.dtype).type
    zero, start = t(0), index(0)
    boolean = t is np.bool_

    def of_bool(a: Any, b: Any, out: Any, turned_a: bool, turned_b: bool) -> None:
        inner = index(a.shape[0]) if turned_a else index(a.shape[1])
        for i in range(index(0), index(out.shape[0])):
            for j in range(index(0), index(out.shape[1])):
                found = False
                for k in range(index(0), inner):
                    x = a[k, i] if turned_a else a[i, k]
                    y = b[j, k] if turned_b else b[k, j]
                    found = found or (x and y)
                out[i, j] = found

    def body(a: Any, b: Any, out: Any, turned_a: bool, turned_b: bool) -> None:
        inner = index(a.shape[0]) if turned_a else index(a.shape[1])
        rows, columns = index(out.shape[0]), index(out.shape[1])
        if turned_b:
            for i in range(index(0), rows):
                for j in range(index(0), columns):
                    s = zero
                    for k in range(index(0), inner):
                        s = acc(s, t((a[k, i] if turned_a else a[i, k]) * b[j, k]))
                    out[i, j] = s
        else:
            # Rows of the result as sums of rows of b: the innermost loop runs along memory.
            for i in range(index(0), rows):
                for j in range(index(0), columns):
                    out[i, j] = zero
                for k in range(index(0), inner):
                    x = a[k, i] if turned_a else a[i, k]
                    for j in range(index(0), columns):
                        out[i, j] = acc(out[i, j], t(x * b[k, j]))

    assert start == 0
    return of_bool if boolean else body


def _same_place(a: Any, at_a: int, b: Any, at_b: int) -> bool:
    raise TypeError("compiled code only")


def _type_same_place(a: Any, at_a: Any, b: Any, at_b: Any) -> Any:
    return signature(types.boolean, a, types.intp, b, types.intp)


@primitive(_same_place, _type_same_place)
def _lower_same_place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    places = []
    for k in (0, 2):
        array = context.make_array(sig.args[k])(context, builder, args[k])
        places.append(builder.ptrtoint(builder.gep(array.data, [args[k + 1]]), args[1].type))
    return builder.icmp_unsigned("==", *places)


def with_vector(
    a: Any,
    at_a: int,
    b: Any,
    at_b: int,
    out: Any,
    at: int,
    m: int,
    n: int,
    k: int,
    turned_a: bool,
    turned_b: bool,
) -> None:
    raise TypeError("compiled code only")


@implements(with_vector, inline=False)
def _type_with_vector(
    a: Any,
    at_a: Any,
    b: Any,
    at_b: Any,
    out: Any,
    at: Any,
    m: Any,
    n: Any,
    k: Any,
    turned_a: Any,
    turned_b: Any,
) -> Any:
    """Products of a matrix and a vector, by BLAS, which counts columns first: it is asked for the
    transposed product C' = B' A'."""
    gemv = blas(out.dtype, "gemv", "ciisaiaisai")
    t = numpy_support.as_dtype(out.dtype).type
    one, zero = t(1), t(0)

    def body(
        a: Any,
        at_a: int,
        b: Any,
        at_b: int,
        out: Any,
        at: int,
        m: int,
        n: int,
        k: int,
        turned_a: bool,
        turned_b: bool,
    ) -> None:
        if n == 1 and turned_a:
            gemv(NO, m, k, one, a, at_a, m, b, at_b, 1, zero, out, at, 1)
        elif n == 1:
            gemv(YES, k, m, one, a, at_a, k, b, at_b, 1, zero, out, at, 1)
        elif turned_b:
            gemv(YES, k, n, one, b, at_b, k, a, at_a, 1, zero, out, at, 1)
        else:
            gemv(NO, n, k, one, b, at_b, n, a, at_a, 1, zero, out, at, 1)

    return body


def with_matrix(
    a: Any, at_a: int, b: Any, at_b: int, scale: Any, at_scale: int, scaled: int, out: Any, at: int,
    m: int, n: int, k: int, turned_a: bool, turned_b: bool, part: int, until: int, parts: int,
    total: int, next_a: int, next_b: int, next_scale: int,
) -> None:  # fmt: skip
    raise TypeError("compiled code only")


@implements(with_matrix, inline=False)
def _type_with_matrix(
    a: Any, at_a: Any, b: Any, at_b: Any, scale: Any, at_scale: Any, scaled: Any, out: Any, at: Any,
    m: Any, n: Any, k: Any, turned_a: Any, turned_b: Any, part: Any, until: Any, parts: Any,
    total: Any, next_a: Any, next_b: Any, next_scale: Any,
) -> Any:  # fmt: skip
    """Real products are our own; of a matrix with its own transpose half is computed. Complex ones
    are BLAS's, unscaled and undivided."""
    if str(out.dtype) not in gemm.DTYPES:
        call = blas(out.dtype, "gemm", "cciiisaiaisai")
        t = numpy_support.as_dtype(out.dtype).type
        one, zero = t(1), t(0)

        def complex_body(
            a: Any, at_a: int, b: Any, at_b: int, scale: Any, at_scale: int, scaled: int, out: Any,
            at: int, m: int, n: int, k: int, turned_a: bool, turned_b: bool, part: int, until: int,
            parts: int, total: int, next_a: int, next_b: int, next_scale: int,
        ) -> None:  # fmt: skip
            for q in range(total):
                call(
                    YES if turned_b else NO, YES if turned_a else NO, n, m, k, one, b,
                    at_b + q * next_b, k if turned_b else n, a, at_a + q * next_a,
                    m if turned_a else k, zero, out, at + q * m * n, n,
                )  # fmt: skip

        return complex_body
    own = routine(OWN, f"gemm_{out.dtype}", KINDS)
    half, tall, wide_enough = gemm.SYMMETRIC, BAND, 2 * gemm.LARGE[1]

    def body(
        a: Any, at_a: int, b: Any, at_b: int, scale: Any, at_scale: int, scaled: int, out: Any,
        at: int, m: int, n: int, k: int, turned_a: bool, turned_b: bool, part: int, until: int,
        parts: int, total: int, next_a: int, next_b: int, next_scale: int,
    ) -> None:  # fmt: skip
        row_a, step_a = (1, m) if turned_a else (k, 1)
        step_b, col_b = (1, k) if turned_b else (n, 1)
        symmetric = (
            turned_a != turned_b and m == n and next_a == next_b and _same_place(a, at_a, b, at_b)
        )
        # Parts end where blocks and vectors do; all of them together are one product, which copies
        # its operands once. With weights each part remains one: `lift` looks at its numbers.
        height, width = m, n
        bands = (m + tall - 1) // tall
        if part == 0 and until == parts and scaled == 0:
            until = 1
        elif m < n:
            width = ((n + parts - 1) // parts + 47) // 48 * 48
        elif parts >= bands and n >= wide_enough and not symmetric:
            height, columns = tall, parts // bands
            width = ((n + columns - 1) // columns + 47) // 48 * 48
        else:
            height = ((m + parts - 1) // parts + 47) // 48 * 48
        across = (n + width - 1) // width if width > 0 else 1
        for number in range(part, until):
            top, left = number // across * height, number % across * width
            rows, columns = min(height, m - top), min(width, n - left)
            if rows > 0 and columns > 0:
                skip = top if symmetric else left
                own(
                    rows, n - skip if symmetric else columns, k, a, at_a + top * row_a, row_a,
                    step_a, b, at_b + skip * col_b, step_b, col_b, scale, at_scale, out,
                    at + top * n + skip, n, scaled | half if symmetric else scaled, total, next_a,
                    next_b, next_scale, m * n,
                )  # fmt: skip

    return body


def has_blas(*arrays: Any) -> bool:
    return len({a.dtype for a in arrays}) == 1 and str(arrays[0].dtype) in LETTERS
