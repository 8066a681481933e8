"""What a loop carries: its structure, and the types of its leaves, which Python's numbers take from
the steps.

NumPy's rule for Python's numbers (NEP 50) is that they raise no dtype: in a Python loop `c = 0.3; c
= c * x` is of x's dtype after the first step. So a leaf that starts as one is weak until a step
makes an array of it. Eagerly it is a scalar that promotes as the number until then; a compiled
loop, whose types stay, is traced for the types at which that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import promote
from ..ir.operands import PLAIN
from ..ir.trace import user_line
from ..ops import convert
from ..ops.elementwise.arithmetic import number
from ..tape.copies import copied
from ..tensor import Array, Boxed, Tensor, inside
from ..transforms.tracing import check_leaf, leaf_type, plain
from ..transforms.weak import FITS, agreed, as_array, kind_of
from ..tree import flatten, orders_of, unflatten
from ..types import ArrayType, equal_types
from ..weak import WEAK, as_python, weak
from .region import NUMBERS, TracedRegion, made_by, path_of

_LEAVES = frozenset((*(PLAIN - {bool, int, float, complex}), Array, Tensor))
"""Arrays, by their class: to look one up costs less than asking what it is an instance of."""


class GivenCarry:
    """The leaves of an initial carry, their structure, and their types as far as the steps that
    were taken tell."""

    def __init__(self, who: str, init: Any) -> None:
        self.who = who
        self.leaves, self.spec = flatten(init)
        for x in self.leaves:
            check_leaf(x, f"{who}: the initial carry holds")
        self.kinds = list(map(leaf_type, self.leaves))
        self.each: list[frozenset[type]] = []
        """Of each leaf, the classes of what a step may return without being looked at; nothing
        before the first one."""
        self.alone: frozenset[type] = frozenset()
        """Those of a carry that is one leaf."""
        self.ordered = bool(orders_of(self.spec))
        """Whether there are dicts in it, whose keys stay in the order of the initial carry."""

    # --- eagerly ------------------------------------------------------------------------------

    def start(self) -> Any:
        """The initial carry, of arrays that the body may write into."""
        found = [
            _weak(x, k) if k.weak else copied(x)
            for x, k in zip(self.leaves, self.kinds, strict=True)
        ]
        return unflatten(self.spec, found)

    def next(self, carry: Any) -> Any:
        """What a step returned as the next one gets it: a Python number in the place of an array is
        one of its dtype."""
        kind = type(carry)
        if kind in self.alone:
            return carry
        if self.each and (kind is tuple or kind not in _LEAVES):
            leaves = carry if kind is tuple else flatten(carry)[0]
            for x, kinds in zip(leaves, self.each, strict=False):
                if type(x) not in kinds:
                    break
            else:
                if len(leaves) == len(self.each):
                    return unflatten(self.spec, leaves) if self.ordered else carry
        leaves, found = flatten(carry)
        after = list(map(leaf_type, leaves)) if found == self.spec else []
        self.meet(found, after, leaves)
        self.each = [
            frozenset((type(weak(0, k.dtype.kind)),)) if k.weak else _LEAVES for k in self.kinds
        ]
        self.alone = self.each[0] if len(self.each) == 1 and self.spec.is_leaf() else frozenset()
        return unflatten(
            self.spec, [_given(x, a, k) for x, a, k in zip(leaves, after, self.kinds, strict=True)]
        )

    # --- in a trace ---------------------------------------------------------------------------

    def trace(
        self,
        step: Callable[[Sequence[ArrayType]], TracedRegion],
        carry_of: Callable[[Any], Any] = lambda out: out,
    ) -> TracedRegion:
        """The step, traced for the types that it keeps; `carry_of` takes the carry out of its
        result."""
        while True:
            before = list(self.kinds)
            # A bool is NumPy's in running code too: `~done` means the same in both.
            traced = step([as_array(k) if k.dtype.kind == "b" else k for k in before])
            numbers, spec = flatten(
                carry_of(unflatten(traced.out_spec, list(range(len(traced.kinds)))))
            )
            self.meet(
                spec, [traced.kinds[k] for k in numbers], [traced.graph.outputs[k] for k in numbers]
            )
            pairs = list(zip(before, self.kinds, strict=True))
            if all(equal_types(a, b) for a, b in pairs) or (
                traced.as_arrays and all(equal_types(as_array(a), as_array(b)) for a, b in pairs)
            ):
                return traced

    def operands(self) -> list[Any]:
        """The initial carry as values of the innermost trace, of the types that the steps keep."""
        found = []
        for x, kind in zip(self.leaves, self.kinds, strict=True):
            value = inside(_exact(x, kind) if isinstance(x, NUMBERS) else x)
            found.append(convert(value, kind.dtype))
        return found

    @property
    def types(self) -> list[ArrayType]:
        """The types of the carry in the loop, where all are arrays."""
        return list(map(as_array, self.kinds))

    def result(self, values: Sequence[Any], steps: Any) -> Any:
        """The last carry after so many steps: what none of them made an array is the Python number
        still."""

        def last(value: Any, x: Any, kind: ArrayType) -> Any:
            if isinstance(x, NUMBERS) and isinstance(steps, int) and steps == 0:
                return x
            return number(value) if kind.weak else plain(value)

        return unflatten(self.spec, list(map(last, values, self.leaves, self.kinds)))

    # --- both ---------------------------------------------------------------------------------

    def meet(self, found: Any, after: Sequence[ArrayType], results: Sequence[Any]) -> None:
        """Take note of what a step returned; a TypeError where that is not like the carry it was
        given."""
        if found != self.spec:
            raise TypeError(
                f"{user_line()}: {self.who}: the body returned a carry of structure {found}, "
                f"the initial carry has {self.spec}"
            )
        for k, (before, now) in enumerate(zip(list(self.kinds), after, strict=True)):
            if before == now:
                continue
            joined = _joined(before, now)
            if joined is None:
                path = path_of(self.spec.paths()[k])
                raise TypeError(
                    f"{user_line()}: {self.who}: the carry {path} changes from "
                    f"{as_array(before)} to {as_array(now)}; a carry keeps its dtype and shape "
                    f"(convert the initial value){made_by(results[k])}"
                )
            self.kinds[k] = joined


def _joined(before: ArrayType, after: ArrayType) -> ArrayType | None:
    """The type that a leaf has from now on; None where the two do not go together."""
    joined = agreed(before, after, FITS, FITS)
    # What is an array stays as it is.
    if joined is None or not all(
        kind.weak or equal_types(joined, kind) for kind in (before, after)
    ):
        return None
    return joined


def _given(x: Any, found: ArrayType, wanted: ArrayType) -> Any:
    if not found.weak:
        return x
    return _weak(x, wanted) if wanted.weak else _exact(x, wanted)


def _weak(x: Any, kind: ArrayType) -> Any:
    """A number as one that promotes as Python's; one that is differentiated by is such a number."""
    return x if isinstance(x, Boxed) else weak(x, kind.dtype.kind)


def _exact(x: Any, kind: ArrayType) -> Any:
    """A Python number as a scalar of a dtype; an OverflowError where it is an integer that does not
    fit."""
    if isinstance(x, Boxed):
        return convert(x, kind.dtype)
    try:
        return np.array(as_python(x), kind.dtype)[()]
    except OverflowError:
        raise OverflowError(
            f"{user_line()}: a loop carries the integer {x} where its steps give "
            f"{kind.dtype.name}, which does not hold it (convert the initial value)"
        ) from None


def arrays_of(column: Sequence[Any]) -> list[Any]:
    """What steps returned at one place, as arrays: Python's numbers among them raise no dtype."""
    if not any(type(x) in NUMBERS or isinstance(x, WEAK) for x in column):
        return list(column)
    dtype = promote(*map(kind_of, map(leaf_type, column)))
    return [_exact(x, ArrayType(dtype)) if isinstance(x, NUMBERS) else x for x in column]


__all__ = ["GivenCarry", "arrays_of"]
