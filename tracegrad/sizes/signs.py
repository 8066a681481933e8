"""What the form of a size shows of its sign: each size is 2 at least, as 0 and 1 are sizes of their
own."""

from __future__ import annotations

from typing import Any

from .._codegen import integers
from .owners import SIZES, Int, answered, is_late


def not_negative(value: Int) -> bool:
    """Whether the form shows that a size is not negative."""
    if isinstance(value, int):
        return value >= 0
    names = integers.symbols(value)
    if not answered(value):
        # Of the counts of a loop mostly nothing is asked.
        return not is_late(value) or bool(SIZES.open[-1].proven("<=", integers.mul(-1, value)))
    atoms = {atom for monomial, _ in value.terms for atom in monomial}
    if all(isinstance(atom, integers.Symbol) for atom in atoms):
        value = integers.substitute(value, {n: integers.symbol(n) + 2 for n in names})
        return isinstance(value, int) or all(c > 0 for _, c in value.terms)
    return all(c > 0 for _, c in value.terms) and all(map(_atom_not_negative, atoms))


def _atom_not_negative(atom: integers.Atom) -> bool:
    if isinstance(atom, integers.Binary) and atom.op in ("min", "max"):
        known = [not_negative(atom.left), not_negative(atom.right)]
        return any(known) if atom.op == "max" else all(known)
    return True  # quotients and remainders are made of what is not negative


def positive(value: Any) -> bool:
    """Whether the form shows that a size is positive: symbols are, of which each is 2 at least."""
    if isinstance(value, int):
        return value > 0
    return isinstance(value, integers.Integer) and all(
        c > 0 and all(isinstance(atom, integers.Symbol) for atom in monomial)
        for monomial, c in value.terms
    )
