"""Array arguments that a kernel only borrows for the time of the call.

Numba's own arrays are reference counted: each argument costs an allocation, and read-only arrays
are another type. A kernel keeps no reference, so its entry may read the few fields it needs
straight from the array object, after checking that class, rank, dtype, byte order and flags are
what it was compiled for. Writeability is the caller's affair.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.pythonapi import NativeValue
from numba.extending import register_model, unbox
from numba.np import arrayobj, numpy_support

from ..addresses import address_of

HEAD = object.__basicsize__
"""Bytes of an object's header; the fields below follow it and are part of NumPy's stable ABI."""
POINTER = 8
DATA, NDIM = HEAD, HEAD + POINTER
DIMENSIONS, STRIDES = HEAD + 2 * POINTER, HEAD + 3 * POINTER
DESCR, FLAGS = HEAD + 5 * POINTER, HEAD + 6 * POINTER
DESCR_BYTEORDER, DESCR_NUMBER = HEAD + POINTER + 2, HEAD + POINTER + 4
CONTIGUOUS, ALIGNED = {"C": 0x1, "F": 0x2, "A": 0x0}, 0x100
NDARRAY, CHECK = "tracegrad_ndarray_type", "tracegrad_is_lent"


def available() -> bool:
    """Whether the fields lie where this module expects them, tried on an array."""
    probe = np.arange(6, dtype=np.float32).reshape(2, 3)
    if ctypes.sizeof(ctypes.c_void_p) != POINTER or HEAD != 16:
        return False
    at = id(probe)
    dims = ctypes.c_void_p.from_address(at + DIMENSIONS).value or 0
    strides = ctypes.c_void_p.from_address(at + STRIDES).value or 0
    descr = ctypes.c_void_p.from_address(at + DESCR).value or 0
    return (
        ctypes.c_void_p.from_address(at + DATA).value == address_of(probe)
        and ctypes.c_int.from_address(at + NDIM).value == 2
        and (ctypes.c_ssize_t * 2).from_address(dims)[:] == [2, 3]
        and (ctypes.c_ssize_t * 2).from_address(strides)[:] == [12, 4]
        and ctypes.c_int.from_address(at + FLAGS).value == probe.flags.num
        and ctypes.c_int.from_address(descr + DESCR_NUMBER).value == probe.dtype.num
    )


class BorrowedArray(types.Array):  # type: ignore[misc]
    """An array argument without ownership; in every other respect Numba's own array."""

    def __init__(self, dtype: Any, ndim: int, layout: str) -> None:
        super().__init__(dtype, ndim, layout, name=f"borrowed({dtype}, {ndim}d, {layout})")


register_model(BorrowedArray)(models.ArrayModel)


def _numbers(dtype: Any) -> list[int]:
    """NumPy's type numbers that mean this dtype (`long` and `long long` may be the same type)."""
    wanted = numpy_support.as_dtype(dtype)
    return sorted({np.dtype(c).num for c in "?bBhHiIlLqQfdFD" if np.dtype(c) == wanted})


@unbox(BorrowedArray)
def unbox_borrowed(kind: Any, obj: Any, c: Any) -> Any:
    builder, context = c.builder, c.context
    native = context.make_array(kind)(context, builder)
    result = cgutils.alloca_once_value(builder, cgutils.get_null_value(native._getvalue().type))
    good = is_lent(context, builder, kind, obj)
    with builder.if_then(good, likely=True):
        data, shape, strides = fields(context, builder, kind, obj)
        arrayobj.populate_array(
            native,
            data=data,
            shape=shape,
            strides=strides,
            itemsize=context.get_abi_sizeof(context.get_data_type(kind.dtype)),
            meminfo=None,
        )
        builder.store(native._getvalue(), result)
    return NativeValue(builder.load(result), is_error=builder.not_(good))


