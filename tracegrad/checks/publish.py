"""The failure paths of the public functions, put around them when the package is imported."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Container, Iterable
from typing import Any, TypeVar

from ..dtypes import module_of
from .failures import REFUSED, explained, register
from .kinds import BOOL, OPERANDS, describe

F = TypeVar("F", bound=Callable[..., Any])
_OPERANDS = frozenset(("self", *OPERANDS))
_PACKAGE = __name__.partition(".")[0]
_made: dict[types.FunctionType, Any] = {}
"""What was put around functions, which may be public under several names."""


def has_failure_path(function: F) -> F:
    """Say of a function that its errors are explained already."""
    function.is_checked = True  # type: ignore[attr-defined]
    return function


def quick(function: F) -> F:
    """Say of a function that runs too often for a failure path around it, and has `explained_here`
    inside."""
    function.is_quick = True  # type: ignore[attr-defined]
    return function


def checked(function: F, name: str = "") -> F:
    """`function` with `explained` on its failure path: one more Python call, so not for what is
    called a million times a second."""
    known = name or getattr(function, "__name__", "function")
    code = getattr(function, "__code__", None)
    if code is not None and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        exact: F = _exactly(function, known)
        return has_failure_path(exact)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except REFUSED as error:
            found = explained(error, known, function, args, kwargs)
            if found is error:
                raise
            raise found from found.__cause__

    return has_failure_path(call)  # type: ignore[return-value]


@functools.cache
def _template(count: int, named: int, flags: tuple[int, ...]) -> Callable[..., types.FunctionType]:
    """Makes a function of so many parameters by place and so many by name that looks at the flags
    among them and hands all over."""
    placed, by_name = (
        [f"a{k}" for k in range(count)],
        [f"a{k}" for k in range(count, count + named)],
    )
    parameters = ", ".join([*placed, *(["*"] if by_name else []), *by_name])
    handed = ", ".join([*placed, *[f"{a}={a}" for a in by_name]])
    looks = "".join(
        f"            if a{k} is not False and a{k} is not True: known.look({k}, a{k})\n"
        for k in flags
    )
    text = f"""
def make(function, known):
    def call({parameters}):
        try:
{looks}            return function({handed})
        except REFUSED as error_:
            found_ = known.failed(error_, ({"".join(f"{a}, " for a in (*placed, *by_name))}))
            if found_ is error_:
                raise
            raise found_ from found_.__cause__
    return call
