"""From operations to kernel code: the one place where lowering kinds are matched.

An `Emitter` writes statements into a stack of scopes, one per open loop. `element(value, index)` is
the value of one element of a graph variable: a load where it is stored, else code computed on the
spot from its operands' elements. Every (variable, index) is computed once per scope, in the
outermost scope where its index is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from .._codegen import integers, kernel, lowering, traversal
from ..ir.graph import Atom, Literal, Node, Var
from ..ops.elementwise.arithmetic import sub_op
from ..ops.elementwise.derived import add_op
from ..sizes import same_shape
from ..types import Int, Shape
from .bounds import divides, reshape_index
from .counts import counted_by
from .dry_runs import DryRuns, Probe
from .gathering import gathering
from .indices import Index, aligned, is_empty, is_one, place
from .names import Names, comment_of
from .piecewise import piecewise
from .steps import Steps, run
from .values import COMBINING, INT64, converted, identity, nothing

UNROLLED = 8
"""A reduction over at most this many elements is one expression."""
SMALL = 5
"""Arrays of at most so many elements are written out inside loops, where they can live in
registers."""


@dataclass(frozen=True)
class Storage:
    """Where a variable's elements are: `buffer[prefix + index]`."""

    buffer: str
    shape: Shape
    prefix: Index = ()
    leading: int = 0
    """How many leading axes of the variable the buffer does not have, because one slice of it lives
    at a time."""
    ring: int = 0
    """How many slices of the variable live at a time, each in the place of the one so many before
    it; 0 where all do."""
    spare: bool = False
    """Whether the buffer has a slice more than the variable, along its first axis."""
    skipped: int = 0
    """How many slices of the buffer stand before the first of the variable."""

    def at(self, index: Index) -> Index:
        """The place in the buffer of an element of the variable."""
        if self.ring:
            return (*self.prefix, integers.mod(index[0], self.ring), *index[1:])
        if self.skipped:
            return (*self.prefix, index[0] + self.skipped, *index[1:])
        return (*self.prefix, *index[self.leading :])

    def row(self, step: Int) -> Storage:
        """Where one slice of the variable is."""
        return Storage(self.buffer, self.shape[1:], (*self.prefix, step + self.skipped))


@dataclass
class Scope:
    """The statements of one open loop or branch; nothing moves out of a barrier."""

    barrier: bool = False
    statements: list[kernel.Statement] = field(default_factory=list)
    memo: dict[tuple[Any, ...], kernel.Expression] = field(default_factory=dict)


def is_small(shape: Shape) -> bool:
    """Whether an array is small enough to be written out, element by element."""
    size = integers.product(shape)
    return isinstance(size, int) and 0 < size <= SMALL


