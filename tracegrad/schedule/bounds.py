"""What can be proved about integer expressions when loop indices have known ranges and sizes are at
least 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache

from .._codegen import integers
from ..sizes import SIZES, Sizes, same
from ..types import COUNT, Int

Ranges = Mapping[str, tuple[Int, Int]]
LONGEST = 2**47
"""No axis is longer: there is no memory for it."""
WRAPS = 2**62
"""Arithmetic below this does not wrap around."""


class Facts(Sizes):
    """What is known of sizes while scheduling: the facts that the trace relied on. Nothing new is
    decided, so no new guard arises."""

    def decide(self, relation: str, difference: Int) -> bool:
        known = self.guards.get((relation, difference))
        if known is None and relation != "==":
            return nonnegative(-difference - (relation == "<"), {})
        return bool(known)

    def not_negative(self) -> Iterator[Int]:
        """Expressions that the facts say to be at least 0."""
        for (relation, difference), holds in self.guards.items():
            if relation == "==":
                if holds:
                    yield difference
                    yield -difference
            elif relation == "<":
                yield -difference - 1 if holds else difference
            else:
                yield -difference if holds else difference - 1


@contextmanager
def between(symbol: str, least: Int, most: Int | None) -> Iterator[None]:
    """While this is open, a size that is known late is known to be at least and at most that."""
    owner = SIZES.open[-1]
    assert isinstance(owner, Facts)
    size = integers.symbol(symbol)
    facts = [("<=", least - size)] + ([] if most is None else [("<=", size - most)])
    owner.guards.update(dict.fromkeys(facts, True))
    try:
        yield
    finally:
        for fact in facts:
            del owner.guards[fact]


def nonnegative(value: Int, ranges: Ranges) -> bool:
    """Whether `value >= 0` is certain. Sizes 0 and 1 are specialised away, so a symbol without a
    range is at least 2, a count of steps 0."""
    if isinstance(value, int):
        return value >= 0
    least = _least(value, ranges)
    if least is not None:
        return least >= 0
    names = sorted(n for n in integers.symbols(value) if n in ranges)
    if len(names) > 1:
        # A range may be in terms of symbols that have ranges themselves: theirs come later.
        names.sort(key=lambda n: -_depth(n, ranges))
    for name in names:
        factor = integers.coefficient(value, name)
        lo, hi = ranges[name]
        if factor is None:
            # What is left of it in the end counts as not negative.
            if not nonnegative(lo, {k: v for k, v in ranges.items() if k != name}):
                return False
            continue
        if nonnegative(factor, ranges):
            extreme: Int = lo
        elif nonnegative(-factor, ranges):
            extreme = hi - 1
        else:
            return False
        return nonnegative(
            integers.substitute(value, {name: extreme}),
            {k: v for k, v in ranges.items() if k != name},
        )
    free = tuple(sorted(n for n in integers.symbols(value) if n not in ranges))
    above = _above_least(value, free)
    if _adds_up(above):
        return True
    simpler = _without_quotients(value, ranges)
    if simpler is not None:
        return nonnegative(*simpler)
    owner = SIZES.open[-1] if SIZES.open else None
    if not isinstance(owner, Facts):
        return False
    for known in owner.not_negative():
        free = tuple(sorted(n for n in integers.symbols(known) if n not in ranges))
        if _adds_up(above - _above_least(known, free)):
            return True
    return False


def _least(value: integers.Integer, ranges: Ranges) -> int | None:
    """The least value of what is linear in symbols whose ranges are numbers, None of all else."""
    total = 0
    for monomial, c in value.terms:
        if not monomial:
            total += c
            continue
        atom = monomial[0]
        if len(monomial) > 1 or not isinstance(atom, integers.Symbol) or atom.name not in ranges:
            return None
        first, end = ranges[atom.name]
        if not (isinstance(first, int) and isinstance(end, int)):
            return None
        total += c * (first if c > 0 else end - 1)
    return total


def least_and_most(value: Int, ranges: Ranges) -> tuple[int, int] | None:
    """The least and the largest value of what is linear in symbols whose ranges are numbers, None
    of all else."""
    if isinstance(value, int):
        return value, value
    least, most = _least(value, ranges), _least(-1 * value, ranges)
    return None if least is None or most is None else (least, -most)


def _without_quotients(value: Int, ranges: Ranges) -> tuple[Int, Ranges] | None:
    """A positive multiple of an expression without one of its quotients or remainders by numbers,
    and ranges for what stands there; None where it has none. `n * (x // n)` is `x - x % n`, and
    `x % n` is taken to be any number below n."""
    if isinstance(value, int):
        return None
    for monomial, c in value.terms:
        for k, atom in enumerate(monomial):
            if not isinstance(atom, integers.Binary) or atom.op not in ("//", "%"):
                continue
            n = atom.right
            if not isinstance(n, int) or n <= 0:
                continue
            term, others = [
                integers.Integer(((m, c),)) if m else c
                for m in (monomial, (*monomial[:k], *monomial[k + 1 :]))
            ]
            if atom.op == "//":
                exact = atom.left - integers.mod(atom.left, n)
                return (value - term) * n + others * exact, ranges
            name = str(atom)
            return value - term + others * integers.symbol(name), {**ranges, name: (0, n)}
    return None


def exact(value: Int, ranges: Ranges) -> bool:
    """Whether 64 bits hold an expression, and all that it is made of."""
    return _magnitude(value, ranges) < WRAPS


def _magnitude(value: Int, ranges: Ranges) -> int:
    """What the absolute value of an expression does not exceed."""
    if isinstance(value, int):
        return abs(value)
    total = 0
    for monomial, c in value.terms:
        part = abs(c)
        for atom in monomial:
            part *= _factor(atom, ranges)
        total += part
    return total


def _factor(atom: integers.Atom, ranges: Ranges) -> int:
    if isinstance(atom, integers.Binary):
        left, right = _magnitude(atom.left, ranges), _magnitude(atom.right, ranges)
        return right if atom.op == "%" else max(left, right)
    name = str(atom)
    return max([_magnitude(e, ranges) for e in ranges[name]]) if name in ranges else LONGEST


@lru_cache(1 << 12)
def _above_least(value: Int, names: tuple[str, ...]) -> Int:
    """An expression in terms of how far the named symbols are above the least that they can be."""
    return integers.substitute(
        value, {n: integers.symbol(n) + (0 if n.startswith(COUNT) else 2) for n in names}
    )


def _adds_up(above: Int) -> bool:
    """Whether an expression in what is not negative is a sum of what is not negative."""
    if isinstance(above, int):
        return above >= 0
    return all(c >= 0 and all(map(_is_not_negative, atoms)) for atoms, c in above.terms)


def _is_not_negative(atom: integers.Atom) -> bool:
    """Whether a factor is what is not negative, or made of that. Divisors are positive."""
    if not isinstance(atom, integers.Binary) or atom.op in ("%", "root"):
        return True
    if atom.op == "max":
        return _adds_up(atom.left) or _adds_up(atom.right)
    return _adds_up(atom.left) and _adds_up(atom.right)


def _depth(name: str, ranges: Ranges) -> int:
    """How many ranges, one in terms of the next, follow from this symbol's."""
    if name not in ranges:
        return 0
    names = {n for end in ranges[name] for n in integers.symbols(end)}
    return 1 + max([_depth(n, ranges) for n in names], default=0)