def fields(context: Any, builder: Any, kind: Any, obj: Any) -> tuple[Any, list[Any], list[Any]]:
    """Data, shape and strides of an array object that is of this kind."""
    intp, pointer = context.get_value_type(types.intp), ir.IntType(8).as_pointer()
    dims, steps = _read(builder, obj, DIMENSIONS, pointer), _read(builder, obj, STRIDES, pointer)
    data = _read(builder, obj, DATA, ir.PointerType(context.get_data_type(kind.dtype)))
    shape, strides = (
        [_read(builder, base, POINTER * axis, intp) for axis in range(kind.ndim)]
        for base in (dims, steps)
    )
    return data, shape, strides


def _read(builder: Any, base: Any, offset: int, what: Any) -> Any:
    pointer = ir.IntType(8).as_pointer()
    at = builder.gep(builder.bitcast(base, pointer), [ir.Constant(ir.IntType(64), offset)])
    return builder.load(builder.bitcast(at, ir.PointerType(what)))


def is_lent(context: Any, builder: Any, kind: Any, obj: Any) -> Any:
    """Whether an object is an array of this kind; where it is not, TypeError is set."""
    i32 = ir.IntType(32)
    numbers = _numbers(kind.dtype)
    message = f"a kernel argument is not the {kind.ndim}-d {kind.dtype} array it was compiled for"
    return builder.call(
        _check(context, builder.module),
        [
            builder.bitcast(obj, ir.IntType(8).as_pointer()),
            ir.Constant(i32, numbers[0]),
            ir.Constant(i32, numbers[-1]),
            ir.Constant(i32, kind.ndim),
            ir.Constant(i32, ALIGNED | CONTIGUOUS[kind.layout]),
            context.insert_const_string(builder.module, message),
        ],
    )


def _check(context: Any, module: Any) -> Any:
    """One function for all arguments of a module: for most kernels, reading the arguments would
    else be most of what LLVM has to compile."""
    if CHECK in module.globals:
        return module.globals[CHECK]
    byte, i32, intp = ir.IntType(8), ir.IntType(32), context.get_value_type(types.intp)
    pointer = byte.as_pointer()
    kind = ir.FunctionType(ir.IntType(1), [pointer, i32, i32, i32, i32, pointer])
    function = ir.Function(module, kind, CHECK)
    function.linkage = "internal"
    function.attributes.add("noinline")
    obj, number, same, rank, need, message = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    is_array = builder.icmp_unsigned(
        "==", _read(builder, obj, POINTER, intp), builder.ptrtoint(_external(module), intp)
    )
    with builder.if_then(is_array, likely=True):
        descr = _read(builder, obj, DESCR, pointer)
        its, order = (
            _read(builder, descr, DESCR_NUMBER, i32),
            _read(builder, descr, DESCR_BYTEORDER, byte),
        )
        swapped = ir.Constant(byte, ord(">" if np.little_endian else "<"))
        flags = builder.and_(_read(builder, obj, FLAGS, i32), need)
        dtype = builder.or_(
            builder.icmp_signed("==", its, number), builder.icmp_signed("==", its, same)
        )
        good = builder.and_(dtype, builder.icmp_signed("!=", order, swapped))
        good = builder.and_(good, builder.icmp_signed("==", flags, need))
        good = builder.and_(good, builder.icmp_signed("==", _read(builder, obj, NDIM, i32), rank))
        with builder.if_then(good, likely=True):
            builder.ret(cgutils.true_bit)
    context.get_python_api(builder).err_set_string("PyExc_TypeError", message)
    builder.ret(cgutils.false_bit)
    return function


def _external(module: Any) -> Any:
    """The address of the ndarray class, by name, so that compiled code may be kept on disk."""
    if NDARRAY in module.globals:
        return module.globals[NDARRAY]
    variable = ir.GlobalVariable(module, ir.IntType(8), NDARRAY)
    variable.linkage = "external"
    return variable


def _register() -> None:
    binding.add_symbol(NDARRAY, id(np.ndarray))


_register()
