"""What two branches leave in a place, and the form that both are given."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import ops
from ..ir.dispatch import STATE
from ..ir.forms import form_of
from ..ops.elementwise.arithmetic import number
from ..sizes import Size, same_shape
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..transforms.weak import holding
from ..tree import other_orders, unflatten
from ..types import ArrayType
from .aliases import objects_of, root_of
from .holding import ends_of
from .lists import Grown, Stacked
from .objects import reference
from .places import MISSING, StagedPlace, any_in
from .regions import Refused, contents_of, is_static, parts
from .session import Session

SIDES = ("where the condition does not hold", "where the condition holds")


class Side:
    """What a branch leaves in a place: the structure, and of each leaf its type, or itself where it
    is no array."""

    def __init__(self, session: Session, value: Any, ended: bool = False) -> None:
        self.missing = value is MISSING
        self.ended = ended
        """Whether the branch ends with an exception, so that it does not matter what it leaves."""
        self.value = value
        counted = isinstance(value, Stacked) and value.counted
        self.length = form_of(value.added) if counted else None
        """Of a list that got longer, by how many items."""
        leaves, self.spec = parts(() if self.missing else value)
        self.leaves = leaves
        self.kinds = [None if is_static(x) else leaf_type(x) for x in leaves]
        self.ends = [
            ends_of(x) if k is not None and k.weak else None
            for x, k in zip(leaves, self.kinds, strict=True)
        ]
        """Of numbers of Python's, as far as it is known, between which they are."""
        trace = STATE.traces[-1] if STATE.traces else None
        arrays = [root_of(x) for x in leaves if getattr(x, "shape", ())]
        roots = [r for array in arrays for r in (array, *session.sources(array))]
        self.outer = [
            weakref.ref(r)
            for r in roots
            if isinstance(r, np.ndarray)
            or (isinstance(r, Boxed) and getattr(r._data, "trace", None) is not trace)
        ]
        """The arrays that were there before the branch."""
        self.roots = [*map(id, roots)]
        """All arrays that it leads to, by their ids."""


class Agreed:
    """What both branches leave in a place."""

    def __init__(self, name: str, sides: Sequence[Side], line: str) -> None:
        self.name, self.reason = name, ""
        first = next(s for s in sides if not s.missing)
        self.spec, self.same = first.spec, False
        self.fixed_value: Any = MISSING
        self.outer = [s.outer for s in sides]
        """The arrays that were there before, which it may be on each side."""
        self.roots = [s.roots for s in sides]
        """All arrays that it may be on each side."""
        self.objects = [[reference(x) for x in objects_of(s.value)] for s in sides if not s.missing]
        """The objects that are made anew for it, as each side has them."""
        self.fixed = [
            x if k is None else None for x, k in zip(first.leaves, first.kinds, strict=True)
        ]
        self.kinds: list[ArrayType | None] = list(first.kinds)
        for s in sides:
            if s.missing or s is first:
                continue
            if s.value is first.value:
                self.same, self.fixed_value = True, s.value
                return
            if s.spec != self.spec or not _begin_alike(first.value, s.value):
                raise Refused(
                    f"{line}: {name} is {_shown(sides[1])} {SIDES[1]} and {_shown(sides[0])} "
                    f"{SIDES[0]}; a condition on traced values chooses between values of one form."
                    f"{_way_out(first.value, s.value)}"
                )
            if other := other_orders(s.spec, self.spec):
                raise Refused(
                    f"{line}: in {name}, on one side of a condition on traced values, {other} as "
                    "on the other. Make it with the keys in the same order on both."
                )
            for k, (a, b) in enumerate(zip(self.kinds, s.kinds, strict=True)):
                if a is None or b is None:
                    if a is not b or not same_object(self.fixed[k], s.leaves[k]):
                        raise Refused(
                            f"{line}: {name} is {_shown(sides[1])} {SIDES[1]} and "
                            f"{_shown(sides[0])} {SIDES[0]}, which a graph cannot choose."
                            f"{_way_out(self.fixed[k], s.leaves[k])}"
                        )
                    continue
                if not same_shape(a.shape, b.shape):
                    raise Refused(
                        f"{line}: {name} has the shape {_shape(sides[1].kinds[k])} {SIDES[1]} and "
                        f"{_shape(sides[0].kinds[k])} {SIDES[0]}; make the shapes agree "
                        "(np.broadcast_to)."
                    )
                dtype = holding(a, first.ends[k], b, s.ends[k])
                self.kinds[k] = ArrayType(dtype, a.shape, a.weak and b.weak)

    def fits(self, side: Side) -> bool:
        """Whether a branch can return what it leaves in this form."""
        if self.same or side.missing:
            return True
        return side.spec == self.spec and all(
            (a is None) == (b is None) and (a is None or b is None or same_shape(a.shape, b.shape))
            for a, b in zip(self.kinds, side.kinds, strict=True)
        )

    def like(self, other: Agreed | None) -> bool:
        """Whether it is the same form."""
        return (
            other is not None
            and (self.same, self.spec) == (other.same, other.spec)
            and (
                self.same
                or (self.kinds == other.kinds and all(map(same_object, self.fixed, other.fixed)))
            )
        )

    def bare(self) -> Agreed:
        """The form alone, without what it was found at."""
        found = copy.copy(self)
        found.fixed_value, found.outer, found.roots, found.objects = MISSING, [], [], []
        return found

    def leaves(self, value: Any, contents: dict[int, Any]) -> list[Any]:
        """The leaves of a branch's value as the branch returns them."""
        if self.same:
            return []
        if value is MISSING:
            return [nothing(k) for k in self.kinds if k is not None]
        return [
            x if k.weak or _is_of(x, k) else ops.convert(x, k.dtype)
            for x, k in zip(contents_of(parts(value)[0], contents), self.kinds, strict=True)
            if k is not None
        ]

    def built(self, found: list[Any]) -> Any:
        """The value from the results, of which it takes its own."""
        leaves = [
            f if k is None else found.pop(0) for k, f in zip(self.kinds, self.fixed, strict=True)
        ]
        return unflatten(self.spec, leaves)


