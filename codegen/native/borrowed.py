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
NDARRAY = "tracegrad_ndarray_type"


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
    byte, i32, intp = ir.IntType(8), ir.IntType(32), context.get_value_type(types.intp)
    pointer = ir.PointerType(byte)

    def read(base: Any, offset: int, what: Any) -> Any:
        at = builder.gep(builder.bitcast(base, pointer), [ir.Constant(intp, offset)])
        return builder.load(builder.bitcast(at, ir.PointerType(what)))

    wrong = cgutils.alloca_once_value(builder, cgutils.true_bit)
    native = context.make_array(kind)(context, builder)
    result = cgutils.alloca_once_value(builder, cgutils.get_null_value(native._getvalue().type))
    cls = _external(builder.module)
    is_array = builder.icmp_unsigned("==", read(obj, POINTER, intp), builder.ptrtoint(cls, intp))
    with builder.if_then(is_array, likely=True):
        descr = read(obj, DESCR, pointer)
        number, order, flags = (
            read(descr, DESCR_NUMBER, i32),
            read(descr, DESCR_BYTEORDER, byte),
            read(obj, FLAGS, i32),
        )
        same = cgutils.false_bit
        for candidate in _numbers(kind.dtype):
            same = builder.or_(same, builder.icmp_signed("==", number, ir.Constant(i32, candidate)))
        swapped = builder.icmp_signed(
            "==", order, ir.Constant(byte, ord(">" if np.little_endian else "<"))
        )
        need = ALIGNED | CONTIGUOUS[kind.layout]
        good = builder.icmp_signed(
            "==", builder.and_(flags, ir.Constant(i32, need)), ir.Constant(i32, need)
        )
        good = builder.and_(good, builder.and_(same, builder.not_(swapped)))
        good = builder.and_(
            good, builder.icmp_signed("==", read(obj, NDIM, i32), ir.Constant(i32, kind.ndim))
        )
        with builder.if_then(good, likely=True):
            dims, steps = read(obj, DIMENSIONS, pointer), read(obj, STRIDES, pointer)
            element = context.get_data_type(kind.dtype)
            arrayobj.populate_array(
                native,
                data=read(obj, DATA, ir.PointerType(element)),
                shape=[read(dims, POINTER * axis, intp) for axis in range(kind.ndim)],
                strides=[read(steps, POINTER * axis, intp) for axis in range(kind.ndim)],
                itemsize=context.get_abi_sizeof(element),
                meminfo=None,
            )
            builder.store(native._getvalue(), result)
            builder.store(cgutils.false_bit, wrong)
    failed = builder.load(wrong)
    with builder.if_then(failed, likely=False):
        c.pyapi.err_set_string(
            "PyExc_TypeError",
            f"a kernel argument is not the {kind.ndim}-d {kind.dtype} array it was compiled for",
        )
    return NativeValue(builder.load(result), is_error=failed)


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
