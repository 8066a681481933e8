"""The contract of an operation: one value that carries every rule about it.

`op(...)` takes all rules explicitly; `elementwise`, `linear` and `reduction` derive most of them.
Rules are plain functions whose parameter *names* say what they read: the operation's input names,
`out` (or `out0`, `out1`, ... with several outputs), `ct` (likewise) or `t_<input>` for tangents,
and, keyword-only, parameters. What a rule does not name is not saved by the tape. Rules are written
with operations, never with NumPy, so that eager, traced, batched and higher-order results come from
one text.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from .._codegen import integers, lowering, records
from ..types import ArrayType
from .dispatch import bind

Rule = Callable[..., Any]
Types = tuple[ArrayType, ...]


class Rules(NamedTuple):
    """One rule with the names it reads."""

    function: Rule
    reads: frozenset[str]
    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    product: tuple[str, Rule | None] | None = None
    """Of a rule that multiplies with a partial derivative: "mul" or "strong_mul" and what gives the
    partial of the rule's arguments but the first, or "same" (1) or "minus" (-1)."""


def read_names(function: Rule | Rules) -> Rules:
    """Inspect a rule's signature once, at definition."""
    if isinstance(function, Rules):
        return function
    code = inspect.unwrap(function).__code__
    count = code.co_argcount
    positional = code.co_varnames[:count]
    keywords = code.co_varnames[count : count + code.co_kwonlyargcount]
    return Rules(function, frozenset(positional), positional, keywords)


class Rest(NamedTuple):
    """The second half of a staged operation: `run(cotangents, inputs, outputs)` gives the
    cotangents of all inputs (None where none was wanted), from cotangents of all results (None
    where there is none) and the inputs and results at these places among those that rules read."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    run: Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]


class Op(records.Record):
    """An operation; called with operands and parameters it is applied to them.

    name        its word in printed graphs
    inputs      the names of its array inputs; `variadic` operations (concatenate, call) have one
                name for all of them
    evaluate    the result on NumPy arrays: `evaluate(*arrays, **params)`, an array or a tuple of
                them
    infer       the types of the results: `infer(*types, **params) -> tuple of ArrayType`. Weak
                scalars come as Literal operands; `infer` receives the operands themselves (anything
                with `.type`).
    vjp         one rule per input (None: not differentiable in it), or one rule for all inputs of a
                variadic operation (`vjp(cts, inputs, outs, wanted, **params) -> list`)
    jvp         one rule: `jvp(tangents, inputs, outs, **params) -> list of tangents of the
                outputs`; a tangent may be None
    batch       `batch(inputs, axes, size, **params) -> (outputs, axes)`: inputs with the batch axis
                at `axes[k]` (None: not batched)
    lowering    data of a codegen lowering kind
    compute     the dtypes to which a Pointwise lowering casts its operands
    staged      `staged(arrays, wanted, **params) -> (results, Rest)`: the results on NumPy arrays,
                and how to get from their cotangents to those of the wanted inputs without doing the
                forward work again. A shortcut: `vjp` says what the derivative is. Arrays on a
                device are given only where the operation is not `composed`
    view        whether the result shares memory with the first input (when NumPy can do so): writes
                through it reach the input

    Facts, which rewriting rules ask for in place of names:

    parity      the sign of the result when real operands change theirs: `parity(*signs, **params)`
                of 1 and -1 for each operand is 1, -1, or None where the result is another number.
                Zeros count as equal: 1/x is not odd, since 1/0 is not -(1/0). `odd` and `even` are
                the usual ones
    commutes    whether f(x, y) = f(y, x), but for the sign of a zero
    symmetric   whether it gives symmetric matrices, to the last bit, in its last two axes
    neutral     for each of two inputs the number (or None) that, standing there, leaves the other
                one as it is
    passes      the input of which it shows all elements: where the result has that input's type, it
                is that input
    symbolic    what it is of integers, on integer expressions: sizes and counts are followed
                through it
    between     of integers, given the least and the largest first operand (None: not known) and a
                positive number as the second: the least and the largest result, None if not known
    divided     what it is of integers that are not negative, by a positive number, on integer
                expressions: programs count with it
    margin      of a comparison of integers, on integer expressions: what is not negative where it
                is true, and negative where it is false
    inlined     whether it stands for the nodes of `params["graph"]`, which take its place when a
                graph is compiled
    weak        whether of Python's numbers it gives such a number, which raises no dtype
    flops       additions and multiplications, `flops(inputs, outs)` of shapes, as profiles count
                them
    """

    name: str
    inputs: tuple[str, ...]
    evaluate: Callable[..., Any]
    infer: Callable[..., Types]
    vjp: tuple[Rules | None, ...] | Rule | None
    jvp: Rule | None
    batch: Rule | None
    lowering: lowering.Lowering | None
    compute: Callable[..., tuple[np.dtype[Any], ...]] | None = None
    variadic: bool = False
    outputs: int = 1
    doc: str = ""
    effects: bool = False
    """True where removing an unused application would change what the program does."""
    view: bool = False
    staged: Callable[..., tuple[Sequence[Any], Rest]] | None = None
    composed: Callable[..., Any] | None = None
    """What traces record in its place, as a function like `evaluate`, of an operation that running
    code has for the sake of one node; NotImplemented of operands for which they record it."""
    on_reals: Callable[..., Any] | None = None
    """What gives the result on real numbers, without the conversions and checks of `evaluate`."""
    eager: Callable[..., Any] | None = None
    """The operation on boxed operands as the tape has written it out, at its first use."""
    types_only: frozenset[str] = frozenset()
    """The inputs (and `out`) of which a `vjp` for all inputs reads dtype and shape only: the tape
    keeps their types in their place."""
    parity: Callable[..., int | None] | None = None
    commutes: bool = False
    symmetric: bool = False
    neutral: tuple[float | None, ...] = ()
    passes: int | None = None
    symbolic: Callable[..., Any] | None = None
    between: Callable[[Any, Any, int], tuple[Any, Any] | None] | None = None
    divided: Callable[[Any, int], Any] | None = None
    margin: Callable[[Any, Any], Any] | None = None
    inlined: bool = False
    weak: bool = False
    flops: Callable[..., int] | None = None
    plans: dict[int, Any] = field(default_factory=dict, repr=False)
    """What the tape has worked out about the VJP rules, by the set of inputs that want a
    gradient."""

    # Each is itself alone, found by its identity.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """The operation applied: one value, or a tuple for several outputs."""
        return bind(self, operands, params)

    def is_even(self, params: dict[str, Any]) -> bool:
        """Whether it takes -x to what it takes x to, a real number."""
        return (
            len(self.inputs) == 1
            and self.parity is not None
            and self.parity(1, **params) == self.parity(-1, **params) == 1
        )


def odd(*signs: int, **_: Any) -> int:
    """The parity of f(-x) = -f(x); of several operands each one changes the result's sign."""
    return math.prod(signs)


