"""How addresses become arrays in compiled kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.cuda import cgutils
from numba.cuda.np import arrayobj

from .bridge import primitive
from .support import aligned, load_2, load_4, store_2, store_4, strided, view


def address(context: Any, builder: Any, kind: Any, value: Any, offset: Any) -> Any:
    if isinstance(kind, types.Array):
        return builder.gep(
            builder.bitcast(
                context.make_array(kind)(context, builder, value).data, ir.IntType(8).as_pointer()
            ),
            [offset],
        )
    # Addresses that kernels are given lie in global memory; saying so here spares the device from
    # finding out at each access.
    pointer = builder.inttoptr(builder.add(value, offset), ir.PointerType(ir.IntType(8), 1))
    return builder.addrspacecast(pointer, ir.IntType(8).as_pointer())


def build(
    context: Any, builder: Any, array_type: Any, data: Any, shape: Any, strides: Any, itemsize: int
) -> Any:
    result = context.make_array(array_type)(context, builder)
    pointer = builder.bitcast(data, ir.PointerType(context.get_data_type(array_type.dtype)))
    arrayobj.populate_array(
        result,
        data=pointer,
        shape=shape,
        strides=strides,
        itemsize=context.get_constant(types.intp, itemsize),
        meminfo=None,
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
    return build(
        context,
        builder,
        array_type,
        address(context, builder, sig.args[0], args[0], args[1]),
        shape,
        strides,
        itemsize,
    )


def type_strided(base: Any, shape: Any, strides: Any, dtype: Any) -> Any:
    wanted = types.UniTuple(types.intp, len(shape)) if len(shape) else shape
    return signature(types.Array(dtype.dtype, len(shape), "A"), base, wanted, wanted, dtype)


def lower_strided(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array_type, count = sig.return_type, len(sig.args[1])
    itemsize = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    shape, strides = (cgutils.unpack_tuple(builder, a, count) if count else [] for a in args[1:3])
    data = address(context, builder, sig.args[0], args[0], context.get_constant(types.uintp, 0))
    return build(context, builder, array_type, data, shape, strides, itemsize)


def vector(context: Any, builder: Any, kind: Any, array: Any, place: Any, width: int) -> Any:
    """The address of so many elements from a place on, and how it is aligned."""
    element = context.get_data_type(kind.dtype)
    pointer = builder.gep(context.make_array(kind)(context, builder, array).data, [place])
    # Arrays here lie in global memory (see `address`).
    plain = builder.bitcast(pointer, ir.VectorType(element, width).as_pointer())
    return builder.addrspacecast(
        plain, ir.PointerType(ir.VectorType(element, width), 1)
    ), width * context.get_abi_sizeof(element)


def type_load(width: int) -> Any:
    return lambda x, i: signature(types.UniTuple(x.dtype, width), x, types.uintp)


def lower_load(width: int) -> Any:
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer, align = vector(context, builder, sig.args[0], args[0], args[1], width)
        found = builder.load(pointer, align=align)
        items = [
            builder.extract_element(found, ir.Constant(ir.IntType(32), k)) for k in range(width)
        ]
        return context.make_tuple(builder, sig.return_type, items)

    return lower


def type_store(width: int) -> Any:
    # Numba reads the arguments off the function.
    if width == 2:
        return lambda x, i, a, b: signature(types.none, x, types.uintp, x.dtype, x.dtype)
    return lambda x, i, a, b, c, d: signature(
        types.none, x, types.uintp, x.dtype, x.dtype, x.dtype, x.dtype
    )


def lower_store(width: int) -> Any:
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer, align = vector(context, builder, sig.args[0], args[0], args[1], width)
        made: Any = ir.Constant(
            ir.VectorType(context.get_data_type(sig.args[0].dtype), width), ir.Undefined
        )
        for k, value in enumerate(args[2:]):
            made = builder.insert_element(made, value, ir.Constant(ir.IntType(32), k))
        builder.store(made, pointer, align=align)
        return context.get_dummy_value()

    return lower


def type_aligned(x: Any, width: Any) -> Any:
    return signature(types.boolean, x, types.intp)


def lower_aligned(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = sig.args[0]
    address = builder.ptrtoint(
        context.make_array(kind)(context, builder, args[0]).data, ir.IntType(64)
    )
    bytes_ = builder.mul(
        args[1],
        ir.Constant(ir.IntType(64), context.get_abi_sizeof(context.get_data_type(kind.dtype))),
    )
    return builder.icmp_unsigned(
        "==", builder.urem(address, bytes_), ir.Constant(ir.IntType(64), 0)
    )


def register() -> None:
    """Make addresses known to Numba's compiler for devices."""
    primitive(aligned, type_aligned, lower_aligned)
    for width, load, store in ((2, load_2, store_2), (4, load_4, store_4)):
        primitive(load, type_load(width), lower_load(width))
        primitive(store, type_store(width), lower_store(width))
    primitive(view, type_view, lower_view)
    primitive(strided, type_strided, lower_strided)
