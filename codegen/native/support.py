"""What every printed kernel uses besides arithmetic: index arithmetic, arena views, accumulators,
bits, selection.

Each function has a Python body and a native form, so that printed source also runs without being
compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.np import arrayobj

from .bridge import compiled, primitive

F = TypeVar("F", bound=Callable[..., Any])


def index(value: Any) -> int:
    """An integer as an unsigned index: signed ones make Numba test for negative indices, which
    blocks vectorisation. In Python one below 0 is the number that its 64 bits are, which checks of
    places compare."""
    return int(value) & (1 << 64) - 1


def _type_index(value: Any) -> Any:
    return (
        signature(types.uintp, value) if isinstance(value, (types.Integer, types.Boolean)) else None
    )


@primitive(index, _type_index)
def _lower_index(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.cast(builder, args[0], sig.args[0], types.uintp)


apart = range
"""The numbers of steps that may be computed side by side: none reads or writes an element that
another one writes."""


def signed(value: Any) -> Any:
    """An index as an int64 value."""
    return np.uint64(int(value) & (1 << 64) - 1).astype(np.int64)


def _type_signed(value: Any) -> Any:
    return (
        signature(types.int64, value) if isinstance(value, (types.Integer, types.Boolean)) else None
    )


@primitive(signed, _type_signed)
def _lower_signed(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.cast(builder, args[0], sig.args[0], types.int64)


def view(arena: Any, offset: Any, shape: tuple[Any, ...], dtype: Any) -> Any:
    """`shape` elements of `dtype` in C order, `offset` bytes into the arena; nothing is allocated
    and nothing is counted."""
    return np.ndarray(
        shape, dtype, buffer=arena if arena.flags.c_contiguous else arena.T, offset=int(offset)
    )


def _type_view(arena: Any, offset: Any, shape: Any, dtype: Any) -> Any:
    if not isinstance(shape, types.BaseTuple) or not isinstance(
        dtype, (types.NumberClass, types.DType)
    ):
        return None
    wanted = types.UniTuple(types.intp, len(shape)) if len(shape) else shape
    result = types.Array(dtype.dtype, len(shape), "C")
    return signature(result, arena, types.uintp, wanted, dtype)


@primitive(view, _type_view)
def _lower_view(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    arena_type, _, shape_type, _ = sig.args
    arena = context.make_array(arena_type)(context, builder, args[0])
    array_type = sig.return_type
    element = context.get_data_type(array_type.dtype)
    data = builder.bitcast(builder.gep(arena.data, [args[1]]), ir.PointerType(element))
    shape = cgutils.unpack_tuple(builder, args[2], len(shape_type)) if len(shape_type) else []
    itemsize = context.get_abi_sizeof(element)
    strides: list[Any] = []
    step = context.get_constant(types.intp, itemsize)
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent, flags=["nsw"])
    result = context.make_array(array_type)(context, builder)
    arrayobj.populate_array(
        result, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None
    )
    return result._getvalue()


def arithmetic(*, contract: bool = False, flush_denormals: bool = False) -> Callable[[F], F]:
    """Says of a kernel how its native code computes; Python computes as ever.

    contract           a product that is only added to something is not rounded
    flush_denormals    denormal numbers are zeros, read and written
    """
    return lambda function: function


@compiled
def grown(x: Any, length: Any) -> Any:
    """An array with room for `length` slices: itself, or one of twice that room with the same
    content."""
    if len(x) >= length:
        return x
    made = np.empty((2 * int(length), *x.shape[1:]), x.dtype)
    made[: len(x)] = x
    return made


def acc(total: Any, value: Any) -> Any:
    """`total + value` where the order of additions does not matter: this one addition may be
    reassociated."""
    return type(total)(total + value) if isinstance(total, np.generic) else total + value


def _type_acc(total: Any, value: Any) -> Any:
    return signature(total, total, total) if isinstance(total, types.Number) else None


ANY_ORDER = ("reassoc", "contract")
"""Not `nsz`, with which LLVM takes common factors out of sums: then sum(x * 1e-10) overflows where
sum(x) does."""


@primitive(acc, _type_acc)
def _lower_acc(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = sig.return_type
    if isinstance(kind, types.Float):
        return builder.fadd(args[0], args[1], flags=ANY_ORDER)
    if isinstance(kind, types.Complex):
        a, b = (context.make_complex(builder, kind, value) for value in args)
        c = context.make_complex(builder, kind)
        c.real = builder.fadd(a.real, b.real, flags=ANY_ORDER)
        c.imag = builder.fadd(a.imag, b.imag, flags=ANY_ORDER)
        return c._getvalue()
    return builder.add(args[0], args[1])


def wide() -> None:
    """Ask for 512-bit registers in the function that calls this; no effect elsewhere."""


@primitive(wide, lambda: signature(types.none))
def _lower_wide(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    # llvmlite knows no key="value" attributes; its attribute set prints whatever text it holds.
    set.add(builder.function.attributes, '"prefer-vector-width"="512"')
    return context.get_dummy_value()


def outlined() -> None:
    """Keep the function that calls this a function: compiled once, not into each caller."""


@primitive(outlined, lambda: signature(types.none))
def _lower_outlined(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    set.add(builder.function.attributes, "noinline")
    return context.get_dummy_value()


def select(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, else `y`; both are evaluated and no branch is made."""
    return x if condition else y


