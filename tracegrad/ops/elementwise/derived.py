"""`elementwise`, which derives an operation's rules from its partial derivatives, and the
operations that derived rules are written with: sums, products, conversions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._codegen import integers, lowering, scalars
from ...checks import REFUSED, array, explained_here
from ...dtypes import BOOL, FLOAT64, INT64, DType, check, complex_of, inexact, promote, real_of
from ...errors import DTypeError
from ...ir.dispatch import Operand, Value, bind
from ...ir.forms import form_of, largest, never_negative, smallest
from ...ir.graph import Var
from ...ir.lines import program_place
from ...ir.op import Op, Rule, Rules, Types, odd, operand_kinds, read_names
from ...ir.trace import user_line
from ...sizes import SYMBOLIC
from ...types import ArrayType, broadcast_shapes
from ..arrays.shape import broadcast_to, expand_dims, front, moveaxis, sum_to
from ..check import check as check_code
from ..check import error_text
from ..define import broadcasting, linear

OF_OTHER_KIND: dict[str, Callable[[DType], DType]] = {
    "bool": lambda dtype: BOOL,
    "real": real_of,
    "complex": complex_of,
}
"""The dtype of a result of operands of one dtype, where it is another one."""


def beyond(value: int, dtype: DType) -> int:
    """1 where an integer is above all numbers of an integer dtype, -1 where it is below, else 0."""
    ends = np.iinfo(dtype)
    return (value > ends.max) - (value < ends.min)


def fitted(x: Any, dtype: DType, name: str) -> Any:
    """What is to become an integer dtype, of operands and lists of them: of one of Python's
    integers beyond its range an OverflowError, when the run ends if only that knows it."""
    if dtype.kind not in "iu":
        return x
    if type(x) is int:
        if beyond(x, dtype):
            raise _overflow(name, f" {x}", dtype)
        return x
    if type(x) is list or type(x) is tuple:
        for part in x:
            fitted(part, dtype, name)
        return x
    if not is_number(x):
        return x
    low, high = _open_ends(x, dtype)
    if low is high is None:
        return x
    outside = bind(outside_op, [x], {"low": low, "high": high})
    text = error_text(_overflow(name, "", dtype), *program_place())
    check_code(bind(convert_op, [outside], {"dtype": INT64}), (text,))
    return bind(convert_op, [x], {"dtype": dtype})


def is_number(x: Any) -> bool:
    """Whether it is one of Python's integers that only a run knows."""
    if isinstance(x, Value):
        return type(x._data) is Var and x._data.type.weak and x._data.type.dtype.kind in "iu"
    return isinstance(x, SYMBOLIC)


def _open_ends(x: Any, dtype: DType) -> tuple[int | None, int | None]:
    """The ends of an integer dtype that a number may be beyond."""
    ends, have = np.iinfo(dtype), np.iinfo(x._data.type.dtype if isinstance(x, Value) else INT64)
    if have.min >= ends.min and have.max <= ends.max:
        return None, None
    form = form_of(x)
    least = smallest(form)
    above = have.min >= ends.min or (isinstance(least, int) and least >= ends.min)
    above = above or (ends.min == 0 and never_negative(form))
    most = largest(form)
    below = have.max <= ends.max or (isinstance(most, int) and most <= ends.max)
    return None if above else ends.min, None if below else ends.max


