"""Lists that a function makes, which may have to be tables (tables.py): known by the place in the
text that makes them, and by the dtypes around it, which are others in another call."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from .. import ops
from ..dtypes import promote
from ..ir.dispatch import STATE
from ..transforms.tracing import leaf_type
from .item_forms import Form
from .lists import Grown
from .places import is_leaf
from .session import Restart, current
from .tables import (
    Tabled,
    Unlike,
    is_known,
    is_narrow,
    kind_of_items,
    of_one_width,
    table_of,
)

ITERATING = (builtins.list, builtins.tuple, builtins.iter, builtins.map, builtins.filter)
"""What takes items one by one, and leaves them as they are."""


class KeptLists:
    """The helper of lists that get a name where they are made."""

    code: Any
    made: Callable[[int, Any], Any]

    def list_made(self, line: int, number: int, name: str, found: Any) -> Any:
        """A new list, which nobody else knows."""
        session = current()
        if session is None or not STATE.traces or type(found) not in (list, Grown):
            return found
        if type(found) is list and (self.code, number) in session.grown:
            found = _growing(found, name)
        site = self.code, number, _kind(found), _kinds_around(sys._getframe(1))
        known = session.tables.get(site)
        if known is not None:
            if (made := _as_table(found, site, known)) is not None:
                return made
            session.tables[site] = None
            raise Restart
        session.lists[id(found)] = found, site
        return self.made(line, found)

    def begun(self, line: int, number: Any, found: list[Any], name: str = "a list") -> Any:
        """A new list, to which somebody may append."""
        session = current()
        if session is not None and STATE.traces:
            site = self.code, number
            if site in session.grown:
                found = _growing(found, name)
            session.lists[id(found)] = found, site
        return self.made(line, found)

    def fields_begun(self, line: int, number: int, found: Any) -> None:
        """The lists that a dataclass begins by itself."""
        for field in dataclasses.fields(found):
            items = getattr(found, field.name, None)
            if field.default_factory is builtins.list and type(items) is list and not items:
                name = f"{type(found).__name__}.{field.name}"
                made = self.begun(line, (number, field.name), items, name)
                object.__setattr__(found, field.name, made)


def _growing(items: list[Any], name: str) -> Grown:
    found = Grown(items)
    found.name = name
    return found


def to_grown(owner: Any) -> None:
    """Before something is appended to a list in a branch or body, or taken off: Restart with it as
    one that grows, where a function of the user's makes it."""
    session = current()
    assert session is not None
    held = session.lists.get(id(owner))
    if held is None or held[0] is not owner:
        if not session.whole:
            # Who made it is not rewritten.
            session.whole = True
            raise Restart
        return
    site = held[1][:2]
    if type(owner) is list and site not in session.grown:
        session.grown.add(site)
        raise Restart


def _kinds_around(frame: FrameType) -> frozenset[Any]:
    """The dtypes of a function's variables, and which of them are Python's numbers."""
    found = []
    for name, value in frame.f_locals.items():
        if is_leaf(value):
            kind = leaf_type(value)
            found.append((name, kind.dtype, kind.weak))
    return frozenset(found)


def _as_table(found: Any, site: Any, known: tuple[np.dtype[Any], bool]) -> Tabled | None:
    if isinstance(found, Grown) and found.stacked is not None:
        own = _kind(found)
        if own is None:
            return None
        dtype = promote(own[0], known[0])
        return Tabled(ops.convert(found.array(), dtype).copy(), site, own[1] and known[1])
    own = kind_of_items(found)
    if own is None or is_known(found):
        return None
    return table_of(found, site, promote(own[0], known[0]), own[1] and known[1])


def _kind(found: Any) -> tuple[np.dtype[Any], bool] | None:
    """The dtype of a list's items, and whether they are Python's numbers."""
    if type(found) is not Grown or found.stacked is None:
        return kind_of_items(found)
    form = None if found.stacked.counted or found.stacked.open else found.stacked.form
    if form is None or not _is_flat(form):
        return None
    dtype = functools.reduce(promote, [k.dtype for k in form.kinds])
    if not of_one_width(form.kinds):
        return None
    return dtype, all(k.weak for k in form.kinds)


def _is_flat(form: Form) -> bool:
    """Whether items are numbers, or lists of as many numbers."""
    if form.spec[0] == "rows":
        return form.spec[1][0] == "tree" and len(form.kinds) == 1 and len(form.kinds[0].shape) == 1
    inner = form.spec[1:] if form.spec[0] is list else [form.spec]
    return all(s[0] == "tree" and s[1].is_leaf() for s in inner) and not any(
        k.shape for k in form.kinds
    )


def _joined(own: tuple[np.dtype[Any], bool], value: Any) -> tuple[np.dtype[Any], bool] | None:
    """The same of the items and a value that is written. Beside Python's numbers a narrow one is
    wide, and read as one of them: it is what it was beside all narrow ones."""
    (dtype, weak), found = own, kind_of_items([value])
    if found is None:
        return None
    more = found[0]
    if weak and is_narrow(more):
        wide = {"f": np.float64, "c": np.complex128}.get(more.kind, np.int64)
        return promote(dtype, np.dtype(wide)), True
    if found != own and (is_narrow(more) or is_narrow(dtype)):
        return None
    return promote(dtype, more), weak and found[1]


def to_table(owner: Any, *values: Any) -> bool:
    """Before a list is written at a traced place, or one of lists is read there: Restart with a
    table in its place; False where it cannot be one."""
    session = current()
    assert session is not None
    held = session.lists.get(id(owner))
    if held is None:
        around = [x for x in session.lists.values() if any(v is owner for v in list.__iter__(x[0]))]
        held = around[0] if len(around) == 1 else None
    elif held[0] is not owner:
        held = None
    if held is None and type(owner) is list and not session.whole:
        # Who made it is not rewritten.
        session.whole = True
        raise Restart
    if held is None or len(held[1]) < 4 or session.tables.get(held[1], 0) is None:
        return False
    own = _kind(held[0])
    wanted = _joined(own, values[0]) if own is not None and values else own
    if wanted is None:
        return False
    session.tables[held[1]] = wanted
    raise Restart


def write(helpers: Any, line: int, owner: Tabled, key: Any, value: Any) -> bool:
    """`owner[key] = value`; Restart where the table cannot hold it."""
    session = current()
    assert session is not None
    whole = owner.nested or isinstance(key, slice)
    own = owner.box.dtype, owner.weak
    wanted = None if whole else _joined(own, value)
    if wanted is None:
        session.tables[owner.site] = None
        raise Restart
    if wanted != own:
        session.tables[owner.site] = wanted
        raise Restart
    helpers.set_item(line, value, owner.box, key)
    return True


def plain_arguments(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a function that is none of the user's, with arrays in the place of
    tables. Only NumPy takes an array for a list of lists."""
    module = getattr(function, "__module__", None) or ""
    if module == "copy" or module.startswith(__package__):
        # They know tables.
        return args, kwargs
    reads = isinstance(function, np.ufunc) or module.split(".")[0] == "numpy"

    def plain(x: Any) -> Any:
        if type(x) is Tabled:
            if x.nested and function in ITERATING:
                return x
            if x.nested and not reads:
                raise Unlike(x.site)
            return x.copied()
        if type(x) in (tuple, list) and any(type(v) is Tabled for v in x):
            return type(x)([plain(v) for v in x])
        return x

    return tuple(map(plain, args)), {k: plain(v) for k, v in kwargs.items()}


__all__ = ["KeptLists", "plain_arguments", "to_grown", "to_table", "write"]
