"""Nonlinear programs: minimize f(x) where g(x) is within bounds, as IPOPT and others take them.

Five functions make one: f, its gradient, g, the Jacobian of g, and the Hessian of the Lagrangian
`factor f(x) + multipliers g(x)`, the latter two as the values of their sparse structures
(`structure.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._codegen import c_function as c
from ..compiled.jitted import Jitted, likewise
from ..derivatives.reverse import grad
from ..sparse.derivatives import hessian_of_lagrangian, sparse_hessian, sparse_jacobian
from ..tree import flatten, unflatten
from .kernels import TracedKernel, identifier, one_scalar, packed
from .native_function import NativeFunction
from .requests import Request
from .structure import Structure, nothing, structured


class Problem:
    """The five functions of a nonlinear program, jitted, over one vector."""

    def __init__(self, request: Request) -> None:
        self.request = request
        x = request.one_argument("the unknowns (one vector, or a tree of arrays)")
        self.n = packed(x, request.what, "the unknowns").size
        self.x = np.concatenate([np.reshape(leaf, -1) for leaf in flatten(x)[0]])
        function, constraints = request.function, request.options.get("constraints")
        if constraints is None:
            constraints = Jitted(lambda x: np.zeros(0))
        elif not callable(constraints):
            request.refuse("constraints must be a function of the unknowns")
        elif not isinstance(constraints, Jitted):
            constraints = Jitted(constraints)
        one_scalar(request.kernel(), request.what)
        self.f, self.g = self._of_vector(function, x), self._of_vector(constraints, x)
        made = self.kernel(self.g).form.outputs
        if len(made) != 1 or len(made[0].shape) != 1 or made[0].dtype != np.float64:
            returned = ", ".join(f"{a.dtype}{list(a.shape)}" for a in made)
            request.refuse(f"constraints must return one vector of float64, not {returned}")
        (m,) = made[0].shape
        assert isinstance(m, int)
        self.m = m
        self.jacobian, self._jacobian = (
            structured(sparse_jacobian(self.g, format="coo"), self.x) if m else nothing()
        )
        self.hessian, self._hessian = self._of_lagrangian()

    @cached_property
    def gradient(self) -> Any:
        return grad(self.f)

    @cached_property
    def jacobian_values(self) -> Jitted[..., Any]:
        values = self._jacobian
        return self._jitted("jacobian", lambda x: values(x))

    @cached_property
    def hessian_values(self) -> Jitted[..., Any]:
        values = self._hessian
        return self._jitted(
            "hessian", lambda x, factor, multipliers: values(x, factor, multipliers)
        )

    def _of_lagrangian(self) -> tuple[Structure, Callable[..., Any]]:
        f, g = self.f, self.g
        if not self.m:
            of_f = sparse_hessian(lambda x, factor: factor * f(x), lower=True, format="coo")
            structure, values = structured(of_f, self.x, 1.0)
            return structure, lambda x, factor, multipliers: values(x, factor)
        made = hessian_of_lagrangian(f, g, lower=True, format="coo")
        structure, both = structured(made, self.x, np.ones(self.m), 1.0)
        return structure, lambda x, factor, multipliers: both(x, multipliers, factor)

    def kernel(self, function: Any, *more: Any) -> TracedKernel:
        return self.request.kernel(function, self.x, *more)

    def hessian_kernel(self) -> TracedKernel:
        return self.kernel(self.hessian_values, 1.0, np.ones(self.m))

    def _of_vector(self, function: Jitted[..., Any], x: Any) -> Jitted[..., Any]:
        if isinstance(x, np.ndarray) and x.ndim == 1:
            return function
        leaves, spec = flatten(x)
        shapes = [np.shape(leaf) for leaf in leaves]
        ends = np.cumsum([int(np.size(leaf)) for leaf in leaves]).tolist()

        def of_vector(v: Any) -> Any:
            parts = [
                np.reshape(v[end - int(np.prod(shape)) : end], shape)
                for end, shape in zip(ends, shapes, strict=True)
            ]
            return function(unflatten(spec, parts))

        return self._jitted(function.__name__, of_vector, "")

    def _jitted(
        self, name: str, function: Callable[..., Any], head: str | None = None
    ) -> Jitted[..., Any]:
        own = self.request.function
        head = f"{own.__name__}_" if head is None else head
        function.__name__ = identifier(f"{head}{name}")
        return likewise(own, function)


@dataclass(frozen=True)
class Ipopt:
    """A problem for IPOPT.

    n, m                         the unknowns and constraints
    f, grad_f, g, jac_g, h       the C functions
    jac_structure, h_structure   rows and columns of the values that `jac_g` and `h` give; of the
                                 Hessian the lower triangle
    """

    n: int
    m: int
    f: NativeFunction
    grad_f: NativeFunction
    g: NativeFunction
    jac_g: NativeFunction
    h: NativeFunction
    jac_structure: tuple[tuple[int, ...], tuple[int, ...]]
    h_structure: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def functions(self) -> tuple[NativeFunction, ...]:
        """f, grad f, g, the Jacobian, the Hessian: in the order in which IPOPT takes them."""
        return self.f, self.grad_f, self.g, self.jac_g, self.h

    @property
    def scipy(self) -> tuple[Any, ...]:
        """The same as `scipy.LowLevelCallable`."""
        return tuple([f.scipy for f in self.functions])

    @property
    def capsules(self) -> tuple[Any, ...]:
        """The same as PyCapsules."""
        return tuple([f.capsule for f in self.functions])


_N = c.CParameter("n", "int32", "int n")
_M = c.CParameter("m", "int32", "int m")
_X = c.CParameter("x", "pointer", "const double *x")
_NEW_X = c.CParameter("new_x", "int32", "bool new_x")
_FACTOR = c.CParameter("obj_factor", "float64", "double obj_factor")
_LAMBDA = c.CParameter("lambda", "pointer", "const double *lambda")
_NEW_LAMBDA = c.CParameter("new_lambda", "int32", "bool new_lambda")
_ROWS = c.CParameter("iRow", "pointer", "int *iRow")
_COLUMNS = c.CParameter("jCol", "pointer", "int *jCol")
_USER = c.CParameter("user_data", "pointer", "void *user_data")


def _out(name: str) -> c.CParameter:
    return c.CParameter(name, "pointer", f"double *{name}")


def ipyopt(request: Request) -> Ipopt:
    """The five callbacks of ipyopt, `bool f(int n, const double *x, ..., void *user_data)`; option
    `constraints`: g."""
    return _ipopt(request, False)


def ipopt_c(request: Request) -> Ipopt:
    """The five callbacks of IPOPT's C interface, `bool f(ipindex n, ipnumber *x, bool new_x, ...,
    UserDataPtr)`; option `constraints`: g."""
    return _ipopt(request, True)


def _ipopt(request: Request, with_new: bool) -> Ipopt:
    request.no_options("constraints")
    problem = Problem(request)
    x = c.At("x")
    new_x = (_NEW_X,) if with_new else ()
    new_lambda = (_NEW_LAMBDA,) if with_new else ()
    places = (_ROWS, _COLUMNS) if with_new else ()

    def made(
        name: str,
        kernel: TracedKernel,
        parameters: Sequence[c.CParameter],
        given: Sequence[c.Place],
        structure: Structure | None = None,
    ) -> NativeFunction:
        out = parameters[-1].name
        sizes: list[tuple[str, Any]] = [("n", problem.n)]
        if _M in parameters:
            sizes.append(("m", problem.m))
        asked: tuple[tuple[str, tuple[int, ...]], ...] = ()
        if structure is not None:
            sizes.append(("nele", len(structure)))
            if with_new:
                asked = (("iRow", structure.rows), ("jCol", structure.columns))
        function = c.CFunction(
            f"{request.name}_{name}",
            (*parameters, _USER),
            "success",
            kernel.places(given),
            (c.At(out),),
            tuple(sizes),
            skips=out if asked else "",
            structure=asked,
        )
        return request.make(function, kernel)

    nele = c.CParameter("nele", "int32", "int nele")
    return Ipopt(
        problem.n,
        problem.m,
        made("f", problem.kernel(problem.f), (_N, _X, *new_x, _out("obj_value")), [x]),
        made("grad_f", problem.kernel(problem.gradient), (_N, _X, *new_x, _out("grad_f")), [x]),
        made("g", problem.kernel(problem.g), (_N, _X, *new_x, _M, _out("g")), [x]),
        made(
            "jac_g",
            problem.kernel(problem.jacobian_values),
            (_N, _X, *new_x, _M, nele, *places, _out("values")),
            [x],
            problem.jacobian,
        ),
        made(
            "h",
            problem.hessian_kernel(),
            (
                _N,
                _X,
                *new_x,
                _FACTOR,
                _M,
                _LAMBDA,
                *new_lambda,
                nele,
                *places,
                _out("values"),
            ),
            [x, c.ByValue("obj_factor"), c.At("lambda")],
            problem.hessian,
        ),
        (problem.jacobian.rows, problem.jacobian.columns),
        (problem.hessian.rows, problem.hessian.columns),
    )


__all__ = ["Ipopt", "Problem", "ipopt_c", "ipyopt"]
