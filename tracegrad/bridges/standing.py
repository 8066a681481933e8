"""Functions of the library that stand for one of the user's, of other arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..compiled.jitted import Jitted, likewise
from ..staging.functions import is_dispatcher
from ..staging.session import entered

Function = Callable[..., Any]


def plain(f: Any) -> Function:
    """What a function of Numba's is written as; others as they are."""
    function: Function = f.py_func if is_dispatcher(f) else f
    return function


def run(f: Function, *args: Any, **kwargs: Any) -> Any:
    """Call the user's function while it is traced: rewritten, where tracing stopped in it."""
    return entered(f)(*args, **kwargs)


def standing_for(made: Function, f: Function, name: str = "") -> Function:
    """`made` under the name of the user's `f`; it is traced again where what f reads around it
    changes."""
    functools.update_wrapper(made, f, updated=())
    known = getattr(f, "__name__", type(f).__name__)
    made.__name__ = f"{known}{name}".replace("<lambda>", "lambda_")
    return made


def compiled(made: Function, f: Function, name: str = "", same: bool = True) -> Jitted[..., Any]:
    """The same, jitted, with the options of `f` if that is jitted; `same` says whether it takes
    arguments of f's names, of which some may be static."""
    own = inspect.signature(made)
    standing_for(made, f, name)
    if not same:
        made.__signature__ = own  # type: ignore[attr-defined]
    if not isinstance(f, Jitted):
        return Jitted(made)
    return likewise(f, made, f.static_argnames if same else ())


__all__ = ["compiled", "plain", "run", "standing_for"]
