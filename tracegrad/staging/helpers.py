"""What rewritten code calls: one object for each function of the user's."""

from __future__ import annotations

import os

from .branches import Branches
from .calls import CallHelpers
from .elements import Elements
from .failing import Failures
from .functions import Version
from .growing import Growth
from .kept_lists import KeptLists
from .loops import Loops
from .matching import Patterns
from .printing import Printing
from .rests import Rests
from .unpacking import Unpacking
from .whiles import Whiles


class Helpers(
    Branches, Loops, Whiles, Elements, CallHelpers, Failures, Growth, KeptLists, Printing, Rests,
    Unpacking, Patterns,
):  # fmt: skip
    """The helpers, which know whose statements they stand for."""

    def __init__(self, version: Version) -> None:
        self.code = version.original
        self.file = os.path.basename(version.original.co_filename)

    def line_of(self, line: int) -> str:
        """A place in the user's file."""
        return f"{self.file}:{line}"


__all__ = ["Helpers"]