def _overflow(name: str, value: str, dtype: DType) -> OverflowError:
    return OverflowError(
        f"{user_line()}: {name}: the Python integer{value} is out of bounds for {dtype}. "
        "Convert the array with .astype(np.int64), or write a number that it holds."
    )


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
    of_complex: str | Callable[[dict[str, Any]], str] = "",
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
                result is the real dtype of a complex operand), "complex" (the other way round),
                "where" (the first operand is a condition)
    domain      "finite" where every partial is finite on the domain; "singular" where one can be
                infinite or NaN: then a zero cotangent gives exactly zero (`strong_mul`)
    cost        as `Pointwise` has it, where it is not that of the functions that `code` calls
    of_complex  the code for complex operands, as `Pointwise` has it, where that is another one
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
        kinds = operand_kinds(operands)
        if result in ("float", "complex"):
            return (inexact(*kinds),) * len(operands)
        dtype = promote(*kinds)
        if result == "quotient" and dtype.kind not in "fc":
            dtype = FLOAT64
        return (dtype,) * len(operands)

    def infer(*operands: Any, **_: Any) -> Types:
        dtype = promoted(*operands)[-1]
        # NumPy's `where` lets numbers of 64 bits wrap around.
        if dtype.kind in "iu" and (result != "where" or dtype.itemsize == 8):
            for o in operands:
                fitted(getattr(o, "value", None), dtype, name)
        if result in OF_OTHER_KIND:
            dtype = OF_OTHER_KIND[result](dtype)
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
            total = term if total is None else add(total, term)
        if total is None:
            return [None]
        dtype = outs[0].dtype
        total = real(total) if dtype.kind == "f" and total.dtype.kind == "c" else total
        return [broadcast_to(convert(total, dtype), outs[0].shape)]

    instead = facts.pop("composed", None)

    def with_numbers(*operands: Any, **given: Any) -> Any:
        made = NotImplemented if instead is None else instead(*operands, **given)
        if made is not NotImplemented or not any(map(is_number, operands)):
            return made
        dtypes = promoted(*map(operand_of, operands), **given)
        fit = [fitted(o, t, name) for o, t in zip(operands, dtypes, strict=True)]
        if all(a is b for a, b in zip(fit, operands, strict=True)):
            return NotImplemented
        return bind(this, fit, given)

    composed = instead if result in ("bool", "where") else with_numbers
    this = Op(
        name,
        tuple(inputs),
        numpy,
        infer,
        None if partials is None else rules,
        None if partials is None else jvp,
        None,
        lowering.Pointwise(code, cost, of_complex),
        compute or promoted,
        doc=doc,
        weak=weak,
        # NumPy's `where` lets numbers wrap around; comparisons see to them themselves.
        composed=composed if len(inputs) < 2 else broadcasting(lambda: this, composed),
        **facts,
    )
    object.__setattr__(
        this,
        "batch",
        lambda values, axes, size, **given: batch_elementwise(this, values, axes, given),
    )
    return this


def operand_of(x: Any) -> Any:
    """What type rules see of an operand of a trace."""
    if is_number(x):
        return Operand(0)
    return x._data if isinstance(x, Value) and type(x._data) is Var else Operand(x)


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
                value = conj(value)
        result = (strong_mul if domain == "singular" else mul)(d, value)
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
        return ct if len(have) == len(want) and have == want else sum_to(ct, want)
    ct = real(ct) if dtype.kind == "c" and wanted.kind == "f" else ct
    return convert(sum_to(ct, like.shape), wanted)


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
            v = moveaxis(v, a, 0)
            missing = from_rank - (len(getattr(v, "shape", ())) - 1)
            if missing:
                v = expand_dims(v, tuple(range(1, 1 + missing)))
        moved.append(v)
    return [bind(this, moved, given)], [0]


# --- what the rules are written with --------------------------------------------------------------


def one_each(inputs: Any, outs: Any) -> int:
    """As many operations of numbers as the result has elements."""
    return math.prod(outs[0])


add_op = elementwise(
    "add",
    ("x", "y"),
    numpy=np.add,
    code="{x} + {y}",
    partials=(1, 1),
    result="promote",
    parity=lambda x, y: x if x == y else None,
    commutes=True,
    neutral=(-0.0, -0.0),
    symbolic=integers.add,
    flops=one_each,
    weak=True,
    doc="Sum.",
)
mul_op = elementwise(
    "mul",
    ("x", "y"),
    numpy=np.multiply,
    code="{x} * {y}",
    partials=(lambda y: y, lambda x: x),
    result="promote",
    parity=odd,
    commutes=True,
    neutral=(1, 1),
    symbolic=integers.mul,
    flops=one_each,
    weak=True,
    doc="Product.",
)


