"""A size as a traced function sees it, and the questions about sizes."""

from __future__ import annotations

import math
import numbers
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._codegen import integers
from .owners import RELATIONS, SIZES, Int, LateLength, answered, is_late, pinned
from .signs import not_negative, positive

LARGEST = 1 << 62
"""What sizes that the code computes with do not exceed."""

# --- questions ------------------------------------------------------------------------------------


def decide(relation: str, a: Any, b: Any, must: bool | None = True) -> bool:
    """The truth of `a relation b` ("==", "<", "<=") for sizes of either kind: where the form does
    not show it, the innermost owner's answer. A ConcretizationError where that has none and the
    answer matters (`must`; None: where the program asks)."""
    difference = integers.add(form(a), integers.mul(-1, form(b)))
    if isinstance(difference, int):
        return RELATIONS[relation](difference)
    # Where nobody is asked two sizes of different form are taken to differ; the verifier and the
    # passes need no more. So are expressions of anything else than sizes (loop indices).
    if not answered(difference):
        found = SIZES.open[-1].proven(relation, difference) if SIZES.open else None
        if found is None and is_late(difference) and (_by_program() if must is None else must):
            raise LateLength(
                "what is done here depends on the length of an array, which only a run knows "
                f"(whether {_shown(a)} {relation} {_shown(b)}). Ask it of the integers that the "
                "length is made of (the ends of a slice, len(a))."
            )
        return bool(found)
    return SIZES.open[-1].decide(relation, difference)


def _shown(size: Any) -> str:
    """A size in a message: a length that only a run knows has no name of the user's."""
    value = form(size)
    return "its length" if is_late(value) else str(value)


def _by_program(helpers: tuple[str, ...] = ()) -> bool:
    """Whether the program compares two sizes, and not the library, to which sizes that may be equal
    are different ones; with the names of the `helpers` of staging that do it for the program, of
    which without them each may."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    who = str(frame.f_globals.get("__name__", "")).split(".")
    if who[0] != __name__.split(".")[0]:
        return True
    return who[1:2] == ["staging"] and (not helpers or who[2:3] == [*helpers])


def same(a: Any, b: Any) -> bool:
    """Whether two sizes are equal: known from their form, or decided by the current trace, which
    records a guard."""
    return a == b if type(a) is int and type(b) is int else decide("==", a, b, False)


def is_empty(size: Int) -> bool:
    """Whether an axis has no elements; a ConcretizationError where only the passes of a loop know
    that."""
    return size == 0 if isinstance(size, int) else is_late(size) and decide("==", size, 0)


def known_empty(*sizes: Int) -> bool:
    """Whether one of these axes is known to have no elements, without asking for a fact."""
    return any(isinstance(n, int) and n == 0 for n in sizes)


def less(a: Any, b: Any) -> bool:
    """Whether `a < b`, as `same` says it of equality."""
    return decide("<", a, b)


def at_most(a: Any, b: Any) -> bool:
    """Whether `a <= b`, as `same` says it of equality."""
    return decide("<=", a, b)


def same_shape(a: Iterable[Any], b: Iterable[Any]) -> bool:
    """Whether two shapes have equal sizes, axis by axis, as `same` says it."""
    a, b = tuple(a), tuple(b)
    return len(a) == len(b) and all(same(m, n) for m, n in zip(a, b, strict=True))


def shown(value: Any) -> str:
    """A size as text, which pins it where the text is for the program that is traced. While its
    trace is open, a length that only a run knows has no name: none would be the user's."""
    value = form(value)
    if isinstance(value, integers.Integer) and is_late(value):
        return "unknown"
    if isinstance(value, integers.Integer) and SIZES.open and SIZES.open[-1].shown():
        return str(pinned(value))
    return str(value)


def within_64_bits(size: Size) -> Int:
    """The form of a size as an operand, if the code can compute it; else the number."""
    return size.form if _fits(size.form) else pinned(size.form)


def _fits(value: Int) -> bool:
    """Whether the code can compute what an expression is made of: its quotients' dividends did
    (`_divided`)."""
    if isinstance(value, int):
        return abs(value) <= LARGEST
    # One symbol times a small number, or added to one, is far below that.
    if all(len(m) <= 1 and abs(c) < 1 << 20 for m, c in value.terms) or not answered(value):
        return True
    return at_most(value, LARGEST) and at_most(-LARGEST, value)


# --- from one kind to the other -------------------------------------------------------------------


def form(value: Any) -> Any:
    """What stands in graphs for a size; anything else stays what it is."""
    return value.form if type(value) is Size else value


def forms(value: Any) -> Any:
    """The same for what stands in tuples and slices, as in an operation's parameters."""
    return _within(form, value)


def _within(change: Callable[[Any], Any], value: Any) -> Any:
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([_within(change, v) for v in value])
    if kind is slice:
        return slice(*[_within(change, v) for v in (value.start, value.stop, value.step)])
    return change(value)


