"""Numba's extension interface for devices, where the processor's differs from it."""

from __future__ import annotations

import functools
from typing import Any

from numba.core import types
from numba.cuda.descriptor import cuda_target
from numba.cuda.extending import lower_builtin, type_callable
from numba.cuda.typing.templates import Signature, infer, make_overload_template

from ..native.bridge import Lower, Typer

OPTIONS = {"no_cpython_wrapper": True, "nopython": True, "inline": "never"}


def primitive(function: Any, typer: Typer, lower: Lower) -> None:
    """Give a Python function a form in LLVM terms on devices; `typer` returns a signature, of
    either Numba, or None."""

    @functools.wraps(typer)
    def for_device(*kinds: Any) -> Any:
        found = typer(*kinds)
        return None if found is None else Signature(found.return_type, found.args, None)

    type_callable(function)(lambda context: for_device)
    lower_builtin(function, types.VarArg(types.Any))(lower)


def implements(function: Any, typer: Typer) -> None:
    """Give a Python function a form written in Python on devices, and no other: what the
    processor's compiler was told of it is also offered to the one for devices, which would take
    what comes first."""
    template = make_overload_template(
        function, typer, OPTIONS, False, "never", False, target="cuda"
    )
    infer(template)
    context = cuda_target.typing_context
    context.refresh()
    if context._lookup_global(function) is not None:
        context._remove_global(function)
    context.insert_global(function, types.Function(template))
