"""The LLVM module of one kernel: the kernel itself, and the functions of this package that it calls."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba.core import types

from .calls import Calls
from .sources import tree_of
from .translate import Function
from .values import NUMBERS, Operand, Static, UntranslatableError, Value


class Unit:
    """The LLVM module of one kernel, and the functions that it calls."""

    def __init__(self, typing: Any, context: Any, module: Any) -> None:
        self.context, self.module = context, module
        self.calls = Calls(typing, context, module, self.function)
        self.made: dict[tuple[Any, ...], Any] = {}
        self.refused: set[Any] = set()
        self.kernel = ""

    def entry(self, function: FunctionType, llvm: Any, argument_types: Sequence[Any]) -> None:
        """Fill the entry, which has Numba's calling convention and returns nothing."""
        tree = tree_of(function.__code__)
        if tree is None:
            raise UntranslatableError("no source")
        self.kernel = llvm.name

        def begin() -> Any:
            llvm.blocks.clear()
            return llvm

        def arguments(builder: Any) -> list[Operand]:
            raw = self.context.call_conv.decode_arguments(builder, argument_types, llvm)
            return [self.calls.values.taken(builder, Value(k, v)) for k, v in zip(argument_types, raw, strict=True)]

        made = Function(self, function, tree)
        made.result = types.none
        made.translate(begin, arguments)

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

    def function(self, function: FunctionType, key: Any, args: Sequence[Operand], inline: bool) -> tuple[Any, Any, list[Any]]:
        """A function of this package for such arguments: the LLVM function, its result's type, and the arguments' types (None: static)."""
        kinds = [None if isinstance(a, Static) and not isinstance(a.value, NUMBERS) else self.calls.values.type_of(a) for a in args]
        which = (key, *[a.value if k is None else k for a, k in zip(args, kinds, strict=True)])  # type: ignore[union-attr]
        if which in self.refused:
            raise UntranslatableError(f"{function.__qualname__} is not covered")
        if which not in self.made:
            self.made[which] = self._made(function, args, kinds, inline, which)
        llvm, result = self.made[which]
        return llvm, result, kinds

    def _made(self, function: FunctionType, args: Sequence[Operand], kinds: Sequence[Any], inline: bool, which: Any) -> tuple[Any, Any]:
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
            return [a if k is None else Value(k, next(raw)) for a, k in zip(args, kinds, strict=True)]

        made = Function(self, function, tree)
        try:
            llvm = made.translate(begin, arguments)
        except Exception as error:
            # Whatever it is: Numba's own pipeline knows more of Python, and tells the reader what is really wrong.
            self.module.globals.pop(name, None)
            self.refused.add(which)
            raise UntranslatableError(f"{function.__qualname__}: {error}") from error
        return llvm, made.result
