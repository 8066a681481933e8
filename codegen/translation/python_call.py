"""The function by which Python calls a kernel.

Numba's own is made for any types, errors and results: 600 instructions for three arrays, where most
kernels have some tens. A kernel only borrows its arrays, never raises and returns nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from ..native.borrowed import BorrowedArray, fields, is_lent


def lends(kinds: Sequence[Any]) -> bool:
    """Whether all arguments are of the kinds that kernels have."""
    return all(isinstance(k, BorrowedArray) or k == types.int64 for k in kinds)


def python_call(context: Any, descriptor: Any, kernel: Any) -> None:
    """Add `PyCFunctionWithKeywords` for this kernel to its module: check the arrays, let go of the
    interpreter, call."""
    obj = context.get_argument_type(types.pyobject)
    function = ir.Function(
        kernel.module, ir.FunctionType(obj, [obj] * 3), descriptor.llvm_cpython_wrapper_name
    )
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    api = context.get_python_api(builder)
    leave = function.append_basic_block("leave")
    ir.IRBuilder(leave).ret(ir.Constant(obj, None))

    def only_if(good: Any) -> None:
        going = function.append_basic_block("going")
        builder.cbranch(good, going, leave).set_weights([99, 1])
        builder.position_at_end(going)

    count = len(descriptor.argtypes)
    places = [api.alloca_obj() for _ in range(count)]
    unpacked = api.unpack_tuple(function.args[1], descriptor.qualname, count, count, *places)
    only_if(cgutils.is_not_null(builder, unpacked))
    given = [(k, builder.load(place)) for k, place in zip(descriptor.argtypes, places, strict=True)]
    good = cgutils.true_bit
    for k, obj in given:
        if isinstance(k, BorrowedArray):
            good = builder.and_(good, is_lent(context, builder, k, obj))
    only_if(good)
    passed: list[Any] = []
    for k, obj in given:
        passed += (
            _array(context, builder, k, obj)
            if isinstance(k, BorrowedArray)
            else [api.long_as_longlong(obj)]
        )
    only_if(cgutils.is_null(builder, api.err_occurred()))
    outside = [cgutils.alloca_once(builder, a.type.pointee) for a in kernel.args[:2]]
    state = api.save_thread()
    builder.call(kernel, [*outside, *passed], attrs=("noinline",))
    api.restore_thread(state)
    api.return_none()


def _array(context: Any, builder: Any, kind: Any, obj: Any) -> list[Any]:
    """An array as a kernel takes it: no owner, its size, bytes of an element, data, shape,
    strides."""
    intp, nobody = context.get_value_type(types.intp), ir.IntType(8).as_pointer()
    data, shape, strides = fields(context, builder, kind, obj)
    size = ir.Constant(intp, 1)
    for extent in shape:
        size = builder.mul(size, extent)
    item = ir.Constant(intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    owners = [ir.Constant(nobody, None)] * 2
    return [*owners, size, item, data, *shape, *strides]
