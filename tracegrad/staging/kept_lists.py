"""Lists that a function makes, which may have to be tables (tables.py): known by the place in the
text that makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..dtypes import promote
from ..ir.dispatch import STATE
from .lists import Grown
from .session import Restart, current
from .tables import Tabled, kind_of_items, table_of


class KeptLists:
    """The helper of lists that get a name where they are made."""

    code: Any

    def list_made(self, line: int, number: int, found: Any) -> Any:
        """A new list, which nobody else knows."""
        session = current()
        if session is None or not STATE.traces or type(found) not in (list, Grown):
            return found
        site = self.code, number
        known = session.tables.get(site)
        if known is not None:
            if (made := _as_table(found, site, known)) is not None:
                return made
            session.tables[site] = None
            raise Restart
        session.lists[id(found)] = found, site
        return found


def _as_table(found: Any, site: Any, known: tuple[np.dtype[Any], bool]) -> Tabled | None:
    if isinstance(found, Grown) and found.stacked is not None:
        own = _kind(found)
        if own is None:
            return None
        dtype = promote(own[0], known[0])
        return Tabled(ops.convert(found.array(), dtype).copy(), site, own[1] and known[1])
    items = list(found)
    own = kind_of_items(items)
    if own is None:
        return None
    return table_of(items, site, promote(own[0], known[0]), own[1] and known[1])


def _kind(found: Any) -> tuple[np.dtype[Any], bool] | None:
    """The dtype of a list's items, and whether they are Python's numbers."""
    if type(found) is not Grown or found.stacked is None:
        return kind_of_items(list(found))
    form = None if found.stacked.counted or found.stacked.open else found.stacked.form
    if form is None or len(form.kinds) != 1 or form.kinds[0].shape or form.spec[0] != "tree":
        return None
    kind = form.kinds[0]
    return (kind.dtype, kind.weak) if kind.dtype.itemsize >= 8 or kind.dtype == bool else None


def to_table(owner: Any, value: Any) -> bool:
    """Before a list is written at a traced place: Restart with a table in its place; False where it
    cannot be one."""
    session = current()
    assert session is not None
    held = session.lists.get(id(owner))
    if held is None or held[0] is not owner or session.tables.get(held[1], 0) is None:
        return False
    own, more = _kind(owner), kind_of_items([value])
    if own is None or more is None:
        return False
    session.tables[held[1]] = promote(own[0], more[0]), own[1] and more[1]
    raise Restart


def write(helpers: Any, line: int, owner: Tabled, key: Any, value: Any) -> bool:
    """`owner[key] = value`; Restart where the table cannot hold it."""
    session = current()
    assert session is not None
    more = kind_of_items([value]) if not isinstance(key, slice) else None
    dtype, weak = owner.box.dtype, owner.weak
    if more is None:
        session.tables[owner.site] = None
        raise Restart
    wanted = promote(dtype, more[0]), weak and more[1]
    if wanted != (dtype, weak):
        session.tables[owner.site] = wanted
        raise Restart
    helpers.set_item(line, value, owner.box, key)
    return True


def plain_arguments(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a function that is none of the user's, with arrays in the place of
    tables."""

    def plain(x: Any) -> Any:
        if type(x) is Tabled:
            return x.copied()
        if type(x) in (tuple, list) and any(type(v) is Tabled for v in x):
            return type(x)([plain(v) for v in x])
        return x

    return tuple(map(plain, args)), {k: plain(v) for k, v in kwargs.items()}


__all__ = ["KeptLists", "plain_arguments", "to_table", "write"]