def _is_of(x: Any, kind: ArrayType) -> bool:
    """Whether a leaf has this dtype, or is a number of Python's that takes it."""
    own = leaf_type(x)
    return not isinstance(x, Boxed) if own.weak else own.dtype == kind.dtype


def nothing(kind: ArrayType) -> Any:
    """A zero of a type, for what nobody reads."""
    if kind.weak:
        return {"f": 0.0, "c": 0j, "b": False}.get(kind.dtype.kind, 0)
    return ops.zeros(kind.shape, kind.dtype)


def same_object(a: Any, b: Any) -> bool:
    """Whether two objects that are no arrays are as good as one."""
    if type(a) is Size and type(b) is Size:
        return bool(a.form == b.form)
    return a is b or (type(a) is type(b) and isinstance(a, (str, bytes)) and bool(a == b))


def with_numbers(value: Any) -> Any:
    """A value with traced numbers in the place of sizes."""
    if type(value) is Size:
        return number(ops.add(value, 0))
    if value is MISSING or not any_in(value, lambda x: type(x) is Size):
        return value
    leaves, spec = parts(value)
    return unflatten(spec, [with_numbers(x) for x in leaves])


def sizes_differ(a: Side, b: Side) -> bool:
    """Whether two branches leave sizes that are not one, or a size and a number."""
    return (
        not (a.missing or b.missing)
        and a.spec == b.spec
        and any(
            Size in (type(x), type(y)) and not same_object(x, y)
            for x, y in zip(a.leaves, b.leaves, strict=True)
        )
    )


def _begin_alike(a: Any, b: Any) -> bool:
    """Whether lists that loops fill had as many items before."""
    return not isinstance(a, Stacked) or isinstance(a.base, int) or same_object(a.base, b.base)


def _way_out(a: Any, b: Any) -> str:
    """What to write in the place of two things of which a graph can choose none."""
    if type(a) is Grown and type(b) is Grown:
        return " Change the one list: append, pop, del a[0]."
    if isinstance(a, str) and isinstance(b, str):
        return " Give each a number, and compare these."
    if type(a) is type(b) and hasattr(a, "__dict__"):
        return (
            f" Keep what each {type(a).__name__} has in arrays (one for each attribute), and "
            "choose a number."
        )
    if a is None or b is None:
        return " Begin with a number (np.inf), or keep beside it whether there is one."
    return ""


def _shape(kind: ArrayType | None) -> Any:
    return None if kind is None else tuple(kind.shape)


def _shown(side: Side) -> str:
    if side.missing:
        return "unbound"
    if side.value is None:
        return "None"
    if isinstance(side.value, str):
        return repr(side.value)
    if isinstance(side.value, list):
        return "a list"
    if isinstance(side.value, Stacked):
        return f"longer by {side.value.added} items"
    kinds = [k for k in side.kinds if k is not None]
    if len(side.kinds) == 1 and kinds and side.spec.is_leaf():
        return f"an array {kinds[0]}" if kinds[0].shape else f"a number {kinds[0]}"
    return f"a {type(side.value).__name__} ({side.spec})"


Forms: TypeAlias = list[Agreed | None]


def forms_of(choices: Sequence[StagedPlace], sides: Sequence[Sequence[Side]], line: str) -> Forms:
    """What both branches leave, place by place, and what they give."""
    places: list[StagedPlace | None] = [*choices, None]
    return [_agree(p, pair, line) for p, pair in zip(places, zip(*sides, strict=True), strict=True)]


def all_fit(forms: Forms, sides: Sequence[Side]) -> bool:
    return all(s.missing if a is None else a.fits(s) for a, s in zip(forms, sides, strict=True))


def all_like(now: Forms, before: Forms) -> bool:
    return all(b is None if a is None else a.like(b) for a, b in zip(now, before, strict=True))


def _agree(p: StagedPlace | None, pair: Sequence[Side], line: str) -> Agreed | None:
    if all(s.missing for s in pair):
        return None
    name = "the result" if p is None else p.name
    made = Agreed(readable(name), pair, line)
    for k, s in enumerate(pair):
        if s.missing and not s.ended:
            made.reason = f"the branch at {line} leaves it unbound {SIDES[k]}"
    return made


def readable(name: str) -> str:
    """A variable as the user knows it."""
    return {"_tg_result": "what the function returns"}.get(name, name)


__all__ = [
    "Agreed", "Forms", "Side", "all_fit", "all_like", "forms_of", "nothing", "readable",
    "same_object", "sizes_differ", "with_numbers",
]  # fmt: skip
