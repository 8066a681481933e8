"""Functions and their derivatives as a shared library: a header, the library, an example in C."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._codegen import c_function as c
from .._codegen import loading
from ..compiled.jitted import Jitted
from ..derivatives.jacobians import hessian, jacobian
from ..derivatives.reverse import grad, value_and_grad
from ..errors import TracegradError
from . import casadi, cnlp
from .header import example_text, header_text
from .kernels import TracedKernel, identifier, kernel_of, refuse
from .linking import SUFFIX, link
from .native_function import prototype_of
from .plain import described
from .requests import Request

_WRAPPING = loading.imported("..codegen.native.c_wrapper", __package__)
_SUPPORT = loading.imported("..codegen.native.c_support", __package__)
_LIBRARY = loading.imported("..codegen.native.c_library", __package__)

FORMAT = 1
"""Of what a library tells of itself; a loader that knows another one refuses it."""
DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "grad": grad,
    "value_and_grad": value_and_grad,
    "jacobian": jacobian,
    "hessian": hessian,
}
Maker = Callable[[Request], Any]


@dataclass(frozen=True)
class LibraryPiece:
    """A function of a library."""

    function: c.CFunction
    kernel: TracedKernel
    kind: str
    """The signature: "plain", ..."""
    text: str
    """What it computes, for the header."""

    @property
    def prototype(self) -> str:
        return prototype_of(self.function)


@dataclass
class LibraryParts:
    """What a library is made of."""

    name: str
    pieces: list[LibraryPiece] = field(default_factory=list)
    llvm: list[str] = field(default_factory=list)
    """Further functions, as text."""
    exported: list[tuple[str, str, str]] = field(default_factory=list)
    """Their names, prototypes, and what they are."""

    def add(self, prototype: str, name: str, text: str, llvm: str) -> None:
        """A function that is given as LLVM text."""
        self.exported.append((name, prototype, text))
        self.llvm.append(llvm)


def export(
    function: Jitted[..., Any],
    makers: dict[str, Maker],
    folder: Any,
    name: str,
    args: tuple[Any, ...],
    derivatives: Sequence[str],
    signatures: Sequence[str],
    sizes: str,
    cpu: str,
    libraries: Sequence[str],
    options: dict[str, Any],
) -> Path:
    """What `Jitted.export` does."""
    what = f"{function.__name__}.export"
    _check(what, makers, name, derivatives, signatures, sizes)
    parts = LibraryParts(name)
    symbols: tuple[str, ...] = ()
    for signature in signatures:
        if signature == "plain":
            symbols = _plain(parts, function, args, derivatives, sizes == "symbolic", what)
            continue

        def collect(made: c.CFunction, kernel: TracedKernel, *_: Any, kind: str = signature) -> Any:
            parts.pieces.append(LibraryPiece(made, kernel, kind, f"the form {kind!r}"))

        request = Request(function, args, signature, dict(options), collect, name)
        if signature == "casadi":
            casadi.parts_of(request, parts)
        elif signature == "cnlp":
            cnlp.parts_of(request, parts)
        else:
            makers[signature](request)
    names = [p.function.name for p in parts.pieces] + [n for n, _, _ in parts.exported]
    if twice := sorted({n for n in names if names.count(n) > 1}):
        refuse(what, f"{', '.join(twice)} would be there twice; export one of the signatures alone")
    return _written(Path(folder), parts, symbols, cpu, libraries, what)


def _check(
    what: str,
    makers: dict[str, Maker],
    name: str,
    derivatives: Sequence[str],
    signatures: Sequence[str],
    sizes: str,
) -> None:
    if not isinstance(name, str) or identifier(name) != name or name in _LIBRARY.KNOWN:
        refuse(what, f"name must be an identifier of C, not {name!r:.60}", ValueError)
    for kind, given, known in (
        ("derivatives", derivatives, [*DERIVATIVES]),
        ("signatures", signatures, [*makers, "casadi", "cnlp"]),
    ):
        if isinstance(given, str):
            refuse(what, f"{kind} is a list of names, not one text")
        if unknown := [g for g in given if g not in known]:
            refuse(what, f"{kind} has {unknown!r:.80}; there are {', '.join(known)}", ValueError)
    if sizes not in ("fixed", "symbolic"):
        refuse(what, f"sizes is 'fixed' or 'symbolic', not {sizes!r:.60}", ValueError)
    if sizes == "symbolic" and list(signatures) != ["plain"]:
        refuse(what, "sizes='symbolic' is for signatures=['plain'] alone", ValueError)


def _plain(
    parts: LibraryParts,
    function: Jitted[..., Any],
    args: tuple[Any, ...],
    derivatives: Sequence[str],
    symbolic: bool,
    what: str,
) -> tuple[str, ...]:
    symbols: tuple[str, ...] = ()
    for derivative in derivatives:
        kernel = kernel_of(DERIVATIVES[derivative](function), args, what, symbolic)
        symbols = kernel.compiled.symbols if symbolic else ()
        for relation, difference, fact in kernel.form.facts:
            if relation == "==" and fact:
                refuse(
                    what,
                    f"{difference} == 0 was decided for the sizes of the example (by range(n), "
                    "np.arange(n), a size as an index, ...); use sizes='fixed'",
                    TracegradError,
                )
        own = parts.name if derivative == "value" else f"{parts.name}_{derivative}"
        text = {
            "value": "the function",
            "grad": "its gradient by the first argument",
            "value_and_grad": "value and gradient by the first argument",
            "jacobian": "its Jacobian by the first argument",
            "hessian": "its Hessian by the first argument",
        }[derivative]
        parts.pieces.append(LibraryPiece(described(kernel, own, symbols), kernel, "plain", text))
    return symbols


def _written(
    folder: Path,
    parts: LibraryParts,
    symbols: tuple[str, ...],
    cpu: str,
    libraries: Sequence[str],
    what: str,
) -> Path:
    name = parts.name
    wanted = _LIBRARY.features(cpu)[2]
    about = {
        "format": FORMAT,
        "tracegrad": _version(),
        "name": name,
        "cpu": cpu,
        "features": wanted,
        "functions": [_about(p) for p in parts.pieces],
    }
    text, kernels = _module(parts, json.dumps(about))
    exported = [p.function.name for p in parts.pieces] + [n for n, _, _ in parts.exported]
    exported += [f"{name}_about", f"{name}_last_status"]
    try:
        code = _LIBRARY.object_file(text, kernels, exported, cpu, bool(libraries))
    except LookupError as missing:
        refuse(
            what,
            f"the code calls {missing}, which is in no library of C's and has no form without. For "
            "routines of BLAS and LAPACK pass libraries=['openblas'] (or ['lapack', 'blas']), "
            "which the linker must find; for the others compute a table or a series yourself",
            TracegradError,
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.h").write_text(header_text(parts, symbols, about))
    (folder / f"{name}_example.c").write_text(example_text(parts, symbols, SUFFIX))
    objects, library = folder / f"{name}.o", folder / f"{name}{SUFFIX}"
    objects.write_bytes(code)
    link(objects, library, libraries)
    return library


def _version() -> str:
    """The package's, which is above all of its rooms."""
    found: str = sys.modules["tracegrad"].__version__
    return found


