"""What each call stores in Python's variables, and what stands in their places while a function is
traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from ..devices import to_host
from ..errors import ConcretizationError
from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..ir.lines import asked_by_user, user_line
from ..ir.op import Op
from ..ir.operands import NUMBERS
from ..ir.trace import inside_of
from ..staging.places import MISSING
from ..tape.hooks import boxed
from ..tensor import Array, Boxed, Tensor
from ..tree import unflatten
from .earlier import Earlier
from .places import CELL, ENTRY, ITEM, Place


class Stored(NamedTuple):
    """What each call stores in a variable, or as the contents of a set."""

    place: Place
    spec: Any
    """The structure of the value; None where the variable goes."""
    fixed: tuple[Any, ...]
    """Its leaves: `Output`s, what is `Earlier`, and whatever is the same at each call."""
    how: str = "bind"
    """"bind" a variable (or unbind it), "refill" a set, "extend" a list, or "replace" what a list
    holds."""

    @property
    def simple(self) -> bool:
        """Whether it is stored by an assignment: in a plain dict, an attribute, a closure's
        variable."""
        if self.how != "bind" or self.spec is None:
            return False
        if self.place.code == ITEM:
            assert self.place.before is not None
            return type(self.place.before()) in (dict, list)
        return self.place.code in (ENTRY, CELL)

    def into_argument(self, holder: list[Any]) -> bool:
        """Whether it goes into a container among the arguments."""
        place: Place | None = self.place
        while place is not None and place.before is not None:
            place = place.before
        return place is not None and place.key is holder

    @property
    def results(self) -> int:
        """How many results of the graph it takes."""
        return sum(type(x) is Output for x in self.fixed)

    def held(self) -> list[Earlier]:
        """What was there before."""
        return [x for x in self.fixed if type(x) is Earlier]

    def found(self, places: dict[int, Place]) -> Stored:
        """With the places at which what was there is read otherwise, too."""
        fixed = [
            replace(x, place=places[id(x.one)])
            if type(x) is Earlier and x.place is not None and id(x.one) in places
            else x
            for x in self.fixed
        ]
        return self._replace(fixed=tuple(fixed))

    def let_go(self) -> Stored:
        """Without what stood there while tracing."""
        return self._replace(
            fixed=tuple(
                [
                    replace(x, one=None, instead=None) if type(x) is Earlier else x
                    for x in self.fixed
                ]
            )
        )

    def value(self, outputs: Iterator[Any], held: Iterator[Any], made: dict[int, Any]) -> Any:
        """The value of one call, whose next results and next objects that were there are given;
        `made` are the objects made for results by their numbers, for what stores them again."""
        leaves = []
        for x in self.fixed:
            if type(x) is Output:
                new = next(outputs)
                if x.number not in made:
                    made[x.number] = x.shown(new)
                leaves.append(made[x.number])
            else:
                leaves.append(x.shown(next(held)) if type(x) is Earlier else x)
        return MISSING if self.spec is None else unflatten(self.spec, leaves)

    @property
    def into(self) -> Place | None:
        """Where that is found which holds the variable, or is changed as a whole: before the call
        stores anything, which may put another object there. None of a closure's variable."""
        return self.place.before if self.how == "bind" else self.place

    def carry_out(self, it: Any, value: Any) -> None:
        """Store the value of one call in what was found at `into`."""
        if self.how == "bind":
            put(self.place, it, value)
        elif self.how == "extend":
            it.extend(value)
        elif self.how == "replace":
            it[:] = value
        else:
            it.clear()
            it.update(self.fixed)


