"""Right-hand sides of differential and other equations: the forms of LSODA and MINPACK as they are
called from Numba, and those of SUNDIALS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._codegen import c_function as c
from ..compiled.jitted import likewise
from ..derivatives.jacobians import jacobian
from .kernels import CArray, TracedKernel, packed
from .native_function import NativeFunction
from .requests import Request


def lsoda(request: Request) -> NativeFunction:
    """`void f(double t, double *u, double *du, double *p)`; of a Jacobian, `du` are its rows one
    after the other."""
    request.no_options()
    args = request.arguments(("the time", "the state", "parameters"), least=2)
    _time(request, args[0])
    kernel = request.kernel()
    _one_result(request, kernel)
    places: list[c.Place] = [
        c.ByValue("t"),
        *packed(args[1], request.what, "the state").places("u"),
    ]
    if len(args) > 2:
        places += packed(args[2], request.what, "the third argument").places("p")
    parameters = (
        c.CParameter("t", "float64", "double t"),
        c.CParameter("u", "pointer", "const double *u"),
        c.CParameter("du", "pointer", "double *du"),
        c.CParameter("p", "pointer", "const double *p"),
    )
    return _native(request, kernel, parameters, "nothing", places, c.At("du"))


def minpack(request: Request) -> NativeFunction:
    """`void f(double *x, double *fvec, double *args)`; of a Jacobian, `fvec` are its rows one after
    the other."""
    request.no_options()
    args = request.arguments(("the unknowns", "parameters"), least=1)
    kernel = request.kernel()
    _one_result(request, kernel)
    places = packed(args[0], request.what, "the first argument").places("x")
    if len(args) > 1:
        places += packed(args[1], request.what, "the second argument").places("args")
    parameters = (
        c.CParameter("x", "pointer", "const double *x"),
        c.CParameter("fvec", "pointer", "double *fvec"),
        c.CParameter("args", "pointer", "const double *args"),
    )
    return _native(request, kernel, parameters, "nothing", places, c.At("fvec"))


@dataclass(frozen=True)
class Sundials:
    """A right-hand side and its Jacobian, which SUNDIALS has in columns."""

    rhs: NativeFunction
    jac: NativeFunction

    @property
    def functions(self) -> tuple[NativeFunction, ...]:
        return self.rhs, self.jac


_DATA = (0, 2)
"""The numbers of a serial N_Vector and of a dense SUNMatrix (with 64-bit indices): the third word
of the content, which is the first word."""


def sundials(request: Request) -> Sundials:
    """`rhs`: `int f(double t, N_Vector y, N_Vector ydot, void *user)`, and `jac`: `int f(double t,
    N_Vector y, N_Vector fy, SUNMatrix J, void *user, N_Vector, N_Vector, N_Vector)`, for serial
    vectors and dense matrices."""
    request.no_options()
    t, y = request.arguments(("the time", "the state"))
    _time(request, t)
    if getattr(y, "ndim", 0) != 1:
        request.refuse("the state must be one vector")
    packed(y, request.what, "the state")
    kernel = request.kernel()
    made = _one_result(request, kernel)
    if made.shape != np.shape(y):
        request.refuse(f"the result must have the shape of the state, and has {made.shape}")
    function = request.function
    places: list[c.Place] = [c.ByValue("t"), c.At("y", through=_DATA)]
    head = (c.CParameter("t", "float64", "double t"), c.CParameter("y", "pointer", "N_Vector y"))
    user = c.CParameter("user", "pointer", "void *user")
    rhs = _native(
        request,
        kernel,
        (*head, c.CParameter("ydot", "pointer", "N_Vector ydot"), user),
        "status",
        places,
        c.At("ydot", through=_DATA),
    )
    slopes = jacobian(function, 1)

    def columns(t: Any, y: Any) -> Any:
        return np.transpose(slopes(t, y))

    columns.__name__ = f"{function.__name__}_columns"
    work = tuple([c.CParameter(f"work{k}", "pointer", f"N_Vector work{k}") for k in range(3)])
    jac = _native(
        request,
        request.kernel(likewise(function, columns), t, y),
        (
            *head,
            c.CParameter("fy", "pointer", "N_Vector fy"),
            c.CParameter("J", "pointer", "SUNMatrix J"),
            user,
            *work,
        ),
        "status",
        places,
        c.At("J", through=_DATA),
        "_jac",
    )
    return Sundials(rhs, jac)


def _native(
    request: Request,
    kernel: TracedKernel,
    parameters: tuple[c.CParameter, ...],
    returns: Any,
    places: list[c.Place],
    result: c.Place,
    suffix: str = "",
) -> NativeFunction:
    function = c.CFunction(
        request.name + suffix, parameters, returns, kernel.places(places), (result,)
    )
    return request.make(function, kernel)


def _time(request: Request, t: Any) -> None:
    if np.shape(t) != () or np.asarray(t).dtype != np.float64:
        request.refuse("the time, which is the first argument, must be a float")


def _one_result(request: Request, kernel: TracedKernel) -> CArray:
    made = kernel.form.outputs
    if len(made) != 1 or made[0].dtype != np.float64:
        returned = ", ".join(f"{a.dtype}{list(a.shape)}" for a in made)
        request.refuse(f"the function must return one array of float64, and returns {returned}")
    return made[0]


__all__ = ["Sundials", "lsoda", "minpack", "sundials"]
