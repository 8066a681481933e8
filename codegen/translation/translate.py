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
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any, Protocol

from llvmlite import ir
from llvmlite.ir.instructions import CallInstr, Instruction, LoadInstr
from numba.core import types

from ..disk.sources import assignments
from ..syntax import names_in, walk
from .calls import Calls
from .expressions import Again, Expressions
from .hints import AccessGroup, independent, one_by_one, several_a_jump, side_by_side, stays
from .operands import SCALARS, ArrayFields, NumbaValue, Operand, Static, UntranslatableError

WRITTEN_OUT = 16
"""Steps of the longest loop that is written out."""
HEAVY = 200
"""Instructions of a loop's body from which on two vectors of iterations are computed side by
side."""
FAR = 128
"""Bytes from one element to the next from which on vectors are not put together of them."""
SHORT = {n for n in range(4, 24) if n % 8}
"""Passes of a loop that half of the widest registers hold, and that the whole would leave to single
numbers in good part."""
BRIEF = 40
"""The most instructions in a loop's body of which several are written out one behind the other."""
LONG, DEEP = 12, 100
"""Instructions one after the other that take longer than to guess a branch wrong; how many are
looked at."""
LIMIT = 40
"""How often a function is begun anew because a variable turned out to need a place in memory or a
wider type."""


class EnclosingUnit(Protocol):
    """The module that a function becomes part of."""

    calls: Calls
    parts: set[str]
    """The names of the kernel itself and of the functions that it was cut into."""

    def settle(self, llvm: Any, kind: Any) -> None: ...

    def leave(self, builder: Any, kind: Any, value: Any) -> None: ...


class FunctionTranslation(Expressions):
    """One function being translated into one LLVM function; `unit` is the module that it becomes
    part of."""

    def __init__(
        self,
        unit: EnclosingUnit,
        function: FunctionType,
        tree: ast.FunctionDef | ast.Lambda,
        wraps: bool,
    ) -> None:
        self.unit, self.calls, self.values = unit, unit.calls, unit.calls.values
        self.tree, self.wraps = tree, wraps
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.outside = {
            **builtins.__dict__,
            **function.__globals__,
            **{n: c.cell_contents for n, c in cells},
        }
        count, self.grows = assignments(tree)
        self.inside = count.keys()
        self.kinds = {name: None for name, times in count.items() if times > 1}
        self.result: Any = None
        self.short = False
        """Whether it has innermost loops known to be short."""

    def translate(
        self, begin: Callable[[], Any], arguments: Callable[[Any], Sequence[Operand]]
    ) -> Any:
        """`begin()` makes the LLVM function, empty, each time that it is begun."""
        outside = self.values.group
        try:
            return self._translated(begin, arguments)
        finally:
            self.values.group = outside

    def _translated(
        self, begin: Callable[[], Any], arguments: Callable[[Any], Sequence[Operand]]
    ) -> Any:
        for _ in range(LIMIT):
            # Memory of a function's own is the same in all steps of a loop that calls it.
            self.values.group = None
            llvm = begin()
            self.settled = False
            self.builder = ir.IRBuilder(llvm.append_basic_block("entry"))
            self.names = [{}]
            self.places, self.current = {}, {}
            self.ends: list[tuple[Any, Any]] = []
            self.scratch, self.growing, self.lacking = [], {}, None
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
            except Again:
                continue
            return llvm
        raise UntranslatableError("types do not settle")

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
                self.assign(target, self.operate(op, old, self.expression(value)))
            case ast.For(
                ast.Name(name), ast.Call(ast.Name("range" | "apart" as order), args, []), body, []
            ):
                limits = [self.expression(a) for a in args]
                outside, self.values.group = self.values.group, None
                if order == "apart":
                    self.values.group = AccessGroup(self.values.module)
                self.loop(name, limits, body)
                self.values.group = outside
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
                    not isinstance(array, ArrayFields)
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
            raise Again
        if not self.settled:
            self.result, self.settled = wider, True
            self.unit.settle(self.builder.function, wider)
        self.leave(self.values.cast(self.builder, x, self.result))

    def leave(self, value: Any) -> None:
        for slot in self.scratch:
            self.values.free(self.builder, slot)
        self.unit.leave(self.builder, self.result, value)

    def give_up(self) -> None:
        """Where those places go on that got no memory."""
        if self.lacking is not None:
            self.builder.position_at_end(self.lacking)
            kind = self.values.context.get_value_type(self.result)
            self.leave(None if self.result == types.none else ir.Constant(kind, None))

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
                isinstance(n, ast.For | ast.While) for n in walk(body)
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
            self.assign_name(name, NumbaValue(kind, counter))
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
        written = [i for block in [inner, *b.function.blocks[count:]] for i in block.instructions]
        if len(written) >= HEAVY:
            side_by_side(latch)
        elif not any(calls(i) for i in written) and self.along_columns(name, body):
            one_by_one(latch)
        elif (
            len(written) <= BRIEF and b.function.name in self.unit.parts and stores_behind_ifs(body)
        ):
            several_a_jump(latch)
        if self.values.group is not None:
            independent(latch, self.values.group)
        b.position_at_end(after)

    def along_columns(self, name: str, body: Sequence[ast.stmt]) -> bool:
        """Whether all elements that an innermost loop reads or writes lie far behind those of the
        step before."""
        nodes = [*walk(body)]
        own = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        found = False
        for node in nodes:
            if isinstance(node, ast.For | ast.While):
                return False
            if not isinstance(node, ast.Subscript):
                continue
            places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            named = [names_in([p]) for p in places]
            moving = [k for k, names in enumerate(named) if name in names or names & own]
            array = self.known(node.value.id) if isinstance(node.value, ast.Name) else None
            strides = getattr(array, "strides", ())
            if moving and len(strides) != len(places):
                return False
            for stride in (strides[k] for k in moving):
                if not isinstance(stride, ir.Constant) or abs(stride.constant) < FAR:
                    return False
                found = True
        return found

    def written_out(self, name: str, limits: Sequence[Operand], body: Sequence[ast.stmt]) -> bool:
        """Write a short loop of a scalar function out, if this is one: the loop around its call is
        not vectorised across another one."""
        if self.builder.function.name in self.unit.parts or not all(
            isinstance(x, Static) and type(x.value) is int for x in limits
        ):
            return False
        steps = range(*[x.value for x in limits if isinstance(x, Static)])
        if len(steps) > WRITTEN_OUT or name in self.kinds:
            return False
        if any(isinstance(n, ast.Break | ast.Continue | ast.Return) for n in walk(body)):
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
        jump = b.cbranch(self.values.truth(b, condition), yes, no)
        changed = names_chosen([*then, *otherwise])
        places = [self.places[k] for n in changed if (k := self.current.get(n, n)) in self.places]
        if self.ends and places and waits_long(jump.operands[0], places):
            stays(jump)
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


