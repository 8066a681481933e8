"""`jacobian`, `hessian`, `vjp`, `jvp`, `vhp`, `hvp` on Tensors, in torch.autograd.functional's
signatures and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks import OFTEN, publish
from ..devices import CPU
from ..dtypes import is_differentiable
from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..ir.levels import forward_level
from ..ops import broadcast_to, convert, moveaxis, reshape, stack
from ..ops.arrays.creation import eye
from ..ops.arrays.transfer import place_of, transfer
from ..tape.batched import over_rows
from ..tape.engine import gradient
from ..tape.hooks import boxed
from ..tape.modes import restoring
from ..tensor import Tensor, fresh_leaf, inside
from .grad_mode import enable_grad, set_grad_enabled

Function = Callable[..., Any]
STRATEGIES = ("forward-mode", "reverse-mode")


def _as_tuple(x: Any, what: str, who: str) -> tuple[tuple[Tensor, ...], bool]:
    """The tensors, and whether they came as one and not as a tuple."""
    single = not isinstance(x, tuple)
    items = (x,) if single else x
    for k, t in enumerate(items):
        if not isinstance(t, Tensor):
            found = (
                f"given {what} has type {type(t)}"
                if single
                else f"value at index {k} has type {type(t)}"
            )
            raise TypeError(
                f"The {what} given to {who} must be either a Tensor "
                f"or a tuple of Tensors but the {found}."
            )
    return items, single


def _cut(x: Any) -> Any:
    """The value without its history; tangents of an enclosing forward mode stay."""
    value = x._bare()
    value._tangents = x._tangents
    return value


def _leaves(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Any, ...]:
    with enable_grad():
        return tuple([fresh_leaf(x if create_graph else _cut(x)) for x in inputs])


def _call(
    func: Function, leaves: tuple[Any, ...], who: str, strict: bool
) -> tuple[tuple[Tensor, ...], bool]:
    with enable_grad():
        outs, single = _as_tuple(func(*leaves), "outputs of the user-provided function", who)
    for k, o in enumerate(outs):
        if strict and not o.requires_grad:
            raise RuntimeError(
                f"Output {k} of the user-provided function does not require gradients. "
                "The outputs must be computed in a differentiable manner from the input when "
                "running in strict mode."
            )
    return outs, single


def _size(x: Any) -> Any:
    """The number of elements, which inside jit may be an expression of symbolic sizes."""
    total: Any = 1
    for s in x.shape:
        total = total * s
    return total


def _beside(x: Any, like: Any) -> Any:
    """A new array where another one lies."""
    where = place_of(like)
    return x if where == CPU else transfer(_tensor(x), where)


def _ones(out: Any) -> Any:
    return _beside(Tensor(np.ones(out.shape, out.dtype)), out)


def _tensor(x: Any) -> Any:
    return boxed(Tensor, x)


def _zeros(shape: Sequence[Any], dtype: Any, like: Any) -> Any:
    if all(isinstance(s, int) for s in shape):
        return _beside(Tensor(np.zeros(tuple(shape), dtype)), like)
    return _tensor(broadcast_to(dtype.type(0), tuple(shape)))


def _pull(
    outs: Sequence[Any], leaves: Sequence[Any], cts: Sequence[Any], create_graph: bool
) -> list[Any]:
    """The vector-Jacobian product; None for an input that nothing depends on."""
    pairs = [(o, ct) for o, ct in zip(outs, cts, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return [None] * len(leaves)
    return gradient(
        [o for o, _ in pairs], leaves, [ct for _, ct in pairs], create_graph, retain_graph=True
    )


def _filled(
    found: Sequence[Any],
    like: Sequence[Any],
    strict: bool,
    create_graph: bool,
    missing: str,
    constant: str,
) -> tuple[Any, ...]:
    """Products as tensors, zeros where there is no dependence; strict mode refuses that, and with
    create_graph products that are constant. The messages name the input `{k}`."""
    made = []
    for k, (g, x) in enumerate(zip(found, like, strict=True)):
        if strict and g is None:
            raise RuntimeError(missing.format(k=k))
        if strict and create_graph and not getattr(g, "requires_grad", False):
            raise RuntimeError(
                constant.format(k=k) + " This is not allowed in strict mode when create_graph=True."
            )
        made.append(_zeros(x.shape, x.dtype, x) if g is None else _tensor(g))
    return tuple(made)


INDEPENDENT = (
    "The output of the user-provided function is independent of input {k}. "
    "This is not allowed in strict mode."
)
CONSTANT = "The jacobian of the user-provided function is independent of input {k}."
CONSTANT_HESSIAN = "The hessian of the user-provided function is independent of input {k}."
INDEPENDENT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {k}. "
    "This is not allowed in strict mode."
)


def _result(values: Sequence[Any], single: bool, create_graph: bool) -> Any:
    """Results for the caller: without history unless they shall have one."""
    made = tuple([x if create_graph else _own(_cut(x)) for x in values])
    return made[0] if single else made


def _own(x: Any) -> Any:
    """The tensor with memory that can be written to: batched evaluation gives read-only
    repetitions."""
    writable = isinstance(x._data, Var) or x._data.flags.writeable
    if not writable:
        x._data = x._data.copy()
    return x


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
    items, single_in = _as_tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        return _forward_jacobian(func, items, single_in)
    leaves = _leaves(items, create_graph)
    outs, single_out = _call(func, leaves, "jacobian", strict)
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
        whole = _filled(
            found,
            [_Shape(o, x) for x in leaves],
            strict and _size(o) != 0,
            create_graph,
            missing,
            CONSTANT,
        )
        rows.append(_result(whole, single_in, create_graph))
    return rows[0] if single_out else tuple(rows)


class _Shape:
    """The shape and dtype of one block of a Jacobian."""

    def __init__(self, out: Any, x: Any) -> None:
        self.shape, self.dtype = (*out.shape, *x.shape), x.dtype


def _row_by_row(o: Any, leaves: Sequence[Any], create_graph: bool) -> list[Any]:
    """One sweep for each element of an output."""
    parts = []
    for k in range(int(_size(o))):
        ct = np.zeros(o.shape, o.dtype)
        ct.flat[k] = 1
        parts.append(_pull((o,), leaves, (_beside(Tensor(ct), o),), create_graph))
    columns = []
    for x, column in zip(leaves, zip(*parts, strict=True), strict=False):
        missing = all(g is None for g in column)
        with enable_grad():
            whole = (
                None
                if missing
                else stack(
                    [_zeros(x.shape, x.dtype, x) if g is None else _tensor(g) for g in column]
                )
            )
            columns.append(None if whole is None else reshape(whole, (*o.shape, *x.shape)))
    return columns or [None] * len(leaves)


def _all_rows(o: Any, leaves: Sequence[Any], create_graph: bool) -> list[Any]:
    """All rows of an output in one batched sweep."""
    if not o.requires_grad:
        return [None] * len(leaves)
    count = _size(o)
    basis = _beside(reshape(convert(eye(count), o.dtype), (count, *o.shape)), o)
    with set_grad_enabled(create_graph):
        found = over_rows(lambda rows: _pull((o,), leaves, rows, create_graph), [basis])
        return [
            None if g is None else reshape(_tensor(g), (*o.shape, *x.shape))
            for g, x in zip(found, leaves, strict=True)
        ]


def _forward_jacobian(func: Function, items: tuple[Tensor, ...], single_in: bool) -> Any:
    """All columns in one batched evaluation of the tangents."""
    items = tuple([_cut(x) for x in items])
    counts = [_size(x) for x in items]
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
            _beside(
                reshape(convert(whole[:, start : start + count], x.dtype), (total, *x.shape)), x
            )
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
            outs, single_out = _as_tuple(
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
                blocks.append(_zeros(shape, o.dtype if is_differentiable(o.dtype) else x.dtype, x))
            else:
                blocks.append(reshape(moveaxis(_tensor(t)[start : start + count], 0, -1), shape))
            start = start + count
        rows.append(_result(blocks, single_in, False))
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
    _, single = _as_tuple(inputs, "inputs", "hessian")

    def gradient_of(*leaves: Any) -> Any:
        own = leaves if all(x.requires_grad for x in leaves) else _leaves(leaves, True)
        out = _scalar(*_call(func, own, "hessian", strict), "hessian")
        found = _filled(_pull((out,), own, (_ones(out),), True), own, False, True, "", "")
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
    if _size(outs[0]) != 1:
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
        if len(like) != 1 or _size(like[0]) != 1:
            raise RuntimeError(
                f"The vector v can only be None if {source} a single Tensor with a single element."
            )
        return (_ones(like[0]),)
    items, _ = _as_tuple(v, "v", who)
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
    items, single = _as_tuple(inputs, "inputs", "vjp")
    leaves = _leaves(items, create_graph)
    outs, single_out = _call(func, leaves, "vjp", strict)
    cts = _directions(v, outs, single_out, "vjp", "the user-provided function returns")
    found = _filled(
        _pull(outs, leaves, cts, create_graph), leaves, strict, create_graph, INDEPENDENT, CONSTANT
    )
    return _result(outs, single_out, create_graph), _result(found, single, create_graph)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`(outputs, J v)`, by the derivative of the (linear) pullback; `tracegrad.jvp` does it in
    forward mode.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.jvp(lambda x: x * x, tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0]))[1]
    tensor([2., 0.])
    """
    items, single = _as_tuple(inputs, "inputs", "jvp")
    leaves = _leaves(items, create_graph)
    directions = _directions(v, items, single, "jvp", "the input to the user-provided function is")
    outs, single_out = _call(func, leaves, "jvp", strict)
    for k, o in enumerate(outs):
        if not is_differentiable(o.dtype):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients, "
                f"but output {k} holds {o.dtype}."
            )
    with enable_grad():
        us = [fresh_leaf(_zeros(o.shape, o.dtype, o)) for o in outs]
        pulled = _pull(outs, leaves, us, True)
        for k, g in enumerate(pulled):
            if strict and g is None:
                raise RuntimeError(INDEPENDENT.format(k=k))
            if strict and not g.requires_grad:
                raise RuntimeError(
                    f"The gradient with respect to input {k} is independent of the inputs of the "
                    "user-provided function. This is not allowed in strict mode."
                )
        missing = (
            "The gradient with respect to the input is independent of entry {k} in the "
            "grad_outputs when using the double backward trick to compute forward mode gradients. "
            "This is not allowed in strict mode."
        )
        found = _filled(
            _pull(pulled, us, directions, create_graph),
            outs,
            strict,
            create_graph,
            missing,
            CONSTANT,
        )
    return _result(outs, single_out, create_graph), _result(found, single_out, create_graph)


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
    items, single = _as_tuple(inputs, "inputs", who)
    leaves = _leaves(items, create_graph)
    directions = _directions(v, items, single, who, "the input to the user-provided function is")
    out = _scalar(*_call(func, leaves, who, strict), who)
    with enable_grad():
        pulled = _pull((out,), leaves, (_ones(out),), True)
        if strict:
            _check_jacobian(pulled, True)
        found = _pull(pulled, leaves, directions, create_graph)
        product = _filled(
            found, leaves, strict, create_graph, INDEPENDENT_JACOBIAN, CONSTANT_HESSIAN
        )
    return _result((out,), True, create_graph), _result(product, single, create_graph)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

publish(globals(), __all__, OFTEN)
