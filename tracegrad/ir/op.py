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
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._codegen import integers, lowering, scalars
from ..dtypes import BOOL, FLOAT64, inexact, promote, real_of
from ..types import ArrayType, broadcast_shapes
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
    positional: list[str] = []
    keywords: list[str] = []
    for p in inspect.signature(function).parameters.values():
        (keywords if p.kind is p.KEYWORD_ONLY else positional).append(p.name)
    return Rules(function, frozenset(positional), tuple(positional), tuple(keywords))


class Rest(NamedTuple):
    """The second half of a staged operation: `run(cotangents, inputs, outputs)` gives the
    cotangents of all inputs (None where none was wanted), from cotangents of all results (None
    where there is none) and the inputs and results with these numbers."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    run: Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]


@dataclass(frozen=True, eq=False)
class Op:
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
                forward work again. A shortcut: `vjp` says what the derivative is
    view        whether the result shares memory with the first input (when NumPy can do so): writes
                through it reach the input

    Facts, which rewriting rules ask for in place of names:

    parity      the sign of the result when real operands change theirs: `parity(*signs, **params)`
                of 1 and -1 for each operand is 1, -1, or None where the result is another number.
                Zeros count as equal: 1/x is not odd, since 1/0 is not -(1/0). `odd` and `even` are
                the usual ones
    commutes    whether f(x, y) = f(y, x), but for the sign of a zero
    neutral     for each of two inputs the number (or None) that, standing there, leaves the other
                one as it is
    passes      the input of which it shows all elements: where the result has that input's type, it
                is that input
    symbolic    what it is of integers, on integer expressions: sizes and counts are followed
                through it
    inlined     whether it stands for the nodes of `params["graph"]`, which take its place when a
                graph is compiled
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
    code has for the sake of one node."""
    on_reals: Callable[..., Any] | None = None
    """What gives the result on real numbers, without the conversions and checks of `evaluate`."""
    eager: Callable[..., Any] | None = None
    """The operation on boxed operands as the tape has written it out, at its first use."""
    types_only: frozenset[str] = frozenset()
    """The inputs (and `out`) of which a `vjp` for all inputs reads dtype and shape only: the tape
    keeps their types in their place."""
    parity: Callable[..., int | None] | None = None
    commutes: bool = False
    neutral: tuple[float | None, ...] = ()
    passes: int | None = None
    symbolic: Callable[..., Any] | None = None
    inlined: bool = False
    flops: Callable[..., int] | None = None
    plans: dict[int, Any] = field(default_factory=dict, repr=False)
    """What the tape has worked out about the VJP rules, by the set of inputs that want a
    gradient."""

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


class _Compose:
    """Functions of the ops package that derived rules need; filled by ops/__init__.py's one
    explicit call."""

    mul: Any
    strong_mul: Any
    conj: Any
    real: Any
    convert: Any
    sum_to: Any
    broadcast_to: Any
    expand_dims: Any
    moveaxis: Any
    add: Any
    zeros_like: Any


def elementwise(
    name: str,
    inputs: Sequence[str],
    *,
    numpy: Callable[..., Any],
    code: str | Callable[[dict[str, Any]], str],
    partials: Sequence[Rule | int | None] | None,
    result: str = "float",
    domain: str = "finite",
    cost: int | None = None,
    weak: bool = False,
    compute: Callable[..., tuple[np.dtype[Any], ...]] | None = None,
    doc: str = "",
    **facts: Any,
) -> Op:
    """An operation that acts element by element, with broadcasting.

    partials    one per input: a rule reading inputs and `out` that returns the partial derivative;
                a rule that also reads `d`, the incoming differential (tangent or cotangent; the
                keyword `adjoint` tells which), and returns its product; a literal 0, 1, -1; None
                (not differentiable in it)
    result      "float" (integers become floats), "quotient" (integers become float64, as NumPy
                divides), "promote", "bool" (operands are promoted together), "real" (abs, real: the
                result is the real dtype of a complex operand), "where" (the first operand is a
                condition)
    domain      "finite" where every partial is finite on the domain; "singular" where one can be
                infinite or NaN: then a zero cotangent gives exactly zero (`strong_mul`)
    cost        as `Pointwise` has it, where it is not that of the functions that `code` calls
    weak        whether of Python scalars it gives a Python scalar, which stays weak, as Python's
                operators do; a named NumPy function gives a NumPy scalar
    compute     the dtypes that the operands are converted to, as `Op` has it, where that is not one
                for all
    facts       those of `Op`
    """

    if isinstance(code, str):
        scalars.check(code, name)
    if cost is None:
        cost = scalars.cost_of(code) if isinstance(code, str) else 1

    def promoted(*operands: Any, **_: Any) -> tuple[np.dtype[Any], ...]:
        if result == "where":
            return (BOOL, *[promote(*operand_kinds(operands[1:]))] * (len(operands) - 1))
        dtype = promote(*operand_kinds(operands))
        if result == "quotient":
            return (dtype if dtype.kind in "fc" else FLOAT64,) * len(operands)
        return (inexact(dtype) if result == "float" else dtype,) * len(operands)

    def infer(*operands: Any, **_: Any) -> Types:
        dtype = promoted(*operands)[-1]
        dtype = BOOL if result == "bool" else real_of(dtype) if result == "real" else dtype
        weakly = weak and all(o.type.weak or getattr(o, "weak", False) for o in operands)
        return (ArrayType(dtype, broadcast_shapes(*[o.type.shape for o in operands]), weakly),)

    rules = (
        (None,) * len(inputs)
        if partials is None
        else tuple(_rule_of_partial(p, domain) for p in partials)
    )

    def jvp(
        tangents: Sequence[Any], values: Sequence[Any], outs: Sequence[Any], **given: Any
    ) -> list[Any]:
        total: Any = None
        names = dict(zip(inputs, values, strict=True), out=outs[0])
        for t, rule in zip(tangents, rules, strict=True):
            if t is None or rule is None:
                continue
            term = rule.function(
                t,
                *[names[n] for n in rule.positional[1:]],
                **{n: given[n] for n in rule.keywords if n != "like"},
            )
            total = term if total is None else compose.add(total, term)
        if total is None:
            return [None]
        dtype = outs[0].dtype
        total = compose.real(total) if dtype.kind == "f" and total.dtype.kind == "c" else total
        return [compose.broadcast_to(compose.convert(total, dtype), outs[0].shape)]

    this = Op(
        name,
        tuple(inputs),
        numpy,
        infer,
        None if partials is None else rules,
        None if partials is None else jvp,
        None,
        lowering.Pointwise(code, cost),
        compute or promoted,
        doc=doc,
        **facts,
    )
    object.__setattr__(
        this,
        "batch",
        lambda values, axes, size, **given: batch_elementwise(this, values, axes, given),
    )
    return this


