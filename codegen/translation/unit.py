"""The LLVM module of one kernel: the kernel itself, and the functions of this package that it
calls."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba.core import types

from ..disk.sources import tree_of
from ..syntax import names_in
from .alike import ARENA, PHASE, alike, is_phase, number_of
from .arithmetic import arithmetic_of, contract, denormals_are_zeros, unrounded
from .calls import Calls
from .operands import (
    NUMBERS,
    SCALARS,
    ArrayFields,
    NumbaValue,
    Operand,
    Room,
    Static,
    UntranslatableError,
)
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

        def body_of(
            llvm: Any, raw: Sequence[Any], tree: Any, more: Sequence[Any] = (), own: Any = ()
        ) -> None:
            def begin() -> Any:
                llvm.blocks.clear()
                return llvm

            def arguments(builder: Any) -> list[Operand]:
                given = zip(argument_types, packer.from_arguments(builder, raw), strict=True)
                found: list[Operand] = [
                    self.calls.values.lent(builder, NumbaValue(k, v)) for k, v in given
                ]
                if more:
                    number, *places = more
                    arena = found[names.index("arena")]
                    found.append(NumbaValue(types.int64, number))
                    assert isinstance(arena, ArrayFields)
                    # What is given in place of temporaries lies apart from each other and all else.
                    found += [
                        replace(arena, data=place, memory=room)
                        for place, room in zip(places, own, strict=True)
                    ]
                return found

            made = FunctionTranslation(self, function, tree, True)
            made.result = types.none
            made.translate(begin, arguments)
            if made.values.lacks:
                made.tell_lack(llvm)
            if not made.short:
                # llvmlite knows no such attributes; its attribute set prints whatever text it
                # holds.
                set.add(llvm.attributes, WIDEST)
            (contract if arithmetic.contract else unrounded)(llvm)

        def part_of(tree: Any, more: int = 0) -> Any:
            kinds = [a.type for a in raw]
            if more:
                # Pointers, where offsets would do: one number less in the place of each element.
                kinds += [ir.IntType(64), *[ir.IntType(8).as_pointer()] * (more - 1)]
            name = self.module.get_unique_name("part")
            part = ir.Function(self.module, ir.FunctionType(ir.VoidType(), kinds), name)
            part.linkage = "internal"
            part.attributes.add("noinline")
            for mine, outer in zip(part.args, raw, strict=False):
                for attribute in outer.attributes:
                    mine.add_attribute(attribute)
            self.parts.add(name)
            self.context.plain.add(name)
            own = [Room(None, None) for _ in range(more - 1)]
            with self.calls.values.moving(own):
                body_of(part, part.args[: len(raw)], tree, part.args[len(raw) :], own)
            return part

        raw = self.context.call_conv.get_arguments(llvm)
        names = [a.arg for a in tree.args.args]
        start, phases = _phases(tree)
        before = [] if isinstance(tree, ast.Lambda) else tree.body[:start]
        same = alike(function, before, phases)
        pieces = _pieces(tree, {n for found in same for n in found.given})
        if len(pieces) == 1 and not arithmetic.flush_denormals:
            body_of(llvm, raw, tree)
            return
        llvm.blocks.clear()
        builder = ir.IRBuilder(llvm.append_basic_block("entry"))
        shared = {}
        for found in same:
            arguments = [*tree.args.args, ast.arg(PHASE)]
            arguments += [ast.arg(f"{ARENA}{k}") for k in range(len(found.views))]
            needed = [s for s in _needed(before, [found.statement]) if s not in found.instead]
            body = [*needed, *found.views, found.statement]
            part = part_of(_with_body(tree, body, arguments), 1 + len(found.views))
            shared.update(dict.fromkeys(found.given, (part, found)))
        memory = self._arena(builder, names, argument_types, packer, raw) if same else None
        with ExitStack() as mode:
            if arithmetic.flush_denormals:
                mode.enter_context(denormals_are_zeros(self.module, builder))
            for piece in pieces:
                if isinstance(piece, int):
                    part, found = shared[piece]
                    number = ir.Constant(ir.IntType(64), piece)
                    places = [
                        builder.gep(memory, [ir.Constant(ir.IntType(64), offset)])
                        for offset in found.given[piece]
                    ]
                    builder.call(part, [*raw, number, *places])
                else:
                    builder.call(part_of(piece), raw)
        self.leave(builder, types.none, None)

    def _arena(
        self, builder: Any, names: Sequence[str], kinds: Sequence[Any], packer: Any, raw: Any
    ) -> Any:
        """Where the memory of temporaries begins."""
        k = names.index("arena")
        value = packer.from_arguments(builder, raw)[k]
        found = self.calls.values.taken(builder, NumbaValue(kinds[k], value))
        assert isinstance(found, ArrayFields)
        return found.data

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
        unrounded(llvm)
        return llvm, made.result


def _phases(tree: ast.FunctionDef | ast.Lambda) -> tuple[int, Sequence[ast.stmt]]:
    """Where a kernel's phases begin, and these; none where something else stands between them."""
    body = [] if isinstance(tree, ast.Lambda) else tree.body
    start = next((k for k, s in enumerate(body) if is_phase(s)), len(body))
    return (start, body[start:]) if all(map(is_phase, body[start:])) else (len(body), [])


def _pieces(
    tree: ast.FunctionDef | ast.Lambda, shared: Container[int]
) -> list[ast.FunctionDef | ast.Lambda | int]:
    """A long kernel's phases in groups, each behind what stands before the first: no local lives
    across phases. Of phases that are made for several at once the number.

    The time that LLVM takes over a function grows faster than its length.
    """
    start, phases = _phases(tree)
    numbers = [number_of(s) for s in phases]
    if isinstance(tree, ast.Lambda) or not (
        _lines(phases) > LINES or any(n in shared for n in numbers)
    ):
        return [tree]
    groups: list[list[ast.stmt] | int] = [[]]
    for n, phase in zip(numbers, phases, strict=True):
        last = groups[-1]
        if n in shared:
            groups.append(n)
        elif isinstance(last, int) or (last and _lines([*last, phase]) > LINES):
            groups.append([phase])
        else:
            last.append(phase)
    before = tree.body[:start]
    return [
        g if isinstance(g, int) else _with_body(tree, [*_needed(before, g), *g], tree.args.args)
        for g in groups
        if g != []
    ]


def _with_body(
    tree: ast.FunctionDef | ast.Lambda, body: Sequence[ast.stmt], given: Sequence[ast.arg]
) -> ast.FunctionDef:
    arguments = ast.arguments([], list(given), None, [], [], None, [])
    name = "" if isinstance(tree, ast.Lambda) else tree.name
    return ast.FunctionDef(name, arguments, list(body), [], None)


def _needed(before: Sequence[ast.stmt], group: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The assignments that a group of phases reads."""
    kept: list[ast.stmt] = []
    read = names_in(group)
    for s in reversed(before):
        if (
            isinstance(s, ast.Assign)
            and isinstance(s.targets[0], ast.Name)
            and s.targets[0].id in read
        ):
            kept.insert(0, s)
            read |= names_in([s])
    return kept


def _lines(statements: Sequence[ast.stmt]) -> int:
    return sum((s.end_lineno or s.lineno) - s.lineno + 1 for s in statements)