"""
    space: dict[str, Any] = {"REFUSED": REFUSED}
    exec(compile(text, __file__, "exec"), space)
    make: Callable[..., types.FunctionType] = space["make"]
    return make


class _Known:
    """What a failure path knows of its function."""

    __slots__ = ("function", "name")

    def __init__(self, function: Any, name: str) -> None:
        self.function = function
        self.name = name

    def look(self, k: int, value: Any) -> None:
        """TypeError where what stands for a flag is none."""
        if not BOOL.accepts(value):
            flag = self.function.__code__.co_varnames[k]
            raise TypeError(f"{self.name}: {flag} is {describe(value)}; it must be {BOOL.wants}")

    def failed(self, error: Exception, args: tuple[Any, ...]) -> Exception:
        """What is raised in place of an error, of a call with all parameters in their order."""
        function = self.function
        code = function.__code__
        count = code.co_argcount
        names = code.co_varnames[: count + code.co_kwonlyargcount]
        if code.co_posonlyargcount:
            by_name = dict(zip(names[count:], args[count:], strict=True))
            return explained(error, self.name, function, args[:count], by_name)
        # What was left out is none of the caller's arguments.
        defaults = function.__defaults__ or ()
        usual = {
            **dict(zip(names[count - len(defaults) : count], defaults, strict=True)),
            **(function.__kwdefaults__ or {}),
        }
        given = {
            name: x
            for name, x in zip(names, args, strict=True)
            if name not in usual or x is not usual[name]
        }
        return explained(error, self.name, function, (), given)


def _exactly(function: Any, known: str) -> Any:
    """`checked` for a function of fixed parameters: handing over each one costs a third of what
    packing and unpacking them does."""
    code = function.__code__
    count, named = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: count + named]
    annotations = function.__annotations__
    flags = tuple([k for k, name in enumerate(names) if annotations.get(name) == "bool"])
    made = _template(count, named, flags)(function, _Known(function, known))
    template = made.__code__
    by_name = template.co_varnames[count : count + named]
    call = types.FunctionType(
        template.replace(
            co_varnames=(*names, *template.co_varnames[count + named :]),
            co_consts=tuple(
                names[count:] if by_name and c == by_name else c for c in template.co_consts
            ),
            co_posonlyargcount=code.co_posonlyargcount,
            co_name=code.co_name,
            co_qualname=function.__qualname__,
        ),
        made.__globals__,
        function.__name__,
        function.__defaults__,
        made.__closure__,
    )
    call.__kwdefaults__ = function.__kwdefaults__
    return functools.wraps(function)(call)


def _applies_an_operation(function: types.FunctionType) -> bool:
    """Whether a function of operands alone hands them to an operation, which speaks of them itself
    (`ir.dispatch.explained`)."""
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
        return False
    return _OPERANDS.issuperset(code.co_varnames[: code.co_argcount]) and (
        bool(code.co_freevars) or "bind" in code.co_names[:2]
    )


def published(value: Any, name: str, often: Container[str] = ()) -> Any:
    """What the public name of a function or class stands for: a function has its failure path; what
    is called `often`, and what takes operands alone, is told to the shared checks instead. A class
    gets the failure paths of its constructor and methods."""
    if isinstance(value, type):
        check_constructor(value, often)
        check_own_methods(value, often)
        return value
    if not isinstance(value, types.FunctionType):
        return value
    if not _gets_failure_path(value, name, often):
        if not hasattr(value, "is_checked") and _takes_anything(value):
            register(value, name)
        return value
    found = _made.get(value)
    return _made.setdefault(value, checked(value, name)) if found is None else found


def _takes_anything(function: types.FunctionType) -> bool:
    """What takes nothing (or a Tensor's method nothing else) is called wrongly by their number
    alone, of which Python speaks."""
    code = function.__code__
    none = code.co_argcount == int(code.co_varnames[:1] == ("self",)) and not code.co_kwonlyargcount
    return not none or bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))


def _gets_failure_path(function: types.FunctionType, name: str, often: Container[str]) -> bool:
    return (
        not hasattr(function, "is_checked")
        and _takes_anything(function)
        and not (
            name.rpartition(".")[2] in often
            or hasattr(function, "is_quick")
            or _applies_an_operation(function)
        )
    )


def publish(names: dict[str, Any], which: Iterable[str], often: Container[str] = ()) -> None:
    """`published` for what is named in `which` of a namespace."""
    for name in which:
        names[name] = published(names[name], name, often)


def check_constructor(cls: type, often: Container[str] = ()) -> None:
    """Put the failure path around each `__init__` of the library that makes objects of a class."""
    for base in cls.__mro__:
        if base.__name__ in often:
            return
        function = base.__dict__.get("__init__")
        if (
            isinstance(function, types.FunctionType)
            and module_of(base).startswith(_PACKAGE)
            and not hasattr(function, "is_checked")
        ):
            base.__init__ = _construct(function)  # type: ignore[misc]


def _construct(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            function(self, *args, **kwargs)
        except REFUSED as error:
            found = explained(error, type(self).__name__, function, (self, *args), kwargs)
            if found is error:
                raise
            raise found from found.__cause__

    return has_failure_path(construct)


def check_own_methods(cls: type, often: Container[str] = ()) -> None:
    """The same for the public methods of the library that objects of a class have, but for
    `forward`, which is called by the module's call."""
    for base in cls.__mro__:
        if base.__name__ in often:
            return
        if not module_of(base).startswith(_PACKAGE):
            continue
        for name, value in list(vars(base).items()):
            own = (
                isinstance(value, types.FunctionType)
                and value.__qualname__ == f"{base.__name__}.{name}"
            )
            if own and not name.startswith("_") and name != "forward":
                made = published(value, f"{base.__name__}.{name}", often)
                if made is not value:
                    setattr(base, name, made)


class _Late:
    """A method that gets its failure path, and the place of this, when it is first asked for: most
    programs call few of a class's methods."""

    def __init__(self, cls: type, name: str, function: types.FunctionType, known: str) -> None:
        self.cls, self.name, self.known = cls, name, known
        self.__doc__, self.__wrapped__ = function.__doc__, function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        made = published(self.__wrapped__, self.known)
        setattr(self.cls, self.name, made)
        return made.__get__(instance, owner)


def check_methods(cls: type, often: Container[str] = ()) -> None:
    """`publish` for the public methods that a class defines or inherits from the library."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base))
    for name, value in ((name, found[name]) for name in sorted(found)):
        if not name.startswith("_") and isinstance(value, types.FunctionType):
            known = f"{cls.__name__}.{value.__name__ if value.__name__ in found else name}"
            value.__qualname__ = known
            if name.endswith("_") and name[:-1] in found:
                value.__wrapped__ = found[name[:-1]]  # type: ignore[attr-defined] # its signature
            if _gets_failure_path(value, known, often):
                setattr(cls, name, _Late(cls, name, value, known))
            else:
                published(value, known, often)
