"""What became of a call: which errors speak of the caller's mistake, and which of the inside."""

from __future__ import annotations

import functools
import inspect
import os
import re
import types
from opcode import opmap
from typing import Any

import numpy as np

import tracegrad as tg
import tracegrad.torch as torch

from . import inside, things
from .reasons import Call, reason_of
from .target import Target

INTERNAL_TYPES = (
    AttributeError,
    KeyError,
    AssertionError,
    UnboundLocalError,
    NameError,
    RecursionError,
    StopIteration,
    SystemError,
    ZeroDivisionError,
)
INTERNAL_WORDS = re.compile(
    r"""
    object\ is\ not\ (iterable|subscriptable|callable)|not\ enough\ values\ to\ unpack
    |too\ many\ values\ to\ unpack|NoneType|has\ no\ attribute|unhashable\ type
    |object\ is\ not\ an\ (iterator|integer)|cannot\ be\ interpreted\ as\ an\ integer
    |unsupported\ operand|bad\ operand|not\ supported\ between|must\ be\ real\ number
    |object\ of\ type\ .*has\ no\ len|object\ has\ no\ len|object\ does\ not\ support
    |indices\ must\ be\ integers|argument\ of\ type\ |inhomogeneous|could\ not\ convert\ string
    |Cannot\ interpret|ufunc\ '|setting\ an\ array|can't\ (multiply|convert)|can\ only\ concatenate
    |cannot\ convert\ float|int\ too\ (large|big)|first\ argument\ must|expected\ str
    |expected\ string|<lambda>|<locals>|truth\ value\ of\ an\ array|loop\ of\ ufunc|no\ loop
    |only\ (length-1|integer|0-dim)|zip\(\)|sequence\ item|cannot\ reshape\ array|invalid\ literal
    |tuple\ index|list\ index|operands\ could\ not\ be\ broadcast|maximum\ supported
    |Maximum\ allowed|buffer\ is\ too|array\ is\ too\ big|negative\ dimensions|not\ aligned
    |expected\ a\ sequence|axes\ don't\ match|must\ be\ a\ string|must\ be\ str\b
    """,
    re.VERBOSE,
)


def shown(error: BaseException) -> str:
    """The kind of an error: its message without what differs between calls."""
    text = re.sub(r"0x[0-9a-f]+", "0x", str(error))
    return f"{type(error).__name__}: {text}"


BAD = ("internal", "nameless", "lost", "lenient", "differs", "hangs")
NAMES = {
    *tg.ops.__all__,
    *dir(tg),
    *dir(tg.Tensor),
    *dir(torch),
    *dir(torch.linalg),
    *dir(tg.special),
    *dir(tg.nn),
    *dir(tg.nn.functional),
    *dir(tg.nn.Module),
    *(op.name for op in tg.ops.OPS),
}


def raised(error: BaseException) -> tuple[bool, bool, bool, bool]:
    """Whether an error went through a function that was handed over; whether the library said it in
    words of its own; whether it came from the library at all; and whether a line of the traced
    function is in its traceback."""
    through, said, reached, line, trace = False, True, False, False, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        through = through or (
            code.co_filename == things.__file__ and code.co_name in things.CALLBACKS
        )
        line = line or (code.co_filename == inside.__file__ and code.co_name == "users")
        # What the sweep's own code says last (an operator that nobody takes, a number that is none)
        # is Python's.
        reached = code.co_filename.startswith(LIBRARY) or (
            reached and not code.co_filename.startswith(HERE)
        )
        if trace.tb_next is None:
            said = (
                code.co_filename.startswith(LIBRARY)
                and code.co_code[trace.tb_lasti] == opmap["RAISE_VARARGS"]
            )
        trace = trace.tb_next
    return through, said, reached, line


HERE = os.path.dirname(things.__file__)
LIBRARY = (
    os.path.dirname(tg.__file__),
    os.path.join(os.path.dirname(os.path.dirname(tg.__file__)), "codegen"),
)


INSIDE = tuple(f" in {transform}" for transform in inside.TRANSFORMS)
OF_THE_TRANSFORM = re.compile(r"(?:inside\.py:\d+: )?(?:jit|vjp|vmap)\b")
SPEAKING = (tg.ConcretizationError, tg.EscapedValueError, tg.UnsupportedFunctionError)
"""Errors that say what was done to a value, and where, before what it was given to."""
OF_THE_TRANSFORM = re.compile(r"(?:inside\.py:\d+: )?(?:jit|vjp|vmap)\b")
SPEAKING = (tg.ConcretizationError, tg.EscapedValueError, tg.UnsupportedFunctionError)
"""Errors that say what was done to a value, and where, before what it was given to."""


