"""Names and expressions of a function that is translated to LLVM code: each is typed and emitted at
once."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from .calls import Calls
from .operands import (
    PLACED,
    ArrayFields,
    NumbaValue,
    Operand,
    Room,
    Static,
    Tuple,
    UntranslatableError,
)
from .values import Values

BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
OVERFLOWING = (ast.Add, ast.Sub, ast.Mult)


class Again(Exception):
    """Something about a variable became known too late: translate the function once more."""


class Expressions:
    """The part of a function being translated that knows its variables and emits expressions."""

    calls: Calls
    values: Values
    builder: Any
    outside: dict[str, Any]
    """What the function finds outside of itself."""
    inside: Collection[str]
    """The names of its own variables."""
    kinds: dict[str, Any]
    """The types of the variables that need memory: assigned in several places, or read outside of
    the block of their assignment."""
    names: list[dict[str, Operand]]
    """The variables of the open blocks, innermost last."""
    places: dict[str, Any]
    current: dict[str, str]
    scratch: list[Room]
    lacking: Any
    """Where a function goes on that gets no memory."""
    growing: dict[str, Room]
    """The arrays that move when they grow, by name."""
    wraps: bool
    """Whether its integers are values, which wrap around, and not places in arrays that it got."""

    # --- variables --------------------------------------------------------------------------------

    @contextmanager
    def block(self) -> Any:
        self.names.append({})
        try:
            yield
        finally:
            self.names.pop()

    def assign_name(self, name: str, x: Operand) -> None:
        # A tuple is no variable of its own, nor is an array: they are bound anew where they are
        # assigned.
        kind = self.values.type_of(x)
        if name not in self.kinds or not isinstance(kind, PLACED):
            if isinstance(x, NumbaValue):
                x = self.values.taken(self.builder, x)
            elif isinstance(x, Static) and name in self.kinds and not isinstance(kind, PLACED):
                raise UntranslatableError(f"{name} is assigned several times")
            if (
                name in self.kinds
                and not isinstance(kind, PLACED)
                and len(self.names) > 1
                and self.known(name)
            ):
                raise UntranslatableError(f"{name} is bound anew inside of a block")
            self.names[-1][name] = x
            return
        key = self.current.get(name, name)
        if self.kinds[key] not in (None, kind):
            try:
                wider = self.values.unify(self.kinds[key], kind)
            except UntranslatableError:
                if len(self.names) > 1:
                    raise
                # Bound anew outside of all blocks: from here on the name means another variable.
                key = self.current[name] = f"{key}'"
                wider = kind
            if key in self.kinds and wider != self.kinds[key]:
                self.kinds[key] = wider
                raise Again
        if self.kinds.get(key) is None:
            self.kinds[key] = kind
        if key not in self.places:
            self.places[key] = cgutils.alloca_once(
                self.builder, self.values.context.get_value_type(self.kinds[key])
            )
        self.builder.store(self.values.cast(self.builder, x, self.kinds[key]), self.places[key])

    def known(self, name: str) -> Operand | None:
        return next((scope[name] for scope in reversed(self.names) if name in scope), None)

    def name(self, name: str) -> Operand:
        key = self.current.get(name, name)
        if key in self.places:
            return NumbaValue(self.kinds[key], self.builder.load(self.places[key]))
        found = self.known(name)
        if name in self.growing and isinstance(found, ArrayFields):
            address = self.builder.bitcast(
                self.builder.load(self.growing[name].address), found.data.type
            )
            return self.values.assembled(
                self.builder, found.type, address, found.shape, found.strides, self.growing[name]
            )
        if found is not None:
            return found
        if name in self.inside:
            if name in self.kinds:
                raise UntranslatableError(f"{name} is read before it is assigned")
            self.kinds[name] = None
            raise Again
        if name not in self.outside:
            raise UntranslatableError(f"{name} is not defined")
        return Static(self.outside[name])

    # --- expressions ------------------------------------------------------------------------------

    def expression(self, e: ast.expr) -> Operand:
        b = self.builder
        match e:
            case ast.Constant(value):
                return Static(value)
            case ast.Name(name):
                return self.name(name)
            case ast.BinOp(left, op, right):
                return self.operate(op, self.expression(left), self.expression(right))
            case ast.UnaryOp(op, x):
                return self.calls.operate(b, BINARY[type(op)], self.expression(x))
            case ast.Compare(left, ops, rights):
                return self.comparison(left, ops, rights)
            case ast.BoolOp(op, parts):
                return self.joined(isinstance(op, ast.And), parts, self.expression)
            case ast.IfExp(test, x, y):
                plain = isinstance(x, (ast.Name, ast.Constant)) and isinstance(
                    y, (ast.Name, ast.Constant)
                )
                return self.choice(
                    self.condition(test),
                    lambda: self.expression(x),
                    lambda: self.expression(y),
                    plain,
                )
            case ast.Tuple(parts):
                return Tuple(tuple(self.expression(p) for p in parts))
            case ast.Attribute(base, name):
                return self.calls.attribute(b, self.expression(base), name)
            case ast.Subscript(base, at):
                return self.calls.item(b, self.expression(base), self.indices(at))
            case ast.Call(ast.Attribute(base, name), args, []):
                owner = self.expression(base)
                given = [self.expression(a) for a in args]
                if isinstance(owner, Static) and owner.value is np and name in ("empty", "zeros"):
                    return self.space(name == "zeros", *given)
                if isinstance(owner, Static):
                    return self.calls.call(b, getattr(owner.value, name), given)
                return self.calls.method(b, owner, name, given)
            case ast.Call(function, args, []):
                called = self.expression(function)
                given = [self.expression(a) for a in args]
                if not isinstance(called, Static):
                    raise UntranslatableError("a call of a value")
                return self.calls.call(b, called.value, given)
        raise UntranslatableError(f"expression {type(e).__name__}")

    def space(self, zero: bool, shape: Operand, dtype: Operand) -> Operand:
        """`np.empty(shape, dtype)`: memory that lives until the function returns, or comes here
        again."""
        room = self.values.room(self.builder)
        self.scratch.append(room)
        made, size = self.values.allocated(
            self.builder, room, self.calls.items(self.builder, shape), dtype
        )
        self.check_memory(room, size)
        if zero:
            cgutils.memset(self.builder, self.builder.load(room.address), size, 0)
        return made

    def grow(self, name: str, length: Operand) -> None:
        """`name = grown(name, length)`: what stands in memory made by `np.empty` may move."""
        x = self.known(name)
        if name not in self.growing or not isinstance(x, ArrayFields):
            raise UntranslatableError(f"{name} cannot grow")
        self.check_memory(
            self.growing[name], self.values.grown(self.builder, self.growing[name], x, length)
        )

    def check_memory(self, room: Room, size: Any) -> None:
        """A kernel never raises: it says what it lacks, and returns; a function in it that cannot
        say so counts it, and the kernel looks at the count."""
        b, status = self.builder, self.names[0].get("status")
        with b.if_then(
            b.icmp_unsigned(
                "==", b.load(room.address), ir.Constant(ir.IntType(8).as_pointer(), None)
            ),
            likely=False,
        ):
            if isinstance(status, ArrayFields):
                self.values.store(b, status, [Static(0)], Static(-1))
                self.values.store(b, status, [Static(1)], NumbaValue(types.int64, size))
            else:
                count, bytes_wanted = self.values.lack()
                b.store_atomic(size, bytes_wanted, "monotonic", 8)
                b.atomic_rmw("add", count, ir.Constant(size.type, 1), "release")
            # One way out for all of them: each frees everything, which is much code in a function
            # of many arrays.
            self.lacking = self.lacking or b.append_basic_block("lacking")
            b.branch(self.lacking)

    def tell_lack(self, function: Any) -> None:
        """Record in `status`, at each end of a kernel, that there was no memory within it."""
        status, lack = self.names[0]["status"], self.values.lack()
        assert isinstance(status, ArrayFields)
        b = ir.IRBuilder(function.entry_basic_block)
        b.position_at_start(function.entry_basic_block)
        before = b.load_atomic(lack[0], "acquire", 8)
        for block in function.blocks:
            if block.terminator.opname != "ret":
                continue
            b.position_before(block.terminator)
            told = b.icmp_signed("!=", b.load_atomic(lack[0], "acquire", 8), before)
            bytes_wanted = b.load_atomic(lack[1], "monotonic", 8)
            for place, value in enumerate((ir.Constant(before.type, -1), bytes_wanted)):
                at = [Static(place)]
                kept = self.values.cast(b, self.calls.item(b, status, at), types.int64)
                self.values.store(
                    b, status, at, NumbaValue(types.int64, b.select(told, value, kept))
                )

    def operate(self, op: ast.operator, x: Operand, y: Operand) -> Operand:
        """`x op y`. Numba tells LLVM that signed integers do not overflow, which is undefined where
        they do: that shortens what negative indices take, and is not said of values."""
        found = self.calls.operate(self.builder, BINARY[type(op)], x, y)
        if self.wraps and isinstance(op, OVERFLOWING) and isinstance(found, NumbaValue):
            if isinstance(found.type, types.Integer):
                found.ir.flags = [f for f in found.ir.flags if f != "nsw"]
        return found

    def indices(self, at: ast.expr) -> list[Operand]:
        found = self.expression(at)
        return list(found.items) if isinstance(found, Tuple) else [found]

    def comparison(
        self, left: ast.expr, ops: Sequence[ast.cmpop], rights: Sequence[ast.expr]
    ) -> Operand:
        x, result = self.expression(left), None
        if (
            isinstance(ops[0], (ast.Is, ast.IsNot))
            and isinstance(rights[0], ast.Constant)
            and rights[0].value is None
        ):
            return Static((isinstance(x, Static) and x.value is None) == isinstance(ops[0], ast.Is))
        if not all(type(op) in BINARY for op in ops):
            raise UntranslatableError("such a comparison")
        for op, right in zip(ops, rights, strict=True):
            # Operands are free of side effects, so a chain need not stop at its first false link.
            y = self.expression(right)
            link = self.calls.operate(self.builder, BINARY[type(op)], x, y)
            result = (
                link
                if result is None
                else self.calls.operate(self.builder, operator.and_, result, link)
            )
            x = y
        assert result is not None
        return result

    def condition(self, e: ast.expr) -> Operand:
        """A truth value; `and` and `or` of any numbers are one here."""
        if isinstance(e, ast.BoolOp):
            return self.joined(isinstance(e.op, ast.And), e.values, self.condition)
        x = self.expression(e)
        return (
            x
            if isinstance(x, Static)
            else NumbaValue(types.boolean, self.values.truth(self.builder, x))
        )

    def joined(
        self, every: bool, parts: Sequence[ast.expr], part: Callable[[ast.expr], Operand]
    ) -> Operand:
        """`and`, `or` of truth values."""
        first = part(parts[0])
        if len(parts) == 1:
            return first
        if isinstance(first, Static):
            return (
                self.joined(every, parts[1:], part)
                if bool(first.value) == every
                else Static(not every)
            )
        if not isinstance(self.values.type_of(first), types.Boolean):
            raise UntranslatableError("`and` of something else than truth values")
        rest, ended = (lambda: self.joined(every, parts[1:], part)), (lambda: Static(not every))
        return self.choice(first, rest if every else ended, ended if every else rest)

    def selected(self, test: Operand, x: Operand, y: Operand) -> Operand:
        """One of two numbers without a branch, which LLVM would fill with all that is computed for
        it, and could not vectorise then."""
        b = self.builder
        kind = self.values.unify(self.values.type_of(x), self.values.type_of(y))
        if not isinstance(kind, PLACED):
            raise UntranslatableError(f"a choice between values of type {kind}")
        return self.values.taken(
            b,
            NumbaValue(
                kind,
                b.select(
                    self.values.truth(b, test), *[self.values.cast(b, v, kind) for v in (x, y)]
                ),
            ),
        )

    def choice(
        self, test: Operand, x: Callable[[], Operand], y: Callable[[], Operand], plain: bool = False
    ) -> Operand:
        """One of two expressions, which are `plain` where computing both costs nothing."""
        if isinstance(test, Static):
            return x() if test.value else y()
        b = self.builder
        if plain:
            return self.selected(test, x(), y())
        yes, no, after = (b.append_basic_block(f"choice.{n}") for n in ("then", "else", "end"))
        b.cbranch(self.values.truth(b, test), yes, no)
        ends = []
        for block, make in ((yes, x), (no, y)):
            b.position_at_end(block)
            value = make()
            ends.append((b.block, value))
        kind = self.values.unify(*[self.values.type_of(v) for _, v in ends])
        if not isinstance(kind, (*PLACED, types.BaseTuple, types.Array)):
            raise UntranslatableError(f"a choice between values of type {kind}")
        merged = []
        for block, value in ends:
            b.position_at_end(block)
            merged.append((self.values.cast(b, value, kind), b.block))
            b.branch(after)
        b.position_at_end(after)
        phi = b.phi(merged[0][0].type)
        for value, block in merged:
            phi.add_incoming(value, block)
        return self.values.taken(b, NumbaValue(kind, phi))
