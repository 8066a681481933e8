"""What becomes of an error inside a public function: the argument that was wrong, in the words of
the function's own signature.

Nothing here runs while calls succeed. `explained` goes through the arguments of a call that has
failed; the first that is not what its parameter says becomes the error. What the library itself
says with `raise` stays, with the name of the function before it, and errors of the user's own code
are left alone.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from opcode import opmap
from types import FrameType
from typing import Any

import numpy as np

from .._codegen import locks
from ..errors import (
    AxisError,
    ConcretizationError,
    DTypeError,
    EscapedValueError,
    ShapeError,
    UnsupportedFunctionError,
)
from .kinds import ARRAY, BOOL, REALS, SHAPED, TENSOR, describe, fault, fault_of_array

REFUSED = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    AssertionError,
)
"""What a failure path catches."""
_SPEAKING = (ConcretizationError, EscapedValueError, UnsupportedFunctionError)
"""Errors that say what was done to a value, and where: that comes before what it was given to."""
_NAMED = {
    TypeError,
    ValueError,
    IndexError,
    OverflowError,
    NotImplementedError,
    AxisError,
    ShapeError,
    DTypeError,
    np.linalg.LinAlgError,
}
"""Errors whose message may be preceded by the name of the function. A RuntimeError has torch's own
words."""
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (_HERE, os.path.join(os.path.dirname(_HERE), "codegen"))
_found = importlib.util.find_spec("scipy")  # it is not loaded yet
_SCIPY = os.path.dirname(_found.origin or "-") if _found is not None else "-"
_LIBRARIES = (*_OURS, _SCIPY, os.path.dirname(np.__file__), copy.__file__, "<frozen", "<string>")
_RAISE = opmap["RAISE_VARARGS"]


@functools.cache
def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature with its annotations as text."""
    if isinstance(function, np.ufunc):
        return _of_ufunc(function)
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _of_ufunc(function: Any) -> inspect.Signature:
    """A ufunc's operands and options, which NumPy does not tell."""
    operands = ["x"] if function.nin == 1 else [f"x{k + 1}" for k in range(function.nin)]
    options = ("out", "where", "casting", "order", "dtype", "subok", "signature")
    of = inspect.Parameter
    return inspect.Signature(
        [
            *[of(name, of.POSITIONAL_ONLY) for name in operands],
            *[of(name, of.KEYWORD_ONLY, default=None) for name in options],
        ]
    )


def arguments_of(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[inspect.Parameter, Any]]:
    """Each argument that was given, with its parameter."""
    bound = signature.bind(*args, **kwargs)
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from (
                (parameter, part)
                for part in (
                    value
                    if len(value) != 1 or not isinstance(value[0], (list, tuple))
                    else value[0]
                )
            )
        elif parameter.kind is not parameter.VAR_KEYWORD:
            yield parameter, value


class _Origin:
    """Where an error came from."""

    def __init__(self, error: BaseException) -> None:
        self.users = False
        """It was raised in, or went through, code that is not the library's."""
        self.said = True
        """The library raised it, with words of its own; not an operation on something that was no
        operand for it."""
        self.scipys = False
        """SciPy raised it, with words of its own."""
        self.converting = False
        """A Tensor was asked for one number."""
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            # Extension modules give the names of their sources as they were built.
            if trace.tb_next is None:
                raised = code.co_code[trace.tb_lasti] == _RAISE
                self.said = raised and code.co_filename.startswith(_OURS)
                self.scipys = raised and code.co_filename.startswith(_SCIPY)
                self.converting = code.co_name in ("__bool__", "__float__", "__int__", "__index__")
            if trace is not error.__traceback__ and not code.co_filename.startswith(_LIBRARIES):
                self.users = self.users or not code.co_filename.endswith((".pyx", ".pxd"))
            trace = trace.tb_next


_PLACE = re.compile(r"^[^\s:]+:\d+: ")


