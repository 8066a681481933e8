"""What a workload is, and how results are judged."""

from __future__ import annotations

import dis
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Function = Callable[..., Any]
Kind = Literal["value_and_grad", "grad", "hessian", "hvp", "step"]

TOLERANCE = 1e-10


@dataclass(frozen=True)
class Floor:
    """Work that no program for a workload's derivative avoids, done alone.

    name      "BLAS" for the products, "copy" for reading the arguments and writing results of their
              size
    function  does it; takes the workload's arguments and gives a tuple of arrays
    expected  the same results in plain NumPy
    compiled  whether Numba compiles it, so that a call costs what native code pays
    """

    name: str
    function: Function
    expected: Function
    compiled: bool = True


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A scalar function in plain NumPy style, and one derivative of it that is timed.

    name        what `--workload` takes; several workloads (other derivatives, other data) may share
                it
    variant     tells workloads of the same name and derivative apart
    derivative  what is asked for; a Hessian-vector product is taken along `direction(arguments)`,
                and a "step" is one of training: its result is the loss and the parameters after the
                first step
    function    the function, written with `np` and `special` (scipy.special) as global names, so
                that libraries which offer the same two interfaces run the very same text
    data        the seeded arguments: `data(**sizes[which])`
    argnums     the arguments with respect to which the derivative is taken
    reference   the independent derivative, written by hand: `reference(*arguments)`, and the
                direction last for "hvp"; gives the list of arrays that every contestant must give;
                it may be the same loops as `numba`
    numba       the derivative written by hand as loops, to be compiled by Numba with the helpers of
                its module; same signature and result as `reference`
    floor       what the time of the derivative cannot be below
    call_bound  whether the call itself is what takes the time, so that it matters where a library's
                arguments live
    loops       whether the function is written with the loops of `control`, which libraries have of
                their own
    elementwise whether the function does little more than arithmetic on each entry and a sum
    flush_denormals
                whether jit takes denormal numbers for 0, as JAX always does
    torch       `torch(module)` gives the function for torch
    tolerance   how far results may be from the reference: all contestants integrate with steps of
                their own choice, say
    step        of a "step": `step(library, *parameters)` gives the step, a function of the other
                arguments, and the parameters it moves
    casadi      `casadi(module)` gives the function on CasADi's symbols; None where the function
                does not fit CasADi
    """

    name: str
    variant: str = ""
    derivative: Kind
    doc: str
    function: Function
    data: Callable[..., tuple[npt.NDArray[Any], ...]]
    sizes: Mapping[str, Mapping[str, int]]
    reference: Function
    argnums: tuple[int, ...] = (0,)
    numba: Function | None = None
    floor: Floor | None = None
    call_bound: bool = False
    loops: bool = False
    elementwise: bool = False
    flush_denormals: bool = False
    torch: Callable[[Any], Function] | None = None
    casadi: Callable[[Any], Function] | None = None
    tolerance: float = TOLERANCE
    step: Callable[..., tuple[Function, list[Any]]] | None = None

    @property
    def title(self) -> str:
        """The name as tables show it."""
        return f"{self.name} ({self.variant})" if self.variant else self.name

    @property
    def key(self) -> str:
        """A name that no other workload has."""
        return "-".join(
            part for part in (self.name, self.variant, self.derivative) if part
        ).replace(" ", "-")

    def label(self, size: str) -> str:
        """The size as tables show it."""
        return ", ".join(f"{name}={value:,}" for name, value in self.sizes[size].items())

    def expected(
        self,
        arguments: Sequence[npt.NDArray[Any]],
        compiled: Callable[[Function], Function] = lambda loops: loops,
    ) -> list[npt.NDArray[Any]]:
        """The independent derivative at these arguments; `compiled` is asked where it is given by
        loops."""
        extra = (direction(arguments),) if self.derivative == "hvp" else ()
        reference = compiled(self.reference) if self.reference is self.numba else self.reference
        return [np.asarray(a) for a in reference(*arguments, *extra)]


def direction(arguments: Sequence[npt.NDArray[Any]]) -> Floats:
    """The direction of a Hessian-vector product in the first argument."""
    return np.random.default_rng(1).standard_normal(arguments[0].shape)


def with_helpers(function: Function, changed: Callable[[Function], Any]) -> Function:
    """The same function, on changed versions of the functions of its module that it calls."""
    assert isinstance(function, FunctionType)
    scope = dict(function.__globals__)
    for name in {i.argval for i in dis.get_instructions(function) if i.opname == "LOAD_GLOBAL"}:
        value = scope.get(name)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            scope[name] = changed(value)
    return FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )


def with_modules(function: Function, numpy: Any, special: Any, control: Any = None) -> Function:
    """The same function, and the helpers of its module, on another library's `np` and `special`,
    and its loops where it has any."""
    assert isinstance(function, FunctionType)
    scope: dict[str, Any] = {**function.__globals__, "np": numpy, "special": special}
    if control is not None:
        scope["control"] = control
    for name, value in list(scope.items()):
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            scope[name] = FunctionType(
                value.__code__, scope, name, value.__defaults__, value.__closure__
            )
    return FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )


def disagreement(
    found: Sequence[Any], expected: Sequence[Any], tolerance: float = TOLERANCE
) -> str:
    """Why `found` is not the expected derivative, or "" where it is.

    Every entry must satisfy |error| <= tolerance * max(|g_i|, max|g|), and no array may be all zero
    where the expected one is not.
    """
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    for k, (f, e) in enumerate(zip(found, expected, strict=True)):
        f, e = np.asarray(f), np.asarray(e)
        if f.shape != e.shape:
            return f"result {k} has shape {f.shape} instead of {e.shape}"
        if f.dtype != e.dtype:
            return f"result {k} has dtype {f.dtype} instead of {e.dtype}"
        if not np.all(np.isfinite(f)):
            return f"result {k} is not finite"
        if np.any(e) and not np.any(f):
            return f"result {k} is all zero"
        scale = float(np.max(np.abs(e), initial=0.0))
        error = float(np.max(np.abs(f - e), initial=0.0))
        if error > tolerance * scale:
            return f"result {k} is wrong: relative error {error / scale if scale else error:.1e}"
    return ""
