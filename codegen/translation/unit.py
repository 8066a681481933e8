"""The LLVM module of one kernel: the kernel itself, and the functions of this package that it
calls."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import ExitStack
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba.core import types

from ..disk.sources import tree_of
from .arithmetic import arithmetic_of, contract, denormals_are_zeros
from .calls import Calls
from .operands import NUMBERS, SCALARS, NumbaValue, Operand, Static, UntranslatableError
from .translate import FunctionTranslation

LINES = 1500
"""Longer kernels become several functions."""


WIDEST = '"prefer-vector-width"="512"'
"""LLVM takes half of the widest registers on many processors, for the sake of those that ran slower
with the whole: 10 to 25 percent of the time of a kernel that computes."""


class Unit:
    """The LLVM module of one kernel, and the functions that it calls."""

    def __init__(self, typing: Any, context: Any, module: Any) -> None:
        self.context, self.module = context, module
        self.calls = Calls(typing, context, module, self.function)
        self.made: dict[tuple[Any, ...], Any] = {}
        self.refused: set[Any] = set()
        self.kernel = ""
        self.parts: set[str] = set()

    def entry(self, function: FunctionType, llvm: Any, argument_types: Sequence[Any]) -> None:
        """Fill the entry, which has Numba's calling convention and returns nothing."""
        tree = tree_of(function.__code__)
        if tree is None:
            raise UntranslatableError("no source")
        self.kernel = llvm.name
        self.parts.add(llvm.name)
        arithmetic = arithmetic_of(tree)
        packer = self.context.get_arg_packer(argument_types)

        def body_of(llvm: Any, raw: Sequence[Any], tree: Any) -> None:
            def begin() -> Any:
                llvm.blocks.clear()
                return llvm

            def arguments(builder: Any) -> list[Operand]:
                given = zip(argument_types, packer.from_arguments(builder, raw), strict=True)
                return [self.calls.values.lent(builder, NumbaValue(k, v)) for k, v in given]

            made = FunctionTranslation(self, function, tree, True)
            made.result = types.none
            made.translate(begin, arguments)
            if made.values.lacks:
                made.tell_lack(llvm)
            if not made.short:
                # llvmlite knows no such attributes; its attribute set prints whatever text it
                # holds.
                set.add(llvm.attributes, WIDEST)
            if arithmetic.contract:
                contract(llvm)

        raw = self.context.call_conv.get_arguments(llvm)
        pieces = _pieces(tree)
        if len(pieces) == 1 and not arithmetic.flush_denormals:
            body_of(llvm, raw, tree)
            return
        llvm.blocks.clear()
        builder = ir.IRBuilder(llvm.append_basic_block("entry"))
        with ExitStack() as mode:
            if arithmetic.flush_denormals:
                mode.enter_context(denormals_are_zeros(self.module, builder))
            for piece in pieces:
                name = self.module.get_unique_name("part")
                part = ir.Function(
                    self.module, ir.FunctionType(ir.VoidType(), [a.type for a in raw]), name
                )
                part.linkage = "internal"
                part.attributes.add("noinline")
                for mine, outer in zip(part.args, raw, strict=True):
                    for attribute in outer.attributes:
                        mine.add_attribute(attribute)
                self.parts.add(name)
                self.context.plain.add(name)
                body_of(part, part.args, piece)
                builder.call(part, raw)
        self.leave(builder, types.none, None)

    def settle(self, llvm: Any, kind: Any) -> None:
        """Give a function its result's type, which is known at its first return."""
        if llvm.name != self.kernel and kind != types.none:
            llvm.ftype = ir.FunctionType(self.context.get_value_type(kind), llvm.ftype.args)
            llvm.type = llvm.ftype.as_pointer()
            llvm.return_value = type(llvm.return_value)(llvm, llvm.ftype.return_type)

    def leave(self, builder: Any, kind: Any, value: Any) -> None:
        if builder.function.name == self.kernel:
            self.context.call_conv.return_value(builder, self.context.get_dummy_value())
        elif kind == types.none:
            builder.ret_void()
        else:
            builder.ret(value)

    def function(
        self, function: FunctionType, key: Any, args: Sequence[Operand], inline: bool
    ) -> tuple[Any, Any, list[Any]]:
        """A function of this package for such arguments: the LLVM function, its result's type, and
        the arguments' types (None: static)."""
        kinds = [
            None
            if isinstance(a, Static) and not isinstance(a.value, NUMBERS)
            else self.calls.values.type_of(a)
            for a in args
        ]
        which = (
            key,
            *[
                a.value if k is None else k  # type: ignore[union-attr]
                for a, k in zip(args, kinds, strict=True)
            ],
        )
        if which in self.refused:
            raise UntranslatableError(f"{function.__qualname__} is not covered")
        if which not in self.made:
            self.made[which] = self._made(function, args, kinds, inline, which)
        llvm, result = self.made[which]
        return llvm, result, kinds

    def _made(
        self,
        function: FunctionType,
        args: Sequence[Operand],
        kinds: Sequence[Any],
        inline: bool,
        which: Any,
    ) -> tuple[Any, Any]:
        tree = tree_of(function.__code__)
        if tree is None:
            raise UntranslatableError(f"no source of {function.__qualname__}")
        parameters = [self.context.get_value_type(k) for k in kinds if k is not None]

        name = ""

        def begin() -> Any:
            nonlocal name
            self.module.globals.pop(name, None)
            name = self.module.get_unique_name(function.__name__.strip("<>"))
            llvm = ir.Function(self.module, ir.FunctionType(ir.VoidType(), parameters), name)
            llvm.linkage = "internal"
            if inline:
                llvm.attributes.add("alwaysinline")
            self.context.plain.add(name)
            return llvm

        def arguments(builder: Any) -> list[Operand]:
            raw = iter(builder.function.args)
            return [
                a if k is None else NumbaValue(k, next(raw))
                for a, k in zip(args, kinds, strict=True)
            ]

        of_numbers = all(k is None or isinstance(k, SCALARS) for k in kinds)
        made = FunctionTranslation(self, function, tree, of_numbers)
        try:
            llvm = made.translate(begin, arguments)
        except Exception as error:
            # Whatever it is: Numba's own pipeline knows more of Python, and tells the reader what
            # is really wrong.
            self.module.globals.pop(name, None)
            self.refused.add(which)
            raise UntranslatableError(f"{function.__qualname__}: {error}") from error
        return llvm, made.result