def _strong_mul(x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        product = np.multiply(x, y)
        return np.where(np.equal(x, 0), product.dtype.type(0), product)


strong_mul_op = elementwise(
    "strong_mul",
    ("x", "y"),
    numpy=_strong_mul,
    code="strong_mul({x}, {y})",
    result="promote",
    partials=(
        lambda d, y, *, adjoint: strong_mul(d, conj(y) if adjoint else y),
        lambda d, x, *, adjoint: strong_mul(conj(x) if adjoint else x, d),
    ),
    parity=odd,
    neutral=(1, 1),
    doc=(
        "Product that is 0 where x is 0, whatever y is: a cotangent of zero stays zero beside "
        "an infinite partial."
    ),
)
convert_op = linear(
    "convert",
    evaluate=lambda x, *, dtype: np.asarray(x).astype(dtype),
    infer=lambda x, *, dtype: (ArrayType(dtype, x.type.shape),),
    adjoint=lambda ct, *, like: convert(ct, like.dtype),
    batch=lambda values, axes, size, *, dtype: ([convert(front(values[0], axes[0]), dtype)], [0]),
    lowering=lowering.Pointwise("{x}"),
    parity=odd,
    passes=0,
    symbolic=lambda x: x,
    doc="The same numbers in another dtype.",
)
conj_op = elementwise(
    "conj",
    ("x",),
    numpy=np.conjugate,
    code="conj({x})",
    partials=(lambda d: conj(d),),
    result="promote",
    parity=odd,
    doc="Complex conjugate.",
)
outside_op = elementwise(
    "outside",
    ("x",),
    numpy=lambda x, *, low, high: _is_outside(x, low, high),
    code=lambda p: " | ".join(
        f"({{x}} {sign} {end})"
        for sign, end in (("<", p["low"]), (">", p["high"]))
        if end is not None
    ),
    partials=None,
    result="bool",
    doc="Whether an integer is less than `low` or larger than `high`, None where it cannot be.",
)
real_op = elementwise(
    "real",
    ("x",),
    numpy=lambda x: np.array(np.real(x))[()],
    code="real({x})",
    partials=(lambda d: real(d),),
    result="real",
    parity=odd,
    doc="Real part.",
)


def _is_outside(x: Any, low: int | None, high: int | None) -> Any:
    below = np.False_ if low is None else np.less(x, low)
    return below if high is None else below | np.greater(x, high)


def add(x: Any, y: Any) -> Any:
    """Sum, with broadcasting and NumPy's promotion."""
    return bind(add_op, (x, y))


def mul(x: Any, y: Any) -> Any:
    """Product."""
    return bind(mul_op, (x, y))


def strong_mul(x: Any, y: Any) -> Any:
    """Product that is exactly 0 where x is 0, even where y is infinite or NaN."""
    return bind(strong_mul_op, (x, y))


def conj(x: Any) -> Any:
    """Complex conjugate; a real array as it is."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        if isinstance(x, complex):
            return x.conjugate()
        if hasattr(x, "__index__") or isinstance(x, float):
            return x
        return conj(array(x))
    return bind(conj_op, (x,)) if dtype.kind == "c" else x


def real(x: Any) -> Any:
    """Real part."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        if isinstance(x, complex):
            return x.real
        if hasattr(x, "__index__") or isinstance(x, float):
            return x
        return real(array(x))
    return bind(real_op, (x,)) if dtype.kind == "c" else x


def convert(x: Any, dtype: Any) -> Any:
    """`x` in another dtype; gradients come back in x's own. A complex x leaves its real part to a
    real dtype.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ops.convert(np.arange(3), np.float32).dtype
    dtype('float32')
    """
    try:
        target: DType = check(np.dtype(dtype))
    except REFUSED as error:
        raise explained_here(error) from error.__cause__
    x = fitted(x, target, "convert")
    # A Python number has no dtype; NumPy takes None for float64 in a comparison.
    if hasattr(x, "dtype"):
        if x.dtype == target:
            return x
        if x.dtype.kind not in "biufc":
            raise explained_here(DTypeError(f"the array is of {x.dtype}, which are no numbers"))
        if x.dtype.kind == "c" and target.kind not in "cb":
            x = real(x)
            return x if x.dtype == target else bind(convert_op, [x], {"dtype": target})
    return bind(convert_op, [x], {"dtype": target})


APPLIED_BY: dict[Callable[..., Any], Op] = {add: add_op, mul: mul_op}
"""The operations of functions that do nothing but apply them."""

OPS = (add_op, mul_op, strong_mul_op, convert_op, conj_op, real_op, outside_op)
