"""One pass from a function's syntax tree to LLVM code.

The functions that the printer and this package write are a small part of Python in which a name's
type is known where it is first assigned. So types need no inference: each expression is typed and
emitted at once, with Numba's own implementations of operators and functions, and with those of this
package translated in the same way. Whatever is not covered raises UntranslatableError, and Numba's
pipeline takes the function.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Protocol

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from .calls import Calls
from .sources import assignments
from .values import (
    PLACED,
    SCALARS,
    Array,
    Operand,
    Room,
    Static,
    Tuple,
    UntranslatableError,
    Value,
    side_by_side,
)

BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
WRITTEN_OUT = 16
"""Steps of the longest loop that is written out."""
HEAVY = 200
"""Instructions of a loop's body from which on two vectors of iterations are computed side by
side."""
SHORT = range(4, 24)
"""Passes of a loop that half of the widest registers hold, and that the whole would leave to single
numbers in good part."""
LIMIT = 40
"""How often a function is begun anew because a variable turned out to need a place in memory or a
wider type."""


class Unit(Protocol):
    """The module that a function becomes part of."""

    calls: Calls
    parts: set[str]
    """The names of the kernel itself and of the functions that it was cut into."""

    def settle(self, llvm: Any, kind: Any) -> None: ...

    def leave(self, builder: Any, kind: Any, value: Any) -> None: ...


class _Again(Exception):
    """Something about a variable became known too late: translate the function once more."""


class Function:
    """One function being translated into one LLVM function; `unit` is the module that it becomes
    part of."""

    def __init__(
        self, unit: Unit, function: FunctionType, tree: ast.FunctionDef | ast.Lambda
    ) -> None:
        self.unit, self.calls, self.values = unit, unit.calls, unit.calls.values
        self.tree = tree
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.outside = {
            **builtins.__dict__,
            **function.__globals__,
            **{n: c.cell_contents for n, c in cells},
        }
        count, self.grows = assignments(tree)
        self.inside = count.keys()
        self.kinds: dict[str, Any] = {name: None for name, times in count.items() if times > 1}
        """The types of the variables that need memory: assigned in several places, or read outside
        of the block of their assignment."""
        self.result: Any = None
        self.short = False
        """Whether it has innermost loops known to be short."""

    def translate(
        self, begin: Callable[[], Any], arguments: Callable[[Any], Sequence[Operand]]
    ) -> Any:
        """`begin()` makes the LLVM function, empty, each time that it is begun."""
        for _ in range(LIMIT):
            llvm = begin()
            self.settled = False
            self.builder = ir.IRBuilder(llvm.append_basic_block("entry"))
            self.names: list[dict[str, Operand]] = [{}]
            self.places: dict[str, Any] = {}
            self.current: dict[str, str] = {}
            self.ends: list[tuple[Any, Any]] = []
            self.scratch: list[Room] = []
            self.lacking: Any = None
            """Where a function goes on that gets no memory."""
            self.growing: dict[str, Room] = {}
            """The arrays that move when they grow, by name."""
            try:
                given = arguments(self.builder)
                for a, x in zip(self.tree.args.args, given, strict=True):
                    self.assign_name(a.arg, x)
                if isinstance(self.tree, ast.Lambda):
                    self.give_back(self.expression(self.tree.body))
                else:
                    self.body(self.tree.body)
                    if not self.builder.block.is_terminated:
                        self.give_back(Static(None))
                    self.give_up()
            except _Again:
                continue
            return llvm
        raise UntranslatableError("types do not settle")

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
            if isinstance(x, Value):
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
                raise _Again
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
            return Value(self.kinds[key], self.builder.load(self.places[key]))
        found = self.known(name)
        if name in self.growing and isinstance(found, Array):
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
            raise _Again
        if name not in self.outside:
            raise UntranslatableError(f"{name} is not defined")
        return Static(self.outside[name])

    # --- statements -------------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt]) -> None:
        for s in statements:
            if self.builder.block.is_terminated:
                return
            self.statement(s)

    def statement(self, s: ast.stmt) -> None:
        match s:
            case ast.Assign(
                [ast.Name(name)], ast.Call(ast.Name("grown"), [ast.Name(same), length])
            ) if same == name:
                self.grow(name, self.expression(length))
            case ast.Assign([target], value):
                before = len(self.scratch)
                self.assign(target, self.expression(value))
                if isinstance(target, ast.Name) and len(self.scratch) > before:
                    if self.ends or target.id in self.grows:
                        # In loops new memory takes the place of what was there.
                        self.values.moves(self.scratch[-1])
                    if target.id in self.grows:
                        self.growing[target.id] = self.scratch[-1]
            case ast.AnnAssign(target, _, value) if value is not None:
                self.assign(target, self.expression(value))
            case ast.AugAssign(target, op, value):
                old = self.expression(_reading(target))
                self.assign(
                    target,
                    self.calls.operate(self.builder, BINARY[type(op)], old, self.expression(value)),
                )
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), args, []), body, []):
                self.loop(name, [self.expression(a) for a in args], body)
            case ast.While(test, body, []):
                self.while_loop(test, body)
            case ast.If(test, then, otherwise):
                self.branch(test, then, otherwise)
            case ast.Return(value):
                self.give_back(self.expression(value) if value is not None else Static(None))
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value):
                self.expression(value)
            case ast.Break() | ast.Continue() if self.ends:
                after, again = self.ends[-1]
                self.builder.branch(after if isinstance(s, ast.Break) else again)
            case _:
                raise UntranslatableError(f"statement {type(s).__name__}")

    def assign(self, target: ast.expr, x: Operand) -> None:
        match target:
            case ast.Name(name):
                self.assign_name(name, x)
            case ast.Tuple(parts):
                for part, item in zip(parts, self.calls.items(self.builder, x), strict=True):
                    self.assign(part, item)
            case ast.Subscript(ast.expr() as base, at):
                array = self.expression(base)
                indices = self.indices(at)
                if (
                    not isinstance(array, Array)
                    or len(indices) != array.type.ndim
                    or not self.calls.all_integers(indices)
                ):
                    raise UntranslatableError("only elements of arrays are assigned")
                self.values.store(self.builder, array, indices, x)
            case _:
                raise UntranslatableError(f"assignment to {type(target).__name__}")

    def give_back(self, x: Operand) -> None:
        kind = self.values.type_of(x)
        wider = kind if self.result is None else self.values.unify(self.result, kind)
        if not isinstance(wider, (*SCALARS, types.NoneType, types.BaseTuple)):
            raise UntranslatableError(f"a result of type {wider}")
        if self.settled and wider != self.result:
            self.result = wider
            raise _Again
        if not self.settled:
            self.result, self.settled = wider, True
            self.unit.settle(self.builder.function, wider)
        value = self.values.cast(self.builder, x, self.result)
        for slot in self.scratch:
            self.values.free(self.builder, slot)
        self.unit.leave(self.builder, self.result, value)

    def give_up(self) -> None:
        """Where those places go on that got no memory."""
        if self.lacking is not None:
            self.builder.position_at_end(self.lacking)
            self.give_back(Static(None))

    def loop(self, name: str, limits: list[Operand], body: Sequence[ast.stmt]) -> None:
        b = self.builder
        start, stop = (Static(0), limits[0]) if len(limits) == 1 else (limits[0], limits[1])
        step = limits[2] if len(limits) == 3 else Static(1)
        if self.written_out(name, (start, stop, step), body):
            return
        known = [self.values.type_of(x) for x in (start, stop) if not isinstance(x, Static)]
        if not all(isinstance(k, types.Integer) for k in known):
            raise UntranslatableError("a range of something else than integers")
        unsigned = bool(known) and not any(k.signed for k in known)
        kind = types.uint64 if unsigned else types.int64
        first, last = self.values.cast(b, start, kind), self.values.cast(b, stop, kind)
        if (
            isinstance(first, ir.Constant)
            and isinstance(last, ir.Constant)
            and last.constant - first.constant in SHORT
        ):
            self.short = self.short or not any(
                isinstance(n, ast.For | ast.While) for s in body for n in ast.walk(s)
            )
        stride, down = self.values.cast(b, step, kind), isinstance(step, Static) and step.value < 0
        if not isinstance(step, Static) and not unsigned:
            raise UntranslatableError("a range with a step whose sign is not known")
        if down and unsigned:
            raise UntranslatableError("a range of unsigned integers downwards")
        before, head, inner, again, after = (
            b.block,
            *[b.append_basic_block(f"{name}.{n}") for n in ("test", "body", "next", "end")],
        )
        b.branch(head)
        b.position_at_end(head)
        counter = b.phi(ir.IntType(64))
        counter.add_incoming(first, before)
        compare = b.icmp_unsigned if unsigned else b.icmp_signed
        b.cbranch(compare(">" if down else "<", counter, last), inner, after)
        b.position_at_end(inner)
        count = len(b.function.blocks)
        with self.block():
            self.assign_name(name, Value(kind, counter))
            self.ends.append((after, again))
            self.body(body)
            self.ends.pop()
        if not b.block.is_terminated:
            b.branch(again)
        b.position_at_end(again)
        # Below a limit of its own type the counter cannot overflow, but for longer steps.
        one = isinstance(step, Static) and abs(step.value) == 1
        counter.add_incoming(
            b.add(counter, stride, flags=(("nuw",) if unsigned else ("nsw",)) if one else ()), again
        )
        latch = b.branch(head)
        if sum(len(block.instructions) for block in [inner, *b.function.blocks[count:]]) >= HEAVY:
            side_by_side(latch)
        b.position_at_end(after)

    def written_out(self, name: str, limits: Sequence[Operand], body: Sequence[ast.stmt]) -> bool:
        """Write a short loop of a scalar function out, if this is one: the loop around its call is
        not vectorised across another one."""
        if self.builder.function.name in self.unit.parts or not all(
            isinstance(x, Static) and type(x.value) is int for x in limits
        ):
            return False
        steps = range(*[x.value for x in limits if isinstance(x, Static)])
        leaves = any(
            isinstance(n, ast.Break | ast.Continue | ast.Return) for s in body for n in ast.walk(s)
        )
        if len(steps) > WRITTEN_OUT or leaves or name in self.kinds:
            return False
        for k in steps:
            with self.block():
                self.names[-1][name] = Static(k)
                self.body(body)
        return True

    def while_loop(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        b = self.builder
        head, inner, after = (b.append_basic_block(f"while.{n}") for n in ("test", "body", "end"))
        b.branch(head)
        b.position_at_end(head)
        condition = self.values.truth(b, self.condition(test))
        b.cbranch(condition, inner, after)
        b.position_at_end(inner)
        self.ends.append((after, head))
        with self.block():
            self.body(body)
        self.ends.pop()
        if not b.block.is_terminated:
            b.branch(head)
        b.position_at_end(after)

    def branch(
        self, test: ast.expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]
    ) -> None:
        b = self.builder
        condition = self.condition(test)
        if isinstance(condition, Static):
            self.body(then if condition.value else otherwise)
            return
        yes, no, after = (b.append_basic_block(f"if.{n}") for n in ("then", "else", "end"))
        b.cbranch(self.values.truth(b, condition), yes, no)
        reached = False
        for block, statements in ((yes, then), (no, otherwise)):
            b.position_at_end(block)
            with self.block():
                self.body(statements)
            if not b.block.is_terminated:
                reached = True
                b.branch(after)
        b.position_at_end(after)
        if not reached:
            b.unreachable()

    # --- expressions ------------------------------------------------------------------------------

    def expression(self, e: ast.expr) -> Operand:
        b = self.builder
        match e:
            case ast.Constant(value):
                return Static(value)
            case ast.Name(name):
                return self.name(name)
            case ast.BinOp(left, op, right):
                return self.calls.operate(
                    b, BINARY[type(op)], self.expression(left), self.expression(right)
                )
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
            self.builder, room, self.calls.items(self.builder, shape), dtype, zero
        )
        self.check_memory(room, size)
        return made

    def grow(self, name: str, length: Operand) -> None:
        """`name = grown(name, length)`: what stands in memory made by `np.empty` may move."""
        x = self.known(name)
        if name not in self.growing or not isinstance(x, Array):
            raise UntranslatableError(f"{name} cannot grow")
        self.check_memory(
            self.growing[name], self.values.grown(self.builder, self.growing[name], x, length)
        )

    def check_memory(self, room: Room, size: Any) -> None:
        """A kernel never raises: it says what it lacks, and returns."""
        b, status = self.builder, self.names[0].get("status")
        if isinstance(status, Array):
            with b.if_then(
                b.icmp_unsigned(
                    "==", b.load(room.address), ir.Constant(ir.IntType(8).as_pointer(), None)
                ),
                likely=False,
            ):
                self.values.store(b, status, [Static(0)], Static(-1))
                self.values.store(b, status, [Static(1)], Value(types.int64, size))
                # One way out for all of them: each frees everything, which is much code in a
                # function of many arrays.
                self.lacking = self.lacking or b.append_basic_block("lacking")
                b.branch(self.lacking)

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
            x if isinstance(x, Static) else Value(types.boolean, self.values.truth(self.builder, x))
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
            Value(
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
        return self.values.taken(b, Value(kind, phi))


def _reading(target: ast.expr) -> ast.expr:
    return ast.copy_location(
        type(target)(**{**dict(ast.iter_fields(target)), "ctx": ast.Load()}), target
    )
