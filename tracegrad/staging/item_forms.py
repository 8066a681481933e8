"""What is known of the items of a list that loops fill, before there are arrays of them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..dtypes import promote
from ..sizes import same_shape
from ..types import ArrayType


class Form:
    """The form of an item: what makes it of its leaves, and their types."""

    def __init__(self, spec: Any, kinds: Sequence[ArrayType]) -> None:
        self.spec, self.kinds = spec, tuple(kinds)

    def same_as(self, other: Form | None) -> bool:
        """Whether both are one form."""
        return (
            other is not None
            and self.spec == other.spec
            and all(
                (a.dtype, a.weak) == (b.dtype, b.weak) and same_shape(a.shape, b.shape)
                for a, b in zip(self.kinds, other.kinds, strict=True)
            )
        )

    def __str__(self) -> str:
        return ", ".join(map(str, self.kinds))


class Seen:
    """What the open loops have met: the form of all items that they appended so far."""

    def __init__(self) -> None:
        self.form: Form | None = None
        self.anchor = np.zeros(1)
        """Stands for all items, where it matters whether an array may be one of them."""
        self.taken = self.written = self.unbounded = self.read = False
        """Whether items were taken off the end, or replaced; whether nobody knows how many a pass
        appends, so that each is checked to have a row, and the outermost loop is run with more of
        them; whether items were read in a look that does not know them, so that another one has to
        follow."""

    @property
    def known(self) -> tuple[bool, ...]:
        """What loops that are looked at again begin with."""
        return self.taken, self.written, self.unbounded, self.read

    def note(self, known: tuple[bool, ...]) -> None:
        """Know what an earlier look found."""
        self.taken, self.written, self.unbounded, self.read = [
            a or b for a, b in zip(self.known, known, strict=True)
        ]


def joined(spec: Any, arrays: Iterator[Any], depth: int) -> Any:
    """The arrays of items as one, as NumPy reads nested lists; None where it reads none."""
    if spec[0] == "tree":
        return next(arrays) if spec[1].num_leaves == 1 and spec[1].is_leaf() else None
    if spec[0] == "fixed" or dataclasses.is_dataclass(spec[0]):
        return None
    if spec[0] == "rows":
        return joined(spec[1], arrays, depth + 1)
    parts = [joined(s, arrays, depth) for s in spec[1:]]
    if not parts or any(x is None or not same_shape(x.shape, parts[0].shape) for x in parts):
        return None
    dtype = functools.reduce(promote, [x.dtype for x in parts])
    return ops.stack([ops.convert(x, dtype) for x in parts], axis=depth)


def fields_of(item: Any) -> list[Any]:
    """The parts of a dataclass."""
    return [getattr(item, f.name) for f in dataclasses.fields(item)]


def made_of_fields(cls: Any, parts: Sequence[Any]) -> Any:
    """A dataclass of these parts, which its `__init__` does not see again."""
    made: Any = object.__new__(cls)
    for f, x in zip(dataclasses.fields(cls), parts, strict=True):
        object.__setattr__(made, f.name, x)
    return made


__all__ = ["Form", "Seen", "fields_of", "joined", "made_of_fields"]
