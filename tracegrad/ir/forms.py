"""Traced integers as integer expressions: `i + 2` and `i - 1` are known to differ by 3, whatever
`i` is.

Of an open trace, each integer that is no array gets a polynomial (codegen/integers.py) over the
sizes of the trace and over symbols for what is not known. What is computed twice in the same way
gets the same symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._codegen import integers
from ..dtypes import INT64
from ..sizes.owners import answered, is_late
from ..sizes.signs import not_negative
from ..sizes.size import Size, at_most
from ..sizes.size import form as size_form
from ..types import Int
from .dispatch import STATE, Value
from .graph import Atom, Literal, Node, Var

if TYPE_CHECKING:
    from .trace import Trace

UNKNOWN = "?"
"""What the names of symbols begin with that stand for what is not known."""
UINT64 = np.dtype(np.uint64)
FACTOR = 2**31
"""Expressions with such factors may wrap around."""
ENDLESS = 2**62
"""In ranges, one above the largest value of what has no such value."""


class Forms:
    """The expressions of one trace, which grow with it."""

    def __init__(self) -> None:
        self.nodes = self.captures = 0
        """How many have been looked at."""
        self.known: dict[Var, Int] = {}
        self.same: dict[Var, Var] = {}
        """Results that repeat an earlier one."""
        self.made: dict[Any, tuple[Var, ...]] = {}
        self.around: dict[Var, Var] = {}
        """What stands for a value of a trace around this one: that value."""
        self.named: dict[str, Int] = {}
        """What is not known around a graph, and is the size of arrays in it: as that size."""
        self.ranges: dict[str, tuple[Int, Int]] = {}
        """Of what is not known, where it is said, the least value and one above the largest."""
        self.of_lengths: set[Var] = set()
        """Python's numbers that are made of lengths which only a run knows."""
        self.of_none: dict[Var, tuple[Any, ...]] = {}
        """What is one of Python's numbers if there is nothing that it is made of: the counts of
        what there is."""

    def of(self, var: Var) -> Int:
        """The expression of an integer of this trace."""
        self._look_on(var.trace)
        return self.form(var)

    def origin(self, var: Var) -> Var:
        """The value of this trace that this one repeats, or stands for."""
        self._look_on(var.trace)
        return self.first(var)

    def is_outer(self, inner: Any, outer: Any) -> None:
        """Note that a value of this trace is one of a trace around it."""
        if isinstance(inner, Var) and isinstance(outer, Var) and outer.trace is not None:
            if inner.type.dtype != outer.type.dtype:
                return
            if outer.trace.forms.of_length(outer):
                self.of_lengths.add(inner)
            if outer in outer.trace.forms.of_none:
                self.of_none[inner] = outer.trace.forms.of_none[outer]
            if _integral(outer):
                self.known[inner] = outer.trace.forms.of(outer)
            else:
                self.around[inner] = outer.trace.forms.origin(outer)

    def _look_on(self, trace: Trace) -> None:
        # Looking at something may come back here, by way of a trace around this one.
        new = list(islice(trace.captures.values(), self.captures, None))
        self.captures += len(new)
        for inner, (_, data) in new:
            self.is_outer(inner, data)
        while self.nodes < len(trace.nodes):
            self.nodes += 1
            self.look(trace.nodes[self.nodes - 1])

    def form(self, atom: Atom) -> Int:
        if isinstance(atom, Literal):
            return atom.value if isinstance(atom.value, integers.Integer) else int(atom.value.real)
        var = self.same.get(atom, atom)
        if var not in self.known:
            self.known[var] = integers.symbol(f"{UNKNOWN}{id(var)}")
        return self.known[var]

    def look(self, node: Node) -> None:
        out = node.outputs[0]
        if not out.type.shape and self._of_lengths(node.inputs):
            self.of_lengths.add(out)
        if (form := made_of(node, self.form)) is not None:
            self.known[out] = form
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
        elif (outer := self._made_around(key)) is not None:
            for inner, one in zip(node.outputs, outer, strict=True):
                self.is_outer(inner, one)
        elif node.op.between is not None and _integral(out) and all(map(_integral, node.inputs)):
            value, divisor = map(self.form, node.inputs)
            if isinstance(divisor, int) and divisor > 0:
                ends = node.op.between(*_unwrapped(smallest(value), largest(value)), divisor)
                if ends is not None:
                    self.ranges[str(self.form(out))] = ends[0], ends[1] + 1

    def of_length(self, var: Var) -> bool:
        """Whether a number of this trace is made of lengths that only a run knows."""
        self._look_on(var.trace)
        return self._of_lengths([var])

    def _of_lengths(self, atoms: Sequence[Atom]) -> bool:
        """Whether lengths are among these, and else numbers that are written out."""
        free = [x for x in atoms if isinstance(x, Var)]
        return bool(free) and all(
            x in self.of_lengths or (_integral(x) and is_late(self.form(x))) for x in free
        )

    def key(self, atom: Atom) -> Any:
        """What makes operands equal."""
        if _integral(atom):
            return self.form(atom)
        return self.first(atom) if isinstance(atom, Var) else repr(atom)

    def first(self, var: Var) -> Var:
        """The value that this one repeats, or stands for."""
        var = self.same.get(var, var)
        return self.around.get(var, var)

    def _made_around(self, key: Any) -> tuple[Var, ...] | None:
        """What a trace around this one has computed already by the same operation."""
        around = [*takewhile(lambda trace: trace.forms is not self, STATE.traces)]
        if len(around) == len(STATE.traces):
            return None  # this trace is closed already
        for trace in reversed(around):
            if (made := trace.forms.made.get(key)) is not None:
                return made
        return None


