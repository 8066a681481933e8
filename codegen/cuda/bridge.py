"""Numba's extension interface for devices, where the processor's differs from it."""

from __future__ import annotations

import functools
from typing import Any

from numba.core import types
from numba.cuda.extending import lower_builtin, type_callable
from numba.cuda.typing.templates import Signature

from ..native.bridge import Lower, Typer


def primitive(function: Any, typer: Typer, lower: Lower) -> None:
    """Give a Python function a form in LLVM terms on devices; `typer` returns a signature, of either Numba, or None."""

    @functools.wraps(typer)
    def for_device(*kinds: Any) -> Any:
        found = typer(*kinds)
        return None if found is None else Signature(found.return_type, found.args, None)

    type_callable(function)(lambda context: for_device)
    lower_builtin(function, types.VarArg(types.Any))(lower)
