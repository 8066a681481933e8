"""What became of a call: which errors speak of the caller's mistake, and which of the inside."""

from __future__ import annotations

import os
import re
from opcode import opmap
from typing import Any

import tracegrad as tg

from . import things
from .targets import Target

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
    r"""object\ is\ not\ (iterable|subscriptable|callable)|not\ enough\ values\ to\ unpack|too\ many\ values\ to\ unpack|NoneType|has\ no\ attribute
    |unhashable\ type|object\ is\ not\ an\ (iterator|integer)|cannot\ be\ interpreted\ as\ an\ integer|unsupported\ operand|bad\ operand
    |not\ supported\ between|must\ be\ real\ number|object\ of\ type\ .*has\ no\ len|object\ has\ no\ len|object\ does\ not\ support
    |indices\ must\ be\ integers|argument\ of\ type\ |inhomogeneous|could\ not\ convert\ string|Cannot\ interpret|ufunc\ '|setting\ an\ array
    |can't\ (multiply|convert)|can\ only\ concatenate|cannot\ convert\ float|int\ too\ (large|big)|first\ argument\ must|expected\ str|expected\ string
    |<lambda>|<locals>|truth\ value\ of\ an\ array|loop\ of\ ufunc|no\ loop|only\ (length-1|integer|0-dim)|zip\(\)|sequence\ item
    |cannot\ reshape\ array|invalid\ literal|tuple\ index|list\ index|operands\ could\ not\ be\ broadcast|maximum\ supported|Maximum\ allowed
    |buffer\ is\ too|array\ is\ too\ big|negative\ dimensions|not\ aligned|expected\ a\ sequence|axes\ don't\ match|must\ be\ a\ string|must\ be\ str""",
    re.VERBOSE,
)


def shown(error: BaseException) -> str:
    """The kind of an error: its message without what differs between calls."""
    text = re.sub(r"0x[0-9a-f]+", "0x", str(error))
    return f"{type(error).__name__}: {text}"


NAMES = {*tg.ops.__all__, *dir(tg), *dir(tg.Tensor), *(op.name for op in tg.ops.OPS)}


def raised(error: BaseException) -> tuple[bool, bool]:
    """Whether an error went through a function that was handed over, and whether the library said it in words of its own."""
    through, said, trace = False, True, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        through = through or (code.co_filename == things.__file__ and code.co_name in things.CALLBACKS)
        if trace.tb_next is None:
            said = code.co_filename.startswith(LIBRARY) and code.co_code[trace.tb_lasti] == opmap["RAISE_VARARGS"]
        trace = trace.tb_next
    return through, said


LIBRARY = (os.path.dirname(tg.__file__), os.path.join(os.path.dirname(os.path.dirname(tg.__file__)), "codegen"))


def verdict(name: str, outcome: Any) -> str:
    """What a call did.

    fine      it gave a result
    users     the function that was handed over failed by itself
    clear     an error that names the function, or what it was made of
    torch's   an error in torch's own words
    nameless  an error in the library's words that does not name the function
    internal  an error in the words of Python or NumPy about the library's inside
    """
    if not isinstance(outcome, BaseException):
        return "fine"
    through, said = raised(outcome)
    if through:
        return "users"
    text = str(outcome)
    if "do not fit together" in text and isinstance(outcome.__cause__, (AssertionError, NameError, RecursionError)):
        return "internal"
    last = name.split()[0].split(".")[-1]
    signature = re.match(r"(?:\w+\.)*?(\w+)(?:\.__init__)?\(\) (missing|takes|got)", text)
    if signature is not None and (signature[1] == last or signature[1] in NAMES):
        return "clear"
    if not said and (isinstance(outcome, INTERNAL_TYPES) or INTERNAL_WORDS.search(text) or not isinstance(outcome, Exception)):
        return "internal"
    known = re.match(r"(?:[^\s:]+:\d+: )?(?:Tensor\.|tracegrad\.)?(\w+): ", text)
    if re.search(rf"\b{re.escape(last)}\b", text) or (known is not None and known[1] in NAMES):
        return "clear"
    return "torch's" if said and type(outcome) in (RuntimeError, AssertionError, KeyError) else "nameless"


def outcome(t: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any]:
    """What a call did, in one word, and the error."""
    try:
        t.make()(*args, **kwargs)
    except Exception as error:
        return verdict(t.name, error), error
    return "fine", None