def verdict(t: Target, error: BaseException, argument: str = "") -> str:
    """What sort of error a call gave.

    skipped   nothing was called
    users     the function that was handed over failed by itself
    clear     an error that names the function, or what it was made of
    torch's   an error in torch's own words
    theirs    Python's own words about an operator, or NumPy's about a call that never reached the
              library
    lost      an error in a traced function that shows no line of it
    nameless  an error in the library's words that names neither the function nor the argument
    internal  an error in the words of Python or NumPy about the library's inside
    """
    name = t.name
    if isinstance(error, things.Nothing):
        return "skipped"
    through, said, reached, line = raised(error)
    if through:
        return "users"
    text = str(error)
    if name.endswith(INSIDE):
        # What the transform itself was given, and what was done to a traced value, comes first.
        if OF_THE_TRANSFORM.match(text) or (line and isinstance(error, SPEAKING)):
            return "clear"
        if not line and "inside.py:" not in text:
            return "lost"
    if (
        not reached
        or isinstance(error, (MemoryError, OSError))
        or (".__" in name and (isinstance(error, LookupError) or INTERNAL_WORDS.search(text)))
    ):
        # Containers answer as Python's do.
        return "theirs"
    if "do not fit together" in text and isinstance(
        error.__cause__, (AssertionError, NameError, RecursionError)
    ):
        return "internal"
    last = name.removeprefix("del ").split()[0].split(".")[-1]
    signature = re.match(r"(?:\w+\.)*?(\w+)(?:\.__init__)?\(\) (missing|takes|got)", text)
    if signature is not None and (signature[1] == last or signature[1] in NAMES):
        return "clear"
    if not said and (
        isinstance(error, INTERNAL_TYPES)
        or INTERNAL_WORDS.search(text)
        or not isinstance(error, Exception)
    ):
        return "internal"
    alias = re.match(r"(?:[^\s:]+:\d+: )?(\w+) is not defined for", text)
    if alias is not None and alias[1] in NAMES:
        return "clear"
    known = re.match(r"(?:[^\s:]+:\d+: )?(?:\w+\.)*(\w+)(?:\(\))?: ", text)
    words = (re.escape(last), *t.words, *([argument] if len(argument) > 3 else []))
    if re.search(rf"\b({'|'.join(words)})\b", text) or (known is not None and known[1] in NAMES):
        return "clear"
    return (
        "torch's"
        if said
        and (type(error) in (RuntimeError, AssertionError, KeyError) or "Gradcheck" in shown(error))
        else "nameless"
    )


def outcome(t: Target, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any]:
    """What a call did, in one word, and the error or result.

    fine     it gave a result, and NumPy's function, where there is one, the same
    lenient  it gave a result where NumPy's function refuses the arguments
    differs  it gave another result than NumPy's function
    excused  either of these, for a reason
    hangs    it did not come back
    """
    try:
        result = t.make()(*args, **kwargs)
    except Exception as error:
        found = verdict(t, error, re.split(r" |=", what)[0])
        # What NumPy says of its own arrays, word by word, is said of ours.
        if (
            found in BAD
            and t.reference is not None
            and said_by(t.reference, args, kwargs) == shown(error)
        ):
            return "theirs", error
        return found, error
    if t.reference is None:
        return "fine", None
    found, theirs, note = compared(t, result, args, kwargs)
    if found == "fine":
        return found, note
    # The places of the wrong thing are those of the call, which a sweep made with none else.
    call = Call(t, what, plain(args), plain(kwargs), plain(result), theirs)
    reason = reason_of(call)
    return (found, note) if reason is None else ("excused", reason)


def said_by(reference: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    try:
        reference(*plain(args), **plain(kwargs))
    except Exception as error:
        return shown(error)
    return ""


def compared(
    t: Target, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str, Any, Any]:
    """The verdict, what the reference gave or raised, and what to say of it."""
    reference: Any = t.reference
    if t.scipys and any(isinstance(v, types.GeneratorType) for v in kwargs.values()):
        return "fine", None, None  # it has none left for SciPy
    try:
        # What is a dtype is for NumPy to say of the thing itself.
        kwargs = {k: v if k == "dtype" else plain(v) for k, v in kwargs.items()}
        args = plain(args)
        if signature_of(reference) is not None:
            signature_of(reference).bind(*args, **kwargs)
    except TypeError:
        return "fine", None, None
    try:
        expected = reference(*args, **kwargs)
    except TypeError as error:
        # What NumPy's function has no argument for.
        return (
            (
                "fine"
                if t.scipys or re.search(r"unexpected keyword|positional arg", str(error))
                else "lenient"
            ),
            error,
            error,
        )
    except Exception as error:
        fine = t.scipys and not isinstance(error, ValueError)
        return "fine" if fine else "lenient", error, error
    try:
        half = any(getattr(v, "dtype", None) == np.float16 for v in (*args, *kwargs.values()))
        same = alike(plain(result), expected, half)
    except TypeError:  # a Tensor of things that are no numbers
        same = False
    note = None if same else f"{type(result).__name__} but {expected!r:.80}"
    return "fine" if same else "differs", expected, note


def alike(x: Any, y: Any, half: bool = False) -> bool:
    """Whether results agree; to three digits where an argument was of half precision, which ours
    may stay, where SciPy's becomes another."""
    if isinstance(y, (tuple, list)) and not isinstance(x, np.ndarray):
        return (
            isinstance(x, (tuple, list))
            and len(x) == len(y)
            and all(alike(*parts, half) for parts in zip(x, y, strict=True))
        )
    try:
        a, b = np.asarray(x), np.asarray(y)
        if a.dtype.kind not in "biufc" or b.dtype.kind not in "biufc":
            return True
        # NumPy has half precision for booleans.
        half = half or b.dtype == np.float16
        rtol, atol = (4e-3, 2e-3) if half else (1e-6, 1e-12)
        return a.shape == b.shape and np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    except Exception:
        return True


def plain(x: Any) -> Any:
    if isinstance(x, tg.Tensor):
        return np.array(x.detach())
    if type(x) in (list, tuple):
        return type(x)(map(plain, x))
    return {k: plain(v) for k, v in x.items()} if type(x) is dict else x


@functools.cache
def signature_of(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
