"""Appending to a list in a loop: a place that the loop hands on as it does a variable. A first look
at the body tells how many items a pass appends and of which form; then the loop carries an array
with room for those of all passes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..dtypes import promote
from ..ir.dispatch import STATE, bind
from ..ops.elementwise.elementary import identity_op
from ..sizes import SYMBOLIC, same, same_shape
from ..tensor import inside
from ..transforms.tracing import leaf_type
from ..transforms.weak import kind_of
from ..types import ArrayType
from .agreement import nothing
from .aliases import arrays_of, root_of
from .carried import ChangedShape, Retry
from .lists import Form, Grown, Seen, Stacked, lists_in, taken_apart
from .places import is_leaf
from .regions import Refused, change, is_born
from .session import Session, current


class GrownPlace:
    """What a list holds that grows."""

    lasts = False

    def __init__(self, owner: Grown) -> None:
        self.owner, self.name = owner, owner.name
        self.key: Any = id(owner), "grown"

    def get(self) -> Any:
        """What the loops that are open have appended to; None before the first of them."""
        return self.owner.stacked

    def put(self, value: Any) -> None:
        """Change it."""
        self.owner.stacked = value


class Growing:
    """What one loop hands on of a list, in place of a `Carried`."""

    undefined = False

    def __init__(self, place: GrownPlace, line: str, count: Any) -> None:
        self.place, self.line, self.count = place, line, count
        if not isinstance(count, (int, *SYMBOLIC)):
            raise Refused(
                f"{line}: this loop appends to {place.name}, and how many passes it takes is not "
                "known before it runs. Write into an array that is long enough, and count."
            )
        self.start: Any = place.get()
        self.others: list[Any] = []
        self.form: Form | None = None
        self.per: Any = 0
        self.step: Any = 0
        self.found: Any = None
        self.learnt: list[Any] = []
        own = self.start is None or not self.start.open
        self.prior = _prior(place.owner, line) if own else self.start
        """What is there before the loop; of a list that the loops around this one append to, too,
        with the room that those made."""
        self.form = self.prior.form
        self.seen = self.prior.seen or Seen()
        self.began: Any = own, _shown(self.form)

    @property
    def looking(self) -> bool:
        """Whether what the loops append is not known yet."""
        return not _nonzero(self.per) or (self.prior.open and self.prior.arrays is None)

    def settle(self) -> None:
        """Begin anew with what was found."""
        if self.found is not None:
            self.learnt.append(self.found)
            (self.form, self.per), self.found = self.found, None

    def recall(self, began: Any, learnt: Any) -> None:
        """Settle what an earlier look found, where that began with the same."""
        if self.began == began:
            for self.found in learnt:
                self.settle()

    def initial(self) -> list[Any]:
        """The arrays, with room for all passes."""
        if self.looking:
            return []
        assert self.form is not None
        if self.prior.open and self.prior.arrays is not None:
            return [
                ops.convert(a, k.dtype) if a.dtype != k.dtype else a
                for a, k in zip(self.prior.arrays, self.form.kinds, strict=True)
            ]
        room = self.count * self.per
        empty = [ops.zeros((room, *k.shape), k.dtype) for k in self.form.kinds]
        if self.prior.arrays is None:
            return empty
        return [
            ops.concatenate([ops.convert(a, b.dtype), b], axis=0)
            for a, b in zip(self.prior.arrays, empty, strict=True)
        ]

    def enter(self, given: list[Any]) -> Stacked:
        """The list at the start of a pass; it takes its arrays off what is given."""
        base = self.prior.count
        if self.looking:
            return Stacked(self.form, None, base, 0, self.seen)
        assert self.form is not None
        arrays = [given.pop(0) for _ in self.form.kinds]
        before = self.step * self.per
        # So that what is there already is seen to be at least so much.
        return Stacked(self.form, arrays, base + before, 0, self.seen)

    def leave(self, value: Stacked, contents: dict[int, Any]) -> list[Any]:
        """The arrays after a pass; Retry where more is known of them now."""
        if not isinstance(value.added, (int, *SYMBOLIC)):
            raise Refused(
                f"{self.line}: one pass of this loop appends more items to {self.place.name} than "
                "another. Write into an array: out[i, j] = ..."
            )
        form = self.form if self.seen.form is None else self.seen.form
        if not same(value.added, self.per) or not (
            form is self.form or (form is not None and form.same_as(self.form))
        ):
            self.found = form, value.added
            raise Retry
        return [] if self.looking else list(value.arrays or ())

    def finish(self, given: list[Any], session: Session, sure: bool) -> None:
        """Put what the loop ended with in the list."""
        more, before = self.count * self.per, self.prior
        if self.looking:
            if before.open:
                self.place.put(
                    Stacked(self.form, None, before.base, before.added + more, self.seen)
                )
            return
        assert self.form is not None
        arrays = [given.pop(0) for _ in self.form.kinds]
        if before.open:
            made = Stacked(self.form, arrays, before.base, before.added + more, self.seen)
        else:
            made = Stacked(self.form, arrays, before.count + more)
        self.place.put(made)

    def hold(self, items: list[Any], session: Session) -> None:
        """After the loop: these arrays may be items of the list."""
        now = self.place.get()
        if now is None or not items:
            return
        if now.open:
            for x in [root_of(x) for value in items for x in arrays_of(value)]:
                _own(session, x, self.place.name, self.line)
        else:
            session.merge(now.arrays, items, self.line)


def _nonzero(x: Any) -> bool:
    return not (isinstance(x, int) and x == 0)


def _shown(form: Form | None) -> Any:
    return None if form is None else (form.spec, form.kinds)


def _prior(owner: Grown, line: str) -> Stacked:
    """What a list holds before a loop, as arrays."""
    if owner.stacked is not None:
        return owner.stacked
    items = [_parts(x, line, owner.name) for x in list.__iter__(owner)]
    if not items:
        return Stacked(None, None, 0)
    form = items[0][0]
    for other, _ in items[1:]:
        form = _wider(form, other, line, owner.name)
    arrays = [
        ops.stack([ops.convert(x, k.dtype) for x in column], axis=0)
        for k, column in zip(
            form.kinds, zip(*[leaves for _, leaves in items], strict=True), strict=True
        )
    ]
    return Stacked(form, arrays, len(items))


def _parts(item: Any, line: str, name: str) -> tuple[Form, list[Any]]:
    leaves, spec = taken_apart(item)
    for x in leaves:
        if not is_leaf(x):
            raise Refused(
                f"{line}: a {type(x).__name__} is appended to {name} in a loop on traced values, "
                "which holds numbers and arrays."
            )
    return Form(spec, [leaf_type(x) for x in leaves]), leaves


def _wider(a: Form, b: Form, line: str, name: str) -> Form:
    """The form that items of both have."""
    if a.same_as(b):
        return a
    reason = f"({a} and {b})"
    if a.spec == b.spec:
        kinds = [_kind(x, y) for x, y in zip(a.kinds, b.kinds, strict=True)]
        both = [k for k in kinds if k is not None]
        if len(both) == len(kinds):
            return Form(a.spec, both)
    else:
        reason = "(other tuples or lists)"
    raise Refused(
        f"{line}: the items of {name} are not of one form {reason}, which those that a loop on "
        "traced values appends have to be."
    )


def _kind(a: ArrayType, b: ArrayType) -> ArrayType | None:
    """The type of both, if it tells every reader the same."""
    if not same_shape(a.shape, b.shape):
        return None
    if a.weak and b.weak:
        return ArrayType(promote(kind_of(a), kind_of(b)), a.shape, True)
    dtype = promote(kind_of(a), kind_of(b))
    strong = [k for k in (a, b) if not k.weak]
    # Of a float32 and a Python number NumPy makes a float64: an array of items has to be that of
    # each.
    if all(k.dtype == dtype for k in strong) and dtype == np.result_type(a.dtype, b.dtype):
        return ArrayType(dtype, a.shape, False)
    return None


class Appended:
    """An array that is an item of a list now: under its other names it must not be written."""

    def __init__(self, root: Any, name: str, line: str) -> None:
        self.value, self.name, self.line = weakref.ref(root), name, line
        self.others: tuple[Any, ...] = ()

    def concerns(self, root: Any, held: Any) -> bool:
        """Whether it is written to."""
        return self.value() is root


def appended(owner: Grown, item: Any) -> bool:
    """Append in a branch or body that becomes a graph; False elsewhere."""
    session = current()
    if session is None or not session.regions or not STATE.traces or is_born(session, owner):
        return False
    place = GrownPlace(owner)
    change(session, place, owner)
    now, line = owner.stacked, session.regions[-1].line
    if now is None or not now.open:
        raise Refused(
            f"{line}: {owner.name}.append(...) in a branch on traced values: whether the list gets "
            "longer is not known before it runs. Write into an array, and count."
        )
    form, leaves = _parts(item, line, owner.name)
    for x in leaves:
        _own(session, x, owner.name, line)
    for inner in lists_in(item):
        if not is_born(session, inner):
            raise Refused(
                f"{line}: a list that was there before is appended to {owner.name}, which would "
                f"show what becomes of it later. Append a copy: {owner.name}.append(list(a))"
            )
        session.merged.append(AppendedList(inner))
    assert now.seen is not None
    before = now.seen.form or now.form
    now.seen.form = form if before is None else _wider(before, form, line, owner.name)
    arrays = now.arrays
    # Where the form is a wider one now the loop is looked at again.
    if arrays is not None and now.seen.form.same_as(now.form):
        arrays = [
            _put(a, now.count, ops.convert(x, a.dtype)) for a, x in zip(arrays, leaves, strict=True)
        ]
    owner.stacked = Stacked(now.form, arrays, now.base, now.added + 1, now.seen)
    return True


class AppendedList:
    """A list that is an item of one that grows: it must stay as it was."""

    others: tuple[Any, ...] = ()

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.before = self._now()

    def value(self) -> Any:
        """No array."""

    def concerns(self, root: Any, held: Any) -> bool:
        """No array is meant."""
        return False

    def _now(self) -> tuple[Any, list[Any]]:
        return getattr(self.items, "stacked", None), list(list.__iter__(self.items))

    def changed(self) -> bool:
        """Whether it is another one now."""
        (stacked, items), (then, were) = self._now(), self.before
        return (
            stacked is not then
            or len(items) != len(were)
            or any(a is not b for a, b in zip(items, were, strict=True))
        )


def _put(array: Any, at: Any, x: Any) -> Any:
    made = inside(array)._alias()
    made[at] = x
    return made


def _own(session: Session, x: Any, name: str, line: str) -> None:
    """A list shows what is written later into an array that was appended."""
    root = root_of(x) if getattr(x, "shape", ()) else None
    if root is not None:
        session.merged.append(Appended(root, name, line))


def item_of(owner: Grown, key: Any, helpers: Any, line: int) -> Any:
    """`owner[key]` of a list that loops have appended to, or are appending to; NotImplemented where
    it is one as any other."""
    session, now = current(), owner.stacked
    if now is None:
        if session is None or not session.regions or list.__len__(owner):
            return NotImplemented
        # A pass reads what one before it has to append.
        change(session, GrownPlace(owner), owner)
        return NotImplemented
    if session is None or not now.open:
        return owner[key]
    if isinstance(key, slice):
        return owner[key]
    if isinstance(key, int) and 0 <= key < list.__len__(owner):
        return list.__getitem__(owner, key)
    form = now.form or (now.seen.form if now.seen else None)
    if form is None:
        raise ChangedShape(
            f"{helpers.line_of(line)}: {owner.name} is read before anything was appended to it."
        )
    negative = isinstance(key, int) and key < 0
    at = now.count + key if isinstance(key, int) and key < 0 else key
    least = list.__len__(owner) + now.added if isinstance(now.added, int) else 0
    sure = negative and -key <= least
    if not sure:
        low = ops.less(at, 0)
        at = ops.where(low, at + now.count, at) if not negative else at
        fine = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, now.count))
        helpers.check(line, fine, lambda: IndexError("list index out of range"))
        at = ops.clip(at, 0, ops.maximum(now.count - 1, 0))
    if now.arrays is None:
        return Stacked(form, None, 0).made([inside(nothing(k)) for k in form.kinds])
    leaves = [bind(identity_op, [inside(a)[at]]) for a in now.arrays]
    if now.seen is not None:
        session.merge(leaves, [now.seen.anchor], helpers.line_of(line))
    return now.made(leaves)


class Growth:
    """The helper of lists that may grow."""

    line_of: Callable[[int], str]
    made: Callable[[int, Any], Any]

    def grows(self, line: int, name: str, items: list[Any]) -> Any:
        """A list that the user writes out, to which a loop appends."""
        if current() is None or not STATE.traces or type(items) is not list:
            return self.made(line, items)
        found = Grown(items)
        found.name = name
        return self.made(line, found)


__all__ = ["Growing", "Grown", "GrownPlace", "Growth", "item_of"]
