"""Lists to which loops append: what the passes of a loop appended is one array for each leaf of the
items, and the list shows its rows."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np

from .. import ops
from .._codegen import loading
from ..checks.ranges import out_of_range
from ..errors import ConcretizationError
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..tape.attempts import ATTEMPTS
from ..tensor import Boxed
from ..tree import flatten, node, unflatten
from .item_forms import Form, Seen, fields_of, joined, made_of_fields
from .under_names import ListUnderNames


class Stacked:
    """The items of a list that grows in loops.

    `arrays` have an item a row; None where a first look at a loop finds out how many there are.
    There are `base + added` items, of which the innermost open body appended `added`. Where that is
    `counted` it is a number of the graph, since not every branch or pass appends as many: then at
    most `most`, for which the arrays have rows. `off`: of the items that the list itself has some
    were taken off or replaced.
    """

    def __init__(
        self,
        form: Form | None,
        arrays: Sequence[Any] | None,
        base: Any,
        added: Any = 0,
        seen: Seen | None = None,
        most: Any = None,
        off: bool = False,
    ) -> None:
        self.form, self.base, self.added, self.seen, self.off = form, base, added, seen, off
        self.arrays = None if arrays is None else list(arrays)
        self.counted, self.most = most is not None, added if most is None else most

    @property
    def open(self) -> bool:
        """Whether a loop is going on that appends, for which the arrays have room."""
        return self.seen is not None

    @property
    def count(self) -> Any:
        """The number of items."""
        return self.base + self.added

    @property
    def rows(self) -> Any:
        """For how many items the arrays have room."""
        return self.base + self.most

    def with_own(self, n: int) -> int:
        """How many of the first items are those that the list itself has, of n."""
        gone = self.off or (self.seen is not None and (self.seen.taken or self.seen.written))
        return 0 if gone else n

    def but(self, arrays: Sequence[Any] | None, added: Any, most: Any = None) -> Stacked:
        """The same with other arrays and another number of items."""
        most = most if most is not None else self.most if self.counted else None
        return Stacked(self.form, arrays, self.base, added, self.seen, most, self.off)

    def contents(self) -> list[Any]:
        """The arrays, to look at."""
        return list(self.arrays or ())

    def as_it_is(self) -> Stacked:
        """In a loop that appends: what is there in this pass."""
        assert self.seen is not None
        form, arrays = self.form or self.seen.form, self.arrays
        if form is None:
            return Stacked(None, None, 0)
        if arrays is None:
            # In a look that does not know the items.
            self.seen.read = True
            arrays = [ops.zeros((1, *k.shape), k.dtype) for k in form.kinds]
        rows = arrays[0].shape[0] if arrays else 0
        return Stacked(form, arrays, 0, self.count, None, rows, True)

    def rebased(self) -> Stacked:
        """The same, of which all items count as added: how many there are is one number."""
        return Stacked(self.form, self.arrays, 0, self.count, self.seen, self.rows, True)

    def as_items(self, x: Any) -> Any:
        """A scalar made of the items: one of Python's numbers, where they are."""
        assert self.form is not None
        ours = len(self.form.kinds) == 1 and self.form.kinds[0].weak and isinstance(x, Boxed)
        return number(x) if ours and not x.shape else x

    def item(self, k: Any) -> Any:
        """The item of a number."""
        assert self.form is not None
        assert self.arrays is not None
        return self.made([a[k] for a in self.arrays])

    def made(self, leaves: Sequence[Any]) -> Any:
        """The item of these leaves."""
        assert self.form is not None
        found = [
            number(x) if kind.weak and isinstance(x, Boxed) else x
            for x, kind in zip(leaves, self.form.kinds, strict=True)
        ]
        item = together(self.form.spec, iter(found))
        if ATTEMPTS.session is not None:
            ATTEMPTS.session.is_item(item)
        return item

    def known(self) -> tuple[Any, ...]:
        """What branches that leave the same list agree in."""
        # In a look that has no arrays yet, what was seen of the items counts.
        at_first = self.open and self.arrays is None
        form = None if self.form is None or at_first else (self.form.spec, self.form.kinds)
        # A number of one graph would be another one in the next look.
        base = self.base if isinstance(self.base, int) else None
        added = None if self.counted else self.added
        # Not by what was seen: what an earlier look found would never be known again.
        return form, base, added, self.most, self.open, self.arrays is None, self.off


