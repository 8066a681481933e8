"""A nonlinear program as a model of the cnlp interface: one shared library, with a prefix for each
model. Indices count from 1, the Hessian is the lower triangle, and every function returns a status
or a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._codegen import c_function as c
from .kernels import TracedKernel
from .programming import Problem
from .requests import Request
from .structure import Structure

_ID = c.CParameter("id", "int32", "int id")
_X = c.CParameter("x", "pointer", "const double *x")


def parts_of(request: Request, parts: Any) -> None:
    """Add a model to what a library is made of; options `constraints`, `bounds` and
    `constraint_bounds` (each a pair of numbers or vectors, by default none)."""
    request.no_options("constraints", "bounds", "constraint_bounds")
    problem, name = Problem(request), request.name
    n, m = problem.n, problem.m
    bounds = [*_bounds(request, "bounds", n), *_bounds(request, "constraint_bounds", m)]

    def function(
        suffix: str, kernel: TracedKernel, given: Sequence[Any], places: Sequence[Any], out: str
    ) -> None:
        result = c.CParameter(out, "pointer", f"double *{out}")
        made = c.CFunction(
            f"{name}_{suffix}",
            (_ID, *given, result),
            "status",
            kernel.places(places),
            (c.At(out),),
            (("id", 1),),
        )
        request.make(made, kernel)

    x = [c.At("x")]
    function("obj", problem.kernel(problem.f), [_X], x, "value")
    function("grad", problem.kernel(problem.gradient), [_X], x, "g")
    function("cons", problem.kernel(problem.g), [_X], x, "c")
    function("jac", problem.kernel(problem.jacobian_values), [_X], x, "values")
    y = c.CParameter("y", "pointer", "const double *y")
    weight = c.CParameter("obj_weight", "float64", "double obj_weight")
    places = [c.At("x"), c.ByValue("obj_weight"), c.At("y")]
    function("hess", problem.hessian_kernel(), [_X, y, weight], places, "values")

    def number(suffix: str, value: int, text: str, parameter: str = "int id") -> None:
        own = f"{name}_{suffix}"
        # A number that is no instance's is no count, and -1 says so.
        llvm = (
            f"define i32 @{own}(i32 %id) {{\n  %known = icmp eq i32 %id, 1\n"
            f"  %value = select i1 %known, i32 {value}, i32 -1\n  ret i32 %value\n}}\n"
            if parameter == "int id"
            else f"define i32 @{own}(i32 %ignored) {{ ret i32 {value} }}\n"
        )
        parts.add(f"int {own}({parameter})", own, text, llvm)

    number("new", 1, "an instance of the model", "int ignored")
    parts.add(
        f"int {name}_nargs(void)",
        f"{name}_nargs",
        "what an instance is made from: nothing",
        f"define i32 @{name}_nargs() {{ ret i32 0 }}\n",
    )
    parts.add(
        f"int {name}_argtype(unsigned char *buffer, int capacity)",
        f"{name}_argtype",
        "the types of that: none",
        f"define i32 @{name}_argtype(ptr %buffer, i32 %capacity) {{ ret i32 0 }}\n",
    )
    number("nvar", n, "variables")
    number("ncon", m, "constraints")
    number("nnzj", len(problem.jacobian), "values of the Jacobian")
    number("nnzh", len(problem.hessian), "values of the Hessian's lower triangle")
    _copies(
        parts, f"{name}_meta", "the starting point and bounds", "double",
        [("x0", problem.x), *zip(("lvar", "uvar", "lcon", "ucon"), bounds, strict=True)],
    )  # fmt: skip
    for suffix, structure in (("jac", problem.jacobian), ("hess", problem.hessian)):
        _structure(parts, f"{name}_{suffix}_structure", structure)


def _structure(parts: Any, name: str, structure: Structure) -> None:
    numbers = [("rows", structure.rows), ("cols", structure.columns)]
    from_one = [(n, np.array(v, np.int32) + 1) for n, v in numbers]
    _copies(parts, name, "where the values belong, counted from 1", "int", from_one)


def _copies(parts: Any, name: str, text: str, word: str, values: Sequence[tuple[str, Any]]) -> None:
    """A function that fills arrays with constants."""
    size, kind = (8, np.float64) if word == "double" else (4, np.int32)
    constants, copies = [], []
    for k, (_, numbers) in enumerate(values):
        content = np.ascontiguousarray(numbers, kind).tobytes()
        written = "".join(f"\\{b:02X}" for b in content)
        constants.append(
            f'@{name}.{k} = internal constant [{len(content)} x i8] c"{written}", align {size}\n'
        )
        copies.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %a{k}, ptr @{name}.{k}, "
            f"i64 {len(content)}, i1 false)\n"
        )
    given = ", ".join(f"ptr %a{k}" for k in range(len(values)))
    parts.add(
        f"int {name}(int id, {', '.join(f'{word} *{n}' for n, _ in values)})",
        name,
        text,
        "".join(constants)
        + f"define i32 @{name}(i32 %id, {given}) {{\n"
        + "  %known = icmp eq i32 %id, 1\n  br i1 %known, label %copy, label %unknown\n"
        + "copy:\n" + "".join(copies) + "  ret i32 0\nunknown:\n  ret i32 1\n}\n",
    )  # fmt: skip


def _bounds(request: Request, option: str, count: int) -> list[np.ndarray[Any, Any]]:
    given = request.options.get(option, (-np.inf, np.inf))
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        request.refuse(f"{option} is a pair (lower, upper), not {given!r:.60}")
    try:
        return [np.broadcast_to(np.asarray(b, np.float64), (count,)) for b in given]
    except ValueError:
        request.refuse(f"{option} are numbers or vectors of {count}")


__all__ = ["parts_of"]