def _about(piece: LibraryPiece) -> dict[str, Any]:
    def array(a: Any) -> Any:
        return [a.name, a.dtype.name, [s if isinstance(s, int) else str(s) for s in a.shape]]

    return {
        "name": piece.function.name,
        "signature": piece.kind,
        "prototype": piece.prototype,
        "parameters": [[p.name, p.kind] for p in piece.function.parameters],
        "sizes": [n for n, s in piece.function.sizes] if piece.kind == "plain" else [],
        "inputs": [array(a) for a in piece.kernel.given],
        "outputs": [array(a) for a in piece.kernel.form.outputs],
        "errors": list(piece.kernel.program.errors),
    }


def _module(parts: LibraryParts, about: str) -> tuple[str, list[Any]]:
    """The functions as LLVM text, and the kernels that they call."""
    kernels: list[Any] = []
    known: dict[str, str] = {}
    texts: list[str] = []
    extra: list[str] = [_SUPPORT.FAILURE_TABLE, _SUPPORT.last_failure(f"{parts.name}_last_status")]
    for number, piece in enumerate(parts.pieces):
        kernel = piece.kernel
        source = kernel.compiled.printed.source
        symbol = known.get(source)
        if symbol is None:
            symbol = known[source] = f"{parts.name}_kernel_{len(kernels)}"
            kernels.append(
                _LIBRARY.LibraryKernel(
                    source,
                    kernel.program.name,
                    tuple([(a.dtype, len(a.shape), "C") for a in kernel.form.inputs]),
                    tuple([(a.dtype, len(a.shape)) for a in kernel.form.outputs]),
                    symbol,
                )
            )
            extra.append(f"declare i32 @{symbol}(...)\n")
        table = f"@tg.captured.{number}"
        extra.append(_captured(table, kernel.captured))
        extra.append(_WRAPPING.structures(piece.function))
        texts.append(
            _WRAPPING.wrapper(
                piece.function,
                kernel.form,
                f"@{symbol}",
                "ptr @tg.failures.count, ptr @tg.failures",
                table,
                number,
                True,
            )
        )
    extra.append(_text("tg.about", about.encode()))
    texts.append(f"define ptr @{parts.name}_about() {{ ret ptr @tg.about }}\n")
    arrays = [a for p in parts.pieces for a in p.kernel.given]
    zeros = max([_fixed_bytes(a) for a in arrays], default=64)
    return _SUPPORT.module_text([*texts, *parts.llvm], "\n".join(extra), zeros), kernels


def _fixed_bytes(array: c.KernelArray) -> int:
    count = c.size_of(array.shape)
    return count * array.dtype.itemsize if isinstance(count, int) else 0


def _captured(table: str, arrays: Sequence[np.ndarray[Any, Any]]) -> str:
    """Captured arrays as constants, and where they are."""
    lines = []
    for k, x in enumerate(arrays):
        lines.append(f"{table}.{k} = internal constant {_bytes(x.tobytes())}, align 64")
    pointers = ", ".join(f"ptr {table}.{k}" for k in range(len(arrays))) or "ptr null"
    count = max(len(arrays), 1)
    lines.append(f"{table} = internal constant [{count} x ptr] [{pointers}]")
    return "\n".join(lines) + "\n"


def _bytes(content: bytes) -> str:
    written = "".join(f"\\{b:02X}" for b in content)
    return f'[{len(content)} x i8] c"{written}"'


def _text(name: str, content: bytes) -> str:
    content += b"\0"
    return f"@{name} = internal constant {_bytes(content)}\n"


__all__ = ["DERIVATIVES", "FORMAT", "LibraryParts", "LibraryPiece", "export"]