def _take_apart(x: Stacked) -> tuple[Any, Any, None]:
    return [*(x.arrays or ()), *([x.added] if x.counted else [])], _Rest(x), None


class _Rest:
    """A `Stacked` without its arrays, compared by what it knows."""

    def __init__(self, of: Stacked) -> None:
        arrays, most = None if of.arrays is None else (), of.most if of.counted else None
        self.of = Stacked(of.form, arrays, of.base, of.added, of.seen, most, of.off)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rest) and self.of.known() == other.of.known()

    def __hash__(self) -> int:
        return 0


def _together(rest: _Rest, leaves: Any) -> Stacked:
    x, arrays, added = rest.of, leaves, rest.of.added
    if x.counted:
        *arrays, added = leaves
    most = x.most if x.counted else None
    arrays = None if x.arrays is None else arrays
    return Stacked(x.form, arrays, x.base, added, x.seen, most, x.off)


node(Stacked, _take_apart, _together)


# --- items ----------------------------------------------------------------------------------------


def taken_apart(item: Any) -> tuple[list[Any], Any]:
    """The leaves of an item and what puts them together; of a list that a loop filled, its
    arrays."""
    if isinstance(item, Grown) and item.stacked is not None:
        item.known_length("be an item of another list")
        form, arrays = item.stacked.form, item.arrays()
        assert form is not None
        return arrays, ("rows", form.spec, form.kinds, item.stacked.count)
    if type(item) in (tuple, list, Grown) or is_named_tuple(item):
        found = [taken_apart(x) for x in item]
        kind = type(item) if isinstance(item, tuple) else list
        return [x for leaves, _ in found for x in leaves], (kind, *[s for _, s in found])
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        found = [taken_apart(x) for x in fields_of(item)]
        return [x for leaves, _ in found for x in leaves], (type(item), *[s for _, s in found])
    if item is None or isinstance(item, (str, bytes)):
        return [], ("fixed", item)
    leaves, spec = flatten(item)
    if not spec.is_leaf():
        # Dicts and objects are known by their identity.
        return [item], ("tree", spec)
    return leaves, ("tree", spec)


def is_named_tuple(x: Any) -> bool:
    """Whether it is of a class that `namedtuple` or `NamedTuple` made."""
    return isinstance(x, tuple) and isinstance(getattr(x, "_fields", None), tuple)


def lists_in(item: Any) -> list[list[Any]]:
    """The lists in an item that others may know, and change."""
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return lists_in(tuple(fields_of(item)))
    known = type(item) in (tuple, list, Grown) or is_named_tuple(item)
    if not known or (type(item) is Grown and item.frozen):
        return []
    own = [] if isinstance(item, tuple) else [item]
    inner = list.__iter__(item) if isinstance(item, list) else iter(item)
    return [*own, *[x for part in inner for x in lists_in(part)]]


def together(spec: Any, leaves: Iterator[Any]) -> Any:
    """The item of these leaves."""
    if spec[0] == "tree":
        return unflatten(spec[1], [next(leaves) for _ in range(spec[1].num_leaves)])
    if spec[0] == "rows":
        arrays = [next(leaves) for _ in spec[2]]
        found = Grown()
        found.stacked, found.frozen = Stacked(Form(spec[1], spec[2]), arrays, spec[3]), True
        return found
    if spec[0] == "fixed":
        return spec[1]
    parts = [together(s, leaves) for s in spec[1:]]
    if dataclasses.is_dataclass(spec[0]):
        return made_of_fields(spec[0], parts)
    if spec[0] is not list:
        return tuple(parts) if spec[0] is tuple else spec[0]._make(parts)
    found = Grown(parts)
    found.frozen = True
    return found


# --- the list -------------------------------------------------------------------------------------


