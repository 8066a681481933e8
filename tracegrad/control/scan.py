"""`scan`: a loop with a carry over the leading axis of arrays, one node of the graph, one loop in the code, and so is its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import integers, lowering
from ..autograd.engine import gradient, zeros
from ..autograd.grad_mode import enable_grad
from ..errors import ShapeError
from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.op import Types, op
from ..ops import add, moveaxis, slice_array, stack
from ..ops.shape import reshape
from ..tensor import Boxed, fresh_leaf
from ..transforms.derive import batched, tangent
from ..transforms.tracing import leaf_type, plain
from ..tree import flatten, map_leaves, unflatten
from ..types import ArrayType, Int
from .region import aligned, closed, operands_of, path_of, region, repeated, strong, zero

# Inputs of the operation: constants, initial carries, stacked xs. Inputs of the body: constants, carries, one slice of each x.
# Outputs of the body: new carries, then ys; of the operation: final carries, then stacked ys.


def _infer(*inputs: Any, body: Graph, constants: int, carries: int, length: Int, reverse: bool) -> Types:
    outs = body.output_types
    return (*outs[:carries], *[ArrayType(t.dtype, (length, *t.shape)) for t in outs[carries:]])


def _evaluate(*inputs: Any, body: Graph, constants: int, carries: int, length: int, reverse: bool) -> tuple[Any, ...]:
    fixed, carry, xs = inputs[:constants], list(inputs[constants : constants + carries]), inputs[constants + carries :]
    kinds = body.output_types[carries:]
    ys = [np.empty((length, *t.shape), t.dtype) for t in kinds]
    for i in range(length)[:: -1 if reverse else 1]:
        outs = evaluate(body, [*fixed, *carry, *[x[i] for x in xs]])
        carry = outs[:carries]
        for y, value in zip(ys, outs[carries:], strict=True):
            y[i] = value
    return (*[np.array(c, t.dtype) for c, t in zip(carry, body.output_types[:carries], strict=True)], *ys)


def _jvp(tangents: Any, inputs: Any, outs: Any, *, body: Graph, constants: int, carries: int, length: Int, reverse: bool) -> list[Any]:
    n, c = constants, carries
    full = [zero(x) if t is None and n <= k < n + c else t for k, (t, x) in enumerate(zip(tangents, inputs, strict=True))]
    given = [t is not None for t in full]
    derived = tangent(body, given)
    fixed, xs = list(range(n)), list(range(n + c, len(inputs)))
    with_t = [k for k, g in enumerate(given) if g]

    def combined(*values: Any) -> Any:
        # constants, their tangents, carries, their tangents, xs, their tangents
        it = iter(values)
        primal, direction = {}, {}
        for group in (fixed, list(range(n, n + c)), xs):
            for k in group:
                primal[k] = next(it)
            for k in group:
                if given[k]:
                    direction[k] = next(it)
        p = [primal[k] for k in range(len(inputs))]
        primal_outs = evaluate(body, p)
        tangent_outs = evaluate(derived, [*p, *[direction[k] for k in with_t]])
        return (*primal_outs[:c], *tangent_outs[:c], *primal_outs[c:], *tangent_outs[c:])

    groups = (fixed, list(range(n, n + c)), xs)
    operands: list[Any] = []
    for group in groups:
        operands += [inputs[k] for k in group] + [full[k] for k in group if given[k]]
    counts = [len(g) + sum(given[k] for k in g) for g in groups]
    types = [_slice_type(x, j >= counts[0] + counts[1]) for j, x in enumerate(operands)]
    graph = closed("scan_tangent", combined, types, body)
    found = bind(scan_op, operands, {"body": graph, "constants": counts[0], "carries": counts[1], "length": length, "reverse": reverse})
    ys = len(body.outputs) - c
    return [*found[c : 2 * c], *found[2 * c + ys :]]


def _vjp(
    cts: Any, inputs: Any, outs: Any, wanted: Any, *, body: Graph, constants: int, carries: int, length: Int, reverse: bool
) -> list[Any]:
    n, c = constants, carries
    # The adjoint reads the carry of every step: the forward loop again, with its carries stacked.
    history = closed(
        "scan_history", lambda *v: (*evaluate(body, v)[:c], *v[n : n + c]), [_slice_type(x, k >= n + c) for k, x in enumerate(inputs)], body
    )
    stacked = bind(scan_op, inputs, {"body": history, "constants": n, "carries": c, "length": length, "reverse": reverse})[c:]
    floating = [x.dtype.kind in "fc" for x in inputs]
    fixed = [k for k in range(n) if wanted[k] and floating[k]]
    moving = [k for k in range(n, n + c) if floating[k]]
    sliced = [k for k in range(n + c, len(inputs)) if wanted[k] and floating[k]]
    y_cts = [(j, ct) for j, ct in enumerate(cts[c:]) if ct is not None]
    targets = [*fixed, *moving, *sliced]

    def step(*values: Any) -> Any:
        # constants; carried: cotangents of carries, accumulated cotangents of constants; xs: carries of this step, slices, cotangents of ys
        it = iter(values)
        const = [next(it) for _ in range(n)]
        d_carry = [next(it) for _ in moving]
        d_fixed = [next(it) for _ in fixed]
        carry = [next(it) for _ in range(c)]
        xs = [next(it) for _ in range(len(inputs) - n - c)]
        d_ys = [next(it) for _ in y_cts]
        with enable_grad():
            all_inputs = [*const, *carry, *xs]
            leaves = [fresh_leaf(v) if k in targets else v for k, v in enumerate(all_inputs)]
            results = evaluate(body, leaves)
            pairs = [(results[k - n], d) for k, d in zip(moving, d_carry, strict=True)]
            pairs += [(results[c + j], d) for (j, _), d in zip(y_cts, d_ys, strict=True)]
            pairs = [(o, d) for o, d in pairs if isinstance(o, Boxed) and o.requires_grad]
            found = gradient([o for o, _ in pairs], [leaves[k] for k in targets], [d for _, d in pairs], create_graph=False)
        g = {k: zeros(leaves[k].type) if v is None else v for k, v in zip(targets, found, strict=True)}
        return (*[g[k] for k in moving], *[add(a, g[k]) for a, k in zip(d_fixed, fixed, strict=True)], *[g[k] for k in sliced])

    start = [cts[k - n] if cts[k - n] is not None else zero(inputs[k]) for k in moving]
    operands = [*inputs[:n], *start, *[zero(inputs[k]) for k in fixed], *stacked, *inputs[n + c :], *[ct for _, ct in y_cts]]
    held = n + len(moving) + len(fixed)
    graph = closed("scan_adjoint", step, [_slice_type(x, k >= held) for k, x in enumerate(operands)], body)
    found = bind(
        scan_op, operands, {"body": graph, "constants": n, "carries": len(moving) + len(fixed), "length": length, "reverse": not reverse}
    )
    result: dict[int, Any] = dict(zip(moving, found, strict=False))
    result |= dict(zip(fixed, found[len(moving) :], strict=False))
    result |= dict(zip(sliced, found[len(moving) + len(fixed) :], strict=False))
    return [result.get(k) if w else None for k, w in enumerate(wanted)]


def _batch(values: Any, axes: Any, size: Any, *, body: Graph, constants: int, carries: int, length: Int, reverse: bool) -> Any:
    n, c = constants, carries
    # Every carry is batched: whether one must be depends on the whole loop, and an unbatched one can always be repeated.
    operands: list[Any] = []
    places: list[int | None] = []
    for k, (v, axis) in enumerate(zip(values, axes, strict=True)):
        if n <= k < n + c:
            v = repeated(v, axis, size)
            places.append(0)
        elif k >= n + c:
            v, axis = (v, None) if axis is None else (moveaxis(v, axis, 1), 0)
            places.append(axis)
        else:
            places.append(axis)
        operands.append(v)
    derived, out_axes = batched(body, places, size)

    graph = aligned(derived, out_axes, size, body, [_slice_type(x, k >= n + c) for k, x in enumerate(operands)], "scan_batched")
    found = bind(scan_op, operands, {"body": graph, "constants": n, "carries": c, "length": length, "reverse": reverse})
    return list(found), [0] * c + [1] * (len(found) - c)


def _slice_type(x: Any, sliced: bool) -> ArrayType:
    kind = strong(x)
    return ArrayType(kind.dtype, kind.shape[1:] if sliced else kind.shape)


scan_op = op(
    "scan",
    ["inputs"],
    evaluate=_evaluate,
    infer=_infer,
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    lowering=lowering.Region("scan"),
    variadic=True,
    outputs=0,
    doc="A loop with a carry over leading axes.",
)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: Int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Loop over the leading axis: `carry, y = f(carry, x)` for each x; returns the last carry and the stacked ys.

    init, xs    trees of arrays; every leaf of `xs` has the same leading size (or give `length` alone)
    reverse     run from the last slice to the first; ys stay in the order of xs

    The carry must keep its structure, shapes and dtypes. Eagerly this is a plain Python loop; in a compiled function it is one loop of
    the generated code, whatever the length, and its derivative is another.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.scan(lambda s, x: (s + x, s * x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 2., 9.]))
    """
    x_leaves, x_spec = flatten(xs)
    sizes = [leaf_type(x).shape[0] if leaf_type(x).shape else None for x in x_leaves]
    if any(s is None for s in sizes):
        raise ShapeError("scan: every leaf of xs needs a leading axis to loop over; pass scalars through the carry or a closure")
    if length is None and not sizes:
        raise ValueError("scan: give xs or length")
    count: Any = length if length is not None else sizes[0]
    if any(s != count for s in sizes):
        raise ShapeError(f"scan: the leading sizes of xs differ: {sizes}" + (f" (length={length})" if length is not None else ""))
    if not STATE.traces and count:
        return _loop(f, init, x_leaves, x_spec, int(count), reverse)
    carry_leaves, carry_spec = operands_of(init, "scan: the initial carry"), flatten(init)[1]
    kinds = [strong(x) for x in carry_leaves]
    types = [*kinds, *[_slice_type(x, True) for x in x_leaves]]
    traced = region(f, (init, xs), types, "scan: the body")
    out = unflatten(traced.out_spec, list(range(len(traced.graph.outputs))))
    y_spec = flatten(_check_step(out, carry_spec, kinds, traced.graph.output_types.__getitem__)[1])[1]
    n = len(carry_leaves)
    # Captures become constants, which the body takes first.
    inputs = traced.graph.inputs
    split = len(types)
    body = traced.graph.replace(inputs=(*inputs[split:], *inputs[:split]), name="body")
    found = bind(
        scan_op,
        [*traced.captures, *carry_leaves, *x_leaves],
        {"body": body, "constants": len(traced.captures), "carries": n, "length": count, "reverse": reverse},
    )
    return unflatten(carry_spec, [plain(c) for c in found[:n]]), unflatten(y_spec, [plain(y) for y in found[n:]])


