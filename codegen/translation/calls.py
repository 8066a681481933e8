"""Operators, attributes and calls while a function is translated to LLVM code."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from ..fallbacks import fell_back
from ..native import bridge
from ..native.support import view
from .operands import (
    NUMBERS,
    SCALARS,
    ArrayFields,
    NumbaValue,
    Operand,
    Static,
    Tuple,
    UntranslatableError,
)
from .values import Values
from .words import times

DTYPES = (
    "float32",
    "float64",
    "complex64",
    "complex128",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool_",
)
CASTS: dict[Any, Any] = {getattr(np, name): getattr(types, name) for name in DTYPES}
CASTS |= {float: types.float64, bool: types.boolean}
MakeFunction = Callable[..., tuple[Any, Any, list[Any]]]


@bridge.inlined
def complex_product(x: Any, y: Any) -> Any:
    """NumPy's. Numba's mends infinities as Python does from 3.14 on."""
    return complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)


class Calls:
    """What can be done with operands; `function` translates a function of this package."""

    def __init__(self, typing: Any, context: Any, module: Any, function: MakeFunction) -> None:
        self.values = Values(typing, context, module)
        self.context = context
        self.function = function

    # --- operators --------------------------------------------------------------------------------

    def operate(self, builder: Any, op: Any, *args: Operand) -> Operand:
        if all(isinstance(a, Static) and isinstance(a.value, NUMBERS) for a in args):
            values: list[Any] = [a.value for a in args]  # type: ignore[union-attr]
            if len(args) == 1 or all(type(v) is type(values[0]) for v in values):
                try:
                    with np.errstate(all="ignore"):
                        return Static(op(*values))
                except ArithmeticError:
                    pass
        if op is operator.not_:
            return NumbaValue(types.boolean, builder.not_(self.values.truth(builder, args[0])))
        if not all(isinstance(self.values.type_of(a), SCALARS) for a in args):
            raise UntranslatableError(f"{op.__name__} of {[self.values.type_of(a) for a in args]}")
        if op in (operator.floordiv, operator.mod) and all(
            self.values.type_of(a) == types.uint64 for a in args
        ):
            return self.values.divided(builder, op is operator.mod, *args)
        if op in (operator.mul, operator.imul):
            kind = self.values.unify(*[self.values.type_of(a) for a in args])
            if isinstance(kind, types.Complex):
                numbers = [self.values.convert(builder, a, kind) for a in args]
                product = self.own(builder, complex_product, numbers)
                assert product is not None
                return product
        return self.values.registered(builder, op, args)

    # --- attributes and items ---------------------------------------------------------------------

    def attribute(self, builder: Any, x: Operand, name: str) -> Operand:
        if isinstance(x, Static):
            if not isinstance(x.value, (ModuleType, type, *NUMBERS)):
                raise UntranslatableError(f"attribute {name} of {x.value!r}")
            return Static(getattr(x.value, name))
        if isinstance(x, ArrayFields):
            if name in ("shape", "strides"):
                return Tuple(tuple(NumbaValue(types.intp, s) for s in getattr(x, name)))
            if name == "size":
                total = self.values.cast(builder, Static(1), types.intp)
                for s in x.shape:
                    total = times(builder, total, s)
                return NumbaValue(types.intp, total)
            if name == "ndim":
                return Static(x.type.ndim)
        if isinstance(x, Tuple):
            raise UntranslatableError(f"attribute {name} of a tuple")
        return self.values.attribute(builder, x, name)

    def method(self, builder: Any, x: Operand, name: str, args: Sequence[Operand]) -> Operand:
        if not isinstance(x, ArrayFields) or name != "reshape" or len(args) != 1:
            raise UntranslatableError(f"method {name}")
        return self.values.reshaped(builder, x, self.items(builder, args[0]))

    def items(self, builder: Any, x: Operand) -> Sequence[Operand]:
        """The parts of a tuple; a number counts as a tuple of one."""
        if isinstance(x, Tuple):
            return x.items
        if isinstance(x, Static) and isinstance(x.value, tuple):
            return [Static(v) for v in x.value]
        if isinstance(x, NumbaValue) and isinstance(x.type, types.BaseTuple):
            return [
                self.values.taken(builder, NumbaValue(k, builder.extract_value(x.ir, n)))
                for n, k in enumerate(x.type.types)
            ]
        if isinstance(self.values.type_of(x), types.Integer):
            return [x]
        raise UntranslatableError("only tuples are taken apart")

    def item(self, builder: Any, x: Operand, at: Sequence[Operand]) -> Operand:
        if isinstance(x, Static) and isinstance(x.value, np.ndarray):
            x = self.values.frozen_array(builder, x.value)
        if isinstance(x, ArrayFields) and self.all_integers(at):
            return (
                self.values.load(builder, x, at)
                if len(at) == x.type.ndim
                else self.part(builder, x, at)
            )
        if isinstance(x, ArrayFields) or len(at) != 1:
            raise UntranslatableError("such an index")
        items = self.items(builder, x)
        if isinstance(at[0], Static):
            found: Operand = items[at[0].value]
            return found
        return self.chosen(builder, items, at[0])

    def chosen(self, builder: Any, items: Sequence[Operand], at: Operand) -> Operand:
        """The part of a tuple of numbers at a position known at run time, which is in range and not
        negative."""
        kinds = {self.values.type_of(i) for i in items}
        if len(kinds) != 1 or not kinds <= set(CASTS.values()):
            raise UntranslatableError("a tuple of several types")
        (kind,) = kinds
        position = self.values.cast(builder, at, types.intp)
        result = self.values.cast(builder, items[-1], kind)
        for k, item in enumerate(items[:-1]):
            here = builder.icmp_signed("==", position, ir.Constant(position.type, k))
            result = builder.select(here, self.values.cast(builder, item, kind), result)
        return NumbaValue(kind, result)

    def part(self, builder: Any, x: ArrayFields, at: Sequence[Operand]) -> Operand:
        """`x[i]` of more than one dimension: the array behind."""
        return self.values.registered(
            builder, operator.getitem, [x, at[0] if len(at) == 1 else Tuple(tuple(at))]
        )

    def all_integers(self, at: Sequence[Operand]) -> bool:
        return all(isinstance(self.values.type_of(i), types.Integer) for i in at)

    # --- calls ------------------------------------------------------------------------------------

    def call(self, builder: Any, function: Any, args: Sequence[Operand]) -> Operand:
        """A call of something known beforehand."""
        if function is view:
            return self.view(builder, *args)
        if function in CASTS and len(args) == 1:
            return self.converted(builder, function, args[0])
        if function is complex and len(args) == 2:
            return self.complex(builder, args)
        if function in (min, max) and len(args) > 1:
            found = args[0]
            for other in args[1:]:
                found = self.extreme(builder, function is max, found, other)
            return found
        if function is len and isinstance(args[0], (Tuple, ArrayFields)):
            return (
                Static(len(args[0].items))
                if isinstance(args[0], Tuple)
                else NumbaValue(types.intp, args[0].shape[0])
            )
        if function in bridge.PRIMITIVES:
            done = self.primitive(builder, function, args)
            if done is not None:
                return done
        if isinstance(function, FunctionType):
            made = self.own(builder, function, args)
            if made is not None:
                return made
        result = self.values.registered(builder, function, args)
        if isinstance(self.values.type_of(result), types.Array):
            raise UntranslatableError(f"{function} makes an array")
        return result

    def own(self, builder: Any, function: Any, args: Sequence[Operand]) -> Operand | None:
        """A call of a function with a body here; None where Numba must look for one."""
        body = function
        if function in bridge.IMPLEMENTATIONS:
            typer, inline = bridge.IMPLEMENTATIONS[function]
            body = typer(*[self.values.type_of(a) for a in args])
            if not isinstance(body, FunctionType):
                return None
        elif function in bridge.AS_WRITTEN:
            inline = bridge.AS_WRITTEN[function]
        else:
            return None
        missing = body.__code__.co_argcount - len(args)
        given = (
            [
                *args,
                *[
                    Static(d)
                    for d in (body.__defaults__ or ())[len(body.__defaults__ or ()) - missing :]
                ],
            ]
            if missing
            else list(args)
        )
        try:
            llvm, kind, kinds = self.function(body, function, given, inline)
        except UntranslatableError as error:
            fell_back(function.__qualname__, error)
            return None
        passed = [
            self.values.cast(builder, a, k)
            for a, k in zip(given, kinds, strict=True)
            if k is not None
        ]
        result = builder.call(llvm, passed)
        return Static(None) if kind == types.none else NumbaValue(kind, result)

    def primitive(self, builder: Any, function: Any, args: Sequence[Operand]) -> Operand | None:
        """None where these types have a form written in Python."""
        typer, lower = bridge.PRIMITIVES[function]
        signature = typer(*[self.values.type_of(a) for a in args])
        if signature is None:
            if function in bridge.IMPLEMENTATIONS:
                return None
            raise UntranslatableError(f"{function.__name__} of these types")
        values = [
            self.values.cast(builder, a, k) for a, k in zip(args, signature.args, strict=True)
        ]
        return self.values.taken(
            builder,
            NumbaValue(signature.return_type, lower(self.context, builder, signature, values)),
        )

    def converted(self, builder: Any, function: Any, x: Operand) -> Operand:
        """`np.float32(x)` and its like."""
        if isinstance(x, Static) and isinstance(x.value, NUMBERS) and function not in (float, bool):
            with np.errstate(all="ignore"):
                try:
                    return Static(function(x.value))
                except OverflowError:
                    pass
        if not isinstance(self.values.type_of(x), SCALARS):
            raise UntranslatableError(f"{function} of {self.values.type_of(x)}")
        return self.values.convert(builder, x, CASTS[function])

    def complex(self, builder: Any, args: Sequence[Operand]) -> Operand:
        if all(isinstance(a, Static) for a in args):
            return Static(complex(*[a.value for a in args]))  # type: ignore[union-attr]
        single = all(self.values.type_of(a) == types.float32 for a in args)
        kind = types.complex64 if single else types.complex128
        made = self.context.make_complex(builder, kind)
        made.real, made.imag = (self.values.cast(builder, a, kind.underlying_float) for a in args)
        return NumbaValue(kind, made._getvalue())

    def extreme(self, builder: Any, largest: bool, x: Operand, y: Operand) -> Operand:
        """Python's max and min of two numbers."""
        if isinstance(x, Static) and isinstance(y, Static):
            return Static((max if largest else min)(x.value, y.value))
        kind = self.values.unify(self.values.type_of(x), self.values.type_of(y))
        if not isinstance(kind, (types.Integer, types.Float)):
            raise UntranslatableError(f"an extreme of {kind}")
        first, second = self.values.convert(builder, x, kind), self.values.convert(builder, y, kind)
        # Python keeps the first unless the second is beyond it.
        beyond = self.operate(builder, operator.gt if largest else operator.lt, second, first)
        return NumbaValue(
            kind, builder.select(self.values.truth(builder, beyond), second.ir, first.ir)
        )

    def view(
        self, builder: Any, arena: Operand, offset: Operand, shape: Operand, dtype: Operand
    ) -> Operand:
        """`view(arena, offset, shape, dtype)`, whose fields stay apart."""
        if not isinstance(arena, ArrayFields):
            raise UntranslatableError("such a view")
        extents = [self.values.cast(builder, s, types.intp) for s in self.items(builder, shape)]
        data = builder.gep(arena.data, [self.values.cast(builder, offset, types.intp)])
        return self.values.c_ordered(
            builder, self.values.element(dtype), data, extents, arena.memory
        )