compose = _Compose()


def _rule_of_partial(partial: Rule | int | None, domain: str) -> Rules | None:
    """The product of the incoming differential with a partial derivative, as a rule `(ct, *values,
    like, **params)`; None where zero.

    As VJP rule it is given `like`, which has the input's dtype and shape (the sweep passes it to
    every rule that names it: cheaper than saving the input); without it, as JVP rule, nothing is
    conjugated and nothing is summed.
    """
    if partial is None or (isinstance(partial, int) and partial == 0):
        return None
    if isinstance(partial, int):
        same = partial == 1

        def constant(d: Any, like: Any = None) -> Any:
            d = d if same else -d
            return d if like is None else _fitted(d, like)

        return Rules(
            constant, frozenset(("ct",)), ("ct",), ("like",), ("same" if same else "minus", None)
        )
    rule = read_names(partial)
    function, names = rule.function, tuple(n for n in rule.positional if n != "d")
    at = rule.positional.index("d") if "d" in rule.reads else None
    told = "adjoint" in rule.keywords

    def whole(d: Any, *values: Any, like: Any = None, **given: Any) -> Any:
        if told:
            given["adjoint"] = like is not None
        result = function(*values[:at], d, *values[at:], **given)
        return result if like is None else _fitted(result, like)

    def factor(d: Any, *values: Any, like: Any = None, **given: Any) -> Any:
        value = function(*values, **given) if given else function(*values)
        if like is not None:
            dtype = getattr(value, "dtype", None)
            if dtype is None:
                value = value.conjugate() if isinstance(value, complex) else value
            elif dtype.kind == "c":
                value = compose.conj(value)
        result = (compose.strong_mul if domain == "singular" else compose.mul)(d, value)
        return result if like is None else _fitted(result, like)

    keywords = (*[n for n in rule.keywords if n != "adjoint"], "like")
    product = (
        ("strong_mul" if domain == "singular" else "mul", function)
        if at is None and not rule.keywords
        else None
    )
    return Rules(
        factor if at is None else whole,
        frozenset(("ct", *names)),
        ("ct", *names),
        keywords,
        product,
    )


def _fitted(ct: Any, like: Any) -> Any:
    """A cotangent summed over what broadcasting repeated, in the dtype of the input."""
    dtype, wanted = ct.dtype, like.dtype
    if dtype is wanted or dtype == wanted:
        # Of tuples Python compares elements before lengths, and a comparison of sizes that settles
        # nothing would become a guard.
        have, want = ct.shape, like.shape
        return ct if len(have) == len(want) and have == want else compose.sum_to(ct, want)
    ct = compose.real(ct) if dtype.kind == "c" and wanted.kind == "f" else ct
    return compose.convert(compose.sum_to(ct, like.shape), wanted)


def batch_elementwise(
    this: Op, values: Sequence[Any], axes: Sequence[int | None], given: dict[str, Any]
) -> tuple[list[Any], list[int]]:
    """Move every batch axis to the front, and give lower-rank operands the axes that broadcasting
    would insert behind it."""
    from_rank = max(
        len(getattr(v, "shape", ())) - (a is not None) for v, a in zip(values, axes, strict=True)
    )
    moved = []
    for v, a in zip(values, axes, strict=True):
        if a is not None:
            v = compose.moveaxis(v, a, 0)
            missing = from_rank - (len(getattr(v, "shape", ())) - 1)
            if missing:
                v = compose.expand_dims(v, tuple(range(1, 1 + missing)))
        moved.append(v)
    return [bind(this, moved, given)], [0]
