"""Handlers of XLA's typed foreign functions, which JAX calls inside of its compiled code."""

from __future__ import annotations

from .._codegen import c_function as c
from .._codegen import loading
from ..runtime.execute import failure
from .native_function import NativeFunction
from .requests import Request

_XLA = loading.imported("..codegen.native.c_xla", __package__)


def ffi(request: Request) -> NativeFunction:
    """`XLA_FFI_Error *f(XLA_FFI_CallFrame *frame)`: arguments and results are XLA's buffers, of
    just the dtypes and shapes of the example."""
    request.no_options()
    kernel = request.kernel()
    name = request.name
    told = [
        f"{type(failure(kernel.program, k + 1, 0)).__name__}: "
        + text.removeprefix("RuntimeError: ")
        .replace("index {value}", "an index")
        .replace("{value}", "the recorded value")
        for k, text in enumerate(kernel.program.errors)
    ]
    messages = [f"{name}: no failure", *told, "MemoryError: no memory for temporaries"]
    function = c.CFunction(
        name,
        (c.CParameter("frame", "pointer", "XLA_FFI_CallFrame *frame"),),
        "xla",
        kernel.places(
            [
                c.At("frame", through=(_XLA.ARGUMENTS, k, _XLA.DATA))
                for k in range(len(kernel.given))
            ]
        ),
        tuple(
            [
                c.At("frame", through=(_XLA.RESULTS, k, _XLA.DATA))
                for k in range(len(kernel.form.outputs))
            ]
        ),
        finite=False,
        messages=tuple(messages),
    )
    return request.make(function, kernel)


__all__ = ["ffi"]
