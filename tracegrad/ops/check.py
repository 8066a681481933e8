"""`check`: an operation that fails where a number is not 0. The exceptions of a program that is
compiled are such numbers while it runs, and raised when it has ended. Below all other operations,
since any of them may have conditions."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from typing import Any

import numpy as np

from .._codegen import lowering
from ..dtypes import module_of
from ..ir.dispatch import bind
from ..ir.op import Types, op
from ..types import ArrayType

INT64 = np.dtype(np.int64)
_TEXT = re.compile(r"raise (\S+) in (.*), line (\d+) of ([^\n]*)\n(.*)", re.DOTALL)
_KINDS: dict[str, type[BaseException]] = {}
"""Exceptions of the user's by the names that errors have for them."""


def error_text(error: BaseException, file: str, line: int, function: str) -> str:
    """An exception as a text that a compiled program can keep."""
    kind = type(error)
    name = f"{module_of(kind)}:{kind.__qualname__}".replace(" ", "")
    _KINDS[name] = kind
    args = error.args if all(map(_is_plain, error.args)) else (str(error),)
    return f"raise {name} in {file}, line {line} of {function}\n{args!r}"


def _is_plain(x: Any) -> bool:
    return type(x) in (str, bytes, int, bool, type(None)) or (type(x) is float and x - x == 0)


def error_of(text: str) -> Any:
    """The exception of such a text, as if it had been raised at its line; None of others."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    name, file, line, function, given = found.groups()
    args = ast.literal_eval(given)
    try:
        error = _kind(name)(*args)
    except Exception:
        error = RuntimeError(f"{name.partition(':')[2]}: {', '.join(map(str, args))}")
    try:
        exec(_raising(file, int(line), function), {"error": error})
    except BaseException as raised:
        tb = raised.__traceback__
        return raised.with_traceback(None if tb is None else tb.tb_next)
    return error


def _raising(file: str, line: int, function: str) -> Any:
    """Code that raises at a line of the user's."""
    code = compile("\n" * (line - 1) + "raise error", file, "exec")
    return code.replace(co_name=function)


def _kind(name: str) -> type[BaseException]:
    if name in _KINDS:
        return _KINDS[name]
    module, _, path = name.partition(":")
    found: Any = builtins if module == "builtins" else importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found if issubclass(found, BaseException) else RuntimeError


def check(code: Any, errors: tuple[str, ...]) -> None:
    """Fail with the error of that number, counted from 1, where an element of `code` is not 0."""
    bind(check_op, [code], {"errors": errors})


def _evaluate(code: Any, *, errors: tuple[str, ...]) -> Any:
    number = int(np.max(code, initial=0))
    if number:
        error = error_of(errors[number - 1])
        raise RuntimeError(errors[number - 1]) if error is None else error
    return np.int64(0)


def _infer(code: Any, *, errors: tuple[str, ...]) -> Types:
    return (ArrayType(INT64, ()),)


def _batch(values: Any, axes: Any, size: Any, *, errors: tuple[str, ...]) -> Any:
    # In any lane.
    return [bind(check_op, [values[0]], {"errors": errors})], [None]


check_op = op(
    "check",
    ["code"],
    evaluate=_evaluate,
    infer=_infer,
    vjp=[None],
    jvp=lambda tangents, inputs, outs, *, errors: [None],
    batch=_batch,
    lowering=lowering.CHECK,
    effects=True,
    doc="Fails with one of several errors where a number is not 0.",
)

OPS = (check_op,)
__all__ = ["check", "check_op", "error_of", "error_text"]
