"""The items of lists to which loops append, as arrays with an item a row."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..dtypes import promote
from ..ir.forms import bounded, form_of
from ..ops.elementwise.arithmetic import number
from ..sizes import form as size_form
from ..sizes import same, same_shape
from ..tape.attempts import ATTEMPTS
from ..tensor import inside
from ..transforms.tracing import leaf_type
from ..transforms.weak import kind_of
from ..types import ArrayType
from .item_forms import Form
from .lists import Grown, Stacked, taken_apart
from .places import is_leaf
from .regions import Refused


def prior_of(owner: Grown, line: str) -> Stacked:
    """What a list holds before a loop, as arrays."""
    owner.look()
    if owner.stacked is not None:
        return owner.stacked
    items = [parts_of(x, line, owner.name) for x in list.__iter__(owner)]
    if not items:
        return Stacked(None, None, 0)
    form = items[0][0]
    for other, _ in items[1:]:
        form = wider(form, other, line, owner.name)
    arrays = [
        ops.stack([ops.convert(x, k.dtype) for x in column], axis=0)
        for k, column in zip(
            form.kinds, zip(*[leaves for _, leaves in items], strict=True), strict=True
        )
    ]
    return Stacked(form, arrays, len(items))


def parts_of(item: Any, line: str, name: str) -> tuple[Form, list[Any]]:
    leaves, spec = taken_apart(item)
    for x in [item] if spec[0] == "fixed" else leaves:
        if not is_leaf(x):
            raise Refused(
                f"{line}: a {type(x).__name__} is appended to {name} in a loop on traced values, "
                "which holds numbers, arrays, and tuples and dataclasses of these. Append its "
                "parts as such."
            )
    if ATTEMPTS.session is not None:
        ATTEMPTS.session.is_item(item)
    return Form(spec, [leaf_type(x) for x in leaves]), leaves


def wider(a: Form, b: Form, line: str, name: str) -> Form:
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
        reason = "(other tuples or lists, or other texts in them)"
    raise Refused(
        f"{line}: the items of {name} are not of one form {reason}, which those that a loop on "
        f"traced values appends have to be.{_way_out(a, b)}"
    )


def _way_out(a: Form, b: Form) -> str:
    for x, y in zip(a.kinds, b.kinds, strict=False):
        if x.weak is not y.weak and same_shape(x.shape, y.shape):
            dtype = (y if x.weak else x).dtype
            return f" Append Python's numbers as NumPy's of that dtype: np.{dtype}(v)"
    return ""


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


def put(array: Any, at: Any, x: Any) -> Any:
    made = inside(array)._alias()
    made[at] = x
    return made


def wider_rows(x: Stacked, form: Form | None, more: Any) -> Stacked:
    """The items with rows for so many more of them, in a form."""
    if form is None:
        return x
    empty = [ops.zeros((more, *k.shape), k.dtype) for k in form.kinds]
    if x.arrays is None:
        arrays = [ops.zeros((x.base + x.most + more, *k.shape), k.dtype) for k in form.kinds]
    else:
        arrays = [
            ops.concatenate([ops.convert(a, e.dtype), e], axis=0)
            for a, e in zip(x.arrays, empty, strict=True)
        ]
    return Stacked(form, arrays, x.base, x.added, x.seen, x.most if x.counted else None, x.off)


class Evened:
    """The form that two branches give a list of which they leave different lengths."""

    def __init__(self, owner: Grown, sides: Sequence[Stacked | None], line: str) -> None:
        self.owner, self.line = owner, line
        lists = [prior_of(owner, line) if s is None else s for s in sides]
        # In a loop that appends, what a pass leaves counts from where the list began.
        self.off = any(x.off for x in lists)
        apart = {_base(x) if x.open else (_base(x), x.off) for x in lists}
        self.rebased = len(apart) > 1
        self.most = max((x.rows if self.rebased else x.most) for x in lists)
        forms = [x.form for x in lists if x.form is not None]
        self.form = forms[0] if forms else None
        for form in forms[1:]:
            self.form = wider(forms[0], form, line, owner.name)
        self.counted = _lengths_differ(*lists)
        """Whether only the forms of the items differ, else."""

    def again(self, owner: Grown, line: str) -> Evened:
        """The same of the list that stands there in another look."""
        found = copy.copy(self)
        found.owner, found.line = owner, line
        return found

    def same_as(self, other: Evened) -> bool:
        """Whether both give the same form."""
        return (
            (self.rebased, self.most, self.off) == (other.rebased, other.most, other.off)
            and (
                self.form is other.form or (self.form is not None and self.form.same_as(other.form))
            )
            and self.counted is other.counted
        )

    def takes(self, value: Stacked | None) -> bool:
        """Whether this form, which is that of an earlier look, has room for what a branch
        leaves."""
        x = prior_of(self.owner, self.line) if value is None else value
        most = x.rows if self.rebased else x.most
        return (
            isinstance(most, int)
            and most <= self.most
            and (x.form is None or (self.form is not None and self.form.spec == x.form.spec))
        )

    def of(self, value: Stacked | None) -> Stacked:
        """What one of them leaves, in that form."""
        x = prior_of(self.owner, self.line) if value is None else value
        x = x.rebased() if self.rebased else x
        if x.off != self.off and not self.rebased:
            most = x.most if x.counted else None
            x = Stacked(x.form, x.arrays, x.base, x.added, x.seen, most, self.off)
        if not x.open and self.counted:
            x = wider_rows(x, self.form, self.most - x.most)
        elif self.form is not None and not self.form.same_as(x.form):
            # Of a list that is open the loop around is looked at again.
            kinds = self.form.kinds
            arrays = x.arrays and [
                ops.convert(a, k.dtype) for a, k in zip(x.arrays, kinds, strict=True)
            ]
            most = x.most if x.counted else None
            x = Stacked(self.form, arrays, x.base, x.added, x.seen, most, x.off)
        return x.but(x.arrays, x.added, self.most if self.counted else None)


def _base(x: Stacked) -> Any:
    return x.base if isinstance(x.base, int) else id(x.base)


def uneven(a: Any, b: Any) -> bool:
    """Whether two branches leave lists of different lengths, or with items of different forms."""
    if not (isinstance(a, Stacked) and isinstance(b, Stacked)):
        return isinstance(a, Stacked) is not isinstance(b, Stacked)
    forms = [x.form for x in (a, b) if x.form is not None]
    other = len(forms) > 1 and not forms[0].same_as(forms[1])
    return (other and not (a.open or b.open)) or _lengths_differ(a, b)


def _lengths_differ(a: Stacked, b: Stacked) -> bool:
    return (
        a.counted != b.counted
        or (_base(a), a.off) != (_base(b), b.off)
        or not same(a.most, b.most)
        or not (a.counted or same(a.added, b.added))
    )


def part_of(x: Stacked, key: slice) -> Grown:
    """A slice of a list of which only a run knows the length."""
    count, rows = x.count, x.base + x.most

    def end(place: Any, missing: Any) -> Any:
        if place is None:
            return missing
        place = ops.where(ops.less(place, 0), place + count, place)
        return ops.minimum(ops.maximum(place, 0), count)

    first = end(key.start, 0)
    length = ops.maximum(end(key.stop, count) - first, 0)
    arrays = x.arrays
    if key.start is not None and arrays is not None:
        places = ops.minimum(first + ops.arange(rows), ops.maximum(rows - 1, 0))
        arrays = [inside(a)[places] for a in arrays]
    bounded(length, 0, form_of(size_form(rows)) + 1)
    found = Grown()
    found.stacked = Stacked(x.form, arrays, 0, number(length), None, rows)
    return found


__all__ = [
    "Evened", "part_of", "parts_of", "prior_of", "put", "uneven", "wider", "wider_rows",
]  # fmt: skip
