"""How distributions are called: what their methods take, and how an error names them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ...checks import describe
from ...checks.failures import REFUSED, explained
from ...checks.kinds import ARRAY, fault_of_array
from ...errors import DTypeError
from ..define import as_array

M = TypeVar("M", bound=Callable[..., Any])


def of_reals(who: str, name: str, x: Any) -> Any:
    """A number or array, and lists as the array of them; a TypeError of what is none, a DTypeError
    of complex numbers."""
    if type(x) is int or type(x) is float:
        return x
    if not hasattr(x, "dtype"):
        try:
            x = as_array(x)
        except (TypeError, ValueError):
            raise TypeError(
                f"{who}: {name} is {describe(x)}{fault_of_array(x).rstrip()}; it must be "
                f"{ARRAY.wants}"
            ) from None
    if getattr(x.dtype, "kind", "") not in ("f", "i", "u", "b"):
        raise DTypeError(
            f"{who}: {name} is {describe(x)}; it must be {ARRAY.wants} of real numbers"
        )
    return x


@functools.cache
def _called(dist: Any, name: str) -> Callable[..., Any]:
    """What stands for a method in errors: a function with its parameters."""

    def stands() -> None: ...

    stands.__signature__ = dist.signature(name)  # type: ignore[attr-defined]
    return stands


def method(function: M) -> M:
    """The method of a distribution, whose errors name both."""
    name = function.__name__

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, *args, **kwargs)
        except REFUSED as error:
            found = explained(error, f"{self.name}.{name}", _called(self, name), args, kwargs)
            if found is error:
                raise
            raise found from found.__cause__

    return call  # type: ignore[return-value]


METHODS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


class Frozen:
    """A distribution with its parameters."""

    def __init__(self, dist: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = dist, args, kwargs

    def __repr__(self) -> str:
        return f"<distribution {self.dist.name} with parameters>"

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS or not hasattr(self.dist, name):
            raise AttributeError(f"a distribution of {self.dist.name} has no {name!r} here")
        bound = getattr(self.dist, name)

        def of_x(x: Any) -> Any:
            return bound(x, *self.args, **self.kwds)

        of_x.__name__, of_x.__qualname__ = name, f"{self.dist.name}.{name}"
        return of_x


__all__ = ["METHODS", "Frozen", "method", "of_reals"]
