"""What to do instead of a function that cannot take traced or differentiated values."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, NoReturn

from ...errors import UnsupportedFunctionError
from ...ir.lines import library_calls, user_line

INSTEAD: dict[str, str] = {
    "np.emath.arccos": "np.arccos(x.astype(complex))",
    "np.emath.arcsin": "np.arcsin(x.astype(complex))",
    "np.emath.arctanh": "np.arctanh(x.astype(complex))",
    "np.emath.log": "np.log(x.astype(complex))",
    "np.emath.log10": "np.log10(x.astype(complex))",
    "np.emath.log2": "np.log2(x.astype(complex))",
    "np.emath.logn": "np.log(x.astype(complex)) / np.log(n)",
    "np.emath.power": "np.power(x.astype(complex), p)",
    "np.emath.sqrt": "np.sqrt(x.astype(complex))",
    "np.__call__": "tg.vmap(f)",
    "scipy.integrate.odeint": "tg.odeint",
    "scipy.integrate.trapezoid": "np.trapezoid",
    "scipy.interpolate.interp1d": "np.interp",
    "scipy.linalg.cholesky": "tg.linalg.cholesky(a, lower=False)",
    "scipy.linalg.det": "np.linalg.det",
    "scipy.linalg.eigh": "np.linalg.eigh",
    "scipy.linalg.inv": "np.linalg.inv",
    "scipy.linalg.lstsq": "np.linalg.lstsq",
    "scipy.linalg.funm": "w, v = np.linalg.eig(a), and v * f(w) @ np.linalg.inv(v)",
    "scipy.linalg.ldl": "np.linalg.cholesky of a positive definite matrix, else tg.linalg.lu",
    "scipy.linalg.norm": "np.linalg.norm",
    "scipy.linalg.qr": 'tg.linalg.qr(a, "full")',
    "scipy.linalg.qr_delete": "tg.linalg.qr of the smaller matrix",
    "scipy.linalg.qr_insert": "tg.linalg.qr of the larger matrix",
    "scipy.linalg.qr_update": "tg.linalg.qr(q @ r + np.outer(u, v))",
    "scipy.linalg.rsf2csf": "the complex form of a itself, as for scipy.linalg.schur",
    "scipy.linalg.schur": (
        "q = np.linalg.qr(np.linalg.eig(a)[1])[0], and q.conj().T @ a @ q, which is triangular"
    ),
    "scipy.linalg.solve": "np.linalg.solve",
    "scipy.linalg.svd": "np.linalg.svd",
    "scipy.fft.hfft2": "tg.fft.hfft after tg.fft.fft along the other axis",
    "scipy.fft.hfftn": "tg.fft.hfft after tg.fft.fft along the other axes",
    "scipy.fft.ihfft2": "tg.fft.ifft after tg.fft.ihfft along the last axis",
    "scipy.fft.ihfftn": "tg.fft.ifft after tg.fft.ihfft along the last axis",
    "scipy.interpolate.InterpolatedUnivariateSpline": "tg.interpolate.CubicSpline",
    "scipy.interpolate.UnivariateSpline": "tg.interpolate.CubicSpline (through all points)",
    "scipy.interpolate.splrep": "tg.interpolate.make_interp_spline",
    "scipy.optimize.bisect": "tg.root",
    "scipy.optimize.brenth": "tg.root",
    "scipy.optimize.brentq": "tg.root",
    "scipy.optimize.fsolve": "tg.root",
    "scipy.optimize.minimize": "tg.minimize",
    "scipy.optimize.newton": "tg.root",
    "scipy.optimize.ridder": "tg.root",
    "scipy.optimize.root": "tg.root",
    "scipy.optimize.root_scalar": "tg.root",
    "scipy.optimize.toms748": "tg.root",
    "scipy.sparse.cg": "tg.sparse.solve",
    "scipy.sparse.gmres": "tg.sparse.solve",
    "scipy.sparse.multiply": "A * w",
    "scipy.sparse.splu": "tg.sparse.solve",
    "scipy.sparse.spsolve": "tg.sparse.solve",
    "scipy.sparse.coo_array": "tg.sparse.array",
    "scipy.sparse.csc_array": "tg.sparse.array",
    "scipy.sparse.csr_array": "tg.sparse.array",
    "scipy.sparse.csr_matrix": "tg.sparse.array",
}
"""Functions that many programs call, and what computes the same from supported ones."""
ROOMS = ("fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "special", "stats")
"""Modules of SciPy whose functions stand under the same names here."""


def instead_of(name: str) -> str | None:
    """What to write for a function of another library, where that is known."""
    if name in INSTEAD:
        return INSTEAD[name]
    library, _, function = name.rpartition(".")
    room = library.removeprefix("scipy.")
    if library.startswith("scipy.stats."):  # a method of a distribution
        distribution = getattr(importlib.import_module("...stats", __package__), library[12:], None)
        return f"tg.stats.{name[12:]}" if hasattr(distribution, function) else None
    if library != room and room in ROOMS:
        # The rooms stand above this one, and this is on the way to an error.
        here = importlib.import_module(f"...{room}", __package__)
        if function in here.__all__:
            return f"tg.{room}.{function}"
    return None


def tell_missing(space: dict[str, Any]) -> None:
    """Have a module with SciPy's names say what to write for a name that it lacks. Type checkers do
    not see this: to them what is missing is missing."""
    space["__getattr__"] = partial(_missing, space["__name__"])


def _missing(module: str, name: str) -> NoReturn:
    room = module.rpartition(".")[2]
    words, there = f"module {module!r} has no attribute {name!r}", f"scipy.{room}.{name}"
    if there in INSTEAD:
        words += f"; in place of {there} write {INSTEAD[there]}"
    elif name[:1] != "_" and hasattr(importlib.import_module(f"scipy.{room}"), name):
        words += f": {_no_counterpart(there)}"
    raise AttributeError(words)


def _no_counterpart(name: str, hint: str | None = None, through: str = "") -> str:
    instead = f"Write {hint}" if hint else "Write it with supported functions"
    return (
        f"{name} has no counterpart for traced or differentiated values{through}. {instead}, "
        "or apply it to plain arrays outside of the traced or differentiated function"
    )


def unsupported(name: str, detail: str = "", reason: str = "") -> UnsupportedFunctionError:
    """The refusal of a function, or (`detail`) of one of its arguments; `reason` is told in place
    of the usual words."""
    if reason:
        return UnsupportedFunctionError(f"{user_line()}: {reason}.")
    if detail:
        return UnsupportedFunctionError(
            f"{user_line()}: {name}{detail} is not supported for traced or differentiated values. "
            "Leave that argument out, or write it with other functions."
        )
    words = _no_counterpart(name, instead_of(name), _through())
    return UnsupportedFunctionError(f"{user_line()}: {words}.")


def without_modulus(power: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`x ** y` for a class, of which `pow(x, y, n)` asks with a modulus as well."""

    def method(self: Any, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise TypeError(
                f"{user_line()}: pow(x, y, n) of a traced or differentiated number is not computed "
                "modulo n on the way. Write x ** y % n where int64 holds the power, a loop that "
                "multiplies and takes % n, or make the numbers static: static_argnames."
            )
        return power(self, other)

    method.__name__ = power.__name__
    return method


def inside_library() -> str:
    """Through which function of a library a value was asked for its numbers, and what to write in
    its place; "" outside of any."""
    calls = _library()
    if not calls:
        return ""
    name, known = calls
    hint = f"Write {known} in its place" if known else "Write its formula with NumPy's functions"
    if name.startswith("pandas."):
        hint = (
            "Take the numbers out of the frame or series outside of the function, "
            "values = frame.to_numpy(), and use these"
        )
    if name.startswith("tracegrad_njit_"):
        name = "What f.njit(...) made"
        hint = "In a function that is traced or differentiated call f itself"
    return (
        f"{name} works on plain numbers and ndarrays, and cannot take it. {hint}, "
        "or (for running code) give the call a derivative with tg.custom_vjp."
    )


def asked_by_sparse() -> bool:
    """Whether an operator of SciPy's sparse arrays asks for an array, whatever the operand is."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("scipy.sparse."):
        if frame.f_code.co_name in _OPERATORS:
            return True
        frame = frame.f_back
    return False


_OPERATORS = ("__matmul__", "__rmatmul__", "__mul__", "__rmul__", "__truediv__")


def _through() -> str:
    calls = _library()
    return f" (inside of {calls[0]})" if calls else ""


def _is_deeper(parts: list[str], qualified: str) -> bool:
    """Whether a function stands in a module of three names and not in that of the first two."""
    name = qualified.partition(".")[0]
    outer, inner = (sys.modules.get(".".join(parts[:k])) for k in (2, 3))
    return len(parts) > 2 and not hasattr(outer, name) and hasattr(inner, name)


def _library() -> tuple[str, str | None] | None:
    """The function of another library that the user's line has called, and what to write instead
    where that is known."""
    names = []
    for module, qualified in library_calls():
        parts = [p for p in module.split(".") if not p.startswith("_")]
        owner, _, function = qualified.rpartition(".")
        if function == "__init__":
            function = owner
        if parts and not function.startswith("<"):
            place = ".".join(parts[:2]).replace("numpy.lib", "np").replace("numpy", "np")
            public = f"{place}.{parts[2]}" if _is_deeper(parts, qualified) else place
            shown = f"{public}.{qualified}" if "<locals>" not in qualified else ""
            names.append((shown if place == "scipy.stats" else f"{place}.{function}", shown))
    for name, shown in names:
        known = instead_of(name)
        if known is not None:
            return shown or name, known
    return next(((shown, None) for _, shown in names if shown), None)
