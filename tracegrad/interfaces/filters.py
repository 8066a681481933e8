"""The callbacks of `scipy.ndimage`: an int is returned, 1 where all is well."""

from __future__ import annotations

from .._codegen import c_function as c
from .kernels import TracedKernel, one_scalar
from .native_function import NativeFunction
from .requests import Request

_USER = c.CParameter("user", "pointer", "void *user")


def generic_filter(request: Request) -> NativeFunction:
    """`int f(double *buffer, npy_intp filter_size, double *result, void *user)`: a number from the
    elements below the footprint."""
    request.no_options()
    request.one_argument("one vector of the elements below the footprint")
    kernel = request.kernel()
    one_scalar(kernel, request.what)
    (size,) = _vector(request, kernel, "float64")
    parameters = (
        c.CParameter("buffer", "pointer", "const double *buffer"),
        c.CParameter("filter_size", "int64", "npy_intp filter_size"),
        c.CParameter("result", "pointer", "double *result"),
        _USER,
    )
    function = c.CFunction(
        request.name,
        parameters,
        "success",
        kernel.places([c.At("buffer")]),
        (c.At("result"),),
        (("filter_size", size),),
        finite=False,
    )
    return request.make(function, kernel, "int (double *, npy_intp, double *, void *)")


def generic_filter1d(request: Request) -> NativeFunction:
    """`int f(double *line, npy_intp length, double *result, npy_intp result_length, void *user)`: a
    line from a longer one."""
    request.no_options()
    request.one_argument("one line of the array, with what is added at its ends")
    kernel = request.kernel()
    (length,) = _vector(request, kernel, "float64")
    (made,) = _result_vector(request, kernel)
    parameters = (
        c.CParameter("line", "pointer", "const double *line"),
        c.CParameter("length", "int64", "npy_intp length"),
        c.CParameter("result", "pointer", "double *result"),
        c.CParameter("result_length", "int64", "npy_intp result_length"),
        _USER,
    )
    function = c.CFunction(
        request.name,
        parameters,
        "success",
        kernel.places([c.At("line")]),
        (c.At("result"),),
        (("length", length), ("result_length", made)),
        finite=False,
    )
    return request.make(function, kernel, "int (double *, npy_intp, double *, npy_intp, void *)")


def geometric_transform(request: Request) -> NativeFunction:
    """`int f(npy_intp *output, double *input, int output_rank, int input_rank, void *user)`: where
    in the input an element of the output is."""
    request.no_options()
    request.one_argument("one vector of coordinates")
    kernel = request.kernel()
    (rank,) = _vector(request, kernel, "int64")
    (made,) = _result_vector(request, kernel)
    parameters = (
        c.CParameter("output", "pointer", "const npy_intp *output"),
        c.CParameter("input", "pointer", "double *input"),
        c.CParameter("output_rank", "int32", "int output_rank"),
        c.CParameter("input_rank", "int32", "int input_rank"),
        _USER,
    )
    function = c.CFunction(
        request.name,
        parameters,
        "success",
        kernel.places([c.At("output")]),
        (c.At("input"),),
        (("output_rank", rank), ("input_rank", made)),
        finite=False,
    )
    return request.make(function, kernel, "int (npy_intp *, double *, int, int, void *)")


def _vector(request: Request, kernel: TracedKernel, dtype: str) -> tuple[int, ...]:
    (array,) = kernel.given if len(kernel.given) == 1 else (None,)
    if array is None or len(array.shape) != 1 or array.dtype.name != dtype:
        request.refuse(f"the example must be one vector of {dtype}")
    return array.shape  # type: ignore[return-value]


def _result_vector(request: Request, kernel: TracedKernel) -> tuple[int, ...]:
    made = kernel.form.outputs
    if len(made) != 1 or len(made[0].shape) != 1 or made[0].dtype.name != "float64":
        returned = ", ".join(f"{a.dtype}{list(a.shape)}" for a in made)
        request.refuse(f"the function must return one vector of float64, and returns {returned}")
    return made[0].shape  # type: ignore[return-value]


__all__ = ["generic_filter", "generic_filter1d", "geometric_transform"]
