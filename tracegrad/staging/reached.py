"""Methods that Python itself calls (operators, properties, `__post_init__`), and no rewritten code:
while a function is traced that needs them rewritten, their classes have them so."""

from __future__ import annotations

import threading
from functools import cached_property
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from .functions import MADE, version_of

if TYPE_CHECKING:
    from .session import Session

_HELD: dict[tuple[type, str], tuple[int, Any]] = {}
"""Methods that are replaced now: by how many sessions, and what the class has by itself."""
_LOCK = threading.Lock()


def reached(error: BaseException, session: Session) -> bool:
    """Whether a method that was run as it is, though it is to be rewritten, can be replaced in its
    class from the next attempt on."""
    tb, new = error.__traceback__, False
    while tb is not None:
        frame, tb = tb.tb_frame, tb.tb_next
        code = frame.f_code
        if code not in session.staged or code in MADE or not code.co_argcount:
            continue
        owner = frame.f_locals.get(code.co_varnames[0])
        method = None if version_of(code).code is None else _method(type(owner), code)
        if method is not None and method not in session.methods:
            session.methods.add(method)
            new = True
    return new


def _method(kind: type, code: CodeType) -> tuple[type, str] | None:
    """The class that has this code as a method or a property, and its name there."""
    for cls in kind.__mro__:
        for name, member in vars(cls).items():
            if any(f.__code__ is code for f in functions_in(member)):
                return cls, name
    return None


def functions_in(member: Any) -> list[FunctionType]:
    """The functions that a member of a class runs."""
    if isinstance(member, property):
        parts = [member.fget, member.fset, member.fdel]
    else:
        parts = [member.func if isinstance(member, cached_property) else member]
    return [f for f in parts if isinstance(f, FunctionType)]


def install(session: Session) -> None:
    """Give the classes the rewritten methods."""
    if not session.methods:
        return
    with _LOCK:
        session.installed = tuple(session.methods)
        for cls, name in session.installed:
            count, own = _HELD.get((cls, name), (0, vars(cls)[name]))
            # What is to be given back is known before anything changes: Ctrl-C may come between.
            _HELD[cls, name] = count + 1, own
            if not count:
                type.__setattr__(cls, name, _version(session, own))


def restore(session: Session) -> None:
    """Give the classes back what they had; to be asked again where it was interrupted."""
    if not session.installed:
        return
    with _LOCK:
        for key in session.installed:
            count, own = _HELD.get(key, (0, None))
            if count == 1:
                type.__setattr__(key[0], key[1], own)
                del _HELD[key]
            elif count:
                _HELD[key] = count - 1, own
        session.installed = ()


def _version(session: Session, member: Any) -> Any:
    if isinstance(member, property):
        get, put, delete = [
            f if f is None else session.version(f) for f in (member.fget, member.fset, member.fdel)
        ]
        return property(get, put, delete, member.__doc__)
    if isinstance(member, cached_property):
        found = cached_property(session.version(member.func))
        found.attrname = member.attrname
        return found
    return session.version(member)


def method_of(session: Session, owner: Any, name: str) -> Any:
    """What Python would call for an operator of the user's, rewritten; None where there is none."""
    return _rewritten(session, _of_class(owner, name))


def setter_of(session: Session, owner: Any, name: str) -> Any:
    """What Python would call where an attribute is set that is a property of the user's, rewritten;
    None for any other: that of an object hides a method of its class."""
    member = _of_class(owner, name)
    return _rewritten(session, member.fset) if isinstance(member, property) else None


def _of_class(owner: Any, name: str) -> Any:
    return next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)


def _rewritten(session: Session, function: Any) -> Any:
    users = isinstance(function, FunctionType) and session.is_users(function.__code__)
    return session.version(function) if users else None


__all__ = ["functions_in", "install", "method_of", "reached", "restore", "setter_of"]
