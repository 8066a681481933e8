"""Lists of numbers, and of lists of as many numbers, that are written at a place which only a run
knows: from their start on they are an array, which is read and written as the list is."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import ops
from ..dtypes import promote
from ..errors import ConcretizationError
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..sizes import number_of
from ..tensor import inside
from ..transforms.tracing import leaf_type
from ..tree import node
from ..types import ArrayType


class Tabled:
    """Stands for a list of numbers, which one array holds, or of lists of as many numbers: then the
    items are rows of the array, which are written where they lie."""

    __slots__ = ("box", "site", "weak")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, box: Any, site: Any, weak: bool) -> None:
        self.box, self.site, self.weak = box, site, weak

    def item(self, key: Any) -> Any:
        """An item, a number as those of the list are, or a row."""
        found = self.box[key]
        if self.nested:
            return Tabled(found, self.site, self.weak)
        return number(found) if self.of_python else found

    @property
    def nested(self) -> bool:
        """Whether it stands for a list of lists."""
        return bool(self.box.ndim > 1)

    @property
    def of_python(self) -> bool:
        """Whether the items are Python's numbers."""
        return self.weak and not self.nested

    def copied(self) -> Any:
        """An array of the items as they are now."""
        return self.box.copy()

    def __len__(self) -> Any:
        return self.box.shape[0].__index__()

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self)):
            yield self.item(k)

    def copy(self) -> list[Any]:
        """A list of the items as they are now."""
        return list(self)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return [list(row) for row in self] if self.nested else list(self)

    def __getitem__(self, key: Any) -> Any:
        return list(self)[key] if isinstance(key, slice) else self.item(key)

    def __add__(self, other: Any) -> Any:
        return list(self) + list(other) if type(other) in (list, Tabled) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return other + list(self) if type(other) is list else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return list(self) * other

    __rmul__ = __mul__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise ConcretizationError(
            f"{user_line()}: a list that is written at a place which only a run knows is given to "
            "code that is not rewritten. Use an array in its place: np.zeros(n)"
        )

    def __getattr__(self, name: str) -> NoReturn:
        given_up(self, name)

    def __eq__(self, other: object) -> Any:
        given_up(self, "==")

    def __setitem__(self, key: Any, value: Any) -> None:
        given_up(self, "[...] =")


def given_up(x: Tabled, what: str) -> NoReturn:
    """What a list does besides: then it stays one."""
    if what in METHODS:
        raise Unlike(x.site)
    raise AttributeError(what)


METHODS = frozenset((*(n for n in dir(list) if not n.startswith("_")), "==", "[...] ="))


class Unlike(Exception):
    """A list does what an array does not."""

    def __init__(self, site: Any) -> None:
        super().__init__(site)
        self.site = site


def kind_of_items(items: Any) -> tuple[np.dtype[Any], bool] | None:
    """The dtype that all items have as one array, those of all lists in a list of them, and whether
    they are Python's numbers; None where they are something else, or narrow ones among others,
    which would be wider in an array."""
    kinds = []
    rows = rows_of(items)
    for x in items if rows is None else [x for r in rows for x in list.__iter__(r)]:
        try:
            if isinstance(x, (list, tuple)):
                return None
            kind = leaf_type(x)
        except TypeError:
            return None
        if kind.shape or kind.dtype.kind not in "biufc":
            return None
        kinds.append(kind)
    if not kinds or not of_one_width(kinds):
        return None
    dtype = kinds[0].dtype
    for k in kinds[1:]:
        dtype = promote(dtype, k.dtype)
    return dtype, all(k.weak for k in kinds)


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is none of those that Python's numbers have."""
    return dtype not in (np.bool_, np.int64, np.float64, np.complex128)


def of_one_width(kinds: Sequence[ArrayType]) -> bool:
    """Whether one array has the items as they are: all of one dtype, or none of a narrow one."""
    return len({(k.dtype, k.weak) for k in kinds}) == 1 or not any(
        is_narrow(k.dtype) for k in kinds
    )


def rows_of(items: Any) -> list[list[Any]] | None:
    """The lists in a list of equally long ones."""
    rows = list(list.__iter__(items)) if isinstance(items, list) else []
    if not all(isinstance(x, list) and getattr(x, "stacked", None) is None for x in rows):
        return None
    lengths = {list.__len__(x) for x in rows}
    one_each = len({id(x) for x in rows}) == len(rows)
    return rows if len(lengths) == 1 and one_each and lengths != {0} else None


def _most_references(items: Any) -> int:
    """As often as one of the lists in a list is referred to, from here and from elsewhere."""
    rows = rows_of(items) or []
    return max([sys.getrefcount(rows[k]) for k in range(len(rows))], default=0)


_ALONE = _most_references([[0.0]])
"""Of a list that only the one around it knows. One more is a name of the user's, under which it
would be written, too."""


def is_known(items: Any) -> bool:
    """Whether somebody else knows a list in this one, and may write into it."""
    return _most_references(items) > _ALONE


def table_of(items: Any, site: Any, dtype: np.dtype[Any], weak: bool) -> Tabled:
    """A table of these items."""
    if rows := rows_of(items):
        boxes = [table_of(list(r), site, dtype, weak).box for r in rows]
        return Tabled(ops.stack(boxes, axis=0), site, weak)
    columns = [ops.convert(inside(x), dtype) for x in items]
    first = columns[0]
    if all(x is items[0] for x in items):
        return Tabled(ops.full((len(items),), first, dtype=dtype), site, weak)
    return Tabled(ops.stack(columns, axis=0), site, weak)


def length_of_table(x: Tabled) -> Any:
    """`len` of it."""
    return number_of(x.box.shape[0])


node(Tabled, lambda x: (list(x), None, None), lambda _, items: list(items))


__all__ = [
    "Tabled", "Unlike", "is_narrow", "kind_of_items", "length_of_table", "of_one_width", "table_of",
]  # fmt: skip