def made_of(node: Node, form: Callable[[Atom], Int]) -> Int | None:
    """The expression of what a node makes of integers; None where there is none, or where it may
    have wrapped around: it does in narrow dtypes, and with factors that no size has."""
    if node.op.symbolic is None or not all(map(_integral, (*node.inputs, *node.outputs))):
        return None
    if node.outputs[0].type.dtype != INT64 or any(a.type.dtype == UINT64 for a in node.inputs):
        return None
    found: Int = node.op.symbolic(*map(form, node.inputs))
    terms = () if isinstance(found, int) else found.terms
    return found if all(abs(c) < FACTOR for _, c in terms) else None


def _unwrapped(low: Int | None, high: Int | None) -> tuple[Int | None, Int | None]:
    """The ends of an integer, where 64 bits hold whatever is between them: then it is what its
    form says."""
    fit = all(
        e is not None and (not isinstance(e, int) or abs(e) < 2 * ENDLESS) for e in (low, high)
    )
    return (low, high) if fit else (None, None)


def _integral(atom: Atom) -> bool:
    kind = atom.type
    return kind.shape == () and kind.dtype.kind in "iu"


def is_of_length(x: Any) -> bool:
    """Whether this is one of Python's numbers that are made of lengths which only a run knows."""
    data = x._data if isinstance(x, Value) else x
    if isinstance(data, Var):
        return data.type.weak and data.trace is not None and data.trace.forms.of_length(data)
    return isinstance(data, (Size, integers.Integer)) and is_late(size_form(data))


def as_length(x: Any) -> Any:
    """The same number, known to be a length."""
    data = x._data if isinstance(x, Value) else x
    if isinstance(data, Var) and data.trace is not None:
        data.trace.forms.of_lengths.add(data)
    return x


def is_python(x: Any) -> bool:
    """Whether it is one of Python's numbers, as far as a graph knows of them."""
    if isinstance(x, Value):
        return type(x._data) is Var and x._data.type.weak
    return type(x) in (bool, int, float, complex) or isinstance(x, (Size, integers.Integer))


def python_if_none(x: Any, count: Any, then: Any) -> Any:
    """The same value, which is `then` where `count` is 0: known to be one of Python's numbers
    there, if that is one (`sum` of nothing)."""
    return _noted(x, (count,)) if is_python(then) else x


def of_python(result: Any, *operands: Any) -> Any:
    """The same value, which Python's operators and functions made of these: known to be one of its
    numbers where all of them are."""
    if not any(trace.forms.of_none for trace in STATE.traces):
        return result
    found = [(is_python(x), counts_behind(x)) for x in operands]
    counts = {id(c): c for _, behind in found for c in behind}
    known = counts and all(python or behind for python, behind in found)
    return _noted(result, tuple(counts.values())) if known else result


def _noted(x: Any, counts: tuple[Any, ...]) -> Any:
    data = x._data if isinstance(x, Value) else x
    if isinstance(data, Var) and data.trace is not None:
        data.trace.forms.of_none[data] = counts
    return x


