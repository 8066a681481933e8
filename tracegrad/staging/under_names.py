"""A list that may be another one under a second name: neither shows a change of the other, so that
it must not be read after that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ConcretizationError
from ..ir.trace import user_line


class ListUnderNames(list[Any]):
    """A list of the user's, and what it may be besides."""

    name = "a list"
    check: Callable[[], None] | None = None
    """What refuses it where it is no longer what it was made of."""
    stands_in: Any = None
    """The key of the variable of a loop or branch that replaces its list, if it stands there."""
    maker: Any = None
    instead_of: Any = None
    """Of such a list: for which statement it was made, and instead of which list."""
    _one_of: Sequence[Any] = ()
    """Lists that it may be."""
    _refusal = ""
    """Why it must not be read any more."""

    def may_be(self, other: list[Any]) -> None:
        """It has the items of another list, and may be that one."""
        self._one_of = [*self._one_of, other]
        if isinstance(other, ListUnderNames):
            other._one_of = [*other._one_of, self]

    def is_none_other(self) -> None:
        """It is no other list any more."""
        for other in self._one_of:
            if isinstance(other, ListUnderNames):
                other._one_of = [x for x in other._one_of if x is not self]
        self._one_of = []

    def forget(self) -> None:
        """What it may be is as it was."""
        for other in self._one_of:
            if isinstance(other, ListUnderNames):
                other._refusal = ""
        self.is_none_other()

    def before_change(self) -> None:
        """What it may be would have to show the change: it is not to be read from now on."""
        for other in self._one_of:
            if not isinstance(other, ListUnderNames):
                raise ConcretizationError(
                    f"{user_line()}: {self.name} changes, and may be a list that was there before, "
                    f"which would have to show that. Begin with a copy: {self.name} = "
                    f"list({self.name})"
                )
            other._refusal = (
                f"{self.name} changed at {user_line()}, and may be this list under another name"
            )

    def look(self) -> None:
        """Before it is read."""
        if self._refusal:
            raise ConcretizationError(
                f"{user_line()}: {self._refusal}. Change a copy: list({self.name})"
            )
        if self.check is not None:
            self.check()


__all__ = ["ListUnderNames"]
