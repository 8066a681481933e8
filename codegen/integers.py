"""Integer expressions over symbols: sizes, strides and loop indices, in one canonical form.

An expression is a polynomial with integer coefficients over *atoms*: a `Symbol`, or an opaque
quotient, remainder, minimum, maximum or square root of expressions. Two expressions that the
canonical form makes equal compare equal with `==` and hash alike, all others differ, whatever their
symbols stand for; a constant expression is always a plain `int`, never an `Integer`. All shape
arithmetic of the project is done here. Which of two expressions is larger, and whether two forms
are one number, is for those to say who know something of the symbols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, Union

import numpy as np

Int: TypeAlias = Union[int, "Integer"]


class Atom:
    """An indivisible factor of a monomial."""

    __slots__ = ("_hash", "_key", "_text")
    _key: tuple[object, ...]
    _hash: int
    _text: str

    def _freeze(self, *key: object) -> None:
        self._key = (type(self).__name__, *key)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def sort_key(self) -> str:
        """The text, kept: expressions of quotients are sorted by it over and over."""
        try:
            return self._text
        except AttributeError:
            self._text = str(self)
            return self._text


class Symbol(Atom):
    """A named integer: the size of an input's axis, a loop index, or an SSA integer of a graph."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self._freeze(name)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class Binary(Atom):
    """`a // b`, `a % b`, `min(a, b)`, `max(a, b)` or `int(a ** (1 / b))` of two expressions, when
    it does not simplify."""

    __slots__ = ("left", "op", "right")

    def __init__(self, op: str, left: Int, right: Int) -> None:
        self.op, self.left, self.right = op, left, right
        self._freeze(op, left, right)

    def __str__(self) -> str:
        if self.op in ("min", "max"):
            return f"{self.op}({self.left}, {self.right})"
        if self.op == "root":
            return f"int(({self.left}) ** 0.5)"
        return f"({self.left}) {self.op} ({self.right})"

    __repr__ = __str__


Monomial: TypeAlias = tuple[Atom, ...]