def counts_behind(x: Any) -> tuple[Any, ...]:
    """Of a value that is one of Python's numbers where these are 0."""
    data = x._data if isinstance(x, Value) else x
    if not isinstance(data, Var) or data.trace is None:
        return ()
    if not any(trace.forms.of_none for trace in STATE.traces):
        return ()
    forms = data.trace.forms
    forms.of(data) if _integral(data) else forms.origin(data)  # what is captured is seen then
    counts: tuple[Any, ...] = forms.of_none.get(data, ())
    return counts


def form_of(x: Any) -> Int:
    """The expression of an integer: a number, a size, or a traced one of an open trace."""
    data = x._data if isinstance(x, Value) else x
    if isinstance(data, Var):
        form: Int = data.trace.forms.of(data)
        return form if isinstance(form, int) else as_sizes(form)
    if type(data) is Size:
        return data.form  # which an array of it would make one number
    return data if isinstance(data, integers.Integer) else int(np.asarray(data))


def as_sizes(form: Int) -> Int:
    """An expression in which what is the size of arrays stands as that."""
    named = {k: v for trace in STATE.traces for k, v in trace.forms.named.items()}
    return integers.substitute(form, named) if named else form


def proven(relation: str, difference: Int) -> bool | None:
    """Whether `difference` is == 0, < 0, <= 0, as the ranges of what it is made of tell; None where
    they do not tell it of the lengths of slices."""
    low, high = smallest(difference), largest(difference)
    if high is not None and relation != "==" and _negative(high, relation == "<"):
        return True
    if low is not None and relation != "==" and _negative(-low, relation == "<="):
        return False
    if relation == "==" and (
        (high is not None and _negative(high, True)) or (low is not None and _negative(-low, True))
    ):
        return False
    return None


def _negative(value: Int, strictly: bool) -> bool:
    """Whether an expression of sizes is less than 0, or at most that: a fact, where its form does
    not show it."""
    value = value + 1 if strictly else value
    if isinstance(value, int):
        return value <= 0
    return answered(value) and (not_negative(-value) or at_most(value, 0))


def never_negative(form: Int, asked: dict[Int, bool] | None = None) -> bool:
    """Whether what is known of an expression of sizes says that it is not negative."""
    if isinstance(form, int):
        return form >= 0
    # The same expression comes up by many ways, which would be as many as orders of its atoms.
    asked = {} if asked is None else asked
    if form not in asked:
        asked[form] = False
        asked[form] = _never_negative(form, asked)
    return asked[form]


def _never_negative(form: integers.Integer, asked: dict[Int, bool]) -> bool:
    if proven("<=", -form):
        return True
    # A single atom was looked at, or is below.
    if all(
        c > 0 and (_known(m) or (len(m) > 1 and all(_factor(a, asked) for a in m)))
        for m, c in form.terms
    ):
        return True
    for monomial, c in form.terms:
        if len(monomial) != 1 or not isinstance(atom := monomial[0], integers.Binary):
            continue
        rest = form - integers.mul(c, integers.Integer(((monomial, 1),)))
        # A minimum is at most, a maximum at least either side.
        if (atom.op, c > 0) in (("min", False), ("max", True)):
            if any(never_negative(rest + c * side, asked) for side in (atom.left, atom.right)):
                return True
        elif atom.op in ("min", "max"):
            # It is one of them: min(n, 3) - min(n, 1).
            if all(never_negative(rest + c * side, asked) for side in (atom.left, atom.right)):
                return True
        elif c > 0 and atom.op == "//" and never_negative(atom.left, asked):
            if never_negative(rest, asked):
                return True
    return False


def _known(atoms: integers.Monomial) -> bool:
    """Whether all of them are sizes."""
    return all(isinstance(a, integers.Symbol) and not a.name.startswith(UNKNOWN) for a in atoms)


def _factor(atom: integers.Atom, asked: dict[Int, bool]) -> bool:
    return never_negative(integers.Integer((((atom,), 1),)), asked)


def told(relation: str, difference: Int) -> bool | None:
    """What `proven` tells, and what the forms of cuts do: n - min(n, 2) is not negative."""
    if (found := proven(relation, difference)) is not None:
        return found
    low = 1 if relation == "<" else 0
    if relation != "==" and never_negative(-difference - low):
        return True
    return False if never_negative(difference - 1 + low) else None


def unknown(form: Int) -> bool:
    """Whether an expression holds anything but numbers and sizes."""
    return any(name.startswith(UNKNOWN) for name in integers.symbols(form))