def _reading(target: ast.expr) -> ast.expr:
    return ast.copy_location(
        type(target)(**{**dict(ast.iter_fields(target)), "ctx": ast.Load()}), target
    )


def calls(instruction: Any) -> bool:
    """Whether an instruction calls a function of more than one instruction."""
    return isinstance(instruction, CallInstr) and not instruction.callee.name.startswith("llvm.")


def names_chosen(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements bind, where they do nothing but to bind names to others."""
    found: set[str] = set()
    for s in body:
        match s:
            case ast.Assign([ast.Name(name)], ast.Name() | ast.Constant()):
                found.add(name)
            case ast.Pass():
                pass
            case _:
                return set()
    return found


def waits_long(value: Any, places: Collection[Any]) -> bool:
    """Whether a value is made of what lies in one of some places, in many instructions one after
    the other; a function is taken for many."""
    here, called = [x for x in [value] if isinstance(x, Instruction)], False
    for depth in range(DEEP):
        called = called or any(calls(x) for x in here)
        if (called or depth >= LONG) and any(
            isinstance(x, LoadInstr) and x.operands[0] in places for x in here
        ):
            return True
        before = {id(x): x for y in here for x in y.operands if isinstance(x, Instruction)}
        here = list(before.values())
    return False


def stores_behind_ifs(body: Sequence[ast.stmt]) -> bool:
    """Whether an innermost loop writes elements where a condition holds: it is not vectorised."""
    nodes = [*walk(body)]
    if any(isinstance(n, ast.For | ast.While) for n in nodes):
        return False
    inside = walk(s for s in nodes if isinstance(s, ast.If))
    return any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in inside)
