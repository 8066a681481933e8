"""A branch that is hardly ever taken, inside a loop that still vectorises.

LLVM vectorises no loop that calls a function, unless the call names a form of it that takes vectors
and a mask of the lanes that want it. Such forms are made here, one for each number of lanes: a test
whether any lane wants the call, and then the calls lane by lane. What a loop pays is a call and a
test that is always predicted right. (Inlining them after vectorisation gained nothing measurable.)
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ...translation.symbolic import LlvmScalar
from .formats import Function

LANES = {"double": (2, 4, 8), "float": (4, 8, 16)}
PURE = ("nounwind", "willreturn", "memory(none)")
KEPT = "llvm.compiler.used"
BOOL, COUNT, POINTER, WIDE = (
    ir.IntType(1),
    ir.IntType(32),
    ir.IntType(8).as_pointer(),
    ir.DoubleType(),
)


def rarely(name: str, body: Function) -> Function:
    """`f(condition, x, y)`: y, but where the condition holds `body` of x, which is computed in
    double precision."""

    def choose(condition: LlvmScalar, x: LlvmScalar, y: LlvmScalar) -> LlvmScalar:
        builder, kind = x.builder, x.ir.type
        label = f"tracegrad_rarely_{name}_{kind}"
        scalar = builder.module.globals.get(label) or _define(builder.module, label, body, kind)
        before = builder.block
        rare, after = builder.append_basic_block("rare"), builder.append_basic_block("common")
        builder.cbranch(condition.ir, rare, after)
        builder.position_at_end(rare)
        call = builder.call(scalar, [x.ir])
        forms = ",".join(
            f"_ZGV_LLVM_M{lanes}v_{label}({label}_{lanes})" for lanes in LANES[str(kind)]
        )
        _attribute(call, f'"vector-function-abi-variant"="{forms}"')
        builder.branch(after)
        builder.position_at_end(after)
        result = builder.phi(kind)
        result.add_incoming(y.ir, before)
        result.add_incoming(call, rare)
        return LlvmScalar(builder, result)

    return choose


def _attribute(value: Any, *texts: str) -> None:
    # llvmlite knows only some attributes; its attribute set prints whatever text it holds.
    for text in texts:
        set.add(value.attributes, text)


def _define(module: Any, label: str, body: Function, kind: Any) -> Any:
    """The scalar function and its vector forms, private to the module."""
    scalar = ir.Function(module, ir.FunctionType(kind, [kind]), label)
    scalar.linkage = "internal"
    # Inlined, it would stand in the way of the vectoriser, which sees calls only.
    _attribute(scalar, "noinline", *PURE)
    builder = ir.IRBuilder(scalar.append_basic_block())
    x = scalar.args[0]
    y = body(LlvmScalar(builder, x if kind == WIDE else builder.fpext(x, WIDE))).ir
    builder.ret(y if kind == WIDE else builder.fptrunc(y, kind))
    forms = [_vector_form(module, f"{label}_{lanes}", scalar, lanes) for lanes in LANES[str(kind)]]
    # Nothing calls them until the vectoriser has run.
    kept = module.globals.get(KEPT)
    pointers = [
        *(kept.initializer.constant if kept else ()),
        *(form.bitcast(POINTER) for form in forms),
    ]
    kind_of_list = ir.ArrayType(POINTER, len(pointers))
    if kept is None:
        kept = ir.GlobalVariable(module, kind_of_list, KEPT)
        kept.linkage, kept.section = "appending", "llvm.metadata"
    kept.value_type, kept.initializer = kind_of_list, ir.Constant(kind_of_list, pointers)
    return scalar


def _vector_form(module: Any, label: str, scalar: Any, lanes: int) -> Any:
    """`scalar` of the lanes that the mask names; the others are never looked at."""
    kind = ir.VectorType(scalar.args[0].type, lanes)
    form = ir.Function(module, ir.FunctionType(kind, [kind, ir.VectorType(BOOL, lanes)]), label)
    form.linkage = "internal"
    _attribute(form, *PURE)
    x, mask = form.args
    entry, lane, wanted, following, done = (
        form.append_basic_block(n) for n in ("entry", "lane", "wanted", "following", "done")
    )
    b = ir.IRBuilder(entry)
    b.cbranch(
        b.icmp_unsigned("==", b.bitcast(mask, ir.IntType(lanes)), ir.IntType(lanes)(0)), done, lane
    )
    b.position_at_end(lane)
    k, y = b.phi(COUNT), b.phi(kind)
    b.cbranch(b.extract_element(mask, k), wanted, following)
    b.position_at_end(wanted)
    computed = b.insert_element(y, b.call(scalar, [b.extract_element(x, k)]), k)
    b.branch(following)
    b.position_at_end(following)
    now = b.phi(kind)
    after = b.add(k, COUNT(1))
    b.cbranch(b.icmp_unsigned("==", after, COUNT(lanes)), done, lane)
    b.position_at_end(done)
    result = b.phi(kind)
    b.ret(result)
    for phi, ways in (
        (k, ((COUNT(0), entry), (after, following))), (y, ((x, entry), (now, following))),
        (now, ((y, lane), (computed, wanted))), (result, ((x, entry), (now, following))),
    ):  # fmt: skip
        for value, block in ways:
            phi.add_incoming(value, block)
    return form