def bounded(x: Any, lower: Int, upper: Int) -> None:
    """Note that a traced integer is at least `lower` and below `upper`, as expressions, if nothing
    else is known of it."""
    data = x._data if isinstance(x, Value) else x
    if isinstance(data, Var) and data.trace is not None:
        form, ranges = data.trace.forms.of(data), data.trace.forms.ranges
        names = integers.symbols(form)
        if len(names) == 1 and form == integers.symbol(name := next(iter(names))):
            if name.startswith(UNKNOWN):
                ranges.setdefault(name, (lower, upper))


def largest(form: Int, kept: str = "") -> Int | None:
    """The largest value that an expression may have where the ranges of what it is made of are
    known, in terms of sizes, of which those that begin with `kept` stay; else None."""
    ranges = [item for trace in STATE.traces for item in trace.forms.ranges.items()]
    # Ranges of inner loops are in terms of the outer ones.
    for name, (lower, upper) in reversed(ranges):
        if name in integers.symbols(form) and not (kept and name.startswith(kept)):
            factor = integers.coefficient(form, name)
            if not isinstance(factor, int):
                return None
            form = integers.substitute(form, {name: upper - 1 if factor > 0 else lower})
    return None if unknown(form) else form


def smallest(form: Int) -> Int | None:
    """The smallest such value."""
    found = largest(-form)
    return None if found is None else -found


class About(NamedTuple):
    """What is known of the integers among the inputs of a graph, in an order that is always the
    same for the same surroundings."""

    forms: tuple[Int | None, ...] = ()
    """The expression of each input; None for what is no integer, or not known."""
    ranges: tuple[tuple[str, Int, Int], ...] = ()
    """Of symbols in these the least value, and one above the largest."""

    def tell(self, trace: Trace, inputs: Sequence[Any]) -> None:
        """Let an open trace know it of its inputs."""
        for x, form in zip(inputs, self.forms, strict=False):
            if form is not None:
                trace.forms.known[x._data] = form
        trace.forms.ranges.update({name: (low, end) for name, low, end in self.ranges})


NOTHING = About()


def about(
    values: Sequence[Any],
    numbers: Mapping[int, Int] | None = None,
    sizes: Mapping[str, Any] | None = None,
) -> About:
    """What is known of operands in the innermost open trace; of running code nothing, since their
    values are others at the next call. Of the `numbers` of steps, which no operand gives, the
    places among the inputs and how many steps there are; of `sizes` that are known late what they
    are."""
    forms: list[Int | None] = [_told(x) if STATE.traces else None for x in values]
    known = {item for trace in STATE.traces for item in trace.forms.ranges.items()}
    ranges = dict(known)
    depth = len(STATE.traces)
    for k, length in (numbers or {}).items():
        name = f"{UNKNOWN}{depth}n"
        forms[k], ranges[name] = integers.symbol(name), (0, form_of(length))
    counts = {name: _told(x) for name, x in (sizes or {}).items() if STATE.traces}
    ranges |= {name: (n, n + 1) for name, n in counts.items() if n is not None}
    named: dict[str, Int] = {}
    todo = sorted([f for f in forms if f is not None], key=lambda f: len(integers.symbols(f)) > 1)
    found: list[tuple[str, Int, Int]] = []
    todo += [integers.symbol(name) for name in counts]
    while todo:
        for name in sorted(integers.symbols(todo.pop(0))):
            if name not in named and (name.startswith(UNKNOWN) or name in ranges):
                own = name.startswith(UNKNOWN)
                named[name] = integers.symbol(f"{UNKNOWN}{depth}.{len(named)}" if own else name)
                if name in ranges:
                    found.append((name, *ranges[name]))
                    todo.extend(ranges[name])
    return About(
        tuple([None if f is None else integers.substitute(f, named) for f in forms]),
        tuple(
            [
                (str(named[n]), integers.substitute(low, named), integers.substitute(end, named))
                for n, low, end in found
            ]
        ),
    )


def _told(x: Any) -> Int | None:
    """The expression of an operand; None for an array of one integer, which may be written to."""
    data = x._data if isinstance(x, Value) else x
    if isinstance(data, Var):
        return form_of(data) if _integral(data) and data.trace is not None else None
    return int(data) if isinstance(data, np.integer) else None


__all__ = ["NOTHING", "About", "about", "bounded", "form_of", "largest", "smallest", "unknown"]