def _pieces(tree: ast.FunctionDef | ast.Lambda) -> list[ast.FunctionDef | ast.Lambda]:
    """A long kernel's phases in groups, each behind what stands before the first: no local lives
    across phases.

    The time that LLVM takes over a function grows faster than its length.
    """
    body = [] if isinstance(tree, ast.Lambda) else tree.body
    start = next((k for k, s in enumerate(body) if _is_phase(s)), len(body))
    if (
        isinstance(tree, ast.Lambda)
        or not all(map(_is_phase, body[start:]))
        or _lines(body[start:]) <= LINES
    ):
        return [tree]
    groups: list[list[ast.stmt]] = [[]]
    for phase in body[start:]:
        if groups[-1] and _lines([*groups[-1], phase]) > LINES:
            groups.append([])
        groups[-1].append(phase)
    return [
        ast.FunctionDef(tree.name, tree.args, [*_needed(body[:start], group), *group], [], None)
        for group in groups
    ]


def _needed(before: Sequence[ast.stmt], group: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The assignments that a group of phases reads."""
    kept: list[ast.stmt] = []
    read = _names(group)
    for s in reversed(before):
        if (
            isinstance(s, ast.Assign)
            and isinstance(s.targets[0], ast.Name)
            and s.targets[0].id in read
        ):
            kept.insert(0, s)
            read |= _names([s])
    return kept


def _names(statements: Sequence[ast.stmt]) -> set[str]:
    return {n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)}


def _is_phase(s: ast.stmt) -> bool:
    """`if phase < 0 or phase == 3:`, as the printer writes it."""
    match s:
        case ast.If(
            ast.BoolOp(ast.Or(), [ast.Compare(ast.Name("phase")), ast.Compare(ast.Name("phase"))]),
            _,
            [],
        ):
            return True
    return False


def _lines(statements: Sequence[ast.stmt]) -> int:
    return sum((s.end_lineno or s.lineno) - s.lineno + 1 for s in statements)
