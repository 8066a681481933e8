"""Items and attributes: read, written and changed in place."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import ops
from ..faces.numpy.flat import Flat
from ..ir.dispatch import STATE
from ..ops.elementwise.arithmetic import number
from ..sizes import Size, form, number_of
from ..sizes.owners import SIZES, is_late
from ..tensor import Boxed, inside
from .aliases import root_of
from .clipped import inside_of, is_inside
from .constructors import stacked
from .kept_lists import to_grown, to_table, write
from .letters import has_letter, letter_of, looked_up
from .lists import Grown
from .masks import chosen, is_mask, lists_elements, replaced
from .numpy_objects import JOINING, joined
from .objects import before_set
from .places import (
    MISSING,
    AttributePlace,
    ItemPlace,
    any_in,
    followed,
    is_leaf,
    traced,
    unknown,
    variables,
)
from .queues import Queue
from .reached import method_of, setter_of
from .reading import item_of as item_of_grown
from .regions import Refused, born, change, is_born
from .rows_of_lists import row_of, row_of_dict
from .session import current
from .stand_ins import entry_of, one_of, part_of, trace_from_start
from .tables import Tabled
from .taking import deleted, is_open, place_in, replace

NUMBERED = frozenset((np.ndarray, np.flatiter, list, Grown, tuple, range))
"""Kinds whose items Python finds by known numbers only."""
WRITTEN = frozenset(("flat", "real", "imag"))
"""Attributes of arrays whose assignment writes elements."""


def in_place(name: str) -> Callable[[Any, Any], Any]:
    """`a += b` as a function, by the operator's name."""
    found: Callable[[Any, Any], Any] = getattr(operator, "i" + name.rstrip("_"))
    return found


def _held(owner: Any, key: Any) -> Any:
    try:
        return owner[key]
    except (KeyError, IndexError, TypeError):
        return MISSING


def late_places(owner: Any, key: Any) -> Any:
    """A key with what is known when the function runs: whole numbers along axes of a length that
    only that knows, slices with ends that may be outside."""
    keys = key if isinstance(key, tuple) else (key,)
    if len(keys) > owner.ndim or any(k is None or k is Ellipsis for k in keys):
        return key
    found = [
        _late_place(k, n) if type(k) is int and is_late(form(n)) else inside_of(k, n)
        for k, n in zip(keys, owner.shape, strict=False)
    ]
    return key if all(a is b for a, b in zip(found, keys, strict=True)) else tuple(found)


