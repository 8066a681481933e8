"""Items of lists that loops fill, or are filling, and parts of such lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..checks.ranges import out_of_range
from ..ir.dispatch import bind
from ..ir.forms import smallest
from ..ops.elementwise.elementary import identity_op
from ..sizes import Size
from ..sizes.owners import is_late
from ..tensor import inside
from .agreement import nothing, with_numbers
from .growing import GrownPlace
from .item_forms import Form
from .items import part_of
from .lists import Grown, Stacked
from .regions import change
from .session import Session, current


def shared(found: Grown, sources: Sequence[Any], line: str) -> Grown:
    """A new list of items of others, which hold arrays that must not be written then."""
    session = current()
    if session is not None and found.stacked is not None:
        old = [a for s in sources if isinstance(s, Grown) for a in s.contents()]
        new = [a for a in found.contents() if len(a.shape) > 1]
        session.merge(new, [a for a in old if all(a is not b for b in new)], line)
    return found.shares(sources)


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
    if not now.open and type(now.count) is Size and is_late(now.count.form):
        now = Stacked(now.form, now.arrays, 0, with_numbers(now.count), None, now.rows)
    if not now.open and now.form is None and not isinstance(key, slice):
        # Nothing was ever appended.
        raise out_of_range("list index out of range")
    if session is None or not (now.open or now.counted):
        return owner[key]
    if isinstance(key, slice):
        if key.step not in (None, 1):
            return owner[key]
        return shared(part_of(owner.ready() or now, key), [owner], helpers.line_of(line))
    own = now.with_own(list.__len__(owner))
    if isinstance(key, int) and 0 <= key < own:
        return list.__getitem__(owner, key)
    items = now.form or (now.seen.form if now.seen else None)
    if items is None:
        # As far as this look knows nothing was appended, and the branch ends here; another look
        # follows if something is.
        assert now.seen is not None
        now.seen.read = True
        raise out_of_range("list index out of range")
    negative = isinstance(key, int) and key < 0
    at = now.count + key if negative else key
    least = own + (now.added if isinstance(now.added, int) else 0)
    sure = negative and -key <= least
    if not sure:
        low = ops.less(at, 0)
        at = ops.where(low, at + now.count, at) if not negative else at
        fine = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, now.count))
        helpers.check(line, fine, lambda: IndexError("list index out of range"))
        at = ops.clip(at, 0, ops.maximum(now.count - 1, 0))
    return read(session, owner, items, at, helpers.line_of(line))


def with_a_row(a: Any) -> Any:
    """An array that has a row where there is no item, too: the check speaks, and reads nothing."""
    n = a.shape[0]
    if type(n) is not Size or not is_late(n.form):
        return a
    least = smallest(n.form)
    if isinstance(least, int) and least > 0:
        return a
    return ops.concatenate([a, ops.zeros((1, *a.shape[1:]), a.dtype)], 0)


def read(session: Session, owner: Grown, form: Form, at: Any, line: str) -> Any:
    """The item at a place that is inside."""
    now = owner.stacked
    assert now is not None
    if now.arrays is None:
        assert now.seen is not None
        now.seen.read = True
        return Stacked(form, None, 0).made([inside(nothing(k)) for k in form.kinds])
    leaves = [bind(identity_op, [with_a_row(inside(a))[at]]) for a in now.arrays]
    # Who writes into an item would write into a copy of it.
    anchors = [*owner.anchors, *([now.seen.anchor] if now.seen is not None else [])]
    session.merge(leaves, anchors, line)
    return owner.of_mine(now.made(leaves))


__all__ = ["item_of", "read", "shared", "with_a_row"]
