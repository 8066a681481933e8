"""SciPy's integrands: `quad`, `nquad` and what else takes a function of numbers."""

from __future__ import annotations

from typing import Any

from .._codegen import c_function as c
from .kernels import TracedKernel, one_scalar
from .native_function import NativeFunction
from .requests import Request

FORMS = (
    "double (double)",
    "double (double, void *)",
    "double (int, double *)",
    "double (int, double *, void *)",
)


def quad(request: Request) -> NativeFunction:
    """The form that the example asks for: one number is passed as such, several numbers, or one
    vector, are elements of an array."""
    request.no_options()
    kernel = request.kernel()
    one = len(kernel.given) == 1 and kernel.given[0].shape == ()
    return _form(request, kernel, FORMS[0] if one else FORMS[2])


def spelled(request: Request) -> NativeFunction:
    """One of SciPy's four forms, by its text."""
    request.no_options()
    return _form(request, request.kernel(), request.signature)


def _form(request: Request, kernel: TracedKernel, form: str) -> NativeFunction:
    one_scalar(kernel, request.what)
    for array in kernel.given:
        if array.dtype.name != "float64":
            request.refuse(f"C passes {array.name} as double, the example has {array.dtype}")
    user = (c.CParameter("user", "pointer", "void *user"),) if "void" in form else ()
    places: list[c.Place]
    sizes: tuple[tuple[str, Any], ...] = ()
    if form in FORMS[:2]:
        if len(kernel.given) != 1 or kernel.given[0].shape != ():
            request.refuse(f"{form} passes one number; {FORMS[2]} passes several, or a vector")
        parameters = (c.CParameter("x", "float64", "double x"), *user)
        places = [c.ByValue("x")]
    else:
        vector = len(kernel.given) == 1 and len(kernel.given[0].shape) == 1
        if not vector and any(a.shape != () for a in kernel.given):
            request.refuse(f"{form} passes numbers, or one vector")
        parameters = (
            c.CParameter("n", "int32", "int n"),
            c.CParameter("x", "pointer", "const double *x"),
            *user,
        )
        places = [c.At("x")] if vector else [c.At("x", k) for k in range(len(kernel.given))]
        count = kernel.given[0].shape[0] if vector else len(kernel.given)
        sizes = (("n", count),)
    function = c.CFunction(
        request.name,
        parameters,
        "value",
        kernel.places(places),
        (c.Returned(),),
        sizes,
        user="user" if user else "",
    )
    return request.make(function, kernel, form)


__all__ = ["FORMS", "quad", "spelled"]
