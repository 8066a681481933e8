"""What a loop of the user's hands on from pass to pass: its types, found by looking at passes."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from .._codegen import integers
from ..control.lengths import Outlived
from ..dtypes import promote
from ..ir.dispatch import STATE
from ..ir.forms import ENDLESS, bounded, form_of, smallest
from ..sizes import Size, number_of, same_shape
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..transforms.weak import kind_of
from ..tree import other_orders, unflatten
from ..types import COUNT, ArrayType
from .agreement import readable, same_object, with_numbers
from .aliases import Held
from .objects import handed_on, is_known
from .places import MISSING, AttributePlace, BoxPlace, ItemPlace, StagedPlace, is_leaf
from .regions import Refused, contents_of, is_grown, is_static, parts
from .session import Session

NAMES = 2
"""What leads to a value that is being looked at: the place it stands in, and who looks."""


class Retry(Exception):
    """A type of the carry was learnt."""


class Carried:
    """What a loop hands on in one place."""

    def __init__(self, place: StagedPlace, line: str, held: Held, block: bool = False) -> None:
        self.place, self.line, self.block = place, line, block
        value = place.get()
        # A view holds its base, and nobody else may.
        self.shared = isinstance(value, Boxed) and (
            held.names(weakref.ref(value)) > NAMES
            or (value._base is not None and held.names(weakref.ref(value._base)) > 1)
        )
        """Whether other names lead to the array."""
        self.known = is_known(value)
        """Whether they lead to an object in it."""
        self.ends: list[Any] = []
        """The objects in what a pass leaves."""
        self.undefined = value is MISSING
        self.bound = not self.undefined
        self.start = value
        self.others: list[weakref.ref[Any]] = []
        """Arrays around the loop which it may be after a pass."""
        self.leaves, self.spec = parts(() if self.undefined else value)
        self.fixed = [x if is_static(x) else None for x in self.leaves]
        self.found: Any = None
        """What a step bound that was unbound before: its structure and leaves."""
        self.wanted: dict[int, Any] = {}
        """Leaves whose dtype is another one from the first pass on."""
        self.began: Any = self.undefined, self.spec, [self._kind(x) for x in self.leaves]
        self.learnt: list[Any] = []
        """What was settled."""
        self.around = late_sizes()
        self.entered: list[Any] = []
        self.least: dict[int, int] = {}
        """Of integers that no pass makes less: with what they began."""

    @property
    def arrays(self) -> list[int]:
        """The leaves that a graph carries."""
        return [k for k, x in enumerate(self.leaves) if not is_static(x)] if self.bound else []

    def settle(self) -> None:
        """Begin anew with what was learnt."""
        self.learnt.append((self.found, dict(self.wanted)))
        if self.found is not None:
            self.spec, leaves = self.found
            self.leaves = [_zero(x) if isinstance(x, ArrayType) else x for x in leaves]
            self.fixed = [None if isinstance(x, ArrayType) else x for x in leaves]
            self.bound, self.found = True, None
        for k, dtype in self.wanted.items():
            x = with_numbers(self.leaves[k])
            self.fixed[k] = None
            self.leaves[k] = _weak(x, dtype) if leaf_type(x).weak else ops.convert(x, dtype)
        self.wanted = {}

    @property
    def start_is_number(self) -> bool:
        """Whether it begins with a number of Python's."""
        return type(self.start) in (bool, int, float)

    @staticmethod
    def _kind(x: Any) -> Any:
        return type(x) if is_static(x) else leaf_type(x)

    def recall(self, began: Any, learnt: Any) -> None:
        """Settle what an earlier look found, where that began with the same."""
        if self.began != began or any(
            not isinstance(x, ArrayType) for found, _ in learnt if found for x in found[1]
        ):
            return
        for found, wanted in learnt:
            self.found, self.wanted = found, dict(wanted)
            self.settle()

    def initial(self) -> list[Any]:
        """The leaves that a graph can carry."""
        return [self.leaves[k] for k in self.arrays]

    def built(self, given: list[Any]) -> Any:
        """The value; it takes its leaves off what is given."""
        if not self.arrays and not self.undefined:
            return self.start
        leaves = list(self.fixed)
        for k in self.arrays:
            leaves[k] = given.pop(0)
        self.entered = leaves
        return unflatten(self.spec, leaves)

    def enter(self, given: list[Any]) -> Any:
        """The value in the loop; MISSING as long as no pass has bound it."""
        if not self.bound:
            return MISSING
        value = self.built(given)
        return MISSING if self.undefined else value

    def leave(self, value: Any, contents: dict[int, Any]) -> list[Any]:
        """The leaves after a step; Retry where more is known of them now."""
        name = readable(self.place.name)
        if value is MISSING:
            if not self.undefined:
                raise Refused(f"{self.line}: {name} is unbound at the end of a pass of this loop.")
            return self.initial()
        if value is self.start and not self.arrays:
            return []
        leaves, spec = parts(value)
        if self.block and self.undefined and any(map(is_grown, leaves)):
            # A list that was made in it, anew in each look: it ends with it.
            if name != self.place.name:
                raise Outlived(f"{self.line}: {name} is a list of a length that only a run knows.")
            self.bound, self.found = False, None
            return []
        # A length that only a run knows is a number behind the block in which arrays have it.
        leaves = [number_of(x) if type(x) is Size else x for x in contents_of(leaves, contents)]
        varying = any(
            not is_static(x) and not all(ends_after(n, self.around) for n in leaf_type(x).shape)
            for x in leaves
        )
        if varying and (self.undefined or not self.bound):
            raise Outlived(
                f"{self.line}: {name} is an array of a length that only a run knows, or that "
                "changes from pass to pass of this loop, and is read afterwards. Keep it in an "
                "array of the largest size; where an argument of the function decides the size, "
                'make that static: tg.jit(f, static_argnames="n").'
            )
        if not self.bound:
            self.found = spec, [x if is_static(x) else leaf_type(x) for x in leaves]
            raise Retry
        if spec != self.spec:
            raise ChangedShape(
                f"{self.line}: {name} is of another form after a pass of this loop ({spec}) than "
                f"before it ({self.spec})."
            )
        if other := other_orders(spec, self.spec):
            raise Refused(
                f"{self.line}: in {name}, after a pass of this loop, {other} as before it. Make it "
                "with the keys in the same order."
            )
        result = []
        for k, x in enumerate(leaves):
            x = with_numbers(x) if k in self.arrays else x
            if k in self.arrays and not is_static(x):
                result.append(self._fitted(k, x))
            elif not same_object(x, self.leaves[k]):
                if type(self.leaves[k]) is Size:
                    # A number that begins with a size.
                    self.wanted[k] = np.dtype(np.int64)
                    continue
                raise ChangedShape(
                    f"{self.line}: {name} holds {_text(x)} after a pass of this loop and "
                    f"{_text(self.leaves[k])} before it, which a graph cannot carry."
                )
        if self.wanted:
            raise Retry
        self._counts(leaves)
        return result

    def _counts(self, leaves: Sequence[Any]) -> None:
        """After a pass: which integers are not less than before it."""
        self.least = {}
        for k, (before, after) in enumerate(zip(self.entered, leaves, strict=True)):
            if k in self.arrays and _is_integer(before) and _is_integer(after):
                start, more = smallest(form_of(self.leaves[k])), form_of(after) - form_of(before)
                if isinstance(start, int) and isinstance(more, int) and more >= 0:
                    self.least[k] = start

    def _fitted(self, k: int, x: Any) -> Any:
        before, after = leaf_type(self.leaves[k]), leaf_type(x)
        if not same_shape(before.shape, after.shape):
            raise ChangedShape(
                f"{self.line}: {readable(self.place.name)} has the shape {tuple(before.shape)} "
                f"before a pass of this loop and {tuple(after.shape)} after it. Start with an "
                "array of the shape that it keeps."
            )
        dtype = promote(kind_of(before), kind_of(after))
        if before.weak and after.weak:
            if dtype.kind != before.dtype.kind:
                self.wanted[k] = dtype
            return x
        if before.weak:
            # Python's number takes the dtype of what the steps give, if that holds its kind.
            if dtype != after.dtype:
                self.wanted[k] = dtype
            return x
        if before.dtype != dtype:
            self.wanted[k] = dtype
        return x if after.weak or x.dtype == dtype else ops.convert(x, dtype)

    def finish(self, given: list[Any], session: Session, sure: bool) -> None:
        """Put what the loop ended with in the place; `sure`: some pass has bound it."""
        value = self.built(given) if self.bound else MISSING
        for k, least in self.least.items():
            bounded(self.entered[k], least, ENDLESS)
        if self.undefined and not sure:
            value = MISSING
        if value is MISSING:
            if self.bound and isinstance(self.place, (AttributePlace, ItemPlace)):
                raise Refused(
                    f"{self.line}: {self.place.name} is set in this loop, which may have no pass, "
                    "and is not there before it. Set it before the loop."
                )
            session.unbound[self.place.name] = (
                f"it is a list that was made in the block at {self.line}, which has lengths that "
                "only a run knows, and ends there"
                if self.block
                else f"the loop at {self.line} may end without having bound it"
            )
        if self.arrays or self.undefined:
            self.place.put(value)
            handed_on(session, self, value, self.line)
            if not (isinstance(self.place, BoxPlace) or self.place.lasts) and (
                self.shared or self.others or isinstance(self.start, (list, tuple))
            ):
                # With no pass it is what it was.
                session.merge(value, [self.start, *[r() for r in self.others]], self.line)