def seen(value: Any) -> Any:
    """A size of a graph as a traced function sees it; anything else stays what it is."""
    return Size(value) if type(value) is integers.Integer else value


def seen_within(value: Any) -> Any:
    """The same for what stands in tuples and slices, as in an operation's parameters."""
    return _within(seen, value)


def seen_shape(shape: tuple[Int, ...]) -> tuple[Any, ...]:
    """A shape of a graph as a traced function sees it."""
    for s in shape:
        if type(s) is not int:
            return tuple([seen(n) for n in shape])
    return shape


# --- a size as a number ---------------------------------------------------------------------------


class Size:
    """A size that is not known while a function is traced, as the function sees it: one of Python's
    integers. With integers it stays an expression. With other numbers, and where it divides, it
    becomes a traced number. All else needs the number that it is, which pins it."""

    __slots__ = ("form",)

    def __init__(self, form: integers.Integer) -> None:
        self.form = form

    def __eq__(self, other: object) -> Any:
        if isinstance(other, INTEGRAL):
            return _asked("==", self, _exact(other))
        if isinstance(other, complex) and other.imag == 0:
            other = other.real
        if isinstance(other, numbers.Real):
            whole = math.isfinite(other) and other == math.floor(other)
            return whole and _asked("==", self, math.floor(other))
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        if equal is NotImplemented or isinstance(equal, bool):
            return equal if equal is NotImplemented else not equal
        return equal ^ True  # which only a run knows

    def __lt__(self, other: Any) -> Any:
        return _ordered("<", self, other, math.ceil)

    def __le__(self, other: Any) -> Any:
        return _ordered("<=", self, other, math.floor)

    def __gt__(self, other: Any) -> Any:
        return _ordered("<", other, self, math.floor)

    def __ge__(self, other: Any) -> Any:
        return _ordered("<=", other, self, math.ceil)

    def __bool__(self) -> bool:
        return decide("<", 0, self) or not decide("==", self, 0)

    def __hash__(self) -> int:
        # Where a size is looked up among numbers, it has to be found.
        return hash(self.__index__() if answered(self.form) else self.form)

    def __index__(self) -> int:
        return pinned(self.form)

    def __str__(self) -> str:
        return shown(self.form)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(pinned(self.form), spec) if spec else shown(self.form)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.__index__(), dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(int, name):
            raise AttributeError(f"'int' object has no attribute {name!r}", name=name, obj=self)
        return getattr(self.__index__(), name)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(self.__index__(), operator.index(other), operator.index(modulus))
        if isinstance(other, int) and other >= 0:
            # What need not fit an array's integer is computed with Python's.
            return (
                seen(integers.product([self.form] * other))
                if other <= 4
                else self.__index__() ** other
            )
        if isinstance(other, Size):
            return self ** other.__index__()
        other = float(other) if isinstance(other, int) else other
        return _combined(self, other, None, operator.pow)

    def __rpow__(self, other: Any) -> Any:
        return (
            other ** self.__index__()
            if isinstance(other, int)
            else _combined(other, self, None, operator.pow)
        )

    def __neg__(self) -> Any:
        return seen(-self.form)

    def __pos__(self) -> Size:
        return self

    def __abs__(self) -> Any:
        return self if at_most(0, self) else -self

    def __invert__(self) -> Any:
        return seen(-1 - self.form)

    def __trunc__(self) -> Size:
        return self

    __floor__ = __ceil__ = __trunc__

    def __round__(self, digits: Any = None) -> Any:
        return self if digits is None else round(self.__index__(), digits)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's functions of sizes, and NumPy's numbers and arrays combined with them."""
        if method == "__call__" and not options:
            exact = {
                np.add: operator.add,
                np.subtract: operator.sub,
                np.multiply: operator.mul,
                np.floor_divide: operator.floordiv,
            }.get(ufunc)
            if exact is not None and all(isinstance(x, (Size, np.integer)) for x in inputs):
                return exact(*[x if isinstance(x, Size) else int(x) for x in inputs])
        if not SIZES.open:
            return NotImplemented
        return getattr(ufunc, method)(*_boxed(inputs), **options)


numbers.Integral.register(Size)
SYMBOLIC = (integers.Integer, Size)
"""What stands for a number that is not known."""
OF_SHAPES = (int, *SYMBOLIC)
"""What stands in shapes."""
INTEGRAL = (int, np.integer, Size, integers.Integer)
"""What is an integer beside a size."""


def _exact(value: Any) -> Int:
    """The form of an integer of any kind."""
    if isinstance(value, Size):
        return value.form
    return value if isinstance(value, integers.Integer) else int(value)


def _ordered(relation: str, a: Any, b: Any, rounded: Callable[[Any], int]) -> Any:
    pair = []
    for x in (a, b):
        if isinstance(x, INTEGRAL):
            pair.append(_exact(x))
        elif not isinstance(x, numbers.Real):
            return NotImplemented
        elif math.isfinite(x):
            pair.append(rounded(x))
        elif math.isnan(x):
            return False
        else:
            # An infinity is farther than any size.
            pair.append(int(math.copysign(1 << 62, x)))
    return _asked(relation, pair[0], pair[1])


def _asked(relation: str, a: Any, b: Any) -> Any:
    """What the program asks of two sizes: their truth, or a traced one where only a run knows it.
    The library is refused an answer instead."""
    difference = integers.add(form(a), integers.mul(-1, form(b)))
    if (
        isinstance(difference, int)
        or not is_late(difference)
        or SIZES.open[-1].proven(relation, difference) is not None
        or not _by_program(("branches",))
    ):
        return decide(relation, a, b, None if relation == "==" else True)
    # Words are unsigned: what is subtracted stands on the other side.
    sides = [[(m, c * sign) for m, c in difference.terms if c * sign > 0] for sign in (1, -1)]
    left, right = [
        SIZES.open[-1].box(integers.Integer(tuple(terms))) if terms else 0 for terms in sides
    ]
    compare = {"==": operator.eq, "<": operator.lt, "<=": operator.le}[relation]
    return compare(left, right)


def _combined(
    a: Any,
    b: Any,
    exact: Callable[[Int, Int], Int | None] | None,
    otherwise: Callable[[Any, Any], Any],
    check: Callable[[Any], None] | None = None,
) -> Any:
    if check is not None:
        check(b)
    if isinstance(a, INTEGRAL) and isinstance(b, INTEGRAL):
        if exact is not None and (found := exact(_exact(a), _exact(b))) is not None:
            return seen(found)
    elif not all(isinstance(x, (*INTEGRAL, float, complex, np.number, np.ndarray)) for x in (a, b)):
        # The other operand decides, which pins the size where it asks for an index (`[0.0] * n`).
        return NotImplemented
    return otherwise(*_boxed((a, b))) if SIZES.open else NotImplemented


def _boxed(values: Iterable[Any]) -> list[Any]:
    found = [within_64_bits(x) if isinstance(x, Size) else x for x in values]
    return [SIZES.open[-1].box(x) if isinstance(x, integers.Integer) else x for x in found]


def _refuse_zero(divisor: Any) -> None:
    """Division by what may be 0 asks whether it is, and is Python's error then."""
    of_python = isinstance(divisor, (int, float, Size, integers.Integer))
    if is_late(form(divisor)):
        return  # which is known when the code runs
    if of_python and not positive(form(divisor)) and divisor == 0:
        raise ZeroDivisionError("division by zero")