def _check_step(out: Any, carry_spec: Any, kinds: Sequence[ArrayType], kind_of: Callable[[Any], ArrayType]) -> tuple[Any, Any]:
    """The pair that the body returned; a TypeError where its carry is not like the initial one."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(f"scan: the body must return a pair (carry, y), it returned {type(out).__name__}")
    leaves, new_spec = flatten(out[0])
    if new_spec != carry_spec:
        raise TypeError(f"scan: the body returned a carry of structure {new_spec}, the initial carry has {carry_spec}")
    for path, before, x in zip(carry_spec.paths(), kinds, leaves, strict=True):
        after = kind_of(x)
        if (before.dtype, before.shape) != (after.dtype, after.shape):
            raise TypeError(
                f"scan: the carry {path_of(path)} changes from {before} to {after}; a carry keeps its dtype and shape (convert the initial value)"
            )
    return out


def _loop(f: Callable[..., Any], init: Any, x_leaves: Sequence[Any], x_spec: Any, count: int, reverse: bool) -> tuple[Any, Any]:
    # A Python number is an array to the compiled loop, so it is one here: the dtypes agree.
    carry = map_leaves(lambda c: np.asarray(c)[()] if isinstance(c, (bool, int, float, complex)) else c, init)
    carry_leaves, carry_spec = flatten(carry)
    kinds = [_slice_type(c, False) for c in carry_leaves]
    ys: list[list[Any]] = []
    y_spec: Any = None
    for i in range(count)[:: -1 if reverse else 1]:
        parts = [
            reshape(slice_array(x, (i, *[0] * (len(x.shape) - 1)), (1, *x.shape[1:]), (1,) * len(x.shape)), x.shape[1:]) for x in x_leaves
        ]
        out = f(carry, unflatten(x_spec, [plain(p) for p in parts]))
        carry, y = out if ys else _check_step(out, carry_spec, kinds, leaf_type)
        leaves, y_spec = flatten(y)
        ys.append(leaves)
    if y_spec is None:
        return carry, None
    columns = [stack(list(column)[:: -1 if reverse else 1]) for column in zip(*ys, strict=True)]
    return carry, unflatten(y_spec, columns)


OPS = (scan_op,)
__all__ = ["integers", "scan", "scan_op"]