class ChangedShape(Refused):
    """A carry changes its shape or its form."""


def late_sizes() -> frozenset[str]:
    """The sizes that only a run knows and that are open here."""
    found = [integers.symbols(n) for t in STATE.traces for n in t.forms.named.values()]
    return frozenset().union(*found)


def ends_after(size: Any, around: frozenset[str]) -> bool:
    """Whether a size has a meaning where only these late ones are open."""
    names = integers.symbols(form_of(size))
    return all(name in around or not name.startswith(COUNT) for name in names)


def _text(x: Any) -> str:
    return "a list" if is_grown(x) else f"{x!r:.40}"


def _is_integer(x: Any) -> bool:
    return is_leaf(x) and leaf_type(x).shape == () and leaf_type(x).dtype.kind in "iu"


def _zero(kind: ArrayType) -> Any:
    if kind.weak:
        return _weak(0, kind.dtype)
    return ops.zeros(kind.shape, kind.dtype)


def _weak(x: Any, dtype: Any) -> Any:
    """A Python number of the kind of a dtype."""
    if isinstance(x, Boxed):
        return ops.convert(x, dtype)
    return {"f": float, "c": complex, "i": int, "u": int, "b": bool}[dtype.kind](x)


__all__ = ["Carried", "ChangedShape", "Retry", "ends_after", "late_sizes"]