def explained(
    error: Exception,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Exception:
    """The error of a call of the public function `name` that failed with `error`, which it may
    be."""
    origin = _Origin(error)
    if origin.users or isinstance(error, _SPEAKING):
        return error
    if getattr(error, "found_at_fault", False):
        # By a public function that this one calls: it may have been an argument of ours.
        return at_fault(error, name, function, args, kwargs) or named(error, name)
    if (
        origin.said
        and not origin.converting
        and (type(error) in _NAMED or isinstance(error, RuntimeError))
    ):
        return named(error, name)
    wrong = at_fault(error, name, function, args, kwargs)
    if wrong is None and (origin.scipys or isinstance(error, np.linalg.LinAlgError)):
        return named(error, name)  # the latter is about the numbers, and callers catch it
    if wrong is None and origin.said and not origin.converting:
        return error
    return wrong or _unfit(error, name, function, args, kwargs)


_SCIPYS = ". What takes SciPy's arguments is tg.scipy.{}"
ELSEWHERE = {
    **{
        ("minimize", n): _SCIPYS.format("minimize")
        for n in ("bounds", "constraints", "callback", "options", "jac", "hess")
    },
    **{("root", n): _SCIPYS.format("root") for n in ("callback", "options", "jac")},
}
"""Arguments of functions of SciPy that have the name of one of ours."""


def at_fault(
    error: Exception,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Exception | None:
    """The error that says which argument of a call is not what it must be, if one is not."""
    signature = signature_of(function)
    if signature is None:
        return None
    try:
        given = list(arguments_of(signature, args, kwargs))
    except TypeError as mismatch:
        more = next((ELSEWHERE[name, n] for n in kwargs if (name, n) in ELSEWHERE), "")
        return TypeError(
            f"{name}: {mismatch}. It is called as {name.rpartition('.')[2]}{_spelled(signature)}"
            f"{more}"
        )
    # What looked for an attribute of an array or a Tensor, or calculated with one, was given
    # something else: a number, a list.
    levels = {AttributeError: (ARRAY, SHAPED, TENSOR), TypeError: (ARRAY, SHAPED, REALS)}
    for least in levels.get(type(error), (ARRAY,)):
        for parameter, value in given:
            found = fault(parameter, value, least)
            if found:
                wrong = (DTypeError if isinstance(error, DTypeError) else TypeError)(
                    f"{name}: {parameter.name} {found}"
                )
                wrong.found_at_fault = True  # type: ignore[attr-defined]
                return wrong
    if _TOO_LARGE.search(str(error)):
        return ValueError(
            f"{name}: {_list_of(given)} would make an array of more elements than memory can hold"
        )
    return None


def _unfit(
    error: Exception,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Exception:
    """The error of arguments of which each is what it must be, but which do not go together."""
    signature = signature_of(function)
    if signature is None or not isinstance(
        error, (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
    ):
        return named(error, name)
    given = ", ".join(
        f"{p.name} is {describe(value)}" for p, value in arguments_of(signature, args, kwargs)
    )
    kind = next(
        (k for k in (AxisError, ShapeError, IndexError, ValueError) if isinstance(error, k)),
        TypeError,
    )
    made = kind(
        f"{name}: the arguments do not fit together: {given} ({type(error).__name__}: {error})"
    )
    made.__cause__ = error
    return made


_TOO_LARGE = re.compile(
    "Maximum allowed|array is too big|too large to convert|Unable "
    "to allocate|maximum supported dimension"
)


def _list_of(given: Iterable[tuple[inspect.Parameter, Any]]) -> str:
    return ", ".join(
        f"{p.name}={value!r}"
        if isinstance(value, (int, tuple))
        else f"{p.name} ({describe(value)})"
        for p, value in given
    )


def named(error: Exception, name: str) -> Exception:
    """An error whose message begins with the name of the public function (behind the place in the
    user's code, if it has one)."""
    text = str(error)
    place = _PLACE.match(text)
    at = place.end() if place else 0
    last = re.escape(name.rpartition(".")[2])
    if (
        type(error) in _NAMED
        and error.args
        and not re.search(rf"^(\w+[.:] ?)*{last}\b|\b{last}(\(\))?:", text[at:])
    ):
        error.args = (f"{text[:at]}{name}: {text[at:]}", *error.args[1:])
    return error


def placed(error: Exception, where: str, name: str) -> Exception:
    """The error of an operation that was written at a place in the user's code and is computed
    later: `error` itself where it names a place, or is the user's own (`check`)."""
    if name == "check" or not where or type(error) not in _NAMED or _PLACE.match(str(error)):
        return error
    return type(error)(f"{where}: {name}: {error}")


def _spelled(signature: inspect.Signature) -> str:
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


# --- who was called -------------------------------------------------------------------------------

_CALLED: dict[types.CodeType, list[tuple[str, types.FunctionType]]] = {}
"""The public functions that have no failure path of their own, by their code, which those that one
function made share."""
_WAITING: list[Callable[[], None]] = []
_LOOKING = locks.lock()


def _known(frame: FrameType) -> tuple[str, types.FunctionType] | None:
    """The registered function that runs in a frame, if it is one."""
    for name, function in _CALLED.get(frame.f_code, ()):
        cells = zip(frame.f_code.co_freevars, function.__closure__ or (), strict=True)
        if all(frame.f_locals.get(variable) is cell.cell_contents for variable, cell in cells):
            return name, function
    return None


def called() -> tuple[str, types.FunctionType, FrameType] | None:
    """The public function that the user's code has called, as far as it is registered: seen from a
    shared check that failed."""
    with _LOOKING:
        while _WAITING:
            _WAITING.pop()()
    frame: FrameType | None = sys._getframe(1)
    found = None
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        known = _known(frame)
        if known is not None:
            found = (*known, frame)
        frame = frame.f_back
    return found


def explained_here(error: Exception, otherwise: str = "") -> Exception:
    """`explained` for a check that functions without a failure path share, with the arguments that
    the call has now."""
    found = called()
    if found is None:
        return named(error, otherwise) if otherwise else error
    name, function, frame = found
    return explained(error, name, function, *_arguments(frame))


def _arguments(frame: FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the parameters of a running function are now."""
    code, values = frame.f_code, frame.f_locals
    count, all_named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    args = [values[n] for n in code.co_varnames[:count] if n in values]
    if code.co_flags & inspect.CO_VARARGS:
        args.extend(values.get(code.co_varnames[all_named], ()))
    return tuple(args), {n: values[n] for n in code.co_varnames[count:all_named] if n in values}


def register(function: types.FunctionType, name: str) -> None:
    """Let shared checks know a public function that has no failure path."""
    _CALLED.setdefault(function.__code__, []).append((name, function))


def before_looking(run: Callable[[], None]) -> Callable[[], None]:
    """Let `run` register the functions of a namespace that makes its failure paths as they are
    asked for, before the first look for who was called."""
    _WAITING.append(run)
    return run


def pair_of(result: Any, who: str) -> tuple[Any, Any]:
    """What a function gives with `has_aux`: its result and something besides."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"{who}: with has_aux the function must return a pair (result, aux), "
            f"not {describe(result)}"
        )
    return result[0], result[1]


def flag(name: str, value: Any) -> bool:
    """Whether an option is true, for the public function that was called; a TypeError for what is
    no condition."""
    if value is True or value is False:
        return value
    if not BOOL.accepts(value):
        raise explained_here(TypeError(f"{name} is {describe(value)}; it must be {BOOL.wants}"))
    return bool(value)


def argument_numbers(given: Any, who: str, what: str = "argnums") -> Any:
    """The numbers of arguments: an integer, or a tuple of them."""
    numbers = given if isinstance(given, (list, tuple, range)) else (given,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in numbers):
        raise TypeError(
            f"{who}: {what} is {describe(given)}; it must be an integer or a sequence of integers"
        )
    return tuple(numbers) if numbers is given else given


def array(x: Any) -> np.ndarray[Any, Any]:
    """An ndarray of numbers, of a number or nested lists of them; a TypeError, for the public
    function that was called, of what is none."""
    try:
        made = np.asarray(x)
        if made.dtype.kind in "biufc":
            return made
    except REFUSED:
        pass
    wrong, found = (
        TypeError(
            "an array, a Tensor or a number is wanted, "
            f"not {describe(x)}{fault_of_array(x).rstrip()}"
        ),
        called(),
    )
    raise (found and at_fault(wrong, found[0], found[1], *_arguments(found[2]))) or explained_here(
        wrong
    )
