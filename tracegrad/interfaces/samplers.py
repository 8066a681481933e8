"""nutpie's log densities: value and gradient at once, and a status that tells a divergence from the
end of the run."""

from __future__ import annotations

from typing import Any

from .._codegen import c_function as c
from ..derivatives.reverse import value_and_grad
from .kernels import one_scalar, packed
from .native_function import NativeFunction
from .requests import Request


def nutpie(request: Request) -> NativeFunction:
    """`int f(size_t dim, const double *x, double *grad, double *logp, const void *user)`."""
    request.no_options()
    x = request.one_argument("one vector (or a tree of arrays) of parameters")
    vector = packed(x, request.what, "the argument")
    one_scalar(request.kernel(), request.what)
    kernel = request.kernel(value_and_grad(request.function), x)
    parameters = (
        c.CParameter("dim", "int64", "size_t dim"),
        c.CParameter("x", "pointer", "const double *x"),
        c.CParameter("grad", "pointer", "double *grad"),
        c.CParameter("logp", "pointer", "double *logp"),
        c.CParameter("user", "pointer", "const void *user"),
    )
    function = c.CFunction(
        request.name,
        parameters,
        "status",
        kernel.places(vector.places("x")),
        (c.At("logp"), *vector.places("grad")),
        (("dim", vector.size),),
    )
    return request.make(function, kernel)


def nutpie_expand(request: Request) -> NativeFunction:
    """`int f(size_t dim, size_t expanded, const double *x, double *out, const void *user)`: what is
    kept of a draw, all results one after the other."""
    request.no_options()
    x = request.one_argument("one vector (or a tree of arrays) of parameters")
    vector = packed(x, request.what, "the argument")
    kernel = request.kernel()
    places: list[c.Place] = []
    size: Any = 0
    for array in kernel.form.outputs:
        if array.dtype.name != "float64":
            request.refuse(f"the results must be float64, and one is {array.dtype}")
        places.append(c.At("out", size))
        size = size + c.size_of(array.shape)
    parameters = (
        c.CParameter("dim", "int64", "size_t dim"),
        c.CParameter("expanded", "int64", "size_t expanded"),
        c.CParameter("x", "pointer", "const double *x"),
        c.CParameter("out", "pointer", "double *out"),
        c.CParameter("user", "pointer", "const void *user"),
    )
    function = c.CFunction(
        request.name,
        parameters,
        "status",
        kernel.places(vector.places("x")),
        tuple(places),
        (("dim", vector.size), ("expanded", size)),
        finite=False,
    )
    return request.make(function, kernel)


__all__ = ["nutpie", "nutpie_expand"]
