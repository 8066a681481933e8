"""The compiled code of a form on a worker, chosen by types alone.

A jitted function is compiled for the sizes that it is called with first, then for all sizes: what
runs depends on the calls that came before, and the last bits of a sum depend on what runs. Workers
have different histories (a worker that joins late, one that does the work of one that was lost), so
the history here is a list that all of them are given: the signatures for which the driver traced
anew, in its order. A signature of the list runs what was made for it; any other the first size-
generic code that fits, or code of its very sizes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._codegen import locks
from ..compiled.entry import Entry
from ..compiled.jitted import Jitted
from ..compiled.kept import Kept
from ..runtime.execute import executable_for
from ..tape.hooks import boxed
from ..tensor import Tensor
from ..tree import flatten, unflatten
from .functions import Form


class FormHistory(NamedTuple):
    """A form, how the user gave its operands (`kinds`), and the signatures that the driver traced
    it for, in its order; `age` counts how often the function was another."""

    form: Form
    kinds: tuple[str, ...]
    age: int
    signatures: Sequence[Any]


class FormCode:
    """What runs for shards of each signature. `make` gives the form as a jitted function of which
    nothing is compiled yet."""

    def __init__(self, make: Callable[[], Jitted[..., Any]], kinds: tuple[str, ...]) -> None:
        self.make, self.kinds = make, kinds
        self.lock = locks.lock()
        self._begin(0)

    def _begin(self, age: int) -> None:
        self.age, self.told = age, 0
        self.traced = self.make()
        """The driver's history over again; never called."""
        self.alone: dict[Entry, Jitted[..., Any]] = {}
        """Functions that have one entry each."""
        self.primed: dict[Any, Jitted[..., Any]] = {}
        self.others: dict[Any, Jitted[..., Any]] = Kept()

    def learn(self, history: FormHistory) -> None:
        """Trace and compile for what is new in the driver's history."""
        with self.lock:
            if history.age != self.age:
                self._begin(history.age)
            for signature in history.signatures[self.told :]:
                self._learn(signature)
                self.told += 1

    def _learn(self, signature: Any) -> None:
        operands = operands_of(signature, self.kinds)
        asked = self.traced._asked(operands, {})[0]
        entry = self.traced._entry(operands, {}).entry
        made = executable_for(entry.graph, entry.given_up)
        if made.in_parts is None:
            made.compiled(("C",) * len(entry.graph.inputs))
        if entry not in self.alone:
            self.alone[entry] = self.make()
            self.alone[entry]._signatures.add(asked, entry)
        shared, own, _, types = signature
        key = tuple(shared), tuple(own), flatten(operands[2])[1], tuple(types)
        self.primed[key] = self.alone[entry]

    def for_types(self, key: Any, operands: Any) -> Jitted[..., Any]:
        """The function to call with these. The key is what decides it: the types of the shared ones
        and of the own, the structure of the shard and its types."""
        found = self.primed.get(key) or self.others.get(key)
        if found is None:
            with self.lock:
                found = self.others[key] = self._other(operands)
        return found

    def _other(self, operands: Any) -> Jitted[..., Any]:
        asked = self.traced._asked(operands, {})[0]
        for entry, function in self.alone.items():
            if entry.graph.sizes.hints and function._signatures.fit(asked):
                return function
        return self.make()


def types_of(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """dtype and shape of each."""
    return tuple([(x.dtype, x.shape) for x in arrays])


def operands_of(signature: Any, kinds: Sequence[str]) -> Any:
    """Examples of what a form is called with, of the types in a signature."""
    shared, own, structure, shard = signature
    tree = unflatten(flatten(pickle.loads(structure))[1], [_example(t) for t in shard])
    given = as_given([_example(t) for t in shared], kinds)
    return given, tuple([_example(t) for t in own]), tree


def _example(kind: Any) -> Any:
    """An array of this type, which takes no memory."""
    dtype, shape = kind
    return np.broadcast_to(np.zeros((), dtype), shape)


def as_given(shared: Sequence[Any], kinds: Sequence[str]) -> tuple[Any, ...]:
    """Operands as the user gave them: Python's numbers raise no dtype, Tensors are Tensors."""
    found = list(shared)
    for k, kind in enumerate(kinds):
        if kind == "number":
            found[k] = np.asarray(found[k]).item()
        elif kind == "tensor":
            found[k] = boxed(Tensor, np.array(found[k]))
    return tuple(found)


__all__ = ["FormCode", "FormHistory", "as_given", "operands_of", "types_of"]
