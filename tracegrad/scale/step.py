"""A form over all shards as a step of the tape and of compiled functions: its value is an
evaluation, and its derivatives are steps of derived forms."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..control.host import host_op
from ..dtypes import is_differentiable
from ..errors import TracegradError
from ..ir.dispatch import bind
from ..ir.op import Rest, Types
from ..ops import moveaxis, mul
from ..sizes import pinned
from ..transforms.tracing import leaf_type
from ..types import ArrayType, type_of
from ..weak import as_python
from .functions import BatchedForm, Form, PulledForm, PushedForm, SweptForm
from .session import Asked, FormTypes, ShardedFunction, apart

Rows = tuple[tuple[int, ...], ...]


class OverShards:
    """`own` of the operands, the last ones, belong to shards, `rows` of axis 0 to each; the rest
    goes to all."""

    def __init__(self, session: ShardedFunction, form: Form, own: int = 0, rows: Rows = ()) -> None:
        self.session, self.form, self.own, self.rows = session, form, own, rows
        self.asked: dict[Any, Asked] = {}
        self.sweeps: dict[Any, OverShards] = {}

    def __repr__(self) -> str:
        return f"{self.session.who} of {self.session.name}"

    def kind(self, operands: Sequence[ArrayType]) -> FormTypes:
        """What it gives for such operands."""
        known = list(map(_pinned, operands))
        with apart():
            return self.session.kind(self._asked(known))

    def latest(self, operands: Sequence[ArrayType]) -> FormTypes:
        """The same, right after it was asked for or applied: what the function reads around it is
        not looked at again."""
        found = self.session.kinds.get(self._asked(list(map(_pinned, operands))))
        return found or self.kind(operands)

    def _asked(self, operands: Sequence[Any]) -> Asked:
        """For arrays, or types of arrays."""
        key = tuple([(x.dtype, x.shape) for x in operands])
        found = self.asked.get(key)
        if found is None:
            types = list(itertools.starmap(ArrayType, key))
            found = self.asked[key] = self.session.asked(self.form, types, self.own, self.rows)
        return found

    def apply(self, operands: Sequence[Any]) -> list[Any]:
        """The step on operands of any kind: the summed results, then the gathered ones."""
        return list(bind(host_op, operands, {"rule": self}))

    # --- as a rule --------------------------------------------------------------------------------

    def run(self, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        found = _plain(arrays)
        asked = self._asked(found)
        with apart():
            return self.session.evaluate(asked, found, self.session.kind(asked))

    def again(self, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]] | None:
        """The same; None where what it gives is not known, or was for other surroundings."""
        asked = self._asked(arrays)
        with apart():
            kind = self.session.still_known(asked)
            return None if kind is None else self.session.evaluate(asked, arrays, kind)

    def types(self, operands: Sequence[ArrayType]) -> Types:
        kind = self.kind(operands)
        return (*kind.summed, *kind.gathered)

    def staged(
        self, arrays: Sequence[Any], wanted: Sequence[bool]
    ) -> tuple[Sequence[np.ndarray[Any, Any]], Rest]:
        """A real number comes with its gradient, in the same evaluation."""
        given = _plain(arrays)
        sweep = self._swept(wanted)
        types = list(map(type_of, given))
        found = sweep.again(given) if _is_number(self.latest(types)) else None
        if found is None:
            if not _is_number(kind := self.kind(types)):
                every = (
                    tuple(range(len(given))),
                    tuple(range(len(kind.summed) + len(kind.gathered))),
                )
                later = Rest(*every, lambda cts, inputs, outs: self.vjp(cts, inputs, outs, wanted))
                return self.run(given), later
            found = sweep.run(given)
        value, *gradient = found

        def scaled(cts: Sequence[Any], inputs: Any, outs: Any) -> list[Any]:
            gradients = iter(gradient)
            (ct,) = cts
            if ct is None:
                return [None] * len(wanted)
            return [mul(ct, next(gradients)) if w else None for w in wanted]

        return [value], Rest((), (), scaled)

    def gives(self, other: Any) -> bool:
        """Whether its first results are those of another step on the same operands."""
        return (
            isinstance(other, OverShards)
            and isinstance(self.form, SweptForm)
            and other.session is self.session
            and self.form.form == other.form
        )

    def vjp(self, cts: Any, inputs: Any, outs: Any, wanted: Sequence[bool]) -> list[Any]:
        kind = self.kind([leaf_type(x) for x in inputs])
        given = [k for k, ct in enumerate(cts) if ct is not None]
        if not given or not any(wanted):
            return [None] * len(inputs)
        if _is_number(kind):
            found = iter(self._swept(wanted).apply(inputs)[1:])
            return [mul(cts[0], next(found)) if w else None for w in wanted]
        n, count = len(inputs) - self.own, len(kind.summed)
        summed = [cts[k] for k in given if k < count]
        gathered = [cts[k] for k in given if k >= count]
        rows = tuple(kind.rows[k - count] for k in given if k >= count)
        places = tuple(k for k, w in enumerate(wanted) if w)
        form = PulledForm(self.form, n, self.own, places, tuple(given))
        step = self._derived(form, self.own + len(gathered), (*self.rows, *rows))
        found = iter(step.apply([*inputs[:n], *summed, *inputs[n:], *gathered]))
        return [next(found) if w else None for w in wanted]

    def jvp(self, tangents: Any, inputs: Any, outs: Any) -> list[Any]:
        kind = self.kind([leaf_type(x) for x in inputs])
        moved = tuple(k for k, t in enumerate(tangents) if t is not None)
        types = (*kind.summed, *kind.gathered)
        kept = tuple(k for k, t in enumerate(types) if is_differentiable(t.dtype))
        if not moved or not kept:
            return [None] * len(types)
        n, count = len(inputs) - self.own, len(kind.summed)
        shared = [tangents[k] for k in moved if k < n]
        own = [tangents[k] for k in moved if k >= n]
        rows = tuple(self.rows[k - n] for k in moved if k >= n)
        form = PushedForm(self.form, n, self.own, sum(k < count for k in kept), moved, kept)
        step = self._derived(form, self.own + len(own), (*self.rows, *rows))
        found = iter(step.apply([*inputs[:n], *shared, *inputs[n:], *own]))
        return [next(found) if k in kept else None for k in range(len(types))]

    def batch(self, values: Any, axes: Sequence[int | None], size: Any) -> tuple[list[Any], Any]:
        n = len(values) - self.own
        operands, places = list(values), list(axes)
        for k in range(n, len(values)):
            # The rows of the shards stay in front.
            if (axis := axes[k]) is not None and axis != 1:
                operands[k], places[k] = moveaxis(values[k], axis, 1), 1
        form = BatchedForm(self.form, n, self.own, tuple(places))
        step = self._derived(form, self.own, self.rows)
        outs = step.apply(operands)
        kind = step.kind([leaf_type(x) for x in operands])
        return outs, [0] * len(kind.summed) + [1] * len(kind.gathered)

    def _swept(self, wanted: Sequence[bool]) -> OverShards:
        found = self.sweeps.get(key := tuple(wanted))
        if found is None:
            places = tuple(k for k, w in enumerate(wanted) if w)
            form = SweptForm(self.form, len(wanted) - self.own, self.own, places)
            found = self.sweeps[key] = self._derived(form, self.own, self.rows)
        return found

    def _derived(self, form: Form, own: int, rows: Rows) -> OverShards:
        return step_of(self.session, form, own, rows)


def step_of(session: ShardedFunction, form: Form, own: int = 0, rows: Rows = ()) -> OverShards:
    """The step of a form, made once: equal steps of a graph are found by their identity."""
    found = session.steps.get((form, own, rows))
    if found is None:
        found = session.steps[form, own, rows] = OverShards(session, form, own, rows)
    step: OverShards = found
    return step


def _plain(arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Operands as they travel; in C order, as everywhere where they have travelled."""
    return [np.asarray(as_python(x), order="C") for x in arrays]


def _pinned(t: ArrayType) -> ArrayType:
    if _INT.issuperset(map(type, t.shape)):
        return t
    return ArrayType(t.dtype, tuple([pinned(getattr(s, "form", s)) for s in t.shape]))


_INT = {int}


def _is_number(kind: FormTypes) -> bool:
    """Whether it is one real number, whose gradient is worth to be computed at once."""
    if len(kind.summed) != 1 or kind.gathered:
        return False
    (only,) = kind.summed
    return only.shape == () and only.dtype.kind == "f"


def refuse_devices(operands: Sequence[Any]) -> None:
    """An error where an operand lies on a GPU."""
    for x in operands:
        if type(getattr(x, "_data", x)).__name__ == "DeviceArray":
            raise TracegradError(
                "tg.scale: an argument lies on a GPU, and workers compute on processors; fetch it "
                "first with .cpu()"
            )


__all__ = ["OverShards", "refuse_devices", "step_of"]
