"""Types, casts, operators and memory of operands, by Numba's own tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import BuiltinFunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, funcdesc, types
from numba.np import numpy_support

from .operands import (
    LENT,
    NUMBERS,
    SCALARS,
    ArrayFields,
    NumbaValue,
    Operand,
    Room,
    Static,
    Tuple,
    UntranslatableError,
    type_of_constant,
)
from .words import plus, taken_apart, times


class Values:
    """Types, casts and operators, by Numba's own tables; what was looked up once is remembered."""

    # Shared on purpose: the answers are the same for all.
    found: dict[tuple[Any, ...], tuple[Any, Any]] = {}  # noqa: RUF012

    def __init__(self, typing: Any, context: Any, module: Any) -> None:
        self.typing, self.context, self.module = typing, context, module
        self.frozen: dict[int, Any] = {}
        self.implementations: dict[tuple[Any, Any], Any] = {}
        self.scopes: dict[Room, Any] = {}
        """What tells accesses to memory that moves from all others."""
        self.group: Any = None
        """Of what is read and written now, where steps of the loop do not wait for one another."""

    # --- values -----------------------------------------------------------------------------------

    def type_of(self, x: Operand) -> Any:
        """The type that a typer sees."""
        if isinstance(x, NumbaValue):
            return x.type
        if isinstance(x, Tuple):
            kinds = [self.type_of(i) for i in x.items]
            return (
                types.UniTuple(kinds[0], len(kinds))
                if kinds and len(set(kinds)) == 1
                else types.Tuple(kinds)
            )
        if isinstance(x.value, NUMBERS):
            return type_of_constant(x.value)
        if x.value is None:
            return types.none
        return (
            x.value if isinstance(x.value, types.Type) else self.typing.resolve_value_type(x.value)
        )

    def value(self, builder: Any, x: Operand) -> NumbaValue:
        """The operand as a value at run time."""
        if isinstance(x, NumbaValue):
            return x
        kind = self.type_of(x)
        if isinstance(x, Tuple):
            items = [self.cast(builder, i, kind[k]) for k, i in enumerate(x.items)]
            return NumbaValue(kind, self.context.make_tuple(builder, kind, items))
        if isinstance(x.value, np.ndarray):
            return self.frozen_array(builder, x.value)
        if isinstance(x.value, (bool, np.bool_)):
            return NumbaValue(kind, ir.Constant(ir.IntType(1), int(x.value)))
        if isinstance(kind, types.Integer):
            return NumbaValue(kind, ir.Constant(ir.IntType(kind.bitwidth), int(x.value)))
        if isinstance(kind, (types.Float, types.Complex)):
            return NumbaValue(kind, self.context.get_constant_generic(builder, kind, x.value))
        return NumbaValue(kind, self.context.get_dummy_value())

    def cast(self, builder: Any, x: Operand, kind: Any) -> Any:
        """The LLVM value of an operand, converted."""
        if (
            isinstance(x, Static)
            and isinstance(x.value, NUMBERS)
            and isinstance(kind, types.Integer)
            and kind.bitwidth == 64
        ):
            if isinstance(x.value, (int, np.integer)):
                return ir.Constant(ir.IntType(64), int(x.value))
        if isinstance(x, Tuple) and isinstance(kind, types.BaseTuple):
            return self.context.make_tuple(
                builder, kind, [self.cast(builder, i, kind[k]) for k, i in enumerate(x.items)]
            )
        value = self.value(builder, x)
        if isinstance(value.type, types.Boolean) and isinstance(kind, types.Float):
            # One masked instruction for a vector, where a conversion takes three.
            one, zero = (
                ir.Constant(self.context.get_value_type(kind), number) for number in (1.0, 0.0)
            )
            return builder.select(value.ir, one, zero)
        return (
            value.ir
            if value.type == kind
            else self.context.cast(builder, value.ir, value.type, kind)
        )

    def convert(self, builder: Any, x: Operand, kind: Any) -> NumbaValue:
        return NumbaValue(kind, self.cast(builder, x, kind))

    def truth(self, builder: Any, x: Operand) -> Any:
        value = self.value(builder, x)
        if isinstance(value.type, types.Boolean):
            return value.ir
        if not isinstance(value.type, SCALARS):
            raise UntranslatableError(f"truth of {value.type}")
        return self.context.is_true(builder, value.type, value.ir)

    def unify(self, a: Any, b: Any) -> Any:
        """The type of a variable that holds both."""
        kind = a if a == b else self.typing.unify_types(a, b)
        if kind is None or (kind != a and not (isinstance(a, SCALARS) and isinstance(b, SCALARS))):
            raise UntranslatableError(f"{a} and {b} have no common type")
        return kind

    # --- Numba's functions ------------------------------------------------------------------------

    def registered(self, builder: Any, function: Any, args: Sequence[Operand]) -> Operand:
        """A call of something that Numba knows: an operator, a function of `math` or NumPy, an
        overload."""
        kinds = tuple([self.type_of(a) for a in args])
        known = (
            self.found.get((function, kinds)) if isinstance(function, BuiltinFunctionType) else None
        )
        if known is None:
            kind = self.type_of(Static(function))
            signature = kind and self.typing.resolve_function_type(kind, kinds, {})
            if signature is None:
                raise UntranslatableError(f"{function} of {kinds}")
            known = kind, signature
            if isinstance(function, BuiltinFunctionType):
                self.found[function, kinds] = known
        kind, signature = known
        values = [self.cast(builder, a, k) for a, k in zip(args, signature.args, strict=True)]
        if isinstance(kind, types.ExternalFunction):
            described = funcdesc.ExternalFunctionDescriptor(
                kind.symbol, kind.sig.return_type, kind.sig.args
            )
            llvm = self.context.declare_external_function(self.module, described)
            return NumbaValue(
                signature.return_type,
                self.context.call_external_function(builder, llvm, described.argtypes, values),
            )
        try:
            # Numba looks at the parameters of what it finds, each time.
            implementation = self.implementations.get((kind, signature))
            if implementation is None:
                implementation = self.context.get_function(kind, signature)
                self.implementations[kind, signature] = implementation
        except NotImplementedError as error:
            raise UntranslatableError(str(error)) from None
        return self.taken(
            builder, NumbaValue(signature.return_type, implementation(builder, values))
        )

    def attribute(self, builder: Any, x: NumbaValue, name: str) -> Operand:
        """An attribute at run time."""
        kind = self.typing.resolve_getattr(x.type, name)
        if kind is None or isinstance(kind, types.BoundFunction):
            raise UntranslatableError(f"{x.type}.{name}")
        if isinstance(kind, (types.DType, types.NumberClass)):
            return Static(kind)
        implementation = self.context.get_getattr(x.type, name)
        return self.taken(
            builder, NumbaValue(kind, implementation(self.context, builder, x.type, x.ir, name))
        )

    # --- arrays -----------------------------------------------------------------------------------

    def taken(self, builder: Any, x: NumbaValue) -> NumbaValue:
        """An array with its fields; any other value as it is."""
        if not isinstance(x.type, types.Array) or isinstance(x, ArrayFields):
            return x
        model = self.context.data_model_manager[x.type]

        def field(name: str) -> Any:
            return builder.extract_value(x.ir, model.get_field_position(name))

        shape, strides = (field(f) if x.type.ndim else None for f in ("shape", "strides"))
        axes = range(x.type.ndim)
        sizes = tuple(builder.extract_value(shape, k) for k in axes)
        steps = tuple(builder.extract_value(strides, k) for k in axes)
        return ArrayFields(x.type, x.ir, field("data"), sizes, steps)

    def lent(self, builder: Any, x: NumbaValue) -> NumbaValue:
        """An argument of a kernel."""
        found = self.taken(builder, x)
        return replace(found, memory=LENT) if isinstance(found, ArrayFields) else found

    def assembled(
        self,
        builder: Any,
        kind: Any,
        data: Any,
        shape: Sequence[Any],
        strides: Sequence[Any],
        memory: Room | None = None,
    ) -> ArrayFields:
        """An array from its fields. Its whole is put together only for calls; where nobody asks for
        it, LLVM drops it."""
        whole = ir.Constant(self.context.get_value_type(kind), None)
        model = self.context.data_model_manager[kind]
        count: Any = ir.Constant(ir.IntType(64), 1)
        for extent in shape:
            count = times(builder, count, extent)
        size = ir.Constant(
            ir.IntType(64), self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype))
        )
        for name, value in (("nitems", count), ("itemsize", size), ("data", data)):
            whole = builder.insert_value(whole, value, model.get_field_position(name))
        for name, words in (("shape", shape), ("strides", strides)):
            for k, word in enumerate(words):
                whole = builder.insert_value(whole, word, [model.get_field_position(name), k])
        return ArrayFields(kind, whole, data, tuple(shape), tuple(strides), memory)

    def element(self, dtype: Operand) -> Any:
        """The element type that a dtype or a scalar class stands for."""
        kind = self.type_of(dtype)
        if not isinstance(kind, (types.DType, types.NumberClass)):
            raise UntranslatableError(f"{kind} is no dtype")
        return kind.dtype

    def c_ordered(
        self,
        builder: Any,
        element: Any,
        data: Any,
        shape: Sequence[Any],
        memory: Room | None = None,
    ) -> ArrayFields:
        """A contiguous array at an address."""
        strides: list[Any] = []
        step: Any = ir.Constant(
            ir.IntType(64), self.context.get_abi_sizeof(self.context.get_data_type(element))
        )
        for extent in reversed(shape):
            strides.insert(0, step)
            step = times(builder, step, extent)
        data = builder.bitcast(data, self.context.get_value_type(types.CPointer(element)))
        return self.assembled(
            builder, types.Array(element, len(shape), "C"), data, shape, strides, memory
        )

    def reshaped(self, builder: Any, x: ArrayFields, shape: Sequence[Operand]) -> ArrayFields:
        """A contiguous array in another shape of as many elements."""
        if x.type.layout != "C":
            raise UntranslatableError("an array of any layout in another shape")
        return self.c_ordered(
            builder,
            x.type.dtype,
            x.data,
            [self.cast(builder, s, types.intp) for s in shape],
            x.memory,
        )

    def room(self, builder: Any) -> Room:
        """A place for memory, with none there yet."""
        return Room(
            *[
                cgutils.alloca_once(builder, kind)
                for kind in (ir.IntType(8).as_pointer(), ir.IntType(64))
            ]
        )

    def allocated(
        self, builder: Any, room: Room, shape: Sequence[Operand], dtype: Operand
    ) -> tuple[ArrayFields, Any]:
        """New memory, and its bytes; no address where there is none to be had."""
        element = self.element(dtype)
        extents = [self.cast(builder, s, types.intp) for s in shape]
        total: Any = ir.Constant(
            ir.IntType(64), self.context.get_abi_sizeof(self.context.get_data_type(element))
        )
        for extent in extents:
            # More than there can be stays more than there can be.
            product = builder.umul_with_overflow(total, extent)
            most = ir.Constant(total.type, (1 << 63) - 1)
            total = builder.select(
                builder.extract_value(product, 1), most, builder.extract_value(product, 0)
            )
        # Of no bytes there may be no address.
        total = builder.select(
            builder.icmp_unsigned("==", total, ir.Constant(total.type, 0)),
            ir.Constant(total.type, 1),
            total,
        )
        # What was made here before is made anew only where it is too small: in a loop that saves
        # most of the work.
        with builder.if_then(builder.icmp_unsigned("<", builder.load(room.size), total)):
            self.free(builder, room)
            builder.store(self.memory(builder, total), room.address)
            builder.store(total, room.size)
        data = builder.load(room.address)
        return self.c_ordered(builder, element, data, extents, room), total

    def grown(self, builder: Any, room: Room, x: ArrayFields, length: Operand) -> Any:
        """Make room for that many slices of an array, whose elements move where there is too
        little; the bytes that were asked for."""
        total: Any = ir.Constant(
            ir.IntType(64), self.context.get_abi_sizeof(self.context.get_data_type(x.type.dtype))
        )
        for extent in (self.cast(builder, length, types.intp), *x.shape[1:]):
            total = builder.mul(total, extent)
        with builder.if_then(
            builder.icmp_unsigned("<", builder.load(room.size), total), likely=False
        ):
            doubled = builder.shl(total, ir.Constant(total.type, 1))
            made = self.memory(builder, doubled)
            with builder.if_then(builder.icmp_unsigned("!=", made, ir.Constant(made.type, None))):
                cgutils.raw_memcpy(
                    builder, made, builder.load(room.address), builder.load(room.size), 1
                )
            self.free(builder, room)
            builder.store(made, room.address)
            builder.store(doubled, room.size)
        return total

    def memory(self, builder: Any, size: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(8).as_pointer(), [ir.IntType(64)])
        make = cgutils.get_or_insert_function(self.module, kind, "NRT_Allocate")
        # Nobody else has this address, which loops need to know.
        make.return_value.add_attribute("noalias")
        return builder.call(make, [size])

    def lack(self) -> tuple[Any, Any]:
        """Two numbers of the module: how often there was no memory, and for how many bytes the last
        time."""
        found = []
        for name in ("lack", "lack_bytes"):
            if name not in self.module.globals:
                made = ir.GlobalVariable(self.module, ir.IntType(64), name)
                made.linkage = "internal"
                made.initializer = ir.Constant(ir.IntType(64), 0)
            found.append(self.module.globals[name])
        return found[0], found[1]

    @property
    def lacks(self) -> bool:
        """Whether some function of the module can count that."""
        return "lack" in self.module.globals

    def free(self, builder: Any, room: Room) -> None:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
        builder.call(
            cgutils.get_or_insert_function(self.module, kind, "NRT_Free"),
            [builder.load(room.address)],
        )

    def frozen_array(self, builder: Any, array: Any) -> ArrayFields:
        """A constant array of this package's own, its bytes once in the module."""
        if not array.flags.c_contiguous or array.dtype.kind not in "fiu":
            raise UntranslatableError("such a constant array")
        if id(array) not in self.frozen:
            content = ir.Constant(
                ir.ArrayType(ir.IntType(8), array.nbytes), bytearray(array.tobytes())
            )
            variable = cgutils.add_global_variable(
                self.module, content.type, self.module.get_unique_name("table")
            )
            variable.linkage, variable.global_constant, variable.initializer, variable.align = (
                "internal",
                True,
                content,
                64,
            )
            self.frozen[id(array)] = variable
        element = numpy_support.from_dtype(array.dtype)
        data = builder.bitcast(
            self.frozen[id(array)], self.context.get_value_type(types.CPointer(element))
        )
        shape, strides = (
            [ir.Constant(ir.IntType(64), n) for n in words]
            for words in (array.shape, array.strides)
        )
        return self.assembled(
            builder, types.Array(element, array.ndim, "C", readonly=True), data, shape, strides
        )

    def position(self, builder: Any, x: ArrayFields, indices: Sequence[Operand]) -> Any:
        """The address of an element; indices of a signed type count from the end where they are
        negative."""
        offset: Any = None
        word = ir.IntType(64)
        ordered = x.type.layout == "C"
        last: Any = None
        """The place along the axes that were taken together, of which there are `extent`."""
        extent: Any = None
        steps = list(x.strides)
        if x.type.layout == "C":
            steps = [None] * len(steps)
        for k, i in enumerate(indices):
            at = self.cast(builder, i, types.intp)
            kind = self.type_of(i)
            if kind.signed and not (isinstance(at, ir.Constant) and at.constant >= 0):
                negative = builder.icmp_signed("<", at, ir.Constant(word, 0))
                at = builder.select(negative, builder.add(at, x.shape[k]), at)
            if ordered and last is not None and taken_apart(last, at, x.shape[k]):
                # In branches of vectorised loops LLVM divides for those lanes alone that take them,
                # and reads behind an address that it has for the first lane; what is put together
                # again needs no division.
                last, extent = last.operands[0], times(builder, extent, x.shape[k])
            elif ordered:
                offset = (
                    last if offset is None else plus(builder, times(builder, offset, extent), last)
                )
                last, extent = at, x.shape[k]
            else:
                offset = plus(builder, offset, times(builder, at, steps[k]))
        if ordered:
            offset = last if offset is None else plus(builder, times(builder, offset, extent), last)
        if offset is None:
            return x.data
        if x.type.layout == "C":
            return builder.gep(x.data, [offset], inbounds=True)
        byte = ir.PointerType(ir.IntType(8))
        return builder.bitcast(
            builder.gep(builder.bitcast(x.data, byte), [offset], inbounds=True), x.data.type
        )

    def divided(self, builder: Any, rest: bool, x: Operand, y: Operand) -> NumbaValue:
        """The quotient or the rest of two machine words; Numba's own asks in a branch whether the
        divisor is 0, which sizes are where no loop runs."""
        whole, by = (self.cast(builder, a, types.uint64) for a in (x, y))
        if not isinstance(by, ir.Constant) or by.constant == 0:
            none, one = (ir.Constant(by.type, n) for n in (0, 1))
            by = builder.select(builder.icmp_unsigned("==", by, none), one, by)
        return NumbaValue(types.uint64, (builder.urem if rest else builder.udiv)(whole, by))

    def load(self, builder: Any, x: ArrayFields, indices: Sequence[Operand]) -> NumbaValue:
        at = self.position(builder, x, indices)
        with self.apart(builder, x):
            return NumbaValue(x.type.dtype, self.context.unpack_value(builder, x.type.dtype, at))

    def store(
        self, builder: Any, x: ArrayFields, indices: Sequence[Operand], value: Operand
    ) -> None:
        at = self.position(builder, x, indices)
        number = self.cast(builder, value, x.type.dtype)
        with self.apart(builder, x):
            self.context.pack_value(builder, x.type.dtype, number, at)

    def moves(self, room: Room) -> None:
        """From now on, tell LLVM what does not lie in this memory: the address of what moves comes
        from anywhere, as far as it sees."""
        if room not in self.scopes:
            word = ir.MetaDataString
            domain = self.module.add_metadata([word(self.module, "memory that moves")])
            # Nodes of one text are one node: of one scope, nothing would alias itself.
            name = f"memory {len(self.scopes)} of {self.module.name}"
            self.scopes[room] = self.module.add_metadata([word(self.module, name), domain])

    @contextmanager
    def moving(self, rooms: Sequence[Room]) -> Iterator[None]:
        """Tell LLVM so of memory that one function is given, and of what moves in that function,
        only there."""
        known = dict(self.scopes)
        for room in rooms:
            self.moves(room)
        yield
        if rooms:
            self.scopes.clear()
            self.scopes.update(known)

    @contextmanager
    def apart(self, builder: Any, x: ArrayFields) -> Iterator[None]:
        """What is read or written here lies in the memory of an array."""
        block = builder.block
        before = len(block.instructions)
        yield
        made = [i for i in block.instructions[before:] if i.opname in ("load", "store")]
        if self.group is not None:
            for instruction in made:
                instruction.set_metadata("llvm.access.group", self.group)
        if x.memory is None or not self.scopes:
            return
        others = [scope for room, scope in self.scopes.items() if room is not x.memory]
        for instruction in made:
            if x.memory in self.scopes:
                own = self.module.add_metadata([self.scopes[x.memory]])
                instruction.set_metadata("alias.scope", own)
            if others:
                instruction.set_metadata("noalias", self.module.add_metadata(others))
