"""What was asked for: a jitted function, an example of its arguments, a signature, options."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from ..compiled.jitted import Jitted
from .kernels import TracedKernel, identifier, kernel_of, refuse
from .native_function import NativeFunction, native, newest


@dataclass(frozen=True)
class Request:
    """One call of `cfunc`."""

    function: Jitted[..., Any]
    args: tuple[Any, ...]
    signature: str
    options: dict[str, Any]
    make: Callable[..., NativeFunction] = native
    """What becomes of a C function and its kernel: of an export no function of this process."""
    named: str = ""
    """The name in C, where it is not that of the function."""

    @property
    def what(self) -> str:
        """The head of an error message."""
        method = "export" if self.named else "cfunc"
        return f"{self.function.__name__}.{method}(signature={self.signature!r})"

    @property
    def name(self) -> str:
        return self.named or identifier(self.function.__name__)

    def refuse(self, why: str, error: type[Exception] = TypeError) -> NoReturn:
        refuse(self.what, why, error)

    def one_argument(self, meaning: str) -> Any:
        """The only argument."""
        self.arguments((meaning,))
        return self.args[0]

    def arguments(self, meanings: tuple[str, ...], least: int | None = None) -> tuple[Any, ...]:
        """The arguments, of which there must be as many as meanings, or at least `least`."""
        if not (len(meanings) if least is None else least) <= len(self.args) <= len(meanings):
            self.refuse(
                f"the function takes {' and '.join(meanings)}, the example has {len(self.args)} "
                "arguments. What else it reads may stand around it (it is copied)."
            )
        return self.args

    def no_options(self, *known: str) -> None:
        """TypeError for options that the signature does not have."""
        if named := sorted(set(self.options) & set(self.function._names) - set(known)):
            self.refuse(f"{', '.join(named)} is an argument of the function: pass it by position")
        if unknown := sorted(set(self.options) - set(known)):
            listed = ", ".join(known) or "none"
            self.refuse(f"there is no option {', '.join(unknown)}; this signature has {listed}")

    def kernel(self, function: Callable[..., Any] | None = None, *args: Any) -> TracedKernel:
        """The kernel of this function, or of one that was derived of it."""
        if function is None:
            return kernel_of(self.function, self.args, self.what)
        return kernel_of(function, args, self.what)


_MADE: weakref.WeakKeyDictionary[Jitted[..., Any], list[weakref.ref[NativeFunction]]]
_MADE = weakref.WeakKeyDictionary()
"""The C functions that were made of each jitted function, for `last_status`."""


def made_of(function: Jitted[..., Any], *natives: NativeFunction) -> None:
    """Note that these were made of a function."""
    known = _MADE.setdefault(function, [])
    known[:] = [r for r in known if r() is not None]
    known += [weakref.ref(n) for n in natives]


def last_status(function: Jitted[..., Any], clear: bool) -> Any:
    """Why a C function made of this one failed last in this thread."""
    alive = [n for r in _MADE.get(function, ()) if (n := r()) is not None]
    return newest(alive, clear)


__all__ = ["Request", "last_status", "made_of"]
