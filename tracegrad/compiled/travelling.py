"""How a jitted function is pickled and copied: compiled code stays behind, and whoever receives the
function finds its kernels in the disk cache.

A function that its module has under its own name travels by that name, what was derived of another
one as the transform and the other, anything else as the user's function and the options of `jit`.

The user's function has the name of the jitted one, which stands in its place, so no pickler finds
it there. In its stead two small functions go to the pickler, `_mark` and `_content`, that can be
found below the jitted one. `pickle` takes them by name, and the receiver has the jitted function
itself by the first. `cloudpickle` takes them by name or by value, as it would the user's function:
by value the first is empty, a new object is made, and the second holds what fills it. Only after
that object is known is the function read, so one that calls itself comes back as it was.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple, TypedDict
from weakref import WeakKeyDictionary

from .._codegen import options

Again = Callable[[Any], Any]
"""A transform with its options: of a function or jitted function, what was derived of it."""

Anchors = tuple[Callable[..., Any], Callable[..., Any]]


class Options(NamedTuple):
    """What `jit` was told besides the function."""

    static_argnames: tuple[str, ...]
    donated: tuple[str, ...]
    stage: bool | str
    code: options.CodeOptions


class Given(TypedDict, total=False):
    """The options of `jit` as they are written."""

    static_argnames: Sequence[str] | str
    static_argnums: Sequence[int] | int
    donate_argnums: Sequence[int] | int
    checked: bool | None
    stage: bool | str
    contract: bool | None
    flush_denormals: bool | None
    warm: str | None


class _Home:
    """The jitted function behind a mark, which does not travel with it."""

    def __init__(self, jitted: Any = None) -> None:
        self.jitted = jitted

    def __reduce__(self) -> Any:
        return _Home, ()


class _Derived(NamedTuple):
    """A transform of a plain function, in the place of the closure that it made."""

    again: Again
    function: Any


class Travelling:
    """The methods of a jitted function by which it is pickled and copied."""

    function: Callable[..., Any]
    _origin: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    """What makes this function again, and of what; None for one that `jit` made."""

    def _options(self) -> Options:
        raise NotImplementedError

    def _begin(self, function: Callable[..., Any], options: Options) -> None:
        raise NotImplementedError

    def __reduce_ex__(self, protocol: Any) -> Any:
        if _has_name(self):
            if protocol < 4:
                return vars(self)["__qualname__"]
            return _arrived, (type(self), self._mark), self._content
        if self._origin is not None:
            return self._origin
        return _empty, (type(self),), (_portable(self.function), self._options())

    def __setstate__(self, state: Any) -> None:
        if "function" in vars(self):
            return
        function, options = state() if callable(state) else state
        if isinstance(function, _Derived):
            function = _remade(function)
        known = _SHARED.setdefault(function, {}) if _is_global(function) else {}
        if options in known:
            # One compiled function, of which these are two objects: a pool of processes unpickles
            # its function for each task.
            self.__dict__ = known[options]
        else:
            self._begin(function, options)
            known[options] = vars(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if _has_name(self):
            return self
        if self._origin is None:
            function = copy.deepcopy(self.function, memo)
            if function is self.function:
                return self
            made = _empty(type(self))
            made._begin(function, self._options())
            return made
        make, parts = self._origin
        copies = [copy.deepcopy(part, memo) for part in parts]
        same = all(made is part for made, part in zip(copies, parts, strict=True))
        return self if same else make(*copies)

    @property
    def _mark(self) -> Callable[..., Any]:
        return self._anchors()[0]

    @property
    def _content(self) -> Callable[..., Any]:
        return self._anchors()[1]

    def _anchors(self) -> Anchors:
        made: Anchors | None = vars(self).get("_kept_anchors")
        if made is None:
            home, function, options = _Home(self), self.function, self._options()

            def mark() -> Any:
                return home.jitted

            def content() -> Any:
                return function, options

            for one in (mark, content):
                one.__module__ = vars(self)["__module__"]
                one.__qualname__ = f"{vars(self)['__qualname__']}._{one.__name__}"
                one.__name__ = one.__qualname__.rpartition(".")[2]
            # Of two threads that come here the first decides: pickle compares by identity.
            made = vars(self).setdefault("_kept_anchors", (mark, content))
        return made


def _found(module: Any, path: Any) -> Any:
    """What a module that is loaded has under a dotted name; None where there is nothing."""
    found = sys.modules.get(module) if isinstance(module, str) else None
    for name in path.split(".") if isinstance(path, str) else [""]:
        found = getattr(found, name, None)
    return found


def _has_name(jitted: Any) -> bool:
    own = vars(jitted)
    return _found(own.get("__module__"), own.get("__qualname__")) is jitted


def _is_global(function: Any) -> bool:
    """Whether it is there as long as its module."""
    return (
        isinstance(function, FunctionType)
        and _found(function.__module__, function.__qualname__) is function
    )


_SHARED: WeakKeyDictionary[Any, dict[Options, dict[str, Any]]] = WeakKeyDictionary()
"""What was made of functions of modules that arrived here."""


def _arrived(cls: type, mark: Callable[[], Any]) -> Any:
    """The function behind a mark, or an empty one where the mark came without it."""
    found = mark()
    return _empty(cls) if found is None else found


def _empty(cls: type) -> Any:
    return object.__new__(cls)


def _only_of_jitted(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"{name} is of compiled functions, and this one runs on the tape: write "
            f"tg.jit(tg.grad(f)).{name}(...), or tg.grad(f) of a function that is jitted"
        )

    return refused


ONLY_OF_JITTED = {
    name: _only_of_jitted(name)
    for name in (
        "captures", "cfunc", "explain", "export", "graphs", "memory", "njit", "programs", "source",
        "staged",
    )
}  # fmt: skip
"""What derivatives of plain functions say where methods of jitted ones are asked for."""


def of_plain(made: Any, function: Any, again: Again) -> Callable[..., Any]:
    """`made`, which a transform made of a plain function, as a function that wears its name and
    knows how it was made."""
    for name in ("__module__", "__qualname__"):
        if hasattr(function, name):
            setattr(made, name, getattr(function, name))
    made.__doc__ = getattr(function, "__doc__", None)
    made.__wrapped__, made._again = function, again
    vars(made).update(ONLY_OF_JITTED)
    found: Callable[..., Any] = made
    return found


def _portable(function: Any) -> Any:
    """The function, or what a transform made it of."""
    again = vars(function).get("_again") if isinstance(function, FunctionType) else None
    if again is None or _is_global(function):
        return function
    return _Derived(again, _portable(function.__wrapped__))


def _remade(found: _Derived) -> Any:
    inner = found.function
    return found.again(_remade(inner) if isinstance(inner, _Derived) else inner)


__all__ = ["ONLY_OF_JITTED", "Again", "Given", "Options", "Travelling", "of_plain"]