class Output(NamedTuple):
    """A leaf that the graph computes, as which type of Python's or NumPy's it is stored."""

    kind: Any
    number: int
    """Of the object: it may be stored at several places."""

    def shown(self, x: Any) -> Any:
        """A result as it is stored: a Python number, or as the function itself would return it."""
        data = x._data if isinstance(x, Boxed) else x
        if isinstance(data, Var):
            # Inside of another trace, to which it is a number as well.
            if self.kind in (int, float, bool, complex):
                return x if type(x) is Number else Number.of(x, self.kind, "")
            return Array(data, x._requires_grad) if self.kind is None else x
        if self.kind is Tensor:
            return x if isinstance(x, Tensor) else boxed(Tensor, np.array(data))
        data = to_host(data)
        if self.kind in (int, float, bool, complex):
            return self.kind(data)
        data = np.asarray(data)
        return data[()] if data.ndim == 0 else np.array(data)


def put(place: Place, it: Any, value: Any) -> None:
    """Bind the variable at a place in `it`, or unbind it."""
    if place.code == ITEM:
        base: Any = dict if isinstance(it, dict) else list if isinstance(it, list) else type(it)
        _bind(base.__setitem__, base.__delitem__, it, place.key, value)
    elif place.code == ENTRY:
        _bind(dict.__setitem__, dict.__delitem__, it.__dict__, place.key, value)
    elif place.code == CELL:
        _bind(setattr, delattr, place.key, "cell_contents", value)
    else:
        base = type if isinstance(it, type) else object
        _bind(base.__setattr__, base.__delattr__, it, place.key, value)


def _bind(
    bind: Callable[..., Any], unbind: Callable[..., Any], it: Any, key: Any, value: Any
) -> None:
    if value is not MISSING:
        bind(it, key, value)
    else:
        unbind(it, key)


class Number(Array):
    """A traced number in the place of a Python number, or computed from such ones alone. That
    happens in the trace in which they are inputs, also while the body of another one is traced: a
    counter that a mapped function raises is raised once."""

    __slots__ = ("kind", "old", "path")
    kind: type
    old: Any
    path: str

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # To the user's `isinstance` it is what it stands for.
        return self.kind if asked_by_user() else type(self)

    __hash__ = Array.__hash__

    def _bind(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        traces = [x._data.trace for x in inputs if type(x) is Number]
        own = all(type(x) is Number or type(x) in NUMBERS for x in inputs)
        if not own or any(t not in STATE.traces for t in traces):
            return super()._bind(op, inputs, params)
        # A compiled function inside computes what it makes of them itself, at each of its calls.
        traces += [t for t in STATE.traces if t.watch is not None]
        with inside_of(max(traces, key=STATE.traces.index)):
            made = super()._bind(op, inputs, params)
        if (
            type(made) is Array
            and isinstance(made._data, Var)
            and made._data.type.weak
            and made.dtype.kind in _KINDS
        ):
            return Number.of(made, _KINDS[made.dtype.kind], self.path)
        return made

    @classmethod
    def of(cls, x: Any, kind: type, path: str) -> Number:
        """A traced value as a number."""
        number = cls(x._data, x._requires_grad)
        number.kind, number.old, number.path = kind, None, path
        return number


_KINDS: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}


class Log:
    """In the place of a list to which the function appends: what is appended. Whatever else is
    asked of it is an error."""

    __slots__ = ("items", "path")

    def __init__(self, path: str) -> None:
        self.items: list[Any] = []
        self.path = path

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return list if asked_by_user() else Log

    def append(self, x: Any) -> None:
        self.items.append(x)

    def extend(self, xs: Any) -> None:
        self.items.extend(xs)

    def __iadd__(self, xs: Any) -> Self:  # type: ignore[misc]
        self.items.extend(xs)
        return self

    def _refuse(self, *_: Any) -> NoReturn:
        raise ConcretizationError(
            f"{user_line()}: {self.path}, to which the function appends at each call, is read; "
            "while it is traced, it is not known what it holds."
        )

    __len__ = __getitem__ = __setitem__ = __delitem__ = __iter__ = __bool__ = __contains__ = (
        __reversed__
    ) = __add__ = __radd__ = _refuse
    __mul__ = __rmul__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __repr__ = (
        __str__
    ) = __array__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        self._refuse()


__all__ = ["ITEM", "Log", "Number", "Output", "Stored", "put"]
