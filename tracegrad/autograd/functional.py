"""`jacobian`, `hessian`, `vjp`, `jvp`, `vhp`, `hvp` on Tensors, in torch.autograd.functional's
signatures and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import OFTEN, publish
from ..dtypes import is_differentiable
from ..ir.dispatch import STATE
from ..ir.levels import forward_level
from ..ops import convert, moveaxis, reshape, stack
from ..ops.arrays.creation import eye
from ..tape.batched import over_rows
from ..tape.modes import restoring
from ..tensor import Tensor, fresh_leaf, inside
from .function_inputs import (
    CONSTANT,
    CONSTANT_HESSIAN,
    INDEPENDENT,
    INDEPENDENT_JACOBIAN,
    Function,
    as_tuple,
    beside,
    cut_off,
    filled,
    leaves_of,
    ones,
    outputs_of,
    pull,
    result_of,
    size_of,
    tensor_of,
    zeros,
)
from .grad_mode import enable_grad, set_grad_enabled

STRATEGIES = ("forward-mode", "reverse-mode")


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: `out.shape + in.shape` for each pair, nested in tuples as outputs and inputs
    are.

    create_graph  the result can be differentiated
    strict        an output that does not depend on an input is an error, not zeros
    vectorize     all rows (or columns) in one batched evaluation; otherwise one backward pass for
                  each element of the outputs
    strategy      "reverse-mode", or with `vectorize` "forward-mode": better where there are more
                  outputs than inputs

    Inputs and outputs are Tensors or tuples of them (TypeError otherwise). For a complex output,
    reverse mode gives the conjugate derivative, as `grad` does.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.jacobian(lambda x: x * x, tg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                "tracegrad.autograd.functional.jacobian: "
                '`create_graph=True` and `strategy="forward-mode"` are not supported together. '
                'Please either set `create_graph=False` or `strategy="reverse-mode"`; '
                "or use tracegrad.jacfwd, which nests."
            )
        if strict:
            raise RuntimeError(
                "tracegrad.autograd.functional.jacobian: "
                '`strict=True` and `strategy="forward-mode"` are not supported together. '
                'Please either set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
                "implemented for `vectorize=True`."
            )
    elif strict and vectorize:
        raise RuntimeError(
            "tracegrad.autograd.functional.jacobian: `strict=True` and `vectorized=True` are "
            "not supported together. Please either set `strict=False` or `vectorize=False`."
        )
    items, single_in = as_tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        return _forward_jacobian(func, items, single_in)
    leaves = leaves_of(items, create_graph)
    outs, single_out = outputs_of(func, leaves, "jacobian", strict)
    rows = []
    for k, o in enumerate(outs):
        if vectorize or STATE.traces:
            found = _all_rows(o, leaves, create_graph)
        else:
            found = _row_by_row(o, leaves, create_graph)
        missing = (
            f"Output {k} of the user-provided function is independent of input {{k}}. "
            "This is not allowed in strict mode."
        )
        whole = filled(
            found,
            [_Shape(o, x) for x in leaves],
            strict and size_of(o) != 0,
            create_graph,
            missing,
            CONSTANT,
        )
        rows.append(result_of(whole, single_in, create_graph))
    return rows[0] if single_out else tuple(rows)


class _Shape:
    """The shape and dtype of one block of a Jacobian."""

    def __init__(self, out: Any, x: Any) -> None:
        self.shape, self.dtype = (*out.shape, *x.shape), x.dtype


def _check_dependent(pulled: Sequence[Any]) -> None:
    """A RuntimeError where a gradient depends on nothing."""
    for k, g in enumerate(pulled):
        if g is None:
            raise RuntimeError(INDEPENDENT.format(k=k))
        if not g.requires_grad:
            raise RuntimeError(
                f"The gradient with respect to input {k} is independent of the inputs of the "
                "user-provided function. This is not allowed in strict mode."
            )


def _row_by_row(o: Any, leaves: Sequence[Any], create_graph: bool) -> list[Any]:
    """One sweep for each element of an output."""
    parts = []
    for k in range(int(size_of(o))):
        ct = np.zeros(o.shape, o.dtype)
        ct.flat[k] = 1
        parts.append(pull((o,), leaves, (beside(Tensor(ct), o),), create_graph))
    columns = []
    for x, column in zip(leaves, zip(*parts, strict=True), strict=False):
        missing = all(g is None for g in column)
        with enable_grad():
            whole = (
                None
                if missing
                else stack(
                    [zeros(x.shape, x.dtype, x) if g is None else tensor_of(g) for g in column]
                )
            )
            columns.append(None if whole is None else reshape(whole, (*o.shape, *x.shape)))
    return columns or [None] * len(leaves)


def _all_rows(o: Any, leaves: Sequence[Any], create_graph: bool) -> list[Any]:
    """All rows of an output in one batched sweep."""
    if not o.requires_grad:
        return [None] * len(leaves)
    count = size_of(o)
    basis = beside(reshape(convert(eye(count), o.dtype), (count, *o.shape)), o)
    with set_grad_enabled(create_graph):
        found = over_rows(lambda rows: pull((o,), leaves, rows, create_graph), [basis])
        return [
            None if g is None else reshape(tensor_of(g), (*o.shape, *x.shape))
            for g, x in zip(found, leaves, strict=True)
        ]


def _forward_jacobian(func: Function, items: tuple[Tensor, ...], single_in: bool) -> Any:
    """All columns in one batched evaluation of the tangents."""
    items = tuple([cut_off(x) for x in items])
    counts = [size_of(x) for x in items]
    total: Any = sum(counts)
    for x in items:
        if not is_differentiable(x.dtype):
            raise TypeError(
                f"jacobian needs floating-point or complex inputs, but got {x.dtype}; "
                "convert them with .double()."
            )
    whole, bases, start = eye(total), [], 0
    for x, count in zip(items, counts, strict=True):
        bases.append(
            beside(reshape(convert(whole[:, start : start + count], x.dtype), (total, *x.shape)), x)
        )
        start = start + count
    outs: tuple[Any, ...] = ()
    single_out = True

    @restoring
    def push(tangents: list[Any]) -> list[Any]:
        nonlocal outs, single_out
        with forward_level() as level:
            duals = [
                Tensor._dual(inside(x), t, level) for x, t in zip(items, tangents, strict=True)
            ]
            outs, single_out = as_tuple(
                func(*duals), "outputs of the user-provided function", "jacobian"
            )
            return [(o._tangents or {}).get(level) for o in outs]

    # In an enclosing trace, or jvp, what is constant in the tangents is not known, or is not all
    # there is to know.
    found = over_rows(push, bases, aside=not (STATE.traces or STATE.levels))
    rows = []
    for o, t in zip(outs, found, strict=True):
        blocks, start = [], 0
        for x, count in zip(items, counts, strict=True):
            shape = (*o.shape, *x.shape)
            if t is None:
                blocks.append(zeros(shape, o.dtype if is_differentiable(o.dtype) else x.dtype, x))
            else:
                blocks.append(reshape(moveaxis(tensor_of(t)[start : start + count], 0, -1), shape))
            start = start + count
        rows.append(result_of(blocks, single_in, False))
    return rows[0] if single_out else tuple(rows)


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one scalar result: `H[i][j]` of shape `in_i.shape +
    in_j.shape`.

    The Jacobian of the gradient: see `jacobian` for the arguments. Forward over reverse mode
    (`outer_jacobian_strategy="forward-mode"` with `vectorize=True`) is the fastest.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.hessian(lambda x: x.pow(3).sum(), tg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _, single = as_tuple(inputs, "inputs", "hessian")

    def gradient_of(*leaves: Any) -> Any:
        own = leaves if all(x.requires_grad for x in leaves) else leaves_of(leaves, True)
        out = _scalar(*outputs_of(func, own, "hessian", strict), "hessian")
        found = filled(pull((out,), own, (ones(out),), True), own, False, True, "", "")
        _check_jacobian(found, strict)
        return found

    found = jacobian(gradient_of, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found[0][0] if single and isinstance(found[0], tuple) else found[0] if single else found


def _check_jacobian(found: Sequence[Any], strict: bool) -> None:
    for k, g in enumerate(found):
        if strict and g is None:
            raise RuntimeError(INDEPENDENT.format(k=k))
        if strict and not g.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided "
                f"function with respect to input {k} is independent of the input. "
                "This is not allowed in strict mode. You should ensure that your function is twice "
                "differentiable and that the jacobian depends on the inputs (this would be "
                "violated by a linear function for example)."
            )


def _scalar(outs: tuple[Any, ...], single: bool, who: str) -> Any:
    if not single:
        raise RuntimeError(f"The function given to {who} should return a single Tensor")
    if size_of(outs[0]) != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {who} should contain a single element"
        )
    return outs[0]


def _directions(
    v: Any, like: tuple[Any, ...], single: bool, who: str, source: str
) -> tuple[Any, ...]:
    """The given vector, checked against what it belongs to; a one where that is a single
    element."""
    if v is None:
        if len(like) != 1 or size_of(like[0]) != 1:
            raise RuntimeError(
                f"The vector v can only be None if {source} a single Tensor with a single element."
            )
        return (ones(like[0]),)
    items, _ = as_tuple(v, "v", who)
    if len(items) != len(like):
        if single:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(items)}."
        )
    for k, (t, x) in enumerate(zip(items, like, strict=True)):
        if t.shape != x.shape:
            sizes = [f"tracegrad.Size([{', '.join(map(str, y.shape))}])" for y in (x, t)]
            raise RuntimeError(
                f"{'' if single else f'Entry {k} in '}v has invalid size: "
                f"should be {sizes[0]} but got {sizes[1]}."
            )
    return tuple([convert(t, x.dtype) for t, x in zip(items, like, strict=True)])


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`(outputs, v' J)`; `v` has the structure and shapes of the outputs, and may be left out where
    they are one number.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.vjp(lambda x: x * x, tg.tensor([1.0, 2.0]), tg.tensor([1.0, 1.0]))[1]
    tensor([2., 4.])
    """
    items, single = as_tuple(inputs, "inputs", "vjp")
    leaves = leaves_of(items, create_graph)
    outs, single_out = outputs_of(func, leaves, "vjp", strict)
    cts = _directions(v, outs, single_out, "vjp", "the user-provided function returns")
    found = filled(
        pull(outs, leaves, cts, create_graph), leaves, strict, create_graph, INDEPENDENT, CONSTANT
    )
    return result_of(outs, single_out, create_graph), result_of(found, single, create_graph)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`(outputs, J v)`, by the derivative of the (linear) pullback; `tracegrad.jvp` does it in
    forward mode.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.jvp(lambda x: x * x, tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0]))[1]
    tensor([2., 0.])
    """
    items, single = as_tuple(inputs, "inputs", "jvp")
    leaves = leaves_of(items, create_graph)
    directions = _directions(v, items, single, "jvp", "the input to the user-provided function is")
    outs, single_out = outputs_of(func, leaves, "jvp", strict)
    for k, o in enumerate(outs):
        if not is_differentiable(o.dtype):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients, "
                f"but output {k} holds {o.dtype}."
            )
    with enable_grad():
        us = [fresh_leaf(zeros(o.shape, o.dtype, o)) for o in outs]
        pulled = pull(outs, leaves, us, True)
        if strict:
            _check_dependent(pulled)
        missing = (
            "The gradient with respect to the input is independent of entry {k} in the "
            "grad_outputs when using the double backward trick to compute forward mode gradients. "
            "This is not allowed in strict mode."
        )
        found = filled(
            pull(pulled, us, directions, create_graph),
            outs,
            strict,
            create_graph,
            missing,
            CONSTANT,
        )
    return result_of(outs, single_out, create_graph), result_of(found, single_out, create_graph)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`(output, v' H)` of a function with one scalar result; `v` has the structure and shapes of
    the inputs.

    >>> import tracegrad as tg
    >>> x, v = tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0])
    >>> tg.autograd.functional.vhp(lambda x: x.pow(3).sum(), x, v)[1]
    tensor([6., 0.])
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`(output, H v)` of a function with one scalar result; the Hessian is symmetric, so this is
    `vhp`.

    >>> import tracegrad as tg
    >>> x, v = tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0])
    >>> tg.autograd.functional.hvp(lambda x: x.pow(3).sum(), x, v)[1]
    tensor([6., 0.])
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


def _hessian_product(
    func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool, who: str
) -> Any:
    items, single = as_tuple(inputs, "inputs", who)
    leaves = leaves_of(items, create_graph)
    directions = _directions(v, items, single, who, "the input to the user-provided function is")
    out = _scalar(*outputs_of(func, leaves, who, strict), who)
    with enable_grad():
        pulled = pull((out,), leaves, (ones(out),), True)
        if strict:
            _check_jacobian(pulled, True)
        found = pull(pulled, leaves, directions, create_graph)
        product = filled(
            found, leaves, strict, create_graph, INDEPENDENT_JACOBIAN, CONSTANT_HESSIAN
        )
    return result_of((out,), True, create_graph), result_of(product, single, create_graph)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

publish(globals(), __all__, OFTEN)