def sizes_as_numbers(owner: Any, key: Any) -> Any:
    """A key in which late sizes are numbers of the graph, where it is not known that they are
    inside (`x[a.shape[0] - 1]`), and of a plain array in any case."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(type(k) is Size or isinstance(k, slice) for k in keys):
        return key
    plain = type(owner) is np.ndarray
    whole = any(k is None or k is Ellipsis for k in keys) or len(keys) > len(np.shape(owner))
    shape = [None] * len(keys) if whole else owner.shape

    def part(k: Any, n: Any) -> Any:
        if isinstance(k, slice):
            first, last = end(k.start, n, 0), end(k.stop, n, 0)
            return k if first is k.start and last is k.stop else slice(first, last, k.step)
        return end(k, n, 1)

    def end(k: Any, n: Any, behind: int) -> Any:
        if type(k) is not Size or not is_late(k.form):
            return k
        tell = SIZES.open[-1].proven
        fine = (
            n is not None
            and not plain
            and tell("<=", -k.form)
            and tell("<=", k.form + behind - form(n))
        )
        return k if fine else number_of(k)

    found = [part(k, n) for k, n in zip(keys, shape, strict=False)]
    return (
        key
        if all(a is b for a, b in zip(found, keys, strict=True))
        else (tuple(found) if isinstance(key, tuple) else found[0])
    )


def _late_place(k: int, n: Any) -> Any:
    """A number of the graph for a place, which a run counts from the end and checks. The last one
    is never counted twice, so that what is known of sizes may say where it is."""
    return number(ops.add(n if k == -1 else 0, np.int64(k)))


class Elements:
    """The helpers of items and attributes."""

    line_of: Callable[[int], str]
    slice = slice

    def get_item(self, line: int, owner: Any, key: Any) -> Any:
        """`owner[key]`."""
        kind = type(owner)
        if STATE.traces and (kind is np.ndarray or isinstance(owner, Boxed)):
            key = sizes_as_numbers(owner, key)
        if STATE.traces and any_in(key, traced):
            self._check_seen(line, owner, key)
        if kind in (str, bytes) and STATE.traces and unknown(key):
            return letter_of(owner, key)
        if kind is dict and has_letter(key):
            check = partial(self.check, line)  # type: ignore[attr-defined]
            if (found := looked_up(owner, key, check)) is not NotImplemented:
                return found
        if kind is Tabled:
            if isinstance(key, slice) and not any_in(key, traced):
                return list(owner)[key]
            return owner.item(operator.index(key) if not any_in(key, traced) else key)
        if kind is Queue and not isinstance(key, slice):
            key = place_in(key, owner.length(), self, line, "deque index out of range")
            session = current()
            assert session is not None
            return session.version(owner.item)(key)
        if kind is Grown and (found := item_of_grown(owner, key, self, line)) is not NotImplemented:
            return found
        if STATE.traces and is_mask(key) and isinstance(owner, (np.ndarray, Boxed)):
            return chosen(inside(owner), key)
        if kind in NUMBERED and STATE.traces and any_in(key, traced):
            if kind is np.ndarray:
                return part_of(owner, late_places(owner, key))
            if kind is np.flatiter:
                return np.reshape(inside(owner.base), -1)[key]
            if any_in(key, unknown) and isinstance(key, slice):
                raise Refused(
                    f"{self.line_of(line)}: a {kind.__name__} is cut at a place that is not known "
                    "while the function is traced. Make it an array before: np.array(...)."
                )
            if not unknown(key):
                return owner[key if isinstance(key, slice) else operator.index(key)]
            if all(map(is_leaf, owner)) and len({getattr(x, "shape", ()) for x in owner}) == 1:
                return one_of(owner, key, kind.__name__)
            if isinstance(owner, list):
                to_table(owner)
            what = "list" if isinstance(owner, list) else kind.__name__
            if isinstance(owner, (list, tuple)) and not isinstance(key, slice):
                at = place_in(key, len(owner), self, line, f"{what} index out of range")
                if (found := row_of(owner, at, self.line_of(line))) is not NotImplemented:
                    return found
            rows = bool(owner) and all(isinstance(v, list) for v in owner)
            raise Refused(
                f"{self.line_of(line)}: a {what} of {'lists' if rows else 'unlike things'} is read "
                "at a place that is not known while the function is traced. Use an array"
                + (
                    ". (Lists of as many numbers are one while no row is put in, exchanged, "
                    "compared or known by a name of its own.)"
                    if rows
                    else "."
                )
            )
        if isinstance(owner, dict) and any_in(key, traced):
            if not any_in(key, unknown):
                return owner[operator.index(key)]
            check = partial(self.check, line)  # type: ignore[attr-defined]
            if (found := entry_of(owner, key, check)) is not NotImplemented:
                return found
            where = self.line_of(line)
            if (found := row_of_dict(owner, key, check, where)) is not NotImplemented:
                return found
            raise Refused(
                f"{self.line_of(line)}: a {kind.__name__} is read at a key that is not known while "
                "the function is traced. Use an array, or a list of values of one shape."
            )
        if isinstance(owner, Boxed) and STATE.traces:
            key = late_places(owner, key)
        if kind in JOINING and (found := joined(owner, key)) is not None:
            return found
        return owner[key]

    def set_item(self, line: int, value: Any, owner: Any, key: Any) -> None:
        """`owner[key] = value`."""
        session = current()
        if session is None:
            owner[key] = value
            return
        if STATE.traces and isinstance(owner, (np.ndarray, Boxed)):
            key = sizes_as_numbers(owner, key)
        if STATE.traces and any_in(key, traced):
            self._check_seen(line, owner, key)
        if type(owner) is Queue:
            key = place_in(key, owner.length(), self, line, "deque index out of range")
            session.version(owner.replace)(key, value)
            return
        if type(owner) is Tabled:
            write(self, line, owner, key, value)
            return
        if isinstance(owner, (np.ndarray, np.flatiter)):
            self._plain(line, owner, (value, key))
            owner[key] = value
            return
        if isinstance(owner, (Boxed, Flat)):
            if isinstance(owner, Boxed) and STATE.traces:
                key = late_places(owner, key)
                if is_mask(key) and lists_elements(owner, key, value):
                    value = inside(stacked(value)) if isinstance(value, (list, tuple)) else value
                    check = partial(self.check, line)  # type: ignore[attr-defined]
                    key, value = ..., replaced(owner, key, inside(value), check)
            if session.merged:
                array = owner.base if isinstance(owner, Flat) else owner
                session.before_write(root_of(array), self.line_of(line))
            owner[key] = stacked(value) if isinstance(value, (list, tuple)) else value
            return
        if isinstance(owner, (list, dict)) and any_in(key, traced):
            key = operator.index(key) if isinstance(owner, list) and not unknown(key) else key
            if any_in(key, traced):
                if isinstance(owner, list) and not isinstance(key, slice):
                    to_table(getattr(owner, "around", None) or owner, value)
                    if type(owner) is Grown and is_open(owner):
                        replace(owner, key, value, self, line)
                        return
                what = "list" if isinstance(owner, list) else type(owner).__name__
                raise Refused(
                    f"{self.line_of(line)}: a {what} is written at a place that is "
                    "not known while the function is traced. Use an array."
                )
        if type(owner) is Grown and owner.frozen and owner.around is not None:
            to_table(owner.around)
        if type(owner) is Grown and owner.stacked is not None:
            if not isinstance(key, slice) and is_open(owner):
                replace(owner, key, value, self, line)
                return
            if not is_born(session, owner):
                self.effect(line, f"{owner.name}[...] =")
            owner.plain()
        if session.regions and isinstance(owner, (list, dict)):
            if _held(owner, key) is value:
                return
            if isinstance(key, slice):
                raise Refused(
                    f"{self.line_of(line)}: a slice of a list is replaced in a branch or loop on "
                    "traced values. Use an array."
                )
            change(session, ItemPlace(owner, key), owner)
        if (method := method_of(session, owner, "__setitem__")) is not None:
            method(owner, key, value)
            return
        owner[key] = value

    def del_item(self, line: int, owner: Any, key: Any) -> None:
        """`del owner[key]`."""
        if type(owner) is Grown and is_open(owner) and not isinstance(key, slice):
            deleted(owner, key, self, line)
            return
        session = current()
        if session is not None and session.regions and type(owner) is list:
            to_grown(owner)
        self.effect(line, "del")
        del owner[key]

    def _check_seen(self, line: int, owner: Any, key: Any) -> None:
        """Refused where an index that may be out of range stands in a `try` that would see it."""
        session = current()
        if session is None or not session.tries or is_inside(owner, key):
            return
        kind = KeyError if isinstance(owner, dict) else IndexError
        for t in reversed(session.tries):
            if t.catches(kind):
                raise Refused(
                    f"{self.line_of(line)}: an index that only a run knows may be out of range, "
                    f"and stands in the 'try' or 'with' at {t.line}, which could not see the "
                    f"{kind.__name__}: it is raised when the compiled function has ended. Ask "
                    "before: if 0 <= i < len(x)."
                )

    def _plain(self, line: int, owner: Any, given: Any, who: str = "") -> None:
        """Before a plain array is written: where it cannot hold what is written, or the write
        belongs into a graph, the array has to be traced from its start. `who` writes, where it is a
        function that got it as an argument."""
        session = current()
        assert session is not None
        owner = owner.base if isinstance(owner, np.flatiter) else owner
        found = session.site_of(owner)
        here = session.regions[-1] if session.regions else None
        if not any_in(given, followed) and (
            here is None or (found is not None and found[1] is here)
        ):
            return
        if not any_in(given, followed) and not STATE.traces:
            return
        trace_from_start(owner, self.line_of(line), who)

    def augmented(self, line: int, name: str, now: Any, value: Any) -> Any:
        """The new value of `x` in `x += value`."""
        session = current()
        if session is not None:
            if isinstance(now, np.ndarray):
                self._plain(line, now, value)
            elif isinstance(now, Boxed):
                if now.shape and session.merged:
                    session.before_write(root_of(now), self.line_of(line))
            elif type(now) is Grown and name == "add":
                pass
            elif isinstance(now, (list, set, dict)) and not is_born(session, now):
                if session.regions and type(now) is list:
                    to_grown(now)
                self.effect(line, f"{type(now).__name__} +=")
            elif (method := method_of(session, now, f"__i{name.rstrip('_')}__")) is not None:
                found = method(now, value)
                if found is not NotImplemented:
                    return found
        return in_place(name)(now, value)

    def augment_item(
        self, line: int, name: str, owner: Any, key: Any, value: Callable[[], Any]
    ) -> None:
        """`owner[key] += value()`."""
        now = self.get_item(line, owner, key)
        if isinstance(owner, (np.ndarray, np.flatiter)) and current() is not None:
            found = value()
            self._plain(line, owner, (found, key))
            owner[key] = in_place(name)(now, found)
            return
        self.set_item(line, self.augmented(line, name, now, value()), owner, key)

    def set_attribute(self, line: int, value: Any, owner: Any, name: str) -> None:
        """`owner.name = value`."""
        session = current()
        if session is not None and isinstance(owner, np.ndarray) and name in WRITTEN:
            self._plain(line, owner, value, f".{name} =")
        if session is not None and (setter := setter_of(session, owner, name)) is not None:
            setter(owner, value)
            return
        if session is not None and STATE.traces:
            before_set(session, owner, self.line_of(line))
        if session is not None and session.regions:
            if getattr(owner, name, MISSING) is value:
                return
            if isinstance(owner, (np.ndarray, Boxed)):
                self.effect(line, f".{name} =")
            change(session, AttributePlace(owner, name), owner)
        setattr(owner, name, value)

    def augment_attribute(
        self, line: int, name: str, owner: Any, attribute: str, value: Callable[[], Any]
    ) -> None:
        """`owner.attribute += value()`."""
        now = getattr(owner, attribute)
        self.set_attribute(line, self.augmented(line, name, now, value()), owner, attribute)

    def made(self, line: int, owner: Any) -> Any:
        """A list, dict or set that the user writes out."""
        session = current()
        if session is not None and session.regions:
            born(session, owner)
        return owner

    def owns(self, line: int, variables_of: Any) -> None:
        """At the start of a function whose variables functions inside of it bind anew."""
        session = current()
        if session is not None and session.regions:
            for cell in variables_of.__closure__ or ():
                born(session, cell)

    def binds(self, line: int, names: Sequence[str], around: Sequence[str], function: Any) -> None:
        """At the start of a function that binds variables of another one anew, or of its module."""
        session = current()
        if session is None or not session.regions:
            return
        for place in variables([function], names):
            change(session, place, place.cell)
        for name in around:
            change(session, ItemPlace(function.__globals__, name), function.__globals__)

    def effect(self, line: int, what: str) -> None:
        """Refused where something is done for good in a branch or a body that becomes a graph."""
        session = current()
        if session is not None and session.regions:
            raise Refused(
                f"{self.line_of(line)}: {what!r} in a branch or loop on traced values would be "
                "done once, while the function is traced, and not at each pass. Collect values in "
                "a list that the function itself begins (out = []), or in an array that it fills."
            )


__all__ = ["Elements", "in_place"]