class Grown(ListUnderNames):
    """A list of the user's, which loops on traced values may append to. Until one does, it is what
    it looks like; after that `stacked` has the items, and the list's own are its first ones."""

    frozen = False
    """Whether it is an item of a list that a loop filled: made when it is read, so that a change
    would be seen by nobody."""
    stacked: Stacked | None = None
    around: Grown | None = None
    """The list of which this one is an item, which was read."""

    _anchors: list[Any] | None = None

    @property
    def anchors(self) -> list[Any]:
        """What stands for this list, and for those of which it has items, where it matters whether
        an array may be one of them."""
        if self._anchors is None:
            self._anchors = [np.zeros(1)]
        return self._anchors

    def shares(self, sources: Sequence[Any]) -> Grown:
        """The list, which has items of others."""
        self._anchors = [
            *self.anchors,
            *[x for s in sources if isinstance(s, Grown) for x in s.anchors],
        ]
        return self

    def ready(self) -> Stacked | None:
        """The items that there are now."""
        self.look()
        found = self.stacked
        return found.as_it_is() if found is not None and found.open else found

    def arrays(self) -> list[Any]:
        """An array for each leaf of the items, of which `stacked` has all."""
        found = self.ready()
        assert found is not None
        assert found.arrays is not None
        return found.arrays

    def array(self) -> Any:
        """The items as one array; None where they are not numbers or arrays each."""
        found = self.ready()
        if found is None or found.form is None:
            return None
        arrays = self.arrays()
        if found.counted:
            instead = f"Hand on the list ({self.name}) and make the array where it is read"
            rows = loading.load(f"{__package__}.lengths").size_of(found.count, instead)
            arrays = [ops.dynamic_slice(a, 0, rows, axis=0) for a in arrays]
        return joined(found.form.spec, iter(arrays), 1)

    def total(self) -> Any:
        """The sum of items that loops appended; None where they are not numbers or arrays each."""
        found = self.ready()
        if found is None or found.form is None:
            return None
        if not found.counted:
            array = self.array()
            return None if array is None else found.as_items(ops.sum(array, axis=0))
        if found.form.spec[0] != "tree" or len(found.form.kinds) != 1:
            return None
        (array,) = self.arrays()
        there = ops.less(ops.arange(found.base + found.most), found.count)
        there = ops.reshape(there, (-1, *[1] * (array.ndim - 1)))
        return found.as_items(ops.sum(ops.where(there, array, 0), axis=0))

    def known_length(self, what: str) -> None:
        """A ConcretizationError where only a run knows how many items there are."""
        if self.stacked is not None and self.stacked.counted:
            raise ConcretizationError(
                f"{user_line()}: how many items {self.name} has is known only when the function "
                f"runs, so that it cannot {what}. It can be read by np.array({self.name}), sum, "
                f"len, {self.name}[k] and loops. Else write into an array, and count."
            )

    def length(self) -> Any:
        """The number of items; a size or a traced number, too."""
        self.look()
        return list.__len__(self) if self.stacked is None else self.stacked.count

    def contents(self) -> list[Any]:
        """All that it holds, to look at: items, or arrays of them."""
        if self.stacked is None:
            return list(list.__iter__(self))
        return self.stacked.contents()

    def item(self, k: Any) -> Any:
        """An item by a number that is known, or traced."""
        found = self.ready()
        if found is None or (isinstance(k, int) and 0 <= k < found.with_own(list.__len__(self))):
            return list.__getitem__(self, k)
        return self.of_mine(found.item(k))

    def of_mine(self, item: Any) -> Any:
        """An item, which knows where it is from."""
        if type(item) is Grown:
            item.around = self
        return item

    def written_out(self) -> list[Any]:
        """The items, one by one."""
        if self.ready() is None:
            return list(list.__iter__(self))
        self.known_length("be given to Python")
        return [self.item(k) for k in range(operator.index(self.length()))]

    def plain(self) -> None:
        """Before it is changed: have the items, one by one, as any list has them."""
        self.before_change()
        if self.frozen:
            raise ConcretizationError(
                f"{user_line()}: this list is an item of another one, which a loop on traced "
                "values filled or which was read at a traced place, and cannot be changed any "
                "more. Change a copy: list(a), or use an array."
            )
        if self.stacked is not None:
            items, self.stacked = self.written_out(), None
            list.__init__(self, items)

    def append(self, item: Any) -> None:
        self.before_change()
        if not self.frozen:
            growing = loading.load(f"{__package__}.growing")
            if growing.appended(self, item):
                return
            if self.stacked is not None and (self.stacked.counted or self.stacked.off):
                self.stacked = growing.longer(self, item, "")
                return
        self.plain()
        list.append(self, item)

    def extend(self, items: Any) -> None:
        if getattr(items, "late", False) and not self.frozen:
            self.before_change()
            _new_lists().extend(self, items)
            return
        for x in list(items):
            self.append(x)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        # NumPy makes one object of a list that has no length.
        self.known_length("be an array in code that is not rewritten")
        return np.array(self.written_out(), dtype)

    def __len__(self) -> int:
        return operator.index(self.length())

    def __iter__(self) -> Iterator[Any]:
        return iter(list.__iter__(self) if self.ready() is None else self.written_out())

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        found = self.ready()
        if found is None:
            try:
                return list.__getitem__(self, key)
            except IndexError as error:
                raise out_of_range(str(error)) from None
        if found.counted:
            if isinstance(key, slice) and type(key.step) is int:
                return _new_lists().stepped(self, key)
            self.known_length("be read here")
        if isinstance(key, slice):
            if found.form is not None and isinstance(found.count, int):
                made = Grown()
                arrays = [a[key] for a in self.arrays()]
                length = len(range(*key.indices(found.count)))
                made.stacked = Stacked(found.form, arrays, length)
                return made
            return self.written_out()[key]
        if isinstance(key, int) and isinstance(found.count, int):
            if not -found.count <= key < found.count:
                raise out_of_range("list index out of range")
            key = key % found.count
        return self.item(key)

    @property
    def late(self) -> bool:
        """Whether only a run knows how many items there are."""
        return self.stacked is not None and self.stacked.counted

    def __iadd__(self, items: Any) -> Any:
        self.extend(items)
        return self

    def __add__(self, items: Any) -> Any:
        if self.late or getattr(items, "late", False):
            return _new_lists().joined(self, items)
        return self.written_out() + (items.written_out() if type(items) is Grown else items)

    def __radd__(self, items: list[Any]) -> list[Any]:
        if self.late:
            joined: list[Any] = _new_lists().joined(items, self)
            return joined
        return items + self.written_out()

    def __mul__(self, times: Any) -> Any:
        return _new_lists().repeated(self, times) if self.late else self.written_out() * times

    __rmul__ = __mul__

    def __eq__(self, other: object) -> Any:
        if self.late or getattr(other, "late", False):
            return _new_lists().alike(self, other)
        return self.written_out() == (other.written_out() if type(other) is Grown else other)

    def __ne__(self, other: object) -> Any:
        found = self.__eq__(other)
        return ops.logical_not(found) if isinstance(found, Boxed) else not found

    def copy(self) -> list[Any]:
        """A list of the same items."""
        if self.late:
            copied: list[Any] = _new_lists().copied(self)
            return copied
        return self.written_out()

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.written_out()[::-1])

    def __reduce__(self) -> Any:
        return list, (self.written_out(),)

    __hash__ = None  # type: ignore[assignment]


def _new_lists() -> Any:
    return loading.load(f"{__package__}.late_lists")


def _changing(name: str) -> Callable[..., Any]:
    function = getattr(list, name)

    def method(self: Grown, *args: Any, **kwargs: Any) -> Any:
        self.plain()
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


def _reading(name: str) -> Callable[..., Any]:
    function = getattr(list, name)

    def method(self: Grown, *args: Any, **kwargs: Any) -> Any:
        given = [x.written_out() if isinstance(x, Grown) else x for x in args]
        return function(self.written_out(), *given, **kwargs)

    method.__name__ = name
    return method


for _name in (
    *("__setitem__", "__delitem__", "__imul__", "insert", "pop", "remove", "clear", "sort"),
    "reverse",
):
    setattr(Grown, _name, _changing(_name))
for _name in (
    *("__contains__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__"),
    *("index", "count"),
):
    setattr(Grown, _name, _reading(_name))

node(Grown, lambda x: (x.written_out(), None, None), lambda _, items: list(items))
# Elsewhere it is the list that it stands for.