def _divided(function: Callable[[Int, Int], Int]) -> Callable[[Int, Int], Int | None]:
    """A quotient or remainder: of the numbers, where one of them is negative or too large; None
    where only a run knows whether one is."""

    def result(a: Int, b: Int) -> Int | None:
        if integers.mul(integers.floordiv(a, b), b) == a:
            return function(a, b)
        if is_late(a) or is_late(b):
            if not (not_negative(a) and decide("<", 0, b, False)):
                return None
            return function(a, b)
        known = (not_negative(a) and positive(b)) or (at_most(0, a) and less(0, b))
        # Of what was cut off at 64 bits the quotient would be another one.
        return function(a, b) if known and _fits(a) and _fits(b) else function(pinned(a), pinned(b))

    return result


def _define() -> None:
    """The operators of two operands, of which either may be the size."""
    exact: dict[str, Callable[[Int, Int], Int | None] | None] = {
        "add": integers.add,
        "sub": lambda a, b: integers.add(a, integers.mul(-1, b)),
        "mul": integers.mul,
        "floordiv": _divided(integers.floordiv),
        "mod": _divided(integers.mod),
        "truediv": None,
    }
    for name, function in exact.items():
        plain = getattr(operator, name)
        check = _refuse_zero if name in ("floordiv", "mod", "truediv") else None
        given = {"exact": function, "otherwise": plain, "check": check}
        setattr(Size, f"__{name}__", lambda a, b, given=given: _combined(a, b, **given))
        setattr(Size, f"__r{name}__", lambda b, a, given=given: _combined(a, b, **given))
    for name in ("and", "or", "xor", "lshift", "rshift"):
        bits = getattr(operator, f"{name}_" if hasattr(operator, f"{name}_") else name)
        setattr(Size, f"__{name}__", lambda a, b, p=bits: _of_bits(p, a, b))
        setattr(Size, f"__r{name}__", lambda b, a, p=bits: _of_bits(p, a, b))


def _of_bits(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    known = (int, np.integer, Size)
    if not (isinstance(a, known) and isinstance(b, known)):
        return NotImplemented
    return function(*[x.__index__() if isinstance(x, Size) else x for x in (a, b)])


_define()