def _type_select(condition: Any, x: Any, y: Any) -> Any:
    if not all(isinstance(t, (types.Number, types.Boolean)) for t in (condition, x, y)):
        return None
    common = unify(x, y)
    return signature(common, types.boolean, common, common)


def unify(x: Any, y: Any) -> Any:
    """The type that both are converted to, with NumPy's promotion."""
    if x == y:
        return types.unliteral(x)
    from_dtype = np.promote_types(str(types.unliteral(x)), str(types.unliteral(y)))
    return getattr(types, from_dtype.name) if from_dtype.name != "bool" else types.boolean


@primitive(select, _type_select)
def _lower_select(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    condition, x, y = args
    if isinstance(sig.return_type, types.Complex):
        a, b = (context.make_complex(builder, sig.return_type, value) for value in (x, y))
        c = context.make_complex(builder, sig.return_type)
        c.real, c.imag = (
            builder.select(condition, a.real, b.real),
            builder.select(condition, a.imag, b.imag),
        )
        return c._getvalue()
    return builder.select(condition, x, y)


def fma(x: Any, y: Any, z: Any) -> Any:
    """`x * y + z` rounded once (in Python: exactly only for float32; the native math library alone
    relies on it)."""
    return type(x)(np.longdouble(x) * np.longdouble(y) + np.longdouble(z))


def _type_fma(x: Any, y: Any, z: Any) -> Any:
    return signature(x, x, x, x) if isinstance(x, types.Float) else None


@primitive(fma, _type_fma)
def _lower_fma(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fma(*args)


def bits(value: Any) -> Any:
    """The bits of a float as a signed integer of its width."""
    return value.view(np.int32 if value.dtype.itemsize == 4 else np.int64)


def _type_bits(value: Any) -> Any:
    return (
        signature({32: types.int32, 64: types.int64}[value.bitwidth], value)
        if isinstance(value, types.Float)
        else None
    )


@primitive(bits, _type_bits)
def _lower_bits(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.bitcast(args[0], ir.IntType(sig.return_type.bitwidth))


def from_bits(value: Any) -> Any:
    """The float whose bits are the given int32 or int64."""
    return value.view(np.float32 if value.dtype.itemsize == 4 else np.float64)


def _type_from_bits(value: Any) -> Any:
    kinds = {32: types.float32, 64: types.float64}
    return (
        signature(kinds[value.bitwidth], value)
        if isinstance(value, types.Integer) and value.bitwidth in kinds
        else None
    )


@primitive(from_bits, _type_from_bits)
def _lower_from_bits(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.bitcast(args[0], context.get_value_type(sig.return_type))


def _llvm_unary(name: str, function: Any) -> None:
    """A float function that is one LLVM intrinsic (and so vectorises)."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = args[0].type
        callee = builder.module.declare_intrinsic(name, [kind])
        return builder.call(callee, [args[0]])

    primitive(function, lambda x: signature(x, x) if isinstance(x, types.Float) else None)(lower)


def rint_float(x: Any) -> Any:
    return np.rint(x)


def floor_float(x: Any) -> Any:
    return np.floor(x)


def ceil_float(x: Any) -> Any:
    return np.ceil(x)


def trunc_float(x: Any) -> Any:
    return np.trunc(x)


def sqrt_float(x: Any) -> Any:
    return np.sqrt(x)


def fabs_float(x: Any) -> Any:
    return np.abs(x)


_llvm_unary("llvm.rint", rint_float)
_llvm_unary("llvm.floor", floor_float)
_llvm_unary("llvm.ceil", ceil_float)
_llvm_unary("llvm.trunc", trunc_float)
_llvm_unary("llvm.sqrt", sqrt_float)
_llvm_unary("llvm.fabs", fabs_float)


def copysign_float(x: Any, y: Any) -> Any:
    return np.copysign(x, y)


@primitive(copysign_float, lambda x, y: signature(x, x, x) if isinstance(x, types.Float) else None)
def _lower_copysign(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = args[0].type
    callee = builder.module.declare_intrinsic(
        "llvm.copysign", [kind], ir.FunctionType(kind, [kind, kind])
    )
    return builder.call(callee, list(args))
