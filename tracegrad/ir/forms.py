"""Traced integers as integer expressions: `i + 2` and `i - 1` are known to differ by 3, whatever
`i` is.

Of an open trace, each integer that is no array gets a polynomial (codegen/integers.py) over the
sizes of the trace and over symbols for what is not known. What is computed twice in the same way
gets the same symbol.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import integers
from ..types import Int
from .dispatch import STATE, Value
from .graph import Atom, Literal, Node, Var

if TYPE_CHECKING:
    from .trace import Trace

UNKNOWN = "?"
"""What the names of symbols begin with that stand for what is not known."""


class Forms:
    """The expressions of one trace, which grow with it."""

    def __init__(self) -> None:
        self.nodes = self.captures = 0
        """How many have been looked at."""
        self.known: dict[Var, Int] = {}
        self.same: dict[Var, Var] = {}
        """Results that repeat an earlier one."""
        self.made: dict[Any, tuple[Var, ...]] = {}
        self.ranges: dict[str, tuple[Int, Int]] = {}
        """Of what is not known, where it is said, the least value and one above the largest."""

    def of(self, var: Var) -> Int:
        """The expression of an integer of this trace."""
        trace: Trace = var.trace
        for inner, (_, data) in islice(trace.captures.values(), self.captures, None):
            if isinstance(data, Var) and _integral(data) and data.trace is not None:
                self.known[inner] = data.trace.forms.of(data)
        self.captures = len(trace.captures)
        for node in islice(trace.nodes, self.nodes, None):
            self.look(node)
        self.nodes = len(trace.nodes)
        return self.form(var)

    def form(self, atom: Atom) -> Int:
        if isinstance(atom, Literal):
            return atom.value if isinstance(atom.value, integers.Integer) else int(atom.value.real)
        var = self.same.get(atom, atom)
        if var not in self.known:
            self.known[var] = integers.symbol(f"{UNKNOWN}{id(var)}")
        return self.known[var]

    def look(self, node: Node) -> None:
        out = node.outputs[0]
        # That a narrow dtype may wrap around is left out of account.
        if (
            node.op.symbolic is not None
            and _integral(out)
            and all(_integral(a) for a in node.inputs)
        ):
            self.known[out] = node.op.symbolic(*map(self.form, node.inputs))
            return
        if node.op.effects:
            return
        key = node.op, tuple(map(self.key, node.inputs)), tuple(node.params.items())
        try:
            earlier = self.made.setdefault(key, node.outputs)
        except TypeError:
            return  # a parameter that cannot be compared
        if earlier is not node.outputs:
            self.same.update(zip(node.outputs, earlier, strict=True))

    def key(self, atom: Atom) -> Any:
        """What makes operands equal."""
        if _integral(atom):
            return self.form(atom)
        return self.same.get(atom, atom) if isinstance(atom, Var) else repr(atom)


def _integral(atom: Atom) -> bool:
    kind = atom.type
    return kind.shape == () and kind.dtype.kind in "iu"


def form_of(x: Any) -> Int:
    """The expression of an integer: a number, a size, or a traced one of an open trace."""
    data = x._data if isinstance(x, Value) else x
    if isinstance(data, Var):
        form: Int = data.trace.forms.of(data)
        return form
    return data if isinstance(data, integers.Integer) else int(np.asarray(data))


def unknown(form: Int) -> bool:
    """Whether an expression holds anything but numbers and sizes."""
    return any(name.startswith(UNKNOWN) for name in integers.symbols(form))


def bounded(x: Any, lower: Int, upper: Int) -> None:
    """Note that a traced integer that nothing else is known of is at least `lower` and below
    `upper`, as expressions."""
    data = x._data if isinstance(x, Value) else x
    if isinstance(data, Var) and data.trace is not None:
        (name,) = integers.symbols(data.trace.forms.of(data))
        data.trace.forms.ranges[name] = lower, upper


def largest(form: Int) -> Int | None:
    """The largest value that an expression may have where the ranges of what it is made of are
    known, in terms of sizes; else None."""
    ranges = [item for trace in STATE.traces for item in trace.forms.ranges.items()]
    # Ranges of inner loops are in terms of the outer ones.
    for name, (lower, upper) in reversed(ranges):
        if name in integers.symbols(form):
            factor = integers.coefficient(form, name)
            if not isinstance(factor, int):
                return None
            form = integers.substitute(form, {name: upper - 1 if factor > 0 else lower})
    return None if unknown(form) else form


def smallest(form: Int) -> Int | None:
    """The smallest such value."""
    found = largest(-form)
    return None if found is None else -found


__all__ = ["bounded", "form_of", "largest", "smallest", "unknown"]