def at_most(a: Int, b: Int, ranges: Ranges | None = None) -> bool:
    """Whether `a <= b` is certain."""
    return nonnegative(b - a, ranges or {})


def ordered(values: set[Int]) -> list[Int] | None:
    """The values in increasing order, or None where the order is not known."""
    result: list[Int] = []
    # Of equal ones the first is kept as it is written: the same in each process.
    for value in sorted(values, key=repr):
        for k, other in enumerate(result):
            if at_most(value, other):
                result.insert(k, value)
                break
            if not at_most(other, value):
                return None
        else:
            result.append(value)
    return result


def unravel(flat: Int, shape: tuple[Int, ...], ranges: Ranges) -> tuple[Int, ...]:
    """The position of the C-order position `flat` in `shape`; free of divisions where the ranges
    show how."""
    result: list[Int] = []
    for size in reversed(shape[1:]):
        quotient, rest = divide(flat, size, ranges)
        result.append(rest)
        flat = quotient
    return (flat, *reversed(result)) if shape else ()


def divide(value: Int, divisor: Int, ranges: Ranges) -> tuple[Int, Int]:
    """Quotient and remainder of a non-negative expression."""
    if isinstance(value, int) and isinstance(divisor, int):
        return divmod(value, divisor) if divisor else (0, 0)
    whole: Int = 0
    rest: Int = 0
    terms: list[Int] = (
        [value]
        if isinstance(value, int)
        else [integers.Integer(((m, c),)) if m else c for m, c in value.terms]
    )
    for term in terms:
        quotient = integers.floordiv(term, divisor)
        if quotient * divisor == term:
            whole = whole + quotient
        else:
            rest = rest + term
    if isinstance(rest, int) and isinstance(divisor, int):
        return whole + rest // divisor, rest % divisor
    if nonnegative(rest, ranges) and nonnegative(divisor - 1 - rest, ranges):
        return whole, rest
    return integers.floordiv(value, divisor), integers.mod(value, divisor)


def divides(value: Int) -> bool:
    """Whether an expression holds a quotient or remainder."""
    return not isinstance(value, int) and any(
        isinstance(a, integers.Binary) for m, _ in value.terms for a in m
    )


def reshape_index(
    index: tuple[Int, ...], old: tuple[Int, ...], new: tuple[Int, ...], ranges: Ranges
) -> tuple[Int, ...]:
    """The position in `old` of position `index` of the same elements in shape `new`, by groups of
    axes with equal products."""
    source = [k for k, s in enumerate(old) if not _is(s, 1)]
    target = [k for k, s in enumerate(new) if not _is(s, 1)]
    result: list[Int] = [0] * len(old)
    if any(_is(s, 0) for s in old):
        return tuple(result)
    while source and target:
        mine, theirs = [source.pop(0)], [target.pop(0)]
        left, right = old[mine[0]], new[theirs[0]]
        while not same(left, right) and (source or target):
            if source and (not target or _smaller(left, right)):
                mine.append(source.pop(0))
                left = left * old[mine[-1]]
            else:
                theirs.append(target.pop(0))
                right = right * new[theirs[-1]]
        flat: Int = 0
        for k in theirs:
            flat = flat * new[k] + index[k]
        for k, position in zip(
            mine, unravel(flat, tuple(old[k] for k in mine), ranges), strict=True
        ):
            result[k] = position
    return tuple(result)


def _is(size: Int, number: int) -> bool:
    return isinstance(size, int) and size == number


def _smaller(left: Int, right: Int) -> bool:
    difference = right - left
    return difference > 0 if isinstance(difference, int) else nonnegative(difference - 1, {})


def largest(values: Sequence[Int]) -> Int:
    """The largest, where a symbolic size counts as larger than any number."""
    return max(values, key=lambda v: v if isinstance(v, int) else 1 << 62)
