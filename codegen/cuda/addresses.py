"""How addresses become arrays in compiled kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.cuda import cgutils
from numba.cuda.np import arrayobj

from .bridge import primitive
from .support import strided, view


def address(context: Any, builder: Any, kind: Any, value: Any, offset: Any) -> Any:
    if isinstance(kind, types.Array):
        return builder.gep(builder.bitcast(context.make_array(kind)(context, builder, value).data, ir.IntType(8).as_pointer()), [offset])
    # Addresses that kernels are given lie in global memory; saying so here spares the device from finding out at each access.
    pointer = builder.inttoptr(builder.add(value, offset), ir.PointerType(ir.IntType(8), 1))
    return builder.addrspacecast(pointer, ir.IntType(8).as_pointer())


def build(context: Any, builder: Any, array_type: Any, data: Any, shape: Any, strides: Any, itemsize: int) -> Any:
    result = context.make_array(array_type)(context, builder)
    pointer = builder.bitcast(data, ir.PointerType(context.get_data_type(array_type.dtype)))
    arrayobj.populate_array(
        result, data=pointer, shape=shape, strides=strides, itemsize=context.get_constant(types.intp, itemsize), meminfo=None
    )
    return result._getvalue()


def type_view(base: Any, offset: Any, shape: Any, dtype: Any) -> Any:
    wanted = types.UniTuple(types.intp, len(shape)) if len(shape) else shape
    return signature(types.Array(dtype.dtype, len(shape), "C"), base, types.uintp, wanted, dtype)


def lower_view(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array_type = sig.return_type
    itemsize = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    shape = cgutils.unpack_tuple(builder, args[2], len(sig.args[2])) if len(sig.args[2]) else []
    strides: list[Any] = []
    step = context.get_constant(types.intp, itemsize)
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    return build(context, builder, array_type, address(context, builder, sig.args[0], args[0], args[1]), shape, strides, itemsize)


def type_strided(base: Any, shape: Any, strides: Any, dtype: Any) -> Any:
    wanted = types.UniTuple(types.intp, len(shape)) if len(shape) else shape
    return signature(types.Array(dtype.dtype, len(shape), "A"), base, wanted, wanted, dtype)


def lower_strided(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array_type, count = sig.return_type, len(sig.args[1])
    itemsize = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    shape, strides = (cgutils.unpack_tuple(builder, a, count) if count else [] for a in args[1:3])
    data = address(context, builder, sig.args[0], args[0], context.get_constant(types.uintp, 0))
    return build(context, builder, array_type, data, shape, strides, itemsize)


def register() -> None:
    """Make addresses known to Numba's compiler for devices."""
    primitive(view, type_view, lower_view)
    primitive(strided, type_strided, lower_strided)