def even(*_: int, **__: Any) -> int:
    """The parity of f(-x) = f(x)."""
    return 1


def op(
    name: str,
    inputs: Sequence[str],
    *,
    evaluate: Callable[..., Any],
    infer: Callable[..., Types],
    vjp: Sequence[Rule | Rules | None] | Rule | None = None,
    jvp: Rule | None = None,
    batch: Rule | None = None,
    lowering: lowering.Lowering | None = None,
    compute: Callable[..., tuple[np.dtype[Any], ...]] | None = None,
    variadic: bool = False,
    outputs: int = 1,
    doc: str = "",
    effects: bool = False,
    view: bool = False,
    staged: Callable[..., tuple[Sequence[Any], Rest]] | None = None,
    composed: Callable[..., Any] | None = None,
    types_only: Sequence[str] = (),
    **facts: Any,
) -> Op:
    """An operation with every rule given explicitly, and its `facts`; see `Op`."""
    rules: Any = vjp
    if vjp is not None and not callable(vjp):
        rules = tuple(None if r is None else read_names(r) for r in vjp)
        assert len(rules) == len(inputs), name
    return Op(
        name,
        tuple(inputs),
        evaluate,
        infer,
        rules,
        jvp,
        batch,
        lowering,
        compute,
        variadic,
        outputs,
        doc,
        effects,
        view,
        staged,
        composed,
        types_only=frozenset(types_only),
        **facts,
    )


def operand_kinds(operands: Sequence[Any]) -> list[Any]:
    """What promotion sees: a dtype, or the Python type of a weak scalar."""
    kinds: list[Any] = []
    for o in operands:
        if getattr(o, "weak", False):
            kinds.append(int if isinstance(o.value, integers.Integer) else type(o.value))
        else:
            kinds.append(WEAK[o.type.dtype.kind] if o.type.weak else o.type.dtype)
    return kinds


WEAK = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