class Integer:
    """A non-constant polynomial; build it with `symbol`, Python's operators and the functions
    below."""

    __slots__ = ("_hash", "_symbols", "terms")
    _symbols: frozenset[str]

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Integer):
            return self.terms == other.terms
        return False if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        raise TypeError(f"whether {self} is 0 does not show in its form: prove it, or ask")

    def __int__(self) -> int:
        raise TypeError(f"the symbolic integer {self} is no number")

    def __add__(self, other: Any) -> Any:
        return _combined(add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _combined(add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _combined(sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _combined(sub, other, self)

    def __neg__(self) -> Int:
        return mul(-1, self)

    def __mul__(self, other: Any) -> Any:
        return _combined(mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _combined(mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _combined(floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _combined(floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return _combined(mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _combined(mod, other, self)

    __array_ufunc__ = None
    """NumPy's integers leave arithmetic with an expression to it."""

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            factors = [
                f"({a})"
                if isinstance(a, Binary)
                and a.op in ("//", "%")
                and (len(monomial) > 1 or coefficient != 1)
                else str(a)
                for a in monomial
            ]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            text += (
                f" {sign} {'*'.join(factors)}"
                if text
                else ("-" if coefficient < 0 else "") + "*".join(factors)
            )
        return text

    __repr__ = __str__


def _combined(function: Callable[[Int, Int], Int], a: Any, b: Any) -> Any:
    if not all(isinstance(x, (int, Integer, np.integer)) for x in (a, b)):
        return NotImplemented
    return function(*[x if isinstance(x, Integer) else int(x) for x in (a, b)])


def _terms(value: Int) -> dict[Monomial, int]:
    if isinstance(value, Integer):
        return dict(value.terms)
    if not isinstance(value, (int, np.integer)):
        raise TypeError(f"{value!r} is no integer expression")
    return {(): int(value)} if value else {}


def _build(terms: Mapping[Monomial, int]) -> Int:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    # Highest degree first, the constant last, so that `n - 1` prints as written.
    order = sorted(kept.items(), key=lambda t: (-len(t[0]), [a.sort_key() for a in t[0]]))
    return Integer(tuple(order))


def symbol(name: str) -> Integer:
    """The expression that is just the symbol `name`."""
    return Integer((((Symbol(name),), 1),))


def add(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, Integer) and isinstance(b, int):
        return _with_constant(a, b)
    if isinstance(a, int) and isinstance(b, Integer):
        return _with_constant(b, a)
    terms = _terms(a)
    for monomial, coefficient in _terms(b).items():
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return _build(terms)


def _with_constant(a: Integer, b: int) -> Integer:
    """A sum whose terms keep their order."""
    if not b:
        return a
    terms = a.terms
    if not terms[-1][0]:
        b += terms[-1][1]
        terms = terms[:-1]
    return Integer((*terms, ((), b)) if b else terms)


def sub(a: Int, b: Int) -> Int:
    return add(a, -b if isinstance(b, int) else mul(-1, b))


def mul(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if isinstance(a, int) and isinstance(b, Integer):
        if a == 1:
            return b
        return Integer(tuple([(m, a * c) for m, c in b.terms])) if a else 0
    if isinstance(a, Integer) and isinstance(b, int):
        return mul(b, a)
    terms: dict[Monomial, int] = {}
    for m1, c1 in _terms(a).items():
        for m2, c2 in _terms(b).items():
            monomial = tuple(sorted(m1 + m2, key=lambda atom: atom.sort_key()))
            terms[monomial] = terms.get(monomial, 0) + c1 * c2
    return _build(terms)


def _divide_exactly(a: Int, b: Int) -> Int | None:
    """The quotient where every term of `a` is divisible by the single term `b`, else None."""
    divisor = list(_terms(b).items())
    if len(divisor) != 1:
        return 1 if a == b else None
    (dm, dc), result = divisor[0], {}
    for monomial, coefficient in _terms(a).items():
        rest = list(monomial)
        for atom in dm:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % dc:
            return None
        result[tuple(rest)] = coefficient // dc
    return _build(result)


def floordiv(a: Int, b: Int) -> Int:
    """Floor division; exact where the polynomial shows it."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    exact = _divide_exactly(a, b)
    return exact if exact is not None else Integer((((Binary("//", a, b),), 1),))


def mod(a: Int, b: Int) -> Int:
    """Remainder with the sign of `b`, as Python's."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if _divide_exactly(a, b) is not None:
        return 0
    return Integer((((Binary("%", a, b),), 1),))


def minimum(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    difference = add(a, mul(-1, b))
    if isinstance(difference, int):
        return a if difference <= 0 else b
    return Integer((((Binary("min", a, b),), 1),))


def maximum(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    difference = add(a, mul(-1, b))
    if isinstance(difference, int):
        return a if difference >= 0 else b
    return Integer((((Binary("max", a, b),), 1),))


def root(a: Int) -> Int:
    """The largest integer of which the square is at most `a`, which is not negative and below
    2**52."""
    return math.isqrt(a) if isinstance(a, int) else Integer((((Binary("root", a, 2),), 1),))


def product(values: Iterable[Int]) -> Int:
    result: Int = 1
    for value in values:
        result = mul(result, value)
    return result


def _map_atoms(value: Int, leaf: Callable[[Symbol], Int]) -> Int:
    if isinstance(value, int):
        return value
    constant, total = 0, None
    for monomial, coefficient in value.terms:
        term: Int = coefficient
        for atom in monomial:
            if isinstance(atom, Symbol):
                factor = leaf(atom)
            else:
                assert isinstance(atom, Binary)
                factor = BINARY[atom.op](_map_atoms(atom.left, leaf), _map_atoms(atom.right, leaf))
            term = mul(term, factor)
        # The terms are put in order once, not after each sum.
        if isinstance(term, int):
            constant += term
        elif total is None:
            total = _terms(term)
        else:
            for m, c in term.terms:
                total[m] = total.get(m, 0) + c
    if total is None:
        return constant
    if constant:
        total[()] = total.get((), 0) + constant
    return _build(total)


BINARY: dict[str, Callable[[Int, Int], Int]] = {
    "//": floordiv,
    "%": mod,
    "min": minimum,
    "max": maximum,
    "root": lambda a, _: root(a),
}


def substitute(value: Int, bindings: Mapping[str, Int]) -> Int:
    """Replace symbols by name; symbols without a binding stay."""
    if symbols(value).isdisjoint(bindings):
        return value
    return _map_atoms(
        value, lambda s: bindings[s.name] if s.name in bindings else Integer((((s,), 1),))
    )


def evaluate(value: Int, bindings: Mapping[str, int]) -> int:
    """The number that `value` is when every symbol is bound; KeyError for a symbol that is not."""
    result = _map_atoms(value, lambda s: bindings[s.name])
    assert isinstance(result, int)
    return result


NONE: frozenset[str] = frozenset()


def symbols(value: Int) -> frozenset[str]:
    """The names of the symbols that `value` mentions, found once for each expression."""
    if isinstance(value, int):
        return NONE
    try:
        return value._symbols
    except AttributeError:
        value._symbols = found = frozenset(_named(value))
        return found


def _named(value: Integer) -> Iterator[str]:
    for monomial, _ in value.terms:
        for atom in monomial:
            if isinstance(atom, Symbol):
                yield atom.name
            else:
                assert isinstance(atom, Binary)
                yield from symbols(atom.left)
                yield from symbols(atom.right)


def coefficient(value: Int, name: str) -> Int | None:
    """The factor of symbol `name` where `value` is affine in it (0 if absent), else None."""
    if isinstance(value, int) or name not in symbols(value):
        return 0
    total: Int = 0
    for monomial, c in value.terms:
        count = sum(1 for atom in monomial if isinstance(atom, Symbol) and atom.name == name)
        inside = any(
            isinstance(a, Binary) and name in symbols(a.left) | symbols(a.right) for a in monomial
        )
        if inside or count > 1:
            return None
        if count == 1:
            rest = tuple(a for a in monomial if not (isinstance(a, Symbol) and a.name == name))
            total = add(total, _build({rest: c}))
    return total