class Emitter:
    def __init__(self, names: Names, checked: bool = True, contract: bool = False) -> None:
        self.names, self.checked, self.contract = names, checked, contract
        self.scopes: list[Scope] = [Scope(barrier=True)]
        self.depths: dict[str, int] = {}
        self.ranges: dict[str, tuple[Int, Int]] = {}
        self.storage: dict[Var, Storage] = {}
        self.definitions: dict[Var, tuple[Node, int]] = {}
        self.counts: dict[Var, Int] = {}
        """The numbers of steps that bodies of open loops are given."""
        self.buffers: dict[str, kernel.Buffer] = {}
        self.sizes: set[str] = set()
        """The sizes that are known only while the kernel runs."""
        self.made: set[str] = set()
        """The buffers of such sizes whose memory is provided for."""
        self.errors: list[str] = []
        self.probe: Probe | None = None
        self.dry_runs = DryRuns()
        self.active: list[str] = []
        self.differences: dict[str, frozenset[kernel.Expression]] = {}

    # --- scopes -----------------------------------------------------------------------------------

    def emit(self, statement: kernel.Statement) -> None:
        self.scopes[-1].statements.append(statement)

    def depth_of(self, values: Iterable[Int]) -> int:
        """The depth of the outermost scope in which all these indices are known."""
        depth = max([k for k, s in enumerate(self.scopes) if s.barrier], default=0)
        for value in values:
            if not isinstance(value, int):
                depth = max([depth, *[self.depths.get(n, 0) for n in integers.symbols(value)]])
        return min(depth, len(self.scopes) - 1)

    @contextmanager
    def at(self, depth: int) -> Iterator[None]:
        """Write into an outer scope for a while."""
        saved = self.scopes
        self.scopes = saved[: depth + 1]
        try:
            yield
        finally:
            self.scopes = saved

    @contextmanager
    def scope(self, barrier: bool = False) -> Iterator[Scope]:
        inner = Scope(barrier)
        if self.probe is not None:
            self.probe.hide()
        self.scopes = [*self.scopes, inner]
        try:
            yield inner
        finally:
            self.scopes = self.scopes[:-1]

    @contextmanager
    def loop(
        self,
        lo: Int,
        hi: Int,
        known: tuple[Int, Int] | None = None,
        barrier: bool = False,
        sequential: bool = False,
        hint: str = "",
    ) -> Iterator[Int]:
        """A loop around what is written inside; yields its index. Passes of a loop that has a name
        (`hint`) are each by itself."""
        name, there = self.names.loop(hint, self.active), set(self.buffers)
        self.active.append(name)
        with self.scope(barrier) as inner:
            self.depths[name] = len(self.scopes) - 1
            self.ranges[name] = known or (lo, hi)
            yield integers.symbol(name)
        del self.ranges[name]
        self.active.remove(name)
        if inner.statements:
            own = frozenset(b for b in self.buffers if b not in there and not self.buffers[b].of)
            self.emit(
                kernel.Loop(
                    name, lo, hi, tuple(inner.statements), sequential, own if hint else None
                )
            )

    @property
    def again(self) -> bool:
        """Whether what is written now runs many times."""
        return len(self.scopes) > 1

    @contextmanager
    def nest(self, shape: Shape) -> Iterator[Index]:
        """Loops over all of `shape`."""
        with ExitStack() as stack:
            yield tuple(
                [0 if is_one(size) else stack.enter_context(self.loop(0, size)) for size in shape]
            )

    def positions(self, shape: Shape) -> Iterator[Index]:
        """All places of a small array, or the one place inside of loops over a larger one."""
        if is_small(shape):
            yield from product(*[range(int(s)) for s in shape])
            return
        with self.nest(shape) as index:
            yield index

    def let(self, hint: str, value: kernel.Expression, comment: str = "") -> kernel.Name:
        name = hint if self.probe else self.names.fresh(hint)
        self.depths[name] = len(self.scopes) - 1
        self.emit(kernel.Let(name, value, comment))
        return kernel.Name(name, value.dtype)

    def declare(self, hint: str, value: kernel.Expression) -> kernel.Name:
        self.emit(kernel.Declare(name := hint if self.probe else self.names.fresh(hint), value))
        return kernel.Name(name, value.dtype)

    def remember(self, var: Atom, index: Index, value: kernel.Expression) -> None:
        self.scopes[-1].memo[var, index] = value

    # --- elements ---------------------------------------------------------------------------------

    def element(self, atom: Atom, index: Index) -> kernel.Expression:
        """One element of a variable or a literal, as a name or a constant."""
        return self.ready(atom, index) or run(self.making(atom, index), self.ready, self.making)

    def computed(self, var: Var, index: Index) -> kernel.Expression:
        """One element by its definition, even where the variable is stored."""
        return run(self.making(var, index), self.ready, self.making)

    def ready(self, atom: Atom, index: Index) -> Any:
        """What need not be computed; None for what must be."""
        if isinstance(atom, Literal):
            if isinstance(atom.value, integers.Integer):
                return kernel.Index(atom.value)
            value: Any = atom.value.item() if isinstance(atom.value, np.generic) else atom.value
            return kernel.Literal(value, atom.type.dtype)
        for scope in reversed(self.scopes):
            found = scope.memo.get((atom, index))
            if found is not None:
                if self.probe is not None:
                    self.probe.ask((atom, index))
                return found
        if self.probe is not None and len(self.scopes) == 1:
            met = self.probe.meet((atom, index), self.scopes[0].memo)
            if met is not None:
                return met
        if atom in self.counts:
            return kernel.Index(self.counts[atom])
        if is_empty(atom.type.shape):
            # There is none, and no read of it (nor its check) may move out of the loops that never
            # run.
            return nothing(atom.type.dtype)
        if atom in self.storage:
            return self.load(atom, index)
        return None

    def is_all_of(self, where: Storage) -> bool:
        """Whether a value lies in all of a buffer, not in a part of it."""
        buffer = self.buffers[where.buffer]
        if where.prefix or where.leading or where.ring:
            return False
        # What holds one number has a place for it.
        return same_shape(buffer.shape, where.shape or (1,))

    def load(self, var: Var, index: Index) -> kernel.Expression:
        where = self.storage[var]
        at = where.at(index)
        if len(at) < len(self.buffers[where.buffer].shape):
            at = (*at, 0)
        with self.at(self.depth_of([*at, *index])):
            suffix = "_".join(re.sub(r"\W+", "_", str(i)).strip("_") for i in index)
            hint = f"{where.buffer}_{suffix if len(suffix) < 16 else 'e'}"
            name = self.let(hint, kernel.Load(where.buffer, at, var.type.dtype))
            self.remember(var, index, name)
            if self.probe is not None:
                self.probe.read(var, index, name, len(self.scopes) == 1)
            return name

    def making(self, var: Any, index: Index) -> Steps[kernel.Expression]:
        """One element by its definition."""
        with self.at(self.depth_of(index)):
            probe = self.probe if len(self.scopes) == 1 else None
            if probe is not None:
                probe.begin(len(self.scopes[0].statements))
            value = yield from self.define(var, index)
            self.remember(var, index, value)
            if probe is not None:
                kept = var not in self.storage
                probe.end((var, index), value, len(self.scopes[0].statements), kept)
            return value

    def define(self, var: Var, index: Index) -> Steps[kernel.Expression]:
        if var not in self.definitions:
            return self.load(var, index)
        node, _ = self.definitions[var]
        rule = node.op.lowering
        match rule:
            case lowering.Pointwise():
                return (yield from self.pointwise(node, rule, var, index))
            case lowering.View():
                return (yield from self.viewed(node, rule, index))
            case lowering.Piecewise():
                return (yield from piecewise(self, node, rule, var, index))
            case lowering.Gather():
                source = node.inputs[0]
                entries = rule.index(index, tuple(a.type.shape for a in node.inputs), node.params)
                at = yield from gathering(self, node, entries, source)
                if at is None:
                    return nothing(var.type.dtype)
                return (yield source, at)  # type: ignore[no-any-return]
            case lowering.Reduce():
                return (yield from self.reduced(node, rule, var, index))
        raise AssertionError(f"{node.op.name} must be stored before its elements are read")

    def pointwise(
        self, node: Node, rule: lowering.Pointwise, var: Var, index: Index
    ) -> Steps[kernel.Expression]:
        dtypes = (
            node.op.compute(*node.inputs, **node.params)
            if node.op.compute
            else tuple(a.type.dtype for a in node.inputs)
        )
        code = rule.template(node.params, dtypes)
        arguments: list[tuple[str, kernel.Expression]] = []
        for name, atom, dtype in zip(node.op.inputs, node.inputs, dtypes, strict=True):
            at = aligned(index, atom.type.shape)
            value = yield atom, at
            arguments.append((name, converted(value, dtype)))
        if node.op is add_op:
            for k, (_, value) in enumerate(arguments):
                if isinstance(value, kernel.Literal) and value.absent:
                    return arguments[1 - k][1]
        number = None
        if var.type.dtype == INT64:
            number = counted_by(node.op, [x for _, x in arguments], self.ranges)
        if number is not None:
            return number
        counted = False
        for k, i in enumerate(index):
            if f"{{{k}}}" in code:
                counted = True
                arguments.append((str(k), kernel.Index(i)))
        dtype = var.type.dtype
        value = kernel.Apply(code, tuple(arguments), dtype)
        if counted and dtype != INT64:
            value = kernel.Apply(
                "{x}", (("x", kernel.Apply(code, tuple(arguments), INT64)),), dtype
            )
        return self.shared(node, var, value)

    def shared(self, node: Node, var: Var, value: kernel.Expression) -> kernel.Name:
        """A name for the value, the one it has already where it is computed from the same names."""
        if self.probe is not None or not self.bound_once(value):
            return self.let(self.names.of(var), value, comment_of(node))
        key: tuple[Any, ...] = (traversal.written(value),)
        if isinstance(value, kernel.Apply) and node.op.is_even(node.params):
            x = value.arguments[0][1]
            if isinstance(x, kernel.Name) and x.name in self.differences and x.dtype.kind != "u":
                # The square of y - x is that of x - y: a sum over pairs in both directions computes
                # once what is symmetric.
                key = (value.code, value.dtype, self.differences[x.name])
        for scope in reversed(self.scopes):
            if key in scope.memo:
                found = scope.memo[key]
                assert isinstance(found, kernel.Name)
                return found
        name = self.let(self.names.of(var), value, comment_of(node))
        self.scopes[-1].memo[key] = name
        if node.op is sub_op and isinstance(value, kernel.Apply):
            self.differences[name.name] = frozenset(a for _, a in value.arguments)
        return name

    def bound_once(self, x: kernel.Expression) -> bool:
        """Whether all its names are made by `let`; an accumulator is another value later."""
        if isinstance(x, kernel.Apply):
            return all(self.bound_once(a) for _, a in x.arguments)
        return isinstance(x, kernel.Literal) or (
            isinstance(x, kernel.Name) and x.name in self.depths
        )

    def viewed(self, node: Node, rule: lowering.View, index: Index) -> Steps[kernel.Expression]:
        source = node.inputs[0]
        old, new = source.type.shape, node.outputs[0].type.shape
        if rule.reshape:
            at = reshape_index(index, old, new, self.ranges)
            if isinstance(source, Var) and any(divides(i) for i in at) and self.probe is None:
                alias = self.alias(source, new)
                if alias is not None:
                    return self.let(alias + "_e", kernel.Load(alias, index, source.type.dtype))
        else:
            at = rule.index(index, old, new, node.params)
        return (yield source, at)  # type: ignore[no-any-return]

    def alias(self, var: Var, shape: Shape) -> str | None:
        """A buffer that shows a stored contiguous variable in another shape, if it is one."""
        where = self.storage.get(var)
        if where is None or not self.is_all_of(where) or var.type.ndim == 0:
            return None
        buffer = self.buffers[where.buffer]
        if buffer.layout == "A":
            return None
        # What a region reads may lie in a view already, and a view shows an owner.
        owner = self.buffers[buffer.of or buffer.name]
        for other in (owner, *self.buffers.values()):
            if owner.name in (other.name, other.of) and same_shape(other.shape, shape):
                return other.name
        name = self.names.fresh(f"{owner.name}_reshaped")
        self.buffers[name] = kernel.Buffer(
            name,
            owner.dtype,
            shape,
            "local" if owner.role == "local" else "temp",
            "C",
            0,
            owner.name,
        )
        return name

    def noted(self, key: Any) -> Any:
        """What the scopes that are open know under a key, or None."""
        return next((s.memo[key] for s in reversed(self.scopes) if key in s.memo), None)

    def check(self, condition: kernel.Expression, message: str, value: kernel.Expression) -> None:
        if self.probe is None and self.checked:
            self.emit(kernel.Check(condition, self.error(message), value))

    def error(self, message: str) -> int:
        """The status code of a message."""
        if message not in self.errors:
            self.errors.append(message)
        return self.errors.index(message) + 1

    def reduced(
        self, node: Node, rule: lowering.Reduce, var: Var, index: Index
    ) -> Steps[kernel.Expression]:
        """A short reduction, computed on the spot."""
        source = node.inputs[0]
        dtype = var.type.dtype
        sizes = [source.type.shape[a] for a in node.params["axes"]]
        total = integers.product(sizes)
        kind: Any = rule.combine
        if isinstance(total, int) and 0 < total <= UNROLLED:
            result: kernel.Expression | None = None
            for position in np.ndindex(*[int(s) for s in sizes]):
                at = place(index, node, position)
                value = converted((yield source, at), dtype)
                result = (
                    value
                    if result is None
                    else kernel.Apply(COMBINING[kind], (("x", result), ("y", value)), dtype)
                )
            assert result is not None
            return self.shared(node, var, result)
        accumulator = self.declare(self.names.of(var), kernel.Literal(identity(rule, dtype), dtype))
        with self.nest(tuple(sizes)) as position:
            at = place(index, node, position)
            value = converted((yield source, at), dtype)
            self.emit(kernel.Update(accumulator.name, value, kind))
        return accumulator
